//! The bounds as printed formulas, and attacked with measured designs, errors and regrets.
#![allow(clippy::unwrap_used)]

mod theory_loops;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use sigmabar::{
    DesignedData, Error, Expansion, GainDomain, InducingPlan, Information, Kernel, KernelClass, MeanNorm, MetricBox, Multiplier, Points,
    Posterior, Prior, RegretBatch, RegretRequest, Setting, Statement, Theorems, batch_lengths, batch_lengths_for, even_batch_lengths,
    measurements_for_variance,
};
use std::sync::Arc;
use theory_loops::{Plain, Shape, Table, information, largest_eigenvalue, points, power, random_kernel, random_points, rho};

fn setting() -> Setting {
    Setting { norm_bound: 2.0, noise_level: 0.3, ridge: 0.2, delta: 0.05, residual_ratio: 1.0, max_variance: 1.5 }
}

fn close(found: f64, literal: f64) {
    assert!((found - literal).abs() <= 1e-12 * (1.0 + literal.abs()), "{found} {literal}");
}

/// Algorithm notes 6.5, term by term.
#[test]
fn printed_formulas() {
    let s = setting();
    let t = Theorems::new(s).unwrap();
    let (n, gamma, size) = (200_usize, 12.0_f64, 50_usize);
    let redrawn = DesignedData { evaluations: n, max_gain: gamma, inducing: InducingPlan::Redrawn };
    let fixed = DesignedData { evaluations: n, max_gain: gamma, inducing: InducingPlan::Fixed { max_residual: 0.001, gain: 11.0 } };
    let nf = n as f64;
    let re_variance = rho(1.0).powi(3) * 0.04 * ((2.0 * gamma / nf).exp() - 1.0);
    let fix_variance = 0.001 + 0.04 * ((22.0 / nf).exp() - 1.0);
    close(rho(1.0).powi(3), 17.944_271_909_999_16);
    close(t.design_variance(&redrawn).unwrap().corrected, re_variance);
    close(t.design_variance(&fixed).unwrap().corrected, fix_variance);
    let paper_variance = 8.0 * gamma / (nf * (1.0 + 1.0 / 0.04_f64).ln());
    close(t.design_variance(&redrawn).unwrap().paper, paper_variance);

    let direct = |p: f64| 2.0 * 2.0_f64.sqrt() + 0.3 / 0.2 * (2.0 * (1.0 / p).ln()).sqrt();
    let paper = |p: f64| 3.0 * 2.0 + 0.3 / 0.2 * (2.0 * (1.0 / p).ln()).sqrt();
    let found = t.regression_finite(&redrawn, size).unwrap();
    close(found.corrected, direct(0.05 / (4.0 * 50.0)) * re_variance.sqrt());
    close(found.paper, paper(0.05 / (4.0 * 50.0)) * paper_variance.sqrt());
    assert_eq!(found.statement, Statement::RegressionFinite);
    assert!(found.statement.to_string().contains("Theorem 4.1"));
    close(t.regression_finite(&fixed, size).unwrap().corrected, direct(0.05 / (2.0 * 50.0)) * fix_variance.sqrt());

    let domain = MetricBox::new(vec![1.0, 3.0], vec![0.2, 0.5], 1.5, 1.0).unwrap();
    let h = 0.01;
    let cover = domain.cover(h).unwrap();
    let cells = (3.0_f64.sqrt() / (0.4 * h)).ceil() * (3.0 * 3.0_f64.sqrt() / h).ceil();
    close(cover.log_cells, cells.ln());
    let found = t.regression_continuous(&fixed, &domain, &cover, MeanNorm::Computed(1.7)).unwrap();
    close(found.corrected, direct(0.05 / (2.0 * cells)) * (fix_variance.sqrt() + h) + (2.0 + 1.7) * h);
    // Before the data: half of δ for ‖E‖, half for the cover.
    let tail = (2.0 / 0.05_f64).ln();
    let norm = 2.0 * 1.5 + 0.3 * (nf + 2.0 * (nf * tail).sqrt() + 2.0 * tail).sqrt() / 0.4;
    let found = t.regression_continuous(&fixed, &domain, &cover, MeanNorm::Before).unwrap();
    close(found.corrected, direct(0.05 / (4.0 * cells)) * (fix_variance.sqrt() + h) + (2.0 + norm) * h);
    let paper_norm = 2.0 * (1.0 + nf.sqrt() * 1.5 / 0.2) + nf.sqrt() * 0.3 / 0.2 * (2.0 * (2.0 * nf / 0.025_f64).ln()).sqrt();
    let c = (0.5 * 3.0_f64.sqrt()).powi(2) * 5.0 * 6.0;
    let paper_cells = c * paper_norm.powi(2) * nf.powi(2);
    close(found.paper, paper(0.05 / (8.0 * paper_cells)) * (paper_variance.sqrt() + 2.0 / nf.sqrt()) + 2.0 / nf);
}

