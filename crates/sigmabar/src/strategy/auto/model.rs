//! The exact posterior behind the automatic policy: a few hundred observations with their own noise, thousands of candidates.

use super::scale::Scale;
use crate::error::{Error, Result};
use crate::features::BLOCK_ROWS;
use crate::kernel::{Kernel, PreparedKernel};
use crate::points::{Points, PointsRef};
use sigmabar_linalg::{Lower, Matrix, dot};

/// All measured points and their values on the scale where the model sees them.
#[derive(Clone, Debug)]
pub(super) struct Data {
    pub points: Points,
    /// Values where larger is better, in the problem's unit.
    pub raw: Vec<f64>,
    /// Standard errors of the values that came as means, in the problem's unit.
    pub errors: Vec<Option<f64>>,
    /// How many of the values, the first ones, were measured at points spread over the domain.
    pub spread: usize,
}

impl Data {
    /// The noise variance of each observation: its own, else by the common ridge, which is the noise at the scale's knee. All on the scale of the model.
    pub fn noise(&self, scale: &Scale, ridge: f64) -> Vec<f64> {
        let own =
            |(error, &value): (&Option<f64>, &f64)| error.map_or(ridge * scale.noise_share(value), |e| e * scale.slope(value)).powi(2);
        self.errors.iter().zip(&self.raw).map(own).collect()
    }

    /// The values on the scale of the model.
    pub fn values(&self, scale: &Scale) -> Vec<f64> {
        self.raw.iter().map(|&v| scale.to_model(v)).collect()
    }
}

/// Mean and standard deviation of the exact posterior, for as many points as wanted.
pub(super) struct Model {
    pub kernel: Kernel,
    pub scale: Scale,
    pub ridge: f64,
    prepared: PreparedKernel,
    lower: Lower,
    /// $L^{-1}y$.
    whitened: Vec<f64>,
}

/// What the posterior says at a set of points, with the rows that updates need.
pub(super) struct Outlook {
    pub mean: Vec<f64>,
    pub variance: Vec<f64>,
    /// $L^{-1}k(X,x_c)$, one row a point.
    rows: Matrix,
}

impl Model {
    /// Factors $K+\operatorname{diag}(\text{noise})$. Cost O(n³).
    pub fn new(kernel: Kernel, ridge: f64, scale: Scale, data: &Data) -> Result<Self> {
        let noise = data.noise(&scale, ridge);
        let mut gram = kernel.gram(data.points.view())?;
        noise.iter().enumerate().for_each(|(i, v)| gram[(i, i)] += v);
        let lower = Lower::cholesky(&gram)?;
        let mut whitened = data.values(&scale);
        lower.solve_rows(&mut whitened)?;
        let prepared = kernel.prepare(data.points.view())?;
        Ok(Self { kernel, scale, ridge, prepared, lower, whitened })
    }

    /// Mean and variance at many points. Cost O(n²) each.
    pub fn outlook(&self, x: PointsRef<'_>) -> Result<Outlook> {
        let n = self.lower.len();
        let mut rows = Matrix::zeros(x.len(), n);
        for start in (0..x.len()).step_by(BLOCK_ROWS) {
            let end = (start + BLOCK_ROWS).min(x.len());
            let block = &mut rows.as_mut_slice()[start * n..end * n];
            self.prepared.par_rows_into(x.range(start, end), block);
            self.lower.solve_rows(block)?;
        }
        let prior = self.kernel.diagonal(x);
        let mean = (0..x.len()).map(|i| dot(rows.row(i), &self.whitened)).collect();
        let variance = (0..x.len()).map(|i| (prior[i] - dot(rows.row(i), rows.row(i))).max(0.0)).collect();
        Ok(Outlook { mean, variance, rows })
    }

    /// The noise variance of a measurement to come where the posterior mean is this.
    fn noise(&self, mean: f64) -> f64 {
        (self.ridge * self.scale.noise_share(self.scale.to_problem(mean))).powi(2)
    }

    /// The norm of the posterior mean: $\lVert\mu\rVert^2=\alpha^\top K\alpha=y^\top\alpha-\alpha^\top N\alpha$.
    pub fn norm(&self, data: &Data) -> Result<f64> {
        let mut alpha = self.whitened.clone();
        self.lower.solve_transposed_rows(&mut alpha)?;
        let noise = data.noise(&self.scale, self.ridge);
        let spent: f64 = alpha.iter().zip(&noise).map(|(a, v)| a * a * v).sum();
        Ok((dot(&self.whitened, &self.whitened) - spent).max(0.0).sqrt())
    }
}

