//! Rows under named columns, before anybody decides how to write them.

use serde_json::Value;
use std::io::{self, Write};

/// Rows under named columns, each cell a JSON value: numbers keep all their digits except in tables for people.
#[derive(Clone, Debug, Default)]
pub struct Sheet {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// One cell per column in each.
    pub rows: Vec<Vec<Value>>,
}

impl Sheet {
    /// An empty sheet.
    pub fn new(columns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { columns: columns.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Each row as a JSON object.
    pub fn objects(&self) -> impl Iterator<Item = Value> {
        self.rows.iter().map(|row| Value::Object(self.columns.iter().cloned().zip(row.iter().cloned()).collect()))
    }
}

/// A sheet as CSV, every digit kept.
pub fn write_csv(sheet: &Sheet, out: impl Write) -> io::Result<()> {
    let mut writer = CsvWriter::new(out, &sheet.columns)?;
    writer.write(&sheet.rows)?;
    writer.finish()
}

/// CSV as [`write_csv`] writes it, some rows at a time.
pub struct CsvWriter<W: Write> {
    writer: csv::Writer<W>,
}

impl<W: Write> CsvWriter<W> {
    /// Writes the names of the columns.
    pub fn new(out: W, columns: &[String]) -> io::Result<Self> {
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(columns).map_err(unwrapped)?;
        Ok(Self { writer })
    }

    /// Writes rows.
    pub fn write(&mut self, rows: &[Vec<Value>]) -> io::Result<()> {
        rows.iter().try_for_each(|row| self.writer.write_record(row.iter().map(plain)).map_err(unwrapped))
    }

    /// Hands the last rows to the stream.
    pub fn finish(mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// The error of the stream itself: a closed pipe must be recognised as one.
fn unwrapped(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(source) => source,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// A cell without quotes or rounding; lists are words with semicolons between them.
#[must_use]
pub fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join("; "),
        other => other.to_string(),
    }
}
