//! Rounding at the edge of double precision: coordinates far from 0, and noise so small that an absolute allowance would drown it (algorithm notes 12, P7–P9, P12).

use crate::oracle;

use oracle::{Covariance, Draws};
use sigmabar::accumulator::{Plan, SumsError};
use sigmabar::certificate::Method;
use sigmabar::design::{DictionarySize, MaxVariance};
use sigmabar::posterior::ExactPosterior;
use sigmabar::{Claim, Collected, Error, FeatureMap, Kernel, Noise, Observations, Points, Posterior, Prior};
use std::sync::Arc;

fn line(x: &[f64]) -> Points {
    Points::on_line(x.to_vec()).unwrap()
}

fn fit(kernel: &Kernel, tau: f64, x: &[f64], y: &[f64], z: &[f64]) -> Posterior {
    let o = Observations::new(line(x), y, Collected::DeclaredFixed, Prior::ZERO).unwrap();
    Posterior::fit(Arc::new(FeatureMap::new(kernel.clone(), line(z)).unwrap()), tau, o).unwrap()
}

fn grid(from: f64, to: f64, count: usize) -> Vec<f64> {
    (0..count).map(|i| from + (to - from) * i as f64 / (count - 1) as f64).collect()
}

/// `C·worst case + R·z·‖V‖` of the very weights in use, in 32 digits: no certificate can be narrower.
fn needed(k: Covariance, x: &[f64], weights: &[f64], query: f64, norm: f64, noise: f64) -> f64 {
    let rows: Vec<Vec<f64>> = x.iter().map(|&v| vec![v]).collect();
    let length = weights.iter().map(|w| w * w).sum::<f64>().sqrt();
    norm * oracle::worst_case(k, &rows, weights, &[query]) + noise * length
}

/// The allowance as it was: absolute in k(x,x), so that the noise part never falls below 16mε√‖B‖·k(x,x).
fn with_absolute_allowance(posterior: &Posterior, queries: &[f64], k_xx: f64, norm: f64, noise: f64) -> Vec<f64> {
    let information = posterior.information();
    let unit = 16.0 * information.features().len() as f64 * f64::EPSILON * information.norm_bound().sqrt();
    let parts = information.variance_parts(line(queries).view()).unwrap();
    parts.iter().map(|p| norm * p.fit.sqrt() + noise * (p.noise + unit * k_xx).sqrt() / information.ridge()).collect()
}

/// R from 1e-1 to 1e-7 of √k_max: within 1.5 times of what the weights need down to 1e-5, and never wider for less noise (P8).
#[test]
fn less_noise_never_widens_an_interval() {
    let kernels: [(Kernel, Covariance, f64); 2] = [
        (Kernel::squared_exponential(0.3, 1.0).unwrap(), oracle::squared_exponential, 1.0),
        (Kernel::matern(2.5, 0.4, 2.0).unwrap(), oracle::matern_five_halves, 2.0),
    ];
    let z_factor = (2.0 * 40_f64.ln()).sqrt();
    let mut attack = 0.0_f64;
    for (kernel, covariance, variance) in kernels {
        let mut draws = Draws::new(12);
        let x: Vec<f64> = (0..100).map(|_| draws.uniform()).collect();
        let y: Vec<f64> = x.iter().map(|v| (5.0 * v).sin()).collect();
        let queries: Vec<f64> = grid(0.03, 0.97, 12);
        for z in [grid(0.0, 1.0, 30), x.clone()] {
            let mut before = vec![f64::INFINITY; queries.len()];
            for exponent in 2..=14 {
                let share = 10_f64.powf(-0.5 * f64::from(exponent));
                let level = share * variance.sqrt();
                let noise = Noise::sub_gaussian(level).unwrap();
                let posterior = fit(&kernel, noise.usual_ridge(variance, x.len()), &x, &y, &z);
                let claim = Claim::new(0.05).unwrap().norm_bound(2.0).unwrap().noise(noise);
                let intervals = posterior.interval(line(&queries).view(), &claim).unwrap();
                let weights = posterior.information().weights(line(&queries).view()).unwrap();
                let old = with_absolute_allowance(&posterior, &queries, variance, 2.0, level * z_factor);
                for q in 0..queries.len() {
                    let half = 0.5 * (intervals.upper()[q] - intervals.lower()[q]);
                    let least = needed(covariance, &x, weights.row(q), queries[q], 2.0, level * z_factor);
                    let facts = (posterior.information().facts().method, z.len(), queries[q]);
                    assert!(half >= least * (1.0 - 1e-9), "R={level:e}, {facts:?}: {half:e} below {least:e}");
                    assert!(half <= before[q] * (1.0 + 1e-12), "R={level:e}, {facts:?}: {half:e} after {:e}", before[q]);
                    assert!(share < 0.99e-5 || half <= 1.5 * least, "R={level:e}, {facts:?}: {half:e} where {least:e} is needed");
                    before[q] = half;
                    attack = attack.max(if share > 0.99e-5 { old[q] / least } else { 0.0 });
                }
            }
        }
    }
    assert!(attack > 10.0, "an absolute allowance costs at most {attack} times here: the test shows nothing");
}

