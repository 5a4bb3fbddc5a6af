//! What an interval may be called, in which scale it comes back, and what is refused.
#![allow(clippy::unwrap_used)]

use crate::coverage_support;

use coverage_support::oracle::{Draws, close};
use coverage_support::{kernel, points};
use sigmabar::certificate::{Coverage, Method, Theorem, Widths};
use sigmabar::residual::ResidualNormKind;
use sigmabar::{
    BoxDomain, Certificate, Claim, Collected, Error, FeatureMap, Label, Noise, Observations, Origin, Posterior, Prior, Sourced,
};
use std::sync::Arc;

fn posterior(source: Origin, collected: Collected, prior: Prior, y: &[f64]) -> Posterior {
    let (kernel, _) = kernel(1);
    let features = FeatureMap::new(Sourced::new(kernel, source), points(&[vec![0.2], vec![0.6], vec![0.9]])).unwrap();
    let x: Vec<Vec<f64>> = (0..y.len()).map(|i| vec![i as f64 / y.len() as f64]).collect();
    Posterior::fit(Arc::new(features), 0.3, Observations::new(points(&x), y, collected, prior).unwrap()).unwrap()
}

fn responses() -> Vec<f64> {
    let mut draws = Draws::new(7);
    (0..12).map(|_| draws.normal()).collect()
}

fn claim() -> Claim {
    Claim::new(0.05).unwrap().norm_bound(2.0).unwrap().noise(Noise::gaussian(0.2).unwrap())
}

fn query() -> sigmabar::Points {
    points(&[vec![0.3], vec![0.75]])
}

#[test]
fn labels_follow_from_where_things_came_from() {
    let y = responses();
    let label = |source, collected, prior, claim: &Claim| {
        let found = posterior(source, collected, prior, &y).interval(query().view(), claim).unwrap();
        let weak = found.certificate().premises.list().into_iter().filter(|p| !p.origin.is_firm()).map(|p| p.name).collect::<Vec<_>>();
        (found.certificate().label(), weak, found.certificate().theorem)
    };
    use Collected::{Adaptive, DeclaredFixed, Designed, Undeclared};
    assert_eq!(label(Origin::Declared, Designed, Prior::ZERO, &claim()), (Label::Certified, vec![], Theorem::Width(Method::Tight)));
    assert_eq!(label(Origin::Declared, DeclaredFixed, Prior::ZERO, &claim()).0, Label::Certified);
    let before = label(Origin::LearntElsewhere, Designed, Prior::ZERO, &claim());
    assert_eq!((before.0, before.1), (Label::Certified, vec![]));
    let here = label(Origin::LearntHere, Designed, Prior::ZERO, &claim());
    assert_eq!((here.0, here.1), (Label::Estimated, vec!["kernel"]));
    let prior = label(Origin::Declared, Designed, Prior::learnt(&y).unwrap(), &claim());
    assert_eq!((prior.0, prior.1), (Label::Estimated, vec!["prior"]));
    let estimated = label(Origin::Declared, Designed, Prior::ZERO, &claim().norm_bound(Sourced::new(2.0, Origin::Estimated)).unwrap());
    assert_eq!((estimated.0, estimated.1), (Label::Estimated, vec!["norm_bound"]));
    // Adaptive points: the default turns to the energy band; another method is labelled for what it is.
    let wide = claim().norm_bound(30.0).unwrap();
    for collected in [Adaptive, Undeclared] {
        assert_eq!(label(Origin::Declared, collected, Prior::ZERO, &wide), (Label::Certified, vec![], Theorem::Energy));
    }
    let direct = label(Origin::Declared, Adaptive, Prior::ZERO, &wide.method(Method::Direct));
    assert_eq!((direct.0, direct.1), (Label::Estimated, vec!["points", "observations"]));
}

