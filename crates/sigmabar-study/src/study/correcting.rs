//! Changing what was told: a result is replaced or withdrawn, failures are evaluated again. What stood there stays in the book of events.

use super::Study;
use super::asking::{note, note_detail};
use super::telling::check;
use crate::store::{Failure, now};
use crate::{Corrected, Error, EventKind, Mark, Result, StudySpec, TrialResult, TrialStatus};
use rusqlite::{OptionalExtension, Row, Transaction, params};
use serde::Deserialize;
use serde_json::json;
use sigmabar::certificate::Amended;
use sigmabar::strategy::Mishaps;
use std::collections::BTreeMap;

/// The kinds of events that can be mishaps: of the many events of a study few are of these.
const MISHAPS: &str =
    "'replaced', 'withdrawn', 'expired', 'worker ended', 'retried', 'asked again', 'given back', 'used otherwise', 'shown again'";

/// What the event of an amendment says.
#[derive(Deserialize)]
struct AmendedKeys {
    keys: Vec<String>,
}

/// A trial as it stands before it is corrected.
struct Standing {
    row: i64,
    batch: i64,
    state: TrialStatus,
    value: Option<f64>,
    std_error: Option<f64>,
    reason: Option<String>,
    replicates: Option<u32>,
    note: Option<String>,
    is_analysed: bool,
}

impl Study {
    /// Puts another result in the place of the one that was told; `why` is kept as the trial's note, before what was remarked earlier. What was planned stays planned; what is claimed is computed
    /// again from the rows.
    ///
    /// # Errors
    /// [`Error::UnknownTrial`], [`Error::NotTold`], [`Error::Result`], [`Error::Store`]: nothing is changed then.
    pub fn replace(&self, id: u64, result: &TrialResult, why: &str) -> Result<Corrected> {
        check(id, result)?;
        self.correct(id, result, EventKind::Replaced, why)
    }

    /// Takes a result back: the trial counts as failed, for the reason given.
    ///
    /// # Errors
    /// As [`Study::replace`].
    pub fn withdraw(&self, id: u64, why: &str) -> Result<Corrected> {
        self.correct(id, &TrialResult::Failed { reason: format!("withdrawn: {why}") }, EventKind::Withdrawn, why)
    }

    fn correct(&self, id: u64, result: &TrialResult, kind: EventKind, why: &str) -> Result<Corrected> {
        self.store().write(|transaction| {
            let corrected = self.write_correction(transaction, (id, result), kind, (why, None))?;
            // Its wells are no longer what it came to, and no longer say how far wells scatter.
            if self.standing_wells(transaction)?.contains_key(&id) {
                self.write_wells(transaction, id, &[])?;
                self.pool_again(transaction, &[id])?;
            }
            Ok(corrected)
        })
    }

    /// Puts a result in the place of another; beside the reason, what a sheet remarks is kept as the note.
    pub(super) fn write_correction(
        &self,
        transaction: &Transaction<'_>,
        (id, result): (u64, &TrialResult),
        kind: EventKind,
        (why, remark): (&str, Option<&str>),
    ) -> Result<Corrected, Failure> {
        let before = self.before(transaction, id)?;
        let corrected = match before.state {
            TrialStatus::Late => Corrected::Late,
            _ if before.is_analysed => Corrected::AfterAnalysis,
            _ => Corrected::InTime,
        };
        let detail = json!({
            "value": before.value, "std": before.std_error, "replicates": before.replicates, "reason": before.reason, "note": before.note,
            "analysed": corrected == Corrected::AfterAnalysis, "late": corrected == Corrected::Late, "why": why,
        });
        // What was remarked before the correction, such as the values of replicate wells, stays readable.
        let said = remark.map_or_else(|| why.to_owned(), |remark| format!("{why}; {remark}"));
        let note = match before.note.filter(|earlier| *earlier != said) {
            Some(earlier) => format!("{said}; before: {earlier}"),
            None => said,
        };
        let (value, std_error, replicates, reason) = result.columns();
        let state = match (before.state, value) {
            (TrialStatus::Late, _) => TrialStatus::Late,
            (_, Some(_)) => TrialStatus::Done,
            (_, None) => TrialStatus::Failed,
        };
        let update = "UPDATE sb_trials SET state = ?3, value = ?4, std_error = ?5, reason = ?6, told_at = ?7, note = ?8, replicates = ?9 \
                      WHERE study = ?1 AND id = ?2";
        transaction.execute(update, params![self.key, before.row, state, value, std_error, reason, now(), note, replicates])?;
        note_detail(transaction, self.key, kind, Some(before.row), &detail)?;
        self.forget(transaction, before.batch)?;
        Ok(corrected)
    }

