//! Wells of replicates. What each came to stands in the book of events; the result of their trial is the mean. The standard error of a mean comes from the scatter of all wells of its plate,
//! so it is computed again for all of them when one well is corrected.

use super::Study;
use super::asking::note_detail;
use crate::store::Failure;
use crate::trial::{TrialRow, TrialStatus};
use crate::{EventKind, Result, TrialResult, Value};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use std::collections::{BTreeMap, BTreeSet};

/// A well: its name, which is empty where none was said, and what it came to unless it failed.
pub type Well = (String, Option<f64>);

/// What wells came to, by their trials.
pub type Wells = BTreeMap<u64, Vec<Well>>;

/// What somebody filled in: all of it is written down or nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FilledSheet {
    /// Results by their trials.
    pub results: Vec<(u64, TrialResult)>,
    /// What was remarked about trials, these or others.
    pub notes: Vec<(u64, String)>,
    /// Settings as they were used in truth.
    pub used: Vec<(u64, Vec<Value>)>,
    /// The wells behind results that are made of several.
    pub wells: Wells,
    /// What the controls came to that are on the plate of a trial. Told again, a well has its new value.
    pub controls: Option<(u64, Vec<(String, f64)>)>,
    /// Why results that stand otherwise are corrected; without a reason they are refused.
    pub correction: Option<String>,
}

fn values(wells: &[Well]) -> Vec<f64> {
    wells.iter().filter_map(|(_, value)| *value).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation of one well, from the scatter of wells about the means of their trials; none where nothing scatters.
#[must_use]
pub fn scatter<'a>(trials: impl IntoIterator<Item = &'a Vec<Well>>) -> Option<f64> {
    let (mut squares, mut freedom) = (0.0, 0.0);
    for values in trials.into_iter().map(|wells| values(wells)).filter(|values| values.len() > 1) {
        let mean = mean(&values);
        squares += values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
        freedom += values.len() as f64 - 1.0;
    }
    (squares > 0.0).then(|| (squares / freedom).sqrt())
}

/// What the wells of a trial come to together, given the standard deviation of one; none where all failed. One that is left of several is a single measurement.
#[must_use]
pub fn mean_of(wells: &[Well], scatter: Option<f64>) -> Option<TrialResult> {
    let values = values(wells);
    let count = Some(values.len()).filter(|count| *count > 0)?;
    let standard_error = scatter.filter(|_| count > 1).map(|level| level / (count as f64).sqrt());
    Some(TrialResult::Value { value: mean(&values), standard_error, replicates: standard_error.map(|_| count as u32) })
}

/// Whether wells came to the same, in whatever order they stand.
pub(super) fn is_same(one: &[Well], other: &[Well]) -> bool {
    let sorted = |wells: &[Well]| {
        let mut wells: Vec<(String, Option<u64>)> = wells.iter().map(|(name, value)| (name.clone(), value.map(f64::to_bits))).collect();
        wells.sort();
        wells
    };
    sorted(one) == sorted(other)
}

/// Whether a result is the one that stands, each with its wells: what other wells do to a standard error is no other result.
#[must_use]
pub fn is_as_told(stands: (&TrialResult, Option<&Vec<Well>>), comes: (&TrialResult, Option<&Vec<Well>>)) -> bool {
    let bare = |result: &TrialResult| {
        let (value, _, replicates, _) = result.columns();
        (value, replicates)
    };
    match (stands.1, comes.1) {
        (Some(one), Some(other)) => is_same(one, other),
        // The wells were not kept in files of earlier versions.
        (None, Some(_)) => bare(stands.0) == bare(comes.0),
        _ => stands.0.outcome() == comes.0.outcome(),
    }
}

impl TrialRow {
    /// The trial in each of its wells, with what that well came to; as it is where the wells are not known.
    #[must_use]
    pub fn in_wells(self, wells: Option<&Vec<Well>>) -> Vec<Self> {
        let Some(wells) = wells.filter(|_| !self.state.is_open()) else { return vec![self] };
        let one = |(name, value): &Well| Self {
            well: if name.is_empty() { self.well.clone() } else { Some(name.clone()) },
            value: *value,
            state: if value.is_some() { self.state } else { TrialStatus::Failed },
            standard_error: None,
            replicates: None,
            ..self.clone()
        };
        wells.iter().map(one).collect()
    }
}

impl Study {
    /// What the wells of replicates came to, where they were told and nothing else stands in their place.
    pub fn wells(&self) -> Result<Wells> {
        Ok(read(&self.store().read(|c| self.well_events(c))?))
    }

