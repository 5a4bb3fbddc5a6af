//! `sigmabar plan DATA --target y`: what is to be summed, and what that will cost.

use super::{fit, planning};
use crate::Outcome;
use crate::args::{Format, Global};
use crate::console::Console;
use crate::data::Table;
use crate::failure::{Ending, Failure};
use crate::output;
use crate::quantity::{Bytes, grouped};
use crate::streamed::Job;
use crate::verbs::merge::read_sums;
use crate::which_study::quoted;
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

/// Options: those of fit.
#[derive(Debug, clap::Args)]
#[group(id = "plan")]
pub struct Arguments {
    #[command(flatten)]
    fit: fit::Arguments,
    /// Instead of learning: the plan of these sums (.sba) with the rows that it explained worst as further inducing points, at most --inducing in all
    #[arg(long, value_name = "SUMS", num_args = 1.., conflicts_with_all = SAID_BEFORE)]
    extend: Vec<PathBuf>,
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
    let target = fit::target(&arguments.fit, "sbp", &arguments.extend)?;
    let table = Table::open(&arguments.fit.data)?;
    let (plan, job) = if arguments.extend.is_empty() {
        fit::check(&arguments.fit)?;
        if let Some(option) = arguments.fit.for_rows_at_hand() {
            return Err(Failure::usage(
                format!("{option} is for sigmabar fit, which has the rows at hand: sums know no single row"),
                format!("leave {option} out, or use sigmabar fit"),
            ));
        }
        // Whoever merges has no rows to score or calibrate on.
        let mut apart = arguments.fit.clone();
        apart.calibrate = Some(0.0);
        let (plan, job, _) = planning::make_plan(&apart, &table, seed, 0.0, console)?;
        (plan, job)
    } else {
        extended(arguments, &table, console)?
    };
    let bytes = plan.to_bytes_with(&serde_json::to_string(&job).map_err(std::io::Error::from)?);
    output::replace(&target, |out| out.write_all(&bytes))?;
    console.record(&costs(&plan, &job, arguments.fit.delta())?, Format::Table)?;
    console.say(format_args!("saved {} ({})", target.display(), Bytes(bytes.len() as u64)));
    console.next(format_args!("sigmabar accumulate --plan {} --part 1/2 -o 1.sba", quoted(&target)));
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
    Ok((extended.plan, job))
}

/// The table: passes, memory, size of a leaf, core-hours, and the number of rows beyond which more of them buy nothing.
fn costs(plan: &Plan, job: &Job, delta: f64) -> Outcome<Vec<(&'static str, Value)>> {
    let (m, p, rows) = (plan.features().len(), plan.ahead_len(), plan.chunks().iter().flatten().sum::<u64>());
    let per_row = seconds_a_row(plan)?;
    let (square, beside) = (8 * (m * m) as u64, 8 * (p * (m + p)) as u64);
    let depth = (plan.chunks().len() as f64).log2().ceil() as u64 + 4;
    let road = match plan.road_taken() {
        Road::Orthogonal => "orthogonal factors",
        _ => "Gram matrices",
    };
    Ok(vec![
        ("rows", json!(rows)),
        ("chunks", json!(plan.chunks().len())),
        ("inducing", json!(m)),
        ("road", json!(road)),
        ("passes", json!("one to plan, one to sum")),
        ("memory of a worker", json!(Bytes(depth * (square + beside) + 3 * 8 * 1024 * (m + p) as u64 + (64 << 20)).to_string())),
        ("size of its sums", json!(Bytes(square / 2 + beside).to_string())),
        ("rows a chunk should have", json!(format!("{} or more", grouped((LEAF_WORK / (m * m) as f64) as usize)))),
        ("core-hours", json!(format!("{:.3}", per_row * rows as f64 / 3600.0))),
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

/// Seconds of one core for one row, from a leaf of inducing points.
fn seconds_a_row(plan: &Plan) -> Outcome<f64> {
    let x: Vec<f64> = plan.inducing().rows().cycle().take(TIMED).flatten().copied().collect();
    let single = sigmabar::linalg::chosen_threads();
    sigmabar::linalg::set_threads(std::num::NonZeroUsize::new(1));
    let begun = Instant::now();
    plan.leaf(0)?.add(&x, &[0.0; TIMED])?;
    let seconds = begun.elapsed().as_secs_f64();
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
