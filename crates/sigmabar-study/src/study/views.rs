//! Looking at a study: trials, batches, advice, status. Nothing here plans or writes.

use super::Study;
use super::nearest::Nearest;
use super::shown::{Advice, BatchRow, BestObserved, Status, Survivors};
use crate::store::{CollectedWord, MarkNumber, now};
use crate::{ControlRow, EventKind, EventRow, ImportedRow, Page, Result, TrialResult, TrialRow, TrialStatus, Value};
use rusqlite::{OptionalExtension, Row, params};
use sigmabar::strategy::{BatchReport, Direction, PremiseRow, Standing};
use sigmabar::{Collected, Strategy};
use std::collections::BTreeMap;

impl Study {
    /// All trials in the order of their ids.
    pub fn trials(&self) -> Result<Vec<TrialRow>> {
        self.trials_of(&Page::default())
    }

    /// Some trials, in the order of their ids: what is looked at costs, not what there is.
    pub fn trials_of(&self, page: &Page) -> Result<Vec<TrialRow>> {
        let query = format!(
            "SELECT id, batch, settings, {STANDING}, worker, leased_until, attempts, value, std_error, reason, seed, planned_at, asked_at, \
             told_at, well, note, replicates, plate FROM sb_trials WHERE study = ?1 AND id > ?3 AND (?4 IS NULL OR {STANDING} = ?4) AND (?5 IS NULL OR batch = ?5) AND (?7 IS NULL OR worker = ?7) \
             ORDER BY id LIMIT ?6"
        );
        let limit = |number: Option<usize>| number.map(|number| i64::try_from(number).unwrap_or(i64::MAX));
        let after = page.after.map_or(-1, |id| i64::try_from(id).unwrap_or(i64::MAX));
        let wanted = params![self.key, now(), after, page.state, limit(page.batch), limit(page.at_most).unwrap_or(-1), page.worker];
        let rows: Vec<(TrialRow, String)> = self.store().read(|c| c.prepare_cached(&query)?.query_map(wanted, trial_row)?.collect())?;
        rows.into_iter().map(|(row, settings)| Ok(TrialRow { values: self.read_values(&settings)?, ..row })).collect()
    }

