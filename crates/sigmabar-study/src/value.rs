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
            Self::Float(value) => write!(f, "{}", sigmabar::Number(*value)),
            Self::Choice(value) => f.write_str(value),
        }
    }
}

/// A number with about five significant digits, as short as possible.
#[must_use]
pub fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let size = value.abs().log10().floor();
    if !(-4.0..6.0).contains(&size) {
        return format!("{value:.4e}");
    }
    let decimals = (4.0 - size).clamp(0.0, 8.0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            (short(0.123_456_78), short(1234.5678), short(-2.5), short(1e-9)),
            ("0.12346".into(), "1234.6".into(), "-2.5".into(), "1.0000e-9".into())
        );
    }

    #[test]
    fn long_numbers_are_written_with_an_exponent_and_read_back() {
        for (value, text) in [(1e308, "1e308"), (-2.5e-300, "-2.5e-300"), (0.0, "0"), (1e15, "1000000000000000"), (0.000_01, "0.00001")] {
            assert_eq!(Value::Float(value).to_string(), text);
            assert!(Value::from_text(text).same(&Value::Float(value)));
        }
    }
}
