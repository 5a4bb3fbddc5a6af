//! How a setting is evaluated: a command for each trial, a process that stays, or a built-in test function.

mod builtin;
mod child;
mod command;
mod process;
mod reply;
mod table;
mod template;

pub use reply::{Reply, ReplyProblem, parse_reply};
pub(crate) use table::ObjectiveTable;

use crate::Value;
use crate::error::{Error, Result, SpecProblem};
use crate::space::Space;
use crate::trial::{AskedTrial, TrialResult};
use builtin::Builtin;
use command::CommandObjective;
use process::ProcessObjective;
use std::path::Path;
use std::time::Duration;
use template::Template;

/// What evaluates trials.
pub(crate) enum Evaluator {
    Builtin(Builtin),
    Command(CommandObjective),
    Process(ProcessObjective),
}

/// What came of one attempt.
pub(crate) enum Attempt {
    /// A value.
    Done(TrialResult),
    /// No value this time.
    Failed {
        /// Why.
        reason: String,
    },
    /// It was told to stop.
    Stopped,
}

/// Looked at while an evaluation goes on.
pub(crate) trait Watch {
    /// Whether to give up. Called every few milliseconds, so that the lease can be renewed.
    fn is_stopped(&mut self) -> Result<bool>;
}

/// What is wrong, and with which key of the table.
type Wrong = (&'static str, SpecProblem);

/// Whether the objective can be used with these parameters; else the key that is wrong.
pub(crate) fn check(table: &ObjectiveTable, space: &Space) -> Result<(), Wrong> {
    Evaluator::of_table(table, space).map(drop)
}

/// Refuses a command that would find two parameters in one variable, and has no places for both: it would take the value of one for the other's.
pub(crate) fn check_variables(table: &ObjectiveTable, space: &Space) -> Result<(), Wrong> {
    let Some(command) = &table.command else { return Ok(()) };
    let names: Vec<&str> = space.parameters().iter().map(|p| p.name.as_str()).collect();
    let template = Template::parse(command, &names).map_err(|problem| ("command", problem))?;
    let values = names.iter().map(|name| ((*name).to_owned(), Value::Int(0))).collect();
    let mut variables = command::environment(&AskedTrial { id: 0, batch: 0, values, seed: 0, leased_until: 0 });
    let variables = variables.split_off(variables.len() - names.len());
    for (second, (variable, _)) in variables.iter().enumerate() {
        let first = variables[..second].iter().position(|(earlier, _)| earlier == variable).map(|first| [names[first], names[second]]);
        if let Some([one, two]) = first.filter(|both| !both.iter().all(|name| template.has_place(name))) {
            return Err(("command", SpecProblem::Variable { one: one.to_owned(), two: two.to_owned(), variable: variable.clone() }));
        }
    }
    Ok(())
}

impl Evaluator {
    /// The evaluator of a study.
    pub fn new(study: &str, beside: &Path, table: Option<&ObjectiveTable>, space: &Space) -> Result<Self> {
        let table = table.ok_or_else(|| Error::NoObjective { study: study.to_owned() })?;
        // The study may have been moved: what is beside it now counts.
        let place = beside.join(table.directory.as_deref().unwrap_or_default());
        let directory = (!place.as_os_str().is_empty()).then(|| place.to_string_lossy().into_owned());
        let table = ObjectiveTable { directory, ..table.clone() };
        let made = check_variables(&table, space).and_then(|()| Self::of_table(&table, space));
        made.map_err(|(key, problem)| Error::Objective { key, problem })
    }

    fn of_table(table: &ObjectiveTable, space: &Space) -> Result<Self, Wrong> {
        let timeout = seconds("timeout", table.timeout)?;
        seconds("lease", table.lease)?;
        let directory = table.directory.clone();
        match (&table.command, &table.process, &table.builtin) {
            (Some(command), None, None) => {
                let names: Vec<&str> = space.parameters().iter().map(|p| p.name.as_str()).collect();
                let template = Template::parse(command, &names).map_err(|problem| ("command", problem))?;
                Ok(Self::Command(CommandObjective { template, directory, timeout }))
            }
            (None, Some(program), None) => {
                let program = Vec::from(program.clone());
                if program.first().is_none_or(|word| word.trim().is_empty()) {
                    return Err((
                        "process",
                        SpecProblem::Requirement { found: "nothing".into(), requirement: "a program with its arguments" },
                    ));
                }
                Ok(Self::Process(ProcessObjective::new(program, directory, timeout)))
            }
            (None, None, Some(name)) => Builtin::new(name, table, space).map(Self::Builtin),
            (None, None, None) => {
                Err(("command", SpecProblem::Missing { what: "an evaluation", remedy: "give exactly one of command, process and builtin" }))
            }
            (command, ..) => {
                let key = if command.is_some() { "command" } else { "process" };
                Err((key, SpecProblem::Requirement { found: "several".into(), requirement: "exactly one of command, process and builtin" }))
            }
        }
    }

    /// Evaluates one trial once.
    pub fn evaluate(&self, trial: &AskedTrial, watch: &mut dyn Watch) -> Result<Attempt> {
        match self {
            Self::Builtin(builtin) => {
                let value = builtin.value(&trial.values, trial.seed);
                Ok(Attempt::Done(TrialResult::Value { value, standard_error: None, replicates: None }))
            }
            Self::Command(command) => command.evaluate(trial, watch),
            Self::Process(process) => process.evaluate(trial, watch),
        }
    }
}

fn seconds(key: &'static str, value: Option<f64>) -> Result<Option<Duration>, Wrong> {
    match value {
        None => Ok(None),
        Some(value) => match Duration::try_from_secs_f64(value) {
            Ok(duration) if value > 0.0 => Ok(Some(duration)),
            _ => Err((key, SpecProblem::Requirement { found: value.to_string(), requirement: "a positive number of seconds" })),
        },
    }
}
