//! One file per verb.

pub(crate) mod bench;
pub(crate) mod completions;
pub(crate) mod fit;
pub(crate) mod man;
pub(crate) mod predict;
pub(crate) mod theory;

use crate::Outcome;
use crate::args::{Global, Verb};
use crate::console::Console;

/// Does what was asked for.
pub(crate) fn run(verb: Verb, global: &Global, console: &Console) -> Outcome {
    match verb {
        Verb::Fit(arguments) => fit::run(&arguments, global, console),
        Verb::Predict(arguments) => predict::run(&arguments, console),
        Verb::Theory(arguments) => theory::run(&arguments, global, console),
        Verb::Bench(arguments) => bench::run(&arguments, global, console),
        Verb::Completions(arguments) => completions::run(&arguments),
        Verb::Man(arguments) => man::run(&arguments),
    }
}
