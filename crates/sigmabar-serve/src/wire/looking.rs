//! What is known.

use super::{NAME_PATTERN, Setting, setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use sigmabar_study::{Space, TrialRow, TrialStatus};
use std::collections::BTreeMap;

/// Settings to predict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PredictBody {
    /// The settings.
    #[schemars(length(min = 1, max = 10_000))]
    pub settings: Vec<Setting>,
}

/// What the model says at settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Predictions {
    /// In the order of the settings; empty where there is no model yet.
    pub predictions: Vec<Prediction>,
}

/// What the model says at a setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prediction {
    /// The mean of the true value.
    pub mean: f64,
    /// Lower end of its interval.
    pub lower: f64,
    /// Upper end of its interval.
    pub upper: f64,
    /// What the interval may be called.
    pub label: String,
}

/// Which trials to look at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrialsQuery {
    /// Only those with larger numbers.
    #[serde(default)]
    #[schemars(range(max = u64::MAX))]
    pub after: Option<u64>,
    /// At most so many.
    #[serde(default)]
    #[schemars(range(min = 1, max = 5000))]
    pub limit: Option<usize>,
    /// Only those in this state.
    #[serde(default)]
    pub state: Option<TrialStatus>,
    /// Only those of this batch, from 0.
    #[serde(default)]
    #[schemars(range(max = u64::MAX))]
    pub batch: Option<usize>,
    /// Only those that this worker asked for last.
    #[serde(default)]
    #[schemars(length(min = 1, max = 200), regex(pattern = NAME_PATTERN))]
    pub worker: Option<String>,
}

/// Some trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trials {
    /// In the order of their numbers.
    pub trials: Vec<TrialShown>,
    /// What to give as `after` for the next ones; none at the end.
    pub next: Option<u64>,
}

/// A trial as it stands. Times are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialShown {
    /// Its number in the study.
    pub id: u64,
    /// Its batch, from 0.
    pub batch: usize,
    /// What the candidate is called, in a list that has labels.
    #[serde(default)]
    pub called: Option<String>,
    /// The setting.
    pub values: Setting,
    /// Where it stands.
    pub state: String,
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
    /// How many replicates it is the mean of.
    pub replicates: Option<u32>,
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
    /// The plate that it was laid into with others, from 1; none where none was counted.
    #[serde(default)]
    pub plate: Option<u64>,
    /// Its well.
    pub well: Option<String>,
    /// What people remarked about it.
    pub note: Option<String>,
}

impl TrialShown {
    pub(crate) fn of(row: TrialRow, space: &Space) -> Self {
        let names: Vec<String> = space.names().collect();
        Self {
            id: row.id,
            batch: row.batch,
            called: space.label(&row.values),
            values: setting(&names, &row.values),
            state: row.state.name().to_owned(),
            worker: row.worker,
            leased_until: row.leased_until,
            attempts: row.attempts,
            value: row.value,
            standard_error: row.standard_error,
            replicates: row.replicates,
            reason: row.reason,
            seed: row.seed,
            planned_at: row.planned_at,
            asked_at: row.asked_at,
            told_at: row.told_at,
            plate: row.plate,
            well: row.well,
            note: row.note,
        }
    }
}

/// The studies of a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Studies {
    /// In the order of their names.
    pub studies: Vec<StudyShown>,
}

/// A study in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyShown {
    /// What it is called in addresses.
    pub study: String,
    /// Its name in its file.
    pub name: String,
    /// Its random name, which no other study has.
    pub identity: String,
    /// What it is about.
    pub description: Option<String>,
    /// How many workers have trials now.
    pub workers: usize,
    /// The number of its last event.
    pub last_event: u64,
    /// Why it cannot be read, where it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Where a study stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyStatus {
    /// The study's name.
    pub name: String,
    /// Its random name, which no other study has.
    pub identity: String,
    /// The strategy's name.
    pub strategy: String,
    /// The names of its parameters, in order.
    pub parameters: Vec<String>,
    /// How many trials are in which state.
    pub counts: BTreeMap<String, usize>,
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
    /// Whether its pilot is measured and the premises are to be fixed now.
    #[serde(default)]
    pub awaits_premises: bool,
    /// Whether nothing is handed out.
    pub is_paused: bool,
    /// The gap at which to stop.
    pub wanted_gap: Option<f64>,
    /// The gap among the candidates at which to stop.
    pub wanted_candidate_gap: Option<f64>,
    /// Whether it was reached by a claim of the strategy.
    pub is_gap_reached: bool,
    /// That the data contradict the premises, if they do.
    pub contradiction: Option<String>,
    /// Results measured before the study.
    pub imported: usize,
    /// How many of them the strategy was given.
    pub imported_in_time: usize,
    /// The number of the last event that this includes.
    pub event: u64,
}

/// Under which other length-scales a claim is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PremisesQuery {
    /// By which all length-scales are multiplied: numbers with commas between them; none for the claim under the declared ones alone.
    #[serde(default)]
    #[schemars(length(max = 200), regex(pattern = r"^[0-9.,eE+-]*$"))]
    pub factors: Option<String>,
}

/// The claim of a study as a function of its premises.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PremisesAnswer {
    /// Along norm and noise, with its range and certificate; none where there is no claim.
    pub standing: Option<Json>,
    /// Why there is no claim, where there is none: what the data contradict, or which premises are missing.
    #[serde(default)]
    pub reason: Option<String>,
    /// Along the norm with other length-scales, a row for each factor.
    pub map: Vec<Json>,
}

/// What to do if the study ended now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RecommendationAnswer {
    /// The recommendation; none before anything was measured.
    pub recommendation: Option<Recommendation>,
    /// The number of the last event that this includes.
    pub event: u64,
}

/// A setting to use, with what is known about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recommendation {
    /// What the candidate is called, in a list that has labels.
    #[serde(default)]
    pub called: Option<String>,
    /// The setting.
    pub values: Setting,
    /// Lower end of the interval for its true value.
    pub lower: Option<f64>,
    /// Upper end.
    pub upper: Option<f64>,
    /// How far from the best setting it can still be; none where nothing is known.
    pub gap: Option<f64>,
    /// The same among the candidates that stand for the space.
    pub candidate_gap: Option<f64>,
    /// What interval and gap may be called.
    pub label: String,
    /// Why they may not be called certified.
    pub reasons: Vec<String>,
    /// What they rest on, whole.
    pub certificate: Json,
    /// The best single value seen, which may be a lucky draw.
    pub best_observed: Option<BestSeen>,
}

/// The best single value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BestSeen {
    /// The trial.
    pub id: u64,
    /// Its setting.
    pub values: Setting,
    /// Its value.
    pub value: f64,
}

/// The batches of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Batches {
    /// One for each batch that is answered or closed, with what was still possible after it.
    pub batches: Vec<Json>,
}

/// The workers of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workers {
    /// Those at work first.
    pub workers: Vec<WorkerShown>,
}

/// A worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerShown {
    /// Its name.
    pub worker: String,
    /// Trials it has now.
    pub leased: usize,
    /// When the first of these leases runs out, in milliseconds since 1970.
    pub leased_until: Option<i64>,
    /// Trials it has told.
    pub told: usize,
    /// How many of these had failed.
    pub failed: usize,
    /// Whether nothing is handed out to it.
    pub is_paused: bool,
}

/// Where to begin with events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventsQuery {
    /// Events with larger numbers, from those that are there; only what happens from now on unless given.
    #[serde(default)]
    #[schemars(range(max = u64::MAX))]
    pub after: Option<u64>,
}
