//! The incremental posterior against a refit, to the digits; choices alone would hide small drifts.

use super::{CandidateModel, Dictionary, Pending};
use crate::kernel::Kernel;
use crate::points::Points;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const RIDGE: f64 = 0.1;

fn candidates(count: usize) -> Points {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    Points::new((0..2 * count).map(|_| rng.random::<f64>()).collect(), 2).expect("finite")
}

/// The same, but no posterior can tell the first two apart.
fn near_twins(count: usize) -> Points {
    let mut data = candidates(count).as_slice().to_vec();
    data[2] = data[0] + 1e-9;
    data[3] = data[1];
    Points::new(data, 2).expect("finite")
}

/// Mean and variance at one candidate from the normal equations over expanded rows, by elimination.
fn literal(kernel: &Kernel, points: &Points, data: &[(usize, f64, f64)], x: usize) -> (f64, f64) {
    let n = data.len();
    let mut a: Vec<Vec<f64>> = (0..n)
        .map(|i| {
            let mut row: Vec<f64> = (0..n).map(|j| kernel.value(points.row(data[i].0), points.row(data[j].0))).collect();
            row[i] += RIDGE * RIDGE / data[i].2;
            let k = kernel.value(points.row(data[i].0), points.row(x));
            row.extend([data[i].1, k]);
            row
        })
        .collect();
    for i in 0..n {
        for j in i + 1..n {
            let factor = a[j][i] / a[i][i];
            for c in i..n + 2 {
                a[j][c] -= factor * a[i][c];
            }
        }
    }
    // kᵀA⁻¹y and kᵀA⁻¹k are inner products of the eliminated right-hand sides over the pivots.
    let (mut mean, mut explained) = (0.0, 0.0);
    for row in a.iter().enumerate().map(|(i, row)| (row[i], row[n], row[n + 1])) {
        mean += row.1 * row.2 / row.0;
        explained += row.2 * row.2 / row.0;
    }
    (mean, kernel.value(points.row(x), points.row(x)) - explained)
}

#[test]
fn hundreds_of_updates_equal_a_refit() {
    updates_equal_a_refit(candidates(40), 1e-9);
    // Taking a near-twin for its twin costs the root of its residual variance, at most 1e-6, in means and variances.
    updates_equal_a_refit(near_twins(40), 1e-6);
}

fn updates_equal_a_refit(points: Points, allowed: f64) {
    let kernel = Kernel::matern(2.5, 0.3, 1.5).expect("valid");
    let mut model = CandidateModel::new(&kernel, RIDGE, points.clone(), Dictionary::Measured).expect("fits");
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let mut data = Vec::new();
    for step in 0..300 {
        // A few candidates many times, the near-twins among them, with uneven weights.
        let a = if step % 3 == 0 { step % 2 } else { rng.random_range(0..25) };
        let (y, weight) = (rng.random::<f64>(), if step % 5 == 0 { 2.5 } else { 1.0 });
        model.observe(a, y, weight).expect("an observation");
        data.push((a, y, weight));
        if [1, 7, 60, 255, 256, 299].contains(&step) {
            for x in 0..40 {
                let (mean, variance) = literal(&kernel, &points, &data, x);
                assert!((model.mean()[x] - mean).abs() < allowed, "mean at {x} after {step}: {} {mean}", model.mean()[x]);
                assert!((model.variance(x) - variance).abs() < allowed, "variance at {x} after {step}");
            }
        }
    }
    assert_eq!(model.measured().len(), 25);
    let before = model.variances();
    model.refresh().expect("a refit");
    for x in 0..40 {
        assert!((model.variance(x) - before[x]).abs() < 1e-9);
    }
}

#[test]
fn pending_evaluations_shrink_variances_as_answers_would() {
    let kernel = Kernel::squared_exponential(0.3, 1.0).expect("valid");
    for kind in [Dictionary::Measured, Dictionary::Chosen] {
        let mut model = CandidateModel::new(&kernel, RIDGE, candidates(30), kind).expect("fits");
        if kind == Dictionary::Chosen {
            model.redraw(&[3, 9, 20]).expect("a dictionary");
        }
        for (a, y) in [(3, 0.4), (9, -0.3), (3, 0.1)] {
            model.observe(a, y, 1.0).expect("an observation");
        }
        let mut pending = Pending::new(&model);
        let mut answered = model.clone();
        for a in [5, 11, 5, 20, 0, 1] {
            pending.add(&model, a).expect("a pending one");
            answered.observe(a, 7.0, 1.0).expect("an observation");
            for x in 0..30 {
                assert!((pending.variances()[x] - answered.variance(x)).abs() < 1e-9, "{kind:?} {x}");
            }
        }
    }
}

#[test]
fn a_redrawn_dictionary_forgets_the_old_one() {
    let kernel = Kernel::matern(1.5, 0.3, 1.0).expect("valid");
    let mut old = CandidateModel::new(&kernel, RIDGE, candidates(30), Dictionary::Chosen).expect("fits");
    let mut fresh = old.clone();
    old.redraw(&[2, 5, 9, 14]).expect("a dictionary");
    for (a, y) in [(2, 0.4), (9, -0.3), (17, 0.1), (2, 0.0)] {
        old.observe(a, y, 1.0).expect("an observation");
        fresh.count(a, y, 1.0);
    }
    old.redraw(&[2, 5, 17]).expect("a dictionary");
    fresh.redraw(&[2, 5, 17]).expect("a dictionary");
    assert_eq!(old.mean(), fresh.mean());
    assert_eq!(old.variances(), fresh.variances());
    // Growing instead of drawing anew gives the same posterior.
    fresh.append(28).expect("a feature");
    old.redraw(&[2, 5, 17, 28]).expect("a dictionary");
    for x in 0..30 {
        assert!((old.mean()[x] - fresh.mean()[x]).abs() < 1e-10 && (old.variance(x) - fresh.variance(x)).abs() < 1e-10);
    }
}
