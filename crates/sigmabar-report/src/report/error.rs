//! Why there is no report.

use crate::plot::PngError;

/// Why a report could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The study could not be read.
    #[error(transparent)]
    Study(#[from] sigmabar_study::Error),
    /// The model could not be asked.
    #[error(transparent)]
    Model(#[from] sigmabar::Error),
    /// A picture could not be rendered.
    #[error(transparent)]
    Png(#[from] PngError),
    /// A table of runs or budgets could not be read.
    #[error("cannot read the table: {0}")]
    Csv(#[from] csv::Error),
    /// A table misses a column.
    #[error("the table has no column \"{column}\"; it has {found}")]
    Column {
        /// The column that is needed.
        column: &'static str,
        /// The columns there are, with commas between.
        found: String,
    },
    /// A field is not what its column holds.
    #[error("line {line}, column \"{column}\": \"{text}\" is not {requirement}")]
    Field {
        /// The line of the file, from 1.
        line: u64,
        /// The column.
        column: &'static str,
        /// What stands there.
        text: String,
        /// What should.
        requirement: &'static str,
    },
    /// There is nothing to report on.
    #[error("there is nothing to draw: {what} is empty")]
    Empty {
        /// What is empty.
        what: &'static str,
    },
}

/// Short for results of this module.
pub type Result<T> = std::result::Result<T, Error>;
