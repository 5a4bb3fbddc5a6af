//! `sigmabar tell`: one result, or a filled-in plate.

use crate::Outcome;
use crate::console::Console;
use crate::data::Reader;
use crate::failure::{Ending, Failure};
use crate::plate::{self, Reading};
use crate::quantity::counted;
use crate::which_study::{StudyOption, WhichStudy};
use sigmabar_study::{Study, Told, TrialResult, TrialStatus};
use std::collections::HashMap;
use std::path::Path;

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The number of a trial, or a table with the columns trial and result
    #[arg(value_name = "TRIAL|FILE")]
    what: String,
    /// The value measured
    #[arg(allow_negative_numbers = true, conflicts_with = "failed")]
    value: Option<f64>,
    /// Its standard error, for a mean of replicates
    #[arg(long, value_name = "S", requires = "value")]
    std: Option<f64>,
    /// There is no value
    #[arg(long)]
    failed: bool,
    /// Why there is none
    #[arg(long, requires = "failed", default_value = "failed")]
    reason: String,
    /// A remark to keep with the trial
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// The column of results in a table
    #[arg(long, value_name = "COLUMN")]
    column: Option<String>,
    #[command(flatten)]
    study: StudyOption,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Outcome {
    let place = arguments.study.place()?;
    match arguments.what.parse::<u64>() {
        Ok(id) => one(id, arguments, &place, console),
        Err(_) => table(Path::new(&arguments.what), arguments, &place, console),
    }
}

fn one(id: u64, arguments: &Arguments, place: &WhichStudy, console: &Console) -> Outcome {
    let result = match arguments.value {
        Some(value) => TrialResult::Value { value, standard_error: arguments.std },
        None if arguments.failed => TrialResult::Failed { reason: arguments.reason.clone() },
        None => {
            return Err(Failure::usage(
                "there is neither a value nor --failed",
                "sigmabar tell TRIAL VALUE, or sigmabar tell TRIAL --failed",
            ));
        }
    };
    let study = place.open()?;
    let notes: Vec<(u64, String)> = arguments.note.iter().map(|note| (id, note.clone())).collect();
    if study.tell_with_notes(&[(id, result)], &notes)?.contains(&Told::Late) {
        console.warn(format_args!("trial {id} is written down, but its batch was closed before: it certifies nothing"));
    } else {
        console.say(format_args!("trial {id} is written down"));
    }
    next(&study, place, console)?;
    Ok(Ending::Done)
}

fn table(path: &Path, arguments: &Arguments, place: &WhichStudy, console: &Console) -> Outcome {
    if arguments.value.is_some() || arguments.failed || arguments.note.is_some() {
        let what = format!("{} is not the number of a trial", path.display());
        return Err(Failure::usage(what, "sigmabar tell TRIAL VALUE, or sigmabar tell FILE"));
    }
    let reader = Reader::open(path)?;
    let study = place.open()?;
    let reading = plate::read(reader, arguments.column.as_deref(), study.spec().space().parameters())?;
    console.say_decimal_commas(path, reading.has_decimal_commas);
    plate::check(&study, path, &reading)?;
    let (new, known) = fresh(&study, path, reading.results.clone())?;
    let told = study.tell_with_notes(&new, &reading.notes)?;
    let failed = new.iter().filter(|(_, result)| matches!(result, TrialResult::Failed { .. })).count();
    console.say(format_args!("written down: {} and {}", counted(new.len() - failed, "value"), counted(failed, "failure")));
    if !reading.notes.is_empty() {
        console.say(format_args!("kept: {}", counted(reading.notes.len(), "note")));
    }
    say_unused(&study, &reading, arguments, console);
    if known > 0 {
        console.say(format_args!("there already: {}", counted(known, "result")));
    }
    let late = told.iter().filter(|told| **told == Told::Late).count();
    if late > 0 {
        console.warn(format_args!("{late} of them came after their batch was closed: they are kept and certify nothing"));
    }
    say_missing(&study, &reading, place, console)?;
    next(&study, place, console)?;
    Ok(Ending::Done)
}

