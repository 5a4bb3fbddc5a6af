//! The bounds attacked: real designs, measured errors of random and worst-case functions, regrets of a literal run.
#![allow(clippy::unwrap_used)]

use crate::theory_loops;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use sigmabar::gain::GainDomain;
use sigmabar::theory::{
    Cover, DesignedData, InducingPlan, MeanNorm, Multiplier, RegretBatch, RegretRequest, Setting, Theorems, batch_lengths,
    measurements_for_variance,
};
use sigmabar::{BoxDomain, Expansion, Information, Kernel, Noise, Points, Posterior, Prior};
use std::sync::Arc;
use theory_loops::{Plain, Shape, Table, information, largest_eigenvalue, points, power, random_kernel, random_points};

fn setting() -> Setting {
    Setting { norm_bound: 2.0, noise: Noise::sub_gaussian(0.3).unwrap(), ridge: 0.2, delta: 0.05, residual_ratio: 1.0, max_variance: 1.5 }
}

/// A real max-variance design with fixed inducing points; returns the chosen points and the largest variance after each.
fn design(kernel: &Plain, tau: f64, domain: &Table, z: &Table, steps: usize) -> (Table, Vec<f64>, Information) {
    let view = points(domain);
    let mut chosen = vec![domain[0].clone()];
    let mut largest = Vec::new();
    loop {
        let state = information(kernel, tau, &chosen, z);
        let variance = state.variance(view.view()).unwrap();
        let best = (0..domain.len()).fold(0, |b, i| if variance[i] > variance[b] { i } else { b });
        largest.push(variance[best]);
        if chosen.len() == steps {
            return (chosen, largest, state);
        }
        chosen.push(domain[best].clone());
    }
}

/// Algorithm notes 0.5 at every length of real designs, with the gain as computed and with γ_n; the first point is a maximiser of a constant prior.
#[test]
fn design_variance_with_fixed_inducing_points() {
    let mut rng = ChaCha8Rng::seed_from_u64(32);
    let mut closest: f64 = 0.0;
    for _ in 0..40 {
        let (kernel, tau) = (random_kernel(&mut rng), power(&mut rng, -1.5, 0.5));
        let domain = random_points(&mut rng, 40, 2, 0.0, 1.0);
        let z: Table = (0..rng.random_range(2..25)).map(|_| domain[rng.random_range(0..40)].clone()).collect();
        let steps = rng.random_range(5..40);
        let (chosen, largest, _) = design(&kernel, tau, &domain, &z, steps);
        let setting = Setting { ridge: tau, max_variance: kernel.variance, residual_ratio: 0.0, ..setting() };
        let theorems = Theorems::new(setting).unwrap();
        let gains = GainDomain::new(&kernel.kernel(), tau, points(&domain).view()).unwrap();
        let state = information(&kernel, tau, &chosen, &z);
        let max_residual = state.features().residual(points(&domain).view()).unwrap().into_iter().fold(0.0, f64::max);
        assert!(largest.is_sorted_by(|a, b| *b <= *a * (1.0 + 1e-9)), "σ̄ must not grow with Z fixed");
        for n in [1, steps / 2, steps] {
            let gain = information(&kernel, tau, &chosen[..n].to_vec(), &z).gain();
            let max_gain = gains.max_gain(n).unwrap().upper().value;
            for gain in [gain, max_gain] {
                let data = DesignedData { evaluations: n, max_gain, inducing: InducingPlan::Fixed { max_residual, gain } };
                let bound = theorems.design_variance(&data).unwrap().corrected;
                assert!(largest[n - 1] <= bound * (1.0 + 1e-9), "{} {bound}", largest[n - 1]);
                closest = closest.max(largest[n - 1] / bound);
            }
        }
    }
    assert!(closest > 0.5, "the attack should come near the bound: {closest}");
}

