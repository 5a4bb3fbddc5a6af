//! What a max-variance design guarantees before any datum is seen.

use super::{Bound, Statement, Theorems};
use crate::error::{Result, at_least_one, not_negative, positive};
use serde::{Deserialize, Serialize};

/// How the inducing points were chosen while the points were.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum InducingPlan {
    /// Fixed before the first point and not changed during the design.
    Fixed {
        /// $\max_xs_1^2(x)$ over the domain.
        max_residual: f64,
        /// $I_\kappa$ of the design as computed ([`crate::Information::gain`]), or $\gamma_n$ before there is one.
        gain: f64,
    },
    /// Drawn anew at every step, each draw with $\lambda \le r\tau^2$; half of $\delta$ pays for those events.
    Redrawn,
}

/// A max-variance design of a certain length: each point is where $\bar\sigma$ was largest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DesignedData {
    /// $n$.
    pub evaluations: usize,
    /// $\gamma_n$, or an upper bound on it ([`crate::gain::MaxGain::upper`]).
    pub max_gain: f64,
    /// The inducing points' part.
    pub inducing: InducingPlan,
}

impl DesignedData {
    pub(super) fn check(&self) -> Result<()> {
        at_least_one("evaluations", self.evaluations)?;
        not_negative("max_gain", self.max_gain)?;
        if let InducingPlan::Fixed { max_residual, gain } = self.inducing {
            not_negative("max_residual", max_residual)?;
            not_negative("gain", gain)?;
        }
        Ok(())
    }

    /// $\log$ of the factor by which the confidence events share $\delta$ with the events about $\lambda$.
    pub(super) fn log_share(&self) -> f64 {
        if matches!(self.inducing, InducingPlan::Redrawn) { std::f64::consts::LN_2 } else { 0.0 }
    }
}

/// $\sum_j\sigma_{j-1}^2(x_j) \le 2k_{\max}I/\log(1+k_{\max}/\tau^2)$ for the exact variances along any sequence (correction E4; the paper's form is the case
/// $k_{\max}=1$). Because $t/\log(1+t/\tau^2)$ grows in $t$.
///
/// # Errors
/// [`crate::Error::Parameter`] for a value that is not positive, or a negative gain.
pub fn variance_sum_bound(gain: f64, max_variance: f64, ridge: f64) -> Result<f64> {
    let tau2 = positive("ridge", ridge)?.powi(2);
    let k = positive("max_variance", max_variance)?;
    Ok(2.0 * k * not_negative("gain", gain)? / (k / tau2).ln_1p())
}

impl Theorems {
    /// The a-priori bound on $\max_x\bar\sigma_n^2(x)$ after a max-variance design (algorithm notes 0.5), never above $k_{\max}$:
    /// $\max s_1^2 + \tau^2(e^{2I_\kappa/n}-1)$ with inducing points fixed, $\rho^3\tau^2(e^{2\gamma_n/n}-1)$ with inducing points drawn anew.
    /// Beside it the paper's $2(1+r)^2\gamma_n/(n\log(1+1/\tau^2))$, which rests on E1, E2 and E4.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] for a design of length 0 or a negative gain or residual.
    pub fn design_variance(&self, design: &DesignedData) -> Result<Bound> {
        design.check()?;
        let (n, tau2) = (design.evaluations as f64, self.setting.ridge.powi(2));
        // min_j σ²_{j−1}(x_j) ≤ τ²(e^{2I/n} − 1), because I = ½Σ log(1 + σ²_{j−1}(x_j)/τ²)
        let smallest = |gain: f64| tau2 * (2.0 * gain / n).exp_m1();
        let bound = match design.inducing {
            InducingPlan::Fixed { max_residual, gain } => max_residual + smallest(gain),
            InducingPlan::Redrawn => self.ratio.powi(3) * smallest(design.max_gain),
        };
        let paper = 2.0 * (1.0 + self.setting.residual_ratio).powi(2) * design.max_gain / (n * (1.0 / tau2).ln_1p());
        Ok(Bound { corrected: bound.min(self.setting.max_variance), paper, statement: Statement::DesignVariance })
    }
}
