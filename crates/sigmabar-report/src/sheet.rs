//! Rows under named columns, before anybody decides how to write them.

use serde_json::Value;

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
}
