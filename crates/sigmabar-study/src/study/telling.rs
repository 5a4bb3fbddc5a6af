//! Telling: a result is written down once, and is safe when `tell` returns.

use super::Study;
use super::asking::{note, note_detail};
use super::wells::{FilledSheet, Well, is_as_told, is_same};
use crate::store::{CollectedWord, Failure, MarkNumber, now};
use crate::{Error, EventKind, ImportedRow, Result, StudySpec, Told, TrialResult, TrialStatus, Value};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use sigmabar::Collected;
use sigmabar::points::LARGEST_RESPONSE;
use std::collections::{BTreeMap, HashSet};

impl Study {
    /// Writes the result of a trial down. When this returns, the result is on the disk. Told again with the same value, or as failed again, it is as it was.
    ///
    /// # Errors
    /// [`Error::UnknownTrial`], [`Error::NotAsked`], [`Error::AlreadyTold`], [`Error::Result`], [`Error::Store`]: nothing is changed then.
    pub fn tell(&self, id: u64, result: TrialResult) -> Result<Told> {
        check(id, &result)?;
        self.store().write(|transaction| self.write_result(transaction, id, &result))
    }

    /// Writes many results down in one transaction: all of them or, if one is refused, none.
    ///
    /// # Errors
    /// As [`Study::tell`].
    pub fn tell_all(&self, results: &[(u64, TrialResult)]) -> Result<Vec<Told>> {
        self.tell_sheet(&FilledSheet { results: results.to_vec(), ..FilledSheet::default() })
    }

    /// The same for a sheet, with what people remarked about trials, these or others: a new note takes the place of an old one. Settings may stand on it as they were
    /// used in truth, if the study declares that to be possible: they enter as the points measured. Results of several wells are told with these: only where a well
    /// has changed is the result another one, and the standard errors of the plate follow.
    ///
    /// # Errors
    /// As [`Study::tell`]; [`Error::UsedOtherwise`], [`Error::Setting`] for a value that the parameter does not take.
    pub fn tell_sheet(&self, sheet: &FilledSheet) -> Result<Vec<Told>> {
        sheet.results.iter().try_for_each(|(id, result)| check(*id, result))?;
        self.store().write(|transaction| {
            sheet.used.iter().try_for_each(|(id, values)| self.write_used(transaction, *id, values))?;
            let standing = self.standing_wells(transaction)?;
            let (mut told, mut changed, mut corrected) = (BTreeMap::new(), Vec::new(), HashSet::new());
            // What has a result comes first, whatever line it stands in: the sheet that completes a batch may correct it too, and it is not analysed yet.
            let (new, old): (Vec<_>, Vec<_>) = {
                let open = self.open_trials(transaction)?;
                sheet.results.iter().enumerate().partition(|(_, (id, _))| open.contains(id))
            };
            for (place, (id, result)) in old.into_iter().chain(new) {
                let one = self.write_of_sheet(transaction, (*id, result), sheet, standing.get(id))?;
                if !one.is_again() {
                    changed.push(*id);
                }
                corrected.extend(one.corrected().map(|_| *id));
                told.insert(place, one);
            }
            let notes = sheet.notes.iter().filter(|(id, _)| !corrected.contains(id));
            self.write_notes(transaction, notes)?;
            self.pool_again(transaction, &changed)?;
            sheet.controls.iter().try_for_each(|(beside, controls)| self.write_controls(transaction, *beside, controls))?;
            Ok(told.into_values().collect())
        })
    }

    fn open_trials(&self, transaction: &Transaction<'_>) -> Result<HashSet<u64>, Failure> {
        let query = "SELECT id FROM sb_trials WHERE study = ?1 AND state IN ('queued', 'leased')";
        let ids =
            transaction.prepare_cached(query)?.query_map([self.key], |row| row.get::<_, i64>(0))?.collect::<rusqlite::Result<Vec<_>>>()?;
        Ok(ids.into_iter().filter_map(|id| u64::try_from(id).ok()).collect())
    }

