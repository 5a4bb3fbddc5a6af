//! The evidence from below and from above (algorithm notes 0.3).

use crate::error::{Result, not_negative, positive};
use crate::posterior::Posterior;
use crate::residual::ResidualNorm;
use sigmabar_linalg::{Lower, norm_squared};
use std::f64::consts::TAU;

impl Posterior {
    /// The evidence lower bound, in the data's scale (a log-density of all observations, repetitions included; algorithm notes 0.3):
    ///
    /// $$\mathrm{ELBO} = -\tfrac12\left[n\log 2\pi u^2 + \log\det(\kappa+\tau^2I) + y^\top(\kappa+\tau^2I)^{-1}y\right] - \frac{\operatorname{tr}D}{2\tau^2}$$
    ///
    /// with $u$ the prior's unit. Cost O(m).
    #[must_use]
    pub fn elbo(&self) -> f64 {
        let information = self.information();
        let tau2 = information.ridge().powi(2);
        self.log_normaliser() - 0.5 * (self.quadratic() + information.residual_trace() / tau2)
    }

    /// An upper bound on the exact log evidence, in the data's scale (Titsias 2014; algorithm notes 0.3):
    ///
    /// $$-\tfrac12\left[n\log 2\pi u^2 + \log\det(\kappa+\tau^2I) + y^\top(\kappa+(\tau^2+\lambda)I)^{-1}y\right]$$
    ///
    /// for any certified $\lambda\ge\lambda_{\max}(C^{1/2}DC^{1/2})$. Without one, $\lambda$ is $\operatorname{tr}D$ enlarged by its rounding bound. Cost O(m³).
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] for a bound that is negative or not finite; a failed factorisation.
    pub fn log_evidence_upper_bound(&self, lambda: Option<ResidualNorm>) -> Result<f64> {
        let lambda = lambda.map_or_else(|| self.information().certified_residual_trace(), |bound| bound.value);
        not_negative("residual norm", lambda)?;
        Ok(self.log_normaliser() - 0.5 * self.quadratic_at(self.information().ridge().powi(2) + lambda)?)
    }

    /// `−½[n log 2πu² + log|κ+τ²W⁻¹|]`, with `log|κ+τ²W⁻¹| = n log τ² − Σ log w + log|B|`.
    fn log_normaliser(&self) -> f64 {
        let information = self.information();
        let n = information.len() as f64;
        let unit = self.prior().unit();
        -0.5 * (n * (TAU * (unit * information.ridge()).powi(2)).ln() - information.kept().log_weights() + information.lower().log_det())
    }

    /// `yᵀ(κ+tI)⁻¹y = (Σy² − hᵀ(tI+G)⁻¹h)/t`, with `hᵀ(tI+G)⁻¹h = ‖L_t⁻¹h‖²/t`, `L_t L_tᵀ = I + G/t`.
    fn quadratic_at(&self, t: f64) -> Result<f64> {
        positive("ridge", t)?;
        let mut b = self.information().gram().clone();
        b.as_mut_slice().iter_mut().for_each(|v| *v /= t);
        for i in 0..b.rows() {
            b[(i, i)] += 1.0;
        }
        let mut whitened = self.projected().to_vec();
        Lower::cholesky(&b)?.solve_rows(&mut whitened)?;
        Ok((self.sum_squares() - norm_squared(&whitened) / t).max(0.0) / t)
    }
}
