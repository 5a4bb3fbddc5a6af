//! Cumulative regret of uniform sampling, the paper's S-BPE and the certified one: `cargo run --release --example regret -- [seeds] [budget]`.
//!
//! Functions are random expansions with 30 centres and a norm of exactly C = 2; the noise is normal with R = 0.2, declared sub-Gaussian; the ridge is R, δ = 0.05.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use sigmabar::{
    Ask, Domain, Expansion, Kernel, ListDomain, Noise, Outcome, Points, Policy, Problem, Random, Result, Rules, Sbpe, Strategy,
};

const NORM: f64 = 2.0;
const NOISE: f64 = 0.2;

struct Setting {
    name: &'static str,
    kernel: Kernel,
    dim: usize,
    candidates: usize,
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
    let (seeds, budget) = (numbers.first().copied().unwrap_or(20), numbers.get(1).copied().unwrap_or(1000));
    let settings = [
        Setting { name: "SE l=.2, d=1, 400 points", kernel: Kernel::squared_exponential(0.2, 1.0)?, dim: 1, candidates: 400 },
        Setting { name: "Matern-5/2 l=.3, d=2, 500 points", kernel: Kernel::matern(2.5, 0.3, 1.0)?, dim: 2, candidates: 500 },
        Setting { name: "SE l=.3, d=2, 500 points", kernel: Kernel::squared_exponential(0.3, 1.0)?, dim: 2, candidates: 500 },
    ];
    println!("mean R(N) over {seeds} seeds, N = {budget}");
    println!(
        "{:34} {:>9} {:>9} {:>9} {:>7} {:>9} {:>5} {:>9}",
        "problem", "uniform", "paper", "certified", "ratio", "gap", "lost", "exceeded"
    );
    let mut logs = 0.0;
    for setting in &settings {
        let mean = |policy: fn() -> Policy| -> Result<(Run, usize, usize)> {
            let runs: Vec<Run> =
                (0..seeds as u64).into_par_iter().map(|seed| run(setting, budget, seed, policy())).collect::<Result<_>>()?;
            let share = 1.0 / seeds as f64;
            let total =
                runs.iter().fold(Run::default(), |a, r| Run { regret: a.regret + share * r.regret, gap: a.gap + share * r.gap, ..a });
            Ok((total, runs.iter().filter(|r| r.lost).count(), runs.iter().filter(|r| r.exceeded).count()))
        };
        let uniform = mean(|| Policy::Random(Random::default()))?.0.regret;
        let paper = mean(|| Policy::Sbpe(Box::new(Sbpe::new(Rules::Paper))))?.0.regret;
        let (certified, lost, exceeded) = mean(|| Policy::Sbpe(Box::default()))?;
        let ratio = certified.regret / paper;
        logs += ratio.ln() / settings.len() as f64;
        println!(
            "{:34} {uniform:9.1} {paper:9.1} {:9.1} {ratio:7.3} {:9.3} {lost:5} {exceeded:9}",
            setting.name, certified.regret, certified.gap
        );
    }
    println!("geometric mean of certified/paper: {:.3}   [at most 0.42]", logs.exp());
    Ok(())
}

fn run(setting: &Setting, budget: usize, seed: u64, policy: Policy) -> Result<Run> {
    let mut rng = ChaCha8Rng::seed_from_u64(1000 + seed);
    let mut uniform = |count: usize| Points::new((0..count * setting.dim).map(|_| rng.random::<f64>()).collect(), setting.dim);
    let (points, centres) = (uniform(setting.candidates)?, uniform(30)?);
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
    let lost = strategy.survivors().is_some_and(|s| s.iter().all(|&i| values[i] < best));
    let advice = strategy.recommend()?.expect("something was measured");
    let simple = best - values[advice.candidate.expect("a list has candidates")];
    Ok(Run { regret, gap: advice.gap, lost, exceeded: simple > advice.gap })
}
