//! CSV as spreadsheets write it: comma, semicolon or tab, with or without a byte-order mark, decimals with a point or a comma, empty cells at the end.

use super::{Cell, DataError, Rows, beyond_floats, extension};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// What other files that people take for CSV begin with.
const STRANGERS: [(&[u8], &str); 3] = [
    (b"PK\x03\x04", "it is an Excel workbook or another zip archive; end its name in .xlsx, or save the sheet as CSV (UTF-8)"),
    (b"\xff\xfe", "it is UTF-16 text; save it as CSV (UTF-8)"),
    (b"\xfe\xff", "it is UTF-16 text; save it as CSV (UTF-8)"),
];

/// What is said of a workbook that is called one, where only CSV is read.
const WORKBOOK: &str = "it is an Excel workbook; save the sheet as CSV (UTF-8)";

struct Delimited {
    file: PathBuf,
    reader: csv::Reader<BufReader<Lines>>,
    record: csv::StringRecord,
    line: u64,
    /// Whether lines end with a carriage return and a line feed.
    has_both_ends: bool,
    columns: Vec<Column>,
    decimals: Decimals,
}

#[derive(Clone, Copy, PartialEq)]
enum Column {
    /// Without a name; spreadsheets like to add such.
    Nameless,
    /// Numbers where they can be read as such.
    Plain,
    /// Kept as it is written.
    Text,
}

/// How the table's numbers are written: all of them with a point or, where commas do not separate cells, all of them with a comma. A table that has both is not
/// guessed at: 1.234 is a thousand in the one and little more than one in the other.
#[derive(Default)]
struct Decimals {
    may_be_commas: bool,
    /// Spreadsheets separate cells by semicolons where a comma is the decimal mark, and a point stands before thousands.
    may_be_thousands: bool,
    mark: Option<char>,
    /// The first number whose comma may stand for a decimal point or before thousands: its line, its column, what is written.
    doubtful: Option<(u64, usize, String)>,
    /// Whether some comma can be a decimal one only; then all are.
    has_plain_commas: bool,
    /// The same for points, the first of each column.
    doubtful_points: BTreeMap<usize, (u64, String)>,
    has_plain_points: bool,
}

impl Decimals {
    /// The number of a cell, which may show how others are to be read.
    fn number_at(&mut self, text: &str, line: u64, column: usize) -> Option<f64> {
        let number = self.number(text)?;
        let here = || Some((line, column, text.to_owned()));
        if text.contains(',') {
            self.has_plain_commas |= !is_like_thousands(text, ',');
            self.doubtful = self.doubtful.take().or_else(here);
        } else if self.may_be_thousands && text.contains('.') {
            self.has_plain_points |= !is_like_thousands(text, '.');
            self.doubtful_points.entry(column).or_insert_with(|| (line, text.to_owned()));
        }
        Some(number)
    }

    fn number(&mut self, text: &str) -> Option<f64> {
        if text.contains('.') {
            let number = text.parse().ok()?;
            return (*self.mark.get_or_insert('.') == '.').then_some(number);
        }
        if self.may_be_commas && text.contains(',') {
            let number = text.replacen(',', ".", 1).parse().ok()?;
            return (*self.mark.get_or_insert(',') == ',').then_some(number);
        }
        text.parse().ok()
    }
}

/// A whole number of 64 bits that no float holds, as it is written.
fn beyond(text: &str, number: f64) -> Option<Cell> {
    let is_large = (2.0_f64.powi(53)..=2.0_f64.powi(64)).contains(&number.abs());
    if is_large { text.parse::<i128>().ok().and_then(beyond_floats) } else { None }
}

/// One to three digits, the mark and three more, as in 1,234. Thousands never begin with a zero: 0,234 is plain.
fn is_like_thousands(text: &str, mark: char) -> bool {
    let Some((whole, rest)) = text.trim_start_matches(['-', '+']).split_once(mark) else { return false };
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    (1..=3).contains(&whole.len()) && rest.len() == 3 && is_digits(whole) && is_digits(rest) && !whole.starts_with('0')
}

/// Nobody writes longer lines: what does is no table, and would fill the memory before its first row is there.
const LONGEST_LINE: usize = 64 << 20;

