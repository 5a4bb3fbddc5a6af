//! Changing what was told, and what was declared.

use super::asking::number;
use super::taking::Body;
use crate::app::App;
use crate::desk::blocking;
use crate::refusal::{Outcome, Refusal};
use crate::wire::*;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use serde_json::{Map, Value as Any};
use sigmabar_study::{Corrected, Study, StudySpec};
use std::sync::Arc;

pub(super) async fn replace(
    State(app): State<Arc<App>>,
    Path((s, id)): Path<(String, String)>,
    headers: HeaderMap,
    Body(body): Body<ReplaceBody>,
) -> Outcome<Json<CorrectedAnswer>> {
    let (desk, id) = (app.desk_meant(&s, &headers)?, number(&id)?);
    let why = reason(body.why)?;
    let result =
        ResultBody { value: body.value, standard_error: body.standard_error, replicates: body.replicates, failed: body.failed }.result();
    let result = result.map_err(Refusal::invalid)?;
    let corrected = desk.writer()?.with(move |study| study.replace(id, &result, &why)).await?;
    desk.forget_trouble();
    Ok(answer(corrected))
}

pub(super) async fn void(
    State(app): State<Arc<App>>,
    Path((s, id)): Path<(String, String)>,
    headers: HeaderMap,
    Body(body): Body<VoidBody>,
) -> Outcome<Json<CorrectedAnswer>> {
    let (desk, id) = (app.desk_meant(&s, &headers)?, number(&id)?);
    let why = reason(body.why)?;
    let corrected = desk.writer()?.with(move |study| study.withdraw(id, &why)).await?;
    desk.forget_trouble();
    Ok(answer(corrected))
}

fn reason(why: String) -> Outcome<String> {
    if why.trim().is_empty() || why.chars().count() > 2000 {
        return Err(Refusal::invalid("why must say in 1 to 2000 characters why the result is corrected"));
    }
    Ok(why)
}

fn answer(corrected: Corrected) -> Json<CorrectedAnswer> {
    Json(CorrectedAnswer { corrected })
}

pub(super) async fn retry_failed(State(app): State<Arc<App>>, Path(s): Path<String>, Body(_): Body<NothingBody>) -> Outcome<Json<Reaped>> {
    let desk = app.desk(&s)?;
    let trials = desk.writer()?.with(Study::retry_failed).await?;
    desk.forget_trouble();
    Ok(Json(Reaped { trials }))
}

pub(super) async fn amend(State(app): State<Arc<App>>, Path(s): Path<String>, Body(body): Body<AmendBody>) -> Outcome<Json<AmendedKeys>> {
    let desk = app.desk(&s)?;
    let known = serde_json::to_value(desk.reader.spec()).map_err(|error| Refusal::internal(error.to_string()))?;
    let edited = harmless(body.spec, &known)?;
    let edited = StudySpec::from_json(&edited.to_string(), std::path::Path::new("."))?;
    let keys = desk.amend(edited).await?;
    if !keys.is_empty() {
        let desks = Arc::clone(&app.desks);
        blocking(move || desks.renew(&desk).map_err(Refusal::from)).await?;
    }
    Ok(Json(AmendedKeys { keys }))
}

/// An edited study file that brings no command with it and makes the server read no file: both stay as they are.
fn harmless(mut fields: Map<String, Any>, known: &Any) -> Outcome<Any> {
    for key in ["objective", "candidates"] {
        match fields.get(key) {
            None | Some(Any::Null) if known[key].is_null() => {}
            None | Some(Any::Null) => drop(fields.insert(key.to_owned(), known[key].clone())),
            Some(given) if *given == known[key] => {}
            Some(_) => return Err(Refusal::invalid(format!("{key}: it is amended where the study's file is: sigmabar amend"))),
        }
    }
    Ok(Any::Object(fields))
}
