//! From a table to a plan: a look at every row, a sample to learn on, inducing points, and what is to be summed.

use super::fit_arguments::{self, Arguments, LearnOn};
use super::import::UNVOUCHED;
use super::{fit, fitted};
use crate::Outcome;
use crate::console::{Console, Passes};
use crate::data::{ColumnInfo, Part, Table};
use crate::failure::Failure;
use crate::kernels;
use crate::model::learn::{Declared, Learnt};
use crate::model::plan::{self as sizes, Beside};
use crate::model::training::Rows;
use crate::quantity::{counted, grouped, short};
use crate::streamed::{self, Job, Shares, Survey};
use sigmabar::accumulator::Plan;
use sigmabar::evidence::{EvidenceGradient, Learning, Slope, climb_all_rows};
use sigmabar::points::Seen;
use sigmabar::{Kernel, Observations, Origin, Points, PointsRef, Posterior, Prior, Sourced};
use std::cell::{Cell, RefCell};

/// What a table says of its rows is asked for in the end: sums over chunks would forget which of them are marked.
fn refuse_marked(arguments: &Arguments, found: &Survey) -> Outcome<()> {
    if let Some(what) = found.objections.to(arguments.collected) {
        return Err(Failure::refused(what, UNVOUCHED));
    }
    if found.doubted == 0 {
        return Ok(());
    }
    let what = format!(
        "{} that sigmabar export marked: which of its results were measured again is not known chunk by chunk",
        counted(found.doubted, "row")
    );
    Err(Failure::usage(what, "fit the table in one piece, without --stream, --learn-on all and --learn-apart"))
}

/// Looks at all rows once, learns on a sample or on all, chooses inducing points, and says what is to be summed.
pub(super) fn make_plan(
    arguments: &Arguments,
    table: &Table,
    seed: u64,
    held_out: f64,
    console: &Console,
    passes: &Passes<'_>,
) -> Outcome<(Plan, Job, Survey)> {
    let mut found = surveyed(arguments, table, seed, held_out, console, passes)?;
    refuse_marked(arguments, &found)?;
    let columns = fit_arguments::features_of(&found.columns)?;
    let by = arguments.by.as_deref().map(|name| fit_arguments::grouping(&columns, name)).transpose()?;
    if found.sample.len() < 2 {
        return Err(Failure::usage(format!("{} row is left to fit", found.sample.len()), "give more rows or a smaller --holdout"));
    }
    let declared = fit_arguments::declared(arguments, found.rows as usize)?;
    let learns = declared.learns();
    let beside = beside(arguments, table, columns.len());
    let mut memory_plan = fit_arguments::planned(arguments, found.sample.len(), found.calibration.len(), columns.len(), learns, beside)?;
    memory_plan.fitted = found.rows as usize;
    say_plan(&found, table, console);
    let mut prior = declared.prior.map_or_else(|| Prior::learnt(&found.sample.y), Ok)?;
    let mut learnt = fit::learnt(&found.sample, prior, &declared, &columns, &memory_plan, seed, console)?;
    if arguments.learn_apart {
        (learnt, prior) = learnt_apart(learnt, prior);
    }
    let mut plan = Plan::new(learnt.kernel, learnt.inducing, learnt.ridge, std::mem::take(&mut found.chunks))?
        .digests(std::mem::take(&mut found.digests))?
        .data(&serde_json::to_string(table).unwrap_or_default())
        .centre(prior.mean())?
        .drop_missing(arguments.drop_missing);
    let apart = if arguments.learn_apart { found.sample.len() as u64 } else { 0 };
    let left_out = [found.held, found.calibrating, found.sampled.filter(|_| arguments.learn_apart)];
    for picked in left_out.into_iter().flatten() {
        plan = plan.leave_out(picked);
    }
    (plan.prior, plan.collected, plan.distinct_rows) = (Some(prior), declared.collected, declared.distinct_rows);
    if arguments.learn_apart {
        let Rows { x, y } = &found.sample;
        plan.learnt_on = Seen::of(PointsRef::new(x, x.len() / y.len())?, y).hashes().to_vec();
    }
    let mut job = Job {
        about: fit_arguments::about(arguments, columns.clone()),
        table: table.clone(),
        held: found.held,
        calibrating: found.calibrating,
        by,
        drop_missing: arguments.drop_missing,
        mean_residual: 0.0,
        rows: found.rows - apart,
        passes: 1,
        folder: std::env::current_dir().unwrap_or_default(),
    };
    if arguments.learn_on == LearnOn::All {
        let made;
        (plan, made) = learnt_on_all(plan, &job, &found.sample, &declared, &columns, console, passes)?;
        job.passes += made;
    }
    let seen = Points::new(std::mem::take(&mut found.sample.x), columns.len())?;
    let residual = plan.features().residual(seen.view())?;
    job.mean_residual = residual.iter().sum::<f64>() / residual.len() as f64;
    // Only a claim can tell the difference; one may still be declared for rows that were not learnt on.
    if arguments.norm_bound.is_some() || arguments.learn_apart {
        plan = plan.look_ahead(seen, fitted::AHEAD)?;
    }
    Ok((plan, job, found))
}