#[test]
fn printed_regret_formulas() {
    let t = Theorems::new(setting()).unwrap();
    let gamma = |n: usize| 4.0 * (n as f64).ln();
    let lengths = [32_usize, 179, 424, 365];
    let domain = MetricBox::new(vec![1.0], vec![0.2], 1.5, 1.0).unwrap();
    let batches: Vec<RegretBatch> = lengths[..3]
        .iter()
        .map(|&n| RegretBatch {
            design: DesignedData { evaluations: n, max_gain: gamma(n), inducing: InducingPlan::Redrawn },
            cover: Some((domain.cover(1.0 / n as f64).unwrap(), MeanNorm::Computed(2.5))),
        })
        .collect();
    let request = RegretRequest { budget: 1000, max_gain: gamma(1000), multiplier: Multiplier::Paper, batches: &batches };
    let noise = |p: f64| 1.5 * (2.0 * (1.0 / p).ln()).sqrt();
    let worst = 4.0 * 1.5_f64.sqrt();
    let deviation = |n: usize| (rho(1.0).powi(3) * 0.04 * ((2.0 * gamma(n) / n as f64).exp() - 1.0)).min(1.5).sqrt();
    let (mut finite, mut continuous) = (worst * 32.0, worst * 32.0);
    for i in 1..4 {
        let before = lengths[i - 1];
        let beta = 6.0 + noise(0.05 / (4.0 * 4.0 * 50.0));
        finite += lengths[i] as f64 * worst.min(4.0 * beta * deviation(before));
        let h = 1.0 / before as f64;
        let cells = (1.5_f64.sqrt() / (0.4 * h)).ceil();
        let beta = 6.0 + noise(0.05 / (4.0 * 4.0 * cells));
        continuous += lengths[i] as f64 * worst.min(4.0 * beta * (deviation(before) + h) + 4.0 * (2.0 + 2.5) * h);
    }
    let rounds = 1000.0_f64.ln().ln() + 2.0;
    let root = (8.0 * gamma(1000) / 26.0_f64.ln()).sqrt();
    let factor = (1000.0_f64.sqrt() + 1.0) * rounds;
    let found = t.regret_finite(&request, 50).unwrap();
    close(found.corrected, finite);
    close(found.paper, (24.0 + 4.0 * noise(0.05 / (4.0 * 50.0 * rounds))) * factor * root);
    let found = t.regret_continuous(&request, &domain).unwrap();
    close(found.corrected, continuous);
    let paper_norm = 2.0 * (1.0 + 1000.0_f64.sqrt() * 7.5) + 1000.0_f64.sqrt() * 1.5 * (2.0 * (2000.0 / 0.025_f64).ln()).sqrt();
    let cells = 0.5 * 1.5_f64.sqrt() * 5.0 * paper_norm * 1000.0;
    close(found.paper, (24.0 + 4.0 * noise(0.05 / (8.0 * cells * rounds))) * factor * (root + 2.0) + 8.0 * 1000.0_f64.sqrt() * rounds);
    let short = RegretRequest { batches: &batches[..1], ..request };
    assert!(matches!(t.regret_finite(&short, 50), Err(Error::Length { .. })));
    let bare: Vec<RegretBatch> = batches.iter().map(|b| RegretBatch { cover: None, ..*b }).collect();
    assert!(matches!(t.regret_continuous(&RegretRequest { batches: &bare, ..request }, &domain), Err(Error::Missing { .. })));
}

