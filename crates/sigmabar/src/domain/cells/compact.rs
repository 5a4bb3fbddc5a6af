//! Making room: what is discarded whole needs no halves.

use super::CellTree;

impl CellTree {
    /// Forgets the halves of cells of which nothing survives (the cell counts as discarded instead) and renumbers the rest breadth-first,
    /// which makes room under the capacity. The new number of each old cell, `None` for the forgotten. Cost O(cells).
    pub fn compact(&mut self) -> Vec<Option<usize>> {
        let mut alive: Vec<bool> = (0..self.len()).map(|cell| self.is_surviving_leaf(cell)).collect();
        for cell in (1..self.len()).rev() {
            // Halves come after their parent, so this carries every survivor up to the root.
            alive[self.parent[cell] as usize] |= alive[cell];
        }
        let mut kept = vec![0];
        let mut renumbered = vec![None; self.len()];
        let mut next = 0;
        while next < kept.len() {
            renumbered[kept[next]] = Some(next);
            if let Some(halves) = self.halves(kept[next]).filter(|_| alive[kept[next]]) {
                kept.extend(halves);
            }
            next += 1;
        }
        let gather = |corners: &[f64]| kept.iter().flat_map(|&cell| &corners[cell * self.dim..(cell + 1) * self.dim]).copied().collect();
        let number = |old: u32| renumbered[old as usize].unwrap_or(0) as u32;
        *self = Self {
            dim: self.dim,
            scales: self.scales.clone(),
            capacity: self.capacity,
            low: gather(&self.low),
            high: gather(&self.high),
            first_half: kept.iter().map(|&cell| number(self.first_half[cell])).collect(),
            parent: kept.iter().map(|&cell| number(self.parent[cell])).collect(),
            level: kept.iter().map(|&cell| self.level[cell]).collect(),
            split_column: kept.iter().map(|&cell| if alive[cell] { self.split_column[cell] } else { 0 }).collect(),
            discarded: kept.iter().map(|&cell| !alive[cell]).collect(),
        };
        renumbered
    }
}
