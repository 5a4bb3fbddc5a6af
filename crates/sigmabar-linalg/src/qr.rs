//! The triangular factor of a tall matrix, block by block, without ever squaring its condition number.

use crate::check::{self, SMALLEST};
use crate::gram::probe_rows;
use crate::interrupt;
use crate::packed::{Packed, Triangle};
use crate::tile::{PARALLEL_WORK, gemm, view, view_mut};
use crate::vector::{add_column_squares, add_scaled, add_transposed_matvec, dot, matvec, norm_squared};
use crate::workers::parallel;
use crate::{LinalgError, Matrix, Operation};
use faer::{Accum, MatMut, MatRef};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Columns reflected together.
const PANEL: usize = 32;
/// Columns of the rest updated by one task.
const STRIP: usize = 128;
/// Rows stacked under `R` at a time.
const STACK: usize = 1024;

/// The running upper-triangular `R` (`m × m`) of all rows `A` seen so far: `RᵀR = AᵀA`. Each block is stacked under `R` and
/// reflected away, so `R` is exact for a matrix within `ε·‖A‖` of `A`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "Packed", try_from = "Packed")]
pub struct TallQr {
    r: Matrix,
    signs: Vec<f64>,
    probe: Vec<f64>,
    blocks: usize,
}

impl TallQr {
    /// No rows yet: `R = 0` for rows of length `m`.
    #[must_use]
    pub fn new(m: usize) -> Self {
        Self { r: Matrix::zeros(m, m), signs: check::signs(m), probe: vec![0.0; m], blocks: 0 }
    }

    /// Adds a block of `b` rows by reflecting `[R; rows]`. Cost `2·b·m²`.
    ///
    /// # Errors
    /// [`LinalgError::SelfCheck`] if `Rᵀ(R v) ≠ Σ rowᵢ(rowᵢ·v)` beyond `8·(m + b + blocks + 8)·ε·‖R e_i‖·‖R‖` in entry `i`, or a
    /// number is not finite.
    ///
    /// # Panics
    /// If `rows.len()` is not a multiple of `m`.
    pub fn add_rows(&mut self, rows: &[f64]) -> Result<(), LinalgError> {
        let m = self.r.cols();
        if m == 0 {
            assert!(rows.is_empty(), "rows of length 0 have no entries");
            return Ok(());
        }
        assert_eq!(rows.len() % m, 0, "{} entries are no whole number of rows of length {m}", rows.len());
        for block in rows.chunks(STACK * m) {
            let mut work = block.to_vec();
            reflect(&mut self.r, &mut work);
            probe_rows(block, &self.signs, &mut self.probe);
            self.blocks += 1;
        }
        self.compare(STACK.min(rows.len() / m))
    }

    /// Adds the rows behind another factor by reflecting `[R; R']`. Cost `2·m³`.
    ///
    /// # Errors
    /// As [`TallQr::add_rows`].
    ///
    /// # Panics
    /// If the rows of the other factor have another length.
    pub fn merge(&mut self, other: &Self) -> Result<(), LinalgError> {
        assert_eq!(self.r.cols(), other.r.cols(), "rows of other lengths");
        for block in other.r.as_slice().chunks(STACK * self.r.cols().max(1)) {
            reflect(&mut self.r, &mut block.to_vec());
        }
        add_scaled(&mut self.probe, 1.0, &other.probe);
        self.blocks = self.blocks.max(other.blocks) + 1;
        self.compare(self.r.rows())
    }

    /// Length of the rows.
    #[must_use]
    pub fn width(&self) -> usize {
        self.r.cols()
    }

    fn compare(&mut self, stacked: usize) -> Result<(), LinalgError> {
        let m = self.r.cols();
        if m < SMALLEST {
            return Ok(());
        }
        check::spoil(self.r.as_mut_slice());
        let mut got = vec![0.0; m];
        add_transposed_matvec(self.r.as_slice(), &matvec(&self.r, &self.signs), &mut got);
        let mut squares = vec![0.0; m];
        add_column_squares(self.r.as_slice(), &mut squares);
        let total = check::norm(squares.iter().sum());
        let allowed = check::allowance(m + stacked + self.blocks);
        check::compare(Operation::Qr, &got, &self.probe, allowed, |i| check::norm(squares[i]) * total)
    }

    /// The factor `R`, upper triangular with a diagonal that is not negative: `RᵀR = Σ rowᵀ row`. Cost `m²`.
    #[must_use]
    pub fn gram_factor(&self) -> Matrix {
        let mut r = self.r.clone();
        for i in 0..r.rows() {
            if r[(i, i)] < 0.0 {
                r.row_mut(i).iter_mut().for_each(|x| *x = -*x);
            }
        }
        r
    }
}

impl From<TallQr> for Packed {
    fn from(qr: TallQr) -> Self {
        Self::new(Triangle::Upper, &qr.r, qr.probe, [qr.blocks, 0])
    }
}

