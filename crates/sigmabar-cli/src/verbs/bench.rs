//! `sigmabar bench`: strategies × problems × seeds.

use crate::Outcome;
use crate::args::{Format, Global};
use crate::console::{Console, Sheet};
use crate::failure::{Ending, Failure};
use crate::output;
use serde_json::{Value, json};
use sigmabar::catalogue::{PolicyError, PolicyProblem, PolicySpec};
use sigmabar::{
    Benchmark, Classic, Domain, Evaluation, Experiment, Kernel, Looks, Mean, Measure, Policy, Problem, SimulatedNoise, TestFunction,
    log_log_slope, mean_curve, summaries,
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
pub(crate) fn run(arguments: &Arguments, global: &Global, console: &Console) -> Outcome {
    if let Some(name) = arguments.problems.iter().find(|name| !PROBLEMS.contains(&name.as_str())) {
        let what = format!("there is no problem \"{name}\"{}", crate::data::closest(name, PROBLEMS));
        return Err(Failure::usage(what, format!("there are {}", PROBLEMS.join(", "))));
    }
    for strategy in &arguments.strategies {
        let read = strategy.parse::<PolicySpec>();
        read.map_err(|error| Failure::usage(error.to_string(), "docs/strategies.md lists every strategy with its options"))?;
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
            if let Err(error) = policy(strategy, make(first)?.problem()) {
                console.warn(format_args!("{problem}: {error}"));
                continue;
            }
            let seeds = first..first + arguments.seeds;
            let experiment = Experiment::new(strategy, make, |problem| policy(strategy, problem).map_err(refused), seeds)?
                .with_looks(Looks::Growing(1.25))?;
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

fn policy(text: &str, problem: &Problem) -> Result<Policy, PolicyError> {
    let mut spec: PolicySpec = text.parse()?;
    if spec.name() == "gp-threds" && spec.get("interval").is_none() {
        // It wants an interval that the best value is believed to be in.
        spec = spec.with("interval", vec![0.0, problem.norm_bound().unwrap_or(2.0).max(1.0)]);
    }
    spec.policy(problem.budget())
}

/// What is wrong with a strategy on one seed's problem only; options are checked before.
fn refused(error: PolicyError) -> sigmabar::Error {
    match error.problem {
        PolicyProblem::Core(error) => error,
        _ => sigmabar::Error::Premise { what: "this comparison", reason: "the options of the strategy do not fit the problem" },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sigmabar::catalogue::STRATEGIES;
    use sigmabar::{Rules, Sbpe};

    #[test]
    fn every_strategy_is_the_one_it_is_called() {
        let benchmark = benchmark("se-2", 0).unwrap();
        let problem = benchmark.problem();
        for entry in STRATEGIES.iter().filter(|entry| !entry.is_contextual) {
            assert_eq!(policy(entry.name, problem).unwrap().name(), entry.name);
        }
        assert!(policy("gp-thred", problem).unwrap_err().to_string().contains("did you mean \"gp-threds\""));
        let Policy::Sbpe(paper) = policy("s-bpe:rules=paper", problem).unwrap() else { panic!("another strategy") };
        assert_eq!(*paper, Sbpe::new(Rules::Paper));
    }
}
