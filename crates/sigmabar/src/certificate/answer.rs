//! Answers: mean, deviation and both intervals at any points, from one claim prepared once.

use super::claim::{Claim, Coverage, Side};
use super::intervals::Intervals;
use super::noise::Noise;
use super::prediction::PredictionIntervals;
use super::premises::Premises;
use super::record::{About, Bounds, Certificate, Claimed, Contradiction, Spent, Theorem, resolve};
use super::widths::Widths;
use super::{Label, Method};
use crate::error::Result;
use crate::origin::Origin;
use crate::points::PointsRef;
use crate::posterior::Posterior;
use std::sync::Arc;

/// The share of $\delta$ that the check of the premises may spend (algorithm notes 12, P10).
pub(crate) const ALARM_SHARE: f64 = 0.05;

/// What a posterior says at points, in the data's scale: about the function, and about a new response, each with what it rests on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// Posterior means.
    pub mean: Vec<f64>,
    /// Posterior standard deviations of the function.
    pub std_dev: Vec<f64>,
    /// Intervals for the function.
    pub function: Vec<(f64, f64)>,
    /// Intervals for a new response.
    pub response: Vec<(f64, f64)>,
    /// What the intervals for the function rest on.
    pub certificate: Certificate,
    /// What the intervals for a new response rest on.
    pub response_certificate: Certificate,
}

impl Answer {
    /// What the intervals for the function may be called.
    #[must_use]
    pub fn label(&self) -> Label {
        self.certificate.label()
    }
}

/// Everything about the answers to one claim that does not depend on the points asked for: widths, and whether the data contradict the premises.
#[derive(Clone, Debug)]
pub struct Answers<'a> {
    posterior: &'a Posterior,
    claim: Claim,
    /// What the intervals may spend.
    left: Claim,
    widths: Option<Widths>,
    contradiction: Option<Contradiction>,
}

impl Posterior {
    /// Prepares answers to a claim. With norm bound and noise, the data are checked against them first ($\delta/20$, out of $\delta$); without, answers are the
    /// model's own normal intervals, and estimates. Cost: that of [`Widths::new`], and O(m³) for the check.
    ///
    /// # Errors
    /// As [`Widths::new`].
    pub fn answers(&self, claim: &Claim) -> Result<Answers<'_>> {
        let mut answers = Answers { posterior: self, claim: claim.clone(), left: claim.clone(), widths: None, contradiction: None };
        if !answers.is_claim() {
            return Ok(answers);
        }
        let bound = claim.required_norm_bound()?;
        let check = self.norm_check(&claim.clone().with_delta(ALARM_SHARE * claim.delta())?)?;
        answers.contradiction =
            (bound < check.least_norm).then_some(Contradiction { least_norm: Some(check.least_norm), norm_bound: bound });
        answers.left = claim.clone().with_delta((1.0 - ALARM_SHARE) * claim.delta())?;
        if resolve(claim.method_claimed(), self.observations().locations().collected()) != Method::Energy {
            answers.widths = Some(Widths::new(Arc::clone(self.information()), &answers.left)?);
        }
        Ok(answers)
    }
}

impl Answers<'_> {
    /// Whether norm bound and noise are there: else nothing but the model can answer.
    fn is_claim(&self) -> bool {
        self.claim.known_norm_bound().is_some() && self.claim.noise_origin() != Origin::Unmet
    }

    /// That the data contradict the premises, if they do.
    #[must_use]
    pub fn contradiction(&self) -> Option<Contradiction> {
        self.contradiction
    }

    /// The answer at points. Cost O(q(md + m²)).
    ///
    /// # Errors
    /// Points of another width; failed self-checks.
    pub fn at(&self, x: PointsRef<'_>) -> Result<Answer> {
        let (mean, std_dev) = self.posterior.predict(x)?;
        if !self.is_claim() {
            return self.of_model(mean, std_dev);
        }
        let function = match &self.widths {
            Some(widths) => self.posterior.interval_with(widths, x)?,
            None => self.posterior.interval(x, &self.left)?,
        };
        // Of new responses there is one at each point, however many points the function is bounded at.
        let listed = matches!(self.left.coverage_claimed(), Coverage::Point | Coverage::Points);
        let response = match &self.widths {
            Some(widths) if listed => self.posterior.prediction_with(widths, x)?,
            _ if listed => self.posterior.prediction_interval(x, &self.left)?,
            _ => self.posterior.prediction_interval(x, &self.left.clone().coverage(Coverage::Point))?,
        };
        Ok(self.assemble(mean, std_dev, &function, &response))
    }

    fn assemble(&self, mean: Vec<f64>, std_dev: Vec<f64>, function: &Intervals, response: &PredictionIntervals) -> Answer {
        let pairs = |low: &[f64], high: &[f64]| low.iter().copied().zip(high.iter().copied()).collect();
        let whole = |certificate: &Certificate| {
            let mut certificate = certificate.clone();
            certificate.delta = self.claim.delta();
            certificate.spent.push(Spent::new("the check of the premises", ALARM_SHARE * self.claim.delta(), None));
            certificate.contradiction = self.contradiction.or(certificate.contradiction);
            certificate
        };
        Answer {
            mean,
            std_dev,
            function: pairs(function.lower(), function.upper()),
            response: pairs(response.response_lower(), response.response_upper()),
            certificate: whole(function.certificate()),
            response_certificate: whole(response.certificate()),
        }
    }

    /// $\mu\pm z\sigma$ and $\mu\pm z\sqrt{\sigma^2+\tau^2}$: the model's own word.
    fn of_model(&self, mean: Vec<f64>, std_dev: Vec<f64>) -> Result<Answer> {
        let z = Noise::gaussian(1.0)?.tail_factor((2.0 / self.claim.delta()).ln());
        let noise = self.posterior.information().ridge() * self.posterior.observations().prior().unit();
        let around = |spread: &dyn Fn(f64) -> f64| {
            mean.iter().zip(&std_dev).map(|(m, s)| (m - z * spread(*s), m + z * spread(*s))).collect::<Vec<_>>()
        };
        let (function, response) = (around(&|s| s), around(&|s| s.hypot(noise)));
        let certificate = self.model_certificate();
        let new_noise = Noise::gaussian(self.posterior.information().ridge())?;
        let response_certificate = Certificate { claim: Claimed::Response { side: Side::Both, noise: new_noise }, ..certificate.clone() };
        Ok(Answer { mean, std_dev, function, response, certificate, response_certificate })
    }

    fn model_certificate(&self) -> Certificate {
        let premises: Premises = self.posterior.premises(&self.claim, false);
        let about = match self.claim.coverage_claimed() {
            Coverage::Points => About::Point,
            _ => About::of(&self.claim, 0),
        };
        Certificate {
            claim: Claimed::Function { side: Side::Both },
            about,
            delta: self.claim.delta(),
            spent: Vec::new(),
            theorem: Theorem::Model,
            premises,
            bounds: Bounds::default(),
            contradiction: None,
        }
    }
}
