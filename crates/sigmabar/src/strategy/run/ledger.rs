//! The book of a run: what was asked, what was told, which batch is open. It knows no mathematics.

use crate::certificate::Contradiction;
use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::points::{Collected, bits};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// One evaluation to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Its number, from 0, in the order of proposal.
    pub id: u64,
    /// The batch it belongs to, from 0.
    pub batch: usize,
    /// The candidate it evaluates, on a finite domain.
    pub candidate: Option<usize>,
    /// Where to measure, in the coordinates of the domain's model.
    pub point: Vec<f64>,
}

/// What came of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Outcome {
    /// One measured value.
    Value(f64),
    /// The mean of replicates with its standard error. That one is an estimate: what a claim may use is the number of replicates, if it is told.
    Mean {
        /// The mean.
        mean: f64,
        /// Its standard error.
        standard_error: f64,
        /// How many replicates it is the mean of.
        replicates: Option<u32>,
    },
    /// The evaluation failed: there is no value, and none is made up.
    Failed,
}

/// Where a trial stands.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum TrialState {
    /// Proposed, not handed out yet.
    Queued,
    /// Handed out.
    Asked,
    /// Answered while its batch was open.
    Told(Outcome),
    /// Its batch was closed without it.
    Missing,
    /// Answered after its batch was closed: kept and shown, but no certificate of that batch uses it.
    Late(Outcome),
}

/// What an ask gives.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Ask {
    /// Evaluations to be made.
    Trials(Vec<Trial>),
    /// Everything of the open batch is handed out: tell results, or close the batch.
    Wait,
    /// The data contradict the premises: nothing more is measured under them unless [`crate::Strategy::go_on_despite_contradiction`] says so.
    Contradicted(Contradiction),
    /// The run is over.
    Finished,
}

/// A result that was measured before the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attached {
    /// The candidate it belongs to, on a finite list.
    pub candidate: Option<usize>,
    /// Where it was measured, in the coordinates of the domain's model.
    pub point: Vec<f64>,
    /// What came of it.
    pub outcome: Outcome,
    /// How the point was chosen: only results whose points somebody vouches for enter a certificate.
    pub collected: Collected,
}

/// One value with where it was measured, from the run or from before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured<'a> {
    /// The trial of the run it answers; none for a result from before the run.
    pub id: Option<u64>,
    /// The candidate, on a finite list.
    pub candidate: Option<usize>,
    /// Where, in the coordinates of the domain's model.
    pub point: &'a [f64],
    /// The value, or the mean of replicates.
    pub value: f64,
    /// The standard error that came with it.
    pub standard_error: Option<f64>,
    /// How many replicates it is the mean of, where that was told.
    pub replicates: Option<u32>,
}

/// A point put forward by a policy.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Proposal {
    pub candidate: Option<usize>,
    pub point: Vec<f64>,
}

/// All trials of a run and the batches they came in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    /// Results from before the run.
    attached: Vec<Attached>,
    trials: Vec<Trial>,
    states: Vec<TrialState>,
    /// First trial of each batch.
    starts: Vec<usize>,
    /// How many batches are closed; at most one is open.
    closed: usize,
    /// The first trial that was not handed out: all before it were, or are missing.
    next: usize,
    /// Trials of the open batch without an answer, so that telling does not look at all of them each time.
    unanswered: usize,
}

impl Ledger {
    /// All trials, in the order of proposal.
    #[must_use]
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// The states of all trials, in the same order.
    #[must_use]
    pub fn states(&self) -> &[TrialState] {
        &self.states
    }

    /// Results from before the run, in the order in which they were attached.
    #[must_use]
    pub fn attached(&self) -> &[Attached] {
        &self.attached
    }

    /// Values from before the run, in the order in which they were attached.
    pub fn measured_before(&self) -> impl Iterator<Item = Measured<'_>> + '_ {
        self.attached.iter().filter_map(Attached::measured)
    }

