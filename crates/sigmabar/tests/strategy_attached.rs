//! Results from before a run, what is left of each kind of domain, and the posterior of everything measured.

use crate::sbpe_support;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use sbpe_support::{Drawn, Known, finish, sbpe, uniform};
use sigmabar::domain::{Column, SpaceDomain};
use sigmabar::posterior::ExactPosterior;
use sigmabar::strategy::{
    AdaBkb, Auto, BkbWidth, Bpe, BpeSchedule, BpeWidth, GpThreds, GpUcb, LargestVariance, Sbpe, Schedule, Survivors, UcbWidth,
};
use sigmabar::{
    Ask, BoxDomain, Collected, Domain, Error, Kernel, Label, Noise, Observations, Outcome, Points, Policy, Prior, Problem, Recommendation,
    Strategy,
};

fn known(seed: u64) -> Known {
    Known::random(Kernel::squared_exponential(0.3, 1.0).unwrap(), 2, 60, 2.0, 0.2, seed)
}

fn attach(run: &mut Strategy, known: &Known, collected: Collected, rng: &mut ChaCha8Rng) {
    for i in (0..60).step_by(3) {
        let value = known.values[i] + Drawn::Gaussian.draw(known.level, rng);
        run.attach(known.points.row(i), Outcome::Value(value), collected).unwrap();
    }
}

fn bump(x: &[f64]) -> f64 {
    (-8.0 * x.iter().map(|v| (v - 0.3).powi(2)).sum::<f64>()).exp()
}

fn on_box(dim: usize, budget: usize) -> Problem {
    let kernel = Kernel::squared_exponential(0.4, 1.0).unwrap();
    let problem = Problem::new(Domain::Box(BoxDomain::unit(dim).unwrap()), budget).unwrap().with_kernel(kernel).unwrap();
    problem.with_norm_bound(2.0).unwrap().with_noise(Noise::gaussian(0.05).unwrap()).unwrap()
}

fn answer_all(run: &mut Strategy, f: impl Fn(&[f64]) -> f64) {
    while let Ask::Trials(trials) = run.ask(usize::MAX).unwrap() {
        for trial in trials {
            run.tell(trial.id, Outcome::Value(f(&trial.point))).unwrap();
        }
    }
}

#[test]
fn every_policy_that_rules_settings_out_says_what_is_left() {
    let policies = [
        Policy::AdaBkb(AdaBkb::new(BkbWidth::Constant(1.0))),
        Policy::Auto(Auto::default()),
        Policy::Bpe(Bpe::new(BpeSchedule::Even(3), BpeWidth::Constant(2.0))),
        Policy::GpThreds(GpThreds::new(0.5, 1.5).unwrap()),
        sbpe(Sbpe::default().with_schedule(Schedule::Even(3))),
        sbpe(Sbpe::default().with_schedule(Schedule::Even(3)).with_candidates(512).unwrap()),
    ];
    for policy in policies {
        let name = policy.name();
        let mut run = Strategy::new(on_box(2, 60), policy).unwrap();
        assert_eq!(run.survivors().unwrap(), None, "{name} has said nothing yet");
        answer_all(&mut run, bump);
        let inside = |p: &[f64]| p.iter().all(|v| (0.0..=1.0).contains(v));
        match run.survivors().unwrap().unwrap() {
            Survivors::Cells(cells) => {
                let volume: f64 = cells.iter().map(|c| c.low.iter().zip(&c.high).map(|(a, b)| b - a).product::<f64>()).sum();
                assert!(volume > 0.0 && volume <= 1.0 + 1e-12 && cells.iter().all(|c| inside(&c.low) && inside(&c.high)), "{name}");
                assert!(volume < 1.0, "{name} ruled nothing out");
            }
            Survivors::Points(points) => {
                assert!(!points.is_empty() && points.view().rows().all(inside), "{name}");
                let far = points.view().rows().filter(|p| bump(p) < 0.05).count();
                assert!(far * 10 < points.len(), "{name}: {far} of {} are far from the maximum", points.len());
            }
            other => panic!("{name}: a box has no candidates of a list: {other:?}"),
        }
    }
}

#[test]
fn survivors_of_a_space_are_natural_points() {
    let columns = vec![Column::log_float(1e-3, 1.0), Column::Integer { low: 0, high: 8, step: Some(2) }, Column::categorical(2)];
    let domain = Domain::Space(SpaceDomain::new(columns, vec![]).unwrap());
    let kernel = domain.default_kernel(0.5, 1.0).unwrap();
    let problem = Problem::new(domain, 40).unwrap().with_kernel(kernel).unwrap();
    let problem = problem.with_norm_bound(2.0).unwrap().with_noise(Noise::gaussian(0.1).unwrap()).unwrap();
    let mut run = Strategy::new(problem, sbpe(Sbpe::default().with_candidates(200).unwrap())).unwrap();
    answer_all(&mut run, |x| x[1]);
    let Some(Survivors::Points(points)) = run.survivors().unwrap() else { panic!("points") };
    assert!(points.len() <= 200 && points.view().rows().all(|row| run.problem().domain().contains(row)));
}

