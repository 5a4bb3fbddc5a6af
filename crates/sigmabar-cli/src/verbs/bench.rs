//! `sigmabar bench`: strategies × problems × seeds.

use crate::Outcome;
use crate::args::{Format, Global};
use crate::console::{Console, Sheet};
use crate::failure::{Ending, Failure};
use crate::memory;
use crate::output;
use serde_json::{Value, json};
use sigmabar::{
    Benchmark, Classic, Domain, Evaluation, Experiment, GpThreds, Kernel, Looks, Mean, Measure, Policy, Problem, Rules, Sbpe,
    SimulatedNoise, TestFunction, log_log_slope, mean_curve, summaries,
};
use sigmabar_study::{policy_named, strategy_names};
use std::path::PathBuf;
use std::time::Instant;

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Problems
    #[arg(long, value_delimiter = ',', default_value = "branin,se-2")]
    problems: Vec<String>,
    /// Strategies
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
    /// A page with the pictures
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

const PROBLEMS: [&str; 12] = [
    "bpe",
    "gp-threds-branin",
    "gp-threds-rosenbrock",
    "se-2",
    "matern-2",
    "branin",
    "hartmann-3",
    "hartmann-6",
    "rosenbrock-4",
    "ackley-5",
    "levy-4",
    "styblinski-tang-3",
];
/// S-BPE exactly as published: a mode of its own in study files, a strategy of its own here.
const AS_PUBLISHED: &str = "s-bpe-paper";

pub(crate) fn run(arguments: &Arguments, global: &Global, console: &Console) -> Outcome {
    check("problem", &arguments.problems, &PROBLEMS)?;
    check("strategy", &arguments.strategies, &strategy_names().chain([AS_PUBLISHED]).collect::<Vec<_>>())?;
    if let Some(budget) = arguments.budget {
        memory::check("--budget", budget, |budget| needed(arguments, budget))?;
    }
    for path in arguments.out.iter().chain(&arguments.report) {
        output::check_writable(path, &[])?;
    }
    let rows = all(arguments, global.seed.unwrap_or(0), console)?;
    if let Some(path) = &arguments.out {
        output::write(path, &[], |out| sigmabar::write_csv(&rows, out))?;
        console.say(format_args!("wrote {} rows to {}", rows.len(), path.display()));
    }
    console.sheet(&summary(&rows), Format::Table)?;
    if let Some(path) = &arguments.report {
        crate::verbs::report::write(&crate::report::bench(&rows, &slopes(&arguments.problems))?, path, &[], console)?;
    }
    if arguments.out.is_none() {
        console.next("sigmabar bench … -o rows.csv --report bench.html   (one row for every evaluation, and the pictures)");
    }
    Ok(Ending::Done)
}

/// Bytes at the peak: a row for every evaluation of every run, and the books of the runs that are going on.
fn needed(arguments: &Arguments, budget: usize) -> u128 {
    const NAMES: usize = 64;
    const TRIAL: usize = 512;
    let runs = arguments.problems.len() as u128 * arguments.strategies.len() as u128 * u128::from(arguments.seeds);
    let going_on = u128::from(arguments.seeds).min(sigmabar::threads() as u128);
    budget as u128 * (runs * (size_of::<Evaluation>() + NAMES) as u128 + going_on * TRIAL as u128)
}

fn check(what: &str, names: &[String], known: &[&str]) -> Outcome<()> {
    match names.iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => {
            let known: Vec<String> = known.iter().map(|name| (*name).to_owned()).collect();
            let close = crate::data::closest(name, &known);
            Err(Failure::usage(format!("there is no {what} \"{name}\"{close}"), format!("there are {}", known.join(", "))))
        }
        None => Ok(()),
    }
}

