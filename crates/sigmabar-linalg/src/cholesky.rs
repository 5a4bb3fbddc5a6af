//! Cholesky factorisation, right-looking and blocked.

use crate::check::{self, SMALLEST};
use crate::interrupt;
use crate::tile::{PARALLEL_WORK, symmetric_gemm, symmetric_tiles, view_mut};
use crate::triangular::solve_chunk;
use crate::vector::{lower_matvec, lower_transposed_matvec, symmetric_matvec};
use crate::workers::parallel;
use crate::{LinalgError, Lower, Matrix, Operation};
use faer::MatMut;
use rayon::prelude::*;

/// Columns per step.
const PANEL: usize = 128;
/// Side of the blocks factored by plain loops.
const LEAF: usize = 16;
/// Rows of a panel solved by one task.
const PANEL_ROWS: usize = 64;
/// Side of a tile of the trailing update.
const UPDATE_TILE: usize = 128;

impl Lower {
    /// The Cholesky factor of a symmetric positive definite matrix: `A = LLᵀ`, of which only the lower triangle is read.
    /// Cost `m³/3`.
    ///
    /// # Errors
    /// [`LinalgError::NotPositiveDefinite`] at the first pivot that is not a positive finite number;
    /// [`LinalgError::SelfCheck`] if `L(Lᵀv) ≠ A v` beyond `8·(m+8)·ε·√A_ii·√(tr A)` in entry `i`.
    ///
    /// # Panics
    /// If `A` is not square.
    pub fn cholesky(a: &Matrix) -> Result<Self, LinalgError> {
        let m = a.rows();
        assert_eq!(m, a.cols(), "a Cholesky factorisation needs a square matrix");
        let mut lower = Self::from_matrix(a.clone());
        factor(view_mut(lower.matrix.as_mut_slice(), m, m))?;
        if m >= SMALLEST {
            check::spoil(lower.matrix.as_mut_slice());
            lower.verify(a)?;
        }
        Ok(lower)
    }

    /// Compares `L(Lᵀv)` with `A v`.
    pub(crate) fn verify(&self, a: &Matrix) -> Result<(), LinalgError> {
        let m = self.len();
        let v = check::signs(m);
        let (want, _) = symmetric_matvec(a, &v);
        let (got, _) = lower_matvec(&self.matrix, &lower_transposed_matvec(&self.matrix, &v));
        let diagonal = a.diagonal();
        let trace = check::norm(diagonal.iter().sum());
        check::compare(Operation::Cholesky, &got, &want, check::allowance(m), |i| check::norm(diagonal[i]) * trace)
    }
}

/// Factors the lower triangle in place; what is above the diagonal is neither read nor written.
fn factor(a: MatMut<'_, f64>) -> Result<(), LinalgError> {
    let m = a.nrows();
    let mut rest = a;
    for k in (0..m).step_by(PANEL) {
        interrupt::check();
        let nb = PANEL.min(m - k);
        let (mut head, _, mut panel, mut trailing) = rest.split_at_mut(nb, nb);
        factor_block(head.as_mut(), k)?;
        let below = m - k - nb;
        if below > 0 {
            // P ← P L_kk⁻ᵀ: each row r ← L_kk⁻¹ r
            let l = head.as_ref();
            if below * nb * nb < PARALLEL_WORK {
                solve_chunk(l, panel.as_mut().transpose_mut());
            } else {
                let mut strips = Vec::new();
                let mut left = panel.as_mut();
                for i in (0..below).step_by(PANEL_ROWS) {
                    let (strip, next) = left.split_at_row_mut(PANEL_ROWS.min(below - i));
                    strips.push(strip);
                    left = next;
                }
                parallel(|_| strips.into_par_iter().with_max_len(1).for_each(|strip| solve_chunk(l, strip.transpose_mut())));
            }
            // trailing −= P Pᵀ
            symmetric_tiles(trailing.as_mut(), -1.0, panel.as_ref(), UPDATE_TILE);
        }
        rest = trailing;
    }
    Ok(())
}

/// Factors one diagonal block by halves.
fn factor_block(a: MatMut<'_, f64>, offset: usize) -> Result<(), LinalgError> {
    let n = a.nrows();
    if n <= LEAF {
        return factor_leaf(a, offset);
    }
    let half = (n / 2).next_multiple_of(8);
    let (mut head, _, mut panel, mut rest) = a.split_at_mut(half, half);
    factor_block(head.as_mut(), offset)?;
    solve_chunk(head.as_ref(), panel.as_mut().transpose_mut());
    symmetric_gemm(rest.as_mut(), -1.0, panel.as_ref());
    factor_block(rest, offset + half)
}

/// Factors a small block column by column: `L_ij = (A_ij − Σ_{k<j} L_ik L_jk) / L_jj`.
fn factor_leaf(mut a: MatMut<'_, f64>, offset: usize) -> Result<(), LinalgError> {
    let n = a.nrows();
    // column-major, so that the update of a column is a run of contiguous memory
    let mut l = [[0.0; LEAF]; LEAF];
    for i in 0..n {
        for j in 0..=i {
            l[j][i] = a[(i, j)];
        }
    }
    for j in 0..n {
        let pivot = l[j][j];
        if !(pivot > 0.0 && pivot.is_finite()) {
            return Err(LinalgError::NotPositiveDefinite { index: offset + j, value: pivot });
        }
        let root = pivot.sqrt();
        for i in j..n {
            l[j][i] /= root;
        }
        let (done, later) = l.split_at_mut(j + 1);
        for (k, column) in later[..n - j - 1].iter_mut().enumerate() {
            let x = done[j][j + 1 + k];
            for (c, d) in column.iter_mut().zip(&done[j]) {
                *c -= x * d;
            }
        }
    }
    for i in 0..n {
        for j in 0..=i {
            a[(i, j)] = l[j][i];
        }
    }
    Ok(())
}
