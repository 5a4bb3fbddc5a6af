//! Products of two matrices, tiled, parallel and probed.

use crate::check::{self, SMALLEST};
use crate::tile::{product_tiles, view, view_mut};
use crate::vector::{add_column_squares, add_transposed_matvec, matvec_rows, norm_squared};
use crate::{LinalgError, Matrix, Operation};
use faer::{Accum, MatRef};

/// The product `A·B`. Cost `2·rows(A)·cols(A)·cols(B)`.
///
/// # Errors
/// [`LinalgError::SelfCheck`] if `C v ≠ A(B v)` beyond `8·(cols(A)+8)·ε·‖aᵢ‖·‖B‖` in entry `i`, or a number is not finite.
///
/// # Panics
/// If the inner dimensions differ.
pub fn product(a: &Matrix, b: &Matrix) -> Result<Matrix, LinalgError> {
    fresh(Factor::new(a), Factor::new(b))
}

/// The product `A·Bᵀ`. Cost `2·rows(A)·cols(A)·rows(B)`.
///
/// # Errors
/// As [`product`].
///
/// # Panics
/// If the numbers of columns differ.
pub fn product_transposed(a: &Matrix, b: &Matrix) -> Result<Matrix, LinalgError> {
    fresh(Factor::new(a), Factor::new(b).transposed())
}

/// The product `Aᵀ·B`. Cost `2·cols(A)·rows(A)·cols(B)`.
///
/// # Errors
/// As [`product`].
///
/// # Panics
/// If the numbers of rows differ.
pub fn transposed_product(a: &Matrix, b: &Matrix) -> Result<Matrix, LinalgError> {
    fresh(Factor::new(a).transposed(), Factor::new(b))
}

/// `out (q×p) += alpha·A (q×m)·B (m×p)` on row-major slices, for streamed loops. Cost `2·q·m·p`.
///
/// # Errors
/// [`LinalgError::SelfCheck`] if the change of `out·v` is not `alpha·A(B v)` beyond
/// `8·(m+8)·ε·(‖outᵢ before‖ + ‖outᵢ after‖ + |alpha|·‖aᵢ‖·‖B‖)` in entry `i`, or a number is not finite.
///
/// # Panics
/// If the sizes do not fit.
pub fn add_product_rows(out: &mut [f64], out_cols: usize, alpha: f64, a: &[f64], a_cols: usize, b: &Matrix) -> Result<(), LinalgError> {
    let q = a.len().checked_div(a_cols).unwrap_or(out.len() / out_cols.max(1));
    assert_eq!(q * a_cols, a.len(), "{} entries are no whole number of rows of length {a_cols}", a.len());
    add(out, out_cols, alpha, Factor { data: a, rows: q, cols: a_cols, transposed: false }, Factor::new(b))
}

/// `out (p×q) += alpha·AᵀC` for two blocks of `b` rows, `A (b×p)` and `C (b×q)`. Cost `2·b·p·q`.
///
/// # Errors
/// As [`add_product_rows`], with `b` the length of the sums.
///
/// # Panics
/// If the sizes do not fit.
pub fn add_transposed_product(out: &mut Matrix, alpha: f64, a: &[f64], c: &[f64]) -> Result<(), LinalgError> {
    let (p, q) = (out.rows(), out.cols());
    if p == 0 || q == 0 {
        return Ok(());
    }
    let b = a.len() / p;
    assert_eq!(b * p, a.len(), "{} entries are no whole number of rows of length {p}", a.len());
    assert_eq!(b * q, c.len(), "{} entries are not {b} rows of length {q}", c.len());
    let a = Factor { data: a, rows: b, cols: p, transposed: true };
    let c = Factor { data: c, rows: b, cols: q, transposed: false };
    add(out.as_mut_slice(), q, alpha, a, c)
}

/// One operand: row-major entries, perhaps read as transposed.
#[derive(Clone, Copy)]
struct Factor<'a> {
    data: &'a [f64],
    rows: usize,
    cols: usize,
    transposed: bool,
}

