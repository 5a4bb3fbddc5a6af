//! A function with its noise and what a run is told about it, among them the published settings.

use crate::function::TestFunction;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sigmabar::domain::ListDomain;
use sigmabar::posterior::sample_gaussian;
use sigmabar::simulated::{Classic, SimulatedNoise};
use sigmabar::{BoxDomain, Domain, Error, Expansion, Kernel, Points, Problem, Result};
use sigmabar_linalg::Lower;

/// One simulated problem: the truth, the noise, and the problem as a strategy sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Benchmark {
    function: TestFunction,
    noise: SimulatedNoise,
    problem: Problem,
}

impl Benchmark {
    /// A function with noise and a budget, of which a run is told the domain and the direction alone.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a budget of 0 or a noise without a positive level.
    pub fn new(function: TestFunction, noise: SimulatedNoise, budget: usize) -> Result<Self> {
        let level = noise.std_dev();
        if noise != SimulatedNoise::None && !(level.is_finite() && level > 0.0) {
            return Err(Error::Parameter { name: "noise level", value: level, requirement: "finite and positive" });
        }
        let problem = Problem::new(function.domain().clone(), budget)?.with_direction(function.direction());
        Ok(Self { function, noise, problem })
    }

    /// What a run is told besides: takes the problem and gives it back with kernel, norm bound, prior, ….
    ///
    /// # Errors
    /// What `tell` runs into; [`Error::Premise`] if it changed the domain or the direction, which belong to the function.
    pub fn assuming(self, tell: impl FnOnce(Problem) -> Result<Problem>) -> Result<Self> {
        let problem = tell(self.problem)?;
        if problem.domain() != self.function.domain() || problem.direction() != self.function.direction() {
            return Err(Error::Premise {
                what: "a benchmark with another domain or direction than its function",
                reason: "regret would be measured against the wrong best value: change the function instead",
            });
        }
        Ok(Self { problem, ..self })
    }

    /// Tells the run the truth about kernel and noise: the noise's own assumption, its standard deviation as ridge.
    ///
    /// # Errors
    /// A kernel of another width; [`Error::Parameter`] without noise, where there is no ridge.
    pub fn assuming_kernel(self, kernel: Kernel) -> Result<Self> {
        let (assumption, ridge) = (self.noise.assumption()?, self.noise.std_dev());
        self.assuming(|problem| {
            let problem = problem.with_kernel(kernel)?.with_ridge(ridge)?;
            assumption.map_or(Ok(problem.clone()), |noise| problem.with_noise(noise))
        })
    }

