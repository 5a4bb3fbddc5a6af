//! Reads the text of the repository: its files, and the citations in them.

pub mod reference;
pub mod tree;
