//! What sums remember of their rows: whether any came twice, from all of a small table and from a share of a large one.

use super::row_hash;
use serde::{Deserialize, Serialize};

/// How many rows are watched.
pub(crate) const WATCHED: usize = 1 << 14;
/// Into how many groups all rows are dealt, and how many signs every row has.
const GROUPS: usize = 64;
const SIGNS: usize = 64;
/// How much larger than for distinct rows the squares of a group, and of all groups, must be to tell of copies: distinct rows exceed either with probability
/// below $10^{-5}$, as a mean of $\chi^2_1$.
const GROUP_EXCESS: f64 = 2.4;
const WHOLE_EXCESS: f64 = 1.15;

/// What tells of rows that came more than once, whatever the parts and the order they came in.
///
/// The rows of the 16 384 smallest hashes are counted. Up to so many rows are all of them, and nothing escapes; of a larger table a share $p$ of doubled rows
/// escapes with probability $(1-p)^{16384}$. One row that came often is rarely among them. So every row also adds its own random signs to 64 sums of its group: of
/// $n$ distinct rows their squares are $n$ in the mean, of a row that came $c$ times $c^2$.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sketch {
    /// How often each came, by increasing hash.
    watched: Vec<(u64, u32)>,
    rows: Vec<u64>,
    signed: Vec<i64>,
}

impl Default for Sketch {
    fn default() -> Self {
        Self { watched: Vec::new(), rows: vec![0; GROUPS], signed: vec![0; GROUPS * SIGNS] }
    }
}

impl Sketch {
    /// Saved, of so many rows: two bytes for a sum of signs, ten for a hash and one for its count, up to four for the rows of a group.
    pub fn bytes(rows: usize) -> usize {
        2 * GROUPS * SIGNS + 11 * rows.min(WATCHED) + 4 * GROUPS
    }

    /// Of rows with these hashes ([`row_hash`]).
    pub fn of(hashes: &[u64]) -> Self {
        let mut sketch = Self::default();
        sketch.add(hashes);
        sketch
    }

    /// More rows, by their hashes. Cost O(n log n), and once that of looking at all that are watched.
    pub fn add(&mut self, hashes: &[u64]) {
        for hash in hashes {
            // Bits other than those that decide which rows are watched.
            let group = (hash % GROUPS as u64) as usize;
            let signs = row_hash(&[], f64::from_bits(hash >> 2));
            self.rows[group] += 1;
            let signed = &mut self.signed[group * SIGNS..][..SIGNS];
            signed.iter_mut().enumerate().for_each(|(bit, sum)| *sum += 2 * (signs >> bit & 1).cast_signed() - 1);
        }
        let bar = if self.is_whole() { u64::MAX } else { self.watched[WATCHED - 1].0 };
        let mut low: Vec<(u64, u32)> = hashes.iter().filter(|hash| **hash <= bar).map(|hash| (*hash, 1)).collect();
        low.sort_unstable();
        self.count(&low);
    }

    pub fn merge(&mut self, other: &Self) {
        self.count(&other.watched);
        self.rows.iter_mut().zip(&other.rows).for_each(|(a, b)| *a += b);
        self.signed.iter_mut().zip(&other.signed).for_each(|(a, b)| *a += b);
    }

    /// Whether a row of this hash is among those watched.
    pub fn holds(&self, hash: u64) -> bool {
        self.watched.binary_search_by_key(&hash, |row| row.0).is_ok()
    }

    /// Whether every row is watched.
    pub fn is_whole(&self) -> bool {
        self.watched.len() < WATCHED
    }

    /// Whether it can be one: asked of what comes from a file.
    pub fn is_consistent(&self) -> bool {
        let counts = self.watched.len() <= WATCHED && self.watched.iter().all(|row| row.1 > 0);
        counts && self.watched.is_sorted_by(|a, b| a.0 < b.0) && self.rows.len() == GROUPS && self.signed.len() == GROUPS * SIGNS
    }