#[test]
fn auto_names_all_survivors_of_a_small_space_measured_or_not() {
    let domain = Domain::Space(SpaceDomain::new(vec![Column::integer(0, 9), Column::integer(0, 9)], vec![]).unwrap());
    let mut run = Strategy::new(Problem::new(domain, 40).unwrap(), Policy::Auto(Auto::default())).unwrap();
    answer_all(&mut run, bump);
    let Some(Survivors::Points(points)) = run.survivors().unwrap() else { panic!("points") };
    let best = run.recommend().unwrap().unwrap().point;
    let best = run.problem().domain().decode(Points::new(best, 2).unwrap().view()).unwrap();
    assert!(points.len() < 60 && points.view().rows().any(|p| p == best.row(0)), "{} of 100 points", points.len());
}

#[test]
fn a_bandit_chooses_by_the_posterior_of_what_was_attached() {
    for seed in 0..5 {
        let known = known(seed);
        let problem = known.problem(5, Drawn::Gaussian, seed);
        let mut run = Strategy::new(problem, Policy::GpUcb(GpUcb::new(UcbWidth::Constant(1.5)))).unwrap();
        attach(&mut run, &known, Collected::Adaptive, &mut ChaCha8Rng::seed_from_u64(seed));
        let (x, y): (Vec<Vec<f64>>, Vec<f64>) = run.ledger().all_measured().map(|m| (m.point.to_vec(), m.value)).unzip();
        assert_eq!(y.len(), 20);
        let observations = Observations::new(Points::from_rows(&x).unwrap(), &y, Collected::Adaptive, Prior::ZERO).unwrap();
        let exact = ExactPosterior::new(known.kernel.clone(), known.level, observations).unwrap();
        let (mean, sd) = (exact.mean(known.points.view()).unwrap(), exact.std_dev(known.points.view()).unwrap());
        let best = (0..60).max_by(|&a, &b| (mean[a] + 1.5 * sd[a]).total_cmp(&(mean[b] + 1.5 * sd[b]))).unwrap();
        let seen = run.posterior().unwrap().unwrap();
        for (a, b) in seen.mean(known.points.view()).unwrap().iter().zip(&mean) {
            assert!((a - b).abs() < 1e-8);
        }
        for (a, b) in seen.std_dev(known.points.view()).unwrap().iter().zip(&sd) {
            assert!((a - b).abs() < 1e-7);
        }
        let Ask::Trials(trials) = run.ask(1).unwrap() else { panic!("a trial") };
        assert_eq!(trials[0].candidate, Some(best));
        assert!(run.recommend().unwrap().is_some(), "what was attached is known");
    }
}

#[test]
fn policies_on_boxes_take_points_that_are_none_of_their_candidates() {
    let bandits = [
        Policy::GpUcb(GpUcb::new(UcbWidth::Constant(2.0))),
        Policy::Bkb(sigmabar::strategy::Bkb::default()),
        Policy::Bbkb(sigmabar::strategy::Bbkb::default()),
        Policy::DecoupledThompson(sigmabar::strategy::DecoupledThompson::default()),
        Policy::MiniMeta(sigmabar::strategy::MiniMeta::default()),
        Policy::AdaBkb(AdaBkb::default()),
        Policy::Auto(Auto::default()),
        Policy::LargestVariance(LargestVariance::default()),
    ];
    for policy in bandits {
        let name = policy.name();
        let mut run = Strategy::new(on_box(2, 15), policy).unwrap();
        for x in uniform(12, 2, 3).view().rows() {
            run.attach(x, Outcome::Value(bump(x)), Collected::Adaptive).unwrap();
        }
        run.attach(&[0.111, 0.222], Outcome::Failed, Collected::Adaptive).unwrap();
        let mut plain = Strategy::from_bytes(&run.to_bytes()).unwrap();
        assert_eq!(plain, run, "{name}: what was attached is saved");
        answer_all(&mut run, bump);
        while let Ask::Trials(trials) = plain.ask(1).unwrap() {
            plain.tell(trials[0].id, Outcome::Value(bump(&trials[0].point))).unwrap();
            plain = Strategy::from_bytes(&plain.to_bytes()).unwrap();
        }
        assert_eq!(plain, run, "{name}: restored after every event, the same future");
        assert_eq!(run.ledger().trials().len(), 15, "{name}: the budget is the run's own");
        assert_eq!(run.posterior().unwrap().unwrap().posterior().information().len(), 12 + 15, "{name}");
    }
}

