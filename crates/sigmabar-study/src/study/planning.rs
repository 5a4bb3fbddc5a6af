//! Planning: one process at a time, outside any transaction, and the same whoever does it.

use super::Study;
use super::asking::note;
use super::shown::Survivors;
use super::worker::WorkerName;
use crate::store::{Failure, now};
use crate::{Error, EventKind, Result, TrialStatus};
use rusqlite::{Connection, Transaction, params};
use sigmabar::strategy::Trial;
use sigmabar::{Ask, Strategy};
use std::sync::PoisonError;
use std::time::Duration;

/// After this long a claim to plan is void. A second planner does no harm: it comes to the same plan, and the first to write wins.
const CLAIM: i64 = 120_000;
/// How often somebody who waits for a plan looks.
const GLANCE: Duration = Duration::from_millis(10);

/// Where the plan stands.
struct Position {
    plan: i64,
    is_finished: bool,
    is_open: bool,
}

/// A planned batch, ready to be written.
struct Planned {
    strategy: Strategy,
    trials: Vec<Trial>,
    survivors: Option<Survivors>,
}

impl Position {
    fn of(c: &Connection, study: i64) -> rusqlite::Result<Self> {
        let look = "SELECT plan, finished, EXISTS (SELECT 1 FROM sb_trials t WHERE t.study = s.study AND t.state IN ('queued', 'leased')) \
                    FROM sb_studies s WHERE study = ?1";
        c.prepare_cached(look)?.query_row([study], |row| Ok(Self { plan: row.get(0)?, is_finished: row.get(1)?, is_open: row.get(2)? }))
    }
}

impl Study {
    /// Plans the next batch if nothing is left to be answered; whether the study is over. Waits for another process that is planning already.
    ///
    /// # Errors
    /// [`Error::Contradicted`], [`Error::PremisesAwaited`], [`Error::Store`], or what the strategy runs into.
    pub fn advance(&self) -> Result<bool> {
        let me = WorkerName::here(0).to_string();
        loop {
            let (position, is_mine) = self.claim(&me)?;
            if position.is_finished || position.is_open {
                return Ok(position.is_finished);
            }
            if !is_mine {
                std::thread::sleep(GLANCE);
                continue;
            }
            let planned = self.plan(position.plan).inspect_err(|_| {
                // The error is what matters; a claim that cannot be given back runs out.
                let _ = self.give_up(&me);
            })?;
            if let Some(planned) = planned {
                self.write_plan(position.plan, planned)?;
            }
        }
    }

