//! The lines that a long-lived objective and we exchange.

use crate::{AskedTrial, TrialResult};
use serde::Deserialize;
use serde_json::{Map, json};
use thiserror::Error;

/// An answer of a long-lived objective.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The trial.
    pub id: u64,
    /// Its result.
    pub result: TrialResult,
}

/// Why a line is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReplyProblem {
    /// Not JSON of the right form.
    #[error(
        "it is not a reply ({detail}): expected {{\"id\": 17, \"value\": 0.83}}, with \"std\" if known, or {{\"id\": 17, \"error\": \"why\"}}"
    )]
    Form {
        /// What the parser says.
        detail: String,
    },
    /// A value that is no number, as Python writes it.
    #[error("the value of trial {id} is not a finite number: report it as {{\"id\": {id}, \"error\": \"why\"}}")]
    NotFinite {
        /// The trial.
        id: u64,
    },
    /// Neither value nor error, or both.
    #[error("trial {id} has {found}: expected exactly one of \"value\" and \"error\"")]
    Content {
        /// The trial.
        id: u64,
        /// What was found.
        found: &'static str,
    },
    /// A standard error that is none.
    #[error("the \"std\" of trial {id} must be finite and positive")]
    StandardError {
        /// The trial.
        id: u64,
    },
}

#[derive(Deserialize)]
struct Line {
    id: u64,
    value: Option<f64>,
    std: Option<f64>,
    replicates: Option<u32>,
    error: Option<String>,
}

/// Reads one line of a long-lived objective. Keys that we do not know are left alone.
///
/// # Errors
/// [`ReplyProblem`].
pub fn parse_reply(line: &[u8]) -> Result<Reply, ReplyProblem> {
    let line: Line = serde_json::from_slice(line).map_err(|error| malformed(line, &error))?;
    let id = line.id;
    let result = match (line.value, line.error) {
        (Some(value), None) => TrialResult::Value { value, standard_error: line.std, replicates: line.replicates },
        (None, Some(reason)) => TrialResult::Failed { reason },
        (Some(_), Some(_)) => return Err(ReplyProblem::Content { id, found: "both" }),
        (None, None) => return Err(ReplyProblem::Content { id, found: "neither" }),
    };
    match line.std {
        Some(std) if !(std.is_finite() && std > 0.0) => Err(ReplyProblem::StandardError { id }),
        _ => Ok(Reply { id, result }),
    }
}

/// NaN and Infinity are not JSON, but many programs write them.
fn malformed(line: &[u8], error: &serde_json::Error) -> ReplyProblem {
    let text = String::from_utf8_lossy(line);
    let without = text.replace("-Infinity", "null").replace("Infinity", "null").replace("NaN", "null");
    match serde_json::from_str::<Line>(&without) {
        Ok(Line { id, value: None, error: None, .. }) if without != text => ReplyProblem::NotFinite { id },
        _ => ReplyProblem::Form { detail: error.to_string() },
    }
}

/// The trial that a spoilt line is about, if that can be read: `"id": 17`.
pub(super) fn trial_of(line: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(line);
    let rest = text.split_once("\"id\"")?.1.trim_start().strip_prefix(':')?.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    // A number that goes on otherwise, or to the end of the line, may have been cut.
    if rest[end..].trim_start().starts_with([',', '}']) { rest[..end].parse().ok() } else { None }
}

/// The line that asks for an evaluation.
pub(super) fn request(trial: &AskedTrial) -> String {
    let parameters: Map<String, serde_json::Value> = trial.values.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let line = json!({ "id": trial.id, "batch": trial.batch, "params": parameters, "seed": trial.seed });
    format!("{line}\n")
}
