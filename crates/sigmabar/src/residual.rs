//! A bound on how much the features miss, and how it was obtained.

use serde::{Deserialize, Serialize};

/// How a bound on $\lambda = \lambda_{\max}(C^{1/2}DC^{1/2})$, $D = K_{XX}-\kappa_{XX}$, was obtained (algorithm notes 8.4).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResidualNormKind {
    /// $\lambda \le \operatorname{tr} D$.
    Trace,
    /// More pivots $F$: $\lambda \le \lambda_{\max}(F^\top F) + \operatorname{tr}(D - FF^\top)$.
    LookAhead {
        /// How many pivots were added.
        pivots: usize,
    },
    /// The eigenvalue of the dense matrix, enlarged by its rounding bound.
    Dense,
    /// A Lanczos value from a random start, enlarged so that it fails with at most this probability, which every certificate charges to its $\delta$.
    Randomised {
        /// The probability that the bound is too small.
        failure: f64,
    },
}

/// A certified upper bound on $\lambda$ with its kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResidualNorm {
    /// The bound, in the kernel's scale (compare with $\tau^2$).
    pub value: f64,
    /// How it was obtained.
    pub kind: ResidualNormKind,
}

impl ResidualNorm {
    /// The probability that the bound is too small: 0 unless it is randomised.
    pub(crate) fn failure(&self) -> f64 {
        match self.kind {
            ResidualNormKind::Randomised { failure } => failure,
            _ => 0.0,
        }
    }
}
