//! Problems by their names, and strategies as they are compared on them.

use crate::benchmark::Benchmark;
use crate::function::TestFunction;
use sigmabar::catalogue::{PolicyError, PolicyProblem, PolicySpec};
use sigmabar::simulated::{Classic, SimulatedNoise};
use sigmabar::{Domain, Error, Kernel, Policy, Problem, Result};

/// The names of all problems.
pub const PROBLEMS: [&str; 12] = [
    "bpe",
    "gp-threds-branin",
    "gp-threds-rosenbrock",
    "se-2",
    "matern-2",
    "branin",
    "hartmann-3",
    "hartmann-6",
    "rosenbrock-4",
    "ackley-5",
    "levy-4",
    "styblinski-tang-3",
];

/// The problem of this name, its instance by the seed; `None` if there is no such one.
///
/// # Errors
/// None in practice: all parameters are fixed.
pub fn problem_named(name: &str, seed: u64) -> Result<Option<Benchmark>> {
    let noise = SimulatedNoise::Gaussian { std_dev: 0.05 };
    let random = |kernel| Benchmark::known_norm(kernel, 2, 2.0, noise, 1000, seed);
    match name {
        "bpe" => Benchmark::bpe(seed),
        "gp-threds-branin" => Benchmark::gp_threds_branin(),
        "gp-threds-rosenbrock" => Benchmark::gp_threds_rosenbrock(),
        "se-2" => random(Kernel::squared_exponential(0.2, 1.0)?),
        "matern-2" => random(Kernel::matern(2.5, 0.2, 1.0)?),
        "branin" => classic(Classic::Branin, noise),
        "hartmann-3" => classic(Classic::Hartmann3, noise),
        "hartmann-6" => classic(Classic::Hartmann6, noise),
        "rosenbrock-4" => classic(Classic::Rosenbrock { dim: 4, half_width: 2.0, divisor: 1000.0 }, noise),
        "ackley-5" => classic(Classic::Ackley { dim: 5, half_width: 5.0, shift: 0.7 }, noise),
        "levy-4" => classic(Classic::Levy { dim: 4 }, noise),
        "styblinski-tang-3" => classic(Classic::StyblinskiTang { dim: 3 }, noise),
        _ => return Ok(None),
    }
    .map(Some)
}

/// A classic function with a guess for strategies that cannot do without a kernel: a fifth of the widest side, norm bound 5.
fn classic(classic: Classic, noise: SimulatedNoise) -> Result<Benchmark> {
    let function = TestFunction::classic(classic)?;
    let width = match function.domain() {
        Domain::Box(sides) => sides.low().iter().zip(sides.high()).map(|(low, high)| high - low).fold(0.0, f64::max),
        _ => 1.0,
    };
    let kernel = Kernel::matern(2.5, 0.2 * width, 1.0)?;
    Benchmark::new(function, noise, 200)?.assuming_kernel(kernel)?.assuming(|problem| problem.with_norm_bound(5.0))
}

/// The slope of cumulative regret that theory states: $(\nu+d)/(2\nu+d)$ for Matérn, a half and logarithms for squared exponential kernels.
#[must_use]
pub fn stated_slope(name: &str) -> Option<f64> {
    match name {
        "se-2" | "bpe" => Some(0.5),
        "matern-2" => Some(4.5 / 7.0),
        _ => None,
    }
}

/// The policy that is written like `s-bpe:rules=paper`, for a problem.
///
/// # Errors
/// Names and values are refused by reading the text as a [`PolicySpec`], which says which; here [`Error::Premise`], or what the core refuses.
pub fn policy_for(text: &str, problem: &Problem) -> Result<Policy> {
    let refused = |error: PolicyError| match error.problem {
        PolicyProblem::Core(error) => error,
        _ => Error::Premise { what: "this strategy", reason: "its name or options are wrong, or do not go together" },
    };
    let mut spec: PolicySpec = text.parse().map_err(refused)?;
    if spec.name() == "gp-threds" && spec.get("interval").is_none() {
        // It wants an interval that the best value is believed to be in.
        spec = spec.with("interval", vec![0.0, problem.norm_bound().unwrap_or(2.0).max(1.0)]);
    }
    spec.policy(problem.budget()).map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sigmabar::catalogue::STRATEGIES;
    use sigmabar::strategy::{Rules, Sbpe};

    #[test]
    fn every_problem_and_every_strategy_is_the_one_it_is_called() {
        for name in PROBLEMS {
            assert!(problem_named(name, 0).unwrap().is_some(), "{name}");
        }
        assert!(problem_named("branim", 0).unwrap().is_none());
        let benchmark = problem_named("se-2", 0).unwrap().unwrap();
        let problem = benchmark.problem();
        for entry in STRATEGIES.iter().filter(|entry| !entry.is_contextual) {
            assert_eq!(policy_for(entry.name, problem).unwrap().name(), entry.name);
        }
        assert!(matches!(policy_for("gp-thred", problem), Err(Error::Premise { .. })));
        let Policy::Sbpe(paper) = policy_for("s-bpe:rules=paper", problem).unwrap() else { panic!("another strategy") };
        assert_eq!(*paper, Sbpe::new(Rules::Paper));
    }
}
