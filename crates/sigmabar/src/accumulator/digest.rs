//! Whether rows are the same as before.

use crate::points::row_hash;
use serde::{Deserialize, Serialize};

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
}