#[test]
fn the_certificate_says_what_was_assumed_in_plain_words() {
    let found =
        posterior(Origin::Declared, Collected::DeclaredFixed, Prior::ZERO, &responses()).interval(query().view(), &claim()).unwrap();
    let certificate = found.certificate();
    let premises = &certificate.premises;
    assert_eq!(premises.points, Sourced::new(Collected::DeclaredFixed, Origin::Declared));
    assert_eq!(premises.norm_bound, Sourced::new(Some(2.0), Origin::Declared));
    assert_eq!((premises.observations.value, premises.inducing.value, certificate.delta), (12, 3, 0.05));
    assert_eq!(certificate.bounds.residual_norm.unwrap().kind, ResidualNormKind::Dense);
    let text = certificate.to_string();
    for word in
        ["certified: lower ≤ f ≤ upper", "at most 0.05", "declared: kernel", "standard deviation 0.2", "dense eigenvalue", "n = 12, m = 3"]
    {
        assert!(text.contains(word), "{word:?} is not in {text:?}");
    }
    let read: Certificate = serde_json::from_str(&serde_json::to_string(certificate).unwrap()).unwrap();
    assert_eq!(&read, certificate);
    // A label that the premises do not carry is found out.
    let forged = serde_json::to_string(certificate).unwrap().replace("\"origin\":\"declared\"", "\"origin\":\"learnt_here\"");
    assert!(serde_json::from_str::<Certificate>(&forged).is_err());
}

#[test]
fn intervals_come_back_in_the_scale_of_the_data() {
    let y = responses();
    let scaled: Vec<f64> = y.iter().map(|v| 100.0 + 7.0 * v).collect();
    let plain = posterior(Origin::Declared, Collected::Designed, Prior::ZERO, &y).interval(query().view(), &claim()).unwrap();
    let prior = Prior::declared(100.0, 7.0).unwrap();
    let found = posterior(Origin::Declared, Collected::Designed, prior, &scaled).interval(query().view(), &claim()).unwrap();
    for q in 0..2 {
        close(found.lower()[q], 100.0 + 7.0 * plain.lower()[q], 1e-10, "lower");
        close(found.upper()[q], 100.0 + 7.0 * plain.upper()[q], 1e-10, "upper");
    }
    let one = posterior(Origin::Declared, Collected::Designed, Prior::ZERO, &y);
    let prediction = one.prediction_interval(query().view(), &claim()).unwrap();
    assert!(prediction.response_upper()[0] > plain.upper()[0] && prediction.response_lower()[0] < plain.lower()[0]);
}

#[test]
fn what_is_missing_or_impossible_is_refused() {
    let posterior = posterior(Origin::Declared, Collected::Designed, Prior::ZERO, &responses());
    let refused = |claim: &Claim| posterior.interval(query().view(), claim).unwrap_err();
    let noise = Noise::gaussian(0.2).unwrap();
    assert!(matches!(refused(&Claim::new(0.1).unwrap().noise(noise.clone())), Error::Missing { what: "a norm bound", .. }));
    assert!(matches!(refused(&Claim::new(0.1).unwrap().norm_bound(1.0).unwrap()), Error::Missing { what: "a noise model", .. }));
    for delta in [0.0, 1.0, -0.1, f64::NAN] {
        assert!(matches!(Claim::new(delta), Err(Error::Parameter { name: "delta", .. })));
    }
    assert!(Claim::new(0.1).unwrap().norm_bound(0.0).is_err());
    assert!(Noise::light_tailed(0.0, 1.0).is_err() && Noise::light_tailed(1.0, 0.0).is_err());
    // Exact measurements are a level like any other.
    assert!(Noise::gaussian(0.0).is_ok() && Noise::bounded(0.0).is_ok() && Noise::per_observation(vec![1.0, 0.0]).is_ok());
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(Claim::new(0.1).unwrap().norm_bound(bad).is_err());
        assert!(Noise::gaussian(bad).is_err() && Noise::sub_gaussian(bad).is_err() && Noise::bounded(bad).is_err());
        assert!(Noise::light_tailed(bad, 1.0).is_err() && Noise::light_tailed(1.0, bad).is_err());
        assert!(matches!(Noise::per_observation(vec![1.0, bad]), Err(Error::Row { what: "noise levels", row: 1, .. })));
        // A variant written out by hand is checked too.
        assert!(matches!(refused(&claim().noise(Noise::Gaussian { std_dev: bad })), Error::Parameter { .. }));
    }
    assert!(matches!(refused(&claim().noise(Noise::per_observation(vec![1.0; 5]).unwrap())), Error::Length { expected: 12, found: 5, .. }));
    assert!(matches!(refused(&claim().method(Method::Paper).coverage(Coverage::Uniform)), Error::Premise { .. }));
    assert!(matches!(BoxDomain::with_flat_sides(vec![0.0, 0.0], vec![1.0, -1.0]), Err(Error::Interval { column: 1, .. })));
    let below = BoxDomain::with_flat_sides(vec![0.0], vec![0.5]).unwrap();
    assert_eq!(refused(&claim().coverage(Coverage::Continuous(below))), Error::Outside { row: 1, column: 0, value: 0.75 });
    assert!(matches!(BoxDomain::with_flat_sides(vec![0.0], vec![f64::NAN]), Err(Error::Interval { .. })));
    let flat = BoxDomain::with_flat_sides(vec![0.0, 0.0], vec![1.0, 1.0]).unwrap();
    assert!(matches!(refused(&claim().coverage(Coverage::Continuous(flat))), Error::Width { what: "box", .. }));
    let width = posterior.interval(points(&[vec![0.1, 0.2]]).view(), &claim());
    assert!(matches!(width, Err(Error::Width { .. })));
    // Widths are about one design and need fixed points.
    let other = posterior_with(0.31);
    let widths = Widths::new(Arc::clone(other.information()), &claim()).unwrap();
    assert!(matches!(posterior.interval_with(&widths, query().view()), Err(Error::Premise { .. })));
    // A point that the features cannot see changes what is missed, though no entry of G.
    let far = |x: f64| {
        let features = FeatureMap::new(sigmabar::Kernel::squared_exponential(0.3, 1.0).unwrap(), points(&[vec![0.2]])).unwrap();
        let o = Observations::new(points(&[vec![0.1], vec![x]]), &[1.0, 0.0], Collected::Designed, Prior::ZERO).unwrap();
        Posterior::fit(Arc::new(features), 0.3, o).unwrap()
    };
    let elsewhere = Widths::new(Arc::clone(far(50.0).information()), &claim()).unwrap();
    assert_eq!(far(50.0).information().gram(), far(90.0).information().gram());
    assert!(far(50.0).interval_with(&elsewhere, query().view()).is_ok());
    assert!(matches!(far(90.0).interval_with(&elsewhere, query().view()), Err(Error::Premise { .. })));
    let energy = Widths::new(Arc::clone(posterior.information()), &claim().method(Method::Energy));
    assert!(matches!(energy, Err(Error::Premise { .. })));
}

