//! What one cell says, and what is wrong with it where it says nothing that belongs there.

use super::{Cell, DataError, Options, Reader, beyond_floats, moments};
use sigmabar::points::LARGEST_RESPONSE;

/// What to do about a number that is written in a way that could mean two.
pub(super) const NUMERAL: &str = "write every number with a point, such as 1234.5, and without thousands separators";
/// What to do about a number in a spreadsheet's cell of text.
pub const TEXT_CELL: &str = "the cell holds text, which only looks like a number: mark the column in the spreadsheet and turn it into numbers (in Excel: Data, Text to Columns, Finish)";
/// What to do about a date or a time where something else was typed.
pub const TURNED: &str = "spreadsheets turn what looks like a date or a time into one: set the format of the cell to Number or Text, and type again what belongs there";

/// What is wrong with an id that is used as a number, and what to do.
pub(super) const BEYOND_FLOATS: &str =
    "is a whole number that 64-bit floats cannot tell from its neighbours: subtract an offset, or name such things by text";

/// Whether a text would be a number but for its marks.
pub(super) fn is_numeral(text: &str) -> bool {
    let bare: String = text.chars().filter(|c| !matches!(c, ',' | '.' | '\'' | ' ' | '\u{a0}' | '\u{202f}')).collect();
    bare.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+')) && bare.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Whether a number in its usual form has more digits than floats keep.
fn has_too_many_digits(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    digits > 15 && text.parse::<f64>().is_ok()
}

/// A number in per cent: what the number would be. Nobody can tell whether it or a hundredth of it is meant.
fn percentage(text: &str) -> Option<f64> {
    text.strip_suffix('%')?.trim_end().replacen(',', ".", 1).parse().ok().filter(|number: &f64| number.is_finite())
}

/// What is wrong with a cell that looks like a number and is none, and what to do about it; `None` of others.
pub(super) fn misread(reader: &Reader, cell: &Cell) -> Option<String> {
    let text = match cell {
        Cell::Text(text) => text,
        Cell::Moment(_) => return Some(TURNED.to_owned()),
        Cell::Number(_) | Cell::Missing => return None,
    };
    if text.parse::<i128>().is_ok_and(|whole| beyond_floats(whole).is_some()) {
        return Some(format!("it {BEYOND_FLOATS}"));
    }
    if has_too_many_digits(text) {
        return Some("it has more digits than 64-bit floats keep: round it to 15, or write the column as floats".to_owned());
    }
    if let Some(number) = percentage(text) {
        let hundredth = round(number / 100.0);
        return Some(format!("it may mean {number} or {hundredth}: write a plain number, in the same unit everywhere"));
    }
    is_numeral(text).then(|| match text.parse::<f64>() {
        Err(_) => NUMERAL.to_owned(),
        Ok(_) if reader.has_decimal_commas() => {
            format!("numbers before it have decimal commas, and the table mixes both: {NUMERAL}")
        }
        Ok(_) if reader.is_spreadsheet() => TEXT_CELL.to_owned(),
        Ok(_) => "it is stored as text: store the column as numbers".to_owned(),
    })
}

/// To twelve digits: a hundredth and a hundredfold of what somebody typed have no more.
pub(super) fn round(number: f64) -> f64 {
    format!("{number:.11e}").parse().unwrap_or(number)
}

/// Whether a cell holds a truth value.
pub(super) fn is_truth(cell: &Cell) -> bool {
    matches!(cell, Cell::Text(text) if text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false"))
}

/// Whether a cell holds a date or a time; truth values are numbers.
pub(super) fn is_date(cell: &Cell) -> bool {
    matches!(cell, Cell::Moment(_)) || matches!(cell, Cell::Text(text) if text.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether nothing stands in a cell.
pub(super) fn is_missing(cell: &Cell) -> bool {
    matches!(cell, Cell::Missing) || matches!(cell, Cell::Number(value) if value.is_nan())
}

/// What programs write where a number is missing. Between categories these are names: NA is Namibia too.
const MISSING: [&str; 7] = ["NA", "N/A", "n/a", "#N/A", "null", "NULL", "None"];

/// Whether nothing stands in a cell where a number belongs, or a word for nothing.
pub(super) fn is_no_number(cell: &Cell) -> bool {
    is_missing(cell) || matches!(cell, Cell::Text(text) if MISSING.contains(&text.as_str()))
}

/// Where a cell stands.
pub(super) struct Place<'a> {
    pub reader: &'a Reader,
    pub line: u64,
    pub options: Options,
    /// Whether it is in the target's column, which cannot be left out.
    pub is_target: bool,
}

impl Place<'_> {
    pub fn number(&self, column: &str, cell: &Cell) -> Result<f64, DataError> {
        let found = match cell {
            Cell::Number(value) | Cell::Moment(value) if value.abs() <= LARGEST_RESPONSE => return Ok(*value),
            Cell::Number(value) | Cell::Moment(value) => format!("{value:e}"),
            Cell::Missing => "an empty cell".to_owned(),
            Cell::Text(text) if moments::number(text).is_some() => return Ok(moments::number(text).unwrap_or_default()),
            Cell::Text(text) => format!("\"{text}\""),
        };
        if let (Cell::Text(_), Some(remedy)) = (cell, misread(self.reader, cell)) {
            let may_declare = self.options == Options::Fit && !self.is_target && remedy.ends_with(BEYOND_FLOATS);
            let declared = if may_declare { format!(" (--categorical {column})") } else { String::new() };
            return Err(self.wrong(column, found, remedy + &declared));
        }
        let remedy = match cell {
            Cell::Number(value) if value.is_finite() => {
                "numbers beyond 1e100 cannot be squared and summed: take another unit, or the row out".to_owned()
            }
            _ if is_no_number(cell) => self.options.fill("a number", column, self.is_target),
            _ if self.is_target => "this is the target: put a number there, or take the row out".to_owned(),
            Cell::Text(_) if self.options == Options::Fit => {
                format!("put a number there, leave the column out (--ignore {column}), or declare it (--categorical {column})")
            }
            _ if self.options == Options::Fit => format!("put a number there, or leave the column out (--ignore {column})"),
            _ => "put a number there, or take the row out".to_owned(),
        };
        Err(self.wrong(column, found, remedy))
    }

    fn wrong(&self, column: &str, found: String, remedy: String) -> DataError {
        let (file, line, line_word) = (self.reader.file().to_owned(), self.line, self.reader.line_word());
        DataError::Cell { file, line, line_word, column: column.to_owned(), found, remedy: remedy.into() }
    }

    /// A date among plain numbers, or the other way round: days since 1970 beside 20240101 would both be numbers.
    pub fn other_kind(&self, column: &str, cell: &Cell, difference: &'static str) -> DataError {
        DataError::Dates {
            file: self.reader.file().to_owned(),
            line: self.line,
            line_word: self.reader.line_word(),
            column: column.to_owned(),
            found: cell.to_string(),
            difference,
        }
    }

    pub fn category(&self, column: &str, known: &mut Vec<String>, collects: bool, cell: &Cell) -> Result<f64, DataError> {
        let text = match cell {
            Cell::Text(text) => text.clone(),
            Cell::Number(value) | Cell::Moment(value) => value.to_string(),
            Cell::Missing => return Err(self.wrong(column, "an empty cell".to_owned(), self.options.fill("a name", column, false))),
        };
        let same = known.iter().position(|category| *category == text);
        // Tables that lack a value somewhere write 1.0 for 1; what begins with zeros, as 007, means more than its number.
        let same = same.or_else(|| known.iter().position(|category| whole(category) == whole(&text)));
        // A number may be written otherwise than where the categories were learnt, as files with types do.
        let same = same.or_else(|| if collects { None } else { only(known, |category| is_same_number(category, &text)) });
        let position = match same {
            Some(position) => position,
            None if collects => {
                known.push(text);
                known.len() - 1
            }
            None => {
                return Err(DataError::Category {
                    file: self.reader.file().to_owned(),
                    line: self.line,
                    line_word: self.reader.line_word(),
                    column: column.to_owned(),
                    found: text,
                    known: known.clone(),
                });
            }
        };
        Ok(position as f64)
    }
}

/// The place of the only one that is meant.
fn only(known: &[String], is_meant: impl Fn(&str) -> bool) -> Option<usize> {
    let mut found = (0..known.len()).filter(|&i| is_meant(&known[i]));
    found.next().filter(|_| found.next().is_none())
}

/// A whole number without the zeros behind its point.
fn whole(text: &str) -> &str {
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let parts =
        text.split_once('.').filter(|(whole, rest)| is_digits(whole.trim_start_matches('-')) && rest.bytes().all(|byte| byte == b'0'));
    parts.map_or(text, |(whole, _)| whole)
}

/// Beyond 2⁵³ two whole numbers may be one float.
fn is_same_number(a: &str, b: &str) -> bool {
    matches!((a.parse::<f64>(), b.parse::<f64>()), (Ok(a), Ok(b)) if a == b && a.abs() < 2.0_f64.powi(53))
}
