//! What every strategy owes its user: the same future after saving, whatever the order of telling; a budget spent exactly; clear refusals; better than chance.

#![allow(clippy::unwrap_used)]

mod strategy_plain;

use sigmabar::{
    AdaBkb, Ask, BatchRule, Bbkb, Bkb, BkbWidth, BoxDomain, Bpe, BpeSchedule, BpeWidth, DecoupledThompson, Domain, EkUcb, Error,
    ExpectedImprovement, GpThreds, GpUcb, Kernel, LargestVariance, MetaIndex, MiniMeta, Noise, Outcome, Points, Policy,
    ProbabilityOfImprovement, Problem, Random, Rips, SampleScale, Sequential, Sobol, Strategy, SupKernelUcb, SupWidth, ThompsonSampling,
    Trial, UcbWidth,
};
use strategy_plain::{Bench, choices, dense, noise};

fn everywhere() -> Vec<Policy> {
    let four = Sequential::default().with_batch_len(4).with_box_candidates(64);
    let one = Sequential::default().with_box_candidates(64);
    vec![
        Policy::Random(Random::default()),
        Policy::Sobol(Sobol::default()),
        Policy::GpUcb(GpUcb::default().with_sequential(one)),
        Policy::GpUcb(GpUcb::new(UcbWidth::Constant(2.0)).with_sequential(four)),
        Policy::ExpectedImprovement(ExpectedImprovement::default().with_sequential(one)),
        Policy::ExpectedImprovement(ExpectedImprovement::default().with_sequential(four)),
        Policy::ProbabilityOfImprovement(ProbabilityOfImprovement::default().with_sequential(one)),
        Policy::ThompsonSampling(ThompsonSampling::default().with_sequential(one)),
        Policy::ThompsonSampling(ThompsonSampling::new(SampleScale::Theory).with_sequential(four)),
        Policy::DecoupledThompson(DecoupledThompson::new(100, 20).unwrap().with_sequential(four)),
        Policy::Bpe(Bpe::default().with_sequential(one)),
        Policy::Bpe(Bpe::new(BpeSchedule::Even(4), BpeWidth::Constant(2.0)).keeping_data().with_sequential(one)),
        Policy::Bkb(Bkb::default().with_sequential(one)),
        Policy::Bkb(Bkb::new(BkbWidth::Paper { epsilon: 0.5 }).with_sequential(four)),
        Policy::Bbkb(Bbkb::new(BatchRule::Global, 2.0).unwrap().with_sequential(one)),
        Policy::Bbkb(Bbkb::new(BatchRule::Local, 1.5).unwrap().with_oversampling(20.0).with_sequential(one)),
        Policy::MiniMeta(MiniMeta::new(MetaIndex::default(), 1.5).unwrap().with_sequential(one)),
        Policy::LargestVariance(LargestVariance::default().with_sequential(one)),
        Policy::SupKernelUcb(SupKernelUcb::new(SupWidth::Constant(0.5)).with_sequential(one)),
        Policy::Rips(Rips::default().with_effort(0.001).with_sequential(one)),
    ]
}

fn box_only() -> Vec<Policy> {
    vec![Policy::AdaBkb(AdaBkb::default()), Policy::GpThreds(GpThreds::new(0.0, 1.5).unwrap().with_grid(8).with_cap(5))]
}

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

/// What is told for a trial depends on the trial alone.
fn outcome(t: &Trial) -> Outcome {
    match t.id % 11 {
        4 => Outcome::Failed,
        7 => Outcome::Mean { mean: wave(&t.point), standard_error: 0.03 },
        _ => Outcome::Value(wave(&t.point) + 0.1 * noise(1, t.id)),
    }
}

fn cases() -> Vec<(Problem, Policy)> {
    let list = || Bench::new(40, 0.3, 0.1, 5).problem(37);
    let on_list = everywhere().into_iter().map(|p| (list(), p));
    let on_box = everywhere().into_iter().chain(box_only()).map(|p| (box_problem(37, 3), p));
    on_list.chain(on_box).collect()
}

/// One worker, in order.
fn reference(problem: Problem, policy: Policy) -> Strategy {
    let mut strategy = Strategy::new(problem, policy).unwrap();
    loop {
        match strategy.ask(1).unwrap() {
            Ask::Trials(trials) => trials.iter().for_each(|t| strategy.tell(t.id, outcome(t)).unwrap()),
            Ask::Finished => return strategy,
            other => panic!("a lone worker never waits: {other:?}"),
        }
    }
}