    /// Results measured before the study, in the order of import.
    pub fn imported(&self) -> Result<Vec<ImportedRow>> {
        let query = "SELECT settings, value, std_error, reason, replicates, is_corrected FROM sb_imports WHERE study = ?1 ORDER BY number";
        let read = |row: &Row<'_>| {
            let result = TrialResult::of_columns(row.get(1)?, row.get(2)?, row.get(4)?, row.get(3)?);
            let MarkNumber(mark) = row.get(5)?;
            Ok((row.get(0)?, ImportedRow { values: Vec::new(), result, mark }))
        };
        let rows: Vec<(String, ImportedRow)> = self.store().read(|c| c.prepare(query)?.query_map([self.key], read)?.collect())?;
        rows.into_iter().map(|(settings, row)| Ok(ImportedRow { values: self.read_values(&settings)?, ..row })).collect()
    }

    /// As what each of them was imported.
    pub fn imported_as(&self) -> Result<Vec<Collected>> {
        let query = "SELECT collected FROM sb_imports WHERE study = ?1 ORDER BY number";
        let read = |row: &Row<'_>| row.get(0).map(|CollectedWord(collected)| collected);
        self.store().read(|c| c.prepare(query)?.query_map([self.key], read)?.collect())
    }

    /// What control wells came to, in the order of batches, plates and wells.
    pub fn controls(&self) -> Result<Vec<ControlRow>> {
        let query = "SELECT json_extract(detail, '$.batch'), json_extract(detail, '$.plate'), json_extract(detail, '$.well'), \
                     json_extract(detail, '$.value') FROM sb_events WHERE study = ?1 AND kind = 'control' ORDER BY event";
        let read = |row: &Row<'_>| Ok(((row.get(0)?, row.get(1)?, row.get(2)?), row.get(3)?));
        type Key = (i64, Option<i64>, String);
        let rows: Vec<(Key, f64)> = self.store().read(|c| c.prepare(query)?.query_map([self.key], read)?.collect())?;
        let latest: BTreeMap<Key, f64> = rows.into_iter().collect();
        let row = |((batch, plate, well), value): (Key, f64)| ControlRow {
            batch: usize::try_from(batch).unwrap_or_default(),
            plate: plate.map(i64::unsigned_abs),
            well,
            value,
        };
        Ok(latest.into_iter().map(row).collect())
    }

    /// What happened after the event of a number (0 for all), in order.
    pub fn events_after(&self, number: u64) -> Result<Vec<EventRow>> {
        self.some_events_after(number, usize::MAX)
    }

    /// The same, at most so many.
    pub fn some_events_after(&self, number: u64, at_most: usize) -> Result<Vec<EventRow>> {
        let query = "SELECT event, at, kind, trial, worker, detail FROM sb_events WHERE event > ?2 AND study = ?1 ORDER BY event LIMIT ?3";
        let event = |row: &Row<'_>| {
            let (number, trial): (i64, Option<i64>) = (row.get(0)?, row.get(3)?);
            let trial = trial.map(i64::unsigned_abs);
            Ok(EventRow {
                number: number.unsigned_abs(),
                at: row.get(1)?,
                kind: row.get(2)?,
                trial,
                worker: row.get(4)?,
                detail: row.get(5)?,
            })
        };
        let after = i64::try_from(number).unwrap_or(i64::MAX);
        let limit = i64::try_from(at_most).unwrap_or(i64::MAX);
        self.store().read(|c| c.prepare_cached(query)?.query_map(params![self.key, after, limit], event)?.collect())
    }

    /// Which kinds of events there were after the event of a number, and the number of the last event.
    pub fn news_after(&self, number: u64) -> Result<(Vec<EventKind>, u64)> {
        let query = "SELECT kind, max(event) FROM sb_events WHERE event > ?2 AND study = ?1 GROUP BY kind";
        let after = i64::try_from(number).unwrap_or(i64::MAX);
        let kind = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let news: Vec<(EventKind, i64)> =
            self.store().read(|c| c.prepare_cached(query)?.query_map(params![self.key, after], kind)?.collect())?;
        let last = news.iter().map(|(_, last)| last.unsigned_abs()).max().unwrap_or(number);
        Ok((news.into_iter().map(|(kind, _)| kind).collect(), last))
    }

    /// The number of the last event; 0 where nothing has happened.
    pub fn last_event(&self) -> Result<u64> {
        let query = "SELECT event FROM sb_events WHERE study = ?1 ORDER BY event DESC LIMIT 1";
        let last: Option<i64> = self.store().read(|c| c.prepare_cached(query)?.query_row([self.key], |row| row.get(0)).optional())?;
        Ok(last.unwrap_or(0).unsigned_abs())
    }

    /// One row for each batch that is answered or closed.
    pub fn batches(&self) -> Result<Vec<BatchRow>> {
        let strategy = self.strategy()?;
        let closed = strategy.ledger().closed() as i64;
        let query = "SELECT batch, opened_at, closed_at, survivors FROM sb_batches WHERE study = ?1 ORDER BY batch";
        let rows: Vec<(i64, i64, Option<i64>, Option<String>)> = self
            .store()
            .read(|c| c.prepare(query)?.query_map([self.key], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?.collect())?;
        let row = |(report, (batch, opened_at, closed_at, survivors)): (BatchReport, (i64, i64, Option<i64>, Option<String>))| {
            let survivors = match survivors {
                // Answered, and nobody has asked since; or a result was corrected: what is left is not written down.
                None if batch + 1 == closed => Survivors::of(&strategy, self.spec.space())?,
                text => text.and_then(|text| serde_json::from_str(&text).ok()),
            };
            Ok(BatchRow { batch: usize::try_from(batch).unwrap_or_default(), report, survivors, opened_at, closed_at })
        };
        strategy.batches()?.into_iter().zip(rows).map(row).collect()
    }

    /// The setting to use by what is known now, never the luckiest draw; `None` before anything was measured.
    pub fn recommend(&self) -> Result<Option<Advice>> {
        let Some(best) = self.strategy()?.recommend_with_range()? else { return Ok(None) };
        let names = || self.spec.space().names();
        let is_minimized = self.spec.problem().direction() == Direction::Minimize;
        let sign = if is_minimized { -1.0 } else { 1.0 };
        let trials = self.trials()?;
        let nearest = Nearest::to(&best.point, self.spec.space(), &trials, &self.imported()?);
        let told = trials.into_iter().filter_map(|row| Some((row.value?, row)));
        let best_observed = told
            .max_by(|(a, first), (b, second)| (sign * a).total_cmp(&(sign * b)).then(second.id.cmp(&first.id)))
            .map(|(value, row)| BestObserved { id: row.id, values: names().zip(row.values).collect(), value });
        let values = self.spec.space().setting(best.candidate, &best.point);
        let per_norm = self.rounding_slack(&best.point, &values, 1.0)?;
        let norm_bound = self.spec.problem().norm_bound().unwrap_or(0.0);
        let slack = norm_bound * per_norm + self.estimated_slack(&best.point, &values)?;
        let mut certificate = best.certificate;
        certificate.range = certificate.range.map(|range| range.moved(norm_bound, per_norm));
        Ok(Some(Advice {
            called: self.spec.space().label(&values),
            values: names().zip(values).collect(),
            lower: best.lower - slack,
            upper: best.upper + slack,
            gap: best.gap + slack,
            candidate_gap: best.candidate_gap.map(|gap| gap + slack),
            certificate,
            best_observed,
            point: best.point,
            nearest,
        }))
    }

    /// How many trials are in which state.
    pub fn counts(&self) -> Result<BTreeMap<TrialStatus, usize>> {
        let query = format!("SELECT {STANDING}, count(*) FROM sb_trials WHERE study = ?1 GROUP BY 1");
        let count = |row: &Row<'_>| Ok((row.get(0)?, usize::try_from(row.get::<_, i64>(1)?).unwrap_or_default()));
        self.store().read(|c| c.prepare_cached(&query)?.query_map(params![self.key, now()], count)?.collect())
    }

    /// How far the value at a recommended point can be from that at the setting to which its digits are cut, for each unit of norm: $d_k$ in the data's scale, because
    /// $|f(x)-f(x')|\le\lVert f\rVert d_k(x,x')$ (algorithm notes 9.1); under the kernel with all length-scales times `factor`. 0 where nothing is cut, or no norm is bounded.
    fn rounding_slack(&self, point: &[f64], values: &[Value], factor: f64) -> Result<f64> {
        let problem = self.spec.problem();
        let (Some(kernel), Some(_), true) = (problem.kernel(), problem.norm_bound(), self.spec.space().is_rounding()) else {
            return Ok(0.0);
        };
        let made = self.spec.space().point(values)?;
        if made == point {
            return Ok(0.0);
        }
        let kernel = kernel.value.stretched(factor)?;
        let (a, b, both) = (kernel.value(point, point), kernel.value(&made, &made), kernel.value(point, &made));
        let rounding = 8.0 * f64::EPSILON * (a + b);
        Ok(problem.prior().unit() * ((a + b - 2.0 * both).max(0.0) + rounding).sqrt())
    }

    /// How far it is where no norm is bounded, by the model: an estimate, as all that such a run says.
    fn estimated_slack(&self, point: &[f64], values: &[Value]) -> Result<f64> {
        if self.spec.problem().norm_bound().is_some() || !self.spec.space().is_rounding() {
            return Ok(0.0);
        }
        let (strategy, made) = (self.strategy()?, self.spec.space().point(values)?);
        if made == point {
            return Ok(0.0);
        }
        Ok(strategy.posterior()?.map_or(Ok(0.0), |model| model.apart(point, &made))?)
    }

    /// The same under a bounded norm for the setting that a run recommends.
    fn slack_of(&self, run: &Strategy, factor: f64) -> Result<f64> {
        let Some(best) = run.recommend()? else { return Ok(0.0) };
        self.rounding_slack(&best.point, &self.spec.space().setting(best.candidate, &best.point), factor)
    }

    /// Where the study stands.
    pub fn status(&self) -> Result<Status> {
        let by_state = format!("SELECT {STANDING}, count(*), max(batch) + 1 FROM sb_trials WHERE study = ?1 GROUP BY 1");
        let by_study = "SELECT finished, (SELECT count(*) FROM sb_imports i WHERE i.study = s.study), \
                        (SELECT count(*) FROM sb_imports i WHERE i.study = s.study AND (i.in_time OR s.plan = 0)) FROM sb_studies s WHERE study = ?1";
        let count = |number: i64| usize::try_from(number).unwrap_or_default();
        let (states, (is_finished, imported, imported_in_time)) = self.store().read(|c| {
            let state = |row: &Row<'_>| Ok((row.get(0)?, count(row.get(1)?), count(row.get(2)?)));
            let states = c.prepare_cached(&by_state)?.query_map(params![self.key, now()], state)?.collect::<rusqlite::Result<Vec<_>>>()?;
            let study = |row: &Row<'_>| Ok((row.get(0)?, count(row.get(1)?), count(row.get(2)?)));
            Ok((states, c.prepare_cached(by_study)?.query_row([self.key], study)?))
        })?;
        let batches = states.iter().map(|(.., batches)| *batches).max().unwrap_or(0);
        let counts: BTreeMap<TrialStatus, usize> = states.into_iter().map(|(state, count, _)| (state, count)).collect();
        let (planned, is_open) = (counts.values().sum(), counts.keys().any(|state| state.is_open()));
        let problem = self.spec.problem();
        let (wanted_gap, wanted_candidate_gap) = (problem.wanted_gap(), problem.wanted_candidate_gap());
        let is_wanted = wanted_gap.is_some() || wanted_candidate_gap.is_some();
        let last = if is_wanted { self.batches()?.pop() } else { None };
        let strategy = self.strategy()?;
        let is_gap_reached = last.is_some_and(|row| problem.is_reached(row.report.gap, row.report.candidate_gap));
        Ok(Status {
            name: self.name.clone(),
            strategy: self.spec.policy().name().to_owned(),
            counts,
            budget: self.spec.problem().budget(),
            planned,
            batches,
            closed: batches - usize::from(is_open && batches > 0),
            // Whether or not somebody has asked since the last answer: whoever asks next is told so.
            is_finished: is_finished || (!is_open && (planned >= self.spec.problem().budget() || is_gap_reached)),
            wanted_gap,
            wanted_candidate_gap,
            is_gap_reached,
            awaits_premises: strategy.awaits_premises(),
            contradiction: strategy.contradiction(),
            imported,
            imported_in_time,
        })
    }

    /// The claim as a function of its premises ([`Strategy::standing`]).
    pub fn standing(&self) -> Result<Option<Standing>> {
        if self.is_without_premises() {
            return Ok(None);
        }
        let run = self.strategy()?;
        let Some(standing) = run.standing()? else { return Ok(None) };
        Ok(Some(standing.moved(self.slack_of(&run, 1.0)?)))
    }

    /// Why there is none, in words ([`Strategy::why_no_standing`]).
    pub fn why_no_standing(&self) -> Result<String> {
        if self.is_without_premises() {
            return Ok("no norm bound is declared".to_owned());
        }
        Ok(self.strategy()?.why_no_standing()?)
    }

    /// Whether nothing can be claimed: a recommendation to speak of would be learnt first.
    fn is_without_premises(&self) -> bool {
        self.spec.problem().norm_bound().is_none() && self.spec.pilot() == 0
    }

    /// The same with all length-scales multiplied by each factor ([`Strategy::premise_map`]).
    pub fn premise_map(&self, factors: &[f64]) -> Result<Vec<PremiseRow>> {
        let run = self.strategy()?;
        run.premise_map(factors)?.into_iter().map(|row| Ok(row.clone().moved(self.slack_of(&run, row.factor)?))).collect()
    }

    /// The run with everything told so far, and with what happened to it.
    pub fn strategy(&self) -> Result<Strategy> {
        let (mut strategy, plan) = self.informed()?;
        strategy.set_mishaps(self.mishaps()?);
        self.keep(plan, strategy.clone());
        Ok(strategy)
    }

    pub(super) fn read_values(&self, settings: &str) -> Result<Vec<Value>> {
        let values: Vec<Value> = serde_json::from_str(settings).map_err(|_| self.inconsistent("the setting of a trial cannot be read"))?;
        if values.len() != self.spec.space().parameters().len() {
            return Err(self.inconsistent("the setting of a trial has another number of values than there are parameters"));
        }
        Ok(values)
    }
}

/// Where a trial stands at the time of the second parameter: a lease that has run out is still written as one.
const STANDING: &str = "CASE WHEN state = 'leased' AND leased_until <= ?2 THEN 'expired' ELSE state END";

fn trial_row(row: &Row<'_>) -> rusqlite::Result<(TrialRow, String)> {
    let trial = TrialRow {
        id: row.get::<_, i64>(0)?.unsigned_abs(),
        batch: usize::try_from(row.get::<_, i64>(1)?).unwrap_or_default(),
        values: Vec::new(),
        state: row.get(3)?,
        worker: row.get(4)?,
        leased_until: row.get(5)?,
        attempts: row.get(6)?,
        value: row.get(7)?,
        standard_error: row.get(8)?,
        replicates: row.get(16)?,
        reason: row.get(9)?,
        seed: row.get::<_, i64>(10)?.unsigned_abs(),
        planned_at: row.get(11)?,
        asked_at: row.get(12)?,
        told_at: row.get(13)?,
        plate: row.get::<_, Option<i64>>(17)?.map(i64::unsigned_abs),
        well: row.get(14)?,
        note: row.get(15)?,
    };
    Ok((trial, row.get(2)?))
}
