//! A box: an interval for each column.

use super::column::check_interval;
use crate::error::{Error, Result, same_length};
use crate::points::PointsRef;
use serde::{Deserialize, Serialize};

/// A box $\prod_i[\mathrm{low}_i,\mathrm{high}_i]$. The kernel sees its points as they are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "StoredBox")]
pub struct BoxDomain {
    low: Vec<f64>,
    high: Vec<f64>,
}

#[derive(Deserialize)]
struct StoredBox {
    low: Vec<f64>,
    high: Vec<f64>,
}

impl TryFrom<StoredBox> for BoxDomain {
    type Error = Error;
    fn try_from(stored: StoredBox) -> Result<Self> {
        Self::with_flat_sides(stored.low, stored.high)
    }
}

impl BoxDomain {
    /// The box between two corners, to measure in. Cost O(d).
    ///
    /// # Errors
    /// [`Error::NoColumns`], [`Error::Length`], and [`Error::Interval`] naming the first column without `low < high`, both finite.
    pub fn new(low: Vec<f64>, high: Vec<f64>) -> Result<Self> {
        low.iter().zip(&high).enumerate().try_for_each(|(column, (&low, &high))| check_interval(column, low, high))?;
        Self::with_flat_sides(low, high)
    }

    /// The box between two corners, to claim about: a column may hold a single value, `low = high`. Cost O(d).
    ///
    /// # Errors
    /// As [`BoxDomain::new`], without `low <= high`.
    pub fn with_flat_sides(low: Vec<f64>, high: Vec<f64>) -> Result<Self> {
        if low.is_empty() {
            return Err(Error::NoColumns { what: "the box" });
        }
        same_length("the upper corner of the box", low.len(), high.len())?;
        let is_side = |column: usize| low[column] <= high[column] && (high[column] - low[column]).is_finite();
        match (0..low.len()).find(|&column| !is_side(column)) {
            Some(column) => Err(Error::Interval { column, low: low[column], high: high[column] }),
            None => Ok(Self { low, high }),
        }
    }

    /// The unit box: every column from 0 to 1.
    ///
    /// # Errors
    /// [`Error::NoColumns`] if `dim` is 0.
    pub fn unit(dim: usize) -> Result<Self> {
        Self::new(vec![0.0; dim], vec![1.0; dim])
    }

    /// Number of columns.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.low.len()
    }

    /// The lower corner.
    #[must_use]
    pub fn low(&self) -> &[f64] {
        &self.low
    }

    /// The upper corner.
    #[must_use]
    pub fn high(&self) -> &[f64] {
        &self.high
    }

    /// The lengths of the sides.
    #[must_use]
    pub fn sides(&self) -> Vec<f64> {
        self.low.iter().zip(&self.high).map(|(low, high)| high - low).collect()
    }

    /// Whether a point lies in the closed box. Cost O(d).
    #[must_use]
    pub fn contains(&self, point: &[f64]) -> bool {
        point.len() == self.dim() && self.first_outside(point).is_none()
    }

    /// The first column whose value is outside.
    pub(super) fn first_outside(&self, point: &[f64]) -> Option<usize> {
        (0..self.dim()).find(|&column| !(self.low[column]..=self.high[column]).contains(&point[column]))
    }

    /// The value that lies this fraction of the way from low to high; the ends exactly.
    pub(super) fn at(&self, column: usize, fraction: f64) -> f64 {
        let (low, high) = (self.low[column], self.high[column]);
        if fraction >= 1.0 { high } else { (low + fraction * (high - low)).clamp(low, high) }
    }

    /// How far the box reaches from a point in each column.
    pub(super) fn reach(&self, point: &[f64]) -> Vec<f64> {
        (0..self.dim()).map(|i| (point[i] - self.low[i]).abs().max((self.high[i] - point[i]).abs())).collect()
    }

    /// Whether a point has the value of every column that holds a single one.
    pub(super) fn shares_flat_sides(&self, point: &[f64]) -> bool {
        (0..self.dim()).all(|i| self.low[i] < self.high[i] || point[i] == self.low[i])
    }

    /// The two halves across one side; `None` where floating point knows no number between its ends.
    pub(super) fn halved(&self, column: usize) -> Option<[Self; 2]> {
        let (low, high) = (self.low[column], self.high[column]);
        let cut = low + 0.5 * (high - low);
        let mut halves = [self.clone(), self.clone()];
        (halves[0].high[column], halves[1].low[column]) = (cut, cut);
        (low < cut && cut < high).then_some(halves)
    }

    /// Refuses a box of another width than the points.
    pub(crate) fn check_width(&self, dim: usize) -> Result<()> {
        if dim == self.dim() { Ok(()) } else { Err(Error::Width { what: "box", row: 0, expected: dim, found: self.dim() }) }
    }

    /// Refuses points outside: nothing is claimed there.
    pub(crate) fn check_inside(&self, x: PointsRef<'_>) -> Result<()> {
        self.check_width(x.dim())?;
        for (row, point) in x.rows().enumerate() {
            if let Some(column) = self.first_outside(point) {
                return Err(Error::Outside { row, column, value: point[column] });
            }
        }
        Ok(())
    }
}
