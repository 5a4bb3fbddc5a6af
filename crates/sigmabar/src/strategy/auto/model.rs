//! The posterior behind the automatic policy: observations with their own noise, thousands of candidates. Exact, or sparse where there are many observations.

use super::data::Data;
use super::fit::Fit;
use super::scale::Scale;
use super::structure::{Sites, Structure};
use crate::error::{Error, Result};
use crate::features::{BLOCK_ROWS, FeatureMap};
use crate::inducing::{InducingRule, Stop};
use crate::kernel::{Kernel, PreparedKernel};
use crate::origin::{Origin, Sourced};
use crate::points::{Collected, Observations, Points, PointsRef, Prior};
use crate::posterior::Posterior;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use sigmabar_linalg::{Lower, Matrix, dot, product_transposed};
use std::sync::Arc;

/// Up to this many observations the model is exact; beyond, it has as many inducing points.
pub(super) const EXACT: usize = 600;
/// The step of numerical slopes of a kernel that was given, as a share of a column's range.
const DIFFERENCE: f64 = 1e-5;

/// Mean and standard deviation of the posterior, for as many points as wanted.
pub(super) struct Model {
    pub kernel: Kernel,
    pub structure: Option<Structure>,
    pub scale: Scale,
    pub ridge: f64,
    /// Where the mean's kernel functions sit: the observations, or the inducing points.
    pub sites: Points,
    prepared: PreparedKernel,
    slopes: Option<Sites>,
    factor: Factor,
    /// The mean is $\sum_kw_kk(x,z_k)$ over the sites.
    weights: Vec<f64>,
}

pub(super) enum Factor {
    /// $A=K+N=LL^\top$, $L^{-1}y$, and what the draws need.
    Exact { lower: Lower, whitened: Vec<f64>, values: Vec<f64>, noise: Vec<f64> },
    /// $K_{ZZ}=LL^\top$ and $B$ of the sparse posterior.
    Sparse(Box<Posterior>),
}

/// What the posterior says at a set of points, with the rows that updates need.
pub(super) struct Outlook {
    pub mean: Vec<f64>,
    pub variance: Vec<f64>,
    /// One row a point: $L^{-1}k(X,x)$, or $\psi(x)$ and then $L_B^{-1}\psi(x)$, whose products count as negative.
    rows: Matrix,
    positive: usize,
}

impl Model {
    /// Factors $K+\operatorname{diag}(\text{noise})$. Cost O(n³), for many observations O(nm²).
    pub fn new(fit: &Fit, data: &Data) -> Result<Self> {
        let (points, values, noise) = data.conditioned(fit)?;
        let Fit { kernel, structure, scale, ridge, .. } = fit.clone();
        let (sites, factor, weights) =
            if points.len() <= EXACT { exact(&kernel, points, values, noise)? } else { sparse(&kernel, ridge, points, &values, &noise)? };
        let prepared = kernel.prepare(sites.view())?;
        let slopes = structure.as_ref().map(|s| Sites::new(s, sites.view()));
        Ok(Self { kernel, structure, scale, ridge, sites, prepared, slopes, factor, weights })
    }

    /// Mean and variance at many points. Cost O(n²) each.
    pub fn outlook(&self, x: PointsRef<'_>) -> Result<Outlook> {
        let n = self.sites.len();
        let mut rows = Matrix::zeros(x.len(), n);
        for start in (0..x.len()).step_by(BLOCK_ROWS) {
            let end = (start + BLOCK_ROWS).min(x.len());
            let block = &mut rows.as_mut_slice()[start * n..end * n];
            self.prepared.par_rows_into(x.range(start, end), block);
            self.lower().solve_rows(block)?;
        }
        let mean = match &self.factor {
            Factor::Exact { whitened, .. } => (0..x.len()).map(|i| dot(rows.row(i), whitened)).collect(),
            Factor::Sparse(posterior) => (0..x.len()).map(|i| dot(rows.row(i), posterior.coefficients())).collect(),
        };
        if let Factor::Sparse(posterior) = &self.factor {
            let mut second = rows.as_slice().to_vec();
            posterior.information().lower().solve_rows(&mut second)?;
            rows = Matrix::from_fn(x.len(), 2 * n, |i, j| if j < n { rows[(i, j)] } else { second[i * n + j - n] });
        }
        let prior = self.kernel.diagonal(x);
        let mut outlook = Outlook { mean, variance: Vec::new(), rows, positive: n };
        outlook.variance = (0..x.len()).map(|i| (prior[i] - outlook.explained(i, i)).max(0.0)).collect();
        Ok(outlook)
    }

