//! Asking, telling and leases.

use super::taking::{Args, Body};
use crate::app::App;
use crate::desk::Desk;
use crate::refusal::{Outcome, Refusal};
use crate::wire::*;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sigmabar_study::{AskRequest, AskedTrial, HandedOut, KeyedResult, TrialResult};
use std::sync::Arc;
use std::time::Duration;

pub(super) async fn ask(
    State(app): State<Arc<App>>,
    Path(s): Path<String>,
    Args(query): Args<AskQuery>,
    headers: HeaderMap,
    Body(body): Body<AskBody>,
) -> Outcome<Response> {
    let desk = app.desk_meant(&s, &headers)?;
    if query.wait > 60 {
        return Err(Refusal::new(StatusCode::BAD_REQUEST, "wrong-query", "wait is at most 60 seconds"));
    }
    if !(1..=MOST_ASKED).contains(&body.at_most) {
        return Err(Refusal::invalid(format!("at_most must be between 1 and {MOST_ASKED}")));
    }
    let (worker, lease) = (worker(body.worker)?, lease(body.lease_seconds).map_err(Refusal::invalid)?);
    let request =
        AskRequest { is_shown: body.shown, ..AskRequest::new(worker, body.at_most as usize).with_lease(lease).with_key(key(&headers)?) };
    let handed = desk.ask(request, Duration::from_secs(query.wait.into())).await?;
    Ok(answer(handed))
}

/// What was handed out, as it is sent.
pub(super) fn answer(handed: HandedOut) -> Response {
    let (state, trials) = match handed {
        HandedOut::Trials(trials) => (AskState::Trials, trials.into_iter().map(to_do).collect()),
        HandedOut::Finished => (AskState::Finished, Vec::new()),
        HandedOut::Wait | HandedOut::Unplanned => (AskState::Wait, Vec::new()),
    };
    let mut response = Json(AskAnswer { state, trials }).into_response();
    if state == AskState::Wait {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

fn to_do(trial: AskedTrial) -> TrialToDo {
    let values = trial.values.iter().map(|(name, value)| (name.clone(), serde_json::json!(value))).collect();
    TrialToDo { id: trial.id, batch: trial.batch, values, seed: trial.seed, leased_until: trial.leased_until }
}

/// A worker's name: shown to people and kept for ever, so it is neither empty nor endless.
pub(super) fn worker(name: String) -> Outcome<String> {
    if !is_name(&name) {
        return Err(Refusal::invalid(NAME));
    }
    Ok(name)
}

/// The same in an address.
pub(super) fn worker_of_query(name: String) -> Outcome<String> {
    if is_name(&name) { Ok(name) } else { Err(Refusal::new(StatusCode::BAD_REQUEST, "wrong-query", NAME)) }
}

const NAME: &str = "worker must be a name of 1 to 200 characters that begins with no space and has no control characters";

fn is_name(name: &str) -> bool {
    !name.starts_with(char::is_whitespace) && (1..=200).contains(&name.chars().count()) && !name.chars().any(char::is_control)
}

/// What the sender knows this request by.
fn key(headers: &HeaderMap) -> Outcome<Option<String>> {
    let key = headers.get("idempotency-key").map(|key| key.to_str().map(str::to_owned));
    let key = key.transpose().map_err(|_| Refusal::invalid("Idempotency-Key must be plain text"))?;
    if key.as_ref().is_some_and(|key| key.len() > 200) {
        return Err(Refusal::invalid("Idempotency-Key has at most 200 characters"));
    }
    Ok(key)
}

/// The number of a trial in an address.
pub(super) fn number(id: &str) -> Outcome<u64> {
    id.parse().map_err(|_| Refusal::not_found(format!("\"{id}\" is not the number of a trial")))
}

pub(super) async fn tell(
    State(app): State<Arc<App>>,
    Path((s, id)): Path<(String, String)>,
    Args(query): Args<SureQuery>,
    headers: HeaderMap,
    Body(body): Body<ResultBody>,
) -> Outcome<(StatusCode, Json<ToldAnswer>)> {
    let (desk, id) = (app.desk_meant(&s, &headers)?, number(&id)?);
    let key = key(&headers)?;
    let result = body.result().map_err(Refusal::invalid)?;
    refuse_mistyped(&desk, &[(id, result.clone())], query).await?;
    let told = desk.writer()?.tell(KeyedResult { id, result, key }).await?;
    let status = if told.is_again() { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(ToldAnswer::of(id, told))))
}

/// Asks about what is probably mistyped, unless whoever tells it is sure.
async fn refuse_mistyped(desk: &Arc<Desk>, results: &[(u64, TrialResult)], query: SureQuery) -> Outcome<()> {
    if query.sure {
        return Ok(());
    }
    let results = results.to_vec();
    desk.read(move |study| study.refuse_mistyped(&results)).await
}

pub(super) async fn tell_all(
    State(app): State<Arc<App>>,
    Path(s): Path<String>,
    Args(query): Args<SureQuery>,
    headers: HeaderMap,
    Body(body): Body<ResultsBody>,
) -> Outcome<Json<ToldAnswers>> {
    let desk = app.desk_meant(&s, &headers)?;
    if body.results.len() > MOST_RESULTS {
        return Err(Refusal::invalid(format!("a request has at most {MOST_RESULTS} results")));
    }
    let one = |of: ResultOf| {
        let result =
            ResultBody { value: of.value, standard_error: of.standard_error, replicates: of.replicates, failed: of.failed }.result();
        result.map(|result| (of.id, result)).map_err(|what| Refusal::invalid(format!("trial {}: {what}", of.id)))
    };
    let results = body.results.into_iter().map(one).collect::<Outcome<Vec<_>>>()?;
    refuse_mistyped(&desk, &results, query).await?;
    let told = desk.writer()?.with(move |study| Ok((study.tell_all(&results)?, results))).await?;
    let (told, results) = told;
    Ok(Json(ToldAnswers { told: results.iter().zip(told).map(|((id, _), told)| ToldAnswer::of(*id, told)).collect() }))
}

pub(super) async fn renew(
    State(app): State<Arc<App>>,
    Path((s, id)): Path<(String, String)>,
    headers: HeaderMap,
    Body(body): Body<LeaseBody>,
) -> Outcome<Json<LeaseAnswer>> {
    let (desk, id) = (app.desk_meant(&s, &headers)?, number(&id)?);
    let (worker, time) = (worker(body.worker)?, lease(body.lease_seconds).map_err(Refusal::invalid)?);
    let held = desk.writer()?.with(move |study| study.renew(id, &worker, time)).await?;
    Ok(Json(LeaseAnswer { held }))
}

pub(super) async fn release(
    State(app): State<Arc<App>>,
    Path((s, id)): Path<(String, String)>,
    Args(query): Args<WorkerQuery>,
    headers: HeaderMap,
) -> Outcome<Json<LeaseAnswer>> {
    let (desk, id) = (app.desk_meant(&s, &headers)?, number(&id)?);
    let worker = worker_of_query(query.worker)?;
    desk.writer()?.with(move |study| study.release(id, &worker)).await?;
    desk.open();
    Ok(Json(LeaseAnswer { held: false }))
}
