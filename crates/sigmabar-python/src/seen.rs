//! Which rows something was learnt on: enough to notice when it is used on them again (algorithm notes 12, P6).

use sigmabar::{Origin, PointsRef};

/// How many hashes are kept.
const KEPT: usize = 256;

/// The smallest hashes of some rows with their responses, in order. Whatever two sets of rows share below the larger hashes of either is in both samples: of a
/// set and a part of it nothing is overlooked that the sample of the larger one holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen(Vec<u64>);

impl Seen {
    /// Of rows and their responses.
    pub fn of(x: PointsRef<'_>, y: &[f64]) -> Self {
        x.rows().zip(y).map(|(row, y)| hash(row.iter().chain([y]))).collect::<Vec<u64>>().into()
    }

    /// Of both together.
    pub fn with(&self, other: &Self) -> Self {
        self.0.iter().chain(&other.0).copied().collect::<Vec<u64>>().into()
    }

    /// Whether some row is in both.
    pub fn meets(&self, other: &Self) -> bool {
        self.0.iter().any(|hash| other.0.binary_search(hash).is_ok())
    }

    /// Where something learnt on these rows came from, for a claim about others: from elsewhere is believed only while no row is the same.
    pub fn origin_on(&self, said: Origin, rows: &Self) -> Origin {
        if said == Origin::LearntElsewhere && self.meets(rows) { Origin::LearntHere } else { said }
    }

    pub fn hashes(&self) -> &[u64] {
        &self.0
    }
}

impl From<Vec<u64>> for Seen {
    fn from(mut hashes: Vec<u64>) -> Self {
        hashes.sort_unstable();
        hashes.dedup();
        hashes.truncate(KEPT);
        Self(hashes)
    }
}

/// The finaliser of `splitmix64` over the bits of the numbers, with −0 equal to 0.
fn hash<'a>(values: impl Iterator<Item = &'a f64>) -> u64 {
    values.fold(0x9e37_79b9_7f4a_7c15, |state, value| {
        let bits = if *value == 0.0 { 0 } else { value.to_bits() };
        let mixed = (state ^ bits).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    })
}
