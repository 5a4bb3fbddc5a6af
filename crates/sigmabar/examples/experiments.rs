//! Strategies on test problems: prints a summary and writes one row for every evaluation.
//!
//! ```text
//! cargo run --release --example experiments -- PROBLEMS STRATEGIES SEEDS BUDGET CSV
//! cargo run --release --example experiments -- bpe,gp-threds-branin random,s-bpe,gp-ucb 10 400 regret.csv
//! ```
//!
//! Lists are separated by commas. A problem `table:PATH` reads comma-separated numbers under a line of names and maximises the last column. A budget of 0 means each
//! problem's own. `-` as CSV writes none.

use sigmabar::{
    AdaBkb, Bbkb, Benchmark, Bkb, Bpe, BpeSchedule, BpeWidth, Classic, DecoupledThompson, Direction, Domain, Evaluation,
    ExpectedImprovement, Experiment, GpThreds, GpUcb, Kernel, LargestVariance, Looks, Measure, MiniMeta, Points, Policy,
    ProbabilityOfImprovement, Problem, Random, Rips, Rules, Sbpe, SimulatedNoise, Sobol, SupKernelUcb, TestFunction, ThompsonSampling,
    UcbWidth, log_log_slope, mean_curve, paired_difference, summaries, write_csv,
};
use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::time::Instant;

type Outcome<T> = Result<T, Box<dyn Error>>;

const PROBLEMS: &str = "bpe, gp-threds-branin, gp-threds-rosenbrock, se-2, matern-2, branin, hartmann-3, hartmann-6, rosenbrock-4, ackley-5, levy-4, \
                        styblinski-tang-3, table:PATH";

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [problems, strategies, seeds, budget, path] = &arguments[..] else {
        return Err(format!("five arguments are needed: PROBLEMS STRATEGIES SEEDS BUDGET CSV; problems are {PROBLEMS}").into());
    };
    let (seeds, budget): (u64, usize) = (seeds.parse()?, budget.parse()?);
    let begun = Instant::now();
    let clock = || begun.elapsed().as_secs_f64();
    let mut rows = Vec::new();
    for problem in problems.split(',') {
        let table = problem.strip_prefix("table:").map(read_table).transpose()?;
        let make = |seed| {
            let benchmark = match &table {
                Some(function) => table_benchmark(function.clone()),
                None => benchmark(problem, seed),
            }?;
            if budget == 0 { Ok(benchmark) } else { benchmark.with_budget(budget) }
        };
        make(0).map_err(|error| format!("{problem}: {error}; problems are {PROBLEMS}"))?;
        for strategy in strategies.split(',') {
            let experiment = Experiment::new(strategy, make, |problem| policy(strategy, problem), 0..seeds)?;
            match experiment.with_looks(Looks::Growing(1.25))?.run(&clock) {
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

fn benchmark(name: &str, seed: u64) -> sigmabar::Result<Benchmark> {
    let noise = SimulatedNoise::Gaussian { std_dev: 0.05 };
    let classic = |classic| {
        let function = TestFunction::classic(classic)?;
        // A guess for strategies that cannot do without a kernel: a fifth of the widest side, the spread of the function as its scale.
        let Domain::Box(sides) = function.domain() else { unreachable!("classics live on boxes") };
        let width = sides.low().iter().zip(sides.high()).map(|(low, high)| high - low).fold(0.0, f64::max);
        let kernel = Kernel::matern(2.5, 0.2 * width, 1.0)?;
        Benchmark::new(function, noise, 200)?.assuming_kernel(kernel)?.assuming(|problem| problem.with_norm_bound(5.0))
    };
    match name {
        "bpe" => Benchmark::bpe(seed),
        "gp-threds-branin" => Benchmark::gp_threds_branin(),
        "gp-threds-rosenbrock" => Benchmark::gp_threds_rosenbrock(),
        "se-2" => Benchmark::known_norm(Kernel::squared_exponential(0.2, 1.0)?, 2, 2.0, noise, 1000, seed),
        "matern-2" => Benchmark::known_norm(Kernel::matern(2.5, 0.2, 1.0)?, 2, 2.0, noise, 1000, seed),
        "branin" => classic(Classic::Branin),
        "hartmann-3" => classic(Classic::Hartmann3),
        "hartmann-6" => classic(Classic::Hartmann6),
        "rosenbrock-4" => classic(Classic::Rosenbrock { dim: 4, half_width: 2.0, divisor: 1000.0 }),
        "ackley-5" => classic(Classic::Ackley { dim: 5, half_width: 5.0, shift: 0.7 }),
        "levy-4" => classic(Classic::Levy { dim: 4 }),
        "styblinski-tang-3" => classic(Classic::StyblinskiTang { dim: 3 }),
        _ => Err(sigmabar::Error::Missing { what: "a known name", purpose: "a problem", remedy: "choose one from the list" }),
    }
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

fn policy(name: &str, problem: &Problem) -> sigmabar::Result<Policy> {
    // The believed interval of the best value, for GP-ThreDS alone.
    let bound = problem.norm_bound().unwrap_or(2.0);
    Ok(match name {
        "ada-bkb" => Policy::AdaBkb(AdaBkb::default()),
        "bbkb" => Policy::Bbkb(Bbkb::default()),
        "bkb" => Policy::Bkb(Bkb::default()),
        "bpe" => Policy::Bpe(Bpe::default()),
        "bpe-4" => Policy::Bpe(Bpe::new(BpeSchedule::Growing(4), BpeWidth::Constant(2.0)).keeping_data()),
        "ei" => Policy::ExpectedImprovement(ExpectedImprovement::default()),
        "gp-threds" => Policy::GpThreds(GpThreds::new(0.0, bound.max(1.0))?),
        "gp-ts" => Policy::ThompsonSampling(ThompsonSampling::default()),
        "gp-ucb" => Policy::GpUcb(GpUcb::default()),
        "igp-ucb" => Policy::GpUcb(GpUcb::new(UcbWidth::LogTime)),
        "max-variance" => Policy::LargestVariance(LargestVariance::default()),
        "mini-meta" => Policy::MiniMeta(MiniMeta::default()),
        "pi" => Policy::ProbabilityOfImprovement(ProbabilityOfImprovement::default()),
        "random" => Policy::Random(Random::default()),
        "rips" => Policy::Rips(Rips::default()),
        "s-bpe" => Policy::Sbpe(Box::default()),
        "s-bpe-paper" => Policy::Sbpe(Box::new(Sbpe::new(Rules::Paper))),
        "s-gp-ts" => Policy::DecoupledThompson(DecoupledThompson::default()),
        "sobol" => Policy::Sobol(Sobol::default()),
        "supkernelucb" => Policy::SupKernelUcb(SupKernelUcb::default()),
        _ => return Err(sigmabar::Error::Missing { what: "a known name", purpose: "a strategy", remedy: "see the source for the list" }),
    })
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
