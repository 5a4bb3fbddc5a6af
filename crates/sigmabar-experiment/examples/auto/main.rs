//! How good the automatic policy is: simple regret on test functions with noise, and on measured tables beside Sobol and random points;
//! how long it takes; and how often what it says about itself is false.
//!
//! ```text
//! cargo run --release -p sigmabar-experiment --example auto -- --seeds 20 --evaluations 200
//! cargo run --release -p sigmabar-experiment --example auto -- --seeds 20 hartmann6 levy4
//! ```
//!
//! Names choose problems, and so do `goal`, `own`, `battery` and `kin`; without any, all are run. `--data DIRECTORY` says where the measured tables are; without it there
//! are only the functions. Functions carry normal noise of standard deviation 0.05; tables are looked up as they are, their regret is in shares of the table's
//! range. `--policy NAME` runs another policy of the catalogue. `--each` also prints, for every seed, what was lost at the recommended point and at the best point
//! evaluated up to each batch, by the truth: whether the loss lies in the search or in the choice at its end. `--save FILE` writes one line a run; `--against FILE` compares with what an earlier build saved.

mod functions;
mod steep;
mod tables;

use functions::{Group, TestFunction};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Normal};
use rayon::prelude::*;
use sigmabar::strategy::{Auto, Direction};
use sigmabar::{Ask, Outcome, Points, Policy, Problem, Strategy};
use std::collections::HashMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Instant;
use tables::Table;

/// A result, or whatever went wrong.
pub type Answer<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// What a run came to.
struct Run {
    /// The true value of the recommended point.
    value: f64,
    gap: f64,
    interval: (f64, f64),
    /// The largest true value evaluated up to each batch.
    found: Vec<f64>,
    /// Time spent in asking, telling and recommending.
    seconds: f64,
}

/// Runs a policy to its end.
fn run(problem: Problem, policy: Policy, truth: impl Fn(&[f64]) -> Answer<f64>, noise: f64, seed: u64) -> Answer<Run> {
    let mut strategy = Strategy::new(problem, policy)?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x5eed);
    let normal = Normal::new(0.0, noise)?;
    let (mut seconds, mut found) = (0.0, Vec::new());
    loop {
        let start = Instant::now();
        let Ask::Trials(trials) = strategy.ask(usize::MAX)? else { break };
        seconds += start.elapsed().as_secs_f64();
        let mut best = found.last().copied().unwrap_or(f64::NEG_INFINITY);
        for trial in trials {
            let natural = strategy.problem().domain().decode(Points::from_rows(&[&trial.point])?.view())?;
            let value = truth(natural.row(0))?;
            best = best.max(value);
            let value = value + normal.sample(&mut rng);
            let start = Instant::now();
            strategy.tell(trial.id, Outcome::Value(value))?;
            seconds += start.elapsed().as_secs_f64();
        }
        found.push(best);
    }
    let start = Instant::now();
    let recommended = strategy.recommend()?.ok_or("nothing was recommended")?;
    seconds += start.elapsed().as_secs_f64();
    let natural = strategy.problem().domain().decode(Points::from_rows(&[&recommended.point])?.view())?;
    Ok(Run { value: truth(natural.row(0))?, gap: recommended.gap, interval: (recommended.lower, recommended.upper), found, seconds })
}

fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    (mean, (variance / n).sqrt())
}

struct Arguments {
    seeds: u64,
    first: u64,
    evaluations: usize,
    batches: usize,
    noise: f64,
    policy: Option<String>,
    data: Option<PathBuf>,
    save: Option<PathBuf>,
    against: Option<PathBuf>,
    each: bool,
    names: Vec<String>,
}

impl Arguments {
    fn read() -> Answer<Self> {
        let mut found = Self {
            seeds: 20,
            first: 0,
            evaluations: 200,
            batches: 5,
            noise: 0.05,
            policy: None,
            data: None,
            save: None,
            against: None,
            each: false,
            names: Vec::new(),
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--seeds" => found.seeds = value()?.parse()?,
                "--first" => found.first = value()?.parse()?,
                "--evaluations" => found.evaluations = value()?.parse()?,
                "--batches" => found.batches = value()?.parse()?,
                "--noise" => found.noise = value()?.parse()?,
                "--policy" => found.policy = Some(value()?),
                "--data" => found.data = Some(value()?.into()),
                "--each" => found.each = true,
                "--save" => found.save = Some(value()?.into()),
                "--against" => found.against = Some(value()?.into()),
                _ => found.names.push(word),
            }
        }
        Ok(found)
    }

    fn wants(&self, name: &str, group: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|n| n == name || n == group)
    }

    fn seeds(&self) -> std::ops::Range<u64> {
        self.first..self.first + self.seeds
    }

    fn policy(&self) -> Answer<Policy> {
        match self.policy.as_deref() {
            None => Ok(Policy::Auto(Auto::new(self.batches)?)),
            Some("ei") => Ok(Policy::ExpectedImprovement(Default::default())),
            Some("gp-ucb") => Ok(Policy::GpUcb(Default::default())),
            Some("gp-ts") => Ok(Policy::ThompsonSampling(Default::default())),
            Some(other) => Err(format!("unknown policy {other}").into()),
        }
    }
}

/// Mean regrets of an earlier build, by problem and seed.
fn earlier(path: &PathBuf) -> Answer<HashMap<(String, u64), f64>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_path(path)?;
    let rows = reader.deserialize().collect::<Result<Vec<(String, u64, f64)>, _>>()?;
    Ok(rows.into_iter().map(|(name, seed, regret)| ((name, seed), regret)).collect())
}

