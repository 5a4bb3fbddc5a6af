//! `sigmabar fit DATA --target y`: a model from a table.

use super::planning;
use crate::Outcome;
use crate::args::{self, Format, Global};
use crate::console::{Console, Passes};
use crate::data::{Categories, ColumnInfo, Frame, Options, Reader, Selection, Table, Wanted};
use crate::failure::{Ending, Failure};
use crate::kernels::{self, Family};
use crate::memory;
use crate::model::learn::{self, Declared};
use crate::model::plan::{Beside, Plan};
use crate::model::training::{Rows, split};
use crate::model::{self, About, Model, Scores};
use crate::model_file;
use crate::output::{self, Over};
use crate::quantity::{Bytes, grouped, short};
use crate::verbs::merge::new_rows;
use crate::which_study::{quoted, stem};
use serde_json::{Value, json};
use sigmabar::certificate::{Answer, Calibration, Contradiction};
use sigmabar::{Collected, Noise, Points, Posterior, Prior};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// More rows than this hardly make calibrated intervals better.
pub(super) const MOST_CALIBRATING: usize = 10_000;
/// Fewer than this make them wide, if a quarter of all rows are more.
const MOST_OF_FEW: usize = 100;

impl Arguments {
    /// The miss probability.
    pub(super) fn delta(&self) -> f64 {
        self.delta
    }

    /// The share of rows to score on.
    fn held_out(&self) -> f64 {
        self.holdout.unwrap_or(0.1)
    }

    /// An option that was given and means nothing where only sums of the rows are known.
    pub(super) fn for_rows_at_hand(&self) -> Option<&'static str> {
        let is_some = |share: Option<f64>| share.is_some_and(|share| share > 0.0);
        [
            ("--holdout", is_some(self.holdout)),
            ("--calibrate", is_some(self.calibrate)),
            ("--by", self.by.is_some()),
            ("--keep-rows", self.keep_rows),
            ("--stream", self.stream),
            ("--no-save", self.no_save),
        ]
        .into_iter()
        .find_map(|(option, is_given)| is_given.then_some(option))
    }
}