/// Input whose lines end.
struct Lines {
    input: Box<dyn Read>,
    /// Of the line that is being read.
    length: usize,
    is_at_end: bool,
}

impl Read for Lines {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let count = self.input.read(bytes)?;
        self.is_at_end = count == 0;
        self.length = match bytes[..count].iter().rposition(|byte| matches!(byte, b'\n' | b'\r')) {
            Some(end) => count - end - 1,
            None => self.length + count,
        };
        if self.length > LONGEST_LINE {
            return Err(std::io::Error::other("a line of more than 64 MB: this is no table"));
        }
        Ok(count)
    }
}

/// The header's names and the rows below.
pub(super) fn open(file: &Path, input: Box<dyn Read>) -> Result<(Vec<String>, Box<dyn Rows>), DataError> {
    let mut input = BufReader::with_capacity(1 << 16, Lines { input, length: 0, is_at_end: false });
    let failed = |source| DataError::Read { file: file.to_owned(), line: 0, line_word: "line", source };
    if input.fill_buf().map_err(failed)?.starts_with(BYTE_ORDER_MARK) {
        input.consume(BYTE_ORDER_MARK.len());
    }
    let start = input.fill_buf().map_err(failed)?;
    if let Some((_, reason)) = STRANGERS.iter().find(|(mark, _)| start.starts_with(mark)) {
        // Its name ends so already where only text is taken, as on a server.
        let reason = if start.starts_with(b"PK") && extension(file) == "xlsx" { WORKBOOK } else { reason };
        return Err(DataError::Format { file: file.to_owned(), kind: "CSV", reason: (*reason).to_owned() });
    }
    if start.contains(&0) {
        let reason = "it contains zero bytes, so it is not text".to_owned();
        return Err(DataError::Format { file: file.to_owned(), kind: "CSV", reason });
    }
    let delimiter = separator(start);
    let end = start.iter().position(|byte| *byte == b'\n').unwrap_or(0);
    let has_both_ends = end > 0 && start[end - 1] == b'\r';
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).trim(csv::Trim::All).from_reader(input);
    let header = reader.headers().map_err(|error| wrong(file, 1, error))?.clone();
    let columns = header.iter().map(|name| if name.is_empty() { Column::Nameless } else { Column::Plain }).collect();
    let may_be_commas = delimiter != b',';
    check_names(file, &header.iter().collect::<Vec<_>>(), may_be_commas)?;
    let names = header.iter().filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let decimals = Decimals { may_be_commas, may_be_thousands: delimiter == b';', ..Decimals::default() };
    Ok((
        names,
        Box::new(Delimited { file: file.to_owned(), reader, record: csv::StringRecord::new(), line: 1, has_both_ends, columns, decimals }),
    ))
}

/// The character that occurs most in the first line, outside of quotes and of numbers such as 1,5; commas where none does.
fn separator(start: &[u8]) -> u8 {
    let (mut quoted, mut counts) = (false, [(b',', 0), (b';', 0), (b'\t', 0)]);
    let is_digit = |place: Option<usize>| place.and_then(|place| start.get(place)).is_some_and(u8::is_ascii_digit);
    for (i, &byte) in start.iter().enumerate().take_while(|(_, byte)| **byte != b'\n') {
        quoted ^= byte == b'"';
        let is_in_number = byte == b',' && is_digit(i.checked_sub(1)) && is_digit(i.checked_add(1));
        if !quoted
            && !is_in_number
            && let Some((_, count)) = counts.iter_mut().find(|(separator, _)| *separator == byte)
        {
            *count += 1;
        }
    }
    counts.into_iter().rev().max_by_key(|(_, count)| *count).filter(|(_, count)| *count > 0).map_or(b',', |(separator, _)| separator)
}

pub(super) fn check_names(file: &Path, names: &[&str], may_be_commas: bool) -> Result<(), DataError> {
    let header = |found: &str| DataError::Header { file: file.to_owned(), found: found.to_owned() };
    if names.iter().all(|name| name.is_empty()) {
        return Err(header("is empty"));
    }
    let mut decimals = Decimals { may_be_commas, ..Decimals::default() };
    if names.iter().all(|name| name.is_empty() || decimals.number(name).is_some()) {
        return Err(header(&format!("is numbers: {}", names.join(if may_be_commas { "; " } else { ", " }))));
    }
    check_distinct(file, names)
}