fn surveyed(arguments: &Arguments, table: &Table, seed: u64, held_out: f64, console: &Console, passes: &Passes<'_>) -> Outcome<Survey> {
    if !table.is_rereadable() {
        return Err(Failure::usage("standard input can be read only once, and this takes several passes", "give a file"));
    }
    let known = table.rows().map_or(usize::MAX, |rows| rows as usize);
    let selection = fit_arguments::selection(arguments, table, &table.part(0)?)?;
    let width = selection.width();
    let learns = fit_arguments::declared(arguments, known)?.learns();
    let inducing = arguments.wanted_inducing(known).unwrap_or_else(|| sizes::most_inducing(known, learns));
    let shares = Shares {
        sample: sizes::pool(known, inducing).max(sizes::LEARNING_ROWS),
        calibration: &|rows| fit_arguments::calibration_rows(arguments, rows),
        most_calibrating: fit_arguments::MOST_CALIBRATING,
        held_out,
        seed,
        apart: arguments.learn_apart,
    };
    // What cannot be kept to is refused before every row is read.
    let most = table.rows().map_or_else(|| most_rows(table, width), |rows| rows as usize);
    let (sampled, calibrating) =
        (shares.sample.min(most), fit_arguments::calibration_rows(arguments, most).min(fit_arguments::MOST_CALIBRATING));
    fit_arguments::planned(arguments, sampled, calibrating, width, learns, beside(arguments, table, width))?;
    let found = streamed::survey(table, &selection, &shares, passes)?;
    console.say_decimal_commas(&table.parts[0].file, found.has_decimal_commas);
    console.warn_cut(&found.cut);
    let (calibrating, asked) =
        (found.calibration.len(), fit_arguments::calibration_rows(arguments, found.rows as usize + found.calibration.len()));
    if asked > calibrating {
        console.say(format_args!(
            "{} rows calibrate, not the {} of --calibrate: they stay in memory, and more hardly make intervals better",
            grouped(calibrating),
            grouped(asked)
        ));
    }
    Ok(found)
}

/// More rows than files of text can have: a value takes two bytes at least, unless it is packed.
fn most_rows(table: &Table, width: usize) -> usize {
    let of = |part: &Part| -> Option<u64> {
        let is_packed = part.file.extension().is_none_or(|end| end != "csv" && end != "tsv");
        if is_packed { None } else { Some(part.file.metadata().ok()?.len() / (2 * (width as u64 + 1))) }
    };
    table.parts.iter().map(of).sum::<Option<u64>>().map_or(usize::MAX, |rows| rows as usize)
}

