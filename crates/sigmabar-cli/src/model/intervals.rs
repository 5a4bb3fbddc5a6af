//! Predictions with two intervals, each named: for the function, and for a new response.

use super::Model;
use sigmabar::{Certificate, Claim, Label, Noise, PointsRef, Reason, Result, Source};

/// What the intervals of an answer rest on.
#[derive(Clone, Debug)]
pub enum Basis {
    /// Norm bound and noise were declared: the core's certificates, for the function and for a new response.
    Claimed(Box<(Certificate, Certificate)>),
    /// They were not: normal intervals of the model.
    Model(Vec<Reason>),
}

/// Predictions, in the data's scale.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Posterior means.
    pub mean: Vec<f64>,
    /// Posterior standard deviations of the function.
    pub std: Vec<f64>,
    /// Intervals for the function.
    pub function: Vec<(f64, f64)>,
    /// Intervals for a new response.
    pub response: Vec<(f64, f64)>,
    /// What they rest on.
    pub basis: Basis,
    /// The miss probability of each.
    pub delta: f64,
}

impl Model {
    /// Predicts with intervals that miss with probability `delta` each.
    ///
    /// # Errors
    /// Those of the core: a probability out of range, a failed self-check.
    pub fn answer(&self, x: PointsRef<'_>, delta: f64) -> Result<Answer> {
        let (mean, std) = self.posterior.predict(x)?;
        let (Some(bound), Some(noise)) = (self.about.norm_bound, &self.about.noise) else {
            return self.model_answer(mean, std, delta);
        };
        let claim = Claim::new(delta)?.norm_bound(bound)?.noise(noise.clone());
        let function = self.posterior.interval(x, &claim)?;
        let response = self.posterior.prediction_interval(x, &claim)?;
        let pairs = |low: &[f64], high: &[f64]| low.iter().copied().zip(high.iter().copied()).collect();
        Ok(Answer {
            mean,
            std,
            function: pairs(function.lower(), function.upper()),
            response: pairs(response.response_lower(), response.response_upper()),
            basis: Basis::Claimed(Box::new((function.certificate().clone(), response.certificate().clone()))),
            delta,
        })
    }

    /// `μ ± zσ` and `μ ± z√(σ² + noise²)`.
    fn model_answer(&self, mean: Vec<f64>, std: Vec<f64>, delta: f64) -> Result<Answer> {
        // The claim checks the probability; the noise gives the normal quantile.
        Claim::new(delta)?;
        let z = Noise::gaussian(1.0)?.tail_factor((2.0 / delta).ln());
        let noise = self.noise_level();
        let around = |spread: &dyn Fn(f64) -> f64| mean.iter().zip(&std).map(|(m, s)| (m - z * spread(*s), m + z * spread(*s))).collect();
        let function = around(&|s| s);
        let response = around(&|s| s.hypot(noise));
        let mut reasons = Vec::new();
        match self.posterior.information().features().source() {
            Origin::LearntHere => reasons.push(Reason::KernelLearntHere),
            Origin::LearntElsewhere => reasons.push(Reason::KernelLearntBefore),
            _ => {}
        }
        reasons.extend(self.posterior.observations().prior().is_learnt().then_some(Reason::PriorLearnt));
        Ok(Answer { mean, std, function, response, basis: Basis::Model(reasons), delta })
    }
}

impl Answer {
    /// What the intervals may be called.
    #[must_use]
    pub fn label(&self) -> Label {
        match &self.basis {
            Basis::Claimed(certificates) => certificates.0.label,
            Basis::Model(_) => Label::Calibrated,
        }
    }

    /// What the intervals rest on, in words.
    #[must_use]
    pub fn words(&self) -> String {
        match &self.basis {
            Basis::Claimed(certificates) => format!("for the function: {}\nfor a new response: {}", certificates.0, certificates.1),
            Basis::Model(reasons) => {
                let mut why: Vec<String> = reasons.iter().map(ToString::to_string).collect();
                why.push("no norm bound and noise were declared (fit --norm-bound C --noise R)".to_owned());
                format!(
                    "{}: normal intervals of the model, each missing with probability {} if the model is right\nbecause {}",
                    self.label(),
                    self.delta,
                    why.join("; ")
                )
            }
        }
    }
}
