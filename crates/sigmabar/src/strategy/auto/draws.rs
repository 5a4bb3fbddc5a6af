//! Functions drawn from the posterior: random waves for the prior, corrected at the data (algorithm notes 5.10).

use super::model::Model;
use super::structure::{Smoothness, Structure};
use crate::error::Result;
use crate::points::PointsRef;
use pulp::Arch;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::{ChiSquared, Distribution, StandardNormal};
use rayon::prelude::*;
use sigmabar_linalg::{Matrix, dot, parallel, product_transposed};
use std::f64::consts::TAU;

/// Points whose waves one task computes: fixed, so that the work is cut the same way for every number of threads.
const CHUNK: usize = 64;

/// Draws $f=\sum_m(a_m\cos\omega_m^\top x+b_m\sin\omega_m^\top x)s_m(x)+\sum_kv_kk(x,z_k)$: the waves have the prior's covariance, the second sum makes them
/// agree with the data. $s_m$ is a product of signs, one for each category of some of the categorical columns.
pub(super) struct Functions<'a> {
    model: &'a Model,
    waves: Waves,
    /// One row a draw: $a$, $b$, the constant, $v$.
    weights: Matrix,
}

/// The random features.
struct Waves {
    /// One row a column of the points, one entry a wave.
    frequencies: Vec<Vec<f64>>,
    /// For each categorical column the signs of every wave at each category.
    signs: Vec<(usize, Vec<Vec<f64>>)>,
    count: usize,
}

impl<'a> Functions<'a> {
    /// `count` draws with `frequencies` waves for the joint term. None for a kernel that was given. Cost O(count·(n² + waves·n)).
    pub fn new(model: &'a Model, count: usize, frequencies: usize, rng: &mut ChaCha8Rng) -> Result<Option<Self>> {
        let Some(structure) = &model.structure else { return Ok(None) };
        let (waves, amplitudes) = Waves::new(structure, frequencies, model.sites.view(), rng);
        let m = waves.count;
        let mut weights = Matrix::zeros(count, 2 * m + 1 + model.sites.len());
        for i in 0..count {
            for (k, w) in weights.row_mut(i)[..2 * m + 1].iter_mut().enumerate() {
                let normal: f64 = StandardNormal.sample(rng);
                *w = normal * if k < 2 * m { amplitudes[k % m] } else { structure.constant.sqrt() };
            }
        }
        let features = waves.rows(model.sites.view(), 2 * m + 1);
        let prior = Matrix::from_fn(count, 2 * m + 1, |i, j| weights[(i, j)]);
        let correction = model.correction(product_transposed(&prior, &features)?, rng)?;
        for i in 0..count {
            weights.row_mut(i)[2 * m + 1..].copy_from_slice(correction.row(i));
        }
        Ok(Some(Self { model, waves, weights }))
    }

    pub fn len(&self) -> usize {
        self.weights.rows()
    }

    /// Every function at every point, one row a function. Cost O(points·functions·(waves + n)).
    pub fn values(&self, x: PointsRef<'_>) -> Result<Matrix> {
        let (m, n) = (self.waves.count, self.model.sites.len());
        let mut rows = self.waves.rows(x, self.weights.cols());
        let kernel = self.model.kernel_rows(x);
        for i in 0..x.len() {
            rows.row_mut(i)[2 * m + 1..2 * m + 1 + n].copy_from_slice(kernel.row(i));
        }
        Ok(product_transposed(&self.weights, &rows)?)
    }

    /// One function at one point with its slope, 0 in categories. Cost O(d(waves + n)).
    pub fn with_slope(&self, draw: usize, x: &[f64]) -> (f64, Vec<f64>) {
        let m = self.waves.count;
        let weights = self.weights.row(draw);
        let mut row = vec![0.0; 2 * m];
        self.waves.fill(x, &mut row);
        let (cosine, sine) = row.split_at(m);
        let (a, b) = (&weights[..m], &weights[m..2 * m]);
        let value = dot(cosine, a) + dot(sine, b) + weights[2 * m];
        let turned: Vec<f64> = (0..m).map(|k| cosine[k] * b[k] - sine[k] * a[k]).collect();
        let mut slope: Vec<f64> = self.waves.frequencies.iter().map(|f| dot(&turned, f)).collect();
        let correction = self.model.sum_with_slope(x, &weights[2 * m + 1..], &mut slope);
        (value + correction, slope)
    }
}

