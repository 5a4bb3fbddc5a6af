//! One named parameter, and how its values become numbers.

use crate::{Error, Result, Value};
use serde::Serialize;
use sigmabar::domain::Column;

/// One named parameter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// What values it takes.
    pub kind: ParameterKind,
    /// How many digits of a float can be set: decimals, or significant digits on a logarithmic scale. None for every digit there is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digits: Option<u32>,
    /// What its numbers are measured in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

/// What values a parameter takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ParameterKind {
    /// Every number between two ends.
    Float {
        /// The smallest value.
        low: f64,
        /// The largest value.
        high: f64,
        /// Whether equal ratios, not equal differences, are equally far apart.
        log: bool,
    },
    /// Integers from `low` to `high` in steps.
    Int {
        /// The smallest value.
        low: i64,
        /// No value is larger.
        high: i64,
        /// The distance of neighbours.
        step: u64,
        /// Whether equal ratios, not equal differences, are equally far apart.
        log: bool,
    },
    /// Numbers in increasing order, neighbours equally far apart.
    Ordinal {
        /// The levels.
        levels: Vec<Value>,
    },
    /// One of several things without order.
    Categorical {
        /// The choices.
        choices: Vec<Value>,
    },
    /// A column of numbers of a list of candidates.
    Column {
        /// The smallest value in the list.
        low: f64,
        /// The largest value in the list.
        high: f64,
    },
}

impl ParameterKind {
    /// The column of the core's space; candidates' columns have none.
    pub(crate) fn column(&self) -> Column {
        match self {
            Self::Float { low, high, log } => Column::Float { low: *low, high: *high, log: *log },
            Self::Int { low, high, log: true, .. } => Column::log_integer(*low, *high),
            Self::Int { low, high, step, .. } => Column::Integer { low: *low, high: *high, step: Some(*step) },
            Self::Ordinal { levels } => Column::Ordinal { levels: levels.iter().filter_map(Value::as_number).collect() },
            Self::Categorical { choices } => Column::Categorical { choices: choices.len() },
            Self::Column { low, high } => Column::Float { low: *low, high: *high, log: false },
        }
    }

    /// The value of a natural number of the column.
    pub(crate) fn value(&self, natural: f64) -> Value {
        match self {
            Self::Float { .. } | Self::Column { .. } => Value::Float(natural),
            Self::Int { .. } => Value::Int(natural as i64),
            Self::Ordinal { levels } => {
                levels.iter().find(|level| level.as_number() == Some(natural)).cloned().unwrap_or(Value::Float(natural))
            }
            Self::Categorical { choices } => {
                let last = choices.len().saturating_sub(1);
                choices.get((natural.max(0.0) as usize).min(last)).cloned().unwrap_or(Value::Float(natural))
            }
        }
    }
}

/// A name with a unit.
pub(crate) fn titled(name: &str, unit: &str) -> String {
    format!("{name} ({unit})")
}

impl Parameter {
    /// Whether it takes one of several words.
    #[must_use]
    pub fn is_choice(&self) -> bool {
        matches!(self.kind, ParameterKind::Categorical { .. })
    }

    /// Its name with its unit, for axes and headings.
    #[must_use]
    pub fn title(&self) -> String {
        self.unit.as_ref().map_or_else(|| self.name.clone(), |unit| titled(&self.name, unit))
    }

    /// Its unit behind a number; nothing where it has none.
    #[must_use]
    pub fn unit_words(&self) -> String {
        self.unit.as_ref().map_or_else(String::new, |unit| format!(" {unit}"))
    }

    /// Whether a column with this heading holds its values.
    #[must_use]
    pub fn is_headed(&self, heading: &str) -> bool {
        heading == self.name || (self.unit.is_some() && heading == self.title())
    }

    /// The value of a natural number, with as many digits as can be set.
    pub(crate) fn value(&self, natural: f64) -> Value {
        let (ParameterKind::Float { low, high, .. }, Some(digits)) = (&self.kind, self.digits) else { return self.kind.value(natural) };
        let decimals = self.decimals(natural, digits);
        let step = 10_f64.powi(-decimals);
        // Through text, so that 4.85 is the number that people type as 4.85.
        let cut = |number: f64| match usize::try_from(decimals) {
            Ok(decimals) => format!("{number:.decimals$}").parse().unwrap_or(number),
            Err(_) => (number / step).round() * step,
        };
        // Beside an end that has more digits, the next step inside.
        let inside = [natural, natural + step, natural - step].map(cut).into_iter().find(|rounded| (*low..=*high).contains(rounded));
        Value::Float(inside.unwrap_or_else(|| natural.clamp(*low, *high)))
    }

    /// The decimals of a number with so many digits; below zero where its last digit stands before the point.
    pub(super) fn decimals(&self, natural: f64, digits: u32) -> i32 {
        let is_log = matches!(self.kind, ParameterKind::Float { log: true, .. });
        let before = if is_log { natural.abs().log10().floor() as i32 + 1 } else { 0 };
        i32::try_from(digits).unwrap_or(12) - before
    }

    /// The natural number of a value.
    pub(crate) fn natural(&self, value: &Value) -> Result<f64> {
        let refused = |requirement| Error::Setting { parameter: self.name.clone(), found: value.clone(), requirement };
        match &self.kind {
            ParameterKind::Categorical { choices } => {
                let place = choices.iter().position(|choice| choice.same(value));
                place.map(|index| index as f64).ok_or_else(|| refused("one of its choices"))
            }
            ParameterKind::Ordinal { levels } => {
                let level = levels.iter().find(|level| level.same(value)).and_then(Value::as_number);
                level.ok_or_else(|| refused("one of its levels"))
            }
            ParameterKind::Int { .. } => {
                value.as_number().filter(|number| number.fract() == 0.0).ok_or_else(|| refused("an integer between its ends, on a step"))
            }
            ParameterKind::Float { .. } | ParameterKind::Column { .. } => {
                value.as_number().filter(|number| number.is_finite()).ok_or_else(|| refused("a number"))
            }
        }
    }
}