    fn before(&self, transaction: &Transaction<'_>, id: u64) -> Result<Standing, Failure> {
        let row = i64::try_from(id).unwrap_or(-1);
        let look = "SELECT t.batch, t.state, t.value, t.std_error, t.reason, t.replicates, t.note, b.closed_at IS NOT NULL OR NOT EXISTS \
                    (SELECT 1 FROM sb_trials AS o WHERE o.study = t.study AND o.batch = t.batch AND o.state IN ('queued', 'leased')) \
                    FROM sb_trials t JOIN sb_batches b ON b.study = t.study AND b.batch = t.batch WHERE t.study = ?1 AND t.id = ?2";
        let standing = |found: &Row<'_>| {
            Ok(Standing {
                row,
                batch: found.get(0)?,
                state: found.get(1)?,
                value: found.get(2)?,
                std_error: found.get(3)?,
                reason: found.get(4)?,
                replicates: found.get(5)?,
                note: found.get(6)?,
                is_analysed: found.get(7)?,
            })
        };
        let found = transaction.query_row(look, params![self.key, row], standing).optional()?;
        let found = found.ok_or_else(|| Error::UnknownTrial { study: self.name.clone(), id })?;
        match found.state {
            TrialStatus::Done | TrialStatus::Failed | TrialStatus::Late => Ok(found),
            _ => Err(Error::NotTold { study: self.name.clone(), id }.into()),
        }
    }

    /// What was made from rows that have changed is made again: every process has a strategy of an older plan at hand, and the study may not be over any more.
    pub(super) fn forget(&self, transaction: &Transaction<'_>, from_batch: i64) -> Result<(), Failure> {
        transaction.execute("UPDATE sb_studies SET plan = plan + 1, finished = 0 WHERE study = ?1", [self.key])?;
        transaction.execute("DELETE FROM sb_strategies WHERE study = ?1", [self.key])?;
        transaction.execute("UPDATE sb_batches SET survivors = NULL WHERE study = ?1 AND batch >= ?2", params![self.key, from_batch])?;
        Ok(())
    }

    /// Puts the failures of a batch back into the queue, as when the objective was mended; their ids. It is the newest batch of which anything was measured, or the one after it if
    /// that failed: batches after that one were planned without anything new, and are planned again. Failures of earlier batches stay: what was planned after them rests on them.
    pub fn retry_failed(&self) -> Result<Vec<u64>> {
        self.store().write(|transaction| {
            // Numbers of trials are given anew with another plan: nothing that somebody may still measure is taken back. What was given back last is with nobody: a run that
            // ends with a batch may have begun the next.
            let last = "(SELECT kind FROM sb_events WHERE study = ?1 AND trial = id ORDER BY event DESC LIMIT 1)";
            let begun = format!(
                "SELECT coalesce(max(batch), -1) FROM sb_trials WHERE study = ?1 AND (value IS NOT NULL OR state = 'leased' \
                 OR (batch > 0 AND attempts > 0 AND state <> 'failed' AND NOT (state = 'queued' AND {last} IS 'given back')))"
            );
            let begun: i64 = transaction.query_row(&begun, [self.key], |row| row.get(0))?;
            let first = "SELECT min(batch) FROM sb_trials WHERE study = ?1 AND batch > ?2 AND state = 'failed'";
            let first: Option<i64> = transaction.query_row(first, params![self.key, begun], |row| row.get(0))?;
            let batch = first.unwrap_or(begun);
            let failed = "SELECT id FROM sb_trials WHERE study = ?1 AND batch = ?2 AND state = 'failed' ORDER BY id";
            let ids: Vec<i64> =
                transaction.prepare(failed)?.query_map(params![self.key, batch], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            if ids.is_empty() {
                return Ok(Vec::new());
            }
            let wells = self.standing_wells(transaction)?;
            for id in wells.into_keys().filter(|id| ids.first().is_some_and(|first| *id >= first.unsigned_abs())) {
                // Whatever comes next is not what these wells came to; that they failed stays in the book.
                if self.stands(transaction, id)?.is_none() {
                    self.write_wells(transaction, id, &[])?;
                }
            }
            // Why those failed that are planned again stays in the book.
            let gone = "INSERT INTO sb_events (study, at, kind, trial, detail) \
                        SELECT study, ?3, ?4, id, json_object('settings', json(settings), 'reason', reason, 'note', note) FROM sb_trials \
                        WHERE study = ?1 AND batch > ?2 AND state = 'failed'";
            transaction.execute(gone, params![self.key, batch, now(), EventKind::Retried])?;
            transaction.execute("DELETE FROM sb_trials WHERE study = ?1 AND batch > ?2", params![self.key, batch])?;
            transaction.execute("DELETE FROM sb_batches WHERE study = ?1 AND batch > ?2", params![self.key, batch])?;
            let again =
                "UPDATE sb_trials SET state = 'queued', reason = NULL, told_at = NULL, leased_until = NULL WHERE study = ?1 AND id = ?2";
            for id in &ids {
                transaction.execute(again, params![self.key, id])?;
                note(transaction, self.key, EventKind::Retried, Some(*id), None)?;
            }
            transaction.execute("UPDATE sb_batches SET closed_at = NULL WHERE study = ?1 AND batch = ?2", params![self.key, batch])?;
            self.forget(transaction, batch)?;
            Ok(ids.into_iter().map(i64::unsigned_abs).collect())
        })
    }

    /// The first trial that a claim can rest on: those of a pilot may be corrected and measured again as one likes.
    pub(super) fn first_claimed(&self) -> i64 {
        i64::try_from(self.spec.pilot()).unwrap_or(i64::MAX)
    }

    /// Whether a trial is one of the pilot, on which no claim rests.
    #[must_use]
    pub fn is_of_pilot(&self, id: u64) -> bool {
        i64::try_from(id).is_ok_and(|id| id < self.first_claimed())
    }

    /// Whether what evaluates settings was exchanged after results came that a claim can rest on, as the book of events has it.
    fn amended_objective(&self) -> Result<Option<Amended>> {
        let look = "SELECT a.detail, (SELECT count(DISTINCT t.trial) FROM sb_events t JOIN sb_trials r ON r.study = t.study AND r.id = t.trial \
                    WHERE t.study = ?1 AND t.kind = 'told' AND t.event < a.event AND t.trial >= ?2 AND r.value IS NOT NULL) \
                    FROM sb_events a WHERE a.study = ?1 AND a.kind = 'amended' ORDER BY a.event";
        let row = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?));
        let events: Vec<(String, i64)> =
            self.store().read(|c| c.prepare_cached(look)?.query_map([self.key, self.first_claimed()], row)?.collect())?;
        let mut amended = Amended { keys: Vec::new(), results: 0 };
        for (detail, results) in events.into_iter().filter(|(_, results)| *results > 0) {
            let keys = serde_json::from_str(&detail).map_or_else(|_| Vec::new(), |AmendedKeys { keys }| keys);
            let exchanged = keys.into_iter().filter(|key| StudySpec::is_program(key));
            for key in exchanged {
                amended.results = amended.results.max(usize::try_from(results).unwrap_or_default());
                if !amended.keys.contains(&key) {
                    amended.keys.push(key);
                }
            }
        }
        Ok((!amended.keys.is_empty()).then_some(amended))
    }

    /// Which events are which mishap: a correction after analysis and one before, a result measured again, a setting used otherwise, and one shown again.
    fn mishap_events() -> [String; 5] {
        // What was told as failed and has a value now was measured again, whoever did it.
        let replaced = "kind = 'replaced' AND NOT json_extract(detail, '$.analysed') AND NOT coalesce(json_extract(detail, '$.late'), 0)";
        // Not a join: the planner of SQLite would look at all events for each trial.
        let valued = "EXISTS (SELECT 1 FROM sb_trials AS t WHERE t.study = ?1 AND t.id = trial AND t.value IS NOT NULL)";
        // A list whose time ran out lies with the person who was shown it, until somebody else is handed the setting.
        let unshown = "detail IS NULL OR EXISTS (SELECT 1 FROM sb_events AS n WHERE n.study = ?1 AND n.trial = sb_events.trial \
                       AND n.event > sb_events.event AND n.kind = 'asked')";
        [
            "kind IN ('replaced', 'withdrawn') AND json_extract(detail, '$.analysed')".to_owned(),
            format!("{replaced} AND json_extract(detail, '$.value') IS NOT NULL"),
            // What was handed out twice may have died of its first value, unless nobody saw it. Without a detail it was given back before this was told apart.
            format!(
                "(kind IN ('worker ended', 'retried', 'asked again') OR (kind = 'given back' AND detail = '{{}}') OR (kind = 'expired' AND ({unshown})) \
                 OR ({replaced} AND json_extract(detail, '$.value') IS NULL)) AND {valued}"
            ),
            format!("kind = 'used otherwise' AND {valued}"),
            format!("kind = 'shown again' AND {valued}"),
        ]
    }

    /// Trials whose results may have been chosen by their noise, those of a pilot too: a table of them would not say so.
    pub fn marks(&self) -> Result<BTreeMap<u64, Mark>> {
        let [corrected, _, again, ..] = Self::mishap_events();
        let look = format!(
            "SELECT trial, max(CASE WHEN {corrected} THEN 1 ELSE 0 END) FROM sb_events WHERE study = ?1 AND kind IN ({MISHAPS}) \
             AND (({corrected}) OR {again}) GROUP BY trial"
        );
        let row =
            |row: &Row<'_>| Ok((row.get::<_, i64>(0)?.unsigned_abs(), if row.get(1)? { Mark::Corrected } else { Mark::MeasuredAgain }));
        let found: Vec<(u64, Mark)> = self.store().read(|c| c.prepare_cached(&look)?.query_map([self.key], row)?.collect())?;
        let fewer =
            self.told_replicates(0)?.into_iter().filter(|(_, lost)| lost.is_some_and(|lost| lost > 0)).map(|(id, _)| (id, Mark::Fewer));
        let retried = if self.spec.selects_by_retries() { self.valued(0)? } else { Vec::new() };
        let refuting = if self.is_refuted() { self.valued(0)? } else { Vec::new() };
        let refuting = refuting.into_iter().map(|id| (id, Mark::Refuting));
        Ok(refuting.chain(fewer).chain(retried.into_iter().map(|id| (id, Mark::MeasuredAgain))).chain(found).collect())
    }

    /// Whether the data refute the premises. What cannot be said is taken so: rows are read even where a run cannot be made of them.
    #[must_use]
    pub fn is_refuted(&self) -> bool {
        self.strategy().map_or(true, |strategy| strategy.contradiction().is_some())
    }

    /// What happened to results outside the strategy's sight, as the book of events has it: of how many trials that a claim can rest on.
    pub(super) fn mishaps(&self) -> Result<Mishaps> {
        let counts = Self::mishap_events().map(|which| format!("count(DISTINCT CASE WHEN {which} THEN trial END)")).join(", ");
        let look = format!(
            "SELECT {counts} FROM sb_events WHERE study = ?1 AND trial >= ?2 \
             AND kind IN ({MISHAPS})"
        );
        let count = |row: &Row<'_>, i: usize| Ok::<_, rusqlite::Error>(usize::try_from(row.get::<_, i64>(i)?).unwrap_or_default());
        let mishaps = |row: &Row<'_>| {
            let (corrected, corrected_in_time, measured_again) = (count(row, 0)?, count(row, 1)?, count(row, 2)?);
            let (used_otherwise, shown_again) = (count(row, 3)?, count(row, 4)?);
            Ok(Mishaps { corrected, corrected_in_time, measured_again, used_otherwise, shown_again, ..Mishaps::default() })
        };
        let mishaps = self.store().read(|c| c.prepare_cached(&look)?.query_row([self.key, self.first_claimed()], mishaps))?;
        let (taught, distinct_rows) = (self.taught()?, self.spec.has_distinct_rows());
        let (unnamed, (lost_replicates, bare_means)) = (self.spec.learnt_from_unnamed().is_some(), self.lost_replicates()?);
        // Older versions took such studies, and wrote down no attempt but the last.
        let measured_again = if self.spec.selects_by_retries() { self.valued(self.first_claimed())?.len() } else { mishaps.measured_again };
        let objective = self.amended_objective()?;
        let doubted_before = self.doubted_before()?;
        Ok(Mishaps { objective, measured_again, doubted_before, taught, unnamed, distinct_rows, lost_replicates, bare_means, ..mishaps })
    }

    /// How many results from before the study that its strategy sees are marked.
    fn doubted_before(&self) -> Result<usize> {
        let look = "SELECT count(*) FROM sb_imports i JOIN sb_studies s ON s.study = i.study \
                    WHERE i.study = ?1 AND i.is_corrected <> 0 AND i.value IS NOT NULL AND (i.in_time OR s.plan = 0)";
        let count: i64 = self.store().read(|c| c.prepare_cached(look)?.query_row([self.key], |row| row.get(0)))?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    /// Trials with a value, from an id on.
    fn valued(&self, first: i64) -> Result<Vec<u64>> {
        let look = "SELECT id FROM sb_trials WHERE study = ?1 AND id >= ?2 AND value IS NOT NULL";
        let id = |row: &Row<'_>| Ok(row.get::<_, i64>(0)?.unsigned_abs());
        self.store().read(|c| c.prepare_cached(look)?.query_map([self.key, first], id)?.collect())
    }

    /// How many measurements are missing from the means of replicates that a claim can rest on, and how many of these means were told without wells and number: whoever tells one so
    /// says that it is the mean of what was planned.
    fn lost_replicates(&self) -> Result<(usize, usize)> {
        let told = self.told_replicates(self.first_claimed())?;
        let bare = told.iter().filter(|(_, lost)| lost.is_none()).count();
        Ok((told.iter().filter_map(|(_, lost)| *lost).sum(), bare))
    }

    /// Means of replicates from an id on, with how many measurements are missing from each; none where it was told without wells and number.
    fn told_replicates(&self, first: i64) -> Result<Vec<(u64, Option<usize>)>> {
        let planned = self.spec.replicates();
        if planned < 2 {
            return Ok(Vec::new());
        }
        let lost = self.lost_wells()?;
        let look = "SELECT id, replicates FROM sb_trials WHERE study = ?1 AND id >= ?2 AND state = 'done' AND value IS NOT NULL";
        let row = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get::<_, Option<u32>>(1)?));
        let told: Vec<(u64, Option<u32>)> = self.store().read(|c| c.prepare_cached(look)?.query_map([self.key, first], row)?.collect())?;
        let by_number = |number: u32| planned.saturating_sub(number as usize);
        Ok(told.into_iter().map(|(id, number)| (id, lost.get(&id).copied().or(number.map(by_number)))).collect())
    }
}
