//! `sigmabar fit DATA --target y`: a model from a table.

use super::fit_arguments::{
    LearnOn, about, calibrates_in_parts, calibration_rows, check, declared, features_of, grouping, planned, selection, target,
};
use super::fitted::{MOST_KEPT, ending, report, save};
use super::import::UNVOUCHED;
use super::planning;
use crate::Outcome;
use crate::args::Global;
use crate::console::{Console, Passes};
use crate::data::{ColumnInfo, Frame, Table, beside_settings};
use crate::failure::Failure;
use crate::kernels;
use crate::memory;
use crate::model::learn::{self, Declared};
use crate::model::parts::learnt_in_parts;
use crate::model::plan::{Beside, Plan};
use crate::model::training::{Rows, split};
use crate::model::{Model, Scores};
use crate::quantity::{grouped, short};
use crate::verbs::merge::new_rows;
use sigmabar::certificate::Answer;
use sigmabar::{Points, Posterior, Prior};
use std::time::Instant;

pub use super::fit_arguments::Arguments;

pub(crate) fn run(arguments: &Arguments, global: &Global, console: &Console) -> Outcome {
    let (seed, begun) = (global.seed.unwrap_or(0), Instant::now());
    check(arguments)?;
    let target = (!arguments.no_save).then(|| target(arguments, "sbm", &[])).transpose()?;
    let table = Table::open(&arguments.data)?;
    let (model, scored) = if is_streamed(arguments, &table)? {
        streamed_model(arguments, &table, seed, console)?
    } else {
        model_in_memory(arguments, &table, seed, console)?
    };
    console.detail(format_args!("took {:.1} s", begun.elapsed().as_secs_f64()));
    let contradiction = report(&model, scored, arguments.delta, console)?;
    let about = model.about.clone();
    let saved = save(model, arguments, target.as_deref(), console)?;
    Ok(ending(contradiction.as_ref(), "fit", &about, saved.as_deref(), &new_rows(&arguments.data), console))
}

fn model_in_memory(arguments: &Arguments, table: &Table, seed: u64, console: &Console) -> Outcome<(Model, Option<(Scores, Answer)>)> {
    let frame = read(arguments, table, console)?;
    let (columns, lost) = (features_of(&frame.columns)?, frame.lost);
    let by = arguments.by.as_deref().map(|name| grouping(&columns, name)).transpose()?;
    let (mut rows, held) = split(frame, arguments.held_out(), seed);
    let calibrating = rows.take_out(calibration_rows(arguments, rows.len()), seed);
    if rows.len() < 2 {
        return Err(Failure::usage(format!("{} row is left to fit", rows.len()), "give more rows or a smaller --holdout"));
    }
    let declared = declared(arguments, rows.len())?;
    let learns = declared.learns();
    let plan = planned(arguments, rows.len(), held.len() + calibrating.len(), columns.len(), learns, Beside::default())?;
    console.say(plan);
    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let naming = |failure: Failure| failure.naming(&names);
    let in_parts = (calibrating.is_empty() && calibrates_in_parts(arguments, rows.len())).then(|| rows.clone());
    let mut model = fitted(arguments, (rows, lost), &declared, columns, &plan, seed, console).map_err(naming)?;
    if let Some(rows) = in_parts {
        let spinner = console.progress("learning without each part of the rows", None);
        let learnt = learnt_in_parts(&rows, lost, &declared, &model.about.features, (&plan, by, seed));
        model.about.parts = learnt.map_err(|error| naming(error.into()))?;
        spinner.finish_and_clear();
    }
    calibrate(&mut model, calibrating, by, arguments, console).map_err(naming)?;
    let scored = score(&mut model, &held, arguments.delta, console).map_err(naming)?;
    Ok((model, scored))
}

