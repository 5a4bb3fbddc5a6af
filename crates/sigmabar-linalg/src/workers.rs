//! The threads that share large work. They belong to one process: a forked child has none of its parent's, and starts its own.

use crate::interrupt::{self, Watch};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::iter::successors;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// 0: what the machine has.
static WANTED: AtomicUsize = AtomicUsize::new(0);
/// The newest pool. A list that only grows, and no lock: a fork may come at any moment, and would copy a lock that nobody can open any more.
static POOLS: AtomicPtr<Pool> = AtomicPtr::new(std::ptr::null_mut());

/// Kept for ever: another thread may be using it, and ending one that was copied by a fork would wait for threads that are not there.
struct Pool {
    process: u32,
    wanted: usize,
    threads: ThreadPool,
    earlier: Option<&'static Pool>,
}

/// From now on this many threads work; `None` for what `RAYON_NUM_THREADS` says, or the cores that this process may use. Results do not depend on it.
pub fn set_threads(wanted: Option<NonZeroUsize>) {
    WANTED.store(wanted.map_or(0, NonZeroUsize::get), Ordering::Relaxed);
}

/// What [`set_threads`] was last called with.
#[must_use]
pub fn chosen_threads() -> Option<NonZeroUsize> {
    NonZeroUsize::new(WANTED.load(Ordering::Relaxed))
}

/// How many threads work.
#[must_use]
pub fn threads() -> usize {
    match rayon::current_thread_index() {
        Some(_) => rayon::current_num_threads(),
        None => pool().current_num_threads(),
    }
}

/// Does work that splits itself by rayon, on the threads of this process; on those of the caller's pool if it is in one. An interrupt is looked for before, and
/// by [`Watch::check`] within.
pub fn parallel<T: Send>(work: impl FnOnce(&Watch) -> T + Send) -> T {
    interrupt::check();
    let watch = Watch::current();
    if rayon::current_thread_index().is_some() { work(&watch) } else { pool().install(|| work(&watch)) }
}

/// The answers of so many tasks, in their order. One task alone wakes nobody.
pub fn in_tasks<T: Send>(count: usize, task: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    if count == 1 {
        interrupt::check();
        return vec![task(0)];
    }
    parallel(|watch| (0..count).into_par_iter().inspect(|_| watch.check()).map(task).collect())
}

fn pool() -> &'static ThreadPool {
    let (process, wanted) = (std::process::id(), WANTED.load(Ordering::Relaxed));
    let mut newest = POOLS.load(Ordering::Acquire);
    loop {
        // SAFETY: pools are published whole by the exchange below, and never freed afterwards.
        let earlier: Option<&'static Pool> = unsafe { newest.as_ref() };
        if let Some(pool) = successors(earlier, |pool| pool.earlier).find(|pool| pool.process == process && pool.wanted == wanted) {
            return &pool.threads;
        }
        let threads = ThreadPoolBuilder::new().num_threads(wanted).thread_name(|i| format!("sigmabar-{i}")).build();
        let threads =
            threads.unwrap_or_else(|error| panic!("threads could not be started ({error}): allow more of them, or ask for fewer"));
        let mine = Box::into_raw(Box::new(Pool { process, wanted, threads, earlier }));
        match POOLS.compare_exchange(newest, mine, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => newest = mine,
            Err(other) => {
                // SAFETY: it was not published.
                drop(unsafe { Box::from_raw(mine) });
                newest = other;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_threads_work_as_were_asked_for() {
        for wanted in [3, 1, 3] {
            set_threads(NonZeroUsize::new(wanted));
            assert_eq!((threads(), parallel(|_| rayon::current_num_threads())), (wanted, wanted));
        }
        let own = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        assert_eq!(own.install(|| parallel(|_| rayon::current_num_threads())), 2, "the caller's own pool is used");
        set_threads(None);
    }

    #[test]
    fn one_task_alone_wakes_nobody() {
        assert_eq!(in_tasks(1, |_| rayon::current_thread_index()), [None]);
        assert!(in_tasks(2, |_| rayon::current_thread_index()).iter().all(Option::is_some));
        assert_eq!((in_tasks(0, |i| i), in_tasks(3, |i| i)), (vec![], vec![0, 1, 2]));
    }

    #[test]
    fn an_interrupt_reaches_the_threads_and_nobody_else() {
        let interrupt = crate::Interrupt::default();
        let count = |watch: &Watch| (0..1000).into_par_iter().inspect(|_| watch.check()).count();
        assert_eq!(interrupt.watch(|| parallel(count)), Ok(1000));
        let done = interrupt.watch(|| {
            parallel(|watch| {
                interrupt.trigger();
                count(watch)
            })
        });
        assert_eq!(done, Err(crate::Interrupted));
        assert_eq!(parallel(count), 1000, "only what is watched");
    }
}
