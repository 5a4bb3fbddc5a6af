//! What policies that look at every value before the next choice have in common.

use super::cache::Cache;
use super::candidate_set::{self, CandidateSet};
use super::model::{CandidateModel, Dictionary, Pending};
use crate::error::{Error, Result};
use crate::strategy::run::ledger::{Ledger, Proposal};
use crate::strategy::run::problem::Problem;
use serde::{Deserialize, Serialize};
use sigmabar_linalg::argmax;

/// How a sequential policy is asked: how many evaluations it plans at a time, and among how many candidates it chooses where the domain is no list.
///
/// In a batch of several, choices after the first treat the earlier ones as answered at their posterior mean: means stay, variances shrink. On boxes
/// and spaces the candidates are a scrambled Sobol set of the declared size, from the problem's seed. A candidate whose evaluation failed is not
/// proposed again as long as there are others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequential {
    batch_len: usize,
    box_candidates: usize,
}

impl Default for Sequential {
    /// One evaluation at a time; 2048 candidates on boxes.
    fn default() -> Self {
        Self { batch_len: 1, box_candidates: 2048 }
    }
}

impl Sequential {
    /// Plans this many evaluations at a time.
    #[must_use]
    pub fn with_batch_len(self, batch_len: usize) -> Self {
        Self { batch_len, ..self }
    }

    /// The size of the Sobol candidate set on boxes and spaces.
    #[must_use]
    pub fn with_box_candidates(self, box_candidates: usize) -> Self {
        Self { box_candidates, ..self }
    }

    /// Evaluations planned at a time.
    #[must_use]
    pub fn batch_len(&self) -> usize {
        self.batch_len
    }

    /// The size of the candidate set on boxes and spaces.
    #[must_use]
    pub fn box_candidates(&self) -> usize {
        self.box_candidates
    }

    /// What every policy with a posterior needs.
    pub(crate) fn check(&self, problem: &Problem) -> Result<()> {
        candidate_set::kernel(problem)?;
        candidate_set::ridge(problem)?;
        self.check_plan(problem)
    }

    /// The same for a policy that learns its kernel where none is given.
    pub(crate) fn check_or_learn(&self, problem: &Problem) -> Result<()> {
        if problem.kernel().is_some() { self.check(problem) } else { self.check_plan(problem) }
    }

    fn check_plan(&self, problem: &Problem) -> Result<()> {
        if self.batch_len == 0 {
            return Err(Error::Parameter { name: "batch length", value: 0.0, requirement: "at least 1 evaluation" });
        }
        problem.domain().candidates(self.box_candidates, problem.seed()).map(drop)
    }

    /// Evaluations of the next batch: the batch length, or what the budget leaves.
    pub(crate) fn next_len(&self, problem: &Problem, ledger: &Ledger) -> usize {
        self.batch_len.min(problem.budget().saturating_sub(ledger.trials().len()))
    }
}

/// The posterior of a run over its candidates, as far as its batches are closed.
#[derive(Clone, Debug)]
pub(crate) struct ModelRun {
    pub set: CandidateSet,
    pub model: CandidateModel,
    pub barred: Vec<bool>,
    /// The largest mean over all candidates before the last batch was absorbed, and at least the prior mean.
    pub best_before: f64,
    absorbed: usize,
}

impl ModelRun {
    /// Before its first batch.
    pub fn new(set: CandidateSet, model: CandidateModel, ledger: &Ledger) -> Self {
        Self { barred: set.barred_before(ledger), set, model, best_before: 0.0, absorbed: 0 }
    }

    /// Brings the cached exact posterior up to the ledger: the same numbers whether it was kept or is made again. Cost O(Am) for each new observation.
    pub fn synced<'a>(cache: &'a mut Cache<Self>, how: Sequential, problem: &Problem, ledger: &Ledger) -> Result<&'a mut Self> {
        let mut run = match cache.take() {
            Some(run) => run,
            None => {
                let set = CandidateSet::new(problem, ledger, how.box_candidates)?;
                let model = set.model_before(problem, ledger, Dictionary::Measured)?;
                Self::new(set, model, ledger)
            }
        };
        run.absorb(problem, ledger, ledger.closed())?;
        Ok(cache.put(run))
    }

    /// Takes in the closed batches before `end`, one observation after another.
    pub fn absorb(&mut self, problem: &Problem, ledger: &Ledger, end: usize) -> Result<()> {
        for batch in self.absorbed..end {
            self.best_before = self.model.mean().iter().copied().fold(0.0, f64::max);
            for m in self.set.measurements(problem, ledger, batch) {
                self.model.observe(m.candidate, m.value, m.weight)?;
            }
            bar(&mut self.barred, &self.set, ledger, batch);
        }
        self.absorbed = self.absorbed.max(end);
        Ok(())
    }

    /// Counts the next batch for a model that is drawn anew afterwards.
    pub fn count(&mut self, problem: &Problem, ledger: &Ledger) {
        for m in self.set.measurements(problem, ledger, self.absorbed) {
            self.model.count(m.candidate, m.value, m.weight);
        }
        bar(&mut self.barred, &self.set, ledger, self.absorbed);
        self.absorbed += 1;
    }

    /// The next batch by an index over all candidates, computed from the variances as they will be and the number of the evaluation, from 1.
    pub fn plan(
        &self,
        count: usize,
        first_step: usize,
        index: impl Fn(&CandidateModel, &[f64], usize) -> Result<Vec<f64>>,
    ) -> Result<Vec<Proposal>> {
        let mut pending = Pending::new(&self.model);
        let mut proposals = Vec::with_capacity(count);
        for step in first_step..first_step + count {
            let scores = index(&self.model, pending.variances(), step)?;
            let Some(choice) = best_allowed(&scores, &self.barred) else { break };
            proposals.push(self.set.proposal(choice));
            if proposals.len() < count {
                pending.add(&self.model, choice)?;
            }
        }
        Ok(proposals)
    }
}

/// Bars the candidates of a batch that failed.
pub(crate) fn bar(barred: &mut [bool], set: &CandidateSet, ledger: &Ledger, batch: usize) {
    set.failures(ledger, batch).for_each(|candidate| barred[candidate] = true);
}

/// The largest score among the candidates that have not failed, among all if all have.
pub(crate) fn best_allowed(scores: &[f64], barred: &[bool]) -> Option<usize> {
    let allowed = scores.iter().copied().enumerate().filter(|&(candidate, _)| !barred[candidate]);
    argmax(allowed).or_else(|| argmax(scores.iter().copied().enumerate()))
}
