//! The noise level from replicates, certified (algorithm notes 13.3).

use super::Noise;
use crate::error::{Error, Result, positive, probability, same_length};
use crate::points::{Collected, Locations, Points};
use serde::{Deserialize, Serialize};
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// The share of a claim's $\delta$ that finding the noise level spends.
pub const NOISE_SHARE: f64 = 0.1;

/// What replicates say about normal noise of one unknown level, whatever the function is: the pooled scatter within groups of measurements at one point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Replicates {
    /// $\nu = \sum(c_i-1)$ over groups of $c_i$.
    freedom: f64,
    /// The sum of squares within groups.
    scatter: f64,
    /// Rows that repeat another in every number, and so are not counted.
    identical: usize,
}

/// A bound on an unknown level, with what it was made from. In the model's scale.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelBound {
    /// The level is at most this.
    pub level: f64,
    /// $s$: the scatter of the replicates.
    pub scatter: f64,
    /// $\nu$.
    pub freedom: usize,
}

impl Replicates {
    /// Of values measured at points, rows at the same point being replicates. Rows that repeat another in every number are not counted: under noise with a density that
    /// has probability zero, so they are one measurement written down twice. Should they be ties of a coarse instrument instead: the scatter is at least theirs too.
    /// Cost O(nd + n log n).
    ///
    /// # Errors
    /// [`Error::Length`] for another number of values than points; [`Error::NotFinite`].
    pub fn of(points: Points, values: &[f64]) -> Result<Self> {
        same_length("values", points.len(), values.len())?;
        if let Some(row) = values.iter().position(|v| !v.is_finite()) {
            return Err(Error::NotFinite { what: "values", row, column: 0, value: values[row] });
        }
        let locations = Locations::new(points, Collected::Adaptive);
        let mut groups: Vec<Vec<f64>> = vec![Vec::new(); locations.distinct()];
        values.iter().enumerate().for_each(|(row, value)| groups[locations.distinct_of(row)].push(*value));
        let scatter = |group: &[f64]| {
            let mean = group.iter().sum::<f64>() / group.len() as f64;
            group.iter().map(|v| (v - mean).powi(2)).sum::<f64>()
        };
        let (mut all, mut found) = (Self::default(), Self::default());
        for group in &mut groups {
            all = Self { freedom: all.freedom + (group.len() - 1) as f64, scatter: all.scatter + scatter(group), ..all };
            group.sort_by(f64::total_cmp);
            group.dedup();
            found = Self { freedom: found.freedom + (group.len() - 1) as f64, scatter: found.scatter + scatter(group), ..found };
        }
        found.identical = (all.freedom - found.freedom) as usize;
        if found.identical > 0 {
            found.scatter = found.scatter.max(all.scatter * found.freedom / all.freedom);
        }
        Ok(found)
    }

    /// With a mean that was told with its standard error and the number of replicates it is the mean of: $r-1$ degrees of freedom more.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless the standard error is finite and positive and there are two replicates at least.
    pub fn with_mean(self, standard_error: f64, replicates: u32) -> Result<Self> {
        positive("standard error", standard_error)?;
        if replicates < 2 {
            return Err(Error::Parameter { name: "replicates", value: f64::from(replicates), requirement: "at least 2 to have a scatter" });
        }
        let (r, freedom) = (f64::from(replicates), f64::from(replicates - 1));
        Ok(Self { freedom: self.freedom + freedom, scatter: self.scatter + freedom * r * standard_error * standard_error, ..self })
    }

    /// $\nu$: the degrees of freedom.
    #[must_use]
    pub fn freedom(&self) -> usize {
        self.freedom as usize
    }

    /// How many rows repeat another in every number: they are not counted.
    #[must_use]
    pub fn identical(&self) -> usize {
        self.identical
    }

    /// $s$: the pooled standard deviation; none without replicates.
    #[must_use]
    pub fn std_dev(&self) -> Option<f64> {
        (self.freedom > 0.0).then(|| (self.scatter / self.freedom).sqrt())
    }

    /// $\sigma\le s\sqrt{\nu/\chi^2_{\nu,\delta}}$ with probability $1-\delta$ for normal noise of one level, whatever the function and however the points were chosen before
    /// their noise. None without replicates.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless `delta` is strictly between 0 and 1.
    pub fn level_bound(&self, delta: f64) -> Result<Option<f64>> {
        probability("delta", delta)?;
        Ok(self.std_dev().map(|s| s * bound_factor(self.freedom, delta)))
    }

    /// The bound with what it was made from.
    pub(crate) fn bound(&self, delta: f64) -> Result<Option<LevelBound>> {
        let level = self.level_bound(delta)?;
        Ok(level.zip(self.std_dev()).map(|(level, scatter)| LevelBound { level, scatter, freedom: self.freedom() }))
    }

    /// Normal noise of the bounded level, for a claim of which [`NOISE_SHARE`] is spent on that: the claim itself has the rest.
    ///
    /// # Errors
    /// [`Error::Missing`] without replicates; [`Error::Parameter`] unless `delta` is strictly between 0 and 1.
    pub fn noise(&self, delta: f64) -> Result<Noise> {
        let level = self.level_bound(NOISE_SHARE * delta)?.ok_or(Error::Missing {
            what: "replicates",
            purpose: "a bound on an unknown noise level",
            remedy: "measure some settings twice or more, or declare the level",
        })?;
        Noise::gaussian(level)
    }

    /// How many times the scatter the bound is, by so many degrees of freedom.
    pub(crate) fn factor_at(freedom: usize, delta: f64) -> f64 {
        bound_factor(freedom as f64, delta)
    }

    /// The fewest degrees of freedom at which the bound is at most `factor` times the scatter it is made from; how many replicates a plan needs.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless `delta` is strictly between 0 and 1 and the factor above 1.05.
    pub fn needed(factor: f64, delta: f64) -> Result<usize> {
        probability("delta", delta)?;
        if !(factor.is_finite() && factor >= 1.05) {
            return Err(Error::Parameter { name: "factor", value: factor, requirement: "finite and at least 1.05" });
        }
        let mut high = 1;
        while bound_factor(high as f64, delta) > factor {
            high *= 2;
        }
        let mut low = high / 2;
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            if bound_factor(middle as f64, delta) > factor { low = middle } else { high = middle }
        }
        Ok(high)
    }
}

/// $\sqrt{\nu/\chi^2_{\nu,\delta}}$, the quantile from below: a smaller one gives a larger bound.
fn bound_factor(freedom: f64, delta: f64) -> f64 {
    let Ok(chi) = ChiSquared::new(freedom) else { return f64::INFINITY };
    let mut quantile = chi.inverse_cdf(delta);
    for _ in 0..200 {
        if quantile.is_finite() && chi.cdf(quantile) <= delta {
            break;
        }
        quantile *= 1.0 - 1e-6;
    }
    (freedom / quantile).sqrt()
}
