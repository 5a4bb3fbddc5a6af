//! Rows to fit and rows held out, chosen by the seed alone.

use crate::data::Frame;

/// Features and responses, row after row.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Features, row after row.
    pub x: Vec<f64>,
    /// Responses.
    pub y: Vec<f64>,
}

impl Rows {
    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.y.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.y.is_empty()
    }

    fn push(&mut self, row: &[f64]) {
        // The target is the last column that was read.
        let (y, x) = row.split_last().unwrap_or((&0.0, &[]));
        self.x.extend_from_slice(x);
        self.y.push(*y);
    }

    /// About `wanted` of the rows, chosen by the seed; all where there are no more.
    pub fn sample(&self, wanted: usize, seed: u64) -> Self {
        if wanted >= self.len() {
            return self.clone();
        }
        let dim = self.x.len() / self.len();
        let share = wanted as f64 / self.len() as f64;
        let mut out = Self::default();
        for (i, y) in self.y.iter().enumerate().filter(|(i, _)| fraction(seed ^ SAMPLE_KEY, *i) < share) {
            out.x.extend_from_slice(&self.x[i * dim..(i + 1) * dim]);
            out.y.push(*y);
        }
        out
    }

    /// Takes about `wanted` rows out, chosen by the seed.
    pub fn take_out(&mut self, wanted: usize, seed: u64) -> Self {
        if wanted == 0 {
            return Self::default();
        }
        let dim = self.x.len() / self.len();
        let share = wanted as f64 / self.len() as f64;
        let (mut kept, mut out) = (Self::default(), Self::default());
        for (i, y) in self.y.iter().enumerate() {
            let side = if fraction(seed ^ CALIBRATION_KEY, i) < share { &mut out } else { &mut kept };
            side.x.extend_from_slice(&self.x[i * dim..(i + 1) * dim]);
            side.y.push(*y);
        }
        *self = kept;
        out
    }
}

const CALIBRATION_KEY: u64 = 0x6361_6c69_6272_0001;
const SAMPLE_KEY: u64 = 0x7361_6d70_6c65_0001;

/// The rows of a frame whose last column is the target: those to fit, and about the `share` to hold out.
pub fn split(frame: Frame, share: f64, seed: u64) -> (Rows, Rows) {
    let (mut fit, mut held) = (Rows::default(), Rows::default());
    for i in 0..frame.len() {
        let out = if fraction(seed, i) < share { &mut held } else { &mut fit };
        out.push(frame.row(i));
    }
    (fit, held)
}

/// A number in [0, 1) for each row, the same on every machine: the finaliser of SplitMix64.
fn fraction(seed: u64, row: usize) -> f64 {
    let mut z = (row as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed.wrapping_mul(0xd134_2543_de82_ef95);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::ColumnInfo;

    #[test]
    fn every_row_lands_on_one_side() {
        let columns = ["a", "y"].map(ColumnInfo::named).to_vec();
        let values = (0..2000).map(f64::from).collect();
        let frame = Frame { file: "t.csv".into(), columns, values, has_decimal_commas: false, dropped: 0, lost: 0, cut: Vec::new() };
        let (fit, held) = split(frame.clone(), 0.1, 7);
        assert_eq!(fit.len() + held.len(), 1000);
        assert!((60..140).contains(&held.len()), "{}", held.len());
        assert!(fit.x.iter().zip(&fit.y).all(|(x, y)| x + 1.0 == *y));
        let (other, _) = split(frame.clone(), 0.1, 8);
        assert_ne!(other.y, fit.y);
        assert_eq!(split(frame, 0.0, 7).1.len(), 0);
        assert!((200..400).contains(&fit.sample(300, 1).len()));
        let (mut kept, count) = (fit.clone(), fit.len());
        let out = kept.take_out(100, 7);
        assert!((60..140).contains(&out.len()) && kept.len() + out.len() == count);
        assert!(kept.x.iter().chain(&out.x).zip(kept.y.iter().chain(&out.y)).all(|(x, y)| x + 1.0 == *y));
        assert_eq!(kept.take_out(0, 7).len(), 0);
    }
}