/// The model from sums over rows that are read again for every pass.
fn streamed_model(arguments: &Arguments, table: &Table, seed: u64, console: &Console) -> Outcome<(Model, Option<(Scores, Answer)>)> {
    let scores = usize::from(arguments.held_out() > 0.0);
    let passes = Passes::new(console, (arguments.learn_on == LearnOn::Sample).then_some(2 + scores));
    let (plan, job, found) = planning::make_plan(arguments, table, seed, arguments.held_out(), console, &passes)?;
    // Scoring reads the rows again, and answers for some.
    passes.expect(scores as f64 * found.seconds);
    let chunks: Vec<u64> = (0..plan.chunks().len() as u64).collect();
    let names: Vec<String> = job.about.features.iter().map(|column| column.name.clone()).collect();
    let sums = job.sums(&plan, &chunks, &passes).map_err(|failure| failure.naming(&names))?;
    console.warn_dropped(sums.missing_rows() as usize);
    let posterior = Posterior::from_sums(&plan, &sums)?;
    let mut model = Model { about: job.about.clone(), posterior };
    calibrate(&mut model, found.calibration, job.by, arguments, console)?;
    let scored = job.scored(&mut model, &plan, arguments.delta, &passes)?;
    Ok((model, scored))
}

/// Whether the rows are read again for every pass: where that was asked for, and where they would not fit.
fn is_streamed(arguments: &Arguments, table: &Table) -> Outcome<bool> {
    if arguments.stream || arguments.learn_apart || arguments.learn_on == LearnOn::All {
        return Ok(true);
    }
    let Some(limit) = arguments.memory.or_else(memory::available) else { return Ok(false) };
    if !table.is_rereadable() || arguments.keep_rows {
        return Ok(false);
    }
    let width = selection(arguments, table, &table.part(0)?)?.width();
    let learns = arguments.lengthscale.is_none();
    let values = match table.rows() {
        Some(rows) => {
            return Ok(Plan::new(rows as usize, 0, width, learns, arguments.wanted_inducing(rows as usize), None)
                .is_some_and(|plan| plan.memory > limit));
        }
        // A number takes some eight bytes as text, and more when packed.
        None => table.parts.iter().filter_map(|part| part.file.metadata().ok()).map(|file| file.len() / 8).sum::<u64>(),
    };
    let rows = values as usize / (width + 1);
    Ok(rows > MOST_KEPT && Plan::new(rows, 0, width, learns, arguments.wanted_inducing(rows), None).is_some_and(|plan| plan.memory > limit))
}

/// By rows kept from the model, or in parts that were learnt before; says what calibrates, and what does not.
fn calibrate(model: &mut Model, rows: Rows, by: Option<usize>, arguments: &Arguments, console: &Console) -> Outcome<()> {
    if !rows.is_empty() {
        let x = Points::new(rows.x, model.about.features.len())?;
        model.calibrate(x.view(), &rows.y, by)?;
    }
    if model.is_calibrated(arguments.delta) {
        let who = match &model.about.calibration {
            Some(calibration) => format!("{} of the rows held out", grouped(calibration.len())),
            None => format!("{} models, each without a part of the rows,", model.about.parts.len()),
        };
        console.say(format_args!("{who} calibrate the intervals for new responses"));
    }
    model.too_few(arguments.delta).iter().for_each(|words| console.warn(words));
    Ok(())
}

fn read(arguments: &Arguments, table: &Table, console: &Console) -> Outcome<Frame> {
    let first = table.part(0)?;
    let selection = selection(arguments, table, &first)?;
    let beside = if arguments.features.is_empty() { beside_settings(&first) } else { Vec::new() };
    if !beside.is_empty() {
        console.say(format_args!("an export of a study: {} are left out, which say nothing of a setting", beside.join(", ")));
    }
    let (frame, spinner) = if table.is_rereadable() {
        let spinner = console.progress(&format!("reading {}", table.parts[0].file.display()), None);
        (Frame::read_table(table, &selection)?, spinner)
    } else {
        let spinner = console.progress("reading standard input", None);
        (Frame::read(first, &selection)?, spinner)
    };
    spinner.finish_and_clear();
    console.say_decimal_commas(&frame.file, frame.has_decimal_commas);
    console.warn_cut(&frame.cut);
    let files = if table.parts.len() == 1 { frame.file.display().to_string() } else { format!("{} files", table.parts.len()) };
    console.say(format_args!("read {} rows of {} columns from {files}", grouped(frame.len()), frame.columns.len()));
    console.warn_dropped(frame.dropped);
    if let Some(what) = frame.objections.to(arguments.collected) {
        return Err(Failure::refused(what, UNVOUCHED));
    }
    Ok(frame)
}

