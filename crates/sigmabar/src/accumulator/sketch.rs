//! What is remembered of rows: whether any were summed twice, from a few of them; whether they are the same as before, from all.

use crate::points::row_hash;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How many rows are watched.
pub(crate) const WATCHED: usize = 256;
/// Into how many groups all rows are dealt, and how many signs every row has.
const GROUPS: usize = 64;
const SIGNS: usize = 64;
/// How much larger than for distinct rows the squares of a group, and of all groups, must be to tell of copies: distinct rows exceed either with probability
/// below $10^{-5}$, as a mean of $\chi^2_1$.
const GROUP_EXCESS: f64 = 2.4;
const WHOLE_EXCESS: f64 = 1.15;

/// What tells of rows that came more than once, whatever the parts and the order they came in.
///
/// The rows of the smallest hashes are counted: of a table that is there twice nothing escapes, of a share $p$ of doubled rows all escape with probability
/// $(1-p)^{256}$. One row that came often is rarely among them. So every row also adds its own random signs to 64 sums of its group: of $n$ distinct rows
/// their squares are $n$ in the mean, of a row that came $c$ times $c^2$.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sketch {
    watched: BTreeMap<u64, u32>,
    rows: Vec<u64>,
    signed: Vec<i64>,
}

impl Default for Sketch {
    fn default() -> Self {
        Self { watched: BTreeMap::new(), rows: vec![0; GROUPS], signed: vec![0; GROUPS * SIGNS] }
    }
}

impl Sketch {
    /// Saved: two bytes for a sum of signs, ten for a hash and one for its count, up to four for the rows of a group.
    pub const BYTES: usize = 2 * GROUPS * SIGNS + 11 * WATCHED + 4 * GROUPS;

    pub fn add(&mut self, point: &[f64], response: f64) {
        let hash = row_hash(point, response);
        self.count(hash, 1);
        // Bits other than those that decide which rows are watched.
        let group = (hash % GROUPS as u64) as usize;
        let signs = row_hash(&[], f64::from_bits(hash >> 2));
        self.rows[group] += 1;
        let signed = &mut self.signed[group * SIGNS..][..SIGNS];
        signed.iter_mut().enumerate().for_each(|(bit, sum)| *sum += 2 * (signs >> bit & 1).cast_signed() - 1);
    }

    pub fn merge(&mut self, other: &Self) {
        other.watched.iter().for_each(|(&hash, &times)| self.count(hash, times));
        self.rows.iter_mut().zip(&other.rows).for_each(|(a, b)| *a += b);
        self.signed.iter_mut().zip(&other.signed).for_each(|(a, b)| *a += b);
    }

    /// Whether a row of one of these hashes is among those watched.
    pub fn holds_any(&self, hashes: &[u64]) -> bool {
        hashes.iter().any(|hash| self.watched.contains_key(hash))
    }

    /// About how many rows equal another in every number, rather too few: those among the watched, or the fewest that explain the squares.
    pub fn copies(&self) -> usize {
        let watched = self.watched.values().map(|times| *times as usize - 1).sum::<usize>();
        let squares = self.signed.chunks_exact(SIGNS).map(|group| group.iter().map(|&s| (s as f64).powi(2)).sum::<f64>() / SIGNS as f64);
        let groups: Vec<(f64, f64)> = squares.zip(&self.rows).map(|(squares, &rows)| (squares, rows as f64)).collect();
        let whole = groups.iter().fold((0.0, 0.0), |sum, group| (sum.0 + group.0, sum.1 + group.1));
        let told = groups.iter().map(|g| (g, GROUP_EXCESS)).chain([(&whole, WHOLE_EXCESS)]);
        // c(c − 1) more than the rows themselves are c − 1 copies of one row.
        let fewest = told.filter(|((squares, rows), excess)| *squares > excess * rows).map(|((squares, rows), _)| (squares - rows).sqrt());
        watched.max(fewest.fold(0.0, f64::max) as usize)
    }

    /// A hash that is dropped is never among the smallest again: counts of those kept are complete.
    fn count(&mut self, hash: u64, times: u32) {
        if self.watched.len() == WATCHED && self.watched.last_key_value().is_some_and(|(&last, _)| hash > last) {
            return;
        }
        let known = self.watched.entry(hash).or_default();
        *known = known.saturating_add(times);
        if self.watched.len() > WATCHED {
            self.watched.pop_last();
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

    /// What [`Digest::from`] takes: for engines that send it between their passes.
    #[must_use]
    pub fn value(self) -> u64 {
        self.0
    }
}

impl From<u64> for Digest {
    fn from(value: u64) -> Self {
        Self(value)
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
        let whole = of(&mut (2000..5000).rev().chain(0..3000));
        assert_eq!((&first.watched, &first.rows, &first.signed), (&whole.watched, &whole.rows, &whole.signed));
        assert!((20..90).contains(&first.copies()), "a fifth of 256: {}", first.copies());
    }

    /// A few rows that came often, in a table of twenty thousand: none is likely to be watched.
    #[test]
    fn rows_that_came_often_are_found_and_distinct_rows_never() {
        for seed in 0..40_usize {
            let row = |i: usize| ([(seed * 1_000_003 + i) as f64, 0.5], ((seed + 7 * i) as f64).sin());
            let with = |n: usize, often: usize, times: usize| {
                let mut sketch = Sketch::default();
                (0..n).chain((0..often).flat_map(|i| std::iter::repeat_n(i, times))).for_each(|i| sketch.add(&row(i).0, row(i).1));
                sketch.copies()
            };
            assert_eq!([1, 2, 5, 300, 20_000].map(|n| with(n, 0, 0)), [0; 5]);
            for (often, times) in [(1, 5000), (1, 300), (1, 60), (20, 50), (100, 20)] {
                let found = with(20_000, often, times);
                assert!(found > 0 && found <= 2 * often * times, "{often} rows {times} times: {found}");
            }
        }
    }
}
