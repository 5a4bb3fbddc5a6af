//! All studies: how good their answers are, and who works on them.

use super::Shown;
use super::html::{Screen, address, batch_words, table};
use crate::app::App;
use crate::token::Access;
use axum::Extension;
use axum::extract::State;
use sigmabar_report::plot::{escape, number};
use sigmabar_study::{Study, TrialStatus};
use std::sync::Arc;

pub(super) async fn show(State(app): State<Arc<App>>, Extension(access): Extension<Access>) -> Shown {
    let mut rows = Vec::new();
    for desk in app.desks.all() {
        let about = escape(desk.reader.spec().description().unwrap_or_default());
        let name = format!("<a href=\"{}\">{}</a><br><span class=\"about\">{about}</span>", address(&desk, ""), escape(&desk.slug));
        // One study that cannot be read does not hide the others.
        let workers = desk.read(Study::workers).await;
        let at_work = workers.map_or_else(|_| "–".to_owned(), |all| all.iter().filter(|worker| worker.leased > 0).count().to_string());
        let cells = match desk.glance().await {
            Ok(None) => vec![name, "–".into(), "–".into(), "–".into(), "–".into(), at_work, "<span data-waiting>being read</span>".into()],
            Ok(Some(known)) => {
                let status = &known.live.status;
                let label = known.live.advice.as_ref().map_or_else(|| "–".to_owned(), |advice| advice.label().to_string());
                let gap = known
                    .live
                    .advice
                    .as_ref()
                    .filter(|advice| advice.gap.is_finite())
                    .map_or_else(|| "–".to_owned(), |advice| number(advice.gap));
                let told = status.count(TrialStatus::Done) + status.count(TrialStatus::Failed);
                let state = if status.is_finished { "finished" } else { "running" };
                vec![
                    name,
                    format!("<span class=\"badge {0}\">{0}</span>", escape(&label)),
                    gap,
                    format!("{} of {}", told, status.budget),
                    batch_words(status.batches, &desk.reader),
                    at_work,
                    state.to_owned(),
                ]
            }
            Err(refusal) => vec![name, "–".into(), "–".into(), "–".into(), "–".into(), at_work, escape(&refusal.message)],
        };
        rows.push((desk.slug.clone(), cells));
    }
    let heads = ["study", "label", "gap", "measured", "batch", "workers at work", "state"];
    let body = if rows.is_empty() {
        "<p>There is no study in this directory yet: <code>sigmabar new study.toml</code> and <code>sigmabar ask study.toml</code> begin one.</p>".to_owned()
    } else {
        table("studies", &heads, rows.into_iter())
    };
    let screen = Screen { title: "Studies", study: None, access, events: "/api/v1/events".to_owned() };
    Ok(screen.around(&format!("<h1>Studies</h1>{body}")))
}
