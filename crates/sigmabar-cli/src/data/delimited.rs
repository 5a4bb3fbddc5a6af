//! CSV as spreadsheets write it: comma, semicolon or tab, with or without a byte-order mark.

use super::{Cell, DataError, Rows};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

struct Delimited {
    file: PathBuf,
    reader: csv::Reader<BufReader<Box<dyn Read>>>,
    record: csv::StringRecord,
    line: u64,
}

/// The header's names and the rows below.
pub(super) fn open(file: &Path, input: Box<dyn Read>) -> Result<(Vec<String>, Box<dyn Rows>), DataError> {
    let mut input = BufReader::with_capacity(1 << 16, input);
    let failed = |source| DataError::Read { file: file.to_owned(), line: 0, line_word: "line", source };
    if input.fill_buf().map_err(failed)?.starts_with(BYTE_ORDER_MARK) {
        input.consume(BYTE_ORDER_MARK.len());
    }
    let delimiter = separator(input.fill_buf().map_err(failed)?);
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).trim(csv::Trim::All).from_reader(input);
    let header = reader.headers().map_err(|error| wrong(file, 1, error))?.clone();
    let names: Vec<String> = header.iter().map(str::to_owned).collect();
    check_names(file, &names)?;
    Ok((names, Box::new(Delimited { file: file.to_owned(), reader, record: csv::StringRecord::new(), line: 1 })))
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

fn check_names(file: &Path, names: &[String]) -> Result<(), DataError> {
    let header = |found: &str| DataError::Header { file: file.to_owned(), found: found.to_owned() };
    if names.is_empty() || names.iter().all(String::is_empty) {
        return Err(header("is empty"));
    }
    if names.iter().all(|name| name.parse::<f64>().is_ok()) {
        return Err(header(&format!("is numbers: {}", names.join(", "))));
    }
    if let Some(column) = names.iter().position(String::is_empty) {
        return Err(header(&format!("has no name for column {} (counted from 1)", column + 1)));
    }
    for (second, name) in names.iter().enumerate() {
        if let Some(first) = names[..second].iter().position(|earlier| earlier == name) {
            return Err(DataError::SameName { file: file.to_owned(), name: name.clone(), first: first + 1, second: second + 1 });
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
        let more = self.reader.read_record(&mut self.record).map_err(|error| wrong(&self.file, self.line, error))?;
        if !more {
            return Ok(None);
        }
        self.line = self.record.position().map_or(self.line + 1, csv::Position::line);
        cells.clear();
        cells.extend(self.record.iter().map(|text| match text.parse::<f64>() {
            Ok(number) => Cell::Number(number),
            Err(_) if text.is_empty() => Cell::Missing,
            Err(_) => Cell::Text(text.to_owned()),
        }));
        Ok(Some(self.line))
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
    }

    #[test]
    fn wrong_tables_are_refused_with_their_place() {
        let said = |text: &str| read(text).unwrap_err().to_string();
        assert_eq!(said(""), "t.csv: the first line must name the columns, and it is empty");
        assert_eq!(said("1,2\n3,4\n"), "t.csv: the first line must name the columns, and it is numbers: 1, 2");
        assert_eq!(said("a,a\n"), "t.csv: columns 1 and 2 (counted from 1) are both called \"a\": names must differ");
        assert_eq!(said("a,b\n1,2\n3\n"), "t.csv, line 3: 1 cells where the header has 2");
    }
}
