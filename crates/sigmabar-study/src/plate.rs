//! The wells of a plate.

use std::fmt;
use std::str::FromStr;

/// A plate of the usual format: rows are letters, columns numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plate {
    rows: usize,
    columns: usize,
}

impl Plate {
    /// Which there are.
    pub const SIZES: &str = "a plate of 6, 12, 24, 48, 96, 384 or 1536 wells";

    /// A plate with so many wells, twice as many columns as half the rows and more.
    pub fn with_wells(wells: usize) -> Option<Self> {
        let (rows, columns) = match wells {
            6 => (2, 3),
            12 => (3, 4),
            24 => (4, 6),
            48 => (6, 8),
            96 => (8, 12),
            384 => (16, 24),
            1536 => (32, 48),
            _ => return None,
        };
        Some(Self { rows, columns })
    }

    /// Rows and columns.
    #[must_use]
    pub fn size(self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// Number of wells.
    pub fn wells(self) -> usize {
        self.rows * self.columns
    }

    /// The name of well `i`, row after row: A1, A2, …, and AA1 after Z.
    pub fn name(self, i: usize) -> String {
        let (row, column) = (i / self.columns, i % self.columns);
        let letter = |i: usize| char::from(b'A' + (i % 26) as u8);
        if row < 26 { format!("{}{}", letter(row), column + 1) } else { format!("A{}{}", letter(row - 26), column + 1) }
    }

    /// The place of a well in the order of [`Plate::name`], by its name; none for one that the plate does not have.
    #[must_use]
    pub fn place(self, name: &str) -> Option<usize> {
        let (row, column) = well_place(name.trim())?;
        (row < self.rows && column < self.columns).then_some(row * self.columns + column)
    }

    /// `count` of the wells that are not blocked in random order, the same for the same seed: a trial's place says nothing about its setting.
    #[must_use]
    pub fn shuffled_free(self, count: usize, blocked: &[usize], seed: u64) -> Vec<usize> {
        let free: Vec<usize> = (0..self.wells()).filter(|well| !blocked.contains(well)).collect();
        let count = count.min(free.len());
        self.shuffled(count, seed).into_iter().map(|i| free[i]).collect()
    }

    /// `count` wells in random order, the same for the same seed: a trial's place says nothing about its setting.
    pub fn shuffled(self, count: usize, seed: u64) -> Vec<usize> {
        let mut wells: Vec<usize> = (0..count.min(self.wells())).collect();
        let mut state = seed ^ 0x706c_6174_6573_0001;
        for i in (1..wells.len()).rev() {
            // SplitMix64; the modulo's bias is below 10⁻¹⁵ for so few wells.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            wells.swap(i, ((z ^ (z >> 31)) % (i as u64 + 1)) as usize);
        }
        wells
    }
}

/// Reads a well's name: `A1` is row 0, column 0; `AA1` follows `Z1`. `None` for anything else.
#[must_use]
pub fn well_place(name: &str) -> Option<(usize, usize)> {
    let digits = name.find(|c: char| c.is_ascii_digit())?;
    let (letters, number) = name.split_at(digits);
    let is_well = (1..=2).contains(&letters.len()) && letters.bytes().all(|b| b.is_ascii_alphabetic()) && number.len() <= 3;
    let column: usize = number.parse().ok().filter(|_| is_well)?;
    let row = letters.bytes().fold(0, |row, b| row * 26 + usize::from(b.to_ascii_uppercase() - b'A') + 1);
    Some((row.checked_sub(1)?, column.checked_sub(1)?))
}

impl FromStr for Plate {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().ok().and_then(Self::with_wells).ok_or(Self::SIZES)
    }
}

impl fmt::Display for Plate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.wells())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wells_have_the_usual_names() {
        let ends = |wells: usize| {
            let plate = Plate::with_wells(wells).unwrap();
            (plate.name(0), plate.name(plate.wells() - 1), plate.wells())
        };
        assert_eq!(ends(24), ("A1".into(), "D6".into(), 24));
        assert_eq!(ends(96), ("A1".into(), "H12".into(), 96));
        assert_eq!(ends(384), ("A1".into(), "P24".into(), 384));
        assert_eq!(ends(1536), ("A1".into(), "AF48".into(), 1536));
        assert!("95".parse::<Plate>().is_err());
    }

    #[test]
    fn shuffling_uses_every_well_once() {
        let plate = Plate::with_wells(96).unwrap();
        let wells = plate.shuffled(96, 5);
        assert_ne!(wells, (0..96).collect::<Vec<_>>());
        assert_ne!(wells, plate.shuffled(96, 6));
        let mut sorted = wells.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..96).collect::<Vec<_>>());
    }
}
