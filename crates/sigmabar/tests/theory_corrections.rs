//! Each correction to the paper as a test: where the printed statement fails, and that the corrected one holds.
#![allow(clippy::unwrap_used)]

use crate::theory_loops;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use sigmabar::gain::GainDomain;
use sigmabar::theory::{DesignedData, InducingPlan, Setting, Theorems, batch_lengths, variance_sum_bound};
use sigmabar::{Collected, Expansion, Kernel, Noise, Observations, Points, Posterior, Prior};
use std::sync::Arc;
use theory_loops::{Plain, Shape, Table, largest_eigenvalue, points, power, random_kernel, random_points, random_problem, rho};

fn setting(max_variance: f64) -> Setting {
    Setting { norm_bound: 1.0, noise: Noise::sub_gaussian(0.1).unwrap(), ridge: 0.1, delta: 0.05, residual_ratio: 1.0, max_variance }
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// E3: the paper's constant (1+r)² where ρ³ belongs, and the printed values.
#[test]
fn e3_constants() {
    let t = Theorems::new(Setting { ridge: 1.0, ..setting(1.0) }).unwrap();
    assert!((t.ratio().powi(3) - 17.94).abs() < 5e-3);
    // Small γ/n: corrected ≈ ρ³·2γ/n against the paper's 4·2γ/(n log 2).
    let d = DesignedData { evaluations: 10_000, max_gain: 0.01, inducing: InducingPlan::Redrawn };
    let bound = t.design_variance(&d).unwrap();
    assert!((bound.corrected / bound.paper - rho(1.0).powi(3) * 2.0_f64.ln() / 4.0).abs() < 1e-3);
}

/// E4: Σσ²_{j−1}(x_j) ≤ 2kmax·I/log(1+kmax/τ²) along random sequences; with kmax = 9 the paper's kmax-free form fails.
#[test]
fn e4_sum_of_variances() {
    let mut rng = ChaCha8Rng::seed_from_u64(41);
    let mut paper_fails = 0;
    for _ in 0..300 {
        let mut kernel = random_kernel(&mut rng);
        kernel.variance = power(&mut rng, -1.0, 1.5);
        let tau = power(&mut rng, -1.0, 1.0);
        let mut x = random_points(&mut rng, 20, 2, 0.0, 1.0);
        x[7] = x[3].clone();
        let mut sum = kernel.variance;
        for j in 1..20 {
            sum += kernel.exact_variance(tau, &x[..j].to_vec(), &x[j..=j].to_vec())[0];
        }
        let gain = kernel.gain(tau, &x);
        assert!(sum <= variance_sum_bound(gain, kernel.variance, tau).unwrap() * (1.0 + 1e-9));
        let literal = 2.0 * kernel.variance * gain / (1.0 + kernel.variance / (tau * tau)).ln();
        assert!((variance_sum_bound(gain, kernel.variance, tau).unwrap() - literal).abs() <= 1e-9 * literal);
        paper_fails += usize::from(sum > 2.0 * gain / (1.0 + 1.0 / (tau * tau)).ln() * (1.0 + 1e-9));
    }
    assert!(paper_fails > 20, "{paper_fails}");
    assert!(variance_sum_bound(-1.0, 1.0, 1.0).is_err() && variance_sum_bound(1.0, 0.0, 1.0).is_err());
}

/// E6: f = C·k(x,·)/√k(x,x) has norm C and reaches C√k(x,x), above the paper's C·k(x,x) when k(x,x) < 1.
#[test]
fn e6_value_bound() {
    let kernel = Kernel::squared_exponential(0.3, 0.25).unwrap();
    let t = Theorems::new(setting(0.25)).unwrap();
    let f = Expansion::new(kernel, Points::on_line(vec![0.4]).unwrap(), vec![1.0]).unwrap().with_norm(1.0).unwrap();
    assert!((f.value(&[0.4]) - t.value_bound(0.25)).abs() < 1e-14);
    assert!(f.value(&[0.4]) > 1.0 * 0.25);
    let mut rng = ChaCha8Rng::seed_from_u64(42);
    for seed in 0..200 {
        let plain = random_kernel(&mut rng);
        let f = Expansion::random(plain.kernel(), points(&random_points(&mut rng, 5, 2, 0.0, 1.0)), 1.0, seed).unwrap();
        let x = random_points(&mut rng, 1, 2, 0.0, 1.0);
        assert!(f.value(&x[0]).abs() <= t.value_bound(plain.variance) * (1.0 + 1e-9));
    }
}

/// E7: a linear function on {−1, 1} has kmax = 1, norm C and regret 2C at one evaluation: the paper's C·kmax·√N for the first batch is too small.
#[test]
fn e7_first_batch() {
    let kernel = Kernel::linear(0.0, 1.0, 1.0).unwrap();
    let t = Theorems::new(setting(1.0)).unwrap();
    let f = Expansion::new(kernel.clone(), Points::on_line(vec![1.0]).unwrap(), vec![1.0]).unwrap();
    let centred = Expansion::new(kernel, Points::on_line(vec![1.0, -1.0]).unwrap(), vec![0.5, -0.5]).unwrap();
    let slope = |g: &Expansion| (g.value(&[1.0]) - g.value(&[-1.0])) / g.norm().unwrap();
    let regret = slope(&f).max(slope(&centred));
    assert!((regret - t.worst_regret()).abs() < 1e-12, "{regret}");
    let first = batch_lengths(1000).unwrap()[0];
    assert!(regret * first as f64 > 1000.0_f64.sqrt() && first == 32);
}

/// E11: ‖μ̄‖ ≤ C(1+√λ/(2τ)) + ‖E‖/(2τ) on every draw; the factor ½ is attained.
#[test]
fn e11_norm_of_the_mean() {
    let mut rng = ChaCha8Rng::seed_from_u64(43);
    let mut smaller = 0;
    for seed in 0..400 {
        let problem = random_problem(&mut rng, 30);
        let (tau, c) = (problem.tau, power(&mut rng, -1.0, 1.0));
        let centres = random_points(&mut rng, 6, problem.x[0].len(), 0.0, 1.0);
        let f = Expansion::random(problem.kernel.kernel(), points(&centres), c, seed).unwrap();
        let level = power(&mut rng, -2.0, 0.5);
        let noise: Vec<f64> = problem.x.iter().map(|_| level * normal(&mut rng)).collect();
        let y: Vec<f64> = problem.x.iter().zip(&noise).map(|(x, e)| f.value(x) + e).collect();
        let features = Arc::new(sigmabar::FeatureMap::new(problem.kernel.kernel(), points(&problem.z)).unwrap());
        let observations = Observations::new(points(&problem.x), &y, Collected::DeclaredFixed, Prior::declared(0.0, 1.0).unwrap()).unwrap();
        let posterior = Posterior::fit(features, tau, observations).unwrap();
        let lambda = largest_eigenvalue(&problem.residual()) + 1e-11;
        let noise_norm = noise.iter().map(|e| e * e).sum::<f64>().sqrt();
        let bound = c * (1.0 + lambda.sqrt() / (2.0 * tau)) + noise_norm / (2.0 * tau);
        assert!(posterior.norm() <= bound * (1.0 + 1e-6), "{} {bound}", posterior.norm());
        // The a-priori form with t so large that the noise event cannot fail here.
        let s = Setting {
            norm_bound: c,
            noise: Noise::sub_gaussian(level).unwrap(),
            ridge: tau,
            delta: 0.05,
            residual_ratio: lambda / (tau * tau),
            max_variance: problem.kernel.variance,
        };
        let t = Theorems::new(s).unwrap();
        let n = problem.x.len();
        assert!(posterior.norm() <= t.mean_norm_bound(n, 20.0).unwrap() * (1.0 + 1e-6));
        smaller += usize::from(t.mean_norm_bound(n, (2.0 / 0.05_f64).ln()).unwrap() < t.paper_mean_norm(n, 0.05));
    }
    assert!(smaller > 300, "{smaller}");
    // One datum with k(x,x) = τ²: ‖V v‖ = |v|·τ/(2τ²) = |v|/(2τ) exactly.
    let tau: f64 = 0.7;
    let kernel = Kernel::squared_exponential(0.3, tau * tau).unwrap();
    let x = Points::on_line(vec![0.1]).unwrap();
    let observations = Observations::new(x.clone(), &[3.0], Collected::DeclaredFixed, Prior::declared(0.0, 1.0).unwrap()).unwrap();
    let posterior = Posterior::fit(Arc::new(sigmabar::FeatureMap::new(kernel, x).unwrap()), tau, observations).unwrap();
    assert!((posterior.norm() - 3.0 / (2.0 * tau)).abs() < 1e-12);
}

/// E12: |σ̄(x) − σ̄(x')| ≤ d_k(x,x') with no assumption at all, and the same for s1.
#[test]
fn e12_deviation_is_lipschitz() {
    let mut rng = ChaCha8Rng::seed_from_u64(44);
    let mut closest: f64 = 0.0;
    for _ in 0..800 {
        let problem = random_problem(&mut rng, 30);
        let dim = problem.x[0].len();
        let step = power(&mut rng, -4.0, 0.0);
        let mut pair = random_points(&mut rng, 1, dim, 0.0, 1.0);
        if rng.random_range(0..2) == 0 {
            pair[0] = problem.z[0].clone();
        }
        pair.push(pair[0].iter().map(|v| v + step * rng.random_range(-1.0..1.0)).collect());
        let k = |a: usize, b: usize| problem.kernel.value(&pair[a], &pair[b]);
        let metric = (k(0, 0) + k(1, 1) - 2.0 * k(0, 1)).max(0.0).sqrt();
        let information = problem.information();
        let deviation: Vec<f64> = information.variance(points(&pair).view()).unwrap().iter().map(|v| v.sqrt()).collect();
        let s1: Vec<f64> = information.features().residual(points(&pair).view()).unwrap().iter().map(|v| v.sqrt()).collect();
        // A root of a rounding error: √(1e-12) of the scale.
        let slack = 2e-6 * problem.kernel.variance.sqrt();
        assert!((deviation[0] - deviation[1]).abs() <= metric + slack, "{deviation:?} {metric}");
        assert!((s1[0] - s1[1]).abs() <= metric + slack, "{s1:?} {metric}");
        closest = closest.max((s1[0] - s1[1]).abs() / (metric + slack));
    }
    assert!(closest > 0.9, "the constant 1 is needed: {closest}");
}

/// E13: without R/τ the comparison interval C + √(2 log 1/δ) misses far more often than δ when R is above τ.
#[test]
fn e13_noise_ratio_is_needed() {
    let (tau, level, delta, c): (f64, f64, f64, f64) = (0.1, 0.5, 0.1, 0.5);
    let z = (2.0 * (1.0 / delta).ln()).sqrt();
    let weight = 1.0 / (1.0 + tau * tau);
    let deviation = (1.0 - weight).sqrt();
    let mut rng = ChaCha8Rng::seed_from_u64(45);
    let (mut printed, mut corrected) = (0, 0);
    for _ in 0..4000 {
        // f = C·k(x,·), one datum at x itself.
        let error = c - weight * (c + level * normal(&mut rng));
        printed += usize::from(error > (c + z) * deviation);
        corrected += usize::from(error > (c + level / tau * z) * deviation);
    }
    assert!(printed > 800 && corrected <= 460, "{printed} {corrected}");
}

/// E14: on a finite domain a max-variance design measures points again: the points of a batch are a multiset.
#[test]
fn e14_designs_repeat_points() {
    let kernel = Kernel::squared_exponential(0.2, 1.0).unwrap();
    let domain = GainDomain::new(&kernel, 0.3, Points::on_line((0..10).map(|i| f64::from(i) / 9.0).collect()).unwrap().view()).unwrap();
    let counts = domain.max_gain(60).unwrap().counts;
    assert!(counts.iter().sum::<f64>() == 60.0 && counts.iter().any(|&c| c > 1.0));
}

/// E16: λ bounds Φ(I−P)Φᵀ, not ΦᵀΦ − ΨᵀΨ: with one datum φ = (a, b) and P the first axis, λ = b² but the other ordering has the larger (b²+√(b⁴+4a²b²))/2.
#[test]
fn e16_the_other_ordering_has_cross_terms() {
    let (a, b) = (1.0_f64, 0.1_f64);
    let difference: Table = vec![vec![0.0, a * b], vec![a * b, b * b]];
    let found = largest_eigenvalue(&difference);
    assert!((found - 0.5 * (b * b + (b.powi(4) + 4.0 * a * a * b * b).sqrt())).abs() < 1e-12);
    assert!(found > 10.0 * b * b);
    // The same in the crate's terms: one datum, one inducing point, the residual is λ itself.
    let kernel = Plain { shape: Shape::SquaredExponential, lengthscale: 0.2, variance: 1.0 };
    let (x, z) = (vec![vec![0.0]], vec![vec![0.02]]);
    let information = theory_loops::information(&kernel, 0.1, &x, &z);
    assert!((information.residual_trace() - (1.0 - (-0.01_f64).exp())).abs() < 1e-12);
}
