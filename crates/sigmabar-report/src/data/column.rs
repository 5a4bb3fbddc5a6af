//! What is known of a column beside its cells.

use super::moments;
use serde::{Deserialize, Serialize};

/// A column's name and, if it holds categories, their names: a cell is then its position in the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnInfo {
    /// The name.
    pub name: String,
    /// The categories.
    pub categories: Option<Vec<String>>,
    /// Whether it holds dates, where that is known; only that it does is kept.
    #[serde(default, skip_serializing_if = "is_no_date")]
    pub dates: Option<bool>,
    /// Whether its times name their zone, where it holds times that are written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zoned: Option<bool>,
}

impl ColumnInfo {
    /// A column of which only the name is known.
    #[must_use]
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), categories: None, dates: None, zoned: None }
    }

    /// Whether its cells are words: names of categories, or dates.
    #[must_use]
    pub fn is_words(&self) -> bool {
        self.categories.is_some() || self.dates == Some(true)
    }

    /// The word that a number stands for, as it would be read again.
    #[must_use]
    pub fn word(&self, value: f64) -> String {
        match &self.categories {
            Some(names) => names.get(value as usize).cloned().unwrap_or_default(),
            None => moments::written(value, self.zoned == Some(true)),
        }
    }
}

fn is_no_date(dates: &Option<bool>) -> bool {
    *dates != Some(true)
}
