//! How long to go on with an objective that only fails.

use crate::{Result, TrialResult};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// So many failures one after the other are enough, where nothing was ever measured or the whole batch failed.
pub(crate) const FAILURES: usize = 5;

/// Whether to go on: an objective that only fails is wrong, and one of which a whole batch fails is out of order; trying on would waste every trial.
pub(crate) struct Patience {
    is_proven: AtomicBool,
    failures: AtomicUsize,
    /// Those since the last success.
    in_a_row: AtomicUsize,
    /// The batch, counted from 1, that failed as a whole.
    failed_batch: AtomicUsize,
    /// Failures without any success after which the run ends.
    most: usize,
}

/// What became of a run's evaluations.
pub(crate) struct Verdict {
    /// Whether anything was measured, in this run or before it.
    pub is_proven: bool,
    /// How often it failed in this run.
    pub failures: usize,
    /// The batch that failed as a whole, for which the run was ended.
    pub failed_batch: Option<usize>,
}

impl Patience {
    /// For a run of so many evaluations at a time, of an objective that is proven to work or not.
    pub fn new(is_proven: bool, parallel: usize) -> Self {
        let (failures, in_a_row, failed_batch) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        Self { is_proven: is_proven.into(), failures, in_a_row, failed_batch, most: parallel.max(FAILURES) }
    }

    /// Counts a result of a batch; whether to go on. Whether all of the batch failed is asked where that could end the run.
    pub fn goes_on(&self, result: &TrialResult, batch: usize, has_failed: impl FnOnce() -> Result<bool>) -> Result<bool> {
        if matches!(result, TrialResult::Value { .. }) {
            self.is_proven.store(true, Ordering::Relaxed);
            self.in_a_row.store(0, Ordering::Relaxed);
            return Ok(true);
        }
        self.failures.fetch_add(1, Ordering::Relaxed);
        let in_a_row = self.in_a_row.fetch_add(1, Ordering::Relaxed) + 1;
        if !self.is_proven.load(Ordering::Relaxed) {
            return Ok(in_a_row < self.most);
        }
        let has_failed = in_a_row >= FAILURES && has_failed()?;
        if has_failed {
            self.failed_batch.store(batch + 1, Ordering::Relaxed);
        }
        Ok(!has_failed)
    }

    pub fn verdict(&self) -> Verdict {
        Verdict {
            is_proven: self.is_proven.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
            failed_batch: Some(self.failed_batch.load(Ordering::Relaxed)).filter(|batch| *batch > 0),
        }
    }
}
