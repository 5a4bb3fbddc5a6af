//! Which results of a run repeat a setting, and whether they may be results of before.

use super::ledger::{Ledger, Measured};
use crate::certificate::Repeated;
use crate::number::{MANY_DIGITS, last_digit};
use crate::points;
use std::collections::{HashMap, HashSet};

/// Values, as they were told, by the setting at which they were measured.
#[derive(Default)]
pub(crate) struct Settings {
    /// The setting of each result, and its value.
    of: Vec<(usize, u64)>,
    /// How many results each setting has.
    sizes: Vec<usize>,
    known: HashMap<Vec<u64>, usize>,
    /// At which settings each value is, and how often.
    places: HashMap<u64, HashMap<usize, usize>>,
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
        let (next, bits) = (self.sizes.len(), (value + 0.0).to_bits());
        let setting = *self.known.entry(points::bits(point)).or_insert(next);
        if setting == next {
            self.sizes.push(0);
        }
        self.sizes[setting] += 1;
        self.of.push((setting, bits));
        *self.places.entry(bits).or_default().entry(setting).or_default() += 1;
        setting
    }

    /// For each result, how many may be the same measurement, itself among them: all that are equal in every digit at its setting, where they are all there are, or have so many
    /// digits that chance makes none equal. None where another setting has that value: where readings are coarse, or successes are counted, equality says nothing.
    pub fn alike(&self) -> Vec<usize> {
        let alike = |&(setting, bits): &(usize, u64)| {
            let places = &self.places[&bits];
            let times = places[&setting];
            let is_kept = times == self.sizes[setting] || last_digit(f64::from_bits(bits)).0 >= MANY_DIGITS;
            if is_kept && places.len() == 1 { times } else { 1 }
        };
        self.of.iter().map(alike).collect()
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
    let (before, first) = (all.sizes.len(), all.of.len());
    let (mut here, mut places) = (Settings::default(), Vec::new());
    for m in measured {
        here.push(m.point, m.value);
        places.push(all.push(m.point, m.value));
    }
    let (alike, handed) = (all.alike(), all.of[..first].iter().collect::<HashSet<_>>());
    let handed_out = (first..all.of.len()).filter(|&i| alike[i] > 1 && handed.contains(&all.of[i])).count();
    let equal: Vec<_> = here.of.iter().zip(here.alike()).filter(|(_, alike)| *alike > 1).collect();
    let equal = equal.len() - equal.iter().collect::<HashSet<_>>().len();
    let again = places.iter().filter(|&&setting| setting < before).count();
    let distinct_and_new = places.iter().filter(|&&setting| setting >= before).collect::<HashSet<_>>().len();
    Repeated { count: places.len() - distinct_and_new, equal, handed_out, anew: again - handed_out }
}
