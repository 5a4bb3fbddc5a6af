//! Every strategy beats uniform choice on its own ground.

#![allow(clippy::unwrap_used)]

use crate::strategy_plain;

use sigmabar::strategy::{
    AdaBkb, BatchRule, Bbkb, Bkb, BkbWidth, Bpe, BpeSchedule, BpeWidth, DecoupledThompson, ExpectedImprovement, GpThreds, GpUcb,
    LargestVariance, MetaIndex, MiniMeta, ProbabilityOfImprovement, Random, Rips, SupKernelUcb, ThompsonSampling, UcbWidth,
};
use sigmabar::{Ask, BoxDomain, Domain, Kernel, Noise, Outcome, Policy, Problem, Strategy};
use strategy_plain::{Bench, choices, dense, noise};

fn wave(x: &[f64]) -> f64 {
    (5.0 * x[0]).sin() * (3.0 * x[1] + 0.5).cos()
}

fn box_problem(budget: usize, seed: u64) -> Problem {
    Problem::new(Domain::Box(BoxDomain::new(vec![0.0, -1.0], vec![1.0, 1.0]).unwrap()), budget)
        .unwrap()
        .with_seed(seed)
        .with_kernel(Kernel::squared_exponential([0.3, 0.5], 1.0).unwrap())
        .unwrap()
        .with_noise(Noise::gaussian(0.1).unwrap())
        .unwrap()
        .with_norm_bound(2.0)
        .unwrap()
}

/// Mean and standard error of paired differences.
fn margin(differences: &[f64]) -> (f64, f64) {
    let n = differences.len() as f64;
    let mean = differences.iter().sum::<f64>() / n;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

#[test]
fn every_strategy_beats_chance_on_a_list() {
    let (seeds, budget) = (12, 150);
    let constant = UcbWidth::Constant(2.0);
    let policies = [
        Policy::GpUcb(GpUcb::default()),
        Policy::GpUcb(GpUcb::new(UcbWidth::Srinivas)),
        Policy::ExpectedImprovement(ExpectedImprovement::default()),
        Policy::ProbabilityOfImprovement(ProbabilityOfImprovement::default()),
        Policy::ThompsonSampling(ThompsonSampling::default()),
        Policy::DecoupledThompson(DecoupledThompson::default()),
        Policy::Bpe(Bpe::new(BpeSchedule::Recursion, BpeWidth::Constant(2.0))),
        Policy::Bpe(Bpe::default()),
        Policy::MiniMeta(MiniMeta::default()),
        Policy::MiniMeta(MiniMeta::new(MetaIndex::Ucb(constant), 1.5).unwrap()),
    ];
    beats_chance(&policies, seeds, budget, |seed| Bench::new(60, 0.25, 0.1, 50 + seed));
}

/// The wide bands of these methods grow with the effective dimension: their ground are smooth functions.
#[test]
fn cautious_strategies_beat_chance_on_smooth_functions() {
    let policies = [
        Policy::Bkb(Bkb::default()),
        Policy::Bbkb(Bbkb::default()),
        Policy::Bbkb(Bbkb::new(BatchRule::Local, 2.0).unwrap()),
        Policy::SupKernelUcb(SupKernelUcb::default()),
    ];
    beats_chance(&policies, 12, 300, |seed| Bench::new(60, 1.0, 0.1, 50 + seed));
}

fn beats_chance(policies: &[Policy], seeds: u64, budget: usize, bench: impl Fn(u64) -> Bench) {
    for policy in policies {
        let differences: Vec<f64> = (0..seeds)
            .map(|seed| {
                let bench = bench(seed);
                let chance = bench.cumulative_regret(&choices(&bench.run(Policy::Random(Random::default()), budget)));
                let ours = bench.cumulative_regret(&choices(&bench.run(policy.clone(), budget)));
                (chance - ours) / chance
            })
            .collect();
        let (mean, error) = margin(&differences);
        println!("{:>14}: saves {:.3} ± {:.3} of chance's cumulative regret", policy.name(), mean, error);
        assert!(mean > 0.1 && mean > 3.0 * error, "{}: {mean} ± {error}", policy.name());
    }
}

#[test]
fn rips_beats_chance_where_it_has_phases() {
    let differences: Vec<f64> = (0..10)
        .map(|seed| {
            let bench = Bench::new(30, 0.4, 0.1, 80 + seed);
            let budget = 3000;
            let chance = bench.cumulative_regret(&choices(&bench.run(Policy::Random(Random::default()), budget)));
            let ours = bench.cumulative_regret(&choices(&bench.run(Policy::Rips(Rips::default().with_effort(0.02)), budget)));
            (chance - ours) / chance
        })
        .collect();
    let (mean, error) = margin(&differences);
    println!("rips saves {mean:.3} ± {error:.3} of chance's cumulative regret");
    assert!(mean > 0.1 && mean > 3.0 * error, "{mean} ± {error}");
}

#[test]
fn cells_beat_chance_on_a_box() {
    for policy in [Policy::AdaBkb(AdaBkb::new(BkbWidth::Constant(2.0))), Policy::GpThreds(GpThreds::new(0.3, 1.5).unwrap().with_cap(15))] {
        let differences: Vec<f64> = (0..10)
            .map(|seed| {
                let regret = |policy: Policy| {
                    let mut strategy = Strategy::new(box_problem(150, seed), policy).unwrap();
                    while let Ask::Trials(trials) = strategy.ask(1).unwrap() {
                        trials.iter().for_each(|t| strategy.tell(t.id, Outcome::Value(wave(&t.point) + 0.1 * noise(seed, t.id))).unwrap());
                    }
                    strategy.ledger().trials().iter().map(|t| 1.0 - wave(&t.point)).sum::<f64>()
                };
                let chance = regret(Policy::Random(Random::default()));
                (chance - regret(policy.clone())) / chance
            })
            .collect();
        let (mean, error) = margin(&differences);
        println!("{:>14}: saves {:.3} ± {:.3} of chance's cumulative regret", policy.name(), mean, error);
        assert!(mean > 0.1 && mean > 3.0 * error, "{}: {mean} ± {error}", policy.name());
    }
}

#[test]
fn a_designed_set_of_points_leaves_less_uncertainty_than_a_random_one() {
    let differences: Vec<f64> = (0..12)
        .map(|seed| {
            let bench = Bench::new(60, 0.25, 0.1, 50 + seed);
            let gram = bench.gram();
            let worst = |policy: Policy| {
                let data: Vec<(usize, f64)> =
                    choices(&bench.run(policy, 40)).into_iter().enumerate().map(|(id, a)| (a, bench.value(a, id as u64))).collect();
                let p = dense(&gram, bench.noise, &data);
                (0..60).map(|a| (p.mean[a] - bench.truth[a]).abs()).fold(0.0, f64::max)
            };
            worst(Policy::Random(Random::default())) - worst(Policy::LargestVariance(LargestVariance::default()))
        })
        .collect();
    let (mean, error) = margin(&differences);
    assert!(mean > 3.0 * error, "{mean} ± {error}");
}
