//! One error type for the whole crate: errors are data, and say what, where, and what would be right.

use crate::number::Number;
use sigmabar_linalg::{Interrupted, LinalgError};
use thiserror::Error;

/// The result of anything that can be refused.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What was asked for cannot be done, and why.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// No rows were given where at least one is needed.
    #[error("{what} is empty: at least one row is needed")]
    Empty {
        /// The input.
        what: &'static str,
    },
    /// Points need at least one column.
    #[error("{what} has no columns: points need at least one")]
    NoColumns {
        /// The input.
        what: &'static str,
    },
    /// A NaN or an infinity.
    #[error("{what} has the value {value} in row {row}, column {column} (both counted from 0): every value must be finite")]
    NotFinite {
        /// The input.
        what: &'static str,
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// The value found.
        value: f64,
    },
    /// A response that cannot be squared and summed.
    #[error(
        "the response in row {row} (counted from 0) is of the size {value:e}: at most 1e100 can be summed; take another unit, or the row out"
    )]
    TooLarge {
        /// Row, from 0.
        row: usize,
        /// Its size, in the data's unit or the model's, whichever is larger.
        value: f64,
    },
    /// A row of another width than the rest.
    #[error("{what} has {found} columns in row {row} (counted from 0), where {expected} are expected")]
    Width {
        /// The input.
        what: &'static str,
        /// Row, from 0.
        row: usize,
        /// Columns expected.
        expected: usize,
        /// Columns found.
        found: usize,
    },
    /// Two inputs that must have the same length do not.
    #[error("{what} has {found} entries, where {expected} are expected")]
    Length {
        /// The input.
        what: &'static str,
        /// Entries expected.
        expected: usize,
        /// Entries found.
        found: usize,
    },
    /// A parameter outside its range.
    #[error("{name} is {}: it must be {requirement}", Number(*value))]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// The value found.
        value: f64,
        /// What would be right.
        requirement: &'static str,
    },
    /// A word that means nothing here.
    #[error("{what} \"{found}\" is not known: choose one of {known}")]
    UnknownWord {
        /// What it was to say.
        what: &'static str,
        /// The word found.
        found: String,
        /// The words that are known.
        known: String,
    },
    /// A certificate was asked for without something it rests on.
    #[error("{what} is needed for {purpose}: {remedy}")]
    Missing {
        /// What is missing.
        what: &'static str,
        /// What it is needed for.
        purpose: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// The request is well-formed but its premises do not hold.
    #[error("{what} is not possible: {reason}")]
    Premise {
        /// What was asked for.
        what: &'static str,
        /// Why it cannot be had, and what can.
        reason: &'static str,
    },
    /// A variance came out more negative than rounding can explain.
    #[error("the variance at query {query} came out as {value:e}, below what rounding can explain ({allowed:e})")]
    NegativeVariance {
        /// Query point, from 0.
        query: usize,
        /// The value found.
        value: f64,
        /// The rounding bound.
        allowed: f64,
    },
    /// A result for a trial that was never proposed.
    #[error("there is no trial {id}: tell results with the ids that ask gave")]
    UnknownTrial {
        /// The id.
        id: u64,
    },
    /// A result for a trial that was proposed but not handed out.
    #[error("trial {id} was not handed out yet: ask for it before telling its result")]
    NotAsked {
        /// The id.
        id: u64,
    },
    /// A second result for a trial.
    #[error("trial {id} already has a result, and a result is never replaced")]
    AlreadyTold {
        /// The id.
        id: u64,
    },
    /// A column of a box or of a space without room between its ends.
    #[error(
        "the {} column goes from {} to {}: both must be finite, and the first less than the second",
        nth(*column),
        Number(*low),
        Number(*high)
    )]
    Interval {
        /// Column, from 0.
        column: usize,
        /// The lower end found.
        low: f64,
        /// The upper end found.
        high: f64,
    },
    /// A column of a space that takes no values, or ones that cannot be used.
    #[error("the {} column has {}: it must have or be {requirement}", nth(*column), Number(*value))]
    Column {
        /// Column, from 0.
        column: usize,
        /// The value found.
        value: f64,
        /// What would be right.
        requirement: &'static str,
    },
    /// A column so far from 0, in units of the length-scale, that its points cannot be told apart.
    #[error(
        "column {column} (counted from 0) holds {value:e}, where neighbouring numbers are {spacing:e} apart, against a length-scale of {length:e}: differences carry \
         no digits. Subtract a reference value while the column is still exact (as integers or dates), or use a longer length-scale"
    )]
    Digits {
        /// Column, from 0.
        column: usize,
        /// The value found.
        value: f64,
        /// How far apart doubles are there.
        spacing: f64,
        /// The length over which the kernel changes.
        length: f64,
    },
    /// A value in a list out of its range.
    #[error("{what} hold {} in row {row} (counted from 0): it must be {requirement}", Number(*value))]
    Row {
        /// The list.
        what: &'static str,
        /// Row, from 0.
        row: usize,
        /// The value found.
        value: f64,
        /// What would be right.
        requirement: &'static str,
    },
    /// A row that repeats an earlier one where all must differ.
    #[error("{what} has the same point in rows {first} and {row} (counted from 0): every row must be different")]
    DuplicateRow {
        /// The list.
        what: &'static str,
        /// The earlier row, from 0.
        first: usize,
        /// The row that repeats it, from 0.
        row: usize,
    },
    /// A point outside the domain.
    #[error("row {row} has {} in column {column} (both counted from 0), where the domain has no point", Number(*value))]
    Outside {
        /// Row, from 0.
        row: usize,
        /// The first column whose value is not taken; 0 for lists, where the whole row is missing.
        column: usize,
        /// The value found.
        value: f64,
    },
    /// Rows were asked for that do not exist.
    #[error("rows {start}..{end} of {what} were asked for, which have {len}")]
    Range {
        /// The list.
        what: &'static str,
        /// The first row asked for.
        start: usize,
        /// One past the last row asked for.
        end: usize,
        /// Number of rows.
        len: usize,
    },
    /// A constraint that names its columns wrongly.
    #[error("constraint {constraint} names column {column} (both counted from 0), where it needs {requirement}")]
    Constraint {
        /// Constraint, from 0.
        constraint: usize,
        /// Column, from 0.
        column: usize,
        /// What would be right.
        requirement: &'static str,
    },
    /// Two equalities on one continuous column.
    #[error(
        "column {column} is in the equalities {first} and {second} (all counted from 0): solve one for it and put the result into the other"
    )]
    SharedColumn {
        /// Column, from 0.
        column: usize,
        /// The earlier equality, from 0.
        first: usize,
        /// The later equality, from 0.
        second: usize,
    },
    /// A constraint that no point satisfies.
    #[error(
        "no point satisfies constraint {constraint} (counted from 0): its left side goes from {} to {}, its bound is {}",
        Number(*least),
        Number(*most),
        Number(*bound)
    )]
    Infeasible {
        /// Constraint, from 0.
        constraint: usize,
        /// The smallest value of the left side.
        least: f64,
        /// The largest value of the left side.
        most: f64,
        /// The right side.
        bound: f64,
    },
    /// No point was found that satisfies all constraints.
    #[error("none of {tried} points tried satisfies all constraints: they contradict each other or leave too little room")]
    NoFeasiblePoint {
        /// Points tried.
        tried: u64,
    },
    /// Saved bytes that cannot be read.
    #[error(transparent)]
    Saved(#[from] SavedError),
    /// Sums over rows that cannot be added, or are no model yet.
    #[error(transparent)]
    Sums(#[from] SumsError),
    /// The work was called off ([`crate::linalg::Interrupt`]); what it worked on is as it was before.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// Linear algebra failed or contradicted itself.
    #[error(transparent)]
    Linalg(#[from] LinalgError),
}

/// Why saved bytes were refused: the same for models and runs, files and databases, Rust, Python and the command.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SavedError {
    /// Not written by this program.
    #[error("not a sigmabar model or run: the first bytes are others")]
    Foreign,
    /// Written by an earlier version.
    #[error("written in an earlier format, which this version does not read: fit the model, or begin the run, again")]
    Earlier,
    /// Written by a newer version.
    #[error("written in format {found}, and this version reads up to {supported}: use a newer sigmabar")]
    Newer {
        /// Version found.
        found: u32,
        /// Newest version known.
        supported: u32,
    },
    /// Shorter or longer than its header says.
    #[error("{found} bytes where the header announces {expected}: the file was cut or something was appended; copy it again")]
    Length {
        /// Bytes announced.
        expected: u64,
        /// Bytes found.
        found: u64,
    },
    /// The checksum does not match.
    #[error("the checksum does not match: the file is damaged; copy it again, or make it again")]
    Checksum,
    /// Something else was saved.
    #[error("this is not a saved {wanted}, but something else that sigmabar saved")]
    Kind {
        /// What was wanted.
        wanted: &'static str,
    },
    /// The checksum matches, but what was written does not fit together.
    #[error("the content does not fit together: {what}")]
    Content {
        /// What does not.
        what: &'static str,
    },
}

/// Why sums over rows were refused. Chunks are numbered from 0, in the order of the data.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SumsError {
    /// A chunk is in both sums.
    #[error("chunk {chunk} is in both: it would be counted twice")]
    Twice {
        /// The chunk.
        chunk: u64,
    },
    /// Not every chunk was summed.
    #[error("chunk {chunk} is missing{}: sum it and merge again", others(*.count))]
    Missing {
        /// The first that is missing.
        chunk: u64,
        /// How many are.
        count: u64,
    },
    /// Sums of something else.
    #[error("these sums have another {what} than the plan or the sums they were to be added to")]
    Other {
        /// What differs.
        what: &'static str,
    },
    /// A chunk of another length than planned.
    #[error("chunk {chunk} has {found} rows, where the plan says {expected}: the data have changed since the plan was made; plan again")]
    Rows {
        /// The chunk.
        chunk: u64,
        /// Rows planned.
        expected: u64,
        /// Rows found.
        found: u64,
    },
    /// A chunk whose rows are others, or in another order, than when the plan was made.
    #[error(
        "chunk {chunk} has other rows, or others first: the data have changed since the plan was made; plan again, and on an engine sort or persist them first"
    )]
    Changed {
        /// The chunk.
        chunk: u64,
    },
    /// A response that cannot be squared and summed.
    #[error(
        "chunk {chunk} has the response {value:e} in row {row} (counted from 0): at most 1e100 can be summed; take another unit, or the row out"
    )]
    TooLarge {
        /// The chunk.
        chunk: u64,
        /// Row of the chunk, from 0.
        row: u64,
        /// The value found.
        value: f64,
    },
    /// No row that would be an inducing point more.
    #[error("the plan cannot be extended: {}", unextended(*.inducing, *.most))]
    Explained {
        /// Inducing points of the plan.
        inducing: usize,
        /// At most so many were asked for.
        most: usize,
    },
    /// A chunk that the plan does not know.
    #[error("there is no chunk {chunk}: the plan has {chunks}, numbered from 0")]
    NoChunk {
        /// The chunk.
        chunk: u64,
        /// How many there are.
        chunks: u64,
    },
    /// A NaN or an infinity.
    #[error(
        "chunk {chunk} has the value {value} in row {row}, column {column} (counted from 0; the response is the last): every value must be finite"
    )]
    NotFinite {
        /// The chunk.
        chunk: u64,
        /// Row of the chunk, from 0.
        row: u64,
        /// Column, from 0.
        column: usize,
        /// The value found.
        value: f64,
    },
}

