//! The lower-triangular factor: what it is. What it does is in `cholesky`, `triangular`, `condition` and `rank_one`.

use crate::Matrix;
use serde::{Deserialize, Serialize};

/// A lower-triangular matrix `L` (`m × m`), usually the Cholesky factor of `A = LLᵀ`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawLower")]
pub struct Lower {
    /// Row-major, the upper triangle zero.
    pub(crate) matrix: Matrix,
}

/// What is read back from a file, before it is checked.
#[derive(Deserialize)]
struct RawLower {
    matrix: Matrix,
}

impl TryFrom<RawLower> for Lower {
    type Error = &'static str;
    fn try_from(raw: RawLower) -> Result<Self, Self::Error> {
        if raw.matrix.rows() == raw.matrix.cols() {
            Ok(Self::from_matrix(raw.matrix))
        } else {
            Err("a triangular factor that is not square")
        }
    }
}

impl Lower {
    /// Takes the lower triangle of a square matrix as it is; what is above the diagonal is dropped. Cost `m²/2`.
    ///
    /// # Panics
    /// If the matrix is not square.
    #[must_use]
    pub fn from_matrix(mut l: Matrix) -> Self {
        assert_eq!(l.rows(), l.cols(), "a triangular factor is square");
        for i in 0..l.rows() {
            l.row_mut(i)[i + 1..].fill(0.0);
        }
        Self { matrix: l }
    }

    /// The number `m` of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.matrix.rows()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entry `L_ij`, zero above the diagonal.
    ///
    /// # Panics
    /// If `i` or `j` is not below [`len`](Self::len).
    #[must_use]
    pub fn get(&self, i: usize, j: usize) -> f64 {
        self.matrix[(i, j)]
    }

    /// The diagonal `L_ii`.
    #[must_use]
    pub fn diagonal(&self) -> Vec<f64> {
        self.matrix.diagonal()
    }

    /// `L` as a full row-major matrix, zero above the diagonal. Cost `m²`.
    #[must_use]
    pub fn to_matrix(&self) -> Matrix {
        self.matrix.clone()
    }

    /// The logarithm of the determinant of `LLᵀ`: `2 Σ log L_ii`. Cost `m` logarithms; `−∞` or NaN if a diagonal entry is not
    /// positive.
    #[must_use]
    pub fn log_det(&self) -> f64 {
        2.0 * (0..self.len()).map(|i| self.get(i, i).ln()).sum::<f64>()
    }
}
