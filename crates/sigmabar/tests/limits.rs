//! The edge of double precision: nearly singular kernels, tiny and huge ridges. Equalities end there; the inequalities must not.

mod oracle;

use oracle::{Covariance, Draws, close};
use sigmabar::{Collected, FeatureMap, Kernel, Observations, Points, Posterior, Prior, ResidualNormMethod};
use std::sync::Arc;

fn points(rows: &[Vec<f64>]) -> Points {
    Points::from_rows(rows).unwrap()
}

fn fit(kernel: &Kernel, tau: f64, x: &[Vec<f64>], y: &[f64], z: &[Vec<f64>]) -> Posterior {
    let o = Observations::new(points(x), y, Collected::DeclaredFixed, Prior::ZERO).unwrap();
    Posterior::fit(Arc::new(FeatureMap::new(kernel.clone(), points(z)).unwrap()), tau, o).unwrap()
}

/// Clustered, repeated and nearly equal points: cond(K) far beyond 1e16.
fn clustered(draws: &mut Draws, n: usize, d: usize) -> Vec<Vec<f64>> {
    let centres = draws.points(1 + n / 6, d);
    (0..n)
        .map(|i| {
            let c = &centres[draws.below(centres.len())];
            let spread = [0.0, 1e-9, 1e-5, 1e-2][i % 4];
            c.iter().map(|v| v + spread * (draws.uniform() - 0.5)).collect()
        })
        .collect()
}

#[test]
fn variance_stays_between_zero_and_the_prior_everywhere() {
    for seed in 0..60 {
        let mut draws = Draws::new(seed);
        let (n, d) = (1 + draws.below(if seed % 10 == 0 { 300 } else { 60 }), 1 + draws.below(3));
        let kernel = match seed % 3 {
            0 => Kernel::squared_exponential(3.0, 1.0),
            1 => Kernel::matern(2.5, 1.0, 2.0),
            _ => Kernel::matern(0.5, 0.5, 1.0),
        }
        .unwrap();
        let prior = kernel.max_variance().unwrap();
        let x = clustered(&mut draws, n, d);
        let size = 1 + draws.below(40);
        let z = clustered(&mut draws, size, d);
        let y: Vec<f64> = (0..n).map(|_| draws.normal()).collect();
        let tau = 10_f64.powf(-6.0 + 8.0 * draws.uniform());
        let posterior = fit(&kernel, tau, &x, &y, &z);
        let mut queries = draws.points(4, d);
        queries.extend([x[0].clone(), z[0].clone()]);
        for v in posterior.information().variance(points(&queries).view()).unwrap() {
            assert!((0.0..=prior * (1.0 + 1e-12)).contains(&v), "seed {seed}: variance {v}");
        }
        for (part, k) in posterior.information().certified_parts(points(&queries).view()).unwrap().iter().zip(std::iter::repeat(prior)) {
            assert!(part.projection >= 0.0 && part.fit >= 0.0 && part.noise >= 0.0, "{part:?} of {k}");
        }
    }
}

/// `b = √((s₁+√λ‖V‖)²+s₂²)` with certified parts and the certified trace as λ is at least the exact worst case of the very weights in use.
#[test]
fn direct_width_covers_the_worst_case_at_any_condition() {
    let (mut extreme, mut moderate) = (0, 0);
    for seed in 0..60 {
        let mut draws = Draws::new(500 + seed);
        let n = 1 + draws.below(40);
        let (kernel, covariance): (Kernel, Covariance) = match seed % 3 {
            0 => (Kernel::squared_exponential(0.3, 1.0).unwrap(), oracle::squared_exponential),
            1 => (Kernel::matern(2.5, 0.4, 2.0).unwrap(), oracle::matern_five_halves),
            _ => (Kernel::matern(0.5, 0.5, 1.0).unwrap(), oracle::matern_half),
        };
        let x = clustered(&mut draws, n, 1);
        let size = 1 + draws.below(25);
        let z = clustered(&mut draws, size, 1);
        let tau = 10_f64.powf(-6.0 + 8.0 * draws.uniform());
        let y: Vec<f64> = (0..n).map(|_| draws.normal()).collect();
        let posterior = fit(&kernel, tau, &x, &y, &z);
        let information = posterior.information();
        if n as f64 / (tau * tau) > 1e8 {
            extreme += 1
        } else {
            moderate += 1
        }
        let lambda = information.residual_norm(ResidualNormMethod::Trace).unwrap().value;
        let queries = draws.points(4, 1);
        let weights = information.weights(points(&queries).view()).unwrap();
        let parts = information.certified_parts(points(&queries).view()).unwrap();
        for q in 0..queries.len() {
            let noise = parts[q].noise.sqrt() / tau;
            let b = ((parts[q].projection.sqrt() + lambda.sqrt() * noise).powi(2) + parts[q].fit).sqrt();
            let worst = oracle::worst_case(covariance, &x, weights.row(q), &queries[q]);
            assert!(worst <= b, "seed {seed}: worst case {worst:e} above {b:e}, tau {tau:e}");
        }
    }
    assert!(extreme >= 10 && moderate >= 10);
}

#[test]
fn trace_of_the_residual_equals_its_definition() {
    // tr D = Σ c s₁² = Σ (k − k_ZᵀK_ZZ⁻¹k_Z) over all rows.
    for seed in 0..20 {
        let mut draws = Draws::new(900 + seed);
        let x = draws.points(25, 2);
        let mut rows = x.clone();
        rows.extend(x.iter().take(10).cloned());
        let z = draws.points(5, 2);
        let y = vec![0.0; rows.len()];
        let posterior = fit(&Kernel::matern(2.5, 0.4, 2.0).unwrap(), 0.3, &rows, &y, &z);
        let expected: f64 = rows.iter().map(|p| oracle::sparse(oracle::matern_five_halves, 0.3, &rows, &y, &z, p).projection).sum();
        close(posterior.information().residual_trace(), expected, 1e-8, "trace of the residual");
        close(posterior.information().prior_trace(), 70.0, 1e-10, "trace of the kernel");
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let mut draws = Draws::new(3);
    let x = draws.points(3000, 4);
    let y: Vec<f64> = x.iter().map(|p| p[0] + p[1] * p[2]).collect();
    let z = draws.points(150, 4);
    let queries = points(&draws.points(2500, 4));
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let posterior = fit(&Kernel::squared_exponential(0.5, 1.0).unwrap(), 0.1, &x, &y, &z);
            (posterior.predict(queries.view()).unwrap(), posterior.mean(queries.view()).unwrap(), posterior.to_bytes())
        })
    };
    let reference = run(1);
    for threads in [2, 3, 8] {
        assert!(run(threads) == reference, "{threads} threads give another answer");
    }
}
