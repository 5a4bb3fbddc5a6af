//! The squared-exponential kernel $v\,e^{-\rho^2/2}$.

use super::Lengthscale;
use crate::error::{Result, positive};
use serde::{Deserialize, Serialize};

/// $k(x,z)=v\,e^{-\rho^2/2}$ with $\rho^2=\sum_i((x_i-z_i)/\ell_i)^2$: functions with every derivative.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SquaredExponential {
    pub(super) lengthscale: Lengthscale,
    pub(super) variance: f64,
}

impl SquaredExponential {
    pub(super) fn validate(&self) -> Result<()> {
        self.lengthscale.validate("lengthscale")?;
        positive("variance", self.variance).map(|_| ())
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

    /// $k$ at squared distance $\rho^2$.
    pub(super) fn at(&self, squared_distance: f64) -> f64 {
        self.variance * (-0.5 * squared_distance).exp()
    }

    /// $-2\,\partial k/\partial\rho^2$.
    pub(super) fn slope(&self, squared_distance: f64) -> f64 {
        self.at(squared_distance)
    }

    /// $d_k^2=2v(1-e^{-\rho^2/2})$ without cancellation.
    pub(super) fn squared_metric(&self, squared_distance: f64) -> f64 {
        -2.0 * self.variance * (-0.5 * squared_distance).exp_m1()
    }
}
