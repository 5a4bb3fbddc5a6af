//! A study's parameter as an axis.

use crate::plot::Scale;
use sigmabar_study::{Parameter, ParameterKind, Space, Value};

/// How many values a slice through a continuous parameter has.
const STEPS: usize = 121;
/// A grid of whole numbers with more values is drawn like a continuous one.
const MOST_LEVELS: usize = 24;

/// The names of the values, where they stand side by side rather than on a line of numbers.
pub(super) fn names(parameter: &Parameter) -> Option<Vec<String>> {
    match &parameter.kind {
        ParameterKind::Categorical { choices: values } | ParameterKind::Ordinal { levels: values } => {
            Some(values.iter().map(ToString::to_string).collect())
        }
        _ => None,
    }
}

/// Whether equal ratios are equally far apart.
pub(super) fn is_log(parameter: &Parameter) -> bool {
    matches!(parameter.kind, ParameterKind::Float { log: true, .. } | ParameterKind::Int { log: true, .. })
}

/// Whether there are so few values that each is shown by itself.
pub(super) fn is_discrete(parameter: &Parameter) -> bool {
    match &parameter.kind {
        ParameterKind::Int { low, high, step, .. } => whole_levels(*low, *high, *step) <= MOST_LEVELS,
        ParameterKind::Float { .. } | ParameterKind::Column { .. } => false,
        _ => true,
    }
}

fn whole_levels(low: i64, high: i64, step: u64) -> usize {
    usize::try_from(high.abs_diff(low) / step.max(1)).unwrap_or(usize::MAX).saturating_add(1)
}

/// The whole range.
pub(super) fn scale(parameter: &Parameter) -> Scale {
    match &parameter.kind {
        ParameterKind::Float { low, high, log: true } => Scale::Log { low: *low, high: *high },
        ParameterKind::Float { low, high, .. } => Scale::Linear { low: *low, high: *high },
        ParameterKind::Int { low, high, log: true, .. } => Scale::Log { low: *low as f64, high: *high as f64 },
        ParameterKind::Int { low, high, .. } => Scale::covering([*low as f64, *high as f64]),
        ParameterKind::Column { low, high } => Scale::covering([*low, *high]),
        _ => Scale::Names(names(parameter).unwrap_or_default()),
    }
}

/// Where a value is on the axis.
pub(super) fn coordinate(parameter: &Parameter, value: &Value) -> f64 {
    match &parameter.kind {
        ParameterKind::Categorical { choices: values } | ParameterKind::Ordinal { levels: values } => {
            values.iter().position(|known| known.same(value)).map_or(f64::NAN, |i| i as f64)
        }
        _ => value.as_number().unwrap_or(f64::NAN),
    }
}

/// Where a setting is on all axes.
pub(super) fn coordinates(parameters: &[Parameter], values: &[Value]) -> Vec<f64> {
    parameters.iter().zip(values).map(|(parameter, value)| coordinate(parameter, value)).collect()
}

/// The values at which a slice asks the model, in rising order.
pub(super) fn levels(parameter: &Parameter) -> Vec<Value> {
    let share = |i: usize| i as f64 / (STEPS - 1) as f64;
    match &parameter.kind {
        ParameterKind::Float { low, high, log: true } => {
            (0..STEPS).map(|i| between(*low, *high, low * (high / low).powf(share(i)))).collect()
        }
        ParameterKind::Float { low, high, .. } | ParameterKind::Column { low, high } => {
            (0..STEPS).map(|i| between(*low, *high, low + share(i) * (high - low))).collect()
        }
        ParameterKind::Int { low, high, log: true, .. } => {
            let (from, to) = (*low as f64, *high as f64);
            let mut levels: Vec<i64> = (0..STEPS).map(|i| (from * (to / from).powf(share(i))).round() as i64).collect();
            levels.dedup();
            levels.into_iter().map(Value::Int).collect()
        }
        ParameterKind::Int { low, high, step, .. } => {
            let count = whole_levels(*low, *high, *step);
            let every = count.div_ceil(STEPS).max(1);
            let level = |i: usize| low.saturating_add(i64::try_from((i as u64).saturating_mul(*step)).unwrap_or(i64::MAX));
            (0..count).step_by(every).map(|i| Value::Int(level(i))).collect()
        }
        ParameterKind::Categorical { choices: values } | ParameterKind::Ordinal { levels: values } => values.clone(),
    }
}

/// So many of them, evenly over the range: the middles of equal parts of a continuous one, every value of one that has few.
pub(super) fn some_levels(parameter: &Parameter, count: usize) -> Vec<Value> {
    let all = levels(parameter);
    if parameter.is_choice() || all.len() <= count {
        return all;
    }
    (0..count).map(|i| all[((2 * i + 1) * (all.len() - 1) + count) / (2 * count)].clone()).collect()
}

/// Rounding must not take the last value out of its range.
fn between(low: f64, high: f64, value: f64) -> Value {
    Value::Float(value.clamp(low, high))
}

/// A setting in words, numbers with their units.
#[must_use]
pub fn setting_words(space: &Space, values: &[Value]) -> String {
    let word = |(p, value): (&Parameter, &Value)| format!("{} = {}{}", p.name, value_words(value), p.unit_words());
    space.parameters().iter().zip(values).map(word).collect::<Vec<_>>().join(", ")
}

/// Whether candidates have names of their own.
#[must_use]
pub fn has_labels(space: &Space) -> bool {
    space.candidates().is_some_and(|table| table.labels.is_some())
}

/// A setting in words, after what it is called where candidates have labels.
#[must_use]
pub fn called_words(space: &Space, values: &[Value]) -> String {
    space.label(values).map_or_else(String::new, |label| format!("{label}: ")) + &setting_words(space, values)
}

/// A value for reading.
#[must_use]
pub fn value_words(value: &Value) -> String {
    match value {
        Value::Float(v) => crate::plot::number(*v),
        other => other.to_string(),
    }
}
