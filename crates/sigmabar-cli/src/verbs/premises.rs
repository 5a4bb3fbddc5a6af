//! `sigmabar premises`: a few questions about the function, and what they mean for a study file.

use super::pilot;
use super::status::{say_next, schedule};
use crate::Outcome;
use crate::args::Global;
use crate::console::Console;
use crate::failure::{Ending, Failure};
use crate::plot::{self, Medium, Picture};
use crate::quantity::{counted, grouped};
use crate::questions::{Asker, Beliefs, SAID};
use crate::which_study::{WhichStudy, is_spec, quoted};
use sigmabar::certificate::{Towards, short};
use sigmabar_study::{Level, Pilot, Study, StudySpec, TrialStatus, Verdict, shown_choices};
use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Keys that the answers give.
const KEYS: [&str; 5] = ["prior_mean", "unit", "norm_bound", "noise", "kernel"];

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The study file that the premises are written into; a study that waits for them after its pilot takes them over
    #[arg(value_name = "FILE", default_value = "study.toml")]
    file: PathBuf,
    /// Ask the questions even where standard input is not a terminal
    #[arg(long)]
    questions: bool,
    /// Learn them from results of before instead: a table, or an earlier study. Where the file has premises already: what the data say about these. A study that is at the
    /// end of its pilot needs no --from: its own results are taken
    #[arg(long, value_name = "TABLE|STUDY", conflicts_with = "questions")]
    from: Option<PathBuf>,
    /// Rows of --from without a result are missing for reasons that have nothing to do with what they would have been
    #[arg(long, requires = "from")]
    sure: bool,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, console: &Console) -> Outcome {
    let file = &arguments.file;
    if !is_spec(file) || file.extension().is_some_and(|end| end == "json") {
        return Err(Failure::usage(
            format!("{} is not called .toml", file.display()),
            "premises are written into a study file such as study.toml",
        ));
    }
    let begun = after_pilot(file)?;
    let text = fs::read_to_string(file).map_err(Failure::file(file, "read"))?;
    let seed = global.seed.unwrap_or(0);
    match (&arguments.from, &begun) {
        (Some(from), _) => {
            let pilot = pilot::read(&StudySpec::read(file)?, from, arguments.sure, console)?;
            return learn(file, &text, (&pilot, Some(from)), begun, seed, console);
        }
        (None, Some(study)) if !arguments.questions => {
            let pilot = pilot::of(study)?;
            return learn(file, &text, (&pilot, None), begun, seed, console);
        }
        _ => {}
    }
    let earlier = Beliefs::said(&text);
    let text = without_premises(&text);
    // A parameter may have a unit of its own: premises stand before the first table.
    let before_tables = || text.lines().take_while(|line| !line.starts_with('['));
    if let Some(key) = KEYS.iter().find(|key| before_tables().any(|line| is_key(line, key))) {
        let remedy = "it is not one that was written here: take it out to be asked about it";
        return Err(Failure::usage(format!("{} has a {key} already", file.display()), remedy));
    }
    if !std::io::stdin().is_terminal() && !arguments.questions {
        return Err(Failure::usage("the questions need a terminal", "say --questions to answer them from standard input"));
    }
    let directory = file.parent().unwrap_or(Path::new("."));
    // Some premises have to be there for strategies that need them: whichever, as only the space is looked at.
    let space = StudySpec::from_toml(&with_premises(&text, ANY_PREMISES), directory)?.space().clone();
    let beliefs = Beliefs::ask(&mut Asker::new(&mut std::io::stdin().lock(), console), &space, earlier)?;
    let written = with_premises(&text, &beliefs.to_toml(&space)?);
    // What is about to be written must be readable: a fault here is ours, and nothing is changed.
    StudySpec::from_toml(&written, directory)?;
    fs::write(file, written).map_err(Failure::file(file, "write"))?;
    console.say(format_args!("wrote the premises into {}", file.display()));
    if let Some(choices) = shown_choices(&space) {
        let drawn = plot::functions(&beliefs.functions(choices.len(), seed)?, &choices, (beliefs.usual, beliefs.stray), None);
        draw(file, &drawn, "you said", console)?;
    }
    console.say(format_args!(
        "If yours is wilder, say more hills or a shorter way: sigmabar premises {} asks again. The answer will say for which norms it stands.",
        quoted(file)
    ));
    go_on(file, begun, console)
}

