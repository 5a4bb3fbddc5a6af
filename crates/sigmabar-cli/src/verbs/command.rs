//! What was typed.

use crate::args::Global;
use clap::{Parser, Subcommand};

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "sigmabar",
    version,
    about = "Sparse kernel regression, design and optimisation whose intervals are theorems",
    long_about = "Sparse kernel regression, design and optimisation whose intervals are theorems.\n\n\
                  Fit a table of measurements and predict with intervals (fit, predict), choose where to measure (design), \
                  or find the best setting in a few parallel batches (new, run, ask, tell, recommend).",
    after_help = "Start here:\n  sigmabar new --demo hills.toml && sigmabar run hills.toml\n  sigmabar fit data.csv --target y",
    propagate_version = true,
    disable_help_subcommand = true
)]
pub struct Cli {
    /// Options of every verb.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Learn a function from a table of measurements
    Fit(super::fit::Arguments),
    /// Plan a fit over many files or machines: what is to be summed, and what that costs
    Plan(super::plan::Arguments),
    /// Sum some of the rows of a plan
    Accumulate(super::accumulate::Arguments),
    /// Make the model of sums over rows
    Merge(super::merge::Arguments),
    /// Predict with intervals from a fitted model
    Predict(super::predict::Arguments),
    /// Choose where to measure to know the function everywhere
    Design(super::design::Arguments),
    /// Begin a study from its file, from a few questions, or from a demo
    New(super::new::Arguments),
    /// Turn what you believe about the function into premises of a study
    Premises(super::premises::Arguments),
    /// Run a study to its end, or resume it
    Run(super::run::Arguments),
    /// Ask for settings to measure, as a list or as a plate
    Ask(super::ask::Arguments),
    /// Tell a result, or a filled-in plate
    Tell(super::tell::Arguments),
    /// Withdraw a result
    Void(super::void::Arguments),
    /// Go on by an edited study file: objective, description, stop_when, a larger budget
    Amend(super::amend::Arguments),
    /// Bring in results from before the study
    Import(super::import::Arguments),
    /// Write every trial as CSV
    Export(super::trials::Export),
    /// Show where a study stands
    Status(super::status::Arguments),
    /// Show every trial
    Trials(super::trials::Arguments),
    /// Show the best setting by what is known now, with its interval and gap
    Recommend(super::recommend::Arguments),
    /// Go on without the results that are missing
    CloseBatch(super::batch::Close),
    /// Put settings back whose worker did not answer in time
    Reap(super::batch::Arguments),
    /// Make one page with pictures of a study or a model
    Report(super::report::Arguments),
    /// Serve studies as a live page, and to workers on other machines
    #[cfg(feature = "serve")]
    Serve(super::serve::Arguments),
    /// Evaluate settings of a study that another machine serves
    #[cfg(feature = "serve")]
    Worker(super::worker::Arguments),
    /// What the theorems say before anything is measured
    Theory(super::theory::Arguments),
    /// Compare strategies on test problems
    Bench(super::bench::Arguments),
    /// Write the JSON Schema of study files to standard output
    Schema(super::schema::Arguments),
    /// Write the completions of a shell to standard output
    Completions(super::completions::Arguments),
    /// Write the manual page to standard output
    Man(super::man::Arguments),
}
