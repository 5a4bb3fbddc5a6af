//! Solves and products with a triangular factor, for blocks of rows.

use crate::check::{self, SMALLEST};
use crate::interrupt;
use crate::tile::{PARALLEL_WORK, view, view_mut};
use crate::vector::{
    ROW_CHUNK, add_column_squares, add_scaled, add_transposed_matvec, dot, lower_matvec, lower_transposed_matvec, norm_squared,
};
use crate::workers::parallel;
use crate::{LinalgError, Lower, Operation};
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{MatMut, MatRef, Par};
use rayon::prelude::*;

/// Up to this many rows are solved one by one.
const FEW: usize = 2;

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Plain,
    Transposed,
}

impl Lower {
    /// Solves with `L` for every row: `r ← L⁻¹ r`. Cost `b·m²` for `b` rows; parallel over rows.
    ///
    /// # Errors
    /// [`LinalgError::SelfCheck`] if `L·Σuᵢrᵢ' ≠ Σuᵢrᵢ` beyond `8·(m+8)·ε·‖L_j‖·‖R'‖` in entry `j` (`u` random signs, `R'` the
    /// results), or a number is not finite.
    ///
    /// # Panics
    /// If `rows.len()` is not a multiple of `m`.
    pub fn solve_rows(&self, rows: &mut [f64]) -> Result<(), LinalgError> {
        self.solve(rows, Form::Plain)
    }

    /// Solves with `Lᵀ` for every row: `r ← L⁻ᵀ r`. Cost `b·m²` for `b` rows; parallel over rows.
    ///
    /// # Errors
    /// As [`solve_rows`](Self::solve_rows), with the columns of `L`.
    ///
    /// # Panics
    /// If `rows.len()` is not a multiple of `m`.
    pub fn solve_transposed_rows(&self, rows: &mut [f64]) -> Result<(), LinalgError> {
        self.solve(rows, Form::Transposed)
    }

    fn count_rows(&self, rows: &[f64]) -> usize {
        let m = self.len();
        if m == 0 {
            assert!(rows.is_empty(), "rows of length 0 have no entries");
            return 0;
        }
        assert_eq!(rows.len() % m, 0, "{} entries are no whole number of rows of length {m}", rows.len());
        rows.len() / m
    }

    fn solve(&self, rows: &mut [f64], form: Form) -> Result<(), LinalgError> {
        interrupt::check();
        let (m, b) = (self.len(), self.count_rows(rows));
        if b <= FEW {
            if m > 0 {
                rows.chunks_exact_mut(m).for_each(|row| self.solve_one(row, form));
            }
            return Ok(());
        }
        let l = view(self.matrix.as_slice(), m, m);
        let checked = m >= SMALLEST && b >= SMALLEST;
        // per chunk: Σ uᵢ rᵢ before, Σ uᵢ rᵢ' after, Σ ‖rᵢ'‖²
        let chunk = |(index, rows): (usize, &mut [f64])| {
            let count = rows.len() / m;
            let signs = if checked { check::signs_from(index * ROW_CHUNK, count) } else { Vec::new() };
            let (mut before, mut after) = (Vec::new(), Vec::new());
            if checked {
                before.resize(m, 0.0);
                add_transposed_matvec(rows, &signs, &mut before);
            }
            let x = view_mut(rows, count, m).transpose_mut();
            match form {
                Form::Plain => solve_chunk(l, x),
                Form::Transposed => solve_upper_triangular_in_place(l.transpose(), x, Par::Seq),
            }
            if checked {
                after.resize(m, 0.0);
                add_transposed_matvec(rows, &signs, &mut after);
            }
            (before, after, if checked { norm_squared(rows) } else { 0.0 })
        };
        let parts: Vec<(Vec<f64>, Vec<f64>, f64)> = if b * m * m < PARALLEL_WORK {
            rows.chunks_mut(ROW_CHUNK * m).enumerate().map(chunk).collect()
        } else {
            parallel(|watch| rows.par_chunks_mut(ROW_CHUNK * m).enumerate().inspect(|_| watch.check()).map(chunk).collect())
        };
        if !checked {
            return Ok(());
        }
        let (mut want, mut sum, mut square) = (vec![0.0; m], vec![0.0; m], 0.0);
        for (before, after, s) in &parts {
            add_scaled(&mut want, 1.0, before);
            add_scaled(&mut sum, 1.0, after);
            square += s;
        }
        check::spoil(&mut sum);
        let (got, squares) = if form == Form::Plain {
            lower_matvec(&self.matrix, &sum)
        } else {
            let mut squares = vec![0.0; m];
            add_column_squares(self.matrix.as_slice(), &mut squares);
            (lower_transposed_matvec(&self.matrix, &sum), squares)
        };
        let total = check::norm(square);
        check::compare(Operation::TriangularSolve, &got, &want, check::allowance(m.max(b)), |j| check::norm(squares[j]) * total)
    }

    /// `x ← L⁻¹ x` for one vector.
    pub(crate) fn solve_row(&self, x: &mut [f64]) {
        self.solve_one(x, Form::Plain);
    }

    /// `x ← L⁻ᵀ x` for one vector.
    pub(crate) fn solve_transposed_row(&self, x: &mut [f64]) {
        self.solve_one(x, Form::Transposed);
    }

    /// One row, by substitution.
    fn solve_one(&self, x: &mut [f64], form: Form) {
        let m = self.len();
        match form {
            Form::Plain => {
                for i in 0..m {
                    let row = self.matrix.row(i);
                    x[i] = (x[i] - dot(&row[..i], &x[..i])) / row[i];
                }
            }
            Form::Transposed => {
                for i in (0..m).rev() {
                    let row = self.matrix.row(i);
                    x[i] /= row[i];
                    let xi = x[i];
                    add_scaled(&mut x[..i], -xi, &row[..i]);
                }
            }
        }
    }
}

/// `X ← L⁻¹ X` for the columns of `X`, sequentially.
pub(crate) fn solve_chunk(l: MatRef<'_, f64>, x: MatMut<'_, f64>) {
    solve_lower_triangular_in_place(l, x, Par::Seq);
}
