//! The `sigmabar` command as a library.
