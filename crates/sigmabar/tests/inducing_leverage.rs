//! Leverage scores and the rules that sample by them, against dense formulas.

#![allow(clippy::unwrap_used)]

use crate::inducing_plain;

use inducing_plain::{eigenvalues, solve, squared_exponential, weighted_gram};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sigmabar::inducing::{Inducing, InducingRule, PartialCholesky, posterior_variance_probabilities};
use sigmabar::points::Locations;
use sigmabar::{Collected, Error, Kernel, Points};

fn cloud(n: usize, dim: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..n).map(|_| (0..dim).map(|_| rng.random::<f64>()).collect()).collect()
}

fn locations(x: &[Vec<f64>], counts: &[f64]) -> Locations {
    let rows: Vec<Vec<f64>> = x.iter().zip(counts).flat_map(|(row, &c)| vec![row.clone(); c as usize]).collect();
    Locations::new(Points::from_rows(&rows).unwrap(), Collected::DeclaredFixed)
}

fn random_counts(n: usize, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..n).map(|_| f64::from(rng.random_range(1..5_u32))).collect()
}

fn exact_scores(kernel: &Kernel, ridge: f64, data: &Locations) -> Vec<f64> {
    InducingRule::ExactLeverage { size: 1 }.select(kernel, ridge, data, 0).unwrap().scores().unwrap().to_vec()
}

fn density_scores(kernel: &Kernel, ridge: f64, data: &Locations) -> Vec<f64> {
    InducingRule::DensityLeverage { size: 1 }.select(kernel, ridge, data, 1).unwrap().scores().unwrap().to_vec()
}

/// [K(K+τ²I)⁻¹]_ii, column by column.
fn dense_scores(k: &[Vec<f64>], rho: f64) -> Vec<f64> {
    let n = k.len();
    let a: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| k[i][j] + if i == j { rho } else { 0.0 }).collect()).collect();
    (0..n).map(|i| solve(&a, &k[i])[i]).collect()
}

#[test]
fn exact_scores_are_the_dense_formula_the_variance_and_sum_to_the_dimension() {
    for (seed, ridge) in [(0, 1e-3), (1, 0.1), (2, 1.0), (3, 30.0)] {
        let n = 40;
        let x = cloud(n, 2, seed);
        let counts = random_counts(n, seed);
        let kernel = Kernel::squared_exponential(0.3, 1.0).unwrap();
        let data = locations(&x, &counts);
        let scores = exact_scores(&kernel, ridge, &data);
        let k = weighted_gram(&x, &counts, 0.3);
        let rho = ridge * ridge;
        let dense = dense_scores(&k, rho);
        for i in 0..n {
            assert!((scores[i] - dense[i]).abs() < 1e-8 * dense[i].max(1e-3), "{} against {}", scores[i], dense[i]);
            // c σ²/τ² with σ² = k − kᵀ(K + τ² diag(1/c))⁻¹k
            let a: Vec<Vec<f64>> = (0..n)
                .map(|r| (0..n).map(|s| squared_exponential(&x[r], &x[s], 0.3) + if r == s { rho / counts[r] } else { 0.0 }).collect())
                .collect();
            let row: Vec<f64> = (0..n).map(|s| squared_exponential(&x[i], &x[s], 0.3)).collect();
            let variance = 1.0 - solve(&a, &row).iter().zip(&row).map(|(p, q)| p * q).sum::<f64>();
            assert!((scores[i] - counts[i] * variance / rho).abs() < 1e-8 * (1.0 + 1e-7 / rho));
        }
        let dimension: f64 = eigenvalues(&k).iter().map(|l| l.max(0.0) / (l.max(0.0) + rho)).sum();
        assert!((scores.iter().sum::<f64>() - dimension).abs() < 1e-7 * dimension);
        // The sparse variance with Z = X is the same number.
        let q = 1e-3;
        let sparse = posterior_variance_probabilities(&kernel, ridge, &data, data.points(), q).unwrap();
        for i in 0..n {
            assert!((sparse[i] / q - scores[i]).abs() < 1e-6, "{} against {}", sparse[i] / q, scores[i]);
        }
    }
}

