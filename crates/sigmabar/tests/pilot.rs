//! A pilot inside a run: premises fixed after it, nothing of it in a claim, and what it would cost if something were.

use crate::sbpe_support;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use sbpe_support::{DELTA, Drawn, Known, finish};
use sigmabar::domain::{Column, SpaceDomain};
use sigmabar::posterior::ExactPosterior;
use sigmabar::strategy::{Rules, Sbpe, Trial};
use sigmabar::{
    Ask, BoxDomain, Claim, Collected, Domain, Error, Kernel, Label, Noise, Observations, Origin, Outcome, Points, Policy, Prior, Problem,
    Sourced, Strategy,
};
use std::collections::HashSet;

const PILOT: usize = 24;

fn policy() -> Policy {
    Policy::Sbpe(Box::new(Sbpe::default().with_pilot(PILOT).unwrap()))
}

fn known(seed: u64) -> Known {
    Known::random(Kernel::matern(2.5, 0.25, 1.0).unwrap(), 1, 40, 1.0, 0.1, seed)
}

/// Hands out and answers the pilot.
fn pilot(run: &mut Strategy, answer: impl Fn(&Trial) -> f64) -> Vec<Trial> {
    let Ask::Trials(trials) = run.ask(usize::MAX).unwrap() else { panic!("nothing to measure") };
    for trial in &trials {
        run.tell(trial.id, Outcome::Value(answer(trial))).unwrap();
    }
    trials
}

fn reason(error: &Error) -> &'static str {
    match error {
        Error::Premise { reason, .. } => reason,
        other => panic!("{other}"),
    }
}

#[test]
fn a_pilot_spreads_over_any_domain_and_knows_no_premise() {
    let space = SpaceDomain::new(vec![Column::float(0.0, 1.0), Column::ordinal(vec![1.0, 2.0, 4.0])], Vec::new()).unwrap();
    let domains =
        [Domain::Box(BoxDomain::unit(2).unwrap()), Domain::Space(space), known(1).problem(9, Drawn::Gaussian, 1).domain().clone()];
    for domain in domains {
        let bare = Problem::new(domain.clone(), 100).unwrap().with_seed(5);
        let declared = bare.clone().with_kernel(Kernel::squared_exponential(0.3, 1.0).unwrap()).unwrap().with_norm_bound(2.0).unwrap();
        let declared = declared.with_noise(Noise::gaussian(0.1).unwrap()).unwrap();
        let [without, with] = [bare, declared].map(|problem| pilot(&mut Strategy::new(problem, policy()).unwrap(), |_| 0.0));
        assert_eq!(without, with, "the pilot's points depend on the premises");
        let distinct: HashSet<Vec<u64>> = without.iter().map(|t| t.point.iter().map(|v| v.to_bits()).collect()).collect();
        assert_eq!((without.len(), distinct.len()), (PILOT, 20), "one in six is measured again");
        for column in 0..domain.dim() {
            let at = |share: f64| without.iter().filter(|t| (t.point[column] < 0.5) == (share < 0.5)).count();
            assert!(at(0.0) >= 6 && at(1.0) >= 6, "column {column} has one side only");
        }
    }
}

