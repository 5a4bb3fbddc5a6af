//! The norm inequality between length-scales, claims about length-scales that are at least some, and the curve on a box.

use crate::sbpe_support;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use sbpe_support::{DELTA, Drawn, Known, finish, sbpe, solve, uniform};
use sigmabar::domain::BoxDomain;
use sigmabar::strategy::{Sbpe, Schedule, Standpoint};
use sigmabar::{
    Ask, Claim, Collected, Domain, Expansion, FeatureMap, Kernel, Label, Noise, Observations, Outcome, Points, Posterior, Prior, Problem,
    Strategy,
};
use std::sync::Arc;

/// Of the functions that a kernel holds, each has a larger norm under shorter length-scales, and never by more than the printed factor.
#[test]
fn norms_grow_by_at_most_the_printed_factor() {
    let grid: Vec<Vec<f64>> = (0..=60).map(|i| vec![f64::from(i) / 20.0 - 1.5]).collect();
    for (long, short) in [(0.5, 0.5), (0.5, 0.3), (0.6, 0.25)] {
        for nu in [None, Some(0.5), Some(1.5), Some(2.5)] {
            let of =
                |length: f64| nu.map_or_else(|| Kernel::squared_exponential(length, 1.0), |nu| Kernel::matern(nu, length, 1.0)).unwrap();
            let growth = of(long).norm_growth(&of(short), 1).unwrap();
            assert!((growth - (long / short).sqrt()).abs() < 1e-12);
            for seed in 0..4 {
                let centres = Points::on_line(uniform(5, 1, seed).as_slice().iter().map(|x| 2.0 * x - 1.0).collect()).unwrap();
                let function = Expansion::random(of(long), centres, 1.0, seed).unwrap();
                let values = function.values(Points::from_rows(&grid).unwrap().view()).unwrap();
                // The norm of what interpolates the function on a grid: from below.
                let gram = grid
                    .iter()
                    .enumerate()
                    .map(|(i, x)| grid.iter().enumerate().map(|(j, y)| of(short).value(x, y) + if i == j { 1e-9 } else { 0.0 }).collect())
                    .collect();
                let square: f64 = solve(gram, values.clone()).iter().zip(&values).map(|(a, y)| a * y).sum();
                assert!(square.sqrt() <= growth * (1.0 + 1e-6), "{nu:?} {long} {short}: {square}");
                assert!(square.sqrt() >= 0.9, "{nu:?} {long} {short}: {square}");
            }
        }
        // One hill under squared exponentials, in closed form: ∫S²/S' = (ℓ²/ℓ')/√(2ℓ²−ℓ'²).
        let exact = (long * long / short / (2.0 * long * long - short * short).sqrt()).sqrt();
        assert!(exact <= (long / short).sqrt() + 1e-12);
    }
    let se = |l: Vec<f64>| Kernel::squared_exponential(l, 1.0).unwrap();
    assert!((se(vec![0.4, 0.8]).norm_growth(&se(vec![0.1, 0.2]), 2).unwrap() - 4.0).abs() < 1e-12);
    assert_eq!(se(vec![0.4, 0.8]).norm_growth(&se(vec![0.5, 0.2]), 2), None);
    assert_eq!(se(vec![0.4]).norm_growth(&Kernel::matern(2.5, 0.2, 1.0).unwrap(), 1), None);
}

