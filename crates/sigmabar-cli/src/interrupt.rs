//! Ctrl-C: the first one asks the command to stop at the next safe moment, the second one ends it at once.

use crate::console::Console;
use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// Listens from now on; the flag becomes true at the first Ctrl-C (or termination signal).
pub(crate) fn listen(console: &Console) -> &'static AtomicBool {
    let console = console.clone();
    // A process that has its own handler, as Python may, keeps it: then its rules hold.
    drop(ctrlc::set_handler(move || {
        // Nothing is said any more: whoever reads what we say may have stopped reading, and a full pipe would hold us.
        if STOP.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        let console = console.clone();
        // For the same reason these words must not keep the second Ctrl-C waiting. A terminal has written ^C behind the bar: they begin on a line of their own.
        std::thread::spawn(move || console.say("\nstopping at the next safe moment; Ctrl-C again ends at once, and what was told is kept"));
    }));
    &STOP
}

/// Whether there was a Ctrl-C.
pub(crate) fn was_interrupted() -> bool {
    STOP.load(Ordering::SeqCst)
}
