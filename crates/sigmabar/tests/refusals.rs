//! Bad input: each refused with an error that names what is wrong, or answered rightly where it is legitimate.

use sigmabar::points::Locations;
use sigmabar::posterior::ExactPosterior;
use sigmabar::sealed::SavedError;
use sigmabar::{Collected, Error, Expansion, FeatureMap, Information, Kernel, Observations, Points, PointsRef, Posterior, Prior};
use std::sync::Arc;

fn kernel() -> Kernel {
    Kernel::squared_exponential(0.3, 1.0).unwrap()
}

fn observations(x: &[f64], y: &[f64]) -> sigmabar::Result<Observations> {
    Observations::new(Points::on_line(x.to_vec())?, y, Collected::DeclaredFixed, Prior::ZERO)
}

fn posterior(x: &[f64], y: &[f64], z: &[f64]) -> Posterior {
    let features = FeatureMap::new(kernel(), Points::on_line(z.to_vec()).unwrap()).unwrap();
    Posterior::fit(Arc::new(features), 0.1, observations(x, y).unwrap()).unwrap()
}

#[test]
fn points_are_validated_with_row_and_column() {
    assert_eq!(Points::new(vec![], 2), Err(Error::Empty { what: "points" }));
    assert_eq!(Points::new(vec![1.0], 0), Err(Error::NoColumns { what: "points" }));
    assert_eq!(Points::new(vec![1.0, 2.0, 3.0], 2), Err(Error::Width { what: "points", row: 1, expected: 2, found: 1 }));
    assert!(matches!(Points::new(vec![1.0, 2.0, 3.0, f64::NAN], 2), Err(Error::NotFinite { row: 1, column: 1, .. })));
    assert!(matches!(PointsRef::new(&[1.0, f64::INFINITY], 1), Err(Error::NotFinite { row: 1, column: 0, .. })));
    let ragged = [vec![1.0, 2.0], vec![1.0]];
    assert_eq!(Points::from_rows(&ragged), Err(Error::Width { what: "points", row: 1, expected: 2, found: 1 }));
    let message = Points::new(vec![0.0, f64::NAN], 2).unwrap_err().to_string();
    assert!(message.contains("row 0, column 1") && message.contains("finite"), "{message}");
}

#[test]
fn responses_are_validated() {
    assert_eq!(observations(&[0.0, 1.0], &[0.0]), Err(Error::Length { what: "responses", expected: 2, found: 1 }));
    assert!(matches!(observations(&[0.0, 1.0], &[0.0, f64::NAN]), Err(Error::NotFinite { what: "responses", row: 1, .. })));
    assert!(matches!(Prior::declared(f64::NAN, 1.0), Err(Error::Parameter { name: "prior mean", .. })));
    assert!(matches!(Prior::declared(0.0, 0.0), Err(Error::Parameter { name: "unit", .. })));
    assert!(matches!(Prior::learnt(&[]), Err(Error::Empty { .. })));
    let constant = Prior::learnt(&[3.0, 3.0]).unwrap();
    assert_eq!((constant.mean(), constant.unit(), constant.origin()), (3.0, 1.0, sigmabar::Origin::LearntHere));
}

#[test]
fn parameters_outside_their_range_are_named() {
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(Kernel::squared_exponential(bad, 1.0), Err(Error::Parameter { .. })), "length-scale {bad}");
        assert!(matches!(Kernel::squared_exponential(1.0, bad), Err(Error::Parameter { .. })), "variance {bad}");
        assert!(matches!(Kernel::matern(bad, 1.0, 1.0), Err(Error::Parameter { .. })), "smoothness {bad}");
        let features = Arc::new(FeatureMap::new(kernel(), Points::on_line(vec![0.0]).unwrap()).unwrap());
        let o = observations(&[0.0], &[1.0]).unwrap();
        assert!(matches!(Posterior::fit(features.clone(), bad, o.clone()), Err(Error::Parameter { name: "ridge", .. })), "ridge {bad}");
        assert!(matches!(Information::new(features, bad, o.locations().clone()), Err(Error::Parameter { name: "ridge", .. })));
        assert!(matches!(ExactPosterior::new(kernel(), bad, o), Err(Error::Parameter { name: "ridge", .. })));
    }
}

#[test]
fn widths_must_agree() {
    let wide = Points::new(vec![0.0, 1.0], 2).unwrap();
    let p = posterior(&[0.0, 0.5], &[1.0, 2.0], &[0.0]);
    assert!(matches!(p.mean(wide.view()), Err(Error::Width { expected: 1, found: 2, .. })));
    assert!(matches!(p.predict(wide.view()), Err(Error::Width { .. })));
    assert!(matches!(p.covariance(wide.view()), Err(Error::Width { .. })));
    assert!(matches!(p.information().weights(wide.view()), Err(Error::Width { .. })));
    let mut q = p.clone();
    assert!(q.update(&[0.0, 1.0], 1.0).is_err() && q.update(&[f64::NAN], 1.0).is_err() && q.update(&[0.3], f64::NAN).is_err());
    assert!(q.append_inducing(&[0.0, 1.0]).is_err());
    assert_eq!(q.to_bytes(), p.to_bytes(), "a refused update changes nothing");
    let per_column = Kernel::squared_exponential(vec![0.1, 0.2, 0.3], 1.0).unwrap();
    assert!(FeatureMap::new(per_column.clone(), wide.clone()).is_err());
    assert!(Expansion::new(per_column, wide, vec![1.0]).is_err());
    assert!(matches!(p.information().features().project(&[1.0, 2.0]), Err(Error::Length { expected: 1, found: 2, .. })));
    assert!(matches!(Posterior::condition(p.information().clone(), &[1.0], Prior::ZERO), Err(Error::Length { expected: 2, found: 1, .. })));
}

