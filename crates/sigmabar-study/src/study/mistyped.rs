//! Results that are probably mistyped, found before they are written down: once a batch is complete it is analysed, and a correction after that is on the certificate.
//! Nothing is left out or changed by what is found: whoever measured says whether a number is what was measured.

use super::Study;
use super::telling::check;
use super::wells::{FilledSheet, is_same};
use crate::trial::TrialRow;
use crate::value::short;
use crate::{Error, Result, TrialResult, TrialStatus, Value};
use std::collections::{BTreeMap, HashSet};
use std::fmt;

/// Repeats this many times as far apart as they should be are said to be, and results so many deviations beyond the reach of the norm: normal noise does not do that once in 10¹⁴.
const FAR: f64 = 8.0;
/// A result this many times as far from all others as these lie apart is alone.
const ALONE: f64 = 3.0;
/// Nobody mistypes one of so many; and fewer are no group.
const MANY: usize = 4;
/// Others there must be, for one to be alone.
const OTHERS: usize = 8;

/// Why a result is probably mistyped. Rows have the values that are about to be told; of a trial in several wells, a row is one of these.
#[derive(Clone, Debug)]
pub enum Mistyped {
    /// Two results of one setting are much farther apart than was said of the noise and than other repeats are.
    Repeats {
        /// The trial with the smaller result.
        low: TrialRow,
        /// The trial with the larger one.
        high: Box<TrialRow>,
        /// How far apart repeats usually are: by what was said of the noise, or by what the other repeats show.
        usual: f64,
    },
    /// No function within the premises gives it.
    Premises {
        /// The trial.
        row: TrialRow,
        /// What the premises allow.
        allowed: (f64, f64),
    },
    /// Most of what is told together lies far from everything told before, as in another unit.
    Together {
        /// The first of them.
        row: TrialRow,
        /// How many are told together.
        count: usize,
        /// The middle one of their results.
        middle: f64,
        /// From the smallest to the largest told before.
        before: (f64, f64),
    },
    /// All others are close together and far away.
    Alone {
        /// The trial.
        row: TrialRow,
        /// From the smallest to the largest of the others.
        others: (f64, f64),
    },
}

impl Study {
    /// Refuses results of which one is probably mistyped: to be asked before anything that somebody typed is told. Nothing is decided by a value but the question.
    ///
    /// # Errors
    /// [`Error::Mistyped`], [`Error::Result`], [`Error::Store`].
    pub fn refuse_mistyped(&self, coming: &[(u64, TrialResult)]) -> Result<()> {
        self.refuse_mistyped_sheet(&FilledSheet { results: coming.to_vec(), ..FilledSheet::default() })
    }

    /// The same for a sheet, whose wells are looked at one by one.
    ///
    /// # Errors
    /// As [`Study::refuse_mistyped`].
    pub fn refuse_mistyped_sheet(&self, sheet: &FilledSheet) -> Result<()> {
        sheet.results.iter().try_for_each(|(id, result)| check(*id, result))?;
        let mut found = self.mistyped_in(sheet)?.into_iter();
        let Some(first) = found.next() else { return Ok(()) };
        let wells = first.trials().map(|row| (row.id, row.well.clone())).collect();
        Err(Error::Mistyped { why: first.to_string(), wells, more: found.len() })
    }

    /// Which of these results are probably mistyped, those that were told before left out.
    pub fn mistyped(&self, coming: &[(u64, TrialResult)]) -> Result<Vec<Mistyped>> {
        self.mistyped_in(&FilledSheet { results: coming.to_vec(), ..FilledSheet::default() })
    }