#[test]
fn only_fixed_results_enter_a_certificate() {
    let known = known(4);
    let run_with = |collected: Option<Collected>| {
        let mut rng = ChaCha8Rng::seed_from_u64(9);
        let mut run = Strategy::new(known.problem(30, Drawn::Gaussian, 0), sbpe(Sbpe::default())).unwrap();
        if let Some(collected) = collected {
            attach(&mut run, &known, collected, &mut rng);
        }
        finish(&mut run, |i| known.values[i]);
        let (mut advice, mut batches) = (run.recommend().unwrap().unwrap(), run.batches().unwrap());
        // A setting that was measured before the run, too, is repeated; which ones is said, and nothing else of it.
        let certificates = batches.iter_mut().filter_map(|batch| batch.certificate.as_mut());
        certificates.chain([&mut advice.certificate]).for_each(|certificate| certificate.premises.repeats = None);
        (advice, run.survivors().unwrap(), batches)
    };
    let (plain, adaptive, fixed) = (run_with(None), run_with(Some(Collected::Adaptive)), run_with(Some(Collected::DeclaredFixed)));
    assert_eq!(plain, adaptive, "adaptive results change nothing");
    let said = |r: &Recommendation| r.certificate.premises.points.value;
    assert_eq!((said(&plain.0), said(&fixed.0), fixed.0.label()), (Collected::Designed, Collected::DeclaredFixed, Label::Certified));
    assert!(fixed.2[0].gap < plain.2[0].gap, "{:?} and {:?}", fixed.2[0].gap, plain.2[0].gap);
    assert!(fixed.2.iter().all(|b| b.certificate.as_ref().unwrap().label() == Label::Certified));
}

#[test]
fn certificates_with_fixed_results_hold() {
    let bad: usize = (0..300_u64)
        .into_par_iter()
        .map(|seed| {
            let known = known(seed);
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut run = Strategy::new(known.problem(25, Drawn::Gaussian, seed), sbpe(Sbpe::default())).unwrap();
            attach(&mut run, &known, Collected::DeclaredFixed, &mut rng);
            finish(&mut run, |i| known.values[i] + Drawn::Gaussian.draw(known.level, &mut rng));
            let advice = run.recommend().unwrap().unwrap();
            let left = run.survivors().unwrap().unwrap();
            let lost = left.candidates().unwrap().iter().all(|&i| known.values[i] < known.best());
            usize::from(lost || known.best() - known.values[advice.candidate.unwrap()] > advice.gap)
        })
        .sum();
    assert!(bad <= 15, "{bad} of 300 runs at δ = 0.05");
}

#[test]
fn a_mean_with_its_standard_error_is_worth_its_replicates() {
    let known = known(2);
    let run_with = |told: fn(f64) -> Vec<Outcome>| {
        let problem = known.problem(5, Drawn::Gaussian, 0);
        let mut run = Strategy::new(problem, Policy::Random(sigmabar::strategy::Random::default())).unwrap();
        for i in [1, 5, 9, 33] {
            told(known.values[i]).into_iter().for_each(|o| run.attach(known.points.row(i), o, Collected::Adaptive).unwrap());
        }
        let seen = run.posterior().unwrap().unwrap();
        let (mean, sd) = (seen.mean(known.points.view()).unwrap(), seen.std_dev(known.points.view()).unwrap());
        let advice = run.recommend().unwrap().unwrap();
        (mean, sd, (advice.candidate, advice.lower, advice.upper))
    };
    let replicates = run_with(|v| vec![Outcome::Value(v + 0.1), Outcome::Value(v - 0.1), Outcome::Value(v), Outcome::Value(v)]);
    let means = run_with(|v| vec![Outcome::Mean { mean: v, standard_error: 0.1, replicates: None }]);
    let singles = run_with(|v| vec![Outcome::Value(v)]);
    let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-8);
    assert!(close(&replicates.0, &means.0) && close(&replicates.1, &means.1), "four replicates of level 0.2 have standard error 0.1");
    assert!(!close(&means.1, &singles.1));
    assert_eq!(replicates.2.0, means.2.0);
    assert!((replicates.2.1 - means.2.1).abs() < 1e-8 && (replicates.2.2 - means.2.2).abs() < 1e-8);
}

