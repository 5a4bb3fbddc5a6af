//! The options of every verb.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, ValueEnum};
use sigmabar::Collected;

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

/// Reads how measured points were chosen: the words of the core, each with what it declares.
pub(crate) fn collected() -> impl TypedValueParser<Value = Collected> {
    let declares = |collected| match collected {
        Collected::DeclaredFixed => "Neither a point nor the number of rows was chosen by looking at a response",
        Collected::Adaptive => "Some may have been chosen by looking at responses",
        Collected::Exchangeable => "Rows were drawn alike, and so will be those asked about",
        _ => "Nobody knows",
    };
    let words = Collected::DECLARABLE.map(|collected| PossibleValue::new(collected.name()).help(declares(collected)));
    PossibleValuesParser::new(words).try_map(|word| word.parse())
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
