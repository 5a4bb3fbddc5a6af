//! How a run goes: batch lengths, saving, orders, losses, refusals, labels.

use crate::sbpe_support;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sbpe_support::{Drawn, Known, finish, sbpe, uniform};
use sigmabar::domain::ListDomain;
use sigmabar::strategy::{Direction, Failures, Rules, Sbpe, Schedule, TrialState};
use sigmabar::{Ask, BoxDomain, Domain, Error, Kernel, Label, Noise, Origin, Outcome, Points, Policy, Prior, Problem, Sourced, Strategy};

fn known() -> Known {
    Known::random(Kernel::matern(2.5, 0.3, 1.0).unwrap(), 1, 40, 2.0, 0.2, 3)
}

fn start(policy: Sbpe) -> Strategy {
    Strategy::new(known().problem(100, Drawn::Gaussian, 1), sbpe(policy)).unwrap()
}

/// Noise that depends on the trial alone, so that the order of telling cannot change it.
fn answer(known: &Known, id: u64, candidate: usize) -> f64 {
    known.values[candidate] + Drawn::Gaussian.draw(known.level, &mut ChaCha8Rng::seed_from_u64(id))
}

fn batch_sizes(strategy: &Strategy) -> Vec<usize> {
    (0..strategy.ledger().batches()).map(|b| strategy.ledger().batch(b).len()).collect()
}

#[test]
fn batch_lengths_are_the_printed_ones() {
    for rules in [Rules::Paper, Rules::Certified] {
        let mut strategy = start(Sbpe::new(rules));
        let known = known();
        finish(&mut strategy, |i| known.values[i]);
        assert_eq!(batch_sizes(&strategy), [10, 32, 57, 1]);
    }
    assert_eq!(Schedule::Recursion.lengths(1000).unwrap(), [32, 179, 424, 365]);
    assert_eq!(Schedule::Recursion.lengths(10_000).unwrap(), [100, 1000, 3163, 5625, 112]);
    assert_eq!(Schedule::Lengths(vec![96; 3]).lengths(288).unwrap(), [96, 96, 96]);
    assert_eq!(Schedule::Even(3).lengths(100).unwrap(), [34, 33, 33]);
    let growing = Schedule::Growing(3).lengths(1000).unwrap();
    assert!(growing.len() == 3 && growing.iter().sum::<usize>() == 1000 && growing.is_sorted());
}

#[test]
fn saved_after_every_event_the_future_is_the_same() {
    let known = known();
    let mut straight = start(Sbpe::default());
    let mut restored = start(Sbpe::default());
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    loop {
        restored = Strategy::from_bytes(&restored.to_bytes()).unwrap();
        assert_eq!(restored, straight);
        let count = rng.random_range(1..9);
        let (asked, again) = (straight.ask(count).unwrap(), restored.ask(count).unwrap());
        assert_eq!(asked, again);
        let Ask::Trials(trials) = asked else { break };
        restored = Strategy::from_bytes(&restored.to_bytes()).unwrap();
        for trial in trials {
            let value = Outcome::Value(answer(&known, trial.id, trial.candidate.unwrap()));
            straight.tell(trial.id, value).unwrap();
            restored.tell(trial.id, value).unwrap();
            restored = Strategy::from_bytes(&restored.to_bytes()).unwrap();
        }
    }
    assert_eq!(restored.recommend().unwrap(), straight.recommend().unwrap());
    assert_eq!(restored.batches().unwrap().len(), 4);
}

#[test]
fn order_of_telling_and_number_of_threads_change_nothing() {
    let known = known();
    let run = |threads: usize, backwards: bool| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut strategy = start(Sbpe::default());
            while let Ask::Trials(mut trials) = strategy.ask(usize::MAX).unwrap() {
                if backwards {
                    trials.reverse();
                }
                for t in trials {
                    strategy.tell(t.id, Outcome::Value(answer(&known, t.id, t.candidate.unwrap()))).unwrap();
                }
            }
            strategy.to_bytes()
        })
    };
    let first = run(1, false);
    assert_eq!(first, run(1, true));
    assert_eq!(first, run(3, true));
}

