//! A fixed share of the points with its part of the factor: what one task works on.

use crate::error::Result;
use crate::kernel::{Kernel, PreparedKernel};
use crate::points::PointsRef;
use sigmabar_linalg::{Matrix, add_transposed_matvec, add_transposed_product, product_transposed};

/// Points per chunk: with some hundred pivots the chunk's part of the factor stays in the second-level cache, where the product and its
/// self-check read it several times.
pub(super) const CHUNK: usize = 256;

/// Rows of a block solved by plain sums before the next product.
const SOLVE_ROWS: usize = 16;

/// New pivots to be absorbed: their points, their features on the pivots before, and the factor among themselves.
pub(super) struct Block<'a> {
    pub points: PointsRef<'a>,
    /// $A$, one row per old pivot, one column per new one ($t \times b$).
    pub against_old: Matrix,
    /// $L_H$ with $H = K_{QQ} - A^\top A = L_H L_H^\top$ ($b \times b$).
    pub own: Matrix,
}

/// Up to [`CHUNK`] points: rows $0..t$ of the factor restricted to them, and the residual diagonal.
#[derive(Clone, Debug)]
pub(super) struct Chunk {
    prepared: PreparedKernel,
    counts: Vec<f64>,
    /// Row-major $t \times$ len.
    factor: Vec<f64>,
    pub residual: Vec<f64>,
}

impl Chunk {
    pub fn new(kernel: &Kernel, points: PointsRef<'_>, counts: Vec<f64>) -> Result<Self> {
        Ok(Self { prepared: kernel.prepare(points)?, counts, factor: Vec::new(), residual: kernel.diagonal(points) })
    }

    pub fn len(&self) -> usize {
        self.residual.len()
    }

    pub fn counts(&self) -> &[f64] {
        &self.counts
    }

    pub fn reserve(&mut self, rows: usize) {
        let wanted = rows * self.len();
        self.factor.reserve_exact(wanted.saturating_sub(self.factor.len()));
    }

    /// Row `j` of the factor.
    pub fn row(&self, j: usize) -> &[f64] {
        &self.factor[j * self.len()..(j + 1) * self.len()]
    }

    /// The features of local point `i`: column `i` of the factor.
    pub fn column(&self, i: usize) -> impl Iterator<Item = f64> + '_ {
        self.factor.iter().skip(i).step_by(self.len()).copied()
    }

    /// $F_{new} = L_H^{-1}(K_{Q,x} - A^\top F)$, appended; the residual diagonal loses $\sum f^2$.
    /// Returns $\sum_i c_i f_j(i)^2$ for every new row $j$.
    pub fn absorb(&mut self, block: &Block<'_>) -> Result<Vec<f64>> {
        let (b, len) = (block.points.len(), self.len());
        let mut rows = Matrix::zeros(b, len);
        self.prepared.rows_into(block.points, rows.as_mut_slice());
        if !self.factor.is_empty() {
            if b == 1 {
                let minus: Vec<f64> = block.against_old.as_slice().iter().map(|a| -a).collect();
                add_transposed_matvec(&self.factor, &minus, rows.as_mut_slice());
            } else {
                add_transposed_product(&mut rows, -1.0, block.against_old.as_slice(), &self.factor)?;
            }
        }
        solve_left(&block.own, rows.as_mut_slice(), len)?;
        let mut explained = Vec::with_capacity(b);
        for row in rows.as_slice().chunks_exact(len) {
            let mut sum = 0.0;
            for ((d, f), c) in self.residual.iter_mut().zip(row).zip(&self.counts) {
                let square = f * f;
                // Rounding can take d below 0; a point once explained stays explained.
                *d = (*d - square).max(0.0);
                sum += c * square;
            }
            explained.push(sum);
        }
        self.factor.extend_from_slice(rows.as_slice());
        Ok(explained)
    }

    /// Forgets the rows from `rank` on, giving back to the residual what they explained. `pivot(i)` says whether a point is an earlier pivot.
    pub fn truncate(&mut self, rank: usize, pivot: impl Fn(usize) -> bool) {
        let len = self.len();
        for row in self.factor[rank * len..].chunks_exact(len) {
            for (i, (d, f)) in self.residual.iter_mut().zip(row).enumerate() {
                if !pivot(i) {
                    *d += f * f;
                }
            }
        }
        self.factor.truncate(rank * len);
    }

    pub fn weighted_residual(&self) -> impl Iterator<Item = f64> + '_ {
        self.residual.iter().zip(&self.counts).map(|(d, c)| c * d)
    }

    /// $\sum_i c_i f(i) f(i)^\top$ over the rows from `first` on.
    pub fn tail_gram(&self, first: usize) -> Result<Matrix> {
        let len = self.len();
        let tail = &self.factor[first * len..];
        let rows = tail.len() / len;
        let root: Vec<f64> = self.counts.iter().map(|c| c.sqrt()).collect();
        let weighted = Matrix::from_vec(tail.iter().enumerate().map(|(i, f)| f * root[i % len]).collect(), rows, len);
        Ok(product_transposed(&weighted, &weighted)?)
    }
}

/// $R \leftarrow L^{-1} R$ for a $b \times$ len block of rows.
fn solve_left(lower: &Matrix, rows: &mut [f64], len: usize) -> Result<()> {
    let b = lower.rows();
    for start in (0..b).step_by(SOLVE_ROWS) {
        let end = (start + SOLVE_ROWS).min(b);
        let (done, rest) = rows.split_at_mut(start * len);
        let strip = &mut rest[..(end - start) * len];
        if start > 0 {
            // R_strip −= L_{strip, done} R_done
            let coefficients: Vec<f64> = (0..start).flat_map(|j| (start..end).map(move |i| lower[(i, j)])).collect();
            let mut out = Matrix::from_vec(strip.to_vec(), end - start, len);
            add_transposed_product(&mut out, -1.0, &coefficients, done)?;
            strip.copy_from_slice(out.as_slice());
        }
        for i in start..end {
            let (before, row) = strip.split_at_mut((i - start) * len);
            let row = &mut row[..len];
            let minus: Vec<f64> = (start..i).map(|j| -lower[(i, j)]).collect();
            add_transposed_matvec(before, &minus, row);
            let inverse = 1.0 / lower[(i, i)];
            row.iter_mut().for_each(|v| *v *= inverse);
        }
    }
    Ok(())
}