/// Premises that fit every space.
const ANY_PREMISES: &str = "norm_bound = 1\nnoise = { about = 0.1 }\nkernel = { name = \"matern\", nu = 2.5, lengthscale = 0.5 }\n";

/// Functions beside the study file.
fn draw(file: &Path, picture: &Picture, whose: &str, console: &Console) -> Outcome<()> {
    let place = file.with_extension("premises.svg");
    fs::write(&place, picture.svg(Medium::File)).map_err(Failure::file(&place, "write"))?;
    console.say(format_args!("drew functions as large as {whose}: {}. Could yours look like these?", place.display()));
    Ok(())
}

/// The study of the file if it has begun, is at the end of its pilot, and so waits for its premises.
fn after_pilot(file: &Path) -> Outcome<Option<Study>> {
    if !file.with_extension("db").exists() {
        return Ok(None);
    }
    let study = WhichStudy::find(Some(file), None)?.open()?;
    let status = study.status()?;
    let refused = |what: String, remedy: &str| Err(Failure::usage(what, remedy));
    if study.spec().pilot() == 0 {
        let remedy =
            "premises are fixed before the first measurement: begin another study, and import what was measured, or begin it with a pilot";
        return refused(format!("the study of {} has begun", file.display()), remedy);
    }
    if status.batches > 1 {
        let remedy = "premises that change after looking at its results are none: begin another study";
        return refused(format!("the batch after the pilot of {} is planned", file.display()), remedy);
    }
    if status.closed == 0 {
        let (told, of) = (status.count(TrialStatus::Done), study.spec().pilot());
        let remedy = "ask for the rest and tell it, or end the pilot with sigmabar close-batch";
        return refused(format!("the pilot of {} has {told} of {of} results", file.display()), remedy);
    }
    Ok(Some(study))
}

/// Premises from results of before, or what these say about the premises that are there.
fn learn(file: &Path, text: &str, (pilot, from): (&Pilot, Option<&Path>), begun: Option<Study>, seed: u64, console: &Console) -> Outcome {
    let spec = StudySpec::read(file)?;
    if spec.problem().kernel().is_some() {
        say_verdict((pilot, from), &spec, console)?;
        let differs = |study: Study| {
            let seeded = |spec: &StudySpec| spec.clone().with_seed(study.spec().problem().seed());
            !seeded(study.spec()).declares_the_same(&seeded(&spec))
        };
        if begun.is_some_and(differs) {
            console.next(format_args!("sigmabar amend {}", quoted(file)));
        }
        return Ok(Ending::Done);
    }
    let learnt = pilot.learn(from.is_none(), seed)?;
    let written = with_premises(text, &learnt.to_toml(from));
    StudySpec::from_toml(&written, file.parent().unwrap_or(Path::new(".")))?;
    fs::write(file, written).map_err(Failure::file(file, "write"))?;
    let source = from.map_or("the pilot".to_owned(), |from| from.display().to_string());
    let which = if learnt.results < pilot.len() {
        format!("{} of the {} results of {source}, which the file names,", grouped(learnt.results), grouped(pilot.len()))
    } else {
        format!("{} of {source}", counted(pilot.len(), "result"))
    };
    console.say(format_args!("learnt the premises from {which} and wrote them into {}", file.display()));
    console.say(match from {
        Some(_) => "These results are left out of what the study will claim: do not import them as fixed.",
        None => {
            "The pilot is left out of what the study will claim. Change what you know better, and sigmabar amend, before the next batch."
        }
    });
    for what in &learnt.untaught {
        console.warn(format_args!("{what}: what is assumed there is a guess"));
    }
    if let Some(drawn) = pilot.functions(&learnt, seed)? {
        let around = (learnt.prior.mean(), learnt.prior.unit());
        draw(file, &plot::functions(&drawn.functions, &drawn.choices, around, Some(&drawn.along)), "these results suggest", console)?;
    }
    if matches!(learnt.level, Level::Equal(_)) {
        console.say(format_args!(
            "repeats gave the same to the last digit: if no repeat can ever differ, write noise = 0, and sigmabar amend {}, before the next batch",
            quoted(file)
        ));
    }
    go_on(file, begun, console)
}

