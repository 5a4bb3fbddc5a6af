//! The largest variance without looking at every candidate.

use super::sweep::Sweep;
use crate::error::Result;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Refreshed at first when the top is stale, then twice as many each time: few where few are needed, blocks where many are.
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

/// A max-heap of stale values: since $\bar\sigma$ only falls, a value once computed stays an upper bound, and the top is the maximum as soon
/// as it is fresh (algorithm notes 0.5).
pub(super) struct Queue {
    heap: BinaryHeap<Entry>,
}

impl Queue {
    pub fn new(sweep: &Sweep<'_>) -> Self {
        let entries: Vec<Entry> = (0..sweep.len()).map(|i| Entry { key: sweep.upper(i), candidate: i as u32 }).collect();
        Self { heap: entries.into() }
    }

    /// The candidate with the largest variance, fresh; among equals the lowest number.
    pub fn largest(&mut self, sweep: &mut Sweep<'_>) -> Result<usize> {
        let mut block = SMALLEST_BLOCK;
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
            sweep.refresh(&mut stale)?;
            self.heap.extend(stale.iter().map(|&i| Entry { key: sweep.value(i), candidate: i as u32 }));
            block = (2 * block).min(LARGEST_BLOCK);
        }
    }
}
