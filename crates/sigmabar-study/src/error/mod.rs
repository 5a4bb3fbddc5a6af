//! One error type for the whole crate: errors are data, and say what, where, and what would be right.

mod spec;

pub(crate) use spec::Top;
pub use spec::{SpecError, SpecProblem, TextPosition};

use crate::value::Value;
use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// The result of anything that can be refused.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What was asked for cannot be done, and why.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A file that cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The data contradict the premises of the study: nothing more is measured under them unless somebody says so.
    #[error("{0}")]
    Contradicted(sigmabar::certificate::Contradiction),
    /// A study file that says something wrong.
    #[error(transparent)]
    Spec(#[from] Box<SpecError>),
    /// A table that is not CSV.
    #[error("{}: {source}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// Why, with the line.
        source: csv::Error,
    },
    /// A cell of a table that says something wrong.
    #[error("{}, line {line}, column \"{column}\": found \"{found}\", where {requirement} is needed", path.display())]
    Cell {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The name of the column.
        column: String,
        /// The text found.
        found: String,
        /// What would be right.
        requirement: &'static str,
    },
    /// A value that a parameter does not take.
    #[error("parameter \"{parameter}\" is {found}: it must be {requirement}")]
    Setting {
        /// The parameter.
        parameter: String,
        /// The value found.
        found: Value,
        /// What would be right.
        requirement: &'static str,
    },
    /// Another number of values than there are parameters.
    #[error("{found} values were given, where the study has {expected} parameters")]
    SettingLength {
        /// The number of parameters.
        expected: usize,
        /// The number of values.
        found: usize,
    },
    /// A setting that is not in the list of candidates.
    #[error("({}) is not in the list of candidates", join(values))]
    NotACandidate {
        /// The setting.
        values: Vec<Value>,
    },
    /// A setting that breaks a constraint.
    #[error("({}) does not satisfy the constraints of the study", join(values))]
    Unconstrained {
        /// The setting.
        values: Vec<Value>,
    },
    /// A row of an import that cannot be used.
    #[error("row {row} of the import (counted from 1): {source}")]
    ImportedRow {
        /// The row, from 1.
        row: usize,
        /// Why.
        source: Box<Error>,
    },
    /// A row that is there already.
    #[error(
        "it equals another in every number, which noise never does: it is one measurement written down twice. Leave it out; replicates are imported as their \
         mean with its standard error and their number"
    )]
    Copy,
    /// Results from before the study beside premises that were learnt from such.
    #[error(
        "the premises of this study were learnt from {from}: results from before it cannot be declared fixed, or the claims might rest on the data that taught the \
         premises; import them without saying how they were collected"
    )]
    LearntFrom {
        /// From what.
        from: String,
    },
    /// Results from which premises cannot be learnt.
    #[error("{what}: {remedy}")]
    NotLearnt {
        /// What is wrong.
        what: String,
        /// What would be right.
        remedy: String,
    },
    /// The pilot is measured, and nobody has said yet what follows from it.
    #[error(
        "the pilot of study \"{study}\" is measured: fix kernel, norm_bound and noise in the study file before the next batch (sigmabar premises suggests them, \
         sigmabar amend takes them over)"
    )]
    PremisesAwaited {
        /// The study.
        study: String,
    },
    /// A study with this name exists.
    #[error("{} already has a study named \"{name}\": choose another name or another file", file.display())]
    StudyExists {
        /// The file.
        file: PathBuf,
        /// The name.
        name: String,
    },
    /// No study with this name.
    #[error("{} has no study named \"{name}\"; it has: {}", file.display(), names.join(", "))]
    NoSuchStudy {
        /// The file.
        file: PathBuf,
        /// The name.
        name: String,
        /// The names it has.
        names: Vec<String>,
    },
    /// No name was given, and there is not exactly one study.
    #[error("{} has {} studies ({}): name one of them", file.display(), names.len(), names.join(", "))]
    WhichStudy {
        /// The file.
        file: PathBuf,
        /// The names it has.
        names: Vec<String>,
    },
    /// A trial that does not exist.
    #[error("study \"{study}\" has no trial {id}: tell results with the ids that ask gave")]
    UnknownTrial {
        /// The study.
        study: String,
        /// The id.
        id: u64,
    },
    /// A trial that was not handed out.
    #[error("trial {id} of study \"{study}\" was not handed out yet: ask for it before telling its result")]
    NotAsked {
        /// The study.
        study: String,
        /// The id.
        id: u64,
    },
    /// A batch that nobody has seen is not closed by a command given once too often.
    #[error("nothing of batch {} of study \"{study}\" was handed out yet: ask hands it out; it can be closed all the same, by force", batch + 1)]
    NotHandedOut {
        /// The study.
        study: String,
        /// The batch, from 0.
        batch: usize,
    },
    /// A second result that is not the first.
    #[error(
        "trial {id} of study \"{study}\" already has another result: replace it, with a note that says why (tell --replace), or leave it"
    )]
    AlreadyTold {
        /// The study.
        study: String,
        /// The id.
        id: u64,
    },
    /// Nothing to correct.
    #[error("trial {id} of study \"{study}\" has no result that could be corrected: tell it")]
    NotTold {
        /// The study.
        study: String,
        /// The id.
        id: u64,
    },
    /// A key of the study file that cannot be changed any more.
    #[error("{key} cannot be changed once the study has begun: {reason}")]
    Unamendable {
        /// The key.
        key: String,
        /// Why.
        reason: &'static str,
    },
    /// The study file was amended by somebody else.
    #[error("study \"{study}\" was amended while it was open here: open it again, or start the command again")]
    Amended {
        /// The study.
        study: String,
    },
    /// Another setting was used than was asked for, and nobody said that this may be.
    #[error("trial {id}: {reason}")]
    UsedOtherwise {
        /// The trial.
        id: u64,
        /// Why it is refused.
        reason: &'static str,
    },
    /// Results of which one is probably mistyped, told by somebody who was not sure.
    #[error("{why}{}; nothing was written down", like_it(*more))]
    Mistyped {
        /// What is odd about the first.
        why: String,
        /// The trials that this is about, each with its well where it has one.
        wells: Vec<(u64, Option<String>)>,
        /// How many others.
        more: usize,
    },
    /// A result that is not a number.
    #[error("the {what} of trial {id} is {}: it must be {requirement}", Value::Float(*found))]
    Result {
        /// The trial.
        id: u64,
        /// Value or standard error.
        what: &'static str,
        /// The number found.
        found: f64,
        /// What would be right.
        requirement: &'static str,
    },
    /// The study has nothing to evaluate its trials with.
    #[error(
        "study \"{study}\" has no objective: add an [objective] table with command, process or builtin to the study file, or ask and tell by hand"
    )]
    NoObjective {
        /// The study.
        study: String,
    },
    /// The program of an objective cannot be started.
    #[error("the objective's program \"{program}\" cannot be started: {source}")]
    Spawn {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// The objective does not work at all: no trial was used up by it.
    #[error("the objective \"{program}\" does not work: {reason}")]
    ObjectiveBroken {
        /// The program.
        program: String,
        /// What it did.
        reason: String,
    },
    /// Every evaluation failed.
    #[error(
        "nothing was measured: all {failures} evaluations of study \"{study}\" failed, the last one because: {reason}; mend the objective, then evaluate them again (run --retry-failed)"
    )]
    NothingMeasured {
        /// The study.
        study: String,
        /// How many failed.
        failures: usize,
        /// Why the last one did.
        reason: String,
    },
    /// A whole batch failed of an objective that worked before: the run ends instead of spending the budget on an outage.
    #[error(
        "all evaluations of batch {batch} of study \"{study}\" failed, the last one because: {reason}; mend what is out of order, then evaluate them again (run --retry-failed); to go on without \
         them, run"
    )]
    BatchFailed {
        /// The study.
        study: String,
        /// The batch, counted from 1.
        batch: usize,
        /// Why the last one did.
        reason: String,
    },
    /// The objective of a study cannot be used.
    #[error("objective.{key}: {problem}")]
    Objective {
        /// The key of the table.
        key: &'static str,
        /// What is wrong.
        problem: SpecProblem,
    },
    /// The file that keeps the study.
    #[error("{}: {problem}", file.display())]
    Store {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        problem: StoreError,
    },
    /// A server that does not do what a worker needs.
    #[error("{server}: {problem}")]
    Server {
        /// Its address.
        server: String,
        /// What it said, or why it was not reached.
        problem: String,
    },
    /// The core refused.
    #[error(transparent)]
    Core(#[from] sigmabar::Error),
}

