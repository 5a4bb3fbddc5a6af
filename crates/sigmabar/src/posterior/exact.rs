//! The exact Gaussian-process posterior: the oracle of the sparse one, and the better choice for a few hundred distinct points.

use crate::error::{Error, Result, positive};
use crate::kernel::{Digits, Kernel};
use crate::origin::{Origin, Sourced};
use crate::points::{Observations, PointsRef};
use sigmabar_linalg::{Lower, Matrix, dot, matvec_rows, norm_squared, product_transposed};

/// The exact posterior on distinct points with counts: $A = K_u + \tau^2\operatorname{diag}(1/c)$, which equals the posterior on the repeated rows
/// (algorithm notes 3.4).
#[derive(Clone, Debug)]
pub struct ExactPosterior {
    kernel: Sourced<Kernel>,
    digits: Digits,
    ridge: Sourced<f64>,
    observations: Observations,
    /// Factor of $A$.
    lower: Lower,
    /// $A^{-1}\bar y$.
    coefficients: Vec<f64>,
    /// $L_A^{-1}\bar y$.
    whitened: Vec<f64>,
    /// An estimate of the condition number of $L_A$, behind the rounding bound of the variance.
    condition: f64,
}

impl ExactPosterior {
    /// Factors $A$. Cost O(u²d + u³) for u distinct points.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a ridge that is not positive; a kernel of another width; [`crate::linalg::LinalgError::NotPositiveDefinite`] where the ridge is lost in rounding.
    pub fn new(kernel: impl Into<Sourced<Kernel>>, ridge: impl Into<Sourced<f64>>, observations: Observations) -> Result<Self> {
        let (kernel, ridge) = (kernel.into(), ridge.into());
        let tau2 = positive("ridge", ridge.value)?.powi(2);
        let locations = observations.locations();
        let digits = Digits::new(&kernel.value, locations.points())?;
        let mut a = kernel.value.gram(locations.points())?;
        for i in 0..a.rows() {
            a[(i, i)] += tau2 / locations.count(i);
        }
        let lower = Lower::cholesky(&a)?;
        let mut whitened: Vec<f64> = observations.sums().iter().enumerate().map(|(i, s)| s / locations.count(i)).collect();
        lower.solve_rows(&mut whitened)?;
        let mut coefficients = whitened.clone();
        lower.solve_transposed_rows(&mut coefficients)?;
        let condition = lower.condition_estimate().max(1.0);
        Ok(Self { kernel, digits, ridge, observations, lower, coefficients, whitened, condition })
    }

    /// The kernel and where it came from.
    #[must_use]
    pub fn kernel(&self) -> &Sourced<Kernel> {
        &self.kernel
    }

    /// The ridge $\tau$.
    #[must_use]
    pub fn ridge(&self) -> f64 {
        self.ridge.value
    }

    /// Where the ridge came from.
    #[must_use]
    pub fn ridge_origin(&self) -> Origin {
        self.ridge.origin
    }

    /// The observations.
    #[must_use]
    pub fn observations(&self) -> &Observations {
        &self.observations
    }

    /// The factor of $A$.
    pub(crate) fn lower(&self) -> &Lower {
        &self.lower
    }

