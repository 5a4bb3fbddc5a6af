//! Words of the file as what they mean; one that is not known is an error, never a guess.

use crate::{EventKind, Mark, TrialStatus};
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

/// The mark of a result from before the study: 0 for none, else its place among all, from 1.
pub(crate) struct MarkNumber(pub Option<Mark>);

impl FromSql for MarkNumber {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let number = usize::try_from(value.as_i64()?).map_err(|_| FromSqlError::InvalidType)?;
        match number.checked_sub(1).map(|place| Mark::ALL.get(place)) {
            None => Ok(Self(None)),
            Some(Some(mark)) => Ok(Self(Some(*mark))),
            Some(None) => Err(FromSqlError::Other(format!("{number} is no mark").into())),
        }
    }
}

impl ToSql for MarkNumber {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.map_or(0, |mark| mark as i64 + 1).into())
    }
}

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
