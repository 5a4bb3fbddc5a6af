//! How the evaluations nearest to a setting ended: a model knows nothing of failures, and may recommend where nothing can be measured.

use crate::space::Space;
use crate::{ImportedRow, NO_RESULT, TrialResult, TrialRow, TrialStatus, Value};
use serde::Serialize;
use sigmabar::Domain;

/// So many of the nearest are looked at.
const NEAREST: usize = 5;

/// How the evaluations nearest to a setting ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Nearest {
    /// How many of them failed.
    pub failed: usize,
    /// How many were looked at: five, or fewer where there are not so many.
    pub of: usize,
}

impl Nearest {
    /// The evaluations nearest to a point of the strategy, those from before the study among them; what was not answered does not count.
    pub(super) fn to(point: &[f64], space: &Space, trials: &[TrialRow], imported: &[ImportedRow]) -> Self {
        // Choices are numbered in the order in which they were written, which says nothing: any two are one apart.
        let is_choice = |column: usize| matches!(space.domain(), Domain::Space(mixed) if mixed.columns()[column].is_categorical());
        let apart = |column: usize, a: f64, b: f64| if is_choice(column) { f64::from(u8::from(a != b)) } else { (a - b).powi(2) };
        let distance = |values: &[Value]| {
            let other = space.point(values).ok()?;
            Some(other.iter().zip(point).enumerate().map(|(column, (a, b))| apart(column, *a, *b)).sum::<f64>())
        };
        let answered = |row: &&TrialRow| matches!(row.state, TrialStatus::Done | TrialStatus::Failed | TrialStatus::Late);
        let own = trials.iter().filter(answered).map(|row| (&row.values, row.value.is_none()));
        let earlier = imported.iter().filter_map(|row| match &row.result {
            TrialResult::Failed { reason } if reason == NO_RESULT => None,
            result => Some((&row.values, matches!(result, TrialResult::Failed { .. }))),
        });
        let mut ends: Vec<(f64, bool)> = own.chain(earlier).filter_map(|(values, failed)| Some((distance(values)?, failed))).collect();
        ends.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        ends.truncate(NEAREST);
        Self { failed: ends.iter().filter(|(_, failed)| *failed).count(), of: ends.len() }
    }

    /// Whether more of them failed than not.
    #[must_use]
    pub fn is_risky(self) -> bool {
        2 * self.failed > self.of
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StudySpec;
    use std::path::Path;

    #[test]
    fn choices_are_equally_far_apart_whatever_their_order() {
        let nearest = |choices: &str| {
            let text = format!(
                "budget = 4\n[parameters.solvent]\ntype = \"categorical\"\nchoices = [{choices}]\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n"
            );
            let spec = StudySpec::from_toml(&text, Path::new(".")).unwrap();
            let setting = |solvent: &str, x: f64| vec![Value::Choice(solvent.into()), Value::Float(x)];
            let failed = |values| ImportedRow::new(values, TrialResult::Failed { reason: "failed".into() });
            let measured = |values| ImportedRow::new(values, TrialResult::Value { value: 1.0, standard_error: None, replicates: None });
            // Every choice but its own is one away: x decides which five are the nearest.
            let own = (0..3).map(|_| measured(setting("a", 0.9)));
            let others = ["b", "c", "d", "b"]
                .into_iter()
                .zip([0.0, 0.0, 0.5, 0.5])
                .map(|(solvent, x)| if x == 0.0 { failed(setting(solvent, x)) } else { measured(setting(solvent, x)) });
            let rows: Vec<ImportedRow> = own.chain(others).collect();
            Nearest::to(&spec.space().point(&setting("a", 0.0)).unwrap(), spec.space(), &[], &rows)
        };
        assert_eq!(nearest(r#""a", "b", "c", "d""#), Nearest { failed: 2, of: 5 });
        assert_eq!(nearest(r#""c", "d", "b", "a""#), Nearest { failed: 2, of: 5 });
    }
}
