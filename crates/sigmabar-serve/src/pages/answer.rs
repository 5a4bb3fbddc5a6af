//! The answer of a study: the setting, what is known about it, whether to stop, and how it got there.

use super::Shown;
use super::html::{Screen, batch_words, button, coming};
use crate::app::App;
use crate::token::Access;
use axum::Extension;
use axum::extract::{Path, State};
use sigmabar_report::plot::{escape, number};
use sigmabar_report::report::Live;
use sigmabar_study::{Study, TrialStatus};
use std::sync::Arc;

pub(super) async fn show(State(app): State<Arc<App>>, Path(s): Path<String>, Extension(access): Extension<Access>) -> Shown {
    let desk = app.desk(&s)?;
    let known = desk.glance().await?;
    let is_paused = desk.read(Study::is_paused).await?;
    let (counts, last) = desk.read(|study| Ok((study.counts()?, study.last_event()?))).await?;
    let about = desk.reader.spec().description().map_or_else(String::new, |text| format!("<p>{}</p>", escape(text)));
    let count = |state: TrialStatus| counts.get(&state).copied().unwrap_or(0);
    let told = count(TrialStatus::Done) + count(TrialStatus::Failed) + count(TrialStatus::Late);
    let budget = desk.reader.spec().problem().budget();
    let bar = format!(
        "<p id=\"progress-words\"><progress value=\"{told}\" max=\"{budget}\" aria-label=\"measured\"></progress> {told} of {budget} told · {} running · {} waiting{}{}</p>",
        count(TrialStatus::Leased),
        count(TrialStatus::Queued) + count(TrialStatus::Expired),
        known.as_ref().map_or_else(String::new, |known| format!(" · {}", batch_words(known.live.status.batches, &desk.reader))),
        if known.as_ref().is_some_and(|known| known.event < last) { " · the answer below is a moment older" } else { "" }
    );
    let is_finished = known.as_ref().is_some_and(|known| known.live.status.is_finished);
    let (stop, answer) = match &known {
        Some(known) if known.live.is_whole => (may_stop(&known.live), known.live.page.body()),
        Some(known) => {
            (may_stop(&known.live), format!("{}{}", known.live.page.body(), coming("The rest of this page is being drawn and comes")))
        }
        None => (String::new(), coming("The answer is being computed and comes")),
    };
    let body = format!(
        "<h1>{}</h1>{about}{bar}{stop}{}<div id=\"answer\">{answer}</div>",
        escape(desk.reader.name()),
        if is_finished { String::new() } else { controls(access, is_paused) },
    );
    let screen = Screen { title: desk.reader.name(), study: Some((&desk, "")), access, events: format!("{}/events", desk.address()) };
    Ok(screen.around(&body))
}

/// May I stop? Yes, no, and why.
fn may_stop(live: &Live) -> String {
    let (status, advice) = (&live.status, live.advice.as_ref());
    let (wanted, among) = status.wanted().map_or((None, false), |(wanted, among)| (Some(wanted), among));
    let gap = advice.and_then(|advice| if among { advice.candidate_gap } else { Some(advice.gap) }).filter(|gap| gap.is_finite());
    let gap_words = |gap: f64| {
        let label = advice.map_or_else(String::new, |advice| format!(" ({})", advice.label()));
        format!("the gap{} is {}{label}", if among { " among the candidates" } else { "" }, number(gap))
    };
    let (class, words) = match (&status.contradiction, wanted, gap) {
        (Some(contradiction), ..) => ("no", format!("The data contradict the premises: {contradiction}.")),
        (None, Some(wanted), Some(gap)) if status.is_gap_reached => {
            ("yes", format!("You may stop: {}, and {} was wanted.", gap_words(gap), number(wanted)))
        }
        (None, Some(wanted), Some(gap)) => ("no", format!("Not yet: {}, and {} is wanted.", gap_words(gap), number(wanted))),
        (None, Some(wanted), None) => ("no", format!("Not yet: no gap is known, and {} is wanted.", number(wanted))),
        (None, None, _) if status.is_finished => ("yes", "The budget is spent.".to_owned()),
        (None, None, Some(gap)) => ("open", format!("No gap was wanted; now {}.", gap_words(gap))),
        (None, None, None) => ("open", "No gap was wanted, and none is known yet.".to_owned()),
    };
    format!("<p class=\"stop {class}\" id=\"stop\"><strong>May I stop?</strong> {}</p>", escape(&words))
}

fn controls(access: Access, is_paused: bool) -> String {
    let pause = if is_paused {
        button(access, "Hand out again", "POST", "/pause", r#"{"paused":false}"#, "")
    } else {
        button(access, "Pause", "POST", "/pause", r#"{"paused":true}"#, "")
    };
    let close = button(
        access,
        "Close batch",
        "POST",
        "/close-batch",
        "{}",
        "Close the batch with what has arrived? What is missing stays missing, and a result that comes later is kept but certifies nothing.",
    );
    let reap = button(access, "Put back what nobody answers for", "POST", "/reap", "{}", "");
    let state = if is_paused { "<strong>Paused: nothing is handed out.</strong> " } else { "" };
    format!("<p class=\"controls\" id=\"controls\">{state}{close} {pause} {reap}</p>")
}