/// What is wrong with the file of a study.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such file.
    #[error("there is no such file: create a study first")]
    Absent,
    /// Not an SQLite file.
    #[error("this is not a study file: it is not an SQLite database")]
    NotADatabase,
    /// An SQLite file of another program.
    #[error("this is an SQLite database of another program (application id {found:#x}), not a study file")]
    Foreign {
        /// The application id found.
        found: i32,
    },
    /// Written by a newer version.
    #[error("its format {found} is newer than {supported}, the newest that this version reads: use a newer sigmabar")]
    Newer {
        /// The format found.
        found: i32,
        /// The newest known.
        supported: i32,
    },
    /// Damaged.
    #[error("the database is damaged ({detail}): restore a copy, or save what `sqlite3 FILE .recover` finds")]
    Damaged {
        /// What SQLite says.
        detail: String,
    },
    /// Content that does not fit together.
    #[error("the study's saved state does not fit together: {what}")]
    Inconsistent {
        /// What does not fit.
        what: Cow<'static, str>,
    },
    /// The disk is full.
    #[error("the disk is full: nothing of this step was written, everything acknowledged before is safe")]
    Full,
    /// The file or its directory cannot be written.
    #[error("the file or its directory is read-only")]
    ReadOnly,
    /// A file of an older format that cannot be brought up where it lies.
    #[error("it has format {found}, which must be brought up to {needed} before it is read: copy it to where it can be written")]
    OlderReadOnly {
        /// The format found.
        found: i32,
        /// The format of this version.
        needed: i32,
    },
    /// Another file has its name now, or none.
    #[error(
        "the file was moved away or replaced while it was open: what is told now would be lost. Put it back; or end every process that has it open, delete FILE-wal and FILE-shm beside it, and begin again with the file that is there"
    )]
    Replaced,
    /// The file cannot be opened.
    #[error("the file cannot be opened: {detail}")]
    CannotOpen {
        /// What SQLite says.
        detail: String,
    },
    /// Others held the file for too long.
    #[error("other processes held the file for more than {seconds} seconds: try again")]
    Busy {
        /// How long it was tried.
        seconds: u64,
    },
    /// A network file system, on which SQLite's locks cannot be trusted.
    #[error(
        "the file lies on a network file system ({kind}), where SQLite cannot lock reliably: put it on a local disk of the machine that plans"
    )]
    NetworkFileSystem {
        /// Which one.
        kind: &'static str,
    },
    /// The copy before a migration could not be written.
    #[error("the backup {} before the migration could not be written: {detail}; nothing was changed", path.display())]
    Backup {
        /// The copy.
        path: PathBuf,
        /// Why.
        detail: String,
    },
    /// Anything else that SQLite says.
    #[error("SQLite: {0}")]
    Sqlite(rusqlite::Error),
}

fn like_it(more: usize) -> String {
    match more {
        0 => String::new(),
        1 => ", and one result like it".to_owned(),
        more => format!(", and {more} results like it"),
    }
}

fn join(values: &[Value]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
