//! The table of an objective in a study file.

use crate::union::{OneOrMany, Time, time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a setting is evaluated: exactly one of command, process and builtin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ObjectiveTable {
    /// A command for the shell, once for each trial; `{name}` stands for a parameter, the last line of its output is the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// A program that stays and speaks JSON lines: a shell command, or program and arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<OneOrMany<String>>,
    /// A built-in test function by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub builtin: Option<String>,
    /// Standard deviation of the normal noise of a built-in function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<f64>,
    /// When an evaluation is killed and counts as failed: after so many seconds, or a time such as "90s" or "2h".
    #[serde(default, deserialize_with = "time", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Time>")]
    pub timeout: Option<f64>,
    /// How often a failed evaluation is tried again; 0 unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// How long a trial stays with its worker, in seconds or as a time such as "30m" or "2h"; two minutes unless said, and renewed as long as the worker lives.
    #[serde(default, deserialize_with = "time", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Time>")]
    pub lease: Option<f64>,
    /// Where commands run, seen from the directory of the study's database; that directory unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
}
