//! The surviving part of a box as a binary tree of cells (algorithm notes 9.4).

mod compact;
mod stored;

use super::BoxDomain;
use crate::error::{Error, Result, positive, same_length};
use crate::kernel::{Kernel, Lengthscale};
use crate::points::Points;
use serde::{Deserialize, Serialize};
use stored::StoredTree;

/// A box cut into cells, some of them discarded: the surviving set of algorithm notes 9.4.
///
/// A cell is a number; 0 is the whole box. Cells are halved across their widest side measured in length-scales, so the tree that can
/// arise is fixed in advance, and a cell of level $h$ has the share $2^{-h}$ of the volume. The two halves share the cutting plane and no
/// volume; together they are the cell, to the last bit. The tree knows geometry only: whoever holds bounds decides what to split and what
/// to discard, and keeps its bounds in arrays indexed by cell.
///
/// Meant for up to three columns; it works in more, but covers little. Memory $16d+14$ bytes a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "StoredTree", try_from = "StoredTree")]
pub struct CellTree {
    dim: usize,
    /// The length by which each side is measured.
    scales: Vec<f64>,
    /// No more cells than this are ever held.
    capacity: usize,
    /// Corners, cell after cell in order of creation: parents before children, the two halves side by side.
    low: Vec<f64>,
    high: Vec<f64>,
    /// The lower half; the upper one is next to it. 0 for leaves: the whole box is nobody's half.
    first_half: Vec<u32>,
    parent: Vec<u32>,
    level: Vec<u32>,
    split_column: Vec<u8>,
    discarded: Vec<bool>,
}

impl CellTree {
    /// The largest number of columns of a tree.
    pub const MAX_DIM: usize = 255;

    /// One cell, the whole box. At most `capacity` cells will be held, halved ones included. Cost O(d).
    ///
    /// # Errors
    /// [`Error::Length`] unless there is one length-scale or one for each column; [`Error::Parameter`] for length-scales that are not
    /// finite and positive, for a capacity that is 0 or above $2^{32}-1$, and for more than [`CellTree::MAX_DIM`] columns.
    pub fn new(domain: &BoxDomain, lengthscale: impl Into<Lengthscale>, capacity: usize) -> Result<Self> {
        let (dim, lengthscale) = (domain.dim(), lengthscale.into());
        if dim > Self::MAX_DIM {
            return Err(Error::Parameter { name: "the number of columns", value: dim as f64, requirement: "at most 255" });
        }
        if capacity == 0 || capacity > u32::MAX as usize {
            return Err(Error::Parameter { name: "capacity", value: capacity as f64, requirement: "between 1 and 2^32 − 1" });
        }
        if let Lengthscale::PerColumn(lengths) = &lengthscale {
            same_length("the length-scales", dim, lengths.len())?;
        }
        let scales = (0..dim).map(|column| positive("lengthscale", lengthscale.get(column))).collect::<Result<Vec<_>>>()?;
        let mut tree = Self {
            dim,
            scales,
            capacity,
            low: Vec::new(),
            high: Vec::new(),
            first_half: Vec::new(),
            parent: Vec::new(),
            level: Vec::new(),
            split_column: Vec::new(),
            discarded: Vec::new(),
        };
        tree.push(domain.low(), domain.high(), 0, 0);
        Ok(tree)
    }

    fn push(&mut self, low: &[f64], high: &[f64], parent: u32, level: u32) {
        self.low.extend_from_slice(low);
        self.high.extend_from_slice(high);
        self.first_half.push(0);
        self.parent.push(parent);
        self.level.push(level);
        self.split_column.push(0);
        self.discarded.push(false);
    }

    /// Number of columns.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Number of cells held: leaves, discarded ones and halved ones. Cells are numbered from 0 to this.
    #[must_use]
    pub fn len(&self) -> usize {
        self.level.len()
    }

    /// Never true: there is always the whole box.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The most cells that will be held.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The lower corner of a cell.
    ///
    /// # Panics
    /// Here and below, for a number that is no cell's.
    #[must_use]
    pub fn low(&self, cell: usize) -> &[f64] {
        &self.low[cell * self.dim..(cell + 1) * self.dim]
    }

    /// The upper corner of a cell.
    #[must_use]
    pub fn high(&self, cell: usize) -> &[f64] {
        &self.high[cell * self.dim..(cell + 1) * self.dim]
    }

    /// How often the box was halved to get this cell.
    #[must_use]
    pub fn level(&self, cell: usize) -> u32 {
        self.level[cell]
    }

    /// The cell that was halved to get this one; `None` for the whole box.
    #[must_use]
    pub fn parent(&self, cell: usize) -> Option<usize> {
        (cell > 0).then(|| self.parent[cell] as usize)
    }

    /// The two halves; `None` if the cell was not halved.
    #[must_use]
    pub fn halves(&self, cell: usize) -> Option<[usize; 2]> {
        let first = self.first_half[cell] as usize;
        (first > 0).then_some([first, first + 1])
    }

    /// Whether the cell is neither halved nor discarded.
    #[must_use]
    pub fn is_surviving_leaf(&self, cell: usize) -> bool {
        self.first_half[cell] == 0 && !self.discarded[cell]
    }

