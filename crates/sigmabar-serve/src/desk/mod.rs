//! One study of the server: who reads, who writes, who plans, and what is known of it at this moment.

mod keeping;
mod planning;
#[cfg(test)]
mod tests;

use crate::refusal::{Outcome, Refusal, UNREADABLE};
use crate::shelf::Shelf;
use crate::writer::Writer;
use sigmabar::linalg::Interrupt;
use sigmabar_report::report::{self, Live};
use sigmabar_study::{EventKind, Page, Study, now};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// A page shows what is known; what is newer is made ready meanwhile, but not more often than this.
const PAUSE: Duration = Duration::from_millis(250);
/// A page waits so long for the first look at a study, or the first after something happened.
const FIRST_LOOK: Duration = Duration::from_millis(60);

/// A study as it stood after an event.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// The last event that it includes, and perhaps more.
    pub event: u64,
    /// How often leases had run out.
    pub lapses: u64,
    pub live: Live,
    /// How long it took to make.
    pub took: Duration,
    made: Instant,
}

/// One study.
#[derive(Debug)]
pub(crate) struct Desk {
    /// What it is called in addresses.
    pub slug: String,
    /// For reading; its lock is held for as long as a query takes.
    pub reader: Study,
    /// For what may take long: the strategy is made here.
    viewer: Study,
    writer: OnceLock<Writer>,
    snapshot: watch::Sender<Option<Arc<Snapshot>>>,
    refreshing: tokio::sync::Mutex<()>,
    is_refreshing: AtomicBool,
    /// Pages, pictures and predictions: nobody makes what another has just made.
    shelf: Arc<Shelf>,
    planning: tokio::sync::Mutex<()>,
    is_planning: AtomicBool,
    /// Whether the study file was amended: another desk takes its place.
    is_amended: AtomicBool,
    /// Why the last plan was not made.
    trouble: Mutex<Option<Refusal>>,
    /// Why nothing could be shown at the last try.
    unreadable: Mutex<Option<Refusal>>,
    paused_workers: Mutex<BTreeSet<String>>,
    /// When somebody last looked, or a plan was made; none once what was kept from it is forgotten.
    used: Mutex<Option<Instant>>,
    /// Whether something was computed since memory was given back.
    has_computed: AtomicBool,
    /// Counts changes of the file and new snapshots.
    changes: watch::Sender<u64>,
    /// Counts moments at which there may be something to hand out again.
    openings: watch::Sender<u64>,
    last_event: AtomicU64,
    /// Counts changes of the file, also those that are no events.
    version: AtomicU64,
    /// Counts moments at which leases ran out, of which the file says nothing.
    lapses: AtomicU64,
    /// When the next one does, in milliseconds since 1970.
    next_lapse: AtomicI64,
    stop: Interrupt,
}

impl Desk {
    pub fn new(slug: String, study: Study, stop: Interrupt) -> sigmabar_study::Result<Arc<Self>> {
        let viewer = study.reopen()?;
        // What happens after this is news; what happened before it, since the study was opened, is looked up.
        let last_event = study.last_event()?;
        let (is_amended, paused) = (study.is_amended()?, study.paused_workers()?);
        Ok(Arc::new(Self {
            slug,
            reader: study,
            viewer,
            writer: OnceLock::new(),
            snapshot: watch::Sender::new(None),
            refreshing: tokio::sync::Mutex::default(),
            is_refreshing: AtomicBool::new(false),
            shelf: Shelf::new(),
            planning: tokio::sync::Mutex::default(),
            is_planning: AtomicBool::new(false),
            is_amended: AtomicBool::new(is_amended),
            trouble: Mutex::new(None),
            unreadable: Mutex::new(None),
            paused_workers: Mutex::new(paused),
            used: Mutex::new(None),
            has_computed: AtomicBool::new(false),
            changes: watch::Sender::new(0),
            openings: watch::Sender::new(0),
            last_event: AtomicU64::new(last_event),
            version: AtomicU64::new(0),
            lapses: AtomicU64::new(0),
            next_lapse: AtomicI64::new(i64::MAX),
            stop,
        }))
    }

    /// Where the API has this study.
    pub fn address(&self) -> String {
        format!("/api/v1/studies/{}", encoded(&self.slug))
    }

    pub fn writer(&self) -> Outcome<Writer> {
        if let Some(writer) = self.writer.get() {
            return Ok(writer.clone());
        }
        let started = self.reader.reopen().map_err(Refusal::from)?;
        let started = Writer::start(started).map_err(|error| Refusal::internal(error.to_string()))?;
        Ok(self.writer.get_or_init(|| started).clone())
    }

