//! What goes over the wire: the types of the API, from which its OpenAPI description is made.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use sigmabar_study::{Told, TrialResult, TrialRow, Value};
use std::collections::BTreeMap;
use std::time::Duration;

/// A setting: a value for each parameter.
pub type Setting = Map<String, Json>;

/// The longest lease: a plate takes weeks.
pub const LONGEST_LEASE: f64 = 60.0 * 86400.0;
/// The most trials of one ask.
pub const MOST_ASKED: u32 = 10_000;
/// The most results of one request.
pub const MOST_RESULTS: usize = 10_000;

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// A short name that does not change.
    pub error: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// Who asks for how much, and for how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskBody {
    /// The worker's name: asking again under it gives its pending trials first.
    #[schemars(length(min = 1, max = 200))]
    pub worker: String,
    /// At most so many trials.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 10_000))]
    pub at_most: u32,
    /// How long the trials are the worker's own.
    #[serde(default = "two_minutes")]
    #[schemars(range(min = 1, max = 5_184_000))]
    pub lease_seconds: f64,
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

/// What came of an evaluation: a value, or why there is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResultBody {
    /// The value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Its standard error, for a mean of replicates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard_error: Option<f64>,
    /// How many replicates it is the mean of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicates: Option<u32>,
    /// Why there is no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2000))]
    pub failed: Option<String>,
}

impl ResultBody {
    /// The result, or what is wrong with it.
    pub(crate) fn result(self) -> Result<TrialResult, &'static str> {
        match (self.value, self.failed) {
            (Some(value), None) => Ok(TrialResult::Value { value, standard_error: self.standard_error, replicates: self.replicates }),
            (None, Some(_)) if self.standard_error.is_some() => Err("a failed evaluation has no standard error"),
            (None, Some(reason)) => Ok(TrialResult::Failed { reason }),
            _ => Err("give exactly one of value and failed"),
        }
    }

    /// As it is sent.
    pub(crate) fn of(result: &TrialResult) -> Self {
        match result {
            TrialResult::Value { value, standard_error, replicates } => {
                Self { value: Some(*value), standard_error: *standard_error, replicates: *replicates, failed: None }
            }
            TrialResult::Failed { reason } => Self { failed: Some(reason.chars().take(2000).collect()), ..Self::default() },
        }
    }
}

/// A result with its trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResultOf {
    /// The trial.
    pub id: u64,
    /// The value.
    #[serde(default)]
    pub value: Option<f64>,
    /// Its standard error, for a mean of replicates.
    #[serde(default)]
    pub standard_error: Option<f64>,
    /// How many replicates it is the mean of.
    #[serde(default)]
    pub replicates: Option<u32>,
    /// Why there is no value.
    #[serde(default)]
    #[schemars(length(max = 2000))]
    pub failed: Option<String>,
}

/// Results that are told together: all of them or, if one is refused, none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResultsBody {
    /// The results.
    #[schemars(length(max = 10_000))]
    pub results: Vec<ResultOf>,
}

/// What became of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToldAnswer {
    /// The trial.
    pub id: u64,
    /// Whether its batch was closed before: it is kept and shown, and enters no claim.
    pub late: bool,
    /// Whether it stood there already, with the same value.
    pub again: bool,
}

impl ToldAnswer {
    pub(crate) fn of(id: u64, told: Told) -> Self {
        Self { id, late: told.is_late(), again: told.is_again() }
    }

    pub(crate) fn told(self) -> Told {
        match (self.again, self.late) {
            (true, is_late) => Told::Again { is_late },
            (false, true) => Told::Late,
            (false, false) => Told::Counted,
        }
    }
}

/// What became of results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToldAnswers {
    /// In the order in which they were given.
    pub told: Vec<ToldAnswer>,
}

/// A lease to be kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeaseBody {
    /// The worker that has it.
    #[schemars(length(min = 1, max = 200))]
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
    #[schemars(length(min = 1, max = 200))]
    pub worker: String,
}

/// Whether the worker still has the trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeaseAnswer {
    /// If not, somebody else was given it, or it was told.
    pub held: bool,
}

/// How to close a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CloseBody {
    /// Close it even if nobody was given anything of it.
    #[serde(default)]
    pub force: bool,
}

/// Whether to hand anything out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseBody {
    /// Nothing is handed out while true.
    pub paused: bool,
    /// Only to this worker.
    #[serde(default)]
    #[schemars(length(min = 1, max = 200))]
    pub worker: Option<String>,
}

/// Nothing needs to be said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NothingBody {}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Done {
    /// Always true: refusals have another status.
    pub done: bool,
}

/// Trials that were put back into the queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reaped {
    /// Their numbers.
    pub trials: Vec<u64>,
}

/// A remark to keep with a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoteBody {
    /// The remark; it takes the place of an older one.
    #[schemars(length(max = 2000))]
    pub note: String,
}

