//! CSV as spreadsheets write it: comma, semicolon or tab, with or without a byte-order mark, decimals with a point or a comma, empty cells at the end.

use super::{Cell, DataError, Rows};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// What other files that people take for CSV begin with.
const STRANGERS: [(&[u8], &str); 3] = [
    (b"PK\x03\x04", "it is an Excel workbook or another zip archive; save the sheet as CSV (UTF-8)"),
    (b"\xff\xfe", "it is UTF-16 text; save it as CSV (UTF-8)"),
    (b"\xfe\xff", "it is UTF-16 text; save it as CSV (UTF-8)"),
];

struct Delimited {
    file: PathBuf,
    reader: csv::Reader<BufReader<Box<dyn Read>>>,
    record: csv::StringRecord,
    line: u64,
    /// Which columns have a name; spreadsheets like to add empty ones.
    is_named: Vec<bool>,
    decimals: Decimals,
}

/// How the table's numbers are written: all of them with a point or, where commas do not separate cells, all of them with a comma. A table that has both is not
/// guessed at: 1.234 is a thousand in the one and little more than one in the other.
struct Decimals {
    may_be_commas: bool,
    mark: Option<char>,
}

impl Decimals {
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

/// The header's names and the rows below.
pub(super) fn open(file: &Path, input: Box<dyn Read>) -> Result<(Vec<String>, Box<dyn Rows>), DataError> {
    let mut input = BufReader::with_capacity(1 << 16, input);
    let failed = |source| DataError::Read { file: file.to_owned(), line: 0, line_word: "line", source };
    if input.fill_buf().map_err(failed)?.starts_with(BYTE_ORDER_MARK) {
        input.consume(BYTE_ORDER_MARK.len());
    }
    let start = input.fill_buf().map_err(failed)?;
    if let Some((_, reason)) = STRANGERS.iter().find(|(mark, _)| start.starts_with(mark)) {
        return Err(DataError::Format { file: file.to_owned(), kind: "CSV", reason: (*reason).to_owned() });
    }
    let delimiter = separator(start);
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).trim(csv::Trim::All).from_reader(input);
    let header = reader.headers().map_err(|error| wrong(file, 1, error))?.clone();
    let is_named: Vec<bool> = header.iter().map(|name| !name.is_empty()).collect();
    check_names(file, &header.iter().collect::<Vec<_>>())?;
    let names = header.iter().filter(|name| !name.is_empty()).map(str::to_owned).collect();
    let decimals = Decimals { may_be_commas: delimiter != b',', mark: None };
    Ok((names, Box::new(Delimited { file: file.to_owned(), reader, record: csv::StringRecord::new(), line: 1, is_named, decimals })))
}

/// The character that occurs most in the first line, outside of quotes; commas where none does.
fn separator(start: &[u8]) -> u8 {
    let (mut quoted, mut counts) = (false, [(b',', 0), (b';', 0), (b'\t', 0)]);
    for &byte in start.iter().take_while(|&&byte| byte != b'\n') {
        quoted ^= byte == b'"';
        if !quoted && let Some((_, count)) = counts.iter_mut().find(|(separator, _)| *separator == byte) {
            *count += 1;
        }
    }
    counts.into_iter().rev().max_by_key(|(_, count)| *count).filter(|(_, count)| *count > 0).map_or(b',', |(separator, _)| separator)
}

fn check_names(file: &Path, names: &[&str]) -> Result<(), DataError> {
    let header = |found: &str| DataError::Header { file: file.to_owned(), found: found.to_owned() };
    if names.iter().all(|name| name.is_empty()) {
        return Err(header("is empty"));
    }
    if names.iter().all(|name| name.is_empty() || name.parse::<f64>().is_ok()) {
        return Err(header(&format!("is numbers: {}", names.join(", "))));
    }
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
            return Ok(None);
        }
        if self.is_empty() {
            return self.skip_to_the_end().map(|()| None);
        }
        cells.clear();
        for (column, text) in self.record.iter().enumerate() {
            if !self.is_named[column] && !text.is_empty() {
                return Err(DataError::Nameless { file: self.file.clone(), line: self.line, column: column + 1, found: text.to_owned() });
            }
            if self.is_named[column] {
                cells.push(match self.decimals.number(text) {
                    Some(number) => Cell::Number(number),
                    None if text.is_empty() => Cell::Missing,
                    None => Cell::Text(text.to_owned()),
                });
            }
        }
        Ok(Some(self.line))
    }

    fn has_decimal_commas(&self) -> bool {
        self.decimals.mark == Some(',')
    }
}

impl Delimited {
    fn read(&mut self) -> Result<bool, DataError> {
        let more = self.reader.read_record(&mut self.record).map_err(|error| wrong(&self.file, self.line, error))?;
        if more {
            self.line = self.record.position().map_or(self.line + 1, csv::Position::line);
        }
        Ok(more)
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
    fn wrong_tables_are_refused_with_their_place() {
        let said = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(said(""), "t.csv: the first line must name the columns, and it is empty");
        assert_eq!(said("1,2\n3,4\n"), "t.csv: the first line must name the columns, and it is numbers: 1, 2");
        assert_eq!(said("a,a\n"), "t.csv: columns 1 and 2 (counted from 1) are both called \"a\": names must differ");
        assert_eq!(said("a,b\n1,2\n3\n"), "t.csv, line 3: 1 cells where the header has 2");
        assert_eq!(
            said("a,b,\n1,2,x\n"),
            "t.csv, line 2, column 3 (counted from 1): \"x\" stands below no name; name the column in the first line"
        );
        assert_eq!(said("a,b\n1,2\n,\n3,4\n"), "t.csv, line 3: an empty row between others; fill it in or take it out");
        assert!(said("PK\u{3}\u{4}...").contains("save the sheet as CSV"));
    }
}
