//! What was typed.

use crate::verbs;
use clap::{ArgAction, Parser, Subcommand, ValueEnum};

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

/// Options of every verb.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Everywhere")]
pub struct Global {
    /// How data are written to standard output
    #[arg(long, global = true, value_enum)]
    pub format: Option<Format>,
    /// Threads to work with (else SIGMABAR_NUM_THREADS, RAYON_NUM_THREADS, OMP_NUM_THREADS, all cores)
    #[arg(long, global = true, value_name = "N")]
    pub threads: Option<usize>,
    /// Seed of everything random
    #[arg(long, global = true, value_name = "N")]
    pub seed: Option<u64>,
    /// Say nothing but errors on standard error
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Say more on standard error
    #[arg(long, short, global = true, action = ArgAction::Count)]
    pub verbose: u8,
}

/// How data are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned columns for people, numbers rounded
    Table,
    /// One JSON document
    Json,
    /// One JSON object per line
    Jsonl,
    /// Comma-separated values with a header
    Csv,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Learn a function from a table of measurements
    Fit(verbs::fit::Arguments),
    /// Predict with intervals from a fitted model
    Predict(verbs::predict::Arguments),
    /// Choose where to measure to know the function everywhere
    Design(verbs::design::Arguments),
    /// Begin a study from its file, from a few questions, or from a demo
    New(verbs::new::Arguments),
    /// Run a study to its end, or resume it
    Run(verbs::run::Arguments),
    /// Ask for settings to measure, as a list or as a plate
    Ask(verbs::ask::Arguments),
    /// Tell a result, or a filled-in plate
    Tell(verbs::tell::Arguments),
    /// Bring in results from before the study
    Import(verbs::import::Arguments),
    /// Write every trial as CSV
    Export(verbs::trials::Export),
    /// Show where a study stands
    Status(verbs::status::Arguments),
    /// Show every trial
    Trials(verbs::trials::Arguments),
    /// Show the best setting by what is known now, with its interval and gap
    Recommend(verbs::recommend::Arguments),
    /// Go on without the results that are missing
    CloseBatch(verbs::batch::Close),
    /// Put settings back whose worker did not answer in time
    Reap(verbs::batch::Arguments),
    /// Make one page with pictures of a study or a model
    Report(verbs::report::Arguments),
    /// What the theorems say before anything is measured
    Theory(verbs::theory::Arguments),
    /// Compare strategies on test problems
    Bench(verbs::bench::Arguments),
    /// Write the JSON Schema of study files to standard output
    Schema(verbs::schema::Arguments),
    /// Write the completions of a shell to standard output
    Completions(verbs::completions::Arguments),
    /// Write the manual page to standard output
    Man(verbs::man::Arguments),
}