/// Refuses two columns of one name: whoever asks for it would get the first without a word.
pub(super) fn check_distinct(file: &Path, names: &[&str]) -> Result<(), DataError> {
    for (second, name) in names.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
        if let Some(first) = names[..second].iter().position(|earlier| earlier == name) {
            return Err(DataError::SameName { file: file.to_owned(), name: (*name).to_owned(), first: first + 1, second: second + 1 });
        }
    }
    Ok(())
}

fn wrong(file: &Path, line: u64, error: csv::Error) -> DataError {
    let file = file.to_owned();
    let at = error.position().map_or(line, csv::Position::line);
    match error.into_kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => DataError::Width { file, line: at, expected: expected_len, found: len },
        csv::ErrorKind::Utf8 { err, .. } => DataError::Encoding { file, line: at, column: err.field() + 1 },
        csv::ErrorKind::Io(source) => DataError::Read { file, line, line_word: "line", source },
        other => DataError::Format { file, kind: "CSV", reason: format!("{other:?}") },
    }
}

impl Rows for Delimited {
    fn next_row(&mut self, cells: &mut Vec<Cell>) -> Result<Option<u64>, DataError> {
        if !self.read()? {
            return self.check_commas().map(|()| None);
        }
        if self.is_empty() {
            self.skip_to_the_end()?;
            return self.check_commas().map(|()| None);
        }
        cells.clear();
        for (column, (text, kind)) in self.record.iter().zip(&self.columns).enumerate() {
            let number = if *kind == Column::Plain { self.decimals.number_at(text, self.line, column) } else { None };
            match number {
                _ if *kind == Column::Nameless && text.is_empty() => {}
                _ if *kind == Column::Nameless => {
                    return Err(DataError::Nameless {
                        file: self.file.clone(),
                        line: self.line,
                        column: column + 1,
                        found: text.to_owned(),
                    });
                }
                Some(number) => cells.push(beyond(text, number).unwrap_or(Cell::Number(number))),
                None if text.is_empty() => cells.push(Cell::Missing),
                None => cells.push(Cell::Text(text.to_owned())),
            }
        }
        Ok(Some(self.line))
    }

    fn keep_text(&mut self, column: usize) {
        if let Some(kind) = self.columns.iter_mut().filter(|kind| **kind != Column::Nameless).nth(column) {
            *kind = Column::Text;
        }
    }

    fn has_decimal_commas(&self) -> bool {
        self.decimals.mark == Some(',')
    }

    fn is_doubtful(&self) -> bool {
        self.decimals.doubtful.is_some() && !self.decimals.has_plain_commas
    }

    fn check_points(&mut self, columns: &[usize]) -> Result<(), DataError> {
        if self.decimals.has_plain_points {
            return Ok(());
        }
        let named = self.columns.iter().enumerate().filter(|(_, kind)| **kind != Column::Nameless).map(|(place, _)| place);
        let looked_at = named.enumerate().filter(|(number, _)| columns.contains(number)).map(|(_, place)| place);
        let found =
            looked_at.filter_map(|place| self.decimals.doubtful_points.get(&place).map(|(line, text)| (*line, place, text.clone())));
        let first = found.min();
        self.refuse_doubtful(first)
    }

    fn ends_open(&self) -> bool {
        let lines = self.reader.get_ref().get_ref();
        lines.is_at_end && lines.length > 0
    }
}

impl Delimited {
    fn read(&mut self) -> Result<bool, DataError> {
        let more = self.reader.read_record(&mut self.record).map_err(|error| wrong(&self.file, self.line, error))?;
        if more {
            // Of the two bytes that end lines on Windows the parser counts the second to the line that follows.
            self.line = self.record.position().map_or(self.line + 1, |at| at.line() + u64::from(self.has_both_ends));
        }
        Ok(more)
    }

