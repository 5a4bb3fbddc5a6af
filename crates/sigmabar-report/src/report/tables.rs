//! The batches and trials of a study as tables.

use super::parameter::{has_labels, value_words};
use crate::plot::{Cell, Table};
use sigmabar::strategy::StillPossible;
use sigmabar_study::{BatchRow, ImportedRow, Parameter, Space, TrialResult, TrialRow, Value};

/// One row for each closed batch.
pub(super) fn batch_table(batches: &[BatchRow]) -> Table {
    let mut table = Table::new(["batch", "planned", "measured", "still possible", "gap", "candidate gap", "label", "inducing points"]);
    for batch in batches {
        let report = &batch.report;
        table.push(vec![
            (batch.batch + 1).into(),
            report.planned.into(),
            report.measured.into(),
            report.survivors.map(StillPossible::number).into(),
            report.gap.into(),
            report.candidate_gap.into(),
            report.certificate.as_ref().map_or(Cell::Empty, |c| c.label().to_string().into()),
            report.inducing.map_or(Cell::Empty, Into::into),
        ]);
    }
    table
}

/// One row for each trial, and below them one for each result from before the study.
pub(super) fn trial_table(space: &Space, trials: &[TrialRow], imported: &[ImportedRow]) -> Table {
    let parameters = space.parameters().iter().map(Parameter::title);
    let label = |values: &[Value]| has_labels(space).then(|| Cell::from(space.label(values).unwrap_or_default()));
    let columns = ["trial", "batch", "well"]
        .into_iter()
        .chain(has_labels(space).then_some("label"))
        .map(str::to_owned)
        .chain(parameters)
        .chain(["state", "value", "std. error", "reason", "note"].map(str::to_owned));
    let mut table = Table::new(columns);
    for row in trials {
        let mut cells: Vec<Cell> = vec![Cell::Whole(row.id), (row.batch + 1).into(), row.well.clone().unwrap_or_default().into()];
        cells.extend(label(&row.values));
        cells.extend(row.values.iter().map(setting));
        cells.extend([
            row.state.to_string().into(),
            row.value.into(),
            row.standard_error.into(),
            row.reason.clone().unwrap_or_default().into(),
            row.note.clone().unwrap_or_default().into(),
        ]);
        table.push(cells);
    }
    for row in imported {
        let (value, error, reason) = match &row.result {
            TrialResult::Value { value, standard_error, .. } => (Some(*value), *standard_error, ""),
            TrialResult::Failed { reason } => (None, None, reason.as_str()),
        };
        let mut cells = vec![Cell::Empty, Cell::Empty, Cell::Empty];
        cells.extend(label(&row.values));
        cells.extend(row.values.iter().map(setting));
        cells.extend(["imported".into(), value.into(), error.into(), reason.into(), "".into()]);
        table.push(cells);
    }
    table
}

fn setting(value: &Value) -> Cell {
    value.as_number().map_or_else(|| Cell::Text(value_words(value)), Cell::Number)
}
