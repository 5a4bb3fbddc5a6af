//! The rows that a run is made of: read at one moment, and enough to make its strategy again.

use super::Study;
use crate::store::CollectedWord;
use crate::{Result, TrialResult, TrialStatus};
use rusqlite::{Connection, OptionalExtension, params};
use sigmabar::strategy::TrialState;
use sigmabar::{Outcome, Strategy};
use std::sync::{MutexGuard, PoisonError};

/// Whose bytes a kept strategy is: another version may plan or analyse otherwise, and makes its own from the rows. The last number rises when an analysis comes to other digits.
const WRITER: &str = concat!("sigmabar-study ", env!("CARGO_PKG_VERSION"), ", analysis 3");

/// A study at one moment, as far as its strategy is concerned.
pub(super) struct Record {
    /// The number of the plan.
    pub plan: i64,
    /// Whether somebody said to go on although the data contradict the premises.
    despite_contradiction: bool,
    /// Results from before the study that the strategy is given.
    given: Vec<(String, Outcome, CollectedWord)>,
    /// Trials in the order of their ids: all of them, or what may be news to a strategy.
    trials: Vec<Row>,
    /// The strategy's bytes, which anybody may have deleted or spoilt.
    kept: Option<Vec<u8>>,
}

struct Row {
    id: usize,
    batch: usize,
    settings: String,
    state: TrialStatus,
    outcome: Outcome,
}

impl Row {
    fn is_in_time(&self) -> bool {
        matches!(self.state, TrialStatus::Done | TrialStatus::Failed)
    }

    /// Whether a strategy that has this state has seen nothing else than what the row says.
    fn agrees(&self, state: TrialState) -> bool {
        match state {
            TrialState::Told(outcome) => self.is_in_time() && outcome == self.outcome,
            TrialState::Late(outcome) => self.state == TrialStatus::Late && outcome == self.outcome,
            TrialState::Missing => matches!(self.state, TrialStatus::Missing | TrialStatus::Late),
            _ => true,
        }
    }
}

impl Study {
    /// The strategy with everything told so far, and the plan it belongs to. Nothing is planned beyond the rows, and nothing is written.
    ///
    /// It comes from the one that this process has at hand, or from the bytes in the file where they agree with every row, or it is made again from the rows:
    /// the same each time.
    pub(super) fn informed(&self) -> Result<(Strategy, i64)> {
        let known = self.at_hand();
        let record = self.store().read(|c| {
            let mut record = Record::new(c, self.key)?;
            match &known {
                Some((at, strategy)) if *at == record.plan => record.read_news(c, self.key, strategy)?,
                _ => record.read_all(c, self.key)?,
            }
            Ok(record)
        })?;
        let mut strategy = match known {
            Some((at, strategy)) if at == record.plan => strategy,
            _ => self.restored(&record)?,
        };
        if record.despite_contradiction {
            strategy.go_on_despite_contradiction();
        }
        self.catch_up(&mut strategy, &record)?;
        Ok((strategy, record.plan))
    }

    /// The strategy from its bytes if they are what the rows say, else as it was before the first batch.
    fn restored(&self, record: &Record) -> Result<Strategy> {
        let mut fresh = Strategy::new(self.spec.problem().clone(), self.spec.policy().clone())?;
        for (settings, outcome, CollectedWord(collected)) in &record.given {
            fresh.attach(&self.spec.space().natural(&self.read_values(settings)?)?, *outcome, *collected)?;
        }
        let kept = record.kept.as_deref().and_then(|bytes| Strategy::from_bytes_with(bytes).ok());
        let kept = kept.filter(|(kept, writer)| *writer == WRITER && self.agrees(kept, &fresh, record)).map(|(kept, _)| kept);
        *self.on_file() = kept.as_ref().and_then(Strategy::found_out).map(|found| (record.plan, found));
        Ok(kept.unwrap_or(fresh))
    }

    /// Whether a kept strategy has seen exactly what stands in the rows, as far as it goes.
    fn agrees(&self, kept: &Strategy, fresh: &Strategy, record: &Record) -> bool {
        let ledger = kept.ledger();
        let same = |(row, (trial, state)): (&Row, (&sigmabar::strategy::Trial, &TrialState))| {
            row.batch == trial.batch && row.agrees(*state) && self.is_setting(&row.settings, trial.candidate, &trial.point)
        };
        kept.problem() == fresh.problem()
            && kept.policy().name() == fresh.policy().name()
            && ledger.attached() == fresh.ledger().attached()
            && ledger.trials().len() <= record.trials.len()
            && record.trials.iter().zip(ledger.trials().iter().zip(ledger.states())).all(same)
    }

    /// Goes on from where a strategy stands, batch by batch as it happened: what was planned, what was told in time, and that the batch was closed. What came
    /// late enters no plan and no claim, so that its moment does not matter: it is told last.
    fn catch_up(&self, strategy: &mut Strategy, record: &Record) -> Result<()> {
        let news = record.trials.chunk_by(|a, b| a.batch == b.batch).filter(|rows| rows[0].batch >= strategy.ledger().closed());
        for rows in news.collect::<Vec<_>>() {
            if rows[0].batch == strategy.ledger().batches() {
                self.recall(strategy, rows)?;
            }
            if rows[0].batch >= strategy.ledger().batches() {
                return Err(self.inconsistent("a batch of trials is missing"));
            }
            for row in rows.iter().filter(|row| row.is_in_time()) {
                if strategy.ledger().states().get(row.id) == Some(&TrialState::Asked) {
                    strategy.tell(row.id as u64, row.outcome)?;
                }
            }
            if !rows.iter().any(|row| row.state.is_open()) {
                strategy.close_batch()?;
            }
        }
        for row in record.trials.iter().filter(|row| row.state == TrialStatus::Late) {
            if strategy.ledger().states().get(row.id) == Some(&TrialState::Missing) {
                strategy.tell(row.id as u64, row.outcome)?;
            }
        }
        Ok(())
    }

