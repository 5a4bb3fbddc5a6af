//! `sigmabar amend`: a study goes on by its edited study file.

use crate::Outcome;
use crate::console::Console;
use crate::failure::{Ending, Failure};
use crate::verbs::status::say_next;
use crate::which_study::StudyArgument;
use sigmabar_study::{StudySpec, TrialStatus};
use std::path::PathBuf;

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    study: StudyArgument,
    /// The edited study file; the one beside the database unless given
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Outcome {
    let place = arguments.study.place()?;
    let mut study = place.open()?;
    let Some(edited) = arguments.from.clone().or_else(|| place.spec.clone()).filter(|file| file.exists()) else {
        let what = format!("there is no study file beside {}", study.file().display());
        return Err(Failure::usage(what, "name the edited one: sigmabar amend STUDY --from FILE"));
    };
    let changed = study.amend(&StudySpec::read(&edited)?)?;
    if changed.is_empty() {
        console.say(format_args!("{} says what the study says already: nothing was changed", edited.display()));
    } else {
        console.say(format_args!("amended: {}", changed.join(", ")));
        if changed.iter().any(|key| StudySpec::is_program(key)) && study.status()?.count(TrialStatus::Done) > 0 {
            console.warn("the results so far are of the program of before: every certificate from now on says that you declare the new one to measure the same function");
        }
    }
    say_next(&place, &study, &study.status()?, console)?;
    Ok(Ending::Done)
}
