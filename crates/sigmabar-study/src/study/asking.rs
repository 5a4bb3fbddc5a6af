//! Asking: own pending trials first, then queued ones, then the next batch.

use super::Study;
use super::worker::WorkerName;
use crate::store::{Durability, Failure, now};
use crate::{AskRequest, Asked, AskedTrial, EventKind, HandedOut, Result, TrialStatus};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use serde_json::json;
use std::time::Duration;

impl Study {
    /// Leases at most so many trials to a worker: those it has pending first, then queued ones. Plans the next batch when the last one is complete.
    ///
    /// # Errors
    /// [`crate::Error::Store`], or what planning runs into: the study can be asked again.
    pub fn ask(&self, request: &AskRequest) -> Result<Asked> {
        loop {
            let leased = self.lease(request)?;
            if !leased.is_empty() || request.at_most == 0 {
                return Ok(Asked::Trials(leased));
            }
            if self.is_waiting()? {
                return Ok(Asked::Wait);
            }
            if self.advance()? {
                return Ok(Asked::Finished);
            }
        }
    }

    fn lease(&self, request: &AskRequest) -> Result<Vec<AskedTrial>> {
        let until = now().saturating_add(i64::try_from(request.lease.as_millis()).unwrap_or(i64::MAX));
        let rows = self.store().write_with(Durability::Process, |transaction| {
            put_back(transaction, self.key)?;
            Ok(self.lease_in(transaction, request, until)?)
        })?;
        rows.into_iter().map(|row| self.asked(row, until)).collect()
    }

    fn lease_in(&self, transaction: &Transaction<'_>, request: &AskRequest, until: i64) -> rusqlite::Result<Vec<LeasedRow>> {
        let mut rows = pending(transaction, self.key, &request.worker, request.at_most)?;
        let own = rows.len();
        if !is_paused(transaction, self.key)? {
            rows.extend(queued(transaction, self.key, request.at_most.saturating_sub(own))?);
        }
        let lease = "UPDATE sb_trials SET state = ?6, worker = ?3, leased_until = ?4, asked_at = ?5, \
                     attempts = attempts + (state = 'queued') WHERE study = ?1 AND id = ?2";
        let mut lease = transaction.prepare_cached(lease)?;
        for row in &rows {
            lease.execute(params![self.key, row.id, request.worker, until, now(), TrialStatus::Leased])?;
        }
        for (place, row) in rows.iter().enumerate() {
            let again = if request.is_shown { EventKind::ShownAgain } else { EventKind::AskedAgain };
            if place >= own && request.is_shown && has_shown(transaction, self.key, row.id, request)? {
                note_ask(transaction, self.key, again, row.id, request)?;
            } else if place >= own {
                note_ask(transaction, self.key, EventKind::Asked, row.id, request)?;
            } else if !is_same_ask(transaction, self.key, row.id, request)? {
                note_ask(transaction, self.key, again, row.id, request)?;
            }
        }
        rows.sort_by_key(|row| row.id);
        Ok(rows)
    }

    /// Leases trials to many at once, in one transaction, and never plans: for a server, which plans beside its answers.
    pub fn hand_out(&self, requests: &[AskRequest]) -> Result<Vec<HandedOut>> {
        let until = |request: &AskRequest| now().saturating_add(i64::try_from(request.lease.as_millis()).unwrap_or(i64::MAX));
        let leased = self.store().write_with(Durability::Process, |transaction| {
            put_back(transaction, self.key)?;
            let lease = |request: &AskRequest| {
                let until = until(request);
                Ok((self.lease_in(transaction, request, until)?, until))
            };
            Ok(requests.iter().map(lease).collect::<rusqlite::Result<Vec<_>>>()?)
        })?;
        let rest = if leased.iter().any(|(rows, _)| rows.is_empty()) { Some(self.without_trials()?) } else { None };
        let answer = |(rows, until): (Vec<LeasedRow>, i64)| match &rest {
            Some(rest) if rows.is_empty() => Ok(rest.clone()),
            _ => Ok(HandedOut::Trials(rows.into_iter().map(|row| self.asked(row, until)).collect::<Result<_>>()?)),
        };
        leased.into_iter().map(answer).collect()
    }

