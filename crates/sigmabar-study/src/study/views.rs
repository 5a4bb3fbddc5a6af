//! Looking at a study: trials, batches, advice, status.

use super::Study;
use super::nearest::Nearest;
use super::shown::{Advice, BatchRow, BestObserved, Status};
use crate::store::now;
use crate::{EventRow, ImportedRow, Result, TrialResult, TrialRow, TrialStatus, Value};
use rusqlite::Row;
use sigmabar::{BatchReport, Direction, Strategy};
use std::collections::BTreeMap;

impl Study {
    /// All trials in the order of their ids.
    ///
    /// # Errors
    /// [`crate::Error::Store`].
    pub fn trials(&self) -> Result<Vec<TrialRow>> {
        let query = "SELECT id, batch, settings, state, worker, leased_until, attempts, value, std_error, reason, seed, planned_at, asked_at, \
                     told_at, well, note FROM sb_trials WHERE study = ?1 ORDER BY id";
        let rows: Vec<(TrialRow, String)> = self.store().read(|c| c.prepare(query)?.query_map([self.key], trial_row)?.collect())?;
        rows.into_iter().map(|(row, settings)| Ok(TrialRow { values: self.read_values(&settings)?, ..row })).collect()
    }

    /// Results measured before the study, in the order of import.
    ///
    /// # Errors
    /// [`crate::Error::Store`].
    pub fn imported(&self) -> Result<Vec<ImportedRow>> {
        let query = "SELECT settings, value, std_error, reason FROM sb_imports WHERE study = ?1 ORDER BY number";
        let result = |row: &Row<'_>| -> rusqlite::Result<(String, TrialResult)> {
            let (value, standard_error, reason): (Option<f64>, _, Option<String>) = (row.get(1)?, row.get(2)?, row.get(3)?);
            Ok((
                row.get(0)?,
                match value {
                    Some(value) => TrialResult::Value { value, standard_error },
                    None => TrialResult::Failed { reason: reason.unwrap_or_default() },
                },
            ))
        };
        let rows: Vec<(String, TrialResult)> = self.store().read(|c| c.prepare(query)?.query_map([self.key], result)?.collect())?;
        rows.into_iter().map(|(settings, result)| Ok(ImportedRow { values: self.read_values(&settings)?, result })).collect()
    }

    /// What happened besides asking and telling, in order.
    ///
    /// # Errors
    /// [`crate::Error::Store`].
    pub fn events(&self) -> Result<Vec<EventRow>> {
        let query = "SELECT at, kind, trial, worker FROM sb_events WHERE study = ?1 ORDER BY event";
        let event = |row: &Row<'_>| {
            let trial: Option<i64> = row.get(2)?;
            Ok(EventRow { at: row.get(0)?, kind: row.get(1)?, trial: trial.map(i64::unsigned_abs), worker: row.get(3)? })
        };
        self.store().read(|c| c.prepare(query)?.query_map([self.key], event)?.collect())
    }

    /// One row for each closed batch.
    ///
    /// # Errors
    /// [`crate::Error::Store`], or what the strategy runs into.
    pub fn batches(&self) -> Result<Vec<BatchRow>> {
        let reports = self.strategy()?.batches()?;
        let query = "SELECT batch, opened_at, closed_at, survivors FROM sb_batches WHERE study = ?1 ORDER BY batch";
        let rows: Vec<(i64, i64, Option<i64>, Option<String>)> = self
            .store()
            .read(|c| c.prepare(query)?.query_map([self.key], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?.collect())?;
        let row = |(report, (batch, opened_at, closed_at, survivors)): (BatchReport, (i64, i64, Option<i64>, Option<String>))| BatchRow {
            batch: usize::try_from(batch).unwrap_or_default(),
            report,
            survivors: survivors.and_then(|text| serde_json::from_str(&text).ok()),
            opened_at,
            closed_at,
        };
        Ok(reports.into_iter().zip(rows).map(row).collect())
    }

    /// The setting to use by what is known now, never the luckiest draw; `None` before anything was measured.
    ///
    /// # Errors
    /// [`crate::Error::Store`], or what the strategy runs into.
    pub fn recommend(&self) -> Result<Option<Advice>> {
        let Some(best) = self.strategy()?.recommend()? else { return Ok(None) };
        let names = || self.spec.space().parameters().iter().map(|p| p.name.clone());
        let is_minimized = self.spec.problem().direction() == Direction::Minimize;
        let sign = if is_minimized { -1.0 } else { 1.0 };
        let trials = self.trials()?;
        let nearest = Nearest::to(&best.point, self.spec.space(), &trials, &self.imported()?);
        let told = trials.into_iter().filter_map(|row| Some((row.value?, row)));
        let best_observed = told
            .max_by(|(a, first), (b, second)| (sign * a).total_cmp(&(sign * b)).then(second.id.cmp(&first.id)))
            .map(|(value, row)| BestObserved { id: row.id, values: names().zip(row.values).collect(), value });
        Ok(Some(Advice {
            values: names().zip(self.spec.space().setting(best.candidate, &best.point)).collect(),
            lower: best.lower,
            upper: best.upper,
            gap: best.gap,
            candidate_gap: best.candidate_gap,
            certificate: best.certificate,
            best_observed,
            point: best.point,
            nearest,
        }))
    }

    /// Where the study stands.
    ///
    /// # Errors
    /// [`crate::Error::Store`], or what the strategy runs into.
    pub fn status(&self) -> Result<Status> {
        let mut counts = BTreeMap::new();
        let trials = self.trials()?;
        for row in &trials {
            *counts.entry(row.state).or_insert(0) += 1;
        }
        let (is_finished, imported, imported_in_time): (bool, i64, i64) = self.store().read(|c| {
            let query = "SELECT finished, (SELECT count(*) FROM sb_imports i WHERE i.study = s.study), \
                         (SELECT count(*) FROM sb_imports i WHERE i.study = s.study AND (i.in_time OR s.plan = 0)) FROM sb_studies s WHERE study = ?1";
            c.query_row(query, [self.key], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        })?;
        let batches = trials.last().map_or(0, |row| row.batch + 1);
        let is_open = trials.iter().any(|row| matches!(row.state, TrialStatus::Queued | TrialStatus::Leased | TrialStatus::Expired));
        let wanted_gap = self.spec.problem().wanted_gap();
        let is_gap_reached = match wanted_gap {
            Some(wanted) => self.batches()?.last().and_then(|row| row.report.gap).is_some_and(|gap| gap <= wanted),
            None => false,
        };
        Ok(Status {
            name: self.name.clone(),
            strategy: self.spec.policy().name().to_owned(),
            counts,
            budget: self.spec.problem().budget(),
            planned: trials.len(),
            batches,
            closed: batches - usize::from(is_open && batches > 0),
            is_finished,
            wanted_gap,
            is_gap_reached,
            contradiction: self.strategy()?.contradiction(),
            imported: usize::try_from(imported).unwrap_or_default(),
            imported_in_time: usize::try_from(imported_in_time).unwrap_or_default(),
        })
    }

    /// The run with everything told so far, for reports.
    ///
    /// # Errors
    /// [`crate::Error::Store`], or what the strategy runs into.
    pub fn strategy(&self) -> Result<Strategy> {
        // What can be planned is planned once and kept, rather than digested anew by everybody who looks.
        if !self.trials_are_open()? {
            match self.advance() {
                Err(crate::Error::Store { problem: crate::StoreError::ReadOnly, .. }) => {}
                other => drop(other?),
            }
        }
        let plan = self.plan_number()?;
        let strategy = self.informed(plan)?;
        self.keep(plan, strategy.clone());
        Ok(strategy)
    }

    fn trials_are_open(&self) -> Result<bool> {
        let query = "SELECT finished OR plan = 0 OR EXISTS (SELECT 1 FROM sb_trials t WHERE t.study = s.study AND t.state IN ('queued', 'leased')) \
                     FROM sb_studies s WHERE study = ?1";
        self.store().read(|c| c.query_row(query, [self.key], |row| row.get(0)))
    }

    pub(super) fn read_values(&self, settings: &str) -> Result<Vec<Value>> {
        let values: Vec<Value> = serde_json::from_str(settings).map_err(|_| self.inconsistent("the setting of a trial cannot be read"))?;
        if values.len() != self.spec.space().parameters().len() {
            return Err(self.inconsistent("the setting of a trial has another number of values than there are parameters"));
        }
        Ok(values)
    }
}

fn trial_row(row: &Row<'_>) -> rusqlite::Result<(TrialRow, String)> {
    let leased_until: Option<i64> = row.get(5)?;
    let state = match row.get::<_, String>(3)?.as_str() {
        "queued" => TrialStatus::Queued,
        "leased" if leased_until.is_some_and(|until| until <= now()) => TrialStatus::Expired,
        "leased" => TrialStatus::Leased,
        "done" => TrialStatus::Done,
        "failed" => TrialStatus::Failed,
        "late" => TrialStatus::Late,
        _ => TrialStatus::Missing,
    };
    let trial = TrialRow {
        id: row.get::<_, i64>(0)?.unsigned_abs(),
        batch: usize::try_from(row.get::<_, i64>(1)?).unwrap_or_default(),
        values: Vec::new(),
        state,
        worker: row.get(4)?,
        leased_until,
        attempts: row.get(6)?,
        value: row.get(7)?,
        standard_error: row.get(8)?,
        reason: row.get(9)?,
        seed: row.get::<_, i64>(10)?.unsigned_abs(),
        planned_at: row.get(11)?,
        asked_at: row.get(12)?,
        told_at: row.get(13)?,
        well: row.get(14)?,
        note: row.get(15)?,
    };
    Ok((trial, row.get(2)?))
}
