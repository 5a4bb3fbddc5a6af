//! Intervals for a new noisy observation: a different thing from an interval for the function, with a different name.

use super::claim::{Claim, Coverage, Method, Side};
use super::intervals::{Ends, Intervals};
use super::record::{Certificate, Claimed, Contradiction, Spent, resolve};
use super::widths::{HalfWidth, Widths};
use crate::error::{Error, Result};
use crate::noise::Noise;
use crate::points::{Collected, PointsRef, Prior};
use crate::posterior::{ExactPosterior, Posterior};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Intervals for a new response $y = f(x) + \varepsilon$, whose noise is independent of the observations', in the data's scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictionIntervals {
    prediction: Vec<f64>,
    response_lower: Vec<f64>,
    response_upper: Vec<f64>,
    certificate: Certificate,
}

impl PredictionIntervals {
    /// The predicted response at each point.
    #[must_use]
    pub fn prediction(&self) -> &[f64] {
        &self.prediction
    }

    /// The lower ends for a new response.
    #[must_use]
    pub fn response_lower(&self) -> &[f64] {
        &self.response_lower
    }

    /// The upper ends for a new response.
    #[must_use]
    pub fn response_upper(&self) -> &[f64] {
        &self.response_upper
    }

    /// Predictions and ends.
    #[must_use]
    pub fn ends(&self) -> Ends {
        let [mean, lower, upper] = [&self.prediction, &self.response_lower, &self.response_upper].map(Vec::clone);
        Ends { mean, lower, upper }
    }

    /// What the intervals rest on; the noise of a new response is part of the claim.
    #[must_use]
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }
}

impl Posterior {
    /// Intervals that contain a *new* response at each point with probability at least $1-\delta$.
    ///
    /// If the new noise is of the observations' kind, $-V^\top E+\varepsilon$ is one linear functional of independent noise and the half-width is
    /// $C b + z\sqrt{R^2\lVert V\rVert^2+R_{\rm new}^2}$; otherwise, and for the energy band, half of $\delta$ goes to each. Cost as [`Posterior::interval`].
    ///
    /// # Errors
    /// As [`Posterior::interval`]; [`Error::Premise`] for uniform and continuous claims, which would be about infinitely many new responses;
    /// [`Error::Missing`] where each observation has its own noise level and none is declared for a new one.
    pub fn prediction_interval(&self, x: PointsRef<'_>, claim: &Claim) -> Result<PredictionIntervals> {
        let new_noise = new_noise_of(claim)?;
        if is_convolved(claim, self.information().collected(), &new_noise)? {
            return self.prediction_with(&Widths::new(Arc::clone(self.information()), claim)?, x);
        }
        split(claim, &new_noise, self.prior(), x.len(), |half| self.interval(x, half))
    }

    /// The same from widths that were prepared before. Cost O(q(md + m²)), more where old and new noise are not of one kind.
    ///
    /// # Errors
    /// As [`Posterior::prediction_interval`] and [`Posterior::interval_with`].
    pub fn prediction_with(&self, widths: &Widths, x: PointsRef<'_>) -> Result<PredictionIntervals> {
        let claim = &widths.claim;
        let new_noise = &new_noise_of(claim)?;
        if !is_convolved(claim, self.information().collected(), new_noise)? {
            return self.prediction_interval(x, claim);
        }
        let (centres, halves) = self.centred_widths(widths, x)?;
        // The event for every point at once knows nothing of new noise: here each point has its own.
        let factor = widths.union_factor(x.len());
        let total = |h: &HalfWidth| h.bias + h.slack + widths.noise_term(h.bias, h.coefficient.hypot(new_noise.level()), factor);
        let totals: Vec<f64> = halves.iter().map(total).collect();
        let ends = Ends::new(self.prior(), claim.side_claimed(), &centres, &totals);
        let mut certificate = self.certificate_of(widths, x.len());
        certificate.bounds.noise_factor = Some(factor);
        Ok(PredictionIntervals::assemble(ends, certificate, claim, new_noise))
    }
}

impl PredictionIntervals {
    /// With what the check of the premises found, out of so much to spend.
    pub(super) fn after_check(self, delta: f64, contradiction: Option<Contradiction>) -> Self {
        Self { certificate: self.certificate.after_check(delta, contradiction), ..self }
    }
}

