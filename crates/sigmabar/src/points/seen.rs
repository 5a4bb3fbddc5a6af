//! Which rows something was learnt on: enough to notice when it is used on them again (algorithm notes 12, P6).

use super::{PointsRef, row_hash};
use crate::origin::Origin;

/// How many hashes are kept, unless said.
const KEPT: usize = 256;

/// The smallest hashes of some rows with their responses, in order. Whatever two sets of rows share below the larger hashes of either is in both samples: of a
/// set and a part of it nothing is overlooked that the sample of the larger one holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen(Vec<u64>);

impl Seen {
    /// Of rows and their responses.
    #[must_use]
    pub fn of(x: PointsRef<'_>, y: &[f64]) -> Self {
        Self::at_most(KEPT, x, y)
    }

    /// Of rows and their responses, with so many hashes at most.
    #[must_use]
    pub fn at_most(kept: usize, x: PointsRef<'_>, y: &[f64]) -> Self {
        Self::from(x.rows().zip(y).map(|(row, y)| row_hash(row, *y)).collect::<Vec<u64>>()).cut(kept)
    }

    /// Of both together.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        Self::from(self.0.iter().chain(&other.0).copied().collect::<Vec<u64>>()).cut(KEPT)
    }

    fn cut(mut self, kept: usize) -> Self {
        self.0.truncate(kept);
        self
    }

    /// Whether this row with this response is in the sample.
    #[must_use]
    pub fn holds(&self, point: &[f64], response: f64) -> bool {
        self.0.binary_search(&row_hash(point, response)).is_ok()
    }

    /// Whether some row is in both.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        self.0.iter().any(|hash| other.0.binary_search(hash).is_ok())
    }

    /// Where something learnt on these rows came from, for a claim about others: from elsewhere is believed only while no row is the same.
    #[must_use]
    pub fn origin_on(&self, said: Origin, rows: &Self) -> Origin {
        if self.meets(rows) { said.on_own_rows() } else { said }
    }

    /// The hashes, ascending.
    #[must_use]
    pub fn hashes(&self) -> &[u64] {
        &self.0
    }
}

impl From<Vec<u64>> for Seen {
    fn from(mut hashes: Vec<u64>) -> Self {
        hashes.sort_unstable();
        hashes.dedup();
        Self(hashes)
    }
}