fn posterior_with(shift: f64) -> Posterior {
    let (kernel, _) = kernel(1);
    let features = FeatureMap::new(&kernel, points(&[vec![0.2], vec![0.6], vec![0.9]])).unwrap();
    let x: Vec<Vec<f64>> = (0..12).map(|i| vec![f64::from(i) / 12.0 + shift]).collect();
    let observations = Observations::new(points(&x), &responses(), Collected::Designed, Prior::ZERO).unwrap();
    Posterior::fit(Arc::new(features), 0.3, observations).unwrap()
}

#[test]
fn the_papers_corollary_is_not_called_certified_where_its_units_fail() {
    let label = |variance: f64, norm: f64| {
        let kernel = sigmabar::Kernel::squared_exponential(0.3, variance).unwrap();
        let features = FeatureMap::new(&kernel, points(&[vec![0.2], vec![0.6], vec![0.9]])).unwrap();
        let x: Vec<Vec<f64>> = (0..12).map(|i| vec![f64::from(i) / 12.0]).collect();
        let observations = Observations::new(points(&x), &responses(), Collected::Designed, Prior::ZERO).unwrap();
        let posterior = Posterior::fit(Arc::new(features), 0.3, observations).unwrap();
        let region = BoxDomain::with_flat_sides(vec![0.0], vec![1.0]).unwrap();
        let claim = claim().norm_bound(norm).unwrap().method(Method::Paper).coverage(Coverage::Continuous(region));
        posterior.interval(query().view(), &claim).unwrap().certificate().clone()
    };
    assert_eq!(label(1.0, 2.0).label(), Label::Certified);
    let small = label(0.1, 2.0);
    assert_eq!((small.label(), small.premises.constants), (Label::Estimated, Origin::Unmet));
}

#[test]
fn one_observation_and_more_inducing_points_than_data_are_fine() {
    let found = posterior(Origin::Declared, Collected::Designed, Prior::ZERO, &[0.4]).interval(query().view(), &claim()).unwrap();
    assert!(found.upper().iter().zip(found.lower()).all(|(u, l)| u.is_finite() && l.is_finite() && u > l));
}