#[test]
fn auto_shows_its_posterior_in_the_datas_scale() {
    let problem = Problem::new(Domain::Box(BoxDomain::unit(2).unwrap()), 60).unwrap();
    let mut run = Strategy::new(problem, Policy::Auto(Auto::default())).unwrap();
    assert!(run.posterior().unwrap().is_none());
    answer_all(&mut run, |x| 500.0 + 100.0 * bump(x));
    let seen = run.posterior().unwrap().unwrap();
    // Where it was measured, without noise, it knows the values.
    let at = Points::from_rows(&run.ledger().trials().iter().map(|t| t.point.clone()).collect::<Vec<_>>()).unwrap();
    let (mean, band) = (seen.mean(at.view()).unwrap(), seen.band(at.view(), 3.0).unwrap());
    for (i, x) in at.view().rows().enumerate() {
        assert!((mean[i] - 500.0 - 100.0 * bump(x)).abs() < 2.0, "{} for {}", mean[i], 500.0 + 100.0 * bump(x));
        assert!(band[i].0 <= mean[i] && mean[i] <= band[i].1);
    }
    let reports = run.batches().unwrap();
    assert!(reports.iter().all(|b| b.gap.is_some() && b.certificate.as_ref().unwrap().label() == Label::Estimated));
}

#[test]
fn reports_count_the_inducing_points_of_sparse_bandits() {
    for policy in [
        Policy::Bkb(sigmabar::strategy::Bkb::default()),
        Policy::Bbkb(sigmabar::strategy::Bbkb::default()),
        Policy::AdaBkb(AdaBkb::default()),
        Policy::DecoupledThompson(sigmabar::strategy::DecoupledThompson::default()),
        Policy::LargestVariance(LargestVariance::default()),
    ] {
        let name = policy.name();
        let mut run = Strategy::new(on_box(1, 12), policy).unwrap();
        answer_all(&mut run, bump);
        let reports = run.batches().unwrap();
        assert!(reports.iter().all(|b| b.inducing.is_some_and(|m| (1..=128).contains(&m))), "{name}: {reports:?}");
    }
}

#[test]
fn what_cannot_be_attached_is_refused() {
    let mut run = Strategy::new(on_box(2, 5), Policy::Random(sigmabar::strategy::Random::default())).unwrap();
    let before = run.clone();
    let one = Outcome::Value(1.0);
    assert_eq!(run.attach(&[0.5, 1.5], one, Collected::Adaptive), Err(Error::Outside { row: 0, column: 1, value: 1.5 }));
    assert!(matches!(run.attach(&[0.5], one, Collected::Adaptive), Err(Error::Length { .. } | Error::Width { .. })));
    assert!(matches!(run.attach(&[0.5, 0.5], Outcome::Value(f64::NAN), Collected::Adaptive), Err(Error::NotFinite { .. })));
    assert_eq!(run, before);
    run.ask(1).unwrap();
    assert!(matches!(run.attach(&[0.5, 0.5], one, Collected::Adaptive), Err(Error::Premise { .. })), "the run has begun");
}

#[test]
fn without_a_kernel_told_standard_errors_weigh() {
    let mut run = Strategy::new(on_box(1, 5).with_seed(1), Policy::Random(sigmabar::strategy::Random::default())).unwrap();
    assert!(run.recommend().unwrap().is_none());
    let domain = Domain::Box(BoxDomain::unit(1).unwrap());
    run = Strategy::new(Problem::new(domain, 5).unwrap(), Policy::Random(sigmabar::strategy::Random::default())).unwrap();
    let mean = |mean: f64, standard_error: f64| Outcome::Mean { mean, standard_error, replicates: None };
    // 0.2: a precise 1.0 and a vague 5.0; 0.7: a precise 1.1.
    for (x, outcome) in [(0.2, mean(1.0, 0.01)), (0.2, mean(5.0, 1.0)), (0.7, mean(1.1, 0.01))] {
        run.attach(&[x], outcome, Collected::Adaptive).unwrap();
    }
    let advice = run.recommend().unwrap().unwrap();
    assert_eq!(advice.point, [0.7], "the vague 5.0 hardly counts");
    assert!(advice.lower < 1.1 && advice.upper > 1.1 && advice.upper - advice.lower < 0.1, "its own error is 0.01: {advice:?}");
}

