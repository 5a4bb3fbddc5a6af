//! `sigmabar ask`: settings to measure now, as a list or as a plate to be filled in.

use crate::Outcome;
use crate::args::{Format, Global};
use crate::console::{Console, plain, write_csv};
use crate::failure::{Ending, Failure};
use crate::output;
use crate::plate::{self, LaidPlate, Layout, Plate};
use crate::quantity::{counted, duration, positive};
use crate::sheet::Sheet;
use crate::verbs::status::{repeats_of, schedule, telling};
use crate::which_study::{StudyArgument, WhichStudy, quoted};
use serde_json::json;
use sigmabar_study::{AskRequest, Asked, AskedTrial, Page, Study, TrialRow, TrialStatus};
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Plates and sheets take days.
const SHEET_LEASE: Duration = Duration::from_secs(30 * 24 * 3600);

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    study: StudyArgument,
    /// At most this many settings; one unless given, with --out all that can be measured now
    #[arg(long, short = 'n', value_name = "N", value_parser = positive, conflicts_with = "plate")]
    count: Option<usize>,
    /// Who asks: asking again with the same name gives the same pending settings
    #[arg(long, value_name = "NAME")]
    worker: Option<String>,
    /// How long the settings are the worker's own, such as 90m, 8h or 3d
    #[arg(long, value_name = "TIME", value_parser = duration)]
    lease: Option<Duration>,
    /// Lay the settings into the wells of a plate: 24, 96, 384, …
    #[arg(long, value_name = "WELLS")]
    plate: Option<Plate>,
    /// Also write the pipetting map, a CSV: for every parameter the plate as it lies on the bench
    #[arg(long, value_name = "FILE", requires = "plate")]
    map: Option<PathBuf>,
    /// Go on although the data contradict the premises: nothing is certified any more
    #[arg(long)]
    despite_contradiction: bool,
    /// Write a sheet to fill in, CSV, to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, console: &Console) -> Outcome {
    let place = arguments.study.place()?;
    let inputs = place.files();
    let new = |path| NewFile::create(path, &inputs);
    let files = (arguments.out.as_deref().map(new).transpose()?, arguments.map.as_deref().map(new).transpose()?);
    let (study, begun) = place.open_or_begin(global.seed)?;
    if begun {
        console.say(format_args!("begun: {}", study.file().display()));
    }
    let worker = worker(arguments);
    let pending = if arguments.plate.is_some() { plate::pending(&study, &worker)? } else { None };
    let (at_most, time) = match arguments.plate {
        Some(plate) => (pending.map_or_else(|| room(&study, plate), Ok)?, SHEET_LEASE),
        None if files.0.is_some() => (arguments.count.unwrap_or(usize::MAX), SHEET_LEASE),
        None => (arguments.count.unwrap_or(1), Duration::from_secs(3600)),
    };
    let request = AskRequest::new(worker, at_most).with_lease(arguments.lease.unwrap_or(time));
    // A sheet and a table are for people, who may look at them twice; what programs read is evaluated.
    let is_for_a_program = files.0.is_none() && matches!(global.format, Some(Format::Json | Format::Jsonl));
    let request = if is_for_a_program { request } else { request.to_be_shown() };
    if arguments.despite_contradiction {
        study.go_on_despite_contradiction()?;
    }
    let mut before = study.trials_of(&Page { worker: Some(request.worker.clone()), ..Page::default() })?;
    // Its time may have run out meanwhile: it lies there all the same.
    before.retain(|trial| trial.state.is_open() && trial.attempts > 0);
    let asked = match study.ask(&request) {
        Err(sigmabar_study::Error::Contradicted(contradiction)) => return Ok(place.contradicted(&study, &contradiction, console)),
        Err(sigmabar_study::Error::PremisesAwaited { .. }) => {
            console.nothing()?;
            return Ok(place.awaits_premises(console));
        }
        asked => asked?,
    };
    match asked {
        Asked::Trials(trials) => {
            say_shown_before(&trials, &before, is_for_a_program, console);
            if let Err(failure) = hand_out(arguments, files, &place, &study, &trials, console) {
                // Nobody saw these settings in a file that is not there: they are given back. Those of a plate or a list that is asked for again were seen.
                let give_back = if arguments.out.is_some() { Study::release_unseen } else { Study::release };
                let new = trials.iter().filter(|trial| pending.is_none() && !before.iter().any(|row| row.id == trial.id));
                new.map(|trial| trial.id).try_for_each(|id| give_back(&study, id, &request.worker))?;
                return Err(failure);
            }
            if trials.iter().any(|trial| trial.id as usize == study.spec().pilot()) {
                schedule(study.spec()).iter().for_each(|words| console.say(words));
            } else if arguments.plate.is_some() {
                say_repeated(&trials, console);
            }
            let batch = trials.iter().map(|trial| trial.batch).max().unwrap_or_default();
            let repeats = repeats_of(&study, batch, |first| trials.iter().any(|trial| trial.id == first))?;
            repeats.iter().for_each(|words| console.say(words));
        }
        Asked::Wait => {
            console.nothing()?;
            console.say("everything of this batch is handed out: tell results, or go on without the rest");
            say_plates_out(arguments, &place, &study, console)?;
            console.next(telling(&place, &study)?);
        }
        Asked::Finished => {
            console.nothing()?;
            console.say("the study is over: its budget is spent or the wanted gap is reached");
            console.next(format_args!("sigmabar recommend{}", place.typed()));
        }
    }
    Ok(Ending::Done)
}

