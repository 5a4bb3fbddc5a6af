//! Plates over HTTP: laid out, filled in, read back, and shown before anything is told.

use super::asking::{answer, worker};
use super::taking::{Args, Body};
use crate::app::App;
use crate::refusal::{Outcome, Refusal};
use crate::wire::*;
use axum::Json;
use axum::extract::{Path, State};
use axum::response::Response;
use sigmabar_report::data::Reader;
use sigmabar_report::plate::{self, Layout, Plate, Reading};
use sigmabar_study::{AskRequest, HandedOut, Page, Study, Told, TrialResult, TrialRow, TrialStatus, Value};
use std::collections::HashMap;
use std::io::Cursor;
use std::sync::Arc;
use std::time::Duration;

/// Plates take days.
const PLATE_LEASE: Duration = Duration::from_secs(30 * 86400);

pub(super) async fn lay_out(State(app): State<Arc<App>>, Path(s): Path<String>, Body(body): Body<PlateBody>) -> Outcome<Response> {
    let desk = app.desk(&s)?;
    let plate = Plate::with_wells(body.wells).ok_or_else(|| Refusal::invalid("a plate has 6, 12, 24, 48, 96, 384 or 1536 wells"))?;
    let settings = desk.reader.spec().settings_on(plate.wells());
    if settings == 0 {
        return Err(Refusal::invalid(format!("controls and blocked wells leave no room on a plate of {plate} wells: take a larger one")));
    }
    let request = AskRequest::new(worker(body.name)?, settings).with_lease(PLATE_LEASE);
    let handed = desk.ask(request, Duration::from_secs(60)).await?;
    if let HandedOut::Trials(trials) = &handed {
        let seed = desk.reader.spec().problem().seed() ^ trials.first().map_or(0, |trial| trial.id);
        let layout = Layout::new(plate, trials, desk.reader.spec(), seed);
        let wells = layout.map_err(|well| Refusal::invalid(format!("blocked: a plate of {plate} wells has no well {well}")))?.places();
        desk.writer()?.with(move |study| study.set_wells(&wells)).await?;
    }
    Ok(answer(handed))
}

pub(super) async fn import(
    State(app): State<Arc<App>>,
    Path(s): Path<String>,
    Args(query): Args<ImportQuery>,
    Body(body): Body<ImportBody>,
) -> Outcome<Json<ImportAnswer>> {
    let desk = app.desk(&s)?;
    let (read, used, changes) = {
        let body = body.clone();
        desk.read(move |study| Ok(difference(study, body))).await??
    };
    let decimal_commas = read.has_decimal_commas;
    if query.dry_run {
        return Ok(Json(ImportAnswer { told: false, changes, decimal_commas }));
    }
    if let Some(wrong) = changes.iter().find(|change| change.kind == ChangeKind::Conflict) {
        let message = format!(
            "line {}: trial {} already has another result ({}); nothing of the table was written",
            wrong.line, wrong.trial, wrong.before
        );
        return Err(Refusal::conflict("already-told", message));
    }
    let results: Vec<(u64, TrialResult)> = read.results.into_iter().map(|(id, result, _)| (id, result)).collect();
    let (notes, controls) = (read.notes, read.controls);
    let told: Vec<Told> = desk
        .writer()?
        .with(move |study| {
            let told = study.tell_sheet(&results, &notes, &used)?;
            if let (false, Some((first, _))) = (controls.is_empty(), results.first()) {
                let page = Page { after: first.checked_sub(1), at_most: Some(1), ..Page::default() };
                study.note_controls(study.trials_of(&page)?.first().map_or(0, |row| row.batch), &controls)?;
            }
            Ok(told)
        })
        .await?;
    Ok(Json(ImportAnswer { told: !told.is_empty(), changes, decimal_commas }))
}

/// Settings as they were used in truth, where the study takes such.
type Used = Vec<(u64, Vec<Value>)>;

/// What a table says, and what it would change.
fn difference(study: &Study, body: ImportBody) -> Outcome<(Reading, Used, Vec<Change>)> {
    let file = body.file.filter(|name| !name.trim().is_empty()).unwrap_or_else(|| "the table".to_owned());
    let wrong = |error: &dyn std::fmt::Display| Refusal::invalid(error.to_string());
    let reader = Reader::csv(file.clone().into(), Box::new(Cursor::new(body.csv.into_bytes()))).map_err(|error| wrong(&error))?;
    let reading = plate::read(reader, body.column.as_deref(), study.spec().space().parameters(), study.spec().replicates())
        .map_err(|error| wrong(&error))?;
    let used = plate::check(study, file.as_ref(), &reading).map_err(|error| match error {
        plate::Mismatch::Study(error) => Refusal::from(error),
        other => wrong(&other),
    })?;
    let is_replicated = study.spec().replicates() > 1;
    let reading = if is_replicated { reading.averaged() } else { reading };
    let trials: HashMap<u64, TrialRow> = study.trials()?.into_iter().map(|row| (row.id, row)).collect();
    let mut changes: Vec<Change> =
        reading.results.iter().map(|(id, result, line)| change(trials.get(id), *id, Some(result), *line)).collect();
    let line_of = |id: &u64| reading.rows.iter().find(|(known, ..)| known == id).map_or(0, |(_, line, _)| *line);
    changes.extend(reading.missing.iter().map(|id| change(trials.get(id), *id, None, line_of(id))));
    changes.sort_by_key(|change| change.line);
    Ok((reading, used, changes))
}

fn change(row: Option<&TrialRow>, trial: u64, result: Option<&TrialResult>, line: u64) -> Change {
    let before = row.map_or_else(String::new, before);
    let after = result.map_or_else(String::new, words);
    let kind = match (row, result) {
        (None, _) => ChangeKind::Unknown,
        (Some(_), None) => ChangeKind::Empty,
        (Some(row), Some(result)) => match row.state {
            TrialStatus::Queued | TrialStatus::Leased | TrialStatus::Expired if row.attempts == 0 => ChangeKind::Unknown,
            TrialStatus::Queued | TrialStatus::Leased | TrialStatus::Expired => ChangeKind::New,
            TrialStatus::Missing => ChangeKind::Late,
            _ if is_same(row, result) => ChangeKind::Same,
            _ => ChangeKind::Conflict,
        },
    };
    Change { line, trial, well: row.and_then(|row| row.well.clone()), before, after, kind }
}

/// Whether telling it again changes nothing.
fn is_same(row: &TrialRow, result: &TrialResult) -> bool {
    match result {
        TrialResult::Value { value, standard_error, .. } => row.value == Some(*value) && row.standard_error == *standard_error,
        TrialResult::Failed { .. } => row.value.is_none(),
    }
}

fn before(row: &TrialRow) -> String {
    match row.value {
        Some(value) => words(&TrialResult::Value { value, standard_error: row.standard_error, replicates: None }),
        None if row.state.is_open() || row.state == TrialStatus::Missing => String::new(),
        None => words(&TrialResult::Failed { reason: row.reason.clone().unwrap_or_default() }),
    }
}

fn words(result: &TrialResult) -> String {
    match result {
        TrialResult::Value { value, standard_error: Some(error), .. } => format!("{value} ± {error}"),
        TrialResult::Value { value, standard_error: None, .. } => value.to_string(),
        TrialResult::Failed { reason } => format!("failed: {reason}"),
    }
}
