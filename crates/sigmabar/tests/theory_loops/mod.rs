//! Plain loops over the printed formulas: kernels, elimination, eigenvalues. No code is shared with the crate.
#![allow(dead_code)]

pub use crate::jacobi::eigenvalues;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use sigmabar::points::Locations;
use sigmabar::{Collected, FeatureMap, Information, Kernel, Points};
use std::sync::Arc;

pub type Table = Vec<Vec<f64>>;

#[derive(Clone, Copy, Debug)]
pub enum Shape {
    SquaredExponential,
    MaternHalf,
    MaternThreeHalves,
    MaternFiveHalves,
}

/// A kernel written out.
#[derive(Clone, Copy, Debug)]
pub struct Plain {
    pub shape: Shape,
    pub lengthscale: f64,
    pub variance: f64,
}

impl Plain {
    pub fn value(&self, x: &[f64], z: &[f64]) -> f64 {
        let mut squared = 0.0;
        for i in 0..x.len() {
            squared += ((x[i] - z[i]) / self.lengthscale).powi(2);
        }
        let rho = squared.sqrt();
        self.variance
            * match self.shape {
                Shape::SquaredExponential => (-0.5 * squared).exp(),
                Shape::MaternHalf => (-rho).exp(),
                Shape::MaternThreeHalves => (1.0 + 3.0_f64.sqrt() * rho) * (-(3.0_f64.sqrt()) * rho).exp(),
                Shape::MaternFiveHalves => {
                    let t = 5.0_f64.sqrt() * rho;
                    (1.0 + t + t * t / 3.0) * (-t).exp()
                }
            }
    }

    pub fn kernel(&self) -> Kernel {
        match self.shape {
            Shape::SquaredExponential => Kernel::squared_exponential(self.lengthscale, self.variance),
            Shape::MaternHalf => Kernel::matern(0.5, self.lengthscale, self.variance),
            Shape::MaternThreeHalves => Kernel::matern(1.5, self.lengthscale, self.variance),
            Shape::MaternFiveHalves => Kernel::matern(2.5, self.lengthscale, self.variance),
        }
        .unwrap()
    }

    pub fn table(&self, a: &Table, b: &Table) -> Table {
        a.iter().map(|x| b.iter().map(|z| self.value(x, z)).collect()).collect()
    }

    /// `κ(a, b)` for the inducing points, by pivoted elimination that drops what is below 1e-12 of the largest variance.
    pub fn nystrom(&self, z: &Table, a: &Table, b: &Table) -> Table {
        let (chosen, lower) = pivoted(&self.table(z, z), 1e-12 * self.variance);
        let z: Table = chosen.iter().map(|&i| z[i].clone()).collect();
        let features = |x: &Table| -> Table { self.table(x, &z).iter().map(|row| forward(&lower, row)).collect() };
        let (fa, fb) = (features(a), features(b));
        fa.iter().map(|u| fb.iter().map(|v| dot(u, v)).collect()).collect()
    }

    /// `σ²(q) = k(q,q) − k_Xᵀ(K + τ²I)⁻¹k_X`, as `k − ‖L⁻¹k_X‖²`.
    pub fn exact_variance(&self, tau: f64, x: &Table, queries: &Table) -> Vec<f64> {
        let mut a = self.table(x, x);
        for i in 0..x.len() {
            a[i][i] += tau * tau;
        }
        let lower = cholesky(&a);
        queries
            .iter()
            .map(|q| {
                let k: Vec<f64> = x.iter().map(|p| self.value(p, q)).collect();
                let w = forward(&lower, &k);
                self.value(q, q) - dot(&w, &w)
            })
            .collect()
    }

    /// `I = ½ log det(I + K/τ²)`.
    pub fn gain(&self, tau: f64, x: &Table) -> f64 {
        let mut a = self.table(x, x);
        for i in 0..x.len() {
            for j in 0..x.len() {
                a[i][j] /= tau * tau;
            }
            a[i][i] += 1.0;
        }
        cholesky(&a).iter().enumerate().map(|(i, row)| row[i].ln()).sum()
    }
}

pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

pub fn cholesky(a: &Table) -> Table {
    let n = a.len();
    let mut l = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let s = a[i][j] - dot(&l[i][..j], &l[j][..j]);
            l[i][j] = if i == j { s.sqrt() } else { s / l[j][j] };
        }
    }
    l
}

pub fn forward(l: &Table, b: &[f64]) -> Vec<f64> {
    let mut x = Vec::with_capacity(l.len());
    for i in 0..l.len() {
        let s = b[i] - dot(&l[i][..i], &x);
        x.push(s / l[i][i]);
    }
    x
}

