//! Ctrl-C: the first one asks the command to stop at the next safe moment, the second one ends it at once.

use crate::console::Console;
use sigmabar::linalg::Interrupt;

/// Listens from now on; the wish to stop comes with the first Ctrl-C (or termination signal), or from whoever called the command.
pub(crate) fn listen(console: &Console) -> Interrupt {
    let (console, interrupt) = (console.clone(), Interrupt::current().unwrap_or_default());
    let wish = interrupt.clone();
    // A process that has its own handler, as Python has, keeps it: then its rules hold.
    drop(ctrlc::try_set_handler(move || {
        // Nothing is said any more: whoever reads what we say may have stopped reading, and a full pipe would hold us.
        if wish.is_triggered() {
            std::process::exit(130);
        }
        wish.trigger();
        let console = console.clone();
        // For the same reason these words must not keep the second Ctrl-C waiting. A terminal has written ^C behind the bar: they begin on a line of their own.
        std::thread::spawn(move || console.say("\nstopping at the next safe moment; Ctrl-C again ends at once, and what was told is kept"));
    }));
    interrupt
}
