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
}

impl Data {
    /// The noise variance of each observation: its own, else the square of the common ridge. Both on the scale of the model.
    pub fn noise(&self, scale: &Scale, ridge: f64) -> Vec<f64> {
        let own = |(error, &value): (&Option<f64>, &f64)| error.map_or(ridge, |e| e * scale.slope(value)).powi(2);
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
        let total = self.variance[point] + self.model.ridge.powi(2);
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
