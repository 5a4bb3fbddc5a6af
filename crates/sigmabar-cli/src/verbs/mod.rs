//! One file per verb.

pub(crate) mod accumulate;
pub(crate) mod amend;
pub(crate) mod ask;
pub(crate) mod batch;
pub(crate) mod bench;
mod command;
pub(crate) mod completions;
pub(crate) mod design;
pub(crate) mod fit;
mod fit_arguments;
mod fitted;
pub(crate) mod import;
pub(crate) mod man;
pub(crate) mod merge;
pub(crate) mod new;
mod pilot;
pub(crate) mod plan;
mod planning;
pub(crate) mod predict;
pub(crate) mod premises;
pub(crate) mod recommend;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod schema;
#[cfg(feature = "serve")]
pub(crate) mod serve;
pub(crate) mod status;
pub(crate) mod tell;
pub(crate) mod theory;
pub(crate) mod trials;
pub(crate) mod void;
#[cfg(feature = "serve")]
pub(crate) mod worker;

pub(crate) use accumulate::hex;
pub(crate) use command::{Cli, Verb};

use crate::Outcome;
use crate::args::Global;
use crate::console::Console;

/// Does what was asked for.
pub(crate) fn run(verb: Verb, global: &Global, console: &Console) -> Outcome {
    match verb {
        Verb::Fit(arguments) => fit::run(&arguments, global, console),
        Verb::Plan(arguments) => plan::run(&arguments, global, console),
        Verb::Accumulate(arguments) => accumulate::run(&arguments, console),
        Verb::Merge(arguments) => merge::run(&arguments, console),
        Verb::Predict(arguments) => predict::run(&arguments, console),
        Verb::Design(arguments) => design::run(&arguments, global, console),
        Verb::New(arguments) => new::run(&arguments, global, console),
        Verb::Premises(arguments) => premises::run(&arguments, global, console),
        Verb::Run(arguments) => run::run(&arguments, global, console),
        Verb::Ask(arguments) => ask::run(&arguments, global, console),
        Verb::Tell(arguments) => tell::run(&arguments, console),
        Verb::Void(arguments) => void::run(&arguments, console),
        Verb::Amend(arguments) => amend::run(&arguments, console),
        Verb::Import(arguments) => import::run(&arguments, global, console),
        Verb::Export(arguments) => trials::export(&arguments, console),
        Verb::Status(arguments) => status::run(&arguments, console),
        Verb::Trials(arguments) => trials::run(&arguments, console),
        Verb::Recommend(arguments) => recommend::run(&arguments, console),
        Verb::CloseBatch(arguments) => batch::close(&arguments, console),
        Verb::Reap(arguments) => batch::reap(&arguments, console),
        Verb::Report(arguments) => report::run(&arguments, console),
        #[cfg(feature = "serve")]
        Verb::Serve(arguments) => serve::run(&arguments, global, console),
        #[cfg(feature = "serve")]
        Verb::Worker(arguments) => worker::run(&arguments, console),
        Verb::Schema(arguments) => schema::run(&arguments),
        Verb::Theory(arguments) => theory::run(&arguments, global, console),
        Verb::Bench(arguments) => bench::run(&arguments, global, console),
        Verb::Completions(arguments) => completions::run(&arguments),
        Verb::Man(arguments) => man::run(&arguments),
    }
}
