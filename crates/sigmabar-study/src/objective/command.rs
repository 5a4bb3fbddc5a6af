//! One command for each trial; the last line of its output is the value.

use super::child::{LastLines, kill, start};
use super::template::Template;
use super::{Attempt, Watch};
use crate::{AskedTrial, Error, Result, TrialResult};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How often a running command is looked at.
const GLANCE: Duration = Duration::from_millis(5);
/// How long outputs may stay open after the command has ended.
const GRACE: Duration = Duration::from_secs(1);

/// A command template.
#[derive(Clone, Debug)]
pub(crate) struct CommandObjective {
    pub template: Template,
    pub directory: Option<String>,
    pub timeout: Option<Duration>,
}

impl CommandObjective {
    /// Runs the command once.
    pub fn evaluate(&self, trial: &AskedTrial, watch: &mut dyn Watch) -> Result<Attempt> {
        let command = self.template.fill(&trial.values, [trial.id, trial.batch as u64, trial.seed]);
        let mut child = start("sh", &["-c", &command], self.directory.as_deref(), &environment(trial), Stdio::null())?;
        let output = LastLines::of(child.stdout().take(), 1);
        let errors = LastLines::of_errors(child.stderr().take());
        let deadline = self.timeout.map(|timeout| Instant::now() + timeout);
        let status = loop {
            let ended = child.try_wait().map_err(|source| Error::Spawn { program: command.clone(), source })?;
            if let Some(status) = ended {
                if was_interrupted(status) && is_stopped_soon(watch)? {
                    return Ok(Attempt::Stopped);
                }
                break status;
            }
            // Taken before the look at the run, which may wait for a server: what has ended by the time that it is over is not late.
            let is_late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if watch.is_stopped()? {
                kill(child.as_mut());
                return Ok(Attempt::Stopped);
            }
            if is_late {
                kill(child.as_mut());
                let seconds = self.timeout.unwrap_or_default().as_secs_f64();
                return Ok(Attempt::Failed { reason: format!("killed after {seconds} seconds") });
            }
            std::thread::sleep(GLANCE);
        };
        // What the command left running holds its outputs open: it ends with the command, or is not waited for if it has left the group.
        let waited = Instant::now();
        while !(output.is_finished() && errors.is_finished()) {
            if waited.elapsed() > GRACE {
                let _ = child.start_kill();
                break;
            }
            std::thread::sleep(GLANCE);
        }
        judge(status, &output.lines(), &errors.lines(), &command)
    }
}

/// Ctrl-C reaches a program that is just being started, before it has a process group of its own: that is no failure of its trial.
fn was_interrupted(status: ExitStatus) -> bool {
    #[cfg(unix)]
    return std::os::unix::process::ExitStatusExt::signal(&status) == Some(2);
    #[cfg(not(unix))]
    return false;
}

/// Whether the run was told to stop too: the signal may reach it a moment after the program.
fn is_stopped_soon(watch: &mut dyn Watch) -> Result<bool> {
    let begin = Instant::now();
    while !watch.is_stopped()? {
        if begin.elapsed() > GRACE {
            return Ok(false);
        }
        std::thread::sleep(GLANCE);
    }
    Ok(true)
}

fn judge(status: ExitStatus, output: &[String], errors: &[String], command: &str) -> Result<Attempt> {
    let said = if errors.is_empty() { String::new() } else { format!(": {}", errors.join(" / ")) };
    match status.code() {
        // The shell's own words for "cannot be run": the objective is wrong, and every trial would fail.
        Some(126 | 127) => Err(Error::ObjectiveBroken { program: command.to_owned(), reason: format!("it cannot be run{said}") }),
        Some(0) => Ok(match output.last().map(|line| (line, line.parse::<f64>())) {
            Some((_, Ok(value))) if value.is_finite() => {
                Attempt::Done(TrialResult::Value { value, standard_error: None, replicates: None })
            }
            Some((line, _)) => Attempt::Failed { reason: format!("the last line of its output is \"{line}\", not a number") },
            None => Attempt::Failed { reason: "it printed nothing: the last line of its output is the value".to_owned() },
        }),
        Some(code) => Ok(Attempt::Failed { reason: format!("exit code {code}{said}") }),
        None => Ok(Attempt::Failed { reason: format!("{status}{said}") }),
    }
}

/// What the program is told besides its arguments.
pub(super) fn environment(trial: &AskedTrial) -> Vec<(String, String)> {
    let plain = |name: &str| name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect::<String>();
    let mut all = vec![
        ("SIGMABAR_ID".to_owned(), trial.id.to_string()),
        ("SIGMABAR_BATCH".to_owned(), trial.batch.to_string()),
        ("SIGMABAR_SEED".to_owned(), trial.seed.to_string()),
    ];
    all.extend(trial.values.iter().map(|(name, value)| (format!("SIGMABAR_PARAM_{}", plain(name)), value.to_string())));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A look at the run that waits for a server which does not answer.
    struct Stalled(Duration);

    impl Watch for Stalled {
        fn is_stopped(&mut self) -> Result<bool> {
            std::thread::sleep(std::mem::take(&mut self.0));
            Ok(false)
        }
    }

    #[test]
    fn a_command_that_ended_in_time_while_nobody_looked_is_no_failure() {
        let template = Template::parse("sleep 0.1; echo 7", &[]).unwrap();
        let objective = CommandObjective { template, directory: None, timeout: Some(Duration::from_secs(3)) };
        let trial = AskedTrial { id: 0, batch: 0, values: Vec::new(), seed: 0, leased_until: 0 };
        let attempt = objective.evaluate(&trial, &mut Stalled(Duration::from_secs(4))).unwrap();
        assert!(matches!(attempt, Attempt::Done(TrialResult::Value { value: 7.0, .. })));
    }
}
