//! Attacks that once obtained a false "certified" (algorithm notes 12): each succeeds where the rule is taken out, and fails against it.
#![allow(clippy::unwrap_used)]

use crate::coverage_support;

use coverage_support::oracle::Draws;
use coverage_support::points;
use sigmabar::certificate::{Method, Theorem};
use sigmabar::domain::ListDomain;
use sigmabar::inducing::{InducingRule, Stop};
use sigmabar::posterior::ExactPosterior;
use sigmabar::strategy::{Rules, Sbpe};
use sigmabar::{
    Ask, BoxDomain, Claim, Collected, Domain, Expansion, FeatureMap, Kernel, Label, Noise, Observations, Origin, Outcome, Points, Policy,
    Posterior, Prior, Problem, Recommendation, Sourced, Strategy,
};
use std::sync::Arc;

fn claim(delta: f64, norm: f64, level: f64) -> Claim {
    Claim::new(delta).unwrap().norm_bound(norm).unwrap().noise(Noise::gaussian(level).unwrap())
}

fn at_origin(y: &[f64], ridge: f64, collected: Collected) -> Posterior {
    let kernel = Kernel::squared_exponential(0.2, 1.0).unwrap();
    let features = Arc::new(FeatureMap::new(&kernel, points(&[vec![0.0]])).unwrap());
    let x = Points::from_rows(&vec![vec![0.0]; y.len()]).unwrap();
    Posterior::fit(features, ridge, Observations::new(x, y, collected, Prior::ZERO).unwrap()).unwrap()
}

/// P1: the sample standard error of two replicates, told as if it were a level.
#[test]
fn a_told_standard_error_is_an_estimate() {
    let (delta, level, runs, truth) = (0.05, 0.3, 400, 1.0);
    let (mut by_error, mut by_rule, mut certified) = (0, 0, 0);
    let mut draws = Draws::new(11);
    for seed in 0..runs {
        let kernel = Kernel::squared_exponential(0.05, 1.0).unwrap();
        let list = ListDomain::new(points(&[vec![0.0]])).unwrap();
        let problem = Problem::new(Domain::List(list), 4).unwrap().with_seed(seed).with_delta(delta).unwrap();
        let problem = problem.with_kernel(kernel).unwrap().with_norm_bound(truth).unwrap();
        let problem = problem.with_noise(Noise::sub_gaussian(level).unwrap()).unwrap();
        let mut run = Strategy::new(problem, Policy::Sbpe(Box::default())).unwrap();
        let (mut means, mut errors) = (Vec::new(), Vec::new());
        while let Ask::Trials(trials) = run.ask(usize::MAX).unwrap() {
            for trial in trials {
                let (a, b) = (truth + level * draws.normal(), truth + level * draws.normal());
                let (mean, standard_error) = (0.5 * (a + b), (0.5 * (a - b).abs()).max(1e-9));
                run.tell(trial.id, Outcome::Mean { mean, standard_error, replicates: None }).unwrap();
                means.push(mean);
                errors.push(standard_error);
            }
        }
        let advice = run.recommend().unwrap().unwrap();
        certified += usize::from(advice.label() == Label::Certified);
        by_rule += usize::from(advice.label() == Label::Certified && !(advice.lower..=advice.upper).contains(&truth));
        // The rule taken out: the told errors are the levels.
        let posterior = at_origin(&means[..1], 0.05, Collected::DeclaredFixed);
        let old = Claim::new(delta).unwrap().norm_bound(truth).unwrap().noise(Noise::per_observation(errors[..1].to_vec()).unwrap());
        let interval = posterior.interval(points(&[vec![0.0]]).view(), &old).unwrap();
        by_error += usize::from(!(interval.lower()[0]..=interval.upper()[0]).contains(&truth));
    }
    assert!(certified > 0, "nothing was certified, so nothing was attacked");
    assert!(by_rule as f64 <= delta * runs as f64, "{by_rule} of {runs} certified intervals are false");
    assert!(by_error as f64 > 2.0 * delta * runs as f64, "the attack no longer works: {by_error} of {runs}");
}

