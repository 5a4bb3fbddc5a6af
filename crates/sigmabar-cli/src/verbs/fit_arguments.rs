//! What may be said to `sigmabar fit`, and to the plan of a distributed fit: options, and what follows from them before the work.

use crate::Outcome;
use crate::args;
use crate::data::{Categories, ColumnInfo, Options, Reader, Selection, Table, Wanted, beside_settings};
use crate::failure::Failure;
use crate::kernels::{self, Family};
use crate::memory;
use crate::model::About;
use crate::model::learn::Declared;
use crate::model::plan::{self as sizes, Beside, Plan};
use crate::output::{self, Over};
use crate::quantity::{Bytes, grouped};
use crate::which_study::{quoted, stem};
use sigmabar::certificate::Way;
use sigmabar::{Collected, Noise, Prior};
use std::path::{Path, PathBuf};

/// More rows than this hardly make calibrated intervals better.
pub(super) const MOST_CALIBRATING: usize = 10_000;

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
    pub(super) features: Vec<String>,
    /// Columns to leave out
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(super) ignore: Vec<String>,
    /// Columns that hold names of categories instead of numbers
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(super) categorical: Vec<String>,
    /// se (or rbf, squared-exponential), matern-NU or rq-ALPHA; the best of matern-1.5, matern-2.5 and se unless named
    #[arg(long)]
    pub(super) kernel: Option<Family>,
    /// Length-scale, or one for each column: with it the kernel is declared instead of learnt
    #[arg(long, value_name = "LENGTHS", value_delimiter = ',')]
    pub(super) lengthscale: Option<Vec<f64>>,
    /// Variance of the declared kernel
    #[arg(long, default_value_t = 1.0, requires = "lengthscale")]
    pub(super) variance: f64,
    /// Ridge: a standard deviation; the noise level unless given
    #[arg(long)]
    pub(super) tau: Option<f64>,
    /// At most this many inducing points
    #[arg(long, value_name = "M")]
    pub(super) inducing: Option<usize>,
    /// Memory to stay within, such as 4G
    #[arg(long, value_name = "SIZE")]
    pub(super) memory: Option<Bytes>,
    /// Share of the rows to hold out for scoring; a tenth unless given, 0 for none
    #[arg(long, value_name = "SHARE")]
    pub(super) holdout: Option<f64>,
    /// Share of the rows that the model must not learn from, to calibrate intervals for new responses; a tenth or about 100 unless given, and of fewer than 80 rows all, in five parts
    /// with a model each; with 0 intervals are the model's own, of few rows far too narrow
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
    pub(super) prior_mean: Option<f64>,
    /// Unit in which norm bound, noise, tau and variance are given (1 with --norm-bound, learnt otherwise)
    #[arg(long)]
    pub(super) unit: Option<f64>,
    /// How the points were chosen; without "fixed" intervals are the wider ones that hold anyway
    #[arg(long, value_name = "HOW", default_value = Collected::Undeclared.name(), value_parser = args::collected())]
    pub(super) collected: Collected,
    /// Rows that are equal in every number are measurements of their own, as a coarse instrument makes them: without it they count as one written down twice, and nothing is certified
    #[arg(long)]
    pub(super) distinct_rows: bool,
    /// Miss probability of the intervals that are scored
    #[arg(long, default_value_t = 0.05)]
    pub(super) delta: f64,
    /// Where to save the model; DATA.sbm unless named, or DATA-2.sbm where that is there
    #[arg(long, short, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// Replace the file
    #[arg(long, requires = "out")]
    pub(super) force: bool,
    /// Save no model
    #[arg(long, conflicts_with = "out")]
    pub(super) no_save: bool,
    /// Pass over rows with a missing value, and say how many
    #[arg(long)]
    pub(super) drop_missing: bool,
    /// Keep the measured rows in the model file, whatever their number; beyond 5000 a model predicts and claims from sums over them
    #[arg(long)]
    pub(super) keep_rows: bool,
    /// Read the rows again for every pass instead of holding them in memory, as is done where they do not fit
    #[arg(long, conflicts_with = "keep_rows")]
    pub(super) stream: bool,
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

