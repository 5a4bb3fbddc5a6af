//! The Hamming kernel for categories, $v\,e^{-\sum_i[x_i\ne z_i]/\ell_i}$.

use super::Lengthscale;
use crate::error::{Result, positive};
use serde::{Deserialize, Serialize};

/// $k(x,z)=v\exp\bigl(-\sum_i[x_i\ne z_i]/\ell_i\bigr)$: each column is a category coded as a number, and only equality counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hamming {
    pub(super) lengthscale: Lengthscale,
    pub(super) variance: f64,
}

impl Hamming {
    pub(super) fn validate(&self) -> Result<()> {
        self.lengthscale.validate("lengthscale")?;
        positive("variance", self.variance).map(|_| ())
    }

    /// The length-scales $\ell$: how many disagreements it takes to lose a factor $e$.
    #[must_use]
    pub fn lengthscale(&self) -> &Lengthscale {
        &self.lengthscale
    }

    /// The variance $v=k(x,x)$.
    #[must_use]
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// $\sum_i[x_i\ne z_i]/\ell_i$.
    pub(super) fn disagreement(&self, x: &[f64], z: &[f64]) -> f64 {
        x.iter().zip(z).enumerate().map(|(i, (a, b))| if a == b { 0.0 } else { 1.0 / self.lengthscale.get(i) }).sum()
    }

    /// $k$ at a weighted number of disagreements.
    pub(super) fn at(&self, disagreement: f64) -> f64 {
        self.variance * (-disagreement).exp()
    }

    /// $d_k^2$ without cancellation.
    pub(super) fn squared_metric(&self, disagreement: f64) -> f64 {
        -2.0 * self.variance * (-disagreement).exp_m1()
    }
}
