//! Optimisation for users who know neither kernel, norm nor noise: S-BPE's shape without its premises (algorithm notes 5.9).

mod advice;
mod assumed;
mod fit;
mod hills;
mod model;
mod pick;
mod pool;
mod scale;
mod survivors;
mod unexplained;

pub use assumed::{Assumed, Quantity};
pub use scale::Scale;

use crate::certificate::{Certificate, Contradiction};
use crate::error::{Error, Result};
use crate::points::Points;
use crate::strategy::baselines::Sobol;
use crate::strategy::run::ledger::{Ledger, Proposal};
use crate::strategy::run::problem::Problem;
use crate::strategy::run::recommendation::{self, BatchReport, Recommendation, StillPossible};
use crate::strategy::run_posterior::RunPosterior;
use crate::theory::even_batch_lengths;
use advice::Advice;
use fit::{Fit, Fitting};
use hills::Hill;
use model::Data;
use pick::Draws;
use pool::{Pool, Sieve};
use serde::{Deserialize, Serialize};

/// So many values are enough to learn a kernel from for a first look.
const LOOKED_AT: usize = 300;
/// Batches unless said otherwise.
const BATCHES: usize = 5;
/// Survivors satisfy $\mu+\beta\sigma\ge\max(\mu-\beta\sigma)$; $\beta$ for the second to the last of five batches, read off in between for other numbers.
const BETAS: [f64; 4] = [1.5, 1.0, 0.7, 0.5];
/// The share of a batch that looks for the best value; the rest goes where least is known.
const SEARCHING: [f64; 4] = [0.0, 0.5, 0.5, 1.0];
/// A second hill is searched by itself if it is at most this much lower than the highest, in standard deviations of the values.
const DEPTHS: [f64; 4] = [2.0, 1.0, 0.5, 0.2];
/// The share of the search that the highest hill gets where there are two.
const HIGHEST: [f64; 4] = [0.5, 0.5, 0.5, 0.75];

/// Few equal batches, all data, everything that is not given refitted after each (algorithm notes 5.9).
///
/// The first batch is a scrambled Sobol sequence. After every batch the values are put on a common scale, kernel parameters and noise are
/// fitted by maximum a posteriori, candidates are refreshed among the survivors $\{x:\mu+\beta\sigma\ge\max(\mu-\beta\sigma)\}$, and the next
/// batch goes where the variance is largest, each pick shrinking it. From the third batch on half of each, and all of the last one, looks for the best
/// value instead: of functions drawn from the posterior it covers the maxima, so that every basin that may hold the maximum gets its share. Once most
/// was measured on one hill, the model is too sure about the others: where the mean has a second hill that is nearly as high, it is searched by itself.
/// One evaluation of every later batch repeats the best point so far, unless the noise is given: whether repeated values scatter as much as the
/// model says tells noise from structure that the model is too smooth to see.
///
/// What the problem gives (kernel, noise, norm bound) is used as it is; what is estimated is listed in [`Auto::assumed`], and checked when
/// the next batch has arrived. All claims are estimates, none is certified.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Auto {
    batches: usize,
    rounds: Vec<Round>,
}

/// What a closed batch taught.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Round {
    /// The batch.
    batch: usize,
    fit: Fit,
    assumed: Assumed,
    /// The share of the domain that survived.
    share: f64,
    /// The gap, in the data's scale.
    gap: f64,
    /// The surviving candidates of a list.
    survivors: Option<Vec<usize>>,
}

impl Default for Auto {
    fn default() -> Self {
        Self { batches: BATCHES, rounds: Vec::new() }
    }
}

impl Auto {
    /// This many batches of equal length; as many as there are evaluations where those are fewer.
    ///
    /// # Errors
    /// [`Error::Parameter`] for no batch at all.
    pub fn new(batches: usize) -> Result<Self> {
        if batches == 0 {
            return Err(Error::Parameter { name: "batches", value: 0.0, requirement: "at least 1" });
        }
        Ok(Self { batches, rounds: Vec::new() })
    }

    /// What the policy went by after each batch that brought values: what was given, and what was estimated with its safety factor.
    pub fn assumed(&self) -> impl ExactSizeIterator<Item = &Assumed> {
        self.rounds.iter().map(|round| &round.assumed)
    }

    pub(super) fn check(&self, problem: &Problem) -> Result<()> {
        self.lengths(problem)?;
        problem.domain().candidates(1, problem.seed()).map(drop)
    }

    fn lengths(&self, problem: &Problem) -> Result<Vec<usize>> {
        even_batch_lengths(problem.budget(), self.batches.min(problem.budget()))
    }

