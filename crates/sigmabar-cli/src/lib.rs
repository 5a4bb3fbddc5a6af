//! The `sigmabar` command as a library: `run` is the whole command, for the binary and for `python -m sigmabar`.
//!
//! What was typed ([`args`]) becomes a call of one verb, one file each; data go to stdout, words to stderr, through [`console`].

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod args;
pub mod console;
pub mod failure;
mod interrupt;
mod memory;
mod model_file;
mod output;
mod questions;
pub mod rows;
mod streamed;
pub mod threads;
mod verbs;
mod which_study;

use clap::Parser;
use console::Console;
use failure::Ending;
pub(crate) use failure::Outcome;
use sigmabar_report::{advice, kernels, quantity, setting};
pub use sigmabar_report::{data, model, plate, plot, report, sheet};
use std::ffi::OsString;

/// Runs the command with these arguments, the first of which is its own name, and gives the exit code: 0 done, 1 failed, 2 wrong usage, 3 budget spent
/// without the wanted certificate, 4 a numeric self-check failed, 130 interrupted.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> i32 {
    let cli = match verbs::Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers, everything else is wrong usage; a closed pipe is nobody's fault.
            let code = error.exit_code();
            drop(error.print());
            return code;
        }
    };
    let console = Console::new(&cli.global);
    let ended = threads::set(cli.global.threads).and_then(|()| verbs::run(cli.verb, &cli.global, &console));
    match ended {
        Ok(ending) => ending.code(),
        Err(failure) if failure.is_closed_pipe() => Ending::Done.code(),
        Err(failure) => {
            console.complain(&failure);
            failure.code()
        }
    }
}
