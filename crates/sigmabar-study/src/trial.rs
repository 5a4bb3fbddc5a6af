//! Trials: what is asked, what is told, and how they are shown.

use crate::Value;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use sigmabar::Outcome;
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// How long a lease holds unless said otherwise.
pub(crate) const DEFAULT_LEASE: Duration = Duration::from_secs(3600);

/// Cases with their words in files and tables.
macro_rules! words {
    ($(#[$of_all:meta])* pub enum $name:ident { $($(#[$of_one:meta])* $case:ident = $word:literal,)+ }) => {
        $(#[$of_all])*
        pub enum $name {
            $($(#[$of_one])* $case,)+
        }

        impl $name {
            /// All of them.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$case),+];

            /// The one of this name, in any case of letters.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.name().eq_ignore_ascii_case(name))
            }

            /// Its word.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$case => $word,)+
                }
            }
        }
    };
}

/// Who asks for how much, and for how long.
#[derive(Clone, Debug, PartialEq)]
pub struct AskRequest {
    /// The worker's name: asking again with it gives the same pending trials first, which then count as evaluated again.
    pub worker: String,
    /// At most this many trials.
    pub at_most: usize,
    /// How long the trials are the worker's own.
    pub lease: Duration,
    /// What this one request is known by: sent again because its answer was lost, it hands nothing out twice.
    pub key: Option<String>,
    /// Whether a person reads the answer, who may want to see it again without measuring again.
    pub is_shown: bool,
}

impl AskRequest {
    /// For a worker, at most so many trials, for an hour.
    #[must_use]
    pub fn new(worker: impl Into<String>, at_most: usize) -> Self {
        Self { worker: worker.into(), at_most, lease: DEFAULT_LEASE, key: None, is_shown: false }
    }

    /// Known by a key of its own.
    #[must_use]
    pub fn with_key(self, key: Option<String>) -> Self {
        Self { key, ..self }
    }

    /// To be read by a person: what is shown again is not evaluated again, and certificates say that this is the person's word.
    #[must_use]
    pub fn to_be_shown(self) -> Self {
        Self { is_shown: true, ..self }
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

/// What a server hands out.
#[derive(Clone, Debug, PartialEq)]
pub enum HandedOut {
    /// Evaluations to be made.
    Trials(Vec<AskedTrial>),
    /// Others are at work, or the study is paused.
    Wait,
    /// Nothing is open, and the next batch is not planned yet.
    Unplanned,
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
        /// How many replicates it is the mean of, where that is said: a standard error must come with it.
        replicates: Option<u32>,
    },
    /// There is no value.
    Failed {
        /// Why.
        reason: String,
    },
}

impl TrialResult {
    /// From the columns of a row: there is a value, or a reason why there is none.
    pub(crate) fn of_columns(value: Option<f64>, standard_error: Option<f64>, replicates: Option<u32>, reason: Option<String>) -> Self {
        match value {
            Some(value) => Self::Value { value, standard_error, replicates },
            None => Self::Failed { reason: reason.unwrap_or_default() },
        }
    }

    /// The columns of a row.
    pub(crate) fn columns(&self) -> (Option<f64>, Option<f64>, Option<u32>, Option<&str>) {
        match self {
            Self::Value { value, standard_error, replicates } => (Some(*value), *standard_error, *replicates, None),
            Self::Failed { reason } => (None, None, None, Some(reason)),
        }
    }

    /// Of how many replicates it is the mean, where that was said.
    #[must_use]
    pub fn replicates(&self) -> Option<u32> {
        self.columns().2
    }

    /// What the strategy is told: it has no use for reasons.
    pub(crate) fn outcome(&self) -> Outcome {
        match *self {
            Self::Value { value: mean, standard_error: Some(standard_error), replicates } => {
                Outcome::Mean { mean, standard_error, replicates }
            }
            Self::Value { value, standard_error: None, .. } => Outcome::Value(value),
            Self::Failed { .. } => Outcome::Failed,
        }
    }
}

/// When a correction came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "WhenCorrected")]
pub enum Corrected {
    /// Its batch is open: nothing had used the earlier result.
    InTime,
    /// Its batch was analysed before, and is now analysed again: certificates say so.
    AfterAnalysis,
    /// It had come late, and is used by nothing.
    Late,
}

/// What became of a told result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Told {
    /// Its batch is open: the strategy will use it.
    Counted,
    /// Its batch was closed before: it is kept and shown, but the strategy had to do without.
    Late,
    /// Another result stood there, and this one is in its place.
    Corrected(Corrected),
    /// It stood there already, with the same value: nothing was changed.
    Again {
        /// Whether it had come after its batch was closed.
        is_late: bool,
    },
}

impl Told {
    /// Whether the strategy had to do without it.
    #[must_use]
    pub fn is_late(self) -> bool {
        matches!(self, Self::Late | Self::Again { is_late: true })
    }

    /// What it did to another result that stood there.
    #[must_use]
    pub fn corrected(self) -> Option<Corrected> {
        if let Self::Corrected(corrected) = self { Some(corrected) } else { None }
    }

    /// Whether it stood there already.
    #[must_use]
    pub fn is_again(self) -> bool {
        matches!(self, Self::Again { .. })
    }
}

words! {
    /// Where a trial stands.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum TrialStatus {
        /// Waits to be asked for.
        Queued = "queued",
        /// Leased by a worker.
        Leased = "leased",
        /// Its lease ran out: the next ask hands it out again, and a late result is still welcome.
        Expired = "expired",
        /// Told with a value.
        Done = "done",
        /// Told to have failed.
        Failed = "failed",
        /// Its batch was closed without it.
        Missing = "missing",
        /// Told after its batch was closed.
        Late = "late",
    }
}

