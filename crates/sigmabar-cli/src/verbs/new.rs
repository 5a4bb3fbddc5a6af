//! `sigmabar new`: a study file from a demo or from a few questions, and the study begun from it.

use crate::Outcome;
use crate::args::Global;
use crate::console::Console;
use crate::failure::{Ending, Failure};
use crate::quantity::counted;
use crate::questions::ask;
use crate::which_study::{is_spec, quoted};
use sigmabar_study::{Study, StudySpec};
use std::fs::OpenOptions;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

/// The study of the first example.
pub(crate) const DEMO: &str = include_str!("hills.toml");

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The study file: begun if it exists, written after a few questions if not
    #[arg(value_name = "FILE", default_value = "study.toml")]
    file: PathBuf,
    /// Write the study of the first example
    #[arg(long)]
    demo: bool,
    /// Ask the questions even where standard input is not a terminal
    #[arg(long, conflicts_with = "demo")]
    questions: bool,
    /// The name of the study in its .db file; the file's own unless given
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, console: &Console) -> Outcome {
    let file = &arguments.file;
    if !is_spec(file) {
        return Err(Failure::usage(format!("{} is not called .toml or .json", file.display()), "study files are, such as study.toml"));
    }
    if arguments.demo {
        let seed = global.seed.map_or_else(String::new, |seed| format!("seed = {seed}\n"));
        write_new(file, &(seed + DEMO))?;
        console.say(format_args!("wrote {}", file.display()));
        console.next(format_args!("sigmabar run {}", quoted(file)));
        return Ok(Ending::Done);
    }
    if file.exists() {
        return begin(arguments, global, console);
    }
    if !std::io::stdin().is_terminal() && !arguments.questions {
        let remedy = "write it, say --demo for an example, or run this on a terminal to be asked a few questions";
        return Err(Failure::usage(format!("there is no {}", file.display()), remedy));
    }
    let answers = ask(&mut std::io::stdin().lock(), console)?;
    let text = answers.to_toml(global.seed.unwrap_or(0));
    // What was just written must be readable: a fault here is ours, and nothing is left behind.
    let spec = StudySpec::from_toml(&text, file.parent().unwrap_or(Path::new(".")))?;
    write_new(file, &text)?;
    console.say(format_args!("wrote {}; for a certified answer say what you know: sigmabar premises {}", file.display(), quoted(file)));
    say_plan(&spec, console);
    console.next(format_args!("sigmabar premises {}   or   {}", quoted(file), first_step(file, &spec, None)));
    Ok(Ending::Done)
}

fn begin(arguments: &Arguments, global: &Global, console: &Console) -> Outcome {
    let file = &arguments.file;
    let spec = StudySpec::read(file)?;
    let spec = global.seed.map_or(spec.clone(), |seed| spec.with_seed(seed));
    let name = arguments.name.clone().unwrap_or_else(|| crate::which_study::stem(file));
    let study = Study::create(&file.with_extension("db"), &name, &spec)?;
    console.say(format_args!("begun: {}", study.file().display()));
    say_plan(&spec, console);
    console.next(first_step(file, &spec, arguments.name.as_deref()));
    Ok(Ending::Done)
}

fn say_plan(spec: &StudySpec, console: &Console) {
    console.say(format_args!(
        "{}, at most {}, strategy {}",
        counted(spec.space().parameters().len(), "parameter"),
        counted(spec.problem().budget(), "measurement"),
        spec.policy().name()
    ));
}

/// The first command of a study.
pub(super) fn first_step(file: &Path, spec: &StudySpec, name: Option<&str>) -> String {
    let (file, name) = (quoted(file), name.map_or_else(String::new, |name| format!(" --name {name}")));
    match spec.plate() {
        _ if spec.has_objective() => format!("sigmabar run {file}{name}"),
        Some(wells) => format!("sigmabar ask {file}{name} --plate {wells} -o plate1.csv"),
        None => format!("sigmabar ask {file}{name} -o round1.csv"),
    }
}

fn write_new(path: &Path, text: &str) -> Outcome<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::AlreadyExists => Failure::usage(format!("{} is there already", path.display()), "choose another name"),
        _ => Failure::File { path: path.to_owned(), action: "write", source },
    })?;
    file.write_all(text.as_bytes()).map_err(Failure::file(path, "write"))
}
