//! What takes long to make: by one at a time for each study, once for each of its states, and kept for those who look next.

use crate::refusal::{Outcome, Refusal};
use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::{Mutex, MutexGuard, Semaphore, SemaphorePermit};

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
    state: State,
    made: Arc<dyn Any + Send + Sync>,
}

/// Pages, pictures and what they are made from.
#[derive(Debug)]
pub(crate) struct Shelf {
    kept: Mutex<VecDeque<Kept>>,
    places: Semaphore,
}

/// Whoever has it makes something; nobody else does meanwhile.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    kept: MutexGuard<'a, VecDeque<Kept>>,
    _place: SemaphorePermit<'a>,
}

impl Shelf {
    pub fn new() -> Self {
        Self { kept: Mutex::default(), places: Semaphore::new(MOST_WAITING) }
    }

    /// Waits for its turn; refused where too many wait already.
    pub async fn turn(&self) -> Outcome<Turn<'_>> {
        let crowded = |_| Refusal::busy("too many wait for pages, pictures and predictions of this study: try again");
        let place = self.places.try_acquire().map_err(crowded)?;
        Ok(Turn { kept: self.kept.lock().await, _place: place })
    }

    /// Forgets everything, unless something is being made.
    pub fn clear(&self) {
        if let Ok(mut kept) = self.kept.try_lock() {
            kept.clear();
        }
    }
}

impl Turn<'_> {
    pub fn find<T: Any + Send + Sync>(&self, name: &str, state: State) -> Option<Arc<T>> {
        let found = self.kept.iter().find(|kept| kept.name == name && kept.state == state)?;
        Arc::clone(&found.made).downcast().ok()
    }

    /// Keeps something, and nothing of another state.
    pub fn keep<T: Any + Send + Sync>(&mut self, name: String, state: State, made: Arc<T>) {
        self.kept.retain(|kept| kept.name != name && kept.state == state);
        self.kept.truncate(MOST_KEPT - 1);
        self.kept.push_front(Kept { name, state, made });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shelf<T>(test: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(test)
    }

    #[test]
    fn what_was_made_is_found_in_its_own_state_only() {
        shelf(async {
            let shelf = Shelf::new();
            let mut turn = shelf.turn().await.unwrap();
            for i in 0..2 * MOST_KEPT {
                turn.keep(i.to_string(), (1, 0), Arc::new(i));
            }
            assert_eq!(turn.kept.len(), MOST_KEPT);
            assert_eq!(turn.find::<usize>("15", (1, 0)).as_deref(), Some(&15));
            assert_eq!(
                (turn.find::<usize>("15", (2, 0)), turn.find::<usize>("15", (1, 1)), turn.find::<usize>("0", (1, 0))),
                (None, None, None)
            );
            turn.keep("other".to_owned(), (2, 0), Arc::new(String::new()));
            assert_eq!(turn.kept.len(), 1, "an old state is of no use");
            drop(turn);
            shelf.clear();
            assert_eq!(shelf.turn().await.unwrap().kept.len(), 0);
        });
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