/// Options.
#[derive(Clone, Debug, clap::Args)]
pub struct Arguments {
    /// CSV with a header (also .gz; - for standard input), Parquet, Excel (.xlsx, first sheet) or .npy (columns c0, c1, …): files, patterns such as 'part-*.parquet', folders
    #[arg(required = true)]
    pub(super) data: Vec<PathBuf>,
    /// The column to predict
    #[arg(long, value_name = "COLUMN")]
    pub(super) target: String,
    /// The columns to predict it from; all others unless named
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', conflicts_with = "ignore")]
    features: Vec<String>,
    /// Columns to leave out
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    ignore: Vec<String>,
    /// Columns that hold names of categories instead of numbers
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    categorical: Vec<String>,
    /// se (or rbf, squared-exponential), matern-NU or rq-ALPHA; the best of matern-1.5, matern-2.5 and se unless named
    #[arg(long)]
    kernel: Option<Family>,
    /// Length-scale, or one for each column: with it the kernel is declared instead of learnt
    #[arg(long, value_name = "LENGTHS", value_delimiter = ',')]
    lengthscale: Option<Vec<f64>>,
    /// Variance of the declared kernel
    #[arg(long, default_value_t = 1.0, requires = "lengthscale")]
    variance: f64,
    /// Ridge: a standard deviation; the noise level unless given
    #[arg(long)]
    tau: Option<f64>,
    /// At most this many inducing points
    #[arg(long, value_name = "M")]
    pub(super) inducing: Option<usize>,
    /// Memory to stay within, such as 4G
    #[arg(long, value_name = "SIZE")]
    memory: Option<Bytes>,
    /// Share of the rows to hold out for scoring; a tenth unless given, 0 for none
    #[arg(long, value_name = "SHARE")]
    holdout: Option<f64>,
    /// Share of the rows that the model must not learn from, to calibrate intervals for new responses; a tenth or about 100 unless given, 0 for none
    #[arg(long, value_name = "SHARE", conflicts_with = "norm_bound")]
    pub(super) calibrate: Option<f64>,
    /// A column of categories each of which is calibrated by itself
    #[arg(long, value_name = "COLUMN", conflicts_with = "norm_bound")]
    pub(super) by: Option<String>,
    /// Bound on the norm of the function minus its prior mean: declared before the data, it makes intervals theorems
    #[arg(long, value_name = "C", requires = "noise")]
    pub(super) norm_bound: Option<f64>,
    /// Noise of a measurement: a level (sub-Gaussian), gaussian:SD, bounded:A or light-tailed:XI0:H0
    #[arg(long, value_parser = kernels::noise)]
    pub(super) noise: Option<Noise>,
    /// Prior mean, declared before the data (0 with --norm-bound, learnt otherwise)
    #[arg(long, value_name = "MEAN", allow_negative_numbers = true)]
    prior_mean: Option<f64>,
    /// Unit in which norm bound, noise, tau and variance are given (1 with --norm-bound, learnt otherwise)
    #[arg(long)]
    unit: Option<f64>,
    /// How the points were chosen; without "fixed" intervals are the wider ones that hold anyway
    #[arg(long, value_name = "HOW", default_value = Collected::Undeclared.name(), value_parser = args::collected())]
    collected: Collected,
    /// Rows that are equal in every number are measurements of their own, as a coarse instrument makes them: without it they count as one written down twice, and nothing is certified
    #[arg(long)]
    distinct_rows: bool,
    /// Miss probability of the intervals that are scored
    #[arg(long, default_value_t = 0.05)]
    delta: f64,
    /// Where to save the model; DATA.sbm unless named, or DATA-2.sbm where that is there
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file
    #[arg(long, requires = "out")]
    force: bool,
    /// Save no model
    #[arg(long, conflicts_with = "out")]
    no_save: bool,
    /// Pass over rows with a missing value, and say how many
    #[arg(long)]
    pub(super) drop_missing: bool,
    /// Keep the measured rows in the model file, whatever their number; beyond 5000 a model predicts and claims from sums over them
    #[arg(long)]
    keep_rows: bool,
    /// Read the rows again for every pass instead of holding them in memory, as is done where they do not fit
    #[arg(long, conflicts_with = "keep_rows")]
    stream: bool,
    /// Learn the kernel on rows that the claim then leaves out, so that it was fixed before the others were seen
    #[arg(long)]
    pub(super) learn_apart: bool,
    /// Rows by whose evidence the kernel is learnt: all are read twice at each of up to 10 steps, after a sample has said where to begin
    #[arg(long, value_name = "ROWS", default_value_t, value_enum)]
    pub(super) learn_on: LearnOn,
}

/// Rows to learn on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum LearnOn {
    /// Some ten thousand of them
    #[default]
    Sample,
    /// Every row that is fitted
    All,
}

/// Models of more rows than this are saved without them.
const MOST_KEPT: usize = 5000;
/// Inducing points kept for claims in the place of the rows.
pub(super) const AHEAD: usize = 64;

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
    save(model, arguments, target.as_deref(), console)?;
    Ok(ending(contradiction.as_ref(), "fit", &about, target.as_deref(), &new_rows(&arguments.data), console))
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
    let mut model = fitted(arguments, (rows, lost), &declared, columns, &plan, seed, console).map_err(naming)?;
    calibrate(&mut model, calibrating, by, console).map_err(naming)?;
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
    calibrate(&mut model, found.calibration, job.by, console)?;
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
            return Ok(Plan::new(rows as usize, 0, width, learns, arguments.inducing, None).is_some_and(|plan| plan.memory > limit));
        }
        // A number takes some eight bytes as text, and more when packed.
        None => table.parts.iter().filter_map(|part| part.file.metadata().ok()).map(|file| file.len() / 8).sum::<u64>(),
    };
    let rows = values as usize / (width + 1);
    Ok(rows > MOST_KEPT && Plan::new(rows, 0, width, learns, arguments.inducing, None).is_some_and(|plan| plan.memory > limit))
}

