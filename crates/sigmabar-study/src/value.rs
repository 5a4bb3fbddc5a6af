//! One value of one parameter, as the user writes it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One value of one parameter: a JSON number or string.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a number, or a word in quotes")]
pub enum Value {
    /// An integer.
    Int(i64),
    /// A number.
    Float(f64),
    /// A choice by its name.
    Choice(String),
}

impl Value {
    /// The number, if it is one.
    #[must_use]
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Int(value) => Some(*value as f64),
            Self::Float(value) => Some(*value),
            Self::Choice(_) => None,
        }
    }

    /// What a cell of a table says: an integer, a number, or a choice.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let text = text.trim();
        if let Ok(value) = text.parse() {
            return Self::Int(value);
        }
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Self::Float(value),
            _ => Self::Choice(text.to_owned()),
        }
    }

    /// Whether both say the same: 3 and 3.0 do.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        match (self.as_number(), other.as_number()) {
            (Some(a), Some(b)) => a == b,
            _ => self == other,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
            Self::Choice(value) => f.write_str(value),
        }
    }
}
