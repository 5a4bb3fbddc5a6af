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
            // Nobody counts three hundred zeros.
            Self::Float(value) if *value != 0.0 && !(1e-7..1e16).contains(&value.abs()) => write!(f, "{value:e}"),
            Self::Float(value) => write!(f, "{value}"),
            Self::Choice(value) => f.write_str(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_are_written_with_an_exponent_and_read_back() {
        for (value, text) in [(1e308, "1e308"), (-2.5e-300, "-2.5e-300"), (0.0, "0"), (1e15, "1000000000000000"), (0.000_01, "0.00001")] {
            assert_eq!(Value::Float(value).to_string(), text);
            assert!(Value::from_text(text).same(&Value::Float(value)));
        }
    }
}