/// How the sheet of a plate that lies on the bench is written again, where it does not lie here.
fn say_plates_out(arguments: &Arguments, place: &WhichStudy, study: &Study, console: &Console) -> Outcome<()> {
    let Some(plate) = arguments.plate else { return Ok(()) };
    let leased = study.trials_of(&Page { state: Some(TrialStatus::Leased), ..Page::default() })?;
    let names: BTreeSet<&str> = leased.iter().filter(|trial| trial.well.is_some()).filter_map(|trial| trial.worker.as_deref()).collect();
    let files = names.into_iter().map(|name| PathBuf::from(format!("{name}.csv"))).filter(|file| !file.exists() || is_empty(file));
    for file in files {
        console.say(format_args!(
            "a sheet that is lost is written again by: sigmabar ask{} --plate {plate} -o {}",
            place.typed(),
            quoted(&file)
        ));
    }
    Ok(())
}

/// That whoever asks again says with it that nothing was measured meanwhile and left out: a list that is looked at twice and a program that died of a value ask alike.
fn say_shown_before(trials: &[AskedTrial], before: &[TrialRow], is_for_a_program: bool, console: &Console) {
    let shown = trials.iter().filter(|trial| before.iter().any(|row| row.id == trial.id)).count();
    if shown > 0 {
        let (word, meaning) = if is_for_a_program {
            ("handed out", "a certificate counts them as measured again, which failures = \"unrelated\" must vouch for")
        } else {
            ("shown", "what was measured of them is to be told, certificates say that none of it was left out")
        };
        console.say(format_args!("{word} again: {}; {meaning}", counted(shown, "setting")));
    }
}

/// That a later plate holds settings more than once, which looks like a mistake to whoever pipettes it.
fn say_repeated(trials: &[AskedTrial], console: &Console) {
    let same = |a: &AskedTrial, b: &AskedTrial| a.values.iter().zip(&b.values).all(|(a, b)| a.1.same(&b.1));
    let distinct = trials.iter().enumerate().filter(|(i, trial)| !trials[..*i].iter().any(|before| same(before, trial))).count();
    if distinct < trials.len() {
        console.say(format_args!(
            "{} in {} wells: measuring some of what is left again tells more than measuring others",
            counted(distinct, "setting"),
            trials.len()
        ));
    }
}

/// How many settings fit on a plate.
fn room(study: &Study, plate: Plate) -> Outcome<usize> {
    match study.spec().settings_on(plate.wells()) {
        0 => Err(Failure::usage(format!("controls and blocked wells leave no room on a plate of {plate} wells"), "take a larger one")),
        settings => Ok(settings),
    }
}

/// A plate is its own worker: asking for it again gives it again.
fn worker(arguments: &Arguments) -> String {
    let plate = || arguments.out.as_deref().filter(|_| arguments.plate.is_some()).map(crate::which_study::stem);
    arguments.worker.clone().or_else(plate).unwrap_or_else(|| "by-hand".to_owned())
}

fn hand_out(
    arguments: &Arguments,
    (out, map): (Option<NewFile<'_>>, Option<NewFile<'_>>),
    place: &WhichStudy,
    study: &Study,
    trials: &[AskedTrial],
    console: &Console,
) -> Outcome<()> {
    let sheet = match arguments.plate {
        Some(plate) => {
            let (sheet, pipetted) = match plate::laid_before(study, trials)? {
                Some(laid) => again(plate, &laid, study, console)?,
                None => lay_out(plate, trials, study)?,
            };
            if let Some(map) = map {
                let path = map.path;
                map.write(&pipetted)?;
                console.say(format_args!("wrote {}: the plate as it lies on the bench, for pipetting", path.display()));
            }
            sheet
        }
        None => list(study, trials, out.is_some()),
    };
    let batch = trials[0].batch + 1;
    let until =
        jiff::Timestamp::from_millisecond(trials[0].leased_until).map_or_else(|_| String::new(), |at| format!(", yours until {at:.0}"));
    match out {
        None => console.sheet(&sheet, if arguments.plate.is_some() { Format::Csv } else { Format::Table })?,
        Some(file) => file.write(&sheet)?,
    }
    console.say(format_args!("{} of batch {batch}{until}", counted(trials.len(), "setting")));
    match &arguments.out {
        Some(path) => {
            console.say("fill in the column result: a number, the word failed, or nothing where there is no result");
            console.next(format_args!("sigmabar tell {}{}", quoted(path), place.typed_option()));
        }
        None => console.next(format_args!("sigmabar tell {} VALUE{}", trials[0].id, place.typed_option())),
    }
    Ok(())
}

