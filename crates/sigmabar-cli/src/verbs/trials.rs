//! `sigmabar trials` and `sigmabar export`: every trial of a study.

use crate::Outcome;
use crate::advice::{export_sheet, trial_sheet};
use crate::args::Format;
use crate::console::Console;
use crate::failure::{Ending, Failure};
use crate::output::{self, Over};
use crate::verbs::status::say_next;
use crate::which_study::StudyArgument;
use sigmabar_study::{Page, TrialStatus};
use std::path::PathBuf;

/// Options of `trials`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    study: StudyArgument,
    /// Only trials in this state: queued, leased, expired, done, failed, missing or late
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
}

/// Options of `export`.
#[derive(Debug, clap::Args)]
pub struct Export {
    #[command(flatten)]
    study: StudyArgument,
    /// The file to write; standard output unless given
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file
    #[arg(long, requires = "out")]
    force: bool,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Outcome {
    let named = |word: &String| {
        let known = TrialStatus::ALL.map(TrialStatus::name).join(", ");
        TrialStatus::named(word).ok_or_else(|| Failure::usage(format!("there is no state \"{word}\""), format!("there are {known}")))
    };
    let state = arguments.state.as_ref().map(named).transpose()?;
    let place = arguments.study.place()?;
    let study = place.open()?;
    let trials = study.trials_of(&Page { state, ..Page::default() })?;
    console.sheet(&trial_sheet(&study, &trials)?, Format::Table)?;
    say_next(&place, &study, &study.status()?, console)?;
    Ok(Ending::Done)
}

pub(crate) fn export(arguments: &Export, console: &Console) -> Outcome {
    let place = arguments.study.place()?;
    let study = place.open()?;
    let sheet = export_sheet(&study)?;
    match &arguments.out {
        None => console.sheet(&sheet, Format::Csv)?,
        Some(path) => {
            output::write_table(path, &place.files(), Over::by(arguments.force), &sheet)?;
            console.say(format_args!("wrote {} rows to {}", sheet.rows.len(), path.display()));
        }
    }
    console.next(format_args!("sigmabar report{}", place.typed()));
    Ok(Ending::Done)
}
