//! Plan files for others than the command: sums of their chunks, wherever these are computed.

use crate::console::{Console, Passes};
use crate::streamed::Job;
use crate::verbs::hex;
use sigmabar::Error;
use sigmabar::accumulator::{Accumulator, Plan};
use sigmabar::evidence::{Slope, SlopeSums};
use sigmabar::sealed::SavedError;

fn job(remark: &str) -> Result<Job, Error> {
    let torn = SavedError::Content { what: "the plan does not say where its rows are: it was not made by sigmabar plan" };
    serde_json::from_str(remark).map_err(|_| torn.into())
}

/// The sums of some chunks of a plan, whose remark says in which files they are.
///
/// # Errors
/// A plan without files; what reading and summing runs into, in words.
pub fn sum(plan: &Plan, remark: &str, chunks: &[u64]) -> Result<Accumulator, String> {
    let job = job(remark).map_err(|problem| problem.to_string())?;
    job.sums(plan, chunks, &Passes::new(&Console::silent(), Some(1))).map_err(|problem| problem.to_string())
}

/// The shares of some chunks of a plan in the gradient of the evidence.
///
/// # Errors
/// As [`sum`].
pub fn slopes(plan: &Plan, remark: &str, slope: &Slope, chunks: &[u64]) -> Result<SlopeSums, String> {
    let job = job(remark).map_err(|problem| problem.to_string())?;
    job.slopes(plan, slope, chunks, &Passes::new(&Console::silent(), Some(1))).map_err(|problem| problem.to_string())
}

/// The plan with more inducing points, as `sigmabar plan --extend` makes it, with its remark where it has one.
///
/// # Errors
/// Those of [`Plan::extended`]; a remark that is none of the command's.
pub fn extended(plan: &Plan, remark: &str, sums: &Accumulator, most: usize) -> Result<(Plan, String), Error> {
    let extended = plan.extended(sums, most)?;
    if remark.is_empty() {
        return Ok((extended.plan, String::new()));
    }
    let job = job(remark)?;
    // The sums that it is made from were a pass too.
    let job = Job { mean_residual: extended.mean_residual, passes: job.passes + 1, ..job };
    Ok((extended.plan, serde_json::to_string(&job).unwrap_or_default()))
}

/// The bytes of a file of sums, as `sigmabar merge` reads them.
#[must_use]
pub fn file_of(plan: &Plan, remark: &str, sums: &Accumulator) -> Vec<u8> {
    sums.to_bytes_with(&hex(&plan.to_bytes_with(remark)))
}

/// What the model of a plan is about, as its model file says.
///
/// # Errors
/// A plan without files.
pub fn about(remark: &str) -> Result<String, Error> {
    Ok(serde_json::to_string(&job(remark)?.about).unwrap_or_default())
}
