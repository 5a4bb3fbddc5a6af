//! Results that were told before: those from which premises were learnt, those of the pilot, and those of studies in the same file with other premises.

use super::Study;
use super::wells::wells_of;
use crate::spec::looked_up;
use crate::store::CollectedWord;
use crate::{Result, StudySpec, Value};
use rusqlite::Row;
use sigmabar::number::{Agreements, MANY_DIGITS, chance_to_agree, last_digit};
use std::collections::BTreeMap;

/// How often results agree with what was told before, to the digits they have.
#[derive(Debug, Default)]
struct Copies {
    /// In many digits: each is one.
    certain: usize,
    /// Results of few digits.
    short: Agreements,
}

impl Copies {
    /// Takes in what one setting came to, each value with the level of its noise; `agrees` says whether it was told before within some distance, which is known to a `step`.
    fn look(&mut self, values: &[(f64, f64)], step: f64, agrees: impl Fn(f64, f64) -> bool) {
        let (mut is_certain, mut is_equal, mut chance) = (false, false, 0.0);
        for &(value, level) in values {
            let (digits, last) = last_digit(value);
            let by_chance = chance_to_agree(last + 2.0 * step, level);
            if digits >= MANY_DIGITS {
                is_certain |= agrees(value, 0.5 * last);
            } else if by_chance < 0.5 {
                is_equal |= agrees(value, 0.5 * last);
                chance += by_chance;
            }
        }
        self.certain += usize::from(is_certain);
        if !is_certain && chance > 0.0 {
            self.short.look(chance.min(0.499), is_equal);
        }
    }

    /// How many are copies.
    fn count(&self) -> usize {
        self.certain + self.short.copies()
    }
}

/// A result: its setting and its value.
type Response = (Vec<Value>, f64);
/// What a setting came to, with the level of the noise of each value.
type Claimed = (Vec<Value>, Vec<(f64, f64)>);

impl Study {
    /// How many results that a claim can rest on are copies of some that its premises were learnt from: of another study ([`crate::Taught`]), or of the pilot; or that were known, under other
    /// premises, when its own were fixed. Of a setting in several wells each well is looked at.
    pub(super) fn taught(&self) -> Result<usize> {
        let (rows, problem, first) = (self.spec.learnt_rows(), self.spec.problem(), self.first_claimed());
        let mut known = self.known_elsewhere()?;
        if first > 0 {
            known.extend(self.told_until(self.key, i64::MAX, first)?);
        }
        if rows.is_empty() && known.is_empty() {
            return Ok(0);
        }
        let mut by_setting = BTreeMap::<Vec<u64>, Vec<f64>>::new();
        known.into_iter().for_each(|(setting, value)| by_setting.entry(looked_up(&setting)).or_default().push(value));
        let level = problem.noise().map_or(0.0, |noise| noise.std_dev_bound() * problem.prior().unit());
        let mut copies = Copies::default();
        for (setting, values) in self.claimed(level)? {
            let known = by_setting.get(&looked_up(&setting)).map_or(&[][..], Vec::as_slice);
            if known.is_empty() && rows.is_empty() {
                continue;
            }
            // What was read from JSON may differ in its last digits.
            let is_known = |value: f64, within: f64| {
                known.iter().any(|old| (old - value).abs() <= within * (1.0 + 1e-6) + 4.0 * f64::EPSILON * value.abs())
            };
            let agrees = |value: f64, within: f64| is_known(value, within) || rows.holds(&setting, value, within);
            copies.look(&values, if rows.is_empty() { 0.0 } else { rows.step() }, agrees);
        }
        Ok(copies.count())
    }