#[test]
fn premises_are_fixed_after_the_pilot_and_before_the_next_batch() {
    let known = known(3);
    let declared = known.problem(124, Drawn::Gaussian, 3);
    let mut run = Strategy::new(declared.clone().without_premises(), policy()).unwrap();
    assert!(!run.awaits_premises());
    pilot(&mut run, |t| known.values[t.candidate.unwrap()]);
    assert!(run.awaits_premises());
    let error = run.ask(1).unwrap_err();
    assert!(matches!(error, Error::Missing { what: "the premises", .. }) && error.to_string().contains("pilot"), "{error}");
    // Nothing is lost by asking too early, nor by a restart.
    let mut run = Strategy::from_bytes(&run.to_bytes()).unwrap();
    let before = run.clone();
    for other in [
        declared.clone().with_budget(125).unwrap(),
        declared.clone().with_delta(0.2).unwrap(),
        declared.clone().with_seed(4),
        declared.clone().with_wanted_gap(0.1).unwrap(),
    ] {
        assert!(reason(&run.fix_premises(other).unwrap_err()).contains("nothing else may change"));
    }
    assert_eq!(run, before);
    // As often as one likes while nothing was planned by them.
    run.fix_premises(declared.clone().with_norm_bound(9.0).unwrap()).unwrap();
    run.fix_premises(declared.clone()).unwrap();
    assert!(!run.awaits_premises());
    assert!(matches!(run.ask(1).unwrap(), Ask::Trials(_)));
    let late = run.fix_premises(declared.clone().with_norm_bound(0.5).unwrap()).unwrap_err();
    assert!(reason(&late).contains("is planned"), "{late}");
    assert_eq!(run.problem().norm_bound(), Some(known.norm));
    let mut without = Strategy::new(declared.clone(), Policy::Sbpe(Box::default())).unwrap();
    assert!(reason(&without.fix_premises(declared.clone()).unwrap_err()).contains("no pilot"));
    assert!(Sbpe::default().with_pilot(0).is_err());
    let too_long = Policy::Sbpe(Box::new(Sbpe::default().with_pilot(124).unwrap()));
    assert!(matches!(Strategy::new(declared.clone(), too_long), Err(Error::Parameter { name: "pilot", .. })));
    let paper = Policy::Sbpe(Box::new(Sbpe::new(Rules::Paper).with_pilot(9).unwrap()));
    assert!(reason(&Strategy::new(declared, paper).unwrap_err()).contains("no pilot"));
}

/// What the certificate says, and that nothing measured before the premises is in the claim: other values there change nothing.
#[test]
fn nothing_of_the_pilot_is_in_the_claim() {
    let known = known(7);
    let declared = known.problem(PILOT + 100, Drawn::Gaussian, 7);
    let end = |offset: f64, unknown: bool| {
        let mut run = Strategy::new(declared.clone().without_premises(), policy()).unwrap();
        for i in 0..5 {
            // Results from before the run are declared fixed: whoever fixed the premises had these at hand as well.
            run.attach(known.points.row(i), Outcome::Value(offset + 0.1 * i as f64), Collected::DeclaredFixed).unwrap();
        }
        pilot(&mut run, |t| offset + known.values[t.candidate.unwrap()]);
        let learnt = Sourced::new(known.kernel.clone(), Origin::LearntHere);
        let problem = declared.clone().with_kernel(learnt).unwrap();
        run.fix_premises(if unknown { problem.with_unknown_level(0.1, 1).unwrap() } else { problem }).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        finish(&mut run, |i| known.values[i] + Drawn::Gaussian.draw(known.level, &mut rng));
        run
    };
    for unknown in [false, true] {
        let (run, other) = (end(0.0, unknown), end(-1e6, unknown));
        let advice = run.recommend_with_range().unwrap().unwrap();
        assert_eq!(advice, other.recommend_with_range().unwrap().unwrap());
        assert_eq!(run.standing().unwrap(), other.standing().unwrap());
        let premises = &advice.certificate.premises;
        assert_eq!(advice.label(), Label::Certified, "{:?}", advice.certificate.weak_premises());
        assert_eq!((premises.observations.value, premises.points.value), (100, Collected::Designed));
        assert_eq!(premises.pilot, Some(Sourced::new(PILOT, Origin::LearntElsewhere)));
        for name in ["kernel", "norm_bound", "noise", "prior", "ridge", "pilot"] {
            let said = premises.list().into_iter().find(|p| p.name == name).unwrap();
            assert_eq!(said.origin, Origin::LearntElsewhere, "{name}");
        }
        let words = advice.certificate.to_string();
        assert!(words.contains("learnt from other data: kernel") && words.contains("a pilot of 24 evaluations, none of which"), "{words}");
        let spent: f64 = advice.certificate.spent.iter().map(|s| s.delta).sum();
        assert!(spent <= DELTA * (1.0 + 1e-12), "{spent}");
        let reports = run.batches().unwrap();
        assert_eq!((reports[0].planned, reports[0].gap, reports.len()), (PILOT, None, run.ledger().closed()));
        assert_eq!(run.ledger().trials().len(), PILOT + 100);
        if unknown {
            assert!(run.repeats().unwrap().batch >= 1, "none is of the pilot");
        }
        assert_eq!(Strategy::from_bytes(&run.to_bytes()).unwrap(), run);
    }
}

