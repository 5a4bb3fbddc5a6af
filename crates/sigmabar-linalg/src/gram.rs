//! Gram matrices `Σ rowᵀ row`, the heaviest product of a fit.

use crate::check::{self, SMALLEST};
use crate::interrupt;
use crate::packed::{Packed, Triangle};
use crate::tile::{TILE, symmetric_tiles, view, view_mut};
use crate::vector::{PARALLEL_ENTRIES, add_scaled, add_transposed_matvec, matvec_rows, symmetric_matvec};
use crate::workers::parallel;
use crate::{LinalgError, Matrix, Operation};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Rows probed together: few enough to stay in cache between the two passes over them.
const PROBE_ROWS: usize = 32;

/// The lower triangle of `G += Σᵢ rowᵢᵀ rowᵢ` for a block of `b` rows of length `m`; the upper triangle is left untouched.
/// Cost `b·m²`. Each call is probed at the cost of two passes over `G`: for a stream prefer [`GramAccumulator`].
///
/// # Errors
/// [`LinalgError::SelfCheck`] if `(G_after − G_before)·v` is not `Σ rowᵢ (rowᵢ·v)`, allowing
/// `8·(b+8)·ε·(‖G_before‖ + ‖G_after‖ + √Δᵢᵢ·√(tr Δ))` per entry, or if a number is not finite.
///
/// # Panics
/// If `G` is not square or `rows.len()` is not a multiple of its side.
pub fn add_gram(g: &mut Matrix, rows: &[f64]) -> Result<(), LinalgError> {
    let m = g.cols();
    let b = count_rows(g, rows);
    if b == 0 {
        return Ok(());
    }
    if m < SMALLEST || b < SMALLEST {
        gram_tiles(g, rows, b);
        return Ok(());
    }
    let v = check::signs(m);
    let diagonal = g.diagonal();
    let (before, before_squares) = symmetric_matvec(g, &v);
    gram_tiles(g, rows, b);
    check::spoil(g.as_mut_slice());
    let (after, after_squares) = symmetric_matvec(g, &v);
    let got: Vec<f64> = after.iter().zip(&before).map(|(a, b)| a - b).collect();
    let mut want = vec![0.0; m];
    probe_rows(rows, &v, &mut want);
    let squares: Vec<f64> = g.diagonal().iter().zip(&diagonal).map(|(after, before)| (after - before).abs()).collect();
    let trace = check::norm(squares.iter().sum());
    let stored = check::norm(before_squares.iter().sum()) + check::norm(after_squares.iter().sum());
    check::compare(Operation::Gram, &got, &want, check::allowance(b.max(m)), |i| stored + check::norm(squares[i]) * trace)
}

/// A running Gram matrix `G = Σ rowᵀ row` with its probe: blocks are added as they come, and the whole is checked once.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "Packed", try_from = "Packed")]
pub struct GramAccumulator {
    gram: Matrix,
    signs: Vec<f64>,
    probe: Vec<f64>,
    longest: usize,
    blocks: usize,
}

impl GramAccumulator {
    /// The empty sum for rows of length `m`.
    #[must_use]
    pub fn new(m: usize) -> Self {
        Self { gram: Matrix::zeros(m, m), signs: check::signs(m), probe: vec![0.0; m], longest: 0, blocks: 0 }
    }

    /// Adds a block of `b` rows: `G += Σ rowᵢᵀ rowᵢ`. Cost `b·m²`, and `4·b·m` for the probe.
    ///
    /// # Panics
    /// If `rows.len()` is not a multiple of `m`.
    pub fn add_rows(&mut self, rows: &[f64]) {
        let b = count_rows(&self.gram, rows);
        if b == 0 {
            return;
        }
        gram_tiles(&mut self.gram, rows, b);
        probe_rows(rows, &self.signs, &mut self.probe);
        self.longest = self.longest.max(b);
        self.blocks += 1;
    }

    /// Adds another sum of rows of the same length, probe and all. Cost `m²`.
    ///
    /// # Panics
    /// If the rows of the other sum have another length.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.gram.cols(), other.gram.cols(), "rows of other lengths");
        add_scaled(self.gram.as_mut_slice(), 1.0, other.gram.as_slice());
        add_scaled(&mut self.probe, 1.0, &other.probe);
        self.longest = self.longest.max(other.longest);
        self.blocks = self.blocks.max(other.blocks) + 1;
    }

    /// Length of the rows.
    #[must_use]
    pub fn width(&self) -> usize {
        self.gram.cols()
    }

    /// The Gram matrix; its *lower* triangle holds the sum, the upper one is zero. Cost `2m²`.
    ///
    /// # Errors
    /// [`LinalgError::SelfCheck`] if `G v` is not the running `Σ rowᵢ (rowᵢ·v)`, allowing `8·(b + blocks + 8)·ε·√Gᵢᵢ·√(tr G)`
    /// per entry (`b` the longest block), or if a number is not finite.
    pub fn finish(mut self) -> Result<Matrix, LinalgError> {
        let m = self.gram.cols();
        check::spoil(self.gram.as_mut_slice());
        let (got, _) = symmetric_matvec(&self.gram, &self.signs);
        let diagonal = self.gram.diagonal();
        let trace = check::norm(diagonal.iter().sum());
        let allowed = check::allowance(self.longest.max(m) + self.blocks);
        check::compare(Operation::Gram, &got, &self.probe, allowed, |i| check::norm(diagonal[i]) * trace)?;
        Ok(self.gram)
    }
}

impl From<GramAccumulator> for Packed {
    fn from(sum: GramAccumulator) -> Self {
        Self::new(Triangle::Lower, &sum.gram, sum.probe, [sum.longest, sum.blocks])
    }
}

impl TryFrom<Packed> for GramAccumulator {
    type Error = &'static str;
    fn try_from(packed: Packed) -> Result<Self, &'static str> {
        let (gram, probe, [longest, blocks]) = packed.open(Triangle::Lower)?;
        Ok(Self { signs: check::signs(gram.cols()), gram, probe, longest, blocks })
    }
}

fn count_rows(g: &Matrix, rows: &[f64]) -> usize {
    let m = g.cols();
    assert_eq!(g.rows(), m, "a Gram matrix is square");
    if m == 0 {
        assert!(rows.is_empty(), "rows of length 0 have no entries");
        return 0;
    }
    assert_eq!(rows.len() % m, 0, "{} entries are no whole number of rows of length {m}", rows.len());
    rows.len() / m
}

fn gram_tiles(g: &mut Matrix, rows: &[f64], b: usize) {
    interrupt::check();
    let m = g.cols();
    symmetric_tiles(view_mut(g.as_mut_slice(), m, m), 1.0, view(rows, b, m).transpose(), TILE);
}

/// `out += Σᵢ rowᵢ (rowᵢ·v)`, chunk by chunk so that each row is read from memory once.
pub(crate) fn probe_rows(rows: &[f64], v: &[f64], out: &mut [f64]) {
    let m = v.len();
    let part = |chunk: &[f64]| {
        let mut w = vec![0.0; chunk.len() / m];
        let mut sum = vec![0.0; m];
        matvec_rows(chunk, v, &mut w);
        add_transposed_matvec(chunk, &w, &mut sum);
        sum
    };
    let parts: Vec<Vec<f64>> = if rows.len() < PARALLEL_ENTRIES {
        rows.chunks(PROBE_ROWS * m).map(part).collect()
    } else {
        parallel(|_| rows.par_chunks(PROBE_ROWS * m).map(part).collect())
    };
    for p in &parts {
        add_scaled(out, 1.0, p);
    }
}