fn calibrate(model: &mut Model, rows: Rows, by: Option<usize>, console: &Console) -> Outcome<()> {
    if !rows.is_empty() {
        let x = Points::new(rows.x, model.about.features.len())?;
        model.calibrate(x.view(), &rows.y, by)?;
        console.say(format_args!("{} of the rows held out calibrate the intervals for new responses", grouped(rows.y.len())));
    }
    Ok(())
}

pub(super) fn check(arguments: &Arguments) -> Outcome<()> {
    if !(0.0..1.0).contains(&arguments.held_out()) {
        return Err(Failure::usage(format!("--holdout is {}", arguments.held_out()), "it must be at least 0 and below 1"));
    }
    if arguments.calibrate.is_some_and(|share| !(0.0..1.0).contains(&share)) {
        let share = arguments.calibrate.unwrap_or_default();
        return Err(Failure::usage(format!("--calibrate is {share}"), "it must be at least 0 and below 1"));
    }
    if arguments.inducing == Some(0) {
        return Err(Failure::usage("--inducing is 0", "it must be at least 1"));
    }
    if arguments.lengthscale.is_some() && arguments.tau.is_none() && arguments.noise.is_none() {
        return Err(Failure::usage("a declared kernel needs a ridge", "give --tau, or --noise"));
    }
    check_learning(arguments)
}

/// What is learnt, and on which rows.
fn check_learning(arguments: &Arguments) -> Outcome<()> {
    if arguments.learn_on == LearnOn::All && arguments.lengthscale.is_some() {
        return Err(Failure::usage(
            "--learn-on all, and --lengthscale declares the kernel",
            "give one of them: nothing is learnt of a declared kernel",
        ));
    }
    if arguments.learn_on == LearnOn::All && arguments.learn_apart {
        return Err(Failure::usage("--learn-on all leaves no rows apart from those learnt on", "give --learn-apart or --learn-on all"));
    }
    let is_learnt = arguments.lengthscale.is_none();
    if arguments.norm_bound.is_some() && is_learnt && !arguments.learn_apart {
        let remedy = "declare the kernel too, --kernel and --lengthscale (and --variance), or learn it on other rows with --learn-apart";
        return Err(Failure::usage("a norm bound speaks of one kernel, and this one would be learnt", remedy));
    }
    if arguments.norm_bound.is_some() && !is_learnt && arguments.kernel.is_none() {
        let remedy = "name the family: --kernel se, matern-2.5 (how smooth the function is) or rq-ALPHA";
        return Err(Failure::usage("a norm bound speaks of one kernel, and only its length-scale is given", remedy));
    }
    Ok(())
}

/// Where the model goes, found out before the work: a name that was given, else the first free one after that of the data.
pub(super) fn target(arguments: &Arguments, kind: &str, read: &[PathBuf]) -> Outcome<PathBuf> {
    let data = arguments.data[0].as_path();
    let inputs: Vec<&Path> = arguments.data.iter().chain(read).map(PathBuf::as_path).collect();
    let Some(path) = &arguments.out else {
        let is_plain = data.as_os_str() != "-" && !data.to_string_lossy().contains(['*', '?', '[']);
        let stem = if is_plain { stem(data) } else { "model".to_owned() };
        let stem = stem.strip_suffix(".csv").unwrap_or(&stem);
        let names = (1..).map(|n| PathBuf::from(if n == 1 { format!("{stem}.{kind}") } else { format!("{stem}-{n}.{kind}") }));
        let free = names.into_iter().find(|path| !path.exists()).unwrap_or_default();
        output::check_writable(&free, &inputs, Over::Nothing)?;
        return Ok(free);
    };
    output::check_target(path, &inputs, arguments.force)?;
    Ok(path.clone())
}

