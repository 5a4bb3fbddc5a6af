//! Predictions with two intervals, each named: for the function, and for a new response.

use super::Model;
use crate::quantity::short;
use sigmabar::certificate::{Answer, Answers, Calibration, Certificate, Conformal, Theorem};
use sigmabar::{Claim, PointsRef, Result};

impl Model {
    /// Prepares answers whose intervals miss with probability `delta` each.
    ///
    /// # Errors
    /// Those of the core: a probability out of range, a failed self-check.
    pub fn answers(&self, delta: f64) -> Result<Answers<'_>> {
        let answers = self.posterior.answers(&self.claim(delta)?)?;
        match self.conformal()? {
            Some(conformal) => answers.calibrated(conformal),
            None => Ok(answers),
        }
    }

    /// What calibrates intervals for new responses: rows kept from the model, or all of them in parts.
    fn conformal(&self) -> Result<Option<Conformal<'_>>> {
        match (&self.about.calibration, self.about.parts.as_slice()) {
            (Some(calibration), _) => Ok(Some(Conformal::split(&self.posterior, calibration))),
            (None, []) => Ok(None),
            (None, parts) => {
                Conformal::cross(parts.iter().map(|part| (part.posterior.clone(), part.calibration.clone())).collect()).map(Some)
            }
        }
    }

    /// What was declared, as a claim.
    ///
    /// # Errors
    /// A probability out of range.
    pub fn claim(&self, delta: f64) -> Result<Claim> {
        let mut claim = Claim::new(delta)?;
        if let Some(bound) = self.about.norm_bound {
            claim = claim.norm_bound(bound)?;
        }
        Ok(match &self.about.noise {
            Some(noise) => claim.noise(noise.clone()),
            None => claim,
        })
    }

    /// Calibrates intervals for new responses on rows that nothing was learnt from; by the values of a column if one is given.
    ///
    /// # Errors
    /// Those of the core: a response that is not finite, a failed self-check.
    pub fn calibrate(&mut self, x: PointsRef<'_>, y: &[f64], by: Option<usize>) -> Result<()> {
        let mut calibration = by.map_or_else(Calibration::default, Calibration::by_column);
        calibration.add(&self.posterior, x, y)?;
        self.about.calibration = Some(calibration);
        Ok(())
    }
}

/// Groups that are named where too few rows calibrate them; the others are counted.
const NAMED: usize = 10;

impl Model {
    /// Whether rows enough calibrate intervals for new responses, in some group at least.
    #[must_use]
    pub fn is_calibrated(&self, delta: f64) -> bool {
        self.conformal().is_ok_and(|conformal| conformal.is_some_and(|conformal| conformal.suffices(delta)))
    }

    /// That too few rows calibrate intervals for new responses: which then have no ends in some groups, or are the model's own everywhere.
    #[must_use]
    pub fn too_few(&self, delta: f64) -> Option<String> {
        let calibrations = || self.about.calibration.iter().chain(self.about.parts.iter().map(|part| &part.calibration));
        let rows = self.conformal().ok()??.rows();
        let (needed, column) = (Calibration::rows_needed(delta), calibrations().next()?.column().and_then(|c| self.about.features.get(c)));
        if !self.is_calibrated(delta) {
            let of = column.map_or_else(String::new, |column| format!(" for any {}", column.name));
            let what =
                format!("{needed} rows or more calibrate intervals that miss with probability {delta}{of}, and there are {rows} in all");
            return Some(format!("{what}: those for a new response are the model's own"));
        }
        let rows_of = |value: f64| calibrations().map(|calibration| calibration.rows_of(value)).sum::<usize>();
        let column = column?;
        let rows = column.categories.iter().flatten().enumerate().map(|(i, name)| (name, rows_of(i as f64)));
        let few: Vec<String> = rows.filter(|(_, rows)| *rows < needed).map(|(name, rows)| format!("{name} has {rows}")).collect();
        let others = if few.len() > NAMED { format!(", and {} others have too few", few.len() - NAMED) } else { String::new() };
        let named = few[..few.len().min(NAMED)].join(", ");
        let what = format!("a group of {} is calibrated by {needed} rows or more, and {named}{others}", column.name);
        (!few.is_empty()).then(|| format!("{what}: no interval for a new response there"))
    }
}

/// What to do about a model whose premises the data refute.
pub const MEND: &str = "intervals under premises that the data refute are no theorem; fit again with a --prior-mean and --unit that were known before the data, \
                        a larger --norm-bound, or more --noise";

/// What the intervals of an answer rest on, in words.
#[must_use]
pub fn words(answer: &Answer) -> String {
    let (function, response) = (&answer.certificate, &answer.response_certificate);
    if function.theorem == Theorem::Model && response.theorem == Theorem::Model {
        return format!("{}\nbecause no norm bound and noise were declared with the model (--norm-bound C --noise R)", own_word(function));
    }
    format!("for the function: {}\nfor a new response: {}", own_word(function), own_word(response))
}

/// A theorem in full; an estimate in a line, with how often it held.
fn own_word(certificate: &Certificate) -> String {
    if certificate.theorem != Theorem::Model {
        return certificate.to_string();
    }
    let (label, delta) = (certificate.label(), certificate.delta);
    let factor = certificate.bounds.beta.map_or_else(String::new, |beta| format!(", {} deviations each way", short(beta)));
    let measured = certificate.bounds.measured.map_or_else(String::new, |measured| format!("; {measured}"));
    format!("{label}: normal intervals of the model{factor}, each missing with probability {delta} if the model is right{measured}")
}
