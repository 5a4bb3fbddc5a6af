//! `sigmabar schema`: the JSON Schema of study files.

use crate::Outcome;
use crate::failure::Ending;
use sigmabar_study::StudySpec;
use std::io::Write;

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {}

pub(crate) fn run(_: &Arguments) -> Outcome {
    writeln!(std::io::stdout(), "{:#}", StudySpec::json_schema())?;
    Ok(Ending::Done)
}
