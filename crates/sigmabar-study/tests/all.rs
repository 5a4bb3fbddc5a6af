//! All integration tests of this crate in one program: each linked on its own, they take minutes to build. `cargo nextest run --workspace MODULE::` runs one file's.

mod again;
mod changes;
mod conformance;
mod files;
mod life;
mod objectives;
mod pilot;
mod processes;
mod replicates;
mod rows;
mod spec;
mod support;