#[test]
fn exact_leverage_sampling_prefers_high_scores() {
    // Fifty points in a heap and one far away, whose score is near 1.
    let mut x: Vec<Vec<f64>> = (0..50).map(|i| vec![f64::from(i) * 1e-3]).collect();
    x.push(vec![10.0]);
    let data = locations(&x, &[1.0; 51]);
    let kernel = Kernel::squared_exponential(0.5, 1.0).unwrap();
    let scores = exact_scores(&kernel, 0.1, &data);
    let draws = 2000;
    let hits = (0..draws)
        .filter(|&seed| {
            let chosen = InducingRule::ExactLeverage { size: 1 }.select(&kernel, 0.1, &data, seed).unwrap();
            chosen.indices().unwrap() == [50]
        })
        .count() as f64;
    let p = scores[50] / scores.iter().sum::<f64>();
    assert!(p > 0.3 && (hits / draws as f64 - p).abs() < 4.5 * (p * (1.0 - p) / draws as f64).sqrt(), "{hits} of {draws}, expected {p}");
}

#[test]
fn recursive_scores_over_estimate_and_the_theorem_holds_where_it_subsamples() {
    let n = 3000;
    let x = cloud(n, 1, 4);
    let data = locations(&x, &vec![1.0; n]);
    let kernel = Kernel::matern(0.5, 1.0, 1.0).unwrap();
    let (ridge, delta) = (17.0, 0.03);
    let exact = exact_scores(&kernel, ridge, &data);
    let dimension: f64 = exact.iter().sum();
    let (mut over, mut held) = (0, 0);
    let seeds = 10;
    for seed in 0..seeds {
        let chosen = InducingRule::RecursiveLeverageTheory { delta }.select(&kernel, ridge, &data, seed).unwrap();
        let scores = chosen.scores().unwrap();
        over += usize::from(scores.iter().zip(&exact).all(|(s, l)| *s >= l * (1.0 - 1e-9)));
        // Not a wild over-estimate: within the factor (3/2)·2·2 of the sum.
        assert!(scores.iter().sum::<f64>() < 6.0 * dimension);
        let m = chosen.points().len();
        assert!(m > 20 && m < n / 2, "it does subsample: {m} of {n}, dimension {dimension}");
        assert!((m as f64) < 384.0 * dimension * (3.0 * dimension / delta).ln());
        let norm = PartialCholesky::with_points(&kernel, &data, chosen.points()).unwrap().residual_norm(m).unwrap();
        held += usize::from(norm.value <= ridge * ridge);
        let inclusion = chosen.inclusion().unwrap();
        let factor = 16.0 * (scores.iter().sum::<f64>() / delta).ln();
        for (&i, p) in chosen.indices().unwrap().iter().zip(inclusion) {
            assert!((p - (factor * scores[i]).min(1.0)).abs() < 1e-12);
        }
    }
    assert!(over == seeds as usize && held == seeds as usize, "{over} over-estimates, {held} within the ridge");
}

#[test]
fn the_theorem_keeps_everything_when_there_is_little() {
    let x = cloud(400, 2, 2);
    let data = locations(&x, &vec![1.0; 400]);
    let kernel = Kernel::squared_exponential(0.2, 1.0).unwrap();
    for seed in 0..20 {
        let chosen = InducingRule::RecursiveLeverageTheory { delta: 0.01 }.select(&kernel, 0.1, &data, seed).unwrap();
        assert_eq!(chosen.points().len(), 400);
    }
    for delta in [0.0, 1.0 / 32.0, 0.5, f64::NAN] {
        let refused = InducingRule::RecursiveLeverageTheory { delta }.select(&kernel, 0.1, &data, 0);
        assert!(matches!(refused, Err(Error::Parameter { .. })));
    }
}

/// 100 of 10 000 points lie apart.
#[test]
fn the_sized_recursion_finds_a_rare_cluster() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let mut rows = Vec::new();
    for (count, centre) in [(100, [0.0, 0.0]), (5000, [100.0, 0.0]), (4900, [0.0, 100.0])] {
        for _ in 0..count {
            rows.push(vec![centre[0] + 10.0 * (rng.random::<f64>() - 0.5), centre[1] + 10.0 * (rng.random::<f64>() - 0.5)]);
        }
    }
    let data = locations(&rows, &vec![1.0; rows.len()]);
    // exp(−0.001 ρ²): length-scale √500.
    let kernel = Kernel::squared_exponential(500.0_f64.sqrt(), 1.0).unwrap();
    let seeds = 60;
    let mut recursive = 0;
    for seed in 0..seeds {
        let hits = |chosen: Inducing| chosen.indices().unwrap().iter().filter(|&&i| i < 100).count();
        let chosen = InducingRule::RecursiveLeverage { size: 10 }.select(&kernel, 0.1, &data, seed).unwrap();
        assert_eq!(chosen.points().len(), 10);
        recursive += hits(chosen);
    }
    // 1 % of the points, so a uniform choice would hit it 6 times in 600 draws; 25 is eight standard deviations above.
    println!("{recursive} of {} draws", 10 * seeds);
    assert!(recursive >= 25, "{recursive} of {}", 10 * seeds);
}

