//! The edge of double precision: nearly singular kernels, tiny and huge ridges. Equalities end there; the inequalities must not.

use crate::oracle;

use oracle::{Covariance, Draws, close};
use sigmabar::certificate::{Method, ResidualNormMethod};
use sigmabar::posterior::ExactPosterior;
use sigmabar::{Claim, Collected, FeatureMap, Kernel, Noise, Observations, Points, Posterior, Prior};
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

/// The exact posterior's certificate: without noise, the function that attains the bound stays inside, however badly `K + τ²I` is conditioned.
#[test]
fn the_exact_posterior_covers_what_attains_its_bound_at_any_condition() {
    let (mut tested, mut hard) = (0, 0);
    for seed in 0..150 {
        let mut draws = Draws::new(1300 + seed);
        let n = 1 + draws.below(30);
        let (kernel, covariance): (Kernel, Covariance) = match seed % 3 {
            0 => (Kernel::squared_exponential(0.3, 1.0).unwrap(), oracle::squared_exponential),
            1 => (Kernel::matern(2.5, 0.4, 2.0).unwrap(), oracle::matern_five_halves),
            _ => (Kernel::matern(0.5, 0.5, 1.0).unwrap(), oracle::matern_half),
        };
        let x = clustered(&mut draws, n, 1);
        let query = draws.points(1, 1).remove(0);
        let tau = 10_f64.powf(-6.0 + 8.0 * draws.uniform());
        let weights = oracle::exact(covariance, tau, &x, &vec![0.0; n], &query).weights;
        let norm = oracle::worst_case(covariance, &x, &weights, &query);
        let f = |p: &[f64]| covariance(p, &query) - x.iter().zip(&weights).map(|(c, w)| w * covariance(p, c)).sum::<f64>();
        let terms = 1.0 + weights.iter().map(|w| w.abs()).sum::<f64>();
        // Values of f in doubles are off by a few units of their terms: declared as noise.
        let blur = 64.0 * f64::EPSILON * terms;
        let y: Vec<f64> = x.iter().map(|p| f(p)).collect();
        let o = Observations::new(points(&x), &y, Collected::DeclaredFixed, Prior::ZERO).unwrap();
        // Where the ridge is lost in rounding there is an error, never an interval.
        let Ok(posterior) = ExactPosterior::new(kernel, tau, o) else { continue };
        let claim = Claim::new(0.1).unwrap().norm_bound(norm.max(1e-12)).unwrap().noise(Noise::bounded(blur).unwrap());
        for method in [Method::Direct, Method::DropIn, Method::Energy] {
            let found = posterior.interval(points(std::slice::from_ref(&query)).view(), &claim.clone().method(method)).unwrap();
            let truth = f(&query);
            assert!(
                found.lower()[0] - blur <= truth && truth <= found.upper()[0] + blur,
                "seed {seed}, {method:?}: {truth:e} outside [{:e}, {:e}], tau {tau:e}",
                found.lower()[0],
                found.upper()[0]
            );
        }
        tested += 1;
        hard += usize::from(n as f64 / (tau * tau) > 1e8);
    }
    assert!(tested >= 120 && hard >= 20, "{tested} {hard}");
}

/// Rounding does not pile up over many updates, and the certified rounding bound does not grow without end either.
#[test]
fn a_thousand_updates_equal_a_refit() {
    let mut draws = Draws::new(77);
    let z: Vec<Vec<f64>> = (0..8).map(|i| vec![f64::from(i) / 7.0]).collect();
    let (x, y) = (draws.points(1000, 1), (0..1000).map(|_| draws.normal()).collect::<Vec<_>>());
    let features = Arc::new(FeatureMap::new(Kernel::matern(2.5, 0.4, 2.0).unwrap(), points(&z)).unwrap());
    let part = |n: usize| Observations::new(points(&x[..n]), &y[..n], Collected::DeclaredFixed, Prior::ZERO).unwrap();
    let mut updated = Posterior::fit(Arc::clone(&features), 1e-2, part(1)).unwrap();
    for i in 1..1000 {
        updated.update(&x[i], y[i]).unwrap();
    }
    let whole = Posterior::fit(features, 1e-2, part(1000)).unwrap();
    let queries = points(&draws.points(20, 1));
    let (a, b) = (updated.predict(queries.view()).unwrap(), whole.predict(queries.view()).unwrap());
    for q in 0..20 {
        close(a.0[q], b.0[q], 1e-9, "mean");
        close(a.1[q] / b.1[q], 1.0, 1e-9, "standard deviation");
    }
    assert!(updated.information().rounding() < 10.0 * whole.information().rounding());
}

/// Nearly dependent inducing points and a small ridge: the short cuts through kernel values would lose what whitening gains, and are not taken.
#[test]
fn short_cuts_stay_as_accurate_as_a_fit_on_nearly_dependent_inducing_points() {
    let mut draws = Draws::new(78);
    let kernel = Kernel::squared_exponential(0.3, 1.0).unwrap();
    let z: Vec<Vec<f64>> = (0..14).map(|i| vec![0.07 * f64::from(i)]).collect();
    let x = draws.points(150, 1);
    let y: Vec<f64> = x.iter().map(|p| (7.0 * p[0]).sin() + 1e-4 * draws.normal()).collect();
    let o = || Observations::new(points(&x), &y, Collected::DeclaredFixed, Prior::ZERO).unwrap();
    for tau in [1e-2, 1e-4, 1e-6] {
        let features = Arc::new(FeatureMap::new(&kernel, points(&z)).unwrap());
        assert!(features.condition() > 1e4, "{}", features.condition());
        let fitted = Posterior::fit(Arc::clone(&features), tau, o()).unwrap();
        let mut appended = Posterior::fit(Arc::new(FeatureMap::new(&kernel, points(&z[..1])).unwrap()), tau, o()).unwrap();
        for p in &z[1..] {
            appended.append_inducing(p).unwrap();
        }
        let conditioned = Posterior::condition(Arc::clone(fitted.information()), &y, Prior::ZERO).unwrap();
        let queries = points(&draws.points(20, 1));
        let reference = fitted.predict(queries.view()).unwrap();
        for (posterior, what) in [(&appended, "appended"), (&conditioned, "conditioned")] {
            assert_eq!(posterior.information().features().len(), features.len());
            let (mean, std_dev) = posterior.predict(queries.view()).unwrap();
            for q in 0..20 {
                let blur = reference.1[q].max(1e-9);
                assert!(
                    (mean[q] - reference.0[q]).abs() <= 0.1 * blur,
                    "{what}, tau {tau:e}: mean {:e} off, {blur:e}",
                    mean[q] - reference.0[q]
                );
                // s₁² is a difference: two factors of one matrix may differ by its rounding bound.
                let (found, expected) = (std_dev[q].powi(2), reference.1[q].powi(2));
                let allowed = 1e-4 * expected + features.residual_rounding(1.0);
                assert!((found - expected).abs() <= allowed, "{what}, tau {tau:e}: {found:e} {expected:e}");
            }
        }
    }
}
