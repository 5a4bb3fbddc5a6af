//! What is assumed about the noise, and how far a linear functional of it can stray.

mod replicates;

pub use replicates::{LevelBound, NOISE_SHARE, Replicates};

use crate::error::{Error, Result, not_negative, positive};
use crate::number::Number;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};
use std::fmt;

/// $2^{-21}$: the smallest ridge in units of $\sqrt{nk_{\max}}$.
const SMALLEST_RIDGE: f64 = 1.0 / 2_097_152.0;

/// The noise of the observations: independent, mean zero, and one of these. Levels are in the model's scale, where the prior's unit is 1; level 0 declares
/// exact measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Noise {
    /// $\mathbb E e^{h\varepsilon} \le e^{h^2R^2/2}$ for every $h$.
    SubGaussian {
        /// $R$.
        level: f64,
    },
    /// Normal: its own quantiles replace the sub-Gaussian tail bound.
    Gaussian {
        /// The standard deviation.
        std_dev: f64,
    },
    /// $\mathbb E e^{h\varepsilon} \le e^{h^2\xi_0/2}$ for $|h|\le h_0$ only.
    LightTailed {
        /// $\xi_0$: a variance.
        xi0: f64,
        /// $h_0$: one over a scale.
        h0: f64,
    },
    /// $|\varepsilon| \le a$: sub-Gaussian with $R = a$ (Hoeffding).
    Bounded {
        /// $a$.
        half_width: f64,
    },
    /// Sub-Gaussian with its own level $R_i$ for each observation, in the order of the original rows.
    PerObservation {
        /// $R_i$.
        levels: Vec<f64>,
    },
}

impl Noise {
    /// Sub-Gaussian noise of level $R$.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless the level is finite and not negative.
    pub fn sub_gaussian(level: f64) -> Result<Self> {
        Self::SubGaussian { level }.validated(None)
    }

    /// Normal noise.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless the standard deviation is finite and not negative.
    pub fn gaussian(std_dev: f64) -> Result<Self> {
        Self::Gaussian { std_dev }.validated(None)
    }

    /// Light-tailed noise: $\mathbb E e^{h\varepsilon} \le e^{h^2\xi_0/2}$ for $|h|\le h_0$.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless both are finite and positive.
    pub fn light_tailed(xi0: f64, h0: f64) -> Result<Self> {
        Self::LightTailed { xi0, h0 }.validated(None)
    }

    /// Noise within $[-a, a]$.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless the half-width is finite and not negative.
    pub fn bounded(half_width: f64) -> Result<Self> {
        Self::Bounded { half_width }.validated(None)
    }

    /// Sub-Gaussian levels, one per observation.
    ///
    /// # Errors
    /// [`Error::Row`] naming the first level that is negative or not finite, [`Error::Empty`] without levels.
    pub fn per_observation(levels: Vec<f64>) -> Result<Self> {
        Self::PerObservation { levels }.validated(None)
    }

    /// Checks the levels; `rows` is how many observations there are, where that is known.
    pub(crate) fn validated(self, rows: Option<usize>) -> Result<Self> {
        match &self {
            Self::SubGaussian { level } => not_negative("noise level", *level).map(drop)?,
            Self::Gaussian { std_dev } => not_negative("noise standard deviation", *std_dev).map(drop)?,
            Self::LightTailed { xi0, h0 } => positive("noise xi0", *xi0).and(positive("noise h0", *h0)).map(drop)?,
            Self::Bounded { half_width } => not_negative("noise half-width", *half_width).map(drop)?,
            Self::PerObservation { levels } => {
                if levels.is_empty() {
                    return Err(Error::Empty { what: "noise levels" });
                }
                if let Some(row) = levels.iter().position(|level| !(level.is_finite() && *level >= 0.0)) {
                    return Err(Error::Row { what: "noise levels", row, value: levels[row], requirement: "finite and not negative" });
                }
                if let Some(rows) = rows {
                    crate::error::same_length("noise levels", rows, levels.len())?;
                }
            }
        }
        Ok(self)
    }

    /// The scale that multiplies $\lVert V\rVert$: $R$, the standard deviation, $a$, the largest $R_i$; 1 for light tails, whose scale is in the tail factor.
    #[must_use]
    pub fn level(&self) -> f64 {
        match self {
            Self::SubGaussian { level } => *level,
            Self::Gaussian { std_dev } => *std_dev,
            Self::LightTailed { .. } => 1.0,
            Self::Bounded { half_width } => *half_width,
            Self::PerObservation { levels } => levels.iter().copied().fold(0.0, f64::max),
        }
    }

