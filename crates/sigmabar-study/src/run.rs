//! Running a study to its end: many evaluations at a time, each event told, stoppable at any moment.

use crate::objective::{Attempt, Evaluator, Watch};
use crate::patience::{FAILURES, Patience, Verdict};
use crate::study::WorkerName;
use crate::{AskRequest, Asked, AskedTrial, Error, Page, Result, Study, StudySpec, Told, TrialResult, TrialStatus};
use sigmabar::Number;
use sigmabar::linalg::Interrupt;
use sigmabar::points::LARGEST_RESPONSE;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

/// How often a worker without work looks for some.
const GLANCE: Duration = Duration::from_millis(20);
/// A trial stays with its worker for this long unless said otherwise; the worker renews its lease as long as it lives.
const LEASE: Duration = Duration::from_secs(120);

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
}

/// Where trials come from and results go: a study in a file, or one on a server.
pub trait Exchange: Send {
    /// Leases trials.
    ///
    /// # Errors
    /// As [`Study::ask`].
    fn ask(&self, request: &AskRequest) -> Result<Asked>;

    /// Writes a result down.
    ///
    /// # Errors
    /// As [`Study::tell`].
    fn tell(&self, id: u64, result: TrialResult) -> Result<Told>;

    /// Keeps a trial with its worker for longer; false if the worker does not have it any more.
    ///
    /// # Errors
    /// As [`Study::renew`].
    fn renew(&self, id: u64, worker: &str, lease: Duration) -> Result<bool>;

    /// Puts a trial back into the queue.
    ///
    /// # Errors
    /// As [`Study::release`].
    fn release(&self, id: u64, worker: &str) -> Result<()>;

    /// Whether every trial of a batch is told, and none has a value; false where that is for others to know.
    fn has_failed(&self, _batch: usize) -> Result<bool> {
        Ok(false)
    }
}

impl Exchange for Study {
    fn ask(&self, request: &AskRequest) -> Result<Asked> {
        Self::ask(self, request)
    }

    fn tell(&self, id: u64, result: TrialResult) -> Result<Told> {
        Self::tell(self, id, result)
    }

    fn renew(&self, id: u64, worker: &str, lease: Duration) -> Result<bool> {
        Self::renew(self, id, worker, lease)
    }

    fn release(&self, id: u64, worker: &str) -> Result<()> {
        Self::release(self, id, worker)
    }

    fn has_failed(&self, batch: usize) -> Result<bool> {
        Self::has_failed(self, batch)
    }
}

/// What a run evaluates.
#[derive(Clone, Copy, Debug)]
pub struct Evaluated<'a> {
    /// The study's name.
    pub name: &'a str,
    /// The study file, whose objective is used.
    pub spec: &'a StudySpec,
    /// The directory that its commands run in, or from which theirs is seen.
    pub directory: &'a Path,
    /// Whether anything was ever measured by this objective.
    pub is_proven: bool,
}

impl Study {
    /// Evaluates trials until the study is over or `stop` is triggered, which calls off planning too. Events go to the observer in the order in which they happen.
    ///
    /// # Errors
    /// [`Error::NoObjective`], [`Error::NothingMeasured`], [`Error::BatchFailed`], [`Error::Spawn`], [`Error::Store`], or what planning runs into: the study can be run again.
    pub fn run(&self, options: &RunOptions, observer: &mut dyn FnMut(RunEvent), stop: &Interrupt) -> Result<RunEnd> {
        // Before anything is put back: an objective that cannot be used changes nothing.
        Evaluator::new(self.name(), Path::new(""), self.spec().objective(), self.spec().space())?;
        let recovered = self.reap()?;
        if !recovered.is_empty() {
            observer(RunEvent::Recovered { ids: recovered });
        }
        let slots = (0..options.parallel.max(1)).map(|_| Ok(Box::new(self.reopen()?) as Box<dyn Exchange>)).collect::<Result<Vec<_>>>()?;
        let measured = Page { state: Some(TrialStatus::Done), at_most: Some(1), ..Page::default() };
        let is_proven = !self.trials_of(&measured)?.is_empty();
        let directory = self.file().parent().unwrap_or(Path::new(""));
        let evaluated = Evaluated { name: self.name(), spec: self.spec(), directory, is_proven };
        let (end, verdict) = evaluated.work(slots, options, observer, stop)?;
        if !stop.is_triggered() {
            self.check_measured(&verdict)?;
        }
        Ok(end)
    }

