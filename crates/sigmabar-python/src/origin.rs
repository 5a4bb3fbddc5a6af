//! Numbers with where they came from, in the words of the Python face.

use crate::error::{raise, unknown};
use pyo3::prelude::*;
use sigmabar::points::Seen;
use sigmabar::strategy::Failures;
use sigmabar::{Collected, Origin, Sourced};

/// A number, the word for where it came from, and the rows it was learnt on.
type NumberParts = (f64, String, Vec<u64>);

/// A number that may have been learnt.
#[derive(Clone)]
pub struct Number {
    pub value: Sourced<f64>,
    pub seen: Seen,
}

impl Number {
    /// The number for a claim about these rows.
    pub fn on(&self, rows: &Seen) -> Sourced<f64> {
        Sourced::new(self.value.value, self.seen.origin_on(self.value.origin, rows))
    }
}

impl FromPyObject<'_, '_> for Number {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let (value, origin, seen): NumberParts = object.extract()?;
        Ok(Self { value: Sourced::new(value, origin_of(&origin)?), seen: seen.into() })
    }
}

/// Where something came from, in one word.
pub fn origin_name(origin: Origin) -> &'static str {
    match origin {
        Origin::Declared | Origin::Guaranteed => "declared",
        Origin::LearntElsewhere => "learnt-before",
        Origin::LearntHere => "learnt-here",
        _ => "estimated",
    }
}

/// What such a word says.
pub fn origin_of(name: &str) -> PyResult<Origin> {
    match name {
        "declared" => Ok(Origin::Declared),
        "learnt-before" => Ok(Origin::LearntElsewhere),
        "learnt-here" => Ok(Origin::LearntHere),
        "estimated" => Ok(Origin::Estimated),
        other => Err(unknown("source", other, &["declared", "learnt-before", "learnt-here", "estimated"])),
    }
}

/// How the points came about, in the words of the command's `--collected`.
pub fn collected(name: Option<&str>) -> PyResult<Collected> {
    name.map_or(Ok(Collected::Undeclared), |name| name.parse().map_err(|error: sigmabar::Error| raise(error)))
}

/// What a failed evaluation says about its value.
pub fn failures(name: Option<&str>) -> PyResult<Failures> {
    match name {
        None | Some("undeclared") => Ok(Failures::Undeclared),
        Some("unrelated") => Ok(Failures::Unrelated),
        Some("informative") => Ok(Failures::Informative),
        Some(other) => Err(unknown("failures", other, &["unrelated", "informative", "undeclared"])),
    }
}
