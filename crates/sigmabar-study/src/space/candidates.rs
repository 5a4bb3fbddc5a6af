//! Candidates from a table: a header names the columns, every row is a setting that may be measured.

use crate::union::{OneOrMany, many, rows, some_many};
use crate::{Error, Result, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A finite list of settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CandidateTable {
    /// Where they came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The names of the columns.
    #[serde(deserialize_with = "many")]
    #[schemars(with = "OneOrMany<String>")]
    pub columns: Vec<String>,
    /// One setting in each row.
    #[serde(deserialize_with = "rows")]
    #[schemars(with = "Vec<OneOrMany<Value>>")]
    pub rows: Vec<Vec<Value>>,
    /// A label for each row.
    #[serde(default, deserialize_with = "some_many", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<OneOrMany<String>>")]
    pub labels: Option<Vec<String>>,
    /// What it costs to measure each row once.
    #[serde(default, deserialize_with = "some_many", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<OneOrMany<f64>>")]
    pub costs: Option<Vec<f64>>,
}

impl CandidateTable {
    /// Reads a CSV file with a header. A column `label` holds names, a column `cost` what a measurement costs; all others are parameters.
    ///
    /// # Errors
    /// [`Error::File`], or what [`CandidateTable::parse`] finds.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|source| Error::File { path: path.to_owned(), source })?;
        let mut table = Self::parse(&bytes, path)?;
        table.source = Some(path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned());
        Ok(table)
    }

    /// The same from bytes; `path` is for the words of errors.
    ///
    /// # Errors
    /// [`Error::Cell`] and [`Error::Table`] naming line and column.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(bytes);
        let refused = |source: csv::Error| Error::Table { path: path.to_owned(), source };
        let header: Vec<String> = reader.headers().map_err(refused)?.iter().map(str::to_owned).collect();
        if let Some(name) = header.iter().find(|name| name.contains([';', '\t'])) {
            let requirement = "a header with commas between its names (here, semicolons and tabs separate nothing, and decimals are written with a point)";
            return Err(Error::Cell { path: path.to_owned(), line: 1, column: name.clone(), found: name.clone(), requirement });
        }
        let mut table = Self {
            columns: header.iter().filter(|name| !matches!(name.as_str(), "label" | "cost")).cloned().collect(),
            labels: header.iter().any(|name| name == "label").then(Vec::new),
            costs: header.iter().any(|name| name == "cost").then(Vec::new),
            ..Self::default()
        };
        let mut lines = Vec::new();
        for record in reader.records() {
            let record = record.map_err(refused)?;
            let line = record.position().map_or(0, csv::Position::line);
            let cell = |column: &str, found: &str, requirement| Error::Cell {
                path: path.to_owned(),
                line,
                column: column.to_owned(),
                found: found.to_owned(),
                requirement,
            };
            let mut row = Vec::with_capacity(table.columns.len());
            for (name, text) in header.iter().zip(record.iter()) {
                match (name.as_str(), &mut table.labels, &mut table.costs) {
                    ("label", Some(labels), _) => labels.push(text.to_owned()),
                    ("cost", _, Some(costs)) => match text.parse::<f64>() {
                        Ok(cost) if cost.is_finite() && cost > 0.0 => costs.push(cost),
                        _ => return Err(cell(name, text, "a positive number")),
                    },
                    _ if text.is_empty() => return Err(cell(name, text, "a value: every candidate needs one in every column")),
                    _ => row.push(Value::from_text(text)),
                }
            }
            table.rows.push(row);
            lines.push(line);
        }
        if table.columns.is_empty() || table.rows.is_empty() {
            let requirement = "a header that names the parameters, and a row for every candidate";
            return Err(Error::Cell { path: path.to_owned(), line: 1, column: String::new(), found: String::new(), requirement });
        }
        match table.odd_cell() {
            Some((row, column)) => Err(Error::Cell {
                path: path.to_owned(),
                line: lines[row],
                column: table.columns[column].clone(),
                found: table.rows[row][column].to_string(),
                requirement: "a number like those of most other rows of this column",
            }),
            None => Ok(table),
        }
    }

    /// A word in a column that is mostly numbers: a slip of the pen, which must not turn the column into choices.
    fn odd_cell(&self) -> Option<(usize, usize)> {
        (0..self.columns.len()).find_map(|column| {
            let is_word = |row: &Vec<Value>| row[column].as_number().is_none();
            let words = self.rows.iter().filter(|row| is_word(row)).count();
            if words > 0 && 2 * words < self.rows.len() { self.rows.iter().position(is_word).map(|row| (row, column)) } else { None }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_separators_than_commas_are_refused() {
        for text in ["x;y\n1,5;2\n2,5;3\n", "x\ty\n1\t2\n"] {
            let refused = CandidateTable::parse(text.as_bytes(), Path::new("c.csv")).unwrap_err().to_string();
            assert!(refused.starts_with("c.csv, line 1, column \"x") && refused.contains("commas between its names"), "{refused}");
        }
        assert_eq!(CandidateTable::parse(b"x,y\n1,2\n", Path::new("c.csv")).unwrap().columns, ["x", "y"]);
    }
}
