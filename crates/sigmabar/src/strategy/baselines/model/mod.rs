//! The posterior over a finite list of candidates, kept up to date one observation at a time: what every sequential policy works on.

mod observe;
mod pending;
mod refresh;
#[cfg(test)]
mod tests;

pub(crate) use pending::Pending;

use crate::error::Result;
use crate::kernel::{Kernel, PreparedKernel};
use crate::points::Points;
use sigmabar_linalg::{Lower, Matrix, add_transposed_matvec};

/// Observations after which mean and variance are computed afresh, so that rounding cannot pile up.
const REFRESH_EVERY: usize = 256;

/// Which candidates carry the features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dictionary {
    /// Every measured candidate joins: the exact posterior (algorithm notes 3.4: repeats are weights, so cost depends on distinct points only).
    Measured,
    /// Only those that are put in: the sparse posterior of algorithm notes 0.2.
    Chosen,
}

/// Mean and variance at $A$ candidates in the form of algorithm notes 0.2: features $\psi$ over $m$ dictionary candidates (a partial Cholesky factor of
/// $K_{AA}$, algorithm notes 4.4), $B = I + \tau^{-2}\sum_i c_i\psi_i\psi_i^\top$, $h = \sum_i s_i\psi_i$.
///
/// One observation costs $O(Am + m^2)$: a rank-one update of $L_B$, of all means and of all variances.
#[derive(Clone, Debug)]
pub(crate) struct CandidateModel {
    points: Points,
    prepared: PreparedKernel,
    kind: Dictionary,
    /// $\tau^2$.
    noise: f64,
    largest_prior: f64,
    prior: Vec<f64>,
    dictionary: Vec<usize>,
    /// $m$ rows of length $A$: feature $l$ of every candidate.
    features: Vec<f64>,
    /// $L_B$.
    lower: Lower,
    /// $h$.
    projected: Vec<f64>,
    /// Distinct measured candidates in order of first measurement.
    measured: Vec<usize>,
    /// $c_i$: how many observations of variance $\tau^2$ a candidate's are worth.
    weights: Vec<f64>,
    /// $s_i$: weighted sum of its values.
    sums: Vec<f64>,
    /// $s_1^2 = k - \lVert\psi\rVert^2$.
    residual: Vec<f64>,
    /// $\lVert L_B^{-1}\psi\rVert^2$.
    fit: Vec<f64>,
    mean: Vec<f64>,
    updates: usize,
}

impl CandidateModel {
    pub fn new(kernel: &Kernel, ridge: f64, points: Points, kind: Dictionary) -> Result<Self> {
        let prepared = kernel.prepare(points.view())?;
        let prior = kernel.diagonal(points.view());
        let count = points.len();
        Ok(Self {
            prepared,
            kind,
            noise: ridge * ridge,
            largest_prior: prior.iter().copied().fold(0.0, f64::max),
            residual: prior.clone(),
            prior,
            dictionary: Vec::new(),
            features: Vec::new(),
            lower: Lower::from_matrix(Matrix::zeros(0, 0)),
            projected: Vec::new(),
            measured: Vec::new(),
            weights: vec![0.0; count],
            sums: vec![0.0; count],
            fit: vec![0.0; count],
            mean: vec![0.0; count],
            updates: 0,
            points,
        })
    }

    pub fn len(&self) -> usize {
        self.points.len()
    }

    pub fn point(&self, candidate: usize) -> &[f64] {
        self.points.row(candidate)
    }

    /// The candidate nearest to a point, and its squared distance. Cost O(Ad).
    pub fn nearest(&self, point: &[f64]) -> (usize, f64) {
        let distance = |a: usize| self.points.row(a).iter().zip(point).map(|(x, y)| (x - y).powi(2)).sum::<f64>();
        let distances = (0..self.len()).map(|a| (a, distance(a)));
        distances.reduce(|best, next| if next.1 < best.1 { next } else { best }).unwrap_or((0, f64::INFINITY))
    }

    /// $\tau$.
    pub fn ridge(&self) -> f64 {
        self.noise.sqrt()
    }

    /// $\max_a k(x_a, x_a)$.
    pub fn largest_prior(&self) -> f64 {
        self.largest_prior
    }

    pub fn dictionary(&self) -> &[usize] {
        &self.dictionary
    }

    /// Distinct measured candidates in order of first measurement.
    pub fn measured(&self) -> &[usize] {
        &self.measured
    }

