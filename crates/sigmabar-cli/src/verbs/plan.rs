//! `sigmabar plan DATA --target y`: what is to be summed, and what that will cost.

use super::fit;
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
use sigmabar::accumulator::{Plan, Road};
use sigmabar::{Noise, Origin, Points, Sourced};
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
    /// Instead of learning: the plan of these sums (.sba) with the rows that it explained worst as further inducing points
    #[arg(long, value_name = "SUMS", num_args = 1..)]
    extend: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, console: &Console) -> Outcome {
    let seed = global.seed.unwrap_or(0);
    let target = fit::target(&arguments.fit, "sbp", &arguments.extend)?;
    let table = Table::open(&arguments.fit.data)?;
    let (plan, job) = if arguments.extend.is_empty() {
        fit::check(&arguments.fit)?;
        // Whoever merges has no rows to score or calibrate on.
        let mut apart = arguments.fit.clone();
        apart.calibrate = Some(0.0);
        let (plan, job, _) = fit::make_plan(&apart, &table, seed, 0.0, console)?;
        (plan, job)
    } else {
        extended(&arguments.extend, console)?
    };
    let bytes = plan.to_bytes_with(&serde_json::to_string(&job).map_err(std::io::Error::from)?);
    output::replace(&target, |out| out.write_all(&bytes))?;
    console.record(&costs(&plan, &job, arguments.fit.delta())?, Format::Table)?;
    console.say(format_args!("saved {} ({})", target.display(), Bytes(bytes.len() as u64)));
    console.next(format_args!("sigmabar accumulate --plan {} --part 1/2 -o 1.sba", quoted(&target)));
    Ok(Ending::Done)
}

/// The same plan with more inducing points: the rows of largest residual, each as far as those before it left something there.
fn extended(files: &[PathBuf], console: &Console) -> Outcome<(Plan, Job)> {
    let (plan, mut job, sums) = read_sums(files)?;
    let mut features = sigmabar::FeatureMap::clone(plan.features());
    let before = features.len();
    let worst = sums.worst();
    let mut inducing = plan.inducing().to_points();
    for row in &worst {
        let left = features.residual(Points::new(row.point.clone(), inducing.dim())?.view())?[0];
        if left > 0.1 * row.residual && features.append(&row.point)? {
            inducing.push(&row.point)?;
        }
    }
    if features.len() == before {
        return Err(Failure::refused("the sums know no row that is not explained already", "this plan needs no further inducing points"));
    }
    console.say(format_args!("{} inducing points more, of {} rows that were explained worst", features.len() - before, worst.len()));
    let left = features.residual(Points::from_rows(&worst.iter().map(|row| &row.point).collect::<Vec<_>>())?.view())?;
    let gone: f64 = worst.iter().zip(left).map(|(row, left)| row.residual - left).sum();
    job.mean_residual = (sums.residual_trace() - gone).max(0.0) / sums.rows().max(1) as f64;
    // Residuals look at locations alone: no response chose a point, but some are rows of the claim, and no other data.
    let origin = match plan.features().sourced_given().origin {
        Origin::LearntElsewhere => Origin::Guaranteed,
        origin => origin,
    };
    let inducing = Sourced::new(inducing, origin);
    Ok((plan.with_inducing(inducing)?, job))
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
            json!(enough(plan, job, delta).map_or("unknown: declare --norm-bound and --noise".to_owned(), |n| grouped(n as usize))),
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
