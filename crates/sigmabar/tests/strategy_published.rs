//! Published settings where figures are known: the Branin runs of GP-ThreDS (algorithm notes 10.3) and the batches of BPE (10.1).

#![allow(clippy::unwrap_used)]

mod strategy_plain;

use sigmabar::{
    Ask, BoxDomain, Bpe, BpeSchedule, BpeWidth, Domain, ExpectedImprovement, GpThreds, GpUcb, Kernel, ListDomain, Noise, Outcome, Points,
    Policy, Problem, Strategy, UcbWidth,
};
use strategy_plain::noise;

const BEST: f64 = 1.0474;

fn branin(x: &[f64]) -> f64 {
    use std::f64::consts::PI;
    let (u, v) = (15.0 * x[0] - 5.0, 15.0 * x[1]);
    let square = (v - 5.1 * u * u / (4.0 * PI * PI) + 5.0 * u / PI - 6.0).powi(2);
    -(square + (10.0 - 10.0 / (8.0 * PI)) * u.cos() - 44.81) / 51.95
}

fn grid(side: usize, low: f64, high: f64) -> Domain {
    let at = |i: usize| low + (high - low) * i as f64 / (side - 1) as f64;
    let rows: Vec<Vec<f64>> = (0..side * side).map(|g| vec![at(g / side), at(g % side)]).collect();
    Domain::List(ListDomain::new(Points::from_rows(&rows).unwrap()).unwrap())
}

fn setting(domain: Domain, budget: usize, seed: u64) -> Problem {
    Problem::new(domain, budget)
        .unwrap()
        .with_seed(seed)
        .with_delta(0.001)
        .unwrap()
        .with_kernel(Kernel::squared_exponential(0.2, 1.0).unwrap())
        .unwrap()
        .with_noise(Noise::gaussian(0.1).unwrap())
        .unwrap()
        .with_norm_bound(0.5)
        .unwrap()
}

/// Cumulative regret after each evaluation.
fn regret(problem: Problem, policy: Policy, seed: u64) -> Vec<f64> {
    let mut strategy = Strategy::new(problem, policy).unwrap();
    while let Ask::Trials(trials) = strategy.ask(1000).unwrap() {
        trials.iter().for_each(|t| strategy.tell(t.id, Outcome::Value(branin(&t.point) + 0.1 * noise(seed, t.id))).unwrap());
    }
    let steps = strategy.ledger().trials().iter().map(|t| BEST - branin(&t.point));
    steps
        .scan(0.0, |sum, r| {
            *sum += r;
            Some(*sum)
        })
        .collect()
}

fn mean_regret(seeds: u64, run: impl Fn(u64) -> Vec<f64>) -> (f64, f64) {
    let runs: Vec<Vec<f64>> = (0..seeds).map(run).collect();
    let mean = |t: usize| runs.iter().map(|r| r[t - 1]).sum::<f64>() / seeds as f64;
    (mean(runs[0].len()), mean(100) / 100.0)
}

#[test]
fn branin_on_a_grid() {
    let ucb = mean_regret(4, |seed| regret(setting(grid(60, 0.0, 1.0), 1000, seed), Policy::GpUcb(GpUcb::new(UcbWidth::LogTime)), seed));
    let ei = mean_regret(4, |seed| {
        regret(setting(grid(60, 0.0, 1.0), 1000, seed), Policy::ExpectedImprovement(ExpectedImprovement::default()), seed)
    });
    println!("gp-ucb {ucb:.3?} (published 20.1 ± 3.0, .093); ei {ei:.3?} (41.2 ± 2.6, .239)");
    assert!((ucb.0 - 20.1).abs() < 2.0 * 3.0);
    // The published grid starts at 20² and grows; ours is 60² from the start, which helps expected improvement.
    assert!(ucb.0 < ei.0 && ei.0 < 41.2 + 2.6);
    assert!((ei.1 - 0.239).abs() < 0.08);
}

#[test]
fn branin_by_thresholds() {
    let domain = || Domain::Box(BoxDomain::unit(2).unwrap());
    let threds = mean_regret(8, |seed| regret(setting(domain(), 2000, seed), Policy::GpThreds(GpThreds::new(0.5, 1.2).unwrap()), seed));
    println!("gp-threds {threds:.3?} (published 89.8 ± 11.3, .319)");
    assert!((threds.0 - 89.8).abs() < 11.3 && (threds.1 - 0.319).abs() < 0.08);
}

/// A function drawn as in the published BPE runs: the interpolant of 25 values of the prior on a 5 × 5 grid of [−5,5]².
fn published_bpe(policy: Policy, seed: u64) -> f64 {
    let kernel = Kernel::squared_exponential(0.5, 1.0).unwrap();
    let mut rng = strategy_plain::stream(500 + seed, 0);
    // The 25 points are 2.5 apart, five length-scales: the prior values are as good as independent, and so are the weights.
    let weights = strategy_plain::normals(&mut rng, 25);
    let f =
        |x: &[f64]| (0..25).map(|j| weights[j] * kernel.value(x, &[-5.0 + 2.5 * (j / 5) as f64, -5.0 + 2.5 * (j % 5) as f64])).sum::<f64>();
    let domain = grid(50, -5.0, 5.0);
    let Domain::List(list) = &domain else { unreachable!() };
    let best = list.points().rows().map(f).fold(f64::NEG_INFINITY, f64::max);
    let problem = Problem::new(domain.clone(), 1000)
        .unwrap()
        .with_seed(seed)
        .with_kernel(&kernel)
        .unwrap()
        .with_noise(Noise::gaussian(0.02).unwrap())
        .unwrap();
    let mut strategy = Strategy::new(problem, policy).unwrap();
    while let Ask::Trials(trials) = strategy.ask(1000).unwrap() {
        trials.iter().for_each(|t| strategy.tell(t.id, Outcome::Value(f(&t.point) + 0.02 * noise(seed, t.id))).unwrap());
    }
    strategy.ledger().trials().iter().map(|t| best - f(&t.point)).sum()
}

#[test]
fn bpe_in_its_published_setting() {
    let mean = |policy: Policy| (0..3).map(|seed| published_bpe(policy.clone(), seed)).sum::<f64>() / 3.0;
    let bpe = |schedule: BpeSchedule| Policy::Bpe(Bpe::new(schedule, BpeWidth::Constant(2.0)));
    let original = mean(bpe(BpeSchedule::Recursion));
    let two = mean(bpe(BpeSchedule::Growing(2)));
    let four = mean(bpe(BpeSchedule::Growing(4)));
    let ucb = mean(Policy::GpUcb(GpUcb::new(UcbWidth::Constant(2f64.sqrt()))));
    println!("bpe original {original:.0}, 2 batches {two:.0}, 4 batches {four:.0}, gp-ucb {ucb:.0}");
    // Known from the published plots are orders only: two batches are too few, four are as good as the recursion or better, sequential choice wins.
    assert!(two > 1.5 * original && two > 1.5 * four && ucb < four.min(original));
}
