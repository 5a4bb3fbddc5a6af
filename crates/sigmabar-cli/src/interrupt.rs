//! Ctrl-C: the first one asks the command to stop at the next safe moment, the second one ends it at once.

use crate::console::Console;
use sigmabar::linalg::Interrupt;

/// Listens from now on; the wish to stop comes with the first Ctrl-C (or termination signal), or from whoever called the command.
pub(crate) fn listen(console: &Console) -> Interrupt {
    let (console, interrupt) = (console.clone(), Interrupt::current().unwrap_or_default());
    let wish = interrupt.clone();
    let heard = move || {
        // Nothing is said any more: whoever reads what we say may have stopped reading, and a full pipe would hold us.
        if wish.is_triggered() {
            std::process::exit(130);
        }
        wish.trigger();
        let console = console.clone();
        // For the same reason these words must not keep the second Ctrl-C waiting. A terminal has written ^C behind the bar: they begin on a line of their own.
        std::thread::spawn(move || console.say("\nstopping at the next safe moment; Ctrl-C again ends at once, and what was told is kept"));
    };
    on_signals(heard);
    interrupt
}

/// Calls this at every signal to end. A process that has its own handler, as Python has, keeps it: then its rules hold. What is ignored stays so, as `nohup` and a shell's `&` want it, and the
/// other signals are heard.
pub(crate) fn on_signals(heard: impl FnMut() + Send + 'static) {
    #[cfg(unix)]
    unix::on_signals(heard);
    #[cfg(not(unix))]
    drop(ctrlc::try_set_handler(heard));
}

#[cfg(unix)]
mod unix {
    use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

    pub fn on_signals(heard: impl FnMut() + Send + 'static) {
        let before = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].map(|signal| (signal, ignored(signal)));
        let handlers = before.map(|(signal, before)| {
            before.map(|before| {
                put(signal, &before);
                before.handler()
            })
        });
        let is_free = |handler: &Option<SigHandler>| matches!(handler, Some(SigHandler::SigDfl | SigHandler::SigIgn));
        if handlers.iter().all(is_free) && ctrlc::set_handler(heard).is_ok() {
            let kept = before.iter().zip(handlers).filter(|(_, handler)| matches!(handler, Some(SigHandler::SigIgn)));
            for ((signal, _), _) in kept {
                ignored(*signal);
            }
        }
    }

    /// Ignores a signal; what was done with it before.
    fn ignored(signal: Signal) -> Option<SigAction> {
        put(signal, &SigAction::new(SigHandler::SigIgn, SaFlags::empty(), SigSet::empty()))
    }

    fn put(signal: Signal, action: &SigAction) -> Option<SigAction> {
        // SAFETY: nothing but ignoring, and what was there before.
        unsafe { sigaction(signal, action) }.ok()
    }
}
