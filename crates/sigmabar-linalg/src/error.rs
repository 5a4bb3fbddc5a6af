//! What can go wrong in linear algebra.

use thiserror::Error;

/// The operation a self-check found wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// A product of two matrices.
    Product,
    /// A Gram matrix `AᵀA`.
    Gram,
    /// A solve with a triangular matrix.
    TriangularSolve,
    /// A Cholesky factorisation.
    Cholesky,
    /// An orthogonal factorisation.
    Qr,
    /// A symmetric eigendecomposition.
    Eigen,
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Product => "matrix product",
            Self::Gram => "Gram product",
            Self::TriangularSolve => "triangular solve",
            Self::Cholesky => "Cholesky factorisation",
            Self::Qr => "orthogonal factorisation",
            Self::Eigen => "eigendecomposition",
        })
    }
}

/// An error of linear algebra.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum LinalgError {
    /// A matrix that must be positive definite is not, to working precision.
    #[error("the matrix is not positive definite at pivot {index} (value {value:e})")]
    NotPositiveDefinite {
        /// The first bad pivot.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// A random-vector probe (Freivalds) contradicts a result: the hardware or the linear-algebra back-end is wrong.
    #[error(
        "self-check of a {operation} failed: relative discrepancy {discrepancy:e}, allowed {allowed:e}; the back-end or the hardware computed a wrong number"
    )]
    SelfCheck {
        /// What was computed.
        operation: Operation,
        /// The discrepancy found.
        discrepancy: f64,
        /// The largest discrepancy rounding can explain.
        allowed: f64,
    },
    /// An iteration did not converge.
    #[error("the {operation} did not converge")]
    NoConvergence {
        /// What was computed.
        operation: Operation,
    },
}
