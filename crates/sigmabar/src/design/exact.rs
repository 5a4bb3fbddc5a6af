//! The exact posterior variance of many points while measurements are added: for fewer measurements than a dictionary would have inducing points.

use super::queue::Stale;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::points::PointsRef;
use rayon::prelude::*;
use sigmabar_linalg::{check_interrupt, dot, parallel};

/// Below this many multiplications points are brought up to date on one thread.
const PARALLEL_WORK: usize = 1 << 16;

/// $\sigma^2(x)=k(x,x)-\sum_jg_j(x)^2$ with the rows $g_j$ of the factor of $K+\tau^2I$ against all points: one entry of a point's column after the other, and
/// only when it is looked at. Late entries are the same sums, so that lateness changes no bit.
pub(crate) struct ExactSweep<'a> {
    kernel: &'a Kernel,
    ridge: f64,
    points: PointsRef<'a>,
    /// The most measurements there may be.
    most: usize,
    /// `most` entries of the factor for each point, as far as they are computed.
    entries: Vec<f64>,
    computed: Vec<usize>,
    variance: Vec<f64>,
    measured: Vec<Measured>,
    gain: f64,
}

struct Measured {
    at: usize,
    /// $\sqrt{\tau^2+\sigma^2(x)}$ just before.
    root: f64,
}

impl<'a> ExactSweep<'a> {
    pub fn new(kernel: &'a Kernel, ridge: f64, points: PointsRef<'a>, most: usize) -> Self {
        Self {
            entries: vec![0.0; points.len() * most],
            computed: vec![0; points.len()],
            variance: kernel.diagonal(points),
            measured: Vec::with_capacity(most),
            gain: 0.0,
            kernel,
            ridge,
            points,
            most,
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
        self.measured.push(Measured { at, root: (tau2 + variance).sqrt() });
        Ok(())
    }

    fn column(&self, point: usize) -> &[f64] {
        &self.entries[point * self.most..point * self.most + self.computed[point]]
    }

    /// The point's column of the factor and its variance as of now: $g_j(x) = (k(x,x_j) - \sum_{l<j}g_l(x)g_l(x_j))/\sqrt{\tau^2+\sigma^2(x_j)}$.
    fn completed(&self, point: usize) -> (Vec<f64>, f64) {
        let mut column = self.column(point).to_vec();
        let mut variance = self.variance[point];
        for (j, Measured { at, root }) in self.measured.iter().enumerate().skip(column.len()) {
            let covariance = self.kernel.value(self.points.row(point), self.points.row(*at)) - dot(&column, &self.column(*at)[..j]);
            let entry = covariance / root;
            variance = (variance - entry * entry).max(0.0);
            column.push(entry);
        }
        (column, variance)
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
        let now = self.measured.len();
        let work: usize = points.iter().map(|&p| (now - self.computed[p]) * now).sum();
        let this = &*self;
        let completed: Vec<(Vec<f64>, f64)> = if work < PARALLEL_WORK {
            points.iter().map(|&p| this.completed(p)).collect()
        } else {
            parallel(|_| points.par_iter().map(|&p| this.completed(p)).collect())
        };
        for (&point, (column, variance)) in points.iter().zip(completed) {
            self.entries[point * self.most..][..now].copy_from_slice(&column);
            self.computed[point] = now;
            self.variance[point] = variance;
        }
        Ok(())
    }
}