    /// Whether the cell was discarded.
    #[must_use]
    pub fn is_discarded(&self, cell: usize) -> bool {
        self.discarded[cell]
    }

    /// The surviving leaves, in order of creation. Together they are what is left of the box.
    pub fn leaves(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.len()).filter(|&cell| self.is_surviving_leaf(cell))
    }

    /// The centre of a cell, to rounding: what [`CellTree::half_widths`] and [`CellTree::radius`] are measured from.
    #[must_use]
    pub fn centre(&self, cell: usize) -> Vec<f64> {
        self.low(cell).iter().zip(self.high(cell)).map(|(&low, &high)| middle(low, high)).collect()
    }

    /// The centres of these cells, as points.
    ///
    /// # Errors
    /// [`Error::Empty`] if no cell is named.
    pub fn centres(&self, cells: &[usize]) -> Result<Points> {
        Points::new(cells.iter().flat_map(|&cell| self.centre(cell)).collect(), self.dim)
    }

    /// How far the cell reaches from its centre in each column, rounded up: every point of the cell is that near.
    #[must_use]
    pub fn half_widths(&self, cell: usize) -> Vec<f64> {
        let reach = |(&low, &high): (&f64, &f64)| {
            let centre = middle(low, high);
            (centre - low).max(high - centre).next_up()
        };
        self.low(cell).iter().zip(self.high(cell)).map(reach).collect()
    }

    /// The radius $\varrho=\sup_{x\in\text{cell}}d_k(c,x)$ around the centre, or an upper bound of it: see [`Kernel::metric_over_cell`].
    /// `None` for kernels without one. Cost O(d) per part of the kernel.
    #[must_use]
    pub fn radius(&self, cell: usize, kernel: &Kernel) -> Option<f64> {
        kernel.metric_over_cell(&self.half_widths(cell))
    }

    /// Halves a surviving leaf across its widest side in length-scales (the first of equals) and gives the two halves, lower first.
    ///
    /// `None`, and nothing changes, when the cell is no surviving leaf, when the capacity is reached, or when the cell is too small to be
    /// halved in floating point: a coarser cell is still a correct one. Cost O(d).
    pub fn split(&mut self, cell: usize) -> Option<[usize; 2]> {
        if !self.is_surviving_leaf(cell) || self.len() + 2 > self.capacity {
            return None;
        }
        let column = self.widest_column(cell);
        self.split_at(cell, column)
    }

    fn widest_column(&self, cell: usize) -> usize {
        let width = |column: usize| (self.high(cell)[column] - self.low(cell)[column]) / self.scales[column];
        (1..self.dim).fold(0, |best, column| if width(column) > width(best) { column } else { best })
    }

    fn split_at(&mut self, cell: usize, column: usize) -> Option<[usize; 2]> {
        let (low, high) = (self.low(cell).to_vec(), self.high(cell).to_vec());
        let cut = middle(low[column], high[column]);
        if cut <= low[column] || cut >= high[column] {
            return None;
        }
        let first = self.len();
        let with_cut = |corner: &[f64]| {
            let mut corner = corner.to_vec();
            corner[column] = cut;
            corner
        };
        let level = self.level[cell] + 1;
        self.push(&low, &with_cut(&high), cell as u32, level);
        self.push(&with_cut(&low), &high, cell as u32, level);
        self.first_half[cell] = first as u32;
        self.split_column[cell] = column as u8;
        Some([first, first + 1])
    }

    /// Discards a surviving leaf; true if it was one. Cost O(1).
    pub fn discard(&mut self, cell: usize) -> bool {
        let was_leaf = self.is_surviving_leaf(cell);
        self.discarded[cell] |= was_leaf;
        was_leaf
    }

    /// The share of the box's volume that survives: $\sum2^{-h}$ over the surviving leaves. Cost O(cells).
    #[must_use]
    pub fn surviving_share(&self) -> f64 {
        self.leaves().map(|cell| self.share(cell)).sum()
    }

    /// $2^{-h}$
    fn share(&self, cell: usize) -> f64 {
        0.5_f64.powi(self.level[cell] as i32)
    }

    /// The leaf that holds a point, discarded or not; `None` outside the box. A point on a cut belongs to the upper half. Cost O(level).
    #[must_use]
    pub fn leaf_of(&self, point: &[f64]) -> Option<usize> {
        let inside = |column: usize| (self.low[column]..=self.high[column]).contains(&point[column]);
        if point.len() != self.dim || !(0..self.dim).all(inside) {
            return None;
        }
        let mut cell = 0;
        while let Some([lower, upper]) = self.halves(cell) {
            let column = self.split_column[cell] as usize;
            cell = if point[column] < self.low(upper)[column] { lower } else { upper };
        }
        Some(cell)
    }

    /// Whether a point lies in a leaf that was not discarded. Cost O(level).
    #[must_use]
    pub fn survives(&self, point: &[f64]) -> bool {
        self.leaf_of(point).is_some_and(|cell| !self.discarded[cell])
    }
}

/// The middle of an interval whose length is finite.
fn middle(low: f64, high: f64) -> f64 {
    low + 0.5 * (high - low)
}
