//! What a study shows of itself.

use super::nearest::Nearest;
use crate::space::Space;
use crate::{Result, TrialStatus, Value};
use serde::{Deserialize, Serialize};
use sigmabar::certificate::Contradiction;
use sigmabar::strategy::BatchReport;
use sigmabar::{Certificate, Label, Strategy};
use std::collections::BTreeMap;

/// What to do if the study ended now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// What the recommended candidate is called, in a list that has labels.
    pub called: Option<String>,
    /// The recommended setting.
    pub values: Vec<(String, Value)>,
    /// Lower end of the interval for its true value.
    pub lower: f64,
    /// Upper end of the interval for its true value.
    pub upper: f64,
    /// How far from the best setting it can still be; infinite where nothing is known about the rest.
    pub gap: f64,
    /// How far it can be from the best of the candidates that stand for the space; none where the space itself is searched.
    pub candidate_gap: Option<f64>,
    /// What interval and gap rest on, and with it what they may be called.
    pub certificate: Certificate,
    /// The best single value seen, which may be a lucky draw.
    pub best_observed: Option<BestObserved>,
    /// The setting as the strategy sees it.
    pub point: Vec<f64>,
    /// How the evaluations nearest to it ended.
    pub nearest: Nearest,
}

impl Advice {
    /// The recommended values in the order of the parameters.
    #[must_use]
    pub fn plain_values(&self) -> Vec<Value> {
        self.values.iter().map(|(_, value)| value.clone()).collect()
    }

    /// What interval and gap may be called.
    #[must_use]
    pub fn label(&self) -> Label {
        self.certificate.label()
    }
}

/// The best value that was told.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BestObserved {
    /// The trial.
    pub id: u64,
    /// Its setting.
    pub values: Vec<(String, Value)>,
    /// Its value.
    pub value: f64,
}

/// A closed batch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BatchRow {
    /// The batch, from 0.
    pub batch: usize,
    /// What the strategy says about it.
    pub report: BatchReport,
    /// What is still possible after it, where the strategy rules settings out.
    pub survivors: Option<Survivors>,
    /// When it was planned, in milliseconds since 1970.
    pub opened_at: i64,
    /// When it was closed.
    pub closed_at: Option<i64>,
}

/// What is still possible.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Survivors {
    /// Rows of the list of candidates, from 0.
    Candidates(Vec<usize>),
    /// Cells of the box, in the parameters' own units.
    Cells(Vec<Cell>),
    /// Settings among those that stand for the space: others may be possible too.
    Points(Vec<Vec<Value>>),
}

/// A cell between two corners.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The lower corner.
    pub low: Vec<Value>,
    /// The upper corner.
    pub high: Vec<Value>,
}

impl Survivors {
    /// What the strategy still holds possible.
    pub(super) fn of(strategy: &Strategy, space: &Space) -> Result<Option<Self>> {
        let values = |natural: &[f64]| space.from_natural(natural);
        Ok(match strategy.survivors()? {
            Some(sigmabar::strategy::Survivors::Candidates(rows)) => Some(Self::Candidates(rows)),
            Some(sigmabar::strategy::Survivors::Cells(cells)) => {
                Some(Self::Cells(cells.iter().map(|cell| Cell { low: values(&cell.low), high: values(&cell.high) }).collect()))
            }
            Some(sigmabar::strategy::Survivors::Points(points)) => Some(Self::Points(points.view().rows().map(values).collect())),
            _ => None,
        })
    }
}

/// Where a study stands.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    /// The study's name.
    pub name: String,
    /// The strategy's name.
    pub strategy: String,
    /// How many trials are in which state.
    pub counts: BTreeMap<TrialStatus, usize>,
    /// How many evaluations may be made.
    pub budget: usize,
    /// How many were planned so far.
    pub planned: usize,
    /// Batches begun so far.
    pub batches: usize,
    /// Batches closed so far.
    pub closed: usize,
    /// Whether the study is over.
    pub is_finished: bool,
    /// Whether the pilot is measured and the premises are still to be fixed: nothing is planned before.
    pub awaits_premises: bool,
    /// The gap at which to stop.
    pub wanted_gap: Option<f64>,
    /// The gap among the candidates at which to stop.
    pub wanted_candidate_gap: Option<f64>,
    /// Whether it was reached by a claim of the strategy.
    pub is_gap_reached: bool,
    /// That the data contradict the premises, if they do: nothing more is handed out under them.
    pub contradiction: Option<Contradiction>,
    /// Results measured before the study.
    pub imported: usize,
    /// How many of them the strategy was given; those that came after the first batch was planned are kept and shown only.
    pub imported_in_time: usize,
}

impl Status {
    /// The gap that is wanted, and whether it is the one among the candidates.
    #[must_use]
    pub fn wanted(&self) -> Option<(f64, bool)> {
        self.wanted_gap.map(|gap| (gap, false)).or(self.wanted_candidate_gap.map(|gap| (gap, true)))
    }

    /// How many settings of the current batch have no result.
    #[must_use]
    pub fn open(&self) -> usize {
        TrialStatus::ALL.into_iter().filter(|state| state.is_open()).map(|state| self.count(state)).sum()
    }

    /// How many trials are in a state.
    #[must_use]
    pub fn count(&self, state: TrialStatus) -> usize {
        self.counts.get(&state).copied().unwrap_or(0)
    }
}