impl TryFrom<Packed> for TallQr {
    type Error = &'static str;
    fn try_from(packed: Packed) -> Result<Self, &'static str> {
        let (r, probe, [blocks, _]) = packed.open(Triangle::Upper)?;
        Ok(Self { signs: check::signs(r.cols()), r, probe, blocks })
    }
}

/// Reflects `[R; B]` until `B` is zero, panel by panel. Every reflector is `(e_j, w_j)`: the rows of `R` between do not move.
fn reflect(r: &mut Matrix, block: &mut [f64]) {
    let m = r.cols();
    let b = block.len() / m;
    // columns of the panel: contiguous, b each
    let mut w = vec![0.0; PANEL * b];
    let mut t = vec![0.0; PANEL * PANEL];
    for k in (0..m).step_by(PANEL) {
        interrupt::check();
        let nb = PANEL.min(m - k);
        for i in 0..b {
            for j in 0..nb {
                w[j * b + i] = block[i * m + k + j];
            }
        }
        let rows = &mut r.as_mut_slice()[k * m..(k + nb) * m];
        reflect_panel(rows, m, k, &mut w[..nb * b], b, &mut t);
        if k + nb == m {
            break;
        }
        let right = m - k - nb;
        let (w, t) = (view(&w[..nb * b], nb, b), view(&t, PANEL, PANEL).submatrix(0, 0, nb, nb));
        let mut top = view_mut(rows, nb, m).subcols_mut(k + nb, right);
        let mut bottom = view_mut(block, b, m).subcols_mut(k + nb, right);
        let mut strips = Vec::new();
        for j in (0..right).step_by(STRIP) {
            let n = STRIP.min(right - j);
            let (a, a_rest) = top.split_at_col_mut(n);
            let (c, c_rest) = bottom.split_at_col_mut(n);
            (top, bottom) = (a_rest, c_rest);
            strips.push((a, c));
        }
        if right * nb * b < PARALLEL_WORK {
            strips.into_iter().for_each(|(a, c)| apply(a, c, w, t));
        } else {
            parallel(|_| strips.into_par_iter().with_max_len(1).for_each(|(a, c)| apply(a, c, w, t)));
        }
    }
}

/// `[A; C] −= [I; Wᵀ]·Tᵀ·(A + W C)`, with `W` given as its rows.
fn apply(mut a: MatMut<'_, f64>, c: MatMut<'_, f64>, w: MatRef<'_, f64>, t: MatRef<'_, f64>) {
    let (nb, n) = (a.nrows(), a.ncols());
    let mut s = vec![0.0; nb * n];
    for i in 0..nb {
        for j in 0..n {
            s[i * n + j] = a[(i, j)];
        }
    }
    gemm(view_mut(&mut s, nb, n), Accum::Add, 1.0, w, c.as_ref());
    let mut ts = vec![0.0; nb * n];
    gemm(view_mut(&mut ts, nb, n), Accum::Replace, 1.0, t.transpose(), view(&s, nb, n));
    for i in 0..nb {
        for j in 0..n {
            a[(i, j)] -= ts[i * n + j];
        }
    }
    gemm(c, Accum::Add, -1.0, w.transpose(), view(&ts, nb, n));
}

/// Reflects the columns of one panel; `w` becomes the reflectors, `t` the upper triangle with `H₁…H_nb = I − V T Vᵀ`.
fn reflect_panel(rows: &mut [f64], m: usize, k: usize, w: &mut [f64], b: usize, t: &mut [f64]) {
    let nb = w.len() / b;
    t.fill(0.0);
    for j in 0..nb {
        let (done, rest) = w.split_at_mut(j * b);
        let (x, rest) = rest.split_at_mut(b);
        let head = rows[j * m + k + j];
        let square = norm_squared(x);
        if square == 0.0 {
            x.fill(0.0);
            continue;
        }
        let norm = head.hypot(square.sqrt());
        let beta = if head > 0.0 { -norm } else { norm };
        let tau = (beta - head) / beta;
        let scale = 1.0 / (head - beta);
        x.iter_mut().for_each(|v| *v *= scale);
        rows[j * m + k + j] = beta;
        for (l, column) in rest.chunks_exact_mut(b).enumerate() {
            let at = &mut rows[j * m + k + j + 1 + l];
            let s = tau * (*at + dot(x, column));
            *at -= s;
            add_scaled(column, -s, x);
        }
        // T[..j, j] = −τ T[..j, ..j] (Wᵀ w_j)
        let products: Vec<f64> = done.chunks_exact(b).map(|c| dot(c, x)).collect();
        for i in 0..j {
            t[i * PANEL + j] = -tau * (i..j).map(|l| t[i * PANEL + l] * products[l]).sum::<f64>();
        }
        t[j * PANEL + j] = tau;
    }
}
