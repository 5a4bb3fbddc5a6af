//! `sigmabar worker --server URL`: evaluates settings of a study that is served by another machine.

use crate::Outcome;
use crate::console::{Console, Watch};
use crate::failure::{Ending, Failure};
use crate::interrupt;
use crate::quantity::{counted, duration, positive, short};
use sigmabar_serve::Remote;
use sigmabar_study::{Evaluated, Exchange, RunEnd, RunEvent, RunOptions, StudySpec, TrialResult};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A trial of a worker that died is handed out again after this; one that lives renews its lease at a third of it.
const LEASE: Duration = Duration::from_secs(120);
/// In the directory where the worker was started.
pub(crate) const OUTBOX: &str = ".sigmabar-outbox";

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The address that sigmabar serve prints; its token may be in SIGMABAR_TOKEN instead
    #[arg(long, value_name = "URL")]
    server: String,
    /// Which of several studies of the server
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Evaluates a setting; {name} stands for a parameter, the last line printed is the value
    #[arg(long)]
    command: Option<String>,
    /// Evaluations at a time
    #[arg(long, short, value_name = "N", default_value_t = 1, value_parser = positive)]
    parallel: usize,
    /// Stop after so many evaluations
    #[arg(long, value_name = "N", value_parser = positive)]
    at_most: Option<usize>,
    /// How long a setting stays with a worker that does not answer, such as 90s or 2h; 120s unless said
    #[arg(long, value_name = "TIME", value_parser = duration)]
    lease: Option<Duration>,
    /// Where results wait until the server has them
    #[arg(long, value_name = "DIRECTORY", default_value = OUTBOX)]
    outbox: PathBuf,
}

/// What a worker does, whichever verb it was started by.
pub(crate) struct Work<'a> {
    pub server: &'a str,
    pub name: Option<&'a str>,
    pub command: Option<&'a str>,
    pub options: RunOptions,
    pub outbox: &'a Path,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Outcome {
    let options = RunOptions { parallel: arguments.parallel, lease: arguments.lease, at_most: arguments.at_most };
    let (name, command) = (arguments.name.as_deref(), arguments.command.as_deref());
    Work { server: &arguments.server, name, command, options, outbox: &arguments.outbox }.run(console)
}

impl Work<'_> {
    /// Evaluates until the study is over.
    pub fn run(mut self, console: &Console) -> Outcome {
        let stop = interrupt::listen(console);
        let token = std::env::var("SIGMABAR_TOKEN").ok();
        let said = console.clone();
        let say = Arc::new(move |words: String| said.say(words));
        let remote = Remote::connect(self.server, token.as_deref(), self.name, &stop, say)?;
        let spec = self.objective(remote.spec()?)?;
        let (remote, sent) = remote.with_outbox(self.outbox)?;
        if sent > 0 {
            console.say(format_args!("{} of an earlier run reached the server now", counted(sent, "result")));
        }
        let status = remote.status()?;
        console.say(format_args!("working for study {} of {}, {} at a time", remote.study(), remote.server(), self.options.parallel));
        self.options.lease = Some(self.options.lease.unwrap_or(LEASE));
        let slots = (0..self.options.parallel).map(|_| Box::new(remote.again()) as Box<dyn Exchange>).collect();
        let count = |state: &str| status.counts.get(state).copied().unwrap_or(0);
        let watch = Watch::new(spec.problem().direction(), std::iter::empty(), count("failed"));
        let bar = console.watched(&watch, status.budget);
        bar.set_position((count("done") + count("failed")) as u64);
        bar.reset_eta();
        let (mut told, mut failed) = (0, 0);
        let mut show = |event: RunEvent| {
            watch.note(&event);
            match event {
                RunEvent::Told { id, result, .. } => {
                    told += 1;
                    bar.inc(1);
                    if let TrialResult::Failed { reason } = result {
                        failed += 1;
                        bar.suspend(|| console.say(format_args!("trial {id} failed: {reason}")));
                    }
                }
                RunEvent::Retried { id, reason } => {
                    bar.suspend(|| console.detail(format_args!("trial {id} failed ({reason}) and is tried again")))
                }
                _ => {}
            }
        };
        let is_proven = count("done") > 0;
        let evaluated = Evaluated { name: remote.study(), spec: &spec, directory: Path::new(""), is_proven };
        let end = evaluated.run(slots, &self.options, &mut show, &stop);
        bar.finish_and_clear();
        let failures = if failed > 0 { format!(", {} of them", counted(failed, "failure")) } else { String::new() };
        console.say(format_args!("{} told by this worker{failures}", counted(told, "result")));
        if stop.is_triggered() {
            console.say("interrupted: everything told is kept");
            return Ok(Ending::Interrupted);
        }
        match end? {
            RunEnd::Finished => finish(&remote, console),
            RunEnd::Stopped => Ok(Ending::Done),
        }
    }

    /// The study with what evaluates it here. A worker runs no command that was sent to it.
    fn objective(&self, spec: StudySpec) -> Outcome<StudySpec> {
        if let Some(command) = self.command {
            return Ok(spec.with_command(command));
        }
        if spec.runs_a_program() || !spec.has_objective() {
            let what = "a worker runs only what it was told on its own machine";
            return Err(Failure::usage(what, "say what evaluates a setting: --command 'your program {parameter}'"));
        }
        Ok(spec)
    }
}

fn finish(remote: &Remote, console: &Console) -> Outcome {
    if let Some(advice) = remote.recommend()? {
        let shown =
            |value: &serde_json::Value| value.as_f64().filter(|v| v.fract() != 0.0).map_or_else(|| crate::console::plain(value), short);
        let setting: Vec<String> = advice.values.iter().map(|(name, value)| format!("{name} = {}", shown(value))).collect();
        let end = |value: Option<f64>| value.map_or_else(|| "?".to_owned(), short);
        let called = advice.called.map_or_else(String::new, |label| format!("{label}: "));
        console.answer(format_args!(
            "recommended: {called}{}\n  its value: between {} and {}\n  {}",
            setting.join(", "),
            end(advice.lower),
            end(advice.upper),
            advice.label
        ))?;
    }
    console.say("the study is over");
    Ok(Ending::Done)
}