/// Rows that calibrate: as many as were said; else a tenth, but about 100 where a quarter are so many, and none where they would not do or premises are there.
pub(super) fn calibration_rows(arguments: &Arguments, rows: usize) -> usize {
    if arguments.norm_bound.is_some() {
        return 0;
    }
    if let Some(share) = arguments.calibrate {
        return (share * rows as f64).round() as usize;
    }
    let usual = (rows / 10).clamp(MOST_OF_FEW.min(rows / 4), MOST_CALIBRATING);
    // The number taken out is only about the number asked for.
    if usual >= Calibration::rows_needed(arguments.delta) * 3 / 2 { usual } else { 0 }
}

/// The column of categories that groups the rows.
pub(super) fn grouping(columns: &[ColumnInfo], name: &str) -> Outcome<usize> {
    let place = columns.iter().position(|column| column.name == name && column.categories.is_some());
    place.ok_or_else(|| {
        Failure::usage(format!("--by {name}: there is no such column of categories"), "name one that --categorical declares")
    })
}

/// What will be taken, within the memory stated, else within what is left.
pub(super) fn planned(arguments: &Arguments, rows: usize, held_out: usize, columns: usize, learns: bool, beside: Beside) -> Outcome<Plan> {
    let within = |limit| Plan::beside(beside, rows, held_out, columns, learns, arguments.inducing, limit);
    let left = memory::available().filter(|_| arguments.memory.is_none());
    let roomy = within(arguments.memory).filter(|plan| left.is_none_or(|left| plan.memory <= left));
    roomy.or_else(|| within(left.or(arguments.memory))).ok_or_else(|| {
        let least = Plan::least(beside, rows, held_out, columns, learns).rounded_up();
        let there = arguments.memory.or(left).map_or_else(String::new, |there| format!(", and there are {there}"));
        Failure::usage(
            format!("{} rows need at least {least}{there}", grouped(rows)),
            "raise --memory, or name fewer columns with --features",
        )
    })
}

pub(super) fn selection(arguments: &Arguments, table: &Table, reader: &Reader) -> Outcome<Selection> {
    reader.column(&arguments.target)?;
    let target = arguments.target.clone();
    if arguments.ignore.contains(&target) {
        return Err(Failure::usage(format!("--ignore leaves out {target}, which is the target"), "leave it out of --ignore"));
    }
    let named: Vec<String> = if arguments.features.is_empty() {
        table.check_columns(reader, &arguments.ignore)?;
        let kept = |name: &&String| **name != target && !arguments.ignore.contains(name);
        reader.names().iter().filter(kept).cloned().collect()
    } else {
        arguments.features.iter().filter(|name| **name != target).cloned().collect()
    };
    Ok(Selection {
        wanted: Wanted::Named(named.into_iter().chain([target]).collect()),
        categories: Categories::Collected(arguments.categorical.clone()),
        memory: arguments.memory.or_else(memory::available),
        options: Options::Fit,
        drop_missing: arguments.drop_missing,
    })
}

fn read(arguments: &Arguments, table: &Table, console: &Console) -> Outcome<Frame> {
    let first = table.part(0)?;
    let selection = selection(arguments, table, &first)?;
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
    Ok(frame)
}

/// All columns but the target, which is read last.
pub(super) fn features_of(columns: &[ColumnInfo]) -> Outcome<Vec<ColumnInfo>> {
    let (target, features) = columns.split_last().ok_or_else(|| Failure::usage("there are no columns", "name some"))?;
    if features.is_empty() {
        return Err(Failure::usage(format!("there is no column to predict {} from", target.name), "name some with --features"));
    }
    if target.categories.is_some() {
        return Err(Failure::usage(format!("the target {} is declared categorical", target.name), "predict a column of numbers"));
    }
    Ok(features.to_vec())
}