/// P3: a spike between the candidates that stand for a box.
#[test]
fn the_gap_speaks_of_the_box_that_was_declared() {
    let kernel = Kernel::squared_exponential(0.12, 1.0).unwrap();
    let spike = vec![0.503, 0.497, 0.501, 0.499];
    let f = Expansion::new(kernel.clone(), points(std::slice::from_ref(&spike)), vec![1.5]).unwrap();
    let domain = Domain::Box(BoxDomain::unit(4).unwrap());
    let problem = Problem::new(domain, 60).unwrap().with_kernel(kernel).unwrap().with_norm_bound(1.5).unwrap();
    let problem = problem.with_noise(Noise::gaussian(0.01).unwrap()).unwrap();
    let policy = Sbpe::default().with_candidates(40).unwrap();
    let mut run = Strategy::new(problem, Policy::Sbpe(Box::new(policy))).unwrap();
    while let Ask::Trials(trials) = run.ask(usize::MAX).unwrap() {
        for trial in trials {
            run.tell(trial.id, Outcome::Value(f.value(&trial.point))).unwrap();
        }
    }
    let Recommendation { point, gap, candidate_gap, certificate, .. } = run.recommend().unwrap().unwrap();
    let distance = f.value(&spike) - f.value(&point);
    assert!(certificate.label() == Label::Certified && distance <= gap, "{distance} {gap}");
    assert!(candidate_gap.unwrap() < distance, "the attack no longer works: {candidate_gap:?} {distance}");
}

/// P4: somebody watches until the band is wrong.
#[test]
fn looking_again_and_again_does_not_break_the_adaptive_band() {
    let (delta, runs, looks) = (0.2, 300, 60);
    let watched = |collected: Collected| {
        let mut draws = Draws::new(5);
        let mut false_at_some_look = 0;
        for _ in 0..runs {
            let y: Vec<f64> = (0..looks).map(|_| draws.normal()).collect();
            // The function is 0: every norm above 0 that the data are said to need is false.
            let wrong = (1..=looks).any(|n| {
                let posterior = at_origin(&y[..n], 1.0, collected);
                posterior.norm_check(&claim(delta, 1e-9, 1.0)).unwrap().contradicted == Some(true)
            });
            false_at_some_look += usize::from(wrong);
        }
        f64::from(u32::try_from(false_at_some_look).unwrap()) / f64::from(runs)
    };
    let (uniform, fixed) = (watched(Collected::Undeclared), watched(Collected::DeclaredFixed));
    assert!(uniform <= delta, "{uniform}");
    assert!(fixed > delta, "the attack no longer works: {fixed}");
}

/// P5: nobody said how the points were chosen, and somebody stops measuring when the interval is wrong.
#[test]
fn undeclared_data_get_the_band_that_is_safe_and_updates_degrade() {
    let (delta, runs, most) = (0.1, 300, 80);
    let mut draws = Draws::new(3);
    let (mut declared, mut undeclared) = (0, 0);
    let query = points(&[vec![0.0]]);
    for _ in 0..runs {
        let y: Vec<f64> = (0..most).map(|_| draws.normal()).collect();
        let misses = |collected: Collected, n: usize| {
            let found = at_origin(&y[..n], 0.05, collected).interval(query.view(), &claim(delta, 1.0, 1.0)).unwrap();
            found.certificate().label() == Label::Certified && !(found.lower()[0]..=found.upper()[0]).contains(&0.0)
        };
        declared += usize::from((1..=most).any(|n| misses(Collected::DeclaredFixed, n)));
        undeclared += usize::from((1..=most).any(|n| misses(Collected::Undeclared, n)));
    }
    assert!(undeclared as f64 <= delta * f64::from(runs), "{undeclared} of {runs}");
    assert!(declared as f64 > 1.5 * delta * f64::from(runs), "the attack no longer works: {declared} of {runs}");

    let mut posterior = at_origin(&[0.1, 0.2], 0.3, Collected::DeclaredFixed);
    let theorem = |p: &Posterior| p.interval(query.view(), &claim(delta, 2.0, 1.0)).unwrap().certificate().theorem;
    assert_eq!(theorem(&posterior), Theorem::Width(Method::Tight));
    posterior.update_declared(&[0.0], 0.1, Collected::DeclaredFixed).unwrap();
    assert_eq!(theorem(&posterior), Theorem::Width(Method::Tight));
    posterior.update(&[0.0], 0.12).unwrap();
    assert_eq!(theorem(&posterior), Theorem::Energy);
    posterior.update_declared(&[0.0], 0.14, Collected::DeclaredFixed).unwrap();
    assert_eq!(theorem(&posterior), Theorem::Energy, "one row that nobody vouches for is enough");
}

