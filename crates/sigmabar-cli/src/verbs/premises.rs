//! `sigmabar premises`: a few questions about the function, and what they mean for a study file.

use super::pilot::Pilot;
use crate::Outcome;
use crate::args::Global;
use crate::console::Console;
use crate::failure::{Ending, Failure};
use crate::plot::{self, Medium};
use crate::quantity::counted;
use crate::questions::{Asker, Beliefs};
use crate::which_study::{is_spec, quoted};
use sigmabar_study::StudySpec;
use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Keys that the answers give.
const KEYS: [&str; 5] = ["prior_mean", "unit", "norm_bound", "noise", "kernel"];

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The study file that the premises are written into
    #[arg(value_name = "FILE", default_value = "study.toml")]
    file: PathBuf,
    /// Ask the questions even where standard input is not a terminal
    #[arg(long)]
    questions: bool,
    /// Learn them from results of before instead, a pilot for one: a table, or an earlier study. Where the file has premises already: what the data say about these
    #[arg(long, value_name = "TABLE|STUDY", conflicts_with = "questions")]
    from: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, console: &Console) -> Outcome {
    let file = &arguments.file;
    if !is_spec(file) || file.extension().is_some_and(|end| end == "json") {
        return Err(Failure::usage(
            format!("{} is not called .toml", file.display()),
            "premises are written into a study file such as study.toml",
        ));
    }
    if file.with_extension("db").exists() {
        let remedy = "premises are fixed before the first measurement: begin another study, and import what was measured";
        return Err(Failure::usage(format!("the study of {} has begun", file.display()), remedy));
    }
    let text = fs::read_to_string(file).map_err(Failure::file(file, "read"))?;
    if let Some(from) = &arguments.from {
        return learn(file, &text, from, global.seed.unwrap_or(0), console);
    }
    if let Some(key) = KEYS.iter().find(|key| text.lines().any(|line| line.split('=').next().is_some_and(|k| k.trim() == **key))) {
        return Err(Failure::usage(format!("{} has a {key} already", file.display()), "take it out to be asked about it"));
    }
    if !std::io::stdin().is_terminal() && !arguments.questions {
        return Err(Failure::usage("the questions need a terminal", "say --questions to answer them from standard input"));
    }
    let beliefs = Beliefs::ask(&mut Asker::new(&mut std::io::stdin().lock(), console))?;
    let written = with_premises(&text, &beliefs.to_toml()?);
    // What is about to be written must be readable: a fault here is ours, and nothing is changed.
    StudySpec::from_toml(&written, file.parent().unwrap_or(Path::new(".")))?;
    fs::write(file, written).map_err(Failure::file(file, "write"))?;
    let picture = file.with_extension("premises.svg");
    let drawn = plot::functions(&beliefs.functions(global.seed.unwrap_or(0))?, (beliefs.usual, beliefs.stray));
    fs::write(&picture, drawn.svg(Medium::File)).map_err(Failure::file(&picture, "write"))?;
    console.say(format_args!("wrote the premises into {}", file.display()));
    console.say(format_args!("drew functions of that norm: {}. Could yours look like these?", picture.display()));
    console.say("If yours is wilder, say more hills or a shorter way; the answer will say for which norms it stands.");
    console.next(format_args!("sigmabar new {}", quoted(file)));
    Ok(Ending::Done)
}

/// Premises from results of before, or what these say about the premises that are there.
fn learn(file: &Path, text: &str, from: &Path, seed: u64, console: &Console) -> Outcome {
    let spec = StudySpec::read(file)?;
    let pilot = Pilot::read(&spec, from, console)?;
    if spec.problem().kernel().is_some() {
        console.say(pilot.judge(spec.problem())?);
        return Ok(Ending::Done);
    }
    let written = with_premises(text, &pilot.to_toml(from, seed)?);
    StudySpec::from_toml(&written, file.parent().unwrap_or(Path::new(".")))?;
    fs::write(file, written).map_err(Failure::file(file, "write"))?;
    console.say(format_args!(
        "learnt the premises from {} of {} and wrote them into {}",
        counted(pilot.len(), "result"),
        from.display(),
        file.display()
    ));
    console.say("These results are left out of what the study will claim: do not import them as fixed.");
    console.next(format_args!("sigmabar new {}", quoted(file)));
    Ok(Ending::Done)
}

/// The premises in the place of the commented ones that `new` writes, or before the first table.
fn with_premises(text: &str, premises: &str) -> String {
    let hints = ["# norm_bound", "# noise", "# kernel", "# What you know for certain"];
    let kept = text.lines().filter(|line| !hints.iter().any(|hint| line.starts_with(hint)));
    let (mut written, mut is_placed) = (String::new(), false);
    for line in kept {
        if !is_placed && line.starts_with('[') {
            written += premises;
            written.push('\n');
            is_placed = true;
        }
        written += line;
        written.push('\n');
    }
    if is_placed { written } else { written + premises }
}