#[test]
fn one_row_duplicates_and_more_inducing_points_than_data_are_fine() {
    let one = posterior(&[0.2], &[1.5], &[0.2]);
    let at = Points::on_line(vec![0.2, 5.0]).unwrap();
    let (mean, std_dev) = one.predict(at.view()).unwrap();
    // One datum: μ = k y/(k + τ²), σ² = k τ²/(k + τ²); far away the prior.
    assert!((mean[0] - 1.5 / 1.01).abs() < 1e-12 && (std_dev[0].powi(2) - 0.01 / 1.01).abs() < 1e-12);
    assert!(mean[1].abs() < 1e-12 && (std_dev[1] - 1.0).abs() < 1e-12);
    let many = posterior(&[0.2], &[1.5], &[0.2, 0.2, 0.7, 0.2, 0.9]);
    assert_eq!(many.information().features().len(), 3);
    assert!((many.mean(at.view()).unwrap()[0] - mean[0]).abs() < 1e-10);
    let same = posterior(&[0.2; 7], &[1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.5], &[0.2]);
    assert_eq!((same.information().len(), same.information().distinct()), (7, 1));
    assert!((same.mean(at.view()).unwrap()[0] - 1.5 * 7.0 / 7.01).abs() < 1e-12);
}

#[test]
fn constant_columns_are_fine() {
    let rows: Vec<[f64; 2]> = (0..20).map(|i| [f64::from(i) / 20.0, 4.0]).collect();
    let y: Vec<f64> = (0..20).map(|i| (f64::from(i) / 3.0).sin()).collect();
    let features = FeatureMap::new(kernel(), Points::from_rows(&rows).unwrap()).unwrap();
    let o = Observations::new(Points::from_rows(&rows).unwrap(), &y, Collected::DeclaredFixed, Prior::ZERO).unwrap();
    let flat = Posterior::fit(Arc::new(features), 0.1, o).unwrap();
    let line: Vec<f64> = rows.iter().map(|r| r[0]).collect();
    let plain = posterior(&line, &y, &line);
    let a = flat.mean(Points::from_rows(&rows).unwrap().view()).unwrap();
    let b = plain.mean(Points::on_line(line).unwrap().view()).unwrap();
    assert!(a.iter().zip(&b).all(|(u, v)| (u - v).abs() < 1e-9));
}

#[test]
fn negative_zero_is_zero() {
    let locations = Locations::new(Points::on_line(vec![0.0, -0.0, 1.0]).unwrap(), Collected::Adaptive);
    assert_eq!((locations.len(), locations.distinct(), locations.count(0)), (3, 2, 2.0));
    assert_eq!(locations.sum_by_point("values", &[1.0, 2.0, 4.0]).unwrap(), vec![3.0, 4.0]);
}

#[test]
fn saved_models_come_back_bitwise_and_damage_is_refused() {
    let p = posterior(&[0.0, 0.5, 0.5, 0.9], &[1.0, 2.0, 2.5, 0.0], &[0.1, 0.8, 0.8]);
    let bytes = p.to_bytes();
    let back = Posterior::from_bytes(&bytes).unwrap();
    let queries = Points::on_line(vec![0.0, 0.33, 2.0]).unwrap();
    assert_eq!(back.predict(queries.view()).unwrap(), p.predict(queries.view()).unwrap());
    assert_eq!(back.to_bytes(), bytes);
    let refused = |bytes: &[u8]| match Posterior::from_bytes(bytes) {
        Err(Error::Saved(reason)) => reason,
        other => panic!("expected a refusal, got {:?}", other.map(|_| ())),
    };
    assert_eq!(refused(b""), SavedError::Foreign);
    assert_eq!(refused(b"PAR1 is another format"), SavedError::Foreign);
    assert!(matches!(refused(&bytes[..30]), SavedError::Length { .. }));
    assert!(matches!(refused(&bytes[..bytes.len() - 1]), SavedError::Length { .. }));
    let mut newer = bytes.clone();
    newer[8] += 1;
    assert_eq!(refused(&newer), SavedError::Newer { found: u32::from(newer[8]), supported: u32::from(bytes[8]) });
    for at in (32..bytes.len()).step_by(3) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        assert_eq!(refused(&damaged), SavedError::Checksum, "byte {at}");
    }
}
