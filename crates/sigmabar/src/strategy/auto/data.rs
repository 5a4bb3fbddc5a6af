//! What was measured, as the model takes it.

use super::fit::Fit;
use super::model::{EXACT, exact};
use super::scale::Scale;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::points::Points;
use sigmabar_linalg::dot;
use std::borrow::Cow;

/// All measured points and their values on the scale where the model sees them.
#[derive(Clone, Debug)]
pub(super) struct Data {
    pub points: Points,
    /// Values where larger is better, in the problem's unit.
    pub raw: Vec<f64>,
    /// Standard errors of the values that came as means, in the problem's unit.
    pub errors: Vec<Option<f64>>,
    /// How many of the values, the first ones, were measured at points spread over the domain.
    pub spread: usize,
    /// Where evaluations failed, if that may say something about the place.
    pub failed: Option<Points>,
}

impl Data {
    /// The noise variance of each observation: its own, else by the common ridge, which is the noise at the scale's knee. All on the scale of the model,
    /// at these levels in the problem's unit: see [`Data::levels`].
    pub fn noise(&self, scale: &Scale, ridge: f64, levels: &[f64]) -> Vec<f64> {
        let own =
            |(error, &level): (&Option<f64>, &f64)| error.map_or(ridge * scale.noise_share(level), |e| e * scale.slope(level)).powi(2);
        self.errors.iter().zip(levels).map(own).collect()
    }

    /// The level at which to look up the noise of each value: the mean of the posterior, itself with the noise looked up at the values. At the values
    /// alone, those that chance made large would count for more than their neighbours where the upper tail is drawn in, and the mean be too large.
    pub fn levels(&self, kernel: &Kernel, scale: &Scale, ridge: f64) -> Result<Cow<'_, [f64]>> {
        if !scale.bends_noise(self.errors.iter().any(Option::is_some)) {
            return Ok(Cow::Borrowed(&self.raw));
        }
        let (n, count) = (self.raw.len(), self.raw.len().min(EXACT));
        let some = self.select(&(0..count).map(|i| i * n / count).collect::<Vec<_>>())?;
        let (values, noise) = (some.values(scale), some.noise(scale, ridge, &some.raw));
        let (sites, _, weights) = exact(kernel, some.points, values, noise)?;
        let rows = kernel.block(self.points.view(), sites.view())?;
        Ok(Cow::Owned((0..n).map(|i| scale.to_problem(dot(rows.row(i), &weights))).collect()))
    }

    /// The values on the scale of the model.
    pub fn values(&self, scale: &Scale) -> Vec<f64> {
        self.raw.iter().map(|&v| scale.to_model(v)).collect()
    }

    /// Some of the observations, in increasing order.
    pub fn select(&self, chosen: &[usize]) -> Result<Self> {
        Ok(Self {
            points: self.points.view().select(chosen)?,
            raw: chosen.iter().map(|&i| self.raw[i]).collect(),
            errors: chosen.iter().map(|&i| self.errors[i]).collect(),
            spread: chosen.iter().filter(|&&i| i < self.spread).count().max(1),
            failed: None,
        })
    }

    /// At most `count` observations to fit parameters to: half of them the best, the others spread evenly over the rest.
    pub fn for_fitting(&self, count: usize) -> Cow<'_, Self> {
        let n = self.raw.len();
        if n <= count {
            return Cow::Borrowed(self);
        }
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| self.raw[b].total_cmp(&self.raw[a]).then(a.cmp(&b)));
        let mut rest = order.split_off(count / 2);
        rest.sort_unstable();
        let wanted = count - order.len();
        order.extend((0..wanted).map(|i| rest[i * rest.len() / wanted]));
        order.sort_unstable();
        self.select(&order).map_or(Cow::Borrowed(self), Cow::Owned)
    }

    /// Points, values and noise variances as the model takes them. A failure counts as a bad value of which little is known: one alone hardly matters, a cluster does.
    pub fn conditioned(&self, fit: &Fit) -> Result<(Points, Vec<f64>, Vec<f64>)> {
        let levels = self.levels(&fit.kernel, &fit.scale, fit.ridge)?;
        let (mut points, mut values) = (self.points.clone(), self.values(&fit.scale));
        let mut noise = self.noise(&fit.scale, fit.ridge, &levels);
        if let Some(failed) = &self.failed {
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let square = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
            let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
            for row in failed.view().rows() {
                points.push(row)?;
                values.push(lowest);
                noise.push(square.max(fit.ridge.powi(2)));
            }
        }
        Ok((points, values, noise))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Half of the values at the top are lucky by as much as the others are not: the mean is between them, where the upper tail is drawn in too. With the noise
    /// looked up at each value, the lucky ones would weigh more and the mean be 3.04.
    #[test]
    fn luck_does_not_make_a_value_count_for_more() {
        let plain: Vec<f64> = (0..20).map(|i| f64::from(i) / 20.0).collect();
        let top: Vec<f64> = (0..40).map(|i| if i % 2 == 0 { 2.7 } else { 3.3 }).collect();
        let raw = [plain.clone(), top].concat();
        let x: Vec<f64> = (0..60).map(|i| if i < 20 { f64::from(i) / 10.0 } else { 5.0 }).collect();
        let data = Data { points: Points::on_line(x).unwrap(), errors: vec![None; 60], spread: 20, raw, failed: None };
        let scale = Scale::upper(&data.raw, &plain).unwrap();
        let kernel = Kernel::matern(2.5, 0.5, 4.0).unwrap();
        let model = Fit::plain(kernel.clone(), 0.3, scale).model(&data).unwrap();
        let mean = scale.to_problem(model.mean_at(&[5.0]));
        assert!((2.95..3.01).contains(&mean), "{mean}");
        let levels = data.levels(&kernel, &scale, 0.3).unwrap();
        assert!(levels[20..].iter().all(|level| *level == levels[20]));
        // Where nothing is drawn in, noise is the same everywhere, and the values will do.
        assert_eq!(*data.levels(&kernel, &Scale::standard(&data.raw), 0.3).unwrap(), data.raw);
    }

    #[test]
    fn levels_of_many_values_rest_on_some_of_them() {
        let n = 2 * EXACT + 7;
        let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.618_033_988_7).fract()).collect();
        let raw: Vec<f64> = x.iter().map(|v| 3.0 * (-(8.0 * (v - 0.4)).powi(2)).exp() + 0.1 * v).collect();
        let data = Data { points: Points::on_line(x).unwrap(), errors: vec![None; n], spread: 100, raw, failed: None };
        let scale = Scale::upper(&data.raw, &data.raw[..100]).unwrap();
        let levels = data.levels(&Kernel::matern(2.5, 0.1, 1.0).unwrap(), &scale, 0.1).unwrap();
        assert!(levels.len() == n && levels.iter().zip(&data.raw).all(|(level, value)| (level - value).abs() < 0.2));
    }
}
