//! The scale on which the automatic policy models values: centred, of unit size, and with a long tail drawn in where that explains the data better.

use serde::{Deserialize, Serialize};

/// An increasing map from the problem's values to the model's.
///
/// Around a knee $c$ it is $(y-c)/u$. With the lower tail drawn in it is $-\ln(1+(c-y)/u)$ below the knee: the size of bad values stops mattering.
/// With the upper tail drawn in it is $\ln(1+(y-c)/u)$ above: a sharp peak over a plain becomes a hill that can be seen from afar. Both are smooth to first order.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    centre: f64,
    unit: f64,
    /// Shift and factor after the warp, so that the model's values are centred and of unit size.
    mean: f64,
    spread: f64,
    warp: Warp,
}

/// The tail that is drawn in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Warp {
    None,
    Lower,
    Upper,
}

impl Scale {
    /// Values as they are.
    pub(super) const IDENTITY: Self = Self { centre: 0.0, unit: 1.0, mean: 0.0, spread: 1.0, warp: Warp::None };

    /// Mean 0 and standard deviation 1 on these values.
    pub(super) fn standard(values: &[f64]) -> Self {
        Self::IDENTITY.standardised(values)
    }

    /// The lower half of these values drawn in by a logarithm, in units of the distance from the median to the upper quartile.
    pub(super) fn lower(values: &[f64]) -> Option<Self> {
        Self::bent(Warp::Lower, values, values)
    }

    /// The upper half of the values drawn in likewise. Median and quartile are those of `spread`, values at points spread over the whole domain:
    /// those of all values move to the peak as the run closes in.
    pub(super) fn upper(values: &[f64], spread: &[f64]) -> Option<Self> {
        Self::bent(Warp::Upper, values, spread)
    }

    fn bent(warp: Warp, values: &[f64], spread: &[f64]) -> Option<Self> {
        let mut sorted = spread.to_vec();
        sorted.sort_by(f64::total_cmp);
        let quantile = |share: f64| sorted[((sorted.len() - 1) as f64 * share) as usize];
        let (centre, unit) = (quantile(0.5), quantile(0.75) - quantile(0.5));
        (unit > 0.0).then(|| Self { centre, unit, warp, ..Self::IDENTITY }.standardised(values))
    }

    fn standardised(self, values: &[f64]) -> Self {
        let n = values.len().max(1) as f64;
        let seen: Vec<f64> = values.iter().map(|&v| self.to_model(v)).collect();
        let mean = seen.iter().sum::<f64>() / n;
        let spread = (seen.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
        Self { mean, spread: if spread > 0.0 { spread } else { 1.0 }, ..self }
    }

    /// Whether the same tail is drawn in.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.warp == other.warp
    }

    /// A value on the model's scale.
    #[must_use]
    pub fn to_model(&self, value: f64) -> f64 {
        let y = (value - self.centre) / self.unit;
        let drawn = match self.warp {
            Warp::Lower if y < 0.0 => -(-y).ln_1p(),
            Warp::Upper if y > 0.0 => y.ln_1p(),
            _ => y,
        };
        (drawn - self.mean) / self.spread
    }

    /// The value back from the model's scale.
    #[must_use]
    pub fn to_problem(&self, value: f64) -> f64 {
        let drawn = self.mean + self.spread * value;
        let y = match self.warp {
            Warp::Lower if drawn < 0.0 => -(-drawn).exp_m1(),
            Warp::Upper if drawn > 0.0 => drawn.exp_m1(),
            _ => drawn,
        };
        self.centre + self.unit * y
    }

    /// The derivative of [`Scale::to_model`].
    #[must_use]
    pub fn slope(&self, value: f64) -> f64 {
        self.bend(value) * self.slope_at_knee()
    }

    /// The derivative of [`Scale::to_model`] where nothing is drawn in: the largest there is.
    pub(super) fn slope_at_knee(&self) -> f64 {
        1.0 / (self.spread * self.unit)
    }

    /// How noisy a value is on the model's scale, as a share of the noise at the knee. In a long upper tail, noise is drawn in like the values it is
    /// added to. In a long lower tail it is not: what the model leaves unexplained there grows with the depth.
    pub(super) fn noise_share(&self, value: f64) -> f64 {
        if self.warp == Warp::Upper { self.bend(value) } else { 1.0 }
    }

    /// Whether noise depends on the value it is added to; `own` where some values came with a standard error, in the problem's unit.
    pub(super) fn bends_noise(&self, own: bool) -> bool {
        self.warp == Warp::Upper || (own && self.warp == Warp::Lower)
    }

    fn bend(&self, value: f64) -> f64 {
        let y = (value - self.centre) / self.unit;
        match self.warp {
            Warp::Lower if y < 0.0 => 1.0 / (1.0 - y),
            Warp::Upper if y > 0.0 => 1.0 / (1.0 + y),
            _ => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn is_sound(scale: &Scale, values: &[f64]) {
        let seen: Vec<f64> = values.iter().map(|&v| scale.to_model(v)).collect();
        assert!(seen.windows(2).all(|w| w[0] > w[1]));
        let mean = seen.iter().sum::<f64>() / values.len() as f64;
        let square = seen.iter().map(|v| v * v).sum::<f64>() / values.len() as f64;
        assert!(mean.abs() < 1e-12 && (square - 1.0).abs() < 1e-12);
        for &v in values {
            assert!((scale.to_problem(scale.to_model(v)) - v).abs() <= 1e-9 * v.abs());
            let step = 1e-6 * v.abs();
            let difference = (scale.to_model(v + step) - scale.to_model(v - step)) / (2.0 * step);
            assert!((difference - scale.slope(v)).abs() <= 1e-5 * scale.slope(v));
        }
    }

    #[test]
    fn scales_are_increasing_invertible_and_standard() {
        let deep: Vec<f64> = (0..50).map(|i| -(0.2 * f64::from(i)).exp()).collect();
        is_sound(&Scale::standard(&deep), &deep);
        is_sound(&Scale::lower(&deep).unwrap(), &deep);
        let high: Vec<f64> = deep.iter().rev().map(|v| -v).collect();
        is_sound(&Scale::upper(&high, &high[10..]).unwrap(), &high);
    }

    #[test]
    fn noise_is_drawn_in_with_a_long_upper_tail_only() {
        let values = [0.0, 0.1, 0.2, 0.3, 0.4, 9.0];
        let upper = Scale::upper(&values, &values).unwrap();
        for value in values {
            assert!((upper.noise_share(value) - upper.slope(value) / upper.slope_at_knee()).abs() < 1e-12);
        }
        assert!(upper.noise_share(9.0) < 0.02 && upper.noise_share(0.1) == 1.0);
        assert!(values.iter().all(|&v| Scale::lower(&values).unwrap().noise_share(v) == 1.0));
    }

    #[test]
    fn equal_values_have_a_plain_scale_and_no_warp() {
        assert!(Scale::lower(&[2.0; 9]).is_none() && Scale::upper(&[2.0, 3.0], &[2.0; 9]).is_none());
        assert!(Scale::standard(&[2.0; 9]).to_model(2.0).abs() < 1e-12);
        assert!((Scale::standard(&[2.0; 9]).slope(2.0) - 1.0).abs() < 1e-12);
    }
}
