//! Which points of a sequence or of a grid satisfy a space's constraints, found in parallel with a stated effort.

use super::SpaceDomain;
use super::grid::Grid;
use super::sobol::SobolSequence;
use crate::error::{Error, Result};
use sigmabar_linalg::in_tasks;
use std::collections::HashSet;

/// Discrete spaces up to this size are searched exhaustively when they have constraints; elsewhere at least this many points are tried.
pub(super) const LEAST_EFFORT: u64 = 1 << 20;

/// Points of the sequence tried for each one wanted, if that is more.
const EFFORT_PER_POINT: u64 = 64;

/// Points tested by one task.
const TASK: u64 = 4096;

/// Points tested before looking whether there are enough.
const ROUND: u64 = 1 << 17;

/// The grid that holds all of a discrete space, if it is small enough to be searched through.
pub(super) fn searchable_grid(space: &SpaceDomain) -> Option<Grid> {
    if space.size()? > u128::from(LEAST_EFFORT) { None } else { Grid::of_space(space, 1).ok() }
}

/// Refuses a space in which no point satisfies the constraints.
pub(super) fn find_feasible(space: &SpaceDomain) -> Result<()> {
    match searchable_grid(space) {
        Some(grid) => feasible_of_grid(space, &grid).map(|_| ()),
        None => feasible_of_sequence(space, &SobolSequence::new(space.dim(), 0)?, 1).map(|_| ()),
    }
}

/// All positions of the grid that satisfy the constraints, in order. Cost O(d) each.
///
/// # Errors
/// [`Error::NoFeasiblePoint`] if there is none.
pub(super) fn feasible_of_grid(space: &SpaceDomain, grid: &Grid) -> Result<Vec<u64>> {
    let feasible = |range: std::ops::Range<u64>| {
        let (mut encoded, mut natural) = (vec![0.0; space.dim()], vec![0.0; space.dim()]);
        let keep = move |&position: &u64| {
            grid.space_point_into(space, position, &mut encoded);
            space.decode_into(&encoded, &mut natural);
            space.satisfies(&natural)
        };
        range.filter(keep).collect::<Vec<_>>()
    };
    let kept = in_ranges(0, grid.len(), feasible);
    if kept.is_empty() { Err(Error::NoFeasiblePoint { tried: grid.len() }) } else { Ok(kept) }
}

/// The first `count` indices of the sequence whose points satisfy the constraints and differ from all before; fewer when the effort,
/// the larger of $2^{20}$ and $64$ times `count`, is spent.
///
/// # Errors
/// [`Error::NoFeasiblePoint`] if there is none.
pub(super) fn feasible_of_sequence(space: &SpaceDomain, sequence: &SobolSequence, count: usize) -> Result<Vec<u32>> {
    let effort = (EFFORT_PER_POINT.saturating_mul(count as u64)).clamp(LEAST_EFFORT, SobolSequence::MAX_LEN);
    let mut seen = space.may_repeat().then(HashSet::new);
    let mut kept: Vec<u32> = Vec::new();
    let (mut start, mut round) = (0, TASK);
    while start < effort && kept.len() < count {
        let end = (start + round).min(effort);
        let found = in_ranges(start, end, |range| feasible_range(space, sequence, range));
        for (index, hash) in found {
            if kept.len() < count && seen.as_mut().is_none_or(|seen| seen.insert(hash)) {
                kept.push(index);
            }
        }
        (start, round) = (end, ROUND);
    }
    if kept.is_empty() { Err(Error::NoFeasiblePoint { tried: effort }) } else { Ok(kept) }
}

/// The feasible indices in a range, each with a hash of its point.
fn feasible_range(space: &SpaceDomain, sequence: &SobolSequence, range: std::ops::Range<u64>) -> Vec<(u32, u64)> {
    let (mut unit, mut natural, mut encoded) = (vec![0.0; space.dim()], vec![0.0; space.dim()], vec![0.0; space.dim()]);
    let mut found = Vec::new();
    for index in range.map(|index| index as u32) {
        sequence.point_into(index, &mut unit);
        if space.place(&unit, &mut natural, &mut encoded) {
            found.push((index, hash(&encoded)));
        }
    }
    found
}

/// The answers for ranges that one task tests, in order.
fn in_ranges<T: Send>(start: u64, end: u64, task: impl Fn(std::ops::Range<u64>) -> Vec<T> + Sync + Send) -> Vec<T> {
    let one = |number: usize| {
        let first = start + number as u64 * TASK;
        task(first..(first + TASK).min(end))
    };
    in_tasks((end - start).div_ceil(TASK) as usize, one).into_iter().flatten().collect()
}

/// A 64-bit mix of a point's bits. Two points that collide cost one candidate, nothing else.
fn hash(point: &[f64]) -> u64 {
    point.iter().fold(0x243f_6a88_85a3_08d3, |hash: u64, value| {
        let x = (hash ^ (value + 0.0).to_bits()).wrapping_mul(0x9fb2_1c65_1e98_df25);
        let x = (x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        x ^ (x >> 32)
    })
}
