//! The certificate: what was assumed and what was computed, in one record that every interval carries.

use super::claim::{Claim, Coverage, Method, Side};
use super::label::{Assumption, Label, Reason};
use super::noise::Noise;
use crate::features::Source;
use crate::points::{Collected, Prior};
use crate::residual::{ResidualNorm, ResidualNormKind};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What an interval rests on. Levels and bounds are in the model's scale, where the prior's unit is 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Certificate {
    /// What the interval may be called.
    pub label: Label,
    /// Why it is not simply certified; empty if it is.
    pub reasons: Vec<Reason>,
    /// What the claim rests on.
    pub assumptions: Vec<Assumption>,
    /// The method asked for, with [`Method::Tight`] on adaptive points resolved to [`Method::Energy`].
    pub method: Method,
    /// The bounds that compete at each point; the one used there is in the interval.
    pub considered: Vec<Method>,
    /// $\beta$ where the half-width is $\beta\bar\sigma$, in the model's scale.
    pub beta: Option<f64>,
    /// The factor on the noise term: a tail factor $z$ at a point, a norm factor for uniform claims, the noise energy bound $\Gamma$ for the energy band.
    pub noise_factor: f64,
    /// $\delta$: the total miss probability of what was returned.
    pub delta: f64,
    /// The part of $\delta$ that a randomised bound on $\lambda$ may fail with.
    pub residual_failure: f64,
    /// What one side at one point (of the list, of the cover) may spend; for uniform and energy bands the one event that everything rests on.
    pub delta_each: f64,
    /// Which ends are claimed.
    pub side: Side,
    /// For which points at once.
    pub coverage: Coverage,
    /// The kernel-metric radius $h$ of the cover and $\ln\Gamma(h)$, for continuous claims.
    pub cover: Option<(f64, f64)>,
    /// $C$.
    pub norm_bound: f64,
    /// The noise model.
    pub noise: Noise,
    /// The noise of a new response where the interval is for one; `None` where it is for the function.
    pub new_noise: Option<Noise>,
    /// The bound on $\lambda$ and how it was obtained.
    pub residual_norm: ResidualNorm,
    /// $\tau$.
    pub ridge: f64,
    /// $n$.
    pub observations: usize,
    /// $m$: features in use; for the exact posterior the distinct points.
    pub features: usize,
}

/// Where the ingredients came from: decides the label.
pub(crate) struct Origins {
    pub source: Source,
    pub collected: Collected,
    pub prior: Prior,
}

impl Origins {
    /// The reasons against "certified", for a method after resolution.
    pub(crate) fn reasons(&self, claim: &Claim, method: Method) -> Vec<Reason> {
        let mut reasons = Vec::new();
        match self.source {
            Source::Declared => {}
            Source::LearntBefore => reasons.push(Reason::KernelLearntBefore),
            Source::LearntHere => reasons.push(Reason::KernelLearntHere),
        }
        if self.prior.is_learnt() {
            reasons.push(Reason::PriorLearnt);
        }
        if claim.is_norm_estimated() {
            reasons.push(Reason::NormEstimated);
        }
        if self.collected == Collected::Adaptive && method != Method::Energy {
            reasons.push(Reason::AdaptivePoints);
        }
        reasons
    }

    pub(crate) fn assumptions(&self, norm_bound: f64) -> Vec<Assumption> {
        let points = match self.collected {
            Collected::Designed => Assumption::PointsDesigned,
            Collected::DeclaredFixed => Assumption::PointsDeclaredFixed,
            Collected::Adaptive => Assumption::PointsAdaptive,
        };
        vec![Assumption::NormBound { bound: norm_bound }, Assumption::Noise, points]
    }
}

/// [`Method::Tight`] on adaptively chosen points can only be the energy band.
pub(crate) fn resolve(method: Method, collected: Collected) -> Method {
    if method == Method::Tight && collected == Collected::Adaptive { Method::Energy } else { method }
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = if self.new_noise.is_some() { "a new response" } else { "f" };
        let ends = match self.side {
            Side::Both => format!("lower ≤ {target} ≤ upper"),
            Side::Lower => format!("lower ≤ {target}"),
            Side::Upper => format!("{target} ≤ upper"),
        };
        let extent = match &self.coverage {
            Coverage::Point => "at each query point by itself",
            Coverage::Points => "at all query points at once",
            Coverage::Uniform => "at every point at once",
            Coverage::Continuous(_) => "at every point of the box at once",
        };
        writeln!(f, "{}: {ends} {extent}, missing with probability at most {}", self.label, self.delta)?;
        let reasons: Vec<String> = self.reasons.iter().map(ToString::to_string).collect();
        if !reasons.is_empty() {
            writeln!(f, "because {}", reasons.join("; "))?;
        }
        let assumptions: Vec<String> = self.assumptions.iter().map(ToString::to_string).collect();
        write!(f, "assuming {}; {}", assumptions.join("; "), self.noise)?;
        match &self.new_noise {
            Some(new) if *new != self.noise => writeln!(f, "; of a new response {new}")?,
            _ => writeln!(f)?,
        }
        write!(f, "by {}", self.method)?;
        if let Some(beta) = self.beta {
            write!(f, " with beta {beta:.4}")?;
        }
        let kind = match self.residual_norm.kind {
            ResidualNormKind::Trace => "by its trace".to_owned(),
            ResidualNormKind::LookAhead { pivots } => format!("by look-ahead over {pivots} pivots"),
            ResidualNormKind::Dense => "by the dense eigenvalue".to_owned(),
            ResidualNormKind::Randomised { failure } => format!("by random Lanczos, failing with probability {failure}"),
        };
        write!(
            f,
            "; lambda at most {:.4e} {kind}; ridge {}, n = {}, m = {}",
            self.residual_norm.value, self.ridge, self.observations, self.features
        )
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tight => "the narrowest valid width at each point",
            Self::Paper => "the paper's beta times the standard deviation",
            Self::DropIn => "the sharpened beta times the standard deviation",
            Self::Direct => "the direct width",
            Self::WMatrix => "the direct width with the computed residual form",
            Self::Dictionary => "the direct width with a certification dictionary",
            Self::Energy => "the energy band",
            Self::Ellipsoid => "the projected ellipsoid",
        })
    }
}

impl fmt::Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SubGaussian { level } => write!(f, "noise sub-Gaussian with level {level}"),
            Self::Gaussian { std_dev } => write!(f, "noise normal with standard deviation {std_dev}"),
            Self::LightTailed { xi0, h0 } => write!(f, "noise light-tailed with xi0 {xi0}, h0 {h0}"),
            Self::Bounded { half_width } => write!(f, "noise within ±{half_width}"),
            Self::PerObservation { .. } => write!(f, "noise sub-Gaussian with a level for each observation, at most {}", self.level()),
        }
    }
}
