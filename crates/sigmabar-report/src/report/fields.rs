//! Rows of a CSV table by column name, with errors that name line and column.

use super::error::{Error, Result};
use std::io::Read;
use std::str::FromStr;

/// One row.
pub(super) struct Fields<'a> {
    headers: &'a csv::StringRecord,
    record: &'a csv::StringRecord,
}

impl Fields<'_> {
    /// Reads all rows of a table with a header.
    pub fn read<T>(input: impl Read, mut row: impl FnMut(&Fields<'_>) -> Result<T>) -> Result<Vec<T>> {
        let mut reader = csv::Reader::from_reader(input);
        let headers = reader.headers()?.clone();
        let mut rows = Vec::new();
        for record in reader.records() {
            rows.push(row(&Fields { headers: &headers, record: &record? })?);
        }
        Ok(rows)
    }

    /// What stands in a column.
    pub fn text(&self, column: &'static str) -> Result<&str> {
        let place = self.headers.iter().position(|name| name == column);
        let missing = || Error::Column { column, found: self.headers.iter().collect::<Vec<_>>().join(", ") };
        place.and_then(|i| self.record.get(i)).ok_or_else(missing)
    }

    /// A column that always has a value.
    pub fn parse<T: FromStr>(&self, column: &'static str, requirement: &'static str) -> Result<T> {
        let text = self.text(column)?;
        let line = self.record.position().map_or(0, csv::Position::line);
        text.parse().map_err(|_| Error::Field { line, column, text: text.to_owned(), requirement })
    }

    /// A column that may be empty.
    pub fn optional<T: FromStr>(&self, column: &'static str, requirement: &'static str) -> Result<Option<T>> {
        if self.text(column)?.is_empty() { Ok(None) } else { self.parse(column, requirement).map(Some) }
    }
}