impl Waves {
    /// The joint term's frequencies over the length-scales are Student's with five degrees of freedom, or normal for the squared exponential; each single
    /// term has waves of its own. With each wave the root of its share of the variance.
    fn new(structure: &Structure, joint: usize, sites: PointsRef<'_>, rng: &mut ChaCha8Rng) -> (Self, Vec<f64>) {
        let d = structure.dim();
        let alone = if structure.alone.is_empty() { 0 } else { (joint / (2 * d)).max(16) };
        let count = joint + alone * d;
        let mut frequencies = vec![vec![0.0; count]; d];
        let mut amplitudes = vec![(structure.variance / joint as f64).sqrt(); joint];
        amplitudes.resize(count, (structure.share / (d * alone.max(1)) as f64).sqrt());
        let normal = |rng: &mut ChaCha8Rng| -> f64 { StandardNormal.sample(rng) };
        let student = |rng: &mut ChaCha8Rng| match structure.smoothness {
            Smoothness::Twice => ChiSquared::new(5.0_f64).map_or(1.0, |chi| (5.0 / chi.sample(rng)).sqrt()),
            Smoothness::Fully => 1.0,
        };
        for k in 0..joint {
            let scale = student(rng);
            for c in (0..d).filter(|&c| !structure.category[c]) {
                frequencies[c][k] = normal(rng) * scale / structure.joint[c];
            }
        }
        for c in (0..d).filter(|&c| !structure.category[c]) {
            for k in 0..alone {
                frequencies[c][joint + c * alone + k] = normal(rng) * student(rng) / structure.alone[c];
            }
        }
        let mut signs = Vec::new();
        for c in (0..d).filter(|&c| structure.category[c]) {
            // The kernel is ρ + (1 − ρ)[x = z]: with probability ρ a wave does not see the column, else every category has a sign of its own.
            let categories = sites.rows().map(|row| row[c] as usize + 1).max().unwrap_or(1).max(MOST_CATEGORIES);
            let mut table = vec![vec![1.0; count]; categories];
            for k in 0..count {
                let own =
                    if k < joint { Some(structure.joint[c]) } else { structure.alone.get(c).copied().filter(|_| (k - joint) / alone == c) };
                let blind = own.is_none_or(|length| rng.random::<f64>() < (-1.0 / length).exp());
                if !blind {
                    table.iter_mut().for_each(|row| row[k] = if rng.random::<bool>() { 1.0 } else { -1.0 });
                }
            }
            signs.push((c, table));
        }
        (Self { frequencies, signs, count }, amplitudes)
    }

    /// One row a point: cosines, sines, 1, and room for more.
    fn rows(&self, x: PointsRef<'_>, width: usize) -> Matrix {
        let mut rows = Matrix::zeros(x.len(), width);
        let m = self.count;
        parallel(|watch| {
            rows.as_mut_slice().par_chunks_mut(CHUNK * width).enumerate().for_each(|(chunk, part)| {
                watch.check();
                for (i, row) in part.chunks_exact_mut(width).enumerate() {
                    self.fill(x.row(chunk * CHUNK + i), &mut row[..2 * m]);
                    row[2 * m] = 1.0;
                }
            });
        });
        rows
    }

    fn fill(&self, x: &[f64], row: &mut [f64]) {
        Arch::new().dispatch(|| {
            let m = self.count;
            let mut angles = vec![0.0; m];
            for (frequencies, v) in self.frequencies.iter().zip(x) {
                angles.iter_mut().zip(frequencies).for_each(|(a, f)| *a += f * v);
            }
            let (cosine, sine) = row.split_at_mut(m);
            for ((cosine, sine), angle) in cosine.iter_mut().zip(sine.iter_mut()).zip(&angles) {
                (*cosine, *sine) = turn(*angle);
            }
            for (column, table) in &self.signs {
                let signs = &table[(x[*column].max(0.0) as usize).min(table.len() - 1)];
                for k in 0..m {
                    cosine[k] *= signs[k];
                    sine[k] *= signs[k];
                }
            }
        });
    }
}

/// Categories beyond these share the signs of the last.
const MOST_CATEGORIES: usize = 64;

/// Cosine and sine within $10^{-7}$ by their series on $[-\pi,\pi]$: no branches, so that loops over it become vectors.
#[inline(always)]
fn turn(angle: f64) -> (f64, f64) {
    // Adding and subtracting this rounds to the nearest integer.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let turns = angle * TAU.recip();
    let r = (turns - ((turns + ROUND) - ROUND)) * TAU;
    let s = r * r;
    let (mut sine, mut cosine) = (SINE[9], COSINE[9]);
    for k in (0..9).rev() {
        sine = sine * s + SINE[k];
        cosine = cosine * s + COSINE[k];
    }
    (cosine, sine * r)
}

/// $(-1)^k/(2k+1)!$ and $(-1)^k/(2k)!$.
const SINE: [f64; 10] = series(1);
const COSINE: [f64; 10] = series(0);