    /// Opens a batch as its rows have it.
    fn recall(&self, strategy: &mut Strategy, rows: &[Row]) -> Result<()> {
        if rows[0].id != strategy.ledger().trials().len() || rows.windows(2).any(|pair| pair[1].id != pair[0].id + 1) {
            return Err(self.inconsistent("a trial is missing"));
        }
        let natural = |row: &Row| self.spec.space().natural(&self.read_values(&row.settings)?);
        let recorded = rows.iter().map(natural).collect::<Result<Vec<_>>>()?;
        // Where settings are rounded, the row has the point and the plan does not.
        let is_rounding = self.spec.space().is_rounding();
        let is_recorded =
            |i: usize, candidate: Option<usize>, point: &[f64]| !is_rounding && self.is_setting(&rows[i].settings, candidate, point);
        Ok(strategy.recall(&recorded, is_recorded)?)
    }

    fn is_setting(&self, settings: &str, candidate: Option<usize>, point: &[f64]) -> bool {
        // What was used otherwise than planned is written with digits of its own.
        let is_point = || self.read_values(settings).and_then(|values| self.spec.space().point(&values)).is_ok_and(|used| used == point);
        self.written(candidate, point).is_some_and(|text| text == settings) || (self.spec.takes_used_values() && is_point())
    }

    /// A planned setting as it stands in a row.
    pub(super) fn written(&self, candidate: Option<usize>, point: &[f64]) -> Option<String> {
        serde_json::to_string(&self.spec.space().setting(candidate, point)).ok()
    }

    /// Spares the next process what took long in this one: to analyse a batch, and to find the range of its claim. Looking writes nothing, and this writes nothing but what
    /// can be made again from the rows; where it cannot be written, nothing is lost.
    pub fn remember(&self) {
        let Some((plan, strategy)) = self.cached.lock().unwrap_or_else(PoisonError::into_inner).clone() else { return };
        let Some(found) = strategy.found_out().map(|found| (plan, found)).filter(|(_, (closed, _))| *closed > 0) else { return };
        if self.on_file().is_some_and(|written| written >= found) {
            return;
        }
        let write = "INSERT OR REPLACE INTO sb_strategies (study, bytes) SELECT ?1, ?2 FROM sb_studies WHERE study = ?1 AND plan = ?3";
        let bytes = Self::kept_bytes(&strategy);
        if self.store().write(|transaction| Ok(transaction.execute(write, params![self.key, bytes, plan])?)).is_ok() {
            *self.on_file() = Some(found);
        }
    }

    fn on_file(&self) -> MutexGuard<'_, Option<(i64, (usize, bool))>> {
        self.on_file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes that spare the next process making the strategy again.
    pub(super) fn kept_bytes(strategy: &Strategy) -> Vec<u8> {
        strategy.to_bytes_with(WRITER)
    }
}

impl Record {
    fn new(c: &Connection, study: i64) -> rusqlite::Result<Self> {
        let (given, trials, kept) = (Vec::new(), Vec::new(), None);
        c.prepare_cached("SELECT plan, despite_contradiction FROM sb_studies WHERE study = ?1")?
            .query_row([study], |row| Ok(Self { plan: row.get(0)?, despite_contradiction: row.get(1)?, given, trials, kept }))
    }

    /// Everything that a strategy is made of.
    fn read_all(&mut self, c: &Connection, study: i64) -> rusqlite::Result<()> {
        let query = "SELECT settings, value, std_error, reason, collected, replicates FROM sb_imports WHERE study = ?1 AND (in_time OR ?2) ORDER BY number";
        let result = |row: &rusqlite::Row<'_>| {
            Ok((row.get(0)?, TrialResult::of_columns(row.get(1)?, row.get(2)?, row.get(5)?, row.get(3)?).outcome(), row.get(4)?))
        };
        self.given = c.prepare_cached(query)?.query_map(params![study, self.plan == 0], result)?.collect::<rusqlite::Result<_>>()?;
        let kept = "SELECT bytes FROM sb_strategies WHERE study = ?1";
        self.kept = c.prepare_cached(kept)?.query_row([study], |row| row.get(0)).optional()?;
        self.trials = trials(c, study, 0)?;
        Ok(())
    }

    /// What may be news to a strategy.
    fn read_news(&mut self, c: &Connection, study: i64, strategy: &Strategy) -> rusqlite::Result<()> {
        let ledger = strategy.ledger();
        self.trials = trials(c, study, ledger.batch(ledger.closed()).start)?;
        Ok(())
    }
}

/// The trials from an id on, and late results of earlier ones.
fn trials(c: &Connection, study: i64, first: usize) -> rusqlite::Result<Vec<Row>> {
    let query = "SELECT id, batch, settings, state, value, std_error, replicates FROM sb_trials INDEXED BY sb_trials_by_state \
                 WHERE study = ?1 AND state = 'late' AND id < ?2 \
                 UNION ALL SELECT id, batch, settings, state, value, std_error, replicates FROM sb_trials WHERE study = ?1 AND id >= ?2 ORDER BY id";
    let number = |value: i64| usize::try_from(value).unwrap_or(usize::MAX);
    c.prepare_cached(query)?
        .query_map(params![study, first as i64], |row| {
            Ok(Row {
                id: number(row.get(0)?),
                batch: number(row.get(1)?),
                settings: row.get(2)?,
                state: row.get(3)?,
                outcome: TrialResult::of_columns(row.get(4)?, row.get(5)?, row.get(6)?, None).outcome(),
            })
        })?
        .collect()
}
