//! Answers, counted for the metrics.

use axum::http::StatusCode;
use std::sync::atomic::Ordering;

/// Answers by the first digit of their status.
#[derive(Debug, Default)]
pub(crate) struct Counters(pub [std::sync::atomic::AtomicU64; 6]);

impl Counters {
    /// Counts one.
    pub fn count(&self, status: StatusCode) {
        self.0[usize::from(status.as_u16() / 100).min(5)].fetch_add(1, Ordering::Relaxed);
    }
}
