//! `sigmabar man [VERB]`.

use super::Cli;
use crate::Outcome;
use crate::failure::{Ending, Failure};
use clap::CommandFactory;
use std::io::Write;

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The verb; without one, the page of the whole command
    verb: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut command = Cli::command();
    command.build();
    let command = match &arguments.verb {
        None => command,
        Some(verb) => {
            let found = command.get_subcommands().find(|known| known.get_name() == verb);
            found.cloned().ok_or_else(|| Failure::usage(format!("there is no verb \"{verb}\""), "sigmabar --help lists them"))?
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    std::io::stdout().write_all(&page)?;
    Ok(Ending::Done)
}
