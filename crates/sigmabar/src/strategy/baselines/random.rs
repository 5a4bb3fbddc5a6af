//! The baselines that learn nothing: uniform random and scrambled Sobol points, the whole budget in one batch.

use crate::domain::Domain;
use crate::error::Result;
use crate::strategy::run::ledger::{Ledger, Proposal};
use crate::strategy::run::problem::Problem;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Candidates from which random points of a space are drawn, per evaluation of the budget.
const CANDIDATES_PER_EVALUATION: usize = 16;

/// Uniformly random points; on a list, candidates drawn with replacement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Random {}

/// Points of a scrambled Sobol sequence; on a list, a random order without replacement, begun anew when it is used up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sobol {}

impl Random {
    pub(crate) fn plan(&self, problem: &Problem, ledger: &Ledger) -> Result<Vec<Proposal>> {
        let left = problem.budget().saturating_sub(ledger.trials().len());
        let mut rng = ChaCha8Rng::seed_from_u64(problem.seed());
        match problem.domain() {
            Domain::List(list) => {
                let points = list.points();
                Ok((0..left).map(|_| rng.random_range(0..points.len())).map(|i| Proposal::candidate(i, points.row(i))).collect())
            }
            Domain::Box(domain) => {
                let sides: Vec<(f64, f64)> = domain.low().iter().copied().zip(domain.high().iter().copied()).collect();
                Ok((0..left).map(|_| Proposal::anywhere(sides.iter().map(|&(low, high)| rng.random_range(low..high)).collect())).collect())
            }
            Domain::Space(_) => {
                let candidates = problem.domain().candidates(CANDIDATES_PER_EVALUATION * problem.budget(), problem.seed())?;
                let pick = |_| {
                    let i = rng.random_range(0..candidates.len());
                    Ok(Proposal::anywhere(candidates.range(i, i + 1)?.row(0).to_vec()))
                };
                (0..left).map(pick).collect()
            }
        }
    }
}

impl Sobol {
    pub(crate) fn plan(&self, problem: &Problem, ledger: &Ledger) -> Result<Vec<Proposal>> {
        let left = problem.budget().saturating_sub(ledger.trials().len());
        if let Domain::List(list) = problem.domain() {
            let points = list.points();
            let mut rng = ChaCha8Rng::seed_from_u64(problem.seed());
            let mut order: Vec<usize> = (0..points.len()).collect();
            for i in (1..order.len()).rev() {
                order.swap(i, rng.random_range(0..=i));
            }
            return Ok(order.iter().cycle().take(left).map(|&i| Proposal::candidate(i, points.row(i))).collect());
        }
        if left == 0 {
            return Ok(Vec::new());
        }
        let candidates = problem.domain().candidates(problem.budget(), problem.seed())?;
        let points = candidates.range(0, candidates.len())?;
        Ok((0..left).map(|i| Proposal::anywhere(points.row(i % points.len()).to_vec())).collect())
    }
}

impl Proposal {
    pub(crate) fn candidate(index: usize, point: &[f64]) -> Self {
        Self { candidate: Some(index), point: point.to_vec() }
    }

    pub(crate) fn anywhere(point: Vec<f64>) -> Self {
        Self { candidate: None, point }
    }
}