/// A function of known norm, far from 0: `Σ aₖ k(x, cₖ)` with differences taken exactly.
struct Far {
    kernel: Kernel,
    centres: Vec<f64>,
    coefficients: Vec<f64>,
    norm: f64,
}

impl Far {
    fn new(kernel: Kernel, centres: Vec<f64>, draws: &mut Draws) -> Self {
        let coefficients: Vec<f64> = centres.iter().map(|_| draws.normal()).collect();
        let k = |a: f64, b: f64| kernel.value(&[a], &[b]);
        let square: f64 = (0..centres.len())
            .flat_map(|i| (0..centres.len()).map(move |j| (i, j)))
            .map(|(i, j)| coefficients[i] * coefficients[j] * k(centres[i], centres[j]))
            .sum();
        Self { norm: square.sqrt() * (1.0 + 1e-9), kernel, centres, coefficients }
    }

    fn value(&self, x: f64) -> f64 {
        self.centres.iter().zip(&self.coefficients).map(|(&c, a)| a * self.kernel.value(&[x], &[c])).sum()
    }

    /// How many of the queries the certified intervals miss, with every coordinate multiplied by `scale` beforehand and the kernel of that scale.
    fn misses(&self, kernel: &Kernel, scale: f64, x: &[f64], queries: &[f64]) -> usize {
        let scaled = |v: &[f64]| v.iter().map(|v| v * scale).collect::<Vec<f64>>();
        let y: Vec<f64> = x.iter().map(|&v| self.value(v)).collect();
        let noise = Noise::bounded(1e-9).unwrap();
        let posterior = fit(kernel, noise.usual_ridge(1.0, x.len()), &scaled(x), &y, &scaled(x));
        let claim = Claim::new(0.05).unwrap().norm_bound(self.norm).unwrap().noise(noise);
        let intervals = posterior.interval(line(&scaled(queries)).view(), &claim).unwrap();
        let missed = |q: &usize| !(intervals.lower()[*q] <= self.value(queries[*q]) && self.value(queries[*q]) <= intervals.upper()[*q]);
        (0..queries.len()).filter(missed).count()
    }
}

/// Nanosecond timestamps: 1.7e18 away from 0 with a length-scale a million million times smaller (P7).
#[test]
fn intervals_hold_far_from_zero() {
    for (offset, length) in [(1.7e18, 1.7e6), (1e12, 1.0), (0.0, 1.0)] {
        let mut draws = Draws::new(3);
        let at = |u: f64| offset + 3.0 * length * u;
        let x: Vec<f64> = (0..60).map(|_| at(draws.uniform())).collect();
        let queries: Vec<f64> = (0..200).map(|_| at(draws.uniform())).collect();
        let f = Far::new(Kernel::matern(2.5, length, 1.0).unwrap(), (0..8).map(|_| at(draws.uniform())).collect(), &mut draws);
        assert_eq!(f.misses(&f.kernel, 1.0, &x, &queries), 0, "offset {offset:e}");
        // Scaled before anything is subtracted, as kernels once did.
        let attack = f.misses(&Kernel::matern(2.5, 1.0, 1.0).unwrap(), 1.0 / length, &x, &queries);
        let scaling_rounds = length != 1.0;
        assert!(attack >= 10 || !scaling_rounds, "only {attack} of 200 missed: the test shows nothing");
    }
}

