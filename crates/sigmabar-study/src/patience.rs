//! How long to go on with an objective that only fails.

use crate::{Error, Page, Result, Study, TrialResult, TrialStatus};
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
    /// For a run of so many evaluations at a time.
    pub fn of(study: &Study, parallel: usize) -> Result<Self> {
        let measured = Page { state: Some(TrialStatus::Done), at_most: Some(1), ..Page::default() };
        let is_proven = !study.trials_of(&measured)?.is_empty();
        let most = parallel.max(FAILURES);
        Ok(Self { is_proven: is_proven.into(), failures: AtomicUsize::new(0), most })
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

    /// The end of a run is an error where nothing was ever measured, in this run or before it, unless somebody stopped it.
    pub fn judge(&self, study: &Study, is_interrupted: bool) -> Result<()> {
        if is_interrupted || self.is_proven.load(Ordering::Relaxed) {
            return Ok(());
        }
        let failed = study.trials_of(&Page { state: Some(TrialStatus::Failed), ..Page::default() })?;
        let Some(last) = failed.iter().max_by_key(|trial| trial.told_at) else { return Ok(()) };
        let reason = last.reason.clone().unwrap_or_default();
        Err(Error::NothingMeasured { study: study.name().to_owned(), failures: failed.len(), reason })
    }
}
