//! The exact posterior variance of many points while measurements are added: for fewer measurements than a dictionary would have inducing points.

use crate::error::Result;
use crate::kernel::Kernel;
use crate::points::PointsRef;
use rayon::prelude::*;
use sigmabar_linalg::add_transposed_matvec;

/// Points of one task: its rows stay in the cache for a while, and the same sums are formed whatever the number of threads.
const CHUNK: usize = 1024;

/// $\sigma^2(x)=k(x,x)-\sum_jg_j(x)^2$ with the rows $g_j$ of the factor of $K+\tau^2I$ against all points (algorithm notes 0.1, one rank-one step after the other).
pub(crate) struct ExactSweep<'a> {
    kernel: &'a Kernel,
    ridge: f64,
    points: PointsRef<'a>,
    chunks: Vec<Chunk>,
    gain: f64,
}

struct Chunk {
    first: usize,
    variance: Vec<f64>,
    /// One row of the chunk's length per measurement.
    rows: Vec<f64>,
}

impl<'a> ExactSweep<'a> {
    pub fn new(kernel: &'a Kernel, ridge: f64, points: PointsRef<'a>) -> Self {
        let chunk = |first: usize| {
            let variance = kernel.diagonal(points.range(first, (first + CHUNK).min(points.len())));
            Chunk { first, variance, rows: Vec::new() }
        };
        Self { kernel, ridge, points, chunks: (0..points.len()).step_by(CHUNK).map(chunk).collect(), gain: 0.0 }
    }

    /// The position and variance of the largest among the first `count` points; of equals the first.
    pub fn largest(&self, count: usize) -> (usize, f64) {
        let all = self.chunks.iter().flat_map(|chunk| &chunk.variance).take(count).copied().enumerate();
        all.reduce(|best, next| if next.1 > best.1 { next } else { best }).unwrap_or((0, 0.0))
    }

    /// Information gained so far, $\frac12\sum_j\log(1+\sigma_{j-1}^2(x_j)/\tau^2)$.
    pub fn gain(&self) -> f64 {
        self.gain
    }

    /// Measures once at a point: $g = (k(\cdot,x) - F^\top F_x)/\sqrt{\tau^2+\sigma^2(x)}$, $\sigma^2 \mathrel{-}= g^2$. Cost O(An).
    pub fn pick(&mut self, at: usize) -> Result<()> {
        let own = &self.chunks[at / CHUNK];
        let variance = own.variance[at % CHUNK];
        let here: Vec<f64> = own.rows.chunks_exact(own.variance.len()).map(|row| -row[at % CHUNK]).collect();
        let tau2 = self.ridge.powi(2);
        self.gain += 0.5 * (variance / tau2).ln_1p();
        let root = (tau2 + variance).sqrt();
        let column = self.kernel.prepare(self.points.range(at, at + 1))?;
        let points = self.points;
        self.chunks.par_iter_mut().for_each(|chunk| {
            let mut row = vec![0.0; chunk.variance.len()];
            column.rows_into(points.range(chunk.first, chunk.first + row.len()), &mut row);
            add_transposed_matvec(&chunk.rows, &here, &mut row);
            for (g, v) in row.iter_mut().zip(&mut chunk.variance) {
                *g /= root;
                *v = (*v - *g * *g).max(0.0);
            }
            chunk.rows.extend_from_slice(&row);
        });
        Ok(())
    }
}