    /// $A^{-1}\bar y$.
    pub(crate) fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }

    /// $\mu(x) = k_u(x)^\top A^{-1}\bar y$, in the data's scale. Cost O(qud).
    ///
    /// # Errors
    /// Points of another width.
    pub fn mean(&self, x: PointsRef<'_>) -> Result<Vec<f64>> {
        let rows = self.block(x)?;
        let mut mean = vec![0.0; x.len()];
        matvec_rows(rows.as_slice(), &self.coefficients, &mut mean);
        let prior = self.observations.prior();
        Ok(mean.into_iter().map(|v| prior.to_data(v)).collect())
    }

    /// $\sigma^2(x) = k(x,x) - \lVert L_A^{-1}k_u(x)\rVert^2$, in the model's scale. Cost O(q(ud + u²)).
    ///
    /// # Errors
    /// Points of another width; [`Error::NegativeVariance`] beyond rounding.
    pub fn variance(&self, x: PointsRef<'_>) -> Result<Vec<f64>> {
        let mut rows = self.block(x)?;
        self.lower.solve_rows(rows.as_mut_slice())?;
        let diagonal = self.kernel.value.diagonal(x);
        diagonal.into_iter().enumerate().map(|(query, k_xx)| self.checked(query, k_xx, norm_squared(rows.row(query)))).collect()
    }

    /// The posterior covariance, in the data's scale. Cost O(q²(d + u) + qu²).
    ///
    /// # Errors
    /// As [`ExactPosterior::variance`].
    pub fn covariance(&self, x: PointsRef<'_>) -> Result<Matrix> {
        let mut rows = self.block(x)?;
        self.lower.solve_rows(rows.as_mut_slice())?;
        let explained = product_transposed(&rows, &rows)?;
        let unit2 = self.observations.prior().unit().powi(2);
        let mut covariance = self.kernel.value.gram(x)?;
        for (c, e) in covariance.as_mut_slice().iter_mut().zip(explained.as_slice()) {
            *c = unit2 * (*c - e);
        }
        for (i, v) in self.variance(x)?.into_iter().enumerate() {
            covariance[(i, i)] = unit2 * v;
        }
        Ok(covariance)
    }

    /// The standard deviation, in the data's scale.
    ///
    /// # Errors
    /// As [`ExactPosterior::variance`].
    pub fn std_dev(&self, x: PointsRef<'_>) -> Result<Vec<f64>> {
        let unit = self.observations.prior().unit();
        Ok(self.variance(x)?.into_iter().map(|v| unit * v.sqrt()).collect())
    }

    /// The weights of the mean on the original observations: $V(x) = A^{-1}k_u(x)/c$, shared by repeated rows. Cost O(q(ud + u²)).
    ///
    /// # Errors
    /// Points of another width.
    pub fn weights(&self, x: PointsRef<'_>) -> Result<Matrix> {
        let by_point = self.weights_by_point(x)?;
        let locations = self.observations.locations();
        Ok(Matrix::from_fn(x.len(), locations.len(), |q, row| by_point[(q, locations.distinct_of(row))]))
    }

    pub(crate) fn weights_by_point(&self, x: PointsRef<'_>) -> Result<Matrix> {
        let mut rows = self.block(x)?;
        self.lower.solve_rows(rows.as_mut_slice())?;
        self.lower.solve_transposed_rows(rows.as_mut_slice())?;
        let locations = self.observations.locations();
        for q in 0..rows.rows() {
            rows.row_mut(q).iter_mut().enumerate().for_each(|(i, v)| *v /= locations.count(i));
        }
        Ok(rows)
    }

    /// $\log p(y) = -\tfrac12\left[n\log 2\pi + \log\det(K+\tau^2I) + y^\top(K+\tau^2I)^{-1}y\right]$ of all observations, repetitions included, in the
    /// data's scale. Cost O(u).
    #[must_use]
    pub fn log_evidence(&self) -> f64 {
        let locations = self.observations.locations();
        let (n, tau2) = (locations.len() as f64, self.ridge() * self.ridge());
        let counts = |i| locations.count(i);
        // log|K_full + τ²W⁻¹| = (n − u) log τ² + log|A| + Σ log c − Σ log w; the quadratic splits into scatter within and between points.
        let u = locations.distinct();
        let log_count: f64 = (0..u).map(|i| counts(i).ln()).sum();
        let within = self.observations.scatter() / tau2;
        let log_det = (n - u as f64) * tau2.ln() + self.lower.log_det() + log_count - locations.log_weights();
        let unit = self.observations.prior().unit();
        -0.5 * (n * (std::f64::consts::TAU * unit * unit).ln() + log_det + within + norm_squared(&self.whitened))
    }

    /// $I = \tfrac12\log\det(I + K/\tau^2)$ over all observations. Cost O(u).
    #[must_use]
    pub fn gain(&self) -> f64 {
        let locations = self.observations.locations();
        let tau2 = self.ridge() * self.ridge();
        let scale: f64 = (0..locations.distinct()).map(|i| (locations.count(i) / tau2).ln()).sum();
        0.5 * (self.lower.log_det() + scale)
    }

    /// `size` joint draws of the function at the points, one per row, in the data's scale.
    ///
    /// # Errors
    /// As [`ExactPosterior::variance`].
    pub fn sample(&self, x: PointsRef<'_>, size: usize, seed: u64) -> Result<Matrix> {
        super::sample_gaussian(&self.mean(x)?, &self.covariance(x)?, size, seed)
    }

    /// $\lVert\mu\rVert_k^2 = \alpha^\top K\alpha$ with $\alpha = A^{-1}\bar y$, computed as $\alpha^\top\bar y - \tau^2\sum\alpha^2/c$. In the model's scale.
    #[must_use]
    pub fn norm(&self) -> f64 {
        let locations = self.observations.locations();
        let averages: Vec<f64> = self.observations.sums().iter().enumerate().map(|(i, s)| s / locations.count(i)).collect();
        let noise: f64 = self.coefficients.iter().enumerate().map(|(i, a)| a * a / locations.count(i)).sum();
        (dot(&self.coefficients, &averages) - self.ridge() * self.ridge() * noise).max(0.0).sqrt()
    }

    /// A bound on the relative error of a solve with the factor.
    pub(crate) fn solve_rounding(&self) -> f64 {
        self.unit_rounding() * self.condition
    }

    /// A bound on the relative error of the weights: a solve with the factor and one with its transpose, $16u\varepsilon\,\mathrm{cond}(L_A)^2$.
    pub(crate) fn weights_rounding(&self) -> f64 {
        self.solve_rounding() * self.condition
    }

    /// $16u\varepsilon$.
    pub(crate) fn unit_rounding(&self) -> f64 {
        16.0 * self.lower.len() as f64 * f64::EPSILON
    }

    /// The variance enlarged by its rounding bound: what certificates use.
    pub(crate) fn certified_variance(&self, x: PointsRef<'_>) -> Result<Vec<f64>> {
        let diagonal = self.kernel.value.diagonal(x);
        Ok(self.variance(x)?.into_iter().zip(diagonal).map(|(v, k_xx)| v + self.solve_rounding() * k_xx).collect())
    }

    /// $y^\top(K+\tau^2I)^{-1}y$ over all observations, less its rounding bound.
    pub(crate) fn certified_quadratic(&self) -> f64 {
        let locations = self.observations.locations();
        let between: f64 = self.observations.sums().iter().enumerate().map(|(i, s)| s * s / locations.count(i)).sum();
        let tau2 = self.ridge() * self.ridge();
        let scatter = self.observations.sum_squares() - between;
        let within = if scatter < 0.0 { 0.0 } else { scatter / tau2 };
        let summation = 4.0 * locations.len() as f64 * f64::EPSILON * self.observations.sum_squares() / tau2;
        let quadratic = norm_squared(&self.whitened);
        at_least_zero(within + quadratic * (1.0 - self.solve_rounding()) - summation)
    }

    fn block(&self, x: PointsRef<'_>) -> Result<Matrix> {
        let points = self.observations.locations().points();
        if x.dim() != points.dim() {
            return Err(Error::Width { what: "points", row: 0, expected: points.dim(), found: x.dim() });
        }
        self.digits.check(x)?;
        self.kernel.value.block(x, points)
    }

    /// `k − ‖c‖²`, refused where it is more negative than rounding explains.
    fn checked(&self, query: usize, k_xx: f64, explained: f64) -> Result<f64> {
        let value = k_xx - explained;
        let allowed = self.solve_rounding() * k_xx;
        if value < -allowed || value.is_nan() {
            return Err(Error::NegativeVariance { query, value, allowed });
        }
        Ok(value.max(0.0))
    }
}

/// The quadratic form of the responses, which is never negative but for rounding; where it left the range of numbers it refutes every bound.
pub(crate) fn at_least_zero(quadratic: f64) -> f64 {
    if quadratic.is_nan() { f64::INFINITY } else { quadratic.max(0.0) }
}
