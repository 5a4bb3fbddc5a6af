//! A pilot: a first batch that looks around before anything is assumed, and is in no claim (algorithm notes 13.4).

use super::premises::Premises;
use super::shares::Counted;
use super::{Rules, Sbpe, at_least_one};
use crate::error::{Error, Result};
use crate::strategy::baselines::Sobol;
use crate::strategy::run::ledger::{Ledger, Proposal};
use crate::strategy::run::problem::Problem;

/// One in so many evaluations of a pilot repeats another: the noise shows in their differences.
const REPEATED: usize = 6;

impl Sbpe {
    /// A pilot of so many evaluations before everything else, out of the budget: points spread over the domain without looking at a value, one in six of them measured
    /// again. Kernel, norm bound, noise and prior may be given after it ([`crate::Strategy::fix_premises`]); the batches that follow are certified under them,
    /// and nothing that was measured up to then is in a claim.
    ///
    /// # Errors
    /// [`Error::Parameter`] for 0.
    pub fn with_pilot(self, evaluations: usize) -> Result<Self> {
        Ok(Self { pilot: Some(at_least_one("pilot", evaluations)?), ..self })
    }

    /// How many evaluations the pilot has, if there is one.
    #[must_use]
    pub fn pilot(&self) -> Option<usize> {
        self.pilot
    }

    /// The lengths of the batches that claims are made of.
    pub(super) fn lengths(&self, budget: usize) -> Result<Vec<usize>> {
        let pilot = self.pilot.unwrap_or(0);
        let left = budget.checked_sub(pilot).filter(|left| *left > 0);
        self.schedule.lengths(left.ok_or(Error::Parameter {
            name: "pilot",
            value: pilot as f64,
            requirement: "smaller than the budget: what follows it is what is certified",
        })?)
    }

    /// Which batches claims are made of.
    pub(super) fn counted(&self, problem: &Problem) -> Result<Counted> {
        Ok(Counted { first: usize::from(self.pilot.is_some()), count: self.lengths(problem.budget())?.len() })
    }

    /// Whether a batch is the pilot.
    pub(super) fn is_pilot(&self, batch: usize) -> bool {
        self.pilot.is_some() && batch == 0
    }

    /// Whether the premises are still to be fixed, by what the pilot shows.
    pub(in crate::strategy) fn awaits_premises(&self, problem: &Problem) -> bool {
        self.pilot.is_some() && Premises::new(problem).is_err()
    }

    pub(super) fn check_pilot(&self) -> Result<()> {
        if self.pilot.is_some() && self.rules == Rules::Paper {
            return Err(Error::Premise { what: "the paper's rules", reason: "they know no pilot: use the certified rules" });
        }
        Ok(())
    }

    /// The pilot's points: they depend on domain and seed alone.
    pub(super) fn pilot_design(&self, problem: &Problem) -> Result<Vec<Proposal>> {
        let evaluations = self.pilot.unwrap_or(0);
        let again = evaluations / REPEATED;
        let spread = problem.clone().with_budget(evaluations - again)?;
        let mut proposals = Sobol::default().plan(&spread, &Ledger::default())?;
        proposals.extend_from_within(..again);
        Ok(proposals)
    }

    /// What has to be given before the first batch after the pilot.
    pub(super) fn without_premises(&self, error: Error) -> Error {
        match error {
            Error::Missing { .. } if self.pilot.is_some() => Error::Missing {
                what: "the premises",
                purpose: "the batches after the pilot",
                remedy: "fix kernel, norm bound and noise now that the pilot is measured; none of its results will be in a claim",
            },
            other => other,
        }
    }
}
