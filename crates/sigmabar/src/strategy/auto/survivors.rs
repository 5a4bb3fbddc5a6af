//! What the automatic policy has not ruled out.

use super::data::Data;
use super::ground::Ground;
use super::model::Model;
use super::pool::Sieve;
use super::{Auto, REPORTED, seed_of};
use crate::domain::CandidateKind;
use crate::error::Result;
use crate::points::Points;
use crate::strategy::run::ledger::Ledger;
use crate::strategy::run::problem::Problem;
use crate::strategy::run::survivors::Survivors;

/// A discrete space of at most this many points is looked at whole.
const WHOLE: usize = 4096;

impl Auto {
    /// After the last batch: the numbers of a list's candidates, the points of a small discrete space, else the candidates that the model has found inside
    /// what survives.
    pub(in crate::strategy) fn survivors(&self, problem: &Problem, ledger: &Ledger) -> Result<Option<Survivors>> {
        let (Some(round), Some(data)) = (self.rounds.last(), Data::of(problem, ledger)?) else { return Ok(None) };
        if let Some(indices) = &round.survivors {
            return Ok(Some(Survivors::Candidates(indices.clone())));
        }
        let model = round.fits[0].model(&data)?;
        let seed = seed_of(problem, round.batch);
        let candidates = problem.domain().candidates(WHOLE, seed)?;
        let points = if candidates.kind() == CandidateKind::Whole {
            surviving(&model, candidates.range(0, candidates.len())?, REPORTED)?
        } else {
            let ground = Ground::new(problem.domain(), &model);
            Sieve { beta: REPORTED, ..Sieve::new(&ground, &model, &data, seed) }.pool()?.points
        };
        problem.domain().decode(points.view()).map(|points| Some(Survivors::Points(points)))
    }
}

/// Points with $\mu+\beta\sigma\ge\max(\mu-\beta\sigma)$.
fn surviving(model: &Model, points: Points, beta: f64) -> Result<Points> {
    let outlook = model.outlook(points.view())?;
    let width = |i: usize| beta * outlook.variance[i].sqrt();
    let bar = (0..points.len()).map(|i| outlook.mean[i] - width(i)).fold(f64::NEG_INFINITY, f64::max);
    points.view().select(&(0..points.len()).filter(|&i| outlook.mean[i] + width(i) >= bar).collect::<Vec<_>>())
}
