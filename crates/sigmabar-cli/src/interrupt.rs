//! Ctrl-C: the first one asks the command to stop at the next safe moment, the second one ends it at once.

use crate::console::Console;
use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// Listens from now on; the flag becomes true at the first Ctrl-C (or termination signal).
pub(crate) fn listen(console: &Console) -> &'static AtomicBool {
    let console = console.clone();
    // A process that has its own handler, as Python may, keeps it: then its rules hold.
    drop(ctrlc::set_handler(move || {
        // A terminal has written ^C behind the bar: what is said begins on a line of its own.
        if STOP.swap(true, Ordering::SeqCst) {
            console.say("\nended at once: what was told is kept");
            std::process::exit(130);
        }
        console.say("\nstopping at the next safe moment; Ctrl-C again ends at once");
    }));
    &STOP
}

/// Whether there was a Ctrl-C.
pub(crate) fn was_interrupted() -> bool {
    STOP.load(Ordering::SeqCst)
}