#[test]
fn without_a_kernel_replicates_that_agree_exactly_do_not_run_over() {
    let domain = Domain::Box(BoxDomain::unit(1).unwrap());
    let mut run = Strategy::new(Problem::new(domain, 5).unwrap(), Policy::Random(sigmabar::strategy::Random::default())).unwrap();
    // A poor point seen many times, and the best one once: a table without noise.
    for (x, value) in [(0.2, 0.3), (0.2, 0.3), (0.2, 0.3), (0.2, 0.3), (0.2, 0.3), (0.5, 0.9), (0.7, 0.6)] {
        run.attach(&[x], Outcome::Value(value), Collected::Adaptive).unwrap();
    }
    let advice = run.recommend().unwrap().unwrap();
    assert_eq!(advice.point, [0.5]);
    assert!(advice.lower <= 0.9 && advice.upper >= 0.9 && advice.upper - advice.lower < 0.05, "{advice:?}");
}

#[test]
fn light_tailed_noise_has_a_ridge_of_its_own_and_no_borrowed_width() {
    let noise = || Noise::light_tailed(0.04, 3.0).unwrap();
    let kernel = Kernel::squared_exponential(0.4, 1.0).unwrap();
    let problem = || {
        let problem = Problem::new(Domain::Box(BoxDomain::unit(1).unwrap()), 12).unwrap().with_kernel(&kernel).unwrap();
        problem.with_norm_bound(2.0).unwrap().with_noise(noise()).unwrap()
    };
    assert!((problem().ridge().unwrap() - 0.2).abs() < 1e-15, "√ξ₀ bounds the standard deviation");
    assert!(matches!(Strategy::new(problem(), Policy::GpUcb(GpUcb::new(UcbWidth::LogDet))), Err(Error::Premise { .. })));
    assert!(Strategy::new(problem(), Policy::GpUcb(GpUcb::new(UcbWidth::Constant(2.0)))).is_ok());
    let mut run = Strategy::new(problem(), sbpe(Sbpe::default())).unwrap();
    answer_all(&mut run, bump);
    assert_eq!(run.recommend().unwrap().unwrap().label(), Label::Certified);
    let gap = |noise: Noise| {
        let problem = problem().with_ridge(0.2).unwrap().with_noise(noise).unwrap();
        let mut run = Strategy::new(problem, sbpe(Sbpe::new(sigmabar::strategy::Rules::Paper).with_candidates(64).unwrap())).unwrap();
        answer_all(&mut run, bump);
        run.batches().unwrap().last().unwrap().gap.unwrap()
    };
    assert!(gap(noise()) > gap(Noise::sub_gaussian(0.2).unwrap()), "light tails are heavier than sub-Gaussian ones of the same variance");
}

/// A lucky draw beside low neighbours is not recommended, whatever the strategy knows: before a batch is closed, and after an import alone.
#[test]
fn what_is_recommended_early_is_no_lucky_draw() {
    let x = |i: usize| [i as f64 / 19.0];
    let truth = |x: f64| -8.0 * (x - 0.7).powi(2);
    // Alternating noise, and one value at 0.1 that is far above its neighbours and above everything else.
    let value = |i: usize| truth(x(i)[0]) + if i == 2 { 4.0 } else { 0.2 * (-1.0_f64).powi(i as i32) };
    let problem = || Problem::new(Domain::Box(BoxDomain::unit(1).unwrap()), 40).unwrap();
    for policy in [Policy::Auto(Auto::default()), Policy::Random(sigmabar::strategy::Random::default())] {
        let mut run = Strategy::new(problem(), policy.clone()).unwrap();
        for i in 0..20 {
            run.attach(&x(i), Outcome::Value(value(i)), Collected::Adaptive).unwrap();
        }
        let best = run.recommend().unwrap().unwrap();
        assert!((best.point[0] - 0.7).abs() < 0.15, "{}: {:?}", policy.name(), best.point);
        assert!(best.lower < best.upper && best.gap == f64::INFINITY && best.label() == Label::Estimated);
        // The same in the middle of a batch.
        let mut run = Strategy::new(problem(), policy).unwrap();
        let Ask::Trials(trials) = run.ask(30).unwrap() else { panic!("nothing is asked") };
        let lucky = trials.iter().min_by(|a, b| (a.point[0] - 0.4).abs().total_cmp(&(b.point[0] - 0.4).abs())).unwrap().id;
        for (i, trial) in trials.iter().enumerate().filter(|(i, t)| i % 8 != 7 || t.id == lucky) {
            let noise = if trial.id == lucky { 1.3 } else { 0.2 * (-1.0_f64).powi(i as i32) };
            run.tell(trial.id, Outcome::Value(truth(trial.point[0]) + noise)).unwrap();
        }
        let best = run.recommend().unwrap().unwrap();
        assert!((best.point[0] - 0.7).abs() < 0.2, "{}: {:?}", run.policy().name(), best.point);
        assert!(run.posterior().unwrap().is_some());
    }
}