#[test]
fn missing_points_are_noted_and_late_ones_certify_nothing() {
    let known = known();
    let close = |failures: Failures, late: bool| {
        let problem = known.problem(100, Drawn::Gaussian, 1).with_failures(failures);
        let mut strategy = Strategy::new(problem, sbpe(Sbpe::default())).unwrap();
        let Ask::Trials(trials) = strategy.ask(usize::MAX).unwrap() else { panic!("trials") };
        for t in &trials[..7] {
            strategy.tell(t.id, Outcome::Value(answer(&known, t.id, t.candidate.unwrap()))).unwrap();
        }
        strategy.tell(trials[7].id, Outcome::Failed).unwrap();
        strategy.close_batch().unwrap();
        let before = (strategy.survivors(), strategy.recommend().unwrap().unwrap());
        if late {
            strategy.tell(trials[8].id, Outcome::Value(100.0)).unwrap();
            assert_eq!(strategy.ledger().states()[8], TrialState::Late(Outcome::Value(100.0)));
            assert_eq!(before, (strategy.survivors(), strategy.recommend().unwrap().unwrap()));
        }
        finish(&mut strategy, |i| known.values[i]);
        strategy
    };
    let (plain, late) = (close(Failures::Unrelated, false), close(Failures::Unrelated, true));
    let label = |s: &Strategy| s.recommend().unwrap().unwrap();
    assert_eq!((label(&plain).label(), label(&plain).certificate.premises.losses), (Label::Certified, Sourced::new(3, Origin::Declared)));
    // Nobody vouches for the loss, or somebody says that it tells something.
    for failures in [Failures::Undeclared, Failures::Informative] {
        let certificate = label(&close(failures, false)).certificate;
        assert_eq!((certificate.label(), certificate.premises.losses.origin), (Label::Estimated, Origin::Unmet));
    }
    assert_eq!(label(&plain), label(&late));
    assert_eq!(plain.batches().unwrap()[0].measured, 7);
}

#[test]
fn a_batch_without_any_result_proves_nothing() {
    let mut strategy = start(Sbpe::default());
    let Ask::Trials(_) = strategy.ask(3).unwrap() else { panic!("trials") };
    strategy.close_batch().unwrap();
    assert_eq!(strategy.survivors().unwrap().unwrap().len(), 40);
    assert!(strategy.recommend().unwrap().is_none());
    let known = known();
    finish(&mut strategy, |i| known.values[i]);
    assert!(strategy.recommend().unwrap().unwrap().gap.is_finite());
}

#[test]
fn stops_at_the_wanted_gap_and_not_without_one() {
    let known = known();
    let problem = known.problem(400, Drawn::Gaussian, 1);
    let mut whole = Strategy::new(problem.clone(), sbpe(Sbpe::default())).unwrap();
    finish(&mut whole, |i| known.values[i]);
    assert_eq!(whole.ledger().trials().len(), 400);
    let reports = whole.batches().unwrap();
    let wanted = reports[1].gap.unwrap() * 1.0001;
    assert!(reports[0].gap.unwrap() > wanted);
    let mut early = Strategy::new(problem.with_wanted_gap(wanted).unwrap(), sbpe(Sbpe::default())).unwrap();
    finish(&mut early, |i| known.values[i]);
    assert_eq!(early.ledger().batches(), 2);
}

#[test]
fn data_that_contradict_the_norm_are_not_certified() {
    let known = known();
    let mut strategy = start(Sbpe::default());
    finish(&mut strategy, |i| 40.0 * known.values[i]);
    assert_eq!(strategy.survivors().unwrap().unwrap().len(), 40);
    let guess = strategy.recommend().unwrap().unwrap();
    assert!(guess.label() == Label::Estimated && guess.gap == f64::INFINITY && guess.certificate.contradiction.is_some());
    assert!(strategy.batches().unwrap().iter().all(|b| b.gap.is_none()));
}

/// What the first batch claimed rests on premises that a later one refutes: it is no advice any more, and what is measured after it counts.
#[test]
fn a_claim_does_not_outlive_its_premises() {
    let known = known();
    let mut run = start(Sbpe::default());
    run.go_on_despite_contradiction();
    let batch = |run: &mut Strategy, value: &dyn Fn(usize) -> f64| {
        let Ask::Trials(trials) = run.ask(usize::MAX).unwrap() else { panic!("the run is over") };
        trials.iter().for_each(|t| run.tell(t.id, Outcome::Value(value(t.candidate.unwrap()))).unwrap());
    };
    batch(&mut run, &|i| known.values[i]);
    let claimed = run.recommend().unwrap().unwrap();
    assert_eq!(claimed.label(), Label::Certified);
    // Everything lies elsewhere from here on: upside down, and beyond the norm.
    batch(&mut run, &|i| -60.0 * known.values[i]);
    let guess = run.recommend().unwrap().unwrap();
    assert!(guess.label() == Label::Estimated && guess.gap.is_infinite() && guess.certificate.contradiction.is_some());
    assert_ne!(guess.candidate, claimed.candidate);
    assert!(
        run.standing().unwrap().is_none() && run.premise_map(&[1.0]).unwrap().is_empty(),
        "nothing is said of a setting that is not recommended"
    );
    batch(&mut run, &|i| 60.0 * known.values[i]);
    assert_ne!(run.recommend().unwrap().unwrap().candidate, guess.candidate, "what is measured later counts");
}

