//! The linear kernel $v\,(b+\sum_i x_iz_i/\ell_i^2)$.

use super::Lengthscale;
use crate::error::{Result, not_negative, positive};
use serde::{Deserialize, Serialize};

/// $k(x,z)=v\,(b+\sum_ix_iz_i/\ell_i^2)$ with $b\ge0$: affine functions. Both terms are inner products, so the kernel is positive
/// semi-definite; it is unbounded, so it has no largest variance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Linear {
    pub(super) offset: f64,
    pub(super) lengthscale: Lengthscale,
    pub(super) variance: f64,
}

impl Linear {
    pub(super) fn validate(&self) -> Result<()> {
        not_negative("offset", self.offset)?;
        self.lengthscale.validate("lengthscale")?;
        positive("variance", self.variance).map(|_| ())
    }

    /// The variance $b$ of the constant, in units of $v$. At 0 the lines pass through the origin and $b$ is not a parameter to learn.
    #[must_use]
    pub fn offset(&self) -> f64 {
        self.offset
    }

    /// The length-scales $\ell$: column $i$ has slopes of variance $v/\ell_i^2$.
    #[must_use]
    pub fn lengthscale(&self) -> &Lengthscale {
        &self.lengthscale
    }

    /// The factor $v$.
    #[must_use]
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// $k(x,z)$. The prepared kernel repeats this order of operations, unfused, so both give the same bits.
    pub(super) fn value(&self, x: &[f64], z: &[f64]) -> f64 {
        let mut sum = self.offset;
        for (i, (a, b)) in x.iter().zip(z).enumerate() {
            let scale = 1.0 / self.lengthscale.get(i);
            sum += (a * scale) * (b * scale);
        }
        self.variance * sum
    }

    /// $d_k^2=v\sum_i((x_i-z_i)/\ell_i)^2$.
    pub(super) fn squared_metric(&self, x: &[f64], z: &[f64]) -> f64 {
        self.variance * self.lengthscale.squared_distance(x, z)
    }

    /// $(k(x,x)-k(z,z))/2=\tfrac v2\sum_i(x_i-z_i)(x_i+z_i)/\ell_i^2$, without subtracting squares.
    pub(super) fn half_difference(&self, x: &[f64], z: &[f64]) -> f64 {
        let sum: f64 = x.iter().zip(z).enumerate().map(|(i, (a, b))| (a - b) * (a + b) / self.lengthscale.get(i).powi(2)).sum();
        0.5 * self.variance * sum
    }
}
