//! The elimination of a study.

use super::parameter;
use crate::plot::{Elimination, Frame, Remaining, Side};
use sigmabar::strategy::StillPossible;
use sigmabar_study::{Advice, BatchRow, Space, Survivors, TrialRow};
use std::collections::HashMap;

/// The elimination, if the strategy rules settings out.
pub(super) fn elimination(space: &Space, batches: &[BatchRow], trials: &[TrialRow], advice: Option<&Advice>) -> Option<Elimination> {
    let parameters = space.parameters();
    let place = |values: &[sigmabar_study::Value]| parameter::coordinates(parameters, values);
    let measured = |batch: usize| {
        trials.iter().filter(|row| row.batch == batch && row.value.is_some()).map(|row| (row.id, place(&row.values))).collect()
    };
    let mut candidates: Vec<Vec<f64>> = space.candidates().map_or_else(Vec::new, |table| table.rows.iter().map(|row| place(row)).collect());
    let is_list = !candidates.is_empty();
    let mut seen = Seen::default();
    let mut frames = Vec::new();
    for batch in batches {
        let Some(survivors) = &batch.survivors else { continue };
        let remaining = match survivors {
            Survivors::Candidates(rows) => Remaining::Candidates(rows.iter().copied().filter(|row| *row < candidates.len()).collect()),
            Survivors::Points(settings) => {
                Remaining::Candidates(settings.iter().map(|values| seen.number(&mut candidates, place(values))).collect())
            }
            Survivors::Cells(cells) => Remaining::Cells(cells.iter().map(|cell| (place(&cell.low), place(&cell.high))).collect()),
        };
        let share = match batch.report.survivors {
            Some(StillPossible::Share(share)) => Some(share),
            _ => None,
        };
        frames.push(Frame { remaining, share, measured: measured(batch.batch) });
    }
    if frames.iter().all(|frame| matches!(frame.remaining, Remaining::Cells(_))) {
        candidates.clear();
    }
    let sides = parameters.iter().map(|p| Side { name: p.title(), scale: parameter::scale(p) }).collect();
    let recommended = advice.map(|advice| place(&advice.values.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>()));
    let label = advice.map_or_else(String::new, |advice| advice.label().to_string());
    (!frames.is_empty()).then_some(Elimination { sides, candidates, is_list, label, frames, recommended })
}

/// Settings that were met before, by the bits of their places.
#[derive(Default)]
struct Seen(HashMap<Vec<u64>, usize>);

impl Seen {
    /// The number of a setting among the candidates, to which a new one is added.
    fn number(&mut self, candidates: &mut Vec<Vec<f64>>, place: Vec<f64>) -> usize {
        *self.0.entry(place.iter().map(|v| v.to_bits()).collect()).or_insert_with(|| {
            candidates.push(place);
            candidates.len() - 1
        })
    }
}