#[test]
fn claims_for_length_scales_that_are_at_least_these_hold_for_all_of_them() {
    let of = |length: f64| Kernel::matern(2.5, length, 1.0).unwrap();
    let (longest, shortest) = (0.5, 0.25);
    let judged: Vec<(bool, bool)> = (0..60_u64)
        .into_par_iter()
        .map(|i| {
            let length = shortest + (longest - shortest) * (i % 7) as f64 / 6.0;
            let truth = Known::random(of(length), 1, 25, 1.0, 0.1, 900 + i);
            let declared = Known { kernel: of(longest), ..truth.clone() };
            let problem = declared.problem(80, Drawn::Gaussian, i).with_lengthscales_at_least(of(shortest)).unwrap();
            let bound = problem.norm_bound().unwrap();
            assert!((bound - 2.0_f64.sqrt()).abs() < 1e-12);
            let mut run = Strategy::new(problem, sbpe(Sbpe::default())).unwrap();
            let mut rng = ChaCha8Rng::seed_from_u64(i);
            finish(&mut run, |c| truth.values[c] + Drawn::Gaussian.draw(0.1, &mut rng));
            let advice = run.recommend().unwrap().unwrap();
            assert_eq!(advice.label(), Label::Certified);
            let words = advice.certificate.to_string();
            assert!(words.contains("length-scales at least those of the kernel") && words.contains("1.4142"), "{words}");
            assert_eq!(Strategy::from_bytes(&run.to_bytes()).unwrap(), run);
            let regret = truth.best() - truth.values[advice.candidate.unwrap()];
            (regret > advice.gap, advice.gap < 1.0)
        })
        .collect();
    assert!(judged.iter().filter(|j| j.0).count() <= 3 && judged.iter().filter(|j| j.1).count() > 30);
    // Kernels that differ in more, and length-scales in the wrong order, are refused; so is asking before there is a norm.
    let problem = || Known::random(of(0.5), 1, 25, 1.0, 0.1, 1).problem(8, Drawn::Gaussian, 1);
    for wrong in [of(0.6), Kernel::matern(1.5, 0.3, 1.0).unwrap(), Kernel::matern(2.5, 0.3, 2.0).unwrap()] {
        assert!(problem().with_lengthscales_at_least(wrong).unwrap_err().to_string().contains("no length-scale of the shortest longer"));
    }
    let bare = Problem::new(problem().domain().clone(), 8).unwrap();
    assert!(bare.with_lengthscales_at_least(of(0.2)).is_err());
}

#[test]
fn a_claim_about_length_scales_is_certified_for_the_kernel_it_names_only() {
    let of = |length: f64| Kernel::squared_exponential(length, 1.0).unwrap();
    let x = uniform(20, 1, 4);
    let function = Expansion::random(of(0.4), uniform(6, 1, 5), 1.0, 5).unwrap();
    let y = function.values(x.view()).unwrap();
    let fitted = |kernel: Kernel| {
        let features = Arc::new(FeatureMap::new(kernel, x.clone()).unwrap());
        Posterior::fit(features, 0.1, Observations::new(x.clone(), &y, Collected::DeclaredFixed, Prior::ZERO).unwrap()).unwrap()
    };
    let claim =
        Claim::new(0.05).unwrap().norm_bound_for_lengthscales(1.0, &of(0.2), of(0.4), 1).unwrap().noise(Noise::gaussian(0.05).unwrap());
    let grid = uniform(50, 1, 6);
    let interval = fitted(of(0.2)).interval(grid.view(), &claim).unwrap();
    assert_eq!(interval.certificate().label(), Label::Certified);
    let truth = function.values(grid.view()).unwrap();
    assert!(truth.iter().zip(interval.lower().iter().zip(interval.upper())).all(|(f, (l, u))| l <= f && f <= u));
    assert_ne!(fitted(of(0.3)).interval(grid.view(), &claim).unwrap().certificate().label(), Label::Certified);
    assert!(Claim::new(0.05).unwrap().norm_bound_for_lengthscales(1.0, &of(0.4), of(0.2), 1).is_err());
}

