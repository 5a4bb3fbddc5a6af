//! How a command can end, and what its exit code says.

use crate::data::DataError;
use crate::plate::Mismatch;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What a verb gives back.
pub(crate) type Outcome<T = Ending> = Result<T, Failure>;

/// An end without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Everything asked for was done.
    Done,
    /// The budget is spent and the wanted gap was not reached.
    Uncertified,
    /// Ctrl-C: what was told is kept, and the same command goes on.
    Interrupted,
}

impl Ending {
    /// The exit code.
    #[must_use]
    pub fn code(self) -> i32 {
        match self {
            Self::Done => 0,
            Self::Uncertified => 3,
            Self::Interrupted => 130,
        }
    }
}

/// Why a command failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Failure {
    /// Options that do not fit together, or a missing one.
    #[error("{what}: {remedy}")]
    Usage {
        /// What is wrong.
        what: String,
        /// What would be right.
        remedy: String,
    },
    /// Something that cannot be done as things stand.
    #[error("{what}: {remedy}")]
    Refused {
        /// What is wrong.
        what: String,
        /// What would be right.
        remedy: String,
    },
    /// A table that cannot be read.
    #[error("{0}")]
    Data(Box<DataError>),
    /// A model file that cannot be read.
    #[error("{}: {problem}", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// Why.
        problem: sigmabar::Error,
    },
    /// A file that cannot be opened, read or written.
    #[error("{}: cannot {action}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// A file that is there already and would be lost.
    #[error("{}: is there already; choose another name, or say --force to replace it", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A file that came to be while this command worked; what it made is kept under another name.
    #[error("{}: was made by somebody else meanwhile and is left as it is; what this command made is {}", path.display(), kept.display())]
    Taken {
        /// The file.
        path: PathBuf,
        /// What was made.
        kept: PathBuf,
    },
    /// Standard output cannot be written.
    #[error("standard output: {0}")]
    Output(#[from] io::Error),
    /// The mathematics refused.
    #[error(transparent)]
    Core(#[from] sigmabar::Error),
    /// A study file, or a study, refused.
    #[error(transparent)]
    Study(#[from] sigmabar_study::Error),
    /// The page could not be made.
    #[error(transparent)]
    Report(#[from] crate::report::Error),
    /// The server could not be started.
    #[error(transparent)]
    #[cfg(feature = "serve")]
    Serve(#[from] sigmabar_serve::ServeError),
    /// The number of threads could not be set.
    #[error("{name} is \"{value}\": it must be a whole number of threads, from 1 to {most}")]
    Threads {
        /// The option or environment variable.
        name: &'static str,
        /// The text found.
        value: String,
        /// How many there can be.
        most: usize,
    },
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        Self::Data(Box::new(error))
    }
}

impl From<Mismatch> for Failure {
    fn from(error: Mismatch) -> Self {
        match error {
            Mismatch::Sheet { what, remedy } => Self::Refused { what, remedy },
            Mismatch::Study(error) => Self::Study(error),
            other => Self::refused(other.to_string(), "put every result beside its own setting"),
        }
    }
}

impl Failure {
    /// A usage error.
    pub(crate) fn usage(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Usage { what: what.into(), remedy: remedy.into() }
    }

    /// What cannot be done as things stand.
    pub(crate) fn refused(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Refused { what: what.into(), remedy: remedy.into() }
    }

    /// The same with a column's name in the place of its number, which whoever typed the names need not know.
    pub(crate) fn naming(self, columns: &[String]) -> Self {
        match self {
            Self::Core(sigmabar::Error::Digits { column, value, spacing, length }) if column < columns.len() => Self::refused(
                format!(
                    "column \"{}\" holds {value:e}, where neighbouring numbers are {spacing:e} apart, against a length-scale of {length:e}: differences carry no digits",
                    columns[column]
                ),
                "subtract a reference value while the column is still exact (as integers or dates), or use a longer length-scale",
            ),
            other => other,
        }
    }

    /// For `map_err`: what was tried with which file.
    pub(crate) fn file(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::File { path: path.to_owned(), action, source }
    }

    /// The exit code.
    #[must_use]
    pub fn code(&self) -> i32 {
        match self {
            Self::Usage { .. } | Self::Threads { .. } => 2,
            _ if self.core().is_some_and(is_self_check) => 4,
            _ => 1,
        }
    }

    /// The error of the mathematics behind it.
    fn core(&self) -> Option<&sigmabar::Error> {
        use crate::report;
        match self {
            Self::Core(error)
            | Self::Model { problem: error, .. }
            | Self::Study(sigmabar_study::Error::Core(error))
            | Self::Report(report::Error::Model(error) | report::Error::Study(sigmabar_study::Error::Core(error))) => Some(error),
            _ => None,
        }
    }

    /// Whether somebody called the work off.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        matches!(self.core(), Some(sigmabar::Error::Interrupted(_)))
    }

    /// Whether the reader of our output went away, as `head` does: not worth a word.
    #[must_use]
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// Whether arithmetic contradicted itself, as opposed to an input that was refused.
pub(crate) fn is_self_check(error: &sigmabar::Error) -> bool {
    use sigmabar::Error;
    use sigmabar::linalg::LinalgError;
    matches!(error, Error::NegativeVariance { .. } | Error::Linalg(LinalgError::SelfCheck { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sigmabar::linalg::{LinalgError, Operation};

    #[test]
    fn exit_codes_tell_the_kinds_apart() {
        let wrong = || sigmabar::Error::Linalg(LinalgError::SelfCheck { operation: Operation::Gram, discrepancy: 1.0, allowed: 1e-9 });
        assert_eq!(Failure::from(wrong()).code(), 4);
        assert_eq!(Failure::from(sigmabar_study::Error::from(wrong())).code(), 4);
        assert_eq!(Failure::from(crate::report::Error::from(wrong())).code(), 4);
        assert_eq!(Failure::from(sigmabar::Error::Empty { what: "points" }).code(), 1);
        assert_eq!(Failure::usage("x", "y").code(), 2);
        assert_eq!([Ending::Done, Ending::Uncertified, Ending::Interrupted].map(Ending::code), [0, 3, 130]);
        assert!(Failure::Output(io::ErrorKind::BrokenPipe.into()).is_closed_pipe());
    }
}
