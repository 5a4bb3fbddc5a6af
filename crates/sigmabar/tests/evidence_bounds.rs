//! ELBO and upper bound against the printed formulas, and their order on many instances.

use crate::oracle;

use oracle::double::{Double, dot, pivots, solve};
use oracle::{Covariance, Draws, close};
use sigmabar::gain::Bracket;
use sigmabar::posterior::ExactPosterior;
use sigmabar::residual::{ResidualNorm, ResidualNormKind};
use sigmabar::{Collected, Error, FeatureMap, Kernel, Observations, Points, Posterior, Prior};
use std::sync::Arc;

struct Instance {
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    z: Vec<Vec<f64>>,
    tau: f64,
    prior: Prior,
}

fn instance(draws: &mut Draws, prior: Prior) -> Instance {
    let n = 1 + draws.below(25);
    let mut x = draws.points(n, 2);
    for _ in 0..draws.below(4) {
        x.push(x[draws.below(n)].clone());
    }
    let m = 1 + draws.below(8);
    let z = draws.points(m, 2);
    let y = x.iter().map(|p| (4.0 * p[0]).sin() + p[1] + 0.2 * draws.normal()).collect();
    Instance { x, y, z, tau: 0.05 + draws.uniform(), prior }
}

impl Instance {
    fn observations(&self) -> Observations {
        Observations::new(Points::from_rows(&self.x).unwrap(), &self.y, Collected::DeclaredFixed, self.prior).unwrap()
    }

    fn sparse(&self, kernel: &Kernel) -> Posterior {
        let features = FeatureMap::new(kernel, Points::from_rows(&self.z).unwrap()).unwrap();
        Posterior::fit(Arc::new(features), self.tau, self.observations()).unwrap()
    }

    fn exact(&self, kernel: &Kernel) -> ExactPosterior {
        ExactPosterior::new(kernel, self.tau, self.observations()).unwrap()
    }

    /// `κ_XX` over all rows, repetitions included.
    fn kappa(&self, k: Covariance) -> Vec<Vec<Double>> {
        let k_zz = oracle::table(k, &self.z, &self.z);
        let k_xz = oracle::table(k, &self.x, &self.z);
        let solved: Vec<Vec<Double>> = k_xz.iter().map(|row| solve(&k_zz, row)).collect();
        k_xz.iter().map(|a| solved.iter().map(|b| dot(a, b)).collect()).collect()
    }

    /// `−½[n log 2π + log|κ+τ²I| + yᵀ(κ+tI)⁻¹y]` of the scaled responses, less `n log unit`.
    fn gaussian(&self, k: Covariance, t: f64) -> f64 {
        let n = self.x.len();
        let with = |ridge: f64| {
            let mut a = self.kappa(k);
            (0..n).for_each(|i| a[i][i] = a[i][i] + Double::from(ridge));
            a
        };
        let y: Vec<Double> = self.y.iter().map(|&v| Double::from((v - self.prior.mean()) / self.prior.unit())).collect();
        let log_det: f64 = pivots(&with(self.tau * self.tau)).iter().map(|p| p.value().ln()).sum();
        let quadratic = dot(&solve(&with(t), &y), &y).value();
        -0.5 * (n as f64 * (2.0 * std::f64::consts::PI).ln() + log_det + quadratic) - n as f64 * self.prior.unit().ln()
    }

    /// `−½[n log 2π + log|K+τ²I| + yᵀ(K+τ²I)⁻¹y]`, for the prior of mean 0 and unit 1.
    fn evidence(&self, k: Covariance) -> f64 {
        let mut a = oracle::table(k, &self.x, &self.x);
        (0..self.x.len()).for_each(|i| a[i][i] = a[i][i] + Double::from(self.tau * self.tau));
        let y: Vec<Double> = self.y.iter().map(|&v| Double::from(v)).collect();
        let log_det: f64 = pivots(&a).iter().map(|p| p.value().ln()).sum();
        -0.5 * (self.x.len() as f64 * (2.0 * std::f64::consts::PI).ln() + log_det + dot(&solve(&a, &y), &y).value())
    }

