//! Which results of a run repeat a setting, and whether they may be results of before.

use super::ledger::{Ledger, Measured};
use crate::certificate::Repeated;
use std::collections::{HashMap, HashSet};

/// Values by the setting at which they were measured.
#[derive(Default)]
pub(crate) struct Settings {
    /// The setting of each result.
    of: Vec<usize>,
    /// The results of each setting.
    values: Vec<Vec<f64>>,
    known: HashMap<Vec<u64>, usize>,
    /// At how many settings each value is.
    places: HashMap<u64, HashSet<usize>>,
}

impl Settings {
    pub fn of<'p>(results: impl Iterator<Item = (&'p [f64], f64)>) -> Self {
        let mut settings = Self::default();
        for (point, value) in results {
            settings.push(point, value);
        }
        settings
    }

    fn push(&mut self, point: &[f64], value: f64) -> usize {
        let next = self.values.len();
        let setting = *self.known.entry(point.iter().map(|v| v.to_bits()).collect()).or_insert(next);
        if setting == next {
            self.values.push(Vec::new());
        }
        self.values[setting].push(value);
        self.of.push(setting);
        self.places.entry(value.to_bits()).or_default().insert(setting);
        setting
    }

    /// Whether all results of a setting are equal in every digit, and no other setting has that value: where readings are coarse, or successes are counted, equality says nothing.
    fn is_one(&self, setting: usize) -> bool {
        let values = &self.values[setting];
        values.iter().all(|v| v == &values[0]) && self.places[&values[0].to_bits()].len() == 1
    }

    /// For each result, how many may be the same measurement, itself among them.
    pub fn alike(&self) -> Vec<usize> {
        let sizes: Vec<usize> = (0..self.values.len()).map(|s| if self.is_one(s) { self.values[s].len() } else { 1 }).collect();
        self.of.iter().map(|&setting| sizes[setting]).collect()
    }
}

/// Those of one batch, seen beside everything that was there before it, a pilot too: it may have taught the premises.
pub(crate) fn repeats_of_batch(ledger: &Ledger, batch: usize) -> Repeated {
    let earlier = ledger.measured_before().chain((0..batch).flat_map(|b| ledger.measured(b)));
    found(earlier, ledger.measured(batch))
}

/// Those among results that are judged together.
pub(crate) fn repeats_among<'m>(measured: impl Iterator<Item = Measured<'m>>) -> Repeated {
    found(std::iter::empty(), measured)
}

fn found<'m>(earlier: impl Iterator<Item = Measured<'m>>, measured: impl Iterator<Item = Measured<'m>>) -> Repeated {
    let mut all = Settings::of(earlier.map(|m| (m.point, m.value)));
    let before = all.values.len();
    let (mut here, mut places) = (Settings::default(), Vec::new());
    for m in measured {
        here.push(m.point, m.value);
        places.push(all.push(m.point, m.value));
    }
    let again: Vec<usize> = places.iter().copied().filter(|&setting| setting < before).collect();
    let handed_out = again.iter().filter(|&&setting| all.is_one(setting)).count();
    let equal = (0..here.values.len()).filter(|&s| here.is_one(s)).map(|s| here.values[s].len() - 1).sum();
    let distinct_and_new = places.iter().filter(|&&setting| setting >= before).collect::<HashSet<_>>().len();
    Repeated { count: places.len() - distinct_and_new, equal, handed_out, anew: again.len() - handed_out }
}
