//! Max-variance design as a policy: learns the function everywhere, looks at no value (algorithm notes 0.5).

use super::candidate_set::{CandidateSet, kernel, ridge};
use super::sequential::Sequential;
use crate::design::{DictionarySize, MaxVariance};
use crate::error::Result;
use crate::points::{Collected, Locations, Points};
use crate::strategy::run::ledger::{Ledger, Proposal};
use crate::strategy::run::problem::Problem;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// `max-variance`: the whole budget in one batch, chosen by [`MaxVariance`] with inducing points that grow as needed. On boxes and spaces among a declared Sobol
/// set; the batch length of [`Sequential`] is not used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LargestVariance {
    sequential: Sequential,
    inducing: Option<usize>,
}

impl LargestVariance {
    /// Among this many candidates on boxes.
    #[must_use]
    pub fn with_sequential(self, sequential: Sequential) -> Self {
        Self { sequential, ..self }
    }

    pub(crate) fn check(&self, problem: &Problem) -> Result<()> {
        self.sequential.check(problem)
    }

    pub(crate) fn inducing(&self) -> Option<usize> {
        self.inducing
    }

    pub(crate) fn plan(&mut self, problem: &Problem, ledger: &Ledger) -> Result<Vec<Proposal>> {
        if ledger.batches() > 0 {
            return Ok(Vec::new());
        }
        let set = CandidateSet::new(problem, ledger, self.sequential.box_candidates())?;
        let mut design = MaxVariance::growing(kernel(problem)?, ridge(problem)?, DictionarySize::default())?;
        let known: Vec<f64> = ledger.measured_before().flat_map(|m| m.point).copied().collect();
        if !known.is_empty() {
            // How they were chosen is their own affair: only where they lie counts.
            design = design.after(Arc::new(Locations::new(Points::new(known, problem.domain().dim())?, Collected::Designed)));
        }
        let chosen = design.choose(set.points().view(), problem.budget())?;
        self.inducing = Some(chosen.information().features().len());
        Ok(chosen.indices().iter().map(|&i| set.proposal(i)).collect())
    }
}
