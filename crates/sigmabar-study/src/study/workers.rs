//! Who works on a study.

use super::Study;
use crate::store::now;
use crate::{EventKind, Result};
use rusqlite::params;
use serde::Serialize;
use std::collections::BTreeSet;

/// A worker as the trials show it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkerRow {
    /// Its name.
    pub worker: String,
    /// Trials it has leased now.
    pub leased: usize,
    /// When the first of these leases runs out, in milliseconds since 1970.
    pub leased_until: Option<i64>,
    /// Trials it has told.
    pub told: usize,
    /// How many of these had failed.
    pub failed: usize,
    /// How often its trials were handed out, to it and before it.
    pub attempts: usize,
    /// When it asked or told last.
    pub seen_at: i64,
    /// Whether nothing is handed out to it.
    pub is_paused: bool,
}

impl Study {
    /// Everybody who has a trial or told one, those at work first, then by name.
    pub fn workers(&self) -> Result<Vec<WorkerRow>> {
        let paused = self.paused_workers()?;
        let query = "SELECT worker, sum(state = 'leased' AND leased_until > ?2), min(CASE WHEN state = 'leased' THEN leased_until END), \
                     sum(told_at IS NOT NULL), sum(state = 'failed'), sum(attempts), max(coalesce(told_at, asked_at, 0)) \
                     FROM sb_trials WHERE study = ?1 AND worker IS NOT NULL GROUP BY worker ORDER BY 2 = 0, worker";
        let count = |number: i64| usize::try_from(number).unwrap_or_default();
        let row = |row: &rusqlite::Row<'_>| {
            let worker: String = row.get(0)?;
            Ok(WorkerRow {
                leased: count(row.get(1)?),
                leased_until: row.get(2)?,
                told: count(row.get(3)?),
                failed: count(row.get(4)?),
                attempts: count(row.get(5)?),
                seen_at: row.get(6)?,
                is_paused: paused.contains(&worker),
                worker,
            })
        };
        self.store().read(|c| c.prepare_cached(query)?.query_map(params![self.key, now()], row)?.collect())
    }

    /// Hands nothing more out to one worker, or begins to again: a server keeps to this.
    pub fn set_worker_paused(&self, worker: &str, is_paused: bool) -> Result<()> {
        let kind = if is_paused { EventKind::WorkerPaused } else { EventKind::WorkerResumed };
        self.store().write(|transaction| Ok(super::asking::note(transaction, self.key, kind, None, Some(worker))?))
    }

    /// When the next lease runs out after a moment, in milliseconds since 1970.
    pub fn next_lapse(&self, after: i64) -> Result<Option<i64>> {
        let query = "SELECT min(leased_until) FROM sb_trials INDEXED BY sb_trials_by_state WHERE study = ?1 AND state = 'leased' AND leased_until > ?2";
        self.store().read(|c| c.prepare_cached(query)?.query_row(params![self.key, after], |row| row.get(0)))
    }

    /// The workers to whom nothing is handed out.
    pub fn paused_workers(&self) -> Result<BTreeSet<String>> {
        let query = "SELECT kind, worker FROM sb_events WHERE study = ?1 AND kind IN (?2, ?3) AND worker IS NOT NULL ORDER BY event";
        let kinds = params![self.key, EventKind::WorkerPaused, EventKind::WorkerResumed];
        let events: Vec<(EventKind, String)> =
            self.store().read(|c| c.prepare_cached(query)?.query_map(kinds, |row| Ok((row.get(0)?, row.get(1)?)))?.collect())?;
        let mut paused = BTreeSet::new();
        for (kind, worker) in events {
            if kind == EventKind::WorkerPaused {
                paused.insert(worker)
            } else {
                paused.remove(&worker)
            };
        }
        Ok(paused)
    }
}
