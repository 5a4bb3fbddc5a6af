//! Boxes that are cut where the largest variance may hide.

use super::queue::Stale;
use super::sweep::Sweep;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::points::{Points, PointsRef};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

const SMALLEST_BLOCK: usize = 4;
const LARGEST_BLOCK: usize = 64;

/// How finely a box is searched for its largest variance (algorithm notes 9.5).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CellSearch {
    /// $\eta$: a point with at least $1/(1+\eta)$ of the largest standard deviation is good enough. 0.1 by default.
    pub slack: f64,
    /// At most this many cells; beyond them cells stay coarse and [`crate::design::Design::slack`] says by how much. 100 000 by default.
    pub max_cells: usize,
}

impl Default for CellSearch {
    fn default() -> Self {
        Self { slack: 0.1, max_cells: 100_000 }
    }
}

impl CellSearch {
    /// Good enough within the factor $1+\eta$.
    #[must_use]
    pub fn within(slack: f64) -> Self {
        Self { slack, ..Self::default() }
    }

    /// At most this many cells.
    #[must_use]
    pub fn with_max_cells(self, max_cells: usize) -> Self {
        Self { max_cells, ..self }
    }
}

/// A cell with what it is ranked by. The larger first; among equals, the lower number.
#[derive(Clone, Copy, Debug)]
struct Entry {
    key: f64,
    cell: u32,
}

impl Entry {
    fn rank(&self) -> (f64, Reverse<u32>) {
        (self.key, Reverse(self.cell))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        let ((key, number), (other_key, other_number)) = (self.rank(), other.rank());
        key.total_cmp(&other_key).then(number.cmp(&other_number))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

/// Disjoint cells that together cover the domain: centre, half-widths, and the radius $\varrho \ge \sup d_k(c,\cdot)$.
#[derive(Clone)]
pub(super) struct Cells {
    dim: usize,
    centres: Vec<f64>,
    half_widths: Vec<f64>,
    radii: Vec<f64>,
}

impl Cells {
    /// The boxes `low[i] ≤ x ≤ high[i]`.
    pub fn new(kernel: &Kernel, low: PointsRef<'_>, high: PointsRef<'_>) -> Result<Self> {
        if low.is_empty() {
            return Err(Error::Empty { what: "boxes" });
        }
        if high.dim() != low.dim() {
            return Err(Error::Width { what: "upper corners", row: 0, expected: low.dim(), found: high.dim() });
        }
        crate::error::same_length("upper corners", low.as_slice().len(), high.as_slice().len())?;
        let mut cells = Self { dim: low.dim(), centres: Vec::new(), half_widths: Vec::new(), radii: Vec::new() };
        for (a, b) in low.rows().zip(high.rows()) {
            if let Some(column) = (0..cells.dim).find(|&c| b[c] < a[c]) {
                let requirement = "at least as large as the lower corner";
                return Err(Error::Parameter { name: "upper corner of a box", value: b[column], requirement });
            }
            let centre: Vec<f64> = a.iter().zip(b).map(|(a, b)| 0.5 * a + 0.5 * b).collect();
            let half: Vec<f64> = a.iter().zip(b).map(|(a, b)| 0.5 * b - 0.5 * a).collect();
            cells.push(kernel, &centre, &half)?;
        }
        Ok(cells)
    }

    fn push(&mut self, kernel: &Kernel, centre: &[f64], half: &[f64]) -> Result<()> {
        self.radii.push(radius(kernel, half)?);
        self.centres.extend_from_slice(centre);
        self.half_widths.extend_from_slice(half);
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.radii.len()
    }

    pub fn centre(&self, cell: usize) -> &[f64] {
        &self.centres[cell * self.dim..(cell + 1) * self.dim]
    }

    fn half(&self, cell: usize) -> &[f64] {
        &self.half_widths[cell * self.dim..(cell + 1) * self.dim]
    }

    pub fn centres(&self) -> Result<Points> {
        Points::new(self.centres.clone(), self.dim)
    }

    /// Cuts the side that is widest in $d_k$ in half: one half keeps the number, the other gets the next.
    fn split(&mut self, kernel: &Kernel, cell: usize) -> Result<()> {
        let (mut centre, mut half) = (self.centre(cell).to_vec(), self.half(cell).to_vec());
        let mut widest = (0, -1.0);
        for column in 0..self.dim {
            let mut side = vec![0.0; self.dim];
            side[column] = half[column];
            let length = radius(kernel, &side)?;
            if length > widest.1 {
                widest = (column, length);
            }
        }
        let column = widest.0;
        half[column] *= 0.5;
        let middle = centre[column];
        centre[column] = middle + half[column];
        self.push(kernel, &centre, &half)?;
        centre[column] = middle - half[column];
        self.centres[cell * self.dim..(cell + 1) * self.dim].copy_from_slice(&centre);
        self.half_widths[cell * self.dim..(cell + 1) * self.dim].copy_from_slice(&half);
        self.radii[cell] = radius(kernel, &half)?;
        Ok(())
    }

    /// The largest cells cut until there are `count`: a coarse cover, where inducing points are looked for.
    pub fn cover(&self, kernel: &Kernel, count: usize) -> Result<Points> {
        let mut cells = self.clone();
        let entry = |cells: &Self, i: usize| Entry { key: cells.radii[i], cell: i as u32 };
        let mut heap: BinaryHeap<Entry> = (0..cells.len()).map(|i| entry(&cells, i)).collect();
        while cells.len() < count {
            let Some(top) = heap.pop().filter(|top| top.key > 0.0) else { break };
            cells.split(kernel, top.cell as usize)?;
            heap.push(entry(&cells, top.cell as usize));
            heap.push(entry(&cells, cells.len() - 1));
        }
        cells.centres()
    }
}

fn radius(kernel: &Kernel, half_widths: &[f64]) -> Result<f64> {
    kernel.metric_over_cell(half_widths).ok_or(Error::Premise {
        what: "a design on a box",
        reason: "no bound on the kernel metric over a cell is known for this kernel; use a list of candidates",
    })
}

/// What the search found: a cell whose centre is good enough.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub cell: usize,
    /// $\bar\sigma(c)+\varrho \ge \sup\bar\sigma$ over all cells.
    pub upper: f64,
}

/// The heap over $\bar\sigma(c)+\varrho$: because $|\bar\sigma(x)-\bar\sigma(c)| \le d_k(x,c)$, no point of a cell exceeds it (algorithm notes 9.5).
pub(super) struct CellQueue {
    heap: BinaryHeap<Entry>,
}

impl CellQueue {
    pub fn new(cells: &Cells, sweep: &Sweep<'_>) -> Self {
        Self { heap: (0..cells.len()).map(|i| entry(cells, i, sweep.upper(i))).collect() }
    }

