//! All integration tests of this crate in one program: each linked on its own, they take minutes to build. `cargo nextest run --workspace MODULE::` runs one file's.

mod answers;
mod exchange;
mod guarded;
mod limits;
mod support;
mod trouble;
