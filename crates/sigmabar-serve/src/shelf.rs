//! What takes long to make: by one at a time for each study, once for each of its states, and kept for those who look next.

use crate::refusal::{Outcome, Refusal};
use std::any::Any;
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, SemaphorePermit};

/// So much is kept.
const MOST_KEPT: usize = 8;
/// So many may wait for their turn; more are told to come again.
const MOST_WAITING: usize = 32;

/// A state of a study: its last event, and how often its file changed otherwise.
pub(crate) type State = (u64, u64);

/// Something that was made, with its name and the state that it shows.
#[derive(Debug)]
struct Kept {
    name: String,
    known: Known<dyn Any + Send + Sync>,
}

/// Something that was made.
#[derive(Debug)]
pub(crate) struct Known<T: ?Sized> {
    /// The state that it shows.
    pub state: State,
    pub made: Arc<T>,
    at: Instant,
    took: Duration,
}

impl<T: ?Sized> Known<T> {
    /// How long until it may be made again for whoever only watches: it rests as long as it took.
    pub fn rests(&self) -> Duration {
        (self.at + self.took).saturating_duration_since(Instant::now())
    }
}

/// Pages, pictures and what they are made from.
#[derive(Debug)]
pub(crate) struct Shelf {
    kept: Mutex<VecDeque<Kept>>,
    /// Names of what is being made for pages.
    begun: Mutex<BTreeSet<String>>,
    turn: tokio::sync::Mutex<()>,
    places: Semaphore,
}

/// Whoever has it makes something; nobody else does meanwhile.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    shelf: &'a Shelf,
    _turn: tokio::sync::MutexGuard<'a, ()>,
    _place: SemaphorePermit<'a>,
}

/// Something is being made for pages, until this is dropped.
#[derive(Debug)]
pub(crate) struct Begun {
    shelf: Arc<Shelf>,
    name: String,
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.shelf.begun().remove(&self.name);
    }
}

impl Shelf {
    pub fn new() -> Arc<Self> {
        let places = Semaphore::new(MOST_WAITING);
        Arc::new(Self { kept: Mutex::default(), begun: Mutex::default(), turn: tokio::sync::Mutex::default(), places })
    }

    /// Waits for its turn; refused where too many wait already.
    pub async fn turn(&self) -> Outcome<Turn<'_>> {
        let crowded = |_| Refusal::busy("too many wait for pages, pictures and predictions of this study: try again");
        let place = self.places.try_acquire().map_err(crowded)?;
        Ok(Turn { shelf: self, _turn: self.turn.lock().await, _place: place })
    }

    /// Says that something is being made for pages; none where it is already.
    pub fn begin(self: &Arc<Self>, name: &str) -> Option<Begun> {
        self.begun().insert(name.to_owned()).then(|| Begun { shelf: Arc::clone(self), name: name.to_owned() })
    }

    /// What was made last under a name.
    pub fn find<T: Any + Send + Sync>(&self, name: &str) -> Option<Known<T>> {
        let kept = self.kept();
        let Known { state, made, at, took } = &kept.iter().find(|kept| kept.name == name)?.known;
        Some(Known { state: *state, made: Arc::clone(made).downcast().ok()?, at: *at, took: *took })
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.kept().clear();
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begun(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn<'_> {
    pub fn find<T: Any + Send + Sync>(&self, name: &str) -> Option<Known<T>> {
        self.shelf.find(name)
    }

    /// Keeps something in the place of what had its name.
    pub fn keep<T: Any + Send + Sync>(&self, name: String, state: State, took: Duration, made: Arc<T>) {
        let mut kept = self.shelf.kept();
        kept.retain(|kept| kept.name != name);
        kept.truncate(MOST_KEPT - 1);
        kept.push_front(Kept { name, known: Known { state, made, at: Instant::now(), took } });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shelf<T>(test: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(test)
    }

    #[test]
    fn what_was_made_is_found_under_its_name_with_its_state() {
        shelf(async {
            let shelf = Shelf::new();
            let turn = shelf.turn().await.unwrap();
            for i in 0..2 * MOST_KEPT {
                turn.keep(i.to_string(), (1, 0), Duration::from_secs(9), Arc::new(i));
            }
            assert_eq!(shelf.kept().len(), MOST_KEPT);
            let found = |name: &str| shelf.find::<usize>(name).map(|known| (known.state, *known.made));
            assert_eq!((found("15"), found("0")), (Some(((1, 0), 15)), None));
            assert!(shelf.find::<usize>("15").unwrap().rests() > Duration::from_secs(7), "what takes long is not made all the time");
            turn.keep("15".to_owned(), (2, 0), Duration::ZERO, Arc::new(16_usize));
            assert_eq!((found("15"), shelf.kept().len()), (Some(((2, 0), 16)), MOST_KEPT), "the new in the place of the old");
            shelf.clear();
            assert_eq!(found("15"), None);
        });
    }

    #[test]
    fn one_begins_what_another_has_not_begun() {
        let shelf = Shelf::new();
        let begun = shelf.begin("page");
        assert!(begun.is_some() && shelf.begin("page").is_none() && shelf.begin("other").is_some());
        drop(begun);
        assert!(shelf.begin("page").is_some());
    }

    #[test]
    fn more_than_may_wait_are_sent_away() {
        shelf(async {
            let shelf = Shelf::new();
            let turn = shelf.turn().await.unwrap();
            let waiting: Vec<_> = (1..MOST_WAITING).map(|_| shelf.places.try_acquire().unwrap()).collect();
            assert_eq!(shelf.turn().await.unwrap_err().error, "busy");
            drop((turn, waiting));
            assert!(shelf.turn().await.is_ok());
        });
    }
}