fn unextended(inducing: usize, most: usize) -> String {
    if inducing >= most {
        format!("it has {inducing} inducing points, and at most {most} were asked for")
    } else {
        format!("its sums know no row that its {inducing} inducing points do not explain already")
    }
}

fn others(count: u64) -> String {
    match count {
        0 | 1 => String::new(),
        2 => ", and one more".to_owned(),
        count => format!(", and {} more", count - 1),
    }
}

/// Checks that a parameter is finite and positive.
pub(crate) fn positive(name: &'static str, value: f64) -> Result<f64> {
    if value.is_finite() && value > 0.0 { Ok(value) } else { Err(Error::Parameter { name, value, requirement: "finite and positive" }) }
}

/// Checks that a parameter is finite and at least 0.
pub(crate) fn not_negative(name: &'static str, value: f64) -> Result<f64> {
    if value.is_finite() && value >= 0.0 {
        Ok(value)
    } else {
        Err(Error::Parameter { name, value, requirement: "finite and not negative" })
    }
}

/// Checks that a number of things is not 0.
pub(crate) fn at_least_one(name: &'static str, value: usize) -> Result<usize> {
    if value == 0 { Err(Error::Parameter { name, value: 0.0, requirement: "at least 1" }) } else { Ok(value) }
}

/// Checks that a probability lies strictly between 0 and 1.
pub(crate) fn probability(name: &'static str, value: f64) -> Result<f64> {
    if value > 0.0 && value < 1.0 { Ok(value) } else { Err(Error::Parameter { name, value, requirement: "strictly between 0 and 1" }) }
}

