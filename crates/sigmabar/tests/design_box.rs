//! Max-variance design on boxes against dense grids.

use crate::oracle;

use oracle::Draws;
use sigmabar::design::{CellSearch, Design, DictionarySize, MaxVariance};
use sigmabar::points::Locations;
use sigmabar::{Claim, Collected, Error, FeatureMap, Information, Kernel, Noise, Points};
use std::sync::Arc;

fn grid(low: &[f64], high: &[f64], per_side: usize) -> Points {
    let dim = low.len();
    let mut data = Vec::new();
    for index in 0..per_side.pow(dim as u32) {
        let mut rest = index;
        for c in 0..dim {
            data.push(low[c] + (high[c] - low[c]) * (rest % per_side) as f64 / (per_side - 1) as f64);
            rest /= per_side;
        }
    }
    Points::new(data, dim).unwrap()
}

fn one(corner: &[f64]) -> Points {
    Points::new(corner.to_vec(), corner.len()).unwrap()
}

/// Each point had at least 1/(1+η) of the grid's largest σ̄ when it was chosen; the same inducing points throughout.
fn check_choices(design: &Design, dense: &Points, slack: f64) {
    let features = design.information().features();
    let (points, ridge) = (design.points(), design.information().ridge());
    for j in (1..points.len()).step_by(7) {
        let locations = Arc::new(Locations::new(points.range(0, j).to_points(), Collected::Designed));
        let before = Information::new(Arc::clone(features), ridge, locations).unwrap();
        let largest = before.variance(dense.view()).unwrap().into_iter().fold(0.0, f64::max).sqrt();
        let here = before.variance(points.range(j, j + 1)).unwrap()[0].sqrt();
        assert!((design.variances()[j].sqrt() - here).abs() <= 1e-7 * here.max(1e-3), "{} against {here}", design.variances()[j].sqrt());
        assert!(here * (1.0 + slack) >= largest * (1.0 - 1e-9), "pick {j}: {here} against {largest}");
    }
    let after = design.information().variance(dense.view()).unwrap().into_iter().fold(0.0, f64::max).sqrt();
    assert!(after <= design.max_std() * (1.0 + 1e-9), "{after} above {}", design.max_std());
    assert!(after.powi(2) <= design.variance_bound() * (1.0 + 1e-9));
}

#[test]
fn choices_are_nearly_largest() {
    let mut draws = Draws::new(2);
    for trial in 0..12 {
        let dim = 1 + trial % 2;
        let low: Vec<f64> = (0..dim).map(|_| -draws.uniform()).collect();
        let high: Vec<f64> = (0..dim).map(|_| 0.2 + draws.uniform()).collect();
        let kernel = match trial % 3 {
            0 => Kernel::squared_exponential(0.5, 1.0),
            1 => Kernel::matern(2.5, 0.6, 2.0),
            _ => Kernel::matern(1.5, 1.0, 0.7),
        };
        let inducing = grid(&low, &high, if dim == 1 { 15 } else { 6 });
        let features = Arc::new(FeatureMap::new(kernel.unwrap(), inducing).unwrap());
        let design = MaxVariance::new(features, 0.2).unwrap();
        let slack = [0.1, 0.03, 0.3][trial % 3];
        let chosen = design.choose_in_boxes(one(&low).view(), one(&high).view(), CellSearch::within(slack), 40).unwrap();
        assert!(chosen.slack() <= slack * (1.0 + 1e-9));
        let inside = chosen.points().rows().all(|x| x.iter().zip(&low).zip(&high).all(|((x, a), b)| a <= x && x <= b));
        assert!(inside);
        check_choices(&chosen, &grid(&low, &high, if dim == 1 { 2001 } else { 81 }), slack);
    }
}

#[test]
fn a_union_of_boxes_and_a_growing_dictionary() {
    let low = Points::new(vec![0.0, 0.0, 0.6, 0.5], 2).unwrap();
    let high = Points::new(vec![0.3, 0.4, 1.0, 1.0], 2).unwrap();
    let kernel = Kernel::matern(2.5, 0.4, 1.0).unwrap();
    let design = MaxVariance::growing(kernel, 0.1, DictionarySize::default()).unwrap();
    let chosen = design.choose_in_boxes(low.view(), high.view(), CellSearch::default(), 60).unwrap();
    for x in chosen.points().rows() {
        let inside = (0..2).any(|b| (0..2).all(|c| low.row(b)[c] <= x[c] && x[c] <= high.row(b)[c]));
        assert!(inside, "{x:?}");
    }
    for b in 0..2 {
        let dense = grid(low.row(b), high.row(b), 60);
        let after = chosen.information().variance(dense.view()).unwrap().into_iter().fold(0.0, f64::max).sqrt();
        assert!(after <= chosen.max_std() * (1.0 + 1e-9));
    }
    assert!(chosen.max_std().powi(2) <= (1.1_f64).powi(2) * chosen.variance_bound());
    assert!(matches!(
        chosen.uniform_error(&Claim::new(0.1).unwrap().norm_bound(1.0).unwrap().noise(Noise::sub_gaussian(0.1).unwrap())),
        Err(Error::Premise { .. })
    ));
}

#[test]
fn too_few_cells_are_reported_as_slack() {
    let kernel = Kernel::matern(2.5, 0.3, 1.0).unwrap();
    let features = Arc::new(FeatureMap::new(kernel, grid(&[0.0, 0.0], &[1.0, 1.0], 7)).unwrap());
    let design = MaxVariance::new(features, 0.1).unwrap();
    let search = CellSearch::within(0.05).with_max_cells(64);
    let chosen = design.choose_in_boxes(one(&[0.0, 0.0]).view(), one(&[1.0, 1.0]).view(), search, 80).unwrap();
    assert!(chosen.slack() > 0.05);
    check_choices(&chosen, &grid(&[0.0, 0.0], &[1.0, 1.0], 61), chosen.slack());
}

#[test]
fn wrong_boxes_are_refused() {
    let kernel = Kernel::matern(2.5, 0.3, 1.0).unwrap();
    let design = MaxVariance::growing(kernel, 0.1, DictionarySize::default()).unwrap();
    let (low, high) = (one(&[0.0, 0.0]), one(&[1.0, 1.0]));
    let search = CellSearch::default();
    assert!(matches!(design.choose_in_boxes(high.view(), low.view(), search, 3), Err(Error::Parameter { .. })));
    assert!(matches!(design.choose_in_boxes(low.view(), high.view(), search, 0), Err(Error::Parameter { name: "count", .. })));
    assert!(matches!(design.choose_in_boxes(low.view(), high.view(), CellSearch::within(0.0), 3), Err(Error::Parameter { .. })));
    assert!(matches!(design.choose_in_boxes(low.view(), one(&[1.0]).view(), search, 3), Err(Error::Width { .. })));
    let two = Points::new(vec![1.0; 4], 2).unwrap();
    assert!(matches!(design.choose_in_boxes(low.view(), two.view(), search, 3), Err(Error::Length { .. })));
    let categories = MaxVariance::growing(Kernel::hamming(1.0, 1.0).unwrap(), 0.1, DictionarySize::default()).unwrap();
    assert!(matches!(categories.choose_in_boxes(low.view(), high.view(), search, 3), Err(Error::Premise { .. })));
}
