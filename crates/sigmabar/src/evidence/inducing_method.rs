//! How learning picks inducing points for the kernel of the moment.

use crate::error::Result;
use crate::inducing::{InducingRule, Stop};
use crate::kernel::Kernel;
use crate::points::{Locations, Points};
use rand::SeedableRng;
use rand::seq::index;
use rand_chacha::ChaCha8Rng;

/// Pivots are sought among at most this many times as many locations as are wanted, and among [`SMALLEST_POOL`] at least.
const POOL: usize = 8;
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
    /// At most `size` points for this kernel and ridge. The same seed gives the same points.
    pub(super) fn points(&self, kernel: &Kernel, ridge: f64, locations: &Locations, size: usize, seed: u64) -> Result<Points> {
        let stop = Stop::at_size(size).with_subsample((POOL * size).max(SMALLEST_POOL));
        let rule = match self {
            Self::Rule(rule) => rule.clone(),
            _ if size >= locations.distinct() => return Ok(locations.points().to_points()),
            Self::RandomlyPivoted => InducingRule::RandomlyPivoted(stop),
            Self::Greedy => InducingRule::Greedy(stop),
            Self::KMeans => InducingRule::KMeans { size },
            Self::Uniform => InducingRule::Uniform { size },
        };
        Ok(rule.select(kernel, ridge, locations, seed)?.into_points())
    }

    /// Whether the number of points is ours to choose.
    pub(super) fn takes_a_size(&self) -> bool {
        !matches!(self, Self::Rule(_))
    }
}

/// `size` of `0..len`, in increasing order.
pub(super) fn sample(len: usize, size: usize, seed: u64) -> Vec<usize> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut chosen = index::sample(&mut rng, len, size.min(len)).into_vec();
    chosen.sort_unstable();
    chosen
}