    /// Reads, on a thread that may wait for the disk.
    pub async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Study) -> sigmabar_study::Result<T> + Send + 'static,
    ) -> Outcome<T> {
        let desk = Arc::clone(self);
        blocking(move || work(&desk.reader).map_err(Refusal::from)).await
    }

    /// Asks the model or makes pages: what may take long.
    async fn view<T: Send + 'static>(self: &Arc<Self>, work: impl FnOnce(&Study) -> report::Result<T> + Send + 'static) -> Outcome<T> {
        let desk = Arc::clone(self);
        self.touch();
        blocking(move || {
            let done = desk.stop.watch(|| work(&desk.viewer));
            desk.touch();
            desk.has_computed.store(true, Ordering::Release);
            done.map_err(|_| Refusal::busy("the server is stopping"))?.map_err(Refusal::from)
        })
        .await
    }

    /// What is known now, perhaps a moment old; what is newer is made ready meanwhile. None, or the answer without its pictures, while the first of it is made, which may take
    /// seconds where there are many trials: whoever looks is told when it is there.
    pub async fn glance(self: &Arc<Self>) -> Outcome<Option<Arc<Snapshot>>> {
        self.touch();
        let mut news = self.snapshot.subscribe();
        let known = news.borrow_and_update().clone();
        // What the file says, as the thread that watches it looks only now and then.
        let last = self.read(Study::last_event).await.unwrap_or_else(|_| self.last_event());
        let is_old = known.as_ref().is_none_or(|known| known.event < last || known.lapses < self.lapses());
        // One that takes long is not made all the time.
        let due = known.as_ref().map_or_else(Instant::now, |known| known.made + PAUSE.max(4 * known.took));
        let wait = due.saturating_duration_since(Instant::now());
        if is_old && !self.is_refreshing.swap(true, Ordering::AcqRel) {
            let desk = Arc::clone(self);
            tokio::spawn(async move {
                tokio::time::sleep(wait).await;
                desk.is_refreshing.store(false, Ordering::Release);
                // A page that cannot be made now shows what was known, or why nothing is.
                drop(desk.fresh().await);
                desk.changes.send_modify(|count| *count += 1);
            });
        }
        if known.is_some() && (!is_old || !wait.is_zero()) {
            return Ok(known);
        }
        drop(tokio::time::timeout(FIRST_LOOK, news.changed()).await);
        let known = news.borrow().clone();
        match self.unreadable().clone() {
            Some(refusal) if known.is_none() => Err(refusal),
            _ => Ok(known),
        }
    }

    /// Whether the file can be read: by eyes that have not seen it yet, as what is remembered of it may outlive it.
    pub async fn check(self: &Arc<Self>) -> Outcome<()> {
        let known = self.unreadable().clone().into_iter().chain(self.trouble().clone()).find(|refusal| refusal.error == UNREADABLE);
        if let Some(refusal) = known {
            return Err(refusal);
        }
        let first = Page { at_most: Some(1), ..Page::default() };
        self.read(move |study| study.reopen()?.trials_of(&first).map(drop)).await
    }

    /// What is known with everything that was told before this call.
    pub async fn fresh(self: &Arc<Self>) -> Outcome<Arc<Snapshot>> {
        let desk = Arc::clone(self);
        let made = to_the_end(async move { desk.made_fresh().await }).await;
        *self.unreadable() = made.as_ref().err().cloned();
        made
    }

    async fn made_fresh(self: &Arc<Self>) -> Outcome<Arc<Snapshot>> {
        let (wanted, lapses) = (self.read(Study::last_event).await?, self.lapses());
        let _one_at_a_time = self.refreshing.lock().await;
        let before = self.snapshot.borrow().clone();
        if let Some(known) = before.clone().filter(|known| known.event >= wanted && known.lapses >= lapses && known.live.is_whole) {
            return Ok(known);
        }
        let (event, lapses) = (self.read(Study::last_event).await?, self.lapses());
        let (begun, address, desk) = (Instant::now(), format!("{}/pictures", self.address()), Arc::clone(self));
        let at_first = before.is_none();
        let made = self.view(move |study| {
            let snapshot = |live| Arc::new(Snapshot { event, lapses, live, took: begun.elapsed(), made: Instant::now() });
            // Whoever sees nothing yet sees what is there so far; a page that is there stays until all of the next one is.
            let publish = |live: &Live| {
                if at_first {
                    desk.publish(Some(snapshot(live.clone())))
                }
            };
            let live = report::live(study, &address, before.as_ref().map(|known| &known.live), publish)?;
            // The server after this one has the claim at once.
            study.remember();
            Ok(snapshot(live))
        });
        let made = made.await;
        match &made {
            Ok(snapshot) => self.publish(Some(Arc::clone(snapshot))),
            // Half a page whose other half does not come is none.
            Err(_) if at_first => self.publish(None),
            Err(_) => {}
        }
        made
    }

    fn publish(&self, snapshot: Option<Arc<Snapshot>>) {
        self.snapshot.send_replace(snapshot);
        self.changes.send_modify(|count| *count += 1);
    }

    /// Something happened in the file, or a lease ran out: called by the thread that watches it.
    pub fn look(&self) -> sigmabar_study::Result<()> {
        self.version.fetch_add(1, Ordering::AcqRel);
        self.look_at_leases()?;
        let known = self.last_event.load(Ordering::Acquire);
        let (news, last) = self.reader.news_after(known)?;
        let is_opening = |kind: &EventKind| !kind.is_ask() && *kind != EventKind::Told;
        // A plan that failed may succeed after anything but an ask.
        if news.iter().any(|kind| !kind.is_ask()) {
            *self.trouble() = None;
        }
        if news.contains(&EventKind::Amended) {
            self.is_amended.store(true, Ordering::Release);
        }
        if news.iter().any(is_opening) {
            *self.paused() = self.reader.paused_workers()?;
            self.open();
        }
        self.last_event.store(last, Ordering::Release);
        self.changes.send_modify(|count| *count += 1);
        Ok(())
    }

    /// Whether a lease ran out since the last look.
    pub fn has_lapsed(&self) -> bool {
        now() >= self.next_lapse.load(Ordering::Acquire)
    }

    fn look_at_leases(&self) -> sigmabar_study::Result<()> {
        let has_lapsed = self.has_lapsed();
        self.next_lapse.store(self.reader.next_lapse(now())?.unwrap_or(i64::MAX), Ordering::Release);
        if has_lapsed {
            self.lapses.fetch_add(1, Ordering::AcqRel);
            self.open();
        }
        Ok(())
    }

    fn lapses(&self) -> u64 {
        self.lapses.load(Ordering::Acquire)
    }

    /// Forgets answer, pages and strategy once nobody has needed them for so long: they are made again for whoever does. Memory is that of what is looked at, not of
    /// all that ever was.
    pub fn rest(&self, after: Duration) {
        let mut used = self.used();
        if used.is_none_or(|used| used.elapsed() < after) || self.changes.receiver_count() > 0 {
            return;
        }
        *used = None;
        drop(used);
        self.snapshot.send_replace(None);
        self.shelf.clear();
        self.viewer.rest();
        self.has_computed.store(true, Ordering::Release);
    }

    /// Whether something was computed, or forgotten, since this was asked last: then much memory may be free.
    pub fn has_computed(&self) -> bool {
        self.has_computed.swap(false, Ordering::AcqRel)
    }

    pub fn has_answer(&self) -> bool {
        self.snapshot.borrow().is_some()
    }

    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub fn last_event(&self) -> u64 {
        self.last_event.load(Ordering::Acquire)
    }

    fn is_paused(&self, worker: &str) -> bool {
        self.paused().contains(worker)
    }

    fn paused(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.paused_workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn touch(&self) {
        *self.used() = Some(Instant::now());
    }

    fn used(&self) -> MutexGuard<'_, Option<Instant>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unreadable(&self) -> MutexGuard<'_, Option<Refusal>> {
        self.unreadable.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn trouble(&self) -> MutexGuard<'_, Option<Refusal>> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The file is closed last, when nobody writes any more: then all of it is in the one file, and nothing in the log beside it.
impl Drop for Desk {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.take() {
            writer.close();
        }
    }
}

/// Work that waits for the disk or computes, away from the threads that answer.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Outcome<T> + Send + 'static) -> Outcome<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(Refusal::internal(format!("the work ended unexpectedly: {error}"))),
    }
}

/// Work that is done even if whoever wanted it goes away: what a blocking thread has begun it ends, and until then it is the turn of no other.
async fn to_the_end<T: Send + 'static>(work: impl Future<Output = Outcome<T>> + Send + 'static) -> Outcome<T> {
    tokio::spawn(work).await.unwrap_or_else(|error| Err(Refusal::internal(format!("the work ended unexpectedly: {error}"))))
}

/// A name as a part of an address.
pub(crate) fn encoded(name: &str) -> String {
    let mut out = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    // Such a part would be taken for a directory.
    if out.bytes().all(|byte| byte == b'.') { out.replace('.', "%2E") } else { out }
}
