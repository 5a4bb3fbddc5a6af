//! How good the automatic policy is: simple regret on test functions with noise, and on measured tables beside Sobol and random points.
//!
//! ```text
//! cargo run --release -p sigmabar-experiment --example auto -- --seeds 20 --evaluations 200
//! cargo run --release -p sigmabar-experiment --example auto -- --seeds 20 hartmann6 levy4
//! ```
//!
//! Names choose problems; without any, all are run. `--data DIRECTORY` says where the measured tables are; without it there are only the functions.
//! Functions carry normal noise of standard deviation 0.05; tables are looked up as they are, their regret is in shares of the table's range.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Normal};
use rayon::prelude::*;
use sigmabar::domain::{Column, ListDomain, SpaceDomain};
use sigmabar::strategy::{Auto, Direction};
use sigmabar::{Ask, BoxDomain, Domain, Outcome, Points, Policy, Problem, Strategy};
use std::collections::HashMap;
use std::error::Error;
use std::f64::consts::PI;
use std::path::{Path, PathBuf};
use std::time::Instant;

type Answer<T> = Result<T, Box<dyn Error + Send + Sync>>;
type Function = fn(&[f64]) -> f64;

const NOISE: f64 = 0.05;

/// A function to maximise on a box, with its maximum.
struct TestFunction {
    name: &'static str,
    dim: usize,
    low: f64,
    high: f64,
    best: f64,
    value: Function,
}

fn functions() -> Vec<TestFunction> {
    let function = |name, dim, (low, high), best, value| TestFunction { name, dim, low, high, best, value };
    vec![
        function("branin", 2, (0.0, 1.0), 1.047_394, branin as Function),
        function("hartmann3", 3, (0.0, 1.0), 3.862_782, hartmann3),
        function("hartmann6", 6, (0.0, 1.0), 3.322_368, hartmann6),
        function("rosenbrock4", 4, (-2.0, 2.0), 0.0, rosenbrock),
        function("ackley5", 5, (-5.0, 5.0), 0.0, ackley),
        function("levy4", 4, (-10.0, 10.0), 0.0, levy),
        function("styblinski3", 3, (-5.0, 5.0), 2.349_959_7, styblinski_tang),
        function("michalewicz5", 5, (0.0, PI), 4.687_658, michalewicz),
        function("camel2", 2, (-1.5, 1.5), 1.031_628_45, six_hump_camel),
        function("griewank3", 3, (-5.0, 5.0), 0.0, griewank),
    ]
}

/// As the GP-ThreDS experiments scale it.
fn branin(x: &[f64]) -> f64 {
    let (u, v) = (15.0 * x[0] - 5.0, 15.0 * x[1]);
    let bowl = v - 5.1 * u * u / (4.0 * PI * PI) + 5.0 * u / PI - 6.0;
    -(bowl * bowl + (10.0 - 10.0 / (8.0 * PI)) * u.cos() - 44.81) / 51.95
}

fn hartmann(x: &[f64], scales: &[&[f64]; 4], centres: &[&[f64]; 4]) -> f64 {
    let heights = [1.0, 1.2, 3.0, 3.2];
    let bump = |i: usize| heights[i] * (-(0..x.len()).map(|j| scales[i][j] * (x[j] - centres[i][j]).powi(2)).sum::<f64>()).exp();
    (0..4).map(bump).sum()
}

fn hartmann3(x: &[f64]) -> f64 {
    let scales: [&[f64]; 4] = [&[3.0, 10.0, 30.0], &[0.1, 10.0, 35.0], &[3.0, 10.0, 30.0], &[0.1, 10.0, 35.0]];
    let centres: [&[f64]; 4] = [&[0.3689, 0.117, 0.2673], &[0.4699, 0.4387, 0.747], &[0.1091, 0.8732, 0.5547], &[0.0381, 0.5743, 0.8828]];
    hartmann(x, &scales, &centres)
}

