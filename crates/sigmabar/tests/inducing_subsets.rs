//! Uniform, k-means and determinantal choices by enumeration, published test matrices, and inputs that break samplers.

#![allow(clippy::unwrap_used)]

use crate::inducing_plain;

use inducing_plain::{chi_squared, determinant, weighted_gram};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sigmabar::inducing::{InducingRule, PartialCholesky, Stop};
use sigmabar::points::Locations;
use sigmabar::{Collected, Error, Kernel, Points};
use std::f64::consts::PI;

fn locations(rows: &[Vec<f64>]) -> Locations {
    Locations::new(Points::from_rows(rows).unwrap(), Collected::DeclaredFixed)
}

/// Pairs of six with probability ∝ det K̃_SS; one location is counted twice.
fn pairs() -> (Locations, Vec<[usize; 2]>, Vec<f64>) {
    let x: Vec<Vec<f64>> = [0.0, 0.2, 0.5, 0.55, 1.2, 2.0].iter().map(|&v| vec![v]).collect();
    let counts = [1.0, 1.0, 2.0, 1.0, 1.0, 1.0];
    let mut rows = x.clone();
    rows.push(x[2].clone());
    let k = weighted_gram(&x, &counts, 0.5);
    let subsets: Vec<[usize; 2]> = (0..6).flat_map(|i| (i + 1..6).map(move |j| [i, j])).collect();
    let weights: Vec<f64> =
        subsets.iter().map(|s| determinant(&s.iter().map(|&i| s.iter().map(|&j| k[i][j]).collect()).collect())).collect();
    let total: f64 = weights.iter().sum();
    (locations(&rows), subsets, weights.into_iter().map(|w| w / total).collect())
}

fn check_pairs(rule: &InducingRule, draws: u64) {
    let (data, subsets, law) = pairs();
    let kernel = Kernel::squared_exponential(0.5, 1.0).unwrap();
    let mut seen = vec![0.0; subsets.len()];
    for seed in 0..draws {
        let chosen = rule.select(&kernel, 0.1, &data, seed).unwrap();
        let mut pair = chosen.indices().unwrap().to_vec();
        pair.sort_unstable();
        seen[subsets.iter().position(|s| s[..] == pair[..]).unwrap()] += 1.0;
    }
    let expected: Vec<f64> = law.iter().map(|p| p * draws as f64).collect();
    let (statistic, limit) = chi_squared(&seen, &expected);
    assert!(statistic < limit, "{statistic} above {limit}: {seen:?} against {expected:?}");
    let (uniform, limit) = chi_squared(&seen, &vec![draws as f64 / subsets.len() as f64; subsets.len()]);
    assert!(uniform > limit, "the test can tell it from a uniform choice");
}

#[test]
fn the_exact_determinantal_draw_has_its_law() {
    check_pairs(&InducingRule::DeterminantalExact { size: 2 }, 20_000);
}

#[test]
fn the_determinantal_chain_has_its_law() {
    check_pairs(&InducingRule::DeterminantalChain { size: 2, steps: 150 }, 8000);
}

#[test]
fn uniform_subsets_are_uniform() {
    let (data, subsets, _) = pairs();
    let kernel = Kernel::squared_exponential(0.5, 1.0).unwrap();
    let mut seen = vec![0.0; subsets.len()];
    for seed in 0..15_000 {
        let chosen = InducingRule::Uniform { size: 2 }.select(&kernel, 0.1, &data, seed).unwrap();
        let mut pair = chosen.indices().unwrap().to_vec();
        pair.sort_unstable();
        seen[subsets.iter().position(|s| s[..] == pair[..]).unwrap()] += 1.0;
    }
    let (statistic, limit) = chi_squared(&seen, &[1000.0; 15]);
    assert!(statistic < limit, "{statistic} above {limit}");
}

