//! Plates over HTTP: laid out, filled in, read back, and shown before anything is told.

use super::asking::{answer, worker};
use super::taking::{Args, Body};
use crate::app::App;
use crate::desk::Desk;
use crate::refusal::{Outcome, Refusal};
use crate::wire::*;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value as Any;
use sigmabar_report::data::Reader;
use sigmabar_report::plate::{self, Content, LaidPlate, Layout, Plate, Reading};
use sigmabar_report::plot::{number, well_place};
use sigmabar_report::sheet::{Sheet, write_csv};
use sigmabar_study::{AskRequest, AskedTrial, Error, FilledSheet, HandedOut, Study, TrialResult, TrialRow, TrialStatus, Value, is_as_told};
use std::collections::{BTreeMap, HashMap};
use std::io::Cursor;
use std::sync::Arc;
use std::time::Duration;

/// Plates take days.
const PLATE_LEASE: Duration = Duration::from_secs(30 * 86400);

pub(super) async fn lay_out(State(app): State<Arc<App>>, Path(s): Path<String>, Body(body): Body<PlateBody>) -> Outcome<Response> {
    let desk = app.desk(&s)?;
    let plate =
        Plate::with_wells(body.wells).ok_or_else(|| Refusal::invalid(format!("{} wells are none: take {}", body.wells, Plate::SIZES)))?;
    let settings = desk.reader.spec().settings_on(plate.wells());
    if settings == 0 {
        return Err(Refusal::invalid(format!("controls and blocked wells leave no room on a plate of {plate} wells: take a larger one")));
    }
    let name = worker(body.name)?;
    let asks = name.clone();
    let at_most = desk.read(move |study| plate::pending(study, &asks)).await?.unwrap_or(settings);
    let handed = desk.ask(AskRequest::new(name, at_most).with_lease(PLATE_LEASE).to_be_shown(), Duration::from_secs(60)).await?;
    if let HandedOut::Trials(trials) = &handed
        && !is_laid(&desk, trials).await?
    {
        let layout = Layout::new(plate, trials, desk.reader.spec(), Layout::seed(desk.reader.spec(), trials));
        let wells = layout.map_err(|well| Refusal::invalid(format!("blocked: a plate of {plate} wells has no well {well}")))?.places();
        desk.writer()?.with(move |study| study.set_wells(&wells)).await?;
    }
    Ok(answer(handed))
}

/// Whether a plate is asked for again.
async fn is_laid(desk: &Arc<Desk>, trials: &[AskedTrial]) -> Outcome<bool> {
    let trials = trials.to_vec();
    Ok(desk.read(move |study| plate::laid_before(study, &trials)).await?.is_some())
}

/// A file of a plate: `sheet.csv` to be filled in, or `map.csv` for pipetting.
pub(super) async fn file(State(app): State<Arc<App>>, Path((s, plate, name)): Path<(String, String, String)>) -> Outcome<Response> {
    let desk = app.desk(&s)?;
    let is_map = match name.as_str() {
        "sheet.csv" => false,
        "map.csv" => true,
        _ => return Err(Refusal::not_found("a plate has sheet.csv and map.csv")),
    };
    let sheet = desk
        .read(move |study| Ok(laid(study, &plate, |layout, _| if is_map { layout.map(study.spec()) } else { layout.sheet(study.spec()) })))
        .await??;
    Ok(([(header::CONTENT_TYPE, "text/csv; charset=utf-8")], csv(&sheet)?).into_response())
}