impl ExactPosterior {
    /// Intervals that contain a *new* response at each point with probability at least $1-\delta$: as [`Posterior::prediction_interval`], with nothing missed.
    /// Cost as [`ExactPosterior::interval`].
    ///
    /// # Errors
    /// As [`ExactPosterior::interval`]; [`Error::Premise`] for uniform and continuous claims; [`Error::Missing`] where each observation has its own noise
    /// level and none is declared for a new one.
    pub fn prediction_interval(&self, x: PointsRef<'_>, claim: &Claim) -> Result<PredictionIntervals> {
        let new_noise = new_noise_of(claim)?;
        if is_convolved(claim, self.observations().locations().collected(), &new_noise)? {
            let (ends, certificate) = self.ends_with_noise(x, claim, new_noise.level())?;
            return Ok(PredictionIntervals::assemble(ends, certificate, claim, &new_noise));
        }
        split(claim, &new_noise, self.observations().prior(), x.len(), |half| self.interval(x, half))
    }
}

/// Half of δ for the function, half for the new noise.
fn split(
    claim: &Claim,
    new_noise: &Noise,
    prior: Prior,
    queries: usize,
    interval: impl FnOnce(&Claim) -> Result<Intervals>,
) -> Result<PredictionIntervals> {
    let intervals = interval(&claim.clone().with_delta(0.5 * claim.delta())?)?;
    let sides = if claim.side_claimed() == Side::Both { 2.0 } else { 1.0 };
    let shared = if *claim.coverage_claimed() == Coverage::Points { queries as f64 } else { 1.0 };
    let tail = (2.0 * sides * shared / claim.delta()).ln();
    let reach = prior.unit() * new_noise.level() * new_noise.tail_factor(tail);
    let mut certificate = intervals.certificate().clone();
    certificate.delta = claim.delta();
    certificate.spent.push(Spent::new("the new response", 0.5 * claim.delta(), None));
    let ends = Ends {
        mean: intervals.mean().to_vec(),
        lower: intervals.lower().iter().map(|v| v - reach).collect(),
        upper: intervals.upper().iter().map(|v| v + reach).collect(),
    };
    Ok(PredictionIntervals::assemble(ends, certificate, claim, new_noise))
}

impl PredictionIntervals {
    pub(super) fn from_parts(ends: Ends, certificate: Certificate) -> Self {
        Self { prediction: ends.mean, response_lower: ends.lower, response_upper: ends.upper, certificate }
    }

    fn assemble(ends: Ends, certificate: Certificate, claim: &Claim, new_noise: &Noise) -> Self {
        let claimed = Claimed::Response { side: claim.side_claimed(), noise: Some(new_noise.clone()) };
        let mut certificate = Certificate { claim: claimed, ..certificate };
        let origin = &mut certificate.premises.noise.origin;
        *origin = (*origin).max(claim.new_noise_origin());
        Self::from_parts(ends, certificate)
    }
}

/// The noise of a new response, for a claim about finitely many.
fn new_noise_of(claim: &Claim) -> Result<Noise> {
    if !matches!(claim.coverage_claimed(), Coverage::Point | Coverage::Points) {
        return Err(Error::Premise {
            what: "a prediction interval for every point at once",
            reason: "it would speak of infinitely many new responses: ask for coverage at a point or a list",
        });
    }
    claim.required_new_noise()
}

/// Whether old and new noise are one linear functional with one tail.
fn is_convolved(claim: &Claim, collected: Collected, new_noise: &Noise) -> Result<bool> {
    let energy = resolve(claim.method_claimed(), collected) == Method::Energy;
    Ok(!energy && is_same_kind(&claim.required_noise(None)?, new_noise))
}

/// Whether one tail factor serves both: sub-Gaussian kinds mix, normal with normal, light tails only with their own parameters.
fn is_same_kind(noise: &Noise, new_noise: &Noise) -> bool {
    use Noise::{Bounded, Gaussian, LightTailed, PerObservation, SubGaussian};
    match (noise, new_noise) {
        (Gaussian { .. }, Gaussian { .. }) => true,
        (LightTailed { .. }, LightTailed { .. }) => noise == new_noise,
        (SubGaussian { .. } | Bounded { .. } | PerObservation { .. }, SubGaussian { .. } | Bounded { .. } | Gaussian { .. }) => true,
        _ => false,
    }
}