/// Elementary symmetric polynomials of eigenvalues over forty orders of magnitude, and sizes near the rank.
#[test]
fn determinantal_draws_survive_steep_spectra() {
    let rows: Vec<Vec<f64>> = (0..120).map(|i| vec![f64::from(i) / 119.0]).collect();
    for (length, variance, size) in [(0.02, 1e-30, 60), (0.02, 1e30, 60), (2.0, 1.0, 50), (0.3, 1.0, 8)] {
        let kernel = Kernel::squared_exponential(length, variance).unwrap();
        for seed in 0..3 {
            let chosen = InducingRule::DeterminantalExact { size }.select(&kernel, 0.1, &locations(&rows), seed).unwrap();
            let mut indices = chosen.indices().unwrap().to_vec();
            indices.sort_unstable();
            indices.dedup();
            assert_eq!(indices.len(), chosen.points().len());
            assert!(indices.len() == size || length == 2.0, "{} of {size}", indices.len());
        }
    }
}

#[test]
fn centroids_are_the_means_of_their_clusters() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    // Columns of very different scale, and one that is constant.
    let mut rows: Vec<Vec<f64>> = (0..400).map(|_| vec![rng.random::<f64>(), 1e4 * rng.random::<f64>(), 7.0]).collect();
    rows.extend(rows[..50].to_vec());
    let data = locations(&rows);
    let kernel = Kernel::squared_exponential(0.5, 1.0).unwrap();
    let chosen = InducingRule::KMeans { size: 9 }.select(&kernel, 0.1, &data, 1).unwrap();
    assert!(chosen.indices().is_none());
    let z: Vec<Vec<f64>> = chosen.points().rows().map(<[f64]>::to_vec).collect();
    assert_eq!(z.len(), 9);
    let n = rows.len() as f64;
    let deviation = |a: usize| {
        let mean = rows.iter().map(|r| r[a]).sum::<f64>() / n;
        (rows.iter().map(|r| (r[a] - mean).powi(2)).sum::<f64>() / n).sqrt()
    };
    let (s0, s1) = (deviation(0), deviation(1));
    let distance = |a: &[f64], b: &[f64]| ((a[0] - b[0]) / s0).powi(2) + ((a[1] - b[1]) / s1).powi(2);
    let nearest = |r: &[f64], z: &[Vec<f64>]| (0..z.len()).min_by(|&i, &j| distance(r, &z[i]).total_cmp(&distance(r, &z[j]))).unwrap();
    let objective = |z: &[Vec<f64>]| rows.iter().map(|r| distance(r, &z[nearest(r, z)])).sum::<f64>();
    let mut worst: f64 = 0.0;
    for k in 0..9 {
        let members: Vec<&Vec<f64>> = rows.iter().filter(|r| nearest(r, &z) == k).collect();
        assert!(!members.is_empty());
        let mean: Vec<f64> = (0..3).map(|a| members.iter().map(|r| r[a]).sum::<f64>() / members.len() as f64).collect();
        worst = worst.max(distance(&mean, &z[k]));
    }
    assert!(worst < 1e-3, "{worst}");
    for seed in 0..10 {
        let uniform = InducingRule::Uniform { size: 9 }.select(&kernel, 0.1, &data, seed).unwrap();
        assert!(objective(&z) < objective(&uniform.points().rows().map(<[f64]>::to_vec).collect::<Vec<_>>()));
    }
}

fn smile(n: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
    let eye = (n as f64).sqrt().ceil() as usize;
    let mut rows = Vec::new();
    for centre in [-4.0, 4.0] {
        while rows.len() % (2 * eye) < eye || (centre > 0.0 && rows.len() < 2 * eye) {
            let (a, b) = (2.0 * rng.random::<f64>() - 1.0, 2.0 * rng.random::<f64>() - 1.0);
            if a * a + b * b <= 1.0 {
                rows.push(vec![centre + a, 4.0 + b]);
            }
        }
    }
    for i in 0..n / 10 {
        let t = -5.0 + 10.0 * i as f64 / (n / 10 - 1) as f64;
        rows.push(vec![t, t * t / 16.0 - 5.0]);
    }
    let rest = n - rows.len();
    rows.extend((0..rest).map(|i| {
        let t = 2.0 * PI * i as f64 / rest as f64;
        vec![10.0 * t.cos(), 10.0 * t.sin()]
    }));
    rows
}

fn spiral(n: usize) -> Vec<Vec<f64>> {
    let point = |i: usize| {
        let t = (2.0 * i as f64 / (n - 1) as f64).powi(6);
        vec![(0.2 * t).exp() * t.cos(), (0.2 * t).exp() * t.sin()]
    };
    (0..n).rev().map(point).collect()
}

