//! Centroids of $k$-means.

use super::stop::positive_size;
use super::{Inducing, sampling};
use crate::error::Result;
use crate::points::{Collected, Locations, Points};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use sigmabar_linalg::parallel;

/// Locations that take part.
const SAMPLE: usize = 20_000;
const ITERATIONS: usize = 50;

/// Weighted points in standardised coordinates, row-major.
struct Cloud {
    data: Vec<f64>,
    weights: Vec<f64>,
    dim: usize,
}

pub(super) fn select(size: usize, locations: &Locations, rng: &mut ChaCha8Rng) -> Result<Inducing> {
    positive_size(size)?;
    let points = locations.points();
    let mut sample = sampling::subset(points.len(), SAMPLE, rng);
    if points.len() <= size {
        // Every distinct point is its own cluster.
        return Ok(Inducing::anywhere(points.to_points()));
    }
    sample.sort_unstable();
    let scale = deviations(locations);
    let dim = points.dim();
    let data = sample.iter().flat_map(|&i| points.row(i).iter().zip(&scale).map(|(v, s)| v / s)).collect();
    let cloud = Cloud { data, weights: sample.iter().map(|&i| locations.count(i)).collect(), dim };
    let mut centroids = cloud.spread(size, rng);
    let mut assignment = Vec::new();
    for _ in 0..ITERATIONS {
        let next = cloud.assign(&centroids);
        if next == assignment {
            break;
        }
        assignment = next;
        centroids = cloud.means(&assignment, &centroids, rng);
    }
    centroids.chunks_exact_mut(dim).for_each(|row| row.iter_mut().zip(&scale).for_each(|(v, s)| *v *= s));
    let distinct = Locations::new(Points::new(centroids, dim)?, Collected::DeclaredFixed);
    Ok(Inducing::anywhere(distinct.points().to_points()))
}

/// Standard deviation of each column over the observations, 1 for a constant column.
fn deviations(locations: &Locations) -> Vec<f64> {
    let points = locations.points();
    let n = locations.total();
    let column = |a: usize| {
        let weighted = || points.rows().enumerate().map(|(i, row)| (locations.count(i), row[a]));
        let mean = weighted().map(|(c, v)| c * v).sum::<f64>() / n;
        let deviation = (weighted().map(|(c, v)| c * (v - mean).powi(2)).sum::<f64>() / n).sqrt();
        if deviation.is_finite() && deviation > 0.0 { deviation } else { 1.0 }
    };
    (0..points.dim()).map(column).collect()
}

impl Cloud {
    fn len(&self) -> usize {
        self.weights.len()
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.data[i * self.dim..(i + 1) * self.dim]
    }

    /// $k$-means++: each centroid a point drawn in proportion to its squared distance from those before it. Fewer when points coincide.
    fn spread(&self, size: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let mut centroids: Vec<f64> = Vec::with_capacity(size * self.dim);
        let mut nearest = vec![1.0; self.len()];
        for k in 0..size {
            let weights: Vec<f64> = nearest.iter().zip(&self.weights).map(|(d, w)| d * w).collect();
            let Some(&i) = sampling::with_replacement(&weights, 1, rng).first() else { break };
            let new = self.row(i).to_vec();
            let look = |(j, d): (usize, &mut f64)| {
                let here = squared_distance(self.row(j), &new);
                *d = if k == 0 { here } else { d.min(here) };
            };
            parallel(|_| nearest.par_iter_mut().with_min_len(1024).enumerate().for_each(look));
            centroids.extend(new);
        }
        centroids
    }

    /// The nearest centroid of each point, the first among equals.
    fn assign(&self, centroids: &[f64]) -> Vec<u32> {
        let one = |i: usize| {
            let mut best = (f64::INFINITY, 0);
            for (k, c) in centroids.chunks_exact(self.dim).enumerate() {
                let distance = squared_distance(self.row(i), c);
                if distance < best.0 {
                    best = (distance, k as u32);
                }
            }
            best.1
        };
        parallel(|watch| (0..self.len()).into_par_iter().with_min_len(64).inspect(|_| watch.check()).map(one).collect())
    }

    /// The weighted mean of each cluster; an empty one is moved to a random point.
    fn means(&self, assignment: &[u32], centroids: &[f64], rng: &mut ChaCha8Rng) -> Vec<f64> {
        let dim = self.dim;
        let mut sums = vec![0.0; centroids.len()];
        let mut totals = vec![0.0; centroids.len() / dim];
        for (i, &k) in assignment.iter().enumerate() {
            let k = k as usize;
            totals[k] += self.weights[i];
            sums[k * dim..(k + 1) * dim].iter_mut().zip(self.row(i)).for_each(|(s, v)| *s += self.weights[i] * v);
        }
        for (row, &total) in sums.chunks_exact_mut(dim).zip(&totals) {
            if total > 0.0 {
                row.iter_mut().for_each(|v| *v /= total);
            } else if let Some(&i) = sampling::subset(self.len(), 1, rng).first() {
                row.copy_from_slice(self.row(i));
            }
        }
        sums
    }
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn no_iteration_raises_the_objective() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let data: Vec<f64> = (0..600).map(|_| rng.random::<f64>()).collect();
        let weights: Vec<f64> = (0..300).map(|_| f64::from(rng.random_range(1..4_u32))).collect();
        let cloud = Cloud { data, weights, dim: 2 };
        let objective = |centroids: &[f64], assignment: &[u32]| -> f64 {
            (0..cloud.len())
                .map(|i| {
                    let k = assignment[i] as usize;
                    cloud.weights[i] * squared_distance(cloud.row(i), &centroids[2 * k..2 * k + 2])
                })
                .sum()
        };
        let mut centroids = cloud.spread(12, &mut rng);
        assert_eq!(centroids.len(), 24);
        let mut last = f64::INFINITY;
        let mut fell = 0;
        for _ in 0..20 {
            let assignment = cloud.assign(&centroids);
            let here = objective(&centroids, &assignment);
            assert!(here <= last * (1.0 + 1e-12), "{here} after {last}");
            fell += usize::from(here < last);
            last = here;
            centroids = cloud.means(&assignment, &centroids, &mut rng);
        }
        assert!(fell > 3);
    }
}
