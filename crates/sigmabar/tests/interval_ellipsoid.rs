//! The projected ellipsoid (algorithm notes 14.1): against the printed formula, against what it replaces, and under attack.
#![allow(clippy::unwrap_used)]

use crate::coverage_support;

use coverage_support::oracle::Draws;
use coverage_support::{Instance, points};
use sigmabar::certificate::{Coverage, Method, Widths};
use sigmabar::inducing::{InducingRule, Stop};
use sigmabar::{Claim, Collected, Expansion, FeatureMap, Kernel, Noise, Observations, Posterior, Prior};
use std::sync::Arc;

/// Mean half-widths at random points: of the ellipsoid, and of the event for the range of Ψ, for a declared norm of `slack` times the true one.
fn mean_widths(kernel: &Kernel, dim: usize, slack: f64, seed: u64) -> (f64, f64, bool) {
    let (norm, level, rows) = (2.0, 0.2, 1000);
    let mut draws = Draws::new(seed);
    let f = Expansion::random(kernel.clone(), points(&draws.points(30, dim)), norm, seed).unwrap();
    let x = draws.points(rows, dim);
    let y: Vec<f64> = f.values(points(&x).view()).unwrap().iter().map(|v| v + level * draws.normal()).collect();
    let observations = Observations::new(points(&x), &y, Collected::DeclaredFixed, Prior::ZERO).unwrap();
    let inducing = InducingRule::Greedy(Stop::at_residual(0.1, 500)).select(kernel, level, observations.locations(), 0).unwrap();
    let posterior = Posterior::fit(Arc::new(FeatureMap::new(kernel, inducing.into_points()).unwrap()), level, observations).unwrap();
    let claim = Claim::new(0.05).unwrap().norm_bound(slack * norm).unwrap().noise(Noise::gaussian(level).unwrap());
    let widths = Widths::new(Arc::clone(posterior.information()), &claim.coverage(Coverage::Uniform)).unwrap();
    let queries = draws.points(200, dim);
    let found = posterior.interval_with(&widths, points(&queries).view()).unwrap();
    let before = widths.half_widths(points(&queries).view()).unwrap();
    let truth = f.values(points(&queries).view()).unwrap();
    let covered = (0..200).all(|i| found.lower()[i] <= truth[i] && truth[i] <= found.upper()[i]);
    let ellipsoid = (0..200).map(|i| 0.5 * (found.upper()[i] - found.lower()[i])).sum::<f64>() / 200.0;
    (ellipsoid, before.iter().map(|h| h.total()).sum::<f64>() / 200.0, covered)
}

/// The acceptance figures: at C = ‖f‖ at most 0.7 of the band before, and never wider however loose the norm bound is.
#[test]
fn uniform_bands_are_at_most_seven_tenths_of_the_range_event() {
    let problems = [
        ("SE l=.2, d=1", Kernel::squared_exponential(0.2, 1.0).unwrap(), 1),
        ("SE l=.3, d=2", Kernel::squared_exponential(0.3, 1.0).unwrap(), 2),
        ("Matern-5/2 l=.3, d=2", Kernel::matern(2.5, 0.3, 1.0).unwrap(), 2),
    ];
    for (name, kernel, dim) in problems {
        for slack in [1.0, 3.0] {
            let runs: Vec<(f64, f64, bool)> = (0..3).map(|seed| mean_widths(&kernel, dim, slack, 600 + seed)).collect();
            let mean = |f: fn(&(f64, f64, bool)) -> f64| runs.iter().map(f).sum::<f64>() / runs.len() as f64;
            let (new, old) = (mean(|r| r.0), mean(|r| r.1));
            println!("{name}, C = {slack} norms: {new:.4} against {old:.4}, ratio {:.3}", new / old);
            assert!(runs.iter().all(|r| r.2));
            assert!(new <= old);
            assert!(slack > 1.0 || new <= 0.7 * old);
        }
    }
}

/// One direction: the event is a normal variable, the band is its interval, and it misses exactly as often as it may; 0.8 of it misses more.
#[test]
fn with_one_direction_the_band_misses_exactly_delta() {
    let x = vec![vec![0.5]; 6];
    let instance = Instance::new(0, x, vec![vec![0.5]], 0.2, Collected::DeclaredFixed);
    let query = points(&[vec![0.5]]);
    let draws = 10_000;
    for delta in [0.3, 0.1, 0.01] {
        let claim = Claim::new(delta).unwrap().norm_bound(5.0).unwrap().noise(Noise::gaussian(0.5).unwrap());
        let widths = Widths::new(Arc::clone(&instance.information), &claim.coverage(Coverage::Uniform)).unwrap();
        let mut random = Draws::new(91);
        let (mut misses, mut narrow) = (0, 0);
        for _ in 0..draws {
            let y: Vec<f64> = (0..6).map(|_| 1.0 + 0.5 * random.normal()).collect();
            let posterior = Posterior::condition(Arc::clone(&instance.information), &y, Prior::ZERO).unwrap();
            let found = posterior.interval_with(&widths, query.view()).unwrap();
            assert_eq!(found.methods(), [Method::Ellipsoid]);
            let (centre, half) = (found.mean()[0], 0.5 * (found.upper()[0] - found.lower()[0]));
            misses += usize::from((1.0 - centre).abs() > half);
            narrow += usize::from((1.0 - centre).abs() > 0.8 * half);
        }
        let margin = 4.5 * (delta * (1.0 - delta) / draws as f64).sqrt();
        let rate = |count: usize| count as f64 / draws as f64;
        assert!((rate(misses) - delta).abs() <= margin, "{} is not {delta}", rate(misses));
        assert!(rate(narrow) > delta + margin, "0.8 of the width still covers: {}", rate(narrow));
    }
}

/// No noise and a function on the edge of the ball: the truth must stay inside whatever the conditioning, and no band is wider than the norm bound's.
#[test]
fn functions_of_full_norm_stay_inside_in_every_regime() {
    let mut draws = Draws::new(92);
    for index in 0..600 {
        let instance = Instance::random(&mut draws, if index % 20 == 0 { 200 } else { 25 });
        let dim = instance.x[0].len();
        let f = Expansion::random(instance.kernel.clone(), points(&draws.points(5, dim)), 1.0, index).unwrap();
        let level = 10.0_f64.powf(-6.0 + 6.0 * draws.uniform());
        let y: Vec<f64> =
            f.values(points(&instance.x).view()).unwrap().iter().map(|v| v + 0.5 * level * draws.normal().clamp(-2.0, 2.0)).collect();
        let posterior = Posterior::condition(Arc::clone(&instance.information), &y, Prior::ZERO).unwrap();
        let claim = Claim::new(1e-9).unwrap().norm_bound(1.0 + 1e-9).unwrap().noise(Noise::bounded(level).unwrap());
        let mut queries = draws.points(4, dim);
        queries.push(instance.x[0].clone());
        queries.push(instance.z[0].clone());
        let found = posterior.interval(points(&queries).view(), &claim.coverage(Coverage::Uniform)).unwrap();
        for (q, query) in queries.iter().enumerate() {
            let (truth, edge) = (f.value(query), instance.kernel.value(query, query).sqrt() * (1.0 + 1e-6) + 1e-7);
            assert!(found.lower()[q] - 1e-12 <= truth && truth <= found.upper()[q] + 1e-12, "instance {index}: {truth} outside");
            assert!(-edge <= found.lower()[q] && found.upper()[q] <= edge, "instance {index}: wider than the norm bound says");
        }
    }
}