fn mean_error(rule: &InducingRule, kernel: &Kernel, data: &Locations, runs: u64) -> f64 {
    let one = |seed| {
        let chosen = rule.select(kernel, 0.1, data, seed).unwrap();
        PartialCholesky::with_points(kernel, data, chosen.points()).unwrap().residual_trace() / data.len() as f64
    };
    (0..runs).map(one).sum::<f64>() / runs as f64
}

/// The two matrices of the randomly pivoted Cholesky experiments, smaller: it keeps up with the determinantal process on both, where the
/// uniform choice misses the eyes of the smile and the greedy one runs after the outliers of the spiral.
#[test]
fn random_pivots_keep_up_with_the_determinantal_process() {
    let mut rng = ChaCha8Rng::seed_from_u64(17);
    let smile = locations(&smile(400, &mut rng));
    let spiral = locations(&spiral(400));
    let cases =
        [(smile, Kernel::squared_exponential(2.0, 1.0).unwrap(), 25), (spiral, Kernel::squared_exponential(1000.0, 1.0).unwrap(), 12)];
    for (case, (data, kernel, size)) in cases.into_iter().enumerate() {
        let random = mean_error(&InducingRule::RandomlyPivoted(Stop::at_size(size)), &kernel, &data, 20);
        let exact = mean_error(&InducingRule::DeterminantalExact { size }, &kernel, &data, 10);
        let uniform = mean_error(&InducingRule::Uniform { size }, &kernel, &data, 20);
        let greedy = mean_error(&InducingRule::Greedy(Stop::at_size(size)), &kernel, &data, 1);
        println!("case {case}: random {random:.3e}, determinantal {exact:.3e}, uniform {uniform:.3e}, greedy {greedy:.3e}");
        assert!(random < 2.0 * exact, "case {case}: {random} against {exact}");
        assert!(if case == 0 { random < 0.8 * uniform } else { random < 0.3 * greedy }, "case {case}");
    }
}

fn all_rules(size: usize) -> Vec<InducingRule> {
    vec![
        InducingRule::Uniform { size },
        InducingRule::KMeans { size },
        InducingRule::Greedy(Stop::at_size(size)),
        InducingRule::Greedy(Stop::at_residual(0.1, size)),
        InducingRule::RandomlyPivoted(Stop::at_size(size)),
        InducingRule::RandomlyPivoted(Stop::at_trace(0.01, size).with_subsample(3)),
        InducingRule::ExactLeverage { size },
        InducingRule::RecursiveLeverageTheory { delta: 0.03 },
        InducingRule::RecursiveLeverage { size },
        InducingRule::Bless { oversampling: 2.0 },
        InducingRule::DensityLeverage { size },
        InducingRule::PosteriorVariance { oversampling: 2.0 },
        InducingRule::DeterminantalExact { size },
        InducingRule::DeterminantalChain { size, steps: 50 },
    ]
}

#[test]
fn every_rule_survives_hard_inputs() {
    let mut rng = ChaCha8Rng::seed_from_u64(23);
    let one = vec![vec![0.3, 0.4]];
    let equal = vec![vec![0.3, 0.4]; 70];
    let few: Vec<Vec<f64>> = (0..5).map(|i| vec![f64::from(i), 0.0]).collect();
    let close: Vec<Vec<f64>> = (0..60).map(|i| vec![1.0 + f64::from(i) * 1e-15, 2.0]).collect();
    let wide: Vec<Vec<f64>> = (0..80).map(|_| vec![1e6 * rng.random::<f64>(), rng.random::<f64>()]).collect();
    for (case, rows) in [one, equal, few, close, wide].into_iter().enumerate() {
        let data = locations(&rows);
        for ridge in [1e-6, 0.1, 1e4] {
            for kernel in [Kernel::squared_exponential(0.5, 1.0).unwrap(), Kernel::matern(1.5, 2.0, 3.0).unwrap()] {
                for rule in all_rules(7) {
                    let chosen = rule.select(&kernel, ridge, &data, 5).unwrap_or_else(|e| panic!("case {case}, {rule:?}: {e}"));
                    assert!(!chosen.points().is_empty());
                    assert_eq!(chosen, rule.select(&kernel, ridge, &data, 5).unwrap(), "{rule:?} is not deterministic");
                    if let Some(indices) = chosen.indices() {
                        let mut unique = indices.to_vec();
                        unique.sort_unstable();
                        unique.dedup();
                        assert_eq!(unique.len(), indices.len(), "case {case}, {rule:?} chose a point twice");
                        assert!(indices.iter().zip(chosen.points().rows()).all(|(&i, z)| data.points().row(i) == z));
                    }
                    if let Some(norm) = chosen.residual_norm() {
                        assert!(norm.value.is_finite() && norm.value >= 0.0);
                    }
                }
            }
        }
    }
}

