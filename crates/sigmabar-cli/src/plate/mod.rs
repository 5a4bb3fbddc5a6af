//! Plates: wells by their names, trials laid into them in random order, filled-in plates read back.

mod layout;
mod matching;
mod reading;
mod sheet;

pub use layout::Plate;
pub(crate) use matching::check;
pub use reading::{Reading, read};
pub(crate) use reading::{is_blank, remedy};
pub(crate) use sheet::sheet;

/// The column that people fill in.
pub(crate) const RESULT: &str = "result";
/// The column of standard errors.
pub(crate) const STANDARD_ERROR: &str = "std";
/// The column of remarks.
pub(crate) const NOTE: &str = "note";
/// Columns that people call so hold remarks too, in any case of letters.
pub(crate) const NOTES: [&str; 6] = [NOTE, "notes", "remark", "remarks", "comment", "comments"];
