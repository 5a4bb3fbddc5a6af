//! Trials: what is asked, what is told, and how they are shown.

use crate::Value;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// How long a lease holds unless said otherwise.
pub(crate) const DEFAULT_LEASE: Duration = Duration::from_secs(3600);

/// Who asks for how much, and for how long.
#[derive(Clone, Debug, PartialEq)]
pub struct AskRequest {
    /// The worker's name: asking again with it gives the same pending trials first.
    pub worker: String,
    /// At most this many trials.
    pub at_most: usize,
    /// How long the trials are the worker's own.
    pub lease: Duration,
}

impl AskRequest {
    /// For a worker, at most so many trials, for an hour.
    #[must_use]
    pub fn new(worker: impl Into<String>, at_most: usize) -> Self {
        Self { worker: worker.into(), at_most, lease: DEFAULT_LEASE }
    }

    /// Leased for another time.
    #[must_use]
    pub fn with_lease(self, lease: Duration) -> Self {
        Self { lease, ..self }
    }
}

/// What an ask gives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Asked {
    /// Evaluations to be made.
    Trials(Vec<AskedTrial>),
    /// Everything of the batch is leased by others: tell results, wait, or close the batch.
    Wait,
    /// The study is over.
    Finished,
}

/// One evaluation to be made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AskedTrial {
    /// Its number in the study, from 0.
    pub id: u64,
    /// Its batch, from 0.
    pub batch: usize,
    /// The setting: names and values in the order of the study file.
    pub values: Vec<(String, Value)>,
    /// A seed of its own, below 2³², for whatever is random in the evaluation.
    pub seed: u64,
    /// Until when the trial is the worker's own, in milliseconds since 1970.
    pub leased_until: i64,
}

/// What came of an evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum TrialResult {
    /// A value, perhaps the mean of replicates with its standard error.
    Value {
        /// The value.
        value: f64,
        /// Its standard error.
        standard_error: Option<f64>,
    },
    /// There is no value.
    Failed {
        /// Why.
        reason: String,
    },
}

/// What became of a told result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Told {
    /// Its batch is open: the strategy will use it.
    Counted,
    /// Its batch was closed before: it is kept and shown, but the strategy had to do without.
    Late,
}

/// Where a trial stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrialStatus {
    /// Waits to be asked for.
    Queued,
    /// Leased by a worker.
    Leased,
    /// Its lease ran out: the next ask hands it out again, and a late result is still welcome.
    Expired,
    /// Told with a value.
    Done,
    /// Told to have failed.
    Failed,
    /// Its batch was closed without it.
    Missing,
    /// Told after its batch was closed.
    Late,
}

impl TrialStatus {
    /// The word in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Leased => "leased",
            Self::Expired => "expired",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Missing => "missing",
            Self::Late => "late",
        }
    }
}

impl fmt::Display for TrialStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One trial as it stands in the file. Times are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrialRow {
    /// Its number in the study, from 0.
    pub id: u64,
    /// Its batch, from 0.
    pub batch: usize,
    /// The setting, in the order of the study's parameters.
    pub values: Vec<Value>,
    /// Where it stands.
    pub state: TrialStatus,
    /// Who asked for it last.
    pub worker: Option<String>,
    /// Until when it is leased.
    pub leased_until: Option<i64>,
    /// How often it was handed out.
    pub attempts: u32,
    /// The told value.
    pub value: Option<f64>,
    /// Its standard error.
    pub standard_error: Option<f64>,
    /// Why it failed.
    pub reason: Option<String>,
    /// The seed of the evaluation.
    pub seed: u64,
    /// When it was planned.
    pub planned_at: i64,
    /// When it was handed out last.
    pub asked_at: Option<i64>,
    /// When its result was told.
    pub told_at: Option<i64>,
    /// The plate and well it was laid into.
    pub well: Option<String>,
    /// What people remarked about it.
    pub note: Option<String>,
}

/// A result measured before the study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportedRow {
    /// The setting, in the order of the study's parameters.
    pub values: Vec<Value>,
    /// What came of it.
    pub result: TrialResult,
}

/// Something that happened to a study besides asking and telling.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EventRow {
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// What: planned, finished, closed, expired, given back, worker ended, imported.
    pub kind: String,
    /// The trial it happened to.
    pub trial: Option<u64>,
    /// The worker who had it.
    pub worker: Option<String>,
}