/// n ≤ size: all distinct points, whatever the rule with a size, as long as they are independent.
#[test]
fn small_lists_are_returned_whole() {
    let rows: Vec<Vec<f64>> = (0..6).map(|i| vec![f64::from(i % 5)]).collect();
    let data = locations(&rows);
    let kernel = Kernel::squared_exponential(0.5, 1.0).unwrap();
    for rule in all_rules(9).into_iter().filter(|r| !matches!(r, InducingRule::RandomlyPivoted(stop) if stop.subsample.is_some())) {
        let chosen = rule.select(&kernel, 1e-3, &data, 5).unwrap();
        assert_eq!(chosen.points().len(), 5, "{rule:?}");
    }
}

/// A linear kernel without offset has variance 0 at the origin: a point that explains nothing is not chosen.
#[test]
fn points_without_variance_are_left_out() {
    let rows: Vec<Vec<f64>> = (0..4).map(|i| vec![f64::from(i), 0.0]).collect();
    let kernel = Kernel::linear(0.0, 1.0, 1.0).unwrap();
    let data = locations(&rows);
    for rule in all_rules(3).into_iter().filter(|r| !matches!(r, InducingRule::DensityLeverage { .. } | InducingRule::KMeans { .. })) {
        let chosen = rule.select(&kernel, 0.1, &data, 5).unwrap();
        let theory = matches!(rule, InducingRule::RecursiveLeverageTheory { .. });
        assert!(theory || !chosen.indices().unwrap().contains(&0), "{rule:?}");
    }
    let origin = locations(&[vec![0.0, 0.0]]);
    for rule in all_rules(3) {
        assert!(matches!(rule.select(&kernel, 0.1, &origin, 5), Err(Error::Parameter { .. })), "{rule:?}");
    }
}

#[test]
fn bad_settings_are_refused() {
    let data = locations(&[vec![0.0, 1.0], vec![1.0, 1.0]]);
    let kernel = Kernel::squared_exponential(0.5, 1.0).unwrap();
    let mut bad = all_rules(0);
    bad.retain(|r| {
        !matches!(r, InducingRule::RecursiveLeverageTheory { .. } | InducingRule::Bless { .. } | InducingRule::PosteriorVariance { .. })
    });
    bad.extend([
        InducingRule::Bless { oversampling: 0.0 },
        InducingRule::PosteriorVariance { oversampling: f64::NAN },
        InducingRule::Greedy(Stop::at_trace(-1.0, 3)),
        InducingRule::Greedy(Stop::at_residual(f64::INFINITY, 3)),
        InducingRule::Greedy(Stop::at_size(3).with_subsample(0)),
    ]);
    for rule in bad {
        assert!(matches!(rule.select(&kernel, 0.1, &data, 0), Err(Error::Parameter { .. })), "{rule:?}");
    }
    for ridge in [0.0, -1.0, f64::NAN] {
        assert!(matches!(InducingRule::Uniform { size: 1 }.select(&kernel, ridge, &data, 0), Err(Error::Parameter { .. })));
    }
    let narrow = InducingRule::Given(Points::on_line(vec![1.0]).unwrap());
    assert!(matches!(narrow.select(&kernel, 0.1, &data, 0), Err(Error::Width { expected: 2, found: 1, .. })));
    let given = InducingRule::Given(Points::from_rows(&[[5.0, 5.0]]).unwrap()).select(&kernel, 0.1, &data, 0).unwrap();
    assert_eq!(given.points().as_slice(), [5.0, 5.0]);
    assert!(given.indices().is_none());
    let misfit = Kernel::squared_exponential(vec![1.0; 3], 1.0).unwrap();
    assert!(InducingRule::Uniform { size: 1 }.select(&misfit, 0.1, &data, 0).is_err());
}
