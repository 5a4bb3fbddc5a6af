//! What the automatic policy goes by: what was given, what was estimated and with which safety, and whether later data agreed.

use super::data::Data;
use super::fit::Fit;
use super::model::Model;
use super::scale::Scale;
use crate::certificate::{Claim, Contradiction, Premises};
use crate::error::Result;
use crate::features::FeatureMap;
use crate::kernel::Kernel;
use crate::noise::Noise;
use crate::origin::{Origin, Sourced};
use crate::points::{Collected, Observations, Prior};
use crate::posterior::Posterior;
use crate::strategy::run::problem::Problem;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The estimated norm bound is this many times the norm of the posterior mean (algorithm notes 7.4).
const NORM_SAFETY: f64 = 2.0;
/// The estimated noise level is this many times the fitted one.
const NOISE_SAFETY: f64 = 1.5;

/// A number the policy goes by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Quantity {
    /// As the user gave it.
    Given(f64),
    /// Estimated from the data.
    Estimated {
        /// The estimate, the safety factor included.
        value: f64,
        /// The safety factor.
        safety: f64,
    },
}

impl Quantity {
    /// The number, with its safety factor.
    #[must_use]
    pub fn value(self) -> f64 {
        match self {
            Self::Given(value) | Self::Estimated { value, .. } => value,
        }
    }

    /// Whether it came from the data.
    #[must_use]
    pub fn is_estimated(self) -> bool {
        matches!(self, Self::Estimated { .. })
    }
}

/// What the policy went by after a batch, all on the scale of its model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Assumed {
    /// The kernel and where it came from.
    pub kernel: Sourced<Kernel>,
    /// The scale on which values are modelled.
    pub scale: Scale,
    /// The ridge of the model: the noise level as fitted or given.
    pub ridge: f64,
    /// The noise level.
    pub noise: Quantity,
    /// The bound on the norm of the function minus its prior mean.
    pub norm_bound: Quantity,
    /// The norm that this batch's data, together with all before, ask for at least, where they contradict what was assumed before the batch (algorithm
    /// notes 7.3), or what the user gave.
    pub least_norm: Option<f64>,
}

impl Assumed {
    pub(super) fn new(problem: &Problem, fit: &Fit, model: &Model) -> Self {
        let estimated = |value: f64, safety: f64| Quantity::Estimated { value: safety * value, safety };
        let noise = match problem.noise() {
            Some(_) => Quantity::Given(fit.ridge),
            None => estimated(fit.ridge, NOISE_SAFETY),
        };
        let norm_bound = match problem.norm_bound() {
            Some(bound) => Quantity::Given(bound),
            None => estimated(model.norm(), NORM_SAFETY),
        };
        let source = problem.kernel().map_or(Origin::LearntHere, |kernel| kernel.origin);
        let kernel = Sourced::new(fit.kernel.clone(), source);
        Self { kernel, scale: fit.scale, ridge: fit.ridge, noise, norm_bound, least_norm: None }
    }

    /// The least norm that fits, if data contradict norm bound or noise at miss probability `delta`. Cost O(n³).
    pub(super) fn contradicted_by(&self, data: &Data, delta: f64) -> Result<Option<f64>> {
        let bound = self.norm_bound.value();
        if bound <= 0.0 {
            return Ok(None);
        }
        let observations = Observations::new(data.points.clone(), &data.values(&self.scale), Collected::Adaptive, Prior::ZERO)?;
        let features = FeatureMap::new(self.kernel.clone(), observations.locations().points().to_points())?;
        let posterior = Posterior::fit(Arc::new(features), self.ridge, observations)?;
        // Means that came with a standard error may be noisier than the rest: the largest level covers all.
        let own = data.noise(&self.scale, 0.0, &data.raw).into_iter().fold(0.0, f64::max).sqrt();
        let claim = Claim::new(delta)?.norm_bound(bound)?.noise(Noise::sub_gaussian(self.noise.value().max(own))?);
        let check = posterior.norm_check(&claim)?;
        Ok((check.contradicted == Some(true)).then_some(check.least_norm))
    }

    /// What claims of the policy rest on: a model that was fitted to the same responses.
    pub(in crate::strategy) fn premises(&self, problem: &Problem, observations: usize) -> Premises {
        let quantity = |q: Quantity| if q.is_estimated() { Origin::Estimated } else { Origin::Declared };
        let prior = if self.scale == Scale::IDENTITY { problem.prior().origin() } else { Origin::LearntHere };
        Premises {
            kernel: Sourced::new(Some(self.kernel.value.clone()), self.kernel.origin),
            prior: Sourced::new(problem.prior(), prior),
            norm_bound: Sourced::new(Some(self.norm_bound.value()), quantity(self.norm_bound)),
            noise: Sourced::new(Noise::sub_gaussian(self.noise.value()).ok(), quantity(self.noise)),
            points: Sourced::new(Collected::Adaptive, Origin::Unmet),
            ridge: Sourced::new(Some(self.ridge), quantity(self.noise)),
            ..problem.premises(observations)
        }
    }

    /// The contradiction, if what was contradicted is what the user gave and not an estimate.
    pub(super) fn contradiction(&self) -> Option<Contradiction> {
        let given = self.kernel.origin == Origin::Declared && !self.norm_bound.is_estimated() && !self.noise.is_estimated();
        self.least_norm.filter(|_| given).map(|least| Contradiction::of_norm(Some(least), self.norm_bound.value()))
    }
}