    fn lower(&self) -> &Lower {
        match &self.factor {
            Factor::Exact { lower, .. } => lower,
            Factor::Sparse(posterior) => posterior.information().features().lower(),
        }
    }

    /// The mean at one point with its slope, 0 in categories. Cost O(nd).
    pub fn mean_with_slope(&self, x: &[f64], ranges: &[f64]) -> (f64, Vec<f64>) {
        let mut slope = vec![0.0; x.len()];
        if let Some(sites) = &self.slopes {
            return (sites.sum_with_slope(x, &self.weights, &mut slope), slope);
        }
        for c in 0..x.len() {
            let step = DIFFERENCE * ranges[c];
            let moved = |by: f64| {
                let mut x = x.to_vec();
                x[c] += by;
                self.mean_at(&x)
            };
            slope[c] = (moved(step) - moved(-step)) / (2.0 * step);
        }
        (self.mean_at(x), slope)
    }

    /// The mean at one point.
    pub fn mean_at(&self, x: &[f64]) -> f64 {
        let mut row = vec![0.0; self.sites.len()];
        self.prepared.rows_into(Points::from_valid(x.to_vec(), x.len()).view(), &mut row);
        dot(&row, &self.weights)
    }

    /// $\sum_kw_kk(x,z_k)$ over the sites with its slope added; only for a kernel that was learnt.
    pub fn sum_with_slope(&self, x: &[f64], weights: &[f64], slope: &mut [f64]) -> f64 {
        self.slopes.as_ref().map_or(0.0, |sites| sites.sum_with_slope(x, weights, slope))
    }

    /// Kernel values with all sites, one row a point.
    pub fn kernel_rows(&self, x: PointsRef<'_>) -> Matrix {
        let mut rows = Matrix::zeros(x.len(), self.sites.len());
        self.prepared.par_rows_into(x, rows.as_mut_slice());
        rows
    }

    /// Weights of kernel functions at the sites that turn draws from the prior, known at the sites, into draws from the posterior (one row a draw).
    ///
    /// Exact: $A^{-1}(y-f(X)-\varepsilon)$. Sparse: $L^{-\top}(\beta+L_B^{-\top}\xi-L^{-1}f(Z))$.
    pub fn correction(&self, mut prior: Matrix, rng: &mut ChaCha8Rng) -> Result<Matrix> {
        let (count, n) = (prior.rows(), prior.cols());
        match &self.factor {
            Factor::Exact { lower, values, noise, .. } => {
                for i in 0..count {
                    for (k, f) in prior.row_mut(i).iter_mut().enumerate() {
                        let normal: f64 = StandardNormal.sample(rng);
                        *f = values[k] - *f - noise[k].sqrt() * normal;
                    }
                }
                lower.solve_rows(prior.as_mut_slice())?;
                lower.solve_transposed_rows(prior.as_mut_slice())?;
            }
            Factor::Sparse(posterior) => {
                let mut random = Matrix::from_fn(count, n, |_, _| StandardNormal.sample(rng));
                posterior.information().lower().solve_transposed_rows(random.as_mut_slice())?;
                self.lower().solve_rows(prior.as_mut_slice())?;
                for i in 0..count {
                    for (k, f) in prior.row_mut(i).iter_mut().enumerate() {
                        *f = posterior.coefficients()[k] + random[(i, k)] - *f;
                    }
                }
                self.lower().solve_transposed_rows(prior.as_mut_slice())?;
            }
        }
        Ok(prior)
    }

    /// The noise variance of a measurement to come where the posterior mean is this.
    pub fn noise(&self, mean: f64) -> f64 {
        (self.ridge * self.scale.noise_share(self.scale.to_problem(mean))).powi(2)
    }

    /// The norm of the posterior mean: $\lVert\mu\rVert^2=\alpha^\top K\alpha=y^\top\alpha-\alpha^\top N\alpha$, sparse $\lVert\beta\rVert^2$.
    pub fn norm(&self) -> f64 {
        match &self.factor {
            Factor::Exact { whitened, noise, .. } => {
                let spent: f64 = self.weights.iter().zip(noise).map(|(a, v)| a * a * v).sum();
                (dot(whitened, whitened) - spent).max(0.0).sqrt()
            }
            Factor::Sparse(posterior) => posterior.norm(),
        }
    }
}

