//! Calling long work off: between two blocks it is asked whether anybody still waits for the result.
//!
//! An interrupt unwinds to whoever began the work instead of travelling as an error through every formula: a factorisation that failed has a plan for what to do
//! next, and a numerical plan must not be mistaken for the wish to stop.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;

thread_local! {
    static CURRENT: RefCell<Option<Interrupt>> = const { RefCell::new(None) };
}

/// Work was called off: see [`Interrupt`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("interrupted")]
pub struct Interrupted;

/// A wish to stop, made on one thread and met on another.
///
/// ```
/// use sigmabar_linalg::{Interrupt, Interrupted, Matrix, product};
/// let interrupt = Interrupt::default();
/// let work = || product(&Matrix::identity(3), &Matrix::identity(3)).map(|eye| eye[(0, 0)]);
/// assert_eq!(interrupt.watch(work), Ok(Ok(1.0)));
/// interrupt.trigger();
/// assert_eq!(interrupt.watch(work), Err(Interrupted));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// The work that is watched ends before its next block. Safe in a signal handler.
    pub fn trigger(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was triggered.
    #[must_use]
    pub fn is_triggered(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Does the work on this thread, and stops it between two blocks once triggered. What the work was changing may be half changed then.
    ///
    /// # Errors
    /// [`Interrupted`].
    pub fn watch<T>(&self, work: impl FnOnce() -> T) -> Result<T, Interrupted> {
        let _before = Restore(CURRENT.replace(Some(self.clone())));
        caught(work)
    }

    /// What watches the work of this thread.
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
    }
}

/// Puts back what watched before.
struct Restore(Option<Interrupt>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Stops an interrupt here, for whoever has something to put right before handing it on.
///
/// # Errors
/// [`Interrupted`].
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Interrupted> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| match payload.downcast::<Interrupted>() {
        Ok(interrupted) => *interrupted,
        Err(panic) => resume_unwind(panic),
    })
}

/// Ends the work of this thread if it was interrupted: called between blocks, and by everything here that costs more than a few microseconds.
pub fn check() {
    CURRENT.with_borrow(|current| Watch::look(current.as_ref()));
}

/// What the threads of a pool look at while they work for another one.
#[derive(Clone, Debug)]
pub struct Watch(Option<Interrupt>);

impl Watch {
    pub(crate) fn current() -> Self {
        Self(Interrupt::current())
    }

    /// As [`check`], on behalf of the thread that began the work.
    pub fn check(&self) {
        Self::look(self.0.as_ref());
    }

    fn look(interrupt: Option<&Interrupt>) {
        if interrupt.is_some_and(Interrupt::is_triggered) {
            resume_unwind(Box::new(Interrupted));
        }
    }
}