/// An offset that doubles add exactly changes no bit, nor does saving.
#[test]
fn an_exact_offset_changes_no_bit() {
    let mut draws = Draws::new(5);
    let coarse = |draws: &mut Draws| (draws.uniform() * 1024.0).round() / 1024.0;
    let x: Vec<f64> = (0..40).map(|_| coarse(&mut draws)).collect();
    let queries: Vec<f64> = (0..40).map(|_| coarse(&mut draws)).collect();
    let y: Vec<f64> = x.iter().map(|v| (7.0 * v).sin()).collect();
    for kernel in [Kernel::squared_exponential(0.3, 1.0), Kernel::matern(2.5, 0.4, 2.0), Kernel::rational_quadratic(1.5, 0.3, 1.0)] {
        let kernel = kernel.unwrap();
        let answer = |offset: f64| {
            let moved = |v: &[f64]| v.iter().map(|v| v + offset).collect::<Vec<f64>>();
            let posterior = fit(&kernel, 1e-3, &moved(&x), &y, &moved(&x[..12]));
            let saved = Posterior::from_bytes(&posterior.to_bytes()).unwrap();
            let queries = line(&moved(&queries));
            assert_eq!(saved.predict(queries.view()).unwrap(), posterior.predict(queries.view()).unwrap());
            posterior.predict(queries.view()).unwrap()
        };
        let here = answer(0.0);
        for offset in [1.0, -(2_f64.powi(30)), 2_f64.powi(40)] {
            assert_eq!(answer(offset), here, "offset {offset}");
        }
    }
}

#[test]
fn a_column_without_digits_is_refused_by_name() {
    let rows = |third: [f64; 3]| Points::from_rows(&[[0.0, third[0]], [0.5, third[1]], [1.0, third[2]]]).unwrap();
    let build = |kernel: Kernel, points: Points| FeatureMap::new(kernel, points).map(drop);
    let close = rows([1.7e18, 1.7e18 + 256.0, 1.7e18 + 1024.0]);
    let error = build(Kernel::squared_exponential(vec![1.0, 100.0], 1.0).unwrap(), close.clone()).unwrap_err();
    assert!(matches!(error, Error::Digits { column: 1, .. }), "{error:?}");
    let message = error.to_string();
    assert!(message.contains("column 1") && message.contains("Subtract a reference value"), "{message}");
    // Enough digits, a column that never differs, one stray value, a kernel that asks for equality only.
    build(Kernel::squared_exponential(vec![1.0, 1e6], 1.0).unwrap(), close.clone()).unwrap();
    build(Kernel::squared_exponential(vec![1.0, 100.0], 1.0).unwrap(), rows([1.7e18; 3])).unwrap();
    build(Kernel::squared_exponential(vec![1.0, 100.0], 1.0).unwrap(), rows([0.0, 1.0, 1.7e18])).unwrap();
    build(Kernel::hamming(1.0, 1.0).unwrap(), close.clone()).unwrap();
    // Queries are held to the same.
    let features = FeatureMap::new(Kernel::squared_exponential(vec![1.0, 100.0], 1.0).unwrap(), rows([1.7e18; 3])).unwrap();
    assert!(matches!(features.features(close.view()), Err(Error::Digits { column: 1, .. })));
}

/// What rounding may have done is part of a saved model (P12).
#[test]
fn a_saved_model_remembers_its_updates() {
    let x = grid(0.0, 1.0, 60);
    for tau in [1e-2, 1e-6] {
        let mut posterior = fit(&Kernel::matern(2.5, 0.4, 2.0).unwrap(), tau, &x[..10], &x[..10], &x[..8]);
        let before = posterior.information().rounding();
        for &v in &x[10..] {
            posterior.update(&[v], v).unwrap();
        }
        let saved = Posterior::from_bytes(&posterior.to_bytes()).unwrap();
        assert_eq!(saved.information().rounding(), posterior.information().rounding());
        assert!(posterior.information().rounding() > before);
        let claim = Claim::new(0.1).unwrap().norm_bound(1.0).unwrap().noise(Noise::gaussian(tau).unwrap());
        let queries = line(&[0.3, 0.77]);
        assert_eq!(saved.interval(queries.view(), &claim).unwrap(), posterior.interval(queries.view(), &claim).unwrap());
    }
}