/// P6: ridge or noise learnt from the responses, under a kernel that was declared.
#[test]
fn a_learnt_ridge_or_noise_is_not_declared() {
    let kernel = Kernel::squared_exponential(0.2, 1.0).unwrap();
    let features = Arc::new(FeatureMap::new(&kernel, points(&[vec![0.0]])).unwrap());
    let observations = || Observations::new(points(&[vec![0.0], vec![0.1]]), &[0.1, 0.2], Collected::DeclaredFixed, Prior::ZERO).unwrap();
    let label = |ridge: Sourced<f64>, noise: Sourced<Noise>| {
        let posterior = Posterior::fit(Arc::clone(&features), ridge, observations()).unwrap();
        let claim = Claim::new(0.05).unwrap().norm_bound(1.0).unwrap().noise(noise);
        posterior.interval(points(&[vec![0.0]]).view(), &claim).unwrap().certificate().label()
    };
    let noise = Noise::gaussian(0.1).unwrap();
    assert_eq!(label(0.1.into(), noise.clone().into()), Label::Certified);
    assert_eq!(label(Sourced::new(0.1, Origin::LearntHere), noise.clone().into()), Label::Estimated);
    assert_eq!(label(0.1.into(), Sourced::new(noise, Origin::LearntHere)), Label::Estimated);
}

/// The data refute the premises: said with what would be consistent, and nothing more is measured unless somebody says so.
#[test]
fn refuted_premises_stop_the_run_until_somebody_says_otherwise() {
    let kernel = Kernel::squared_exponential(0.3, 1.0).unwrap();
    let problem = Problem::new(Domain::Box(BoxDomain::unit(1).unwrap()), 60).unwrap().with_kernel(kernel).unwrap();
    let problem = problem.with_norm_bound(2.0).unwrap().with_noise(Noise::gaussian(0.1).unwrap()).unwrap();
    for rules in [Rules::Certified, Rules::Paper] {
        refuted_after_the_first_batch(Strategy::new(problem.clone(), Policy::Sbpe(Box::new(Sbpe::new(rules)))).unwrap());
    }
}

fn refuted_after_the_first_batch(mut run: Strategy) {
    let answer = |run: &mut Strategy| match run.ask(usize::MAX).unwrap() {
        Ask::Trials(trials) => {
            trials.iter().for_each(|t| run.tell(t.id, Outcome::Value(80.0 + t.point[0])).unwrap());
            true
        }
        _ => false,
    };
    assert!(answer(&mut run));
    let Ask::Contradicted(contradiction) = run.ask(1).unwrap() else { panic!("the unit is wrong, and nobody noticed") };
    assert!(contradiction.least_norm.unwrap() > 30.0, "{contradiction:?}");
    assert!(contradiction.to_string().contains("prior mean or the unit"));
    assert_eq!(run.recommend().unwrap().unwrap().certificate.contradiction, Some(contradiction));
    run.go_on_despite_contradiction();
    assert!(answer(&mut run));
    assert_eq!(run.recommend().unwrap().unwrap().label(), Label::Estimated);
}

/// The exact posterior of data in a wrong unit: without the check its interval is narrow, far from anything the norm allows, and reads certified.
#[test]
fn the_exact_posterior_checks_its_premises_too() {
    let (x, claim) = (Points::on_line((0..20).map(|i| f64::from(i) / 20.0).collect()).unwrap(), claim(0.05, 3.0, 0.1));
    let query = Points::on_line(vec![0.52]).unwrap();
    let posterior = |unit: f64| {
        let y: Vec<f64> = x.view().rows().map(|x| unit * (6.0 * x[0]).sin()).collect();
        let observations = Observations::new(x.clone(), &y, Collected::DeclaredFixed, Prior::ZERO).unwrap();
        ExactPosterior::new(Kernel::squared_exponential(0.2, 1.0).unwrap(), 0.1, observations).unwrap()
    };
    let (right, wrong) = (posterior(1.0), posterior(1000.0));
    assert_eq!(right.checked_interval(query.view(), &claim).unwrap().certificate().label(), Label::Certified);
    assert_eq!(wrong.interval(query.view(), &claim).unwrap().certificate().label(), Label::Certified, "unchecked");
    assert_eq!(wrong.checked_interval(query.view(), &claim).unwrap().certificate().label(), Label::Estimated);
    assert_eq!(wrong.checked_prediction(query.view(), &claim).unwrap().certificate().label(), Label::Estimated);
    let far = right.checked_interval(Points::on_line(vec![9.0]).unwrap().view(), &claim.clone().method(Method::Paper)).unwrap();
    assert!(far.upper()[0] <= 3.0 + 1e-9 && far.lower()[0] >= -3.0 - 1e-9, "never beyond what the norm bound alone says");
}

