//! Strategies by their names, with options from the core's catalogue.

use crate::arrays::Rows;
use crate::error::raise;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sigmabar::Policy;
use sigmabar::catalogue::{OptionValue, PolicySpec};

/// A value as Python has it.
#[derive(FromPyObject)]
enum Value {
    Flag(bool),
    Integer(i64),
    Number(f64),
    Word(String),
    Rows(Rows),
    List(Vec<f64>),
}

impl Value {
    fn to_option(&self) -> sigmabar::Result<OptionValue> {
        Ok(match self {
            Self::Flag(value) => (*value).into(),
            Self::Integer(value) => (*value).into(),
            Self::Number(value) => (*value).into(),
            Self::Word(value) => value.as_str().into(),
            Self::Rows(rows) => OptionValue::Rows(rows.view()?.rows().map(<[f64]>::to_vec).collect()),
            Self::List(values) => values.clone().into(),
        })
    }
}

/// The policy of that name for a run of `budget` evaluations; options that are `None` are not given.
pub fn policy(name: &str, budget: usize, options: &Bound<'_, PyDict>) -> PyResult<Policy> {
    let mut spec = PolicySpec::new(name);
    for (option, value) in options {
        if !value.is_none() {
            let option: String = option.extract()?;
            let value = value.extract::<Value>().map_err(|_| {
                raise(format!(
                    "option {option} of strategy \"{name}\": a number, a word, True or False, or an array is needed, not {value}"
                ))
            })?;
            spec = spec.with(option, value.to_option().map_err(raise)?);
        }
    }
    spec.policy(budget).map_err(raise)
}
