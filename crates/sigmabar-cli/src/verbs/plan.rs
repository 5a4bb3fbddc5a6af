//! `sigmabar plan DATA --target y`: what is to be summed, and what that will cost.

use super::fit_arguments::{self, LearnOn};
use super::{fit, planning};
use crate::Outcome;
use crate::args::{Format, Global};
use crate::console::{Console, Passes};
use crate::data::Table;
use crate::failure::{Ending, Failure};
use crate::model::plan::Beside;
use crate::model_file;
use crate::quantity::{Bytes, grouped, short};
use crate::streamed::Job;
use crate::verbs::merge::read_sums;
use crate::which_study::quoted;
use clap::Arg;
use serde_json::{Value, json};
use sigmabar::Noise;
use sigmabar::accumulator::{Plan, Road};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Rows that the clock is set by.
const TIMED: usize = 4096;
/// A leaf should be at least this much work, so that starting it costs nothing beside: seconds at some 60 thousand million operations each.
const LEAF_WORK: f64 = 3e11;
/// With few inducing points reading is the work, and with very many a block of rows is enough.
const SMALLEST_LEAF: f64 = 1024.0;
const LARGEST_LEAF: f64 = 1e7;
/// Rows that the clock of reading is set by.
const READ: usize = 65_536;

/// Options: those of fit.
#[derive(Debug, clap::Args)]
#[group(id = "plan")]
#[command(mut_args(of_plans))]
pub struct Arguments {
    #[command(flatten)]
    fit: fit::Arguments,
    /// Instead of learning: the plan of these sums (.sba) with the rows that it explained worst as further inducing points, at most --inducing in all
    #[arg(long, value_name = "SUMS", num_args = 1.., conflicts_with_all = SAID_BEFORE)]
    extend: Vec<PathBuf>,
}

/// Options of fit that plan takes; those that it refuses are not shown.
fn of_plans(argument: Arg) -> Arg {
    match argument.get_id().as_str() {
        "holdout" | "calibrate" | "by" | "keep_rows" | "stream" | "no_save" => argument.hide(true),
        "data" => argument.help("Parquet, CSV with a header (also .gz), Excel (.xlsx, first sheet) or .npy (columns c0, c1, …): files, patterns such as 'part-*.parquet', folders"),
        "out" => argument.help("Where to save the plan; DATA.sbp unless named, or DATA-2.sbp where that is there"),
        "delta" => argument.help("Miss probability of the claim, for the number of rows beyond which more of them buy nothing"),
        "memory" => argument.help("Memory to stay within while planning, such as 4G; what a worker will take is in the table"),
        _ => argument,
    }
}

/// What the plan that is extended has said already.
const SAID_BEFORE: [&str; 23] = [
    "features",
    "ignore",
    "categorical",
    "kernel",
    "lengthscale",
    "variance",
    "tau",
    "memory",
    "holdout",
    "calibrate",
    "by",
    "norm_bound",
    "noise",
    "prior_mean",
    "unit",
    "collected",
    "distinct_rows",
    "no_save",
    "drop_missing",
    "keep_rows",
    "stream",
    "learn_apart",
    "learn_on",
];

