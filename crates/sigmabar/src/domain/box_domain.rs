//! A box: an interval for each column.

use super::column::check_interval;
use crate::error::{Error, Result, same_length};
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
        Self::new(stored.low, stored.high)
    }
}

impl BoxDomain {
    /// The box between two corners. Cost O(d).
    ///
    /// # Errors
    /// [`Error::NoColumns`], [`Error::Length`], and [`Error::Interval`] naming the first column without `low < high`, both finite.
    pub fn new(low: Vec<f64>, high: Vec<f64>) -> Result<Self> {
        if low.is_empty() {
            return Err(Error::NoColumns { what: "the box" });
        }
        same_length("the upper corner of the box", low.len(), high.len())?;
        for (column, (&low, &high)) in low.iter().zip(&high).enumerate() {
            check_interval(column, low, high)?;
        }
        Ok(Self { low, high })
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
}