    /// A random function of known norm on $\[0,1\]^d$ (coefficients uniform at 10d centres), told with its kernel and norm.
    ///
    /// # Errors
    /// A kernel of another width, a norm that is not positive.
    pub fn known_norm(kernel: Kernel, dim: usize, norm: f64, noise: SimulatedNoise, budget: usize, seed: u64) -> Result<Self> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ CENTRES_KEY);
        let centres = Points::new((0..10 * dim * dim).map(|_| rng.random::<f64>()).collect(), dim)?;
        let expansion = Expansion::random(kernel.clone(), centres, norm, seed)?;
        let function = TestFunction::expansion("known-norm", expansion, BoxDomain::unit(dim)?)?;
        Self::new(function, noise, budget)?.assuming_kernel(kernel)?.assuming(|problem| problem.with_norm_bound(norm))
    }

    /// The published setting of BPE (algorithm notes 5.2, 10.1): $50\times50$ points of $[-5,5]^2$, squared exponential kernel with length-scale 0.5, the
    /// interpolant of 25 values drawn from the prior on a $5\times5$ grid, noise 0.02, 1000 evaluations. The seed draws the function. Its norm is told.
    ///
    /// # Errors
    /// None in practice: all parameters are fixed.
    pub fn bpe(seed: u64) -> Result<Self> {
        let kernel = Kernel::squared_exponential(0.5, 1.0)?;
        let square = Domain::Box(BoxDomain::new(vec![-5.0; 2], vec![5.0; 2])?);
        let centres = square.grid(5)?.range(0, 25)?;
        let expansion = interpolated_prior_draw(kernel.clone(), centres, seed)?;
        let norm = expansion.norm()?;
        let list = ListDomain::new(square.grid(50)?.range(0, 2500)?)?;
        let function = TestFunction::expansion_on_list("bpe", expansion, list)?;
        Self::new(function, SimulatedNoise::Gaussian { std_dev: 0.02 }, 1000)?
            .assuming_kernel(kernel)?
            .assuming(|problem| problem.with_norm_bound(norm))
    }

    /// The published Branin setting of GP-ThreDS (algorithm notes 10.3): $\[0,1\]^2$, squared exponential kernel with length-scale 0.2, noise variance 0.01,
    /// 1000 evaluations. The "norm bound" 0.5 is the constant of the published runs, not the function's norm.
    ///
    /// # Errors
    /// None in practice: all parameters are fixed.
    pub fn gp_threds_branin() -> Result<Self> {
        Self::gp_threds(Classic::Branin, 0.5)
    }

    /// The published Rosenbrock setting of GP-ThreDS: as [`Benchmark::gp_threds_branin`], with the constant 2.
    ///
    /// # Errors
    /// None in practice: all parameters are fixed.
    pub fn gp_threds_rosenbrock() -> Result<Self> {
        Self::gp_threds(Classic::RosenbrockPlane, 2.0)
    }

    fn gp_threds(classic: Classic, constant: f64) -> Result<Self> {
        let function = TestFunction::classic(classic)?;
        let function = function.clone().named(format!("gp-threds-{}", function.name()));
        Self::new(function, SimulatedNoise::Gaussian { std_dev: 0.1 }, 1000)?
            .assuming_kernel(Kernel::squared_exponential(0.2, 1.0)?)?
            .assuming(|problem| problem.with_norm_bound(constant))
    }

    /// The five functions by which automatic mode is judged (algorithm notes 5.9), noise 0.05, 200 evaluations, nothing else told: Hartmann-6, Branin,
    /// Hartmann-3, Rosenbrock-4 on $[-2,2]^4$ divided by 1000, Ackley-5 on $[-5,5]^5$ shifted by 0.7.
    ///
    /// # Errors
    /// None in practice: all parameters are fixed.
    pub fn automatic() -> Result<Vec<Self>> {
        let functions = [
            Classic::Hartmann6,
            Classic::Branin,
            Classic::Hartmann3,
            Classic::Rosenbrock { dim: 4, half_width: 2.0, divisor: 1000.0 },
            Classic::Ackley { dim: 5, half_width: 5.0, shift: 0.7 },
        ];
        let noise = SimulatedNoise::Gaussian { std_dev: 0.05 };
        functions.into_iter().map(|classic| Self::new(TestFunction::classic(classic)?, noise, 200)).collect()
    }

    /// The same with another number of evaluations.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a budget of 0.
    pub fn with_budget(self, budget: usize) -> Result<Self> {
        Ok(Self { problem: self.problem.with_budget(budget)?, ..self })
    }

    /// The truth.
    #[must_use]
    pub fn function(&self) -> &TestFunction {
        &self.function
    }

    /// The noise.
    #[must_use]
    pub fn noise(&self) -> SimulatedNoise {
        self.noise
    }

    /// What a run is told.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.problem
    }
}

/// Keeps the centres of a random function apart from its coefficients.
const CENTRES_KEY: u64 = 0x6365_6e74_7265_0001;

/// $\sum_j(K^{-1}y)_jk(\cdot,c_j)$ for $y$ drawn from the prior at the centres: the noise-free posterior mean.
fn interpolated_prior_draw(kernel: Kernel, centres: Points, seed: u64) -> Result<Expansion> {
    let gram = kernel.gram(centres.view())?;
    let values = sample_gaussian(&vec![0.0; centres.len()], &gram, 1, seed)?;
    let factor = Lower::cholesky(&gram)?;
    let mut coefficients = values.row(0).to_vec();
    factor.solve_rows(&mut coefficients)?;
    factor.solve_transposed_rows(&mut coefficients)?;
    Expansion::new(kernel, centres, coefficients)
}