/// What results say about the premises that are there.
fn say_verdict((pilot, from): (&Pilot, Option<&Path>), spec: &StudySpec, console: &Console) -> Outcome<()> {
    let Some(Verdict { least_norm, norm, suggested }) = pilot.judge(spec.problem())? else {
        return Err(Failure::usage("the study file has a kernel and no noise", "declare both, or neither"));
    };
    let noise = if spec.problem().unknown_level().is_some() { "the guess of the noise in" } else { "the noise of" };
    let declared = spec.problem().norm_bound().map_or("none".to_owned(), |bound| format!("{bound}"));
    console.say(format_args!(
        "under the kernel and {noise} the file these {} results exclude norms below {}; what fits them best has norm {norm:.3}; in the file: {declared}, suggested: {suggested:.3}",
        pilot.len(),
        short(least_norm, Towards::Below),
    ));
    if spec.problem().norm_bound().is_some_and(|bound| bound < least_norm) {
        console.warn(format_args!("the norm bound {declared} is excluded: write norm_bound = {suggested:.3}, or another kernel or noise"));
    }
    // The study's own pilot is in no claim, and a file that names these results says already where its premises come from.
    if let Some(from) = from.map(|from| from.display().to_string()).filter(|from| spec.learnt_from() != Some(from)) {
        console.say(format_args!(
            "a premise that you change because of this is learnt from {from}, and its results must not be in what is claimed: take the premises out of the file and say this again, \
             so that learnt_from and learnt_rows are written and a result that is told again is noticed"
        ));
    }
    Ok(())
}

/// What follows: a study that waits for its premises takes them over.
fn go_on(file: &Path, begun: Option<Study>, console: &Console) -> Outcome {
    let Some(mut study) = begun else {
        let spec = StudySpec::read(file)?;
        say_batches(&spec, console);
        console.next(super::new::first_step(file, &spec, None));
        return Ok(Ending::Done);
    };
    let changed = study.amend(&StudySpec::read(file)?)?;
    console.say(format_args!("amended: {}", changed.join(", ")));
    schedule(study.spec()).iter().for_each(|words| console.say(words));
    say_next(&WhichStudy::find(Some(file), None)?, &study, &study.status()?, console)?;
    Ok(Ending::Done)
}

/// With premises the strategy is S-BPE, whose batches differ from the rounds that somebody may have asked for.
fn say_batches(spec: &StudySpec, console: &Console) {
    let Some(words) = schedule(spec) else { return };
    console.say(words);
    if spec.batch_count().is_some() {
        console.say("for rounds of one length write: strategy = { name = \"s-bpe\", schedule = \"even\" }");
    }
}

fn is_key(line: &str, key: &str) -> bool {
    line.split_once('=').is_some_and(|(before, _)| before.trim() == key)
}

/// The study file without the lines that answers gave: each of them is known by its remark.
fn without_premises(text: &str) -> String {
    let is_ours = |line: &str| {
        line.starts_with(SAID.heading)
            || line.starts_with(SAID.failures)
            || KEYS.iter().zip(SAID.remarks).any(|(key, remark)| is_key(line, key) && line.contains(remark))
    };
    let kept: String = text.lines().filter(|line| !is_ours(line)).map(|line| format!("{line}\n")).collect();
    // What stood between two empty lines leaves one.
    if kept.len() < text.len() { kept.replace("\n\n\n", "\n\n") } else { kept }
}

/// The premises in the place of the commented ones that `new` writes, or before the first table.
fn with_premises(text: &str, premises: &str) -> String {
    let hints = ["# norm_bound", "# noise", "# kernel", SAID.failures, "# What you know for certain"];
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