/// The results that are new; one that stands there already with the same value is left out, with another value it is refused.
fn fresh(study: &Study, path: &Path, results: Vec<(u64, TrialResult, u64)>) -> Outcome<(Vec<(u64, TrialResult)>, usize)> {
    let trials = study.trials()?;
    let told: HashMap<u64, TrialResult> = trials
        .into_iter()
        .filter(|trial| matches!(trial.state, TrialStatus::Done | TrialStatus::Failed | TrialStatus::Late))
        .map(|trial| {
            let failed = || TrialResult::Failed { reason: trial.reason.clone().unwrap_or_default() };
            let value = |value| TrialResult::Value { value, standard_error: trial.standard_error };
            (trial.id, trial.value.map_or_else(failed, value))
        })
        .collect();
    let (mut new, mut known) = (Vec::new(), 0);
    for (id, result, line) in results {
        match told.get(&id) {
            None => new.push((id, result)),
            Some(earlier) if is_same(earlier, &result) => known += 1,
            Some(_) => {
                let what = format!("{}, line {line}: trial {id} already has another result", path.display());
                return Err(Failure::refused(what, "a result is never replaced; nothing of this file was written down"));
            }
        }
    }
    Ok((new, known))
}

/// A failure is a failure, whatever was remarked about it later.
fn is_same(earlier: &TrialResult, result: &TrialResult) -> bool {
    matches!((earlier, result), (TrialResult::Failed { .. }, TrialResult::Failed { .. })) || earlier == result
}

/// Columns that are neither asked for nor kept are named, so that nobody believes them to be in the study.
fn say_unused(study: &Study, reading: &Reading, arguments: &Arguments, console: &Console) {
    let known = ["well", "trial", "id", "batch", "state", "worker", "reason", "told_at", plate::RESULT, plate::STANDARD_ERROR];
    let is_parameter = |name: &str| study.spec().space().parameters().iter().any(|parameter| parameter.name == name);
    let is_known = |name: &str| known.iter().chain(&plate::NOTES).any(|known| known.eq_ignore_ascii_case(name));
    let is_unused = |name: &&String| !is_known(name) && !is_parameter(name) && arguments.column.as_ref() != Some(name);
    let unused: Vec<&str> = reading.columns.iter().filter(is_unused).map(String::as_str).collect();
    if !unused.is_empty() {
        let columns = if unused.len() == 1 { "the column" } else { "the columns" };
        console.warn(format_args!("{columns} {} of the file: not kept in the study; a column named note is", unused.join(", ")));
    }
}

fn say_missing(study: &Study, reading: &Reading, place: &WhichStudy, console: &Console) -> Outcome<()> {
    let is_open = |state| matches!(state, TrialStatus::Queued | TrialStatus::Leased | TrialStatus::Expired);
    let trials = study.trials()?;
    let open: Vec<String> = trials
        .iter()
        .filter(|trial| reading.missing.contains(&trial.id) && is_open(trial.state))
        .map(|trial| trial.id.to_string())
        .collect();
    if !open.is_empty() {
        let more = if open.len() > 12 { ", …" } else { "" };
        let some = open[..open.len().min(12)].join(", ");
        console.say(format_args!("{} without a result in the file (trials {some}{more}): still open", counted(open.len(), "well")));
        console.say(format_args!("to go on without: sigmabar close-batch{}", place.typed()));
    }
    Ok(())
}

fn next(study: &Study, place: &WhichStudy, console: &Console) -> Outcome<()> {
    let status = study.status()?;
    let open = crate::verbs::status::open(&status);
    if open > 0 {
        console.say(format_args!("{} of batch {} still open", counted(open, "setting"), status.batches));
        console.next(format_args!("sigmabar status{}", place.typed()));
    } else {
        console.next(place.going_on(study, &status));
    }
    Ok(())
}
