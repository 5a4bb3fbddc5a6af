//! One long-lived program that speaks JSON lines: requests go in, answers come out in any order.

use super::child::{LastLines, kill, read_line, start};
use super::reply::{ReplyProblem, parse_reply, request, trial_of};
use super::{Attempt, Watch};
use crate::{AskedTrial, Error, Result, TrialResult};
use process_wrap::std::ChildWrapper;
use std::collections::HashMap;
use std::io::{BufReader, Read, Write};
use std::process::{ChildStdin, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often somebody who waits for an answer looks around.
const GLANCE: Duration = Duration::from_millis(20);
/// How long the program may take to end when there is nothing more to do.
const GRACE: Duration = Duration::from_secs(2);

/// A program that stays.
pub(crate) struct ProcessObjective {
    pub program: Vec<String>,
    pub directory: Option<String>,
    pub timeout: Option<Duration>,
    running: Mutex<Option<Running>>,
    /// Whether any program ever gave a good answer: one that never did is wrong, and trying on would waste every trial.
    is_proven: Mutex<bool>,
}

struct Running {
    child: Box<dyn ChildWrapper>,
    input: Option<ChildStdin>,
    waiting: Arc<Mutex<Waiting>>,
}

/// Who waits for which answer.
#[derive(Default)]
struct Waiting {
    asked: HashMap<u64, Asked>,
    /// Requests sent so far.
    sent: usize,
    /// Why the program cannot be used any more.
    ended: Option<String>,
}

/// A request that was sent.
struct Asked {
    /// Requests sent before it.
    turn: usize,
    /// Who waits; nobody once it was answered.
    sender: Option<Sender<Answer>>,
}

enum Answer {
    Result(TrialResult),
    /// The program ended, or answered nonsense.
    Broken(String),
    /// The program was ended because of another trial.
    Interrupted,
}

impl ProcessObjective {
    /// A program with its arguments.
    pub fn new(program: Vec<String>, directory: Option<String>, timeout: Option<Duration>) -> Self {
        Self { program, directory, timeout, running: Mutex::new(None), is_proven: Mutex::new(false) }
    }

    /// Sends a trial and waits for its answer; the program is started if it does not run.
    pub fn evaluate(&self, trial: &AskedTrial, watch: &mut dyn Watch) -> Result<Attempt> {
        loop {
            let (sender, answers) = channel();
            self.send(trial, sender)?;
            let deadline = self.timeout.map(|timeout| Instant::now() + timeout);
            let answer = loop {
                match answers.recv_timeout(GLANCE) {
                    Ok(answer) => break answer,
                    Err(RecvTimeoutError::Disconnected) => break Answer::Broken("the program ended without an answer".to_owned()),
                    Err(RecvTimeoutError::Timeout) => {}
                }
                if watch.is_stopped()? {
                    return Ok(Attempt::Stopped);
                }
                if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                    // A program that works one trial after the other is held up by the oldest: its own deadline ends the wait of the others.
                    match self.blame(trial.id) {
                        Blame::Another => continue,
                        Blame::Ended => break Answer::Interrupted,
                        Blame::Killed => {}
                    }
                    let seconds = self.timeout.unwrap_or_default().as_secs_f64();
                    return Ok(Attempt::Failed { reason: format!("no answer within {seconds} seconds: the program was killed") });
                }
            };
            match answer {
                Answer::Interrupted => {}
                Answer::Result(TrialResult::Failed { reason }) => {
                    *lock(&self.is_proven) = true;
                    return Ok(Attempt::Failed { reason });
                }
                Answer::Result(result) => {
                    *lock(&self.is_proven) = true;
                    return Ok(Attempt::Done(result));
                }
                Answer::Broken(reason) if *lock(&self.is_proven) => return Ok(Attempt::Failed { reason }),
                Answer::Broken(reason) => return Err(Error::ObjectiveBroken { program: self.program.join(" "), reason }),
            }
        }
    }

    fn send(&self, trial: &AskedTrial, sender: Sender<Answer>) -> Result<()> {
        let mut running = lock(&self.running);
        if running.as_ref().is_some_and(|running| lock(&running.waiting).ended.is_some()) {
            // What ended is collected before the next one begins.
            if let Some(mut old) = running.take() {
                kill(old.child.as_mut());
            }
        }
        if running.is_none() {
            *running = Some(self.start()?);
        }
        let Some(running) = running.as_mut() else { return Ok(()) };
        {
            let mut waiting = lock(&running.waiting);
            if let Some(reason) = &waiting.ended {
                // It ended between its start and this line: nobody else will say so.
                let _ = sender.send(Answer::Broken(reason.clone()));
                return Ok(());
            }
            let turn = waiting.sent;
            waiting.sent += 1;
            waiting.asked.insert(trial.id, Asked { turn, sender: Some(sender) });
        }
        if let Some(input) = &mut running.input {
            // A pipe that broke means that the program ended: its reader tells everybody who waits.
            let _ = input.write_all(request(trial).as_bytes()).and_then(|()| input.flush());
        }
        Ok(())
    }

    fn start(&self) -> Result<Running> {
        // One string is a shell command, several are a program and its arguments.
        let (program, arguments): (&str, Vec<&str>) = match self.program.as_slice() {
            [line] => ("sh", vec!["-c", line]),
            [program, arguments @ ..] => (program, arguments.iter().map(String::as_str).collect()),
            [] => ("sh", vec!["-c", "true"]),
        };
        let mut child = start(program, &arguments, self.directory.as_deref(), &[], Stdio::piped())?;
        let (input, output, errors) = (child.stdin().take(), child.stdout().take(), LastLines::of_errors(child.stderr().take()));
        let waiting = Arc::new(Mutex::new(Waiting::default()));
        let shared = Arc::clone(&waiting);
        std::thread::spawn(move || listen(output, errors, &shared));
        Ok(Running { child, input, waiting })
    }

    /// Ends the program if this trial is what it hangs on; the others are sent to the next program.
    fn blame(&self, slow: u64) -> Blame {
        let mut running = lock(&self.running);
        let blame = running.as_ref().map_or(Blame::Ended, |running| {
            let waiting = lock(&running.waiting);
            match (waiting.asked.get(&slow), waiting.oldest()) {
                (Some(asked), Some(oldest)) if asked.sender.is_some() => {
                    if oldest == slow {
                        Blame::Killed
                    } else {
                        Blame::Another
                    }
                }
                _ => Blame::Ended,
            }
        });
        if let Some(mut old) = running.take_if(|_| blame == Blame::Killed) {
            lock(&old.waiting).end("the program was killed", None);
            kill(old.child.as_mut());
        }
        blame
    }
}

