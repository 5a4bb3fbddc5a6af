//! The options of every verb.

use clap::{ArgAction, ValueEnum};

/// Options of every verb.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Everywhere")]
pub struct Global {
    /// How data are written to standard output
    #[arg(long, global = true, value_enum)]
    pub format: Option<Format>,
    /// Threads to work with (else SIGMABAR_NUM_THREADS, RAYON_NUM_THREADS, all cores)
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