impl<'a> Factor<'a> {
    fn new(m: &'a Matrix) -> Self {
        Self { data: m.as_slice(), rows: m.rows(), cols: m.cols(), transposed: false }
    }

    fn transposed(self) -> Self {
        Self { transposed: !self.transposed, ..self }
    }

    /// Rows and columns as read.
    fn shape(&self) -> (usize, usize) {
        if self.transposed { (self.cols, self.rows) } else { (self.rows, self.cols) }
    }

    fn view(&self) -> MatRef<'a, f64> {
        let v = view(self.data, self.rows, self.cols);
        if self.transposed { v.transpose() } else { v }
    }

    fn apply(&self, x: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.shape().0];
        if self.transposed {
            add_transposed_matvec(self.data, x, &mut out);
        } else {
            matvec_rows(self.data, x, &mut out);
        }
        out
    }

    /// Squared norms of the rows as read.
    fn row_squares(&self) -> Vec<f64> {
        if self.transposed {
            let mut out = vec![0.0; self.cols];
            add_column_squares(self.data, &mut out);
            out
        } else {
            row_squares(self.data, self.cols)
        }
    }
}

fn row_squares(data: &[f64], cols: usize) -> Vec<f64> {
    data.chunks_exact(cols).map(norm_squared).collect()
}

fn fresh(a: Factor<'_>, b: Factor<'_>) -> Result<Matrix, LinalgError> {
    let ((q, k), (k2, p)) = (a.shape(), b.shape());
    assert_eq!(k, k2, "a product needs equal inner dimensions");
    let mut out = Matrix::zeros(q, p);
    product_tiles(view_mut(out.as_mut_slice(), q, p), Accum::Replace, 1.0, a.view(), b.view());
    if q.min(k).min(p) >= SMALLEST {
        check::spoil(out.as_mut_slice());
        let none = vec![0.0; q];
        verify(out.as_slice(), 1.0, a, b, &none, &none)?;
    }
    Ok(out)
}

fn add(out: &mut [f64], out_cols: usize, alpha: f64, a: Factor<'_>, b: Factor<'_>) -> Result<(), LinalgError> {
    let ((q, k), (k2, p)) = (a.shape(), b.shape());
    assert_eq!(k, k2, "a product needs equal inner dimensions");
    assert_eq!(p, out_cols, "the result has as many columns as the second factor");
    assert_eq!(out.len(), q * p, "the result is {q} × {p}");
    if q.min(k).min(p) < SMALLEST {
        product_tiles(view_mut(out, q, p), Accum::Add, alpha, a.view(), b.view());
        return Ok(());
    }
    let mut before = vec![0.0; q];
    matvec_rows(out, &check::signs(p), &mut before);
    let before_squares = row_squares(out, p);
    product_tiles(view_mut(out, q, p), Accum::Add, alpha, a.view(), b.view());
    check::spoil(out);
    verify(out, alpha, a, b, &before, &before_squares)
}

/// `(out − before)·v = alpha·A(B v)`, given `before·v` and the squared row norms of `before`.
fn verify(out: &[f64], alpha: f64, a: Factor<'_>, b: Factor<'_>, before: &[f64], before_squares: &[f64]) -> Result<(), LinalgError> {
    let ((q, k), (_, p)) = (a.shape(), b.shape());
    let v = check::signs(p);
    let mut got = vec![0.0; q];
    matvec_rows(out, &v, &mut got);
    let mut want = a.apply(&b.apply(&v));
    for i in 0..q {
        want[i] = before[i] + alpha * want[i];
    }
    let (rows, after) = (a.row_squares(), row_squares(out, p));
    let b_norm = check::norm(norm_squared(b.data));
    check::compare(Operation::Product, &got, &want, check::allowance(k.max(p)), |i| {
        check::norm(before_squares[i]) + check::norm(after[i]) + alpha.abs() * check::norm(rows[i]) * b_norm
    })
}
