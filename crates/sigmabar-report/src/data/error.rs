//! What can be wrong with a table, and where.

use crate::quantity::Bytes;
use sigmabar::catalogue::nearest;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// A table that cannot be used: file, row, column, what was found and what would be right.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DataError {
    /// The file cannot be opened.
    #[error("{}: cannot open: {source}", file.display())]
    Open {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A pattern or a folder without tables.
    #[error("{}: there are no tables (CSV, TSV, Parquet, .xlsx or .npy files) there", input.display())]
    NoFiles {
        /// What was given.
        input: PathBuf,
    },
    /// A folder with files that may hold rows and would not be read.
    #[error(
        "{}: {} would be left out, and may hold rows: name the tables by a pattern such as '{}', or move the others away",
        folder.display(), named(files), folder.join("*.csv").display()
    )]
    LeftOut {
        /// The folder.
        folder: PathBuf,
        /// The files.
        files: Vec<PathBuf>,
    },
    /// A folder or pattern with tables that may hold the same rows.
    #[error(
        "{}: {} are {what}, perhaps of the same rows: name those that count by a pattern such as '{}'",
        folder.display(), named(files), folder.join("*.csv").display()
    )]
    Mixed {
        /// The folder or pattern.
        folder: PathBuf,
        /// What they are.
        what: &'static str,
        /// One of the one kind and one of another.
        files: [PathBuf; 2],
    },
    /// Files whose folders name different columns.
    #[error(
        "{} and {} are no parts of one table: the folders of the first say {}, those of the second {}: name files of folders that say the same",
        files[0].display(), files[1].display(), said(&names[0]), said(&names[1])
    )]
    Folders {
        /// Two of the files.
        files: [PathBuf; 2],
        /// The columns that the folders of each name.
        names: [Vec<String>; 2],
    },
    /// A file has a column that the first one has not, and nobody said which columns count.
    #[error(
        "{} has a column \"{column}\" that {} has not: leave it out (--ignore {column:?}), name those that count (--features), or put files of the same columns together",
        file.display(), first.display()
    )]
    MoreColumns {
        /// The file.
        file: PathBuf,
        /// The first file.
        first: PathBuf,
        /// The column.
        column: String,
    },
    /// A date or a truth value in a column of plain numbers, a time without a zone in a column of times that have one, or the other way round.
    #[error("{}, {line_word} {line}, column \"{column}\": {found} {difference}: write all of the column alike", file.display())]
    Dates {
        /// The file.
        file: PathBuf,
        /// The row.
        line: u64,
        /// "line" or "row".
        line_word: &'static str,
        /// The column's name.
        column: String,
        /// What was found.
        found: String,
        /// What it is, and what the column holds.
        difference: &'static str,
    },
    /// A file that has got or lost row groups.
    #[error("{}: has {found} row groups, where there were {expected}: the data have changed since the plan was made; plan again", file.display())]
    Changed {
        /// The file.
        file: PathBuf,
        /// Row groups at first.
        expected: usize,
        /// Row groups now.
        found: usize,
    },
    /// One file, named twice.
    #[error("{}: is named twice, and its rows would count twice: name it once", file.display())]
    Twice {
        /// The file.
        file: PathBuf,
    },
    /// Not a pattern.
    #[error("{}: not a pattern of file names: {reason}", input.display())]
    Pattern {
        /// What was given.
        input: PathBuf,
        /// Why.
        reason: &'static str,
    },
    /// Reading stopped in the middle.
    #[error("{}: cannot read on after {line_word} {line}: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// The last good row.
        line: u64,
        /// "line" or "row".
        line_word: &'static str,
        /// Why.
        source: io::Error,
    },
    /// Not a file of its kind.
    #[error("{}: not a readable {kind} file: {reason}", file.display())]
    Format {
        /// The file.
        file: PathBuf,
        /// The kind expected.
        kind: &'static str,
        /// What its reader says.
        reason: String,
    },
    /// This build has no reader for it.
    #[error("{}: this sigmabar was built without {kind} files; build it with --features tables, or give CSV", file.display())]
    Absent {
        /// The file.
        file: PathBuf,
        /// The kind of file.
        kind: &'static str,
    },
    /// No header, or one of numbers.
    #[error("{}: the first line must name the columns, and it {found}", file.display())]
    Header {
        /// The file.
        file: PathBuf,
        /// What was found instead.
        found: String,
    },
    /// Two columns of one name.
    #[error("{}: columns {first} and {second} (counted from 1) are both called \"{name}\": names must differ", file.display())]
    SameName {
        /// The file.
        file: PathBuf,
        /// The name.
        name: String,
        /// The first column, from 1.
        first: usize,
        /// The second column, from 1.
        second: usize,
    },
    /// A cell in a column without a name.
    #[error("{}, line {line}, column {column} (counted from 1): \"{found}\" stands below no name; name the column in the first line", file.display())]
    Nameless {
        /// The file.
        file: PathBuf,
        /// The line.
        line: u64,
        /// The column, from 1.
        column: usize,
        /// What was found.
        found: String,
    },
    /// A row without anything, followed by others.
    #[error("{}, line {line}: an empty row between others; fill it in or take it out", file.display())]
    EmptyRow {
        /// The file.
        file: PathBuf,
        /// The line.
        line: u64,
    },
    /// A row of another width.
    #[error("{}, line {line}: {found} cells where the header has {expected}", file.display())]
    Width {
        /// The file.
        file: PathBuf,
        /// The line.
        line: u64,
        /// Columns of the header.
        expected: u64,
        /// Cells found.
        found: u64,
    },
    /// Bytes that are not text.
    #[error("{}, line {line}, column {column}: not UTF-8 text; save the file as UTF-8 (in Excel: CSV UTF-8)", file.display())]
    Encoding {
        /// The file.
        file: PathBuf,
        /// The line.
        line: u64,
        /// The column, from 1.
        column: usize,
    },
    /// A column that is not there.
    #[error("{}: there is no column \"{name}\"{}; the columns are {}", file.display(), closest(name, columns.iter().map(String::as_str)), columns.join(", "))]
    NoColumn {
        /// The file.
        file: PathBuf,
        /// The name asked for.
        name: String,
        /// The names there are.
        columns: Vec<String>,
    },
    /// A cell that is no finite number where one is needed.
    #[error("{}, {line_word} {line}, column \"{column}\": {found} {}; {remedy}", file.display(), unfit(found))]
    Cell {
        /// The file.
        file: PathBuf,
        /// The row.
        line: u64,
        /// "line" or "row".
        line_word: &'static str,
        /// The column's name.
        column: String,
        /// What was found.
        found: String,
        /// What would be right.
        remedy: Box<str>,
    },
    /// A comma that may be a decimal one or stand before thousands.
    #[error(
        "{}, line {line}, column \"{column}\": \"{found}\" may mean {} or {}, and no other number of the table tells which: write {}",
        file.display(), found.replace([',', '.'], ""), found.replace(',', "."), unmistakable(found)
    )]
    Ambiguous {
        /// The file.
        file: PathBuf,
        /// The line.
        line: u64,
        /// The column's name.
        column: String,
        /// What was found.
        found: String,
    },
    /// A category that the model does not know.
    #[error("{}, {line_word} {line}, column \"{column}\": \"{found}\" is none of the known categories: {}", file.display(), known.join(", "))]
    Category {
        /// The file.
        file: PathBuf,
        /// The row.
        line: u64,
        /// "line" or "row".
        line_word: &'static str,
        /// The column's name.
        column: String,
        /// What was found.
        found: String,
        /// What would be right.
        known: Vec<String>,
    },
    /// No rows below the header.
    #[error("{}: there are no rows", file.display())]
    Empty {
        /// The file.
        file: PathBuf,
    },
    /// More rows than fit in the memory stated, or left.
    #[error("{}: the first {rows} rows already need {needed}, and there are {limit}: {remedy}", file.display())]
    Memory {
        /// The file.
        file: PathBuf,
        /// Rows read so far.
        rows: usize,
        /// What they need.
        needed: Bytes,
        /// What is allowed.
        limit: Bytes,
        /// What to do.
        remedy: &'static str,
    },
}

