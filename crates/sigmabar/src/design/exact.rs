//! The exact posterior variance of many points while measurements are added: for fewer measurements than a dictionary would have inducing points.

use super::pairs::{Vectors, for_each_pair, padded};
use super::queue::Stale;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::points::{Points, PointsRef};
use pulp::Arch;
use rayon::prelude::*;
use sigmabar_linalg::{check_interrupt, parallel, zeros};

/// Measured points whose entries share a pass over the entries before them. A point comes on by one block at a time: often it is far from the largest then.
const BLOCK: usize = 32;
/// Points brought on by one task, side by side in vector registers.
const TASK: usize = 16;
/// Below this many multiplications points are brought on by one thread.
const PARALLEL_WORK: usize = 1 << 18;
/// Multiplications in the time of one kernel value.
const KERNEL_WORK: usize = 64;

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
    /// $\sqrt{\tau^2+\sigma^2(x)}$ of the measured points just before.
    roots: Vec<f64>,
    /// The columns of the measured points as they were just before, one after the other.
    factor: Vec<f64>,
    /// Coordinates of the measured points, one after the other.
    sites: Vec<f64>,
    gain: f64,
}

/// A point being brought on.
struct Late<'a> {
    point: usize,
    computed: usize,
    column: &'a mut [f64],
    variance: f64,
}

