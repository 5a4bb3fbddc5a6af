//! Running a study to its end: many evaluations at a time, each event told, stoppable at any moment.

use crate::objective::Evaluator;
use crate::study::WorkerName;
use crate::{AskRequest, Asked, AskedTrial, Error, Result, Study, Told, TrialResult};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// How often a worker without work looks for some.
const GLANCE: Duration = Duration::from_millis(20);

/// How to run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOptions {
    /// Evaluations at a time.
    pub parallel: usize,
    /// How long a trial stays with its worker, instead of what the study file says.
    pub lease: Option<Duration>,
    /// Stop after this many evaluations of this run.
    pub at_most: Option<usize>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self { parallel: 1, lease: None, at_most: None }
    }
}

/// What happens while a study runs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RunEvent {
    /// Trials were leased from an earlier run that ended without telling their results.
    Recovered {
        /// The trials.
        ids: Vec<u64>,
    },
    /// An evaluation begins.
    Started {
        /// The trial.
        trial: AskedTrial,
    },
    /// An evaluation failed and is tried again.
    Retried {
        /// The trial.
        id: u64,
        /// Why.
        reason: String,
    },
    /// A result was written down.
    Told {
        /// The trial.
        id: u64,
        /// Its batch.
        batch: usize,
        /// The result.
        result: TrialResult,
        /// What became of it.
        told: Told,
    },
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// The study is over.
    Finished,
    /// It was stopped and can be resumed.
    Stopped,
    /// Everything left is leased by workers elsewhere.
    Waiting,
}

impl Study {
    /// Evaluates trials until the study is over or `stop` is set. Events go to the observer in the order in which they happen.
    ///
    /// # Errors
    /// [`Error::NoObjective`], [`Error::Spawn`], [`Error::Store`], or what planning runs into: the study can be run again.
    pub fn run(&self, options: &RunOptions, observer: &mut dyn FnMut(RunEvent), stop: &AtomicBool) -> Result<RunEnd> {
        let evaluator = Evaluator::new(self.name(), self.spec().objective(), self.spec().space())?;
        let recovered = self.reap()?;
        if !recovered.is_empty() {
            observer(RunEvent::Recovered { ids: recovered });
        }
        let slots = (0..options.parallel.max(1)).map(|slot| Ok((slot, self.reopen()?))).collect::<Result<Vec<_>>>()?;
        let halt = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (sender, events) = channel();
            let workers: Vec<_> = slots
                .into_iter()
                .map(|(slot, study)| {
                    let worker = Worker {
                        study,
                        name: WorkerName::here(slot).to_string(),
                        options,
                        evaluator: &evaluator,
                        events: sender.clone(),
                        stop,
                        halt: &halt,
                    };
                    scope.spawn(move || worker.work())
                })
                .collect();
            drop(sender);
            events.iter().for_each(observer);
            let mut end = RunEnd::Finished;
            for worker in workers {
                match worker.join() {
                    Ok(Ok(RunEnd::Finished)) => {}
                    Ok(Ok(other)) => end = other,
                    Ok(Err(error)) => return Err(error),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            Ok(end)
        })
    }
}

/// One thread that evaluates one trial after the other.
struct Worker<'a> {
    study: Study,
    name: String,
    options: &'a RunOptions,
    evaluator: &'a Evaluator,
    events: Sender<RunEvent>,
    /// Set from outside.
    stop: &'a AtomicBool,
    /// Set when a worker ran into an error.
    halt: &'a AtomicBool,
}

impl Worker<'_> {
    fn work(&self) -> Result<RunEnd> {
        let end = self.evaluate_all();
        if end.is_err() {
            self.halt.store(true, Ordering::Relaxed);
        }
        end
    }

    fn evaluate_all(&self) -> Result<RunEnd> {
        let request = AskRequest::new(&self.name, 1).with_lease(self.options.lease.unwrap_or(Duration::from_secs(3600)));
        loop {
            if self.stop.load(Ordering::Relaxed) || self.halt.load(Ordering::Relaxed) {
                return Ok(RunEnd::Stopped);
            }
            match self.study.ask(&request)? {
                Asked::Finished => return Ok(RunEnd::Finished),
                Asked::Wait => std::thread::sleep(GLANCE),
                Asked::Trials(trials) => {
                    for trial in trials {
                        self.evaluate(trial)?;
                    }
                }
            }
        }
    }

    fn evaluate(&self, trial: AskedTrial) -> Result<()> {
        let (id, batch) = (trial.id, trial.batch);
        self.say(RunEvent::Started { trial: trial.clone() });
        let Some(result) = self.evaluator.evaluate(&trial, self.stop)? else { return self.study.release(id, &self.name) };
        match self.study.tell(id, result.clone()) {
            Ok(told) => self.say(RunEvent::Told { id, batch, result, told }),
            // Our lease ran out and somebody else was faster: the result that was told first stands.
            Err(Error::AlreadyTold { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn say(&self, event: RunEvent) {
        // Nobody listens any more only when the run is being given up.
        let _ = self.events.send(event);
    }
}
