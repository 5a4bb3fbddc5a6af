//! Results of before a study, read for its premises: a table, an earlier study, or the pilot of the study itself.

use super::import::Columns;
use crate::Outcome;
use crate::console::Console;
use crate::data::Reader;
use crate::failure::Failure;
use crate::which_study::WhichStudy;
use sigmabar_study::{ImportedRow, Pilot, Study, StudySpec, TrialResult, Value};
use std::path::Path;

/// From a table, or from an earlier study with the same parameters.
pub(crate) fn read(spec: &StudySpec, from: &Path, console: &Console) -> Outcome<Pilot> {
    let rows = if from.extension().is_some_and(|end| end == "db" || end == "toml") {
        earlier(spec, from)?
    } else {
        let mut reader = Reader::open(from)?;
        let (rows, ..) = Columns::new(spec.space(), &[])?.read(&mut reader)?;
        console.say_decimal_commas(from, reader.has_decimal_commas());
        rows
    };
    Ok(Pilot::new(spec, &rows, &from.display().to_string())?)
}

/// What a study has measured so far: its own pilot.
pub(crate) fn of(study: &Study) -> Outcome<Pilot> {
    Ok(Pilot::new(study.spec(), &told(study, |values| values.to_vec())?, "the pilot")?)
}

/// The results of an earlier study, by the names of its parameters.
fn earlier(spec: &StudySpec, from: &Path) -> Outcome<Vec<ImportedRow>> {
    let study = WhichStudy::find(Some(from), None)?.open()?;
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
    told(&study, ordered)
}

/// Everything that a study knows, from before it and its own, with the values of each row put in order.
fn told(study: &Study, ordered: impl Fn(&[Value]) -> Vec<Value>) -> Outcome<Vec<ImportedRow>> {
    let before = study.imported()?.into_iter().map(|row| ImportedRow { values: ordered(&row.values), result: row.result });
    let told = study.trials()?.into_iter().filter_map(|row| {
        let result = TrialResult::Value { value: row.value?, standard_error: row.standard_error, replicates: row.replicates };
        Some(ImportedRow { values: ordered(&row.values), result })
    });
    Ok(before.chain(told).collect())
}