impl<'a> ExactSweep<'a> {
    pub fn new(kernel: &'a Kernel, ridge: f64, points: PointsRef<'a>, most: usize) -> Self {
        let width = padded(most);
        Self {
            entries: zeros(points.len() * width),
            computed: vec![0; points.len()],
            variance: kernel.diagonal(points),
            roots: Vec::with_capacity(most),
            factor: Vec::with_capacity(most * width),
            sites: Vec::with_capacity(most * points.dim()),
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
        while !self.is_fresh(at) {
            self.refresh(&mut [at])?;
        }
        let (variance, tau2) = (self.variance[at], self.ridge.powi(2));
        self.gain += 0.5 * (variance / tau2).ln_1p();
        self.factor.extend_from_slice(&self.entries[at * self.width..(at + 1) * self.width]);
        self.sites.extend_from_slice(self.points.row(at));
        self.roots.push((tau2 + variance).sqrt());
        Ok(())
    }

    /// Where the block ends that a point with so many entries is in.
    fn end(&self, entries: usize) -> usize {
        self.roots.len().min(entries / BLOCK * BLOCK + BLOCK)
    }

    /// Brings columns and variances of at most [`TASK`] points to the end of the block they are in, the latest point first:
    /// $g_j(x) = (k(x,x_j) - \sum_{l<j}g_l(x)g_l(x_j))/\sqrt{\tau^2+\sigma^2(x_j)}$. The sum over the blocks before is taken for several points and
    /// measurements at once, the rest by all points side by side. No entry depends on the company in which it is computed.
    fn complete(&self, late: &mut [Late<'_>]) -> Result<()> {
        let from = late[0].computed;
        let (start, end) = (from / BLOCK * BLOCK, self.end(from));
        let (first, count) = (from - start, end - start);
        let mut block = [[0.0; TASK]; BLOCK];
        let before: Vec<&[f64]> = late.iter().map(|l| &l.column[..start]).collect();
        let vectors = Vectors { entries: &self.factor[start * self.width..end * self.width], width: self.width, triangular: false };
        for_each_pair(&before, vectors, first, |r, j, sum| block[j][r] = sum);
        // One row for each measurement and not for each point: often there is one that is new to many.
        let dim = self.points.dim();
        let rows = late.iter().map(|l| self.points.row(l.point)).collect::<Vec<_>>().concat();
        let sites = Points::from_valid(self.sites[from * dim..end * dim].to_vec(), dim);
        let mut values = [0.0; TASK * BLOCK];
        let values = &mut values[..late.len() * (end - from)];
        self.kernel.prepare(Points::from_valid(rows, dim).view())?.rows_into(sites.view(), values);
        for (r, late) in late.iter().enumerate() {
            late.column[start..from].iter().zip(&mut block).for_each(|(&known, row)| row[r] = known);
        }
        for (values, row) in values.chunks_exact(late.len()).zip(&mut block[first..]) {
            values.iter().zip(row).for_each(|(value, entry)| *entry = value - *entry);
        }
        let (mut lost, mut variances) = ([0; TASK], [0.0; TASK]);
        for (r, late) in late.iter().enumerate() {
            (lost[r], variances[r]) = (late.computed - start, late.variance);
        }
        self.solve(start, first, &mut block[..count], &lost, &mut variances);
        for (r, late) in late.iter_mut().enumerate() {
            late.column[start..end].iter_mut().zip(&block).for_each(|(entry, row)| *entry = row[r]);
            (late.computed, late.variance) = (end, variances[r]);
        }
        Ok(())
    }

    /// Entries from number `first` of a block on, the ones before them in the block known: one row an entry, one column a point. The variance of a point loses
    /// those that it has not `lost` already.
    fn solve(&self, start: usize, first: usize, block: &mut [[f64; TASK]], lost: &[usize; TASK], variances: &mut [f64; TASK]) {
        Arch::new().dispatch(|| {
            for j in first..block.len() {
                let (known, rest) = block.split_at_mut(j);
                let (row, root) = (&mut rest[0], self.roots[start + j]);
                let mut sum = *row;
                for (known, factor) in known.iter().zip(&self.factor[(start + j) * self.width + start..]) {
                    sum.iter_mut().zip(known).for_each(|(s, k)| *s -= factor * k);
                }
                row.iter_mut().zip(sum).for_each(|(entry, s)| *entry = s / root);
                for ((variance, entry), &lost) in variances.iter_mut().zip(row).zip(lost) {
                    let less = (*variance - *entry * *entry).max(0.0);
                    *variance = if j < lost { *variance } else { less };
                }
            }
        });
    }
}

impl Stale for ExactSweep<'_> {
    /// A block of entries is soon done: what a point needs at the next steps it may as well get with many others.
    const REACH: f64 = 4.0;

    fn is_fresh(&self, point: usize) -> bool {
        self.computed[point] == self.roots.len()
    }

    fn upper_rank(&self, point: usize) -> f64 {
        self.variance[point]
    }

    fn refresh(&mut self, points: &mut [usize]) -> Result<()> {
        check_interrupt();
        points.sort_unstable();
        let mut entries = std::mem::take(&mut self.entries);
        let mut late = Vec::with_capacity(points.len());
        let (mut rest, mut next) = (&mut entries[..], 0);
        for &point in &*points {
            let (column, after) = rest[(point - next) * self.width..].split_at_mut(self.width);
            late.push(Late { point, computed: self.computed[point], column, variance: self.variance[point] });
            (rest, next) = (after, point + 1);
        }
        // Equally late points side by side share the passes over the factor.
        late.sort_by_key(|l| l.computed);
        let work: usize = late.iter().map(|l| (self.end(l.computed) - l.computed) * (l.computed + KERNEL_WORK)).sum();
        let same_block = |a: &Late<'_>, b: &Late<'_>| a.computed / BLOCK == b.computed / BLOCK;
        let mut tasks: Vec<&mut [Late<'_>]> = late.chunk_by_mut(same_block).flat_map(|block| block.chunks_mut(TASK)).collect();
        let done = if work < PARALLEL_WORK {
            tasks.iter_mut().try_for_each(|task| self.complete(task))
        } else {
            parallel(|watch| {
                tasks.par_iter_mut().try_for_each(|task| {
                    watch.check();
                    self.complete(task)
                })
            })
        };
        for Late { point, computed, variance, .. } in late {
            self.computed[point] = computed;
            self.variance[point] = variance;
        }
        self.entries = entries;
        done
    }
}

#[cfg(test)]
mod tests {
    use super::super::queue::Queue;
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// Picks and the bits of their variances; with `all` every point is brought up to date at every step.
    fn choose(kernel: &Kernel, ridge: f64, points: &Points, count: usize, all: bool) -> Vec<(usize, u64)> {
        let mut sweep = ExactSweep::new(kernel, ridge, points.view(), count);
        let mut queue = Queue::new(&sweep, points.len());
        let mut picks = Vec::new();
        for _ in 0..count {
            if all {
                let mut stale: Vec<usize> = (0..points.len()).filter(|&i| !sweep.is_fresh(i)).collect();
                sweep.refresh(&mut stale).expect("refreshes");
                queue = Queue::new(&sweep, points.len());
            }
            let best = queue.largest(&mut sweep).expect("finds");
            picks.push((best, sweep.variance(best).to_bits()));
            sweep.pick(best).expect("picks");
        }
        picks
    }

    /// The rows of the factor one after the other, by plain loops; the first of the largest each time.
    fn plain(kernel: &Kernel, ridge: f64, points: &Points, count: usize) -> Vec<(usize, f64)> {
        let mut variance = kernel.diagonal(points.view());
        let (mut rows, mut picks): (Vec<Vec<f64>>, Vec<(usize, f64)>) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let best = (1..variance.len()).fold(0, |best, i| if variance[i] > variance[best] { i } else { best });
            picks.push((best, variance[best]));
            let root = (variance[best] + ridge * ridge).sqrt();
            let entry = |i: usize| kernel.value(points.row(best), points.row(i)) - rows.iter().map(|row| row[best] * row[i]).sum::<f64>();
            let row: Vec<f64> = (0..points.len()).map(|i| entry(i) / root).collect();
            variance.iter_mut().zip(&row).for_each(|(v, g)| *v -= g * g);
            rows.push(row);
        }
        picks
    }

    #[test]
    fn late_entries_are_those_of_the_plain_loop_to_the_last_bit_of_early_ones() {
        for seed in 0..12 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let (n, dim) = (rng.random_range(30..300), rng.random_range(1..5));
            let points = Points::new((0..n * dim).map(|_| rng.random()).collect(), dim).expect("finite");
            let kernel = if seed % 3 == 0 { Kernel::squared_exponential(0.4, 0.8) } else { Kernel::matern(2.5, 0.5, 1.3) }.expect("valid");
            let (ridge, count) = ([0.3, 0.1, 0.03][seed as usize % 3], rng.random_range(20..140));
            let lazy = choose(&kernel, ridge, &points, count, false);
            assert_eq!(lazy, choose(&kernel, ridge, &points, count, true), "seed {seed}");
            for ((at, bits), (expected, variance)) in lazy.into_iter().zip(plain(&kernel, ridge, &points, count)) {
                assert_eq!(at, expected, "seed {seed}");
                assert!((f64::from_bits(bits) - variance).abs() < 1e-11, "seed {seed}: {} and {variance}", f64::from_bits(bits));
            }
        }
    }

    #[test]
    fn a_point_comes_on_by_one_block_and_the_blocks_add_up_to_the_last_bit() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let points = Points::new((0..400).map(|_| rng.random()).collect(), 2).expect("finite");
        let kernel = Kernel::matern(1.5, 0.5, 1.3).expect("valid");
        let (late, count) = (199, 2 * BLOCK + 7);
        let (mut sweep, mut early) = [(); 2].map(|()| ExactSweep::new(&kernel, 0.1, points.view(), count)).into();
        let mut variances = vec![early.variance(late)];
        for at in 0..count {
            sweep.pick(at).expect("picks");
            early.pick(at).expect("picks");
            early.refresh(&mut [late]).expect("refreshes");
            variances.push(early.variance(late));
        }
        for entries in [0, BLOCK, 2 * BLOCK, count] {
            assert_eq!(sweep.computed[late], entries);
            assert_eq!(sweep.variance(late).to_bits(), variances[entries].to_bits(), "after {entries} measurements");
            if !sweep.is_fresh(late) {
                sweep.refresh(&mut [late]).expect("refreshes");
            }
        }
        assert!(sweep.is_fresh(late));
    }
}