    /// `Σ k(x,x) − κ(x,x)` over all rows.
    fn trace(&self, k: Covariance) -> f64 {
        let kappa = self.kappa(k);
        self.x.iter().enumerate().map(|(i, p)| (Double::from(k(p, p)) - kappa[i][i]).value()).sum()
    }
}

fn matern() -> (Kernel, Covariance) {
    (Kernel::matern(2.5, 0.4, 2.0).unwrap(), oracle::matern_five_halves)
}

#[test]
fn the_elbo_and_the_upper_bound_are_the_printed_formulas() {
    let (kernel, k) = matern();
    let mut draws = Draws::new(11);
    for prior in [Prior::ZERO, Prior::declared(0.7, 2.5).unwrap()] {
        for _ in 0..40 {
            let instance = instance(&mut draws, prior);
            let posterior = instance.sparse(&kernel);
            let (tau2, trace) = (instance.tau.powi(2), instance.trace(k));
            close(posterior.elbo(), instance.gaussian(k, tau2) - trace / (2.0 * tau2), 1e-8, "ELBO");
            let norm = ResidualNorm { value: 0.37, kind: ResidualNormKind::Trace };
            let upper = posterior.log_evidence_upper_bound(Some(norm)).unwrap();
            close(upper, instance.gaussian(k, tau2 + 0.37), 1e-8, "upper bound");
            close(posterior.log_evidence_upper_bound(None).unwrap(), instance.gaussian(k, tau2 + trace), 1e-7, "upper bound by trace");
        }
    }
}

#[test]
fn the_evidence_lies_between_its_bounds() {
    let kernels = [matern().0, Kernel::squared_exponential(0.3, 1.0).unwrap(), Kernel::matern(0.5, 0.5, 1.0).unwrap()];
    let mut draws = Draws::new(12);
    for round in 0..1000 {
        let kernel = &kernels[round % 3];
        let instance = instance(&mut draws, Prior::ZERO);
        let (posterior, exact) = (instance.sparse(kernel), instance.exact(kernel));
        let evidence = exact.log_evidence();
        let margin = 1e-9 * (1.0 + evidence.abs());
        assert!(posterior.elbo() <= evidence + margin);
        assert!(evidence <= posterior.log_evidence_upper_bound(None).unwrap() + margin);
    }
}

/// Where every point is an inducing point, both bounds are the evidence itself: all that is left between them is rounding.
#[test]
fn the_bracket_holds_where_rounding_is_all_there_is() {
    let (kernel, k) = matern();
    let (mut draws, mut broken) = (Draws::new(14), 0);
    for round in 0..90 {
        let n = 2 + draws.below(25);
        let x = draws.points(n, 2);
        let scale = [1.0, 1e3, 1e6][round % 3];
        let y = x.iter().map(|p| scale * ((4.0 * p[0]).sin() + draws.normal())).collect();
        let instance = Instance { z: x.clone(), x, y, tau: [1.0, 0.1, 0.01][round / 3 % 3], prior: Prior::ZERO };
        let posterior = instance.sparse(&kernel);
        let (evidence, bracket) = (instance.evidence(k), posterior.log_evidence_bracket().unwrap());
        assert!(bracket.contains(evidence), "{evidence} in {bracket:?}");
        assert!(bracket.upper - bracket.lower < 1e-2 * (1.0 + evidence.abs()), "{bracket:?} says something");
        let bare = Bracket { lower: posterior.elbo(), upper: posterior.log_evidence_upper_bound(None).unwrap() };
        broken += usize::from(!bare.contains(evidence));
    }
    assert!(broken > 10, "without the rounding {broken} of 90 would be wrong");
}

