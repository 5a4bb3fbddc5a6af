//! The exact posterior variance of many points while measurements are added: for fewer measurements than a dictionary would have inducing points.

use super::pairs::{Vectors, for_each_pair, padded};
use super::queue::Stale;
use crate::error::Result;
use crate::kernel::{Kernel, PreparedKernel};
use crate::points::PointsRef;
use rayon::prelude::*;
use sigmabar_linalg::{check_interrupt, dot, parallel};

/// Measured points whose entries share a pass over the entries before them.
const BLOCK: usize = 32;
/// Measured points whose kernel values are computed together: most points looked at are a few measurements late.
const KERNEL_BLOCK: usize = 8;
/// Points brought up to date by one task.
const TASK: usize = 16;
/// Below this many multiplications points are brought up to date on one thread.
const PARALLEL_WORK: usize = 1 << 16;

/// $\sigma^2(x)=k(x,x)-\sum_jg_j(x)^2$ with the rows $g_j$ of the factor of $K+\tau^2I$ against all points: one entry of a point's column after the other, and
/// only when it is looked at. Late entries are the same sums, so that lateness changes no bit.
pub(crate) struct ExactSweep<'a> {
    kernel: &'a Kernel,
    ridge: f64,
    points: PointsRef<'a>,
    /// The most measurements there may be, with padding.
    width: usize,
    /// `width` entries of the factor for each point, as far as they are computed; zeros after them.
    entries: Vec<f64>,
    computed: Vec<usize>,
    variance: Vec<f64>,
    measured: Vec<Measured>,
    /// The columns of the measured points as they were just before, one after the other.
    factor: Vec<f64>,
    /// The measured points, made ready by blocks.
    blocks: Vec<PreparedKernel>,
    gain: f64,
}

struct Measured {
    at: usize,
    /// $\sqrt{\tau^2+\sigma^2(x)}$ just before.
    root: f64,
}

/// A point being brought up to date.
struct Late<'a> {
    point: usize,
    from: usize,
    column: &'a mut [f64],
    variance: f64,
}

impl<'a> ExactSweep<'a> {
    pub fn new(kernel: &'a Kernel, ridge: f64, points: PointsRef<'a>, most: usize) -> Self {
        let width = padded(most);
        Self {
            entries: vec![0.0; points.len() * width],
            computed: vec![0; points.len()],
            variance: kernel.diagonal(points),
            measured: Vec::with_capacity(most),
            factor: Vec::with_capacity(most * width),
            blocks: Vec::new(),
            gain: 0.0,
            kernel,
            ridge,
            points,
            width,
        }
    }

    /// The variance of a point that is fresh.
    pub fn variance(&self, point: usize) -> f64 {
        self.variance[point]
    }

    /// Information gained so far, $\frac12\sum_j\log(1+\sigma_{j-1}^2(x_j)/\tau^2)$.
    pub fn gain(&self) -> f64 {
        self.gain
    }

    /// Measures once at a point. Cost O(n²) at most.
    pub fn pick(&mut self, at: usize) -> Result<()> {
        self.refresh(&mut [at])?;
        let (variance, tau2) = (self.variance[at], self.ridge.powi(2));
        self.gain += 0.5 * (variance / tau2).ln_1p();
        self.factor.extend_from_slice(&self.entries[at * self.width..(at + 1) * self.width]);
        self.measured.push(Measured { at, root: (tau2 + variance).sqrt() });
        let first = (self.measured.len() - 1) / KERNEL_BLOCK * KERNEL_BLOCK;
        let block: Vec<usize> = self.measured[first..].iter().map(|m| m.at).collect();
        self.blocks.truncate(first / KERNEL_BLOCK);
        self.blocks.push(self.kernel.prepare(self.points.select(&block)?.view())?);
        Ok(())
    }

    /// Brings columns and variances up to now, block after block: $g_j(x) = (k(x,x_j) - \sum_{l<j}g_l(x)g_l(x_j))/\sqrt{\tau^2+\sigma^2(x_j)}$. The sum over
    /// the blocks before that of $j$ is taken for several points and measurements at once.
    fn complete(&self, late: &mut [Late<'_>]) {
        let now = self.measured.len();
        let mut values = [0.0; BLOCK];
        let mut sums = vec![0.0; late.len() * BLOCK];
        let from = late.iter().map(|l| l.from).min().unwrap_or(now);
        for start in (from / BLOCK * BLOCK..now).step_by(BLOCK) {
            let end = now.min(start + BLOCK);
            let before: Vec<&[f64]> = late.iter().map(|l| &l.column[..start]).collect();
            let vectors = Vectors { entries: &self.factor[start * self.width..end * self.width], width: self.width, triangular: false };
            for_each_pair(&before, vectors, from.saturating_sub(start), |r, j, sum| sums[r * BLOCK + j] = sum);
            for (late, sums) in late.iter_mut().zip(sums.chunks_exact(BLOCK)) {
                let first = late.from.max(start);
                if first >= end {
                    continue;
                }
                self.kernel_values(late.point, first - start, start, &mut values[..end - start]);
                for j in first..end {
                    let within = dot(&late.column[start..j], &self.factor[j * self.width..][start..j]);
                    let entry = (values[j - start] - sums[j - start] - within) / self.measured[j].root;
                    late.variance = (late.variance - entry * entry).max(0.0);
                    late.column[j] = entry;
                }
            }
        }
    }

    /// Kernel values of a point with the measured ones from `start` on; those before number `first` of them may be left out.
    fn kernel_values(&self, point: usize, first: usize, start: usize, values: &mut [f64]) {
        let blocks = &self.blocks[start / KERNEL_BLOCK..];
        for (block, values) in blocks.iter().zip(values.chunks_mut(KERNEL_BLOCK)).skip(first / KERNEL_BLOCK) {
            block.rows_into(self.points.range(point, point + 1), values);
        }
    }
}

impl Stale for ExactSweep<'_> {
    fn is_fresh(&self, point: usize) -> bool {
        self.computed[point] == self.measured.len()
    }

    fn rank(&self, point: usize) -> f64 {
        self.variance[point]
    }

    fn upper_rank(&self, point: usize) -> f64 {
        self.variance[point]
    }

    fn refresh(&mut self, points: &mut [usize]) -> Result<()> {
        check_interrupt();
        points.sort_unstable();
        let now = self.measured.len();
        let work: usize = points.iter().map(|&p| (now - self.computed[p]) * now).sum();
        let mut entries = std::mem::take(&mut self.entries);
        let mut late = Vec::with_capacity(points.len());
        let (mut rest, mut next) = (&mut entries[..], 0);
        for &point in &*points {
            let (column, after) = rest[(point - next) * self.width..].split_at_mut(self.width);
            late.push(Late { point, from: self.computed[point], column, variance: self.variance[point] });
            (rest, next) = (after, point + 1);
        }
        // Equally late points side by side share the passes over the factor.
        late.sort_by_key(|l| l.from);
        if work < PARALLEL_WORK {
            late.chunks_mut(TASK).for_each(|task| self.complete(task));
        } else {
            parallel(|watch| {
                late.par_chunks_mut(TASK).for_each(|task| {
                    watch.check();
                    self.complete(task);
                });
            });
        }
        for Late { point, variance, .. } in late {
            self.computed[point] = now;
            self.variance[point] = variance;
        }
        self.entries = entries;
        Ok(())
    }
}
