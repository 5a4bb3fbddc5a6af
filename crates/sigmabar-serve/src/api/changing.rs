//! What people do to a study besides telling results.

use super::asking::{number, worker};
use super::taking::Body;
use crate::app::App;
use crate::desk::blocking;
use crate::desks::Source;
use crate::refusal::{Outcome, Refusal};
use crate::wire::*;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use serde_json::Value as Any;
use sigmabar::Collected;
use sigmabar_study::{ImportedRow, NO_RESULT, Study, StudySpec, TrialResult, Value};
use std::sync::Arc;

const DONE: Json<Done> = Json(Done { done: true });

pub(super) async fn note(
    State(app): State<Arc<App>>,
    Path((s, id)): Path<(String, String)>,
    headers: HeaderMap,
    Body(body): Body<NoteBody>,
) -> Outcome<Json<Done>> {
    let (desk, id) = (app.desk_meant(&s, &headers)?, number(&id)?);
    if body.note.chars().count() > 2000 {
        return Err(Refusal::invalid("a note has at most 2000 characters"));
    }
    desk.writer()?.with(move |study| study.set_notes(&[(id, body.note)])).await?;
    Ok(DONE)
}

pub(super) async fn close(State(app): State<Arc<App>>, Path(s): Path<String>, Body(body): Body<CloseBody>) -> Outcome<Json<Done>> {
    app.desk(&s)?.close_batch(body.force).await?;
    Ok(DONE)
}

pub(super) async fn reap(State(app): State<Arc<App>>, Path(s): Path<String>, Body(_): Body<NothingBody>) -> Outcome<Json<Reaped>> {
    let desk = app.desk(&s)?;
    let trials = desk.writer()?.with(Study::reap).await?;
    desk.open();
    Ok(Json(Reaped { trials }))
}

pub(super) async fn pause(State(app): State<Arc<App>>, Path(s): Path<String>, Body(body): Body<PauseBody>) -> Outcome<Json<Done>> {
    let desk = app.desk(&s)?;
    let worker = body.worker.map(worker).transpose()?;
    desk.writer()?
        .with(move |study| match worker {
            Some(worker) => study.set_worker_paused(&worker, body.paused),
            None => study.set_paused(body.paused),
        })
        .await?;
    let watched = Arc::clone(&desk);
    blocking(move || watched.look().map_err(Refusal::from)).await?;
    Ok(DONE)
}

pub(super) async fn despite(State(app): State<Arc<App>>, Path(s): Path<String>, Body(_): Body<NothingBody>) -> Outcome<Json<Done>> {
    let desk = app.desk(&s)?;
    desk.writer()?.with(Study::go_on_despite_contradiction).await?;
    desk.forget_trouble();
    Ok(DONE)
}

pub(super) async fn earlier(State(app): State<Arc<App>>, Path(s): Path<String>, Body(body): Body<EarlierBody>) -> Outcome<Json<Kept>> {
    let desk = app.desk(&s)?;
    if body.rows.len() > MOST_RESULTS {
        return Err(Refusal::invalid(format!("a request has at most {MOST_RESULTS} rows")));
    }
    let collected = match body.collected {
        Some(HowCollected::Fixed) => Collected::DeclaredFixed,
        Some(HowCollected::Adaptive) => Collected::Adaptive,
        Some(HowCollected::Exchangeable) => Collected::Exchangeable,
        Some(HowCollected::Undeclared) | None => Collected::Undeclared,
    };
    let names: Vec<String> = desk.reader.spec().space().names().collect();
    let one = |(i, row): (usize, &EarlierRow)| {
        let values = values(&names, &row.values).map_err(|what| Refusal::invalid(format!("row {} (counted from 1): {what}", i + 1)))?;
        let lost = || TrialResult::Failed { reason: NO_RESULT.to_owned() };
        let value = |value| TrialResult::Value { value, standard_error: None, replicates: None };
        Ok(ImportedRow::new(values, row.value.map_or_else(lost, value)))
    };
    let rows = body.rows.iter().enumerate().map(one).collect::<Outcome<Vec<_>>>()?;
    let rows = desk.writer()?.with(move |study| study.import_as(&rows, collected)).await?;
    Ok(Json(Kept { rows }))
}

/// A setting in the order of the parameters.
pub(super) fn values(names: &[String], setting: &Setting) -> Result<Vec<Value>, String> {
    if let Some(unknown) = setting.keys().find(|name| !names.contains(name)) {
        return Err(format!("there is no parameter \"{unknown}\"; there are {}", names.join(", ")));
    }
    let value = |name: &String| match setting.get(name) {
        Some(Any::Number(number)) => number
            .as_i64()
            .map(Value::Int)
            .or_else(|| number.as_f64().map(Value::Float))
            .ok_or_else(|| format!("\"{name}\" is no number that is kept")),
        Some(Any::String(word)) => Ok(Value::Choice(word.clone())),
        Some(_) => Err(format!("\"{name}\" must be a number or a word")),
        None => Err(format!("the parameter \"{name}\" is missing")),
    };
    names.iter().map(value).collect()
}

/// Begins a study in the served directory. Neither does it bring a command with it, nor does it make the server read a file.
pub(super) async fn create(State(app): State<Arc<App>>, Body(body): Body<NewStudy>) -> Outcome<(StatusCode, Json<StudyShown>)> {
    let Source::Directory(directory) = app.desks.source.clone() else {
        return Err(Refusal::conflict("no-directory", "this server serves one file: start it with a directory to begin studies in it"));
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if body.name.is_empty() || body.name.len() > 64 || !body.name.chars().all(is_plain) {
        return Err(Refusal::invalid("name must be 1 to 64 letters, digits, hyphens and underscores"));
    }
    let spec = Any::Object(body.spec);
    let objective = &spec["objective"];
    if ["command", "process", "directory"].iter().any(|key| !objective[*key].is_null()) {
        return Err(Refusal::invalid("objective: a study that is posted has no command: name it where it runs, sigmabar worker --command"));
    }
    if spec["candidates"].is_string() {
        return Err(Refusal::invalid("candidates: write them into the study file; a server reads no other file for it"));
    }
    let path = directory.join(format!("{}.db", body.name));
    let name = body.name.clone();
    let desks = Arc::clone(&app.desks);
    blocking(move || {
        if path.exists() {
            return Err(Refusal::conflict("study-exists", format!("there is a file {name}.db already: choose another name")));
        }
        let spec = StudySpec::from_json(&spec.to_string(), std::path::Path::new("."))?;
        Study::create(&path, &name, &spec)?;
        desks.add(&path).map_err(Refusal::from)
    })
    .await?;
    let desk = app.desk(&body.name)?;
    Ok((StatusCode::CREATED, Json(super::looking::shown(&desk).await?)))
}
