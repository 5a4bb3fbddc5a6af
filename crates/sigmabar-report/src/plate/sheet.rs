//! A plate to be filled in.

use super::{NOTE, Plate, RESULT, STANDARD_ERROR};
use crate::sheet::Sheet;
use serde_json::{Value, json};
use sigmabar_study::AskedTrial;

/// One row for each well in use, in the order of the wells: well, trial, setting, and empty cells for what was measured.
pub fn sheet(plate: Plate, trials: &[AskedTrial], seed: u64) -> (Sheet, Vec<(u64, String)>) {
    let names = trials.first().map_or_else(Vec::new, |trial| trial.values.iter().map(|(name, _)| name.clone()).collect());
    let mut sheet = Sheet::new(["well".to_owned(), "trial".to_owned()].into_iter().chain(names));
    sheet.columns.extend([RESULT, STANDARD_ERROR, NOTE].map(str::to_owned));
    let mut laid: Vec<(usize, &AskedTrial)> = plate.shuffled(trials.len(), seed).into_iter().zip(trials).collect();
    laid.sort_by_key(|(well, _)| *well);
    for (well, trial) in &laid {
        let mut row = vec![json!(plate.name(*well)), json!(trial.id)];
        row.extend(trial.values.iter().map(|(_, value)| json!(value)));
        row.extend([Value::Null, Value::Null, Value::Null]);
        sheet.rows.push(row);
    }
    (sheet, laid.into_iter().map(|(well, trial)| (trial.id, plate.name(well))).collect())
}
