//! The periodic kernel $v\,e^{-2\sum_i\sin^2(\pi(x_i-z_i)/p_i)/\ell_i^2}$.

use super::Lengthscale;
use crate::error::{Result, positive};
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// $k(x,z)=v\exp\bigl(-2\sum_i\sin^2(\pi(x_i-z_i)/p_i)/\ell_i^2\bigr)$: functions that repeat along every column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Periodic {
    pub(super) period: Lengthscale,
    pub(super) lengthscale: Lengthscale,
    pub(super) variance: f64,
}

impl Periodic {
    pub(super) fn validate(&self) -> Result<()> {
        self.period.validate("period")?;
        self.lengthscale.validate("lengthscale")?;
        positive("variance", self.variance).map(|_| ())
    }

    /// The periods $p$.
    #[must_use]
    pub fn period(&self) -> &Lengthscale {
        &self.period
    }

    /// The length-scales $\ell$, in units of the sine.
    #[must_use]
    pub fn lengthscale(&self) -> &Lengthscale {
        &self.lengthscale
    }

    /// The variance $v=k(x,x)$.
    #[must_use]
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// $4\sin^2(\pi\delta/p)/\ell^2$: the squared distance, in units of $\ell$, of two points on the unit circle.
    pub(super) fn squared_chord(&self, column: usize, difference: f64) -> f64 {
        let period = self.period.get(column);
        let sine = (PI * reduced(difference, period) / period).sin();
        (2.0 * sine / self.lengthscale.get(column)).powi(2)
    }

    /// The sum of squared chords, which takes the place of $\rho^2$ in the squared-exponential kernel.
    pub(super) fn squared_distance(&self, x: &[f64], z: &[f64]) -> f64 {
        x.iter().zip(z).enumerate().map(|(i, (a, b))| self.squared_chord(i, a - b)).sum()
    }

    /// $k$ at a sum of squared chords.
    pub(super) fn at(&self, squared_distance: f64) -> f64 {
        self.variance * (-0.5 * squared_distance).exp()
    }

    /// $\partial\ln k/\partial\ln p_i=2\sin(2\pi\delta/p)\,(\pi\delta/p)/\ell^2$.
    pub(super) fn period_slope(&self, column: usize, difference: f64) -> f64 {
        let period = self.period.get(column);
        let angle = 2.0 * PI * reduced(difference, period) / period;
        2.0 * angle.sin() * (PI * difference / period) / self.lengthscale.get(column).powi(2)
    }

    /// $d_k^2=2v(1-k/v)$ without cancellation.
    pub(super) fn squared_metric(&self, squared_distance: f64) -> f64 {
        -2.0 * self.variance * (-0.5 * squared_distance).exp_m1()
    }

    /// The largest sum of squared chords over $|x_i-c_i|\le h_i$: the sine grows up to half a period and is 1 there.
    pub(super) fn largest_squared_distance(&self, half_widths: &[f64]) -> f64 {
        half_widths
            .iter()
            .enumerate()
            .map(|(i, &h)| {
                let half_period = 0.5 * self.period.get(i);
                if h >= half_period { (2.0 / self.lengthscale.get(i)).powi(2) } else { self.squared_chord(i, h) }
            })
            .sum()
    }
}

/// The difference to the nearest multiple of the period. Both steps are exact, so a separation of (nearly) whole periods keeps its digits.
pub(super) fn reduced(difference: f64, period: f64) -> f64 {
    let remainder = difference % period;
    if remainder.abs() > 0.5 * period { remainder - period.copysign(remainder) } else { remainder }
}
