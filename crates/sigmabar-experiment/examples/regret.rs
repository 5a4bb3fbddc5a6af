//! Cumulative regret of uniform sampling, the paper's S-BPE and the certified one: `cargo run --release -p sigmabar-experiment --example regret -- [seeds] [budget] [first seed]`;
//! and how the certified one's grows with the budget, beside the computed bound: `cargo run --release -p sigmabar-experiment --example regret -- growth [seeds] [table.csv]`.
//! The picture of that table: `cargo run --release -p sigmabar-cli --example growth -- table.csv page.html`.
//! What planning with more than the declared norm buys and costs: `cargo run --release -p sigmabar-experiment --example regret -- factors [seeds] [budget]`.
//!
//! Both compare at equal premises: the certified one plans by the declared norm bound (`plan_factor` 1, where the default is 1.5), as the paper's does.
//!
//! Functions are random expansions with 30 centres and a norm of exactly C = 2; the noise is normal with R = 0.2, declared sub-Gaussian; the ridge is R, δ = 0.05.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use sigmabar::domain::ListDomain;
use sigmabar::gain::GainDomain;
use sigmabar::strategy::{Random, Rules, Sbpe};
use sigmabar::theory::{DesignedData, InducingPlan, Multiplier, RegretBatch, RegretRequest, Theorems, batch_lengths};
use sigmabar::{Ask, Domain, Expansion, Kernel, Noise, Outcome, Points, Policy, Problem, Result, Strategy};

const NORM: f64 = 2.0;
const NOISE: f64 = 0.2;

struct Setting {
    name: &'static str,
    kernel: Kernel,
    dim: usize,
    candidates: usize,
    /// The largest slope that theory allows on log-log axes, with a margin.
    slope: f64,
}

/// What one run came to.
#[derive(Clone, Copy, Default)]
struct Run {
    regret: f64,
    gap: f64,
    lost: bool,
    exceeded: bool,
}

fn main() -> Result<()> {
    let numbers: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let seeds = numbers.first().copied().unwrap_or(20);
    let settings = [
        Setting { name: "SE l=.2, d=1, 400 points", kernel: Kernel::squared_exponential(0.2, 1.0)?, dim: 1, candidates: 400, slope: 0.6 },
        Setting {
            name: "Matern-5/2 l=.3, d=2, 500 points",
            kernel: Kernel::matern(2.5, 0.3, 1.0)?,
            dim: 2,
            candidates: 500,
            slope: 4.5 / 7.0 + 0.05,
        },
        Setting { name: "SE l=.3, d=2, 500 points", kernel: Kernel::squared_exponential(0.3, 1.0)?, dim: 2, candidates: 500, slope: 0.6 },
    ];
    if std::env::args().any(|a| a == "growth") {
        let rows: Vec<String> = settings.iter().map(|setting| growth(setting, seeds)).collect::<Result<Vec<_>>>()?.concat();
        if let Some(path) = std::env::args().find(|a| a.ends_with(".csv")) {
            let table = format!("setting,budget,regret,bound,slope_limit\n{}", rows.concat());
            std::fs::write(&path, table).unwrap_or_else(|error| panic!("{path} cannot be written: {error}"));
        }
        return Ok(());
    }
    if std::env::args().any(|a| a == "factors") {
        return factors(&settings, seeds as u64, numbers.get(1).copied().unwrap_or(1000));
    }
    let first = numbers.get(2).map_or(0, |&first| first as u64);
    compare(&settings, first..first + seeds as u64, numbers.get(1).copied().unwrap_or(1000))
}