    /// Those of them whose points were not chosen by looking at responses.
    pub fn fixed_before(&self) -> impl Iterator<Item = Measured<'_>> + '_ {
        let fixed = self.attached.iter().filter(|a| a.collected.is_fixed());
        fixed.filter_map(Attached::measured)
    }

    /// How many of the settings from before the run have no value.
    pub fn lost_before(&self) -> usize {
        self.attached.iter().filter(|a| a.measured().is_none()).count()
    }

    /// How many of those whose points were fixed.
    pub fn lost_of_fixed(&self) -> usize {
        self.attached.iter().filter(|a| a.collected.is_fixed() && a.measured().is_none()).count()
    }

    /// Every value there is: those from before the run, then those of all batches, in the order of their ids, late ones left out.
    pub fn all_measured(&self) -> impl Iterator<Item = Measured<'_>> + '_ {
        self.measured_before().chain((0..self.batches()).flat_map(|batch| self.measured(batch)))
    }

    /// Number of batches opened so far.
    #[must_use]
    pub fn batches(&self) -> usize {
        self.starts.len()
    }

    /// Number of batches closed so far.
    #[must_use]
    pub fn closed(&self) -> usize {
        self.closed
    }

    /// The trials of a batch, as a range of ids; empty for a batch that was not opened.
    #[must_use]
    pub fn batch(&self, index: usize) -> std::ops::Range<usize> {
        let start = |i: usize| self.starts.get(i).copied().unwrap_or(self.trials.len());
        start(index)..start(index.saturating_add(1))
    }

    /// Values of a batch that were told while it was open, in the order of their ids, whatever the order of telling.
    pub fn measured(&self, batch: usize) -> impl Iterator<Item = Measured<'_>> + '_ {
        self.measured_of(self.batch(batch))
    }

    /// The first trial that is still to be answered: every one before it is told or lost.
    pub(crate) fn settled(&self) -> usize {
        let waits = |state: &TrialState| matches!(state, TrialState::Queued | TrialState::Asked);
        self.states.iter().position(waits).unwrap_or(self.states.len())
    }

    /// Values of the trials before one, those that were told while their batch was open.
    pub(crate) fn measured_until(&self, end: usize) -> impl Iterator<Item = Measured<'_>> + '_ {
        self.measured_of(0..end)
    }

    fn measured_of(&self, trials: std::ops::Range<usize>) -> impl Iterator<Item = Measured<'_>> + '_ {
        trials.filter_map(|i| match self.states[i] {
            TrialState::Told(outcome) => {
                let trial = &self.trials[i];
                outcome.measured(trial.candidate, &trial.point).map(|m| Measured { id: Some(trial.id), ..m })
            }
            _ => None,
        })
    }

    /// Whether a batch lost points: failed, or missing when it was closed.
    #[must_use]
    pub fn lost(&self, batch: usize) -> usize {
        self.lost_of(self.batch(batch))
    }

    /// How many of the trials before one were lost.
    pub(crate) fn lost_until(&self, end: usize) -> usize {
        self.lost_of(0..end)
    }

    fn lost_of(&self, trials: std::ops::Range<usize>) -> usize {
        let lost = |s: &&TrialState| matches!(s, TrialState::Missing | TrialState::Late(_) | TrialState::Told(Outcome::Failed));
        self.states[trials].iter().filter(lost).count()
    }