    /// Why there is nothing to hand out.
    fn without_trials(&self) -> Result<HandedOut> {
        let look = "SELECT finished, EXISTS (SELECT 1 FROM sb_trials t INDEXED BY sb_trials_by_state WHERE t.study = s.study AND t.state = 'queued') \
                    FROM sb_studies s WHERE study = ?1";
        let (is_finished, has_queued): (bool, bool) =
            self.store().read(|c| c.prepare_cached(look)?.query_row([self.key], |row| Ok((row.get(0)?, row.get(1)?))))?;
        Ok(match () {
            () if is_finished => HandedOut::Finished,
            () if has_queued || self.is_waiting()? => HandedOut::Wait,
            () => HandedOut::Unplanned,
        })
    }

    fn asked(&self, row: LeasedRow, until: i64) -> Result<AskedTrial> {
        let values = self.read_values(&row.settings)?;
        let names = self.spec.space().names();
        Ok(AskedTrial {
            id: row.id.unsigned_abs(),
            batch: usize::try_from(row.batch).unwrap_or_default(),
            values: names.zip(values).collect(),
            seed: row.seed.unsigned_abs(),
            leased_until: until,
        })
    }

    /// Whether trials of the open batch are with other workers, or nothing is to be handed out.
    fn is_waiting(&self) -> Result<bool> {
        let open = "SELECT (paused AND NOT finished) \
                    OR EXISTS (SELECT 1 FROM sb_trials INDEXED BY sb_trials_by_state WHERE study = ?1 AND state = 'leased') \
                    FROM sb_studies WHERE study = ?1";
        self.store().read(|c| c.prepare_cached(open)?.query_row([self.key], |row| row.get(0)))
    }

    /// Hands nothing out from here on, or begins to again: whoever asks waits meanwhile, and results are welcome as ever.
    pub fn set_paused(&self, is_paused: bool) -> Result<()> {
        self.store().write(|transaction| {
            let pause = "UPDATE sb_studies SET paused = ?2 WHERE study = ?1 AND paused <> ?2";
            if transaction.execute(pause, params![self.key, is_paused])? > 0 {
                note(transaction, self.key, if is_paused { EventKind::Paused } else { EventKind::Resumed }, None, None)?;
            }
            Ok(())
        })
    }

    /// Whether nothing is handed out.
    pub fn is_paused(&self) -> Result<bool> {
        self.store().read(|c| is_paused(c, self.key))
    }

