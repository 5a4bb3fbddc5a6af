//! The exact posterior variance of many points while measurements are added: for fewer measurements than a dictionary would have inducing points.

use super::queue::Stale;
use crate::error::Result;
use crate::kernel::{Kernel, PreparedKernel};
use crate::points::PointsRef;
use rayon::prelude::*;
use sigmabar_linalg::{Matrix, check_interrupt, dot, parallel, product_transposed};
use std::collections::BTreeMap;

/// Below this many multiplications points are brought up to date on one thread.
const PARALLEL_WORK: usize = 1 << 16;
/// So many measurements after the last time, all points that may soon be the largest are brought up to date together, by products of matrices: those whose
/// variance was at least this share of the largest.
const PERIOD: usize = 16;
const SOON: f64 = 0.7;
/// Points that have missed as many measurements as each other are brought up to date together if both numbers are at least these.
const MISSED: usize = 6;
const TOGETHER: usize = 16;
/// Points brought up to date in one product.
const GROUP: usize = 2048;

/// $\sigma^2(x)=k(x,x)-\sum_jg_j(x)^2$ with the rows $g_j$ of the factor of $K+\tau^2I$ against all points: the entries of a point's column are computed
/// when it is looked at, or together with those of many others.
pub(crate) struct ExactSweep<'a> {
    prepared: PreparedKernel,
    /// $k(x_j,\cdot)$ at all points, for each measurement.
    kernel_rows: Vec<Vec<f64>>,
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
    pub fn new(kernel: &Kernel, ridge: f64, points: PointsRef<'a>, most: usize) -> Result<Self> {
        Ok(Self {
            prepared: kernel.prepare(points)?,
            kernel_rows: Vec::with_capacity(most),
            entries: vec![0.0; points.len() * most],
            computed: vec![0; points.len()],
            variance: kernel.diagonal(points),
            measured: Vec::with_capacity(most),
            gain: 0.0,
            ridge,
            points,
            most,
        })
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
        let mut row = vec![0.0; self.points.len()];
        self.prepared.rows_into(self.points.range(at, at + 1), &mut row);
        self.kernel_rows.push(row);
        if self.measured.len().is_multiple_of(PERIOD) {
            let mut soon: Vec<usize> = (0..self.points.len()).filter(|&p| self.variance[p] >= SOON * variance).collect();
            self.refresh(&mut soon)?;
        }
        Ok(())
    }

    /// Brings points that were up to date `from` measurements ago up to date together: what the old entries explain by one product, the rest by substitution.
    fn refresh_together(&mut self, points: &[usize], from: usize) -> Result<()> {
        let now = self.measured.len();
        let columns = |rows: &[usize]| {
            let mut all = Vec::with_capacity(rows.len() * from);
            rows.iter().for_each(|row| all.extend_from_slice(&self.entries[row * self.most..][..from]));
            Matrix::from_vec(all, rows.len(), from)
        };
        let measured: Vec<usize> = self.measured[from..].iter().map(|m| m.at).collect();
        // Covariances given the old measurements. Row by row of the kernel: its rows are long, and points come in their order.
        let mut left = Matrix::zeros(points.len(), now - from);
        for t in 0..now - from {
            let row = &self.kernel_rows[from + t];
            points.iter().enumerate().for_each(|(i, &point)| left[(i, t)] = row[point]);
        }
        if from > 0 {
            let explained = product_transposed(&columns(points), &columns(&measured))?;
            left.as_mut_slice().iter_mut().zip(explained.as_slice()).for_each(|(l, e)| *l -= e);
        }
        let this = &*self;
        let completed = |(i, &point): (usize, &usize)| {
            let mut new: Vec<f64> = Vec::with_capacity(now - from);
            let mut variance = this.variance[point];
            for (t, Measured { at, root }) in this.measured[from..].iter().enumerate() {
                let covariance = left[(i, t)] - dot(&new, &this.column(*at)[from..from + t]);
                let entry = covariance / root;
                variance = (variance - entry * entry).max(0.0);
                new.push(entry);
            }
            (new, variance)
        };
        let completed: Vec<(Vec<f64>, f64)> = parallel(|_| points.par_iter().enumerate().map(completed).collect());
        for (&point, (new, variance)) in points.iter().zip(completed) {
            self.entries[point * self.most + from..][..now - from].copy_from_slice(&new);
            self.computed[point] = now;
            self.variance[point] = variance;
        }
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
            let covariance = self.kernel_rows[j][point] - dot(&column, &self.column(*at)[..j]);
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
        let mut late: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for &point in points.iter().filter(|&&p| self.computed[p] + MISSED <= now) {
            late.entry(self.computed[point]).or_default().push(point);
        }
        for (from, group) in late.iter().filter(|(_, group)| group.len() >= TOGETHER) {
            group.chunks(GROUP).try_for_each(|part| self.refresh_together(part, *from))?;
        }
        let points: Vec<usize> = points.iter().copied().filter(|&p| self.computed[p] < now).collect();
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
