//! Many results in one transaction, each by itself: one wait for the disk serves all who tell at the same moment.

use super::Study;
use super::telling::check;
use crate::store::Failure;
use crate::{Error, Result, Told, TrialResult};
use rusqlite::{OptionalExtension, Transaction, params};

/// A result, and the key under which its sender tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyedResult {
    /// The trial.
    pub id: u64,
    /// What came of it.
    pub result: TrialResult,
    /// The sender's own name for this telling.
    pub key: Option<String>,
}

impl Study {
    /// Writes results down in one transaction, as if they were told one after the other: one that is refused changes nothing and keeps no other back.
    ///
    /// # Errors
    /// [`Error::Store`]: nothing of it is written then.
    pub fn tell_each(&self, results: &[KeyedResult]) -> Result<Vec<Result<Told>>> {
        self.store().write(|transaction| {
            let mut told = Vec::with_capacity(results.len());
            for KeyedResult { id, result, key } in results {
                // A refusal is found before anything is changed; trouble with the file takes all of it back.
                let one = check(*id, result).map_err(Failure::from).and_then(|()| match key {
                    // A late double of a failure that is being measured again is no failure of that.
                    Some(key) if self.was_told_under(transaction, *id, key)? => Ok(Told::Again { is_late: false }),
                    _ => self.write_result(transaction, *id, result),
                });
                told.push(match one {
                    Ok(told) => {
                        if !told.is_again() && key.is_some() {
                            let keep = "UPDATE sb_trials SET told_key = ?3 WHERE study = ?1 AND id = ?2";
                            transaction.prepare_cached(keep)?.execute(params![self.key, *id as i64, key])?;
                        }
                        Ok(told)
                    }
                    Err(Failure::Refused(error)) if !matches!(*error, Error::Store { .. }) => Err(*error),
                    Err(failure) => return Err(failure),
                });
            }
            Ok(told)
        })
    }

    /// Whether a failure was told under this key that is to be measured again.
    fn was_told_under(&self, transaction: &Transaction<'_>, id: u64, key: &str) -> Result<bool, Failure> {
        let look = "SELECT told_key = ?3 AND state IN ('queued', 'leased') FROM sb_trials WHERE study = ?1 AND id = ?2";
        let found = transaction.prepare_cached(look)?.query_row(params![self.key, id as i64, key], |row| row.get::<_, Option<bool>>(0));
        Ok(found.optional()?.flatten().unwrap_or(false))
    }

    /// The key under which the result of a trial was told, where there was one.
    ///
    /// # Errors
    /// [`Error::Store`], or [`Error::UnknownTrial`].
    pub fn told_key(&self, id: u64) -> Result<Option<String>> {
        let row = i64::try_from(id).unwrap_or(-1);
        let look = "SELECT told_key FROM sb_trials WHERE study = ?1 AND id = ?2";
        let found = self.store().read(|c| c.prepare_cached(look)?.query_row(params![self.key, row], |row| row.get(0)).optional())?;
        found.ok_or_else(|| Error::UnknownTrial { study: self.name.clone(), id })
    }
}
