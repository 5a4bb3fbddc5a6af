//! Literal oracles: plain loops over the printed formulas in double-double arithmetic (about 32 digits). No code is shared with the crate.
#![allow(dead_code)]

pub mod double;

use double::{Double, Table, dot, solve};

/// A kernel written out: value of `k(x, z)`.
pub type Covariance = fn(&[f64], &[f64]) -> f64;

/// `exp(−|x−z|²/(2·0.3²))`.
pub fn squared_exponential(x: &[f64], z: &[f64]) -> f64 {
    (-0.5 * distance_squared(x, z) / (0.3 * 0.3)).exp()
}

/// Matérn-5/2 with length-scale 0.4 and variance 2.
pub fn matern_five_halves(x: &[f64], z: &[f64]) -> f64 {
    let r = (5.0 * distance_squared(x, z)).sqrt() / 0.4;
    2.0 * (1.0 + r + r * r / 3.0) * (-r).exp()
}

/// Matérn-1/2 with length-scale 0.5.
pub fn matern_half(x: &[f64], z: &[f64]) -> f64 {
    (-distance_squared(x, z).sqrt() / 0.5).exp()
}

fn distance_squared(x: &[f64], z: &[f64]) -> f64 {
    x.iter().zip(z).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// `K(a, b)` entry by entry.
pub fn table(k: Covariance, a: &[Vec<f64>], b: &[Vec<f64>]) -> Table {
    a.iter().map(|x| b.iter().map(|z| Double::from(k(x, z))).collect()).collect()
}

/// What the exact posterior says at one point: the textbook formulas on all rows, repetitions included.
pub struct Exact {
    pub mean: f64,
    pub variance: f64,
    pub weights: Vec<f64>,
}

/// `μ = k_XᵀA⁻¹y`, `σ² = k − k_XᵀA⁻¹k_X`, `A = K + τ²I`.
pub fn exact(k: Covariance, tau: f64, x: &[Vec<f64>], y: &[f64], query: &[f64]) -> Exact {
    let mut a = table(k, x, x);
    let tau2 = Double::from(tau) * Double::from(tau);
    (0..x.len()).for_each(|i| a[i][i] = a[i][i] + tau2);
    let k_x: Vec<Double> = x.iter().map(|p| Double::from(k(p, query))).collect();
    let weights = solve(&a, &k_x);
    let y: Vec<Double> = y.iter().map(|&v| Double::from(v)).collect();
    let variance = Double::from(k(query, query)) - dot(&weights, &k_x);
    Exact { mean: dot(&weights, &y).value(), variance: variance.value(), weights: weights.iter().map(|w| w.value()).collect() }
}

/// `log p(y)` of the exact model, from the eliminated matrix's pivots.
pub fn log_evidence(k: Covariance, tau: f64, x: &[Vec<f64>], y: &[f64]) -> f64 {
    let mut a = table(k, x, x);
    let tau2 = Double::from(tau) * Double::from(tau);
    (0..x.len()).for_each(|i| a[i][i] = a[i][i] + tau2);
    let y: Vec<Double> = y.iter().map(|&v| Double::from(v)).collect();
    let quadratic = dot(&solve(&a, &y), &y).value();
    let log_det: f64 = double::pivots(&a).iter().map(|p| p.value().ln()).sum();
    -0.5 * (x.len() as f64 * (2.0 * std::f64::consts::PI).ln() + log_det + quadratic)
}

/// What the sparse posterior says at one point, from the formulas as printed in the paper.
pub struct Sparse {
    pub mean: f64,
    pub variance: f64,
    pub projection: f64,
    pub fit: f64,
    pub noise: f64,
    pub weights: Vec<f64>,
}

/// `A = τ²K_ZZ + K_ZX K_XZ`, `V = K_XZ A⁻¹k_Z`, `σ̄² = k − k_ZᵀK_ZZ⁻¹k_Z + τ²k_ZᵀA⁻¹k_Z`; the parts from their definitions.
/// `z` must be free of repetitions.
pub fn sparse(k: Covariance, tau: f64, x: &[Vec<f64>], y: &[f64], z: &[Vec<f64>], query: &[f64]) -> Sparse {
    let tau2 = Double::from(tau) * Double::from(tau);
    let k_zz = table(k, z, z);
    let k_zx = table(k, z, x);
    let k_z: Vec<Double> = z.iter().map(|p| Double::from(k(p, query))).collect();
    let m = z.len();
    let mut a = k_zz.clone();
    for i in 0..m {
        for j in 0..m {
            a[i][j] = tau2 * k_zz[i][j] + dot(&k_zx[i], &k_zx[j]);
        }
    }
    let solved = solve(&a, &k_z);
    let weights: Vec<Double> = (0..x.len()).map(|i| (0..m).map(|j| solved[j] * k_zx[j][i]).fold(Double::ZERO, |s, v| s + v)).collect();
    let own = solve(&k_zz, &k_z);
    let kappa = dot(&own, &k_z);
    let projection = Double::from(k(query, query)) - kappa;
    // κ_X(x) and κ_XX V without forming κ_XX: κ_X(x)_i = k_Z(x_i)ᵀ K_ZZ⁻¹ k_Z(x).
    let column = |i: usize| (0..m).map(|j| k_zx[j][i]).collect::<Vec<_>>();
    let kappa_x: Vec<Double> = (0..x.len()).map(|i| dot(&own, &column(i))).collect();
    let image: Vec<Double> = (0..m).map(|j| dot(&weights, &k_zx[j])).collect();
    let quadratic = dot(&solve(&k_zz, &image), &image);
    let fit = kappa - Double::from(2.0) * dot(&weights, &kappa_x) + quadratic;
    let y: Vec<Double> = y.iter().map(|&v| Double::from(v)).collect();
    Sparse {
        mean: dot(&weights, &y).value(),
        variance: (projection + tau2 * dot(&solved, &k_z)).value(),
        projection: projection.value(),
        fit: fit.value(),
        noise: (tau2 * dot(&weights, &weights)).value(),
        weights: weights.iter().map(|w| w.value()).collect(),
    }
}

/// `√(k(x,x) − 2Vᵀk_X + VᵀKV)`: the worst error over the unit ball for the given weights.
pub fn worst_case(k: Covariance, x: &[Vec<f64>], weights: &[f64], query: &[f64]) -> f64 {
    let v: Vec<Double> = weights.iter().map(|&w| Double::from(w)).collect();
    let k_x: Vec<Double> = x.iter().map(|p| Double::from(k(p, query))).collect();
    let gram = table(k, x, x);
    let image: Vec<Double> = gram.iter().map(|row| dot(row, &v)).collect();
    let square = Double::from(k(query, query)) - Double::from(2.0) * dot(&v, &k_x) + dot(&v, &image);
    square.value().max(0.0).sqrt()
}

/// A small generator of its own, so that instances do not depend on the crate's randomness.
pub struct Draws(u64);

impl Draws {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1)
    }

    /// Uniform on [0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform on 0..n.
    pub fn below(&mut self, n: usize) -> usize {
        (self.uniform() * n as f64) as usize
    }

    /// Standard normal (Box–Muller).
    pub fn normal(&mut self) -> f64 {
        let u = 1.0 - self.uniform();
        (-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * self.uniform()).cos()
    }

    /// `n` points in the unit cube.
    pub fn points(&mut self, n: usize, d: usize) -> Vec<Vec<f64>> {
        (0..n).map(|_| (0..d).map(|_| self.uniform()).collect()).collect()
    }
}

/// Asserts `a ≈ b` within `tolerance·(1 + |b|)`.
#[track_caller]
pub fn close(a: f64, b: f64, tolerance: f64, what: &str) {
    assert!(
        (a - b).abs() <= tolerance * (1.0 + b.abs()),
        "{what}: {a:e} is not {b:e} (difference {:e}, allowed {tolerance:e})",
        (a - b).abs()
    );
}
