//! GP-UCB: optimism in the face of uncertainty (Srinivas et al. 2010; algorithm notes 5.1).

use super::cache::Cache;
use super::sequential::{ModelRun, Sequential};
use super::width::UcbWidth;
use crate::error::Result;
use crate::strategy::auto::one_by_one::{self, Index};
use crate::strategy::run::ledger::{Ledger, Proposal};
use crate::strategy::run::problem::Problem;
use serde::{Deserialize, Serialize};

/// `gp-ucb`: the candidate with the largest $\mu + b_t\sigma$ under the exact posterior. Cost O(Au) for an evaluation with u distinct points measured.
///
/// Without a kernel, one is learnt anew for every choice, the index is climbed from its best candidates, and $b_t = 2$ unless told otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GpUcb {
    width: UcbWidth,
    sequential: Sequential,
    #[serde(skip)]
    run: Cache<ModelRun>,
}

impl GpUcb {
    /// With this width.
    #[must_use]
    pub fn new(width: UcbWidth) -> Self {
        Self { width, ..Self::default() }
    }

    /// Asked in this way.
    #[must_use]
    pub fn with_sequential(self, sequential: Sequential) -> Self {
        Self { sequential, ..self }
    }

    pub(crate) fn check(&self, problem: &Problem) -> Result<()> {
        self.sequential.check_or_learn(problem)?;
        if problem.kernel().is_none() { self.width.learnt(problem, 0, 1).map(drop) } else { self.width.check(problem) }
    }

    pub(crate) fn plan(&mut self, problem: &Problem, ledger: &Ledger) -> Result<Vec<Proposal>> {
        let (width, count) = (self.width, self.sequential.next_len(problem, ledger));
        if problem.kernel().is_none() {
            let candidates = self.sequential.box_candidates();
            let factor = width.learnt(problem, ledger.trials().len(), candidates)?;
            return one_by_one::plan(problem, ledger, count, candidates, Index::Optimism(factor));
        }
        let run = ModelRun::synced(&mut self.run, self.sequential, problem, ledger)?;
        run.plan(count, ledger.trials().len() + 1, |model, variances, step| {
            let b = width.factor(problem, model, step)?;
            Ok(model.mean().iter().zip(variances).map(|(mean, variance)| mean + b * variance.sqrt()).collect())
        })
    }
}
