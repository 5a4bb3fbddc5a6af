//! Asking for trials, and keeping them.

use super::{NAME_PATTERN, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The longest lease: a plate takes weeks.
pub const LONGEST_LEASE: f64 = 60.0 * 86400.0;

/// The most trials of one ask.
pub const MOST_ASKED: u32 = 10_000;

/// Who asks for how much, and for how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskBody {
    /// The worker's name: asking again under it gives its pending trials first, which then count as evaluated again unless they are only shown, or the request has the same Idempotency-Key.
    #[schemars(length(min = 1, max = 200), regex(pattern = NAME_PATTERN))]
    pub worker: String,
    /// At most so many trials.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 10_000))]
    pub at_most: u32,
    /// How long the trials are the worker's own.
    #[serde(default = "two_minutes")]
    #[schemars(range(min = 1, max = 5_184_000))]
    pub lease_seconds: f64,
    /// Whether pending trials are only shown again, by whoever still has them: that nothing measured of them is left out is then the asker's word.
    #[serde(default)]
    pub shown: bool,
}

fn one() -> u32 {
    1
}

fn two_minutes() -> f64 {
    120.0
}

/// How to wait for trials.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskQuery {
    /// How many seconds the answer may take where there is nothing to hand out yet.
    #[serde(default)]
    #[schemars(range(min = 0, max = 60))]
    pub wait: u32,
}

/// What an ask gives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AskAnswer {
    /// Whether there are trials, others are at work, or the study is over.
    pub state: AskState,
    /// Evaluations to be made.
    pub trials: Vec<TrialToDo>,
}

/// What an ask gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AskState {
    /// Evaluations to be made.
    Trials,
    /// Nothing is to be handed out now: ask again.
    Wait,
    /// The study is over.
    Finished,
}

/// One evaluation to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialToDo {
    /// Its number in the study.
    pub id: u64,
    /// Its batch, from 0.
    pub batch: usize,
    /// The setting.
    pub values: Setting,
    /// A seed for whatever is random in the evaluation.
    pub seed: u64,
    /// Until when it is the worker's own, in milliseconds since 1970.
    pub leased_until: i64,
}

/// A lease to be kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaseBody {
    /// The worker that has it.
    #[schemars(length(min = 1, max = 200), regex(pattern = NAME_PATTERN))]
    pub worker: String,
    /// For how long from now.
    #[serde(default = "two_minutes")]
    #[schemars(range(min = 1, max = 5_184_000))]
    pub lease_seconds: f64,
}

/// Whose lease is given back.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkerQuery {
    /// The worker that has it.
    #[schemars(length(min = 1, max = 200), regex(pattern = NAME_PATTERN))]
    pub worker: String,
}

/// Whether the worker still has the trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeaseAnswer {
    /// If not, somebody else was given it, or it was told.
    pub held: bool,
}

pub(crate) fn lease(seconds: f64) -> Result<Duration, &'static str> {
    if (1.0..=LONGEST_LEASE).contains(&seconds) {
        Duration::try_from_secs_f64(seconds).map_err(|_| "lease_seconds must be a number of seconds")
    } else {
        Err("lease_seconds must be between 1 and 5184000 (60 days)")
    }
}
