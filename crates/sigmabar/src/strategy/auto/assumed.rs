//! What the automatic policy goes by: what was given, what was estimated and with which safety, and whether later data agreed.

use super::fit::Fit;
use super::model::{Data, Model};
use super::scale::Scale;
use crate::certificate::{Claim, Reason};
use crate::error::Result;
use crate::features::{FeatureMap, Source, SourcedKernel};
use crate::noise::Noise;
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
    pub kernel: SourcedKernel,
    /// The scale on which values are modelled.
    pub scale: Scale,
    /// The ridge of the model: the noise level as fitted or given.
    pub ridge: f64,
    /// The noise level.
    pub noise: Quantity,
    /// The bound on the norm of the function minus its prior mean.
    pub norm_bound: Quantity,
    /// Whether this batch's data, together with all before, contradict what was assumed before the batch (algorithm notes 7.3), or what the user gave.
    pub contradicted: bool,
}

impl Assumed {
    pub(super) fn new(problem: &Problem, fit: &Fit, data: &Data, model: &Model) -> Result<Self> {
        let estimated = |value: f64, safety: f64| Quantity::Estimated { value: safety * value, safety };
        let noise = match problem.noise() {
            Some(_) => Quantity::Given(fit.ridge),
            None => estimated(fit.ridge, NOISE_SAFETY),
        };
        let norm_bound = match problem.norm_bound() {
            Some(bound) => Quantity::Given(bound),
            None => estimated(model.norm(data)?, NORM_SAFETY),
        };
        let source = problem.kernel().map_or(Source::LearntHere, |kernel| kernel.source);
        let kernel = SourcedKernel { kernel: fit.kernel.clone(), source };
        Ok(Self { kernel, scale: fit.scale, ridge: fit.ridge, noise, norm_bound, contradicted: false })
    }

    /// Whether data contradict norm bound or noise at miss probability `delta`. Cost O(n³).
    pub(super) fn contradicted_by(&self, data: &Data, delta: f64) -> Result<bool> {
        let bound = self.norm_bound.value();
        if bound <= 0.0 {
            return Ok(false);
        }
        let observations = Observations::new(data.points.clone(), &data.values(&self.scale), Collected::Adaptive, Prior::ZERO)?;
        let features = FeatureMap::new(self.kernel.clone(), observations.locations().points().to_points())?;
        let posterior = Posterior::fit(Arc::new(features), self.ridge, observations)?;
        // Means that came with a standard error may be noisier than the rest: the largest level covers all.
        let own = data.noise(&self.scale, 0.0).into_iter().fold(0.0, f64::max).sqrt();
        let claim = Claim::new(delta)?.norm_bound(bound)?.noise(Noise::sub_gaussian(self.noise.value().max(own))?);
        Ok(posterior.norm_check(&claim)?.contradicted == Some(true))
    }

    /// Why claims that rest on this are not certified.
    pub(super) fn reasons(&self) -> Vec<Reason> {
        let mut reasons = Vec::new();
        match self.kernel.source {
            Source::Declared => {}
            Source::LearntBefore => reasons.push(Reason::KernelLearntBefore),
            Source::LearntHere => reasons.push(Reason::KernelLearntHere),
        }
        reasons.extend((self.scale != Scale::IDENTITY).then_some(Reason::PriorLearnt));
        reasons.extend(self.norm_bound.is_estimated().then_some(Reason::NormEstimated));
        reasons.extend(self.contradicted.then_some(Reason::Contradicted));
        reasons
    }
}
