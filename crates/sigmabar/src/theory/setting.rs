//! What a bound rests on, and the two forms every bound comes in.

use super::ratio_bound;
use crate::error::{Result, positive, probability};
use crate::noise::Noise;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The premises of the theorems.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// $C \ge \lVert f\rVert_k$.
    pub norm_bound: f64,
    /// The law of the noise. Where each observation has its own level, the largest counts.
    pub noise: Noise,
    /// $\tau$.
    pub ridge: f64,
    /// $\delta$: the total probability that a bound fails.
    pub delta: f64,
    /// $r \ge \lambda/\tau^2$: 0 for the exact model, 1 for the paper's sampling of inducing points.
    pub residual_ratio: f64,
    /// $k_{\max} = \sup_x k(x,x)$.
    pub max_variance: f64,
}

/// Which multiplier $\beta$ of $\bar\sigma$ is meant. $R\sqrt{2\log(1/\delta')}$ stands for [`Noise::deviation`], which has the form that the noise has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Multiplier {
    /// $C\sqrt{1+r} + \frac R\tau\sqrt{2\log(1/\delta')}$ (algorithm notes 8.3).
    Direct,
    /// The paper's Theorem 3.5: $(2+\sqrt r)\,C + \frac R\tau\sqrt{2\log(1/\delta')}$, which has no quantile of its own for normal noise.
    Paper,
}

impl Multiplier {
    /// What multiplies $C$ in $\beta$, from $r = \lambda/\tau^2$: $\sqrt{1+r}$ or $2+\sqrt r$.
    #[must_use]
    pub fn bias(self, residual_ratio: f64) -> f64 {
        match self {
            Self::Direct => (1.0 + residual_ratio).sqrt(),
            Self::Paper => 2.0 + residual_ratio.sqrt(),
        }
    }
}

/// Which statement of the paper an expression is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Statement {
    /// The variance bound inside the proof of Theorem 4.1 (Appendix G).
    DesignVariance,
    /// Theorem 4.1, with the constants of Appendix G.
    RegressionFinite,
    /// Theorem 4.2, with the constants of Appendix G.
    RegressionContinuous,
    /// Theorem 5.2, with the constants of Appendix H.
    RegretFinite,
    /// Theorem 5.3, with the constants of Appendix H.
    RegretContinuous,
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DesignVariance => "variance of a max-variance design (proof of Theorem 4.1)",
            Self::RegressionFinite => "regression error on a finite domain (Theorem 4.1)",
            Self::RegressionContinuous => "regression error on a continuous domain (Theorem 4.2)",
            Self::RegretFinite => "regret on a finite domain (Theorem 5.2)",
            Self::RegretContinuous => "regret on a continuous domain (Theorem 5.3)",
        })
    }
}

/// A bound of ours beside the expression the paper prints for the same thing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// As corrected: this is the one that is proved.
    pub corrected: f64,
    /// The paper's own expression, corrections not applied: for comparison only. Infinite where the kernel is not one it speaks of.
    pub paper: f64,
    /// Where the paper prints it.
    pub statement: Statement,
}

/// The theorems for one setting whose values have been checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Theorems {
    pub(super) setting: Setting,
    pub(super) ratio: f64,
}

impl Theorems {
    /// Checks the setting once.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] naming the value that is not positive, not a probability, or negative.
    pub fn new(setting: Setting) -> Result<Self> {
        let noise = setting.noise.validated(None)?;
        let setting = Setting { noise, ..setting };
        positive("norm_bound", setting.norm_bound)?;
        positive("ridge", setting.ridge)?;
        probability("delta", setting.delta)?;
        positive("max_variance", setting.max_variance)?;
        let ratio = ratio_bound(setting.residual_ratio)?;
        Ok(Self { setting, ratio })
    }

    /// The setting.
    #[must_use]
    pub fn setting(&self) -> &Setting {
        &self.setting
    }

    /// $\rho(r)$, see [`ratio_bound`].
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.ratio
    }

    /// The multiplier $\beta(\delta')$ for one side at one point, from $\log(1/\delta')$: the logarithm is taken so that covers of any size fit.
    #[must_use]
    pub fn multiplier(&self, which: Multiplier, log_inverse_delta: f64) -> f64 {
        let Setting { norm_bound, noise, ridge, residual_ratio, .. } = &self.setting;
        let deviation = match which {
            Multiplier::Direct => noise.deviation(log_inverse_delta),
            Multiplier::Paper => noise.paper_deviation(log_inverse_delta),
        };
        which.bias(*residual_ratio) * norm_bound + deviation / ridge
    }

    /// $|f(x)| \le C\sqrt{k(x,x)}$ (correction E6; the paper's $C\,k(x,x)$ is in other units).
    #[must_use]
    pub fn value_bound(&self, k_xx: f64) -> f64 {
        self.setting.norm_bound * k_xx.max(0.0).sqrt()
    }

    /// A half-width of $f$ around $\bar\mu$, cut to what is known of every function of norm $C$: $|f|\le C\sqrt{k_{\max}}$ (correction E6). The interval
    /// $\bar\mu\pm w$ and $[-C\sqrt k,C\sqrt k]$ both hold $f$, so the centre of their intersection is within $\min\{w, C\sqrt k\}$ of it; with noise $\bar\mu$ itself need not be.
    #[must_use]
    pub fn within_value_bound(&self, half_width: f64) -> f64 {
        half_width.min(self.value_bound(self.setting.max_variance))
    }

    /// The largest regret of one evaluation, $2C\sqrt{k_{\max}}$ (correction E7).
    #[must_use]
    pub fn worst_regret(&self) -> f64 {
        2.0 * self.value_bound(self.setting.max_variance)
    }
}