pub(super) fn exact(kernel: &Kernel, points: Points, values: Vec<f64>, noise: Vec<f64>) -> Result<(Points, Factor, Vec<f64>)> {
    let mut gram = kernel.gram(points.view())?;
    noise.iter().enumerate().for_each(|(i, v)| gram[(i, i)] += v);
    let lower = Lower::cholesky(&gram)?;
    let mut whitened = values.clone();
    lower.solve_rows(&mut whitened)?;
    let mut weights = whitened.clone();
    lower.solve_transposed_rows(&mut weights)?;
    Ok((points, Factor::Exact { lower, whitened, values, noise }, weights))
}

fn sparse(kernel: &Kernel, ridge: f64, points: Points, values: &[f64], noise: &[f64]) -> Result<(Points, Factor, Vec<f64>)> {
    let weights: Vec<f64> = noise.iter().map(|v| ridge * ridge / v).collect();
    let observations = Observations::weighted(points, values, &weights, Collected::Adaptive, Prior::ZERO)?;
    let inducing = InducingRule::Greedy(Stop::at_size(EXACT)).select(kernel, ridge, observations.locations(), 0)?.into_points();
    let features = FeatureMap::new(Sourced::new(kernel.clone(), Origin::LearntHere), inducing)?;
    let posterior = Posterior::fit(Arc::new(features), Sourced::new(ridge, Origin::LearntHere), observations)?;
    let mut weights = posterior.coefficients().to_vec();
    let features = posterior.information().features();
    features.lower().solve_transposed_rows(&mut weights)?;
    let sites = features.inducing().to_points();
    Ok((sites, Factor::Sparse(Box::new(posterior)), weights))
}

impl Outlook {
    /// The prior covariance of two of the points minus the posterior one.
    pub fn explained(&self, i: usize, j: usize) -> f64 {
        let (a, b) = (self.rows.row(i), self.rows.row(j));
        let first = dot(&a[..self.positive], &b[..self.positive]);
        if a.len() > self.positive { first - dot(&a[self.positive..], &b[self.positive..]) } else { first }
    }

    /// Covariances of all points with some of them.
    pub fn cross(&self, model: &Model, x: PointsRef<'_>, chosen: &[usize]) -> Result<Matrix> {
        let points = x.select(chosen)?;
        let mut covariance = model.kernel.block(x, points.view())?;
        // The sign of what is to be added again is carried by one side.
        let sign = |j: usize, v: f64| if j < self.positive { v } else { -v };
        let rows = Matrix::from_fn(chosen.len(), self.rows.cols(), |i, j| sign(j, self.rows[(chosen[i], j)]));
        let explained = product_transposed(&self.rows, &rows)?;
        covariance.as_mut_slice().iter_mut().zip(explained.as_slice()).for_each(|(c, e)| *c -= e);
        Ok(covariance)
    }

    /// Joint covariance of some of the points.
    pub fn covariance(&self, model: &Model, x: PointsRef<'_>, chosen: &[usize]) -> Result<Matrix> {
        let points = x.select(chosen)?;
        let rows = Matrix::from_fn(chosen.len(), self.rows.cols(), |i, j| self.rows[(chosen[i], j)]);
        let own = Self { mean: Vec::new(), variance: Vec::new(), rows, positive: self.positive };
        own.cross(model, points.view(), &(0..chosen.len()).collect::<Vec<_>>())
    }
}

/// Variances that shrink as points are picked, before their values are known: $\sigma^2(x)\leftarrow\sigma^2(x)-\mathrm{cov}(x,p)^2/(\sigma^2(p)+\tau^2)$.
pub(super) struct Shrinking<'a> {
    model: &'a Model,
    x: PointsRef<'a>,
    prepared: PreparedKernel,
    outlook: &'a Outlook,
    pub variance: Vec<f64>,
    /// One column of $\mathrm{cov}(x,p)/\sqrt{\sigma^2(p)+\tau^2}$ for each pick.
    picks: Vec<Vec<f64>>,
}

impl<'a> Shrinking<'a> {
    pub fn new(model: &'a Model, x: PointsRef<'a>, outlook: &'a Outlook) -> Result<Self> {
        Ok(Self { model, x, prepared: model.kernel.prepare(x)?, outlook, variance: outlook.variance.clone(), picks: Vec::new() })
    }

    /// The variance of a measurement to come at a point.
    pub fn total(&self, point: usize) -> f64 {
        self.variance[point] + self.model.noise(self.outlook.mean[point])
    }

