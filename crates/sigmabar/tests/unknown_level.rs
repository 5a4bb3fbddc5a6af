//! Runs whose noise level nobody knows: replicates bound it, the bound is paid for, and everything claimed holds (algorithm notes 13.3).

use crate::sbpe_support;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use sbpe_support::{Drawn, Known, finish, sbpe};
use sigmabar::domain::ListDomain;
use sigmabar::noise::{NOISE_SHARE, Replicates};
use sigmabar::posterior::ExactPosterior;
use sigmabar::strategy::{Sbpe, Schedule};
use sigmabar::{
    Ask, Claim, Collected, Domain, FeatureMap, Kernel, Label, Noise, Observations, Origin, Outcome, Points, Posterior, Prior, Problem,
    Strategy,
};
use std::sync::Arc;

const SIGMA: f64 = 0.1;

/// Two settings that hardly know of each other, the first a hair better, and a bound on the norm so large that bias is nothing beside noise: claims are as sharp as they get.
fn two(budget: usize, delta: f64) -> Problem {
    let domain = Domain::List(ListDomain::new(Points::on_line(vec![0.0, 1.0]).unwrap()).unwrap());
    let problem = Problem::new(domain, budget).unwrap().with_kernel(Kernel::squared_exponential(0.1, 1.0).unwrap()).unwrap();
    problem.with_norm_bound(100.0).unwrap().with_delta(delta).unwrap()
}

const BEST: f64 = 1e-9;

/// Whether the claim was false and the level it went by: with the rule, and without.
type Judged = ((bool, f64), (bool, f64));

/// Whether the claim of a run of one batch is false, and the level that it went by.
fn judged(problem: Problem, values: &[Vec<f64>]) -> (bool, f64) {
    let budget = problem.budget();
    let policy = Sbpe::default().with_schedule(Schedule::Lengths(vec![budget]));
    let mut run = Strategy::new(problem, sbpe(policy)).unwrap();
    let mut used = [0, 0];
    let Ask::Trials(trials) = run.ask(budget).unwrap() else { panic!("a batch") };
    for trial in trials {
        let i = trial.candidate.unwrap();
        run.tell(trial.id, Outcome::Value(values[i][used[i]])).unwrap();
        used[i] += 1;
    }
    let advice = run.recommend().unwrap().unwrap();
    assert_eq!(advice.label(), Label::Certified);
    let regret = if advice.candidate == Some(0) { 0.0 } else { BEST };
    (regret > advice.gap, advice.certificate.premises.noise.value.unwrap().level())
}

#[test]
fn claims_miss_in_at_most_a_delta_share_and_without_the_rule_they_do_not() {
    let delta = 0.001;
    for freedom in [5, 12, 50] {
        let budget = freedom + 2;
        let draws: Vec<_> = (0..2000_u64)
            .into_par_iter()
            .map(|seed| {
                let mut rng = ChaCha8Rng::seed_from_u64(1000 * freedom as u64 + seed);
                let mut draw = |mean: f64| -> Vec<f64> { (0..budget).map(|_| mean + SIGMA * noise(&mut rng)).collect() };
                let values = vec![draw(BEST), draw(0.0)];
                let unknown = judged(two(budget, delta).with_unknown_level(0.13, 1).unwrap(), &values);
                // The rule taken out: the scatter goes as the level.
                let half = budget.div_ceil(2);
                let (x, y): (Vec<f64>, Vec<f64>) = (0..2).flat_map(|i| values[i][..half].iter().map(move |v| (i as f64, *v))).unzip();
                let scatter = Replicates::of(Points::on_line(x).unwrap(), &y).unwrap().std_dev().unwrap();
                let trusting = judged(two(budget, delta).with_noise(Noise::gaussian(scatter).unwrap()).unwrap(), &values);
                (unknown, trusting)
            })
            .collect();
        let share = |is: &dyn Fn(&Judged) -> bool| draws.iter().filter(|d| is(d)).count() as f64 / 2000.0;
        let (claims, level) = (share(&|d| d.0.0), share(&|d| d.0.1 < SIGMA));
        let (trusted, scatter) = (share(&|d| d.1.0), share(&|d| d.1.1 < SIGMA));
        println!("nu = {freedom}: claims {claims}, level {level}; by the scatter: claims {trusted}, level {scatter}");
        assert!(claims <= delta && level <= NOISE_SHARE * delta + 3.0 * (NOISE_SHARE * delta / 2000.0).sqrt());
        assert!(scatter > 0.3, "{scatter}");
        if freedom == 5 {
            assert!(trusted > delta + 3.0 * (delta / 2000.0).sqrt(), "{trusted}");
        }
    }
}

