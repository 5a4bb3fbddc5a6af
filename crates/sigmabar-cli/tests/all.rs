//! All integration tests of this crate in one program: each linked on its own, they take minutes to build. `cargo nextest run --workspace MODULE::` runs one file's.

mod book;
mod choices;
mod costs;
mod exports;
mod faults;
mod few_rows;
mod killed;
mod many_rows;
mod mistakes;
mod mutations;
mod pictures;
mod plans;
mod premises;
mod ranges;
mod refusals;
mod report_parts;
mod reports;
mod support;
mod transcripts;
mod walks;
mod wells;
mod which_files;
mod words;
