//! The rational quadratic kernel $v\,(1+\rho^2/(2\alpha))^{-\alpha}$.

use super::Lengthscale;
use crate::error::{Result, positive};
use serde::{Deserialize, Serialize};

/// $k(x,z)=v\,(1+\rho^2/(2\alpha))^{-\alpha}$: squared-exponential kernels of many length-scales, mixed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RationalQuadratic {
    pub(super) alpha: f64,
    pub(super) lengthscale: Lengthscale,
    pub(super) variance: f64,
}

impl RationalQuadratic {
    pub(super) fn validate(&self) -> Result<()> {
        positive("alpha", self.alpha)?;
        self.lengthscale.validate("lengthscale")?;
        positive("variance", self.variance).map(|_| ())
    }

    /// The exponent $\alpha$.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The length-scales $\ell$.
    #[must_use]
    pub fn lengthscale(&self) -> &Lengthscale {
        &self.lengthscale
    }

    /// The variance $v=k(x,x)$.
    #[must_use]
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// $\ln(1+\rho^2/(2\alpha))$.
    fn log_base(&self, squared_distance: f64) -> f64 {
        (squared_distance / (2.0 * self.alpha)).ln_1p()
    }

    /// $k$ at squared distance $\rho^2$.
    pub(super) fn at(&self, squared_distance: f64) -> f64 {
        self.variance * (-self.alpha * self.log_base(squared_distance)).exp()
    }

    /// $-2\,\partial k/\partial\rho^2=v\,(1+\rho^2/(2\alpha))^{-\alpha-1}$.
    pub(super) fn slope(&self, squared_distance: f64) -> f64 {
        self.variance * (-(self.alpha + 1.0) * self.log_base(squared_distance)).exp()
    }

    /// $\partial k/\partial\ln\alpha=k\,\alpha\,(q/(1+q)-\ln(1+q))$ with $q=\rho^2/(2\alpha)$.
    pub(super) fn alpha_slope(&self, squared_distance: f64) -> f64 {
        let q = squared_distance / (2.0 * self.alpha);
        // Both terms start with q: below 1e-3 their difference is summed as −q²/2 + 2q³/3 − 3q⁴/4 + …
        let difference =
            if q < 1e-3 { -q * q * (0.5 - q * (2.0 / 3.0 - q * (0.75 - q * (0.8 - q * (5.0 / 6.0))))) } else { q / (1.0 + q) - q.ln_1p() };
        self.at(squared_distance) * self.alpha * difference
    }

    /// $d_k^2=2v(1-(1+q)^{-\alpha})$ without cancellation.
    pub(super) fn squared_metric(&self, squared_distance: f64) -> f64 {
        -2.0 * self.variance * (-self.alpha * self.log_base(squared_distance)).exp_m1()
    }
}