fn noise(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

fn known() -> Known {
    Known::random(Kernel::matern(2.5, 0.3, 1.0).unwrap(), 2, 60, 1.0, SIGMA, 3)
}

fn unknown(known: &Known, budget: usize) -> Problem {
    known.problem(budget, Drawn::Gaussian, 1).with_unknown_level(2.0 * SIGMA, 1).unwrap()
}

#[test]
fn a_run_repeats_in_its_first_batch_and_says_how_often_and_why() {
    let known = known();
    let mut run = Strategy::new(unknown(&known, 400), sbpe(Sbpe::default())).unwrap();
    assert_eq!(run.repeats(), None);
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let (mut levels, mut first) = (Vec::new(), None);
    while let Ask::Trials(trials) = run.ask(usize::MAX).unwrap() {
        first = first.or(run.repeats());
        for trial in trials {
            run.tell(trial.id, Outcome::Value(known.values[trial.candidate.unwrap()] + SIGMA * noise(&mut rng))).unwrap();
        }
        let certificate = run.recommend().unwrap().unwrap().certificate;
        assert_eq!(certificate.label(), Label::Certified);
        let spent: f64 = certificate.spent.iter().map(|s| s.delta).sum();
        assert!((spent - certificate.delta).abs() < 1e-12);
        assert!(certificate.spent.iter().any(|s| s.on.contains("level of the noise") && (s.delta - 0.005).abs() < 1e-12));
        assert!(certificate.to_string().contains("one unknown level, at most"), "{certificate}");
        levels.push(certificate.premises.level.unwrap().level);
    }
    let repeats = first.unwrap();
    assert_eq!((repeats.batch, repeats.of), (0, run.ledger().batch(0).len()));
    assert!(repeats.count * 2 >= repeats.of - 1 && repeats.factor > 1.2 && repeats.factor < 4.0, "{repeats}");
    assert!(repeats.to_string().contains("the noise level is not declared"));
    assert!(levels.windows(2).all(|w| w[1] <= w[0]) && levels.last() < levels.first() && *levels.last().unwrap() >= SIGMA, "{levels:?}");
    let range = run.recommend_with_range().unwrap().unwrap().certificate.range.unwrap();
    assert!(range.noise_breakdown.unwrap() >= *levels.last().unwrap());
    let restored = Strategy::from_bytes(&run.to_bytes()).unwrap();
    assert_eq!(restored, run);
}

/// A first batch that is short knows the level badly: later ones repeat too, and say so.
#[test]
fn later_batches_that_repeat_say_so() {
    let known = known();
    let policy = sbpe(Sbpe::default().with_schedule(Schedule::Lengths(vec![6, 40, 40])));
    let mut run = Strategy::new(unknown(&known, 86), policy).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut said = Vec::new();
    while let Ask::Trials(trials) = run.ask(usize::MAX).unwrap() {
        let repeats = run.repeats().unwrap();
        let mut points: Vec<_> = trials.iter().map(|trial| trial.candidate).collect();
        points.sort_unstable();
        points.dedup();
        if repeats.batch == trials[0].batch {
            assert_eq!((repeats.count, repeats.of), (trials.len() - points.len(), trials.len()));
            assert!(repeats.to_string().contains(&format!("of batch {} are repeats", repeats.batch + 1)), "{repeats}");
        }
        said.push(repeats.batch);
        for trial in trials {
            run.tell(trial.id, Outcome::Value(known.values[trial.candidate.unwrap()] + SIGMA * noise(&mut rng))).unwrap();
        }
    }
    assert_eq!(said, [0, 1, 1], "the second batch knows enough for the third");
}

#[test]
fn told_means_are_pooled_and_nothing_is_repeated_for_them() {
    let known = known();
    let problem = known.problem(40, Drawn::Gaussian, 1).with_unknown_level(SIGMA, 3).unwrap();
    let mut run = Strategy::new(problem, sbpe(Sbpe::default().with_schedule(Schedule::Lengths(vec![40])))).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let Ask::Trials(trials) = run.ask(40).unwrap() else { panic!("a batch") };
    let (mut scatter, count) = (0.0, trials.len());
    for trial in trials {
        let each: Vec<f64> = (0..3).map(|_| known.values[trial.candidate.unwrap()] + SIGMA * noise(&mut rng)).collect();
        let mean = each.iter().sum::<f64>() / 3.0;
        let squares: f64 = each.iter().map(|v| (v - mean).powi(2)).sum();
        scatter += squares;
        run.tell(trial.id, Outcome::Mean { mean, standard_error: (squares / 6.0).sqrt(), replicates: Some(3) }).unwrap();
    }
    assert_eq!(run.repeats(), None);
    let bound = run.recommend().unwrap().unwrap().certificate.premises.level.unwrap();
    assert_eq!(bound.freedom, 2 * count);
    assert!((bound.scatter - (scatter / (2 * count) as f64).sqrt()).abs() < 1e-12);
}

#[test]
fn what_was_not_asked_for_does_not_count_and_equal_values_refute_the_premise() {
    let known = known();
    let mut run = Strategy::new(unknown(&known, 20), sbpe(Sbpe::default().with_schedule(Schedule::Lengths(vec![20])))).unwrap();
    // A file attached twice: its rows look like replicates without any scatter.
    for _ in 0..2 {
        for i in 0..20 {
            run.attach(known.points.row(i), Outcome::Value(known.values[i]), Collected::DeclaredFixed).unwrap();
        }
    }
    let Ask::Trials(trials) = run.ask(20).unwrap() else { panic!("a batch") };
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let mut failed = run.clone();
    for trial in &trials {
        run.tell(trial.id, Outcome::Value(known.values[trial.candidate.unwrap()] + SIGMA * noise(&mut rng))).unwrap();
    }
    let certificate = run.recommend().unwrap().unwrap().certificate;
    assert_eq!(certificate.premises.level.unwrap().freedom, 10);
    // And what they seem to say about the function is not certified either.
    assert!(certificate.label() != Label::Certified && certificate.premises.copies.value == 20, "{certificate}");
    // A simulation without noise: told values that repeat say that the premise is wrong.
    for t in &trials {
        failed.tell(t.id, Outcome::Value(known.values[t.candidate.unwrap()])).unwrap();
    }
    let contradiction = failed.contradiction().unwrap();
    assert!(contradiction.equal_repeats == Some(10) && contradiction.to_string().contains("equal to the last digit"), "{contradiction}");
    let advice = failed.recommend_with_range().unwrap().unwrap();
    assert!(advice.label() == Label::Estimated && advice.gap.is_infinite() && advice.certificate.contradiction == Some(contradiction));
    assert_eq!(Strategy::from_bytes(&failed.to_bytes()).unwrap(), failed);
}

/// An instrument that shows few digits: nearly all repeats are equal and a few jump by a step, which normal noise never does.
#[test]
fn a_coarse_instrument_refutes_normal_noise() {
    let known = known();
    let told = |step: f64| {
        let mut run = Strategy::new(unknown(&known, 60), sbpe(Sbpe::default().with_schedule(Schedule::Lengths(vec![60])))).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(9);
        finish(&mut run, |i| ((known.values[i] + SIGMA * noise(&mut rng)) / step).round() * step);
        run
    };
    assert!(told(6.0 * SIGMA).contradiction().is_some_and(|c| c.equal_repeats.is_some()));
    // Steps below the noise are seen now and then, and do no harm.
    assert!(told(0.2 * SIGMA).contradiction().is_none());
}

#[test]
fn an_unknown_level_certifies_nothing_elsewhere() {
    let problem = |known: &Known| unknown(known, 12);
    let known = known();
    let paper = Strategy::new(problem(&known), sbpe(Sbpe::new(sigmabar::strategy::Rules::Paper)));
    assert!(paper.unwrap_err().to_string().contains("level of the noise"));
    assert!(known.problem(4, Drawn::Gaussian, 1).with_unknown_level(0.0, 1).is_err());
    assert!(known.problem(4, Drawn::Gaussian, 1).with_unknown_level(0.1, 0).is_err());
    assert!(problem(&known).noise().is_some() && problem(&known).unknown_level() == Some(1));
    assert_eq!(problem(&known).with_noise(Noise::gaussian(0.1).unwrap()).unwrap().unknown_level(), None);
}

#[test]
fn a_table_with_every_row_written_down_twice_is_not_certified() {
    let known = known();
    let label = |copies: usize, collected: Collected, noise: f64| {
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for _ in 0..copies {
            x.extend_from_slice(known.points.as_slice());
            y.extend_from_slice(&known.values);
        }
        let observations = Observations::new(Points::new(x, 2).unwrap(), &y, collected, Prior::ZERO).unwrap();
        let exact = ExactPosterior::new(known.kernel.clone(), 0.1, observations.clone()).unwrap();
        let claim = Claim::new(0.05).unwrap().norm_bound(known.norm).unwrap().noise(Noise::gaussian(noise).unwrap());
        let whole = FeatureMap::new(known.kernel.clone(), known.points.clone()).unwrap();
        let sparse = Posterior::fit(Arc::new(whole), 0.1, observations).unwrap();
        let labels = [
            exact.interval(known.points.view(), &claim).unwrap().certificate().label(),
            sparse.interval(known.points.view(), &claim).unwrap().certificate().label(),
        ];
        assert_eq!(labels[0], labels[1]);
        labels[0]
    };
    assert_eq!(label(1, Collected::DeclaredFixed, 0.1), Label::Certified);
    assert_ne!(label(2, Collected::DeclaredFixed, 0.1), Label::Certified);
    // Exact measurements may be repeated, and what a design of the program repeats was asked for.
    assert_eq!(label(2, Collected::DeclaredFixed, 0.0), Label::Certified);
    assert_eq!(label(2, Collected::Designed, 0.1), Label::Certified);
    let twice = Observations::new(Points::on_line(vec![0.0, 0.0]).unwrap(), &[1.0, 1.0], Collected::DeclaredFixed, Prior::ZERO).unwrap();
    assert_eq!((twice.copies(), twice.clone().with_distinct_rows().copies()), (1, 0));
    // Declared to be measurements of their own they certify, and the certificate says on whose word.
    let claimed = |observations: Observations| {
        let claim = Claim::new(0.05).unwrap().norm_bound(3.0).unwrap().noise(Noise::gaussian(0.1).unwrap());
        let posterior = ExactPosterior::new(Kernel::squared_exponential(0.3, 1.0).unwrap(), 0.1, observations).unwrap();
        posterior.interval(Points::on_line(vec![0.5]).unwrap().view(), &claim).unwrap().certificate().clone()
    };
    let declared = claimed(twice.clone().with_distinct_rows());
    assert_eq!((claimed(twice).label(), declared.label()), (Label::Estimated, Label::Certified));
    assert_eq!((declared.premises.copies.value, declared.premises.copies.origin), (1, Origin::Declared));
    assert!(declared.to_string().contains("1 observations equal another in every number"), "{declared}");
}