    fn claim(&self, me: &str) -> Result<(Position, bool)> {
        let position = self.store().read(|c| Position::of(c, self.key))?;
        if position.is_finished || position.is_open {
            return Ok((position, false));
        }
        self.store().write(|transaction| {
            let position = Position::of(transaction, self.key)?;
            let look = "SELECT planner, planning_until FROM sb_studies WHERE study = ?1";
            let (planner, until): (Option<String>, i64) = transaction.query_row(look, [self.key], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let is_taken = planner.is_some_and(|other| until > now() && !WorkerName::has_ended(&other));
            let is_mine = !(position.is_finished || position.is_open || is_taken);
            if is_mine {
                let claim = "UPDATE sb_studies SET planner = ?2, planning_until = ?3 WHERE study = ?1";
                transaction.execute(claim, params![self.key, me, now() + CLAIM])?;
            }
            Ok((position, is_mine))
        })
    }

    fn give_up(&self, me: &str) -> Result<()> {
        self.store().write(|transaction| {
            transaction.execute("UPDATE sb_studies SET planner = NULL WHERE study = ?1 AND planner = ?2", params![self.key, me])?;
            Ok(())
        })
    }

    /// The batch after the plan of this number; `None` if somebody else was faster.
    fn plan(&self, plan: i64) -> Result<Option<Planned>> {
        self.check_amendments()?;
        let (mut strategy, at) = self.informed()?;
        if at != plan {
            return Ok(None);
        }
        if strategy.awaits_premises() {
            return Err(Error::PremisesAwaited { study: self.name.clone() });
        }
        let closed = strategy.ledger().closed();
        let trials = match strategy.ask(usize::MAX)? {
            Ask::Trials(trials) => self.rounded(&mut strategy, trials)?,
            Ask::Finished => Vec::new(),
            Ask::Contradicted(contradiction) => return Err(Error::Contradicted(contradiction)),
            _ => return Err(self.inconsistent("the strategy waits for trials that the file does not have")),
        };
        let survivors = if closed > 0 { Survivors::of(&strategy, self.spec.space())? } else { None };
        Ok(Some(Planned { strategy, trials, survivors }))
    }

    /// The planned trials as they can be made: measured where the sheet says, not a few digits beside it.
    fn rounded(&self, strategy: &mut Strategy, trials: Vec<Trial>) -> Result<Vec<Trial>> {
        let space = self.spec.space();
        if !space.is_rounding() {
            return Ok(trials);
        }
        for trial in &trials {
            strategy.relocate(trial.id, &space.natural(&space.values(&trial.point))?)?;
        }
        Ok(trials.iter().map(|trial| strategy.ledger().trials()[trial.id as usize].clone()).collect())
    }

    /// Writes a plan, unless somebody was faster.
    fn write_plan(&self, plan: i64, planned: Planned) -> Result<()> {
        let bytes = Self::kept_bytes(&planned.strategy);
        let closed = planned.strategy.ledger().closed();
        let survivors = planned.survivors.as_ref().and_then(|survivors| serde_json::to_string(survivors).ok());
        let rows: Vec<(i64, i64, String, i64)> = planned.trials.iter().map(|trial| self.row_of(trial)).collect::<Result<_>>()?;
        let is_written = self.store().write(|transaction| {
            let next = "UPDATE sb_studies SET plan = plan + 1, finished = ?3, planner = NULL WHERE study = ?1 AND plan = ?2";
            if transaction.execute(next, params![self.key, plan, rows.is_empty()])? == 0 {
                return Ok(false);
            }
            transaction.execute("INSERT OR REPLACE INTO sb_strategies (study, bytes) VALUES (?1, ?2)", params![self.key, bytes])?;
            if plan == 0 {
                let attached = planned.strategy.ledger().attached().len() as i64;
                transaction.execute("UPDATE sb_imports SET in_time = 1 WHERE study = ?1 AND number < ?2", params![self.key, attached])?;
            }
            if closed > 0 {
                let close = "UPDATE sb_batches SET closed_at = ?3, survivors = ?4 WHERE study = ?1 AND batch = ?2";
                transaction.execute(close, params![self.key, closed as i64 - 1, now(), survivors])?;
            }
            self.write_trials(transaction, &rows)?;
            note(transaction, self.key, if rows.is_empty() { EventKind::Finished } else { EventKind::Planned }, None, None)?;
            Ok(true)
        })?;
        if is_written {
            self.keep(plan + 1, planned.strategy);
        }
        Ok(())
    }

    /// Keeps a strategy at hand for the next who needs it.
    pub(super) fn keep(&self, plan: i64, strategy: Strategy) {
        // Before the first plan results may still be attached, each once.
        if plan > 0 {
            *self.cached.lock().unwrap_or_else(PoisonError::into_inner) = Some((plan, strategy));
        }
    }

    /// The strategy at hand, with the number of the plan that it stood at.
    pub(super) fn at_hand(&self) -> Option<(i64, Strategy)> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Forgets what is only kept to be quick: the next who needs the strategy makes it again from the file.
    pub fn rest(&self) {
        drop(self.at_hand());
    }

    fn row_of(&self, trial: &Trial) -> Result<(i64, i64, String, i64)> {
        let settings = self.written(trial.candidate, &trial.point).ok_or_else(|| self.inconsistent("a setting cannot be written"))?;
        Ok((trial.id as i64, trial.batch as i64, settings, seed_of(self.spec.problem().seed() ^ self.spec.salt(), trial.id)))
    }

    fn write_trials(&self, transaction: &Transaction<'_>, rows: &[(i64, i64, String, i64)]) -> Result<(), Failure> {
        if let Some((_, batch, ..)) = rows.first() {
            transaction.execute("INSERT INTO sb_batches (study, batch, opened_at) VALUES (?1, ?2, ?3)", params![self.key, batch, now()])?;
        }
        let insert = "INSERT INTO sb_trials (study, id, batch, settings, seed, state, planned_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        let mut statement = transaction.prepare_cached(insert)?;
        for (id, batch, settings, seed) in rows {
            statement.execute(params![self.key, id, batch, settings, seed, TrialStatus::Queued, now()])?;
        }
        Ok(())
    }
}

/// A seed for each trial: 32 bits, which every language's generators take, well mixed.
fn seed_of(study: u64, trial: u64) -> i64 {
    let mut mixed = study.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(trial.wrapping_add(1).wrapping_mul(0xbf58_476d_1ce4_e5b9));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 32) as i64
}
