//! The command line of the binary.

use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the command, the first argument being its own name, and gives its exit code. The command looks after Ctrl-C itself.
#[pyfunction]
pub fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> i32 {
    py.detach(move || sigmabar_cli::run(arguments))
}
