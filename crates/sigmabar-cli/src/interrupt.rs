//! Ctrl-C: the first one asks the command to stop at the next safe moment, the second one ends it at once.

use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// Listens from now on; the flag becomes true at the first Ctrl-C (or termination signal).
pub(crate) fn listen() -> &'static AtomicBool {
    // A process that has its own handler, as Python may, keeps it: then its rules hold.
    drop(ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
    }));
    &STOP
}

/// Whether there was a Ctrl-C.
pub(crate) fn was_interrupted() -> bool {
    STOP.load(Ordering::SeqCst)
}