/// Pivots and factor of `A[pivots, pivots]`.
pub fn pivoted(a: &Table, tolerance: f64) -> (Vec<usize>, Table) {
    let n = a.len();
    let mut columns: Table = Vec::new();
    let mut chosen: Vec<usize> = Vec::new();
    let mut d: Vec<f64> = (0..n).map(|i| a[i][i]).collect();
    while chosen.len() < n {
        let p = (0..n).fold(0, |b, i| if d[i] > d[b] { i } else { b });
        if d[p] <= tolerance {
            break;
        }
        let root = d[p].sqrt();
        let column: Vec<f64> = (0..n).map(|i| (a[i][p] - columns.iter().map(|c| c[i] * c[p]).sum::<f64>()) / root).collect();
        for i in 0..n {
            d[i] -= column[i] * column[i];
        }
        d[p] = 0.0;
        chosen.push(p);
        columns.push(column);
    }
    let m = chosen.len();
    let lower = (0..m).map(|i| (0..m).map(|j| if j <= i { columns[j][chosen[i]] } else { 0.0 }).collect()).collect();
    (chosen, lower)
}

pub fn largest_eigenvalue(a: &Table) -> f64 {
    eigenvalues(a).into_iter().fold(0.0, f64::max)
}

/// `ρ(r) = 1 + (r + √(r²+4r))/2`.
pub fn rho(r: f64) -> f64 {
    1.0 + (r + (r * r + 4.0 * r).sqrt()) / 2.0
}

pub fn power(rng: &mut ChaCha8Rng, low: f64, high: f64) -> f64 {
    10.0_f64.powf(rng.random_range(low..high))
}

pub fn random_points(rng: &mut ChaCha8Rng, n: usize, dim: usize, low: f64, high: f64) -> Table {
    (0..n).map(|_| (0..dim).map(|_| rng.random_range(low..high)).collect()).collect()
}

pub fn random_kernel(rng: &mut ChaCha8Rng) -> Plain {
    let shapes = [Shape::SquaredExponential, Shape::MaternHalf, Shape::MaternThreeHalves, Shape::MaternFiveHalves];
    Plain { shape: shapes[rng.random_range(0..4)], lengthscale: power(rng, -1.0, 0.5), variance: power(rng, -1.0, 1.0) }
}

/// A random problem: kernel, ridge, data with repeats, inducing points among the data, outside them, and repeated.
pub struct Problem {
    pub kernel: Plain,
    pub tau: f64,
    pub x: Table,
    pub z: Table,
    pub queries: Table,
}

pub fn random_problem(rng: &mut ChaCha8Rng, largest: usize) -> Problem {
    let kernel = random_kernel(rng);
    let (n, m, dim) = (rng.random_range(1..=largest), rng.random_range(1..=12), rng.random_range(1..=3));
    let mut x = random_points(rng, n, dim, 0.0, 1.0);
    for _ in 0..rng.random_range(0..=n / 4) {
        let (a, b) = (rng.random_range(0..n), rng.random_range(0..n));
        x[a] = x[b].clone();
    }
    let mut z = random_points(rng, m, dim, -0.3, 1.3);
    for i in 0..m {
        match rng.random_range(0..4) {
            0 => z[i] = z[rng.random_range(0..m)].clone(),
            1 | 2 => z[i] = x[rng.random_range(0..n)].clone(),
            _ => {}
        }
    }
    let mut queries = random_points(rng, 3, dim, -0.5, 1.5);
    queries.push(z[rng.random_range(0..m)].clone());
    queries.push(x[rng.random_range(0..n)].clone());
    Problem { kernel, tau: power(rng, -2.5, 1.0), x, z, queries }
}

impl Problem {
    pub fn information(&self) -> Information {
        information(&self.kernel, self.tau, &self.x, &self.z)
    }

    /// `D = K − κ` on the data, repeats included.
    pub fn residual(&self) -> Table {
        let (k, kappa) = (self.kernel.table(&self.x, &self.x), self.kernel.nystrom(&self.z, &self.x, &self.x));
        k.iter().zip(&kappa).map(|(a, b)| a.iter().zip(b).map(|(u, v)| u - v).collect()).collect()
    }
}

pub fn points(rows: &Table) -> Points {
    Points::from_rows(rows).unwrap()
}

pub fn information(kernel: &Plain, tau: f64, x: &Table, z: &Table) -> Information {
    let features = Arc::new(FeatureMap::new(kernel.kernel(), points(z)).unwrap());
    Information::new(features, tau, Arc::new(Locations::new(points(x), Collected::Designed))).unwrap()
}
