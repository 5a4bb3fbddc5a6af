//! A declared, finite set of candidates, produced row by row when asked for.

use super::grid::Grid;
use super::search;
use super::sobol::SobolSequence;
use super::{BoxDomain, SpaceDomain};
use crate::error::{Error, Result, SavedError};
use crate::points::Points;
use rand::SeedableRng;
use rand::seq::index;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sigmabar_linalg::parallel;
use std::sync::Arc;

/// How many values one task of a parallel fill writes.
const TASK_VALUES: usize = 1 << 14;

/// A declared, finite set of distinct candidates: the same rows whenever and in whatever blocks they are asked for.
///
/// Rows are computed on demand. What is held is the list itself, or at most 8 bytes for each candidate of a constrained or discrete space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "StoredCandidates")]
pub struct Candidates {
    source: Source,
}

/// What is read back, before it is known to fit together.
#[derive(Deserialize)]
struct StoredCandidates {
    source: Source,
}

impl TryFrom<StoredCandidates> for Candidates {
    type Error = Error;
    fn try_from(stored: StoredCandidates) -> Result<Self> {
        let candidates = Self { source: stored.source };
        if candidates.is_consistent() { Ok(candidates) } else { Err(SavedError::Content { what: "a set of candidates" }.into()) }
    }
}