    /// About how many rows equal another in every number, rather too few: those among the watched, or the fewest that explain the squares.
    pub fn copies(&self) -> usize {
        let watched = self.watched.iter().map(|(_, times)| *times as usize - 1).sum::<usize>();
        let squares = self.signed.chunks_exact(SIGNS).map(|group| group.iter().map(|&s| (s as f64).powi(2)).sum::<f64>() / SIGNS as f64);
        let groups: Vec<(f64, f64)> = squares.zip(&self.rows).map(|(squares, &rows)| (squares, rows as f64)).collect();
        let whole = groups.iter().fold((0.0, 0.0), |sum, group| (sum.0 + group.0, sum.1 + group.1));
        let told = groups.iter().map(|g| (g, GROUP_EXCESS)).chain([(&whole, WHOLE_EXCESS)]);
        // c(c − 1) more than the rows themselves are c − 1 copies of one row.
        let fewest = told.filter(|((squares, rows), excess)| *squares > excess * rows).map(|((squares, rows), _)| (squares - rows).sqrt());
        watched.max(fewest.fold(0.0, f64::max) as usize)
    }

    /// Counts rows by increasing hash. A hash that is dropped is never among the smallest again: counts of those kept are complete.
    fn count(&mut self, more: &[(u64, u32)]) {
        if more.is_empty() {
            return;
        }
        let (mut known, mut new) = (self.watched.iter().peekable(), more.iter().peekable());
        let mut both: Vec<(u64, u32)> = Vec::with_capacity(WATCHED.min(self.watched.len() + more.len()));
        loop {
            let is_new = match (known.peek(), new.peek()) {
                (Some(a), Some(b)) => b.0 < a.0,
                (None, Some(_)) => true,
                (Some(_), None) => false,
                (None, None) => break,
            };
            let Some(&(hash, times)) = (if is_new { new.next() } else { known.next() }) else { break };
            let is_full = both.len() == WATCHED;
            match both.last_mut() {
                Some(last) if last.0 == hash => last.1 = last.1.saturating_add(times),
                _ if is_full => break,
                _ => both.push((hash, times)),
            }
        }
        self.watched = both;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_twice_is_found_in_whatever_parts_it_comes() {
        let row = |i: usize| ([i as f64, 0.5], (i as f64).sin());
        let of = |rows: &mut dyn Iterator<Item = usize>| Sketch::of(&rows.map(|i| row_hash(&row(i).0, row(i).1)).collect::<Vec<_>>());
        let (mut first, second) = (of(&mut (0..3000)), of(&mut (2000..5000)));
        assert_eq!((first.copies(), second.copies()), (0, 0));
        first.merge(&second);
        let whole = of(&mut (2000..5000).rev().chain(0..3000));
        assert_eq!(first, whole);
        assert_eq!((first.copies(), first.is_whole()), (1000, true), "all of a small table are watched");
        let mut large = of(&mut (0..60_000));
        let tenth = of(&mut (0..6000));
        tenth.watched.iter().for_each(|(hash, _)| assert!(tenth.holds(*hash)));
        large.merge(&tenth);
        assert!(!large.is_whole() && (1400..1900).contains(&large.copies()), "a tenth of 16384: {}", large.copies());
        assert!(large.is_consistent() && !Sketch { rows: Vec::new(), ..large }.is_consistent());
    }

    #[test]
    fn a_row_that_comes_again_alone_is_found() {
        let hashes: Vec<u64> = (0..10_000).map(|i| row_hash(&[f64::from(i)], 0.5)).collect();
        let mut sketch = Sketch::of(&hashes);
        sketch.add(&hashes[7..8]);
        assert_eq!(sketch.copies(), 1);
    }

    /// A few rows that came often, in a table of which a sixth is watched.
    #[test]
    fn rows_that_came_often_are_found_and_distinct_rows_never() {
        for seed in 0..8_usize {
            let row = |i: usize| ([(seed * 1_000_003 + i) as f64, 0.5], ((seed + 7 * i) as f64).sin());
            let with = |n: usize, often: usize, times: usize| {
                let rows = (0..n).chain((0..often).flat_map(|i| std::iter::repeat_n(i, times)));
                Sketch::of(&rows.map(|i| row_hash(&row(i).0, row(i).1)).collect::<Vec<_>>()).copies()
            };
            assert_eq!([1, 2, 5, 300, 100_000].map(|n| with(n, 0, 0)), [0; 5]);
            for (often, times) in [(1, 5000), (1, 300), (20, 200), (100, 60)] {
                let found = with(100_000, often, times);
                assert!(found > 0 && found <= 2 * often * times, "{often} rows {times} times: {found}");
            }
        }
    }
}
