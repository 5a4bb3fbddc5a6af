//! What is being claimed: norm bound, noise, miss probability, sides, coverage, and by which theorem.

use super::premises::Lengthscales;
use super::residual_norm::ResidualNormMethod;
use crate::domain::BoxDomain;
use crate::error::{Error, Result, positive, probability};
use crate::kernel::Kernel;
use crate::noise::Noise;
use crate::origin::{Origin, Sourced};
use serde::{Deserialize, Serialize};

/// Pivots of the certification dictionary.
const DICTIONARY_PIVOTS: usize = 64;

/// Which ends of the interval are claimed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Side {
    /// Both ends; each spends half of $\delta$.
    #[default]
    Both,
    /// The lower end only; it spends all of $\delta$, and the upper end is $+\infty$.
    Lower,
    /// The upper end only; it spends all of $\delta$, and the lower end is $-\infty$.
    Upper,
}

/// For which points the claim holds at the same time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Coverage {
    /// For each query point by itself, fixed before the noise.
    #[default]
    Point,
    /// For all points of the query list at once, by a union bound or, where that is narrower, by the event for every point; the list is fixed before the noise.
    Points,
    /// For every point there is, at once and without a grid (algorithm notes 8.6): queries may be searched for after the data were seen.
    Uniform,
    /// For every point of a box at once, through a cover fixed before the noise (the paper's continuous-domain corollary, corrected in
    /// algorithm notes 6.5).
    Continuous(BoxDomain),
}

/// Which theorem bounds the width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Method {
    /// The narrowest that is valid for the case, chosen without looking at a response; [`Method::Energy`] for adaptively chosen points.
    #[default]
    Tight,
    /// The paper's $\beta = (2+\sqrt{\lambda}/\tau)C + (R/\tau)\sqrt{2\ln(1/\delta)}$ times $\bar\sigma$.
    Paper,
    /// $\beta = C\sqrt{1+\lambda/\tau^2} + (R/\tau)z$ times $\bar\sigma$ (algorithm notes 8.3).
    DropIn,
    /// $C\sqrt{(s_1+\sqrt\lambda\lVert V\rVert)^2+s_2^2} + Rz\lVert V\rVert$ (algorithm notes 8.1).
    Direct,
    /// As [`Method::Direct`] with $V^\top DV$ computed instead of bounded by $\lambda\lVert V\rVert^2$ (algorithm notes 8.5.1).
    WMatrix,
    /// As [`Method::Direct`] with the bias certified by more inducing points than predict (algorithm notes 8.5.2).
    Dictionary,
    /// The energy band: valid for adaptively chosen points and for every $x$ at once (algorithm notes 7.3).
    Energy,
    /// The projected ellipsoid: what the default method gives for every $x$ at once on points fixed before the noise (algorithm notes 14.1).
    Ellipsoid,
}

/// A request for intervals. Nothing is assumed silently: without a norm bound or a noise model there is no certificate.
///
/// ```
/// use sigmabar::{Claim, Noise};
/// # fn main() -> Result<(), sigmabar::Error> {
/// let claim = Claim::new(0.05)?.norm_bound(2.0)?.noise(Noise::gaussian(0.1)?);
/// # let _ = claim; Ok(()) }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    delta: f64,
    norm_bound: Option<Sourced<f64>>,
    /// The kernel that the norm bound was worked out for, where length-scales are only known to be at least its own.
    lengthscales: Option<(Kernel, Lengthscales)>,
    noise: Option<Sourced<Noise>>,
    new_noise: Option<Sourced<Noise>>,
    side: Side,
    coverage: Coverage,
    method: Method,
    residual_norm: ResidualNormMethod,
    dictionary: usize,
}

impl Claim {
    /// A claim that may miss with probability `delta` in total: both sides together, at each query by itself unless [`Claim::coverage`] asks for all at once.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless `delta` is strictly between 0 and 1.
    pub fn new(delta: f64) -> Result<Self> {
        Ok(Self {
            delta: probability("delta", delta)?,
            norm_bound: None,
            lengthscales: None,
            noise: None,
            new_noise: None,
            side: Side::Both,
            coverage: Coverage::Point,
            method: Method::Tight,
            residual_norm: ResidualNormMethod::Best,
            dictionary: DICTIONARY_PIVOTS,
        })
    }

    /// $\lVert f - \text{mean}\rVert_k \le C$, in the model's scale: declared, unless the value says that it came from elsewhere.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless the bound is finite and positive.
    pub fn norm_bound(mut self, bound: impl Into<Sourced<f64>>) -> Result<Self> {
        let bound = bound.into();
        positive("norm bound", bound.value)?;
        self.norm_bound = Some(bound);
        self.lengthscales = None;
        Ok(self)
    }

