//! What all requests share.

use crate::counters::Counters;
use crate::desk::Desk;
use crate::desks::Desks;
use crate::rates::Rates;
use crate::refusal::{Outcome, Refusal};
use crate::token::{Access, Tokens};
use crate::wire::STUDY;
use axum::http::{HeaderMap, StatusCode};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// The server's memory.
#[derive(Debug)]
pub(crate) struct App {
    pub desks: Arc<Desks>,
    pub tokens: Tokens,
    /// Names, with ports, under which the server may be called, in small letters.
    pub hosts: Vec<String>,
    /// The name of its cookie: browsers share cookies between the ports of a machine.
    pub cookie: String,
    pub rates: Rates,
    pub counters: Counters,
    /// Places for streams of the token that looks, and of the other one.
    pub streams: [Arc<Semaphore>; 2],
    /// True once the server stops: what would stream for ever ends then.
    pub down: watch::Receiver<bool>,
}

impl App {
    pub fn desk(&self, slug: &str) -> Outcome<Arc<Desk>> {
        self.desks.find(slug).ok_or_else(|| Refusal::not_found(format!("there is no study \"{slug}\" here")))
    }

    /// The study that a worker means: where it says which by its identity, no other of the same name.
    pub fn desk_meant(&self, slug: &str, headers: &HeaderMap) -> Outcome<Arc<Desk>> {
        let desk = self.desk(slug)?;
        if headers.get(STUDY).is_some_and(|meant| meant.as_bytes() != desk.reader.identity().as_bytes()) {
            let message = format!(
                "this is for another study that was called \"{slug}\" here: it was begun anew, or another file is served under its name"
            );
            return Err(Refusal::new(StatusCode::PRECONDITION_FAILED, "another-study", message));
        }
        Ok(desk)
    }

    /// A place for a stream, for as long as it lasts: whoever only looks takes no place that a worker needs.
    pub fn stream(&self, access: Access) -> Outcome<OwnedSemaphorePermit> {
        let places = &self.streams[usize::from(access == Access::Write)];
        Arc::clone(places).try_acquire_owned().map_err(|_| {
            Refusal::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "too-many-streams",
                "too many follow the studies with this token: close some pages",
            )
        })
    }
}