    /// Whether everything fits together, and together with the domain: asked of what comes from a file.
    pub(crate) fn is_consistent(&self, domain: &Domain) -> bool {
        let dim = domain.dim();
        let placed = |candidate: Option<usize>, point: &[f64]| {
            let fits = point.len() == dim && point.iter().all(|v| v.is_finite());
            // Elsewhere a number is that of a generated candidate.
            fits && match (domain, candidate) {
                (Domain::List(list), Some(i)) => i < list.len() && list.points().row(i) == point,
                (Domain::List(_), None) => false,
                _ => true,
            }
        };
        let (count, open) = (self.trials.len(), self.starts.len());
        let ordered = self.starts.first().is_none_or(|&first| first == 0) && self.starts.windows(2).all(|w| w[0] < w[1]);
        let named = |(i, trial): (usize, &Trial)| {
            placed(trial.candidate, &trial.point) && trial.id == i as u64 && trial.batch < open && self.batch(trial.batch).contains(&i)
        };
        let waiting = |s: &TrialState| matches!(s, TrialState::Queued | TrialState::Asked);
        let sound = |a: &Attached| placed(a.candidate, &a.point) && a.outcome.validate(0).is_ok();
        let told = |s: &TrialState| match s {
            TrialState::Told(outcome) | TrialState::Late(outcome) => outcome.validate(0).is_ok(),
            _ => true,
        };
        self.attached.iter().all(sound)
            && self.states.iter().all(told)
            && self.states.len() == count
            && ordered
            && self.starts.iter().all(|&start| start < count)
            && (self.closed == open || self.closed + 1 == open)
            && self.next <= count
            && self.trials.iter().enumerate().all(named)
            && self.unanswered == self.states.iter().filter(|s| waiting(s)).count()
    }

    /// Hands out at most `at_most` queued trials, in order.
    pub(crate) fn hand_out(&mut self, at_most: usize) -> Vec<Trial> {
        let end = self.next.saturating_add(at_most).min(self.trials.len());
        let handed = self.next..end;
        self.next = end;
        self.states[handed.clone()].fill(TrialState::Asked);
        self.trials[handed].to_vec()
    }

    /// Whether the open batch still waits for an answer.
    pub(crate) fn is_waiting(&self) -> bool {
        self.unanswered > 0
    }

    /// Whether a batch is open, answered or not.
    pub(crate) fn is_open(&self) -> bool {
        self.closed < self.starts.len()
    }

    /// Writes a result from before the run down.
    pub(crate) fn attach(&mut self, attached: Attached) -> Result<()> {
        attached.outcome.validate(self.attached.len() as u64)?;
        self.attached.push(attached);
        Ok(())
    }

    pub(crate) fn open(&mut self, proposals: Vec<Proposal>) {
        let batch = self.starts.len();
        self.starts.push(self.trials.len());
        self.unanswered = proposals.len();
        for Proposal { candidate, point } in proposals {
            self.trials.push(Trial { id: self.trials.len() as u64, batch, candidate, point });
            self.states.push(TrialState::Queued);
        }
    }

    /// Puts a trial of the open batch elsewhere.
    pub(crate) fn relocate(&mut self, id: u64, candidate: Option<usize>, point: Vec<f64>) -> Result<()> {
        let open = if self.is_open() { self.batch(self.closed) } else { 0..0 };
        let trial = usize::try_from(id).ok().and_then(|i| self.trials.get_mut(i)).ok_or(Error::UnknownTrial { id })?;
        if !open.contains(&(trial.id as usize)) {
            return Err(Error::Premise { what: "moving a trial", reason: "its batch is closed, and was analysed as it stood" });
        }
        (trial.candidate, trial.point) = (candidate, point);
        Ok(())
    }

    /// Closes the open batch: what has not been answered is missing. Gives the states of the batch as they were, for [`Ledger::reopen`].
    pub(crate) fn close(&mut self) -> Vec<TrialState> {
        let states = &mut self.states[self.starts[self.closed]..];
        let before = states.to_vec();
        for state in states {
            if matches!(state, TrialState::Queued | TrialState::Asked) {
                *state = TrialState::Missing;
            }
        }
        self.closed += 1;
        self.next = self.trials.len();
        self.unanswered = 0;
        before
    }

    /// Takes the last [`Ledger::close`] back.
    pub(crate) fn reopen(&mut self, before: &[TrialState]) {
        self.closed -= 1;
        let start = self.starts[self.closed];
        self.states[start..].copy_from_slice(before);
        self.next = start + before.iter().filter(|s| **s != TrialState::Queued).count();
        self.unanswered = before.iter().filter(|s| matches!(s, TrialState::Queued | TrialState::Asked)).count();
    }

