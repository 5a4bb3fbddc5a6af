//! How learning picks inducing points for the kernel of the moment.

use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::points::{Locations, Points};
use rand::seq::index;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Pivots are sought among at most this many times as many locations as are wanted.
const POOL: usize = 8;

/// How inducing points are chosen while the kernel moves.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Choice {
    /// Locations in proportion to the variance that the earlier ones leave (randomly pivoted Cholesky). The default.
    RandomlyPivoted,
    /// Locations drawn uniformly.
    Uniform,
    /// These points, never moved.
    Given(Points),
}

impl Choice {
    /// At most `size` points for this kernel. The same seed gives the same points.
    pub(super) fn points(&self, kernel: &Kernel, locations: &Locations, size: usize, seed: u64) -> Result<Points> {
        let x = locations.points();
        match self {
            Self::Given(points) => {
                if points.dim() != x.dim() {
                    return Err(Error::Width { what: "inducing points", row: 0, expected: x.dim(), found: points.dim() });
                }
                Ok(points.clone())
            }
            _ if size >= x.len() => Ok(x.to_points()),
            Self::Uniform => x.select(&sample(x.len(), size, seed)),
            Self::RandomlyPivoted => pivots(kernel, locations, size, seed),
        }
    }
}

/// `size` of `0..len`, in increasing order.
pub(super) fn sample(len: usize, size: usize, seed: u64) -> Vec<usize> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut chosen = index::sample(&mut rng, len, size.min(len)).into_vec();
    chosen.sort_unstable();
    chosen
}

fn pivots(kernel: &Kernel, locations: &Locations, size: usize, seed: u64) -> Result<Points> {
    let pool = locations.at_points(&sample(locations.distinct(), POOL * size, seed))?;
    let x = pool.points();
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 1);
    let mut rest: Vec<f64> = kernel.diagonal(x).iter().enumerate().map(|(i, k)| k * pool.count(i)).collect();
    let negligible = 1e-10 * rest.iter().sum::<f64>();
    let mut factor: Vec<Vec<f64>> = Vec::with_capacity(size);
    let mut chosen = Vec::with_capacity(size);
    while chosen.len() < size {
        let total: f64 = rest.iter().sum();
        if total <= negligible {
            break;
        }
        let mut target = rng.random::<f64>() * total;
        let pivot = rest
            .iter()
            .position(|r| {
                target -= r;
                target <= 0.0
            })
            .unwrap_or(rest.len() - 1);
        let left = rest[pivot] / pool.count(pivot);
        if left <= 0.0 {
            break;
        }
        let prepared = kernel.prepare(x.range(pivot, pivot + 1))?;
        let mut column = vec![0.0; x.len()];
        prepared.par_rows_into(x, &mut column);
        for earlier in &factor {
            let weight = earlier[pivot];
            column.iter_mut().zip(earlier).for_each(|(c, e)| *c -= weight * e);
        }
        let root = left.sqrt();
        for (i, c) in column.iter_mut().enumerate() {
            *c /= root;
            rest[i] = (rest[i] - pool.count(i) * *c * *c).max(0.0);
        }
        rest[pivot] = 0.0;
        factor.push(column);
        chosen.push(pivot);
    }
    x.select(&chosen)
}