impl Outlook {
    /// Joint covariance of some of the points.
    pub fn covariance(&self, model: &Model, x: PointsRef<'_>, chosen: &[usize]) -> Result<Matrix> {
        let points = x.select(chosen)?;
        let mut covariance = model.kernel.gram(points.view())?;
        let n = self.rows.cols();
        let rows = Matrix::from_fn(chosen.len(), n, |i, j| self.rows[(chosen[i], j)]);
        let explained = sigmabar_linalg::product_transposed(&rows, &rows)?;
        covariance.as_mut_slice().iter_mut().zip(explained.as_slice()).for_each(|(c, e)| *c -= e);
        Ok(covariance)
    }
}

/// Variances that shrink as points are picked, before their values are known: $\sigma^2(x)\leftarrow\sigma^2(x)-\mathrm{cov}(x,p)^2/(\sigma^2(p)+\tau^2)$.
pub(super) struct Shrinking<'a> {
    model: &'a Model,
    x: PointsRef<'a>,
    outlook: &'a Outlook,
    pub variance: Vec<f64>,
    /// One column of $\mathrm{cov}(x,p)/\sqrt{\sigma^2(p)+\tau^2}$ for each pick.
    picks: Vec<Vec<f64>>,
}

impl<'a> Shrinking<'a> {
    pub fn new(model: &'a Model, x: PointsRef<'a>, outlook: &'a Outlook) -> Self {
        Self { model, x, outlook, variance: outlook.variance.clone(), picks: Vec::new() }
    }

    /// Takes a point into the batch. Cost O(A(n + picks)) for A points.
    pub fn pick(&mut self, point: usize) -> Result<()> {
        let mut covariance = vec![0.0; self.x.len()];
        let picked = self.x.select(&[point])?;
        self.model.kernel.prepare(picked.view())?.par_rows_into(self.x, &mut covariance);
        let own = self.outlook.rows.row(point);
        for (i, c) in covariance.iter_mut().enumerate() {
            *c -= dot(self.outlook.rows.row(i), own);
        }
        for column in &self.picks {
            let weight = column[point];
            covariance.iter_mut().zip(column).for_each(|(c, v)| *c -= weight * v);
        }
        let total = self.variance[point] + self.model.noise(self.outlook.mean[point]);
        if total <= 0.0 {
            return Err(Error::Premise { what: "a further pick", reason: "without noise, nothing is left to learn there" });
        }
        let root = total.sqrt();
        covariance.iter_mut().for_each(|c| *c /= root);
        self.variance.iter_mut().zip(&covariance).for_each(|(v, c)| *v = (*v - c * c).max(0.0));
        self.picks.push(covariance);
        Ok(())
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
        Data { points, raw, errors, spread: count }
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
        let model = Model::new(kernel.clone(), ridge, scale, &data).unwrap();
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
        let mut shrinking = Shrinking::new(&model, candidates.view(), &outlook);
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
        let model = Model::new(kernel.clone(), 0.2, scale, &data).unwrap();
        let (noise, values) = (data.noise(&scale, 0.2), data.values(&scale));
        let points: Vec<Vec<f64>> = data.points.view().rows().map(<[f64]>::to_vec).collect();
        let n = points.len();
        let k = |a: &[f64], b: &[f64]| kernel.value(a, b);
        let gram = |with: bool| -> Vec<Vec<f64>> {
            (0..n).map(|i| (0..n).map(|j| k(&points[i], &points[j]) + if with && i == j { noise[i] } else { 0.0 }).collect()).collect()
        };
        let alpha = solved(gram(true), values);
        let square: f64 = gram(false).iter().zip(&alpha).map(|(row, a)| a * row.iter().zip(&alpha).map(|(g, b)| g * b).sum::<f64>()).sum();
        assert!((model.norm(&data).unwrap() - square.sqrt()).abs() < 1e-10);

        let candidates = spread(6, 0.77);
        let outlook = model.outlook(candidates.view()).unwrap();
        let covariance = outlook.covariance(&model, candidates.view(), &[4, 1]).unwrap();
        let (a, b) = (candidates.row(4), candidates.row(1));
        let weights = solved(gram(true), points.iter().map(|p| k(p, b)).collect());
        let expected = k(a, b) - weights.iter().zip(&points).map(|(w, p)| w * k(p, a)).sum::<f64>();
        assert!((covariance[(0, 1)] - expected).abs() < 1e-10 && (covariance[(1, 1)] - outlook.variance[1]).abs() < 1e-10);
    }
}
