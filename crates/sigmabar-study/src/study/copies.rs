//! Results that were told before: those from which premises were learnt, those of the pilot, and those of studies in the same file with other premises.

use super::Study;
use crate::{Result, StudySpec};
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

impl Study {
    /// How many results are copies of some that its premises were learnt from: of another study ([`crate::Taught`]), or of the pilot; or that were known, under other premises, when it was
    /// begun. Of a setting in several wells each well is looked at.
    pub(super) fn taught(&self) -> Result<usize> {
        let (rows, problem, known_before) = (self.spec.learnt_rows(), self.spec.problem(), self.known_before()?);
        if rows.is_empty() && self.spec.pilot() == 0 && known_before.is_empty() {
            return Ok(0);
        }
        let look = "SELECT id, settings, value FROM sb_trials WHERE study = ?1 AND state = 'done' AND value IS NOT NULL ORDER BY id";
        let row = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, f64>(2)?));
        let told: Vec<(i64, String, f64)> = self.store().read(|c| c.prepare_cached(look)?.query_map([self.key], row)?.collect())?;
        let level = problem.noise().map_or(0.0, |noise| noise.std_dev_bound() * problem.prior().unit());
        let of_mean = level / (self.spec.replicates().max(1) as f64).sqrt();
        let (wells, mut pilot, mut copies) = (self.wells()?, known_before, Copies::default());
        for (id, settings, value) in told {
            let wells = wells.get(&id.unsigned_abs()).into_iter().flatten().filter_map(|(_, value)| *value);
            let values: Vec<(f64, f64)> = wells.map(|value| (value, level)).chain([(value, of_mean)]).collect();
            if id < self.first_claimed() {
                pilot.entry(settings).or_default().extend(values.iter().map(|(value, _)| value));
                continue;
            }
            let known = pilot.get(&settings);
            if known.is_none() && rows.is_empty() {
                continue;
            }
            let setting = self.read_values(&settings)?;
            let is_of_pilot =
                |value: f64, within: f64| known.is_some_and(|known| known.iter().any(|old| (old - value).abs() <= within * (1.0 + 1e-6)));
            let agrees = |value: f64, within: f64| is_of_pilot(value, within) || rows.holds(&setting, value, within);
            copies.look(&values, if rows.is_empty() { 0.0 } else { rows.step() }, agrees);
        }
        Ok(copies.count())
    }

    /// What other studies of the file had measured at each setting before this one was begun, where they assume something else: whoever changes premises has seen it.
    fn known_before(&self) -> Result<BTreeMap<String, Vec<f64>>> {
        let mut known = BTreeMap::<String, Vec<f64>>::new();
        let others = "SELECT o.study, o.spec FROM sb_studies o JOIN sb_studies s ON s.study = ?1 WHERE o.study <> ?1 AND o.created_at <= s.created_at";
        let other = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?));
        let others: Vec<(i64, String)> = self.store().read(|c| c.prepare_cached(others)?.query_map([self.key], other)?.collect())?;
        let differs = |text: &str| serde_json::from_str::<StudySpec>(text).is_ok_and(|spec| !spec.assumes_the_same(&self.spec));
        for (other, _) in others.into_iter().filter(|(_, text)| differs(text)) {
            let told = "SELECT settings, value FROM sb_trials WHERE study = ?1 AND value IS NOT NULL AND told_at <= (SELECT created_at FROM sb_studies WHERE study = ?2)";
            let row = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, f64>(1)?));
            let told: Vec<(String, f64)> = self.store().read(|c| c.prepare_cached(told)?.query_map([other, self.key], row)?.collect())?;
            told.into_iter().for_each(|(settings, value)| known.entry(settings).or_default().push(value));
        }
        Ok(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Taught, Value};

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
