//! Where a premise came from: what decides whether a claim may be called certified.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Where a premise came from, from the firmest to the weakest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Origin {
    /// The program saw to it, or the theorem does not need it.
    Guaranteed,
    /// The user said so before the responses were seen. Handing a value over is saying so.
    Declared,
    /// Learnt from other responses than those the claim is about.
    LearntElsewhere,
    /// Nobody said so and nothing speaks against it: enough for the one label that names the assumption, "conformal".
    Assumed,
    /// Learnt from the responses the claim is about.
    LearntHere,
    /// A guess with a safety factor.
    Estimated,
    /// Known not to hold, or nobody vouches for it.
    Unmet,
}

impl Origin {
    /// The same for a claim about rows among which are some that it was learnt from.
    #[must_use]
    pub(crate) fn on_own_rows(self) -> Self {
        if self == Self::LearntElsewhere { Self::LearntHere } else { self }
    }

    /// Whether a theorem may rest on it.
    #[must_use]
    pub fn is_firm(self) -> bool {
        self <= Self::LearntElsewhere
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Guaranteed => "guaranteed by the program",
            Self::Declared => "declared",
            Self::LearntElsewhere => "learnt from other data",
            Self::Assumed => "assumed",
            Self::LearntHere => "learnt from these responses",
            Self::Estimated => "estimated",
            Self::Unmet => "not met",
        })
    }
}

/// A value together with where it came from. A plain value is a declared one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Where it came from.
    pub origin: Origin,
}

impl<T> Sourced<T> {
    /// A value from somewhere.
    pub fn new(value: T, origin: Origin) -> Self {
        Self { value, origin }
    }
}

impl<T> From<T> for Sourced<T> {
    fn from(value: T) -> Self {
        Self { value, origin: Origin::Declared }
    }
}

impl<T: Clone> From<&T> for Sourced<T> {
    fn from(value: &T) -> Self {
        value.clone().into()
    }
}
