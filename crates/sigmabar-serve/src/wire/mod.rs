//! What goes over the wire: the types of the API, from which its OpenAPI description is made.

mod asking;
mod changing;
mod looking;
mod plates;
mod telling;

pub use asking::*;
pub use changing::*;
pub use looking::*;
pub use plates::*;
pub use telling::*;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use sigmabar_study::Value;

/// Names are shown to people: they begin with no space, and have no control characters.
pub(crate) const NAME_PATTERN: &str = r"^[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$";

/// A setting: a value for each parameter.
pub type Setting = Map<String, Json>;

/// The header that says which study is meant, by its identity: another one of the same name is refused.
pub const STUDY: &str = "Sigmabar-Study";

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// A short name that does not change.
    pub error: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// A setting as an object, in the order of the parameters.
pub(crate) fn setting(names: &[String], values: &[Value]) -> Setting {
    names.iter().cloned().zip(values.iter().map(|value| json!(value))).collect()
}
