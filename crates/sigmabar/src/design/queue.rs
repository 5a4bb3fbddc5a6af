//! The largest variance without looking at every candidate.

use crate::error::Result;

/// Candidates of which the largest key is kept: whoever looks for large ones passes over the others in one step.
const GROUP: usize = 64;

/// Candidates whose values only fall, and are computed when looked at.
pub(crate) trait Stale {
    /// How much farther than at the step before candidates are looked at in the first round of a step. Far where a look is cheap against waking the threads.
    const REACH: f64 = 1.0;

    /// Whether the value is that of now.
    fn is_fresh(&self, candidate: usize) -> bool;
    /// An upper bound of what it is ranked by now; of a fresh candidate the rank itself.
    fn upper_rank(&self, candidate: usize) -> f64;
    /// Brings these candidates, none of them fresh, up to date or nearer to it; it may put them in another order.
    fn refresh(&mut self, candidates: &mut [usize]) -> Result<()>;
}

/// Stale values: since $\bar\sigma$ only falls, a value once computed stays an upper bound, and the largest is the maximum as soon as it is fresh
/// (algorithm notes 0.5).
pub(crate) struct Queue {
    keys: Vec<f64>,
    /// The largest key of each [`GROUP`].
    tops: Vec<f64>,
    /// [`Stale::REACH`] times as far as the largest key fell for the largest value before: candidates so near to it are refreshed together. Few where few are
    /// needed, and few rounds where many are: each round wakes the threads anew.
    reach: f64,
}

impl Queue {
    /// Of the first `count` candidates.
    pub fn new(sweep: &impl Stale, count: usize) -> Self {
        let keys: Vec<f64> = (0..count).map(|i| sweep.upper_rank(i)).collect();
        let tops = keys.chunks(GROUP).map(largest).collect();
        Self { keys, tops, reach: 0.0 }
    }

    /// The candidate with the largest variance, fresh; among equals the lowest number.
    pub fn largest<S: Stale>(&mut self, sweep: &mut S) -> Result<usize> {
        let before = self.keys[self.top()];
        let (mut reach, mut fresh) = (self.reach, f64::NEG_INFINITY);
        loop {
            let top = self.top();
            let fallen = before - self.keys[top];
            if sweep.is_fresh(top) {
                self.reach = S::REACH * fallen;
                return Ok(top);
            }
            reach = reach.max(fallen);
            // Below what is fresh nothing can be the largest. The top itself is looked at in any case.
            let bar = fresh.max(self.keys[top] - reach).min(self.keys[top]);
            let mut stale = self.stale_above(bar, sweep);
            sweep.refresh(&mut stale)?;
            for &i in &stale {
                self.keys[i] = sweep.upper_rank(i);
                if sweep.is_fresh(i) {
                    fresh = fresh.max(self.keys[i]);
                }
            }
            for same in stale.chunk_by(|a, b| a / GROUP == b / GROUP) {
                self.tops[same[0] / GROUP] = largest(self.group(same[0] / GROUP));
            }
            reach *= 2.0;
        }
    }

    fn group(&self, number: usize) -> &[f64] {
        &self.keys[number * GROUP..self.keys.len().min((number + 1) * GROUP)]
    }

    /// The candidate with the largest key; among equals the lowest number.
    fn top(&self) -> usize {
        let top = largest(&self.tops);
        let place = |keys: &[f64]| keys.iter().position(|&key| key == top).unwrap_or(0);
        let group = place(&self.tops);
        group * GROUP + place(self.group(group))
    }

    /// Stale candidates with keys of at least `bar`.
    fn stale_above(&self, bar: f64, sweep: &impl Stale) -> Vec<usize> {
        let groups = (0..self.tops.len()).filter(|&group| self.tops[group] >= bar);
        let near = groups.flat_map(|group| (group * GROUP..).zip(self.group(group))).filter(|&(_, &key)| key >= bar);
        near.map(|(candidate, _)| candidate).filter(|&i| !sweep.is_fresh(i)).collect()
    }
}

/// The largest number, in lanes that a vector register holds.
fn largest(numbers: &[f64]) -> f64 {
    let mut lanes = [f64::NEG_INFINITY; 8];
    for some in numbers.chunks(8) {
        lanes.iter_mut().zip(some).for_each(|(lane, &number)| *lane = if number > *lane { number } else { *lane });
    }
    lanes.into_iter().fold(f64::NEG_INFINITY, f64::max)
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

    /// Values that have fallen by now, and which of them are known.
    struct Fallen {
        upper: Vec<f64>,
        now: Vec<f64>,
        looked_at: usize,
    }

    impl Stale for Fallen {
        fn is_fresh(&self, candidate: usize) -> bool {
            self.upper[candidate] == self.now[candidate]
        }

        fn upper_rank(&self, candidate: usize) -> f64 {
            self.upper[candidate]
        }

        /// Half of the way, and the rest once that is short.
        fn refresh(&mut self, candidates: &mut [usize]) -> Result<()> {
            for &i in &*candidates {
                let (upper, now) = (self.upper[i], self.now[i]);
                self.upper[i] = if upper - now > 0.01 { 0.5 * (upper + now) } else { now };
                self.looked_at += 1;
            }
            candidates.reverse();
            Ok(())
        }
    }

    #[test]
    fn the_first_of_the_largest_is_found_without_bringing_all_up_to_date() {
        for seed in 0..200 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let n = rng.random_range(1..2000);
            // Coarse, so that there are ties.
            let now: Vec<f64> = (0..n).map(|_| f64::from(rng.random_range(0..100_u8)) / 128.0).collect();
            let upper = now.iter().map(|v| v + f64::from(rng.random_range(0..8_u8)) / 128.0).collect();
            let mut values = Fallen { upper, now, looked_at: 0 };
            let mut queue = Queue::new(&values, n);
            for _ in 0..20 {
                let best = (1..n).fold(0, |best, i| if values.now[i] > values.now[best] { i } else { best });
                assert_eq!(queue.largest(&mut values).expect("finds"), best, "seed {seed}");
                let share = if seed % 2 == 0 { 1.0 } else { 0.9 };
                values.now.iter_mut().for_each(|v| *v *= share);
                values.now[best] *= 0.5;
            }
            if n > 1000 && seed % 2 == 0 {
                assert!(values.looked_at < n, "seed {seed}: {} looks at {n} candidates in 20 steps", values.looked_at);
            }
        }
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
