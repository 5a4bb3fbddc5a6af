//! The table of an objective in a study file.

use crate::union::OneOrMany;
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
    /// Seconds after which an evaluation is killed and counts as failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<f64>,
    /// How often a failed evaluation is tried again; 0 unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// Seconds that a trial stays with its worker; the time-out and a minute, or an hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<f64>,
    /// Where commands run, seen from the directory of the study's database; that directory unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
}