/// Names of columns, as `year and month`.
fn said(names: &[String]) -> String {
    if names.is_empty() { "nothing".to_owned() } else { names.join(" and ") }
}

/// The first few files and how many more.
fn named(files: &[PathBuf]) -> String {
    const SHOWN: usize = 5;
    let names: Vec<String> = files.iter().take(SHOWN).map(|file| file.display().to_string()).collect();
    let more = if files.len() > SHOWN { format!(" and {} more", files.len() - SHOWN) } else { String::new() };
    names.join(", ") + &more
}

/// What is wrong with a cell: a number can be the wrong one, too, and nothing is no number that is not finite.
fn unfit(found: &str) -> &'static str {
    let text = found.trim_matches('"').trim();
    let number = text.trim_end_matches(|c: char| !c.is_ascii_digit() && c != '.').trim_end();
    match text.parse::<f64>() {
        _ if found == "an empty cell" => "does not belong there",
        Ok(value) if value.is_finite() => "does not belong there",
        Ok(_) => "is not a finite number",
        Err(_) if number.parse::<f64>().is_ok() => "is a number with something behind it",
        Err(_) => "is not a number",
    }
}

/// ` (did you mean "x"?)` where one name is close.
pub fn closest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, known).map_or_else(String::new, |word| format!(" (did you mean \"{word}\"?)"))
}

/// How a number is written that can mean one thing only.
fn unmistakable(found: &str) -> String {
    if found.contains(',') { "them in one of these ways".to_owned() } else { format!("{}, or, once, {found}0", found.replace('.', "")) }
}