/// The largest standard deviation of a design is that of the model it hands out, inducing points below the pivot tolerance left out (P12).
#[test]
fn the_largest_deviation_of_a_design_counts_what_was_dropped() {
    let kernel = Kernel::squared_exponential(1.0, 1.0).unwrap();
    let candidates = line(&grid(0.0, 1.0, 80));
    let design = MaxVariance::growing(kernel, 1e-8, DictionarySize::default()).unwrap().choose(candidates.view(), 24).unwrap();
    let features = design.information().features();
    assert!(features.len() < features.given().len(), "nothing was dropped: the test shows nothing");
    let largest = design.information().variance(candidates.view()).unwrap().into_iter().fold(0.0, f64::max).sqrt();
    assert!(design.max_std() >= largest, "{:e} below {largest:e}", design.max_std());
}

/// Squares of responses that leave the range of numbers once made every comparison of the alarm false: a model of them was certified, and could not be loaded.
#[test]
fn responses_that_cannot_be_squared_are_refused_by_row() {
    let (x, mut y) = (grid(0.0, 1.0, 30), grid(-1.0, 1.0, 30));
    y[17] = 1e200;
    let too_large = |row: usize, value: f64| Some(Error::TooLarge { row, value });
    let observed = |y: &[f64], prior: Prior| Observations::new(line(&x), y, Collected::DeclaredFixed, prior).err();
    assert_eq!(observed(&y, Prior::ZERO), too_large(17, 1e200));
    assert_eq!(Prior::learnt(&y).err(), too_large(17, 1e200));
    y[17] = 1e60;
    assert_eq!(observed(&y, Prior::declared(0.0, 1e-50).unwrap()), too_large(17, 1e60 / 1e-50), "in the model's unit");
    let mut posterior = fit(&Kernel::squared_exponential(0.3, 1.0).unwrap(), 0.1, &x, &x, &x[..8]);
    assert_eq!(posterior.update(&[0.5], -1e200).err(), too_large(30, 1e200));
    assert_eq!(posterior.update_block(line(&[0.5]).view(), &[1e200], Collected::Undeclared).err(), too_large(0, 1e200));
    let plan = Plan::new(Kernel::squared_exponential(0.3, 1.0).unwrap(), line(&x[..8]), 0.1, vec![Some(2)]).unwrap();
    let refused = plan.leaf(0).unwrap().add(&[0.1, 0.2], &[1.0, 1e153]).err();
    assert_eq!(refused, Some(Error::Sums(SumsError::TooLarge { chunk: 0, row: 1, value: 1e153 })));
}

/// What leaves the range of numbers in spite of that, with a tiny kernel and ridge, refutes the premises instead of fitting them.
#[test]
fn what_cannot_be_computed_is_not_certified() {
    let (x, y) = (grid(0.0, 1.0, 6), [1e99, -1e99, 1e99, -1e99, 1e99, -1e99]);
    let kernel = Kernel::squared_exponential(0.1, 1e-200).unwrap();
    let observations = Observations::new(line(&x), &y, Collected::DeclaredFixed, Prior::ZERO).unwrap();
    let exact = ExactPosterior::new(kernel.clone(), 1e-150, observations).unwrap();
    let claim = Claim::new(0.1).unwrap().norm_bound(5.0).unwrap().noise(Noise::gaussian(1e-150).unwrap());
    let found = exact.checked_interval(line(&[0.45]).view(), &claim).unwrap();
    assert!(found.certificate().contradiction.is_some(), "{}", found.certificate());
    let energy = exact.interval(line(&[0.45]).view(), &claim.clone().method(Method::Energy)).unwrap();
    assert!(energy.certificate().contradiction.is_some(), "{}", energy.certificate());
    // The largest responses that are taken are refuted as any others are, and their model can be opened.
    let posterior = fit(&Kernel::squared_exponential(0.1, 1.0).unwrap(), 0.1, &x, &y, &x);
    let claim = claim.noise(Noise::gaussian(0.1).unwrap());
    let answer = posterior.answers(&claim).unwrap().at(line(&[0.45]).view()).unwrap();
    assert!(answer.certificate.contradiction.is_some() && answer.response_certificate.contradiction.is_some());
    Posterior::from_bytes(&posterior.to_bytes()).unwrap();
}