    /// $c_a$.
    pub fn weight(&self, candidate: usize) -> f64 {
        self.weights[candidate]
    }

    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// $s_1^2$ of all candidates.
    pub fn residual(&self) -> &[f64] {
        &self.residual
    }

    /// $\lVert L_B^{-1}\psi\rVert^2$ of all candidates.
    pub fn fit(&self) -> &[f64] {
        &self.fit
    }

    /// $\bar\sigma^2$ of one candidate.
    pub fn variance(&self, candidate: usize) -> f64 {
        self.residual[candidate] + self.fit[candidate]
    }

    /// $\bar\sigma^2$ of all candidates.
    pub fn variances(&self) -> Vec<f64> {
        (0..self.len()).map(|a| self.variance(a)).collect()
    }

    /// $\log\det B$: with [`Dictionary::Measured`] this is $\log\det(I + K_t/\tau^2)$.
    pub fn log_det(&self) -> f64 {
        self.lower.log_det()
    }

    /// $\sum_ac_a\bar\sigma^2_a/\tau^2$ over the measured candidates: the effective dimension as the posterior sees it.
    pub fn effective_dimension(&self) -> f64 {
        self.measured.iter().map(|&a| self.weights[a] * self.variance(a) / self.noise).sum()
    }

    /// $\psi(x_a)$.
    pub fn features_of(&self, candidate: usize) -> Vec<f64> {
        (0..self.dictionary.len()).map(|l| self.features[l * self.len() + candidate]).collect()
    }

    /// $L_B$.
    pub fn lower(&self) -> &Lower {
        &self.lower
    }

    /// $B^{-1}v$. Cost O(m²).
    pub fn solve(&self, mut v: Vec<f64>) -> Result<Vec<f64>> {
        if !v.is_empty() {
            self.lower.solve_rows(&mut v)?;
            self.lower.solve_transposed_rows(&mut v)?;
        }
        Ok(v)
    }

    /// $\psi(x_a)^\top v$ for every candidate, added to `out`. Cost O(Am).
    pub fn add_combination(&self, v: &[f64], out: &mut [f64]) {
        add_transposed_matvec(&self.features, v, out);
    }

    /// $\beta = B^{-1}h/\tau^2$: the mean is $\psi^\top\beta$.
    pub fn coefficients(&self) -> Result<Vec<f64>> {
        self.coefficients_without(&[])
    }

    /// The coefficients when these amounts are taken off the sums of the measured candidates: $B^{-1}\sum_i\psi_i(s_i-d_i)/\tau^2$. Cost O(um + m²).
    pub fn coefficients_without(&self, amounts: &[f64]) -> Result<Vec<f64>> {
        let mut projected = self.projected.clone();
        for (&a, amount) in self.measured.iter().zip(amounts) {
            projected.iter_mut().zip(self.features_of(a)).for_each(|(h, p)| *h -= amount * p);
        }
        let mut beta = self.solve(projected)?;
        beta.iter_mut().for_each(|b| *b /= self.noise);
        Ok(beta)
    }

    /// $k(x_a, x_i)$ for every $a$. Cost O(Ad).
    pub fn kernel_column(&self, candidate: usize) -> Vec<f64> {
        let mut column = vec![0.0; self.len()];
        self.prepared.rows_into(self.points.view().range(candidate, candidate + 1), &mut column);
        column
    }

    /// The posterior covariance of every candidate with candidate $i$, $k - \psi^\top\psi_i + \psi^\top B^{-1}\psi_i$. Cost O(A(d + m) + m²).
    pub fn covariance_column(&self, candidate: usize) -> Result<Vec<f64>> {
        let psi = self.features_of(candidate);
        let mut direction = self.solve(psi.clone())?;
        direction.iter_mut().zip(&psi).for_each(|(e, p)| *e -= p);
        let mut column = self.kernel_column(candidate);
        self.add_combination(&direction, &mut column);
        Ok(column)
    }

    /// The part of it inside the span of the features, $\psi^\top B^{-1}\psi_i$. Cost O(Am + m²).
    pub fn fitted_column(&self, candidate: usize) -> Result<Vec<f64>> {
        let direction = self.solve(self.features_of(candidate))?;
        let mut column = vec![0.0; self.len()];
        self.add_combination(&direction, &mut column);
        Ok(column)
    }
}
