//! Rows picked by their hash: the same ones whoever looks, in whatever order, and mergeable.

use crate::error::{Result, same_length};
use crate::points::mixed;
use serde::{Deserialize, Serialize};

/// A row by its place in the data: its chunk, and its number there from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RowPlace {
    /// The chunk.
    pub chunk: u64,
    /// The row within it.
    pub row: u64,
}

impl RowPlace {
    /// 64 bits that look random, made of seed and place alone: three rounds of the finaliser of SplitMix64.
    #[must_use]
    pub fn hash(self, seed: u64) -> u64 {
        [self.chunk, self.row]
            .into_iter()
            .fold(mix(seed ^ 0x7361_6d70_6c65_5f32), |h, part| mix(h ^ part.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }
}

fn mix(z: u64) -> u64 {
    mixed(z.wrapping_add(0x9e37_79b9_7f4a_7c15))
}

/// A set of rows known by their hashes: those up to a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picked {
    seed: u64,
    through: (u64, RowPlace),
}

impl Picked {
    /// About this share of all rows.
    #[must_use]
    pub fn share(seed: u64, share: f64) -> Option<Self> {
        let limit = (share.clamp(0.0, 1.0) * 2.0_f64.powi(64)) as u64;
        (limit > 0).then(|| Self { seed, through: (limit - 1, RowPlace { chunk: u64::MAX, row: u64::MAX }) })
    }

    /// Those whose hash comes no later than this one, at this place.
    #[must_use]
    pub fn through(seed: u64, hash: u64, place: RowPlace) -> Self {
        Self { seed, through: (hash, place) }
    }

    /// Whether a row is one of them.
    #[must_use]
    pub fn contains(&self, place: RowPlace) -> bool {
        (place.hash(self.seed), place) <= self.through
    }
}

/// The rows of smallest hash, at most so many: a sample without repetition that merges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowSample {
    seed: u64,
    size: usize,
    width: usize,
    /// Neither sampled nor counted.
    without: Vec<Picked>,
    /// Up to twice as many as wanted.
    rows: Vec<Row>,
    /// Rows from here on are none of the smallest.
    limit: Option<(u64, RowPlace)>,
    seen: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Row {
    hash: u64,
    place: RowPlace,
    /// The point and, last, its response.
    values: Vec<f64>,
}

impl RowSample {
    /// An empty sample of rows of `width` values, all but those that are `without`.
    #[must_use]
    pub fn new(seed: u64, size: usize, width: usize, without: Vec<Picked>) -> Self {
        Self { seed, size: size.max(1), width, without, rows: Vec::new(), limit: None, seen: 0 }
    }

    /// Offers a row; one with a value that is not finite is passed over.
    ///
    /// # Errors
    /// [`crate::Error::Length`] for a row of another width.
    pub fn offer(&mut self, place: RowPlace, values: &[f64]) -> Result<()> {
        same_length("a row", self.width, values.len())?;
        if values.iter().any(|v| !v.is_finite()) || self.without.iter().any(|picked| picked.contains(place)) {
            return Ok(());
        }
        self.seen += 1;
        let hash = place.hash(self.seed);
        if self.limit.is_none_or(|limit| (hash, place) < limit) {
            self.rows.push(Row { hash, place, values: values.to_vec() });
        }
        if self.rows.len() >= 2 * self.size {
            self.trim();
        }
        Ok(())
    }

    /// Adds what another sample of the same kind found elsewhere.
    pub fn merge(&mut self, other: Self) {
        self.seen += other.seen;
        self.rows.extend(other.rows);
        self.trim();
    }

    /// Keeps at most so many of the rows, those of smallest hash.
    pub fn shrink(&mut self, size: usize) {
        self.size = self.size.min(size.max(1));
        self.trim();
    }

    /// Leaves out rows that belong to another set.
    pub fn drop_picked(&mut self, picked: &Picked) {
        self.rows.retain(|row| !picked.contains(row.place));
    }

    fn trim(&mut self) {
        self.rows.sort_by_key(|row| (row.hash, row.place));
        self.rows.dedup_by_key(|row| row.place);
        self.rows.truncate(self.size);
        self.limit = self.rows.get(self.size - 1).map(|last| (last.hash, last.place));
    }

    /// Rows that were looked at.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The points and responses of the sample, row after row, in the order of the data; and the set of their places.
    #[must_use]
    pub fn finish(mut self) -> (Vec<f64>, Vec<f64>, Option<Picked>) {
        self.trim();
        let picked = self.rows.last().map(|last| Picked { seed: self.seed, through: (last.hash, last.place) });
        self.rows.sort_by_key(|row| row.place);
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for row in &self.rows {
            if let Some((response, point)) = row.values.split_last() {
                x.extend_from_slice(point);
                y.push(*response);
            }
        }
        (x, y, picked)
    }
}
