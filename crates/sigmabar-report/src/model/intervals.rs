//! Predictions with two intervals, each named: for the function, and for a new response.

use super::Model;
use sigmabar::certificate::{Answer, Answers};
use sigmabar::{Claim, Result};

impl Model {
    /// Prepares answers whose intervals miss with probability `delta` each.
    ///
    /// # Errors
    /// Those of the core: a probability out of range, a failed self-check.
    pub fn answers(&self, delta: f64) -> Result<Answers<'_>> {
        let mut claim = Claim::new(delta)?;
        if let Some(bound) = self.about.norm_bound {
            claim = claim.norm_bound(bound)?;
        }
        if let Some(noise) = &self.about.noise {
            claim = claim.noise(noise.clone());
        }
        self.posterior.answers(&claim)
    }
}

/// What the intervals of an answer rest on, in words.
#[must_use]
pub fn words(answer: &Answer) -> String {
    if answer.certificate.theorem != sigmabar::certificate::Theorem::Model {
        return format!("for the function: {}\nfor a new response: {}", answer.certificate, answer.response_certificate);
    }
    format!(
        "{}: normal intervals of the model, each missing with probability {} if the model is right\nbecause no norm bound and noise were declared \
         (fit --norm-bound C --noise R)",
        answer.label(),
        answer.certificate.delta
    )
}
