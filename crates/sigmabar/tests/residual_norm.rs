//! Every certified bound on λ is above the true one, the Lanczos value below it: dense reference in higher precision.
#![allow(clippy::unwrap_used)]

use crate::coverage_support;

use coverage_support::oracle::Draws;
use coverage_support::{Instance, jacobi, points, residual_matrix};
use sigmabar::certificate::ResidualNormMethod;
use sigmabar::points::Locations;
use sigmabar::residual::ResidualNormKind;
use sigmabar::{Collected, Error, FeatureMap, Information, Kernel};
use std::sync::Arc;

fn methods(n: usize) -> Vec<ResidualNormMethod> {
    let steps = 24 + n / 8;
    vec![
        ResidualNormMethod::Best,
        ResidualNormMethod::Trace,
        ResidualNormMethod::LookAhead { pivots: 1 },
        ResidualNormMethod::LookAhead { pivots: 5 },
        ResidualNormMethod::LookAhead { pivots: 64 },
        ResidualNormMethod::Dense,
        ResidualNormMethod::Randomised { steps, failure: 1e-9, seed: n as u64 },
    ]
}

#[test]
fn certificates_are_above_the_truth_and_lanczos_below() {
    let mut draws = Draws::new(11);
    let mut sharp = 0;
    for index in 0..400 {
        let instance = Instance::random(&mut draws, if index % 20 == 0 { 60 } else { 25 });
        // Where nothing is missed the entries of D are the rounding of kernel values, of either sign.
        let truth = jacobi(&residual_matrix(instance.covariance, &instance.x, &instance.used())).last().unwrap().max(0.0);
        for method in methods(instance.x.len()) {
            let bound = instance.information.residual_norm(method).unwrap();
            assert!(bound.value >= truth, "instance {index}, {method:?}: {:e} below {truth:e}", bound.value);
        }
        let dense = instance.information.residual_norm(ResidualNormMethod::Dense).unwrap().value;
        let lower = instance.information.residual_norm_lower(30, index as u64).unwrap();
        assert!(lower <= truth * (1.0 + 1e-12) + 1e-300, "instance {index}: Lanczos {lower:e} above {truth:e}");
        // Not vacuous: where the factor is well conditioned both agree with the truth.
        if instance.information.features().condition() < 1e3 && truth > 1e-6 {
            assert!(dense <= truth * (1.0 + 1e-4), "instance {index}: dense {dense:e} far above {truth:e}");
            assert!(lower >= truth * (1.0 - 1e-3), "instance {index}: Lanczos {lower:e} far below {truth:e}");
            sharp += 1;
        }
    }
    assert!(sharp > 100, "only {sharp} instances could be compared closely");
}

/// Numerically singular inducing points: what is dropped stays in the residual, and the bounds stay above it.
#[test]
fn singular_inducing_points_do_not_break_the_certificates() {
    let line = |n: usize| (0..n).map(|i| vec![i as f64 / n as f64]).collect::<Vec<_>>();
    for which in 0..3 {
        for (x, z) in [(line(40), line(60)), (line(33), line(100)), (vec![vec![0.3]; 30], vec![vec![0.3], vec![0.3], vec![0.30001]])] {
            let instance = Instance::new(which, x, z, 0.01, Collected::Designed);
            let truth = jacobi(&residual_matrix(instance.covariance, &instance.x, &instance.used())).last().unwrap().max(0.0);
            for method in methods(instance.x.len()) {
                let bound = instance.information.residual_norm(method).unwrap();
                assert!(bound.value >= truth, "{method:?}: {:e} below {truth:e}", bound.value);
            }
            assert!(instance.information.residual_norm_lower(20, 5).unwrap() <= truth * (1.0 + 1e-12));
        }
    }
}

/// What was found out before a change is not said after it: each way of changing the information, asked before and after.
#[test]
fn a_bound_is_of_what_was_measured_by_now() {
    let line = |n: usize| (0..n).map(|i| vec![i as f64 / n as f64]).collect::<Vec<_>>();
    let found = |information: &Information| {
        let bound = |method| information.residual_norm(method).unwrap().value;
        [ResidualNormMethod::Best, ResidualNormMethod::Trace, ResidualNormMethod::LookAhead { pivots: 5 }].map(bound)
    };
    let begun = || {
        let information = Instance::new(1, line(12), line(3), 0.1, Collected::DeclaredFixed).information;
        let mut information = Arc::unwrap_or_clone(information);
        assert_eq!(found(&information), found(&information));
        information.update(&[0.9]).unwrap();
        information
    };
    let (mut updated, mut far) = (begun(), begun());
    let fresh = |x: Vec<Vec<f64>>, z: Vec<Vec<f64>>| found(&Instance::new(1, x, z, 0.1, Collected::DeclaredFixed).information);
    let close = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-9 * b);
    let more = |rows: &[f64]| [line(12), rows.iter().map(|v| vec![*v]).collect()].concat();
    assert!(close(found(&updated), fresh(more(&[0.9]), line(3))));
    far.update(&[1.7]).unwrap();
    assert!(close(found(&far), fresh(more(&[0.9, 1.7]), line(3))) && !close(found(&far), found(&updated)));
    updated.append_inducing(&[0.85], None).unwrap();
    assert!(close(found(&updated), fresh(more(&[0.9]), [line(3), vec![vec![0.85]]].concat())));
}

