//! Against the printed formulas in plain loops.

use crate::sbpe_support;

use sbpe_support::{DELTA, Drawn, Known, exact_weights, finish, sbpe};
use sigmabar::strategy::{Rules, Sbpe, Schedule};
use sigmabar::{Kernel, Strategy};

/// Deterministic values that look noisy.
fn wobble(step: usize) -> f64 {
    0.2 * (12.9898 * step as f64).sin()
}

/// Runs with wobbling values; all candidates and values in the order asked.
fn run(known: &Known, budget: usize, policy: Sbpe) -> (Strategy, Vec<usize>, Vec<f64>) {
    let mut strategy = Strategy::new(known.problem(budget, Drawn::Rademacher, 0), sbpe(policy)).unwrap();
    let (mut chosen, mut values) = (Vec::new(), Vec::new());
    finish(&mut strategy, |i| {
        chosen.push(i);
        values.push(known.values[i] + wobble(chosen.len()));
        values[values.len() - 1]
    });
    (strategy, chosen, values)
}

/// A linear functional $\sum_j w_jf(x_j)$ as points and weights; its squared norm.
fn norm_squared(kernel: &Kernel, terms: &[(Vec<f64>, f64)]) -> f64 {
    terms.iter().map(|(x, a)| terms.iter().map(|(y, b)| a * b * kernel.value(x, y)).sum::<f64>()).sum()
}

/// The shares of δ that a single batch spends on pairs, on the upper end at the maximiser and on the lower ends.
const PAIRS: f64 = 0.785;
const SINGLES: f64 = 0.02;

/// All candidates are inducing points here, so that nothing is missed and the width is that of the exact model. The ellipsoid only takes from the bias: what
/// the printed formula rules out is ruled out, and its gap is not exceeded; the truth stays inside.
#[test]
fn pairwise_elimination_and_gap_are_within_the_printed_formula() {
    for seed in [2, 3, 5, 8] {
        let known = Known::random(Kernel::matern(0.5, 0.3, 1.0).unwrap(), 1, 12, 2.0, 0.2, seed);
        let count = 150;
        let (strategy, chosen, values) = run(&known, count, Sbpe::default().with_schedule(Schedule::Lengths(vec![count])));
        let rows: Vec<Vec<f64>> = chosen.iter().map(|&i| known.points.row(i).to_vec()).collect();
        assert!((0..12).all(|i| chosen.contains(&i)), "every candidate is a challenger");
        let z = |events: f64| (2.0 * (events / DELTA).ln()).sqrt();
        // τ = Rz/C for 64 challengers.
        let ridge = known.level.max(known.level * z(64.0 / PAIRS) / known.norm);
        let weights: Vec<Vec<f64>> = (0..12).map(|i| exact_weights(&known.kernel, ridge, &rows, known.points.row(i))).collect();
        let mean = |v: &[f64]| v.iter().zip(&values).map(|(v, y)| v * y).sum::<f64>();
        // C‖k_x − ΣV_ik_i‖ and R‖V‖
        let parts = |v: &[f64], at: &[(usize, f64)]| {
            let mut terms: Vec<(Vec<f64>, f64)> = rows.iter().cloned().zip(v.iter().map(|v| -v)).collect();
            terms.extend(at.iter().map(|&(i, sign)| (known.points.row(i).to_vec(), sign)));
            let noise = v.iter().map(|v| v * v).sum::<f64>().sqrt();
            (known.norm * norm_squared(&known.kernel, &terms).max(0.0).sqrt(), known.level * noise)
        };
        let (pair, above, below) = (z(12.0 / PAIRS), z(1.0 / SINGLES), z(12.0 / SINGLES));
        let (mut upper, mut lower) = (Vec::new(), Vec::new());
        for i in 0..12 {
            let (bias, noise) = parts(&weights[i], &[(i, 1.0)]);
            upper.push(mean(&weights[i]) + bias + above * noise);
            lower.push(mean(&weights[i]) - bias - below * noise);
        }
        let floor = lower.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let difference = |i: usize, j: usize| {
            if i == j {
                return 0.0;
            }
            let v: Vec<f64> = weights[i].iter().zip(&weights[j]).map(|(a, b)| a - b).collect();
            let (bias, noise) = parts(&v, &[(i, 1.0), (j, -1.0)]);
            mean(&v) + bias + pair * noise
        };
        let kept: Vec<usize> = (0..12).filter(|&i| upper[i] >= floor && (0..12).all(|j| difference(i, j) >= 0.0)).collect();
        let left = strategy.survivors().unwrap().unwrap().candidates().unwrap().to_vec();
        assert!(left.iter().all(|i| kept.contains(i)), "{left:?} {kept:?}");
        assert!(left.iter().any(|&i| known.values[i] == known.best()));
        let gap_of = |j: usize| kept.iter().map(|&i| difference(i, j)).fold(f64::NEG_INFINITY, f64::max);
        let pairwise = (0..12).map(gap_of).fold(f64::INFINITY, f64::min);
        let plain = kept.iter().map(|&i| upper[i]).fold(f64::NEG_INFINITY, f64::max) - floor;
        let advice = strategy.recommend().unwrap().unwrap();
        let gap = advice.gap;
        println!("survivors {} of {}, gap {gap}, pairwise {pairwise}, by intervals {plain}", left.len(), kept.len());
        assert!(gap <= pairwise.min(plain) + 2e-4 * (1.0 + gap), "{gap} {pairwise} {plain}");
        assert!(known.best() - known.values[advice.candidate.unwrap()] <= gap);
    }
}