fn csv(sheet: &Sheet) -> Outcome<String> {
    let mut bytes = Vec::new();
    write_csv(sheet, &mut bytes).map_err(|error| Refusal::internal(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| Refusal::internal(error.to_string()))
}

/// Looks at the layout of the plate of this number, and at its first trial.
fn laid<T>(study: &Study, number: &str, look: impl FnOnce(&Layout<'_>, u64) -> T) -> Outcome<T> {
    let all = plate::laid(study)?;
    let plate = number.parse().ok().and_then(|number: usize| all.iter().find(|plate| plate.number == number));
    let plate = plate.ok_or_else(|| Refusal::not_found(format!("there is no plate \"{number}\"")))?;
    let elsewhere = || Refusal::conflict("laid-otherwise", "this plate was not laid out by the study: tell its results by their trials");
    plate.with_layout(study, |layout| look(layout, plate.first().id)).ok_or_else(elsewhere)
}

/// What was typed into wells, as the sheet of their plate.
pub(super) async fn wells(
    State(app): State<Arc<App>>,
    Path((s, plate)): Path<(String, String)>,
    Args(query): Args<ImportQuery>,
    headers: HeaderMap,
    Body(body): Body<WellsBody>,
) -> Outcome<Json<ImportAnswer>> {
    let desk = app.desk_meant(&s, &headers)?;
    let file = Some(format!("plate {plate}"));
    let fill =
        move |study: &Study| laid(study, &plate, |layout, first| filled(layout, study, &body.wells).map(|sheet| (sheet, first))).flatten();
    let (table, first) = desk.read(move |study| Ok(fill(study))).await??;
    tell(&desk, ImportBody { csv: csv(&table)?, file, column: None }, Some(first), query).await.map(Json)
}

/// The rows of the sheet whose wells have something in them.
fn filled(layout: &Layout<'_>, study: &Study, typed: &BTreeMap<String, String>) -> Outcome<Sheet> {
    let mut sheet = layout.sheet(study.spec());
    let place = |name: &str| sheet.columns.iter().position(|column| column == name).unwrap_or(0);
    let (trial, result) = (place("trial"), place(plate::RESULT));
    let well_of = |row: &[Any]| row[0].as_str().unwrap_or_default().to_owned();
    if let Some(unknown) = typed.keys().find(|well| !sheet.rows.iter().any(|row| well_of(row) == **well)) {
        return Err(Refusal::invalid(format!("there is nothing in well \"{unknown}\" of this plate")));
    }
    let trials: Vec<Any> = sheet.rows.iter().filter(|row| typed.contains_key(&well_of(row))).map(|row| row[trial].clone()).collect();
    let is_wanted =
        |row: &[Any]| if row[trial] == plate::CONTROL { typed.contains_key(&well_of(row)) } else { trials.contains(&row[trial]) };
    sheet.rows.retain(|row| is_wanted(row));
    for row in &mut sheet.rows {
        let text = typed.get(&well_of(row)).map(|text| text.trim()).filter(|text| !text.is_empty());
        let missing =
            || format!("trial {} is in several wells, and {} has no result: type failed where there is none", row[trial], well_of(row));
        row[result] = Any::from(text.ok_or_else(|| Refusal::invalid(missing()))?);
    }
    Ok(sheet)
}

pub(super) async fn import(
    State(app): State<Arc<App>>,
    Path(s): Path<String>,
    Args(query): Args<ImportQuery>,
    headers: HeaderMap,
    Body(body): Body<ImportBody>,
) -> Outcome<Json<ImportAnswer>> {
    tell(&app.desk_meant(&s, &headers)?, body, None, query).await.map(Json)
}

/// Says what a table changes and, unless it is only looked at, tells it; the plate may be known by one of its trials.
async fn tell(desk: &Arc<Desk>, body: ImportBody, beside: Option<u64>, query: ImportQuery) -> Outcome<ImportAnswer> {
    let (read, used, changes) = desk.read(move |study| Ok(difference(study, body))).await??;
    let decimal_commas = read.has_decimal_commas;
    if query.dry_run {
        return Ok(ImportAnswer { told: false, changes, decimal_commas });
    }
    if let Some(wrong) = changes.iter().find(|change| change.kind == ChangeKind::Conflict) {
        let message = format!(
            "line {}: trial {} already has another result ({}); nothing of the table was written",
            wrong.line, wrong.trial, wrong.before
        );
        return Err(Refusal::conflict("already-told", message));
    }
    let sheet = read.filled(used, None);
    if !query.sure {
        let (half, asked) = (read.clone(), sheet.clone());
        if let Some((line, words)) = desk.read(move |study| plate::half_filled(study, &half)).await? {
            let remedy = "send it when it is complete, or with failed where a well is lost; sure=true tells what is there";
            return Err(Refusal::conflict("mistyped", format!("line {line}: {words}: {remedy}")));
        }
        desk.read(move |study| Ok(study.refuse_mistyped_sheet(&asked))).await?.map_err(|error| at_line(&error, &read))?;
    }
    let (controls, told) = (read.controls, !sheet.results.is_empty());
    let beside = beside.or(read.rows.first().map(|(id, ..)| *id));
    let write = move |study: &Study| {
        if controls.is_empty() {
            study.tell_sheet(&sheet)?;
            return Ok(Ok(()));
        }
        let beside = match plate_of(study, beside, &controls)? {
            Ok(beside) => beside,
            Err(refusal) => return Ok(Err(refusal)),
        };
        study.tell_sheet(&FilledSheet { controls: Some((beside, controls)), ..sheet }).map(|_| Ok(()))
    };
    desk.writer()?.with(write).await??;
    Ok(ImportAnswer { told, changes, decimal_commas })
}

/// What is probably mistyped, with the line it stands in.
fn at_line(error: &Error, read: &Reading) -> Refusal {
    let refusal = Refusal::from(error);
    let Error::Mistyped { wells, .. } = error else { return refusal };
    let line = wells.iter().find_map(|well| read.line_of_well(well)).map_or_else(String::new, |line| format!("line {line}: "));
    Refusal { message: format!("{line}{}", refusal.message), ..refusal }
}

/// A trial on the plate that controls are on: one beside them in the table, else the first of the only plate that has them. Another value than was told of a control
/// is refused.
fn plate_of(study: &Study, beside: Option<u64>, controls: &[(String, f64)]) -> sigmabar_study::Result<Outcome<u64>> {
    let all = plate::laid(study)?;
    let places: Vec<_> = controls.iter().filter_map(|(well, _)| well_place(well)).collect();
    let has_them = |plate: &&LaidPlate| places.iter().all(|place| matches!(plate.wells.get(place), Some(Content::Control(_))));
    let plate = match (beside, &all.iter().filter(has_them).collect::<Vec<_>>()[..]) {
        (Some(id), _) => all.iter().find(|plate| plate.holds(id)),
        (None, [only]) => Some(*only),
        (None, _) => None,
    };
    let Some(plate) = plate else {
        let message =
            "the table has controls, and no trial beside them says on which plate: type them into the wells, or send the whole sheet";
        return Ok(beside.ok_or_else(|| Refusal::invalid(message)));
    };
    let told = |well: &str| well_place(well).and_then(|place| plate.wells.get(&place));
    for (well, value) in controls {
        if let Some(Content::Control(Some(before))) = told(well)
            && before != value
        {
            let message =
                format!("the control in well {well} came to {before} already; nothing was written. sigmabar tell SHEET replaces it");
            return Ok(Err(Refusal::conflict("already-told", message)));
        }
    }
    Ok(Ok(plate.first().id))
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
    let reading = if is_replicated { reading.averaged(study.spec().replicates()) } else { reading };
    let trials: HashMap<u64, TrialRow> = study.trials()?.into_iter().map(|row| (row.id, row)).collect();
    let standing = study.wells()?;
    let is_same =
        |id: u64, stands: &TrialResult, comes: &TrialResult| is_as_told((stands, standing.get(&id)), (comes, reading.wells.get(&id)));
    let mut changes: Vec<Change> =
        reading.results.iter().map(|(id, result, line)| change(trials.get(id), *id, Some(result), *line, &is_same)).collect();
    let line_of = |id: &u64| reading.rows.iter().find(|(known, ..)| known == id).map_or(0, |(_, line, _)| *line);
    changes.extend(reading.missing.iter().map(|id| change(trials.get(id), *id, None, line_of(id), &is_same)));
    changes.sort_by_key(|change| change.line);
    Ok((reading, used, changes))
}

fn change(
    row: Option<&TrialRow>,
    trial: u64,
    result: Option<&TrialResult>,
    line: u64,
    is_same: &dyn Fn(u64, &TrialResult, &TrialResult) -> bool,
) -> Change {
    let before = row.map_or_else(String::new, before);
    let after = result.map_or_else(String::new, words);
    let kind = match (row, result) {
        (None, _) => ChangeKind::Unknown,
        (Some(_), None) => ChangeKind::Empty,
        (Some(row), Some(result)) => match row.state {
            TrialStatus::Queued | TrialStatus::Leased | TrialStatus::Expired if row.attempts == 0 => ChangeKind::Unknown,
            TrialStatus::Queued | TrialStatus::Leased | TrialStatus::Expired => ChangeKind::New,
            TrialStatus::Missing => ChangeKind::Late,
            _ if is_same(trial, &told(row), result) => ChangeKind::Same,
            _ => ChangeKind::Conflict,
        },
    };
    Change { line, trial, well: row.and_then(|row| row.well.clone()), before, after, kind }
}

/// The result that a row has.
fn told(row: &TrialRow) -> TrialResult {
    match row.value {
        Some(value) => TrialResult::Value { value, standard_error: row.standard_error, replicates: row.replicates },
        None => TrialResult::Failed { reason: row.reason.clone().unwrap_or_default() },
    }
}

fn before(row: &TrialRow) -> String {
    let is_open = row.state.is_open() || row.state == TrialStatus::Missing;
    if row.value.is_none() && is_open { String::new() } else { words(&told(row)) }
}

fn words(result: &TrialResult) -> String {
    match result {
        TrialResult::Value { value, standard_error: Some(error), .. } => format!("{} ± {}", typed(*value), number(*error)),
        TrialResult::Value { value, standard_error: None, .. } => typed(*value),
        TrialResult::Failed { reason } if reason == "failed" => reason.clone(),
        TrialResult::Failed { reason } => format!("failed: {reason}"),
    }
}

/// A value to twelve digits: instruments have fewer, and the mean of two wells is no 61.510000000000005.
fn typed(value: f64) -> String {
    format!("{value:.11e}").parse().unwrap_or(value).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_four_digits_of_a_standard_error_and_those_of_a_value_that_were_measured() {
        let value = TrialResult::Value { value: 45.59512, standard_error: Some(0.207_515_059_694_471_45), replicates: Some(2) };
        assert_eq!(words(&value), "45.59512 ± 0.2075");
        let mean = TrialResult::Value { value: 61.510_000_000_000_005, standard_error: None, replicates: Some(2) };
        assert_eq!(words(&mean), "61.51");
    }
}
