//! `sigmabar bench`: strategies × problems × seeds.

use crate::Outcome;
use crate::args::{Format, Global};
use crate::console::Console;
use crate::failure::{Ending, Failure};
use crate::memory;
use crate::output::{self, Over};
use crate::sheet::Sheet;
use crate::which_study::{quoted, word};
use serde_json::{Value, json};
use sigmabar::catalogue::PolicySpec;
use sigmabar_experiment::{
    Evaluation, Experiment, Mean, Measure, PROBLEMS, RecommendAt, log_log_slope, mean_curve, policy_for, problem_named, stated_slope,
    summaries, write_csv,
};
use std::path::PathBuf;
use std::time::Instant;

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Problems
    #[arg(long, value_delimiter = ',', default_value = "branin,se-2")]
    problems: Vec<String>,
    /// Strategies, with options as in `s-bpe:rules=paper` or `ei:margin=0.1:batch_len=8`
    #[arg(long, value_delimiter = ',', default_value = "s-bpe,gp-ucb,random")]
    strategies: Vec<String>,
    /// Runs of each
    #[arg(long, default_value_t = 10)]
    seeds: u64,
    /// Evaluations of each run; the problem's own unless given
    #[arg(long)]
    budget: Option<usize>,
    /// One row for every evaluation
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file
    #[arg(long, requires = "out")]
    force: bool,
    /// A page with the pictures
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, global: &Global, console: &Console) -> Outcome {
    if let Some(name) = arguments.problems.iter().find(|name| !PROBLEMS.contains(&name.as_str())) {
        let what = format!("there is no problem \"{name}\"{}", crate::data::closest(name, PROBLEMS));
        return Err(Failure::usage(what, format!("there are {}", PROBLEMS.join(", "))));
    }
    for strategy in &arguments.strategies {
        let read = strategy.parse::<PolicySpec>();
        read.map_err(|error| Failure::usage(error.to_string(), "docs/strategies.md lists every strategy with its options"))?;
    }
    if let Some(budget) = arguments.budget {
        memory::check("--budget", budget, |budget| needed(arguments, budget))?;
    }
    let over = Over::by(arguments.force);
    arguments.out.as_deref().map_or(Ok(()), output::check_csv)?;
    for (path, over) in arguments.out.iter().map(|path| (path, over)).chain(arguments.report.iter().map(|path| (path, Over::Pages))) {
        output::check_writable(path, &[], over)?;
    }
    let rows = all(arguments, global.seed.unwrap_or(0), console)?;
    if let Some(path) = &arguments.out {
        output::write(path, &[], over, |out| write_csv(&rows, out))?;
        console.say(format_args!("wrote {} rows to {}", rows.len(), path.display()));
    }
    console.sheet(&summary(&rows), Format::Table)?;
    if let Some(path) = &arguments.report {
        let slopes: Vec<_> = arguments.problems.iter().filter_map(|name| Some((name.clone(), stated_slope(name)?))).collect();
        crate::verbs::report::write(&crate::report::bench(&rows, &slopes, &typed(arguments, global))?, path, &[], console)?;
    }
    if arguments.out.is_none() {
        console.next("sigmabar bench … -o rows.csv --report bench.html   (one row for every evaluation, and the pictures)");
    }
    Ok(Ending::Done)
}

/// The command that makes the same rows, with everything that was left to a default.
fn typed(arguments: &Arguments, global: &Global) -> String {
    let list = |words: &[String]| word(&words.join(","));
    let mut line = format!(
        "sigmabar bench --problems {} --strategies {} --seeds {} --seed {}",
        list(&arguments.problems),
        list(&arguments.strategies),
        arguments.seeds,
        global.seed.unwrap_or(0)
    );
    line += &arguments.budget.map_or_else(String::new, |budget| format!(" --budget {budget}"));
    for (option, path) in [("--out", &arguments.out), ("--report", &arguments.report)] {
        line += &path.as_ref().map_or_else(String::new, |path| format!(" {option} {}", quoted(path)));
    }
    line
}

/// Bytes at the peak: a row for every evaluation of every run, and the books of the runs that are going on.
fn needed(arguments: &Arguments, budget: usize) -> u128 {
    const NAMES: usize = 64;
    const TRIAL: usize = 512;
    let runs = arguments.problems.len() as u128 * arguments.strategies.len() as u128 * u128::from(arguments.seeds);
    let going_on = u128::from(arguments.seeds).min(sigmabar::linalg::threads() as u128);
    budget as u128 * (runs * (size_of::<Evaluation>() + NAMES) as u128 + going_on * TRIAL as u128)
}

fn all(arguments: &Arguments, first: u64, console: &Console) -> Outcome<Vec<Evaluation>> {
    let begun = Instant::now();
    let clock = || begun.elapsed().as_secs_f64();
    let bar = console.progress("runs", Some((arguments.problems.len() * arguments.strategies.len()) as u64));
    let mut rows = Vec::new();
    for problem in &arguments.problems {
        let make = |seed| {
            let unknown = sigmabar::Error::Premise { what: "this problem", reason: "there is none of this name" };
            let benchmark = problem_named(problem, seed)?.ok_or(unknown)?;
            arguments.budget.map_or(Ok(benchmark.clone()), |budget| benchmark.with_budget(budget))
        };
        for strategy in &arguments.strategies {
            let seeds = first..first + arguments.seeds;
            let experiment = Experiment::new(strategy, make, |problem| policy_for(strategy, problem), seeds)?
                .recommending(RecommendAt::Growing(1.25))?;
            match experiment.run(&clock) {
                // Two problems of one family are told apart by what was typed.
                Ok(run) => rows.extend(run.into_iter().map(|row| Evaluation { problem: problem.clone(), ..row })),
                // A strategy that a problem is not for is said and left out; a self-check that fails ends everything.
                Err(error) if crate::failure::is_self_check(&error) => return Err(error.into()),
                Err(error) => console.warn(format_args!("{strategy} on {problem}: {error}")),
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(rows)
}

fn summary(rows: &[Evaluation]) -> Sheet {
    let mut sheet = Sheet::new([
        "problem",
        "strategy",
        "runs",
        "evaluations",
        "batches",
        "simple_regret",
        "simple_regret_error",
        "cumulative_regret",
        "cumulative_regret_error",
        "slope",
        "certified_gap",
        "exceeded_gaps",
        "seconds",
    ]);
    for s in summaries(rows) {
        let slope = log_log_slope(&mean_curve(rows, &s.problem, &s.strategy, Measure::CumulativeRegret));
        let known = |mean: &Mean| if mean.count > 0 { json!(mean.mean) } else { Value::Null };
        sheet.rows.push(vec![
            json!(s.problem),
            json!(s.strategy),
            json!(s.simple_regret.count),
            json!(s.evaluations),
            json!(s.batches),
            known(&s.simple_regret),
            json!(s.simple_regret.standard_error),
            known(&s.cumulative_regret),
            json!(s.cumulative_regret.standard_error),
            json!(slope),
            known(&s.certified_gap),
            json!(s.exceeded_gaps),
            known(&s.seconds),
        ]);
    }
    sheet
}