/// Invariant 10 and E8: the lists of algorithm notes 5.2, exact for every budget.
#[test]
fn batch_schedules() {
    assert_eq!(batch_lengths(100).unwrap(), [10, 32, 57, 1]);
    assert_eq!(batch_lengths(1000).unwrap(), [32, 179, 424, 365]);
    assert_eq!(batch_lengths(10_000).unwrap(), [100, 1000, 3163, 5625, 112]);
    assert_eq!(batch_lengths(1_000_000).unwrap(), [1000, 31_623, 177_829, 421_698, 367_850]);
    for n in (1..3000).chain([u32::MAX as usize, usize::MAX / 4, (1 << 53) + 1]) {
        let lengths = batch_lengths(n).unwrap();
        assert_eq!(lengths.iter().map(|&l| l as u128).sum::<u128>(), n as u128);
        let mut before = 1_u128;
        for &l in &lengths[..lengths.len() - 1] {
            // The smallest integer with l² ≥ N·before.
            let (l, product) = (l as u128, n as u128 * before);
            assert!(l * l >= product && (l - 1) * (l - 1) < product);
            before = l;
        }
    }
    // E8: the paper's ⌈log log N⌉ + 1 with natural logarithms is too small.
    for (n, natural) in [(1000, 3), (1_000_000, 4)] {
        assert_eq!((n as f64).ln().ln().ceil() as usize + 1, natural);
        assert!(batch_lengths(n).unwrap().len() > natural);
    }
    assert_eq!(even_batch_lengths(10, 4).unwrap(), [3, 3, 2, 2]);
    for (n, b, c) in [(1000, 4, 0.0), (50, 6, 0.3), (7, 7, 0.9), (123_456, 3, 0.5), (1, 1, 0.0)] {
        let lengths = batch_lengths_for(n, b, c).unwrap();
        assert_eq!((lengths.len(), lengths.iter().sum::<usize>()), (b, n));
        assert!(lengths.iter().all(|&l| l > 0) && lengths.is_sorted(), "{lengths:?}");
        let eta = (1.0 - c) / 2.0;
        let wished: Vec<f64> =
            (1..=b).map(|i| (n as f64).powf((1.0 - f64::powi(eta, i as i32)) / (1.0 - f64::powi(eta, b as i32))).ceil()).collect();
        let total: f64 = wished.iter().sum();
        for (l, w) in lengths.iter().zip(&wished) {
            assert!((*l as f64 - n as f64 * w / total).abs() <= b as f64 + 1.0, "{lengths:?} {wished:?}");
        }
    }
    assert!(batch_lengths(0).is_err() && batch_lengths_for(3, 4, 0.0).is_err() && batch_lengths_for(9, 3, 1.0).is_err());
    assert!(even_batch_lengths(5, 0).is_err());
}