/// What passes take beside the sample.
fn beside(arguments: &Arguments, table: &Table, width: usize) -> Beside {
    let ahead = if arguments.norm_bound.is_some() || arguments.learn_apart { fitted::AHEAD } else { 0 };
    Beside { reading: table.reading(width + 1), chunks: table.chunks().len(), ahead }
}

fn say_plan(found: &Survey, table: &Table, console: &Console) {
    let total: u64 = found.chunks.iter().flatten().sum();
    console.say(format_args!(
        "plan: {} in {} of {}, read again for every pass; {} of them to learn on",
        counted(total as usize, "row"),
        counted(found.chunks.len(), "chunk"),
        counted(table.parts.len(), "file"),
        grouped(found.sample.len())
    ));
}

/// The claim leaves the rows out that all this was learnt on.
fn learnt_apart(mut learnt: Learnt, prior: Prior) -> (Learnt, Prior) {
    let elsewhere = |origin: Origin| if origin == Origin::LearntHere { Origin::LearntElsewhere } else { origin };
    learnt.kernel.origin = elsewhere(learnt.kernel.origin);
    learnt.ridge.origin = elsewhere(learnt.ridge.origin);
    learnt.inducing.origin = elsewhere(learnt.inducing.origin);
    (learnt, prior.with_origin(elsewhere(prior.origin())))
}

/// The plan with the kernel and ridge to which the evidence of all its rows leads from where the sample's ended, and the passes this took.
fn learnt_on_all(
    plan: Plan,
    job: &Job,
    sample: &Rows,
    declared: &Declared,
    columns: &[ColumnInfo],
    console: &Console,
    passes: &Passes<'_>,
) -> Outcome<(Plan, u64)> {
    let chunks: Vec<u64> = (0..plan.chunks().len() as u64).collect();
    // What a pass runs into ends the climb, and is no point to turn back from.
    let failed: RefCell<Option<Failure>> = RefCell::new(None);
    let made = Cell::new(0);
    let evidence = |kernel: &Kernel, ridge: f64| -> Outcome<EvidenceGradient> {
        let plan = moved(&plan, kernel, ridge)?;
        made.set(made.get() + 1);
        let posterior = Posterior::from_sums(&plan, &job.sums(&plan, &chunks, passes)?)?;
        let slope = Slope::new(&posterior)?;
        made.set(made.get() + 1);
        Ok(slope.finish(&plan, &job.slopes(&plan, &slope, &chunks, passes)?)?)
    };
    let at = |kernel: &Kernel, ridge: f64| {
        let stopped = sigmabar::Error::Empty { what: "the rest of the climb" };
        if failed.borrow().is_some() {
            return Err(stopped);
        }
        evidence(kernel, ridge).map_err(|failure| match failure {
            Failure::Core(problem) => problem,
            other => {
                *failed.borrow_mut() = Some(other);
                stopped
            }
        })
    };
    let prior = plan.prior.unwrap_or(Prior::ZERO);
    let observations = Observations::new(Points::new(sample.x.clone(), columns.len())?, &sample.y, declared.collected, prior)?;
    let rows = plan.chunks().iter().flatten().sum();
    let learning = Learning::new(vec![plan.features().kernel().clone()]);
    let climbed = climb_all_rows((plan.features().kernel(), plan.ridge.value), &observations, rows, &learning, at);
    if let Some(failure) = failed.into_inner() {
        return Err(failure);
    }
    let climbed = climbed?;
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    console.say(format_args!(
        "on all rows: {}; noise {}, as the target is measured; {} nats a row gained by {} times two passes",
        kernels::described(&climbed.kernel, &names),
        short(prior.unit() * climbed.ridge),
        short(climbed.gained),
        climbed.evaluations
    ));
    Ok((moved(&plan, &climbed.kernel, climbed.ridge)?, made.get()))
}

fn moved(plan: &Plan, kernel: &Kernel, ridge: f64) -> Outcome<Plan> {
    let here = Origin::LearntHere;
    Ok(plan.clone().with_kernel(Sourced::new(kernel.clone(), here), Sourced::new(ridge, here))?)
}