    /// Tells one result of a sheet, as a correction if there is a reason for one, and keeps its wells.
    fn write_of_sheet(
        &self,
        transaction: &Transaction<'_>,
        (id, result): (u64, &TrialResult),
        sheet: &FilledSheet,
        standing: Option<&Vec<Well>>,
    ) -> Result<Told, Failure> {
        let given = sheet.wells.get(&id);
        let stands = self.stands(transaction, id)?.filter(|stands| is_as_told((stands, standing), (result, given)));
        let told = match (self.write_result(transaction, id, stands.as_ref().unwrap_or(result)), &sheet.correction) {
            (Err(Failure::Refused(error)), Some(why)) if matches!(*error, Error::AlreadyTold { .. }) => {
                let remark = sheet.notes.iter().find(|(about, _)| *about == id).map(|(_, remark)| remark.as_str());
                Told::Corrected(self.write_correction(transaction, (id, result), EventKind::Replaced, (why, remark))?)
            }
            (told, _) => told?,
        };
        match given {
            Some(wells) if standing.is_none_or(|standing| !is_same(standing, wells)) => self.write_wells(transaction, id, wells)?,
            None if standing.is_some() && told.corrected().is_some() => self.write_wells(transaction, id, &[])?,
            _ => {}
        }
        Ok(told)
    }

    /// The value that a trial has, if it has one.
    pub(super) fn stands(&self, transaction: &Transaction<'_>, id: u64) -> Result<Option<TrialResult>, Failure> {
        let look = "SELECT value, std_error, replicates FROM sb_trials WHERE study = ?1 AND id = ?2 AND value IS NOT NULL";
        let row = i64::try_from(id).unwrap_or(-1);
        let read = |row: &rusqlite::Row<'_>| Ok(TrialResult::of_columns(row.get(0)?, row.get(1)?, row.get(2)?, None));
        Ok(transaction.prepare_cached(look)?.query_row(params![self.key, row], read).optional()?)
    }

