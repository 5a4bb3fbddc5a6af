//! What all requests share.

use crate::counters::{Counters, WrongTokens};
use crate::desk::Desk;
use crate::desks::Desks;
use crate::refusal::{Outcome, Refusal};
use crate::token::Tokens;
use std::sync::Arc;
use tokio::sync::watch;

/// The server's memory.
#[derive(Debug)]
pub(crate) struct App {
    pub desks: Arc<Desks>,
    pub tokens: Tokens,
    /// Names, with ports, under which the server may be called, in small letters.
    pub hosts: Vec<String>,
    /// The name of its cookie: browsers share cookies between the ports of a machine.
    pub cookie: String,
    pub wrong: WrongTokens,
    pub counters: Counters,
    /// True once the server stops: what would stream for ever ends then.
    pub down: watch::Receiver<bool>,
}

impl App {
    pub fn desk(&self, slug: &str) -> Outcome<Arc<Desk>> {
        self.desks.find(slug).ok_or_else(|| Refusal::not_found(format!("there is no study \"{slug}\" here")))
    }
}
