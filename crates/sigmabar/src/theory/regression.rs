//! Uniform error of the mean after a max-variance design.

use super::cover::log_paper_cells;
use super::{Bound, Cover, DesignedData, Multiplier, Statement, Theorems};
use crate::domain::BoxDomain;
use crate::error::{Result, at_least_one, not_negative};
use crate::kernel::Kernel;
use serde::{Deserialize, Serialize};
use std::f64::consts::LN_2;

/// What is known about $\lVert\bar\mu\rVert_k$.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum MeanNorm {
    /// The computed norm: needs no event of its own.
    Computed(f64),
    /// Bounded before the data by correction E11; half of the confidence events' share of $\delta$ pays for it.
    Before,
}

impl Theorems {
    /// $\lVert\bar\mu\rVert_k \le C(1+\sqrt r/2) + \lVert E\rVert/(2\tau)$ with $\lVert E\rVert$ bounded by [`crate::Noise::energy`] ($R\sqrt{n+2\sqrt{nt}+2t}$ for sub-Gaussian noise), with
    /// probability at least $1-e^{-t}$ (correction E11). The paper's Lemma F.1 has $\sqrt n\,C\,k_{\max}/\tau$ where this has $\sqrt r\,C/2$.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] for a negative `t`.
    pub fn mean_norm_bound(&self, evaluations: usize, t: f64) -> Result<f64> {
        not_negative("t", t)?;
        let s = &self.setting;
        Ok(s.norm_bound * (1.0 + 0.5 * s.residual_ratio.sqrt()) + s.noise.energy(evaluations, t) / (2.0 * s.ridge))
    }

    /// The paper's $C_k^{\bar\mu_n}(\delta) = C(1+\sqrt nk_{\max}/\tau) + \frac{\sqrt nR}\tau\sqrt{2\log(2n/\delta)}$ (Lemma F.1), as printed.
    #[must_use]
    pub fn paper_mean_norm(&self, evaluations: usize, delta: f64) -> f64 {
        let (n, s) = (evaluations as f64, &self.setting);
        s.norm_bound * (1.0 + n.sqrt() * s.max_variance / s.ridge) + n.sqrt() / s.ridge * s.noise.paper_deviation((2.0 * n / delta).ln())
    }

    /// The error on a finite domain, with probability at least $1-\delta$: $\beta(\delta/(2|\mathcal X|))\,\max\bar\sigma_n$, and $\delta/(4|\mathcal X|)$ with inducing points drawn
    /// anew, $\max\bar\sigma_n$ from [`Theorems::design_variance`] (algorithm notes 6.5), never above $C\sqrt{k_{\max}}$: beyond that the interval's centre
    /// is better than $\bar\mu$ (see [`Theorems::within_value_bound`]).
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] for an empty domain or as [`Theorems::design_variance`].
    pub fn regression_finite(&self, design: &DesignedData, domain_size: usize) -> Result<Bound> {
        let log_size = log_size(domain_size)?;
        let variance = self.design_variance(design)?;
        let log_inverse_delta = -self.setting.delta.ln() + LN_2 + log_size;
        let corrected = self.multiplier(Multiplier::Direct, log_inverse_delta + design.log_share()) * variance.corrected.sqrt();
        let paper = self.multiplier(Multiplier::Paper, log_inverse_delta + LN_2) * variance.paper.sqrt();
        Ok(Bound { corrected: self.within_value_bound(corrected), paper, statement: Statement::RegressionFinite })
    }

    /// The error on a box, with probability at least $1-\delta$: $\beta(\delta/(2\Gamma))\,(\max\bar\sigma_n+h) + (C+\lVert\bar\mu\rVert_k)\,h$ for a cover of radius $h$ fixed before the noise
    /// (algorithm notes 6.5), never above $C\sqrt{k_{\max}}$. The paper's expression has its own cover of the box, of $\Gamma_n$ points.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] as [`Theorems::design_variance`] and for a negative norm.
    pub fn regression_continuous(
        &self,
        design: &DesignedData,
        (domain, kernel): (&BoxDomain, &Kernel),
        cover: &Cover,
        mean_norm: MeanNorm,
    ) -> Result<Bound> {
        let variance = self.design_variance(design)?;
        let corrected = self.width_on_cover(design, cover, mean_norm, Multiplier::Direct, 0.0)?;
        let (n, delta) = (design.evaluations as f64, self.setting.delta);
        // β̃_n(δ/4) = β(δ/(8Γ_n)), Γ_n with C^μ̄(δ/2)
        let log_cells = log_paper_cells(domain, kernel, self.paper_mean_norm(design.evaluations, 0.5 * delta), n);
        let beta = self.multiplier(Multiplier::Paper, (8.0 / delta).ln() + log_cells);
        let paper = beta * (variance.paper.sqrt() + 2.0 / n.sqrt()) + 2.0 / n;
        Ok(Bound { corrected: self.within_value_bound(corrected), paper, statement: Statement::RegressionContinuous })
    }

    /// $\beta(\cdot)\,(\max\bar\sigma+h) + (C+\lVert\bar\mu\rVert)h$, where `log_repeats` is the logarithm of how many such events share $\delta$.
    pub(super) fn width_on_cover(
        &self,
        design: &DesignedData,
        cover: &Cover,
        mean_norm: MeanNorm,
        which: Multiplier,
        log_repeats: f64,
    ) -> Result<f64> {
        let deviation = self.design_variance(design)?.corrected.sqrt();
        let available = -self.setting.delta.ln() + log_repeats + design.log_share();
        let (norm, log_share) = match mean_norm {
            MeanNorm::Computed(norm) => (not_negative("norm of the mean", norm)?, 0.0),
            MeanNorm::Before => (self.mean_norm_bound(design.evaluations, available + LN_2)?, LN_2),
        };
        // A few units in the last place for the ceilings of the cover.
        let h = cover.radius * (1.0 + 16.0 * f64::EPSILON);
        let beta = self.multiplier(which, available + log_share + LN_2 + cover.log_cells);
        Ok(beta * (deviation + h) + (self.setting.norm_bound + norm) * h)
    }
}

pub(super) fn log_size(domain_size: usize) -> Result<f64> {
    Ok((at_least_one("domain_size", domain_size)? as f64).ln())
}
