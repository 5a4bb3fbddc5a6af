//! What is still possible.

use super::problem::Problem;
use crate::domain::{CellTree, Domain};
use crate::error::Result;
use crate::points::{Points, PointsRef};
use serde::{Deserialize, Serialize};

/// Settings that a run has not ruled out, in natural coordinates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Survivors {
    /// Numbers of the candidates of a list, ascending.
    Candidates(Vec<usize>),
    /// Parts of a box; together they are everything that is left of it, and they overlap in their faces at most.
    Cells(Vec<Cell>),
    /// Those of the candidates that stand for a box or a space: the domain itself may hold other settings that are still possible.
    Points(Points),
}

/// A part of a box.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The lower corner.
    pub low: Vec<f64>,
    /// The upper corner.
    pub high: Vec<f64>,
}

impl Survivors {
    /// How many candidates, cells or points there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Candidates(indices) => indices.len(),
            Self::Cells(cells) => cells.len(),
            Self::Points(points) => points.len(),
        }
    }

    /// Whether nothing is left, which no sound run says.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The numbers of the candidates, if the domain is a list.
    #[must_use]
    pub fn candidates(&self) -> Option<&[usize]> {
        match self {
            Self::Candidates(indices) => Some(indices),
            _ => None,
        }
    }

    /// The parts of the box, if that is how the run goes.
    #[must_use]
    pub fn cells(&self) -> Option<&[Cell]> {
        match self {
            Self::Cells(cells) => Some(cells),
            _ => None,
        }
    }

    /// Some of the candidates: by number on a list, else as natural points.
    pub(crate) fn among(problem: &Problem, candidates: PointsRef<'_>, chosen: &[usize]) -> Result<Self> {
        if matches!(problem.domain(), Domain::List(_)) {
            return Ok(Self::Candidates(chosen.to_vec()));
        }
        let points = candidates.select(chosen)?;
        problem.domain().decode(points.view()).map(Self::Points)
    }

    /// Cells of a tree.
    pub(crate) fn of_tree(tree: &CellTree, cells: impl IntoIterator<Item = usize>) -> Self {
        let cell = |i: usize| Cell { low: tree.low(i).to_vec(), high: tree.high(i).to_vec() };
        Self::Cells(cells.into_iter().map(cell).collect())
    }
}
