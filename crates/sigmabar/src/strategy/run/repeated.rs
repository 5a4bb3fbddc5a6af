//! Which results of a run repeat a setting, and whether they may be results of before.

use super::ledger::{Ledger, Measured};
use super::problem::Problem;
use crate::certificate::Repeated;
use crate::number::{Agreements, chance_to_agree, last_digit};
use crate::points;
use std::collections::{HashMap, HashSet};

/// Values, as they were told, by the setting at which they were measured.
pub(crate) struct Settings {
    /// The setting of each result, and its value.
    of: Vec<(usize, u64)>,
    /// How many results each setting has.
    sizes: Vec<usize>,
    known: HashMap<Vec<u64>, usize>,
    /// At which settings each value is, and how often.
    places: HashMap<u64, HashMap<usize, usize>>,
    /// The noise of the quietest of them, as they were told.
    level: f64,
}

impl Settings {
    pub fn new() -> Self {
        Self { of: Vec::new(), sizes: Vec::new(), known: HashMap::new(), places: HashMap::new(), level: f64::INFINITY }
    }

    pub fn push(&mut self, problem: &Problem, measured: &Measured<'_>) -> usize {
        let level = problem.noise().map_or(0.0, |noise| noise.std_dev_bound() * problem.prior().unit());
        self.level = self.level.min(level / f64::from(measured.replicates.unwrap_or(1)).sqrt());
        let (next, bits) = (self.sizes.len(), (measured.value + 0.0).to_bits());
        let setting = *self.known.entry(points::bits(measured.point)).or_insert(next);
        if setting == next {
            self.sizes.push(0);
        }
        self.sizes[setting] += 1;
        self.of.push((setting, bits));
        *self.places.entry(bits).or_default().entry(setting).or_default() += 1;
        setting
    }

    /// For each result, how many may be the same measurement, itself among them. Results that equal one of the others in so many digits that chance makes far fewer of them equal are one
    /// with all that have their value, at whatever setting: an objective may know fewer columns. Else they are one with those of their own setting, if these alone have their value, and are
    /// all there are or more than chance makes equal. Where readings are coarse, or successes are counted, equality says nothing.
    pub fn alike(&self) -> Vec<usize> {
        let chances: HashMap<u64, f64> =
            self.places.keys().map(|&bits| (bits, chance_to_agree(last_digit(f64::from_bits(bits)).1, self.level))).collect();
        let everywhere = |(_, bits): (usize, u64)| (self.of.len(), self.places[&bits].values().sum::<usize>());
        let here = |(setting, bits): (usize, u64)| {
            let places = &self.places[&bits];
            (self.sizes[setting], if places.len() == 1 { places[&setting] } else { 1 })
        };
        let chance = |one: (usize, u64), others: usize| chances[&one.1] * (others - 1) as f64;
        let is_beyond_chance = |counted: &dyn Fn((usize, u64)) -> (usize, usize)| {
            let mut agreements = Agreements::default();
            for &one in &self.of {
                let (others, equal) = counted(one);
                agreements.look(chance(one, others), equal > 1);
            }
            agreements.copies() > 0
        };
        // On a scale whose steps are no decimals, such as logarithms of counts, settings share values too, but most repeats of one setting differ.
        let (repeats, different) = (self.of.len() - self.sizes.len(), self.places.values().map(HashMap::len).sum::<usize>());
        let are_repeats_equal = 2 * (self.of.len() - different) >= repeats;
        let (are_kept, are_kept_here) = (are_repeats_equal && is_beyond_chance(&everywhere), is_beyond_chance(&here));
        let alike = |&one: &(usize, u64)| match (everywhere(one), here(one)) {
            ((others, equal), _) if are_kept && chance(one, others) < 0.5 => equal,
            (_, (others, equal)) if equal == others || (are_kept_here && chance(one, others) < 0.5) => equal,
            _ => 1,
        };
        self.of.iter().map(alike).collect()
    }
}

/// Those of one batch, seen beside everything that was there before it, a pilot too: it may have taught the premises.
pub(crate) fn repeats_of_batch(problem: &Problem, ledger: &Ledger, batch: usize) -> Repeated {
    let earlier = ledger.measured_before().chain((0..batch).flat_map(|b| ledger.measured(b)));
    found(problem, earlier, ledger.measured(batch))
}

/// Those among results that are judged together.
pub(crate) fn repeats_among<'m>(problem: &Problem, measured: impl Iterator<Item = Measured<'m>>) -> Repeated {
    found(problem, std::iter::empty(), measured)
}

fn found<'m>(problem: &Problem, earlier: impl Iterator<Item = Measured<'m>>, measured: impl Iterator<Item = Measured<'m>>) -> Repeated {
    let (mut all, mut here, mut places) = (Settings::new(), Settings::new(), Vec::new());
    for m in earlier {
        all.push(problem, &m);
    }
    let (before, first) = (all.sizes.len(), all.of.len());
    for m in measured {
        here.push(problem, &m);
        places.push(all.push(problem, &m));
    }
    let (alike, handed) = (all.alike(), all.of[..first].iter().collect::<HashSet<_>>());
    let handed_out = (first..all.of.len()).filter(|&i| alike[i] > 1 && handed.contains(&all.of[i])).count();
    let equal: Vec<u64> = here.of.iter().zip(here.alike()).filter(|(_, alike)| *alike > 1).map(|((_, bits), _)| *bits).collect();
    let equal = equal.len() - equal.iter().collect::<HashSet<_>>().len();
    let again = places.iter().filter(|&&setting| setting < before).count();
    let distinct_and_new = places.iter().filter(|&&setting| setting >= before).collect::<HashSet<_>>().len();
    Repeated { count: places.len() - distinct_and_new, equal, handed_out, anew: again - handed_out }
}
