//! `sigmabar tell`: one result, or a filled-in plate.

use crate::Outcome;
use crate::console::Console;
use crate::data::Reader;
use crate::failure::{Ending, Failure};
use crate::plate::{self, Partial, Reading};
use crate::quantity::{counted, first_of};
use crate::verbs::status;
use crate::which_study::{StudyOption, WhichStudy, quoted};
use sigmabar_study::{Corrected, Error, FilledSheet, Study, Told, TrialResult, TrialRow, TrialStatus};
use std::path::Path;

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The number of a trial, or a table with the columns trial and result
    #[arg(value_name = "TRIAL|FILE")]
    what: String,
    /// The value measured
    #[arg(allow_negative_numbers = true, conflicts_with = "failed", value_parser = measured)]
    value: Option<f64>,
    /// Its standard error, for a mean of replicates
    #[arg(long, value_name = "S", requires = "value")]
    std: Option<f64>,
    /// How many replicates it is the mean of
    #[arg(long, value_name = "R", requires = "std")]
    replicates: Option<u32>,
    /// There is no value
    #[arg(long)]
    failed: bool,
    /// Why there is none
    #[arg(long, requires = "failed", default_value = "failed")]
    reason: String,
    /// A remark to keep with the trial
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Put this result, or what has changed in a table, in the place of what was told; a --note must say why, and both stay in the study's events
    #[arg(long, requires = "note")]
    replace: bool,
    /// The column of results in a table
    #[arg(long, value_name = "COLUMN")]
    column: Option<String>,
    /// What looks mistyped was measured so: write it down
    #[arg(long)]
    sure: bool,
    #[command(flatten)]
    study: StudyOption,
}

/// A value as somebody types it.
fn measured(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        Ok(_) => Err(format!("{text} is not a measurement; if there is no value, use --failed")),
        Err(_) => Err(format!("{text} is not a number; write digits without a unit, such as 6.5, or use --failed if there is no value")),
    }
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
        Some(value) => TrialResult::Value { value, standard_error: arguments.std, replicates: arguments.replicates },
        None if arguments.failed => TrialResult::Failed { reason: arguments.reason.clone() },
        None => {
            return Err(Failure::usage(
                "there is neither a value nor --failed",
                "sigmabar tell TRIAL VALUE, or sigmabar tell TRIAL --failed",
            ));
        }
    };
    let study = place.open()?;
    if let (true, Some(why)) = (arguments.replace, &arguments.note) {
        let corrected = study.replace(id, &result, why)?;
        say_corrected(id, "replaced", corrected, console);
        next(&study, place, console)?;
        return Ok(Ending::Done);
    }
    let notes = arguments.note.iter().map(|note| (id, note.clone())).collect();
    let sheet = FilledSheet { results: vec![(id, result)], notes, ..FilledSheet::default() };
    refuse_mistyped(&study, &sheet, arguments, |_| String::new())?;
    match study.tell_sheet(&sheet)?[..] {
        [Told::Again { .. }] => console.say(format_args!("trial {id} has this result already")),
        [Told::Late] => console.warn(format_args!("trial {id} is written down, but its batch was closed before: it certifies nothing")),
        _ => console.say(format_args!("trial {id} is written down")),
    }
    say_bare_mean(&study, id, arguments, console);
    next(&study, place, console)?;
    Ok(Ending::Done)
}

/// That a bare number for a setting of several wells is somebody's word: nobody can see how many wells it is the mean of.
fn say_bare_mean(study: &Study, id: u64, arguments: &Arguments, console: &Console) {
    let planned = study.spec().replicates();
    if planned > 1 && arguments.value.is_some() && arguments.replicates.is_none() && !study.is_of_pilot(id) {
        console.say(format_args!(
            "it is taken for the mean of all {planned} replicates, by your word: a sheet, or --std with --replicates, says how many there were"
        ));
    }
}

