//! What is wrong with a study file, and where.

use super::Error;
use crate::expression::ExpressionError;
use sigmabar::catalogue::{PolicyError, nearest};
use std::fmt;
use std::path::PathBuf;
use thiserror::Error as ThisError;

/// Where something stands in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPosition {
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
    /// The line itself.
    pub excerpt: String,
}

impl TextPosition {
    /// Where a byte stands.
    pub(crate) fn at(text: &str, byte: usize) -> Self {
        let mut byte = byte.min(text.len());
        while !text.is_char_boundary(byte) {
            byte -= 1;
        }
        let start = text[..byte].rfind('\n').map_or(0, |newline| newline + 1);
        let excerpt = text[start..].lines().next().unwrap_or("").to_owned();
        Self { line: text[..start].matches('\n').count() + 1, column: text[start..byte].chars().count() + 1, excerpt }
    }
}

/// A study file that says something wrong.
#[derive(Debug)]
pub struct SpecError {
    /// The file, if it was read from one.
    pub file: Option<PathBuf>,
    /// The key, as `parameters.x.low`; empty where the text itself cannot be read.
    pub key: String,
    /// Where it stands, if that is known.
    pub place: Option<TextPosition>,
    /// What is wrong.
    pub problem: SpecProblem,
}

/// The top of a study file: its keys, and how one gets there in this language.
pub(crate) struct Top {
    pub is_key: fn(&str) -> bool,
    pub remedy: &'static str,
}

/// What is wrong with a study file.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum SpecProblem {
    /// The text cannot be read, or a value has the wrong type.
    #[error("{message}")]
    Syntax {
        /// What the parser says.
        message: String,
    },
    /// A key or a name that does not exist.
    #[error("unknown {what} \"{found}\"{}", suggestion(meant.as_deref(), known))]
    Unknown {
        /// Key, strategy, kernel, …
        what: &'static str,
        /// What was written.
        found: String,
        /// What may be written.
        known: Vec<String>,
        /// The likely one.
        meant: Option<String>,
    },
    /// A key of the study that stands in one of its tables.
    #[error("\"{found}\" belongs to the study itself: {remedy}")]
    Misplaced {
        /// The key.
        found: String,
        /// Where to put it.
        remedy: &'static str,
    },
    /// A name that no parameter can have.
    #[error("a parameter cannot be called \"{found}\": {reason}")]
    Name {
        /// The name.
        found: String,
        /// Why not.
        reason: &'static str,
    },
    /// Two parameters that a command would find in one variable.
    #[error(
        "the parameters \"{one}\" and \"{two}\" would both be ${variable}: rename one of them, or put both into the command as {{{one}}} and {{{two}}}"
    )]
    Variable {
        /// One of them.
        one: String,
        /// The other.
        two: String,
        /// The variable.
        variable: String,
    },
    /// A value that cannot be.
    #[error("found {found}, where {requirement} is needed")]
    Requirement {
        /// What was written.
        found: String,
        /// What would be right.
        requirement: &'static str,
    },
    /// Something is missing.
    #[error("{what} is missing: {remedy}")]
    Missing {
        /// What.
        what: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// Two keys that exclude each other.
    #[error("this does not go together with {other}: {remedy}")]
    Conflict {
        /// The other key.
        other: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// A constraint that cannot be read.
    #[error(transparent)]
    Expression(ExpressionError),
    /// The table of candidates cannot be read.
    #[error(transparent)]
    Candidates(Box<Error>),
    /// The strategy or one of its options.
    #[error(transparent)]
    Strategy(Box<PolicyError>),
    /// The core refuses.
    #[error(transparent)]
    Core(sigmabar::Error),
}

impl SpecProblem {
    /// An unknown word, with the likely one among those known.
    pub(crate) fn unknown<S: AsRef<str>>(what: &'static str, found: &str, known: &[S]) -> Self {
        let known: Vec<String> = known.iter().map(|word| word.as_ref().to_owned()).collect();
        let meant = nearest(found, known.iter().map(String::as_str)).map(str::to_owned);
        Self::Unknown { what, found: found.to_owned(), known, meant }
    }

    /// What serde says at a place, with the usual mistakes told apart.
    pub(crate) fn of_message(message: &str, place: Option<&TextPosition>, top: &Top) -> Self {
        let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
        match quoted.split_first() {
            Some((found, _)) if message.starts_with("unknown field") && (top.is_key)(found) => {
                Self::Misplaced { found: (*found).to_owned(), remedy: top.remedy }
            }
            Some((found, known)) if message.starts_with("unknown field") => Self::unknown("key", found, known),
            Some((found, known)) if message.starts_with("unknown variant") => Self::unknown("name", found, known),
            Some((&"type", _)) if message.starts_with("missing field") => {
                let remedy = "say what the parameter is: type = \"float\", \"int\", \"categorical\" or \"ordinal\"";
                Self::Missing { what: "type", remedy }
            }
            _ => Self::Syntax { message: plainly(message, place) },
        }
    }
}

/// A parser's message in words that need no parser to be understood.
fn plainly(message: &str, place: Option<&TextPosition>) -> String {
    let mut words = message.trim().to_owned();
    for (theirs, ours) in [
        ("expected usize", "expected a whole number"),
        ("expected u64", "expected a whole number"),
        ("expected f64", "expected a number"),
        ("expected a sequence", "expected a list in brackets, such as [1, 2]"),
    ] {
        words = words.replace(theirs, ours);
    }
    let found = place.and_then(|place| place.excerpt.chars().nth(place.column - 1));
    match found {
        Some(',') if words.contains("expected newline") => words + "; decimals are written with a point, such as 0.5",
        Some('“' | '”' | '„' | '‘' | '’') => words + "; the quotes must be straight: \"",
        _ => words,
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.as_ref().map_or_else(|| "study file".to_owned(), |path| path.display().to_string());
        f.write_str(&file)?;
        if let Some(place) = &self.place {
            write!(f, ", line {}, column {}", place.line, place.column)?;
        }
        if !self.key.is_empty() {
            write!(f, ", {}", self.key)?;
        }
        write!(f, ": {}", self.problem)?;
        if let Some(place) = &self.place {
            let number = place.line.to_string();
            let blank = " ".repeat(number.len());
            write!(f, "\n {number} | {}\n {blank} | {}^", place.excerpt, " ".repeat(place.column - 1))?;
        }
        Ok(())
    }
}

impl std::error::Error for SpecError {}

fn suggestion(meant: Option<&str>, known: &[String]) -> String {
    match meant {
        Some(word) => format!(": did you mean \"{word}\"?"),
        None if known.is_empty() => String::new(),
        None => format!(": there are {}", known.join(", ")),
    }
}
