//! What one wants to know while waiting.

use super::table::terminal_width;
use crate::quantity::short;
use indicatif::{HumanDuration, ProgressState};
use sigmabar::strategy::Direction;
use sigmabar_study::{RunEvent, TrialResult};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use unicode_width::UnicodeWidthStr;

/// An evaluation that takes longer than this is named.
const LONG: Duration = Duration::from_secs(3);
/// Room for the bar itself.
const BAR: usize = 8;

/// Evaluations as they come in: the best so far, failures, and what has been running longest. It is read whenever the bar is drawn, also while nothing happens.
#[derive(Clone, Debug)]
pub(crate) struct Watch(Arc<Mutex<Seen>>);

#[derive(Debug)]
struct Seen {
    /// The best single value so far, with the sign that makes larger better.
    best: Option<f64>,
    sign: f64,
    failed: usize,
    /// What is being evaluated, and since when.
    running: BTreeMap<u64, Instant>,
}

impl Watch {
    /// From values and failures that are there already.
    pub fn new(direction: Direction, values: impl Iterator<Item = f64>, failed: usize) -> Self {
        let sign = if direction == Direction::Minimize { -1.0 } else { 1.0 };
        let best = values.map(|value| sign * value).reduce(f64::max);
        Self(Arc::new(Mutex::new(Seen { best, sign, failed, running: BTreeMap::new() })))
    }

    /// Takes something in that happened.
    pub fn note(&self, event: &RunEvent) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            RunEvent::Started { trial } => drop(seen.running.insert(trial.id, Instant::now())),
            RunEvent::Told { id, result, .. } => {
                seen.running.remove(id);
                match result {
                    TrialResult::Value { value, .. } => {
                        let value = seen.sign * value;
                        seen.best = Some(seen.best.map_or(value, |best| best.max(value)));
                    }
                    TrialResult::Failed { .. } => seen.failed += 1,
                }
            }
            _ => {}
        }
    }

    /// The words before the bar, as many as there is room for.
    pub(super) fn write(&self, state: &ProgressState, out: &mut dyn fmt::Write) {
        let mut words = vec![format!("{} of {}", state.pos(), state.len().unwrap_or(0))];
        words.extend(self.words());
        let eta = state.eta();
        words.extend((!eta.is_zero()).then(|| format!("{:#} left", HumanDuration(eta))));
        let _ = write!(out, "{}", fitted(&words, terminal_width(true).unwrap_or(80).saturating_sub(BAR)));
    }

    fn words(&self) -> Vec<String> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = seen.running.iter().min_by_key(|(_, since)| **since).filter(|(_, since)| since.elapsed() > LONG);
        let best = seen.best.map(|best| format!("best {}", short(seen.sign * best)));
        let failed = (seen.failed > 0).then(|| format!("{} failed", seen.failed));
        let longest = oldest.map(|(id, since)| format!("trial {id} for {:#}", HumanDuration(since.elapsed())));
        best.into_iter().chain(failed).chain(longest).collect()
    }
}

/// The first of the words, as many as fit.
fn fitted(words: &[String], width: usize) -> String {
    let mut line = String::new();
    for word in words {
        let longer = if line.is_empty() { word.clone() } else { format!("{line}, {word}") };
        if longer.width() > width {
            break;
        }
        line = longer;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(value: f64) -> TrialResult {
        TrialResult::Value { value, standard_error: None, replicates: None }
    }

    #[test]
    fn the_best_is_the_smallest_where_small_is_good() {
        let watch = Watch::new(Direction::Minimize, [3.0, 2.0].into_iter(), 1);
        assert_eq!(watch.words(), ["best 2", "1 failed"]);
        for (id, result) in [(0, value(1.5)), (1, value(7.0)), (2, TrialResult::Failed { reason: "spilt".into() })] {
            watch.note(&RunEvent::Told { id, batch: 0, result, told: sigmabar_study::Told::Counted });
        }
        assert_eq!(watch.words(), ["best 1.5", "2 failed"]);
        assert_eq!(Watch::new(Direction::Maximize, [3.0, 2.0].into_iter(), 0).words(), ["best 3"]);
    }

    #[test]
    fn a_narrow_terminal_has_the_first_words() {
        let words = ["12 of 60", "best 0.25", "3 failed"].map(str::to_owned);
        assert_eq!(fitted(&words, 80), "12 of 60, best 0.25, 3 failed");
        assert_eq!(fitted(&words, 19), "12 of 60, best 0.25");
        assert_eq!(fitted(&words, 3), "");
    }
}
