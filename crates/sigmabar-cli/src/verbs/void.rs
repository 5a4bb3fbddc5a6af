//! `sigmabar void`: a result is withdrawn.

use crate::Outcome;
use crate::console::Console;
use crate::failure::Ending;
use crate::verbs::tell;
use crate::which_study::StudyOption;

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The number of the trial
    #[arg(value_name = "TRIAL")]
    trial: u64,
    /// Why: kept with the trial, and in the study's events beside the result that stood there
    #[arg(long, value_name = "TEXT")]
    note: String,
    #[command(flatten)]
    study: StudyOption,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Outcome {
    let place = arguments.study.place()?;
    let study = place.open()?;
    let corrected = study.withdraw(arguments.trial, &arguments.note)?;
    tell::say_corrected(arguments.trial, "withdrawn", corrected, console);
    tell::next(&study, &place, console)?;
    Ok(Ending::Done)
}