/// A table of results, as `sigmabar tell` reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportBody {
    /// The table: CSV with the columns trial and result.
    pub csv: String,
    /// The name of the file, for messages.
    #[serde(default)]
    #[schemars(length(max = 200))]
    pub file: Option<String>,
    /// The column of results, where it is not called result.
    #[serde(default)]
    #[schemars(length(max = 200))]
    pub column: Option<String>,
}

/// Whether to look only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportQuery {
    /// Say what would be told, and tell nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// What a table of results changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImportAnswer {
    /// Whether it was told; false after a dry run, and where a line contradicts what stands there.
    pub told: bool,
    /// Line by line.
    pub changes: Vec<Change>,
    /// Whether commas were read as decimal points.
    pub decimal_commas: bool,
}

/// What one line of a table changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The line of the table, from 1.
    pub line: u64,
    /// The trial.
    pub trial: u64,
    /// Its well, if it was laid into one.
    pub well: Option<String>,
    /// What stands there.
    pub before: String,
    /// What the table says.
    pub after: String,
    /// What becomes of it.
    pub kind: ChangeKind,
}

/// What becomes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// A result where there was none.
    New,
    /// A result for a batch that is closed: kept, and enters no claim.
    Late,
    /// It stands there already.
    Same,
    /// The well is empty.
    Empty,
    /// Another result stands there, and is not replaced.
    Conflict,
    /// Such a trial was never handed out.
    Unknown,
}

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
    pub after: Option<u64>,
    /// At most so many.
    #[serde(default)]
    #[schemars(range(min = 1, max = 5000))]
    pub limit: Option<usize>,
    /// Only those in this state.
    #[serde(default)]
    pub state: Option<TrialState>,
    /// Only those of this batch, from 0.
    #[serde(default)]
    pub batch: Option<usize>,
    /// Only those that this worker asked for last.
    #[serde(default)]
    pub worker: Option<String>,
}

/// Where a trial stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum TrialState {
    Queued,
    Leased,
    Expired,
    Done,
    Failed,
    Missing,
    Late,
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

impl TrialShown {
    pub(crate) fn of(row: TrialRow, names: &[String]) -> Self {
        Self {
            id: row.id,
            batch: row.batch,
            values: setting(names, &row.values),
            state: row.state.name().to_owned(),
            worker: row.worker,
            leased_until: row.leased_until,
            attempts: row.attempts,
            value: row.value,
            standard_error: row.standard_error,
            reason: row.reason,
            seed: row.seed,
            planned_at: row.planned_at,
            asked_at: row.asked_at,
            told_at: row.told_at,
            well: row.well,
            note: row.note,
        }
    }
}

/// A setting as an object, in the order of the parameters.
pub(crate) fn setting(names: &[String], values: &[Value]) -> Setting {
    names.iter().cloned().zip(values.iter().map(json)).collect()
}

pub(crate) fn json(value: &Value) -> Json {
    match value {
        Value::Int(value) => (*value).into(),
        Value::Float(value) => (*value).into(),
        Value::Choice(value) => value.as_str().into(),
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
    /// What it is about.
    pub description: Option<String>,
    /// How many workers have trials now.
    pub workers: usize,
    /// The number of its last event.
    pub last_event: u64,
}

/// Where a study stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyStatus {
    /// The study's name.
    pub name: String,
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
    /// Whether nothing is handed out.
    pub is_paused: bool,
    /// The gap at which to stop.
    pub wanted_gap: Option<f64>,
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

/// A study to begin. Its spec is a study file as JSON, with its candidates written out, and without a command: a server runs none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewStudy {
    /// Letters, digits, hyphens and underscores.
    #[schemars(length(min = 1, max = 64))]
    pub name: String,
    /// The study file.
    pub spec: Json,
}

/// A plate to be laid out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlateBody {
    /// Its wells: 6, 12, 24, 48, 96, 384 or 1536.
    pub wells: usize,
    /// Its name: asking for it again gives it again.
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
}

/// Results measured before the study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EarlierBody {
    /// The results.
    #[schemars(length(max = 10_000))]
    pub rows: Vec<EarlierRow>,
    /// "fixed" if no setting was chosen by looking at a value, "adaptive", or "undeclared".
    #[serde(default)]
    pub collected: Option<String>,
}

/// A result measured before the study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EarlierRow {
    /// The setting.
    pub values: Setting,
    /// The value.
    pub value: f64,
}

/// How many results were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Kept {
    /// Their number.
    pub rows: usize,
}

/// Where to begin with events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventsQuery {
    /// Events with larger numbers, from those that are there; only what happens from now on unless given.
    #[serde(default)]
    pub after: Option<u64>,
}

pub(crate) fn lease(seconds: f64) -> Result<Duration, &'static str> {
    if (1.0..=LONGEST_LEASE).contains(&seconds) {
        Duration::try_from_secs_f64(seconds).map_err(|_| "lease_seconds must be a number of seconds")
    } else {
        Err("lease_seconds must be between 1 and 5184000 (60 days)")
    }
}
