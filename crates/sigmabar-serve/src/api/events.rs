//! Server-sent events: what happens, as it happens, and from where a reader left off.

use super::taking::Args;
use crate::app::App;
use crate::desk::Desk;
use crate::refusal::Outcome;
use crate::token::Access;
use crate::wire::EventsQuery;
use axum::Extension;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use serde_json::json;
use std::convert::Infallible;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::mpsc::{Sender, channel};
use tokio::sync::watch;
use tokio_stream::wrappers::ReceiverStream;

type Stream = Sse<axum::response::sse::KeepAliveStream<ReceiverStream<Result<Event, Infallible>>>>;

/// Events of one reading.
const MOST_TOGETHER: usize = 500;
/// A study that many work on changes all the time: more news than these a second help nobody.
const PAUSE: Duration = Duration::from_millis(150);

/// A reader that was cut off comes again after this.
const AGAIN: Duration = Duration::from_millis(500);

/// What happens to a study; the number of an event is that of its row in the file, so that a reader can go on where it was cut off.
pub(super) async fn of_study(
    State(app): State<Arc<App>>,
    Path(s): Path<String>,
    Args(query): Args<EventsQuery>,
    Extension(access): Extension<Access>,
    headers: HeaderMap,
) -> Outcome<Stream> {
    let (desk, place) = (app.desk(&s)?, app.stream(access)?);
    let seen = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let now = desk.read(sigmabar_study::Study::last_event).await?;
    let after = seen.or(query.after).unwrap_or(now);
    let (sender, receiver) = channel(64);
    let down = app.down.clone();
    tokio::spawn(async move {
        tell_events(desk, after, sender, down).await;
        drop(place);
    });
    Ok(stream(receiver))
}

async fn tell_events(desk: Arc<Desk>, mut after: u64, sender: Sender<Result<Event, Infallible>>, mut down: watch::Receiver<bool>) {
    let mut changes = desk.changes();
    let hello = Event::default().event("hello").retry(AGAIN).data(json!({ "after": after }).to_string());
    if sender.send(Ok(hello)).await.is_err() {
        return;
    }
    loop {
        changes.borrow_and_update();
        // A study file that was amended: the reader comes again, and finds the study as it is declared now.
        if desk.is_amended() {
            return;
        }
        let Ok(news) = desk.read(move |study| study.some_events_after(after, MOST_TOGETHER)).await else { return };
        let is_full = news.len() == MOST_TOGETHER;
        for row in news {
            after = row.number;
            let data = json!({ "kind": row.kind.name(), "at": row.at, "trial": row.trial, "worker": row.worker });
            let event = Event::default().id(row.number.to_string()).event("happened").data(data.to_string());
            if sender.send(Ok(event)).await.is_err() {
                return;
            }
        }
        if is_full {
            continue;
        }
        // Something may have changed without an event: a note, a well, or what is known.
        if sender.send(Ok(Event::default().event("changed").data(json!({ "after": after }).to_string()))).await.is_err() {
            return;
        }
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { return },
            _ = down.changed() => return,
            () = sender.closed() => return,
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Which studies change, without saying how.
pub(super) async fn all(State(app): State<Arc<App>>, Extension(access): Extension<Access>) -> Outcome<Stream> {
    let (sender, receiver) = channel(64);
    let place = app.stream(access)?;
    tokio::spawn(async move {
        let _place = place;
        let (mut arrivals, mut down) = (app.desks.arrivals(), app.down.clone());
        let mut followed: Vec<Weak<Desk>> = Vec::new();
        loop {
            arrivals.borrow_and_update();
            for desk in app.desks.all() {
                if !followed.iter().any(|known| known.upgrade().is_some_and(|known| Arc::ptr_eq(&known, &desk))) {
                    followed.push(Arc::downgrade(&desk));
                    tokio::spawn(tell_changes(desk, sender.clone(), app.down.clone()));
                }
            }
            tokio::select! {
                changed = arrivals.changed() => if changed.is_err() { return },
                _ = down.changed() => return,
                () = sender.closed() => return,
            }
            // A study that came is news too.
            if sender.send(Ok(Event::default().event("changed").data("{}"))).await.is_err() {
                return;
            }
        }
    });
    Ok(stream(receiver))
}

async fn tell_changes(desk: Arc<Desk>, sender: Sender<Result<Event, Infallible>>, mut down: watch::Receiver<bool>) {
    let mut changes = desk.changes();
    loop {
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { return },
            _ = down.changed() => return,
            () = sender.closed() => return,
        }
        if desk.is_amended() {
            return;
        }
        let event = Event::default().event("changed").data(json!({ "study": desk.slug }).to_string());
        if sender.send(Ok(event)).await.is_err() {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn stream(receiver: tokio::sync::mpsc::Receiver<Result<Event, Infallible>>) -> Stream {
    Sse::new(ReceiverStream::new(receiver)).keep_alive(KeepAlive::new().interval(Duration::from_secs(15)))
}