    /// The length-scales are at least those of `shortest`, the kernel of the model, and at most those of `longest`: for some of them the norm is at most `bound`. Claims go by
    /// what follows for the model's kernel over `dim` columns (algorithm notes 13.2); with another kernel than `shortest` nothing is certified.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless the bound is finite and positive; [`Error::Premise`] for kernels that differ in more than shorter length-scales.
    pub fn norm_bound_for_lengthscales(self, bound: f64, shortest: &Kernel, longest: Kernel, dim: usize) -> Result<Self> {
        let lengthscales = Lengthscales::new(shortest, longest, positive("norm bound", bound)?, dim)?;
        let claim = self.norm_bound(lengthscales.bound)?;
        Ok(Self { lengthscales: Some((shortest.clone(), lengthscales)), ..claim })
    }

    /// The noise of the observations: declared, unless the value says that it came from elsewhere.
    #[must_use]
    pub fn noise(mut self, noise: impl Into<Sourced<Noise>>) -> Self {
        self.noise = Some(noise.into());
        self
    }

    /// The noise of a *new* observation, for prediction intervals; the same as the observations' unless said. Declared, unless the value says that it came
    /// from elsewhere.
    #[must_use]
    pub fn new_noise(mut self, noise: impl Into<Sourced<Noise>>) -> Self {
        self.new_noise = Some(noise.into());
        self
    }

    /// Which ends are claimed.
    #[must_use]
    pub fn side(mut self, side: Side) -> Self {
        self.side = side;
        self
    }

    /// For which points the claim holds at once.
    #[must_use]
    pub fn coverage(mut self, coverage: Coverage) -> Self {
        self.coverage = coverage;
        self
    }

    /// Which theorem bounds the width.
    #[must_use]
    pub fn method(mut self, method: Method) -> Self {
        self.method = method;
        self
    }

    /// How $\lambda$ is bounded.
    #[must_use]
    pub fn residual_norm(mut self, method: ResidualNormMethod) -> Self {
        self.residual_norm = method;
        self
    }

    /// How many inducing points more than predict the certification dictionary has (64 unless said).
    #[must_use]
    pub fn dictionary(mut self, pivots: usize) -> Self {
        self.dictionary = pivots;
        self
    }

    /// The total miss probability.
    #[must_use]
    pub fn delta(&self) -> f64 {
        self.delta
    }

    /// The same claim at another miss probability.
    ///
    /// # Errors
    /// As [`Claim::new`].
    pub fn with_delta(mut self, delta: f64) -> Result<Self> {
        self.delta = probability("delta", delta)?;
        Ok(self)
    }

    pub(crate) fn side_claimed(&self) -> Side {
        self.side
    }

    pub(crate) fn coverage_claimed(&self) -> &Coverage {
        &self.coverage
    }

    pub(crate) fn method_claimed(&self) -> Method {
        self.method
    }

    pub(crate) fn residual_norm_method(&self) -> ResidualNormMethod {
        self.residual_norm
    }

    pub(crate) fn dictionary_claimed(&self) -> usize {
        self.dictionary
    }

    pub(crate) fn norm_origin(&self) -> Origin {
        self.norm_bound.as_ref().map_or(Origin::Unmet, |bound| bound.origin)
    }

    pub(crate) fn noise_origin(&self) -> Origin {
        self.noise.as_ref().map_or(Origin::Unmet, |noise| noise.origin)
    }

    /// Where the noise of a new observation came from, if it was given by itself.
    pub(crate) fn new_noise_origin(&self) -> Origin {
        self.new_noise.as_ref().map_or(Origin::Guaranteed, |noise| noise.origin)
    }

    pub(super) fn lengthscales_of(&self, kernel: &Kernel) -> Option<Sourced<Lengthscales>> {
        self.lengthscales.as_ref().map(|(shortest, lengthscales)| {
            Sourced::new(lengthscales.clone(), if shortest == kernel { Origin::Declared } else { Origin::Unmet })
        })
    }

    pub(crate) fn known_norm_bound(&self) -> Option<f64> {
        self.norm_bound.as_ref().map(|bound| bound.value)
    }

    /// $C$, or the error that it is missing.
    pub(crate) fn required_norm_bound(&self) -> Result<f64> {
        self.known_norm_bound().ok_or(Error::Missing {
            what: "a norm bound",
            purpose: "a certified interval",
            remedy: "declare a bound on the norm of f minus its prior mean with Claim::norm_bound",
        })
    }

    /// The noise, checked against the number of observations, or the error that it is missing.
    pub(crate) fn required_noise(&self, rows: Option<usize>) -> Result<Noise> {
        let noise = self.noise.as_ref().map(|noise| noise.value.clone()).ok_or(Error::Missing {
            what: "a noise model",
            purpose: "a certified interval",
            remedy: "declare the noise of the observations with Claim::noise",
        })?;
        noise.validated(rows)
    }

    /// The noise of a new observation.
    pub(crate) fn required_new_noise(&self) -> Result<Noise> {
        let noise = match (&self.new_noise, &self.noise) {
            (Some(noise), _) | (None, Some(noise)) => noise.value.clone(),
            (None, None) => self.required_noise(None)?,
        };
        if matches!(noise, Noise::PerObservation { .. }) {
            return Err(Error::Missing {
                what: "the noise of a new observation",
                purpose: "a prediction interval when each observation has its own level",
                remedy: "declare it with Claim::new_noise",
            });
        }
        noise.validated(None)
    }
}
