//! What is wrong with a strategy that somebody asked for.

use super::entries::STRATEGIES;
use super::kind::OptionKind;
use crate::error::Error;
use std::fmt;
use thiserror::Error as ThisError;

/// Strategy, option and what is wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyError {
    /// The strategy's name as it was written.
    pub strategy: String,
    /// The option, where it is about one.
    pub option: Option<String>,
    /// What is wrong.
    pub problem: PolicyProblem,
}

/// What is wrong with a strategy or with one of its options.
#[derive(Clone, Debug, PartialEq, ThisError)]
#[non_exhaustive]
pub enum PolicyProblem {
    /// There is no such strategy.
    #[error("there is no such strategy{}", likely(*meant, || STRATEGIES.iter().map(|entry| entry.name).collect()))]
    UnknownStrategy {
        /// The likely one.
        meant: Option<&'static str>,
    },
    /// The strategy has no such option.
    #[error("it has no such option{}", likely(*meant, || known.clone()))]
    UnknownOption {
        /// Those it has.
        known: Vec<&'static str>,
        /// The likely one.
        meant: Option<&'static str>,
    },
    /// A name of an earlier version.
    #[error("it is called {now} now{remark}")]
    Renamed {
        /// The present name.
        now: &'static str,
        /// What has changed besides.
        remark: &'static str,
    },
    /// A value that the option does not take.
    #[error("found {found}, where {kind} is needed{}", likely(*meant, Vec::new))]
    Value {
        /// What was given.
        found: String,
        /// What would be right.
        kind: OptionKind,
        /// The likely word.
        meant: Option<&'static str>,
    },
    /// An option that the strategy cannot do without.
    #[error("it is needed: {remedy}")]
    Missing {
        /// What to do.
        remedy: &'static str,
    },
    /// Two options that exclude each other.
    #[error("it does not go together with {other}: {remedy}")]
    Conflict {
        /// The other option.
        other: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// The strategy refuses.
    #[error(transparent)]
    Core(Error),
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.option {
            Some(option) => write!(f, "option {option} of strategy \"{}\": {}", self.strategy, self.problem),
            None => write!(f, "strategy \"{}\": {}", self.strategy, self.problem),
        }
    }
}

impl std::error::Error for PolicyError {}

/// Which option is wrong and how; the strategy is added where it is known.
pub(super) struct Wrong {
    pub option: Option<&'static str>,
    pub problem: PolicyProblem,
}

impl Wrong {
    pub fn at(option: &'static str, problem: PolicyProblem) -> Self {
        Self { option: Some(option), problem }
    }
}

impl From<Error> for Wrong {
    fn from(error: Error) -> Self {
        Self { option: None, problem: PolicyProblem::Core(error) }
    }
}

fn likely(meant: Option<&str>, known: impl FnOnce() -> Vec<&'static str>) -> String {
    match (meant, known()) {
        (Some(word), _) => format!(": did you mean \"{word}\"?"),
        (None, known) if known.is_empty() => String::new(),
        (None, known) => format!(": there are {}", known.join(", ")),
    }
}

/// The word among those known that was probably meant.
pub fn nearest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let found = found.to_lowercase();
    let likeness = |word: &str| strsim::jaro_winkler(&found, &word.to_lowercase());
    known
        .into_iter()
        .map(|word| (likeness(word), word))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, word)| word)
}
