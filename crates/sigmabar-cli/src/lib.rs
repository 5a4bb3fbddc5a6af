//! The `sigmabar` command as a library.

pub mod plot;
