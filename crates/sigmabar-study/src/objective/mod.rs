//! How a setting is evaluated: a command for each trial, a process that stays, or a built-in test function.

mod builtin;

use crate::space::Space;
use crate::spec::{ObjectiveTable, SpecProblem};
use crate::{AskedTrial, Error, Result, TrialResult};
use builtin::Builtin;
use std::sync::atomic::AtomicBool;

/// Whether the objective can be used with these parameters; else the key that is wrong.
pub(crate) fn check(table: &ObjectiveTable, space: &Space) -> Result<(), (&'static str, SpecProblem)> {
    let kinds = [("command", table.command.is_some()), ("process", table.process.is_some()), ("builtin", table.builtin.is_some())];
    if kinds.iter().filter(|(_, given)| *given).count() != 1 {
        let key = kinds.iter().filter(|(_, given)| *given).nth(1).map_or("command", |(key, _)| key);
        return Err((
            key,
            SpecProblem::Requirement { found: "several or none".into(), requirement: "exactly one of command, process and builtin" },
        ));
    }
    if let Some(name) = &table.builtin {
        Builtin::new(name, table, space)?;
    }
    Ok(())
}

/// What evaluates trials.
pub(crate) enum Evaluator {
    Builtin(Builtin),
}

impl Evaluator {
    /// The evaluator of a study file.
    pub fn new(study: &str, table: Option<&ObjectiveTable>, space: &Space) -> Result<Self> {
        let none = || Error::NoObjective { study: study.to_owned() };
        let table = table.ok_or_else(none)?;
        let name = table.builtin.as_ref().ok_or_else(none)?;
        Builtin::new(name, table, space).map(Self::Builtin).map_err(|_| none())
    }

    /// Evaluates one trial; `None` if it was stopped.
    pub fn evaluate(&self, trial: &AskedTrial, _stop: &AtomicBool) -> Result<Option<TrialResult>> {
        match self {
            Self::Builtin(builtin) => {
                Ok(Some(TrialResult::Value { value: builtin.value(&trial.values, trial.seed), standard_error: None }))
            }
        }
    }
}