#[test]
fn the_curve_on_a_box_is_true_and_breaks_where_it_says() {
    let judged: Vec<(bool, bool)> = (0..24_u64)
        .into_par_iter()
        .map(|i| {
            let kernel = Kernel::squared_exponential(0.3, 1.0).unwrap();
            let truth = Expansion::random(kernel.clone(), uniform(6, 1, 40 + i), 1.0, i).unwrap();
            let problem = Problem::new(Domain::Box(BoxDomain::unit(1).unwrap()), 60).unwrap().with_kernel(kernel).unwrap();
            let problem = problem.with_norm_bound(1.2).unwrap().with_noise(Noise::gaussian(0.1).unwrap()).unwrap().with_seed(i);
            let mut run = Strategy::new(problem, sbpe(Sbpe::default().with_schedule(Schedule::Lengths(vec![20, 40])))).unwrap();
            let mut rng = ChaCha8Rng::seed_from_u64(i);
            let value = |x: &[f64]| truth.values(Points::from_rows(&[x]).unwrap().view()).unwrap()[0];
            while let Ask::Trials(trials) = run.ask(usize::MAX).unwrap() {
                for trial in trials {
                    run.tell(trial.id, Outcome::Value(value(&trial.point) + Drawn::Gaussian.draw(0.1, &mut rng))).unwrap();
                }
            }
            let (advice, standing) = (run.recommend().unwrap().unwrap(), run.standing().unwrap().unwrap());
            let best = (0..=2000).map(|k| value(&[f64::from(k) / 2000.0])).fold(f64::NEG_INFINITY, f64::max);
            let regret = best - value(&advice.point);
            let gaps: Vec<(f64, f64)> = standing.curve.iter().filter_map(|p| Some((p.norm_bound, p.gap?))).collect();
            assert!(gaps.windows(2).all(|w| w[1].1 >= w[0].1), "run {i}");
            let own = gaps.iter().find(|g| g.0 >= 1.2).unwrap().1;
            assert!((0.5..=1.0).contains(&(own / advice.gap)), "run {i}: the curve {own} says no less than the run {}", advice.gap);
            let within = |gap: f64, norm: f64| gaps.iter().all(|&(c, own)| c > norm || own <= gap);
            assert!(
                within(standing.range.gap.unwrap(), standing.range.norm_breakdown.unwrap()),
                "run {i}: the curve and its breakdown point agree"
            );
            let (judged, norm) = (standing.range.gap.unwrap(), standing.range.norm_breakdown.unwrap());
            let farther = gaps.iter().filter(|(c, own)| *c > norm && *own <= judged).count();
            assert_eq!(
                farther, 0,
                "run {i}: what the curve shows to stand beyond {norm} stands, however coarse the cells were by which the end was looked for"
            );
            let stands = |c: f64| run.gap_under(c, 1.0).unwrap().is_some_and(|gap| gap <= judged);
            let inside = norm > 1.21 && norm < 7.9 * 1.2;
            // Judged by itself a setting may have finer cells than along a chain: it breaks a little later, never before.
            assert!(stands(0.99 * norm), "run {i}: {norm}");
            let breaks = [1.02, 1.05, 1.1, 1.2, 1.3, 1.5].into_iter().find(|factor| !stands(factor * norm));
            println!("run {i}: stands up to {norm:.3}, breaks by itself within {breaks:?}");
            let inside = inside && breaks.is_some_and(|factor| factor <= 1.2);
            (gaps.iter().any(|&(c, gap)| c >= 1.0 && regret > gap), inside)
        })
        .collect();
    assert!(judged.iter().filter(|j| j.0).count() <= 2, "false {}", judged.iter().filter(|j| j.0).count());
    assert!(judged.iter().filter(|j| j.1).count() > 12, "{} break inside", judged.iter().filter(|j| j.1).count());
}

/// A run of one batch on a box of so many columns under a norm bound, with so many cells at most, which may want a gap.
fn on_one_batch(i: u64, (dim, norm_bound, cells): (usize, f64, usize), wanted: Option<f64>) -> Strategy {
    let (kernel, budget, level) = (Kernel::squared_exponential(0.3, 1.0).unwrap(), 5 * dim, 0.03);
    let truth = Expansion::random(kernel.clone(), uniform(6, dim, 40 + i), 1.0, i).unwrap();
    let problem = Problem::new(Domain::Box(BoxDomain::unit(dim).unwrap()), budget).unwrap().with_kernel(kernel).unwrap();
    let problem = problem.with_norm_bound(norm_bound).unwrap().with_noise(Noise::gaussian(level).unwrap()).unwrap().with_seed(i);
    let problem = wanted.map_or(Ok(problem.clone()), |gap| problem.with_wanted_gap(gap)).unwrap();
    let plan = Sbpe::default().with_schedule(Schedule::Lengths(vec![budget])).with_max_cells(cells).unwrap();
    let mut run = Strategy::new(problem, sbpe(plan)).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(i);
    while let Ask::Trials(trials) = run.ask(usize::MAX).unwrap() {
        for trial in trials {
            let value = truth.values(Points::from_rows(&[&trial.point]).unwrap().view()).unwrap()[0];
            run.tell(trial.id, Outcome::Value(value + Drawn::Gaussian.draw(level, &mut rng))).unwrap();
        }
    }
    run
}

