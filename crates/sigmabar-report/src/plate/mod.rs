//! Plates: wells by their names, trials laid into them in random order, filled-in plates read back.

mod laid;
mod matching;
mod reading;
mod sheet;

pub use laid::{Content, LaidPlate, laid, laid_before, pending};
pub use matching::{Mismatch, check};
pub use reading::{Partial, REMEDY, Reading, half_filled, is_blank, read};
pub use sheet::Layout;
pub use sigmabar_study::Plate;

/// The column that people fill in.
pub const RESULT: &str = "result";
/// What stands in the place of a trial's number where a well holds a control.
pub const CONTROL: &str = "control";
/// The column of standard errors.
pub const STANDARD_ERROR: &str = "std";
/// The column of the number of replicates of a mean.
pub const REPLICATES: &str = "replicates";
/// The column of remarks.
pub const NOTE: &str = "note";
/// Columns that people call so hold remarks too, in any case of letters.
pub const NOTES: [&str; 6] = [NOTE, "notes", "remark", "remarks", "comment", "comments"];
