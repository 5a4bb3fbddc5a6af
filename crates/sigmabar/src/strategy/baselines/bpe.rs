//! BPE: batched pure exploration with the exact posterior (Li & Scarlett 2022; algorithm notes 5.2).

use super::cache::Cache;
use super::candidate_set::{CandidateSet, noise_level, norm_bound};
use super::model::{CandidateModel, Dictionary};
use super::sequential::Sequential;
use crate::error::{Error, Result, positive};
use crate::strategy::run::ledger::{Ledger, Proposal};
use crate::strategy::run::problem::Problem;
use crate::strategy::run::survivors::Survivors;
use crate::theory::{batch_lengths, batch_lengths_for, even_batch_lengths};
use serde::{Deserialize, Serialize};
use sigmabar_linalg::argmax;

/// How long the batches are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum BpeSchedule {
    /// $N_i = \lceil\sqrt{N N_{i-1}}\rceil$, $N_0 = 1$, the last truncated.
    #[default]
    Recursion,
    /// This many batches, growing like $T^{(1-\eta^i)/(1-\eta^B)}$ with $\eta=\frac12$.
    Growing(usize),
    /// This many batches of nearly one length.
    Even(usize),
}

/// The half-width $b$ of the band $\mu\pm b\sigma$ by which candidates are ruled out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum BpeWidth {
    /// $b = C + \frac R\tau\sqrt{2\log(4B|X|/\delta)}$ (algorithm notes 7.1): a theorem for the data of the current batch alone. Needs norm bound and noise.
    #[default]
    Theory,
    /// $b = \sqrt\beta$ with the same $\beta$ in every batch; 2 and 6 in the published experiments.
    Constant(f64),
    /// $b = \sqrt{3\log(2i)}$ after batch $i$, from the published experiments.
    LogBatch,
}

/// `bpe`: in each batch again and again the surviving candidate with the largest $\sigma$, no value looked at; after each batch but the last, candidates with
/// $\mu + b\sigma < \max(\mu - b\sigma)$ are ruled out.
///
/// The posterior starts anew with each batch ("reset", which the theorem needs) unless [`Bpe::keeping_data`]. The first of equal candidates is taken, and
/// the first pick of a batch uses that batch's own $\sigma$ (the published code uses the last one's). On boxes the candidates are a declared Sobol set
/// ([`Sequential::with_box_candidates`]). Cost O(Au) for an evaluation with u distinct points in the batch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bpe {
    schedule: BpeSchedule,
    width: BpeWidth,
    keeps_data: bool,
    sequential: Sequential,
    /// Candidates still possible; empty before the first batch.
    survivors: Vec<usize>,
    #[serde(skip)]
    set: Cache<CandidateSet>,
}

impl Bpe {
    /// With these batches and this width.
    #[must_use]
    pub fn new(schedule: BpeSchedule, width: BpeWidth) -> Self {
        Self { schedule, width, ..Self::default() }
    }

    /// Uses the data of all batches. No theorem then covers the band, because earlier batches decided what was measured later.
    #[must_use]
    pub fn keeping_data(self) -> Self {
        Self { keeps_data: true, ..self }
    }

    /// Among this many candidates on boxes; the batch length is the schedule's.
    #[must_use]
    pub fn with_sequential(self, sequential: Sequential) -> Self {
        Self { sequential, ..self }
    }

    pub(crate) fn check(&self, problem: &Problem) -> Result<()> {
        self.sequential.check(problem)?;
        match self.width {
            BpeWidth::Theory => norm_bound(problem).and(noise_level(problem)).map(drop)?,
            BpeWidth::Constant(beta) => positive("beta", beta).map(drop)?,
            BpeWidth::LogBatch => {}
        }
        if self.keeps_data && self.width == BpeWidth::Theory {
            return Err(Error::Premise {
                what: "the theorem's width with data of all batches",
                reason: "it holds for the current batch alone: choose a constant width, or do not keep data",
            });
        }
        self.lengths(problem).map(drop)
    }

