//! The Sobol sequence with Joe and Kuo's direction numbers, scrambled in Owen's sense by a hash in Burley's manner, any point at once.

use crate::error::{Error, Result};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use sobol_qmc::params::JoeKuoD6;
use sobol_qmc::{Sobol, SobolParams};

/// Bits of a coordinate, and of the longest sequence.
const BITS: usize = 32;

/// A scrambled Sobol sequence in $(0,1)^d$: $2^{32}$ points, each computed from its index alone.
///
/// Of the first $2^k$ points, every column has exactly one in each dyadic interval $[i2^{-k},(i+1)2^{-k})$, before and after the scramble;
/// the first two columns have this property for every dyadic rectangle of area $2^{-k}$.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "StoredSequence", try_from = "StoredSequence")]
pub struct SobolSequence {
    seed: u64,
    /// The direction numbers of each column.
    directions: Vec<[u32; BITS]>,
    /// One scramble seed a column.
    scrambles: Vec<u32>,
}

/// The sequence follows from these two.
#[derive(Serialize, Deserialize)]
struct StoredSequence {
    dim: usize,
    seed: u64,
}

impl From<SobolSequence> for StoredSequence {
    fn from(sequence: SobolSequence) -> Self {
        Self { dim: sequence.dim(), seed: sequence.seed }
    }
}

impl TryFrom<StoredSequence> for SobolSequence {
    type Error = Error;
    fn try_from(stored: StoredSequence) -> Result<Self> {
        Self::new(stored.dim, stored.seed)
    }
}

impl SobolSequence {
    /// The largest number of columns.
    pub const MAX_DIM: usize = 1000;

    /// The number of points of the sequence.
    pub const MAX_LEN: u64 = 1 << BITS;

    /// The sequence in `dim` columns with the scramble of this seed. Cost O(d).
    ///
    /// # Errors
    /// [`Error::Parameter`] unless there are between 1 and [`SobolSequence::MAX_DIM`] columns.
    pub fn new(dim: usize, seed: u64) -> Result<Self> {
        let table = JoeKuoD6::STANDARD;
        if dim == 0 || dim > Self::MAX_DIM || dim > table.max_dims() {
            return Err(Error::Parameter { name: "the number of Sobol columns", value: dim as f64, requirement: "between 1 and 1000" });
        }
        let directions = Sobol::<u32>::init_direction_vals::<u32, JoeKuoD6>(dim, BITS, &table)
            .into_iter()
            .map(|column| std::array::from_fn(|bit| column[bit]))
            .collect();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let scrambles = (0..dim).map(|_| rng.random::<u32>()).collect();
        Ok(Self { seed, directions, scrambles })
    }

    /// Number of columns.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.directions.len()
    }

    /// The seed of the scramble.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Writes the first columns of point `index`, as many as `out` holds and the sequence has. Cost O(d log index).
    pub fn point_into(&self, index: u32, out: &mut [f64]) {
        for ((value, directions), &scramble) in out.iter_mut().zip(&self.directions).zip(&self.scrambles) {
            // The middle of the interval of length 2⁻³²: never 0, never 1, in the same dyadic intervals.
            *value = (f64::from(owen_scrambled(digits(directions, index), scramble)) + 0.5) / Self::MAX_LEN as f64;
        }
    }
}

/// The digits of the point: the direction numbers of the one-bits of the index's Gray code, added without carry.
fn digits(directions: &[u32; BITS], index: u32) -> u32 {
    let mut gray = index ^ (index >> 1);
    let mut digits = 0;
    while gray != 0 {
        digits ^= directions[gray.trailing_zeros() as usize];
        gray &= gray - 1;
    }
    digits
}

/// A nested uniform scramble: each binary digit is flipped or not by a hash of the digits above it.
///
/// On the reversed digits that is a hash in which every bit depends on itself and the lower ones only, as addition and multiplication do.
/// The constants are Laine and Karras's.
fn owen_scrambled(digits: u32, seed: u32) -> u32 {
    let mut x = digits.reverse_bits();
    x = x.wrapping_add(seed);
    for multiplier in [0x6c50_b47c_u32, 0xb82f_1e52, 0xc7af_e638, 0x8d22_f6e6] {
        x ^= x.wrapping_mul(multiplier);
    }
    x.reverse_bits()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unscrambled_digits_are_the_published_sequence() {
        let sequence = SobolSequence::new(5, 0).expect("five columns exist");
        // The first points of Joe and Kuo's own generator (new-joe-kuo-6.21201), index 0 to 5, in eighths.
        let published = [[0, 0, 0, 0, 0], [4, 4, 4, 4, 4], [6, 2, 2, 2, 6], [2, 6, 6, 6, 2], [3, 3, 5, 7, 3], [7, 7, 1, 3, 7]];
        for (index, row) in published.iter().enumerate() {
            for (column, &eighths) in row.iter().enumerate() {
                let found = digits(&sequence.directions[column], index as u32);
                assert_eq!(found, eighths << (BITS - 3), "point {index}, column {column}");
            }
        }
    }

    #[test]
    fn scramble_is_a_nested_permutation() {
        for seed in [0, 1, 0xdead_beef, u32::MAX] {
            for depth in 1..=12 {
                // Numbers that agree in their first `depth` digits still do, and different ones still differ.
                let mut seen = vec![false; 1 << depth];
                for prefix in 0..1_u32 << depth {
                    let images: Vec<u32> = [0, 0x7_ffff, 0x5_5555, 0x1_2345]
                        .iter()
                        .map(|tail| owen_scrambled(prefix << (BITS - depth) | (tail & ((1 << (BITS - depth)) - 1)), seed) >> (BITS - depth))
                        .collect();
                    assert!(images.iter().all(|&image| image == images[0]));
                    assert!(!std::mem::replace(&mut seen[images[0] as usize], true));
                }
            }
        }
    }
}
