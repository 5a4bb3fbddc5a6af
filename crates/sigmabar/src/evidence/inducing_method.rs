//! How learning picks inducing points for the kernel of the moment.

use crate::error::Result;
use crate::inducing::{InducingRule, Stop};
use crate::kernel::Kernel;
use crate::points::{Locations, Points};
use rand::SeedableRng;
use rand::seq::index;
use rand_chacha::ChaCha8Rng;

/// Pivots are sought among at most this many times as many locations as are wanted, and among [`SMALLEST_POOL`] at least.
const POOL: usize = 3;
const SMALLEST_POOL: usize = 10_000;

/// How inducing points are chosen while the kernel, the ridge and their number move.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum InducingMethod {
    /// [`InducingRule::RandomlyPivoted`]: locations in proportion to the variance that the earlier ones leave. The default.
    RandomlyPivoted,
    /// [`InducingRule::Greedy`]: the location of largest remaining variance.
    Greedy,
    /// [`InducingRule::KMeans`]: centroids, which do not depend on the kernel.
    KMeans,
    /// [`InducingRule::Uniform`].
    Uniform,
    /// Another rule, which decides about the number itself.
    Rule(InducingRule),
}

impl InducingMethod {
    /// At most `size` points for this kernel and ridge; pivoted ones end where they miss at most `missed`, the trace of $D$. The same seed gives the same points.
    pub(super) fn points(&self, kernel: &Kernel, ridge: f64, locations: &Locations, size: usize, missed: f64, seed: u64) -> Result<Points> {
        let (pool, points) = ((POOL * size).max(SMALLEST_POOL), locations.points());
        let mean = kernel.diagonal(points).iter().sum::<f64>() / points.len() as f64;
        let fraction = (missed / (mean * locations.total())).clamp(f64::MIN_POSITIVE, 1.0);
        let stop = Stop::at_trace(fraction, size).with_subsample(pool);
        let rule = match self {
            Self::Rule(rule) => rule.clone(),
            Self::KMeans | Self::Uniform if size >= locations.distinct() => return Ok(points.to_points()),
            Self::RandomlyPivoted => InducingRule::RandomlyPivoted(stop),
            Self::Greedy => InducingRule::Greedy(stop),
            Self::KMeans => InducingRule::KMeans { size },
            Self::Uniform => InducingRule::Uniform { size },
        };
        Ok(rule.select(kernel, ridge, locations, seed)?.into_points().value)
    }
}

/// `size` of `0..len`, in increasing order.
pub(super) fn sample(len: usize, size: usize, seed: u64) -> Vec<usize> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut chosen = index::sample(&mut rng, len, size.min(len)).into_vec();
    chosen.sort_unstable();
    chosen
}