/// Failures among results from before the run are losses like any others.
#[test]
fn attached_failures_are_losses() {
    let label = |failed: bool| {
        let list = ListDomain::new(points(&[vec![0.0], vec![0.5], vec![1.0]])).unwrap();
        let problem = Problem::new(Domain::List(list), 6).unwrap().with_kernel(Kernel::squared_exponential(0.3, 1.0).unwrap()).unwrap();
        let problem = problem.with_norm_bound(2.0).unwrap().with_noise(Noise::gaussian(0.1).unwrap()).unwrap();
        let mut run = Strategy::new(problem, Policy::Sbpe(Box::default())).unwrap();
        run.attach(&[0.0], Outcome::Value(0.9), Collected::DeclaredFixed).unwrap();
        run.attach(&[0.5], if failed { Outcome::Failed } else { Outcome::Value(0.8) }, Collected::DeclaredFixed).unwrap();
        while let Ask::Trials(trials) = run.ask(usize::MAX).unwrap() {
            trials.iter().for_each(|t| run.tell(t.id, Outcome::Value(0.8)).unwrap());
        }
        run.recommend().unwrap().unwrap().label()
    };
    assert_eq!((label(false), label(true)), (Label::Certified, Label::Estimated));
}

/// P10: on true premises the alarm of a fit is false at most one time in twenty δ; spending all of δ on it would show.
#[test]
fn the_alarm_is_false_within_its_share_of_delta() {
    let (delta, level, runs) = (0.4, 1.0, 2000);
    let (mut draws, mut within, mut whole) = (Draws::new(12), 0, 0);
    for _ in 0..runs {
        // Nothing but noise under a norm bound of next to nothing: the premises hold, and only just.
        let y: Vec<f64> = (0..8).map(|_| level * draws.normal()).collect();
        let posterior = at_origin(&y, level, Collected::DeclaredFixed);
        let claim = claim(delta, 1e-6, level);
        within += usize::from(posterior.answers(&claim).unwrap().contradiction().is_some());
        whole += usize::from(posterior.norm_check(&claim).unwrap().contradicted == Some(true));
    }
    let most = delta / 20.0 * f64::from(runs);
    assert!(within as f64 <= most + 4.0 * most.sqrt(), "{within} false alarms where {most} may be");
    assert!(whole as f64 > most + 4.0 * most.sqrt(), "with all of delta: {whole}");
}

/// Inducing points that were handed over are the user's word, those of a rule the program's.
#[test]
fn inducing_points_say_who_chose_them() {
    let kernel = Kernel::squared_exponential(0.2, 1.0).unwrap();
    let observed = Observations::new(points(&[vec![0.0], vec![0.4]]), &[0.1, 0.2], Collected::DeclaredFixed, Prior::ZERO).unwrap();
    let ruled = InducingRule::Greedy(Stop::at_size(2)).select(&kernel, 0.1, observed.locations(), 0).unwrap().into_points();
    let learnt = Sourced::new(ruled.value.clone(), Origin::LearntHere);
    let cases = [
        (ruled.value.clone().into(), Origin::Declared, Label::Certified),
        (ruled, Origin::Guaranteed, Label::Certified),
        (learnt, Origin::LearntHere, Label::Estimated),
    ];
    for (inducing, origin, label) in cases {
        let features = Arc::new(FeatureMap::new(&kernel, inducing).unwrap());
        let posterior = Posterior::fit(features, 0.1, observed.clone()).unwrap();
        let saved = Posterior::from_bytes(&posterior.to_bytes()).unwrap();
        for model in [posterior, saved] {
            let certificate = model.interval(points(&[vec![0.0]]).view(), &claim(0.05, 1.0, 0.1)).unwrap().certificate().clone();
            assert_eq!((certificate.premises.inducing.origin, certificate.label()), (origin, label));
        }
    }
}

