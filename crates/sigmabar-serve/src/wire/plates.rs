//! Plates and sheets.

use super::NAME_PATTERN;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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

/// Whether to look only, and whether to ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportQuery {
    /// Say what would be told, and tell nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// What looks mistyped was measured so: write it down without a question.
    #[serde(default)]
    pub sure: bool,
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

/// A plate to be laid out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlateBody {
    /// Its wells: 6, 12, 24, 48, 96, 384 or 1536.
    #[schemars(extend("enum" = [6, 12, 24, 48, 96, 384, 1536]))]
    pub wells: usize,
    /// Its name: asking for it again gives it again.
    #[schemars(length(min = 1, max = 200), regex(pattern = NAME_PATTERN))]
    pub name: String,
}

/// What was typed into wells of a plate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WellsBody {
    /// By the names of the wells: a number, or the word failed with a reason behind a colon. Of a replicated setting all wells are given together.
    pub wells: BTreeMap<String, String>,
}