/// Whose fault it is that an answer does not come.
#[derive(Clone, Copy, PartialEq)]
enum Blame {
    /// This trial's: the program was killed.
    Killed,
    /// That of a trial that was asked before.
    Another,
    /// Nobody's: the program has ended.
    Ended,
}

impl Drop for ProcessObjective {
    fn drop(&mut self) {
        let Some(mut running) = lock(&self.running).take() else { return };
        // The end of its input asks it to end.
        drop(running.input.take());
        let asked = Instant::now();
        while asked.elapsed() < GRACE {
            if !matches!(running.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(GLANCE);
        }
        kill(running.child.as_mut());
    }
}

impl Waiting {
    /// The trial that has waited longest.
    fn oldest(&self) -> Option<u64> {
        self.asked.iter().filter(|(_, asked)| asked.sender.is_some()).min_by_key(|(_, asked)| asked.turn).map(|(id, _)| *id)
    }

    /// Nothing more will come: the trial that is blamed has failed, the others are sent to the next program.
    fn end(&mut self, reason: &str, blamed: Option<u64>) {
        if self.ended.is_none() {
            self.ended = Some(reason.to_owned());
        }
        for (id, asked) in &mut self.asked {
            let Some(sender) = asked.sender.take() else { continue };
            let answer = if blamed == Some(*id) { Answer::Broken(reason.to_owned()) } else { Answer::Interrupted };
            // Who does not listen any more does not need it.
            let _ = sender.send(answer);
        }
    }

    /// The program went wrong, and nobody knows over which trial: the one that has waited longest is blamed, so that each time one trial is settled.
    fn break_off(&mut self, reason: &str) {
        let oldest = self.oldest();
        self.end(reason, oldest);
    }

    /// Who waits for this answer: nobody if it was given already; `None` if it was not asked for.
    fn taken(&mut self, id: u64) -> Option<Option<Sender<Answer>>> {
        self.asked.get_mut(&id).map(|asked| asked.sender.take())
    }
}

/// Hands answers to those who wait, until the program ends or says something that is no answer.
fn listen(output: Option<impl Read>, errors: LastLines, waiting: &Mutex<Waiting>) {
    let broken = |reason: String| lock(waiting).break_off(&reason);
    let Some(output) = output else { return broken("the program has no output".to_owned()) };
    let mut reader = BufReader::new(output);
    let mut number = 0_u64;
    while let Some(line) = read_line(&mut reader) {
        number += 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let shown = || String::from_utf8_lossy(&line).trim().chars().take(200).collect::<String>();
        match parse_reply(&line) {
            Ok(reply) => {
                // The lock is let go before anybody is told.
                let asked = lock(waiting).taken(reply.id);
                match asked {
                    // A second answer to the same request changes nothing.
                    Some(None) => {}
                    Some(Some(sender)) => drop(sender.send(Answer::Result(reply.result))),
                    None => {
                        let id = reply.id;
                        return broken(format!(
                            "line {number} of its output (\"{}\") answers trial {id}, which it was not asked for",
                            shown()
                        ));
                    }
                }
            }
            Err(problem) => {
                let reason = format!("line {number} of its output (\"{}\"): {problem}", shown());
                // Whose answer it was meant to be fails alone.
                let asked = trial_of(&line).and_then(|id| lock(waiting).taken(id));
                match asked {
                    Some(None) => {}
                    // NaN is an answer; anything else shows a program that does not speak our language, unless it did before.
                    Some(Some(sender)) if matches!(problem, ReplyProblem::NotFinite { .. }) => {
                        drop(sender.send(Answer::Result(TrialResult::Failed { reason })));
                    }
                    Some(Some(sender)) => drop(sender.send(Answer::Broken(reason))),
                    None => return broken(reason),
                }
            }
        }
    }
    // Its error output ends with it, unless something that it started still holds it.
    let waited = Instant::now();
    while !errors.is_finished() && waited.elapsed() < GRACE {
        std::thread::sleep(GLANCE);
    }
    let said = errors.lines();
    let said = if said.is_empty() { String::new() } else { format!(": {}", said.join(" / ")) };
    broken(format!("the program ended without an answer{said}"));
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
