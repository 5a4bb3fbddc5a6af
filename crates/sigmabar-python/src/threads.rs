//! How many threads work.

use crate::error::raise;
use pyo3::prelude::*;
use std::num::NonZeroUsize;

/// From now on this many threads work, in this process and in those forked from it; `None` for what the environment or the machine says.
#[pyfunction]
pub fn set_num_threads(threads: Option<usize>) -> PyResult<()> {
    sigmabar::linalg::set_threads(None);
    match threads {
        None => sigmabar_cli::threads::set_from_environment().map_err(raise),
        Some(threads) => {
            let wanted = NonZeroUsize::new(threads).ok_or_else(|| raise("the number of threads is 0: it must be at least 1, or None"))?;
            sigmabar::linalg::set_threads(Some(wanted));
            Ok(())
        }
    }
}

/// How many threads work.
#[pyfunction]
pub fn num_threads() -> usize {
    sigmabar::linalg::threads()
}
