//! What people do to a study.

use super::NAME_PATTERN;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

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
    #[schemars(length(min = 1, max = 200), regex(pattern = NAME_PATTERN))]
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

/// A study to begin. Its spec is a study file as JSON, with its candidates written out, and without a command: a server runs none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewStudy {
    /// Letters, digits, hyphens and underscores.
    #[schemars(length(min = 1, max = 64), regex(pattern = "^[A-Za-z0-9_-]+$"))]
    pub name: String,
    /// The study file.
    pub spec: Map<String, Json>,
}

/// An edited study file. Its objective stays as it was: no command comes over the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AmendBody {
    /// The whole study file, as the address spec gives it; description, stop_when and a larger budget may be changed.
    pub spec: Map<String, Json>,
}

/// What was amended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AmendedKeys {
    /// The keys of the study file that changed.
    pub keys: Vec<String>,
}
