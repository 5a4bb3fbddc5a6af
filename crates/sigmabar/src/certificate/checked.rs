//! What the numbers of a certificate satisfy, whoever wrote it: one that was altered is refused by the name of the field.

use super::range::{FARTHEST, Followed};
use super::record::{Certificate, Theorem};
use crate::error::{Error, Result, probability};

/// Numbers that were added up or multiplied in another order differ by so much.
const ROUNDING: f64 = 1e-6;

impl Certificate {
    /// # Errors
    /// [`Error::Parameter`] with the name of a field that no certificate of this program has.
    pub(super) fn checked(self) -> Result<Self> {
        probability("delta", self.delta)?;
        for spent in &self.spent {
            within("spent.delta", spent.delta, (0.0, 1.0), "between 0 and 1")?;
        }
        let spent: f64 = self.spent.iter().map(|spent| spent.delta).sum();
        within("spent", spent, (0.0, self.delta), "delta at most, all shares together")?;
        self.check_range()?;
        Ok(self)
    }

    fn check_range(&self) -> Result<()> {
        let Some(range) = &self.range else { return Ok(()) };
        within("range.least_norm", range.least_norm, (0.0, f64::MAX), "at least 0")?;
        let Some(norm) = range.norm_breakdown else { return Ok(()) };
        // The error of a design is linear in the norm, so that nothing is looked for; whatever was looked for was so from the declared value to so many times it.
        let is_looked_for = range.of != Followed::Error;
        let (declared, noise) = (self.premises.norm_bound.value, self.premises.noise.value.as_ref());
        let declared = declared.filter(|_| is_looked_for).map_or((f64::MIN_POSITIVE, f64::MAX), |bound| (bound, FARTHEST * bound));
        within("range.norm_breakdown", norm, declared, "from the declared norm bound to 8 times it")?;
        if self.contradiction.is_none() && self.theorem != Theorem::Model {
            within("range.least_norm", range.least_norm, (0.0, norm), "at most norm_breakdown")?;
        }
        let farthest = noise.filter(|_| self.premises.level.is_none()).map_or(f64::MAX, |noise| FARTHEST * noise.std_dev_bound());
        let noise = range.noise_breakdown.map_or(Ok(()), |level| {
            within("range.noise_breakdown", level, (f64::MIN_POSITIVE, farthest), "above 0 and at most 8 times the declared level")
        });
        noise?;
        range.claimed.zip(range.gap).map_or(Ok(()), |(claimed, gap)| within("range.claimed", claimed, (f64::MIN, gap), "at most range.gap"))
    }
}

fn within(name: &'static str, value: f64, (low, high): (f64, f64), requirement: &'static str) -> Result<()> {
    let slack = |end: f64| ROUNDING * end.abs().min(1e300);
    let is_within = value.is_finite() && low - slack(low) <= value && value <= high + slack(high);
    if is_within { Ok(()) } else { Err(Error::Parameter { name, value, requirement }) }
}
