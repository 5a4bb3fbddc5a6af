//! How far the sparse variance can be from the exact one.

use crate::error::{Result, not_negative};

/// The sharp constant of the variance-ratio law $1/\rho \le \bar\sigma^2(x)/\sigma^2(x) \le \rho$ at every $x$ (correction E1/E2, algorithm notes 0.4):
/// $$\rho(r) = 1 + \tfrac12\left(r + \sqrt{r^2+4r}\right),\qquad r = \lambda/\tau^2.$$
///
/// It replaces the paper's $1 \le \bar\sigma^2/\sigma^2 \le 1+r$, which is false on both sides.
///
/// # Errors
/// [`crate::Error::Parameter`] for a ratio that is negative or not finite.
pub fn ratio_bound(residual_ratio: f64) -> Result<f64> {
    let r = not_negative("residual_ratio", residual_ratio)?;
    Ok(1.0 + 0.5 * (r + (r * (r + 4.0)).sqrt()))
}