#[test]
fn paper_rules_equal_plain_loops() {
    let known = Known::random(Kernel::squared_exponential(0.15, 1.0).unwrap(), 1, 25, 3.0, 0.15, 11);
    let budget = 60;
    let (strategy, chosen, values) = run(&known, budget, Sbpe::new(Rules::Paper));
    let lengths = Schedule::Recursion.lengths(budget).unwrap();
    let (kernel, ridge) = (&known.kernel, known.level);
    let mut survivors: Vec<usize> = (0..25).collect();
    let mut start = 0;
    for (batch, &length) in lengths.iter().enumerate() {
        let picked = &chosen[start..start + length];
        let deviation = |rows: &[Vec<f64>], i: usize| {
            let x = known.points.row(i);
            let explained: f64 = if rows.is_empty() {
                0.0
            } else {
                exact_weights(kernel, ridge, rows, x).iter().zip(rows).map(|(w, r)| w * kernel.value(r, x)).sum()
            };
            (kernel.value(x, x) - explained).max(0.0).sqrt()
        };
        let rows = |count: usize| -> Vec<Vec<f64>> { picked[..count].iter().map(|&i| known.points.row(i).to_vec()).collect() };
        for j in 0..length {
            let before = rows(j);
            let largest = survivors.iter().map(|&i| deviation(&before, i)).fold(0.0, f64::max);
            assert!(deviation(&before, picked[j]) >= largest - 1e-9, "batch {batch}, step {j}");
        }
        let all = rows(length);
        let beta = 3.0 * known.norm + (2.0 * (4.0 * lengths.len() as f64 * 25.0 / DELTA).ln()).sqrt();
        let mean = |i: usize| {
            let weights = exact_weights(kernel, ridge, &all, known.points.row(i));
            weights.iter().zip(&values[start..start + length]).map(|(w, y)| w * y).sum::<f64>()
        };
        let floor = survivors.iter().map(|&i| mean(i) - beta * deviation(&all, i)).fold(f64::NEG_INFINITY, f64::max);
        // The last batch is cut short: nothing is ruled out after it.
        if batch + 1 < lengths.len() {
            survivors.retain(|&i| mean(i) + beta * deviation(&all, i) >= floor);
        }
        start += length;
    }
    println!("{} survivors after {lengths:?}", survivors.len());
    assert!(survivors.len() < 25);
    assert_eq!(strategy.survivors().unwrap().unwrap().candidates().unwrap(), survivors);
}
