//! Long work: off the interpreter's lock, and interruptible.

use crate::error::raise;
use pyo3::prelude::*;
use sigmabar::linalg::Interrupt;
use std::fmt::Display;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often the interpreter is asked whether somebody pressed Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(50);
/// How long interrupted work is waited for: it looks up between two blocks. What takes longer ends later, and its result goes nowhere.
const GRACE: Duration = Duration::from_millis(400);

/// Does the work on a thread of its own while other Python threads run. On Ctrl-C it is called off.
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
    let interrupt = Interrupt::default();
    let watched = interrupt.clone();
    let spawned = thread::Builder::new().name("sigmabar".into()).spawn(move || {
        // Interrupted: the caller knows, and was not waiting for an answer any more.
        let _ = watched.watch(|| work(done));
    });
    let worker = spawned.map_err(raise)?;
    loop {
        let (received, channel) = py.detach(move || (answer.recv_timeout(PATIENCE), answer));
        answer = channel;
        match received {
            Ok(result) => return result.map_err(raise),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(signal) = py.check_signals() {
                    interrupt.trigger();
                    drop(answer);
                    py.detach(|| wait_for(&worker));
                    return Err(signal);
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(raise("sigmabar stopped on an inner fault, printed above: please report it with the call that caused it"));
            }
        }
    }
}

fn wait_for(worker: &JoinHandle<()>) {
    let begun = Instant::now();
    while !worker.is_finished() && begun.elapsed() < GRACE {
        thread::sleep(Duration::from_millis(2));
    }
}
