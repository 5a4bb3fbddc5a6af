//! A problem as it is read from a file: only what the constructors accept becomes one.

use super::problem::{Direction, Failures, Problem};
use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::noise::Noise;
use crate::origin::Sourced;
use crate::points::Prior;
use serde::Deserialize;

/// The fields of a [`Problem`], unchecked, in the same order.
#[derive(Deserialize)]
pub(crate) struct StoredProblem {
    domain: Domain,
    budget: usize,
    delta: f64,
    seed: u64,
    direction: Direction,
    kernel: Option<Sourced<Kernel>>,
    ridge: Option<Sourced<f64>>,
    norm_bound: Option<Sourced<f64>>,
    noise: Option<Sourced<Noise>>,
    prior: Prior,
    wanted_gap: Option<f64>,
    wanted_candidate_gap: Option<f64>,
    failures: Failures,
    unknown_level: Option<u32>,
}

impl TryFrom<StoredProblem> for Problem {
    type Error = Error;

    fn try_from(stored: StoredProblem) -> Result<Self> {
        // A learnt prior is as good as a declared one once its numbers are.
        Prior::declared(stored.prior.mean(), stored.prior.unit())?;
        let mut problem = Self::new(stored.domain, stored.budget)?
            .with_delta(stored.delta)?
            .with_seed(stored.seed)
            .with_direction(stored.direction)
            .with_prior(stored.prior);
        if let Some(kernel) = stored.kernel {
            problem = problem.with_kernel(kernel)?;
        }
        if let Some(ridge) = stored.ridge {
            problem = problem.with_ridge(ridge)?;
        }
        if let Some(bound) = stored.norm_bound {
            problem = problem.with_norm_bound(bound)?;
        }
        problem = match (stored.noise, stored.unknown_level) {
            (Some(Sourced { value: Noise::Gaussian { std_dev }, .. }), Some(each)) => problem.with_unknown_level(std_dev, each)?,
            (Some(noise), _) => problem.with_noise(Sourced::new(noise.value.validated(None)?, noise.origin))?,
            (None, _) => problem,
        };
        if let Some(gap) = stored.wanted_gap {
            problem = problem.with_wanted_gap(gap)?;
        }
        if let Some(gap) = stored.wanted_candidate_gap {
            problem = problem.with_wanted_candidate_gap(gap)?;
        }
        Ok(problem.with_failures(stored.failures))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::BoxDomain;
    use crate::kernel::Kernel;

    fn problem() -> Problem {
        let domain = Domain::Box(BoxDomain::unit(2).expect("valid"));
        let problem = Problem::new(domain, 7).and_then(|p| p.with_kernel(Kernel::squared_exponential(vec![0.2, 0.3], 1.0)?));
        let problem = problem.and_then(|p| p.with_ridge(0.1)?.with_norm_bound(2.0)?.with_wanted_gap(0.5)?.with_delta(0.125));
        problem.and_then(|p| p.with_noise(Noise::light_tailed(0.25, 3.0)?)).expect("valid").with_failures(Failures::Informative)
    }

    #[test]
    fn every_number_out_of_range_is_refused() {
        let bytes = postcard::to_stdvec(&problem()).expect("serialises");
        let read = |bytes: &[u8]| postcard::from_bytes::<Problem>(bytes);
        assert_eq!(read(&bytes).expect("sound"), problem());
        // Each number of the problem, and what it must not be.
        for (number, wrong) in
            [(0.125, 1.0), (0.125, f64::NAN), (0.1, -0.1), (2.0, 0.0), (0.25, f64::INFINITY), (3.0, -3.0), (0.5, 0.0), (0.2, -0.2)]
        {
            let (from, to) = (f64::to_le_bytes(number), f64::to_le_bytes(wrong));
            let place = bytes.windows(8).position(|w| w == from).expect("the number is there");
            let mut spoilt = bytes.clone();
            spoilt[place..place + 8].copy_from_slice(&to);
            assert!(read(&spoilt).is_err(), "{number} as {wrong}");
        }
        let budget = bytes.iter().position(|&b| b == 7).expect("the budget is there");
        let mut spoilt = bytes.clone();
        spoilt[budget] = 0;
        assert!(read(&spoilt).is_err(), "a budget of 0");
    }
}