const fn series(first: usize) -> [f64; 10] {
    let mut terms = [1.0; 10];
    let mut k = 1;
    while k < 10 {
        let n = (2 * k + first) as f64;
        terms[k] = -terms[k - 1] / (n * (n - 1.0));
        k += 1;
    }
    terms
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::data::Data;
    use super::super::fit::Fit;
    use super::super::scale::Scale;
    use super::*;
    use crate::domain::{Column, Domain, SpaceDomain};
    use crate::points::Points;
    use rand::SeedableRng;

    fn model(smoothness: Smoothness) -> Model {
        let columns = vec![Column::float(0.0, 1.0), Column::categorical(3), Column::float(0.0, 1.0)];
        let domain = Domain::Space(SpaceDomain::new(columns, Vec::new()).unwrap());
        let theta = [-0.9, 0.3, -0.7, 0.1, -1.0, -0.2, -1.1, -0.7];
        let structure = Structure { smoothness, ..Structure::new(&domain, 4.0).with_theta(&theta) };
        let at = |i: usize, golden: f64| (0.3 + i as f64 * golden).fract();
        let rows: Vec<[f64; 3]> = (0..12).map(|i| [at(i, 0.618), (i % 3) as f64, at(i, 0.414)]).collect();
        let raw = rows.iter().map(|x| (5.0 * x[0]).sin() + x[1] * x[2]).collect();
        let data = Data { points: Points::from_rows(&rows).unwrap(), raw, errors: vec![None; 12], spread: 12, failed: None };
        let fit = Fit { structure: Some(structure.clone()), ..Fit::plain(structure.kernel().unwrap(), 0.1, Scale::IDENTITY) };
        fit.model(&data).unwrap()
    }

    #[test]
    fn cosine_and_sine_are_right() {
        for i in -4000..4000 {
            let angle = 0.0137 * f64::from(i);
            let (cosine, sine) = turn(angle);
            assert!((cosine - angle.cos()).abs() < 1e-7 && (sine - angle.sin()).abs() < 1e-7, "at {angle}");
        }
    }

    #[test]
    fn draws_have_the_mean_and_the_covariance_of_the_posterior() {
        for smoothness in Smoothness::ALL {
            draws_agree(&model(smoothness));
        }
    }

    fn draws_agree(model: &Model) {
        let x = Points::from_rows(&[[0.2, 1.0, 0.9], [0.8, 2.0, 0.4], [0.3, 0.0, 0.9]]).unwrap();
        let outlook = model.outlook(x.view()).unwrap();
        let (mut values, count) = (Vec::new(), 150);
        for seed in 0..20 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let drawn = Functions::new(model, count, 256, &mut rng).unwrap().unwrap().values(x.view()).unwrap();
            (0..count).for_each(|i| values.push(drawn.row(i).to_vec()));
        }
        let n = values.len() as f64;
        let mean = |j: usize| values.iter().map(|v| v[j]).sum::<f64>() / n;
        let covariance = outlook.covariance(model, x.view(), &[0, 1, 2]).unwrap();
        for i in 0..3 {
            assert!((mean(i) - outlook.mean[i]).abs() < 0.1 * outlook.variance[i].sqrt(), "{} and {}", mean(i), outlook.mean[i]);
            for j in 0..3 {
                let found = values.iter().map(|v| (v[i] - mean(i)) * (v[j] - mean(j))).sum::<f64>() / n;
                let scale = (outlook.variance[i] * outlook.variance[j]).sqrt();
                assert!((found - covariance[(i, j)]).abs() < 0.15 * scale, "{i} {j}: {found} and {}", covariance[(i, j)]);
            }
        }
    }

    #[test]
    fn slopes_are_differences_and_values_agree() {
        let model = model(Smoothness::Twice);
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let functions = Functions::new(&model, 4, 32, &mut rng).unwrap().unwrap();
        let x = [0.37, 1.0, 0.61];
        let values = functions.values(Points::from_rows(&[x]).unwrap().view()).unwrap();
        for draw in 0..4 {
            let (value, slope) = functions.with_slope(draw, &x);
            assert!((value - values[(draw, 0)]).abs() < 1e-9);
            for c in [0, 2] {
                let moved = |step: f64| {
                    let mut x = x;
                    x[c] += step;
                    functions.with_slope(draw, &x).0
                };
                let difference = (moved(1e-4) - moved(-1e-4)) / 2e-4;
                assert!((difference - slope[c]).abs() < 1e-4 * (1.0 + slope[c].abs()), "{difference} and {}", slope[c]);
            }
        }
    }
}
