//! Telling results.

use super::Setting;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sigmabar_study::{Corrected, Told, TrialResult};

/// The longest reason of a failure, in characters.
pub(crate) const LONGEST_REASON: usize = 2000;
/// The most results of one request.
pub const MOST_RESULTS: usize = 10_000;

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
            (_, Some(reason)) if reason.chars().count() > LONGEST_REASON => Err("failed has at most 2000 characters"),
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
            TrialResult::Failed { reason } => Self { failed: Some(reason.chars().take(LONGEST_REASON).collect()), ..Self::default() },
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

/// Whether to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SureQuery {
    /// Whether what looks mistyped was measured so, as it is unless said: programs tell what they came to. `false` is answered with a question where a number that
    /// somebody typed looks wrong.
    #[serde(default = "is_sure")]
    pub sure: bool,
}

fn is_sure() -> bool {
    true
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

/// Results measured before the study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EarlierBody {
    /// The results.
    #[schemars(length(max = 10_000))]
    pub rows: Vec<EarlierRow>,
    /// How their settings were chosen.
    #[serde(default)]
    pub collected: Option<HowCollected>,
}

/// How settings were chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HowCollected {
    /// Neither a setting, nor how many there are, was chosen by looking at a value.
    Fixed,
    /// By looking at earlier values.
    Adaptive,
    /// Drawn alike, settings and values together, in an order that means nothing.
    Exchangeable,
    /// Nobody says.
    Undeclared,
}

/// A result measured before the study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EarlierRow {
    /// The setting.
    pub values: Setting,
    /// The value; `null` where it was lost, which may have been because of what it was.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schemars(required)]
    pub value: Option<f64>,
}

/// How many results were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Kept {
    /// Their number.
    pub rows: usize,
}

/// Another result in the place of the one that was told, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplaceBody {
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
    /// Why it is replaced: kept as the trial's note, and in the study's events beside what stood there.
    #[schemars(length(min = 1, max = 2000))]
    pub why: String,
}

/// Why a result is withdrawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VoidBody {
    /// Kept as the trial's note, and in the study's events beside what stood there.
    #[schemars(length(min = 1, max = 2000))]
    pub why: String,
}

/// What a correction came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CorrectedAnswer {
    /// When it came.
    pub corrected: Corrected,
}
