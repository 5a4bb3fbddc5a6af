//! How far a point of the domain can be from the nearest candidate, in the kernel metric.

use super::candidates::Candidates;
use super::{BoxDomain, Column, SpaceDomain};
use crate::kernel::Kernel;
use crate::points::Points;
use sigmabar_linalg::argmax;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// At most this many candidates are looked at: leaving some out can only make the bound larger.
const MOST_CANDIDATES: usize = 1 << 16;
/// Cells looked at for each candidate, and at least.
const CELLS_PER_CANDIDATE: usize = 2;
const LEAST_CELLS: usize = 1 << 12;
/// How many candidates nearby a cell remembers besides its own.
const NEIGHBOURS: usize = 24;
/// Cells are cut until the bound is within this factor of a distance that was seen.
const SHARP: f64 = 1.05;
/// Combinations of choices at most.
const MOST_COMBINATIONS: usize = 1 << 12;

impl Candidates {
    /// A proved upper bound on $\sup_x\min_cd_k(x,c)$ over all points $x$ of the domain and candidates $c$: 0 where the candidates are the whole domain. Every
    /// function of norm $C$ is somewhere at most $C$ times this higher than at the best candidate (algorithm notes 9.9).
    ///
    /// Cells that together hold the domain are cut where the bound is largest. In a cell the bound is the smallest $\sup_xd_k(x,c)$ over candidates nearby
    /// ([`Kernel::metric_over_cell`] around $c$ with the reach to the farther end of each side), which is valid whatever was left out. Discrete columns
    /// end in single values, every combination of choices has cells of its own, and a cell that some constraint excludes does not count.
    ///
    /// `None` where nothing is known: a kernel without a metric over cells, a combination of choices without a candidate, more than 4096 combinations.
    /// Cost O(min(n, 65536)·(d + log n)) evaluations of the metric.
    #[must_use]
    pub fn cover_radius(&self, kernel: &Kernel) -> Option<f64> {
        if self.kind() == super::CandidateKind::Whole {
            return Some(0.0);
        }
        kernel.check_dim(self.dim()).ok()?;
        let ground = Ground { kernel, points: self.some(MOST_CANDIDATES), space: self.space() };
        let mut heap = BinaryHeap::new();
        let mut seen: f64 = 0.0;
        for root in ground.roots(self.box_domain())? {
            let own = (0..ground.points.len()).filter(|&i| root.shares_flat_sides(ground.points.row(i))).collect::<Vec<_>>();
            let Some(root) = ground.tightened(root) else { continue };
            let (cell, distance) = ground.cell(root, &own, f64::INFINITY)?;
            seen = seen.max(distance);
            heap.push(cell);
        }
        let budget = heap.len() + (CELLS_PER_CANDIDATE * ground.points.len()).max(LEAST_CELLS);
        // Rounding of the metric itself.
        let certain = |bound: f64| bound * (1.0 + 1e-9);
        let mut looked = heap.len();
        while let Some(worst) = heap.pop() {
            let halves = if looked < budget && worst.bound > SHARP * seen { ground.halves(&worst.sides) } else { None };
            let Some(halves) = halves else { return Some(certain(worst.bound)) };
            for half in halves.into_iter().filter_map(|half| ground.tightened(half)) {
                let (cell, distance) = ground.cell(half, &worst.near, worst.bound)?;
                seen = seen.max(distance);
                looked += 1;
                heap.push(cell);
            }
        }
        Some(0.0)
    }
}

/// A part of the domain, the candidates that matter there, and how far from them a point of it can be.
struct Cell {
    sides: BoxDomain,
    near: Vec<usize>,
    bound: f64,
}

impl Ord for Cell {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bound.total_cmp(&other.bound)
    }
}