pub(crate) fn run(arguments: &Arguments, global: &Global, console: &Console) -> Outcome {
    let seed = global.seed.unwrap_or(0);
    let target = fit_arguments::target(&arguments.fit, "sbp", &arguments.extend)?;
    let table = Table::open(&arguments.fit.data)?;
    let (plan, job) = if arguments.extend.is_empty() {
        fit_arguments::check(&arguments.fit)?;
        if let Some(option) = arguments.fit.for_rows_at_hand() {
            return Err(Failure::usage(
                format!("{option} is for sigmabar fit, which has the rows at hand: sums know no single row"),
                format!("leave {option} out, or use sigmabar fit"),
            ));
        }
        // Whoever merges has no rows to score or calibrate on.
        let mut apart = arguments.fit.clone();
        apart.calibrate = Some(0.0);
        let passes = Passes::new(console, (apart.learn_on == LearnOn::Sample).then_some(1));
        let (plan, job, _) = planning::make_plan(&apart, &table, seed, 0.0, console, &passes)?;
        (plan, job)
    } else {
        extended(arguments, &table, console)?
    };
    let bytes = plan.to_bytes_with(&serde_json::to_string(&job).map_err(std::io::Error::from)?);
    console.record(&costs(&plan, &job, bytes.len(), arguments.fit.delta())?, Format::Table)?;
    let target = model_file::keep(&bytes, &target, arguments.fit.over(), console)?;
    let part = if plan.chunks().len() > 1 { " --part 1/2" } else { "" };
    console.next(format_args!("sigmabar accumulate --plan {}{part} -o 1.sba", quoted(&target)));
    Ok(Ending::Done)
}

/// The plan of sums with more inducing points, for the same data and target.
fn extended(arguments: &Arguments, table: &Table, console: &Console) -> Outcome<(Plan, Job)> {
    let (plan, mut job, sums) = read_sums(&arguments.extend)?;
    if arguments.fit.target != job.about.target {
        let what = format!("--target is {}, and these sums were planned to predict {}", arguments.fit.target, job.about.target);
        return Err(Failure::usage(what, "name the target of the plan, or make a new plan without --extend"));
    }
    let full = |files: Vec<PathBuf>| files.into_iter().map(|file| file.canonicalize().unwrap_or(file)).collect::<BTreeSet<_>>();
    let (given, planned) = (full(table.parts.iter().map(|part| part.file.clone()).collect()), full(job.files()));
    if let Some(other) = given.symmetric_difference(&planned).next() {
        let whose = if planned.contains(other) { "is a file of the plan and is not named" } else { "is no file of the plan" };
        return Err(Failure::usage(
            format!("{} {whose}", other.display()),
            "name the data of the plan, or make a new plan without --extend",
        ));
    }
    let extended = plan.extended(&sums, arguments.fit.inducing.unwrap_or(usize::MAX))?;
    console.say(format_args!("{} inducing points more, of {} rows that were explained worst", extended.added, sums.worst().len()));
    job.mean_residual = extended.mean_residual;
    // The sums that it is made from were a pass too.
    job.passes += 1;
    Ok((extended.plan, job))
}

/// The table: passes, memory, size of a leaf, core-hours, and the number of rows beyond which more of them buy nothing.
fn costs(plan: &Plan, job: &Job, size: usize, delta: f64) -> Outcome<Vec<(&'static str, Value)>> {
    let (m, p, rows) = (plan.features().len(), plan.ahead_len(), job.rows);
    let (all, chunks) = (plan.chunks().iter().flatten().sum::<u64>(), plan.chunks().len());
    let per_row = seconds_a_row(plan)? + job.seconds_to_read(READ)?;
    let columns = job.about.features.len();
    let beside = Beside { reading: job.table.seen_from(&job.folder).reading(columns + 1), chunks, ahead: p };
    let blocks = 3 * 8 * 1024 * (m + p) as u64;
    // One run of aligned neighbours, or as many as an odd part falls into; with the plan as text of two letters a byte.
    let runs = 2 * u64::from(chunks.next_power_of_two().ilog2()).max(1);
    let sums = |runs: u64| runs * plan.run_bytes() + 2 * size as u64;
    let road = match plan.road_taken() {
        Road::Orthogonal => "orthogonal factors",
        _ => "Gram matrices",
    };
    let worth = (LEAF_WORK / (m * m) as f64).clamp(SMALLEST_LEAF, LARGEST_LEAF) as u64;
    let should =
        if worth < all { format!("{} or more", grouped(worth as usize)) } else { format!("all {}: one is enough", grouped(all as usize)) };
    Ok(vec![
        ("rows", json!(rows)),
        ("rows left out", json!(all - rows)),
        ("chunks", json!(chunks)),
        ("inducing", json!(m)),
        ("road", json!(road)),
        ("passes", json!(format!("{} to plan, 1 to sum", job.passes))),
        ("memory of a worker", json!(Bytes(Beside::PROGRAM + beside.bytes(m) + blocks + 2 * sums(runs)).to_string())),
        ("size of its sums", json!(format!("{} to {}", Bytes(sums(1)), Bytes(sums(runs))))),
        ("rows a chunk should have", json!(should)),
        ("core-hours", json!(short(per_row * all as f64 / 3600.0))),
        (
            "more rows buy nothing beyond",
            json!(match enough(plan, job, delta) {
                None => "unknown: declare --norm-bound and --noise".to_owned(),
                Some(n) if n < 1.0 => "the first: the inducing points miss more than the noise hides; take more of them".to_owned(),
                Some(n) => grouped(n as usize),
            }),
        ),
    ])
}

