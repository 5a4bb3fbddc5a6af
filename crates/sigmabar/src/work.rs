//! Work that is counted instead of timed: a busy machine changes seconds, not multiplications.

use std::cell::Cell;

thread_local! {
    static DONE: Cell<usize> = const { Cell::new(0) };
}

/// So many multiplications are about to be made.
pub(crate) fn count(multiplications: usize) {
    DONE.with(|done| done.set(done.get() + multiplications));
}

/// What some work costs: all of it is done by one thread, whose count no other test sees.
pub(crate) fn of<T: Send>(work: impl FnOnce() -> T + Send) -> (T, usize) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    pool.install(|| {
        let before = DONE.with(Cell::get);
        let result = work();
        (result, DONE.with(Cell::get) - before)
    })
}
