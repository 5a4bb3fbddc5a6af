//! How long to go on with an objective that only fails.

use crate::TrialResult;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// So many failures without a single success are enough.
const FAILURES: usize = 5;

/// Whether anything was ever measured: an objective that only fails is wrong, and trying on would waste every trial.
pub(crate) struct Patience {
    is_proven: AtomicBool,
    failures: AtomicUsize,
    /// Failures without any success after which the run ends.
    most: usize,
}

impl Patience {
    /// For a run of so many evaluations at a time, of an objective that is proven to work or not.
    pub fn new(is_proven: bool, parallel: usize) -> Self {
        Self { is_proven: is_proven.into(), failures: AtomicUsize::new(0), most: parallel.max(FAILURES) }
    }

    /// Counts a result; whether to go on.
    pub fn goes_on(&self, result: &TrialResult) -> bool {
        match result {
            TrialResult::Value { .. } => {
                self.is_proven.store(true, Ordering::Relaxed);
                true
            }
            TrialResult::Failed { .. } => {
                let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
                failures < self.most || self.is_proven.load(Ordering::Relaxed)
            }
        }
    }

    /// Whether anything was measured, in this run or before it, and how often it failed in this run.
    pub fn verdict(&self) -> (bool, usize) {
        (self.is_proven.load(Ordering::Relaxed), self.failures.load(Ordering::Relaxed))
    }
}
