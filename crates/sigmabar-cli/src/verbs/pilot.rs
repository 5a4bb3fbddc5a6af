//! Results of before a study, read for its premises: a table, an earlier study, or the pilot of the study itself.

use super::import::{Columns, Rows};
use crate::Outcome;
use crate::console::Console;
use crate::data::Reader;
use crate::failure::Failure;
use crate::quantity::{counted, first_of};
use crate::which_study::WhichStudy;
use sigmabar_study::{ImportedRow, Pilot, Study, StudySpec, TrialResult, TrialStatus, Value};
use std::path::Path;

/// From a table, or from an earlier study with the same parameters.
pub(crate) fn read(spec: &StudySpec, from: &Path, sure: bool, console: &Console) -> Outcome<Pilot> {
    let (rows, (word, lost)) = if from.extension().is_some_and(|end| end == "db" || end == "toml") {
        let study = WhichStudy::find(Some(from), None)?.open()?;
        let imported = (1..).zip(study.imported()?).filter(|(_, row)| matches!(row.result, TrialResult::Failed { .. }));
        refuse_lost(from, "imported row", &imported.map(|(number, _)| number).collect::<Vec<_>>(), sure)?;
        let is_lost = |state: TrialStatus| matches!(state, TrialStatus::Failed | TrialStatus::Missing);
        let failed = study.trials()?.into_iter().filter(|trial| is_lost(trial.state)).map(|trial| trial.id);
        (earlier(spec, &study, from)?, ("trial", failed.collect()))
    } else {
        let mut reader = Reader::open(from)?;
        let Rows { told, lines, .. } = Columns::new(spec.space(), &[])?.read(&mut reader)?;
        console.say_decimal_commas(from, reader.has_decimal_commas());
        let failed = told.iter().zip(lines).filter(|(row, _)| matches!(row.result, TrialResult::Failed { .. }));
        let lost: Vec<u64> = failed.map(|(_, line)| line).collect();
        (told, (reader.line_word(), lost))
    };
    refuse_lost(from, word, &lost, sure)?;
    Ok(Pilot::new(spec, &rows, &from.display().to_string())?)
}

/// Who learns from what came through learns about that: where the highest results are missing, so is most of the norm.
fn refuse_lost(from: &Path, word: &str, lost: &[u64], sure: bool) -> Outcome<()> {
    if sure || lost.is_empty() {
        return Ok(());
    }
    let (count, which, many) = (counted(lost.len(), "row"), first_of(lost), if lost.len() > 1 { "s" } else { "" });
    let what = format!("{}: {count} without a result ({word}{many} {which})", from.display());
    let remedy =
        "missing because of what they would have been, they leave premises that are too small; missing for other reasons: say --sure";
    Err(Failure::refused(what, remedy))
}

/// What a study has measured so far: its own pilot.
pub(crate) fn of(study: &Study) -> Outcome<Pilot> {
    Ok(Pilot::new(study.spec(), &told(study, |values| values.to_vec())?, "the pilot")?)
}

/// The results of an earlier study, by the names of its parameters.
fn earlier(spec: &StudySpec, study: &Study, from: &Path) -> Outcome<Vec<ImportedRow>> {
    let theirs = study.spec().space().parameters();
    let mut places = Vec::new();
    for parameter in spec.space().parameters() {
        places.push(theirs.iter().position(|p| p.name == parameter.name).ok_or_else(|| {
            Failure::refused(
                format!("{} has no parameter {}", from.display(), parameter.name),
                "the earlier study needs the parameters of this one",
            )
        })?);
    }
    let ordered = |values: &[Value]| places.iter().map(|&i| values[i].clone()).collect::<Vec<_>>();
    told(study, ordered)
}

/// Everything that a study knows, from before it and its own, with the values of each row put in order.
fn told(study: &Study, ordered: impl Fn(&[Value]) -> Vec<Value>) -> Outcome<Vec<ImportedRow>> {
    let before = study.imported()?.into_iter().map(|row| ImportedRow { values: ordered(&row.values), ..row });
    let told = study.trials()?.into_iter().filter_map(|row| {
        let result = TrialResult::Value { value: row.value?, standard_error: row.standard_error, replicates: row.replicates };
        Some(ImportedRow::new(ordered(&row.values), result))
    });
    Ok(before.chain(told).collect())
}
