//! The scale on which the automatic policy models values: centred, of unit size, and with a long lower tail drawn in where that explains the data better.

use serde::{Deserialize, Serialize};

/// An increasing map from the problem's values to the model's.
///
/// Above the knee $c$ it is $(y-c)/u$; below, with a warp, $-\ln(1+(c-y)/u)$: smooth to first order, and the size of bad values stops mattering.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    centre: f64,
    unit: f64,
    /// Shift and factor after the warp, so that the model's values are centred and of unit size.
    mean: f64,
    spread: f64,
    warped: bool,
}

impl Scale {
    /// Values as they are.
    pub(super) const IDENTITY: Self = Self { centre: 0.0, unit: 1.0, mean: 0.0, spread: 1.0, warped: false };

    /// Mean 0 and standard deviation 1 on these values.
    pub(super) fn standard(values: &[f64]) -> Self {
        Self::IDENTITY.standardised(values)
    }

    /// The lower half of these values drawn in by a logarithm, in units of the distance from the median to the upper quartile.
    pub(super) fn warped(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let quantile = |share: f64| sorted[((sorted.len() - 1) as f64 * share) as usize];
        let (centre, unit) = (quantile(0.5), quantile(0.75) - quantile(0.5));
        (unit > 0.0).then(|| Self { centre, unit, warped: true, ..Self::IDENTITY }.standardised(values))
    }

    fn standardised(self, values: &[f64]) -> Self {
        let n = values.len().max(1) as f64;
        let seen: Vec<f64> = values.iter().map(|&v| self.to_model(v)).collect();
        let mean = seen.iter().sum::<f64>() / n;
        let spread = (seen.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
        Self { mean, spread: if spread > 0.0 { spread } else { 1.0 }, ..self }
    }

    /// Whether the lower tail is drawn in.
    #[must_use]
    pub fn is_warped(&self) -> bool {
        self.warped
    }

    /// A value on the model's scale.
    #[must_use]
    pub fn to_model(&self, value: f64) -> f64 {
        let y = (value - self.centre) / self.unit;
        let drawn = if self.warped && y < 0.0 { -(-y).ln_1p() } else { y };
        (drawn - self.mean) / self.spread
    }

    /// The value back from the model's scale.
    #[must_use]
    pub fn to_problem(&self, value: f64) -> f64 {
        let drawn = self.mean + self.spread * value;
        let y = if self.warped && drawn < 0.0 { -(-drawn).exp_m1() } else { drawn };
        self.centre + self.unit * y
    }

    /// The derivative of [`Scale::to_model`].
    #[must_use]
    pub fn slope(&self, value: f64) -> f64 {
        let y = (value - self.centre) / self.unit;
        let drawn = if self.warped && y < 0.0 { 1.0 / (1.0 - y) } else { 1.0 };
        drawn / (self.spread * self.unit)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn scales_are_increasing_invertible_and_standard() {
        let values: Vec<f64> = (0..50).map(|i| -(0.2 * f64::from(i)).exp()).collect();
        for scale in [Scale::standard(&values), Scale::warped(&values).unwrap()] {
            let seen: Vec<f64> = values.iter().map(|&v| scale.to_model(v)).collect();
            assert!(seen.windows(2).all(|w| w[0] > w[1]));
            let mean = seen.iter().sum::<f64>() / 50.0;
            let square = seen.iter().map(|v| v * v).sum::<f64>() / 50.0;
            assert!(mean.abs() < 1e-12 && (square - 1.0).abs() < 1e-12);
            for &v in &values {
                assert!((scale.to_problem(scale.to_model(v)) - v).abs() <= 1e-9 * v.abs());
                let step = 1e-6 * v.abs();
                let difference = (scale.to_model(v + step) - scale.to_model(v - step)) / (2.0 * step);
                assert!((difference - scale.slope(v)).abs() <= 1e-5 * scale.slope(v));
            }
        }
    }

    #[test]
    fn equal_values_have_a_plain_scale_and_no_warp() {
        assert!(Scale::warped(&[2.0; 9]).is_none());
        assert!(Scale::standard(&[2.0; 9]).to_model(2.0).abs() < 1e-12);
        assert!((Scale::standard(&[2.0; 9]).slope(2.0) - 1.0).abs() < 1e-12);
    }
}
