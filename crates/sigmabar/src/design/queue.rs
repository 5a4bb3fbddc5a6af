//! The largest variance without looking at every candidate.

use crate::error::Result;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Refreshed at least when the top is stale: half as many as were needed last time, then twice as many each time. Few where few are needed, and few rounds where
/// many are: each round wakes the threads anew.
const SMALLEST_BLOCK: usize = 4;
const LARGEST_BLOCK: usize = 512;

/// A candidate with an upper bound of what it is ranked by. The larger first; among equals, the lower number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub key: f64,
    pub candidate: u32,
}

impl Entry {
    fn rank(&self) -> (f64, Reverse<u32>) {
        (self.key, Reverse(self.candidate))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        let ((key, number), (other_key, other_number)) = (self.rank(), other.rank());
        key.total_cmp(&other_key).then(number.cmp(&other_number))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

/// Candidates whose values only fall, and are computed when looked at.
pub(crate) trait Stale {
    /// Whether the value is that of now.
    fn is_fresh(&self, candidate: usize) -> bool;
    /// What a fresh candidate is ranked by.
    fn rank(&self, candidate: usize) -> f64;
    /// An upper bound of the rank of now.
    fn upper_rank(&self, candidate: usize) -> f64;
    /// Brings these candidates up to date; it may put them in another order.
    fn refresh(&mut self, candidates: &mut [usize]) -> Result<()>;
}

/// A max-heap of stale values: since $\bar\sigma$ only falls, a value once computed stays an upper bound, and the top is the maximum as soon
/// as it is fresh (algorithm notes 0.5).
pub(crate) struct Queue {
    heap: BinaryHeap<Entry>,
    /// How many were refreshed for the largest value before.
    needed: usize,
}

impl Queue {
    /// Of the first `count` candidates.
    pub fn new(sweep: &impl Stale, count: usize) -> Self {
        let entries: Vec<Entry> = (0..count).map(|i| Entry { key: sweep.upper_rank(i), candidate: i as u32 }).collect();
        Self { heap: entries.into(), needed: 0 }
    }

    /// The candidate with the largest variance, fresh; among equals the lowest number.
    pub fn largest(&mut self, sweep: &mut impl Stale) -> Result<usize> {
        let mut block = (self.needed / 2).clamp(SMALLEST_BLOCK, LARGEST_BLOCK);
        self.needed = 0;
        let mut stale = Vec::with_capacity(LARGEST_BLOCK);
        loop {
            stale.clear();
            while stale.len() < block {
                let Some(top) = self.heap.peek() else { break };
                let candidate = top.candidate as usize;
                if sweep.is_fresh(candidate) {
                    if stale.is_empty() {
                        return Ok(candidate);
                    }
                    break;
                }
                stale.push(candidate);
                self.heap.pop();
            }
            self.needed += stale.len();
            sweep.refresh(&mut stale)?;
            self.heap.extend(stale.iter().map(|&i| Entry { key: sweep.rank(i), candidate: i as u32 }));
            block = (2 * block).min(LARGEST_BLOCK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sweep::Sweep;
    use super::*;
    use crate::features::FeatureMap;
    use crate::kernel::Kernel;
    use crate::points::Points;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use std::sync::Arc;

    /// Picks and the bits of their variances; with `all` every candidate is brought up to date at every step.
    fn choose(points: &Points, features: &Arc<FeatureMap>, ridge: f64, count: usize, memory: usize, all: bool) -> Vec<(usize, u64)> {
        let mut sweep = Sweep::new(Arc::clone(features), ridge, None, points.view(), memory).expect("fits");
        let mut queue = Queue::new(&sweep, sweep.len());
        let mut picks = Vec::new();
        for _ in 0..count {
            if sweep.is_due() {
                sweep.synchronise().expect("factors");
                queue = Queue::new(&sweep, sweep.len());
            }
            let best = if all {
                let mut everyone: Vec<usize> = (0..sweep.len()).collect();
                sweep.refresh(&mut everyone).expect("refreshes");
                (1..sweep.len()).fold(0, |best, i| if sweep.value(i) > sweep.value(best) { i } else { best })
            } else {
                queue.largest(&mut sweep).expect("finds")
            };
            picks.push((best, sweep.value(best).to_bits()));
            sweep.pick(best).expect("picks");
        }
        picks
    }

    #[test]
    fn late_refreshes_change_no_bit() {
        for seed in 0..12 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let (n, dim) = (rng.random_range(20..400), rng.random_range(1..4));
            let points = Points::new((0..n * dim).map(|_| rng.random()).collect(), dim).expect("finite");
            let kernel = if seed % 2 == 0 { Kernel::matern(2.5, 0.5, 1.3) } else { Kernel::squared_exponential(0.4, 0.8) };
            let inducing = points.view().range(0, rng.random_range(3..n.min(70))).to_points();
            let features = Arc::new(FeatureMap::new(kernel.expect("valid"), inducing).expect("fits"));
            let ridge = [0.3, 0.05, 0.003][seed as usize % 3];
            let memory = if seed % 4 == 3 { 0 } else { usize::MAX };
            let lazy = choose(&points, &features, ridge, 1300, memory, false);
            assert_eq!(lazy, choose(&points, &features, ridge, 1300, memory, true), "seed {seed}");
        }
    }
}