    fn mistyped_in(&self, sheet: &FilledSheet) -> Result<Vec<Mistyped>> {
        if !sheet.results.iter().any(|(_, result)| matches!(result, TrialResult::Value { .. })) {
            return Ok(Vec::new());
        }
        // In the order of their ids.
        let (mut rows, mut wells, mut new) = (self.trials()?, self.wells()?, HashSet::new());
        for (id, result) in &sheet.results {
            let (Ok(place), TrialResult::Value { value, .. }) = (rows.binary_search_by_key(id, |row| row.id), result) else { continue };
            let (row, given) = (&mut rows[place], sheet.wells.get(id));
            let is_changed = given.zip(wells.get(id)).map_or(row.value != Some(*value), |(given, standing)| !is_same(given, standing));
            if row.value.is_none() || (sheet.correction.is_some() && is_changed) {
                (row.value, row.state) = (Some(*value), TrialStatus::Done);
                wells.extend(given.map(|given| (*id, given.clone())));
                new.insert(*id);
            }
        }
        let mut rows: Vec<TrialRow> = rows
            .into_iter()
            .flat_map(|row| {
                let wells = wells.get(&row.id);
                row.in_wells(wells)
            })
            .collect();
        rows.retain(|row| row.state == TrialStatus::Done && row.value.is_some());
        let is_new = |row: &TrialRow| new.contains(&row.id);
        let (coming, standing): (Vec<&TrialRow>, Vec<&TrialRow>) = rows.iter().partition(|row| is_new(row));
        if MANY * standing.iter().filter(|row| self.beyond(row).is_some()).count() > standing.len() {
            // What was declared is wrong, as somebody was sure before, and the analysis says so.
            return Ok(Vec::new());
        }
        let mut found: Vec<Mistyped> = coming.iter().filter_map(|row| self.beyond(row)).collect();
        if found.is_empty() {
            let is_worse = |a: f64, b: f64| self.spec().problem().to_model(a) < self.spec().problem().to_model(b);
            found.extend(together(&coming, &standing, is_worse));
        }
        if found.is_empty() {
            found.extend(self.apart(&rows).filter(|(low, high, _)| is_new(low) || is_new(high)).map(Mistyped::of_repeats));
        }
        if found.is_empty() {
            found.extend(alone(&rows).filter(|(row, _)| is_new(row)).map(|(row, others)| Mistyped::Alone { row, others }));
        }
        Ok(found)
    }

    fn beyond(&self, row: &TrialRow) -> Option<Mistyped> {
        let problem = self.spec().problem();
        let (kernel, norm_bound, noise) = (problem.kernel()?, problem.norm_bound()?, problem.noise()?);
        let reach = norm_bound * kernel.value.max_variance()?.sqrt() + FAR * noise.std_dev_bound();
        let (a, b) = (problem.to_data(-reach), problem.to_data(reach));
        (problem.to_model(value(row)).abs() > reach).then(|| Mistyped::Premises { row: row.clone(), allowed: (a.min(b), a.max(b)) })
    }

    /// The two results of one setting that are farthest apart, if that is much farther than was said of the noise and than other repeats are. Where replicates bound a level
    /// that nobody knows, no premise is contradicted by a mistyped value: it only makes every interval wider.
    fn apart(&self, rows: &[TrialRow]) -> Option<(TrialRow, TrialRow, f64)> {
        let problem = self.spec().problem();
        let declared = problem.noise().map(|noise| std::f64::consts::SQRT_2 * noise.std_dev_bound() * problem.prior().unit());
        let mut groups = BTreeMap::<String, Vec<&TrialRow>>::new();
        for row in rows {
            let setting: Vec<String> = row.values.iter().map(Value::to_string).collect();
            groups.entry(setting.join("\n")).or_default().push(row);
        }
        let mut pairs: Vec<(f64, &TrialRow, &TrialRow)> = groups
            .into_values()
            .filter_map(|mut rows| {
                rows.sort_by(|a, b| value(a).total_cmp(&value(b)));
                let (high, low) = (rows.pop()?, rows.into_iter().next()?);
                Some((value(high) - value(low), low, high))
            })
            .collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (distance, low, high) = pairs.pop()?;
        // Where nothing was said of the noise, as many others must show it.
        let expected = declared.or((pairs.len() >= OTHERS).then_some(0.0))?;
        let usual = pairs.get(pairs.len() / 2).map_or(expected, |middle| expected.max(middle.0));
        (usual > 0.0 && distance > FAR * usual).then(|| (low.clone(), high.clone(), usual))
    }
}

