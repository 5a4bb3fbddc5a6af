//! The numbers of a picture.

/// One entry of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A word.
    Text(String),
    /// A number, written so that it reads back to the same bits.
    Number(f64),
    /// A count.
    Whole(u64),
    /// Not known.
    Empty,
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<Option<f64>> for Cell {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::Empty, Self::Number)
    }
}

impl From<usize> for Cell {
    fn from(value: usize) -> Self {
        Self::Whole(value as u64)
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Cell {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

/// Rows under column names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// No rows yet.
    pub fn new<S: Into<String>>(columns: impl IntoIterator<Item = S>) -> Self {
        Self { columns: columns.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// One more row; what is left out at its end is not known.
    pub fn push(&mut self, mut row: Vec<Cell>) {
        row.resize(self.columns.len(), Cell::Empty);
        self.rows.push(row);
    }

    /// The column names.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The rows.
    #[must_use]
    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// As comma-separated values (RFC 4180), column names first.
    #[must_use]
    pub fn csv(&self) -> String {
        let line = |fields: Vec<String>| fields.join(",") + "\n";
        let mut out = line(self.columns.iter().map(|name| quoted(name)).collect());
        for row in &self.rows {
            out += &line(row.iter().map(Cell::field).collect());
        }
        out
    }
}

impl Cell {
    fn field(&self) -> String {
        match self {
            Self::Text(text) => quoted(text),
            Self::Number(value) => format!("{value:?}"),
            Self::Whole(count) => count.to_string(),
            Self::Empty => String::new(),
        }
    }
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}