impl PartialOrd for Cell {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Cell {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Cell {}

struct Ground<'a> {
    kernel: &'a Kernel,
    points: Points,
    space: Option<&'a SpaceDomain>,
}

impl Ground<'_> {
    /// The box, or everything the kernel can see of a space, once for each combination of choices.
    fn roots(&self, domain: Option<&BoxDomain>) -> Option<Vec<BoxDomain>> {
        let Some(space) = self.space else { return domain.map(|domain| vec![domain.clone()]) };
        let mut corners = vec![(Vec::new(), Vec::new())];
        for column in space.columns() {
            let ends: Vec<(f64, f64)> = match column {
                Column::Categorical { choices } => (0..*choices).map(|choice| (choice as f64, choice as f64)).collect(),
                _ => vec![(0.0, 1.0)],
            };
            if corners.len().saturating_mul(ends.len()) > MOST_COMBINATIONS {
                return None;
            }
            let with = |(low, high): &(Vec<f64>, Vec<f64>)| {
                ends.iter().map(|&(a, b)| ([low.as_slice(), &[a]].concat(), [high.as_slice(), &[b]].concat())).collect::<Vec<_>>()
            };
            corners = corners.iter().flat_map(with).collect();
        }
        corners.into_iter().map(|(low, high)| BoxDomain::with_flat_sides(low, high).ok()).collect()
    }

    /// The part of a cell that the domain's points can lie in; `None` if there are none.
    fn tightened(&self, cell: BoxDomain) -> Option<BoxDomain> {
        let Some(space) = self.space else { return Some(cell) };
        let ends = |i: usize| space.columns()[i].levels_within(cell.low()[i], cell.high()[i]);
        let (low, high): (Vec<f64>, Vec<f64>) = (0..space.dim()).map(ends).collect::<Option<Vec<_>>>()?.into_iter().unzip();
        let natural = |i: usize| (space.columns()[i].decode(low[i]), space.columns()[i].decode(high[i]));
        if space.constraints().iter().any(|constraint| constraint.excludes(natural, space.columns())) {
            return None;
        }
        BoxDomain::with_flat_sides(low, high).ok()
    }

    /// A cell, and how far a point in the middle of it is from its nearest candidate; `None` without candidates or without a metric.
    fn cell(&self, sides: BoxDomain, among: &[usize], at_most: f64) -> Option<(Cell, f64)> {
        let centre: Vec<f64> = sides.low().iter().zip(sides.high()).map(|(a, b)| a + 0.5 * (b - a)).collect();
        let mut near: Vec<(f64, usize)> = among.iter().map(|&i| (self.kernel.metric(&centre, self.points.row(i)), i)).collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut bound = at_most;
        for &(_, i) in near.iter().take(NEIGHBOURS) {
            bound = bound.min(self.kernel.metric_over_cell(&sides.reach(self.points.row(i)))?);
        }
        let distance = near.first()?.0;
        let remembered = |&(rank, (_, i)): &(usize, (f64, usize))| rank < NEIGHBOURS || sides.contains(self.points.row(i));
        let near = near.into_iter().enumerate().filter(remembered).map(|(_, (_, i))| i).collect();
        Some((Cell { sides, near, bound }, if self.is_point(&centre) { distance } else { 0.0 }))
    }

    /// Whether the domain has this point.
    fn is_point(&self, encoded: &[f64]) -> bool {
        let Some(space) = self.space else { return true };
        let mut natural = vec![0.0; space.dim()];
        space.decode_into(encoded, &mut natural);
        let takes = |i: usize| space.columns()[i].is_float() || space.columns()[i].encode(natural[i]) == Some(encoded[i]);
        (0..space.dim()).all(takes) && space.satisfies(&natural)
    }

    /// Two halves across the side that matters most to the kernel; `None` where nothing is left to cut.
    fn halves(&self, cell: &BoxDomain) -> Option<[BoxDomain; 2]> {
        let sides = cell.sides();
        let alone = |i: usize| {
            let only: Vec<f64> = (0..sides.len()).map(|j| if i == j { sides[j] } else { 0.0 }).collect();
            self.kernel.metric_over_cell(&only).unwrap_or(0.0)
        };
        let widest = argmax((0..sides.len()).map(|i| (i, alone(i))))?;
        cell.halved(widest)
    }
}