    /// Takes a point into the batch; gives the column by which covariances shrink: $c(x,z)\leftarrow c(x,z)-u_xu_z$. Cost O(A(n + picks)) for A points.
    pub fn pick(&mut self, point: usize) -> Result<&[f64]> {
        let mut covariance = vec![0.0; self.x.len()];
        self.prepared.rows_into(self.x.range(point, point + 1), &mut covariance);
        for (i, c) in covariance.iter_mut().enumerate() {
            *c -= self.outlook.explained(i, point);
        }
        for column in &self.picks {
            let weight = column[point];
            covariance.iter_mut().zip(column).for_each(|(c, v)| *c -= weight * v);
        }
        let total = self.total(point);
        if total <= 0.0 {
            return Err(Error::Premise { what: "a further pick", reason: "without noise, nothing is left to learn there" });
        }
        let root = total.sqrt();
        covariance.iter_mut().for_each(|c| *c /= root);
        self.variance.iter_mut().zip(&covariance).for_each(|(v, c)| *v = (*v - c * c).max(0.0));
        self.picks.push(covariance);
        Ok(&self.picks[self.picks.len() - 1])
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn spread(count: usize, shift: f64) -> Points {
        let at = |i: usize, golden: f64| (shift + i as f64 * golden).fract();
        Points::new((0..count).flat_map(|i| [at(i, 0.618_033_988_7), at(i, 0.414_213_562_4)]).collect(), 2).unwrap()
    }

    fn data(count: usize) -> Data {
        let points = spread(count, 0.1);
        let raw: Vec<f64> = points.view().rows().map(|x| (5.0 * x[0]).sin() + x[1] * x[1]).collect();
        let errors = (0..count).map(|i| (i % 3 == 0).then_some(0.02 * (1 + i) as f64)).collect();
        Data { points, raw, errors, spread: count, failed: None }
    }

    /// Gaussian elimination on `A z = b`, nothing shared with the library.
    fn solved(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
        let n = b.len();
        for p in 0..n {
            for i in p + 1..n {
                let factor = a[i][p] / a[p][p];
                let pivot = a[p].clone();
                a[i].iter_mut().zip(&pivot).skip(p).for_each(|(x, y)| *x -= factor * y);
                b[i] -= factor * b[p];
            }
        }
        for i in (0..n).rev() {
            let known: f64 = (i + 1..n).map(|j| a[i][j] * b[j]).sum();
            b[i] = (b[i] - known) / a[i][i];
        }
        b
    }

    /// Mean and variance at `x` by the printed formulas.
    fn plain(kernel: &Kernel, points: &[Vec<f64>], noise: &[f64], values: &[f64], x: &[f64]) -> (f64, f64) {
        let k = |a: &[f64], b: &[f64]| kernel.value(a, b);
        let gram: Vec<Vec<f64>> = points
            .iter()
            .enumerate()
            .map(|(i, a)| points.iter().enumerate().map(|(j, b)| k(a, b) + if i == j { noise[i] } else { 0.0 }).collect())
            .collect();
        let weights = solved(gram, points.iter().map(|p| k(p, x)).collect());
        let mean = weights.iter().zip(values).map(|(w, y)| w * y).sum();
        let explained: f64 = weights.iter().zip(points).map(|(w, p)| w * k(p, x)).sum();
        (mean, k(x, x) - explained)
    }

    #[test]
    fn posterior_and_shrinking_variances_are_the_printed_ones() {
        let kernel = Kernel::matern(2.5, vec![0.4, 0.7], 1.3).unwrap();
        let (data, ridge) = (data(17), 0.15);
        let scale = Scale::standard(&data.raw);
        let model = Model::new(&Fit::plain(kernel.clone(), ridge, scale), &data).unwrap();
        let candidates = spread(25, 0.37);
        let outlook = model.outlook(candidates.view()).unwrap();
        let mut points: Vec<Vec<f64>> = data.points.view().rows().map(<[f64]>::to_vec).collect();
        let slope = scale.slope(0.0);
        let mut noise: Vec<f64> = data.errors.iter().map(|e| e.map_or(ridge, |e| e * slope).powi(2)).collect();
        let values = data.values(&scale);
        for (i, x) in candidates.view().rows().enumerate() {
            let (mean, variance) = plain(&kernel, &points, &noise, &values, x);
            assert!((outlook.mean[i] - mean).abs() < 1e-10 && (outlook.variance[i] - variance).abs() < 1e-10);
        }
        let mut shrinking = Shrinking::new(&model, candidates.view(), &outlook).unwrap();
        for pick in [3, 11, 3, 20] {
            shrinking.pick(pick).unwrap();
            points.push(candidates.row(pick).to_vec());
            noise.push(ridge * ridge);
            for (i, x) in candidates.view().rows().enumerate() {
                let (_, variance) = plain(&kernel, &points, &noise, &vec![0.0; points.len()], x);
                assert!((shrinking.variance[i] - variance).abs() < 1e-10, "pick {pick}, candidate {i}");
            }
        }
    }

    #[test]
    fn covariance_and_norm_agree_with_plain_sums() {
        let kernel = Kernel::matern(2.5, 0.5, 0.8).unwrap();
        let data = data(12);
        let scale = Scale::standard(&data.raw);
        let model = Model::new(&Fit::plain(kernel.clone(), 0.2, scale), &data).unwrap();
        let (noise, values) = (data.noise(&scale, 0.2, &data.raw), data.values(&scale));
        let points: Vec<Vec<f64>> = data.points.view().rows().map(<[f64]>::to_vec).collect();
        let n = points.len();
        let k = |a: &[f64], b: &[f64]| kernel.value(a, b);
        let gram = |with: bool| -> Vec<Vec<f64>> {
            (0..n).map(|i| (0..n).map(|j| k(&points[i], &points[j]) + if with && i == j { noise[i] } else { 0.0 }).collect()).collect()
        };
        let alpha = solved(gram(true), values);
        let square: f64 = gram(false).iter().zip(&alpha).map(|(row, a)| a * row.iter().zip(&alpha).map(|(g, b)| g * b).sum::<f64>()).sum();
        assert!((model.norm() - square.sqrt()).abs() < 1e-10);

        let candidates = spread(6, 0.77);
        let outlook = model.outlook(candidates.view()).unwrap();
        let covariance = outlook.covariance(&model, candidates.view(), &[4, 1]).unwrap();
        let (a, b) = (candidates.row(4), candidates.row(1));
        let weights = solved(gram(true), points.iter().map(|p| k(p, b)).collect());
        let expected = k(a, b) - weights.iter().zip(&points).map(|(w, p)| w * k(p, a)).sum::<f64>();
        assert!((covariance[(0, 1)] - expected).abs() < 1e-10 && (covariance[(1, 1)] - outlook.variance[1]).abs() < 1e-10);
    }

    #[test]
    fn with_every_point_inducing_the_sparse_model_is_the_exact_one() {
        let kernel = Kernel::matern(2.5, 0.5, 0.8).unwrap();
        let data = data(12);
        let fit = Fit::plain(kernel.clone(), 0.2, Scale::standard(&data.raw));
        let (points, values, noise) = data.conditioned(&fit).unwrap();
        let (sites, factor, weights) = sparse(&kernel, 0.2, points, &values, &noise).unwrap();
        let exact = Model::new(&fit, &data).unwrap();
        let prepared = kernel.prepare(sites.view()).unwrap();
        let same = Model { sites, prepared, factor, weights, ..Model::new(&fit, &data).unwrap() };
        let candidates = spread(9, 0.77);
        let (a, b) = (exact.outlook(candidates.view()).unwrap(), same.outlook(candidates.view()).unwrap());
        for i in 0..9 {
            assert!((a.mean[i] - b.mean[i]).abs() < 1e-8 && (a.variance[i] - b.variance[i]).abs() < 1e-8);
            let at = |m: &Model| m.mean_with_slope(candidates.row(i), &[1.0, 1.0]).0;
            assert!((at(&same) - b.mean[i]).abs() < 1e-8 && (at(&exact) - a.mean[i]).abs() < 1e-8);
        }
        let one = a.covariance(&exact, candidates.view(), &[1, 5]).unwrap();
        let two = b.covariance(&same, candidates.view(), &[1, 5]).unwrap();
        assert!((one[(0, 1)] - two[(0, 1)]).abs() < 1e-8 && (exact.norm() - same.norm()).abs() < 1e-7);
    }

    #[test]
    fn a_cluster_of_failures_lowers_the_mean_and_one_hardly() {
        let kernel = Kernel::matern(2.5, 0.3, 1.0).unwrap();
        let data = data(17);
        let fit = Fit::plain(kernel, 0.15, Scale::standard(&data.raw));
        let mean = |failed: usize| {
            let place = Points::from_rows(&vec![[0.71, 0.33]; failed.max(1)]).unwrap();
            let data = Data { failed: (failed > 0).then_some(place), ..data.clone() };
            Model::new(&fit, &data).unwrap().outlook(Points::from_rows(&[[0.7, 0.33]]).unwrap().view()).unwrap().mean[0]
        };
        let (none, one, many) = (mean(0), mean(1), mean(8));
        assert!(none > one && one > many && none - one < 0.5 * (none - many), "{none} {one} {many}");
    }
}