/// A hill a little higher than the norm bound allows: many measurements prove it, and the alarm of a batch need not see it. No interval of no width is certified then.
#[test]
fn a_lower_end_beyond_the_reach_of_the_norm_refutes_it() {
    let kernel = Kernel::matern(2.5, 0.15, 1.0).unwrap();
    let values: Vec<f64> = (0..20).map(|i| 1.15 * kernel.value(&[f64::from(i) / 19.0], &[11.0 / 19.0])).collect();
    let (mut refuted, mut certified) = (0, 0);
    for seed in 0..12 {
        let list = Points::on_line((0..20).map(|i| f64::from(i) / 19.0).collect()).unwrap();
        let problem = Problem::new(Domain::List(ListDomain::new(list).unwrap()), 800)
            .and_then(|p| p.with_kernel(kernel.clone()))
            .and_then(|p| p.with_norm_bound(1.0))
            .and_then(|p| p.with_noise(Noise::gaussian(0.3)?))
            .unwrap();
        let mut strategy = Strategy::new(problem, sbpe(Sbpe::default())).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        finish(&mut strategy, |i| values[i] + Drawn::Gaussian.draw(0.3, &mut rng));
        let advice = strategy.recommend().unwrap().unwrap();
        let is_refuted = advice.certificate.contradiction.is_some();
        assert!(is_refuted || (advice.lower < advice.upper && advice.lower <= 1.0), "{} {}", advice.lower, advice.upper);
        (refuted, certified) = (refuted + usize::from(is_refuted), certified + usize::from(advice.label() == Label::Certified));
    }
    assert!(refuted > 6, "{refuted} refuted, {certified} certified");
}

#[test]
fn minimising_in_another_unit_is_maximising_mirrored() {
    let known = known();
    let prior = Prior::declared(10.0, 3.0).unwrap();
    let mirrored = known.problem(100, Drawn::Gaussian, 1).with_direction(Direction::Minimize).with_prior(prior);
    let (mut up, mut down) = (start(Sbpe::default()), Strategy::new(mirrored, sbpe(Sbpe::default())).unwrap());
    finish(&mut up, |i| known.values[i]);
    finish(&mut down, |i| 10.0 - 3.0 * known.values[i]);
    assert_eq!(up.survivors(), down.survivors());
    let (a, b) = (up.recommend().unwrap().unwrap(), down.recommend().unwrap().unwrap());
    assert_eq!(a.candidate, b.candidate);
    assert!((3.0 * a.gap - b.gap).abs() < 1e-9 && (10.0 - 3.0 * a.lower - b.upper).abs() < 1e-9);
}

#[test]
fn a_kernel_fixed_on_other_data_is_certified_and_said_to_be_that() {
    let known = known();
    let kernel = Sourced::new(known.kernel.clone(), Origin::LearntElsewhere);
    let problem = known.problem(60, Drawn::Gaussian, 1).with_kernel(kernel).unwrap();
    let mut strategy = Strategy::new(problem, sbpe(Sbpe::default())).unwrap();
    finish(&mut strategy, |i| known.values[i]);
    assert_eq!(strategy.recommend().unwrap().unwrap().label(), Label::Certified);
}

#[test]
fn replicates_narrow_the_gap_and_standard_errors_do_not() {
    let known = known();
    let run = |outcome: fn(f64) -> Outcome| {
        let problem = known.problem(60, Drawn::Rademacher, 1);
        let mut strategy = Strategy::new(problem, sbpe(Sbpe::default())).unwrap();
        while let Ask::Trials(trials) = strategy.ask(usize::MAX).unwrap() {
            for t in trials {
                strategy.tell(t.id, outcome(known.values[t.candidate.unwrap()])).unwrap();
            }
        }
        strategy.recommend().unwrap().unwrap().gap
    };
    let (single, same, precise) = (
        run(Outcome::Value),
        run(|mean| Outcome::Mean { mean, standard_error: 0.02, replicates: None }),
        run(|mean| Outcome::Mean { mean, standard_error: 0.02, replicates: Some(100) }),
    );
    assert!((single - same).abs() < 1e-6 * single, "{single} {same}");
    assert!(precise < 0.9 * single, "{precise} {single}");
}

