//! Words of the file as what they mean; one that is not known is an error, never a guess.

use crate::{EventKind, TrialStatus};
use rusqlite::ToSql;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};
use sigmabar::Collected;

macro_rules! words {
    ($type:ty, $named:expr, $name:expr) => {
        impl FromSql for $type {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                let word = value.as_str()?;
                $named(word).ok_or_else(|| FromSqlError::Other(format!("\"{word}\" is no word of this column").into()))
            }
        }

        impl ToSql for $type {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok($name(*self).into())
            }
        }
    };
}

words!(TrialStatus, TrialStatus::named, TrialStatus::name);
words!(EventKind, EventKind::named, EventKind::name);
words!(CollectedWord, CollectedWord::named, CollectedWord::name);

/// How results from before the study were collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CollectedWord(pub Collected);

impl CollectedWord {
    fn named(word: &str) -> Option<Self> {
        word.parse().ok().map(Self)
    }

    fn name(self) -> &'static str {
        self.0.name()
    }
}
