//! The rules.

use super::pivoted::{self, Pivot};
use super::stop::{Stop, positive_size};
use super::weighted::Weighted;
use super::{Inducing, bless, chain, density, determinantal, leverage, means, posterior_variance, recursive, sampling};
use crate::error::{Error, Result, positive};
use crate::kernel::Kernel;
use crate::points::{Locations, Points};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// How inducing points are chosen. Sizes are upper limits: where fewer distinct points exist, all are returned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum InducingRule {
    /// These points, wherever they came from.
    Given(Points),
    /// Distinct locations, each subset of the size equally likely. Cost O(n).
    Uniform {
        /// How many.
        size: usize,
    },
    /// Centroids of $k$-means on the columns divided by their standard deviations, each location weighed by its count, started by
    /// $k$-means++ on at most 20 000 locations (algorithm notes 4.3). Cost O(nkd) per iteration, at most 50.
    KMeans {
        /// How many centroids.
        size: usize,
    },
    /// Greedy conditional variance: the pivots of a Cholesky factor (algorithm notes 4.4). Drives down the largest residual; the choice for
    /// design. Cost O(n(md + m²)), memory $8nm$ bytes. Deterministic.
    Greedy(Stop),
    /// Randomly pivoted Cholesky in its accelerated form (algorithm notes 4.4): pivots drawn in proportion to the residual. Drives down its trace
    /// and ignores outliers; the choice for data. Cost O(n(md + m²)) in block products, memory $8nm$ bytes.
    RandomlyPivoted(Stop),
    /// Without replacement in proportion to the exact ridge leverage scores (algorithm notes 2.1). Cost O(n³).
    ExactLeverage {
        /// How many.
        size: usize,
    },
    /// Recursive ridge leverage scores as in the theorem (algorithm notes 1.1): with probability $1-\delta$, $\lambda\le\tau^2$ and
    /// $m \le 384\,\tilde d\log(3\tilde d/\delta)$. The constants are large: below some $24\,\tilde d\log(1.5\tilde d/\delta)$ locations every
    /// one is kept. Cost O(nm²).
    RecursiveLeverageTheory {
        /// Probability that the guarantee fails, below 1/32.
        delta: f64,
    },
    /// Recursive ridge leverage scores with a fixed size (algorithm notes 1.2). It sets its own ridge, so that it promises nothing about $\tau$.
    /// Cost O(nm²).
    RecursiveLeverage {
        /// How many.
        size: usize,
    },
    /// Bottom-up leverage score sampling along a path of ridges from $\operatorname{tr}K$ down to $\tau^2$ (algorithm notes 2.2): each location is
    /// included on its own with probability about $q\,\ell_i$. Cost O(|U||Z|²) per step, where U is the step's candidates.
    Bless {
        /// $q$, from 2 to 10 in practice.
        oversampling: f64,
    },
    /// Without replacement in proportion to leverage scores computed from the density of the locations alone (algorithm notes 2.3); for
    /// squared-exponential and Matérn kernels in up to about three dimensions. Cost O(n).
    DensityLeverage {
        /// How many.
        size: usize,
    },
    /// Posterior-variance resampling as in budgeted bandits (algorithm notes 3.1): each location on its own with probability
    /// $\min(1, q\,c_i\,\bar\sigma^2(x_i)/\tau^2)$, where $\bar\sigma$ comes from the points chosen on half as many locations. Cost O(nm²).
    PosteriorVariance {
        /// $q$.
        oversampling: f64,
    },
    /// A determinantal point process of fixed size, drawn exactly: $P(S)\propto\det K_{SS}$ (algorithm notes 4.1). Cost O(n³), at most 5000
    /// distinct locations.
    DeterminantalExact {
        /// How many.
        size: usize,
    },
    /// The same law in the limit of a chain of swaps started from the greedy choice (algorithm notes 4.2). Cost O(nm²) for the start and O(m²) per step.
    DeterminantalChain {
        /// How many.
        size: usize,
        /// Steps of the chain; 10 000 is usual.
        steps: usize,
    },
}

impl InducingRule {
    /// Chooses inducing points for locations. The same seed gives the same points, whatever the number of threads.
    ///
    /// # Errors
    /// A kernel that does not fit the points' width; [`Error::Parameter`] for a ridge, size or setting out of range, or when no location has
    /// positive variance; [`Error::Premise`] where a rule does not apply to the kernel or to so many points.
    pub fn select(&self, kernel: &Kernel, ridge: f64, locations: &Locations, seed: u64) -> Result<Inducing> {
        positive("ridge", ridge)?;
        let weighted = Weighted::new(kernel, locations)?;
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        match self {
            Self::Given(points) if points.dim() == locations.points().dim() => Ok(Inducing::anywhere(points.clone())),
            Self::Given(points) => {
                Err(Error::Width { what: "inducing points", row: 0, expected: locations.points().dim(), found: points.dim() })
            }
            Self::Uniform { size } => {
                positive_size(*size)?;
                let eligible = weighted.eligible();
                let chosen = sampling::subset(eligible.len(), *size, rng).into_iter().map(|i| eligible[i]).collect();
                Inducing::chosen(locations, chosen)
            }
            Self::KMeans { size } => means::select(*size, locations, rng),
            Self::Greedy(stop) => pivoted::select(Pivot::Greedy, stop, kernel, ridge, locations, seed),
            Self::RandomlyPivoted(stop) => pivoted::select(Pivot::Random, stop, kernel, ridge, locations, seed),
            Self::ExactLeverage { size } => leverage::select(*size, &weighted, ridge, rng),
            Self::RecursiveLeverageTheory { delta } => recursive::select_theory(*delta, &weighted, ridge, rng),
            Self::RecursiveLeverage { size } => recursive::select_sized(*size, &weighted, rng),
            Self::Bless { oversampling } => bless::select(*oversampling, &weighted, ridge, rng),
            Self::DensityLeverage { size } => density::select(*size, &weighted, ridge, rng),
            Self::PosteriorVariance { oversampling } => posterior_variance::select(*oversampling, &weighted, ridge, rng),
            Self::DeterminantalExact { size } => determinantal::select(*size, &weighted, rng),
            Self::DeterminantalChain { size, steps } => chain::select(*size, *steps, &weighted, rng),
        }
    }
}