#[test]
fn bless_includes_with_the_probabilities_it_reports() {
    let n = 150;
    let x = cloud(n, 1, 21);
    let data = locations(&x, &vec![1.0; n]);
    let kernel = Kernel::squared_exponential(0.1, 1.0).unwrap();
    let (ridge, q) = (1.5, 3.0);
    let exact = exact_scores(&kernel, ridge, &data);
    let runs = 3000;
    let mut frequency = vec![0.0; n];
    let mut estimates = Vec::new();
    for seed in 0..runs {
        let chosen = InducingRule::Bless { oversampling: q }.select(&kernel, ridge, &data, seed).unwrap();
        let indices = chosen.indices().unwrap();
        indices.iter().for_each(|&i| frequency[i] += 1.0 / runs as f64);
        estimates.push(chosen.inclusion().unwrap().iter().map(|p| 1.0 / p).sum::<f64>());
    }
    // Horvitz and Thompson: E Σ 1/p = n exactly when p is the probability of inclusion. With the conditional acceptance it would be below n.
    let mean = estimates.iter().sum::<f64>() / runs as f64;
    let deviation = (estimates.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / runs as f64).sqrt();
    let error = deviation / (runs as f64).sqrt();
    assert!((mean - n as f64).abs() < 4.5 * error && error < 0.03 * n as f64, "{mean} ± {error} against {n}");
    for i in 0..n {
        let target = (q * exact[i]).min(1.0);
        assert!(frequency[i] > 0.5 * target && frequency[i] < 2.5 * target + 0.03, "{i}: {} for a score {}", frequency[i], exact[i]);
    }
}

#[test]
fn density_scores_match_the_dimension_and_the_ranks() {
    let n = 2000;
    let x = cloud(n, 1, 31);
    let data = locations(&x, &vec![1.0; n]);
    for kernel in [Kernel::squared_exponential(0.05, 1.0).unwrap(), Kernel::matern(1.5, 0.1, 1.0).unwrap()] {
        let ridge = 0.5;
        let exact: f64 = exact_scores(&kernel, ridge, &data).iter().sum();
        let density: f64 = density_scores(&kernel, ridge, &data).iter().sum();
        println!("sum of scores {density:.2}, effective dimension {exact:.2}");
        assert!((density / exact - 1.0).abs() < 0.1, "{density} against {exact}");
    }
    // Two heaps of different width: the density varies by orders of magnitude.
    let mut rng = ChaCha8Rng::seed_from_u64(32);
    let mut normal = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
    let mixture: Vec<Vec<f64>> = (0..1000).map(|i| vec![if i < 500 { normal() } else { 4.0 + 0.3 * normal() }]).collect();
    let data = locations(&mixture, &[1.0; 1000]);
    for kernel in [Kernel::squared_exponential(0.2, 1.0).unwrap(), Kernel::matern(1.5, 0.3, 1.0).unwrap()] {
        let exact = exact_scores(&kernel, 0.5, &data);
        let density = density_scores(&kernel, 0.5, &data);
        let correlation = rank_correlation(&exact, &density);
        println!("rank correlation {correlation:.3}");
        assert!(correlation > 0.9, "{correlation}");
    }
    let refused = InducingRule::DensityLeverage { size: 5 }.select(&Kernel::linear(1.0, 1.0, 1.0).unwrap(), 0.5, &data, 0);
    assert!(matches!(refused, Err(Error::Premise { .. })));
}

/// One length-scale per column is the same as one for all on columns divided by them.
#[test]
fn density_scores_know_the_length_scales() {
    let x = cloud(500, 2, 33);
    let stretched: Vec<Vec<f64>> = x.iter().map(|r| vec![5.0 * r[0], 0.1 * r[1]]).collect();
    let shared = Kernel::matern(1.5, 0.3, 1.0).unwrap();
    let each = Kernel::matern(1.5, [1.5, 0.03], 1.0).unwrap();
    let a = density_scores(&shared, 0.5, &locations(&x, &[1.0; 500]));
    let b = density_scores(&each, 0.5, &locations(&stretched, &[1.0; 500]));
    for i in 0..500 {
        assert!((a[i] - b[i]).abs() < 1e-3 * a[i], "{} against {}", a[i], b[i]);
    }
}