    /// What every setting came to that a claim can rest on, its wells before their mean, each with the level of its noise; those of before the study whose points were fixed too.
    fn claimed(&self, level: f64) -> Result<Vec<Claimed>> {
        let look = "SELECT id, settings, value, NULL, 'fixed' FROM sb_trials WHERE study = ?1 AND id >= ?2 AND state = 'done' AND value IS NOT NULL \
                    UNION ALL SELECT NULL, settings, value, replicates, collected FROM sb_imports WHERE study = ?1 AND ?2 = 0 AND in_time AND value IS NOT NULL";
        type Told = (Option<i64>, String, f64, Option<u32>, CollectedWord);
        let row = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?));
        let told: Vec<Told> = self.store().read(|c| c.prepare_cached(look)?.query_map([self.key, self.first_claimed()], row)?.collect())?;
        let (wells, planned) = (self.wells()?, u32::try_from(self.spec.replicates()).unwrap_or(u32::MAX));
        let fixed = told.into_iter().filter(|(.., CollectedWord(collected))| collected.is_fixed());
        let all = fixed.map(|(id, settings, value, replicates, _)| {
            let wells = id.and_then(|id| wells.get(&id.unsigned_abs())).into_iter().flatten().filter_map(|(_, value)| *value);
            let of_mean = level / f64::from(id.map_or(replicates, |_| Some(planned)).unwrap_or(1).max(1)).sqrt();
            Ok((self.read_values(&settings)?, wells.map(|value| (value, level)).chain([(value, of_mean)]).collect()))
        });
        all.collect()
    }

    /// What other studies of the file had measured or imported before this one's premises were fixed, where they assume something else: whoever changes premises has seen it.
    fn known_elsewhere(&self) -> Result<Vec<Response>> {
        let moment = "SELECT coalesce((SELECT planned_at FROM sb_trials WHERE study = ?1 AND id = ?2 AND ?2 > 0), created_at) FROM sb_studies WHERE study = ?1";
        let others = "SELECT study, spec FROM sb_studies WHERE study <> ?1";
        let other = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?));
        let (moment, others): (i64, Vec<(i64, String)>) = self.store().read(|c| {
            let moment = c.prepare_cached(moment)?.query_row([self.key, self.first_claimed()], |row| row.get(0))?;
            Ok((moment, c.prepare_cached(others)?.query_map([self.key], other)?.collect::<rusqlite::Result<_>>()?))
        })?;
        let mut known = Vec::new();
        for (study, text) in others {
            let Ok(spec) = serde_json::from_str::<StudySpec>(&text) else { continue };
            let is_the_same = |told: &[Response]| spec.assumes_the_same(&self.spec, told);
            // Most studies of a file search one space, and need not be read.
            if spec.space() != self.spec.space() || !is_the_same(&[]) {
                let told = self.told_until(study, moment, i64::MAX)?;
                known.extend(if is_the_same(&told) { Vec::new() } else { told });
            }
        }
        Ok(known)
    }

    /// Every response that a study of the file had had by a moment, of the trials below an id: results, those that stood in the place of one, wells, and what was imported.
    fn told_until(&self, study: i64, moment: i64, below: i64) -> Result<Vec<Response>> {
        let events = "SELECT trial, at, kind, detail FROM sb_events WHERE study = ?1 AND trial < ?2 AND kind IN ('told', 'replaced', 'withdrawn', 'wells') ORDER BY event";
        let standing = "SELECT id, settings, CASE WHEN told_at <= ?2 THEN value END FROM sb_trials WHERE study = ?1 AND id < ?3 \
                        UNION ALL SELECT NULL, settings, value FROM sb_imports WHERE study = ?1 AND imported_at <= ?2";
        type Event = (i64, i64, String, Option<String>);
        type Standing = (Option<i64>, String, Option<f64>);
        let (events, standing): (Vec<Event>, Vec<Standing>) = self.store().read(|c| {
            let event = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
            let stands = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            let events = c.prepare_cached(events)?.query_map([study, below], event)?.collect::<rusqlite::Result<_>>()?;
            Ok((events, c.prepare_cached(standing)?.query_map([study, moment, below], stands)?.collect::<rusqlite::Result<_>>()?))
        })?;
        let (mut told, mut settings) = (Vec::new(), BTreeMap::new());
        for (id, text, value) in standing {
            let Ok(setting) = serde_json::from_str::<Vec<Value>>(&text) else { continue };
            told.extend(value.map(|value| (setting.clone(), value)));
            settings.extend(id.map(|id| (id, setting)));
        }
        // When what stands at a trial was told.
        let mut since = BTreeMap::new();
        for (trial, at, kind, detail) in events {
            let (Some(setting), detail) = (settings.get(&trial), detail.unwrap_or_default()) else { continue };
            if kind == "wells" {
                let wells = wells_of(&detail).into_iter().filter(|_| at <= moment);
                told.extend(wells.filter_map(|(_, value)| Some((setting.clone(), value?))));
                continue;
            }
            let before = serde_json::from_str::<serde_json::Value>(&detail).ok().and_then(|detail| detail["value"].as_f64());
            let was_known = since.insert(trial, at).is_none_or(|since| since <= moment);
            told.extend(before.filter(|_| was_known).map(|value| (setting.clone(), value)));
        }
        Ok(told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Taught;

    /// Normal enough: twelve uniform draws.
    fn normal(state: &mut u64) -> f64 {
        let uniform = |state: &mut u64| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*state >> 11) as f64 / (1_u64 << 53) as f64
        };
        (0..12).map(|_| uniform(state)).sum::<f64>() - 6.0
    }

    /// The share of studies that are said to hold copies: 24 settings are told again, the first `copied` of them as they were in the table, with so many decimals there and here.
    fn alarmed(noise: f64, (there, here): (i32, i32), copied: usize) -> f64 {
        let (studies, mut state, mut found) = (200, 7, 0);
        let rounded = |value: f64, decimals: i32| (value * 10_f64.powi(decimals)).round() / 10_f64.powi(decimals);
        let settings: Vec<Vec<Value>> = (0..24).map(|i| vec![Value::Int(i)]).collect();
        for _ in 0..studies {
            let truth: Vec<f64> = (0..24).map(|_| 50.0 + 10.0 * normal(&mut state)).collect();
            let table: Vec<f64> = truth.iter().map(|f| rounded(f + noise * normal(&mut state), there)).collect();
            let taught = Taught::at_most(1000, &settings, &table).unwrap();
            let mut copies = Copies::default();
            for i in 0..24 {
                let anew = truth[i] + noise * normal(&mut state);
                let told = rounded(if i < copied { table[i] } else { anew }, here);
                copies.look(&[(told, noise)], taught.step(), |value, within| taught.holds(&settings[i], value, within));
            }
            found += usize::from(copies.count() > 0);
        }
        found as f64 / f64::from(studies)
    }

    /// Results that vary by 10, of noise 1: an instrument of one decimal or of whole numbers repeats itself by chance, and a table that was told again is known however it was rounded.
    #[test]
    fn honest_repeats_on_a_coarse_instrument_are_none_and_rounded_copies_are() {
        for decimals in [(0, 0), (1, 1), (2, 2), (12, 0), (12, 1), (1, 12)] {
            for noise in [1.0, 3.0] {
                // Of numbers with many digits one that agrees within two steps of the fingerprints is enough, and now and then one does.
                let most = if decimals.1 == 12 { 0.03 } else { 0.01 };
                assert!(alarmed(noise, decimals, 0) < most, "honest: {decimals:?}, {noise}: {}", alarmed(noise, decimals, 0));
            }
        }
        for (decimals, copied) in [((1, 1), 12), ((12, 1), 12), ((12, 2), 6), ((2, 2), 6), ((12, 6), 1), ((6, 6), 1)] {
            assert!(alarmed(1.0, decimals, copied) > 0.95, "{copied} copies: {decimals:?}: {}", alarmed(1.0, decimals, copied));
        }
        // Whole numbers at so little noise agree anyway: nobody can tell, and nothing is said.
        assert!(alarmed(0.3, (0, 0), 24) < 0.01);
        assert_eq!((last_digit(53.25), last_digit(-1200.0).0, last_digit(0.5).1), ((4, 0.01), 2, 0.1));
    }
}