/// R(N) of the certified S-BPE against N, with the corrected bound of the exact model (algorithm notes 6.5) and the slope over the last decade. Gives the
/// rows of a CSV table back.
fn growth(setting: &Setting, seeds: usize) -> Result<Vec<String>> {
    println!("{}: mean R(N) over {seeds} seeds", setting.name);
    println!("{:>9} {:>10} {:>12} {:>9}", "N", "R(N)", "bound", "R/bound");
    let (mut curve, mut rows) = (Vec::new(), Vec::new());
    for budget in [100, 316, 1000, 3162, 10_000, 31_623, 100_000] {
        let runs: Vec<Run> =
            (0..seeds as u64).into_par_iter().map(|seed| run(setting, budget, seed, certified(1.0)?)).collect::<Result<_>>()?;
        let regret = runs.iter().map(|r| r.regret).sum::<f64>() / seeds as f64;
        let bound = bound(setting, budget)?;
        println!("{budget:9} {regret:10.1} {bound:12.1} {:9.3}", regret / bound);
        rows.push(format!("\"{}\",{budget},{regret},{bound},{}\n", setting.name, setting.slope));
        curve.push((budget, regret));
    }
    let (first, last) = (curve[curve.len() - 3], curve[curve.len() - 1]);
    let slope = (last.1 / first.1).ln() / (last.0 as f64 / first.0 as f64).ln();
    println!("slope over the last decade {slope:.3}   [at most {:.3}]\n", setting.slope);
    Ok(rows)
}

/// The regret bound on one draw of the candidates, with the information gain of each batch bounded on them.
fn bound(setting: &Setting, budget: usize) -> Result<f64> {
    let premises = sigmabar::theory::Setting {
        norm_bound: NORM,
        noise: Noise::sub_gaussian(NOISE)?,
        ridge: NOISE,
        delta: 0.05,
        residual_ratio: 0.0,
        max_variance: 1.0,
    };
    let gains = GainDomain::new(&setting.kernel, NOISE, candidates(setting, 0)?.view())?;
    let gain = |n: usize| gains.max_gain(n).map(|gain| gain.upper().value);
    let batch = |n: usize| {
        let max_gain = gain(n)?;
        let inducing = InducingPlan::Fixed { max_residual: 0.0, gain: max_gain };
        Ok(RegretBatch { design: DesignedData { evaluations: n, max_gain, inducing }, cover: None })
    };
    let batches: Vec<RegretBatch> = batch_lengths(budget)?.into_iter().map(batch).collect::<Result<_>>()?;
    let request = RegretRequest { budget, max_gain: gain(budget)?, multiplier: Multiplier::Direct, batches: &batches };
    Ok(Theorems::new(premises)?.regret_finite(&request, setting.candidates)?.corrected)
}

/// Certified S-BPE that plans with this many times the declared norm bound.
fn certified(plan_factor: f64) -> Result<Policy> {
    Ok(Policy::Sbpe(Box::new(Sbpe::default().with_plan_factor(plan_factor)?)))
}

/// What a plan factor buys and costs: regret and gap over those of factor 1, and how far the answer stands.
fn factors(settings: &[Setting], seeds: u64, budget: usize) -> Result<()> {
    println!("mean over {seeds} seeds, N = {budget}; C† / C is a median, for twice the gap");
    println!("{:34} {:>6} {:>8} {:>9} {:>8} {:>5}", "problem", "factor", "regret", "gap", "C† / C", "lost");
    for setting in settings {
        let mut plain = None;
        for factor in [1.0, 1.25, 1.5, 2.0] {
            let one = |seed: u64| -> Result<(Run, f64)> {
                let (run, strategy) = finished(setting, budget, seed, certified(factor)?)?;
                let range = strategy.recommend_with_range()?.and_then(|advice| advice.certificate.range);
                Ok((run, range.and_then(|range| range.norm_breakdown).unwrap_or(NORM) / NORM))
            };
            let (runs, mut stands): (Vec<Run>, Vec<f64>) =
                (0..seeds).into_par_iter().map(one).collect::<Result<Vec<_>>>()?.into_iter().unzip();
            let mean = |of: fn(&Run) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
            stands.sort_by(f64::total_cmp);
            let (regret, gap) = (mean(|r| r.regret), mean(|r| r.gap));
            let (first, own) = *plain.get_or_insert((regret, gap));
            let lost = runs.iter().filter(|r| r.lost || r.exceeded).count();
            println!("{:34} {factor:6} {:8.2} {:9.2} {:8.2} {lost:5}", setting.name, regret / first, gap / own, stands[stands.len() / 2]);
        }
    }
    Ok(())
}