pub(super) fn declared(arguments: &Arguments, rows: usize) -> Outcome<Declared> {
    let said = arguments.prior_mean.is_some() || arguments.unit.is_some() || arguments.norm_bound.is_some();
    let prior = said.then(|| Prior::declared(arguments.prior_mean.unwrap_or(0.0), arguments.unit.unwrap_or(1.0))).transpose()?;
    let ridge = arguments.tau.or_else(|| arguments.noise.as_ref().map(|noise| noise.usual_ridge(arguments.variance, rows)));
    let (family, lengthscale, variance) = (arguments.kernel, arguments.lengthscale.clone(), arguments.variance);
    let (collected, distinct_rows) = (arguments.collected, arguments.distinct_rows);
    Ok(Declared { family, lengthscale, variance, ridge, prior, collected, distinct_rows })
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
    console.say(format_args!("{} inducing points after {:.1} s", learnt.inducing.value.len(), begun.elapsed().as_secs_f64()));
    if let Some(wide) = learnt.wide {
        let many = learnt.inducing.value.len();
        console.say(format_args!(
            "the evidence is known to within {} per row only; twice as many inducing points (--inducing {}) would take about four times as long",
            short(wide),
            2 * many
        ));
    }
    Ok(learnt)
}

pub(super) fn about(arguments: &Arguments, features: Vec<ColumnInfo>) -> About {
    About {
        target: arguments.target.clone(),
        features,
        norm_bound: arguments.norm_bound,
        noise: arguments.noise.clone(),
        calibration: None,
        scores: None,
        held_out: Vec::new(),
        data: arguments.data.iter().map(|path| quoted(path)).collect::<Vec<_>>().join(" "),
    }
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

/// What follows from a model: predictions, or a remedy where the data contradict what was declared.
pub(super) fn ending(
    contradiction: Option<&Contradiction>,
    verb: &str,
    about: &About,
    saved: Option<&Path>,
    asked: &str,
    console: &Console,
) -> Ending {
    match (contradiction, saved) {
        (Some(contradiction), _) => return model_file::contradicted(contradiction, verb, about, console),
        (None, Some(path)) => console.next(format_args!("sigmabar predict {} {asked}", quoted(path))),
        (None, None) => {}
    }
    Ending::Done
}

/// Says what came out; gives back how the data contradict what was declared, if they do.
pub(super) fn report(model: &Model, scored: Option<(Scores, Answer)>, delta: f64, console: &Console) -> Outcome<Option<Contradiction>> {
    let information = model.posterior.information();
    let names: Vec<&str> = model.about.features.iter().map(|column| column.name.as_str()).collect();
    let (scores, answer) = match scored {
        Some((scores, answer)) => (Some(scores), answer),
        None => (None, model.answers(delta)?.at(information.features().inducing().range(0, 1))?),
    };
    let mut fields: Vec<(&str, Value)> = vec![
        ("target", json!(model.about.target)),
        ("rows", json!(information.len())),
        ("inducing", json!(information.features().len())),
        ("noise", json!(model.noise_level())),
    ];
    // People were told in words.
    if console.format(Format::Table) != Format::Table {
        fields.push(("kernel", kernels::fields(information.features().kernel(), &names)));
    }
    if let Some(scores) = &scores {
        fields.extend([
            ("held_out", json!(scores.rows)),
            ("rmse", json!(scores.rmse)),
            ("spread", json!(scores.spread)),
            ("nlpd", json!(scores.nlpd)),
            ("nominal", json!(scores.nominal)),
            ("coverage", json!(scores.coverage)),
        ]);
    }
    fields.push(("label", json!(answer.label())));
    fields.push(("response_label", json!(answer.response_certificate.label())));
    if console.format(Format::Table) == Format::Json {
        fields.push(("certificate", json!(answer.certificate)));
        fields.push(("response_certificate", json!(answer.response_certificate)));
    }
    console.record(&fields, Format::Table)?;
    console.say(model::words(&answer));
    Ok(answer.certificate.contradiction)
}

fn save(mut model: Model, arguments: &Arguments, target: Option<&Path>, console: &Console) -> Outcome<()> {
    let Some(path) = target else { return Ok(()) };
    if model.posterior.information().distinct() > MOST_KEPT && !arguments.keep_rows {
        // Only a claim can tell the difference.
        let ahead = if model.about.norm_bound.is_some() { AHEAD } else { 0 };
        model.posterior = model.posterior.without_rows(ahead)?;
    }
    let size = model_file::save(&model, path)?;
    console.say(format_args!("saved {} ({})", path.display(), Bytes(size)));
    Ok(())
}