#[test]
fn boxes_in_many_dimensions_are_declared_candidates() {
    let domain = Domain::Box(BoxDomain::unit(4).unwrap());
    let problem = Problem::new(domain, 40)
        .unwrap()
        .with_kernel(Kernel::squared_exponential(0.8, 1.0).unwrap())
        .unwrap()
        .with_norm_bound(2.0)
        .unwrap()
        .with_noise(Noise::sub_gaussian(0.1).unwrap())
        .unwrap();
    let mut strategy = Strategy::new(problem, sbpe(Sbpe::default().with_candidates(300).unwrap())).unwrap();
    finish(&mut strategy, |_| 0.0);
    let advice = strategy.recommend().unwrap().unwrap();
    assert_eq!(advice.label(), Label::Certified);
    assert!(advice.candidate_gap.unwrap() < advice.gap, "{:?}", (advice.candidate_gap, advice.gap));
    // What the widths were made with stands in the certificate: z at least that of a claim with all of δ, and a rounding that is there and small.
    let bounds = advice.certificate.bounds;
    // The two gaps are about the box and about these candidates, which cover it: |f(x) − f(z)| ≤ C d(x, z).
    assert_eq!(bounds.candidates, Some(300));
    let whole = advice.candidate_gap.unwrap() + 2.0 * bounds.cover_radius.unwrap();
    assert!((whole - advice.gap).abs() < 1e-9 * whole || advice.gap < whole, "{whole} {}", advice.gap);
    assert!(advice.certificate.to_string().contains("that among 300 candidates"), "{}", advice.certificate);
    assert!(bounds.noise_factor.unwrap() > Noise::sub_gaussian(0.1).unwrap().tail_factor(-0.05f64.ln()), "{bounds:?}");
    assert!(bounds.rounding.is_some_and(|rounding| rounding > 0.0 && rounding < 1e-6), "{bounds:?}");
    assert!(strategy.survivors().unwrap().unwrap().len() <= 300);
}

#[test]
fn wrong_use_is_refused() {
    let known = known();
    let bare = || Problem::new(known.problem(10, Drawn::Gaussian, 0).domain().clone(), 10).unwrap();
    let missing = |problem: Problem| match Strategy::new(problem, sbpe(Sbpe::default())) {
        Err(Error::Missing { what, remedy, .. }) => {
            assert!(remedy.contains("auto"));
            what
        }
        other => panic!("{other:?}"),
    };
    let kernel = || known.kernel.clone();
    assert_eq!(missing(bare()), "a kernel");
    assert_eq!(missing(bare().with_kernel(kernel()).unwrap()), "a norm bound");
    assert_eq!(missing(bare().with_kernel(kernel()).unwrap().with_norm_bound(1.0).unwrap()), "a noise model");
    assert!(Problem::new(bare().domain().clone(), 0).is_err());
    let complete = || known.problem(10, Drawn::Gaussian, 0);
    for lengths in [vec![5, 6], vec![0, 10]] {
        let policy = sbpe(Sbpe::default().with_schedule(Schedule::Lengths(lengths)));
        assert!(matches!(Strategy::new(complete(), policy), Err(Error::Parameter { .. })));
    }
    assert!(Strategy::new(complete(), sbpe(Sbpe::default().with_schedule(Schedule::Even(11)))).is_err());
    assert!(Sbpe::default().with_max_inducing(0).is_err() && Sbpe::default().with_candidates(0).is_err());
    let mut strategy = Strategy::new(complete(), Policy::Sbpe(Box::default())).unwrap();
    let Ask::Trials(trials) = strategy.ask(1).unwrap() else { panic!("trials") };
    assert!(matches!(strategy.tell(trials[0].id, Outcome::Value(f64::NAN)), Err(Error::NotFinite { .. })));
    assert_eq!(strategy.tell(77, Outcome::Value(0.0)), Err(Error::UnknownTrial { id: 77 }));
    strategy.tell(trials[0].id, Outcome::Value(0.0)).unwrap();
    assert_eq!(strategy.tell(trials[0].id, Outcome::Value(0.0)), Err(Error::AlreadyTold { id: 0 }));
}

#[test]
fn one_candidate_and_coinciding_candidates_do_no_harm() {
    for count in [1, 2] {
        let mut points = uniform(count, 1, 8);
        if count == 2 {
            points = Points::on_line(vec![0.5, 0.5 + 1e-13]).unwrap();
        }
        let known = Known { values: vec![0.3; count], points, ..known() };
        let mut strategy = Strategy::new(known.problem(20, Drawn::Gaussian, 0), sbpe(Sbpe::default())).unwrap();
        finish(&mut strategy, |i| known.values[i]);
        assert_eq!(strategy.survivors().unwrap().unwrap().len(), count);
        assert!(strategy.recommend().unwrap().unwrap().gap < 1e-3);
    }
}
