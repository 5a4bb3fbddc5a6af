//! The paper's Lemma G.1 (σ² ≤ σ̄² ≤ (1+r)σ²) is false on both sides; 1/ρ ≤ σ̄²/σ² ≤ ρ holds.
#![allow(clippy::unwrap_used)]

use crate::theory_loops;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use sigmabar::theory::ratio_bound;
use theory_loops::{Plain, Shape, dot, information, largest_eigenvalue, points, random_problem, rho};

#[test]
fn the_constant_has_its_printed_values_and_refuses_nonsense() {
    for (r, printed) in [(0.0, 1.0), (0.01, 1.105), (0.1, 1.370), (0.5, 2.0), (1.0, 2.618), (2.0, 3.732)] {
        let value = ratio_bound(r).unwrap();
        assert!((value - printed).abs() < 5e-4, "ρ({r}) = {value}");
        assert_eq!(value, rho(r));
        // ρ and 1/ρ are the eigenvalues of [[1, √r], [√r, 1+r]].
        let limit = vec![vec![1.0, r.sqrt()], vec![r.sqrt(), 1.0 + r]];
        assert!((largest_eigenvalue(&limit) - value).abs() < 1e-12);
    }
    assert!(ratio_bound(-1e-9).is_err() && ratio_bound(f64::NAN).is_err() && ratio_bound(f64::INFINITY).is_err());
}

/// E1: at an inducing point the sparse variance is *below* the exact one.
#[test]
fn counter_example_to_the_lower_side() {
    let kernel = Plain { shape: Shape::SquaredExponential, lengthscale: 0.2, variance: 1.0 };
    let (x, z) = (vec![vec![0.0]], vec![vec![0.02]]);
    let exact = kernel.exact_variance(0.1, &x, &z)[0];
    let sparse = information(&kernel, 0.1, &x, &z).variance(points(&z).view()).unwrap()[0];
    assert!((exact - 0.01975).abs() < 5e-6, "σ²(z) = {exact}");
    assert!((sparse - 0.01000).abs() < 5e-6, "σ̄²(z) = {sparse}");
    let lambda = 1.0 - (-(0.02_f64 / 0.2).powi(2)).exp();
    assert!(sparse < exact && sparse >= exact / rho(lambda / 0.01));
}

/// E2: one datum, one inducing point, λ = 0.995τ²: the ratio reaches 2.602, above 1 + r = 1.995 and below ρ = 2.612.
#[test]
fn counter_example_to_the_upper_side() {
    let mut worst: f64 = 0.0;
    let r = 0.995;
    for tau in [0.3, 0.1, 0.03, 0.01] {
        // λ = 1 − exp(−z²/ℓ²)
        let lambda: f64 = r * tau * tau;
        let z = 0.2 * (-(-lambda).ln_1p()).sqrt();
        let kernel = Plain { shape: Shape::SquaredExponential, lengthscale: 0.2, variance: 1.0 };
        let (x, inducing) = (vec![vec![0.0]], vec![vec![z]]);
        let queries: Vec<Vec<f64>> = (-4000..4000).map(|i| vec![f64::from(i) * 1e-4]).collect();
        let exact = kernel.exact_variance(tau, &x, &queries);
        let sparse = information(&kernel, tau, &x, &inducing).variance(points(&queries).view()).unwrap();
        for (s, e) in sparse.iter().zip(&exact) {
            worst = worst.max(s / e);
            assert!(s / e <= rho(r) * (1.0 + 1e-9) && s / e >= (1.0 - 1e-9) / rho(r), "τ = {tau}: {}", s / e);
        }
    }
    println!("largest ratio {worst}, 1 + r = {}, ρ = {}", 1.0 + r, rho(r));
    assert!(worst > 2.60 && worst > 1.3 * (1.0 + r));
}

