//! Cholesky factorisation with complete pivoting, stopped when the rest is small.

use crate::check::{self, SMALLEST};
use crate::tile::{TILE, symmetric_tiles, view, view_mut};
use crate::vector::matvec_rows;
use crate::{LinalgError, Lower, Matrix};

/// What is left of a point's variance, relative to the largest variance, when it is numerically a combination of the others: nothing below this is a pivot.
pub const RANK_TOLERANCE: f64 = 1e-12;

/// Pivots between two updates of the remaining matrix.
const PANEL: usize = 64;

/// A partial factor `A ≈ F Fᵀ` of a symmetric positive semi-definite matrix, greedy in the largest remaining diagonal.
#[derive(Clone, Debug)]
pub struct PivotedCholesky {
    /// The factor of `A[pivots, pivots]`, `rank × rank`, rows in pivot order.
    pub lower: Lower,
    /// The chosen indices, in the order chosen.
    pub pivots: Vec<usize>,
    /// The trace of what is not explained: `Σ (A − F Fᵀ)ᵢᵢ` over the other indices, negative entries counted as 0.
    pub residual_trace: f64,
    /// The largest entry of that diagonal.
    pub residual_max: f64,
}

impl PivotedCholesky {
    /// Factors the lower triangle of `a`, taking the largest remaining diagonal entry (the lowest index among equals) until it
    /// is at most `tolerance` or `max_rank` pivots are taken. Cost `n²·rank`. A negative remaining entry counts as 0, so zero and
    /// rank-deficient matrices are fine; with `tolerance = 0` the pivots go on into the rounding errors.
    ///
    /// # Errors
    /// [`LinalgError::NotPositiveDefinite`] where a diagonal entry is or becomes NaN or infinite;
    /// [`LinalgError::SelfCheck`] as for [`Lower::cholesky`], on the chosen rows.
    ///
    /// # Panics
    /// If `a` is not square.
    pub fn new(a: &Matrix, tolerance: f64, max_rank: usize) -> Result<Self, LinalgError> {
        let n = a.rows();
        assert_eq!(n, a.cols(), "a Cholesky factorisation needs a square matrix");
        let limit = max_rank.min(n);
        let mut rest = a.clone();
        let mut diagonal = a.diagonal();
        let mut free = vec![true; n];
        let mut pivots = Vec::new();
        // column t of F for pivot t; the panel since the last update is row-major, n × PANEL
        let mut factor: Vec<Vec<f64>> = Vec::new();
        let mut panel = vec![0.0; n * PANEL];
        let mut column = vec![0.0; n];
        while let Some(p) = largest(&diagonal, &free)? {
            if pivots.len() == limit || diagonal[p] <= tolerance.max(0.0) {
                break;
            }
            let t = pivots.len() % PANEL;
            if t == 0 && !pivots.is_empty() {
                symmetric_tiles(view_mut(rest.as_mut_slice(), n, n), -1.0, view(&panel, n, PANEL), TILE);
                panel.fill(0.0);
            }
            // f = (A_rest[:, p] − Σ_{s<t} F_s F_s[p]) / √d_p, the pivot itself exact
            let here = panel[p * PANEL..(p + 1) * PANEL].to_vec();
            matvec_rows(&panel, &here, &mut column);
            let root = diagonal[p].sqrt();
            free[p] = false;
            for i in 0..n {
                if free[i] {
                    let entry = if i > p { rest[(i, p)] } else { rest[(p, i)] };
                    column[i] = (entry - column[i]) / root;
                    diagonal[i] -= column[i] * column[i];
                } else {
                    column[i] = 0.0;
                }
            }
            column[p] = root;
            for i in 0..n {
                panel[i * PANEL + t] = column[i];
            }
            factor.push(column.clone());
            pivots.push(p);
        }
        let rank = pivots.len();
        let mut lower = Lower::from_matrix(Matrix::from_fn(rank, rank, |i, j| if j <= i { factor[j][pivots[i]] } else { 0.0 }));
        if rank >= SMALLEST {
            check::spoil(lower.matrix.as_mut_slice());
            let chosen = Matrix::from_fn(rank, rank, |i, j| a[(pivots[i].max(pivots[j]), pivots[i].min(pivots[j]))]);
            lower.verify(&chosen)?;
        }
        let left = (0..n).filter(|&i| free[i]).map(|i| diagonal[i].max(0.0));
        let (residual_trace, residual_max) = left.fold((0.0, 0.0_f64), |(sum, max), d| (sum + d, max.max(d)));
        Ok(Self { lower, pivots, residual_trace, residual_max })
    }
}

/// The free index with the largest diagonal entry, the lowest among equals.
fn largest(diagonal: &[f64], free: &[bool]) -> Result<Option<usize>, LinalgError> {
    let mut best = None;
    for (index, &value) in diagonal.iter().enumerate().filter(|(i, _)| free[*i]) {
        if !value.is_finite() {
            return Err(LinalgError::NotPositiveDefinite { index, value });
        }
        if best.is_none_or(|b| value > diagonal[b]) {
            best = Some(index);
        }
    }
    Ok(best)
}
