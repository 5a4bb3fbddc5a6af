//! Long work: off the interpreter's lock, and interruptible.

use crate::error::raise;
use pyo3::prelude::*;
use std::fmt::Display;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// How often the interpreter is asked whether somebody pressed Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(50);

/// Does the work on a thread of its own while other Python threads run. On Ctrl-C the call ends at once; the thread finishes what it began, so that no state is
/// left half changed, and its result goes nowhere.
pub fn run<T, E>(py: Python<'_>, work: impl FnOnce() -> Result<T, E> + Send + 'static) -> PyResult<T>
where
    T: Send + 'static,
    E: Display + Send + 'static,
{
    answering(py, move |answer| {
        // Nobody listens any more after an interrupt.
        let _ = answer.send(work());
    })
}

/// The same for work that must know whether its result was received: sending it fails, and gives it back, if and only if the call was interrupted.
pub fn answering<T, E>(py: Python<'_>, work: impl FnOnce(SyncSender<Result<T, E>>) + Send + 'static) -> PyResult<T>
where
    T: Send + 'static,
    E: Display + Send + 'static,
{
    // Without a buffer: a result is either taken or given back, never left lying in between.
    let (done, mut answer) = sync_channel(0);
    let spawned = thread::Builder::new().name("sigmabar".into()).spawn(move || work(done));
    spawned.map_err(raise)?;
    loop {
        let (received, channel) = py.detach(move || (answer.recv_timeout(PATIENCE), answer));
        answer = channel;
        match received {
            Ok(result) => return result.map_err(raise),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(raise("sigmabar stopped on an inner fault, printed above: please report it with the call that caused it"));
            }
        }
    }
}
