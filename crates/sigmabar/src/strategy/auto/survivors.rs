//! What the automatic policy has not ruled out.

use super::pool::Sieve;
use super::{Auto, BETAS, Data, seed_of};
use crate::error::Result;
use crate::strategy::ledger::Ledger;
use crate::strategy::problem::Problem;
use crate::strategy::survivors::Survivors;

impl Auto {
    /// After the last batch: the numbers of a list's candidates, else the candidates that the model has found inside what survives.
    pub(in crate::strategy) fn survivors(&self, problem: &Problem, ledger: &Ledger) -> Result<Option<Survivors>> {
        let (Some(round), Some(data)) = (self.rounds.last(), Data::of(problem, ledger)?) else { return Ok(None) };
        if let Some(indices) = &round.survivors {
            return Ok(Some(Survivors::Candidates(indices.clone())));
        }
        let model = round.fit.model(&data)?;
        let beta = self.setting(problem, BETAS, round.batch + 1);
        let pool = Sieve { beta, ..Sieve::new(problem, &model, &data, seed_of(problem, round.batch)) }.pool()?;
        problem.domain().decode(pool.points.view()).map(|points| Some(Survivors::Points(points)))
    }
}