fn hartmann6(x: &[f64]) -> f64 {
    let scales: [&[f64]; 4] = [
        &[10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
        &[0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
        &[3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
        &[17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
    ];
    let centres: [&[f64]; 4] = [
        &[0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886],
        &[0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991],
        &[0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650],
        &[0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381],
    ];
    hartmann(x, &scales, &centres)
}

/// In thousands.
fn rosenbrock(x: &[f64]) -> f64 {
    -x.windows(2).map(|w| 100.0 * (w[1] - w[0] * w[0]).powi(2) + (1.0 - w[0]).powi(2)).sum::<f64>() / 1000.0
}

/// The maximum moved off the centre by 0.7.
fn ackley(x: &[f64]) -> f64 {
    let n = x.len() as f64;
    let square = x.iter().map(|v| (v - 0.7).powi(2)).sum::<f64>() / n;
    let wave = x.iter().map(|v| (2.0 * PI * (v - 0.7)).cos()).sum::<f64>() / n;
    20.0 * (-0.2 * square.sqrt()).exp() + wave.exp() - 20.0 - 1_f64.exp()
}

/// In units of twenty.
fn levy(x: &[f64]) -> f64 {
    let w: Vec<f64> = x.iter().map(|v| 1.0 + (v - 1.0) / 4.0).collect();
    let last = w[w.len() - 1];
    let middle: f64 = w[..w.len() - 1].iter().map(|v| (v - 1.0).powi(2) * (1.0 + 10.0 * (PI * v + 1.0).sin().powi(2))).sum();
    -((PI * w[0]).sin().powi(2) + middle + (last - 1.0).powi(2) * (1.0 + (2.0 * PI * last).sin().powi(2))) / 20.0
}

/// In units of fifty.
fn styblinski_tang(x: &[f64]) -> f64 {
    -x.iter().map(|v| v.powi(4) - 16.0 * v * v + 5.0 * v).sum::<f64>() / 100.0
}

fn michalewicz(x: &[f64]) -> f64 {
    x.iter().enumerate().map(|(i, v)| v.sin() * ((i + 1) as f64 * v * v / PI).sin().powi(20)).sum()
}

fn griewank(x: &[f64]) -> f64 {
    let product: f64 = x.iter().enumerate().map(|(i, v)| (v / ((i + 1) as f64).sqrt()).cos()).product();
    product - 1.0 - x.iter().map(|v| v * v).sum::<f64>() / 4000.0
}

fn six_hump_camel(x: &[f64]) -> f64 {
    let (u, v) = (x[0] * x[0], x[1] * x[1]);
    -(4.0 - 2.1 * u + u * u / 3.0) * u - x[0] * x[1] + 4.0 * (1.0 - v) * v
}

/// A table as a problem: a domain, and the value of every setting.
struct Table {
    name: String,
    domain: Domain,
    direction: Direction,
    values: HashMap<Vec<u64>, f64>,
}

impl Table {
    fn value(&self, natural: &[f64]) -> Answer<f64> {
        self.values.get(&key(natural)).copied().ok_or_else(|| format!("{}: no such setting {natural:?}", self.name).into())
    }

    fn range(&self) -> (f64, f64) {
        self.values.values().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)))
    }
}

fn key(row: &[f64]) -> Vec<u64> {
    row.iter().map(|v| v.to_bits()).collect()
}

/// Settings measured more than once count with their mean.
fn averaged(rows: &[Vec<f64>]) -> HashMap<Vec<u64>, f64> {
    let mut sums: HashMap<Vec<u64>, (f64, f64)> = HashMap::new();
    for row in rows {
        let entry = sums.entry(key(&row[..row.len() - 1])).or_insert((0.0, 0.0));
        *entry = (entry.0 + row[row.len() - 1], entry.1 + 1.0);
    }
    sums.into_iter().map(|(setting, (sum, count))| (setting, sum / count)).collect()
}

fn plain_table(directory: &Path, name: &str) -> Answer<Table> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_path(directory.join(name).join("data.csv"))?;
    let rows = reader.deserialize().collect::<Result<Vec<Vec<f64>>, _>>()?;
    let goal = std::fs::read_to_string(directory.join(name).join("config.json"))?;
    let direction = if goal.contains("\"minimize\"") { Direction::Minimize } else { Direction::Maximize };
    let settings: Vec<&[f64]> = rows.iter().map(|r| &r[..r.len() - 1]).collect();
    let (list, _) = ListDomain::distinct(Points::from_rows(&settings)?);
    Ok(Table { name: name.to_string(), domain: Domain::List(list), direction, values: averaged(&rows) })
}

/// Three categorical factors, concentration and temperature: all combinations were measured.
fn reactions(directory: &Path) -> Answer<Table> {
    let mut reader = csv::Reader::from_path(directory.join("direct_arylation/data.csv"))?;
    let mut choices: [Vec<String>; 3] = Default::default();
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record?;
        let mut row = Vec::new();
        for (factor, known) in choices.iter_mut().enumerate() {
            let name = record[factor + 1].to_string();
            let position = known.iter().position(|k| *k == name).unwrap_or(known.len());
            if position == known.len() {
                known.push(name);
            }
            row.push(position as f64);
        }
        for column in 4..7 {
            row.push(record[column].parse()?);
        }
        rows.push(row);
    }
    let levels = |column: usize| {
        let mut values: Vec<f64> = rows.iter().map(|r| r[column]).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        Column::ordinal(values)
    };
    let mut columns: Vec<Column> = choices.iter().map(|c| Column::categorical(c.len())).collect();
    columns.extend([levels(3), levels(4)]);
    let domain = Domain::Space(SpaceDomain::new(columns, Vec::new())?);
    Ok(Table { name: "direct_arylation".to_string(), domain, direction: Direction::Maximize, values: averaged(&rows) })
}