#[test]
fn the_same_future_after_saving_at_every_event() {
    for (problem, policy) in cases() {
        let name = policy.name();
        let want = reference(problem.clone(), policy.clone());
        assert_eq!(want.ledger().trials().len(), 37, "{name} spends its budget");
        let again = |s: Strategy| Strategy::from_bytes(&s.to_bytes()).unwrap();
        let mut strategy = again(Strategy::new(problem, policy).unwrap());
        loop {
            let asked = strategy.ask(1).unwrap();
            strategy = again(strategy);
            match asked {
                Ask::Trials(trials) => {
                    for t in &trials {
                        strategy.tell(t.id, outcome(t)).unwrap();
                        strategy = again(strategy);
                    }
                }
                _ => break,
            }
        }
        assert_eq!(strategy, want, "{name}");
        assert_eq!(strategy.recommend().unwrap(), want.recommend().unwrap());
        assert_eq!(strategy.batches().unwrap().len(), want.ledger().batches());
    }
}

#[test]
fn many_workers_telling_in_any_order_make_the_same_run() {
    for (problem, policy) in cases() {
        let name = policy.name();
        let want = reference(problem.clone(), policy.clone());
        let mut strategy = Strategy::new(problem, policy).unwrap();
        loop {
            let mut held: Vec<Trial> = Vec::new();
            loop {
                match strategy.ask(3).unwrap() {
                    Ask::Trials(trials) => held.extend(trials),
                    Ask::Wait => break,
                    _ => {
                        assert_eq!(strategy.ledger(), want.ledger(), "{name}");
                        break;
                    }
                }
            }
            if held.is_empty() {
                break;
            }
            held.sort_by_key(|t| (t.id * 7919) % 31);
            held.iter().rev().for_each(|t| strategy.tell(t.id, outcome(t)).unwrap());
        }
        assert_eq!(strategy.ledger(), want.ledger(), "{name}");
    }
}

#[test]
fn a_batch_closed_early_does_not_stop_the_run() {
    for (problem, policy) in cases() {
        let name = policy.name();
        let mut strategy = Strategy::new(problem, policy).unwrap();
        let mut late = Vec::new();
        for round in 0.. {
            match strategy.ask(100).unwrap() {
                Ask::Trials(trials) => {
                    for t in trials {
                        if t.id % 4 == 3 { late.push(t) } else { strategy.tell(t.id, outcome(&t)).unwrap() }
                    }
                    strategy.close_batch().unwrap();
                    late.drain(..).for_each(|t| strategy.tell(t.id, outcome(&t)).unwrap());
                }
                Ask::Finished => break,
                other => panic!("{name}: {other:?}"),
            }
            assert!(round < 40, "{name}");
        }
        assert_eq!(strategy.ledger().trials().len(), 37, "{name}");
        assert!(strategy.recommend().unwrap().is_some());
    }
}

#[test]
fn when_everything_fails_the_budget_still_ends() {
    for (problem, policy) in cases() {
        let name = policy.name();
        let mut strategy = Strategy::new(problem, policy).unwrap();
        while let Ask::Trials(trials) = strategy.ask(100).unwrap() {
            trials.iter().for_each(|t| strategy.tell(t.id, Outcome::Failed).unwrap());
        }
        assert_eq!(strategy.ledger().trials().len(), 37, "{name}");
        assert_eq!(strategy.recommend().unwrap(), None);
    }
}

fn refused(problem: Problem, policy: Policy) -> Error {
    Strategy::new(problem, policy).expect_err("it must be refused")
}

