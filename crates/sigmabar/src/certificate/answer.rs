//! Answers: mean, deviation and both intervals at any points, from one claim prepared once.

use super::claim::{Claim, Coverage, Side};
use super::conformal::{Conformal, frequency};
use super::energy::refutes;
use super::intervals::{Ends, Intervals, clip};
use super::prediction::PredictionIntervals;
use super::premises::Premises;
use super::range::Range;
use super::record::{About, Bounds, Certificate, Claimed, Contradiction, Frequency, Spent, Theorem, Unseen, resolve};
use super::widths::Widths;
use super::{Label, Method};
use crate::error::Result;
use crate::noise::Noise;
use crate::origin::Origin;
use crate::points::PointsRef;
use crate::posterior::Posterior;
use statrs::distribution::{ContinuousCDF, StudentsT};
use std::borrow::Cow;
use std::sync::Arc;

/// What the alarm's share of $\delta$ is spent on.
const CHECK: &str = "the check of the premises";
/// The share of $\delta$ that the check of the premises may spend (algorithm notes 12, P10).
pub const ALARM_SHARE: f64 = 0.05;
/// Points that are left out in turn to see how often the model's own intervals hold.
const LEFT_OUT: usize = 1000;
/// With more degrees of freedom Student's factor is the normal one.
const FEW: f64 = 500.0;

/// What a posterior says at points, in the data's scale: about the function, and about a new response, each with what it rests on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// Posterior means; where a claim takes the ridge that serves each point best, the means under that ridge, which are the centres of its intervals.
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
    posterior: Cow<'a, Posterior>,
    claim: Claim,
    /// What the intervals may spend.
    left: Claim,
    widths: Option<Widths>,
    contradiction: Option<Contradiction>,
    /// $c_0$, where there is a claim.
    least_norm: Option<f64>,
    /// What calibrates intervals for a new response where no premises are there.
    conformal: Option<Conformal<'a>>,
    /// How the model's own intervals did.
    checked: Option<Checked>,
}

/// The factor on the model's deviations, and how often the one it asks for held on rows it had not learnt from.
#[derive(Clone, Copy, Debug)]
struct Checked {
    factor: f64,
    measured: Frequency,
}

impl Posterior {
    /// Prepares answers to a claim. With norm bound and noise, the data are checked against them first ($\delta/20$, out of $\delta$), and
    /// ends that do not meet $\pm C\sqrt{k(x,x)}$ contradict them too: under true premises that is a miss, which the rest of $\delta$ pays for. Without, answers are the
    /// model's own normal intervals, widened by what leaving rows out shows, and estimates; see also [`Answers::calibrated`]. Cost: that of [`Widths::new`],
    /// and O(m³) for the check.
    ///
    /// # Errors
    /// As [`Widths::new`].
    pub fn answers(&self, claim: &Claim) -> Result<Answers<'_>> {
        let mut answers = Answers {
            posterior: Cow::Borrowed(self),
            claim: claim.clone(),
            left: claim.clone(),
            widths: None,
            contradiction: None,
            least_norm: None,
            conformal: None,
            checked: None,
        };
        if !answers.is_claim() {
            // Sums leave nothing to be left out: then only rows held out can tell.
            if self.information().has_rows() {
                answers.check(|z, delta| Ok(frequency(self.left_out_scores(LEFT_OUT)?, z, delta, Unseen::LeftOut)))?;
            }
            return Ok(answers);
        }
        let bound = claim.required_norm_bound()?;
        let check = self.norm_check(&claim.clone().with_delta(ALARM_SHARE * claim.delta())?)?;
        answers.least_norm = Some(check.least_norm);
        answers.contradiction = refutes(check.least_norm, bound).then_some(Contradiction::of_norm(Some(check.least_norm), bound));
        answers.left = claim.clone().with_delta((1.0 - ALARM_SHARE) * claim.delta())?;
        if resolve(claim.method_claimed(), self.information().collected()) != Method::Energy {
            answers.widths = Some(Widths::new(Arc::clone(self.information()), &answers.left)?);
        }
        Ok(answers)
    }
}

impl<'a> Answers<'a> {
    /// Without premises, intervals for a new response by calibration where there are rows enough for it; those for the function are widened by what the same
    /// rows show, and so are those for a new response where rows are too few. With premises nothing changes: a theorem about the function says more.
    ///
    /// # Errors
    /// A failed self-check.
    pub fn calibrated(mut self, conformal: Conformal<'a>) -> Result<Self> {
        if !self.is_claim() && conformal.rows() > 0 {
            self.check(|z, delta| Ok(conformal.measured(z, delta)))?;
            self.conformal = Some(conformal);
        }
        Ok(self)
    }

