//! A tree on its way to and from storage: what cannot be computed again.

use super::CellTree;
use crate::domain::BoxDomain;
use crate::error::{Error, Result, SavedError};
use serde::{Deserialize, Serialize};

/// The box, the scales and, cell by cell, where its halves are, how it was cut and whether it was discarded. Corners follow.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredTree {
    low: Vec<f64>,
    high: Vec<f64>,
    scales: Vec<f64>,
    capacity: usize,
    first_half: Vec<u32>,
    split_column: Vec<u8>,
    discarded: Vec<bool>,
}

impl From<CellTree> for StoredTree {
    fn from(tree: CellTree) -> Self {
        Self {
            low: tree.low(0).to_vec(),
            high: tree.high(0).to_vec(),
            scales: tree.scales,
            capacity: tree.capacity,
            first_half: tree.first_half,
            split_column: tree.split_column,
            discarded: tree.discarded,
        }
    }
}

impl TryFrom<StoredTree> for CellTree {
    type Error = Error;

    /// Halves the box again in the order of storage; anything that does not come out the same is refused.
    fn try_from(stored: StoredTree) -> Result<Self> {
        let cells = stored.first_half.len();
        let mut tree = Self::new(&BoxDomain::new(stored.low, stored.high)?, stored.scales, stored.capacity)?;
        let lengths_fit = stored.split_column.len() == cells && stored.discarded.len() == cells && cells <= stored.capacity;
        let damaged = || Error::Saved(SavedError::Content { what: "a tree of cells" });
        if !lengths_fit {
            return Err(damaged());
        }
        // Halves were made pair by pair, whatever the order in which their parents were numbered.
        let mut parents: Vec<usize> = (0..cells).filter(|&cell| stored.first_half[cell] > 0).collect();
        parents.sort_by_key(|&cell| stored.first_half[cell]);
        for cell in parents {
            let column = stored.split_column[cell] as usize;
            if cell >= tree.len() || column >= tree.dim || stored.discarded[cell] || tree.first_half[cell] > 0 {
                return Err(damaged());
            }
            let halves = tree.split_at(cell, column).ok_or_else(damaged)?;
            if halves[0] != stored.first_half[cell] as usize {
                return Err(damaged());
            }
        }
        tree.discarded = stored.discarded;
        if tree.len() == cells { Ok(tree) } else { Err(damaged()) }
    }
}
