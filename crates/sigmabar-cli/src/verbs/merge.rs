//! `sigmabar merge SUMS -o model.sbm`: sums of all chunks make the model, in whatever order they come.

use super::accumulate::{hex, unhex};
use super::{fit, plan};
use crate::Outcome;
use crate::console::Console;
use crate::data::Table;
use crate::failure::{Ending, Failure};
use crate::kernels;
use crate::model::Model;
use crate::model_file;
use crate::output;
use crate::quantity::{Bytes, grouped};
use crate::streamed::Job;
use crate::which_study::quoted;
use sigmabar::accumulator::{Accumulator, Plan};
use sigmabar::sealed::{self, Kind, SavedError};
use sigmabar::{Noise, Posterior};
use std::path::{Path, PathBuf};

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Sums from sigmabar accumulate: files, or patterns such as '*.sba'
    #[arg(required = true)]
    sums: Vec<PathBuf>,
    /// Where to save the model; a name that ends in .sba saves the sums merged so far
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    /// Bound on the norm of the function minus its prior mean: declared before the data, it makes intervals theorems
    #[arg(long, value_name = "C", requires = "noise")]
    norm_bound: Option<f64>,
    /// Noise of a measurement: a level (sub-Gaussian), gaussian:SD, bounded:A or light-tailed:XI0:H0
    #[arg(long, value_parser = kernels::noise)]
    noise: Option<Noise>,
    /// Miss probability of the intervals that are shown
    #[arg(long, default_value_t = 0.05)]
    delta: f64,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Outcome {
    let files = patterns(&arguments.sums)?;
    let (planned, mut job, sums) = read_sums(&files)?;
    if sums.missing_rows() > 0 {
        console.warn(format_args!("{} rows with a missing value were dropped", grouped(sums.missing_rows() as usize)));
    }
    if arguments.out.extension().is_some_and(|end| end == "sba") {
        let plan = planned.to_bytes_with(&serde_json::to_string(&job).map_err(std::io::Error::from)?);
        let bytes = sums.to_bytes_with(&hex(&plan));
        output::replace(&arguments.out, |out| out.write_all(&bytes))?;
        console.say(format_args!(
            "{} of {} chunks; saved {} ({})",
            sums.chunks() - sums.uncovered().len() as u64,
            sums.chunks(),
            arguments.out.display(),
            Bytes(bytes.len() as u64)
        ));
        return Ok(Ending::Done);
    }
    if let Some(bound) = arguments.norm_bound {
        (job.about.norm_bound, job.about.noise) = (Some(bound), arguments.noise.clone());
    }
    let posterior = Posterior::from_sums(&planned, &sums).map_err(|problem| job.named(problem))?;
    let model = Model { about: job.about, posterior };
    fit::report(&model, None, arguments.delta, console)?;
    let size = model_file::save(&model, &arguments.out)?;
    console.say(format_args!("saved {} ({})", arguments.out.display(), Bytes(size)));
    console.next(format_args!("sigmabar predict {} NEW.parquet", quoted(&arguments.out)));
    Ok(Ending::Done)
}

fn patterns(inputs: &[PathBuf]) -> Outcome<Vec<PathBuf>> {
    Ok(Table::open(inputs)?.parts.into_iter().map(|part| part.file).collect())
}

/// Reads sums and merges them, with the plan that they carry.
pub(super) fn read_sums(files: &[PathBuf]) -> Outcome<(Plan, Job, Accumulator)> {
    let mut merged: Option<(Plan, Job, Accumulator)> = None;
    for path in files {
        let bytes = std::fs::read(path).map_err(Failure::file(path, "read"))?;
        let failed = |problem| Failure::Model { path: path.clone(), problem };
        match &mut merged {
            None => {
                let (planned, job) = carried(path, &bytes)?;
                let sums = Accumulator::from_bytes(&planned, &bytes).map_err(failed)?;
                merged = Some((planned, job, sums));
            }
            Some((planned, job, sums)) => {
                let more = Accumulator::from_bytes(planned, &bytes).map_err(failed)?;
                sums.merge(more).map_err(|problem| match job.named(problem) {
                    Failure::Refused { what, remedy } => Failure::refused(format!("{}: {what}", path.display()), remedy),
                    Failure::Core(problem) => failed(problem),
                    other => other,
                })?;
            }
        }
    }
    merged.ok_or_else(|| Failure::usage("there are no sums", "name files from sigmabar accumulate"))
}

/// The plan in the remark of a file of sums.
fn carried(path: &Path, bytes: &[u8]) -> Outcome<(Plan, Job)> {
    let failed = |problem: SavedError| Failure::Model { path: path.to_owned(), problem: problem.into() };
    let remark = sealed::open(Kind::Sums, bytes).map_err(failed)?.remark;
    let plan = unhex(remark).filter(|plan| !plan.is_empty()).ok_or(failed(SavedError::Content { what: "the sums carry no plan" }))?;
    plan::opened(path, &plan)
}
