//! One small instance and its oracles, for the tests that compare widths with printed formulas.

use super::oracle::{Draws, Sparse, close, sparse};
use super::{Instance, jacobi, points, residual_matrix};
use sigmabar::certificate::ResidualNormMethod;
use sigmabar::{Claim, Collected, Intervals, Noise, Posterior, Prior};
use std::sync::Arc;

pub const C: f64 = 2.5;
pub const R: f64 = 0.3;
pub const TAU: f64 = 0.4;

/// 18 rows with repetitions, 5 inducing points, well conditioned.
pub fn instance() -> Instance {
    let mut draws = Draws::new(101);
    let mut x = draws.points(15, 2);
    x.push(x[3].clone());
    x.push(x[3].clone());
    x.push(x[7].clone());
    let z = vec![vec![0.1, 0.2], vec![0.8, 0.3], vec![0.5, 0.5], vec![0.2, 0.9], vec![0.9, 0.8]];
    Instance::new(1, x, z, TAU, Collected::DeclaredFixed)
}

pub fn responses(n: usize) -> Vec<f64> {
    let mut draws = Draws::new(102);
    (0..n).map(|_| draws.normal()).collect()
}

pub const QUERIES: [[f64; 2]; 3] = [[0.33, 0.44], [0.95, 0.05], [1.4, 0.5]];

pub fn queries() -> Vec<Vec<f64>> {
    QUERIES.iter().map(|q| q.to_vec()).collect()
}

pub fn oracles(instance: &Instance, y: &[f64]) -> Vec<Sparse> {
    queries().iter().map(|q| sparse(instance.covariance, TAU, &instance.x, y, &instance.z, q)).collect()
}

pub fn norm(v: &[f64]) -> f64 {
    v.iter().map(|a| a * a).sum::<f64>().sqrt()
}

pub fn true_lambda(instance: &Instance) -> f64 {
    *jacobi(&residual_matrix(instance.covariance, &instance.x, &instance.z)).last().unwrap()
}

pub fn claim(delta: f64) -> Claim {
    let claim = Claim::new(delta).unwrap().norm_bound(C).unwrap().noise(Noise::sub_gaussian(R).unwrap());
    claim.residual_norm(ResidualNormMethod::Dense)
}

pub fn intervals(instance: &Instance, y: &[f64], claim: &Claim) -> Intervals {
    let posterior = Posterior::condition(Arc::clone(&instance.information), y, Prior::ZERO).unwrap();
    posterior.interval(points(&queries()).view(), claim).unwrap()
}

/// Both ends against `mean ± half`.
#[track_caller]
pub fn assert_ends(found: &Intervals, oracles: &[Sparse], half: impl Fn(usize, &Sparse) -> f64, what: &str) {
    for (q, o) in oracles.iter().enumerate() {
        close(found.mean()[q], o.mean, 1e-8, what);
        close(found.upper()[q], o.mean + half(q, o), 1e-7, what);
        close(found.lower()[q], o.mean - half(q, o), 1e-7, what);
    }
}
