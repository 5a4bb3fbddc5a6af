//! `sigmabar completions SHELL`.

use super::Cli;
use crate::Outcome;
use crate::failure::Ending;
use clap::CommandFactory;
use clap_complete::Shell;
use std::io::Write;

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    // Into memory first: the generator panics where writing fails.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "sigmabar", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(Ending::Done)
}