    /// A table all of whose commas may stand before thousands means two things, a thousand times apart.
    fn check_commas(&mut self) -> Result<(), DataError> {
        let (found, is_plain) = (self.decimals.doubtful.take(), self.decimals.has_plain_commas);
        self.refuse_doubtful(found.filter(|_| !is_plain))
    }

    fn refuse_doubtful(&mut self, found: Option<(u64, usize, String)>) -> Result<(), DataError> {
        let Some((line, column, found)) = found else { return Ok(()) };
        let name = self.reader.headers().map_err(|error| wrong(&self.file, 1, error))?[column].to_owned();
        Err(DataError::Ambiguous { file: self.file.clone(), line, column: name, found })
    }

    fn is_empty(&self) -> bool {
        self.record.iter().all(str::is_empty)
    }

    /// Rows of separators below the table are nothing; between other rows one may have lost its cells.
    fn skip_to_the_end(&mut self) -> Result<(), DataError> {
        let line = self.line;
        while self.read()? {
            if !self.is_empty() {
                return Err(DataError::EmptyRow { file: self.file.clone(), line });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Categories, ColumnInfo, Frame, Options, Reader, Selection, Wanted};

    fn read(text: &str) -> Result<(Vec<String>, Vec<Vec<Cell>>), DataError> {
        let (names, mut rows) = open(Path::new("t.csv"), Box::new(std::io::Cursor::new(text.as_bytes().to_vec())))?;
        let (mut all, mut cells) = (Vec::new(), Vec::new());
        while rows.next_row(&mut cells)?.is_some() {
            all.push(cells.clone());
        }
        Ok((names, all))
    }

    #[test]
    fn spreadsheets_of_every_country_are_read() {
        for text in ["\u{feff}a,b\n1, 2\n", "a;b\r\n1;2\r\n", "a\tb\n1\t2"] {
            let (names, rows) = read(text).unwrap();
            assert_eq!((names.join(" ").as_str(), rows), ("a b", vec![vec![Cell::Number(1.0), Cell::Number(2.0)]]), "{text:?}");
        }
        assert_eq!(read("\"a;b\",c\n1,\n").unwrap().1, [[Cell::Number(1.0), Cell::Missing]]);
        // Empty columns and rows that a spreadsheet adds at the right and at the foot.
        assert_eq!(read("a,,b,\r\n1,,2,\r\n,,,\r\n,,,\r\n").unwrap().1, [[Cell::Number(1.0), Cell::Number(2.0)]]);
    }

    #[test]
    fn a_decimal_comma_is_read_where_it_can_mean_nothing_else() {
        assert_eq!(read("a;b\n1,5;-2,25e3\n3;0,1\n").unwrap().1[0], [Cell::Number(1.5), Cell::Number(-2250.0)]);
        // Both marks in one table, thousands, lists: left as they are, for whoever wants a number there to refuse.
        let text = |text: &str| Cell::Text(text.to_owned());
        assert_eq!(read("a;b\n1,5;1.234\n").unwrap().1, [[Cell::Number(1.5), text("1.234")]]);
        assert_eq!(read("a;b\n1.5;1,234\n").unwrap().1, [[Cell::Number(1.5), text("1,234")]]);
        assert_eq!(read("a;b\n1.234,5;1,2,3\n").unwrap().1, [[text("1.234,5"), text("1,2,3")]]);
        assert_eq!(read("a,b\n\"1,5\",2\n").unwrap().1, [[text("1,5"), Cell::Number(2.0)]]);
    }

    #[test]
    fn commas_that_may_stand_before_thousands_are_not_guessed_at() {
        assert_eq!(
            read("a;b\n7;2\n1,234;2\n12,000;3\n").unwrap_err().to_string(),
            "t.csv, line 3, column \"a\": \"1,234\" may mean 1234 or 1.234, and no other number of the table tells which: write them in one of these ways"
        );
        assert!(read("a\tb\n1\t-999,999\n").unwrap_err().to_string().contains("may mean -999999 or -999.999"));
        // One number that can be read in one way only tells how all are written.
        for text in ["a;b\n1,234;2,5\n", "a;b\n0,234;1,234\n", "a;b\n1,234;1,2345\n", "a;b\n1,234e3;1,234\n"] {
            assert!(read(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn columns_of_text_are_kept_as_they_are_written() {
        let input = "lot;;x;why\n00412;;1.5;1,5\n1e5;;2.5;\n";
        let (_, mut rows) = open(Path::new("t.csv"), Box::new(std::io::Cursor::new(input.as_bytes().to_vec()))).unwrap();
        rows.keep_text(0);
        rows.keep_text(2);
        let (mut cells, text) = (Vec::new(), |text: &str| Cell::Text(text.to_owned()));
        rows.next_row(&mut cells).unwrap();
        assert_eq!(cells, [text("00412"), Cell::Number(1.5), text("1,5")]);
        rows.next_row(&mut cells).unwrap();
        assert_eq!(cells, [text("1e5"), Cell::Number(2.5), Cell::Missing]);
        assert!(!rows.has_decimal_commas());
    }

    #[test]
    fn wrong_tables_are_refused_with_their_place() {
        let said = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(said(""), "t.csv: the first line must name the columns, and it is empty");
        assert_eq!(said("1,2\n3,4\n"), "t.csv: the first line must name the columns, and it is numbers: 1, 2");
        assert_eq!(said("1,5;2,5\n3,5;4,5\n"), "t.csv: the first line must name the columns, and it is numbers: 1,5; 2,5");
        assert_eq!(said("a,a\n"), "t.csv: columns 1 and 2 (counted from 1) are both called \"a\": names must differ");
        assert_eq!(said("a,b\n1,2\n3\n"), "t.csv, line 3: 1 cells where the header has 2");
        assert_eq!(
            said("a,b,\n1,2,x\n"),
            "t.csv, line 2, column 3 (counted from 1): \"x\" stands below no name; name the column in the first line"
        );
        assert_eq!(said("a,b\n1,2\n,\n3,4\n"), "t.csv, line 3: an empty row between others; fill it in or take it out");
        assert_eq!(said("a,b\r\n1,2\r\n,\r\n3,4\r\n"), "t.csv, line 3: an empty row between others; fill it in or take it out");
        assert!(said("PK\u{3}\u{4}...").contains("end its name in .xlsx, or save the sheet as CSV"));
        let workbook = Reader::csv("t.xlsx".into(), Box::new(std::io::Cursor::new(b"PK\x03\x04".to_vec()))).err().unwrap().to_string();
        assert_eq!(workbook, "t.xlsx: not a readable CSV file: it is an Excel workbook; save the sheet as CSV (UTF-8)");
    }

    fn framed(text: &str, categories: Categories) -> Result<Frame, DataError> {
        let reader = Reader::csv("t.csv".into(), Box::new(std::io::Cursor::new(text.as_bytes().to_vec())))?;
        let (wanted, options) = (Wanted::AllBut(Vec::new()), Options::Fit);
        Frame::read(reader, &Selection { wanted, categories, memory: None, options, drop_missing: false })
    }

    /// Two ids of 64 bits that are one float are two categories, and no numbers.
    #[test]
    fn ids_that_no_float_holds_are_categories_or_refused() {
        let text = "id,x\n9007199254740992,1\n9007199254740993,2\n";
        let frame = framed(text, Categories::Collected(vec!["id".into()])).unwrap();
        assert_eq!(frame.columns[0].categories.as_deref().unwrap(), ["9007199254740992", "9007199254740993"]);
        let said = framed(text, Categories::Collected(Vec::new())).unwrap_err().to_string();
        assert!(
            said.starts_with("t.csv, line 3, column \"id\": \"9007199254740993\" does not belong there; it is a whole number"),
            "{said}"
        );
        assert!(said.ends_with("(--categorical id)"), "{said}");
        let known = ColumnInfo { categories: Some(vec!["9007199254740993".into()]), ..ColumnInfo::named("id") };
        let other = framed("id\n9007199254740992\n", Categories::Known(vec![known]));
        assert!(matches!(other, Err(DataError::Category { .. })), "the same float is not the same id");
        let held = framed("x\n9007199254740994\n602214076000000000000000\n-9007199254740992\n", Categories::Collected(Vec::new())).unwrap();
        assert_eq!(held.values, [9_007_199_254_740_994.0, 6.022_140_76e23, -9_007_199_254_740_992.0]);
    }
}