/// P6 for the noise of a new response.
#[test]
fn a_learnt_noise_of_new_responses_is_not_declared() {
    let posterior = at_origin(&[0.1, 0.2], 0.3, Collected::DeclaredFixed);
    let noise = Noise::gaussian(0.1).unwrap();
    let label = |origin| {
        let claim = claim(0.05, 2.0, 1.0).new_noise(Sourced::new(noise.clone(), origin));
        posterior.prediction_interval(points(&[vec![0.0]]).view(), &claim).unwrap().certificate().label()
    };
    assert_eq!((label(Origin::Declared), label(Origin::LearntHere)), (Label::Certified, Label::Estimated));
}

/// Beside a large offset a response has fewer digits than its noise: what is left of it is rounding, which no theorem speaks of.
#[test]
fn responses_have_more_digits_than_noise() {
    let strategy = |mean: f64, unit: f64, level: f64| {
        let problem = Problem::new(Domain::List(ListDomain::new(Points::on_line(vec![0.0, 0.5, 1.0]).unwrap()).unwrap()), 9).unwrap();
        let problem = problem.with_kernel(Kernel::squared_exponential(0.3, 1.0).unwrap()).unwrap().with_norm_bound(1.0).unwrap();
        let problem = problem.with_noise(Noise::gaussian(level).unwrap()).unwrap().with_prior(Prior::declared(mean, unit).unwrap());
        Strategy::new(problem, Policy::Sbpe(Box::default()))
    };
    for (mean, unit, level) in [(1e18, 1.0, 0.05), (1e16, 1.0, 0.05), (-1e12, 1e-4, 0.05), (1e18, 1.0, 0.0)] {
        let said = strategy(mean, unit, level).unwrap_err().to_string();
        assert!(said.contains("subtract the prior mean from every response"), "{said}");
    }
    for (mean, unit, level) in [(1e18, 1e5, 0.05), (1e12, 1.0, 0.05), (0.0, 1e-300, 0.05), (100.0, 1.0, 0.0)] {
        strategy(mean, unit, level).unwrap();
    }
}

/// What a claim found to be refuted where it was asked about the function is refuted for new responses too.
#[test]
fn a_new_response_is_not_certified_where_the_function_is_refuted() {
    let kernel = Kernel::squared_exponential(0.2, 1.0).unwrap();
    let query = Points::on_line(vec![0.5]).unwrap();
    let mut found = 0;
    for seed in 0..40 {
        let mut draws = Draws::new(seed);
        let x: Vec<f64> = (0..3000).map(|_| draws.uniform()).collect();
        let y: Vec<f64> = x.iter().map(|x| 1.06 * (-(x - 0.5_f64).powi(2) / 0.08).exp() + 0.5 * draws.normal()).collect();
        let observations = Observations::new(Points::on_line(x).unwrap(), &y, Collected::DeclaredFixed, Prior::ZERO).unwrap();
        let z = Points::on_line((0..20).map(|i| f64::from(i) / 19.0).collect()).unwrap();
        let features = FeatureMap::new(kernel.clone(), z).unwrap();
        let posterior = Posterior::fit(Arc::new(features), 0.5, observations).unwrap();
        let claim = Claim::new(0.05).unwrap().norm_bound(1.0).unwrap().noise(Noise::gaussian(0.5).unwrap());
        let answers = posterior.answers(&claim).unwrap();
        let answer = answers.at(query.view()).unwrap();
        if answers.contradiction().is_none() && answer.certificate.contradiction.is_some() {
            found += 1;
            assert_ne!(answer.response_certificate.label(), Label::Certified);
            assert_ne!(answers.response(query.view()).unwrap().1.label(), Label::Certified);
        }
    }
    assert!(found > 0, "no draw showed it at the point alone");
}

