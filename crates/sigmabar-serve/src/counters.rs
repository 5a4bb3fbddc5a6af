//! What is counted: answers for the metrics, wrong tokens against guessing.

use axum::http::StatusCode;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So many wrong tokens a minute from one address are answered as such.
const MOST_WRONG: u32 = 60;

/// Wrong tokens by address, for a minute each. Right tokens are not counted: nobody can be locked out.
#[derive(Debug, Default)]
pub(crate) struct WrongTokens(Mutex<HashMap<IpAddr, (Instant, u32)>>);

impl WrongTokens {
    /// Counts one; whether it is one too many.
    pub fn is_too_much(&self, peer: IpAddr) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, (since, _)| since.elapsed() < Duration::from_secs(60));
        let (_, count) = known.entry(peer).or_insert((Instant::now(), 0));
        *count += 1;
        *count > MOST_WRONG
    }
}

/// Answers by the first digit of their status.
#[derive(Debug, Default)]
pub(crate) struct Counters(pub [std::sync::atomic::AtomicU64; 6]);

impl Counters {
    /// Counts one.
    pub fn count(&self, status: StatusCode) {
        self.0[usize::from(status.as_u16() / 100).min(5)].fetch_add(1, Ordering::Relaxed);
    }
}
