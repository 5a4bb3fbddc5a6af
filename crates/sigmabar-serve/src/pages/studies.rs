//! All studies: how good their answers are, and who works on them.

use super::Shown;
use super::html::{Screen, address, batch_words, table};
use crate::app::App;
use crate::desk::Desk;
use crate::refusal::Refusal;
use crate::token::Access;
use axum::Extension;
use axum::extract::State;
use sigmabar_report::plot::{escape, number};
use sigmabar_study::{Study, TrialStatus};
use std::sync::Arc;

pub(super) async fn show(State(app): State<Arc<App>>, Extension(access): Extension<Access>) -> Shown {
    // All at once: each may wait a moment for its first look.
    let lines: Vec<_> = app.desks.all().into_iter().map(|desk| (desk.slug.clone(), tokio::spawn(line(desk)))).collect();
    let mut rows = Vec::new();
    for (slug, line) in lines {
        rows.push((slug, line.await.map_err(|error| Refusal::internal(error.to_string()))?));
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

async fn line(desk: Arc<Desk>) -> Vec<String> {
    let about = escape(desk.reader.spec().description().unwrap_or_default());
    let name = format!("<a href=\"{}\">{}</a><br><span class=\"about\">{about}</span>", address(&desk, ""), escape(&desk.slug));
    // One study that cannot be read does not hide the others.
    let workers = desk.read(Study::workers).await;
    let at_work = workers.map_or_else(|_| "–".to_owned(), |all| all.iter().filter(|worker| worker.leased > 0).count().to_string());
    let known = match desk.glance().await {
        Ok(Some(known)) => known,
        other => {
            let state = other.map_or_else(|refusal| escape(&refusal.message), |_| "<span data-waiting>being read</span>".to_owned());
            return vec![name, "–".into(), "–".into(), "–".into(), "–".into(), at_work, state];
        }
    };
    let (status, advice) = (&known.live.status, known.live.advice.as_ref());
    let label = advice.map_or_else(|| "–".to_owned(), |advice| format!("<span class=\"badge {0}\">{0}</span>", advice.label()));
    let gap = advice.filter(|advice| advice.gap.is_finite()).map_or_else(|| "–".to_owned(), |advice| number(advice.gap));
    let told = status.count(TrialStatus::Done) + status.count(TrialStatus::Failed);
    let state = if status.is_finished { "finished" } else { "running" };
    vec![name, label, gap, format!("{told} of {}", status.budget), batch_words(status.batches, &desk.reader), at_work, state.to_owned()]
}
