//! Looking: nothing here writes.

use super::asking::worker_of_query;
use super::changing::values;
use super::taking::{Args, Body};
use crate::app::App;
use crate::desk::Desk;
use crate::refusal::{Outcome, Refusal};
use crate::wire::*;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::Value as Any;
use sigmabar_report::plot::{Medium, Picture};
use sigmabar_report::report;
use sigmabar_study::{Advice, BestObserved, Page, Study};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Trials of a page unless another number is asked for.
const USUAL_PAGE: usize = 500;
/// The most length-scales of a map.
const MOST_FACTORS: usize = 20;
/// The most trials of a page.
const LARGEST_PAGE: usize = 5000;

pub(super) async fn studies(State(app): State<Arc<App>>) -> Outcome<Json<Studies>> {
    let mut studies = Vec::new();
    for desk in app.desks.all() {
        // One study that cannot be read does not hide the others.
        studies.push(shown(&desk).await.unwrap_or_else(|refusal| StudyShown { error: Some(refusal.message), ..in_short(&desk) }));
    }
    Ok(Json(Studies { studies }))
}

pub(super) async fn shown(desk: &Arc<Desk>) -> Outcome<StudyShown> {
    let workers = desk.read(Study::workers).await?.iter().filter(|worker| worker.leased > 0).count();
    Ok(StudyShown { workers, last_event: desk.read(Study::last_event).await?, ..in_short(desk) })
}

/// What is known without reading the file.
fn in_short(desk: &Desk) -> StudyShown {
    StudyShown {
        study: desk.slug.clone(),
        name: desk.reader.name().to_owned(),
        identity: desk.reader.identity().to_owned(),
        description: desk.reader.spec().description().map(str::to_owned),
        workers: 0,
        last_event: 0,
        error: None,
    }
}

fn names(study: &Study) -> Vec<String> {
    study.spec().space().names().collect()
}

pub(super) async fn status(State(app): State<Arc<App>>, Path(s): Path<String>) -> Outcome<Json<StudyStatus>> {
    let desk = app.desk(&s)?;
    let known = desk.fresh().await?;
    let is_paused = desk.read(Study::is_paused).await?;
    let status = &known.live.status;
    Ok(Json(StudyStatus {
        name: status.name.clone(),
        identity: desk.reader.identity().to_owned(),
        strategy: status.strategy.clone(),
        parameters: names(&desk.reader),
        counts: status.counts.iter().map(|(state, count)| (state.name().to_owned(), *count)).collect(),
        budget: status.budget,
        planned: status.planned,
        batches: status.batches,
        closed: status.closed,
        is_finished: status.is_finished,
        awaits_premises: status.awaits_premises,
        is_paused,
        wanted_gap: status.wanted_gap,
        wanted_candidate_gap: status.wanted_candidate_gap,
        is_gap_reached: status.is_gap_reached,
        contradiction: status.contradiction.as_ref().map(ToString::to_string),
        imported: status.imported,
        imported_in_time: status.imported_in_time,
        event: known.event,
    }))
}

pub(super) async fn spec(State(app): State<Arc<App>>, Path(s): Path<String>) -> Outcome<Json<Any>> {
    let desk = app.desk(&s)?;
    serde_json::to_value(desk.reader.spec()).map(Json).map_err(|error| Refusal::internal(error.to_string()))
}

pub(super) async fn spec_as_toml(State(app): State<Arc<App>>, Path(s): Path<String>) -> Outcome<Response> {
    let text = app.desk(&s)?.reader.spec().to_toml();
    Ok(([(header::CONTENT_TYPE, "application/toml")], text).into_response())
}

pub(super) async fn recommendation(State(app): State<Arc<App>>, Path(s): Path<String>) -> Outcome<Json<RecommendationAnswer>> {
    let known = app.desk(&s)?.fresh().await?;
    let recommendation = known.live.advice.as_ref().map(recommended).transpose()?;
    Ok(Json(RecommendationAnswer { recommendation, event: known.event }))
}

