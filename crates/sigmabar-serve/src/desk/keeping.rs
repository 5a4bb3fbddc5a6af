//! What takes long to make and is kept: pages, pictures, predictions.

use super::{Desk, to_the_end};
use crate::refusal::Outcome;
use crate::shelf::State;
use sigmabar_report::report;
use sigmabar_study::Study;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A page waits so long for what takes long; then it shows what was made before, or says that it comes.
pub(super) const PATIENCE: Duration = Duration::from_millis(800);
/// How often a page looks whether what another one waits for is there.
const LOOK: Duration = Duration::from_millis(20);

/// What the report is kept as.
const REPORT: &str = "report";

impl Desk {
    async fn state(self: &Arc<Self>) -> Outcome<State> {
        Ok((self.read(Study::last_event).await?, self.version.load(Ordering::Acquire)))
    }

    /// Something that takes long to make: once for each state of the study, however many look at it.
    pub async fn kept<T: Send + Sync + 'static>(
        self: &Arc<Self>,
        name: String,
        make: impl FnOnce(&Study) -> report::Result<T> + Send + 'static,
    ) -> Outcome<Arc<T>> {
        let desk = Arc::clone(self);
        to_the_end(async move {
            desk.touch();
            let turn = desk.shelf.turn().await?;
            let state = desk.state().await?;
            if let Some(known) = turn.find(&name).filter(|known| known.state == state) {
                return Ok(known.made);
            }
            let begun = Instant::now();
            let made = Arc::new(desk.view(make).await?);
            turn.keep(name, state, begun.elapsed(), Arc::clone(&made));
            Ok(made)
        })
        .await
    }

    /// The same for a page, which does not stay blank for seconds: the last that was made, perhaps of an older state, or none while the first is made. Whoever looks is told when
    /// there is a newer one. One that takes long is not made all the time.
    pub async fn soon<T: Send + Sync + 'static>(
        self: &Arc<Self>,
        name: &str,
        make: impl FnOnce(&Study) -> report::Result<T> + Send + 'static,
    ) -> Outcome<Option<Arc<T>>> {
        self.touch();
        let until = tokio::time::Instant::now() + PATIENCE;
        let (begun, wait) = loop {
            let (state, known) = (self.state().await?, self.shelf.find::<T>(name));
            if let Some(known) = known.as_ref().filter(|known| known.state == state) {
                return Ok(Some(Arc::clone(&known.made)));
            }
            if let Some(begun) = self.shelf.begin(name) {
                break (begun, known.map_or(Duration::ZERO, |known| known.rests()));
            }
            if tokio::time::Instant::now() >= until {
                return Ok(known.map(|known| known.made));
            }
            tokio::time::sleep(LOOK).await;
        };
        let (desk, own_name) = (Arc::clone(self), name.to_owned());
        let making = to_the_end(async move {
            tokio::time::sleep(wait).await;
            let made = desk.kept(own_name, make).await;
            drop(begun);
            if tokio::time::Instant::now() > until {
                desk.changes.send_modify(|count| *count += 1);
            }
            made
        });
        match tokio::time::timeout_at(until, making).await {
            Ok(made) => made.map(Some),
            Err(_) => Ok(self.shelf.find(name).map(|known| known.made)),
        }
    }

    /// The report, with its pictures.
    pub async fn report(self: &Arc<Self>) -> Outcome<Arc<report::Page>> {
        self.kept(REPORT.to_owned(), self.reporter()).await
    }

    /// The same for its screen.
    pub async fn report_soon(self: &Arc<Self>) -> Outcome<Option<Arc<report::Page>>> {
        self.soon(REPORT, self.reporter()).await
    }

    fn reporter(&self) -> impl FnOnce(&Study) -> report::Result<report::Page> + Send + use<> {
        let pictures = format!("{}/pictures", self.address());
        move |study| report::live_report(study, &pictures)
    }

    /// Something that takes long and is of use to one only: in turn with all that is kept.
    pub async fn in_turn<T: Send + 'static>(
        self: &Arc<Self>,
        make: impl FnOnce(&Study) -> report::Result<T> + Send + 'static,
    ) -> Outcome<T> {
        let desk = Arc::clone(self);
        to_the_end(async move {
            let _turn = desk.shelf.turn().await?;
            desk.view(make).await
        })
        .await
    }
}
