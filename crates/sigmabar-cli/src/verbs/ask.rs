//! `sigmabar ask`: settings to measure now, as a list or as a plate to be filled in.

use crate::Outcome;
use crate::args::{Format, Global};
use crate::console::{Console, write_csv};
use crate::failure::{Ending, Failure};
use crate::output;
use crate::plate::{self, Plate};
use crate::quantity::{counted, positive};
use crate::sheet::Sheet;
use crate::which_study::{StudyArgument, WhichStudy};
use serde_json::json;
use sigmabar_study::{AskRequest, Asked, AskedTrial, Study};
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Plates take days.
const PLATE_LEASE: Duration = Duration::from_secs(30 * 24 * 3600);

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    study: StudyArgument,
    /// At most this many settings
    #[arg(long, short = 'n', value_name = "N", default_value_t = 1, value_parser = positive, conflicts_with = "plate")]
    count: usize,
    /// Who asks: asking again with the same name gives the same pending settings
    #[arg(long, value_name = "NAME")]
    worker: Option<String>,
    /// How long the settings are the worker's own, such as 90m, 8h or 3d
    #[arg(long, value_name = "TIME", value_parser = lease)]
    lease: Option<Duration>,
    /// Lay the settings into the wells of a plate: 24, 96, 384, …
    #[arg(long, value_name = "WELLS")]
    plate: Option<Plate>,
    /// Go on although the data contradict the premises: nothing is certified any more
    #[arg(long)]
    despite_contradiction: bool,
    /// Write CSV to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

fn lease(text: &str) -> Result<Duration, String> {
    const WRONG: &str = "a time is a number with s, m, h or d behind it, such as 90m";
    let (number, unit) = text.split_at(text.len().saturating_sub(1));
    let seconds = match unit {
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return Err(WRONG.to_owned()),
    };
    let time = number.trim().parse::<f64>().map_err(|_| WRONG.to_owned())? * seconds;
    if time > 0.0 { Duration::try_from_secs_f64(time).map_err(|_| WRONG.to_owned()) } else { Err(WRONG.to_owned()) }
}

pub(crate) fn run(arguments: &Arguments, global: &Global, console: &Console) -> Outcome {
    let place = arguments.study.place()?;
    let out = arguments.out.as_deref().map(|path| NewFile::create(path, &place.files())).transpose()?;
    let (study, begun) = place.open_or_begin(global.seed)?;
    if begun {
        console.say(format_args!("begun: {}", study.file().display()));
    }
    let (at_most, time) = match arguments.plate {
        Some(plate) => (plate.wells(), PLATE_LEASE),
        None => (arguments.count, Duration::from_secs(3600)),
    };
    let request = AskRequest::new(worker(arguments), at_most).with_lease(arguments.lease.unwrap_or(time));
    if arguments.despite_contradiction {
        study.go_on_despite_contradiction()?;
    }
    let asked = match study.ask(&request) {
        Err(sigmabar_study::Error::Contradicted(contradiction)) => return Ok(place.contradicted(&contradiction, "ask", console)),
        asked => asked?,
    };
    match asked {
        Asked::Trials(trials) => {
            if let Err(failure) = hand_out(arguments, out, &place, &study, &trials, console) {
                // Nobody saw these settings: they are given back.
                trials.iter().try_for_each(|trial| study.release(trial.id, &request.worker))?;
                return Err(failure);
            }
        }
        Asked::Wait => {
            console.say("everything of this batch is handed out: tell results, or go on without the rest");
            console.next(format_args!("sigmabar tell TRIAL VALUE{}   or   sigmabar close-batch{}", place.typed_option(), place.typed()));
        }
        Asked::Finished => {
            console.say("the study is over: its budget is spent or the wanted gap is reached");
            console.next(format_args!("sigmabar recommend{}", place.typed()));
        }
    }
    Ok(Ending::Done)
}

/// A plate is its own worker: asking for it again gives it again.
fn worker(arguments: &Arguments) -> String {
    let plate = || arguments.out.as_deref().filter(|_| arguments.plate.is_some()).map(crate::which_study::stem);
    arguments.worker.clone().or_else(plate).unwrap_or_else(|| "by-hand".to_owned())
}

fn hand_out(
    arguments: &Arguments,
    out: Option<NewFile<'_>>,
    place: &WhichStudy,
    study: &Study,
    trials: &[AskedTrial],
    console: &Console,
) -> Outcome<()> {
    let sheet = match arguments.plate {
        Some(plate) => {
            let (sheet, wells) = plate::sheet(plate, trials, study.spec().problem().seed() ^ trials[0].id);
            study.set_wells(&wells)?;
            sheet
        }
        None => list(trials),
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
        Some(path) if arguments.plate.is_some() => {
            console.say("fill in the column result: a number, the word failed, or nothing where there is no result");
            console.next(format_args!("sigmabar tell {}{}", path.display(), place.typed_option()));
        }
        _ => console.next(format_args!("sigmabar tell {} VALUE{}", trials[0].id, place.typed_option())),
    }
    Ok(())
}

fn list(trials: &[AskedTrial]) -> Sheet {
    let names = trials.first().map_or_else(Vec::new, |trial| trial.values.iter().map(|(name, _)| name.clone()).collect());
    let mut sheet = Sheet::new(["trial".to_owned(), "batch".to_owned()].into_iter().chain(names));
    sheet.columns.push("seed".to_owned());
    for trial in trials {
        let mut row = vec![json!(trial.id), json!(trial.batch + 1)];
        row.extend(trial.values.iter().map(|(_, value)| json!(value)));
        row.push(json!(trial.seed));
        sheet.rows.push(row);
    }
    sheet
}

/// A file that is made before anything is leased, and goes again if nothing comes of it. Never over a plate that somebody may have filled in.
struct NewFile<'a> {
    path: &'a Path,
    file: Option<File>,
}

impl<'a> NewFile<'a> {
    fn create(path: &'a Path, inputs: &[&Path]) -> Outcome<Self> {
        output::check(path, inputs)?;
        let file = OpenOptions::new().write(true).create_new(true).open(path).map_err(|source| match source.kind() {
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
        write_csv(sheet, file).and_then(|()| file.sync_all()).map_err(Failure::file(self.path, "write"))?;
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

#[cfg(test)]
mod tests {
    use super::lease;
    use std::time::Duration;

    #[test]
    fn leases_are_read() {
        assert_eq!(lease("90m"), Ok(Duration::from_secs(5400)));
        assert_eq!(lease("1.5h"), Ok(Duration::from_secs(5400)));
        assert!(lease("").is_err() && lease("5").is_err() && lease("-1h").is_err() && lease("xh").is_err());
    }
}
