//! Products `Σ leftᵀ right` of two streams of rows.

use crate::check;
use crate::interrupt;
use crate::tile::{product_tiles, view, view_mut};
use crate::vector::{add_column_squares, add_scaled, add_transposed_matvec, matvec_rows, norm_squared};
use crate::{LinalgError, Matrix, Operation};
use faer::Accum;
use serde::{Deserialize, Serialize};

/// A running product `P = Σ leftᵢᵀ rightᵢ` (`p × q`) with its probe: blocks are added as they come, and the whole is checked once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CrossAccumulator {
    sum: Matrix,
    /// `Σ leftᵢ (rightᵢ·v)`.
    probe: Vec<f64>,
    /// Squared norms of the columns of all left rows.
    left: Vec<f64>,
    /// The squared norm of all right rows.
    right: f64,
    longest: usize,
    blocks: usize,
}

impl CrossAccumulator {
    /// The empty sum for rows of `p` and of `q` entries.
    #[must_use]
    pub fn new(p: usize, q: usize) -> Self {
        Self { sum: Matrix::zeros(p, q), probe: vec![0.0; p], left: vec![0.0; p], right: 0.0, longest: 0, blocks: 0 }
    }

    /// Adds a block of `b` rows of either kind. Cost `2·b·p·q`, and `4·b·q` for the probe.
    ///
    /// # Panics
    /// If the blocks are no whole numbers of rows, or not equally many.
    pub fn add_rows(&mut self, left: &[f64], right: &[f64]) {
        let (p, q) = (self.sum.rows(), self.sum.cols());
        if p == 0 || q == 0 {
            return;
        }
        let b = left.len() / p;
        assert_eq!((b * p, b * q), (left.len(), right.len()), "the blocks are not equally many rows of {p} and {q} entries");
        interrupt::check();
        product_tiles(view_mut(self.sum.as_mut_slice(), p, q), Accum::Add, 1.0, view(left, b, p).transpose(), view(right, b, q));
        let mut along = vec![0.0; b];
        matvec_rows(right, &check::signs(q), &mut along);
        add_transposed_matvec(left, &along, &mut self.probe);
        add_column_squares(left, &mut self.left);
        self.right += norm_squared(right);
        self.longest = self.longest.max(b);
        self.blocks += 1;
    }

    /// Adds another sum of such rows, probe and all. Cost `p·q`.
    ///
    /// # Panics
    /// If the rows of the other sum have other lengths.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.shape(), other.shape(), "rows of other lengths");
        add_scaled(self.sum.as_mut_slice(), 1.0, other.sum.as_slice());
        add_scaled(&mut self.probe, 1.0, &other.probe);
        add_scaled(&mut self.left, 1.0, &other.left);
        self.right += other.right;
        self.longest = self.longest.max(other.longest);
        self.blocks = self.blocks.max(other.blocks) + 1;
    }

    /// Lengths of the rows.
    #[must_use]
    pub fn shape(&self) -> (usize, usize) {
        (self.sum.rows(), self.sum.cols())
    }

    /// Whether its parts fit together: asked of what comes from a file.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        let p = self.sum.rows();
        (self.probe.len(), self.left.len()) == (p, p)
            && self.sum.as_slice().iter().chain(&self.probe).all(|v| v.is_finite())
            && self.left.iter().chain([&self.right]).all(|v| v.is_finite() && *v >= 0.0)
    }

    /// The product. Cost `2·p·q`.
    ///
    /// # Errors
    /// [`LinalgError::SelfCheck`] if `P v` is not the running `Σ leftᵢ (rightᵢ·v)`, allowing `8·(b + blocks + 8)·ε·‖left column i‖·‖right‖`
    /// for entry `i` (`b` the longest block or row), or if a number is not finite.
    pub fn finish(mut self) -> Result<Matrix, LinalgError> {
        let (p, q) = self.shape();
        check::spoil(self.sum.as_mut_slice());
        let mut got = vec![0.0; p];
        matvec_rows(self.sum.as_slice(), &check::signs(q), &mut got);
        let (right, allowed) = (check::norm(self.right), check::allowance(self.longest.max(q) + self.blocks));
        check::compare(Operation::Product, &got, &self.probe, allowed, |i| check::norm(self.left[i]) * right)?;
        Ok(self.sum)
    }
}