fn main() -> Answer<()> {
    let arguments = Arguments::read()?;
    println!("{} evaluations in {} batches, {} seeds from {}", arguments.evaluations, arguments.batches, arguments.seeds, arguments.first);
    let before = arguments.against.as_ref().map(earlier).transpose()?;
    let mut saved = String::new();
    for function in functions::functions()?.iter().filter(|f| arguments.wants(f.name, group_name(f.group))) {
        let regrets = measure_function(function, &arguments, before.as_ref())?;
        for (seed, regret) in arguments.seeds().zip(regrets) {
            writeln!(saved, "{},{seed},{regret}", function.name)?;
        }
    }
    if let Some(path) = &arguments.save {
        std::fs::write(path, saved)?;
    }
    let Some(directory) = &arguments.data else {
        println!("tables left out: say with --data DIRECTORY where they are");
        return Ok(());
    };
    for name in ["hplc", "photo_pce10", "oer_plate_3496", "direct_arylation"].into_iter().filter(|n| arguments.wants(n, "tables")) {
        let table = if name == "direct_arylation" { tables::reactions(directory)? } else { tables::plain_table(directory, name)? };
        measure_table(&table, &arguments)?;
    }
    Ok(())
}

fn group_name(group: Group) -> &'static str {
    match group {
        Group::Goal => "goal",
        Group::Own => "own",
        Group::Battery => "battery",
        Group::Kin => "kin",
    }
}

fn measure_function(function: &TestFunction, arguments: &Arguments, before: Option<&HashMap<(String, u64), f64>>) -> Answer<Vec<f64>> {
    let one = |seed: u64| {
        let objective = function.objective(seed)?;
        let problem = Problem::new(function.domain.clone(), arguments.evaluations)?.with_seed(seed);
        let run = run(problem, arguments.policy()?, |x| Ok((objective.value)(x)), arguments.noise, seed)?;
        Ok((objective.best - run.value, run))
    };
    let runs = arguments.seeds().into_par_iter().map(one).collect::<Answer<Vec<(f64, Run)>>>()?;
    let regrets: Vec<f64> = runs.iter().map(|(regret, _)| *regret).collect();
    let (mean, error) = mean_and_error(&regrets);
    let mut sorted = regrets.clone();
    sorted.sort_by(f64::total_cmp);
    let (median, worst) = (sorted[sorted.len() / 2], sorted[sorted.len() - 1]);
    let seconds = runs.iter().map(|(_, run)| run.seconds).sum::<f64>() / runs.len() as f64;
    let gaps = runs.iter().filter(|(regret, run)| run.gap < *regret).count();
    let intervals = runs.iter().filter(|(_, run)| !(run.interval.0..=run.interval.1).contains(&run.value)).count();
    let typical = {
        let mut gaps: Vec<f64> = runs.iter().map(|(_, run)| run.gap).collect();
        gaps.sort_by(f64::total_cmp);
        gaps[gaps.len() / 2]
    };
    print!(
        "{:13} {mean:.4} ± {error:.4}  median {median:.4}  worst {worst:.4}  gap {typical:.3}, false {gaps}  interval false {intervals}  {seconds:.1} s",
        function.name
    );
    if let Some(before) = before {
        let old: Vec<f64> = arguments.seeds().filter_map(|seed| before.get(&(function.name.to_string(), seed)).copied()).collect();
        let (old_mean, _) = mean_and_error(&old);
        print!("  before {old_mean:.4}: {:.2} times as large now", mean / old_mean);
    }
    println!();
    for (seed, (regret, run)) in arguments.seeds().zip(&runs).filter(|_| arguments.each) {
        let found: Vec<String> = run.found.iter().map(|v| format!("{:.4}", regret + run.value - v)).collect();
        println!("  {seed:4} recommended {regret:.4}  best evaluated {}  gap {:.3}", found.join(" "), run.gap);
    }
    Ok(regrets)
}

fn measure_table(table: &Table, arguments: &Arguments) -> Answer<()> {
    let start = Instant::now();
    let (low, high) = table.range();
    let regret = |seed: u64, policy: Policy| {
        let problem = Problem::new(table.domain.clone(), arguments.evaluations)?.with_seed(seed).with_direction(table.direction);
        let value = run(problem, policy, |x| table.value(x), 0.0, seed)?.value;
        let lost = if table.direction == Direction::Maximize { high - value } else { value - low };
        Ok::<f64, Box<dyn Error + Send + Sync>>(lost / (high - low))
    };
    let one = |seed: u64| {
        let auto = regret(seed, arguments.policy()?)?;
        Ok((auto, regret(seed, Policy::Sobol(Default::default()))?, regret(seed, Policy::Random(Default::default()))?))
    };
    let all = arguments.seeds().into_par_iter().map(one).collect::<Answer<Vec<_>>>()?;
    let (auto, error) = mean_and_error(&all.iter().map(|r| r.0).collect::<Vec<_>>());
    let (sobol, sobol_error) = mean_and_error(&all.iter().map(|r| r.1 - r.0).collect::<Vec<_>>());
    let (random, random_error) = mean_and_error(&all.iter().map(|r| r.2 - r.0).collect::<Vec<_>>());
    println!(
        "{:17} regret {auto:.4} ± {error:.4}   Sobol is worse by {sobol:.4} ± {sobol_error:.4} ({:.1} errors), random by {random:.4} ± {random_error:.4} ({:.1} errors)   {:.0} s",
        table.name,
        sobol / sobol_error,
        random / random_error,
        start.elapsed().as_secs_f64()
    );
    Ok(())
}
