//! Certificates of a partial factor: how large $\lambda_{\max}(C^{1/2}DC^{1/2})$ can be (algorithm notes 8.4).

use super::chunk::CHUNK;
use super::partial::PartialCholesky;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::points::{Points, PointsRef};
use crate::residual::{ResidualNorm, ResidualNormKind};
use sigmabar_linalg::{Lower, Matrix, in_tasks, norm_squared, symmetric_eigenvalues};

/// Rows streamed at a time.
const STREAM_ROWS: usize = 1024;

impl PartialCholesky<'_> {
    /// A certified bound on $\lambda$ for the model whose inducing points are the first `rank` pivots: the smaller of the trace
    /// $\sum_i c_i d_i$ and, when there are pivots after them, the look-ahead $\lambda_{\max}(F_p^\top C F_p) + \operatorname{tr}(CD')$.
    /// Both include $16\,m\,\varepsilon\,\mathrm{cond}(L)\,k_{\max}$ per observation for rounding. Cost O(np² + p³ + m²).
    ///
    /// # Errors
    /// A failed self-check.
    pub fn residual_norm(&self, rank: usize) -> Result<ResidualNorm> {
        let rank = rank.min(self.len());
        let trace = ResidualNorm { value: self.trace_bound(rank), kind: ResidualNormKind::Trace };
        if rank == self.len() {
            return Ok(trace);
        }
        let ahead = self.look_ahead_bound(rank, &self.tail_gram(rank)?)?;
        Ok(if ahead.value < trace.value { ahead } else { trace })
    }

    /// The smallest size from `first` on whose certificate is at most `target`, with that certificate; of a look-ahead from any of these sizes
    /// to the pivots at hand. Bisection: the bound falls with the size.
    pub(super) fn smallest_rank(&self, first: usize, last: usize, target: f64) -> Result<Option<(usize, ResidualNorm)>> {
        let last = last.min(self.len());
        if first > last {
            return Ok(None);
        }
        let gram = self.tail_gram(first)?;
        let bound = |rank: usize| -> Result<ResidualNorm> {
            let trace = ResidualNorm { value: self.trace_bound(rank), kind: ResidualNormKind::Trace };
            if rank == self.len() || trace.value <= target {
                return Ok(trace);
            }
            let skip = rank - first;
            let p = gram.rows() - skip;
            let ahead = self.look_ahead_bound(rank, &Matrix::from_fn(p, p, |i, j| gram[(i + skip, j + skip)]))?;
            Ok(if ahead.value < trace.value { ahead } else { trace })
        };
        let mut best = bound(last)?;
        if best.value > target {
            return Ok(None);
        }
        let (mut low, mut high) = (first, last);
        while low < high {
            let middle = low + (high - low) / 2;
            let here = bound(middle)?;
            if here.value <= target {
                (high, best) = (middle, here);
            } else {
                low = middle + 1;
            }
        }
        Ok(Some((high, best)))
    }

    /// $\lambda \le \sum_i c_i (d_i + \text{rounding})$.
    fn trace_bound(&self, rank: usize) -> f64 {
        let sums = 1.0 + (self.points.len() + self.len()) as f64 * f64::EPSILON;
        self.trace_at(rank) * sums + self.total_rounding(rank)
    }

    /// $\lambda \le \lambda_{\max}(F_p^\top C F_p) + \operatorname{tr}(CD')$.
    fn look_ahead_bound(&self, rank: usize, gram: &Matrix) -> Result<ResidualNorm> {
        let p = gram.rows();
        let top = symmetric_eigenvalues(gram)?.last().copied().unwrap_or(0.0).max(0.0);
        let trace: f64 = gram.diagonal().iter().sum();
        // Products over the points of a chunk, sums over chunks, and the eigenvalue itself.
        let gram_rounding = 8.0 * (CHUNK + self.chunks.len() + 4 * p) as f64 * f64::EPSILON * trace;
        let value = top + gram_rounding + self.trace_bound(self.len());
        Ok(ResidualNorm { value, kind: ResidualNormKind::LookAhead { pivots: self.len() - rank } })
    }

    /// $\sum_i c_i f(i)f(i)^\top$ over the pivots from `first` on, chunks added in order.
    fn tail_gram(&self, first: usize) -> Result<Matrix> {
        let p = self.len() - first;
        let mut sum = Matrix::zeros(p, p);
        for part in in_tasks(self.chunks.len(), |chunk| self.chunks[chunk].tail_gram(first)) {
            let part = part?;
            sum.as_mut_slice().iter_mut().zip(part.as_slice()).for_each(|(s, v)| *s += v);
        }
        Ok(sum)
    }

    fn total_rounding(&self, rank: usize) -> f64 {
        let observations: f64 = self.chunks.iter().flat_map(|chunk| chunk.counts()).sum();
        observations * rounding(&self.leading_lower(rank), self.largest)
    }
}

/// What rounding can do to one residual variance: $16\,m\,\varepsilon\,\mathrm{cond}(L)\,k_{\max}$ (algorithm notes 0.2).
fn rounding(lower: &Lower, largest: f64) -> f64 {
    if lower.is_empty() {
        return 0.0;
    }
    16.0 * lower.len() as f64 * f64::EPSILON * lower.condition_estimate().max(1.0) * largest
}

/// The trace certificate of inducing points with factor `lower`, streamed over points that were not part of the selection: time O(nm²),
/// memory O(m).
pub(super) fn streamed_trace(kernel: &Kernel, inducing: &Points, lower: &Lower, x: PointsRef<'_>, counts: &[f64]) -> Result<ResidualNorm> {
    let prepared = kernel.prepare(inducing.view())?;
    let largest = kernel.max_diagonal(x).max(kernel.max_diagonal(inducing.view()));
    let allowed = rounding(lower, largest);
    let m = lower.len();
    let mut rows = vec![0.0; STREAM_ROWS.min(x.len()) * m];
    let mut sum = 0.0;
    for start in (0..x.len()).step_by(STREAM_ROWS) {
        let block = x.range(start, (start + STREAM_ROWS).min(x.len()));
        let rows = &mut rows[..block.len() * m];
        prepared.par_rows_into(block, rows);
        lower.solve_rows(rows)?;
        let variances = kernel.diagonal(block);
        for (i, (row, k_xx)) in rows.chunks_exact(m).zip(variances).enumerate() {
            sum += counts[start + i] * ((k_xx - norm_squared(row)).max(0.0) + allowed);
        }
    }
    Ok(ResidualNorm { value: sum * (1.0 + x.len() as f64 * f64::EPSILON), kind: ResidualNormKind::Trace })
}