fn fitted(
    arguments: &Arguments,
    (rows, lost): (Rows, usize),
    declared: &Declared,
    columns: Vec<ColumnInfo>,
    plan: &Plan,
    seed: u64,
    console: &Console,
) -> Outcome<Model> {
    let prior = declared.prior.map_or_else(|| Prior::learnt(&rows.y), Ok)?;
    let learnt = learnt(&rows, prior, declared, &columns, plan, seed, console)?;
    let pilot = pilot_seconds(&rows, prior, &learnt, columns.len(), declared)?;
    let posterior = console.timed("fitting all rows", pilot, || learn::fit(rows, lost, prior, learnt, columns.len(), declared))?;
    Ok(Model { about: about(arguments, columns), posterior })
}

pub(super) fn learnt(
    rows: &Rows,
    prior: Prior,
    declared: &Declared,
    columns: &[ColumnInfo],
    plan: &Plan,
    seed: u64,
    console: &Console,
) -> Outcome<learn::Learnt> {
    let spinner = console.progress(if plan.learns { "learning the kernel" } else { "choosing inducing points" }, None);
    let begun = Instant::now();
    let learnt = learn::learn(rows, prior, declared, columns, plan, seed)?;
    spinner.finish_and_clear();
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let word = if plan.learns { "learnt" } else { "given" };
    // The kernel is about standardised values; the noise is something to compare with the column.
    let noise = short(prior.unit() * learnt.ridge.value);
    console
        .say(format_args!("kernel {word}: {}; noise {noise}, as the target is measured", kernels::described(&learnt.kernel.value, &names)));
    let many = learnt.inducing.value.len();
    let why = if !plan.learns && many < plan.inducing.min(plan.rows) { ", enough for these rows" } else { "" };
    console.say(format_args!("{many} inducing points after {:.1} s{why}", begun.elapsed().as_secs_f64()));
    if let Some(wide) = learnt.wide {
        console.say(format_args!(
            "the evidence is known to within {} per row only; twice as many inducing points (--inducing {}) would take about four times as long",
            short(wide),
            2 * many
        ));
    }
    Ok(learnt)
}

/// How long the pass will take, from a fiftieth of it: for the clock on the screen.
fn pilot_seconds(rows: &Rows, prior: Prior, learnt: &learn::Learnt, columns: usize, declared: &Declared) -> Outcome<Option<f64>> {
    if learnt.posterior.is_some() || rows.len() < 200_000 {
        return Ok(None);
    }
    let sample = rows.sample(rows.len() / 50, 0);
    let share = rows.len() as f64 / sample.len() as f64;
    let begun = Instant::now();
    let parts = learn::Learnt {
        kernel: learnt.kernel.clone(),
        ridge: learnt.ridge,
        inducing: learnt.inducing.clone(),
        wide: None,
        posterior: None,
    };
    learn::fit(sample, 0, prior, parts, columns, declared)?;
    Ok(Some(share * begun.elapsed().as_secs_f64()))
}

fn score(model: &mut Model, held: &Rows, delta: f64, console: &Console) -> Outcome<Option<(Scores, Answer)>> {
    if held.is_empty() {
        return Ok(None);
    }
    let x = Points::new(held.x.clone(), model.about.features.len())?;
    let spinner = console.progress("scoring the rows held out", None);
    let scored = model.score(x.view(), &held.y, delta)?;
    spinner.finish_and_clear();
    Ok(Some(scored))
}
