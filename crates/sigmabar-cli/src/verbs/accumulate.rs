//! `sigmabar accumulate --plan PLAN FILES`: the sums of some chunks of a plan, for whoever merges.

use super::plan;
use crate::Outcome;
use crate::args::Format;
use crate::console::{Console, Passes};
use crate::data::Table;
use crate::failure::Ending;
use crate::model_file;
use crate::output::{self, Over};
use crate::which_study::quoted;
use serde_json::json;
use sigmabar::accumulator::Accumulator;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A part of the chunks: the first of sixteen is 1/16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    number: u64,
    of: u64,
}

impl FromStr for Part {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(number, of)| Some((number.trim().parse().ok()?, of.trim().parse().ok()?)));
        match parts {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err("a part is written as 3/16, the third of sixteen".to_owned()),
        }
    }
}

impl Part {
    /// The chunks of this part: a run of neighbours, so that they add up.
    fn chunks(self, all: u64) -> Vec<u64> {
        let edge = |number: u64| (u128::from(all) * u128::from(number) / u128::from(self.of)) as u64;
        (edge(self.number - 1)..edge(self.number)).collect()
    }
}

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Files of the plan: all of them unless named
    files: Vec<PathBuf>,
    /// The plan, from sigmabar plan
    #[arg(long, value_name = "FILE")]
    plan: PathBuf,
    /// Only a part of the chunks, such as 3/16: the third of sixteen
    #[arg(long, value_name = "I/N", conflicts_with = "files")]
    part: Option<Part>,
    /// Where to save the sums
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    /// Replace the file
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Outcome {
    let bytes = model_file::read_sealed(&arguments.plan)?;
    let (planned, job) = plan::opened(&arguments.plan, &bytes)?;
    let read = [job.files(), vec![arguments.plan.clone()]].concat();
    output::check_target(&arguments.out, &read.iter().map(PathBuf::as_path).collect::<Vec<_>>(), arguments.force)?;
    let all = planned.chunks().len() as u64;
    let chunks = match arguments.part {
        Some(part) => part.chunks(all),
        None if arguments.files.is_empty() => (0..all).collect(),
        None => {
            let files: Vec<PathBuf> = Table::files(&arguments.files)?;
            job.chunks_of(&files)?
        }
    };
    let sums = job.sums(&planned, &chunks, &Passes::new(console, Some(1)))?;
    console.warn_dropped(sums.missing_rows() as usize);
    // The plan goes with its sums: whoever merges needs nothing else.
    let written = sums.to_bytes_with(&hex(&bytes));
    console.record(&[("chunks", json!(chunks.len())), ("of", json!(all)), ("rows", json!(sums.rows()))], Format::Table)?;
    if chunks.is_empty() {
        console.say(format_args!("none of the {all} chunks of the plan is in this part: its sums are empty, and merge like any others"));
    }
    model_file::keep(&written, &arguments.out, Over::by(arguments.force), console)?;
    suggest_merging(&sums, &arguments.out, console);
    Ok(Ending::Done)
}

/// Sums of all chunks are merged by themselves, others with those that are missing.
pub(super) fn suggest_merging(sums: &Accumulator, saved: &Path, console: &Console) {
    let others = if sums.uncovered().is_empty() { "" } else { " ..." };
    console.next(format_args!("sigmabar merge {}{others} -o model.sbm", quoted(saved)));
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]].map(char::from)).collect()
}

pub(super) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |c: u8| char::from(c).to_digit(16).map(|d| d as u8);
    text.len()
        .is_multiple_of(2)
        .then(|| text.as_bytes().chunks_exact(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_neighbours_and_leave_nothing_out() {
        for (all, of) in [(10, 3), (2, 5), (16, 16), (1, 1)] {
            let parts: Vec<u64> = (1..=of).flat_map(|number| Part { number, of }.chunks(all)).collect();
            assert_eq!(parts, (0..all).collect::<Vec<_>>());
        }
        assert_eq!("3/16".parse(), Ok(Part { number: 3, of: 16 }));
        ["0/4", "5/4", "x", "1/", "1"].iter().for_each(|text| assert!(text.parse::<Part>().is_err(), "{text}"));
        assert_eq!(unhex(&hex(&[0, 1, 0xfe, 0x80])), Some(vec![0, 1, 0xfe, 0x80]));
        assert_eq!((unhex("0"), unhex("zz")), (None, None));
    }
}