    /// Puts expired leases, and those of processes of this machine that have ended, back into the queue, and says which.
    pub fn reap(&self) -> Result<Vec<u64>> {
        self.store().write(|transaction| {
            let mut ids = put_back(transaction, self.key)?;
            let leased: Vec<(i64, String)> = transaction
                .prepare_cached("SELECT id, worker FROM sb_trials INDEXED BY sb_trials_by_state WHERE study = ?1 AND state = 'leased' AND worker IS NOT NULL")?
                .query_map([self.key], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<rusqlite::Result<_>>()?;
            for (id, worker) in leased.into_iter().filter(|(_, worker)| WorkerName::has_ended(worker)) {
                release(transaction, self.key, id, EventKind::WorkerEnded)?;
                ids.push((id, worker));
            }
            Ok(ids.into_iter().map(|(id, _)| id.unsigned_abs()).collect())
        })
    }

    /// Puts a leased trial back into the queue, if it is still this worker's.
    pub fn release(&self, id: u64, worker: &str) -> Result<()> {
        self.give_back(id, worker, &json!({}))
    }

    /// The same of a trial that nobody saw, as when its sheet could not be written: whoever gets it next is the first to evaluate it.
    pub fn release_unseen(&self, id: u64, worker: &str) -> Result<()> {
        self.give_back(id, worker, &json!({ "unseen": true }))
    }

    fn give_back(&self, id: u64, worker: &str, detail: &serde_json::Value) -> Result<()> {
        self.store().write(|transaction| {
            let back = "UPDATE sb_trials SET state = 'queued', leased_until = NULL WHERE study = ?1 AND id = ?2 AND state = 'leased' AND worker = ?3";
            if transaction.execute(back, params![self.key, id as i64, worker])? > 0 {
                note_detail(transaction, self.key, EventKind::GivenBack, Some(id as i64), detail)?;
            }
            Ok(())
        })
    }

    /// Keeps a trial with its worker for longer; false if the worker does not have it any more.
    pub fn renew(&self, id: u64, worker: &str, lease: Duration) -> Result<bool> {
        let until = now().saturating_add(i64::try_from(lease.as_millis()).unwrap_or(i64::MAX));
        self.store().write_with(Durability::Process, |transaction| {
            let renew = "UPDATE sb_trials SET leased_until = ?4 WHERE study = ?1 AND id = ?2 AND state = 'leased' AND worker = ?3";
            Ok(transaction.prepare_cached(renew)?.execute(params![self.key, id as i64, worker, until])? > 0)
        })
    }
}

struct LeasedRow {
    id: i64,
    batch: i64,
    settings: String,
    seed: i64,
}

fn leased_row(row: &Row<'_>) -> rusqlite::Result<LeasedRow> {
    Ok(LeasedRow { id: row.get(0)?, batch: row.get(1)?, settings: row.get(2)?, seed: row.get(3)? })
}

/// Trials that the worker has already.
fn pending(transaction: &Transaction<'_>, study: i64, worker: &str, at_most: usize) -> rusqlite::Result<Vec<LeasedRow>> {
    let own = "SELECT id, batch, settings, seed FROM sb_trials INDEXED BY sb_trials_by_state WHERE study = ?1 AND state = 'leased' AND worker = ?2 ORDER BY id LIMIT ?3";
    transaction.prepare_cached(own)?.query_map(params![study, worker, limit(at_most)], leased_row)?.collect()
}

fn queued(transaction: &Transaction<'_>, study: i64, at_most: usize) -> rusqlite::Result<Vec<LeasedRow>> {
    let free = "SELECT id, batch, settings, seed FROM sb_trials INDEXED BY sb_trials_by_state WHERE study = ?1 AND state = 'queued' ORDER BY id LIMIT ?2";
    transaction.prepare_cached(free)?.query_map(params![study, limit(at_most)], leased_row)?.collect()
}

fn is_paused(c: &Connection, study: i64) -> rusqlite::Result<bool> {
    c.prepare_cached("SELECT paused FROM sb_studies WHERE study = ?1")?.query_row([study], |row| row.get(0))
}

fn limit(at_most: usize) -> i64 {
    i64::try_from(at_most).unwrap_or(i64::MAX)
}

/// Expired leases go back to the queue.
fn put_back(transaction: &Transaction<'_>, study: i64) -> rusqlite::Result<Vec<(i64, String)>> {
    let expired: Vec<(i64, String)> = transaction
        .prepare_cached(
            "SELECT id, coalesce(worker, '') FROM sb_trials INDEXED BY sb_trials_by_state WHERE study = ?1 AND state = 'leased' AND leased_until <= ?2 ORDER BY id",
        )?
        .query_map(params![study, now()], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (id, worker) in &expired {
        transaction
            .execute("UPDATE sb_trials SET state = 'queued', leased_until = NULL WHERE study = ?1 AND id = ?2", params![study, id])?;
        let detail = was_shown(transaction, study, *id)?.then_some(SHOWN);
        transaction
            .prepare_cached("INSERT INTO sb_events (study, at, kind, trial, worker, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
            .execute(params![study, now(), EventKind::Expired, id, worker, detail])?;
    }
    Ok(expired)
}

fn release(transaction: &Transaction<'_>, study: i64, id: i64, why: EventKind) -> Result<(), Failure> {
    transaction.execute("UPDATE sb_trials SET state = 'queued', leased_until = NULL WHERE study = ?1 AND id = ?2", params![study, id])?;
    note(transaction, study, why, Some(id), None)?;
    Ok(())
}

/// Writes down that a trial was handed out, and by which request.
fn note_ask(transaction: &Transaction<'_>, study: i64, kind: EventKind, trial: i64, request: &AskRequest) -> rusqlite::Result<()> {
    let detail = match (&request.key, request.is_shown) {
        (Some(key), is_shown) => Some(json!({ "key": key, "shown": is_shown }).to_string()),
        (None, true) => Some(SHOWN.to_owned()),
        (None, false) => None,
    };
    transaction
        .prepare_cached("INSERT INTO sb_events (study, at, kind, trial, worker, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
        .execute(params![study, now(), kind, trial, request.worker, detail])
        .map(drop)
}

/// What an event says of a trial that was handed to a person.
const SHOWN: &str = "{\"shown\":true}";

/// Whether whoever has a trial was shown it: a list lies with a person, and that its time ran out says nothing about what was measured.
fn was_shown(transaction: &Transaction<'_>, study: i64, trial: i64) -> rusqlite::Result<bool> {
    let last = "SELECT coalesce(json_extract(detail, '$.shown'), 0) FROM sb_events \
                WHERE study = ?1 AND trial = ?2 AND kind IN ('asked', 'asked again', 'shown again') ORDER BY event DESC LIMIT 1";
    Ok(transaction.prepare_cached(last)?.query_row(params![study, trial], |row| row.get(0)).optional()?.unwrap_or(false))
}

/// Whether a trial that is free lay with this person until its time ran out, and with nobody since.
fn has_shown(transaction: &Transaction<'_>, study: i64, trial: i64, request: &AskRequest) -> rusqlite::Result<bool> {
    // Most trials are handed out for the first time, and the events are many.
    let attempts: i64 = transaction
        .prepare_cached("SELECT attempts FROM sb_trials WHERE study = ?1 AND id = ?2")?
        .query_row([study, trial], |row| row.get(0))?;
    if attempts < 2 {
        return Ok(false);
    }
    let last = "SELECT kind = 'expired' AND detail IS NOT NULL AND worker IS ?3 FROM sb_events \
                WHERE study = ?1 AND trial = ?2 ORDER BY event DESC LIMIT 1";
    let found = transaction.prepare_cached(last)?.query_row(params![study, trial, request.worker], |row| row.get(0)).optional()?;
    Ok(found.unwrap_or(false))
}

/// Whether it was this very request that handed a trial out last: its answer was lost on the way.
fn is_same_ask(transaction: &Transaction<'_>, study: i64, trial: i64, request: &AskRequest) -> rusqlite::Result<bool> {
    let Some(key) = &request.key else { return Ok(false) };
    let last = "SELECT json_extract(detail, '$.key') IS ?3 FROM sb_events \
                WHERE study = ?1 AND trial = ?2 AND kind IN ('asked', 'asked again', 'shown again') ORDER BY event DESC LIMIT 1";
    Ok(transaction.prepare_cached(last)?.query_row(params![study, trial, key], |row| row.get(0)).optional()?.unwrap_or(false))
}

/// Writes an event down.
pub(super) fn note(
    transaction: &Transaction<'_>,
    study: i64,
    kind: EventKind,
    trial: Option<i64>,
    worker: Option<&str>,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("INSERT INTO sb_events (study, at, kind, trial, worker) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![study, now(), kind, trial, worker])
        .map(drop)
}

/// Writes down an event that has more to it, as JSON.
pub(super) fn note_detail(
    transaction: &Transaction<'_>,
    study: i64,
    kind: EventKind,
    trial: Option<i64>,
    detail: &serde_json::Value,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("INSERT INTO sb_events (study, at, kind, trial, detail) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![study, now(), kind, trial, detail.to_string()])
        .map(drop)
}
