//! Who works on a study: what they have, how long they may keep it, and how to stop one of them.

use super::Shown;
use super::html::{Screen, address, button, left, table, time};
use crate::app::App;
use crate::desk::encoded;
use crate::token::Access;
use axum::Extension;
use axum::extract::{Path, State};
use sigmabar_report::plot::escape;
use sigmabar_study::{Page, Study, TrialRow, TrialStatus, WorkerRow};
use std::sync::Arc;

pub(super) async fn show(State(app): State<Arc<App>>, Path(s): Path<String>, Extension(access): Extension<Access>) -> Shown {
    let desk = app.desk(&s)?;
    let workers = desk.read(Study::workers).await?;
    let leased =
        desk.read(|study| study.trials_of(&Page { state: Some(TrialStatus::Leased), at_most: Some(2000), ..Page::default() })).await?;
    let trials = address(&desk, "trials");
    let row = |worker: &WorkerRow| {
        let name = escape(&worker.worker);
        let own: Vec<&TrialRow> = leased.iter().filter(|row| row.worker.as_deref() == Some(&worker.worker)).collect();
        let cells = vec![
            format!("<a href=\"{trials}?worker={}\">{name}</a>", encoded(&worker.worker)),
            worker.leased.to_string(),
            left(worker.leased_until.filter(|_| worker.leased > 0)),
            worker.told.to_string(),
            worker.failed.to_string(),
            worker.attempts.to_string(),
            time(Some(worker.seen_at).filter(|at| *at > 0)),
            pause(worker, access) + &own.iter().take(8).map(|row| release(row, &worker.worker, access)).collect::<String>(),
        ];
        (worker.worker.clone(), cells)
    };
    let heads = ["worker", "has", "lease left", "told", "failed", "attempts", "last seen", ""];
    let body = if workers.is_empty() {
        "<p>Nobody has asked for anything yet. On any machine: <code>sigmabar worker --server ADDRESS --command 'your program {parameter}'</code>, with the address that \
         <code>sigmabar serve</code> printed.</p>"
            .to_owned()
    } else {
        table("workers", &heads, workers.iter().map(row))
    };
    let screen = Screen { title: "Workers", study: Some((&desk, "workers")), access, events: format!("{}/events", desk.address()) };
    Ok(screen.around(&format!("<h1>Workers</h1>{body}")))
}

fn pause(worker: &WorkerRow, access: Access) -> String {
    let body = serde_json::json!({ "paused": !worker.is_paused, "worker": worker.worker }).to_string();
    button(access, if worker.is_paused { "Resume" } else { "Pause" }, "POST", "/pause", &body, "")
}

fn release(row: &TrialRow, worker: &str, access: Access) -> String {
    let path = format!("/trials/{}/lease?worker={}", row.id, encoded(worker));
    let question = format!("Put trial {} back into the queue? Somebody else will be given it.", row.id);
    format!(" {}", button(access, &format!("Release {}", row.id), "DELETE", &path, "", &question))
}
