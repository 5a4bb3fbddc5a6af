//! mini-META: few distinct candidates, each repeated as often as it does no harm (Calandriello et al. 2022; algorithm notes 3.3).

use super::cache::Cache;
use super::improvement::{Incumbent, expected_improvement};
use super::sequential::{ModelRun, Sequential, best_allowed};
use super::width::UcbWidth;
use crate::error::{Error, Result};
use crate::strategy::run::ledger::{Ledger, Proposal};
use crate::strategy::run::problem::Problem;
use serde::{Deserialize, Serialize};

/// What [`MiniMeta`] maximises.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum MetaIndex {
    /// $\mu + \tilde C b_t\sigma$.
    Ucb(UcbWidth),
    /// Expected improvement over the largest posterior mean of the measured candidates.
    ExpectedImprovement,
}

impl Default for MetaIndex {
    fn default() -> Self {
        Self::Ucb(UcbWidth::default())
    }
}

/// `mini-meta`: the maximiser $x$ of the index is evaluated $\max(1, \lfloor(\tilde C^2-1)/v(x)\rfloor)$ times in one batch, $v = \sigma^2/\tau^2$: that many copies shrink
/// any variance by at most $\tilde C^2$, so the index was right to a factor $\tilde C$ all along (recalled; the rule was derived again).
///
/// $\tilde C = 1.1$ unless told otherwise, as in their experiments (recalled). The exact posterior costs O(Au) for a batch, with u distinct candidates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MiniMeta {
    index: MetaIndex,
    growth: f64,
    sequential: Sequential,
    #[serde(skip)]
    run: Cache<ModelRun>,
}

impl Default for MiniMeta {
    fn default() -> Self {
        Self { index: MetaIndex::default(), growth: 1.1, sequential: Sequential::default(), run: Cache::default() }
    }
}

impl MiniMeta {
    /// With this index and this $\tilde C$.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless $\tilde C$ is finite and at least 1.
    pub fn new(index: MetaIndex, growth: f64) -> Result<Self> {
        if !(growth.is_finite() && growth >= 1.0) {
            return Err(Error::Parameter { name: "deviation growth", value: growth, requirement: "finite and at least 1" });
        }
        Ok(Self { index, growth, ..Self::default() })
    }

    /// Among this many candidates on boxes; the batch length is the rule's.
    #[must_use]
    pub fn with_sequential(self, sequential: Sequential) -> Self {
        Self { sequential, ..self }
    }

    pub(crate) fn check(&self, problem: &Problem) -> Result<()> {
        self.sequential.check(problem)?;
        match self.index {
            MetaIndex::Ucb(width) => width.check(problem),
            MetaIndex::ExpectedImprovement => Ok(()),
        }
    }

    pub(crate) fn plan(&mut self, problem: &Problem, ledger: &Ledger) -> Result<Vec<Proposal>> {
        let left = problem.budget().saturating_sub(ledger.trials().len());
        let run = ModelRun::synced(&mut self.run, self.sequential, problem, ledger)?;
        let variances = run.model.variances();
        let scores = match self.index {
            MetaIndex::Ucb(width) => {
                let b = self.growth * width.factor(problem, &run.model, ledger.trials().len() + 1)?;
                run.model.mean().iter().zip(&variances).map(|(mean, variance)| mean + b * variance.sqrt()).collect()
            }
            MetaIndex::ExpectedImprovement => expected_improvement(&run.model, &variances, Incumbent::Measured.of(run)),
        };
        let Some(choice) = best_allowed(&scores, &run.barred) else { return Ok(Vec::new()) };
        let v = variances[choice] / run.model.ridge().powi(2);
        // A quotient beyond the budget, infinity included, means the budget.
        let copies = ((self.growth.powi(2) - 1.0) / v).floor().max(1.0).min(left as f64) as usize;
        Ok(vec![run.set.proposal(choice); copies])
    }
}