impl TrialStatus {
    /// Whether an answer is still expected.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Queued | Self::Leased | Self::Expired)
    }
}

impl JsonSchema for TrialStatus {
    fn schema_name() -> Cow<'static, str> {
        "TrialState".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": Self::ALL.map(Self::name), "description": "Where a trial stands." })
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
    /// How many replicates it is the mean of, where that was said.
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
    pub plate: Option<u64>,
    /// The well it was laid into.
    pub well: Option<String>,
    /// What people remarked about it.
    pub note: Option<String>,
}

/// What a control well came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ControlRow {
    /// The batch of the trials beside it, from 0.
    pub batch: usize,
    /// Their plate, from 1; none where none was counted.
    pub plate: Option<u64>,
    /// Its well.
    pub well: String,
    /// Its value.
    pub value: f64,
}

impl ControlRow {
    /// Whether it is on the plate of a trial. Before plates were counted, each batch had one.
    #[must_use]
    pub fn is_beside(&self, trial: &TrialRow) -> bool {
        self.plate == trial.plate && (self.plate.is_some() || self.batch == trial.batch)
    }
}

/// Why there is no value where a table has a setting without one.
pub const NO_RESULT: &str = "no result";

words! {
    /// What makes a result one that may have been chosen by its noise: in a table it would look like any other.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub enum Mark {
        /// Corrected or withdrawn after it was analysed.
        Corrected = "after analysis",
        /// Not surely the first attempt's.
        MeasuredAgain = "measured again",
        /// The mean of fewer measurements than were planned.
        Fewer = "of fewer replicates",
        /// It refuted the premises of its study: those that were mended then were mended by looking at it.
        Refuting = "refuted premises",
    }
}

/// A result measured before the study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportedRow {
    /// The setting, in the order of the study's parameters.
    pub values: Vec<Value>,
    /// What came of it.
    pub result: TrialResult,
    /// What happened to it in the study that it comes from.
    #[serde(default)]
    pub mark: Option<Mark>,
}

impl ImportedRow {
    /// A result to which nothing happened.
    #[must_use]
    pub fn new(values: Vec<Value>, result: TrialResult) -> Self {
        Self { values, result, mark: None }
    }
}

/// Which trials to look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Only those with larger ids than this.
    pub after: Option<u64>,
    /// At most so many.
    pub at_most: Option<usize>,
    /// Only those that stand so.
    pub state: Option<TrialStatus>,
    /// Only those of this batch.
    pub batch: Option<usize>,
    /// Only those that this worker asked for last.
    pub worker: Option<String>,
}

words! {
    /// What can happen to a study.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "kebab-case")]
    #[non_exhaustive]
    pub enum EventKind {
        /// A batch was planned.
        Planned = "planned",
        /// There is nothing more to plan.
        Finished = "finished",
        /// A batch was closed with what had arrived.
        Closed = "closed",
        /// A trial was handed out.
        Asked = "asked",
        /// It was handed out again to the worker that had it, which may have evaluated it already.
        AskedAgain = "asked again",
        /// It was shown again to the person who had it.
        ShownAgain = "shown again",
        /// Its result was told.
        Told = "told",
        /// Its result was replaced by another; the detail has what stood there.
        Replaced = "replaced",
        /// Its result was withdrawn; the detail has what stood there.
        Withdrawn = "withdrawn",
        /// Another setting than the planned one was used; the detail has the planned one.
        UsedOtherwise = "used otherwise",
        /// It had failed and is to be evaluated again.
        Retried = "retried",
        /// A control was measured; the detail has batch, well and value.
        Control = "control",
        /// What its wells came to: the detail has them by name, none where another result stands in their place.
        Wells = "wells",
        /// Its lease ran out.
        Expired = "expired",
        /// Its worker gave it back, or, as the detail says, nobody ever saw it.
        GivenBack = "given back",
        /// Its worker's process has ended.
        WorkerEnded = "worker ended",
        /// Results from before the study came in.
        Imported = "imported",
        /// Nothing is handed out from here on.
        Paused = "paused",
        /// Trials are handed out again.
        Resumed = "resumed",
        /// Somebody said to go on although the data contradict the premises.
        WentOn = "went on",
        /// The study file was changed; the detail names the keys.
        Amended = "amended",
        /// Nothing is handed out to one worker from here on.
        WorkerPaused = "worker paused",
        /// Trials are handed out to it again.
        WorkerResumed = "worker resumed",
    }
}

impl EventKind {
    /// Whether a trial was handed out, for the first time or again.
    #[must_use]
    pub fn is_ask(self) -> bool {
        matches!(self, Self::Asked | Self::AskedAgain | Self::ShownAgain)
    }
}

/// Something that happened to a study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EventRow {
    /// Its number in the file: later ones are larger.
    pub number: u64,
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// What.
    pub kind: EventKind,
    /// The trial it happened to.
    pub trial: Option<u64>,
    /// The worker who had it.
    pub worker: Option<String>,
    /// What else there is to know: JSON, such as the result that was replaced.
    pub detail: Option<String>,
}