impl Arguments {
    /// The miss probability.
    pub(super) fn delta(&self) -> f64 {
        self.delta
    }

    /// The share of rows to score on.
    pub(super) fn held_out(&self) -> f64 {
        self.holdout.unwrap_or(0.1)
    }

    /// What the model may replace.
    pub(super) fn over(&self) -> Over {
        if self.out.is_some() { Over::by(self.force) } else { Over::NextFree }
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

/// Where the model goes, found out before the work: a name that was given, else the first that is free, then and now, after that of the data.
pub(super) fn target(arguments: &Arguments, kind: &str, read: &[PathBuf]) -> Outcome<PathBuf> {
    let data = arguments.data[0].as_path();
    let inputs: Vec<&Path> = arguments.data.iter().chain(read).map(PathBuf::as_path).collect();
    let Some(path) = &arguments.out else {
        let is_plain = data.as_os_str() != "-" && !data.to_string_lossy().contains(['*', '?', '[']);
        let stem = if is_plain { stem(data) } else { "model".to_owned() };
        let stem = stem.strip_suffix(".csv").unwrap_or(&stem);
        let path = PathBuf::from(format!("{stem}.{kind}"));
        let free = output::names(&path).find(|path| !path.exists()).unwrap_or_default();
        output::check_writable(&free, &inputs, Over::Nothing)?;
        return Ok(path);
    };
    output::check_target(path, &inputs, arguments.force)?;
    Ok(path.clone())
}

/// Rows that calibrate: as many as were said; else as many as calibrate so many rows, and none where premises are there.
pub(super) fn calibration_rows(arguments: &Arguments, rows: usize) -> usize {
    match (arguments.calibrate, way(arguments, rows)) {
        (Some(share), _) => (share * rows as f64).round() as usize,
        (None, Way::Kept(kept)) => kept,
        (None, _) => 0,
    }
}

/// Whether so few rows calibrate in parts, each by a model without it; of more, some are kept from the model.
pub(super) fn calibrates_in_parts(arguments: &Arguments, rows: usize) -> bool {
    arguments.calibrate.is_none() && way(arguments, rows) == Way::Parts
}

fn way(arguments: &Arguments, rows: usize) -> Way {
    if arguments.norm_bound.is_some() { Way::Nothing } else { Way::of(rows, arguments.delta, MOST_CALIBRATING) }
}

/// The column of categories that groups the rows.
pub(super) fn grouping(columns: &[ColumnInfo], name: &str) -> Outcome<usize> {
    let place = columns.iter().position(|column| column.name == name && column.categories.is_some());
    place.ok_or_else(|| {
        Failure::usage(format!("--by {name}: there is no such column of categories"), "name one that --categorical declares")
    })
}

impl Arguments {
    /// How many inducing points were asked for: by their number, or by a claim, which more of them make narrower.
    pub(super) fn wanted_inducing(&self, rows: usize) -> Option<usize> {
        self.inducing.or_else(|| self.norm_bound.map(|_| sizes::most_claimed(rows)))
    }
}

/// What will be taken, within the memory stated, else within what is left.
pub(super) fn planned(arguments: &Arguments, rows: usize, held_out: usize, columns: usize, learns: bool, beside: Beside) -> Outcome<Plan> {
    let within = |limit| Plan::beside(beside, rows, held_out, columns, learns, arguments.wanted_inducing(rows), limit);
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
        // A trial's number predicts nothing.
        let beside = beside_settings(reader);
        let kept = |name: &&String| **name != target && !arguments.ignore.contains(name) && !beside.contains(name);
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

pub(super) fn about(arguments: &Arguments, features: Vec<ColumnInfo>) -> About {
    About {
        target: arguments.target.clone(),
        features,
        norm_bound: arguments.norm_bound,
        noise: arguments.noise.clone(),
        calibration: None,
        parts: Vec::new(),
        scores: None,
        held_out: Vec::new(),
        data: arguments.data.iter().map(|path| quoted(path)).collect::<Vec<_>>().join(" "),
    }
}