    /// Writes an answer down.
    ///
    /// # Errors
    /// [`Error::UnknownTrial`], [`Error::NotAsked`], [`Error::AlreadyTold`], or [`Error::NotFinite`] for a value that is not a number. Nothing is changed then.
    pub(crate) fn tell(&mut self, id: u64, outcome: Outcome) -> Result<()> {
        outcome.validate(id)?;
        let state = usize::try_from(id).ok().and_then(|i| self.states.get_mut(i)).ok_or(Error::UnknownTrial { id })?;
        *state = match state {
            TrialState::Queued => return Err(Error::NotAsked { id }),
            TrialState::Told(_) | TrialState::Late(_) => return Err(Error::AlreadyTold { id }),
            TrialState::Asked => {
                self.unanswered -= 1;
                TrialState::Told(outcome)
            }
            TrialState::Missing => TrialState::Late(outcome),
        };
        Ok(())
    }
}

/// How many values equal another in every number.
pub(crate) fn copies<'m>(measured: impl Iterator<Item = Measured<'m>>) -> usize {
    let key = |m: &Measured<'_>| (bits(m.point), m.value.to_bits(), m.standard_error.map(f64::to_bits));
    let mut seen = HashSet::new();
    measured.filter(|m| !seen.insert(key(m))).count()
}

impl Attached {
    pub(crate) fn measured(&self) -> Option<Measured<'_>> {
        self.outcome.measured(self.candidate, &self.point)
    }
}

impl Outcome {
    /// The value, or the mean with its standard error; `None` for a failure.
    #[must_use]
    pub fn value(self) -> Option<(f64, Option<f64>)> {
        match self {
            Self::Value(value) => Some((value, None)),
            Self::Mean { mean, standard_error, .. } => Some((mean, Some(standard_error))),
            Self::Failed => None,
        }
    }

    pub(crate) fn measured(self, candidate: Option<usize>, point: &[f64]) -> Option<Measured<'_>> {
        let (value, standard_error) = self.value()?;
        let replicates = if let Self::Mean { replicates, .. } = self { replicates } else { None };
        Some(Measured { id: None, candidate, point, value, standard_error, replicates })
    }

    fn validate(self, id: u64) -> Result<()> {
        let values: &[f64] = match &self {
            Self::Value(value) => std::slice::from_ref(value),
            Self::Mean { mean, standard_error, replicates } => {
                crate::error::positive("standard error", *standard_error)?;
                if let Some(0) = replicates {
                    return Err(Error::Parameter { name: "replicates", value: 0.0, requirement: "at least 1" });
                }
                std::slice::from_ref(mean)
            }
            Self::Failed => &[],
        };
        match values.iter().find(|v| !v.is_finite()) {
            Some(&value) => Err(Error::NotFinite { what: "told values", row: id as usize, column: 0, value }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reopening_takes_closing_back() {
        for (asked, told) in [(0, 0), (2, 0), (2, 2), (3, 1), (4, 4)] {
            let mut ledger = Ledger::default();
            for _ in 0..2 {
                ledger.open((0..4).map(|i| Proposal { candidate: Some(i), point: vec![0.5] }).collect());
                if ledger.batches() == 1 {
                    ledger.hand_out(1);
                    ledger.close();
                }
            }
            let ids: Vec<u64> = ledger.hand_out(asked).iter().map(|trial| trial.id).collect();
            ids.iter().take(told).for_each(|&id| ledger.tell(id, Outcome::Value(1.0)).unwrap());
            let before = ledger.clone();
            let states = ledger.close();
            assert!(ledger != before && !ledger.is_open() && !ledger.is_waiting());
            ledger.reopen(&states);
            assert_eq!(ledger, before, "{asked} asked, {told} told");
        }
    }
}