/// Runs a policy to its end and says the true value of what it recommends.
fn run(problem: Problem, policy: Policy, truth: impl Fn(&[f64]) -> Answer<f64>, noise: f64, seed: u64) -> Answer<f64> {
    let mut strategy = Strategy::new(problem, policy)?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x5eed);
    let normal = Normal::new(0.0, noise)?;
    while let Ask::Trials(trials) = strategy.ask(usize::MAX)? {
        for trial in trials {
            let natural = strategy.problem().domain().decode(Points::from_rows(&[&trial.point])?.view())?;
            let value = truth(natural.row(0))? + normal.sample(&mut rng);
            strategy.tell(trial.id, Outcome::Value(value))?;
        }
    }
    let recommended = strategy.recommend()?.ok_or("nothing was recommended")?;
    let natural = strategy.problem().domain().decode(Points::from_rows(&[&recommended.point])?.view())?;
    truth(natural.row(0))
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
    data: Option<PathBuf>,
    names: Vec<String>,
}

fn arguments() -> Answer<Arguments> {
    let mut found = Arguments { seeds: 20, first: 0, evaluations: 200, batches: 5, data: None, names: Vec::new() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--seeds" => found.seeds = value()?.parse()?,
            "--first" => found.first = value()?.parse()?,
            "--evaluations" => found.evaluations = value()?.parse()?,
            "--batches" => found.batches = value()?.parse()?,
            "--data" => found.data = Some(value()?.into()),
            _ => found.names.push(word),
        }
    }
    Ok(found)
}

fn main() -> Answer<()> {
    let arguments = arguments()?;
    let wanted = |name: &str| arguments.names.is_empty() || arguments.names.iter().any(|n| n == name);
    println!("{} evaluations in {} batches, {} seeds from {}", arguments.evaluations, arguments.batches, arguments.seeds, arguments.first);
    for function in functions().iter().filter(|f| wanted(f.name)) {
        measure_function(function, &arguments)?;
    }
    let Some(directory) = &arguments.data else {
        println!("tables left out: say with --data DIRECTORY where they are");
        return Ok(());
    };
    for name in ["hplc", "photo_pce10", "oer_plate_3496", "direct_arylation"].into_iter().filter(|n| wanted(n)) {
        let table = if name == "direct_arylation" { reactions(directory)? } else { plain_table(directory, name)? };
        measure_table(&table, &arguments)?;
    }
    Ok(())
}

fn measure_function(function: &TestFunction, arguments: &Arguments) -> Answer<()> {
    let start = Instant::now();
    let one = |seed: u64| {
        let domain = Domain::Box(BoxDomain::new(vec![function.low; function.dim], vec![function.high; function.dim])?);
        let problem = Problem::new(domain, arguments.evaluations)?.with_seed(seed);
        let policy = Policy::Auto(Auto::new(arguments.batches)?);
        Ok(function.best - run(problem, policy, |x| Ok((function.value)(x)), NOISE, seed)?)
    };
    let mut regrets = (arguments.first..arguments.first + arguments.seeds).into_par_iter().map(one).collect::<Answer<Vec<f64>>>()?;
    let (mean, error) = mean_and_error(&regrets);
    regrets.sort_by(f64::total_cmp);
    let (median, worst) = (regrets[regrets.len() / 2], regrets[regrets.len() - 1]);
    let seconds = start.elapsed().as_secs_f64();
    println!("{:17} regret {mean:.4} ± {error:.4}   median {median:.4}   worst {worst:.4}   {seconds:.0} s", function.name);
    Ok(())
}

fn measure_table(table: &Table, arguments: &Arguments) -> Answer<()> {
    let start = Instant::now();
    let (low, high) = table.range();
    let regret = |seed: u64, policy: Policy| {
        let problem = Problem::new(table.domain.clone(), arguments.evaluations)?.with_seed(seed).with_direction(table.direction);
        let value = run(problem, policy, |x| table.value(x), 0.0, seed)?;
        let lost = if table.direction == Direction::Maximize { high - value } else { value - low };
        Ok::<f64, Box<dyn Error + Send + Sync>>(lost / (high - low))
    };
    let one = |seed: u64| {
        let auto = regret(seed, Policy::Auto(Auto::new(arguments.batches)?))?;
        Ok((auto, regret(seed, Policy::Sobol(Default::default()))?, regret(seed, Policy::Random(Default::default()))?))
    };
    let all = (arguments.first..arguments.first + arguments.seeds).into_par_iter().map(one).collect::<Answer<Vec<_>>>()?;
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