/// Algorithm notes 0.5 with inducing points drawn anew at every step, λ ≤ rτ² checked literally; the gain of the very design is enough for the proof.
#[test]
fn design_variance_with_inducing_points_drawn_anew() {
    let mut rng = ChaCha8Rng::seed_from_u64(33);
    for _ in 0..40 {
        let (kernel, tau) = (random_kernel(&mut rng), power(&mut rng, -1.0, 0.5));
        let domain = random_points(&mut rng, 30, 1, 0.0, 1.0);
        let (view, steps) = (points(&domain), rng.random_range(4..20));
        let mut chosen: Table = Vec::new();
        let (mut r, mut z): (f64, Table) = (0.0, vec![domain[rng.random_range(0..30)].clone()]);
        let mut variance = vec![kernel.variance; 30];
        for _ in 0..steps {
            let best = (0..30).fold(0, |b, i| if variance[i] > variance[b] { i } else { b });
            chosen.push(domain[best].clone());
            z.clear();
            for _ in 0..1 + chosen.len() / 2 {
                z.push(chosen[rng.random_range(0..chosen.len())].clone());
            }
            let (k, kappa) = (kernel.table(&chosen, &chosen), kernel.nystrom(&z, &chosen, &chosen));
            let residual: Table = k.iter().zip(&kappa).map(|(a, b)| a.iter().zip(b).map(|(u, v)| u - v).collect()).collect();
            r = r.max(largest_eigenvalue(&residual) / (tau * tau));
            variance = information(&kernel, tau, &chosen, &z).variance(view.view()).unwrap();
        }
        let theorems = Theorems::new(Setting { ridge: tau, max_variance: kernel.variance, residual_ratio: r, ..setting() }).unwrap();
        let data = DesignedData { evaluations: steps, max_gain: kernel.gain(tau, &chosen), inducing: InducingPlan::Redrawn };
        let bound = theorems.design_variance(&data).unwrap().corrected;
        let largest = variance.iter().copied().fold(0.0, f64::max);
        assert!(largest <= bound * (1.0 + 1e-9), "{largest} {bound} r = {r}");
    }
}

