//! What is remembered of rows: whether any were summed twice, from a few of them; whether they are the same as before, from all.

use crate::points::row_hash;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How many rows are watched.
const WATCHED: usize = 256;

/// The rows of the smallest hashes, each with how often it came. Which these are depends on the rows alone, not on their order, so that sketches of parts merge into
/// that of the whole: of a table that is there twice nothing escapes, of a share $p$ of doubled rows all escape with probability $(1-p)^{256}$.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sketch(BTreeMap<u64, u32>);

impl Sketch {
    pub fn add(&mut self, point: &[f64], response: f64) {
        self.count(row_hash(point, response), 1);
    }

    pub fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|(&hash, &times)| self.count(hash, times));
    }

    /// Rows, of those watched, that equal another in every number.
    pub fn copies(&self) -> usize {
        self.0.values().map(|times| *times as usize - 1).sum()
    }

    /// A hash that is dropped is never among the smallest again: counts of those kept are complete.
    fn count(&mut self, hash: u64, times: u32) {
        if self.0.len() == WATCHED && self.0.last_key_value().is_some_and(|(&last, _)| hash > last) {
            return;
        }
        let known = self.0.entry(hash).or_default();
        *known = known.saturating_add(times);
        if self.0.len() > WATCHED {
            self.0.pop_last();
        }
    }
}

/// A hash of rows in their order: rows that are others, or come in another order, have another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digest(u64);

impl Digest {
    /// Adds a row. A NaN, which stands for a missing value, counts as well.
    pub fn add(&mut self, point: &[f64], response: f64) {
        // Odd, so that nothing is lost; multiplied after every row, so that the order counts.
        self.0 = (self.0.rotate_left(23) ^ row_hash(point, response)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_rows_and_another_order_have_another_digest() {
        let of = |rows: &[(f64, f64)]| {
            let mut digest = Digest::default();
            rows.iter().for_each(|(x, y)| digest.add(&[*x], *y));
            digest
        };
        let rows = [(0.1, 1.0), (0.2, f64::NAN), (0.3, 3.0)];
        assert_eq!(of(&rows), of(&rows));
        let others = [[rows[1], rows[0], rows[2]], [rows[0], rows[2], rows[1]], [rows[0], rows[1], (0.3, 3.0 + 1e-15)]];
        others.iter().for_each(|other| assert_ne!(of(other), of(&rows), "{other:?}"));
        assert_ne!(of(&rows[..2]), of(&rows));
    }

    #[test]
    fn what_comes_twice_is_found_in_whatever_parts_it_comes() {
        let row = |i: usize| ([i as f64, 0.5], (i as f64).sin());
        let of = |rows: &mut dyn Iterator<Item = usize>| {
            let mut sketch = Sketch::default();
            rows.for_each(|i| sketch.add(&row(i).0, row(i).1));
            sketch
        };
        let (mut first, second) = (of(&mut (0..3000)), of(&mut (2000..5000)));
        assert_eq!((first.copies(), second.copies()), (0, 0));
        first.merge(&second);
        assert_eq!(first.0, of(&mut (2000..5000).rev().chain(0..3000)).0);
        assert!((20..90).contains(&first.copies()), "a fifth of 256: {}", first.copies());
    }
}