    /// Notes how often the model's factor $z$ held, and widens it to what would have been right; never narrows it.
    fn check(&mut self, measure: impl FnOnce(f64, f64) -> Result<(Frequency, f64)>) -> Result<()> {
        let z = self.model_factor()?;
        let (measured, right) = measure(z, self.claim.delta())?;
        self.checked = (measured.of > 0).then_some(Checked { factor: z.max(right), measured });
        Ok(())
    }

    /// What calibrates intervals for a new response, where its rows are enough.
    fn theorem_of_rows(&self) -> Option<&Conformal<'a>> {
        self.conformal.as_ref().filter(|conformal| conformal.suffices(self.claim.delta()))
    }

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
        let (mut mean, std_dev) = self.posterior.predict(x)?;
        if !self.is_claim() {
            let mut answer = self.of_model(mean, std_dev)?;
            if self.theorem_of_rows().is_some() {
                let (ends, certificate) = self.response(x)?;
                (answer.response, answer.response_certificate) = (pairs(&ends.lower, &ends.upper), certificate);
            } else if let Some(few) = &self.conformal {
                let shown = few.widest(x)?;
                for ((lower, upper), (low, high)) in answer.response.iter_mut().zip(pairs(&shown.lower, &shown.upper)) {
                    *lower = if low.is_finite() { lower.min(low) } else { *lower };
                    *upper = if high.is_finite() { upper.max(high) } else { *upper };
                }
            }
            return Ok(answer);
        }
        let (ends, certificate) = self.bounded(x)?;
        let function = pairs(&ends.lower, &ends.upper);
        if certificate.bounds.ridges.is_some() {
            mean = ends.mean;
        }
        // Of new responses there is one at each point, however many points the function is bounded at.
        let listed = matches!(self.left.coverage_claimed(), Coverage::Point | Coverage::Points);
        let (ends, mut response_certificate) = if listed {
            self.claimed_response(x)?
        } else {
            self.whole_response(&self.posterior.prediction_interval(x, &self.left.clone().coverage(Coverage::Point))?)
        };
        // A new response rests on the premises of the function: what refutes the one refutes the other.
        response_certificate.contradiction = certificate.contradiction;
        let response = pairs(&ends.lower, &ends.upper);
        Ok(Answer { mean, std_dev, function, response, certificate, response_certificate })
    }

    /// The intervals for the function alone, with what they rest on. Cost O(q(md + m²)).
    ///
    /// # Errors
    /// As [`Answers::at`].
    pub fn function(&self, x: PointsRef<'_>) -> Result<(Ends, Certificate)> {
        if !self.is_claim() {
            return self.at(x).map(|answer| (Ends::around(answer.mean, answer.function), answer.certificate));
        }
        self.bounded(x)
    }

    /// Centres, ends and certificate of a claim's intervals for the function.
    fn bounded(&self, x: PointsRef<'_>) -> Result<(Ends, Certificate)> {
        let intervals: Intervals = match &self.widths {
            Some(widths) => self.posterior.interval_with(widths, x)?,
            None => self.posterior.interval(x, &self.left)?,
        };
        let mut certificate = self.whole(intervals.certificate());
        let mut ends = intervals.ends();
        let norm_bound = self.claim.required_norm_bound()?;
        let diagonal = self.posterior.information().features().kernel().diagonal(x);
        if !clip(self.posterior.prior(), norm_bound, &diagonal, ends.lower.iter_mut().zip(&mut ends.upper)) {
            certificate.contradiction.get_or_insert(Contradiction::of_norm(None, norm_bound));
        }
        // What the norm rules out is no centre either.
        for ((mean, lower), upper) in ends.mean.iter_mut().zip(&ends.lower).zip(&ends.upper) {
            *mean = mean.max(*lower).min(*upper);
        }
        Ok((ends, certificate))
    }

    /// The intervals for new responses alone, with what they rest on. Cost O(q(md + m²)).
    ///
    /// # Errors
    /// As [`Answers::at`]; coverage of more than points, as there is one new response at each.
    pub fn response(&self, x: PointsRef<'_>) -> Result<(Ends, Certificate)> {
        if let Some(conformal) = self.theorem_of_rows() {
            let found = conformal.interval(x, self.claim.delta())?;
            return Ok((found.ends(), found.certificate().clone()));
        }
        if !self.is_claim() {
            return self.at(x).map(|answer| (Ends::around(answer.mean, answer.response), answer.response_certificate));
        }
        let (response, certificate) = self.claimed_response(x)?;
        let contradiction = self.function(x)?.1.contradiction;
        Ok((response, Certificate { contradiction, ..certificate }))
    }

    fn claimed_response(&self, x: PointsRef<'_>) -> Result<(Ends, Certificate)> {
        Ok(self.whole_response(&match &self.widths {
            Some(widths) => self.posterior.prediction_with(widths, x)?,
            None => self.posterior.prediction_interval(x, &self.left)?,
        }))
    }

    /// The same with a copy of the posterior, to be kept.
    #[must_use]
    pub fn into_owned(self) -> Answers<'static> {
        let Self { posterior, claim, left, widths, contradiction, least_norm, conformal, checked } = self;
        let conformal = conformal.map(Conformal::into_owned);
        Answers { posterior: Cow::Owned(posterior.into_owned()), claim, left, widths, contradiction, least_norm, conformal, checked }
    }

    fn whole_response(&self, response: &PredictionIntervals) -> (Ends, Certificate) {
        (response.ends(), self.whole(response.certificate()))
    }

    /// What intervals rest on that were made with what the check of the premises has left.
    fn whole(&self, certificate: &Certificate) -> Certificate {
        let checked = certificate.clone().after_check(self.claim.delta(), self.contradiction);
        match self.least_norm {
            Some(least_norm) => checked.with_range(Range { least_norm, ..Range::default() }),
            None => checked,
        }
    }

    /// $\mu\pm z\sigma$ and $\mu\pm z\sqrt{\sigma^2+\tau^2}$: what the model estimates, with the factor that rows it had not learnt from ask for.
    fn of_model(&self, mean: Vec<f64>, std_dev: Vec<f64>) -> Result<Answer> {
        let z = self.checked.map_or_else(|| self.model_factor(), |checked| Ok(checked.factor))?;
        let noise = self.posterior.information().ridge() * self.posterior.prior().unit();
        let around = |spread: &dyn Fn(f64) -> f64| {
            mean.iter().zip(&std_dev).map(|(m, s)| (m - z * spread(*s), m + z * spread(*s))).collect::<Vec<_>>()
        };
        let (function, response) = (around(&|s| s), around(&|s| s.hypot(noise)));
        let certificate = self.model_certificate(z);
        let new_noise = Noise::gaussian(self.posterior.information().ridge())?;
        let response_certificate =
            Certificate { claim: Claimed::Response { side: Side::Both, noise: Some(new_noise) }, ..certificate.clone() };
        Ok(Answer { mean, std_dev, function, response, certificate, response_certificate })
    }

    /// The normal factor. Where the kernel was learnt from these few rows, Student's, with a degree of freedom for each row beyond the parameters: the model is surer of
    /// itself than what it learnt from allows. Priors hold the parameters too, so that a quarter of the rows is left in any case.
    fn model_factor(&self) -> Result<f64> {
        let (information, prior) = (self.posterior.information(), self.posterior.prior());
        let kernel = information.features().sourced_kernel();
        let learnt = kernel.value.log_parameters().len() + 1 + usize::from(prior.origin() == Origin::LearntHere);
        // Copies of rows teach nothing.
        let rows = information.len().saturating_sub(self.posterior.responses().doubts().copies) as f64;
        let freedom = (rows - learnt as f64).max(0.25 * rows).max(1.0);
        let tail = 1.0 - 0.5 * self.claim.delta();
        match StudentsT::new(0.0, 1.0, freedom) {
            Ok(student) if kernel.origin == Origin::LearntHere && freedom < FEW => Ok(student.inverse_cdf(tail)),
            _ => Ok(Noise::gaussian(1.0)?.tail_factor((2.0 / self.claim.delta()).ln())),
        }
    }

    fn model_certificate(&self, factor: f64) -> Certificate {
        let premises: Premises = self.posterior.premises(&self.claim, false);
        Certificate {
            claim: Claimed::Function { side: Side::Both },
            // The model's interval is one point's, however many were asked for.
            about: About::Point,
            delta: self.claim.delta(),
            spent: Vec::new(),
            theorem: Theorem::Model,
            premises,
            bounds: Bounds { beta: Some(factor), measured: self.checked.map(|checked| checked.measured), ..Bounds::default() },
            contradiction: None,
            range: None,
        }
    }
}

fn pairs(low: &[f64], high: &[f64]) -> Vec<(f64, f64)> {
    low.iter().copied().zip(high.iter().copied()).collect()
}

impl Certificate {
    /// Of a claim with so much to spend, a share of which went into the check of the premises, and what that found.
    pub(super) fn after_check(mut self, delta: f64, contradiction: Option<Contradiction>) -> Self {
        self.delta = delta;
        self.spent.push(Spent::new(CHECK, ALARM_SHARE * delta, None));
        self.contradiction = contradiction.or(self.contradiction);
        self
    }

    /// One statement about so many points, each by itself at its share of $\delta$: a union bound.
    pub(super) fn together(mut self, points: usize, shares: usize) -> Self {
        if points > 1 && self.about == About::Point {
            self.about = About::List { points };
            self.spent.iter_mut().filter(|spent| spent.on != CHECK).for_each(|spent| {
                (spent.delta, spent.events) = (spent.delta * shares as f64, Some(spent.events.unwrap_or(1.0) * shares as f64));
            });
        }
        self
    }

    /// With the range of premises within which it stands.
    pub(super) fn with_range(self, range: Range) -> Self {
        Self { range: Some(range), ..self }
    }
}
