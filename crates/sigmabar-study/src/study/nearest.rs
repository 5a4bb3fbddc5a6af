//! How the evaluations nearest to a setting ended: a model knows nothing of failures, and may recommend where nothing can be measured.

use crate::space::Space;
use crate::{ImportedRow, TrialResult, TrialRow, TrialStatus, Value};
use serde::Serialize;

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
        let distance = |values: &[Value]| {
            let other = space.point(values).ok()?;
            Some(other.iter().zip(point).map(|(a, b)| (a - b).powi(2)).sum::<f64>())
        };
        let answered = |row: &&TrialRow| matches!(row.state, TrialStatus::Done | TrialStatus::Failed | TrialStatus::Late);
        let own = trials.iter().filter(answered).map(|row| (&row.values, row.value.is_none()));
        let earlier = imported.iter().map(|row| (&row.values, matches!(row.result, TrialResult::Failed { .. })));
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
