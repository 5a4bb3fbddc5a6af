//! The `sigmabar` command.
fn main() {}
