//! Strategies on test problems: prints a summary and writes one row for every evaluation.
//!
//! ```text
//! cargo run --release -p sigmabar-experiment --example experiments -- PROBLEMS STRATEGIES SEEDS BUDGET CSV
//! cargo run --release -p sigmabar-experiment --example experiments -- bpe,gp-threds-branin random,s-bpe,gp-ucb 10 400 regret.csv
//! ```
//!
//! Lists are separated by commas. A problem `table:PATH` reads comma-separated numbers under a line of names and maximises the last column. A budget of 0 means each
//! problem's own. `-` as CSV writes none.

use sigmabar::catalogue::PolicySpec;
use sigmabar::simulated::SimulatedNoise;
use sigmabar::strategy::Direction;
use sigmabar::{Domain, Points};
use sigmabar_experiment::{
    Benchmark, Evaluation, Experiment, Measure, PROBLEMS, RecommendAt, TestFunction, log_log_slope, mean_curve, paired_difference,
    policy_for, problem_named, summaries, write_csv,
};
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::time::Instant;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [problems, strategies, seeds, budget, path] = &arguments[..] else {
        return Err(format!(
            "five arguments are needed: PROBLEMS STRATEGIES SEEDS BUDGET CSV; problems are {}, table:PATH",
            PROBLEMS.join(", ")
        )
        .into());
    };
    let (seeds, budget): (u64, usize) = (seeds.parse()?, budget.parse()?);
    let begun = Instant::now();
    let clock = || begun.elapsed().as_secs_f64();
    let mut rows = Vec::new();
    for problem in problems.split(',') {
        let table = problem.strip_prefix("table:").map(read_table).transpose()?;
        let make = |seed| {
            let benchmark = match &table {
                Some(function) => table_benchmark(function.clone())?,
                None => problem_named(problem, seed)?
                    .ok_or(sigmabar::Error::Premise { what: "this problem", reason: "there is none of this name" })?,
            };
            if budget == 0 { Ok(benchmark) } else { benchmark.with_budget(budget) }
        };
        make(0).map_err(|error| format!("{problem}: {error}"))?;
        for strategy in strategies.split(',') {
            strategy.parse::<PolicySpec>()?;
            let experiment = Experiment::new(strategy, make, |problem| policy_for(strategy, problem), 0..seeds)?;
            match experiment.recommending(RecommendAt::Growing(1.25))?.run(&clock) {
                Ok(run) => rows.extend(run),
                Err(error) => eprintln!("{strategy} on {problem}: {error}"),
            }
        }
    }
    print_summary(&rows);
    if path != "-" {
        write_csv(&rows, BufWriter::new(File::create(path)?))?;
    }
    Ok(())
}

/// Rows of numbers under a line of names; the last column is the objective.
fn read_table(path: &str) -> Outcome<TestFunction> {
    let mut reader = csv::Reader::from_path(path)?;
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for record in reader.records() {
        rows.push(record?.iter().map(str::parse).collect::<Result<_, _>>()?);
    }
    let values = rows.iter_mut().map(|row| row.pop().ok_or("a row without columns")).collect::<Result<Vec<f64>, _>>()?;
    Ok(TestFunction::table(path, Points::from_rows(&rows)?, &values, Direction::Maximize)?)
}

/// A Matérn kernel with half the range of each column as length-scale, values as they are.
fn table_benchmark(function: TestFunction) -> sigmabar::Result<Benchmark> {
    let Domain::List(list) = function.domain() else { unreachable!("tables are lists") };
    let scales: Vec<f64> = (0..list.points().dim())
        .map(|column| {
            let (low, high) = list.points().rows().fold((f64::MAX, f64::MIN), |(l, h), x| (l.min(x[column]), h.max(x[column])));
            if high > low { 0.5 * (high - low) } else { 1.0 }
        })
        .collect();
    let kernel = function.domain().default_kernel(scales, 1.0)?;
    Benchmark::new(function, SimulatedNoise::Gaussian { std_dev: 1e-2 }, 100)?.assuming_kernel(kernel)?.assuming(|p| p.with_norm_bound(5.0))
}

fn print_summary(rows: &[Evaluation]) {
    println!(
        "{:<22} {:<14} {:>5} {:>6} {:>7} {:>20} {:>20} {:>6} {:>9} {:>8} {:>9}",
        "problem", "strategy", "runs", "N", "batches", "simple regret", "cumulative regret", "slope", "gap", "exceeded", "seconds"
    );
    let all = summaries(rows);
    for s in &all {
        let slope = log_log_slope(&mean_curve(rows, &s.problem, &s.strategy, Measure::CumulativeRegret));
        println!(
            "{:<22} {:<14} {:>5} {:>6} {:>7} {:>10.4} ± {:<7.4} {:>10.2} ± {:<7.2} {:>6.2} {:>9.3} {:>8} {:>9.3}",
            s.problem,
            s.strategy,
            s.simple_regret.count,
            s.evaluations,
            s.batches,
            s.simple_regret.mean,
            s.simple_regret.standard_error,
            s.cumulative_regret.mean,
            s.cumulative_regret.standard_error,
            slope.unwrap_or(f64::NAN),
            s.certified_gap.mean,
            s.exceeded_gaps,
            s.seconds.mean,
        );
    }
    println!("\npaired differences of simple and of cumulative regret to the first strategy");
    for s in &all {
        let Some(first) = all.iter().find(|other| other.problem == s.problem).filter(|other| other.strategy != s.strategy) else {
            continue;
        };
        let difference = |measure| paired_difference(rows, &s.problem, &s.strategy, &first.strategy, measure);
        if let (Some(simple), Some(cumulative)) = (difference(Measure::SimpleRegret), difference(Measure::CumulativeRegret)) {
            println!(
                "{:<22} {:<14} {:>10.4} ± {:<7.4} {:>10.2} ± {:<7.2}",
                s.problem, s.strategy, simple.mean, simple.standard_error, cumulative.mean, cumulative.standard_error
            );
        }
    }
}
