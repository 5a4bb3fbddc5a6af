//! Plain loops over the printed formulas, sharing no code with the crate.
#![allow(dead_code, unused_imports, clippy::unwrap_used)]

pub use crate::jacobi::eigenvalues;

pub type Dense = Vec<Vec<f64>>;

pub fn squared_exponential(x: &[f64], z: &[f64], length: f64) -> f64 {
    let s: f64 = x.iter().zip(z).map(|(a, b)| ((a - b) / length).powi(2)).sum();
    (-0.5 * s).exp()
}

/// C^{1/2} K C^{1/2}.
pub fn weighted_gram(x: &[Vec<f64>], counts: &[f64], length: f64) -> Dense {
    let n = x.len();
    (0..n).map(|i| (0..n).map(|j| (counts[i] * counts[j]).sqrt() * squared_exponential(&x[i], &x[j], length)).collect()).collect()
}

/// Solves A x = b by elimination with partial pivoting.
pub fn solve(a: &Dense, b: &[f64]) -> Vec<f64> {
    let n = b.len();
    let mut m: Dense = (0..n).map(|i| a[i].iter().copied().chain([b[i]]).collect()).collect();
    for k in 0..n {
        let p = (k..n).max_by(|&i, &j| m[i][k].abs().total_cmp(&m[j][k].abs())).unwrap();
        m.swap(k, p);
        for i in k + 1..n {
            let f = m[i][k] / m[k][k];
            for j in k..=n {
                m[i][j] -= f * m[k][j];
            }
        }
    }
    let mut x = vec![0.0; n];
    for i in (0..n).rev() {
        x[i] = (m[i][n] - (i + 1..n).map(|j| m[i][j] * x[j]).sum::<f64>()) / m[i][i];
    }
    x
}

/// The determinant by elimination.
pub fn determinant(a: &Dense) -> f64 {
    let n = a.len();
    let mut m = a.clone();
    let mut d = 1.0;
    for k in 0..n {
        let p = (k..n).max_by(|&i, &j| m[i][k].abs().total_cmp(&m[j][k].abs())).unwrap();
        if p != k {
            m.swap(k, p);
            d = -d;
        }
        d *= m[k][k];
        if m[k][k] == 0.0 {
            return 0.0;
        }
        for i in k + 1..n {
            let f = m[i][k] / m[k][k];
            for j in k..n {
                m[i][j] -= f * m[k][j];
            }
        }
    }
    d
}

/// K − K_{XS} K_SS⁻¹ K_SX for a subset S of the rows, by elimination of one pivot after the other.
pub fn schur(k: &Dense, subset: &[usize]) -> Dense {
    let n = k.len();
    let mut d = k.clone();
    for &s in subset {
        let pivot = d[s][s];
        if pivot <= 0.0 {
            continue;
        }
        let row = d[s].clone();
        for i in 0..n {
            for j in 0..n {
                d[i][j] -= row[i] * row[j] / pivot;
            }
        }
        for i in 0..n {
            d[i][s] = 0.0;
            d[s][i] = 0.0;
        }
    }
    d
}

/// Pearson's statistic over cells with expected count at least 5 (the rest pooled), and a bound it exceeds with probability below 1e-5.
pub fn chi_squared(observed: &[f64], expected: &[f64]) -> (f64, f64) {
    let (mut statistic, mut cells, mut rest) = (0.0, 0.0, (0.0, 0.0));
    for (o, e) in observed.iter().zip(expected) {
        if *e >= 5.0 {
            statistic += (o - e).powi(2) / e;
            cells += 1.0;
        } else {
            rest = (rest.0 + o, rest.1 + e);
        }
    }
    if rest.1 > 1.0 {
        statistic += (rest.0 - rest.1).powi(2) / rest.1;
        cells += 1.0;
    }
    let freedom: f64 = cells - 1.0;
    // Wilson–Hilferty at the normal quantile 4.3.
    let w = 1.0 - 2.0 / (9.0 * freedom) + 4.3 * (2.0 / (9.0 * freedom)).sqrt();
    (statistic, freedom * w.powi(3))
}