#[test]
fn a_smaller_residual_norm_tightens_the_bound_and_too_small_a_one_breaks_it() {
    let kernel = Kernel::squared_exponential(0.3, 1.0).unwrap();
    let x: Vec<Vec<f64>> = (0..20).map(|i| vec![f64::from(i) / 4.0, 0.0]).collect();
    // The responses lie in what one inducing point misses, so the quadratic of κ alone is far too large.
    let y = (0..20).map(|i| (f64::from(i) / 4.0).sin() * 3.0).collect();
    let instance = Instance { x, y, z: vec![vec![20.0, 0.0]], tau: 0.1, prior: Prior::ZERO };
    let (posterior, evidence) = (instance.sparse(&kernel), instance.exact(&kernel).log_evidence());
    let at = |value: f64| posterior.log_evidence_upper_bound(Some(ResidualNorm { value, kind: ResidualNormKind::Dense })).unwrap();
    let largest = largest_row_sum(&kernel, &instance.x);
    assert!(evidence <= at(largest) && at(largest) < posterior.log_evidence_upper_bound(None).unwrap());
    assert!(at(0.0) < evidence, "a bound with λ = 0 must not hold here: the test could not fail otherwise");
}

/// The largest eigenvalue of `K_XX`, by Gershgorin's row sums: an upper bound, and below the trace here.
fn largest_row_sum(kernel: &Kernel, x: &[Vec<f64>]) -> f64 {
    x.iter().map(|a| x.iter().map(|b| kernel.value(a, b).abs()).sum::<f64>()).fold(0.0, f64::max)
}

#[test]
fn every_point_inducing_leaves_the_evidence_itself() {
    let (kernel, _) = matern();
    let mut draws = Draws::new(13);
    for _ in 0..50 {
        let mut instance = instance(&mut draws, Prior::declared(0.2, 1.5).unwrap());
        instance.z = instance.x.clone();
        let (posterior, exact) = (instance.sparse(&kernel), instance.exact(&kernel));
        close(posterior.elbo(), exact.log_evidence(), 1e-8, "ELBO with every point inducing");
    }
}

#[test]
fn a_negative_residual_norm_is_refused() {
    let (kernel, _) = matern();
    let mut draws = Draws::new(14);
    let posterior = instance(&mut draws, Prior::ZERO).sparse(&kernel);
    let bad = ResidualNorm { value: -1.0, kind: ResidualNormKind::Trace };
    assert!(matches!(posterior.log_evidence_upper_bound(Some(bad)), Err(Error::Parameter { name: "residual norm", .. })));
}

/// With weights the evidence is that of noise variances τ²/w, rows at one point with weights of their own included: for the exact model, the sparse one with every point inducing, and what is
/// left of it without its rows.
#[test]
fn weights_are_noise_levels_in_the_evidence() {
    let (kernel, k) = matern();
    let mut draws = Draws::new(31);
    for _ in 0..10 {
        let instance = instance(&mut draws, Prior::declared(0.3, 1.7).unwrap());
        let Instance { x, y, tau, prior, .. } = &instance;
        let weights: Vec<f64> = x.iter().map(|_| 0.2 + 5.0 * draws.uniform()).collect();
        let mut a = oracle::table(k, x, x);
        (0..x.len()).for_each(|i| a[i][i] = a[i][i] + Double::from(tau * tau / weights[i]));
        let scaled: Vec<Double> = y.iter().map(|v| Double::from(prior.to_model(*v))).collect();
        let log_det: f64 = pivots(&a).iter().map(|p| p.value().ln()).sum();
        let constant = x.len() as f64 * (std::f64::consts::TAU * prior.unit().powi(2)).ln();
        let expected = -0.5 * (constant + log_det + dot(&scaled, &solve(&a, &scaled)).value());
        let points = Points::from_rows(x).unwrap();
        let observations = Observations::weighted(points.clone(), y, &weights, Collected::DeclaredFixed, *prior).unwrap();
        close(ExactPosterior::new(&kernel, *tau, observations.clone()).unwrap().log_evidence(), expected, 1e-8, "exact");
        let sparse = Posterior::fit(Arc::new(FeatureMap::new(&kernel, points).unwrap()), *tau, observations).unwrap();
        close(sparse.elbo(), expected, 1e-6, "every point inducing");
        assert!(sparse.log_evidence_upper_bound(None).unwrap() >= expected - 1e-9);
        close(sparse.without_rows(0).unwrap().elbo(), expected, 1e-6, "without rows");
    }
}
