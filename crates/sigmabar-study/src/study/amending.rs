//! Amending a study file while its study runs: what touches no claim may be changed.

use super::Study;
use super::asking::note_detail;
use crate::{Error, EventKind, Result, StudySpec};
use rusqlite::params;
use serde_json::json;
use std::sync::Arc;

impl Study {
    /// Goes on by an edited study file: objective, description, stop_when and a larger budget may be changed, and the premises until the batch after a pilot is
    /// planned. The keys that were.
    ///
    /// Other processes that have the study open go on as they were until they plan, and are then told to open it again.
    ///
    /// # Errors
    /// [`Error::Unamendable`] naming the first key that cannot be changed and why; [`Error::Store`]. Nothing is changed then.
    pub fn amend(&mut self, edited: &StudySpec) -> Result<Vec<String>> {
        let edited = edited.clone().with_seed(self.spec.problem().seed());
        let changed = self.spec.changed_keys(&edited);
        if changed.is_empty() {
            return Ok(changed);
        }
        let planned = self.planned_lengths()?;
        let amended = self.spec.amended(&edited, &changed, &planned)?;
        let text = serde_json::to_string(&amended).map_err(|_| self.inconsistent("the study file cannot be written as JSON"))?;
        let at_least = self.amendments;
        self.store().write(|transaction| {
            let look = "SELECT count(*) FROM sb_events WHERE study = ?1 AND kind = 'amended'";
            let so_far: i64 = transaction.query_row(look, [self.key], |row| row.get(0))?;
            if so_far != at_least {
                return Err(Error::Amended { study: self.name.clone() }.into());
            }
            let look = "SELECT count(DISTINCT batch) FROM sb_trials WHERE study = ?1";
            let batches: i64 = transaction.query_row(look, [self.key], |row| row.get(0))?;
            if usize::try_from(batches) != Ok(planned.len()) {
                let reason = "another process planned a batch at this moment; look at the study, and try again";
                return Err(Error::Unamendable { key: changed[0].clone(), reason }.into());
            }
            // A kept strategy has the earlier budget in it; the study may not be over any more.
            transaction.execute(
                "UPDATE sb_studies SET spec = ?2, finished = 0, plan = plan + (plan > 0) WHERE study = ?1",
                params![self.key, text],
            )?;
            transaction.execute("DELETE FROM sb_strategies WHERE study = ?1", [self.key])?;
            note_detail(transaction, self.key, EventKind::Amended, None, &json!({ "keys": changed }))?;
            Ok(())
        })?;
        self.spec = Arc::new(amended);
        self.amendments += 1;
        self.at_hand();
        Ok(changed)
    }

    /// How long the batches planned so far are.
    fn planned_lengths(&self) -> Result<Vec<usize>> {
        let look = "SELECT count(*) FROM sb_trials WHERE study = ?1 GROUP BY batch ORDER BY batch";
        let lengths: Vec<i64> = self.store().read(|c| c.prepare(look)?.query_map([self.key], |row| row.get(0))?.collect())?;
        Ok(lengths.into_iter().map(|length| usize::try_from(length).unwrap_or_default()).collect())
    }

    /// Whether the study file was amended since the study was opened here.
    pub fn is_amended(&self) -> Result<bool> {
        let look = "SELECT count(*) FROM sb_events WHERE study = ?1 AND kind = 'amended'";
        let so_far: i64 = self.store().read(|c| c.prepare_cached(look)?.query_row([self.key], |row| row.get(0)))?;
        Ok(so_far != self.amendments)
    }

    /// Refuses to go on with a study that is declared otherwise by now.
    pub(super) fn check_amendments(&self) -> Result<()> {
        if self.is_amended()? { Err(Error::Amended { study: self.name.clone() }) } else { Ok(()) }
    }
}