/// The table of one budget.
fn compare(settings: &[Setting], seeds: std::ops::Range<u64>, budget: usize) -> Result<()> {
    println!("mean R(N) over {} seeds from {}, N = {budget}", seeds.clone().count(), seeds.start);
    println!(
        "{:34} {:>9} {:>9} {:>9} {:>7} {:>9} {:>5} {:>9}",
        "problem", "uniform", "paper", "certified", "ratio", "gap", "lost", "exceeded"
    );
    let mut logs = 0.0;
    for setting in settings {
        let mean = |policy: fn() -> Policy| -> Result<(Run, usize, usize)> {
            let runs: Vec<Run> = seeds.clone().into_par_iter().map(|seed| run(setting, budget, seed, policy())).collect::<Result<_>>()?;
            let share = 1.0 / runs.len() as f64;
            let total =
                runs.iter().fold(Run::default(), |a, r| Run { regret: a.regret + share * r.regret, gap: a.gap + share * r.gap, ..a });
            Ok((total, runs.iter().filter(|r| r.lost).count(), runs.iter().filter(|r| r.exceeded).count()))
        };
        let uniform = mean(|| Policy::Random(Random::default()))?.0.regret;
        let paper = mean(|| Policy::Sbpe(Box::new(Sbpe::new(Rules::Paper))))?.0.regret;
        let (certified, lost, exceeded) = mean(|| certified(1.0).expect("a factor"))?;
        let ratio = certified.regret / paper;
        logs += ratio.ln() / settings.len() as f64;
        println!(
            "{:34} {uniform:9.1} {paper:9.1} {:9.1} {ratio:7.3} {:9.3} {lost:5} {exceeded:9}",
            setting.name, certified.regret, certified.gap
        );
    }
    println!("geometric mean of certified/paper: {:.3}   [at most 0.30]", logs.exp());
    Ok(())
}

fn run(setting: &Setting, budget: usize, seed: u64, policy: Policy) -> Result<Run> {
    finished(setting, budget, seed, policy).map(|(run, _)| run)
}

fn finished(setting: &Setting, budget: usize, seed: u64, policy: Policy) -> Result<(Run, Strategy)> {
    let mut rng = ChaCha8Rng::seed_from_u64(1000 + seed);
    let points = uniform(setting.candidates, setting.dim, &mut rng)?;
    let centres = uniform(30, setting.dim, &mut rng)?;
    let function = Expansion::random(setting.kernel.clone(), centres, NORM, seed)?;
    let values = function.values(points.view())?;
    let best = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let problem = Problem::new(Domain::List(ListDomain::new(points)?), budget)?
        .with_kernel(setting.kernel.clone())?
        .with_norm_bound(NORM)?
        .with_noise(Noise::sub_gaussian(NOISE)?)?
        .with_seed(seed);
    let mut strategy = Strategy::new(problem, policy)?;
    let mut regret = 0.0;
    while let Ask::Trials(trials) = strategy.ask(usize::MAX)? {
        for trial in trials {
            let value = values[trial.candidate.expect("a list has candidates")];
            let noise: f64 = StandardNormal.sample(&mut rng);
            regret += best - value;
            strategy.tell(trial.id, Outcome::Value(value + NOISE * noise))?;
        }
    }
    let survivors = strategy.survivors()?;
    let lost = survivors.as_ref().and_then(|s| s.candidates()).is_some_and(|s| s.iter().all(|&i| values[i] < best));
    let advice = strategy.recommend()?.expect("something was measured");
    let simple = best - values[advice.candidate.expect("a list has candidates")];
    Ok((Run { regret, gap: advice.gap, lost, exceeded: simple > advice.gap }, strategy))
}

fn candidates(setting: &Setting, seed: u64) -> Result<Points> {
    uniform(setting.candidates, setting.dim, &mut ChaCha8Rng::seed_from_u64(1000 + seed))
}

fn uniform(count: usize, dim: usize, rng: &mut ChaCha8Rng) -> Result<Points> {
    Points::new((0..count * dim).map(|_| rng.random::<f64>()).collect(), dim)
}