    /// The noise of what is measured in multiples of `unit`.
    ///
    /// # Errors
    /// [`Error::Parameter`] where a level leaves the range of numbers.
    pub fn in_unit(&self, unit: f64) -> Result<Self> {
        match self {
            Self::SubGaussian { level } => Self::SubGaussian { level: level / unit },
            Self::Gaussian { std_dev } => Self::Gaussian { std_dev: std_dev / unit },
            Self::LightTailed { xi0, h0 } => Self::LightTailed { xi0: xi0 / (unit * unit), h0: h0 * unit },
            Self::Bounded { half_width } => Self::Bounded { half_width: half_width / unit },
            Self::PerObservation { levels } => Self::PerObservation { levels: levels.iter().map(|level| level / unit).collect() },
        }
        .validated(None)
    }

    /// The bound on the standard deviation where it is one number for all rows.
    #[must_use]
    pub fn one_level(&self) -> Option<f64> {
        match self {
            Self::PerObservation { levels } if levels.iter().any(|level| *level != levels[0]) => None,
            _ => Some(self.std_dev_bound()),
        }
    }

    /// A bound on the standard deviation of the noise: the level where there is one, $\sqrt{\xi_0}$ for light tails (the second-order terms of
    /// $\mathbb E e^{h\varepsilon}\le e^{h^2\xi_0/2}$ at $h\to0$ say $\mathbb E\varepsilon^2\le\xi_0$).
    #[must_use]
    pub fn std_dev_bound(&self) -> f64 {
        match self {
            Self::LightTailed { xi0, .. } => xi0.sqrt(),
            _ => self.level(),
        }
    }

    /// The ridge that serves this noise: a bound on its standard deviation (algorithm notes 5.3: the best of five for regret), but never below the smallest that
    /// doubles bear, $\tau=2^{-21}\sqrt{nk_{\max}}$.
    ///
    /// There $\lVert B\rVert\le1+nk_{\max}/\tau^2\approx2^{42}$, so that rounding of the weights is a small share of them, and $\tau^2$ is about what rounding leaves
    /// of $\lambda$: a smaller ridge would only enlarge the weights by which that is multiplied. Claims stay true for every ridge; their noise term has the true level.
    #[must_use]
    pub fn usual_ridge(&self, largest_variance: f64, observations: usize) -> f64 {
        self.std_dev_bound().max(SMALLEST_RIDGE * (largest_variance * observations as f64).sqrt())
    }

    /// The factor $z$ with $P(V^\top E > z\cdot\text{level}\cdot\lVert V\rVert) \le \delta$ for every fixed $V$ (algorithm notes 7.6), for
    /// `tail` $=\ln(1/\delta)$: $\sqrt{2\ln(1/\delta)}$; the normal quantile $\Phi^{-1}(1-\delta)$ (never below 0);
    /// $\sqrt{2\max\{\xi_0, 2\ln(1/\delta)/h_0^2\}\ln(1/\delta)}$. Cost O(1).
    #[must_use]
    pub fn tail_factor(&self, tail: f64) -> f64 {
        match self {
            Self::Gaussian { .. } => normal_tail(tail),
            Self::LightTailed { xi0, h0 } => (2.0 * xi0.max(2.0 * tail / (h0 * h0)) * tail).sqrt(),
            _ => (2.0 * tail).sqrt(),
        }
    }

    /// How far $V^\top E$ strays per unit of $\lVert V\rVert$: $P(V^\top E > \text{deviation}\cdot\lVert V\rVert) \le e^{-\text{tail}}$ for every fixed $V$. The level
    /// times its tail factor, never one of them alone: for light tails all of the scale is in the factor (algorithm notes 7.6). Cost O(1).
    #[must_use]
    pub fn deviation(&self, tail: f64) -> f64 {
        self.level() * self.tail_factor(tail.max(0.0))
    }

    /// The same as the paper has it: sub-Gaussian at best, so that normal noise loses its own quantile.
    pub(crate) fn paper_deviation(&self, tail: f64) -> f64 {
        match self {
            Self::Gaussian { std_dev } => Self::SubGaussian { level: *std_dev }.deviation(tail),
            other => other.deviation(tail),
        }
    }

