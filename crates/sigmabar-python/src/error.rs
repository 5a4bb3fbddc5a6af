//! Every error of the library becomes `sigmabar.Error`, a `ValueError` with the library's own words.

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sigmabar::catalogue::nearest;
use sigmabar::certificate::Contradiction;
use std::fmt::Display;

create_exception!(
    sigmabar,
    Error,
    PyValueError,
    "What sigmabar refuses, in the same words as the command line.

>>> import sigmabar as sb
>>> try:
...     sb.Matern(lengthscale=-1.0)
... except ValueError as error:
...     print(type(error).__name__, 'lengthscale' in str(error))
Error True
"
);

create_exception!(
    sigmabar,
    Contradicted,
    Error,
    "The data contradict what was declared, and nothing more is measured under it unless you say so.

>>> import sigmabar as sb
>>> issubclass(sb.Contradicted, sb.Error)
True
"
);

/// The error that ends a run whose data contradict its premises, with what to do about it.
pub fn contradicted(contradiction: &Contradiction, go_on: &str) -> PyErr {
    Contradicted::new_err(format!("{contradiction}; mend the premises and begin anew, or go on without a certificate: {go_on}"))
}

/// The Python error for an error of the library.
pub fn raise(error: impl Display) -> PyErr {
    Error::new_err(error.to_string())
}

/// A name that is none of the choices, with the nearest one.
pub fn unknown(what: &str, found: &str, choices: &[&str]) -> PyErr {
    let nearest = nearest(found, choices.iter().copied());
    let hint = nearest.map(|c| format!(" (did you mean \"{c}\"?)")).unwrap_or_default();
    raise(format!("{what} \"{found}\" is not known{hint}: choose one of {}", choices.join(", ")))
}
