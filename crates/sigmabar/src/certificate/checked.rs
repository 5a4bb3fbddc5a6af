//! What the numbers of a certificate satisfy, whoever wrote it: one that was altered is refused by the name of the field.

use super::claim::Side;
use super::conformal::{proved, rank};
use super::premises::Calibrated;
use super::range::{FARTHEST, Followed};
use super::record::{About, Certificate, Claimed, Theorem};
use crate::error::{Error, Result, probability};

/// Numbers that were added up or multiplied in another order differ by so much.
const ROUNDING: f64 = 1e-6;

impl Certificate {
    /// # Errors
    /// [`Error::Parameter`] with the name of a field that no certificate of this program has.
    pub(super) fn checked(self) -> Result<Self> {
        // Calibration on a few rows in parts proves nothing, and says so: it may be wrong with probability 1.
        if self.theorem != Theorem::Conformal || self.delta != 1.0 {
            probability("delta", self.delta)?;
        }
        for spent in &self.spent {
            within("spent.delta", spent.delta, (0.0, 1.0), "between 0 and 1")?;
        }
        let spent: f64 = self.spent.iter().map(|spent| spent.delta).sum();
        within("spent", spent, (0.0, self.delta), "delta at most, all shares together")?;
        self.premises.norm_bound.value.map_or(Ok(()), |bound| within("premises.norm_bound", bound, (0.0, f64::MAX), "at least 0"))?;
        self.bounds.residual_norm.map_or(Ok(()), |lambda| within("bounds.residual_norm", lambda.value, (0.0, f64::MAX), "at least 0"))?;
        self.check_theorem()?;
        self.check_range()?;
        Ok(self)
    }

    /// What the theorem speaks of is there: nothing is certified without norm and noise.
    fn check_theorem(&self) -> Result<()> {
        let missing = |what: &'static str| {
            Err(Error::Missing {
                what,
                purpose: "the theorem of this certificate",
                remedy: "it was altered; take the one that was written",
            })
        };
        match self.theorem {
            Theorem::Conformal => {
                self.premises.calibration.map_or_else(|| missing("premises.calibration"), |c| self.check_calibration(c.value))
            }
            _ if !self.label().is_certified() => Ok(()),
            _ if !self.is_proved() => {
                Err(Error::Premise { what: "this certificate", reason: "its theorem does not prove such a claim: it was altered" })
            }
            _ if self.premises.norm_bound.value.is_none() => missing("premises.norm_bound"),
            _ if self.premises.noise.value.is_none() => missing("premises.noise"),
            _ => Ok(()),
        }
    }

    /// Whether the theorem is one about what is claimed.
    fn is_proved(&self) -> bool {
        match self.claim {
            Claimed::Function { .. } | Claimed::Response { .. } => matches!(self.theorem, Theorem::Width(_) | Theorem::Energy),
            Claimed::Optimum => matches!(self.theorem, Theorem::Elimination | Theorem::PaperElimination | Theorem::Energy),
            Claimed::Error { .. } => self.theorem == Theorem::Design,
        }
    }

    /// Calibration is about one new response at a point by itself, at the level that its rows prove.
    fn check_calibration(&self, calibrated: Calibrated) -> Result<()> {
        let altered = |what: &'static str, reason: &'static str| Err(Error::Premise { what, reason });
        if self.about != About::Point {
            return altered("about", "calibration is about each point by itself");
        }
        if self.claim != (Claimed::Response { side: Side::Both, noise: None }) {
            return altered("claim", "calibration is about a new response, on both sides");
        }
        within("premises.calibration.rows", calibrated.rows as f64, (1.0, f64::MAX), "at least 1")?;
        let level = self.bounds.level.unwrap_or(f64::NAN);
        if self.proves(calibrated, level) {
            return Ok(());
        }
        Err(Error::Parameter { name: "bounds.level", value: level, requirement: "what calibration on so many rows proves at this delta" })
    }

    /// Whether so many rows prove this level: for one model at the rank of delta, for several at some rank. Of several groups only the least level is written down.
    fn proves(&self, Calibrated { rows, folds, groups }: Calibrated, level: f64) -> bool {
        let (asked, k) = (1.0 - self.delta, rank(rows, self.delta));
        let is_level = |proved: f64| (level - proved).abs() <= ROUNDING;
        let levels_at = |k: usize| [false, true].map(|are_alike| proved((rows, k), folds, are_alike).0);
        match (groups, folds) {
            // Without ends nothing is missed.
            _ if level == 1.0 => k > rows || groups > 1,
            (1, 1) => k <= rows && levels_at(k).into_iter().any(is_level),
            (1, _) => is_level(asked) && (1..=rows).any(|k| levels_at(k).into_iter().any(is_level)),
            _ => level >= asked - ROUNDING && levels_at(rows).into_iter().any(|most| level <= most + ROUNDING),
        }
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