fn rank_correlation(a: &[f64], b: &[f64]) -> f64 {
    let ranks = |v: &[f64]| {
        let mut order: Vec<usize> = (0..v.len()).collect();
        order.sort_by(|&i, &j| v[i].total_cmp(&v[j]));
        let mut rank = vec![0.0; v.len()];
        order.iter().enumerate().for_each(|(r, &i)| rank[i] = r as f64);
        rank
    };
    let (a, b) = (ranks(a), ranks(b));
    let mean = (a.len() - 1) as f64 / 2.0;
    let product: f64 = a.iter().zip(&b).map(|(x, y)| (x - mean) * (y - mean)).sum();
    let square: f64 = a.iter().map(|x| (x - mean).powi(2)).sum();
    product / square
}

#[test]
fn posterior_variance_probabilities_are_the_printed_formula() {
    let (n, m) = (30, 6);
    let x = cloud(n, 2, 41);
    let counts = random_counts(n, 41);
    let z = cloud(m, 2, 42);
    let kernel = Kernel::squared_exponential(0.4, 1.0).unwrap();
    let (ridge, q) = (0.7_f64, 0.8);
    let p = posterior_variance_probabilities(&kernel, ridge, &locations(&x, &counts), Points::from_rows(&z).unwrap().view(), q).unwrap();
    // σ̄² = k − k_Zᵀ K_ZZ⁻¹ k_Z + τ² k_Zᵀ (τ²K_ZZ + K_ZX C K_XZ)⁻¹ k_Z
    let kzz: Vec<Vec<f64>> = z.iter().map(|a| z.iter().map(|b| squared_exponential(a, b, 0.4)).collect()).collect();
    let a: Vec<Vec<f64>> = (0..m)
        .map(|r| {
            (0..m)
                .map(|s| {
                    let sum: f64 =
                        (0..n).map(|i| counts[i] * squared_exponential(&z[r], &x[i], 0.4) * squared_exponential(&z[s], &x[i], 0.4)).sum();
                    ridge * ridge * kzz[r][s] + sum
                })
                .collect()
        })
        .collect();
    for i in 0..n {
        let row: Vec<f64> = z.iter().map(|b| squared_exponential(&x[i], b, 0.4)).collect();
        let inner = |v: Vec<f64>| v.iter().zip(&row).map(|(p, q)| p * q).sum::<f64>();
        let variance = 1.0 - inner(solve(&kzz, &row)) + ridge * ridge * inner(solve(&a, &row));
        let expected = (q * counts[i] * variance / (ridge * ridge)).min(1.0);
        assert!((p[i] - expected).abs() < 1e-8, "{} against {expected}", p[i]);
    }
}

#[test]
fn posterior_variance_sampling_includes_as_it_reports() {
    let n = 400;
    let x = cloud(n, 1, 51);
    let data = locations(&x, &vec![1.0; n]);
    let kernel = Kernel::squared_exponential(0.1, 1.0).unwrap();
    let (ridge, q) = (1.0, 2.0);
    let dimension: f64 = exact_scores(&kernel, ridge, &data).iter().sum();
    let runs = 300;
    let (mut estimates, mut sizes) = (Vec::new(), 0.0);
    for seed in 0..runs {
        let chosen = InducingRule::PosteriorVariance { oversampling: q }.select(&kernel, ridge, &data, seed).unwrap();
        let inclusion = chosen.inclusion().unwrap();
        assert!(inclusion.iter().all(|&p| p > 0.0 && p <= 1.0));
        estimates.push(inclusion.iter().map(|p| 1.0 / p).sum::<f64>());
        sizes += chosen.points().len() as f64 / runs as f64;
    }
    let mean = estimates.iter().sum::<f64>() / runs as f64;
    let deviation = (estimates.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / runs as f64).sqrt();
    assert!((mean - n as f64).abs() < 4.5 * deviation / (runs as f64).sqrt(), "{mean} against {n}");
    // Within the ratio law of the true variances: about q·d̃ points.
    assert!(sizes > 0.6 * q * dimension && sizes < 2.5 * q * dimension, "{sizes} for {dimension}");
}