/// How the candidates were found, and with that what their number says about the domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum CandidateKind {
    /// Every point of the domain.
    Whole,
    /// A grid laid into continuous columns.
    Grid,
    /// A random choice from the points of a discrete space.
    Subset,
    /// Points of a scrambled Sobol sequence.
    Sobol {
        /// The seed of the scramble.
        seed: u64,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Source {
    List(Arc<Points>),
    BoxGrid(BoxDomain, Grid),
    BoxSobol(BoxDomain, SobolSequence, usize),
    /// All positions, or the chosen ones.
    SpaceGrid(SpaceDomain, Grid, Option<Vec<u64>>, CandidateKind),
    /// This many of the first indices, or the chosen ones.
    SpaceSobol(SpaceDomain, SobolSequence, Chosen),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Chosen {
    First(usize),
    Indices(Vec<u32>),
}

impl Candidates {
    pub(super) fn of_list(points: Arc<Points>) -> Self {
        Self { source: Source::List(points) }
    }

    pub(super) fn of_box(domain: &BoxDomain, count: usize, seed: u64) -> Result<Self> {
        check_count(count)?;
        if domain.sides().iter().all(|side| *side == 0.0) {
            // One point, once.
            return Self::grid_of_box(domain, 1);
        }
        Ok(Self { source: Source::BoxSobol(domain.clone(), SobolSequence::new(domain.dim(), seed)?, count) })
    }

    pub(super) fn grid_of_box(domain: &BoxDomain, per_side: usize) -> Result<Self> {
        let grid = Grid::of_box(domain, per_side as u64)?;
        Ok(Self { source: Source::BoxGrid(domain.clone(), grid) })
    }

    pub(super) fn grid_of_space(space: &SpaceDomain, per_float: usize) -> Result<Self> {
        let grid = Grid::of_space(space, per_float as u64)?;
        let kind = if space.size().is_some() { CandidateKind::Whole } else { CandidateKind::Grid };
        let chosen = if space.constraints().is_empty() { None } else { Some(search::feasible_of_grid(space, &grid)?) };
        Ok(Self { source: Source::SpaceGrid(space.clone(), grid, chosen, kind) })
    }

    pub(super) fn of_space(space: &SpaceDomain, count: usize, seed: u64) -> Result<Self> {
        check_count(count)?;
        let constrained = !space.constraints().is_empty();
        match space.size() {
            // All points, or few enough of them left out that a sequence would mostly repeat itself.
            Some(size) if size < 2 * count as u128 => Self::grid_of_space(space, 1)?.thinned(count, seed),
            Some(_) if constrained && search::searchable_grid(space).is_some() => Self::grid_of_space(space, 1)?.thinned(count, seed),
            size => {
                let sequence = SobolSequence::new(space.dim(), seed)?;
                let chosen = if size.is_none() && !constrained {
                    Chosen::First(count)
                } else {
                    Chosen::Indices(search::feasible_of_sequence(space, &sequence, count)?)
                };
                Ok(Self { source: Source::SpaceSobol(space.clone(), sequence, chosen) })
            }
        }
    }

    /// At most `count` of a grid's candidates, chosen at random, in their order.
    fn thinned(mut self, count: usize, seed: u64) -> Result<Self> {
        let len = self.len();
        if let Source::SpaceGrid(_, _, chosen, kind) = &mut self.source
            && len > count
        {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut picked: Vec<usize> = index::sample(&mut rng, len, count).into_vec();
            picked.sort_unstable();
            *chosen = Some(picked.into_iter().map(|i| chosen.as_ref().map_or(i as u64, |positions| positions[i])).collect());
            *kind = CandidateKind::Subset;
        }
        Ok(self)
    }

    /// Whether the parts fit together: asked of what comes from a file.
    fn is_consistent(&self) -> bool {
        let parts_fit = match &self.source {
            Source::List(_) => true,
            Source::BoxGrid(domain, grid) => grid.dim() == domain.dim(),
            Source::BoxSobol(domain, sequence, _) => sequence.dim() == domain.dim(),
            Source::SpaceGrid(space, grid, chosen, _) => grid.fits(space) && chosen.iter().flatten().all(|&position| position < grid.len()),
            Source::SpaceSobol(space, sequence, _) => sequence.dim() == space.dim(),
        };
        parts_fit && check_count(self.len()).is_ok()
    }

    /// The declared number of candidates. Cost O(1).
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.source {
            Source::List(points) => points.len(),
            Source::BoxGrid(_, grid) | Source::SpaceGrid(_, grid, None, _) => grid.len() as usize,
            Source::SpaceGrid(_, _, Some(chosen), _) => chosen.len(),
            Source::BoxSobol(_, _, count) | Source::SpaceSobol(_, _, Chosen::First(count)) => *count,
            Source::SpaceSobol(_, _, Chosen::Indices(chosen)) => chosen.len(),
        }
    }

    /// Never true: a domain without a point is refused.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of columns.
    #[must_use]
    pub fn dim(&self) -> usize {
        match &self.source {
            Source::List(points) => points.dim(),
            Source::BoxGrid(domain, _) | Source::BoxSobol(domain, ..) => domain.dim(),
            Source::SpaceGrid(space, ..) | Source::SpaceSobol(space, ..) => space.dim(),
        }
    }

    /// How the candidates were found. Only of [`CandidateKind::Whole`] is a claim about all candidates one about the whole domain.
    #[must_use]
    pub fn kind(&self) -> CandidateKind {
        match &self.source {
            Source::List(_) => CandidateKind::Whole,
            Source::BoxGrid(..) => CandidateKind::Grid,
            Source::SpaceGrid(.., kind) => *kind,
            Source::BoxSobol(_, sequence, _) | Source::SpaceSobol(_, sequence, _) => CandidateKind::Sobol { seed: sequence.seed() },
        }
    }

    /// At most `most` of them: all, or the first of a sequence, or evenly spaced ones.
    pub(super) fn some(&self, most: usize) -> Points {
        let step = if matches!(self.kind(), CandidateKind::Sobol { .. }) { 1 } else { self.len().div_ceil(most) };
        let (dim, mut rows) = (self.dim(), vec![0.0; self.dim() * self.len().div_ceil(step).min(most)]);
        let (mut unit, mut natural) = (vec![0.0; dim], vec![0.0; dim]);
        for (number, row) in rows.chunks_exact_mut(dim).enumerate() {
            self.row_into(number * step, row, &mut unit, &mut natural);
        }
        Points::from_valid(rows, dim)
    }

    /// The space they belong to.
    pub(super) fn space(&self) -> Option<&SpaceDomain> {
        match &self.source {
            Source::SpaceGrid(space, ..) | Source::SpaceSobol(space, ..) => Some(space),
            _ => None,
        }
    }

    /// The box they belong to.
    pub(super) fn box_domain(&self) -> Option<&BoxDomain> {
        match &self.source {
            Source::BoxGrid(domain, _) | Source::BoxSobol(domain, ..) => Some(domain),
            _ => None,
        }
    }

    /// Candidates `start..end` as the kernel sees them. Parallel. Cost O(d) each, memory that of the answer.
    ///
    /// # Errors
    /// [`Error::Range`] unless `start < end <=` [`Candidates::len`].
    pub fn range(&self, start: usize, end: usize) -> Result<Points> {
        if start >= end || end > self.len() {
            return Err(Error::Range { what: "the candidates", start, end, len: self.len() });
        }
        let mut rows = vec![0.0; (end - start) * self.dim()];
        self.rows_into(start, &mut rows)?;
        Ok(Points::from_valid(rows, self.dim()))
    }

    /// Writes the candidates from `start` on into row-major storage, as many as it holds. Parallel. Cost O(d) each.
    ///
    /// # Errors
    /// [`Error::Width`] unless whole rows fit; [`Error::Range`] if there are not that many candidates.
    pub fn rows_into(&self, start: usize, rows: &mut [f64]) -> Result<()> {
        let dim = self.dim();
        if !rows.len().is_multiple_of(dim) {
            return Err(Error::Width { what: "the storage", row: rows.len() / dim, expected: dim, found: rows.len() % dim });
        }
        let end = start.saturating_add(rows.len() / dim);
        if end > self.len() {
            return Err(Error::Range { what: "the candidates", start, end, len: self.len() });
        }
        let task_rows = (TASK_VALUES / dim).max(1);
        let place = |(task, part): (usize, &mut [f64])| {
            let (mut unit, mut natural) = (vec![0.0; dim], vec![0.0; dim]);
            for (offset, row) in part.chunks_exact_mut(dim).enumerate() {
                self.row_into(start + task * task_rows + offset, row, &mut unit, &mut natural);
            }
        };
        if rows.len() <= task_rows * dim {
            place((0, rows));
        } else {
            parallel(|_| rows.par_chunks_mut(task_rows * dim).enumerate().for_each(place));
        }
        Ok(())
    }

    fn row_into(&self, i: usize, row: &mut [f64], unit: &mut [f64], natural: &mut [f64]) {
        match &self.source {
            Source::List(points) => row.copy_from_slice(points.row(i)),
            Source::BoxGrid(domain, grid) => grid.box_point_into(domain, i as u64, row),
            Source::SpaceGrid(space, grid, chosen, _) => {
                let position = chosen.as_ref().map_or(i as u64, |positions| positions[i]);
                grid.space_point_into(space, position, row);
            }
            Source::BoxSobol(domain, sequence, _) => {
                sequence.point_into(i as u32, row);
                row.iter_mut().enumerate().for_each(|(column, value)| *value = domain.at(column, *value));
            }
            Source::SpaceSobol(space, sequence, chosen) => {
                let index = match chosen {
                    Chosen::First(_) => i as u32,
                    Chosen::Indices(indices) => indices[i],
                };
                sequence.point_into(index, unit);
                space.place(unit, natural, row);
            }
        }
    }

    /// Candidates `start..end` in the user's own values. Parallel. Cost O(d) each.
    ///
    /// # Errors
    /// As [`Candidates::range`].
    pub fn natural(&self, start: usize, end: usize) -> Result<Points> {
        let encoded = self.range(start, end)?;
        match &self.source {
            Source::SpaceGrid(space, ..) | Source::SpaceSobol(space, ..) => Ok(super::decode_points(space, encoded.view())),
            _ => Ok(encoded),
        }
    }

    /// All candidates in blocks of at most `block` rows, each with the number of its first row. Cost O(d) a row, memory that of one block.
    pub fn blocks(&self, block: usize) -> impl Iterator<Item = (usize, Points)> + '_ {
        let block = block.max(1);
        (0..self.len()).step_by(block).filter_map(move |start| {
            let end = (start + block).min(self.len());
            self.range(start, end).ok().map(|points| (start, points))
        })
    }
}

fn check_count(count: usize) -> Result<()> {
    if count > 0 && count as u64 <= SobolSequence::MAX_LEN {
        Ok(())
    } else {
        Err(Error::Parameter { name: "the number of candidates", value: count as f64, requirement: "between 1 and 2^32" })
    }
}