#[test]
fn wrong_use_is_refused() {
    let bench = Bench::new(10, 0.3, 0.1, 0);
    let bare = || Problem::new(bench.domain(), 10).unwrap();
    for policy in everywhere().into_iter().skip(2).chain(box_only()) {
        assert!(matches!(refused(bare(), policy), Error::Missing { what: "a kernel" | "a ridge", .. } | Error::Premise { .. }));
    }
    let calm = || bare().with_kernel(&bench.kernel).unwrap().with_ridge(0.1).unwrap();
    for policy in [Policy::GpUcb(GpUcb::default()), Policy::Bpe(Bpe::default()), Policy::Bkb(Bkb::default()), Policy::Bbkb(Bbkb::default())]
    {
        assert!(matches!(refused(calm(), policy), Error::Missing { what: "a norm bound" | "a noise model", .. }));
    }
    assert!(Strategy::new(calm(), Policy::ExpectedImprovement(ExpectedImprovement::default())).is_ok());
    let full = || bench.problem(10);
    let zero = Sequential::default().with_batch_len(0);
    assert!(matches!(
        refused(full(), Policy::GpUcb(GpUcb::default().with_sequential(zero))),
        Error::Parameter { name: "batch length", .. }
    ));
    assert!(matches!(refused(full(), Policy::GpUcb(GpUcb::new(UcbWidth::Constant(f64::NAN)))), Error::Parameter { .. }));
    assert!(matches!(refused(full(), Policy::GpUcb(GpUcb::new(UcbWidth::SrinivasBox { a: 1.0, b: 1.0 }))), Error::Premise { .. }));
    assert!(matches!(
        refused(full(), Policy::ExpectedImprovement(ExpectedImprovement::default().with_margin(-1.0))),
        Error::Parameter { .. }
    ));
    assert!(matches!(refused(full(), Policy::Bpe(Bpe::default().keeping_data())), Error::Premise { .. }));
    assert!(matches!(refused(full(), Policy::Bkb(Bkb::new(BkbWidth::Paper { epsilon: 1.0 }))), Error::Parameter { name: "epsilon", .. }));
    assert!(matches!(refused(full(), Policy::AdaBkb(AdaBkb::default())), Error::Premise { what: "Ada-BKB", .. }));
    assert!(matches!(refused(full(), Policy::GpThreds(GpThreds::new(0.0, 1.0).unwrap())), Error::Premise { what: "GP-ThreDS", .. }));
    assert!(matches!(refused(full(), Policy::EkUcb(EkUcb::new(Points::from_rows(&bench.points).unwrap()))), Error::Premise { .. }));
    let straight = bare().with_kernel(Kernel::linear(0.0, 1.0, 1.0).unwrap()).unwrap().with_ridge(0.1).unwrap();
    assert!(matches!(refused(straight, Policy::DecoupledThompson(DecoupledThompson::default())), Error::Premise { .. }));
    assert!(Bbkb::new(BatchRule::Global, 0.5).is_err() && MiniMeta::new(MetaIndex::default(), f64::NAN).is_err());
    assert!(GpThreds::new(1.0, 1.0).is_err() && DecoupledThompson::new(0, 5).is_err());

    let mut strategy = Strategy::new(full(), Policy::GpUcb(GpUcb::default())).unwrap();
    assert!(matches!(strategy.set_context(&[1.0]), Err(Error::Premise { .. })));
    let Ask::Trials(trials) = strategy.ask(1).unwrap() else { panic!("a trial is due") };
    assert!(matches!(strategy.tell(99, Outcome::Value(0.0)), Err(Error::UnknownTrial { id: 99 })));
    assert!(matches!(strategy.tell(trials[0].id, Outcome::Value(f64::NAN)), Err(Error::NotFinite { .. })));
    strategy.tell(trials[0].id, Outcome::Value(0.0)).unwrap();
    assert!(matches!(strategy.tell(trials[0].id, Outcome::Value(0.0)), Err(Error::AlreadyTold { .. })));
}

#[test]
fn the_box_formula_of_gp_ucb_is_the_printed_one() {
    // With one evaluation made, the index is μ + bσ at every candidate: the second choice reveals b only through the argmax, so compare whole runs with the
    // constant width that the formula gives at each step being the same.
    let (a, b, d, r, delta) = (1.0, 2.0, 2.0, 2.0f64, 0.05f64);
    let factor = |t: f64| {
        let first = 2.0 * (t * t * 2.0 * std::f64::consts::PI.powi(2) / (3.0 * delta)).ln();
        (first + 2.0 * d * (t * t * d * b * r * (4.0 * d * a / delta).ln().sqrt()).ln()).sqrt()
    };
    let four = Sequential::default().with_box_candidates(64);
    let run = reference(box_problem(2, 1), Policy::GpUcb(GpUcb::new(UcbWidth::SrinivasBox { a, b }).with_sequential(four)));
    let same = reference(box_problem(2, 1), Policy::GpUcb(GpUcb::new(UcbWidth::Constant(factor(2.0))).with_sequential(four)));
    assert_eq!(run.ledger(), same.ledger());
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