fn table(path: &Path, arguments: &Arguments, place: &WhichStudy, console: &Console) -> Outcome {
    if arguments.value.is_some() || arguments.failed || (arguments.note.is_some() && !arguments.replace) {
        let what = format!("{} is not the number of a trial", path.display());
        return Err(Failure::usage(what, "sigmabar tell TRIAL VALUE, or sigmabar tell FILE, or sigmabar tell FILE --replace --note WHY"));
    }
    let reader = Reader::open(path)?;
    let study = place.open()?;
    let (spec, replicates) = (study.spec(), study.spec().replicates());
    let reading = plate::read(reader, arguments.column.as_deref(), spec.space().parameters(), replicates)?;
    console.say_decimal_commas(path, reading.has_decimal_commas);
    let used = plate::check(&study, path, &reading)?;
    let remarks = reading.notes.len();
    let reading = if replicates > 1 { reading.averaged(replicates) } else { reading };
    let first = reading.rows.first().map(|(id, ..)| *id);
    if first.is_none() && !reading.controls.is_empty() {
        let what = format!("{} has controls, and no trial beside them says on which plate", path.display());
        return Err(Failure::usage(what, "keep the rows of the plate's trials in the table"));
    }
    if let Some((line, words)) = plate::half_filled(&study, &reading)?.filter(|_| !arguments.sure && !arguments.replace) {
        let remedy = "tell the sheet when it is complete, or write failed into the cell of what is lost; --sure tells what is there";
        return Err(Failure::refused(format!("{}, line {line}: {words}", path.display()), remedy));
    }
    let sheet = reading.filled(used, arguments.note.clone());
    let at = |wells: &[(u64, Option<String>)]| {
        let line = wells.iter().find_map(|well| reading.line_of_well(well)).map_or_else(String::new, |line| format!(", line {line}"));
        format!("{}{line}: ", path.display())
    };
    refuse_mistyped(&study, &sheet, arguments, at)?;
    let before = study.controls()?;
    let told = study.tell_sheet(&sheet).map_err(|error| at_line(error, path, &reading, place))?;
    let new = || sheet.results.iter().zip(&told).filter(|(_, told)| !told.is_again() && told.corrected().is_none());
    let failed = new().filter(|((_, result), _)| matches!(result, TrialResult::Failed { .. })).count();
    let corrections: Vec<(u64, Corrected)> =
        sheet.results.iter().zip(&told).filter_map(|((id, _), told)| Some((*id, told.corrected()?))).collect();
    if corrections.is_empty() || new().count() > 0 {
        console.say(format_args!("written down: {} and {}", counted(new().count() - failed, "value"), counted(failed, "failure")));
    }
    let failed_wells = |(id, result): &(u64, TrialResult)| match result {
        TrialResult::Value { .. } => sheet.wells.get(id).map_or(0, |wells| wells.iter().filter(|(_, value)| value.is_none()).count()),
        TrialResult::Failed { .. } => 0,
    };
    let lost: usize = sheet.results.iter().filter(|(id, _)| !study.is_of_pilot(*id)).map(failed_wells).sum();
    if lost > 0 {
        console.warn(format_args!(
            "{} failed beside others of the same setting, whose mean is told: a loss that makes the answer an estimate unless failures = \"unrelated\" was declared",
            counted(lost, "well")
        ));
    }
    for (id, corrected) in &corrections {
        say_replaced(*id, "replaced", *corrected, console);
    }
    warn_analysed(corrections.iter().any(|(_, corrected)| *corrected == Corrected::AfterAnalysis), console);
    if !reading.controls.is_empty() {
        console.say(format_args!("kept: {}", counted(reading.controls.len(), "control")));
        let after = study.controls()?;
        for was in before.iter().filter(|was| !after.contains(was)) {
            console.warn(format_args!("the control in well {} came to {} before: both stay in the study's events", was.well, was.value));
        }
    }
    if !sheet.used.is_empty() {
        console.say(format_args!("measured where the sheet says, not where it was asked: {}", counted(sheet.used.len(), "setting")));
    }
    if remarks > 0 {
        console.say(format_args!("kept: {}", counted(remarks, "note")));
    }
    say_unused(&study, &reading, arguments, console);
    let known = told.iter().filter(|told| told.is_again()).count();
    if known > 0 {
        console.say(format_args!("there already: {}", counted(known, "result")));
    }
    let late = new().filter(|(_, told)| told.is_late()).count();
    if late > 0 {
        console.warn(format_args!("{late} of them came after their batch was closed: they are kept and certify nothing"));
    }
    say_missing(&study, &reading, arguments, (path, place), console)?;
    next(&study, place, console)?;
    Ok(Ending::Done)
}

/// What a correction did.
pub(crate) fn say_corrected(id: u64, done: &str, corrected: Corrected, console: &Console) {
    say_replaced(id, done, corrected, console);
    warn_analysed(corrected == Corrected::AfterAnalysis, console);
}

fn say_replaced(id: u64, done: &str, corrected: Corrected, console: &Console) {
    match corrected {
        Corrected::InTime => console.say(format_args!("the result of trial {id} is {done}")),
        Corrected::Late => console.say(format_args!("the result of trial {id}, which had come late and certifies nothing, is {done}")),
        Corrected::AfterAnalysis => console
            .say(format_args!("the result of trial {id} is {done}, and everything after it computed again; what was measured since stays")),
    }
}

fn warn_analysed(is_analysed: bool, console: &Console) {
    if is_analysed {
        console.warn(
            "its batch had been analysed: the certificate says so, and stays certified only where failures = \"unrelated\" is declared",
        );
    }
}

/// A result that is not the one that stands there already, with the line it is in.
fn at_line(error: Error, path: &Path, reading: &Reading, place: &WhichStudy) -> Failure {
    let Error::AlreadyTold { id, .. } = error else { return error.into() };
    let line = reading.line_of(id).unwrap_or_default();
    let what = format!("{}, line {line}: trial {id} already has another result", path.display());
    let remedy = format!("{} corrects what has changed; nothing of this file was written down", correcting(path, place));
    Failure::refused(what, remedy)
}

