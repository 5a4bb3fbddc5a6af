//! Points chosen by looking at earlier responses: the energy band still covers, at every point at once.
#![allow(clippy::unwrap_used)]

use crate::coverage_support;

use coverage_support::oracle::Draws;
use coverage_support::{LAWS, Law, kernel, points};
use sigmabar::certificate::Theorem;
use sigmabar::{Claim, Collected, Expansion, FeatureMap, Label, Noise, Observations, Posterior, Prior};
use std::sync::Arc;

const DRAWS: usize = 2000;

/// A greedy searcher: after three fixed points it measures next to the best response so far.
pub(crate) fn searched(f: &Expansion, law: Law, scale: f64, random: &mut Draws) -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut x: Vec<Vec<f64>> = [0.1, 0.5, 0.9].iter().map(|&v| vec![v]).collect();
    let mut y: Vec<f64> = x.iter().map(|p| f.value(p) + law.sample(random, scale)).collect();
    while x.len() < 15 {
        let best = (0..y.len()).max_by(|&i, &j| y[i].total_cmp(&y[j])).unwrap();
        let next = vec![(x[best][0] + 0.2 * (random.uniform() - 0.5)).clamp(0.0, 1.0)];
        y.push(f.value(&next) + law.sample(random, scale));
        x.push(next);
    }
    (x, y)
}

#[test]
fn the_energy_band_covers_adaptive_points_and_can_fail() {
    let (kernel, _) = kernel(1);
    let norm = 3.0;
    // Almost all of the norm sits far away, where nothing was measured: there the band is attained.
    let f =
        Expansion::new(kernel.clone(), points(&[vec![0.3], vec![0.7], vec![9.0]]), vec![0.1, -0.05, 1.0]).unwrap().with_norm(norm).unwrap();
    let mut queries: Vec<Vec<f64>> = (0..20).map(|i| vec![f64::from(i) / 19.0]).collect();
    queries.push(vec![9.0]);
    let view = points(&queries);
    let truth = f.values(view.view()).unwrap();
    let z: Vec<Vec<f64>> = (0..6).map(|i| vec![0.2 * f64::from(i)]).collect();
    let features = Arc::new(FeatureMap::new(&kernel, points(&z)).unwrap());
    for (law, delta) in LAWS.into_iter().flat_map(|law| [0.3, 0.1, 0.01].map(|delta| (law, delta))) {
        let claim = Claim::new(delta).unwrap().norm_bound(norm).unwrap().noise(law.noise(0.2));
        let mut random = Draws::new(51);
        let (mut misses, mut narrow) = (0, 0);
        for _ in 0..DRAWS {
            let (x, y) = searched(&f, law, 0.2, &mut random);
            let observations = Observations::new(points(&x), &y, Collected::Adaptive, Prior::ZERO).unwrap();
            let found = Posterior::fit(Arc::clone(&features), 0.2, observations).unwrap().interval(view.view(), &claim).unwrap();
            assert_eq!(found.certificate().theorem, Theorem::Energy);
            let outside = |shrink: f64| {
                (0..truth.len()).any(|i| {
                    let (mean, low, high) = (found.mean()[i], found.lower()[i], found.upper()[i]);
                    truth[i] > mean + shrink * (high - mean) || truth[i] < mean - shrink * (mean - low)
                })
            };
            misses += usize::from(found.certificate().label() == Label::Certified && outside(1.0));
            narrow += usize::from(outside(0.8));
        }
        let allowed = delta + 4.5 * (delta * (1.0 - delta) / DRAWS as f64).sqrt();
        assert!(misses as f64 / DRAWS as f64 <= allowed, "{law:?}: {misses} of {DRAWS} at {delta}");
        assert!(narrow as f64 / DRAWS as f64 > allowed, "{law:?}: 0.8 of the band still covers: {narrow}");
    }
}

#[test]
fn the_data_contradict_a_norm_bound_that_is_too_small_and_not_a_true_one() {
    let (kernel, _) = kernel(0);
    let f = Expansion::new(kernel.clone(), points(&[vec![0.2], vec![0.6]]), vec![1.0, -1.0]).unwrap().with_norm(3.0).unwrap();
    let z: Vec<Vec<f64>> = (0..8).map(|i| vec![f64::from(i) / 7.0]).collect();
    let features = Arc::new(FeatureMap::new(&kernel, points(&z)).unwrap());
    let mut random = Draws::new(53);
    let delta = 0.1;
    let claim = |norm: f64| Claim::new(delta).unwrap().norm_bound(norm).unwrap().noise(Noise::gaussian(0.05).unwrap());
    let mut false_alarms = 0;
    for _ in 0..500 {
        let (x, y) = searched(&f, Law::Gaussian, 0.05, &mut random);
        let observations = Observations::new(points(&x), &y, Collected::Adaptive, Prior::ZERO).unwrap();
        let posterior = Posterior::fit(Arc::clone(&features), 0.1, observations).unwrap();
        let check = posterior.norm_check(&claim(3.0)).unwrap();
        false_alarms += usize::from(check.contradicted == Some(true));
        assert_eq!(check.contradicted, Some(check.least_norm > 3.0));
        let small = posterior.norm_check(&claim(0.5)).unwrap();
        assert_eq!(small.contradicted, Some(true), "0.5 is far too small: {small:?}");
        assert!(small.least_norm > 1.0, "{small:?}");
        let found = posterior.interval(points(&[vec![0.5]]).view(), &claim(0.5)).unwrap();
        assert_eq!(found.certificate().label(), Label::Estimated);
        assert!(found.certificate().contradiction.unwrap().least_norm.unwrap() > 0.5);
    }
    assert!(false_alarms as f64 <= 500.0 * delta, "{false_alarms} false alarms");
}