/// Seconds of one core for one row, from leaves of inducing points: the fastest of three, as other programs only make it slower.
fn seconds_a_row(plan: &Plan) -> Outcome<f64> {
    let x: Vec<f64> = plan.inducing().rows().cycle().take(TIMED).flatten().copied().collect();
    let single = sigmabar::linalg::chosen_threads();
    sigmabar::linalg::set_threads(std::num::NonZeroUsize::new(1));
    let mut seconds = f64::INFINITY;
    for _ in 0..3 {
        let begun = Instant::now();
        plan.leaf(0)?.add(&x, &[0.0; TIMED])?;
        seconds = seconds.min(begun.elapsed().as_secs_f64());
    }
    sigmabar::linalg::set_threads(single);
    Ok(seconds / TIMED as f64)
}

/// $n^* = 2\ln(2/\delta)R^2/(C^2\bar s_1^2)$: there the noise is down to what the inducing points cannot express.
fn enough(plan: &Plan, job: &Job, delta: f64) -> Option<f64> {
    let (Some(bound), Some(noise)) = (job.about.norm_bound, &job.about.noise) else { return None };
    let mean = job.mean_residual.max(plan.features().residual_rounding(1.0));
    Some((2.0 * (2.0 / delta).ln() * Noise::std_dev_bound(noise).powi(2) / (bound * bound * mean)).min(1e18))
}

/// A plan from its bytes; `path` is for messages.
pub(super) fn opened(path: &Path, bytes: &[u8]) -> Outcome<(Plan, Job)> {
    let failed = |problem| Failure::Model { path: path.to_owned(), problem };
    let (plan, remark) = Plan::from_bytes_with(bytes).map_err(failed)?;
    Ok((plan, remarked(path, remark)?))
}

/// What a plan remarks; `path` is for messages.
pub(super) fn remarked(path: &Path, remark: &str) -> Outcome<Job> {
    let torn = sigmabar::sealed::SavedError::Content { what: "what the plan is about cannot be read" };
    serde_json::from_str(remark).map_err(|_| Failure::Model { path: path.to_owned(), problem: torn.into() })
}

#[cfg(test)]
mod tests {
    use crate::verbs::Cli;
    use clap::CommandFactory as _;

    /// Data, target, size and where to: everything else that can be said was said when the plan was made.
    #[test]
    fn every_option_is_honoured_or_refused_with_extend() {
        let command = Cli::command();
        let plan = command.find_subcommand("plan").unwrap();
        let extend = plan.get_arguments().find(|argument| argument.get_id() == "extend").unwrap();
        let refused: Vec<&str> = plan.get_arg_conflicts_with(extend).iter().map(|argument| argument.get_id().as_str()).collect();
        for argument in plan.get_arguments().map(|argument| argument.get_id().as_str()) {
            let is_honoured = ["data", "target", "inducing", "delta", "out", "force", "extend"].contains(&argument);
            assert!(is_honoured != refused.contains(&argument), "{argument}");
        }
    }
}