    /// Refreshes and cuts until the top is fresh and fine enough, or no more cells are allowed.
    pub fn largest(&mut self, kernel: &Kernel, cells: &mut Cells, sweep: &mut Sweep<'_>, search: &CellSearch) -> Result<Found> {
        let mut block = SMALLEST_BLOCK;
        loop {
            let (mut stale, mut coarse) = (Vec::new(), Vec::new());
            while stale.len() + coarse.len() < block {
                let Some(top) = self.heap.peek().copied() else { break };
                let cell = top.cell as usize;
                if !sweep.is_fresh(cell) {
                    stale.push(cell);
                } else if cells.radii[cell] > search.slack * deviation(sweep, cell) && cells.len() + coarse.len() < search.max_cells {
                    coarse.push(cell);
                } else if stale.is_empty() && coarse.is_empty() {
                    return Ok(Found { cell, upper: top.key });
                } else {
                    break;
                }
                self.heap.pop();
            }
            for &cell in &coarse {
                cells.split(kernel, cell)?;
                sweep.replace(cell, PointsRef::new(cells.centre(cell), cells.dim)?)?;
                let new = sweep.push(PointsRef::new(cells.centre(cells.len() - 1), cells.dim)?)?;
                stale.extend([cell, new]);
            }
            sweep.refresh(&mut stale)?;
            self.heap.extend(stale.iter().map(|&i| entry(cells, i, sweep.value(i))));
            block = (2 * block).min(LARGEST_BLOCK);
        }
    }
}

/// $\bar\sigma$ at the centre of a fresh cell.
pub(super) fn deviation(sweep: &Sweep<'_>, cell: usize) -> f64 {
    sweep.value(cell).max(0.0).sqrt()
}

fn entry(cells: &Cells, cell: usize, variance: f64) -> Entry {
    Entry { key: variance.max(0.0).sqrt() + cells.radii[cell], cell: cell as u32 }
}