    /// Candidates still possible.
    pub(crate) fn survivors(&self, problem: &Problem, ledger: &Ledger) -> Result<Option<Survivors>> {
        if self.survivors.is_empty() {
            return Ok(None);
        }
        let set = CandidateSet::new(problem, ledger, self.sequential.box_candidates())?;
        Survivors::among(problem, set.points().view(), &self.survivors).map(Some)
    }

    fn lengths(&self, problem: &Problem) -> Result<Vec<usize>> {
        match self.schedule {
            BpeSchedule::Recursion => batch_lengths(problem.budget()),
            BpeSchedule::Growing(batches) => batch_lengths_for(problem.budget(), batches, 0.0),
            BpeSchedule::Even(batches) => even_batch_lengths(problem.budget(), batches),
        }
    }

    fn set(&mut self, problem: &Problem, ledger: &Ledger) -> Result<CandidateSet> {
        self.set.take().map_or_else(|| CandidateSet::new(problem, ledger, self.sequential.box_candidates()), Ok)
    }

    /// The posterior of the batches that count, up to and without batch `end`.
    fn model(&self, set: &CandidateSet, problem: &Problem, ledger: &Ledger, end: usize) -> Result<CandidateModel> {
        let kind = Dictionary::Measured;
        let mut model = if self.keeps_data { set.model_before(problem, ledger, kind)? } else { set.model(problem, kind)? };
        let start = if self.keeps_data { 0 } else { end.saturating_sub(1) };
        for batch in start..end {
            for m in set.measurements(problem, ledger, batch) {
                model.observe(m.candidate, m.value, m.weight)?;
            }
        }
        Ok(model)
    }

    pub(crate) fn plan(&mut self, problem: &Problem, ledger: &Ledger) -> Result<Vec<Proposal>> {
        let lengths = self.lengths(problem)?;
        let Some(&count) = lengths.get(ledger.batches()) else { return Ok(Vec::new()) };
        let set = self.set(problem, ledger)?;
        if self.survivors.is_empty() {
            self.survivors = (0..set.len()).collect();
        }
        let model =
            if self.keeps_data { self.model(&set, problem, ledger, ledger.closed())? } else { set.model(problem, Dictionary::Measured)? };
        let proposals = explore(model, &self.survivors, count)?.into_iter().map(|a| set.proposal(a)).collect();
        self.set.put(set);
        Ok(proposals)
    }

    pub(crate) fn learn(&mut self, problem: &Problem, ledger: &Ledger) -> Result<bool> {
        let lengths = self.lengths(problem)?;
        let closed = ledger.closed();
        if closed >= lengths.len() {
            return Ok(true);
        }
        let set = self.set(problem, ledger)?;
        let model = self.model(&set, problem, ledger, closed)?;
        let b = match self.width {
            BpeWidth::Theory => {
                let union = 4.0 * lengths.len() as f64 * set.len() as f64 / problem.delta();
                norm_bound(problem)? + noise_level(problem)? / model.ridge() * (2.0 * union.ln()).sqrt()
            }
            BpeWidth::Constant(beta) => beta.sqrt(),
            BpeWidth::LogBatch => (3.0 * (2.0 * closed as f64).ln()).sqrt(),
        };
        let end = |a: usize, sign: f64| model.mean()[a] + sign * b * model.variance(a).sqrt();
        let best_lower = self.survivors.iter().map(|&a| end(a, -1.0)).fold(f64::NEG_INFINITY, f64::max);
        self.survivors.retain(|&a| end(a, 1.0) >= best_lower);
        self.set.put(set);
        Ok(false)
    }
}

/// Picks the survivor of largest variance again and again; values do not enter.
fn explore(mut model: CandidateModel, survivors: &[usize], count: usize) -> Result<Vec<usize>> {
    let mut picks = Vec::with_capacity(count);
    for _ in 0..count {
        let Some(pick) = argmax(survivors.iter().map(|&a| (a, model.variance(a)))) else { break };
        picks.push(pick);
        model.observe(pick, model.mean()[pick], 1.0)?;
    }
    Ok(picks)
}