    /// A bound on $\lVert PE\rVert/\text{level}$ for a fixed projector of this rank, with probability $1-e^{-\text{tail}}$ (algorithm notes 8.6):
    /// $\sqrt{\rho+2\sqrt{\rho t}+2t}$; for Gaussian noise the root of the $\chi^2_\rho$ quantile; for light tails a union over $\rho$
    /// orthogonal directions.
    #[must_use]
    pub fn norm_factor(&self, rank: usize, tail: f64) -> f64 {
        let rho = rank as f64;
        let general = (rho + 2.0 * (rho * tail).sqrt() + 2.0 * tail).sqrt();
        match self {
            Self::Gaussian { .. } => chi_tail(rho, tail).map_or(general, |chi| chi.min(general)),
            // Both sides of each of ρ orthonormal directions, each at δ/(2ρ).
            Self::LightTailed { .. } => rho.sqrt() * self.tail_factor(tail + (2.0 * rho).ln()),
            _ => general,
        }
    }

    /// A bound on $\lVert E\rVert$ over `n` observations with probability $1-e^{-\text{tail}}$ (algorithm notes 7.3): the same with rank $n$; with
    /// own levels $\sqrt{\sum R_i^2 + 2\sqrt{t\sum R_i^4} + 2t\max R_i^2}$; for bounded noise never above $a\sqrt n$.
    #[must_use]
    pub fn energy(&self, n: usize, tail: f64) -> f64 {
        match self {
            // Levels of other observations than these say only how large one can be.
            Self::PerObservation { levels } if levels.len() == n => {
                let (square, fourth) = levels.iter().fold((0.0, 0.0), |(s, f), r| (s + r * r, f + r.powi(4)));
                let largest = self.level();
                (square + 2.0 * (tail * fourth).sqrt() + 2.0 * tail * largest * largest).sqrt()
            }
            Self::Bounded { half_width } => half_width * self.norm_factor(n, tail).min((n as f64).sqrt()),
            _ => self.level() * self.norm_factor(n, tail),
        }
    }
}

impl fmt::Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SubGaussian { level } => write!(f, "noise sub-Gaussian with level {}", Number(*level)),
            Self::Gaussian { std_dev } => write!(f, "noise normal with standard deviation {}", Number(*std_dev)),
            Self::LightTailed { xi0, h0 } => write!(f, "noise light-tailed with xi0 {}, h0 {}", Number(*xi0), Number(*h0)),
            Self::Bounded { half_width } => write!(f, "noise within ±{}", Number(*half_width)),
            Self::PerObservation { .. } => {
                write!(f, "noise sub-Gaussian with a level for each observation, at most {}", Number(self.level()))
            }
        }
    }
}

/// `Φ⁻¹(1 − e^{−tail})`, at least 0; beyond the range of doubles the sub-Gaussian bound, which is larger.
fn normal_tail(tail: f64) -> f64 {
    let delta = (-tail).exp();
    if delta >= 0.5 {
        return 0.0;
    }
    if tail > 600.0 {
        return (2.0 * tail).sqrt();
    }
    -Normal::standard().inverse_cdf(delta)
}

/// $\mathrm{cv}_\delta(t)$: the $1-\delta$ quantile of $|N(t,1)|$, from above (algorithm notes 14.3). Needs $\delta<\frac12$, so that it exceeds $t$.
pub(crate) fn folded_quantile(t: f64, delta: f64) -> f64 {
    let normal = Normal::standard();
    let miss = |h: f64| normal.sf(h - t) + normal.sf(h + t);
    let (mut low, mut high) = (t, t + normal_tail((2.0 / delta).ln()));
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if miss(middle) <= delta {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// `√(χ²_ρ quantile at 1 − e^{−tail})`, where the quantile can be trusted to more digits than are lost in `1 − δ`. The found value is checked
/// against the distribution function and enlarged until it is on the safe side.
fn chi_tail(rho: f64, tail: f64) -> Option<f64> {
    let delta = (-tail).exp();
    let chi = ChiSquared::new(rho).ok().filter(|_| delta > 1e-12)?;
    let mut value = chi.inverse_cdf(1.0 - delta);
    for _ in 0..60 {
        if !(value.is_finite() && value > 0.0) {
            return None;
        }
        if chi.sf(value) <= delta {
            return Some(value.sqrt());
        }
        value *= 1.0 + 1e-6;
    }
    None
}