    fn write_used(&self, transaction: &Transaction<'_>, id: u64, values: &[Value]) -> Result<(), Failure> {
        let refused = |reason| Error::UsedOtherwise { id, reason };
        if !self.spec.takes_used_values() {
            return Err(refused("another setting was used than was asked for, and the study does not declare used_values = true").into());
        }
        self.spec.space().point(values)?;
        let text = serde_json::to_string(values).map_err(|_| self.inconsistent("a setting cannot be written"))?;
        let row = i64::try_from(id).unwrap_or(-1);
        let look = "SELECT settings, state IN ('queued', 'leased') FROM sb_trials WHERE study = ?1 AND id = ?2";
        let found: Option<(String, bool)> =
            transaction.prepare_cached(look)?.query_row(params![self.key, row], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let (planned, is_open) = found.ok_or_else(|| Error::UnknownTrial { study: self.name.clone(), id })?;
        if planned == text {
            return Ok(());
        }
        if !is_open {
            return Err(refused("it has a result already, which was told with the setting that it has").into());
        }
        transaction
            .prepare_cached("UPDATE sb_trials SET settings = ?3 WHERE study = ?1 AND id = ?2")?
            .execute(params![self.key, row, text])?;
        // Whoever has the strategy at hand has the planned point in it.
        transaction.execute("UPDATE sb_studies SET plan = plan + 1 WHERE study = ?1", [self.key])?;
        let detail = serde_json::json!({ "planned": serde_json::from_str::<serde_json::Value>(&planned).unwrap_or_default() });
        note_detail(transaction, self.key, EventKind::UsedOtherwise, Some(row), &detail)?;
        Ok(())
    }

    pub(super) fn write_result(&self, transaction: &Transaction<'_>, id: u64, result: &TrialResult) -> Result<Told, Failure> {
        let unknown = || Error::UnknownTrial { study: self.name.clone(), id };
        let row = i64::try_from(id).map_err(|_| unknown())?;
        let look = "SELECT state, attempts > 0, value, std_error, worker, replicates FROM sb_trials WHERE study = ?1 AND id = ?2";
        let found: Option<(TrialStatus, bool, TrialResult, Option<String>)> = transaction
            .prepare_cached(look)?
            .query_row(params![self.key, row], |row| {
                Ok((row.get(0)?, row.get(1)?, TrialResult::of_columns(row.get(2)?, row.get(3)?, row.get(5)?, None), row.get(4)?))
            })
            .optional()?;
        let (state, was_asked, earlier, worker) = found.ok_or_else(unknown)?;
        let answer = match state {
            // Its lease may have run out, and here it is after all.
            TrialStatus::Queued | TrialStatus::Leased | TrialStatus::Expired if was_asked => Told::Counted,
            TrialStatus::Queued | TrialStatus::Leased | TrialStatus::Expired => {
                return Err(Error::NotAsked { study: self.name.clone(), id }.into());
            }
            TrialStatus::Missing => Told::Late,
            // A failure is a failure, whatever was remarked about it later.
            told if earlier.outcome() == result.outcome() => return Ok(Told::Again { is_late: told == TrialStatus::Late }),
            _ => return Err(Error::AlreadyTold { study: self.name.clone(), id }.into()),
        };
        let (value, std_error, replicates, reason) = result.columns();
        let state = match (answer, value) {
            (Told::Late, _) => TrialStatus::Late,
            (_, Some(_)) => TrialStatus::Done,
            (_, None) => TrialStatus::Failed,
        };
        transaction
            .prepare_cached(
                "UPDATE sb_trials SET state = ?3, value = ?4, std_error = ?5, reason = ?6, told_at = ?7, replicates = ?8, leased_until = NULL \
                 WHERE study = ?1 AND id = ?2",
            )?
            .execute(params![self.key, row, state, value, std_error, reason, now(), replicates])?;
        note(transaction, self.key, EventKind::Told, Some(row), worker.as_deref())?;
        Ok(answer)
    }

    /// Closes the open batch with what has arrived: what is unanswered is missing, and a result that comes later is kept but not used.
    ///
    /// # Errors
    /// [`Error::NotHandedOut`] where nobody has seen anything of the batch, as when it is closed once too often; [`Error::Store`], or what planning runs into.
    pub fn close_batch(&self) -> Result<()> {
        self.close(false)
    }

    /// The same, even if nothing of the batch was handed out.
    ///
    /// # Errors
    /// [`Error::Store`], or what planning runs into.
    pub fn close_batch_unseen(&self) -> Result<()> {
        self.close(true)
    }

    fn close(&self, even_unseen: bool) -> Result<()> {
        self.store().write(|transaction| {
            let look = "SELECT batch, max(attempts) FROM sb_trials WHERE study = ?1 GROUP BY batch ORDER BY batch DESC LIMIT 1";
            let last: Option<(i64, i64)> = transaction.query_row(look, [self.key], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            let (batch, attempts) = last.unwrap_or_default();
            if attempts == 0 && !even_unseen {
                let batch = usize::try_from(batch).unwrap_or_default();
                return Err(Error::NotHandedOut { study: self.name.clone(), batch }.into());
            }
            let close = "UPDATE sb_trials SET state = ?2, leased_until = NULL WHERE study = ?1 AND state IN ('queued', 'leased')";
            if transaction.execute(close, params![self.key, TrialStatus::Missing])? > 0 {
                note(transaction, self.key, EventKind::Closed, None, None)?;
            }
            Ok(())
        })?;
        self.advance().map(drop)
    }

    /// Lets the study go on although the data contradict its premises: what is measured then serves the model, and nothing is certified.
    pub fn go_on_despite_contradiction(&self) -> Result<()> {
        self.store().write(|transaction| {
            let go_on = "UPDATE sb_studies SET despite_contradiction = 1 WHERE study = ?1 AND NOT despite_contradiction";
            if transaction.execute(go_on, [self.key])? > 0 {
                note(transaction, self.key, EventKind::WentOn, None, None)?;
            }
            Ok(())
        })
    }

    /// Keeps results measured before the study; how many were written. Settings are checked, and all rows are written or none.
    ///
    /// What is imported before the first ask is given to the strategy ([`sigmabar::Strategy::attach`]), as results of which nobody said how their points were
    /// chosen: they help the model where the strategy has one, and enter no certificate. Later ones are kept and shown.
    ///
    /// # Errors
    /// [`Error::ImportedRow`] naming the row, counted from 1; [`Error::Store`].
    pub fn import(&self, rows: &[ImportedRow]) -> Result<usize> {
        self.import_as(rows, Collected::Undeclared)
    }

    /// The same for results that were collected in this way: with [`Collected::DeclaredFixed`] the user declares that no point was chosen by looking at a
    /// response, and certified S-BPE counts them into its first batch.
    ///
    /// # Errors
    /// As [`Study::import`].
    pub fn import_as(&self, rows: &[ImportedRow], collected: Collected) -> Result<usize> {
        self.store().write(|transaction| {
            self.spec.check_import(rows, collected, self.imported_keys(transaction)?)?;
            let first: i64 =
                transaction
                    .query_row("SELECT coalesce(max(number) + 1, 0) FROM sb_imports WHERE study = ?1", [self.key], |row| row.get(0))?;
            for (number, row) in (first..).zip(rows) {
                let settings = serde_json::to_string(&row.values).map_err(|_| self.inconsistent("a setting cannot be written"))?;
                let (value, std_error, replicates, reason) = row.result.columns();
                transaction
                    .prepare_cached(
                        "INSERT INTO sb_imports (study, number, settings, value, std_error, reason, collected, imported_at, replicates, is_corrected) \
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                    )?
                    .execute(params![
                        self.key,
                        number,
                        settings,
                        value,
                        std_error,
                        reason,
                        CollectedWord(collected),
                        now(),
                        replicates,
                        MarkNumber(row.mark)
                    ])?;
            }
            note(transaction, self.key, EventKind::Imported, None, None)?;
            Ok(rows.len())
        })
    }

    /// Whether these rows could be imported; nothing is written.
    ///
    /// # Errors
    /// As [`Study::import`].
    pub fn check_import(&self, rows: &[ImportedRow], collected: Collected) -> Result<()> {
        let known = self.store().read(|connection| self.imported_keys(connection))?;
        self.spec.check_import(rows, collected, known)
    }

    fn imported_keys(&self, connection: &Connection) -> rusqlite::Result<HashSet<ImportedKey>> {
        let query = "SELECT settings, value, std_error FROM sb_imports WHERE study = ?1";
        let seen = |row: &rusqlite::Row<'_>| Ok(imported_key(&row.get::<_, String>(0)?, row.get(1)?, row.get(2)?));
        let found = connection.prepare_cached(query)?.query_map([self.key], seen)?.collect::<rusqlite::Result<Vec<_>>>()?;
        Ok(found.into_iter().flatten().collect())
    }

    fn write_controls(&self, transaction: &Transaction<'_>, beside: u64, controls: &[(String, f64)]) -> Result<(), Failure> {
        let look = "SELECT batch, plate FROM sb_trials WHERE study = ?1 AND id = ?2";
        let row = i64::try_from(beside).unwrap_or(-1);
        let found = transaction.query_row(look, params![self.key, row], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let (batch, plate): (i64, Option<i64>) = found.ok_or_else(|| Error::UnknownTrial { study: self.name.clone(), id: beside })?;
        for (well, value) in controls {
            let detail = serde_json::json!({ "batch": batch, "plate": plate, "well": well, "value": value });
            note_detail(transaction, self.key, EventKind::Control, None, &detail)?;
        }
        Ok(())
    }

    /// Writes down which wells of a plate trials were laid into together: a plate of its own, whatever lies in the wells of others.
    ///
    /// # Errors
    /// [`Error::UnknownTrial`], [`Error::Store`].
    pub fn set_wells(&self, wells: &[(u64, String)]) -> Result<()> {
        self.store().write(|transaction| {
            let last: i64 =
                transaction.query_row("SELECT coalesce(max(plate), 0) FROM sb_trials WHERE study = ?1", [self.key], |row| row.get(0))?;
            let update = format!("UPDATE sb_trials SET well = ?3, plate = {} WHERE study = ?1 AND id = ?2", last + 1);
            let update = update.as_str();
            wells.iter().try_for_each(|(id, well)| self.write_word(transaction, update, *id, well))
        })
    }

    /// Writes down what people remarked about trials: all of it or nothing. A new note takes the place of an old one; results are untouched.
    ///
    /// # Errors
    /// [`Error::UnknownTrial`], [`Error::Store`].
    pub fn set_notes(&self, notes: &[(u64, String)]) -> Result<()> {
        self.store().write(|transaction| self.write_notes(transaction, notes))
    }

    fn write_notes<'a>(&self, transaction: &Transaction<'_>, notes: impl IntoIterator<Item = &'a (u64, String)>) -> Result<(), Failure> {
        let update = "UPDATE sb_trials SET note = ?3 WHERE study = ?1 AND id = ?2";
        notes.into_iter().try_for_each(|(id, note)| self.write_word(transaction, update, *id, note))
    }

    fn write_word(&self, transaction: &Transaction<'_>, update: &str, id: u64, word: &str) -> Result<(), Failure> {
        let row = i64::try_from(id).unwrap_or(-1);
        if transaction.prepare_cached(update)?.execute(params![self.key, row, word])? == 0 {
            return Err(Error::UnknownTrial { study: self.name.clone(), id }.into());
        }
        Ok(())
    }
}

impl StudySpec {
    /// Whether these rows could be imported into a study of which nothing was imported yet.
    ///
    /// # Errors
    /// As [`Study::import`].
    pub fn could_import(&self, rows: &[ImportedRow], collected: Collected) -> Result<()> {
        self.check_import(rows, collected, HashSet::new())
    }

    /// The same rows again are refused, and equal rows of one table that a certificate would count: noise never repeats a value to the last digit, so they are one
    /// measurement written down twice.
    fn check_import(&self, rows: &[ImportedRow], collected: Collected, mut known: HashSet<ImportedKey>) -> Result<()> {
        let from = self.learnt_from().or((self.pilot() > 0).then_some("its pilot and what was there with it"));
        if let Some(from) = from.filter(|_| collected.is_fixed()) {
            return Err(Error::LearntFrom { from: from.to_owned() });
        }
        for (number, row) in rows.iter().enumerate() {
            let wrong = |source: Error| Error::ImportedRow { row: number + 1, source: Box::new(source) };
            self.space().point(&row.values).map_err(wrong)?;
            check(number as u64, &row.result).map_err(wrong)?;
            let (value, std_error, ..) = row.result.columns();
            let Some(key) = imported_key(&serde_json::json!(row.values).to_string(), value, std_error) else { continue };
            if known.contains(&key) {
                return Err(wrong(Error::Copy));
            }
            if collected.is_fixed() {
                known.insert(key);
            }
        }
        Ok(())
    }
}

/// What makes two imported rows the same: setting, value and standard error, to the last bit.
type ImportedKey = (String, u64, Option<u64>);

fn imported_key(settings: &str, value: Option<f64>, std_error: Option<f64>) -> Option<ImportedKey> {
    value.map(|value| (settings.to_owned(), value.to_bits(), std_error.map(f64::to_bits)))
}

pub(super) fn check(id: u64, result: &TrialResult) -> Result<()> {
    match *result {
        TrialResult::Value { value, .. } if !value.is_finite() => Err(Error::Result {
            id,
            what: "value",
            found: value,
            requirement: "a finite number, and a failed evaluation is told as failed",
        }),
        TrialResult::Value { value, .. } if value.abs() > LARGEST_RESPONSE => {
            Err(Error::Result { id, what: "value", found: value, requirement: "at most 1e100 in size" })
        }
        TrialResult::Value { standard_error: Some(found), .. } if !(found.is_finite() && found > 0.0) => Err(Error::Result {
            id,
            what: "standard error",
            found,
            requirement: "finite and positive; leave it out where nothing scatters",
        }),
        TrialResult::Value { replicates: Some(0), .. } => {
            Err(Error::Result { id, what: "number of replicates", found: 0.0, requirement: "at least 1" })
        }
        TrialResult::Value { standard_error: None, replicates: Some(found), .. } if found > 1 => Err(Error::Result {
            id,
            what: "number of replicates",
            found: f64::from(found),
            requirement: "told together with the standard error of the mean",
        }),
        _ => Ok(()),
    }
}