/// How a table corrects.
fn correcting(path: &Path, place: &WhichStudy) -> String {
    format!("sigmabar tell {} --replace --note WHY{}", quoted(path), place.typed_option())
}

/// Columns that are neither asked for nor kept are named, so that nobody believes them to be in the study.
fn say_unused(study: &Study, reading: &Reading, arguments: &Arguments, console: &Console) {
    let known = ["well", "trial", "id", "label", "batch", "state", "worker", "reason", "told_at", plate::RESULT, plate::STANDARD_ERROR];
    let is_parameter = |name: &str| study.spec().space().parameters().iter().any(|parameter| parameter.is_headed(name));
    let is_known = |name: &str| known.iter().chain(&plate::NOTES).any(|known| known.eq_ignore_ascii_case(name));
    let is_unused = |name: &&String| !is_known(name) && !is_parameter(name) && arguments.column.as_ref() != Some(name);
    let unused: Vec<&str> = reading.columns.iter().filter(is_unused).map(String::as_str).collect();
    if !unused.is_empty() {
        let columns = if unused.len() == 1 { "the column" } else { "the columns" };
        console.warn(format_args!("{columns} {} of the file: not kept in the study; a column named note is", unused.join(", ")));
    }
}

fn say_missing(
    study: &Study,
    reading: &Reading,
    arguments: &Arguments,
    (path, place): (&Path, &WhichStudy),
    console: &Console,
) -> Outcome<()> {
    let has_value =
        |partial: &&Partial| reading.results.iter().any(|(id, result, _)| *id == partial.id && matches!(result, TrialResult::Value { .. }));
    let (means, failed): (Vec<&Partial>, Vec<&Partial>) = reading.partial.iter().partition(has_value);
    if let Some(first) = failed.first() {
        console.warn(format_args!(
            "of {} (trial {} first) some wells failed and the others are empty: told as failed",
            counted(failed.len(), "setting"),
            first.id
        ));
    }
    if let Some(first) = means.first().map(|partial| partial.id) {
        let is_claimed = means.iter().any(|partial| !study.is_of_pilot(partial.id));
        let estimate = ", which makes the answer an estimate unless failures = \"unrelated\" was declared";
        console.warn(format_args!(
            "of {} (trial {first} first) only some replicates have a result, and these alone are told{}: should the others come later, {} takes them in",
            counted(means.len(), "setting"),
            if is_claimed { estimate } else { "" },
            correcting(path, place)
        ));
    }
    let trials = study.trials()?;
    let stays = |trial: &&TrialRow| arguments.replace && reading.missing.contains(&trial.id) && trial.value.is_some();
    let staying: Vec<u64> = trials.iter().filter(stays).map(|trial| trial.id).collect();
    if let Some(first) = staying.first() {
        console.warn(format_args!(
            "{} (trials {}) without one in the file: kept; to withdraw it: sigmabar void {first} --note WHY{}",
            counted(staying.len(), "result"),
            first_of(&staying),
            place.typed_option()
        ));
    }
    let is_open = |trial: &&TrialRow| reading.missing.contains(&trial.id) && trial.state.is_open();
    let open: Vec<u64> = trials.iter().filter(is_open).map(|trial| trial.id).collect();
    if !open.is_empty() {
        // A trial may be in several wells.
        let wells = reading.rows.iter().filter(|(id, ..)| open.contains(id)).count();
        console.say(format_args!("{} without a result in the file (trials {}): still open", counted(wells, "well"), first_of(&open)));
        console.say(format_args!("to go on without: sigmabar close-batch{}", place.typed()));
    }
    Ok(())
}

/// What is told by hand may be mistyped, and a complete batch is analysed at once: whoever typed it is asked before that.
fn refuse_mistyped(
    study: &Study,
    sheet: &FilledSheet,
    arguments: &Arguments,
    at: impl FnOnce(&[(u64, Option<String>)]) -> String,
) -> Outcome<()> {
    if arguments.sure {
        return Ok(());
    }
    study.refuse_mistyped_sheet(sheet).map_err(|error| match &error {
        Error::Mistyped { wells, .. } => {
            let remedy = "correct it if it is mistyped; if that was measured, the same command with --sure writes it down";
            Failure::refused(format!("{}{error}", at(wells)), remedy)
        }
        _ => error.into(),
    })
}

pub(crate) fn next(study: &Study, place: &WhichStudy, console: &Console) -> Outcome<()> {
    // A batch that is complete is analysed by the first look at it.
    let spinner = console.progress("analysing what was measured", None);
    let status = study.status()?;
    study.remember();
    spinner.finish_and_clear();
    if let Some(contradiction) = &status.contradiction {
        place.contradicted(study, contradiction, console);
        return Ok(());
    }
    let (open, handed_out) = (status.open(), status.count(TrialStatus::Leased));
    if open > handed_out {
        console.say(format_args!("{} of batch {} still open", counted(open, "setting"), status.batches));
    }
    status::say_next(place, study, &status, console)
}