/// The cover really covers: no point of the box is farther than h from a cell centre in the kernel metric.
#[test]
fn covers_cover() {
    let mut rng = ChaCha8Rng::seed_from_u64(31);
    for _ in 0..200 {
        let mut plain = random_kernel(&mut rng);
        if matches!(plain.shape, Shape::MaternHalf) {
            plain.shape = Shape::SquaredExponential;
        }
        let kernel = plain.kernel();
        let widths: Vec<f64> = (0..2).map(|_| power(&mut rng, -1.0, 1.0)).collect();
        let domain = MetricBox::for_kernel(&kernel, widths.clone()).unwrap();
        let h = power(&mut rng, -2.0, -0.5);
        let cover = domain.cover(h).unwrap();
        let lipschitz = kernel.metric_lipschitz().unwrap();
        let cells: Vec<f64> = widths
            .iter()
            .map(|w| (w * (2.0 * plain.variance).sqrt() * lipschitz / (2.0 * plain.lengthscale * h)).ceil().max(1.0))
            .collect();
        close(cover.log_cells, cells.iter().map(|c| c.ln()).sum());
        for _ in 0..20 {
            let x: Vec<f64> = widths.iter().map(|w| rng.random_range(0.0..*w)).collect();
            let centre: Vec<f64> = (0..2).map(|i| ((x[i] / widths[i] * cells[i]).floor() + 0.5) * widths[i] / cells[i]).collect();
            assert!(kernel.metric(&x, &centre) <= h * (1.0 + 1e-9));
        }
    }
    let huge = MetricBox::new(vec![1.0; 400], vec![1e-3; 400], 1.0, 1.0).unwrap().cover(1e-6).unwrap();
    assert!(huge.log_cells.is_finite() && huge.log_cells > 709.0, "beyond what f64 could hold without the logarithm");
    assert!(MetricBox::for_kernel(&Kernel::matern(0.5, 0.3, 1.0).unwrap(), vec![1.0]).is_err());
    assert!(MetricBox::new(vec![1.0], vec![1.0, 2.0], 1.0, 1.0).is_err() && MetricBox::new(vec![], vec![], 1.0, 1.0).is_err());
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
    let s = Setting { norm_bound: c, noise_level: level, ridge: tau, delta, residual_ratio, max_variance: 1.0 };
    let theorems = Theorems::new(s).unwrap();
    let max_gain = GainDomain::new(&kernel.kernel(), tau, points(&domain).view()).unwrap().max_gain(40).unwrap().upper().value;
    let max_residual = state.features().residual(points(&dense).view()).unwrap().into_iter().fold(0.0, f64::max);
    let data = DesignedData { evaluations: 40, max_gain, inducing: InducingPlan::Fixed { max_residual, gain: state.gain() } };
    let finite = theorems.regression_finite(&data, domain.len()).unwrap();
    assert!(finite.corrected < finite.paper && finite.corrected < 2.0 * c, "{finite:?}");
    // On the box the design must be one of the box: add what the grid of 60 can miss, d_k(x, nearest candidate).
    let gap = kernel.kernel().metric(&[0.0], &[0.5 / 59.0]);
    let boxed = MetricBox::for_kernel(&kernel.kernel(), vec![1.0]).unwrap();
    let cover = boxed.cover(0.01).unwrap();

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
        let bound = theorems.regression_continuous(&data, &boxed, &cover, MeanNorm::Computed(posterior.norm())).unwrap().corrected;
        let before = theorems.regression_continuous(&data, &boxed, &cover, MeanNorm::Before).unwrap().corrected;
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
    let s = Setting { norm_bound: c, noise_level: level, ridge: tau, delta, residual_ratio: 1e-6, max_variance: 1.0 };
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

/// Algorithm notes 7.5: at τ = Rz/C the width is within √2 of the best ridge, which is the best linear estimator.
#[test]
fn ridge_for_one_interval() {
    let mut rng = ChaCha8Rng::seed_from_u64(36);
    for _ in 0..60 {
        let (c, level, delta) = (power(&mut rng, -1.0, 1.0), power(&mut rng, -2.0, 0.5), 0.01);
        let kernel = random_kernel(&mut rng);
        let x = random_points(&mut rng, 15, 1, 0.0, 1.0);
        let query = points(&random_points(&mut rng, 1, 1, 0.0, 1.0));
        let theorems = Theorems::new(Setting { norm_bound: c, noise_level: level, ..setting() }).unwrap();
        let z = (2.0 * (1.0 / delta as f64).ln()).sqrt();
        let chosen = theorems.interval_ridge(delta).unwrap();
        close(chosen, level * z / c);
        let width = |tau: f64| {
            let part = information(&kernel, tau, &x, &x).variance_parts(query.view()).unwrap()[0];
            c * (part.projection + part.fit).sqrt() + level * z * (part.noise / (tau * tau)).sqrt()
        };
        let best = (-24..=24).map(|i| width(chosen * 10.0_f64.powf(f64::from(i) / 8.0))).fold(f64::INFINITY, f64::min);
        assert!(width(chosen) <= 2.0_f64.sqrt() * best * (1.0 + 1e-4), "{} {best}", width(chosen));
    }
}

#[test]
fn settings_are_checked() {
    let refused = |change: fn(&mut Setting), name: &str| {
        let mut s = setting();
        change(&mut s);
        match Theorems::new(s) {
            Err(Error::Parameter { name: found, .. }) => assert_eq!(found, name),
            other => panic!("{name}: {other:?}"),
        }
    };
    refused(|s| s.norm_bound = 0.0, "norm_bound");
    refused(|s| s.noise_level = -1.0, "noise_level");
    refused(|s| s.ridge = f64::NAN, "ridge");
    refused(|s| s.delta = 1.0, "delta");
    refused(|s| s.residual_ratio = -0.1, "residual_ratio");
    refused(|s| s.max_variance = f64::INFINITY, "max_variance");
    let t = Theorems::new(setting()).unwrap();
    let none = DesignedData { evaluations: 0, max_gain: 1.0, inducing: InducingPlan::Redrawn };
    assert!(matches!(t.design_variance(&none), Err(Error::Parameter { name: "evaluations", .. })));
    assert!(t.regression_finite(&DesignedData { evaluations: 3, ..none }, 0).is_err());
    assert!(t.design_variance(&DesignedData { evaluations: 3, max_gain: -1.0, ..none }).is_err());
    // One measurement: a single batch, and nothing but the worst regret.
    let one = RegretRequest { budget: 1, max_gain: 0.3, multiplier: Multiplier::Direct, batches: &[] };
    let bound = t.regret_finite(&one, 5).unwrap();
    assert_eq!(bound.corrected, t.worst_regret());
    assert!(bound.paper.is_finite());
}

#[test]
fn growth_rates_for_orientation() {
    let n = 10_000_usize;
    let log = 10_000.0_f64.ln();
    close(KernelClass::Linear.gain_rate(3, n).early, 3.0 * log);
    close(KernelClass::SquaredExponential.gain_rate(2, n).improved, log.powi(3));
    let matern = KernelClass::Matern { nu: 2.5 }.gain_rate(2, n);
    close(matern.early, 10_000.0_f64.powf(6.0 / 11.0) * log);
    close(matern.improved, 10_000.0_f64.powf(2.0 / 7.0) * log.powf(5.0 / 7.0));
}