/// A cell of a notebook that is run again: the same rows count as others, unless they are recognised.
#[test]
fn rows_that_come_again_are_copies() {
    let fixed = Collected::DeclaredFixed;
    let told_after = |collected: Collected, second: &[f64]| {
        let mut posterior = at_origin(&[0.31], 0.1, collected);
        for y in second {
            posterior.update_declared(&[0.0], *y, fixed).unwrap();
        }
        let found = posterior.interval(points(&[vec![0.0]]).view(), &claim(0.1, 2.0, 0.1)).unwrap();
        (found.certificate().label(), found.certificate().premises.copies.value)
    };
    let told = |second: &[f64]| told_after(fixed, second);
    assert_eq!(told(&[0.29, 0.35]), (Label::Certified, 0));
    assert_eq!(told(&[0.31]), (Label::Estimated, 1));
    assert_eq!(told(&[0.31, 0.31, 0.31]), (Label::Estimated, 3));
    assert_eq!(told(&[0.29, 0.35, 0.29]), (Label::Estimated, 1), "one of several at its point");
    for collected in [fixed, Collected::Designed] {
        let mut posterior = at_origin(&[0.31], 0.1, collected);
        posterior.update_block(points(&[vec![0.0], vec![0.5]]).view(), &[0.31, 0.2], fixed).unwrap();
        let found = posterior.interval(points(&[vec![0.0]]).view(), &claim(0.1, 2.0, 0.1)).unwrap();
        assert_eq!((found.certificate().label(), found.certificate().premises.copies.value), (Label::Estimated, 1), "{collected:?}");
    }
    // What the program chose itself may be chosen twice; what is handed over after it was not.
    assert_eq!(at_origin(&[0.31, 0.31], 0.1, Collected::Designed).observations().unwrap().copies(), 0);
    assert_eq!(told_after(Collected::Designed, &[0.29]), (Label::Certified, 0));
    assert_eq!(told_after(Collected::Designed, &[0.31]), (Label::Estimated, 1));
}

/// A weight of ten says that a row is the mean of ten measurements: whoever gives it declares that.
#[test]
fn weights_are_declared_means() {
    let x = points(&[vec![0.0], vec![0.3], vec![0.7]]);
    let features = Arc::new(FeatureMap::new(Kernel::squared_exponential(0.2, 1.0).unwrap(), x.clone()).unwrap());
    let of = |weights: &[f64]| {
        let observations = Observations::weighted(x.clone(), &[0.1, 0.2, 0.3], weights, Collected::DeclaredFixed, Prior::ZERO).unwrap();
        let posterior = Posterior::fit(Arc::clone(&features), 0.1, observations).unwrap();
        posterior.interval(x.view(), &claim(0.1, 2.0, 0.1)).unwrap().certificate().premises.means
    };
    assert_eq!(of(&[1.0, 1.0, 1.0]), Sourced::new(0, Origin::Guaranteed));
    assert_eq!(of(&[1.0, 10.0, 2.0]), Sourced::new(2, Origin::Declared));
}

/// A model with weights keeps them: in a file, and when more rows come, at its points or elsewhere.
#[test]
fn weights_stay_when_a_model_is_saved_or_updated() {
    let x = points(&[vec![0.0], vec![0.3], vec![0.7]]);
    let features = Arc::new(FeatureMap::new(Kernel::squared_exponential(0.2, 1.0).unwrap(), x.clone()).unwrap());
    for weights in [[1.0, 1.0, 1.0], [1.0, 10.0, 0.5]] {
        let observations = Observations::weighted(x.clone(), &[0.1, 0.2, 0.3], &weights, Collected::DeclaredFixed, Prior::ZERO).unwrap();
        let mut posterior = Posterior::fit(Arc::clone(&features), 0.1, observations).unwrap();
        assert_eq!(Posterior::from_bytes(&posterior.to_bytes()).unwrap().to_bytes(), posterior.to_bytes());
        let counts = |posterior: &Posterior| {
            let locations = Arc::clone(posterior.observations().unwrap().locations());
            (0..locations.distinct()).map(|i| locations.count(i)).collect::<Vec<f64>>()
        };
        posterior.update_declared(&[0.3], 0.25, Collected::DeclaredFixed).unwrap();
        posterior.update_block(points(&[vec![0.9], vec![0.7]]).view(), &[0.1, 0.2], Collected::DeclaredFixed).unwrap();
        assert_eq!(counts(&posterior), [weights[0], weights[1] + 1.0, weights[2] + 1.0, 1.0]);
        assert!(posterior.interval(x.view(), &claim(0.1, 2.0, 0.1)).unwrap().lower().iter().all(|end| end.is_finite()));
        assert_eq!(Posterior::from_bytes(&posterior.to_bytes()).unwrap().to_bytes(), posterior.to_bytes());
    }
}
