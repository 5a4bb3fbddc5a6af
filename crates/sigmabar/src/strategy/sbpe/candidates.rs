//! The finite set over which a run eliminates.

use crate::domain::{CandidateKind, Domain};
use crate::error::Result;
use crate::points::{Points, PointsRef};
use crate::strategy::run::problem::Problem;

/// All candidates, and whether they are the whole domain.
pub(in crate::strategy) struct SetOfCandidates {
    points: Points,
    whole: bool,
}

impl SetOfCandidates {
    /// A list as it is; `count` declared points of a box or a space.
    pub fn new(problem: &Problem, count: usize) -> Result<Self> {
        if let Domain::List(list) = problem.domain() {
            return Ok(Self { points: list.points().to_points(), whole: true });
        }
        let candidates = problem.domain().candidates(count, problem.seed())?;
        let whole = candidates.kind() == CandidateKind::Whole;
        Ok(Self { points: candidates.range(0, candidates.len())?, whole })
    }

    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether a claim about the candidates is one about the whole domain.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    pub fn points(&self) -> PointsRef<'_> {
        self.points.view()
    }

    pub fn select(&self, indices: &[usize]) -> Result<Points> {
        self.points.view().select(indices)
    }
}
