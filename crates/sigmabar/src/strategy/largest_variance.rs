//! Max-variance design as a policy: learns the function everywhere, looks at no value (algorithm notes 0.5).

use super::candidate_set::{CandidateSet, kernel, ridge};
use super::ledger::{Ledger, Proposal};
use super::problem::Problem;
use super::sequential::Sequential;
use crate::design::{Growth, MaxVariance};
use crate::error::Result;
use serde::{Deserialize, Serialize};

/// `max-variance`: the whole budget in one batch, chosen by [`MaxVariance`] with inducing points that grow as needed. On boxes and spaces among a declared Sobol
/// set; the batch length of [`Sequential`] is not used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LargestVariance {
    sequential: Sequential,
}

impl LargestVariance {
    /// Among this many candidates on boxes.
    #[must_use]
    pub fn with_sequential(self, sequential: Sequential) -> Self {
        Self { sequential }
    }

    pub(super) fn check(&self, problem: &Problem) -> Result<()> {
        self.sequential.check(problem)
    }

    pub(super) fn plan(&self, problem: &Problem, ledger: &Ledger) -> Result<Vec<Proposal>> {
        if ledger.batches() > 0 {
            return Ok(Vec::new());
        }
        let set = CandidateSet::new(problem, self.sequential.box_candidates())?;
        let design = MaxVariance::growing(kernel(problem)?, ridge(problem)?, Growth::default())?;
        let chosen = design.choose(set.points().view(), problem.budget())?;
        Ok(chosen.indices().iter().map(|&i| set.proposal(i)).collect())
    }
}
