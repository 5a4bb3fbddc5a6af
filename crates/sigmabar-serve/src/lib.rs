//! Studies as a live page and an HTTP service.
//!
//! One process serves the studies of a file or a directory: a page for people, an API for workers on other machines. One SQLite file keeps everything; other
//! processes may use it at the same time. The server never runs an objective's command, and answers nobody without a token.

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod api;
mod app;
mod client;
mod counters;
mod desk;
mod desks;
mod guard;
mod heap;
mod outbox;
mod pages;
mod patient;
mod rates;
mod refusal;
mod server;
mod shelf;
mod token;
pub mod wire;
mod writer;

pub use client::Remote;
pub use desks::Source;
pub use server::{Limits, Options, ServeError, serve};
pub use token::{Access, Tokens, is_usable};