    /// Whether every trial of a batch, counted from 0, was told as failed, and they are not a few: where settings are chosen one by one, a failure is no outage.
    pub fn has_failed(&self, batch: usize) -> Result<bool> {
        let trials = self.trials_of(&Page { batch: Some(batch), ..Page::default() })?;
        Ok(trials.len() >= FAILURES && trials.iter().all(|trial| trial.state == TrialStatus::Failed))
    }

    /// The end of a run is an error where nothing was ever measured, in this run or before it, and where a whole batch failed.
    fn check_measured(&self, verdict: &Verdict) -> Result<()> {
        if verdict.is_proven && verdict.failed_batch.is_none() {
            return Ok(());
        }
        let failed = self.trials_of(&Page { state: Some(TrialStatus::Failed), ..Page::default() })?;
        let Some(last) = failed.iter().max_by_key(|trial| trial.told_at) else { return Ok(()) };
        let (study, reason) = (self.name().to_owned(), last.reason.clone().unwrap_or_default());
        Err(match verdict.failed_batch {
            Some(batch) => Error::BatchFailed { study, batch, reason },
            None => Error::NothingMeasured { study, failures: failed.len(), reason },
        })
    }
}

impl Evaluated<'_> {
    /// Evaluates trials, one at a time through each of the exchanges, until the study is over or `stop` is triggered.
    ///
    /// # Errors
    /// As [`Study::run`].
    pub fn run(
        self,
        slots: Vec<Box<dyn Exchange>>,
        options: &RunOptions,
        observer: &mut dyn FnMut(RunEvent),
        stop: &Interrupt,
    ) -> Result<RunEnd> {
        let mut last = String::new();
        let mut observe = |event: RunEvent| {
            if let RunEvent::Told { result: TrialResult::Failed { reason }, .. } = &event {
                last.clone_from(reason);
            }
            observer(event);
        };
        let (end, Verdict { is_proven, failures, .. }) = self.work(slots, options, &mut observe, stop)?;
        if failures > 0 && !is_proven && !stop.is_triggered() {
            return Err(Error::NothingMeasured { study: self.name.to_owned(), failures, reason: last });
        }
        Ok(end)
    }

    /// How it ended, and what became of its evaluations.
    fn work(
        self,
        slots: Vec<Box<dyn Exchange>>,
        options: &RunOptions,
        observer: &mut dyn FnMut(RunEvent),
        stop: &Interrupt,
    ) -> Result<(RunEnd, Verdict)> {
        let evaluator = Evaluator::new(self.name, self.directory, self.spec.objective(), self.spec.space())?;
        let objective = self.spec.objective();
        let lease = options.lease.or_else(|| objective.and_then(|table| Duration::try_from_secs_f64(table.lease?).ok())).unwrap_or(LEASE);
        let retries = objective.and_then(|table| table.retries).unwrap_or(0);
        let (halt, begun) = (AtomicBool::new(false), AtomicUsize::new(0));
        let patience = Patience::new(self.is_proven, slots.len());
        std::thread::scope(|scope| {
            let (sender, events) = channel();
            let workers: Vec<_> = slots
                .into_iter()
                .enumerate()
                .map(|(slot, study)| {
                    let name = WorkerName::here(slot).to_string();
                    let (events, evaluator, halt, begun, patience) = (sender.clone(), &evaluator, &halt, &begun, &patience);
                    let worker = Worker { study, name, options, lease, retries, evaluator, events, stop, halt, begun, patience };
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
            Ok((end, patience.verdict()))
        })
    }
}

/// One thread that evaluates one trial after the other.
struct Worker<'a> {
    study: Box<dyn Exchange>,
    name: String,
    options: &'a RunOptions,
    lease: Duration,
    retries: u32,
    evaluator: &'a Evaluator,
    events: Sender<RunEvent>,
    /// Set from outside.
    stop: &'a Interrupt,
    /// Set when a worker ran into an error.
    halt: &'a AtomicBool,
    /// Evaluations begun in this run, and those that a worker without work has its hand on.
    begun: &'a AtomicUsize,
    patience: &'a Patience,
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
        let request = AskRequest::new(&self.name, 1).with_lease(self.lease);
        let mut is_reserved = false;
        loop {
            is_reserved = is_reserved || self.reserve();
            if !is_reserved || self.is_interrupted() {
                return Ok(RunEnd::Stopped);
            }
            let asked = match self.stop.watch(|| self.study.ask(&request)) {
                Err(_) | Ok(Err(Error::Core(sigmabar::Error::Interrupted(_)))) => return Ok(RunEnd::Stopped),
                Ok(asked) => asked?,
            };
            match asked {
                Asked::Finished => return Ok(RunEnd::Finished),
                Asked::Wait => std::thread::sleep(GLANCE),
                Asked::Trials(trials) => {
                    for trial in trials {
                        self.evaluate(trial)?;
                    }
                    is_reserved = false;
                }
            }
        }
    }

    /// Takes one of the evaluations that this run may make; false if there is none left.
    fn reserve(&self) -> bool {
        let most = self.options.at_most.unwrap_or(usize::MAX);
        self.begun.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |begun| (begun < most).then_some(begun + 1)).is_ok()
    }

    fn is_interrupted(&self) -> bool {
        self.stop.is_triggered() || self.halt.load(Ordering::Relaxed)
    }

    fn evaluate(&self, trial: AskedTrial) -> Result<()> {
        let (id, batch) = (trial.id, trial.batch);
        self.say(RunEvent::Started { trial: trial.clone() });
        let result = match self.attempt(&trial) {
            Ok(Some(result)) => result,
            Ok(None) => return self.study.release(id, &self.name),
            Err(error) => {
                self.study.release(id, &self.name)?;
                return Err(error);
            }
        };
        match self.study.tell(id, result.clone()) {
            // Our lease ran out and somebody else was faster: the result that was told first stands.
            Ok(Told::Again { .. }) | Err(Error::AlreadyTold { .. }) => {}
            Ok(told) => {
                if !self.patience.goes_on(&result, batch, || self.study.has_failed(batch))? {
                    self.halt.store(true, Ordering::Relaxed);
                }
                self.say(RunEvent::Told { id, batch, result, told });
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// The result, after as many attempts as are allowed; `None` if it was stopped.
    fn attempt(&self, trial: &AskedTrial) -> Result<Option<TrialResult>> {
        let mut left = self.retries;
        loop {
            let mut watch = Lease { worker: self, id: trial.id, renewed: Instant::now() };
            match self.evaluator.evaluate(trial, &mut watch)? {
                Attempt::Done(TrialResult::Value { value, .. }) if !(-LARGEST_RESPONSE..=LARGEST_RESPONSE).contains(&value) => {
                    return Ok(Some(TrialResult::Failed { reason: unusable(value) }));
                }
                Attempt::Done(result) => return Ok(Some(result)),
                Attempt::Stopped => return Ok(None),
                Attempt::Failed { reason } if left == 0 => return Ok(Some(TrialResult::Failed { reason })),
                Attempt::Failed { reason } => self.say(RunEvent::Retried { id: trial.id, reason }),
            }
            left -= 1;
        }
    }

    fn say(&self, event: RunEvent) {
        // Nobody listens any more only when the run is being given up.
        let _ = self.events.send(event);
    }
}

/// Keeps the lease of a trial alive while it is evaluated.
struct Lease<'a> {
    worker: &'a Worker<'a>,
    id: u64,
    renewed: Instant,
}

impl Watch for Lease<'_> {
    fn is_stopped(&mut self) -> Result<bool> {
        if self.renewed.elapsed() > self.worker.lease / 3 {
            self.worker.study.renew(self.id, &self.worker.name, self.worker.lease)?;
            self.renewed = Instant::now();
        }
        Ok(self.worker.is_interrupted())
    }
}

/// Why a value is none, with few digits.
fn unusable(value: f64) -> String {
    let limit = if value.is_finite() { format!(": the largest are ±{LARGEST_RESPONSE:e}") } else { String::new() };
    format!("the value is {}{limit}", Number(value))
}