#[test]
fn claims_after_a_pilot_hold() {
    let wrong = (0..120_u64)
        .into_par_iter()
        .filter(|&i| {
            let known = known(900 + i);
            let problem = known.problem(PILOT + 40, Drawn::Gaussian, i);
            let mut run = Strategy::new(problem.clone().without_premises(), policy()).unwrap();
            pilot(&mut run, |t| known.values[t.candidate.unwrap()]);
            run.fix_premises(problem).unwrap();
            let mut rng = ChaCha8Rng::seed_from_u64(i);
            finish(&mut run, |c| known.values[c] + Drawn::Gaussian.draw(known.level, &mut rng));
            let advice = run.recommend().unwrap().unwrap();
            known.best() - known.values[advice.candidate.unwrap()] > advice.gap
        })
        .count();
    println!("{wrong} of 120 claims after a pilot are false");
    assert!(wrong as f64 <= 120.0 * DELTA);
}

/// Thirty kernels under each of which the function, which is 0, has the norm 0.
fn true_premises() -> Vec<Kernel> {
    let smooth = (0..10).map(|i| Kernel::squared_exponential(0.01 * 1.6_f64.powi(i), 1.0).unwrap());
    let waves = (1..=20).map(|i| Kernel::periodic(1.0 / f64::from(i), 1.0, 1.0).unwrap());
    smooth.chain(waves).collect()
}

/// Each premise is true. Chosen by what it makes of the pilot's rows it is no premise for a claim about these: that claim is false far more often than it says. For rows
/// that are measured afterwards it is as good as any.
#[test]
fn whoever_uses_the_pilot_again_makes_false_claims() {
    let (rows, delta, draws) = (24, 0.1, 300_u64);
    let x = || Points::on_line((0..rows).map(|i| (f64::from(i) + 0.5) / f64::from(rows)).collect()).unwrap();
    let claim = Claim::new(delta).unwrap().norm_bound(0.01).unwrap().noise(Noise::gaussian(1.0).unwrap());
    let kernels = true_premises();
    let at = |kernel: &Kernel, y: &[f64], origin: Origin| {
        let observations = Observations::new(x(), y, Collected::DeclaredFixed, Prior::ZERO).unwrap();
        let posterior = ExactPosterior::new(Sourced::new(kernel.clone(), origin), 1.0, observations).unwrap();
        posterior.interval(Points::on_line(vec![0.3]).unwrap().view(), &claim).unwrap()
    };
    // How far the interval is from 0, where the function is.
    let off = |kernel: &Kernel, y: &[f64]| {
        let interval = at(kernel, y, Origin::Declared);
        interval.lower()[0].max(-interval.upper()[0])
    };
    let counted: Vec<(bool, bool)> = (0..draws)
        .into_par_iter()
        .map(|i| {
            let mut rng = ChaCha8Rng::seed_from_u64(i);
            let mut draw = || (0..rows).map(|_| Drawn::Gaussian.draw(1.0, &mut rng)).collect::<Vec<f64>>();
            let (pilot, fresh) = (draw(), draw());
            let chosen = kernels.iter().max_by(|a, b| off(a, &pilot).total_cmp(&off(b, &pilot))).unwrap();
            (off(chosen, &pilot) > 0.0, off(chosen, &fresh) > 0.0)
        })
        .collect();
    let share = |which: fn(&(bool, bool)) -> bool| counted.iter().filter(|c| which(c)).count() as f64 / draws as f64;
    let (again, fresh) = (share(|c| c.0), share(|c| c.1));
    println!("false claims about the pilot's own rows {again}, about fresh ones {fresh}, promised {delta}");
    assert!(again > 3.0 * delta, "{again}");
    assert!(fresh <= delta + 3.0 * (delta * (1.0 - delta) / draws as f64).sqrt(), "{fresh}");
    let label = |origin| at(&kernels[0], &[0.1; 24], origin).certificate().label();
    assert_eq!([Origin::LearntHere, Origin::LearntElsewhere].map(label), [Label::Estimated, Label::Certified]);
}
