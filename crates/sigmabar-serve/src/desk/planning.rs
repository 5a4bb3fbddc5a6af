//! Handing out, and the plans that it needs: one at a time.

use super::{Desk, blocking};
use crate::refusal::{Outcome, Refusal};
use sigmabar_study::{AskRequest, HandedOut, Study, StudySpec};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Somebody who waits for trials looks again after this, whatever is heard of the file.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

impl Desk {
    /// Leases trials to a worker, waiting for them as long as it says; plans beside it where a plan is due.
    pub async fn ask(self: &Arc<Self>, request: AskRequest, patience: Duration) -> Outcome<HandedOut> {
        let until = tokio::time::Instant::now() + patience;
        let mut openings = self.openings.subscribe();
        loop {
            openings.borrow_and_update();
            let handed = if self.is_paused(&request.worker) { HandedOut::Wait } else { self.writer()?.ask(request.clone()).await? };
            match handed {
                HandedOut::Unplanned => {
                    if let Some(refusal) = self.trouble().clone() {
                        return Err(refusal);
                    }
                    self.plan();
                }
                HandedOut::Wait => {}
                other => return Ok(other),
            }
            let now = tokio::time::Instant::now();
            if now >= until {
                return Ok(HandedOut::Wait);
            }
            let look = tokio::time::timeout_at(until.min(now + LOOK_AGAIN), openings.changed());
            if matches!(look.await, Ok(Err(_))) || self.stop.is_triggered() {
                return Err(Refusal::busy("the server is stopping: try again later"));
            }
            if self.is_amended() {
                return Err(Refusal::busy("the study file was amended: try again"));
            }
        }
    }

    /// Plans the next batch beside everything else, one plan at a time.
    fn plan(self: &Arc<Self>) {
        if self.is_planning.swap(true, Ordering::AcqRel) {
            return;
        }
        let desk = Arc::clone(self);
        tokio::spawn(async move {
            let before = desk.read(Study::last_event).await;
            let planned = desk.with_planner(|study| study.advance().map(drop)).await;
            desk.is_planning.store(false, Ordering::Release);
            *desk.trouble() = planned.err().filter(|refusal| refusal.error != "busy");
            // What happened meanwhile may have been the remedy: another plan is tried.
            if before.ok() != desk.read(Study::last_event).await.ok() {
                *desk.trouble() = None;
            }
            desk.open();
        });
    }

    /// Closes the open batch, and plans the next one.
    pub async fn close_batch(self: &Arc<Self>, force: bool) -> Outcome<()> {
        let closed = self.with_planner(move |study| if force { study.close_batch_unseen() } else { study.close_batch() }).await;
        self.open();
        closed
    }

    /// Goes on by an edited study file; the keys that changed. Afterwards another desk is needed.
    pub async fn amend(self: &Arc<Self>, edited: StudySpec) -> Outcome<Vec<String>> {
        let changed = self.with_planner(move |study| study.reopen()?.amend(&edited)).await?;
        self.is_amended.fetch_or(!changed.is_empty(), Ordering::AcqRel);
        Ok(changed)
    }

    pub fn is_amended(&self) -> bool {
        self.is_amended.load(Ordering::Acquire)
    }

    /// Another desk has the place of this one: whoever waits here is sent there.
    pub fn retire(&self) {
        self.is_amended.store(true, Ordering::Release);
        self.changes.send_modify(|count| *count += 1);
        self.open();
    }

    async fn with_planner<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Study) -> sigmabar_study::Result<T> + Send + 'static,
    ) -> Outcome<T> {
        let _one_at_a_time = self.planning.lock().await;
        self.touch();
        let desk = Arc::clone(self);
        let stopping = || Refusal::busy("the server is stopping: the plan is made when it is there again");
        blocking(move || match desk.stop.watch(|| work(&desk.viewer)) {
            Err(_) | Ok(Err(sigmabar_study::Error::Core(sigmabar::Error::Interrupted(_)))) => Err(stopping()),
            Ok(done) => done.map_err(Refusal::from),
        })
        .await
    }

    /// A plan that could not be made is tried again.
    pub fn forget_trouble(&self) {
        *self.trouble() = None;
        self.open();
    }

    /// There may be something to hand out again.
    pub fn open(&self) {
        self.openings.send_modify(|count| *count += 1);
    }
}
