//! A full factorial grid: every combination of the columns' levels, by position.

use super::{BoxDomain, Column, SpaceDomain};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Numbers of levels, and how many combinations: the last column changes fastest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u64>", into = "Vec<u64>")]
pub(super) struct Grid {
    levels: Vec<u64>,
    len: u64,
}

impl From<Grid> for Vec<u64> {
    fn from(grid: Grid) -> Self {
        grid.levels
    }
}

impl TryFrom<Vec<u64>> for Grid {
    type Error = Error;

    /// Refuses grids that nobody wants to walk through.
    fn try_from(levels: Vec<u64>) -> Result<Self> {
        let len = levels.iter().fold(1_u64, |len, &levels| len.saturating_mul(levels));
        if len == 0 || len > 1 << 32 {
            let size = levels.iter().map(|&levels| levels as f64).product();
            return Err(Error::Parameter { name: "the number of grid points", value: size, requirement: "between 1 and 2^32" });
        }
        Ok(Self { levels, len })
    }
}

impl Grid {
    /// All levels of the discrete columns and `per_float` equally spaced ones, ends included, of the continuous columns.
    pub(super) fn of_space(space: &SpaceDomain, per_float: u64) -> Result<Self> {
        let levels: Vec<u64> = space.columns().iter().map(|column| column.levels().unwrap_or(per_float)).collect();
        levels.try_into()
    }

    /// `per_side` equally spaced levels in each column, ends included; one where the column holds a single value.
    pub(super) fn of_box(domain: &BoxDomain, per_side: u64) -> Result<Self> {
        domain.sides().into_iter().map(|side| if side > 0.0 { per_side } else { per_side.min(1) }).collect::<Vec<_>>().try_into()
    }

    /// Number of points.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Number of columns.
    pub(super) fn dim(&self) -> usize {
        self.levels.len()
    }

    /// Whether the grid can be laid into a space: its columns, and no level that a discrete column does not have.
    pub(super) fn fits(&self, space: &SpaceDomain) -> bool {
        let fits = |(column, &levels): (&Column, &u64)| column.levels().is_none_or(|known| known == levels);
        self.dim() == space.dim() && space.columns().iter().zip(&self.levels).all(fits)
    }

    /// The rank of each column at a position, last column first.
    fn ranks(&self, position: u64) -> impl Iterator<Item = (usize, u64, u64)> {
        let mut left = position;
        self.levels.iter().enumerate().rev().map(move |(column, &levels)| {
            let rank = left % levels;
            left /= levels;
            (column, rank, levels)
        })
    }

    /// The encoded point of a space at a position.
    pub(super) fn space_point_into(&self, space: &SpaceDomain, position: u64, encoded: &mut [f64]) {
        for (number, rank, levels) in self.ranks(position) {
            let column = &space.columns()[number];
            encoded[number] = if column.is_float() { fraction(rank, levels) } else { column.encoded_rank(rank) };
        }
    }

    /// The point of a box at a position.
    pub(super) fn box_point_into(&self, domain: &BoxDomain, position: u64, point: &mut [f64]) {
        for (column, rank, levels) in self.ranks(position) {
            point[column] = domain.at(column, fraction(rank, levels));
        }
    }
}

/// Level `rank` of `levels` between 0 and 1; the middle if there is one only.
fn fraction(rank: u64, levels: u64) -> f64 {
    if levels > 1 { rank as f64 / (levels - 1) as f64 } else { 0.5 }
}