pub(super) async fn premises(
    State(app): State<Arc<App>>,
    Path(s): Path<String>,
    Args(query): Args<PremisesQuery>,
) -> Outcome<Json<PremisesAnswer>> {
    let (desk, asked) = (app.desk(&s)?, query.factors.unwrap_or_default());
    let factor = |text: &str| text.parse::<f64>().ok().filter(|factor| (1e-3..=1e3).contains(factor));
    let factors: Option<Vec<f64>> = asked.split(',').filter(|text| !text.is_empty()).map(factor).collect();
    let factors = factors.filter(|factors| factors.len() <= MOST_FACTORS).ok_or_else(|| {
        let message = format!("factors must be at most {MOST_FACTORS} numbers from 0.001 to 1000 with commas between them, not {asked:?}");
        Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, "wrong-query", message)
    })?;
    // A map asks for the claim under other length-scales alone, and the claim for no map: each takes long.
    let made = desk.in_turn(move |study| {
        let (standing, map) = match factors.as_slice() {
            [] => (study.standing()?, Vec::new()),
            factors => (None, study.premise_map(factors)?),
        };
        let reason = if standing.is_none() && map.is_empty() { Some(study.why_no_standing()?) } else { None };
        Ok((standing, reason, map))
    });
    let (standing, reason, map) = made.await?;
    let value = |found: serde_json::Result<Any>| found.map_err(|error| Refusal::internal(error.to_string()));
    let map = map.iter().map(|row| value(serde_json::to_value(row))).collect::<Outcome<_>>()?;
    Ok(Json(PremisesAnswer { standing: standing.map(|found| value(serde_json::to_value(found))).transpose()?, reason, map }))
}

fn recommended(advice: &Advice) -> Outcome<Recommendation> {
    let named =
        |values: &[(String, sigmabar_study::Value)]| values.iter().map(|(name, value)| (name.clone(), serde_json::json!(value))).collect();
    let finite = |value: f64| value.is_finite().then_some(value);
    let seen = |best: &BestObserved| BestSeen { id: best.id, values: named(&best.values), value: best.value };
    Ok(Recommendation {
        called: advice.called.clone(),
        values: named(&advice.values),
        lower: finite(advice.lower),
        upper: finite(advice.upper),
        gap: finite(advice.gap),
        candidate_gap: advice.candidate_gap.and_then(finite),
        label: advice.label().to_string(),
        reasons: advice.certificate.weak_premises().iter().map(ToString::to_string).collect(),
        certificate: serde_json::to_value(&advice.certificate).map_err(|error| Refusal::internal(error.to_string()))?,
        best_observed: advice.best_observed.as_ref().map(seen),
    })
}

pub(super) async fn batches(State(app): State<Arc<App>>, Path(s): Path<String>) -> Outcome<Json<Batches>> {
    let known = app.desk(&s)?.fresh().await?;
    let batches = known.live.batches.iter().map(serde_json::to_value).collect::<Result<_, _>>();
    Ok(Json(Batches { batches: batches.map_err(|error| Refusal::internal(error.to_string()))? }))
}

pub(super) async fn workers(State(app): State<Arc<App>>, Path(s): Path<String>) -> Outcome<Json<Workers>> {
    let rows = app.desk(&s)?.read(Study::workers).await?;
    let workers = rows.into_iter().map(|row| WorkerShown {
        worker: row.worker,
        leased: row.leased,
        leased_until: row.leased_until,
        told: row.told,
        failed: row.failed,
        is_paused: row.is_paused,
    });
    Ok(Json(Workers { workers: workers.collect() }))
}

pub(super) async fn trials(State(app): State<Arc<App>>, Path(s): Path<String>, Args(query): Args<TrialsQuery>) -> Outcome<Json<Trials>> {
    let desk = app.desk(&s)?;
    let limit = query.limit.unwrap_or(USUAL_PAGE);
    if !(1..=LARGEST_PAGE).contains(&limit) {
        let message = format!("limit must be between 1 and {LARGEST_PAGE}");
        return Err(Refusal::new(StatusCode::BAD_REQUEST, "wrong-query", message));
    }
    let page = Page {
        after: query.after,
        at_most: Some(limit),
        state: query.state,
        batch: query.batch,
        worker: query.worker.map(worker_of_query).transpose()?,
    };
    let rows = desk.read(move |study| study.trials_of(&page)).await?;
    let next = (rows.len() == limit).then(|| rows.last().map(|row| row.id)).flatten();
    Ok(Json(Trials { trials: rows.into_iter().map(|row| TrialShown::of(row, desk.reader.spec().space())).collect(), next }))
}

