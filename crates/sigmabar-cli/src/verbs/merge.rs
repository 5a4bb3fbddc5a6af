//! `sigmabar merge SUMS -o model.sbm`: sums of all chunks make the model, in whatever order they come.

use super::accumulate::{hex, suggest_merging, unhex};
use super::{fitted, plan};
use crate::Outcome;
use crate::console::Console;
use crate::data::{DataError, Table};
use crate::failure::{Ending, Failure};
use crate::kernels;
use crate::model::{About, Model};
use crate::model_file;
use crate::output::{self, Over};
use crate::streamed::Job;
use sigmabar::accumulator::{Accumulator, Plan};
use sigmabar::sealed::{self, Kind, SavedError};
use sigmabar::{Noise, Origin, Posterior};
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
    /// Replace the file
    #[arg(long)]
    force: bool,
    /// Bound on the norm of the function minus its prior mean, as the target is measured: declared before the data, it makes intervals theorems
    #[arg(long, value_name = "C", requires = "noise")]
    norm_bound: Option<f64>,
    /// Noise of a measurement, as the target is measured: a level (sub-Gaussian), gaussian:SD, bounded:A or light-tailed:XI0:H0; alone it goes with the norm bound of the plan
    #[arg(long, value_parser = kernels::noise)]
    noise: Option<Noise>,
    /// Miss probability of the intervals that are shown
    #[arg(long, default_value_t = 0.05)]
    delta: f64,
}

pub(crate) fn run(arguments: &Arguments, console: &Console) -> Outcome {
    let files = patterns(&arguments.sums)?;
    output::check_target(&arguments.out, &files.iter().map(PathBuf::as_path).collect::<Vec<_>>(), arguments.force)?;
    let is_model = arguments.out.extension().is_none_or(|end| end != "sba");
    if !is_model && arguments.noise.is_some() {
        return Err(Failure::usage(
            "sums have no premises beside those of their plan",
            "give --norm-bound and --noise when you merge into a model",
        ));
    }
    let (planned, mut job, sums) = read_sums(&files)?;
    console.warn_dropped(sums.missing_rows() as usize);
    if let [_, _, ..] = sums.instructions()[..] {
        console.warn(format_args!(
            "the parts were summed with different vector instructions ({}): the model is that of one machine to rounding, not to the bit",
            sums.instructions().join("; ")
        ));
    }
    if !is_model {
        let plan = planned.to_bytes_with(&serde_json::to_string(&job).map_err(std::io::Error::from)?);
        let bytes = sums.to_bytes_with(&hex(&plan));
        console.say(format_args!("{} of {} chunks", sums.chunks() - sums.uncovered().len() as u64, sums.chunks()));
        model_file::keep(&bytes, &arguments.out, Over::by(arguments.force), console)?;
        suggest_merging(&sums, &arguments.out, console);
        return Ok(Ending::Done);
    }
    if arguments.noise.is_some() {
        let bound = arguments.norm_bound.or(job.about.norm_bound).ok_or_else(|| {
            Failure::usage("--noise alone makes no claim, and the plan has no norm bound", "give --norm-bound too, or neither")
        })?;
        (job.about.norm_bound, job.about.noise) = (Some(bound), arguments.noise.clone());
    }
    let posterior = Posterior::from_sums(&planned, &sums).map_err(|problem| job.named(problem))?;
    // Somebody who declared a unit speaks in it; one that was learnt nobody knows.
    let prior = posterior.prior();
    if arguments.noise.is_some() && prior.origin() != Origin::Declared {
        job.about.norm_bound = job.about.norm_bound.map(|bound| bound / prior.unit());
        job.about.noise = job.about.noise.map(|noise| noise.in_unit(prior.unit())).transpose()?;
    }
    let new = new_rows(&job.files());
    let model = Model { about: job.about, posterior };
    let contradiction = fitted::report(&model, None, arguments.delta, console)?;
    model_file::save(&model, &arguments.out, Over::by(arguments.force), console)?;
    Ok(fitted::ending(contradiction.as_ref(), "plan", &model.about, Some(&arguments.out), &new, console))
}

/// A name for a table of new rows, which come as the old ones did.
pub(super) fn new_rows(files: &[PathBuf]) -> String {
    let unpacked =
        files.first().map(|file| if file.extension().is_some_and(|end| end == "gz") { file.with_extension("") } else { file.clone() });
    let end = unpacked.as_ref().and_then(|file| file.extension()?.to_str());
    format!("NEW.{}", end.unwrap_or("csv"))
}

fn patterns(inputs: &[PathBuf]) -> Outcome<Vec<PathBuf>> {
    Table::files(inputs).map_err(|problem| match problem {
        DataError::NoFiles { input } => no_sums(&input.display().to_string()),
        other => other.into(),
    })
}

fn no_sums(named: &str) -> Failure {
    Failure::usage(format!("{named}: there are no sums to merge"), "name files that sigmabar accumulate wrote")
}

/// Reads sums and merges them, with the plan that they carry.
pub(super) fn read_sums(files: &[PathBuf]) -> Outcome<(Plan, Job, Accumulator)> {
    let mut merged: Option<(Plan, Job, Accumulator)> = None;
    for path in files {
        let bytes = model_file::read_sealed(path)?;
        let failed = |problem| Failure::Model { path: path.clone(), problem };
        match &mut merged {
            None => {
                let (planned, job) = plan::opened(path, &carried(path, &bytes)?.0)?;
                let sums = Accumulator::from_bytes(&planned, &bytes).map_err(failed)?;
                merged = Some((planned, job, sums));
            }
            Some((planned, job, sums)) => {
                if let Some(what) = differs(&job.about, &carried(path, &bytes)?.1.about) {
                    let what = format!("{}: these sums were planned with another {what} than {}", path.display(), files[0].display());
                    return Err(Failure::refused(what, "merge sums of one plan"));
                }
                let more = Accumulator::from_bytes(planned, &bytes).map_err(failed)?;
                sums.merge(more).map_err(|problem| match job.named(problem) {
                    Failure::Refused { what, remedy } => Failure::refused(format!("{}: {what}", path.display()), remedy),
                    Failure::Core(problem) => failed(problem),
                    other => other,
                })?;
            }
        }
    }
    merged.ok_or_else(|| no_sums("merge"))
}

/// What two models would differ in that have the same sums: the first file must not decide that for the others.
fn differs(ours: &About, theirs: &About) -> Option<&'static str> {
    let columns = |about: &About| (about.target.clone(), about.features.clone());
    let same = [
        ("norm bound", ours.norm_bound == theirs.norm_bound),
        ("noise", ours.noise == theirs.noise),
        ("target, columns or categories", columns(ours) == columns(theirs)),
        ("name of the data", ours == theirs),
    ];
    same.into_iter().find(|(_, same)| !same).map(|(what, _)| what)
}

/// The plan in the remark of a file of sums, and what it remarks itself: read without its features, which are dear.
fn carried(path: &Path, bytes: &[u8]) -> Outcome<(Vec<u8>, Job)> {
    let failed = |problem: SavedError| Failure::Model { path: path.to_owned(), problem: problem.into() };
    let remark = sealed::open(Kind::Sums, bytes).map_err(failed)?.remark;
    let plan = unhex(remark).filter(|plan| !plan.is_empty()).ok_or(failed(SavedError::Content { what: "the sums carry no plan" }))?;
    let job = plan::remarked(path, sealed::open(Kind::Plan, &plan).map_err(failed)?.remark)?;
    Ok((plan, job))
}