/// Checks that two lengths agree.
pub(crate) fn same_length(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Error::Length { what, expected, found }) }
}

/// "first" for 0: nobody has to ask where counting begins.
fn nth(place: usize) -> String {
    const WORDS: [&str; 9] = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"];
    let number = place + 1;
    let ending = match (number % 10, number % 100) {
        (1, last) if last != 11 => "st",
        (2, last) if last != 12 => "nd",
        (3, last) if last != 13 => "rd",
        _ => "th",
    };
    WORDS.get(place).map_or_else(|| format!("{number}{ending}"), |&word| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nobody counts three hundred zeros, in whichever error they would stand.
    #[test]
    fn no_error_writes_out_a_number_of_any_size() {
        let (value, requirement, column, row) = (-1e308, "right", 0, 0);
        let errors = [
            Error::Parameter { name: "norm", value, requirement },
            Error::Interval { column, low: value, high: 1e308 },
            Error::Column { column, value, requirement },
            Error::Row { what: "levels", row, value, requirement },
            Error::Outside { row, column, value },
            Error::Infeasible { constraint: 0, least: value, most: 1e308, bound: 2.5e-300 },
            Error::TooLarge { row, value },
        ];
        for error in errors {
            let words = error.to_string();
            assert!(words.contains("-1e308") && words.len() < 160, "{words}");
        }
        let usual = Error::Parameter { name: "norm", value: 0.25, requirement };
        assert_eq!(usual.to_string(), "norm is 0.25: it must be right");
    }
}
