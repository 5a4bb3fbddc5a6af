//! How long to go on with an objective that only fails.

use crate::{Error, Result, TrialResult};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// So many failures without a single success are enough.
const FAILURES: usize = 5;

/// Whether anything was ever measured: an objective that only fails is wrong, and trying on would waste every trial.
pub(crate) struct Patience {
    is_proven: AtomicBool,
    failures: AtomicUsize,
    /// Failures without any success after which the run ends.
    most: usize,
    /// Why the last evaluation failed.
    last: Mutex<String>,
}

impl Patience {
    /// For a run of so many evaluations at a time, of an objective that is proven to work or not.
    pub fn new(is_proven: bool, parallel: usize) -> Self {
        Self { is_proven: is_proven.into(), failures: AtomicUsize::new(0), most: parallel.max(FAILURES), last: Mutex::default() }
    }

    /// Counts a result; whether to go on.
    pub fn goes_on(&self, result: &TrialResult) -> bool {
        match result {
            TrialResult::Value { .. } => {
                self.is_proven.store(true, Ordering::Relaxed);
                true
            }
            TrialResult::Failed { reason } => {
                self.last.lock().unwrap_or_else(PoisonError::into_inner).clone_from(reason);
                let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
                failures < self.most || self.is_proven.load(Ordering::Relaxed)
            }
        }
    }

    /// The end of a run in which nothing was measured is an error, unless somebody stopped it.
    pub fn judge(&self, study: &str, is_interrupted: bool) -> Result<()> {
        let failures = self.failures.load(Ordering::Relaxed);
        if failures == 0 || is_interrupted || self.is_proven.load(Ordering::Relaxed) {
            return Ok(());
        }
        let reason = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Err(Error::NothingMeasured { study: study.to_owned(), failures, reason })
    }
}