/// A picture of the live page, of the model or of the report, whichever has it.
pub(super) async fn picture(State(app): State<Arc<App>>, Path((s, name)): Path<(String, String)>) -> Outcome<Response> {
    let desk = app.desk(&s)?;
    let unknown = || Refusal::not_found(format!("there is no picture \"{name}\": ask for NAME.svg, NAME.png or NAME.csv"));
    let (stem, kind) = name.rsplit_once('.').ok_or_else(unknown)?;
    if !["svg", "png", "csv"].contains(&kind) {
        return Err(unknown());
    }
    let known = match desk.glance().await? {
        Some(known) => known,
        None => desk.fresh().await?,
    };
    // A picture of the live page is of the state that the page shows, perhaps a moment old.
    if let Some(picture) = found(&known.live.page, stem) {
        return drawn(&desk, format!("{name} at {} and {}", known.event, known.lapses), picture, kind).await;
    }
    let page = desk.report().await?;
    if let Some(picture) = found(&page, stem) {
        return drawn(&desk, name.clone(), picture, kind).await;
    }
    let table = page.csvs().into_iter().find(|(file, _)| *file == name);
    let (_, text) = table.ok_or_else(unknown)?;
    Ok(([(header::CONTENT_TYPE, CSV)], text).into_response())
}

const CSV: &str = "text/csv; charset=utf-8";

fn found(page: &report::Page, name: &str) -> Option<Picture> {
    page.pictures().iter().find(|picture| picture.name() == name).cloned()
}

/// A picture as a file, rendered once.
async fn drawn(desk: &Arc<Desk>, name: String, picture: Picture, kind: &str) -> Outcome<Response> {
    let (kind, content) = match kind {
        "svg" => ("image/svg+xml", desk.kept(name, move |_| Ok(Bytes::from(picture.svg(Medium::File)))).await?),
        "csv" => (CSV, desk.kept(name, move |_| Ok(Bytes::from(picture.table().csv()))).await?),
        _ => ("image/png", desk.kept(name, move |_| Ok(Bytes::from(picture.png()?))).await?),
    };
    Ok(([(header::CONTENT_TYPE, kind)], Bytes::clone(&content)).into_response())
}

pub(super) async fn predict(
    State(app): State<Arc<App>>,
    Path(s): Path<String>,
    Body(body): Body<PredictBody>,
) -> Outcome<Json<Predictions>> {
    let desk = app.desk(&s)?;
    if !(1..=MOST_RESULTS).contains(&body.settings.len()) {
        return Err(Refusal::invalid(format!("settings must be between 1 and {MOST_RESULTS}")));
    }
    let names = names(&desk.reader);
    let one =
        |(i, setting): (usize, &Setting)| values(&names, setting).map_err(|what| Refusal::invalid(format!("setting {}: {what}", i + 1)));
    let settings = body.settings.iter().enumerate().map(one).collect::<Outcome<Vec<_>>>()?;
    let predicted = desk.in_turn(move |study| report::predict(study, &settings)).await?;
    let one = |p: report::Predicted| Prediction { mean: p.mean, lower: p.lower, upper: p.upper, label: p.label.to_string() };
    Ok(Json(Predictions { predictions: predicted.unwrap_or_default().into_iter().map(one).collect() }))
}

pub(super) async fn healthy() -> &'static str {
    "alive\n"
}

pub(super) async fn ready(State(app): State<Arc<App>>) -> Outcome<&'static str> {
    for desk in app.desks.all() {
        desk.check().await.map_err(|refusal| Refusal::new(StatusCode::SERVICE_UNAVAILABLE, refusal.error, refusal.message))?;
    }
    Ok("ready\n")
}

/// Numbers for a monitor, in the text form that most of them read.
pub(super) async fn metrics(State(app): State<Arc<App>>) -> Outcome<Response> {
    let mut text = String::from("# TYPE sigmabar_answers_total counter\n");
    for (digit, count) in app.counters.0.iter().enumerate().skip(1) {
        let _ = writeln!(text, "sigmabar_answers_total{{status=\"{digit}xx\"}} {}", count.load(Ordering::Relaxed));
    }
    text.push_str("# TYPE sigmabar_trials gauge\n# TYPE sigmabar_workers gauge\n# TYPE sigmabar_last_event counter\n# TYPE sigmabar_answer_kept gauge\n");
    for desk in app.desks.all() {
        let name = desk.slug.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        for (state, count) in desk.read(Study::counts).await? {
            let _ = writeln!(text, "sigmabar_trials{{study=\"{name}\",state=\"{}\"}} {count}", state.name());
        }
        let workers = desk.read(Study::workers).await?.iter().filter(|worker| worker.leased > 0).count();
        let _ = writeln!(text, "sigmabar_workers{{study=\"{name}\"}} {workers}");
        let _ = writeln!(text, "sigmabar_answer_kept{{study=\"{name}\"}} {}", u8::from(desk.has_answer()));
        let _ = writeln!(text, "sigmabar_last_event{{study=\"{name}\"}} {}", desk.last_event());
    }
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response())
}