#[test]
fn repeated_rows_count_in_every_certificate() {
    let mut x: Vec<Vec<f64>> = (0..6).map(|i| vec![0.2 * f64::from(i)]).collect();
    x.extend(std::iter::repeat_n(vec![1.0], 40));
    let instance = Instance::new(1, x, vec![vec![0.0], vec![0.4]], 0.1, Collected::DeclaredFixed);
    let truth = *jacobi(&residual_matrix(instance.covariance, &instance.x, &instance.used())).last().unwrap();
    let mut distinct = instance.x[..6].to_vec();
    distinct.dedup();
    let unweighted = *jacobi(&residual_matrix(instance.covariance, &distinct, &instance.used())).last().unwrap();
    assert!(truth > 10.0 * unweighted, "the counts must matter here: {truth} against {unweighted}");
    for method in methods(12) {
        assert!(instance.information.residual_norm(method).unwrap().value >= truth);
    }
    let dense = instance.information.residual_norm(ResidualNormMethod::Dense).unwrap().value;
    assert!((dense / truth - 1.0).abs() < 1e-8);
}

#[test]
fn look_ahead_falls_from_the_trace_to_the_truth() {
    let mut draws = Draws::new(5);
    let x = draws.points(200, 2);
    let z = x[..12].to_vec();
    let instance = Instance::new(0, x, z, 0.1, Collected::DeclaredFixed);
    let value = |method| instance.information.residual_norm(method).unwrap().value;
    let trace = value(ResidualNormMethod::Trace);
    let dense = value(ResidualNormMethod::Dense);
    let looks: Vec<f64> = [5, 20, 60].iter().map(|&pivots| value(ResidualNormMethod::LookAhead { pivots })).collect();
    assert!(looks[0] < trace && looks[1] < looks[0] && looks[2] < looks[1], "{trace} {looks:?} {dense}");
    assert!(looks[2] < 1.05 * dense, "{looks:?} {dense}");
    assert_eq!(
        instance.information.residual_norm(ResidualNormMethod::LookAhead { pivots: 20 }).unwrap().kind,
        ResidualNormKind::LookAhead { pivots: 20 }
    );
}

#[test]
fn candidates_beyond_a_thousand_points_still_give_a_bound() {
    let mut draws = Draws::new(6);
    let x = draws.points(1500, 1);
    let instance = Instance::new(1, x, vec![vec![0.1], vec![0.9]], 0.3, Collected::Designed);
    let look = instance.information.residual_norm(ResidualNormMethod::LookAhead { pivots: 20 }).unwrap().value;
    let lower = instance.information.residual_norm_lower(40, 1).unwrap();
    let trace = instance.information.residual_norm(ResidualNormMethod::Trace).unwrap().value;
    assert!(lower <= look && look < 0.9 * trace, "{lower} {look} {trace}");
    let best = instance.information.residual_norm(ResidualNormMethod::Best).unwrap();
    assert!(matches!(best.kind, ResidualNormKind::LookAhead { .. }), "{best:?}");
}

#[test]
fn the_randomised_bound_holds_its_probability_and_is_close() {
    let mut draws = Draws::new(8);
    let instance = Instance::new(2, draws.points(120, 2), draws.points(8, 2), 0.2, Collected::DeclaredFixed);
    let truth = *jacobi(&residual_matrix(instance.covariance, &instance.x, &instance.used())).last().unwrap();
    let failure = 0.2;
    let runs = 300;
    let value = |seed| instance.information.residual_norm(ResidualNormMethod::Randomised { steps: 6, failure, seed }).unwrap().value;
    let failed = (0..runs).filter(|&seed| value(seed) < truth).count();
    assert!((failed as f64) <= f64::from(runs as u32) * failure, "{failed} of {runs}");
    let many = instance.information.residual_norm(ResidualNormMethod::Randomised { steps: 40, failure: 1e-6, seed: 3 }).unwrap().value;
    assert!(many >= truth && many < 1.06 * truth, "{many} {truth}");
}

#[test]
fn what_cannot_be_bounded_is_refused_with_a_reason() {
    let mut draws = Draws::new(9);
    let x = draws.points(5001, 1);
    let features = Arc::new(FeatureMap::new(Kernel::matern(0.5, 0.3, 1.0).unwrap(), points(&draws.points(3, 1))).unwrap());
    let information = Information::new(features, 0.1, Arc::new(Locations::new(points(&x), Collected::Designed))).unwrap();
    assert!(matches!(information.residual_norm(ResidualNormMethod::Dense), Err(Error::Premise { .. })));
    let few = ResidualNormMethod::Randomised { steps: 2, failure: 0.01, seed: 0 };
    assert!(matches!(information.residual_norm(few), Err(Error::Parameter { name: "Lanczos steps", .. })));
    let none = ResidualNormMethod::Randomised { steps: 0, failure: 0.01, seed: 0 };
    assert!(matches!(information.residual_norm(none), Err(Error::Parameter { .. })));
    let never = ResidualNormMethod::Randomised { steps: 20, failure: 0.0, seed: 0 };
    assert!(matches!(information.residual_norm(never), Err(Error::Parameter { .. })));
}