/// The cells of a box are shared by a chain of norm bounds, and where there are few of them those of the curve may be finer than those by which the end is looked for. Whoever wants a gap
/// that the curve shows to stand at a norm is told no smaller C†: both are proved by the same data on the same event, and one picture shows them.
#[test]
fn the_breakdown_point_denies_nothing_that_the_curve_on_a_box_shows() {
    for box_of in [(1, 1.2, 60), (1, 4.0, 60), (2, 4.0, 200)] {
        let judged: Vec<f64> = (0..4_u64)
            .into_par_iter()
            .flat_map_iter(|i| {
                let standing = on_one_batch(i, box_of, None).standing().unwrap().unwrap();
                let norm = standing.range.norm_breakdown.unwrap();
                let is_beyond =
                    move |point: &Standpoint| point.norm_bound > norm && point.gap.is_some_and(|gap| gap < 1.3 * point.norm_bound);
                standing.curve.into_iter().filter(is_beyond).take(3).map(move |point| {
                    let run = on_one_batch(i, box_of, point.gap);
                    let range = run.recommend_with_range().unwrap().unwrap().certificate.range.unwrap();
                    assert_eq!((range.gap, range.wanted), (point.gap, point.gap), "run {i}: the gap that is wanted is followed");
                    let norm = range.norm_breakdown.unwrap();
                    let again = run.gap_under((1.0 - 1e-9) * norm, 1.0).unwrap();
                    assert!(again <= point.gap, "run {i}: {again:?} for {:?} below {norm}", point.gap);
                    norm / point.norm_bound
                })
            })
            .collect();
        println!("{box_of:?}: C† over the norm at which the curve shows the claim {judged:.4?}");
        assert!(judged.len() >= 10, "{box_of:?}: {}", judged.len());
        // An end is found within a share of 1 in 139.
        assert!(judged.iter().all(|ratio| *ratio > 0.992), "{box_of:?}: {judged:?}");
    }
}

/// Boxes cut into cells, and boxes for which declared candidates stand, with norms from 0.3 to 4 times the planned one and length-scales from half to twice: the row about the truth
/// is true, of the whole box. Small runs, so that there are many.
#[test]
fn statements_at_the_true_premise_hold_on_boxes_and_among_candidates() {
    let judged: Vec<Option<(bool, bool)>> = (0..2200_u64).into_par_iter().map(on_a_box).collect();
    for (kind, first) in [("cells", 0), ("candidates", 1)] {
        let spoke: Vec<(bool, bool)> = judged.iter().skip(first).step_by(2).flatten().copied().collect();
        let (wrong, useful) = (spoke.iter().filter(|j| j.0).count(), spoke.iter().filter(|j| j.1).count());
        println!("{kind}: {wrong} of {} false at the truth or above, {useful} say something", spoke.len());
        assert!(wrong as f64 <= DELTA * spoke.len() as f64 && useful * 4 > spoke.len() && spoke.len() >= 500, "{kind}");
    }
}

/// Whether the row of the map about the truth is false at the true norm or above, and whether it says more than the norm does; none where the data contradict what was planned with.
fn on_a_box(i: u64) -> Option<(bool, bool)> {
    let (norm, factor) = (0.3 * (4.0_f64 / 0.3).powf((i / 2 % 10) as f64 / 9.0), 0.5 * 4.0_f64.powf((i / 20 % 5) as f64 / 4.0));
    let kernel = |length: f64| Kernel::squared_exponential(length, 1.0).unwrap();
    let truth = Expansion::random(kernel(factor * 0.4), uniform(5, 1, 70 + i), norm, i).unwrap();
    let value = |x: f64| truth.values(Points::from_rows(&[vec![x]]).unwrap().view()).unwrap()[0];
    let problem = Problem::new(Domain::Box(BoxDomain::unit(1).unwrap()), 24).unwrap().with_kernel(kernel(0.4)).unwrap().with_seed(i);
    let problem = problem.with_norm_bound(1.0).unwrap().with_noise(Noise::gaussian(0.05).unwrap()).unwrap().with_delta(DELTA).unwrap();
    let plan = Sbpe::default().with_schedule(Schedule::Lengths(vec![10, 14])).with_max_cells(400).unwrap();
    // A wanted gap is one of the whole box, also where candidates stand for it.
    let (problem, plan) =
        (problem.with_wanted_gap(1e-9).unwrap(), if i.is_multiple_of(2) { plan } else { plan.with_candidates(128).unwrap() });
    let mut run = Strategy::new(problem, sbpe(plan)).unwrap();
    run.go_on_despite_contradiction();
    let mut rng = ChaCha8Rng::seed_from_u64(i);
    while let Ask::Trials(trials) = run.ask(usize::MAX).unwrap() {
        for trial in trials {
            run.tell(trial.id, Outcome::Value(value(trial.point[0]) + Drawn::Gaussian.draw(0.05, &mut rng))).unwrap();
        }
    }
    let (advice, row) = (run.recommend().unwrap()?, run.premise_map(&[factor]).unwrap().pop()?);
    let best = (0..=400).map(|k| value(f64::from(k) / 400.0)).fold(f64::NEG_INFINITY, f64::max);
    let regret = best - value(advice.point[0]);
    let above: Vec<_> = row.curve.iter().filter(|point| point.norm_bound >= norm).collect();
    let says = above.first()?.gap.is_some_and(|gap| gap < norm);
    Some((above.iter().any(|point| point.gap.is_none_or(|gap| regret > gap)), says))
}