fn noise(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// Regression bounds, finite and on a box, against the measured supremum of the error: random and adversarial functions of norm C, 500 noise draws.
#[test]
fn regression_bounds_hold() {
    let kernel = Plain { shape: Shape::MaternFiveHalves, lengthscale: 0.3, variance: 1.0 };
    let (c, level, tau, delta) = (1.0, 0.1, 0.1, 0.1);
    let domain: Table = (0..60).map(|i| vec![f64::from(i) / 59.0]).collect();
    let dense: Table = (0..1000).map(|i| vec![f64::from(i) / 999.0]).collect();
    let z: Table = domain.iter().step_by(4).cloned().collect();
    let (chosen, _, state) = design(&kernel, tau, &domain, &z, 40);
    let (k, kappa) = (kernel.table(&chosen, &chosen), kernel.nystrom(&z, &chosen, &chosen));
    let residual: Table = k.iter().zip(&kappa).map(|(a, b)| a.iter().zip(b).map(|(u, v)| u - v).collect()).collect();
    let residual_ratio = largest_eigenvalue(&residual) / (tau * tau);
    let s = Setting { norm_bound: c, noise: Noise::sub_gaussian(level).unwrap(), ridge: tau, delta, residual_ratio, max_variance: 1.0 };
    let theorems = Theorems::new(s).unwrap();
    let max_gain = GainDomain::new(&kernel.kernel(), tau, points(&domain).view()).unwrap().max_gain(40).unwrap().upper().value;
    let max_residual = state.features().residual(points(&dense).view()).unwrap().into_iter().fold(0.0, f64::max);
    let data = DesignedData { evaluations: 40, max_gain, inducing: InducingPlan::Fixed { max_residual, gain: state.gain() } };
    let finite = theorems.regression_finite(&data, domain.len()).unwrap();
    assert!(finite.corrected < finite.paper && finite.corrected < 2.0 * c, "{finite:?}");
    // On the box the design must be one of the box: add what the grid of 60 can miss, d_k(x, nearest candidate).
    let gap = kernel.kernel().metric(&[0.0], &[0.5 / 59.0]);
    let (line, smooth) = (BoxDomain::unit(1).unwrap(), kernel.kernel());
    let boxed = (&line, &smooth);
    let cover = Cover::new(&line, &smooth, 0.01).unwrap();

    let state = Arc::new(state);
    let (view, dense_view) = (points(&domain), points(&dense));
    let weights = state.weights(view.view()).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(34);
    let (mut misses, mut misses_box, mut closest): (usize, usize, f64) = (0, 0, 0.0);
    for draw in 0..500 {
        // Every second function is the worst case at some candidate: k(x,·) − ΣV_i k(x_i,·).
        let target = rng.random_range(0..60);
        let f = if draw % 2 == 0 {
            let centres = random_points(&mut rng, 8, 1, 0.0, 1.0);
            Expansion::random(kernel.kernel(), points(&centres), c, draw).unwrap()
        } else {
            let mut centres = chosen.clone();
            centres.push(domain[target].clone());
            let mut coefficients: Vec<f64> = weights.row(target).iter().map(|w| -w).collect();
            coefficients.push(1.0);
            Expansion::new(kernel.kernel(), points(&centres), coefficients).unwrap().with_norm(c).unwrap()
        };
        let y: Vec<f64> = chosen.iter().map(|x| f.value(x) + level * noise(&mut rng)).collect();
        let posterior = Posterior::condition(Arc::clone(&state), &y, Prior::declared(0.0, 1.0).unwrap()).unwrap();
        let worst = |at: &Table, mean: &[f64]| at.iter().zip(mean).map(|(x, m)| (f.value(x) - m).abs()).fold(0.0, f64::max);
        let error = worst(&domain, &posterior.mean(view.view()).unwrap());
        misses += usize::from(error > finite.corrected);
        closest = closest.max(error / finite.corrected);
        let error = worst(&dense, &posterior.mean(dense_view.view()).unwrap());
        let bound = theorems.regression_continuous(&data, boxed, &cover, MeanNorm::Computed(posterior.norm())).unwrap().corrected;
        let before = theorems.regression_continuous(&data, boxed, &cover, MeanNorm::Before).unwrap().corrected;
        let beta = theorems.multiplier(Multiplier::Direct, (2.0 / delta).ln() + cover.log_cells);
        misses_box += usize::from(error > bound + beta * gap || error > before + beta * gap);
    }
    println!("misses {misses} of 500, on the box {misses_box}; closest {closest}");
    assert!(misses <= 65 && misses_box <= 65);
    assert!(closest > 0.1, "the bound is not idle: {closest}");
}

/// Batched elimination run literally on a finite domain: the regret stays below the bound, which is below the trivial one.
#[test]
fn regret_bound_holds() {
    let kernel = Plain { shape: Shape::SquaredExponential, lengthscale: 0.3, variance: 1.0 };
    let (c, level, tau, delta, budget) = (1.0, 0.03, 0.03, 0.1, 1000);
    let domain: Table = (0..25).map(|i| vec![f64::from(i) / 24.0]).collect();
    let lengths = batch_lengths(budget).unwrap();
    let s =
        Setting { norm_bound: c, noise: Noise::sub_gaussian(level).unwrap(), ridge: tau, delta, residual_ratio: 1e-6, max_variance: 1.0 };
    let theorems = Theorems::new(s).unwrap();
    let gains = GainDomain::new(&kernel.kernel(), tau, points(&domain).view()).unwrap();
    let gamma = |n: usize| gains.max_gain(n).unwrap().upper().value;
    let batches: Vec<RegretBatch> = lengths
        .iter()
        .map(|&n| {
            let max_gain = gamma(n);
            RegretBatch {
                design: DesignedData { evaluations: n, max_gain, inducing: InducingPlan::Fixed { max_residual: 1e-9, gain: max_gain } },
                cover: None,
            }
        })
        .collect();
    let request = RegretRequest { budget, max_gain: gamma(budget), multiplier: Multiplier::Direct, batches: &batches };
    let bound = theorems.regret_finite(&request, domain.len()).unwrap();
    assert!(bound.corrected < 0.8 * theorems.worst_regret() * budget as f64, "{bound:?}");
    let beta = theorems.multiplier(Multiplier::Direct, (4.0 * lengths.len() as f64 * domain.len() as f64 / delta).ln());
    let mut rng = ChaCha8Rng::seed_from_u64(35);
    for seed in 0..4 {
        let f = Expansion::random(kernel.kernel(), points(&random_points(&mut rng, 6, 1, 0.0, 1.0)), c, seed).unwrap();
        let values: Vec<f64> = domain.iter().map(|x| f.value(x)).collect();
        let best = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (mut survivors, mut regret): (Vec<usize>, f64) = ((0..domain.len()).collect(), 0.0);
        for &length in &lengths {
            let candidates: Table = survivors.iter().map(|&i| domain[i].clone()).collect();
            let mut state = information(&kernel, tau, &candidates[..1].to_vec(), &domain);
            let mut picks = vec![0];
            while picks.len() < length {
                let variance = state.variance(points(&candidates).view()).unwrap();
                let pick = (0..candidates.len()).fold(0, |b, i| if variance[i] > variance[b] { i } else { b });
                picks.push(pick);
                state.update(&candidates[pick]).unwrap();
            }
            let y: Vec<f64> = picks.iter().map(|&p| values[survivors[p]] + level * noise(&mut rng)).collect();
            regret += picks.iter().map(|&p| best - values[survivors[p]]).sum::<f64>();
            let posterior = Posterior::condition(Arc::new(state), &y, Prior::declared(0.0, 1.0).unwrap()).unwrap();
            let view = points(&candidates);
            let (mean, deviation) = (posterior.mean(view.view()).unwrap(), posterior.std_dev(view.view()).unwrap());
            let low = mean.iter().zip(&deviation).map(|(m, d)| m - beta * d).fold(f64::NEG_INFINITY, f64::max);
            survivors = (0..candidates.len()).filter(|&i| mean[i] + beta * deviation[i] >= low).map(|i| survivors[i]).collect();
        }
        println!("regret {regret:.1}, bound {:.1}, paper {:.1}", bound.corrected, bound.paper);
        assert!(regret <= bound.corrected);
        assert!(survivors.iter().any(|&i| values[i] == best), "the maximiser was eliminated");
    }
}

/// The inverse questions: enough at n, not enough at n − 1, and nothing where nothing is enough.
#[test]
fn how_many_measurements() {
    let kernel = Kernel::squared_exponential(0.3, 1.0).unwrap();
    let line = Points::on_line((0..50).map(|i| f64::from(i) / 49.0).collect()).unwrap();
    let (tau, epsilon) = (0.2, 0.1);
    let domain = GainDomain::new(&kernel, tau, line.view()).unwrap();
    let condition = |n: usize, gain: f64| 2.0 * gain / n as f64 <= (1.0 + epsilon * epsilon / (tau * tau)).ln();
    let tail = |n: usize| Ok(domain.rank_tail(n)?.value);
    let sharp = |n: usize| Ok(domain.max_gain(n)?.upper().value);
    let by_tail = measurements_for_variance(epsilon, tau, 1_000_000, tail).unwrap().unwrap();
    let by_all = measurements_for_variance(epsilon, tau, 1_000_000, sharp).unwrap().unwrap();
    let enough = |n: usize| condition(n, domain.rank_tail(n).unwrap().value);
    assert!(enough(by_tail.measurements) && !enough(by_tail.measurements - 1) && by_tail.bound <= epsilon, "{by_tail:?}");
    let enough = |n: usize| condition(n, domain.max_gain(n).unwrap().upper().value);
    assert!(enough(by_all.measurements) && !enough(by_all.measurements - 1) && by_all.bound <= epsilon, "{by_all:?}");
    assert!(by_all.measurements <= by_tail.measurements);
    // A real design of that many measurements is at least as good.
    let plain = Plain { shape: Shape::SquaredExponential, lengthscale: 0.3, variance: 1.0 };
    let rows: Table = line.view().rows().map(<[f64]>::to_vec).collect();
    let (_, largest, _) = design(&plain, tau, &rows, &rows, by_all.measurements.min(400));
    println!("by rank/tail {by_tail:?}, by all bounds {by_all:?}");
    assert!(by_all.measurements <= 400, "the design above was cut short: {by_all:?}");
    assert!(largest.last().unwrap().sqrt() <= epsilon * (1.0 + 1e-6));

    let theorems = Theorems::new(Setting { ridge: tau, residual_ratio: 0.0, max_variance: 1.0, ..setting() }).unwrap();
    let plan = InducingPlan::Fixed { max_residual: 1e-6, gain: 0.0 };
    let found = theorems.measurements_for(1.0, 50, plan, 10_000_000, tail).unwrap().unwrap();
    let at = |n: usize| {
        let gain = domain.rank_tail(n).unwrap().value;
        let data = DesignedData { evaluations: n, max_gain: gain, inducing: InducingPlan::Fixed { max_residual: 1e-6, gain } };
        theorems.regression_finite(&data, 50).unwrap().corrected
    };
    assert!(at(found.measurements) <= 1.0 && at(found.measurements - 1) > 1.0 && found.bound == at(found.measurements), "{found:?}");
    assert!(theorems.measurements_for(1e-3, 50, plan, 1000, tail).unwrap().is_none());
    let blocked = InducingPlan::Fixed { max_residual: 0.5, gain: 0.0 };
    assert!(theorems.measurements_for(0.5, 50, blocked, 1 << 40, tail).unwrap().is_none());
    assert!(measurements_for_variance(-1.0, tau, 10, tail).is_err());
    assert_eq!(measurements_for_variance(2.0, tau, 10, tail).unwrap().unwrap().measurements, 1);
}