    /// A row of settings for batches two to five, at batch `batch` of the run's own number of batches.
    fn setting(&self, problem: &Problem, row: [f64; 4], batch: usize) -> f64 {
        let last = self.batches.min(problem.budget()).max(2) - 1;
        let steps = (row.len() - 1) as f64;
        let position = if last == 1 { steps } else { steps * (batch.clamp(1, last) - 1) as f64 / (last - 1) as f64 };
        let below = (position as usize).min(row.len() - 2);
        row[below] + (position - below as f64) * (row[below + 1] - row[below])
    }

    pub(super) fn plan(&mut self, problem: &Problem, ledger: &Ledger) -> Result<Vec<Proposal>> {
        let batch = ledger.batches();
        let Some(&count) = self.lengths(problem)?.get(batch) else { return Ok(Vec::new()) };
        let seed = seed_of(problem, batch);
        let (data, fit) = match (self.rounds.last(), Data::of(problem, ledger)?) {
            (Some(round), Some(data)) => (data, round.fit.clone()),
            // Results from before the run stand for a first look, if there are enough of them to fit a kernel to.
            (None, Some(data)) if data.raw.len() > problem.domain().dim() + 1 => {
                let fit = Fitting::new(problem, &data, seed)?.best_scale(&data, None)?;
                (data, fit)
            }
            _ => {
                let all = Sobol::default().plan(problem, &Ledger::default())?;
                return Ok(all.into_iter().skip(ledger.trials().len()).take(count).collect());
            }
        };
        let model = fit.model(&data)?;
        let sieve = Sieve { beta: self.setting(problem, BETAS, batch), count, ..Sieve::new(problem, &model, &data, seed) };
        let mut pool = sieve.pool()?;
        let searching = (self.setting(problem, SEARCHING, batch) * (count - 1) as f64).round() as usize;
        let searched = if searching > 0 { self.search(problem, &data, &sieve, &mut pool, batch, searching)? } else { Vec::new() };
        let again = if count > 1 && problem.noise().is_none() { Some(self.best_so_far(problem, ledger)?) } else { None };
        let picks = pick::by_variance(&model, &pool, searched, count - again.iter().len())?;
        Ok(again.into_iter().chain(picks.into_iter().map(|i| pool.proposal(i))).collect())
    }

    /// Points of the pool, or added to it, that look for the best value.
    fn search(&self, problem: &Problem, data: &Data, sieve: &Sieve<'_>, pool: &mut Pool, batch: usize, count: usize) -> Result<Vec<usize>> {
        let model = sieve.model;
        let depth = self.setting(problem, DEPTHS, batch);
        let rivals = if sieve.is_divisible()? { hills::rivals(model, data, depth)? } else { None };
        let Some(tops) = rivals else { return Ok(Draws::new(model, pool, sieve.seed)?.cover(count)) };
        let highest = (self.setting(problem, HIGHEST, batch) * count as f64).round() as usize;
        let old = pool.points.len();
        let [top, other] = tops.map(|i| data.points.row(i));
        for (top, other, count) in [(top, other, highest), (other, top, count - highest)].into_iter().filter(|split| split.2 > 0) {
            let hill = Some(Hill { kernel: &model.kernel, top, other });
            let local = Sieve { hill, ..*sieve }.pool()?;
            for i in Draws::new(model, &local, sieve.seed)?.cover(count) {
                pool.points.push(local.points.row(i))?;
            }
        }
        pool.outlook = model.outlook(pool.points.view())?;
        Ok((old..pool.points.len()).collect())
    }

    /// The recommended point once more: only repeated measurements tell noise from fine structure.
    fn best_so_far(&self, problem: &Problem, ledger: &Ledger) -> Result<Proposal> {
        let best = self.recommend(problem, ledger)?.ok_or(Error::Empty { what: "the list of measured points" })?;
        Ok(Proposal { candidate: best.candidate, point: best.point })
    }