/// The corrected law on 10 000 random instances against an exact posterior in plain loops.
#[test]
fn the_corrected_law_holds_on_ten_thousand_instances() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let (mut below, mut above, mut queries, mut closest) = (0, 0, 0, f64::INFINITY);
    for instance in 0..10_000 {
        let problem = random_problem(&mut rng, 40);
        let information = problem.information();
        let v = problem.kernel.variance;
        let n = problem.x.len() as f64;
        // The oracle's own rounding in D, generously.
        let lambda = largest_eigenvalue(&problem.residual()) + 1e-11 * n * v;
        let r = lambda / (problem.tau * problem.tau);
        let law = ratio_bound(r).unwrap();
        let exact = problem.kernel.exact_variance(problem.tau, &problem.x, &problem.queries);
        let sparse = information.variance(points(&problem.queries).view()).unwrap();
        let rounding = information.features().residual_rounding(v).min(1e-9 * v) + 1e-13 * n * v;
        for (e, s) in exact.iter().zip(&sparse) {
            assert!(s - rounding <= law * e, "instance {instance}: σ̄² = {s}, σ² = {e}, ρ = {law}");
            assert!(s + rounding >= e / law, "instance {instance}: σ̄² = {s}, σ² = {e}, ρ = {law}");
            below += usize::from(*s < e * (1.0 - 1e-6) - rounding);
            above += usize::from(*s > (1.0 + r) * e * (1.0 + 1e-6) + rounding);
            queries += 1;
            closest = closest.min((law * e / s).min(s * law / e) - 1.0).max(0.0);
        }
    }
    println!("{queries} queries: {below} below the paper's lower side, {above} above its upper side; closest to the law {closest:e}");
    assert!(below > 1000 && above > 100, "the paper's lemma must be seen to fail");
}

/// Invariant 2: the three parts add up, and exact ≤ b_W ≤ b ≤ √(1+r)·σ̄ for the worst case over the unit ball.
#[test]
fn worst_case_chain() {
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    for _ in 0..1500 {
        let mut problem = random_problem(&mut rng, 30);
        problem.tau = problem.tau.max(0.02);
        let information = problem.information();
        let (k, d, v) = (problem.kernel, problem.residual(), problem.kernel.variance);
        let lambda = largest_eigenvalue(&d) + 1e-12 * v;
        let queries = points(&problem.queries);
        let (weights, parts) = (information.weights(queries.view()).unwrap(), information.variance_parts(queries.view()).unwrap());
        let variance = information.variance(queries.view()).unwrap();
        let gram = k.table(&problem.x, &problem.x);
        for (i, q) in problem.queries.iter().enumerate() {
            let w = weights.row(i);
            let norm2 = dot(w, w);
            let tau2 = problem.tau * problem.tau;
            assert!((parts[i].total() - variance[i]).abs() <= 1e-8 * v);
            assert!((parts[i].noise - tau2 * norm2).abs() <= 1e-7 * v, "{} {}", parts[i].noise, tau2 * norm2);
            let k_x: Vec<f64> = problem.x.iter().map(|p| k.value(p, q)).collect();
            let apply = |a: &[Vec<f64>]| a.iter().zip(w).map(|(row, wi)| wi * dot(row, w)).sum::<f64>();
            let exact = (k.value(q, q) - 2.0 * dot(w, &k_x) + apply(&gram)).max(0.0).sqrt();
            let s1 = parts[i].projection.sqrt();
            let with_matrix = ((s1 + apply(&d).max(0.0).sqrt()).powi(2) + parts[i].fit).sqrt();
            let direct = ((s1 + (lambda * norm2).sqrt()).powi(2) + parts[i].fit).sqrt();
            let slack = 1e-5 * v.sqrt();
            assert!(exact <= with_matrix + slack && with_matrix <= direct + slack, "{exact} {with_matrix} {direct}");
            assert!(direct <= ((1.0 + lambda / tau2) * variance[i]).sqrt() + slack);
        }
    }
}