/// Boxes and candidates again, with a hill where the data say nothing: true under the true premises, and false at six tenths of norm and noise.
#[test]
fn on_boxes_and_among_candidates_six_tenths_of_the_width_are_not_enough() {
    for candidates in [None, Some(64)] {
        let share = |width: f64| {
            let judged: Vec<bool> = (0..120_u64).into_par_iter().filter_map(|i| is_false_of_a_hill(i, width, candidates)).collect();
            assert!(judged.len() >= 100, "{} speak", judged.len());
            judged.iter().filter(|is_false| **is_false).count() as f64 / judged.len() as f64
        };
        let (whole, narrow) = (share(1.0), share(0.6));
        println!("{candidates:?} candidates: false {whole}, at six tenths {narrow}");
        assert!(whole <= DELTA && narrow > 3.0 * DELTA, "{candidates:?}: {whole} {narrow}");
    }
}

/// Whether the gap claimed for so much of the true norm and noise is false of the function of norm 1 that is zero where was measured and highest where the data say least; none
/// where nothing is certified.
fn is_false_of_a_hill(i: u64, width: f64, candidates: Option<usize>) -> Option<bool> {
    let (kernel, level) = (Kernel::squared_exponential(0.05 + 0.01 * (i % 8) as f64, 1.0).unwrap(), 0.01);
    let problem = Problem::new(Domain::Box(BoxDomain::unit(1).unwrap()), 5).unwrap().with_kernel(kernel.clone()).unwrap().with_seed(i);
    let problem = problem.with_norm_bound(width).unwrap().with_noise(Noise::gaussian(width * level).unwrap()).unwrap();
    let plan = Sbpe::default().with_schedule(Schedule::Lengths(vec![5])).with_max_cells(400).unwrap();
    let plan = candidates.map_or(Ok(plan.clone()), |count| plan.with_candidates(count)).unwrap();
    let mut run = Strategy::new(problem.with_delta(DELTA).unwrap().with_wanted_gap(1e-9).unwrap(), sbpe(plan)).unwrap();
    let Ask::Trials(trials) = run.ask(usize::MAX).unwrap() else { return None };
    let mut measured: Vec<Vec<f64>> = trials.iter().map(|trial| trial.point.clone()).collect();
    measured.sort_by(|a, b| a[0].total_cmp(&b[0]));
    measured.dedup();
    let gram: Vec<Vec<f64>> = measured.iter().map(|a| measured.iter().map(|b| kernel.value(a, b)).collect()).collect();
    let hill = |top: &[f64]| {
        let weights = solve(gram.clone(), measured.iter().map(|x| kernel.value(x, top)).collect());
        let centres: Vec<Vec<f64>> = measured.iter().cloned().chain([top.to_vec()]).collect();
        Expansion::new(kernel.clone(), Points::from_rows(&centres).unwrap(), weights.iter().map(|w| -w).chain([1.0]).collect()).unwrap()
    };
    let hills = (0..=100).map(|k| hill(&[f64::from(k) / 100.0]));
    let truth = hills.max_by(|a, b| a.norm().unwrap().total_cmp(&b.norm().unwrap()))?.with_norm(1.0).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(i);
    for trial in trials {
        run.tell(trial.id, Outcome::Value(truth.value(&trial.point) + Drawn::Gaussian.draw(level, &mut rng))).unwrap();
    }
    let advice = run.recommend().unwrap().filter(|advice| advice.label() == Label::Certified)?;
    let best = (0..=400).map(|k| truth.value(&[f64::from(k) / 400.0])).fold(f64::NEG_INFINITY, f64::max);
    Some(best - truth.value(&advice.point) > advice.gap)
}
