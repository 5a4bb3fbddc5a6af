//! One thread that writes for a study: whatever has gathered while it waited for the disk goes into the next transaction together.

use crate::refusal::{Outcome, Refusal};
use sigmabar_study::{AskRequest, HandedOut, KeyedResult, Study, Told};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// So many may wait; more are told to come again.
const MOST_WAITING: usize = 4096;
/// The most requests of one transaction, so that nobody waits long for it.
const MOST_TOGETHER: usize = 256;

/// How long the end waits for a disk.
const FAREWELL: Duration = Duration::from_secs(5);

type Reply<T> = oneshot::Sender<Outcome<T>>;

enum Job {
    Ask(AskRequest, Reply<HandedOut>),
    Tell(KeyedResult, Reply<Told>),
    Other(Box<dyn FnOnce(&Study) + Send>),
}

/// Gives work to the thread; the thread ends when this is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    jobs: SyncSender<Job>,
    thread: Arc<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread.
    pub fn start(study: Study) -> std::io::Result<Self> {
        let (jobs, waiting) = sync_channel(MOST_WAITING);
        let thread = std::thread::Builder::new().name("sigmabar-writer".to_owned()).spawn(move || work(&study, &waiting))?;
        Ok(Self { jobs, thread: Arc::new(thread) })
    }

    /// Waits until all is written and the file is closed.
    pub fn close(self) {
        let Self { jobs, thread } = self;
        drop(jobs);
        let begun = Instant::now();
        while !thread.is_finished() && begun.elapsed() < FAREWELL {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub async fn ask(&self, request: AskRequest) -> Outcome<HandedOut> {
        let (reply, answer) = oneshot::channel();
        self.give(Job::Ask(request, reply))?;
        answer.await.map_err(|_| gone())?
    }

    pub async fn tell(&self, result: KeyedResult) -> Outcome<Told> {
        let (reply, answer) = oneshot::channel();
        self.give(Job::Tell(result, reply))?;
        answer.await.map_err(|_| gone())?
    }

    /// Anything else that writes.
    pub async fn with<T: Send + 'static>(&self, work: impl FnOnce(&Study) -> sigmabar_study::Result<T> + Send + 'static) -> Outcome<T> {
        let (reply, answer) = oneshot::channel();
        self.give(Job::Other(Box::new(move |study| drop(reply.send(work(study).map_err(Refusal::from))))))?;
        answer.await.map_err(|_| gone())?
    }

    fn give(&self, job: Job) -> Outcome<()> {
        self.jobs.try_send(job).map_err(|error| match error {
            TrySendError::Full(_) => Refusal::busy("too many requests are waiting for this study: try again"),
            TrySendError::Disconnected(_) => gone(),
        })
    }
}

fn gone() -> Refusal {
    Refusal::busy("the server is stopping: try again later")
}

fn work(study: &Study, waiting: &Receiver<Job>) {
    while let Ok(first) = waiting.recv() {
        let (mut asks, mut tells, mut others) = (Vec::new(), Vec::new(), Vec::new());
        let rest = std::iter::from_fn(|| waiting.try_recv().ok());
        for job in std::iter::once(first).chain(rest.take(MOST_TOGETHER - 1)) {
            match job {
                Job::Ask(request, reply) => asks.push((request, reply)),
                Job::Tell(result, reply) => tells.push((result, reply)),
                Job::Other(work) => others.push(work),
            }
        }
        // Nobody waits for the answer to an ask before telling: within one transaction's time the order is free.
        if !tells.is_empty() {
            let (results, replies): (Vec<_>, Vec<_>) = tells.into_iter().unzip();
            answer(study.tell_each(&results), replies);
        }
        others.into_iter().for_each(|work| work(study));
        if !asks.is_empty() {
            let (requests, replies): (Vec<_>, Vec<_>) = asks.into_iter().unzip();
            answer(study.hand_out(&requests).map(|handed| handed.into_iter().map(Ok).collect()), replies);
        }
    }
}

/// Each answer to the one who waits for it; trouble with the file to all of them.
fn answer<T>(answers: sigmabar_study::Result<Vec<sigmabar_study::Result<T>>>, replies: Vec<Reply<T>>) {
    match answers {
        Ok(answers) => {
            for (answer, reply) in answers.into_iter().zip(replies) {
                drop(reply.send(answer.map_err(Refusal::from)));
            }
        }
        Err(error) => {
            let refusal = Refusal::from(error);
            for reply in replies {
                drop(reply.send(Err(refusal.clone())));
            }
        }
    }
}
