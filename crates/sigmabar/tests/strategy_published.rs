//! Published settings where figures are known: the Branin runs of GP-ThreDS (algorithm notes 10.3) and the batches of BPE (10.1).

#![allow(clippy::unwrap_used)]

use crate::strategy_plain;

use sigmabar::domain::ListDomain;
use sigmabar::strategy::{
    Bkb, Bpe, BpeSchedule, BpeWidth, ExpectedImprovement, GpThreds, GpUcb, Incumbent, ProbabilityOfImprovement, UcbWidth,
};
use sigmabar::{Ask, BoxDomain, Domain, Kernel, Noise, Outcome, Points, Policy, Problem, Strategy};
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
    println!("gp-ucb {ucb:.3?} (published 20.1 ± 3.0, .093)");
    assert!((ucb.0 - 20.1).abs() < 2.0 * 3.0);
}

/// The published runs improve on the largest mean over the whole grid as it was one step before; that, and not the largest mean at measured points, is
/// what keeps probability of improvement from staying on one hill.
#[test]
fn branin_by_improvement() {
    let run = |policy: &dyn Fn() -> Policy| mean_regret(4, |seed| regret(setting(grid(60, 0.0, 1.0), 1000, seed), policy(), seed));
    let last = Incumbent::LastStep;
    let ei = run(&|| Policy::ExpectedImprovement(ExpectedImprovement::default().with_incumbent(last)));
    let pi = run(&|| Policy::ProbabilityOfImprovement(ProbabilityOfImprovement::default().with_incumbent(last)));
    let measured = run(&|| Policy::ExpectedImprovement(ExpectedImprovement::default()));
    println!("ei {ei:.3?} (published 41.2 ± 2.6, .239); pi {pi:.3?} (35.2 ± 3.4, .099); ei over measured points {measured:.3?}");
    // The stored result of expected improvement is not what the released program gives: its rule written out plainly, grid growing from 21² to 80², gave 32.7
    // (30 to 38 over four runs) with the published average at 100. That is the figure to meet.
    assert!((ei.0 - 32.7).abs() < 6.0 && (ei.1 - 0.239).abs() < 0.03);
    assert!((pi.0 - 35.2).abs() < 2.0 * 3.4 && (pi.1 - 0.099).abs() < 0.08);
    assert!(measured.0 < 41.2 + 2.6);
}

#[test]
fn branin_by_thresholds() {
    let domain = || Domain::Box(BoxDomain::unit(2).unwrap());
    let threds = mean_regret(8, |seed| regret(setting(domain(), 2000, seed), Policy::GpThreds(GpThreds::new(0.5, 1.2).unwrap()), seed));
    println!("gp-threds {threds:.3?} (published 89.8 ± 11.3, .319)");
    assert!((threds.0 - 89.8).abs() < 11.3 && (threds.1 - 0.319).abs() < 0.08);
}

/// The script that comes with BKB: 1000 normal arms in three dimensions, linear kernel, 2000 evaluations, noise variance a hundredth of the range, q = 1.
/// No figure of it is published. Its steps written out plainly gave 0.138 of uniform choice's regret on average over twelve draws of arms (0.03 to 0.32) with at
/// most 6 to 15 arms in the dictionary: with q = 1 the dictionary is now and then too small to span the arms, and whatever it misses is then explored again.
#[test]
fn bkb_in_the_setting_of_its_script() {
    let (mut one, mut ten, mut sizes) = (0.0, 0.0, Vec::new());
    for seed in 0..12_u64 {
        let mut rng = strategy_plain::stream(900 + seed, 0);
        let rows: Vec<Vec<f64>> = (0..1000).map(|_| strategy_plain::normals(&mut rng, 3)).collect();
        let direction = strategy_plain::normals(&mut rng, 3);
        let values: Vec<f64> = rows.iter().map(|x| x.iter().zip(&direction).map(|(a, b)| a * b).sum()).collect();
        let (low, high) = values.iter().fold((f64::MAX, f64::MIN), |(l, h), &v| (l.min(v), h.max(v)));
        let level = (0.01 * (high - low)).sqrt();
        let chance = 2000.0 * (high - values.iter().sum::<f64>() / 1000.0);
        let run = |policy: Bkb| {
            let domain = Domain::List(ListDomain::new(Points::from_rows(&rows).unwrap()).unwrap());
            let problem = Problem::new(domain, 2000).unwrap().with_seed(seed).with_delta(0.5).unwrap();
            let problem = problem.with_kernel(Kernel::linear(0.0, 1.0, 1.0).unwrap()).unwrap().with_norm_bound(1.0).unwrap();
            let mut strategy = Strategy::new(problem.with_noise(Noise::gaussian(level).unwrap()).unwrap(), Policy::Bkb(policy)).unwrap();
            while let Ask::Trials(trials) = strategy.ask(usize::MAX).unwrap() {
                for trial in trials {
                    let value = values[trial.candidate.unwrap()] + level * noise(seed, trial.id);
                    strategy.tell(trial.id, Outcome::Value(value)).unwrap();
                }
            }
            let regret: f64 = strategy.ledger().trials().iter().map(|t| high - values[t.candidate.unwrap()]).sum();
            (regret / chance, strategy.batches().unwrap().iter().filter_map(|b| b.inducing).max().unwrap())
        };
        let (plain, oversampled) = (run(Bkb::default()), run(Bkb::default().with_oversampling(10.0)));
        println!("draw {seed}: {:.3} of chance with {} arms; q = 10: {:.3} with {}", plain.0, plain.1, oversampled.0, oversampled.1);
        (one, ten) = (one + plain.0 / 12.0, ten + oversampled.0 / 12.0);
        sizes.push(plain.1);
    }
    println!("on average {one:.3} with q = 1, {ten:.3} with q = 10");
    // The standard error of the difference of two averages over twelve draws is 0.03.
    assert!((one - 0.138).abs() < 0.1, "{one}");
    assert!(sizes.iter().all(|&m| m <= 25), "{sizes:?}");
    assert!(ten < 0.5 * one, "{ten} against {one}");
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