/// The sheet and the pipetting map of a new plate.
fn lay_out(plate: Plate, trials: &[AskedTrial], study: &Study) -> Outcome<(Sheet, Sheet)> {
    let layout = Layout::new(plate, trials, study.spec(), Layout::seed(study.spec(), trials)).map_err(|well| {
        Failure::usage(format!("blocked: a plate of {plate} wells has no well {well}"), "name wells as A1, or another plate")
    })?;
    study.set_wells(&layout.places())?;
    Ok((layout.sheet(study.spec()), layout.map(study.spec())))
}

/// Those of a plate that lies on the bench: every well is where it was, with what was told of it.
fn again(plate: Plate, laid: &LaidPlate, study: &Study, console: &Console) -> Outcome<(Sheet, Sheet)> {
    let spec = study.spec();
    let sheets = |layout: &Layout<'_>| (layout.size(), (layout.sheet_so_far(spec, laid.trials()), layout.map(spec)));
    let (size, sheets) = laid.with_layout_on(Some(plate), study, sheets).map_or((laid.size, None), |(size, sheets)| (size, Some(sheets)));
    if size != plate.size() {
        let wells = size.0 * size.1;
        let what = format!("these settings lie on a plate of {wells} wells");
        return Err(Failure::usage(what, format!("ask for it with --plate {wells}, or for another plate under another name")));
    }
    let otherwise = || Failure::refused("this plate was not laid out by the study".to_owned(), "tell its results by their trials");
    let sheets = sheets.ok_or_else(otherwise)?;
    console.say("this plate lies on the bench already: every setting is where it was");
    Ok(sheets)
}

/// One row for each setting; on a sheet with room for its result, else with the seed that programs take.
fn list(study: &Study, trials: &[AskedTrial], is_sheet: bool) -> Sheet {
    let space = study.spec().space();
    let names: Vec<String> = space.names().collect();
    let has_labels = space.candidates().is_some_and(|table| table.labels.is_some());
    let mut sheet =
        Sheet::new(["trial".to_owned(), "batch".to_owned()].into_iter().chain(has_labels.then(|| "label".to_owned())).chain(names));
    sheet.columns.push(if is_sheet { plate::RESULT } else { "seed" }.to_owned());
    for trial in trials {
        let mut row = vec![json!(trial.id), json!(trial.batch + 1)];
        if has_labels {
            row.push(json!(space.label(&trial.values.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>())));
        }
        row.extend(trial.values.iter().map(|(_, value)| json!(value)));
        row.push(if is_sheet { json!("") } else { json!(trial.seed) });
        sheet.rows.push(row);
    }
    sheet
}

fn is_empty(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() == 0)
}

/// A file that is made before anything is leased, and goes again if nothing comes of it. Never over a plate that somebody may have filled in, or its map.
struct NewFile<'a> {
    path: &'a Path,
    file: Option<File>,
}

impl<'a> NewFile<'a> {
    fn create(path: &'a Path, inputs: &[&Path]) -> Outcome<Self> {
        output::check(path, inputs)?;
        output::check_csv(path)?;
        let file = OpenOptions::new().write(true).create_new(true).open(path).map_err(|source| match source.kind() {
            std::io::ErrorKind::AlreadyExists if is_empty(path) => Failure::usage(
                format!("{} is there already, and empty", path.display()),
                "another ask may be about to write it; remove it if one that was interrupted left it there",
            ),
            std::io::ErrorKind::AlreadyExists => Failure::usage(
                format!("{} is there already", path.display()),
                "results may stand in it: choose another name, or move it away",
            ),
            _ => Failure::File { path: path.to_owned(), action: "write", source },
        })?;
        Ok(Self { path, file: Some(file) })
    }

    fn write(mut self, sheet: &Sheet) -> Outcome<()> {
        let Some(file) = &self.file else { return Ok(()) };
        // Spreadsheets take text without a mark for that of their own country.
        let is_plain = sheet.columns.iter().all(|name| name.is_ascii()) && sheet.rows.iter().flatten().all(|cell| plain(cell).is_ascii());
        let mark = if is_plain { "" } else { "\u{feff}" };
        let written = (&*file).write_all(mark.as_bytes()).and_then(|()| write_csv(sheet, file)).and_then(|()| file.sync_all());
        written.map_err(Failure::file(self.path, "write"))?;
        self.file = None;
        Ok(())
    }
}

impl Drop for NewFile<'_> {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            drop(std::fs::remove_file(self.path));
        }
    }
}