    /// How many of the planned measurements of each trial are lost: wells that were empty when wells were last told, and every one that ever failed, even where it has a value now or
    /// only a mean stands there. Whoever measures until something comes has chosen what comes.
    pub(super) fn lost_wells(&self) -> Result<BTreeMap<u64, usize>> {
        let (mut empty, mut failed) = (BTreeMap::new(), BTreeMap::<u64, BTreeSet<String>>::new());
        for (trial, detail) in self.store().read(|c| self.well_events(c))? {
            let (id, wells) = (trial.unsigned_abs(), wells_of(&detail));
            if wells.is_empty() {
                continue;
            }
            empty.insert(id, self.spec.replicates().saturating_sub(values(&wells).len()));
            let names = wells.into_iter().enumerate().filter(|(_, (_, value))| value.is_none());
            failed.entry(id).or_default().extend(names.map(|(i, (name, _))| if name.is_empty() { i.to_string() } else { name }));
        }
        Ok(empty.into_iter().map(|(id, empty)| (id, empty.max(failed[&id].len()))).collect())
    }

    fn well_events(&self, connection: &Connection) -> rusqlite::Result<Vec<(i64, String)>> {
        // Where a setting is in one well, its trial says what it came to: the many events need not be looked at.
        if self.spec.replicates() < 2 {
            return Ok(Vec::new());
        }
        let look = "SELECT trial, detail FROM sb_events WHERE study = ?1 AND kind = 'wells' ORDER BY event";
        connection.prepare_cached(look)?.query_map([self.key], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
    }

    /// The same within a transaction.
    pub(super) fn standing_wells(&self, transaction: &Transaction<'_>) -> Result<Wells, Failure> {
        Ok(read(&self.well_events(transaction)?))
    }

    /// Writes down what wells came to, or that nothing is known of them any more.
    pub(super) fn write_wells(&self, transaction: &Transaction<'_>, id: u64, wells: &[Well]) -> Result<(), Failure> {
        let row = i64::try_from(id).unwrap_or(-1);
        // As words: what is read from a number of JSON may differ in its last digit.
        let wells: Vec<(&str, Option<String>)> = wells.iter().map(|(name, value)| (name.as_str(), value.map(|v| v.to_string()))).collect();
        Ok(note_detail(transaction, self.key, EventKind::Wells, Some(row), &serde_json::json!(wells))?)
    }

    /// Gives the means on the plates of these trials the standard errors that the wells as they stand now give them.
    pub(super) fn pool_again(&self, transaction: &Transaction<'_>, ids: &[u64]) -> Result<(), Failure> {
        let standing = self.standing_wells(transaction)?;
        if standing.is_empty() {
            return Ok(());
        }
        let look = "SELECT batch, plate FROM sb_trials WHERE study = ?1 AND id = ?2";
        let mut plates: BTreeSet<(i64, Option<i64>)> = BTreeSet::new();
        for id in ids {
            let row = i64::try_from(*id).unwrap_or(-1);
            let plate = transaction.prepare_cached(look)?.query_row(params![self.key, row], |row| Ok((row.get(0)?, row.get(1)?)));
            plates.extend(plate.optional()?);
        }
        plates.into_iter().try_for_each(|plate| self.pool_plate(transaction, plate, &standing))
    }

    fn pool_plate(&self, transaction: &Transaction<'_>, (batch, plate): (i64, Option<i64>), standing: &Wells) -> Result<(), Failure> {
        // What came late is used by nothing.
        let look = "SELECT id FROM sb_trials WHERE study = ?1 AND batch = ?2 AND plate IS ?3 AND state = 'done' ORDER BY id";
        let ids: Vec<i64> = transaction
            .prepare_cached(look)?
            .query_map(params![self.key, batch, plate], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        let means: Vec<(i64, &Vec<Well>)> = ids
            .into_iter()
            .filter_map(|id| Some((id, standing.get(&id.unsigned_abs())?)))
            .filter(|(_, wells)| values(wells).len() > 1)
            .collect();
        let level = scatter(means.iter().map(|(_, wells)| *wells));
        let update = "UPDATE sb_trials SET std_error = ?3, replicates = ?4 WHERE study = ?1 AND id = ?2 AND (std_error IS NOT ?3 OR replicates IS NOT ?4)";
        let mut changed = 0;
        for (id, wells) in means {
            let result = mean_of(wells, level);
            let (_, std_error, replicates, _) = result.as_ref().map_or((None, None, None, None), TrialResult::columns);
            changed += transaction.prepare_cached(update)?.execute(params![self.key, id, std_error, replicates])?;
        }
        if changed > 0 {
            self.forget(transaction, batch)?;
        }
        Ok(())
    }
}

/// The wells of one event.
pub(super) fn wells_of(detail: &str) -> Vec<Well> {
    let words: Vec<(String, Option<String>)> = serde_json::from_str(detail).unwrap_or_default();
    words.into_iter().map(|(name, value)| (name, value.and_then(|value| value.parse().ok()))).collect()
}

/// What the newest event says of each trial.
fn read(events: &[(i64, String)]) -> Wells {
    let mut all: Wells = events.iter().map(|(trial, detail)| (trial.unsigned_abs(), wells_of(detail))).collect();
    all.retain(|_, wells| !wells.is_empty());
    all
}
