//! Points, the places that were measured, and what was seen there: each validated once, at the border.

mod kept;
mod locations;
mod observations;
mod seen;
mod sketch;

pub(crate) use kept::{KeptLocations, KeptResponses, SummedLocations, SummedResponses};
pub use locations::{Collected, Locations};
pub(crate) use observations::{Doubts, mixed, usable_responses};
pub use observations::{LARGEST_RESPONSE, Observations, Prior, row_fractions, row_hash};
pub use seen::Seen;
pub(crate) use sketch::{Sketch, WATCHED};

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// A list of points: row-major, at least one row and one column, every value finite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawPoints")]
pub struct Points {
    data: Vec<f64>,
    dim: usize,
}

/// What is read back from a file, before it is checked.
#[derive(Deserialize)]
struct RawPoints {
    data: Vec<f64>,
    dim: usize,
}

impl TryFrom<RawPoints> for Points {
    type Error = Error;
    fn try_from(raw: RawPoints) -> Result<Self> {
        Self::new(raw.data, raw.dim)
    }
}

/// A point by its bits, to be looked up.
pub(crate) fn bits(point: &[f64]) -> Vec<u64> {
    point.iter().map(|v| v.to_bits()).collect()
}

/// A borrowed list of points, validated like [`Points`].
#[derive(Clone, Copy, Debug)]
pub struct PointsRef<'a> {
    data: &'a [f64],
    dim: usize,
}

impl Points {
    /// Takes row-major values with `dim` columns. Cost O(nd).
    ///
    /// # Errors
    /// [`Error::Empty`], [`Error::NoColumns`], [`Error::Width`] for a last row cut short, [`Error::NotFinite`] with row and column.
    pub fn new(data: Vec<f64>, dim: usize) -> Result<Self> {
        validate(&data, dim)?;
        Ok(Self { data, dim })
    }

    /// Copies rows of equal width.
    ///
    /// # Errors
    /// As [`Points::new`], and [`Error::Width`] naming the first row of another width.
    pub fn from_rows<R: AsRef<[f64]>>(rows: &[R]) -> Result<Self> {
        let dim = rows.first().map_or(1, |r| r.as_ref().len());
        let mut data = Vec::with_capacity(rows.len() * dim);
        for (row, values) in rows.iter().map(AsRef::as_ref).enumerate() {
            if values.len() != dim {
                return Err(Error::Width { what: "points", row, expected: dim, found: values.len() });
            }
            data.extend_from_slice(values);
        }
        Self::new(data, dim)
    }

    /// One column: each value is a point on the line.
    ///
    /// # Errors
    /// As [`Points::new`].
    pub fn on_line(values: Vec<f64>) -> Result<Self> {
        Self::new(values, 1)
    }

    /// The same points, borrowed.
    #[must_use]
    pub fn view(&self) -> PointsRef<'_> {
        PointsRef { data: &self.data, dim: self.dim }
    }

    /// Number of points.
    #[must_use]
    pub fn len(&self) -> usize {
        self.data.len() / self.dim
    }

    /// Never true: an empty list is refused at construction.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Number of columns.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Point `i`.
    #[must_use]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.data[i * self.dim..(i + 1) * self.dim]
    }

    /// All values, point after point.
    #[must_use]
    pub fn as_slice(&self) -> &[f64] {
        &self.data
    }

    /// Appends one point.
    ///
    /// # Errors
    /// [`Error::Width`] or [`Error::NotFinite`].
    pub fn push(&mut self, point: &[f64]) -> Result<()> {
        let row = self.len();
        if point.len() != self.dim {
            return Err(Error::Width { what: "points", row, expected: self.dim, found: point.len() });
        }
        if let Some(column) = point.iter().position(|v| !v.is_finite()) {
            return Err(Error::NotFinite { what: "points", row, column, value: point[column] });
        }
        self.data.extend_from_slice(point);
        Ok(())
    }

    pub(crate) fn from_valid(data: Vec<f64>, dim: usize) -> Self {
        debug_assert!(validate(&data, dim).is_ok());
        Self { data, dim }
    }
}

impl<'a> PointsRef<'a> {
    /// Borrows row-major values with `dim` columns. Cost O(nd).
    ///
    /// # Errors
    /// As [`Points::new`].
    pub fn new(data: &'a [f64], dim: usize) -> Result<Self> {
        validate(data, dim)?;
        Ok(Self { data, dim })
    }

    /// Number of points.
    #[must_use]
    pub fn len(self) -> usize {
        self.data.len() / self.dim
    }

    /// Whether there is no point. Only [`PointsRef::range`] can make an empty view.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.data.is_empty()
    }

    /// Number of columns.
    #[must_use]
    pub fn dim(self) -> usize {
        self.dim
    }

    /// Point `i`.
    #[must_use]
    pub fn row(self, i: usize) -> &'a [f64] {
        &self.data[i * self.dim..(i + 1) * self.dim]
    }

    /// All points in order.
    pub fn rows(self) -> impl ExactSizeIterator<Item = &'a [f64]> + Clone {
        self.data.chunks_exact(self.dim)
    }

    /// All values, point after point.
    #[must_use]
    pub fn as_slice(self) -> &'a [f64] {
        self.data
    }

    /// Points `start..end`.
    #[must_use]
    pub fn range(self, start: usize, end: usize) -> PointsRef<'a> {
        PointsRef { data: &self.data[start * self.dim..end * self.dim], dim: self.dim }
    }

    /// The points with these indices, copied.
    ///
    /// # Errors
    /// [`Error::Empty`] if no index is given.
    pub fn select(self, indices: &[usize]) -> Result<Points> {
        let mut data = Vec::with_capacity(indices.len() * self.dim);
        for &i in indices {
            data.extend_from_slice(self.row(i));
        }
        Points::new(data, self.dim)
    }

    /// A copy that owns its values.
    #[must_use]
    pub fn to_points(self) -> Points {
        Points { data: self.data.to_vec(), dim: self.dim }
    }
}

impl<'a> From<&'a Points> for PointsRef<'a> {
    fn from(points: &'a Points) -> Self {
        points.view()
    }
}

fn validate(data: &[f64], dim: usize) -> Result<()> {
    let what = "points";
    if dim == 0 {
        return Err(Error::NoColumns { what });
    }
    if data.is_empty() {
        return Err(Error::Empty { what });
    }
    if !data.len().is_multiple_of(dim) {
        return Err(Error::Width { what, row: data.len() / dim, expected: dim, found: data.len() % dim });
    }
    match data.iter().position(|v| !v.is_finite()) {
        Some(i) => Err(Error::NotFinite { what, row: i / dim, column: i % dim, value: data[i] }),
        None => Ok(()),
    }
}
