//! What of a study file may be changed once its study has begun.

use super::StudySpec;
use super::file::StudyFile;
use crate::union::OneOrMany;
use crate::{Error, Result};
use serde_json::{Map, Value};
use sigmabar::Policy;
use std::collections::BTreeSet;
use std::path::Path;

/// What evaluates a setting: another one may measure another function.
const PROGRAM: [&str; 5] = ["objective.command", "objective.process", "objective.builtin", "objective.noise", "objective.directory"];

impl StudySpec {
    /// Whether a key says what evaluates settings: results from before and after it was changed are of one function only if somebody says so.
    #[must_use]
    pub fn is_program(key: &str) -> bool {
        PROGRAM.contains(&key)
    }

    /// The keys in which another study file says something else, such as `budget` and `objective.timeout`. Where commands run is one of them only in
    /// [`StudySpec::amended`]: a study may be moved.
    pub(crate) fn changed_keys(&self, other: &Self) -> Vec<String> {
        let (mine, theirs) = (written(&self.file), written(&other.file));
        let (empty, mut keys) = (Map::new(), Vec::new());
        for key in differing(&mine, &theirs) {
            if key != "objective" {
                keys.push(key);
                continue;
            }
            let inner =
                |map: &'_ Map<String, Value>| map.get("objective").and_then(Value::as_object).cloned().unwrap_or_else(|| empty.clone());
            keys.extend(differing(&inner(&mine), &inner(&theirs)).into_iter().map(|key| format!("objective.{key}")));
        }
        keys
    }

    /// This study with the changes of an edited file, after batches of these lengths.
    ///
    /// # Errors
    /// [`Error::Unamendable`].
    pub(crate) fn amended(&self, edited: &Self, changed: &[String], planned: &[usize]) -> Result<Self> {
        for key in changed {
            if let Some(reason) = self.fixed(key, planned.len()) {
                return Err(Error::Unamendable { key: key.clone(), reason });
            }
        }
        let mut file = edited.file.clone();
        file.seed = self.file.seed;
        file.amended_batches.clone_from(&self.file.amended_batches);
        file.amended_ridge = self.file.amended_ridge;
        let (old, new) = (self.problem.budget(), edited.problem.budget());
        if new != old {
            let key = if changed.iter().any(|key| key == "plates") { "plates" } else { "budget" };
            file.amended_batches = self.longer(key, new, planned)?;
            // The smallest ridge follows from the budget: what was analysed stays analysed with the one it had.
            file.amended_ridge = if matches!(self.policy, Policy::Sbpe(_)) && self.fixed("tau", planned.len()).is_some() {
                self.problem.ridge()
            } else {
                None
            };
        }
        Self::build(file, Path::new(".")).map_err(|fault| super::located(fault, "", |_, _| None))
    }

    /// Why a key cannot be changed after so many batches were planned; none for one that can. After a pilot premises are fixed by what it showed, until the next batch
    /// is planned by them.
    fn fixed(&self, key: &str, batches: usize) -> Option<&'static str> {
        match key {
            "kernel" | "norm_bound" | "noise" | "learnt_from" | "learnt_rows" | "prior_mean" | "unit" | "tau" | "failures"
                if self.file.pilot.is_some() =>
            {
                let reason = "the batch after the pilot is planned by it, and a premise that is changed after looking at results is none; begin a new study";
                (batches > 1).then_some(reason)
            }
            _ => fixed(key),
        }
    }

    /// How the larger budget is cut into batches after the pilot.
    fn longer(&self, key: &str, budget: usize, planned: &[usize]) -> Result<Option<OneOrMany<usize>>> {
        let refused = |reason| Err(Error::Unamendable { key: key.to_owned(), reason });
        if budget < self.problem.budget() {
            return refused("it may grow, not shrink: what was planned rests on it (stop when you like, or set stop_when)");
        }
        let Policy::Sbpe(policy) = &self.policy else {
            // Batches of one length: more of them, each about as long as before.
            let usual = planned.first().copied().filter(|_| self.file.batches.is_some() || self.policy.name() == "auto");
            return Ok(usual.map(|length| OneOrMany::One(budget.div_ceil(length).max(planned.len() + 1))));
        };
        let pilots = usize::from(policy.pilot().is_some());
        let (pilot, planned) = (policy.pilot().unwrap_or(0), planned.get(pilots..).unwrap_or_default());
        let lengths = policy.batch_lengths(self.problem.budget())?.split_off(pilots);
        if key == "plates" {
            return refused(
                "the number of batches entered every claim: another plate would be another batch; begin a new study and import the results",
            );
        }
        let Some(rest) = lengths.get(planned.len()..).filter(|rest| !rest.is_empty()) else {
            return refused(
                "no batch is left that could be longer, and their number entered every claim; begin a new study and import the results",
            );
        };
        let (done, left): (usize, usize) = (planned.iter().sum(), rest.iter().sum());
        let wanted = budget.saturating_sub(pilot + done);
        let mut longer: Vec<usize> = rest.iter().map(|length| length * wanted / left).collect();
        let short = wanted - longer.iter().sum::<usize>();
        if let Some(last) = longer.last_mut() {
            *last += short;
        }
        Ok(Some(OneOrMany::Many(planned.iter().copied().chain(longer).collect())))
    }
}

fn written(file: &StudyFile) -> Map<String, Value> {
    // The seed of a begun study is its own, whether or not the file names one.
    let mut plain = StudyFile { amended_batches: None, amended_ridge: None, seed: None, ..file.clone() };
    // Units are words about the space, not the space.
    let units: Map<String, Value> =
        plain.parameters.0.iter_mut().filter_map(|(name, table)| Some((name.clone(), table.unit.take()?.into()))).collect();
    let with_units = |mut map: Map<String, Value>| {
        map.insert("units".to_owned(), units.into());
        map
    };
    match serde_json::to_value(plain) {
        Ok(Value::Object(map)) => with_units(map),
        _ => Map::new(),
    }
}

fn differing(mine: &Map<String, Value>, theirs: &Map<String, Value>) -> Vec<String> {
    let keys: BTreeSet<&String> = mine.keys().chain(theirs.keys()).collect();
    keys.into_iter().filter(|key| mine.get(*key) != theirs.get(*key)).cloned().collect()
}

/// Why a key cannot be changed; none for one that can.
fn fixed(key: &str) -> Option<&'static str> {
    match key {
        "description" | "response" | "units" | "budget" | "plates" | "stop_when" | "distinct_rows" => None,
        key if key.starts_with("objective.") => None,
        "parameters" | "candidates" | "constraints" => {
            Some("every claim is about the space that was declared; begin a new study and import the results")
        }
        "kernel"
        | "norm_bound"
        | "noise"
        | "learnt_from"
        | "learnt_rows"
        | "prior_mean"
        | "unit"
        | "tau"
        | "failures"
        | "informative_failures"
        | "used_values" => {
            Some("it is a premise of every claim, and one that is changed after looking at results is none; begin a new study")
        }
        "delta" => Some("what was claimed so far has spent it; begin a new study"),
        "direction" => Some("what was ruled out so far was ruled out in the other direction; begin a new study and import the results"),
        _ => Some("the batches so far were planned by it; begin a new study and import the results"),
    }
}
