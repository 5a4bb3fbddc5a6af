//! Rows to fit and rows held out, chosen by the seed and by what stands in them.

use crate::data::Frame;
use sigmabar::points::row_fractions;

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
        if wanted >= self.len() { self.clone() } else { self.parted(wanted as f64 / self.len() as f64, seed ^ SAMPLE_KEY).0 }
    }

    /// The points of about `wanted` rows, chosen by the seed and by where they are alone: whoever certifies may not have looked at a response.
    pub fn points(&self, wanted: usize, seed: u64) -> Vec<f64> {
        if wanted >= self.len() {
            return self.x.clone();
        }
        let share = wanted as f64 / self.len() as f64;
        let fractions = row_fractions(self.points_of_rows().map(|point| (point, 0.0)), seed ^ SAMPLE_KEY);
        self.points_of_rows().zip(fractions).filter(|(_, fraction)| *fraction < share).flat_map(|(point, _)| point).copied().collect()
    }

    /// Takes so many rows out, chosen by the seed.
    pub fn take_out(&mut self, wanted: usize, seed: u64) -> Self {
        let (out, kept) = self.chosen(self.ordered(seed ^ CALIBRATION_KEY).into_iter().take(wanted));
        *self = kept;
        out
    }

    /// The rows of one of so many parts of one size, and the others: what is left over is in no part.
    pub fn part(&self, part: usize, parts: usize, seed: u64) -> (Self, Self) {
        let size = self.len() / parts;
        self.chosen(self.ordered(seed ^ PART_KEY).into_iter().skip(part).step_by(parts).take(size))
    }

    /// The places of the rows, in an order by the seed and by what stands in them.
    fn ordered(&self, seed: u64) -> Vec<usize> {
        let fractions = self.fractions(seed);
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_by(|&a, &b| fractions[a].total_cmp(&fractions[b]));
        order
    }

    /// The rows at these places, and the others.
    fn chosen(&self, places: impl Iterator<Item = usize>) -> (Self, Self) {
        let mut is_out = vec![false; self.len()];
        places.for_each(|row| is_out[row] = true);
        self.sides(|row| is_out[row])
    }

    /// About this share of the rows, and the others.
    fn parted(&self, share: f64, seed: u64) -> (Self, Self) {
        let fractions = self.fractions(seed);
        self.sides(|row| fractions[row] < share)
    }

    fn points_of_rows(&self) -> std::slice::ChunksExact<'_, f64> {
        self.x.chunks_exact((self.x.len() / self.len()).max(1))
    }

    /// A number in [0, 1) for each row, by the seed and by what stands in it.
    fn fractions(&self, seed: u64) -> Vec<f64> {
        row_fractions(self.points_of_rows().zip(self.y.iter().copied()), seed)
    }

    /// The rows that are out, and the others.
    fn sides(&self, is_out: impl Fn(usize) -> bool) -> (Self, Self) {
        let (mut out, mut kept) = (Self::default(), Self::default());
        for (row, (x, y)) in self.points_of_rows().zip(&self.y).enumerate() {
            let side = if is_out(row) { &mut out } else { &mut kept };
            side.x.extend_from_slice(x);
            side.y.push(*y);
        }
        (out, kept)
    }
}

const PART_KEY: u64 = 0x7061_7274_735f_0001;
const CALIBRATION_KEY: u64 = 0x6361_6c69_6272_0001;
const SAMPLE_KEY: u64 = 0x7361_6d70_6c65_0001;

/// The rows of a frame whose last column is the target: those to fit, and about the `share` to hold out.
pub fn split(frame: Frame, share: f64, seed: u64) -> (Rows, Rows) {
    let mut rows = Rows::default();
    (0..frame.len()).for_each(|i| rows.push(frame.row(i)));
    drop(frame);
    if share == 0.0 || rows.is_empty() {
        return (rows, Rows::default());
    }
    let (held, fit) = rows.parted(share, seed);
    (fit, held)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::ColumnInfo;

    #[test]
    fn every_row_lands_on_one_side() {
        let columns = ["a", "y"].map(ColumnInfo::named).to_vec();
        let values = (0..2000).map(f64::from).collect();
        let frame = Frame {
            file: "t.csv".into(),
            columns,
            values,
            has_decimal_commas: false,
            dropped: 0,
            lost: 0,
            objections: crate::data::Objections::default(),
            cut: Vec::new(),
        };
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
        assert_eq!((out.len(), kept.len()), (100, count - 100));
        assert!(kept.x.iter().chain(&out.x).zip(kept.y.iter().chain(&out.y)).all(|(x, y)| x + 1.0 == *y));
        assert_eq!(kept.take_out(0, 7).len(), 0);
    }

    /// What two theorems are about has parts of one size.
    #[test]
    fn parts_are_of_one_size_and_share_no_row() {
        let rows = Rows { x: (0..43).map(f64::from).collect(), y: vec![0.0; 43] };
        let mut out: Vec<f64> = Vec::new();
        for part in 0..5 {
            let (of_part, others) = rows.part(part, 5, 3);
            assert_eq!((of_part.len(), others.len()), (8, 35));
            out.extend(of_part.x);
        }
        out.sort_by(f64::total_cmp);
        out.dedup();
        assert_eq!(out.len(), 40);
    }

    /// Of a population of ten rows every table holds each of them: one that was always on the same side would calibrate always or never.
    #[test]
    fn the_same_row_is_not_on_the_same_side_of_every_table() {
        let mut often = [0; 10];
        for table in 0..100_u32 {
            let drawn: Vec<u32> = (0..10).chain((0..table % 7).map(|i| (i * table) % 10)).chain([table % 10]).collect();
            let mut rows = Rows { x: drawn.iter().map(|&i| f64::from(i)).collect(), y: vec![1.0; drawn.len()] };
            let half = rows.len() / 2;
            let out = rows.take_out(half, 3);
            (0..10_u32).filter(|i| out.x.contains(&f64::from(*i))).for_each(|i| often[i as usize] += 1);
        }
        assert!(often.iter().all(|times| (25..90).contains(times)), "{often:?}");
    }

    #[test]
    fn rows_in_another_order_are_chosen_alike() {
        let rows =
            |order: &[u32]| Rows { x: order.iter().map(|&i| f64::from(i)).collect(), y: order.iter().map(|&i| f64::from(i % 7)).collect() };
        let forwards: Vec<u32> = (0..500).chain(0..20).collect();
        let backwards: Vec<u32> = forwards.iter().rev().copied().collect();
        let chosen = |order: &[u32]| {
            let mut x = rows(order).take_out(100, 3).x;
            x.sort_by(f64::total_cmp);
            x
        };
        assert_eq!(chosen(&forwards), chosen(&backwards));
    }
}