impl Mistyped {
    fn of_repeats((low, high, usual): (TrialRow, TrialRow, f64)) -> Self {
        Self::Repeats { low, high: Box::new(high), usual }
    }

    /// The trials that it is about.
    pub fn trials(&self) -> impl Iterator<Item = &TrialRow> {
        let (one, other) = match self {
            Self::Repeats { low, high, .. } => (low, Some(&**high)),
            Self::Premises { row, .. } | Self::Together { row, .. } | Self::Alone { row, .. } => (row, None),
        };
        std::iter::once(one).chain(other)
    }
}

impl fmt::Display for Mistyped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |row: &TrialRow| {
            let well = row.well.as_ref().map(|well| format!(" (well {well})")).unwrap_or_default();
            format!("trial {}{well} came to {}", row.id, short(value(row)))
        };
        match self {
            Self::Repeats { low, high, usual } => {
                write!(f, "{}, {} at the same setting, where repeats are usually {} apart", named(low), named(high), short(*usual))
            }
            Self::Premises { row, allowed: (low, high) } => {
                write!(f, "{}, and what was declared allows {} to {}", named(row), short(*low), short(*high))
            }
            Self::Together { row, count, middle, before: (low, high) } => {
                write!(
                    f,
                    "{}, the middle one of {count} to {}, and all before lie between {} and {}: another unit?",
                    named(row),
                    short(*middle),
                    short(*low),
                    short(*high)
                )
            }
            Self::Alone { row, others: (low, high) } => {
                write!(f, "{}, and all others lie between {} and {}", named(row), short(*low), short(*high))
            }
        }
    }
}

fn value(row: &TrialRow) -> f64 {
    row.value.unwrap_or_default()
}

/// Whether three quarters of what comes lie beyond everything that stands, and far from it. A search moves to better results, and closer together: there only a distance of many times
/// the range of all before is none of its steps. It does not move below everything before: there results that lie close together for their distance are enough, as those of a
/// unit that makes all numbers small do.
fn together(coming: &[&TrialRow], standing: &[&TrialRow], is_worse: impl Fn(f64, f64) -> bool) -> Option<Mistyped> {
    let sorted = |rows: &[&TrialRow]| {
        let mut values: Vec<f64> = rows.iter().map(|row| value(row)).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let (new, old) = (sorted(coming), sorted(standing));
    // Several wells of one setting lie close together by themselves.
    let settings = |rows: &[&TrialRow]| rows.iter().map(|row| row.id).collect::<HashSet<_>>().len();
    if settings(coming) < MANY || settings(standing) < OTHERS {
        return None;
    }
    let (quarter, middle) = ((new.len() - 1) / 4, new[new.len() / 2]);
    let (low, high) = (new[quarter], new[new.len() - 1 - quarter]);
    let (least, largest) = (old[0], old[old.len() - 1]);
    let distance = (low - largest).max(least - high);
    // Equal ones are at a floor.
    let is_close = high > low && is_worse(middle, old[old.len() / 2]);
    let range = if is_close { (largest - least).min(high - low) } else { largest - least };
    (distance > 0.0 && largest > least && distance > FAR * range).then(|| Mistyped::Together {
        row: coming[0].clone(),
        count: new.len(),
        middle,
        before: (least, largest),
    })
}

/// The one result that lies far from all others, if one does: of two that do, each is a sign that such results come.
fn alone(rows: &[TrialRow]) -> Option<(TrialRow, (f64, f64))> {
    let mut sorted: Vec<&TrialRow> = rows.iter().collect();
    sorted.sort_by(|a, b| value(a).total_cmp(&value(b)));
    let (first, last) = (*sorted.first()?, *sorted.last()?);
    if sorted.len() <= OTHERS {
        return None;
    }
    let (second, second_last) = (value(sorted[1]), value(sorted[sorted.len() - 2]));
    let is_far = |distance: f64, low: f64, high: f64| high > low && distance > ALONE * (high - low);
    if is_far(second - value(first), second, value(last)) {
        return Some((first.clone(), (second, value(last))));
    }
    is_far(value(last) - second_last, value(first), second_last).then(|| (last.clone(), (value(first), second_last)))
}