    /// Refits, checks what was assumed before, and looks at what survives.
    pub(super) fn learn(&mut self, problem: &Problem, ledger: &Ledger) -> Result<bool> {
        let spent = ledger.trials().len() >= problem.budget();
        let Some(data) = Data::of(problem, ledger)? else { return Ok(spent) };
        let batch = ledger.closed() - 1;
        let seed = seed_of(problem, batch);
        let last = self.rounds.last();
        let fit = Fitting::new(problem, &data, seed)?.best_scale(&data, last.map(|round| &round.fit))?;
        let model = fit.model(&data)?;
        let mut assumed = Assumed::new(problem, &fit, &data, &model)?;
        let delta = problem.delta() / self.batches as f64;
        // What was given holds from the first batch on; estimates are checked by the data that came after them.
        let before = last.map_or(&assumed, |round| &round.assumed);
        assumed.least_norm = before.contradicted_by(&data, delta)?;
        let beta = self.setting(problem, BETAS, batch + 1);
        let pool = Sieve { beta, ..Sieve::new(problem, &model, &data, seed) }.pool()?;
        let gap = Advice::new(problem, &data, &fit, &assumed)?.gap(&pool, seed)?;
        let Pool { share, survivors, .. } = pool;
        self.rounds.push(Round { batch, fit, assumed, share, gap, survivors });
        Ok(spent || problem.wanted_gap().is_some_and(|wanted| gap <= wanted))
    }

    /// That the data contradict what the user gave, if they do.
    pub(super) fn contradiction(&self) -> Option<Contradiction> {
        self.rounds.last()?.assumed.contradiction()
    }

    pub(super) fn recommend(&self, problem: &Problem, ledger: &Ledger) -> Result<Option<Recommendation>> {
        let (Some(round), Some(data)) = (self.rounds.last(), Data::of(problem, ledger)?) else {
            return RunPosterior::best_measured(problem, ledger);
        };
        let advice = Advice::new(problem, &data, &round.fit, &round.assumed)?;
        let candidate = ledger.all_measured().nth(advice.best()).and_then(|m| m.candidate);
        Ok(Some(advice.recommendation(candidate, round.gap)))
    }

    pub(super) fn reports(&self, problem: &Problem, ledger: &Ledger) -> Vec<BatchReport> {
        let mut reports: Vec<BatchReport> = (0..ledger.closed()).map(|batch| BatchReport::plain(ledger, batch)).collect();
        for round in &self.rounds {
            let report = &mut reports[round.batch];
            report.survivors =
                Some(round.survivors.as_ref().map_or(StillPossible::Share(round.share), |list| StillPossible::Candidates(list.len())));
            report.gap = Some(round.gap);
            let premises = round.assumed.premises(problem, ledger.all_measured().count());
            report.certificate =
                Some(Certificate { contradiction: round.assumed.contradiction(), ..recommendation::model_certificate(problem, premises) });
        }
        reports
    }
}

/// What a model goes by where nobody gave a kernel and a noise level: both learnt from everything measured so far, a batch that is still open included. Up to
/// [`LOOKED_AT`] values are looked at, evenly over the run.
pub(super) fn first_look(problem: &Problem, ledger: &Ledger) -> Result<Option<Assumed>> {
    let Some(data) = Data::of(problem, ledger)? else { return Ok(None) };
    let data = data.thinned(LOOKED_AT)?;
    let fit = Fitting::new(problem, &data, seed_of(problem, 0))?.best_scale(&data, None)?;
    let model = fit.model(&data)?;
    Assumed::new(problem, &fit, &data, &model).map(Some)
}

impl Data {
    /// At most so many of the values, evenly over the run.
    fn thinned(self, at_most: usize) -> Result<Self> {
        let every = self.raw.len().div_ceil(at_most).max(1);
        if every == 1 {
            return Ok(self);
        }
        let kept: Vec<usize> = (0..self.raw.len()).step_by(every).collect();
        let rows: Vec<&[f64]> = kept.iter().map(|&i| self.points.row(i)).collect();
        Ok(Self {
            points: Points::from_rows(&rows)?,
            raw: kept.iter().map(|&i| self.raw[i]).collect(),
            errors: kept.iter().map(|&i| self.errors[i]).collect(),
            spread: self.spread.div_ceil(every),
        })
    }

    /// Everything measured in time; `None` if nothing was.
    fn of(problem: &Problem, ledger: &Ledger) -> Result<Option<Self>> {
        let (rows, raw) = recommendation::measurements(problem, ledger);
        if rows.is_empty() {
            return Ok(None);
        }
        let errors = ledger.all_measured().map(|m| m.standard_error.map(|e| e / problem.prior().unit())).collect();
        // Results from before the run, or else the first batch that brought values, a Sobol sequence: both come first, and this run did not gather them around the best.
        let first = || (0..ledger.batches()).map(|b| ledger.measured(b).count()).find(|&n| n > 0).unwrap_or(0);
        let spread = match ledger.measured_before().count() {
            0 => first(),
            before => before,
        };
        Ok(Some(Self { points: Points::from_rows(&rows)?, raw, errors, spread }))
    }
}

/// Randomness of a batch that no other batch or seed has.
fn seed_of(problem: &Problem, batch: usize) -> u64 {
    problem.seed().wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(batch as u64)
}
