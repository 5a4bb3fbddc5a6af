//! Planning: one process at a time, outside any transaction, and the same whoever does it.

use super::Study;
use super::asking::note;
use super::shown::Survivors;
use super::worker::WorkerName;
use crate::store::{Failure, now};
use crate::{Error, Result, StoreError};
use rusqlite::{Row, Transaction, params};
use sigmabar::{Ask, Collected, Outcome, Strategy, Trial, TrialState};
use std::sync::PoisonError;
use std::time::Duration;

/// After this long a claim to plan is void. A second planner does no harm: it comes to the same plan, and the first to write wins.
const CLAIM: i64 = 120_000;
/// How often somebody who waits for a plan looks.
const GLANCE: Duration = Duration::from_millis(10);

/// A strategy as it was after the plan of a number.
#[derive(Debug)]
pub(super) struct Cached {
    pub plan: i64,
    pub strategy: Strategy,
}

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

impl Study {
    /// Plans the next batch if nothing is left to be answered; whether the study is over. Waits for another process that is planning already.
    pub(super) fn advance(&self) -> Result<bool> {
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
            self.write_plan(position.plan, planned)?;
        }
    }

    fn claim(&self, me: &str) -> Result<(Position, bool)> {
        let position = self.position()?;
        if position.is_finished || position.is_open {
            return Ok((position, false));
        }
        self.store().write(|transaction| {
            let look = "SELECT plan, finished, planner, planning_until FROM sb_studies WHERE study = ?1";
            let (plan, is_finished, planner, until): (i64, bool, Option<String>, i64) =
                transaction.query_row(look, [self.key], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
            let position = Position { plan, is_finished, is_open: has_open(transaction, self.key)? };
            let is_taken = planner.is_some_and(|other| until > now() && !WorkerName::has_ended(&other));
            let is_mine = !(position.is_finished || position.is_open || is_taken);
            if is_mine {
                let claim = "UPDATE sb_studies SET planner = ?2, planning_until = ?3 WHERE study = ?1";
                transaction.execute(claim, params![self.key, me, now() + CLAIM])?;
            }
            Ok((position, is_mine))
        })
    }

    fn position(&self) -> Result<Position> {
        self.store().read(|c| {
            let look = "SELECT plan, finished, EXISTS (SELECT 1 FROM sb_trials t WHERE t.study = s.study AND t.state IN ('queued', 'leased')) \
                        FROM sb_studies s WHERE study = ?1";
            c.prepare_cached(look)?.query_row([self.key], |row| Ok(Position { plan: row.get(0)?, is_finished: row.get(1)?, is_open: row.get(2)? }))
        })
    }

    fn give_up(&self, me: &str) -> Result<()> {
        self.store().write(|transaction| {
            transaction.execute("UPDATE sb_studies SET planner = NULL WHERE study = ?1 AND planner = ?2", params![self.key, me])?;
            Ok(())
        })
    }

    /// The strategy after the plan of this number, told everything that has arrived since.
    fn plan(&self, plan: i64) -> Result<Planned> {
        let mut strategy = self.informed(plan)?;
        let closed = strategy.ledger().closed();
        let trials = match strategy.ask(usize::MAX)? {
            Ask::Trials(trials) => trials,
            Ask::Finished => Vec::new(),
            Ask::Contradicted(contradiction) => return Err(Error::Contradicted(contradiction)),
            _ => return Err(self.inconsistent("the strategy waits for trials that the file does not have")),
        };
        let survivors = if closed > 0 { Survivors::of(&strategy, self.spec.space())? } else { None };
        Ok(Planned { strategy, trials, survivors })
    }

    /// The strategy with everything told so far.
    pub(super) fn informed(&self, plan: i64) -> Result<Strategy> {
        let kept = self.cached.lock().unwrap_or_else(PoisonError::into_inner).take().filter(|kept| kept.plan == plan);
        let mut strategy = match kept {
            Some(kept) => kept.strategy,
            None => self.stored_strategy()?,
        };
        if plan == 0 {
            self.attach(&mut strategy)?;
        }
        // Asked before the answers are read: what is not open now has all its answers in the file.
        let is_open = self.position()?.is_open;
        let unreadable = |error| Error::Store { file: self.file.clone(), problem: StoreError::Strategy(error) };
        let answers = self.answers(strategy.ledger().closed())?;
        for (id, outcome, _) in answers.iter().filter(|(_, _, is_late)| !is_late) {
            if strategy.ledger().states().get(*id as usize) == Some(&TrialState::Asked) {
                strategy.tell(*id, *outcome)?;
            }
        }
        if !is_open {
            strategy.close_batch()?;
        }
        for (id, outcome, _) in answers.iter().filter(|(_, _, is_late)| *is_late) {
            if strategy.ledger().states().get(*id as usize) == Some(&TrialState::Missing) {
                strategy.tell(*id, *outcome).map_err(unreadable)?;
            }
        }
        Ok(strategy)
    }

    /// Gives a fresh strategy what was measured before the study.
    fn attach(&self, strategy: &mut Strategy) -> Result<()> {
        let query = "SELECT settings, value, std_error, is_fixed FROM sb_imports WHERE study = ?1 ORDER BY number";
        let rows: Vec<(String, Outcome, bool)> = self.store().read(|c| {
            let row = |row: &Row<'_>| Ok((row.get(0)?, outcome(row.get(1)?, row.get(2)?), row.get(3)?));
            c.prepare(query)?.query_map([self.key], row)?.collect()
        })?;
        for (settings, outcome, is_fixed) in rows {
            let natural = self.spec.space().natural(&self.read_values(&settings)?)?;
            strategy.attach(&natural, outcome, if is_fixed { Collected::DeclaredFixed } else { Collected::Adaptive })?;
        }
        Ok(())
    }

    fn stored_strategy(&self) -> Result<Strategy> {
        let bytes: Vec<u8> =
            self.store().read(|c| c.query_row("SELECT bytes FROM sb_strategies WHERE study = ?1", [self.key], |row| row.get(0)))?;
        Strategy::from_bytes(&bytes).map_err(|error| Error::Store { file: self.file.clone(), problem: StoreError::Strategy(error) })
    }

    /// What was told in batches from this one on, and late for earlier ones, in the order of ids.
    fn answers(&self, first_batch: usize) -> Result<Vec<(u64, Outcome, bool)>> {
        let query = "SELECT id, value, std_error, state = 'late' FROM sb_trials \
                     WHERE study = ?1 AND (state = 'late' OR (batch >= ?2 AND state IN ('done', 'failed'))) ORDER BY id";
        self.store().read(|c| {
            c.prepare_cached(query)?
                .query_map(params![self.key, first_batch as i64], |row| {
                    Ok((row.get::<_, i64>(0)?.unsigned_abs(), outcome(row.get(1)?, row.get(2)?), row.get(3)?))
                })?
                .collect()
        })
    }

    /// Writes a plan, unless somebody was faster.
    fn write_plan(&self, plan: i64, planned: Planned) -> Result<()> {
        let bytes = planned.strategy.to_bytes();
        let closed = planned.strategy.ledger().closed();
        let survivors = planned.survivors.as_ref().and_then(|survivors| serde_json::to_string(survivors).ok());
        let rows: Vec<(i64, i64, String, i64)> = planned.trials.iter().map(|trial| self.row_of(trial)).collect::<Result<_>>()?;
        let is_written = self.store().write(|transaction| {
            let next = "UPDATE sb_studies SET plan = plan + 1, finished = ?3, planner = NULL WHERE study = ?1 AND plan = ?2";
            if transaction.execute(next, params![self.key, plan, rows.is_empty()])? == 0 {
                return Ok(false);
            }
            transaction.execute("UPDATE sb_strategies SET bytes = ?2 WHERE study = ?1", params![self.key, bytes])?;
            if plan == 0 {
                let attached = planned.strategy.ledger().attached().len() as i64;
                transaction.execute("UPDATE sb_imports SET in_time = 1 WHERE study = ?1 AND number < ?2", params![self.key, attached])?;
            }
            if closed > 0 {
                let close = "UPDATE sb_batches SET closed_at = ?3, survivors = ?4 WHERE study = ?1 AND batch = ?2";
                transaction.execute(close, params![self.key, closed as i64 - 1, now(), survivors])?;
            }
            self.write_trials(transaction, &rows)?;
            note(transaction, self.key, if rows.is_empty() { "finished" } else { "planned" }, None, None)?;
            Ok(true)
        })?;
        if is_written {
            self.keep(plan + 1, planned.strategy);
        }
        Ok(())
    }

    /// Keeps a strategy for the next who needs it.
    pub(super) fn keep(&self, plan: i64, strategy: Strategy) {
        // Before the first plan results may still be attached, each once.
        if plan == 0 {
            return;
        }
        *self.cached.lock().unwrap_or_else(PoisonError::into_inner) = Some(Cached { plan, strategy });
    }

    fn row_of(&self, trial: &Trial) -> Result<(i64, i64, String, i64)> {
        let values = self.spec.space().setting(trial.candidate, &trial.point);
        let settings = serde_json::to_string(&values).map_err(|_| self.inconsistent("a setting cannot be written"))?;
        Ok((trial.id as i64, trial.batch as i64, settings, seed_of(self.spec.problem().seed(), trial.id)))
    }

    fn write_trials(&self, transaction: &Transaction<'_>, rows: &[(i64, i64, String, i64)]) -> Result<(), Failure> {
        if let Some((_, batch, ..)) = rows.first() {
            transaction.execute("INSERT INTO sb_batches (study, batch, opened_at) VALUES (?1, ?2, ?3)", params![self.key, batch, now()])?;
        }
        let insert =
            "INSERT INTO sb_trials (study, id, batch, settings, seed, state, planned_at) VALUES (?1, ?2, ?3, ?4, ?5, 'queued', ?6)";
        let mut statement = transaction.prepare_cached(insert)?;
        for (id, batch, settings, seed) in rows {
            statement.execute(params![self.key, id, batch, settings, seed, now()])?;
        }
        Ok(())
    }

    /// The number of the plan.
    pub(super) fn plan_number(&self) -> Result<i64> {
        Ok(self.position()?.plan)
    }
}

fn outcome(value: Option<f64>, error: Option<f64>) -> Outcome {
    match (value, error) {
        (Some(mean), Some(standard_error)) => Outcome::Mean { mean, standard_error, replicates: None },
        (Some(value), None) => Outcome::Value(value),
        (None, _) => Outcome::Failed,
    }
}

fn has_open(transaction: &Transaction<'_>, study: i64) -> rusqlite::Result<bool> {
    let open = "SELECT EXISTS (SELECT 1 FROM sb_trials WHERE study = ?1 AND state IN ('queued', 'leased'))";
    transaction.prepare_cached(open)?.query_row([study], |row| row.get(0))
}

/// A seed for each trial: 32 bits, which every language's generators take, well mixed.
fn seed_of(study: u64, trial: u64) -> i64 {
    let mut mixed = study.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(trial.wrapping_add(1).wrapping_mul(0xbf58_476d_1ce4_e5b9));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 32) as i64
}
