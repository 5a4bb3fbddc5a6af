//! The command line of the binary.

use crate::work;
use pyo3::prelude::*;
use sigmabar::Error;
use std::ffi::OsString;

/// Runs the command, the first argument being its own name, and gives its exit code. Ctrl-C is Python's business where Python has a handler for it, and the command's where not.
#[pyfunction]
pub fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<i32> {
    work::run(py, move || Ok::<_, Error>(sigmabar_cli::run(arguments)))
}