fn all(arguments: &Arguments, first: u64, console: &Console) -> Outcome<Vec<Evaluation>> {
    let begun = Instant::now();
    let clock = || begun.elapsed().as_secs_f64();
    let bar = console.progress("runs", Some((arguments.problems.len() * arguments.strategies.len()) as u64));
    let mut rows = Vec::new();
    for problem in &arguments.problems {
        let make = |seed| {
            let benchmark = benchmark(problem, seed)?;
            arguments.budget.map_or(Ok(benchmark.clone()), |budget| benchmark.with_budget(budget))
        };
        for strategy in &arguments.strategies {
            let seeds = first..first + arguments.seeds;
            let experiment =
                Experiment::new(strategy, make, |problem| policy(strategy, problem), seeds)?.with_looks(Looks::Growing(1.25))?;
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

/// The slope of cumulative regret that theory states: $(\nu+d)/(2\nu+d)$ for Matérn, a half and logarithms for squared exponential kernels.
fn slopes(problems: &[String]) -> Vec<(String, f64)> {
    let slope = |name: &str| match name {
        "se-2" | "bpe" => Some(0.5),
        "matern-2" => Some(4.5 / 7.0),
        _ => None,
    };
    problems.iter().filter_map(|name| Some((name.clone(), slope(name)?))).collect()
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

fn benchmark(name: &str, seed: u64) -> sigmabar::Result<Benchmark> {
    let noise = SimulatedNoise::Gaussian { std_dev: 0.05 };
    let random = |kernel| Benchmark::known_norm(kernel, 2, 2.0, noise, 1000, seed);
    match name {
        "bpe" => Benchmark::bpe(seed),
        "gp-threds-branin" => Benchmark::gp_threds_branin(),
        "gp-threds-rosenbrock" => Benchmark::gp_threds_rosenbrock(),
        "se-2" => random(Kernel::squared_exponential(0.2, 1.0)?),
        "matern-2" => random(Kernel::matern(2.5, 0.2, 1.0)?),
        "hartmann-3" => classic(Classic::Hartmann3, noise),
        "hartmann-6" => classic(Classic::Hartmann6, noise),
        "rosenbrock-4" => classic(Classic::Rosenbrock { dim: 4, half_width: 2.0, divisor: 1000.0 }, noise),
        "ackley-5" => classic(Classic::Ackley { dim: 5, half_width: 5.0, shift: 0.7 }, noise),
        "levy-4" => classic(Classic::Levy { dim: 4 }, noise),
        "styblinski-tang-3" => classic(Classic::StyblinskiTang { dim: 3 }, noise),
        _ => classic(Classic::Branin, noise),
    }
}

/// A classic function with a guess for strategies that cannot do without a kernel: a fifth of the widest side, norm bound 5.
fn classic(classic: Classic, noise: SimulatedNoise) -> sigmabar::Result<Benchmark> {
    let function = TestFunction::classic(classic)?;
    let width = match function.domain() {
        Domain::Box(sides) => sides.low().iter().zip(sides.high()).map(|(low, high)| high - low).fold(0.0, f64::max),
        _ => 1.0,
    };
    let kernel = Kernel::matern(2.5, 0.2 * width, 1.0)?;
    Benchmark::new(function, noise, 200)?.assuming_kernel(kernel)?.assuming(|problem| problem.with_norm_bound(5.0))
}

fn policy(name: &str, problem: &Problem) -> sigmabar::Result<Policy> {
    match name {
        AS_PUBLISHED => Ok(Policy::Sbpe(Box::new(Sbpe::new(Rules::Paper)))),
        // It has no defaults: it wants an interval that the best value is believed to be in.
        "gp-threds" => GpThreds::new(0.0, problem.norm_bound().unwrap_or(2.0).max(1.0)).map(Policy::GpThreds),
        _ => policy_named(name).ok_or(sigmabar::Error::Premise {
            what: "this comparison",
            reason: "there is no strategy of this name that can do without options; choose another",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_strategy_is_the_one_it_is_called() {
        let benchmark = benchmark("se-2", 0).unwrap();
        let problem = benchmark.problem();
        for name in strategy_names() {
            assert_eq!(policy(name, problem).unwrap().name(), name);
        }
        assert!(matches!(policy("gp-thred", problem), Err(sigmabar::Error::Premise { .. })));
        let Policy::Sbpe(paper) = policy(AS_PUBLISHED, problem).unwrap() else { panic!("another strategy") };
        assert_eq!(*paper, Sbpe::new(Rules::Paper));
    }
}
