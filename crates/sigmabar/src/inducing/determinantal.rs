//! A determinantal point process of fixed size, drawn exactly.

use super::stop::positive_size;
use super::weighted::Weighted;
use super::{Inducing, sampling};
use crate::error::{Error, Result};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use sigmabar_linalg::{SymmetricEigen, norm_squared, symmetric_eigen};

/// Beyond this the eigenvectors cost more than the process is worth.
const LARGEST: usize = 5000;

/// $P(S)\propto\det\tilde K_{SS}$ over the subsets of the size (algorithm notes 4.1).
pub(super) fn select(size: usize, weighted: &Weighted<'_>, rng: &mut ChaCha8Rng) -> Result<Inducing> {
    positive_size(size)?;
    let eligible = weighted.eligible();
    if eligible.len() <= size {
        return Inducing::chosen(weighted.locations, eligible);
    }
    if eligible.len() > LARGEST {
        return Err(Error::Premise {
            what: "an exact determinantal draw",
            reason: "there are more than 5000 distinct locations; use the chain, or randomly pivoted Cholesky",
        });
    }
    let eigen = symmetric_eigen(&weighted.block(&eligible, &eligible)?)?;
    let kept = eigenvectors(&eigen.values, size, rng);
    let chosen = project(&eigen, &kept, rng);
    Inducing::chosen(weighted.locations, chosen.into_iter().map(|i| eligible[i]).collect())
}

/// Which eigenvectors: a subset of the size with probability proportional to the product of its eigenvalues.
fn eigenvectors(values: &[f64], size: usize, rng: &mut ChaCha8Rng) -> Vec<usize> {
    let n = values.len();
    let floor = n as f64 * f64::EPSILON * values.iter().copied().fold(0.0, f64::max);
    let logs: Vec<f64> = values.iter().map(|&v| if v > floor { v.ln() } else { f64::NEG_INFINITY }).collect();
    let size = size.min(logs.iter().filter(|l| l.is_finite()).count());
    // log E[l][j], the elementary symmetric polynomials of the first j eigenvalues: E[l][j] = E[l][j−1] + λ_j E[l−1][j−1].
    let mut e = vec![vec![f64::NEG_INFINITY; n + 1]; size + 1];
    e[0].fill(0.0);
    for l in 1..=size {
        for j in l..=n {
            e[l][j] = log_sum(e[l][j - 1], logs[j - 1] + e[l - 1][j - 1]);
        }
    }
    let mut kept = Vec::with_capacity(size);
    let mut left = size;
    for j in (1..=n).rev() {
        if left == 0 {
            break;
        }
        // With j eigenvectors left for as many places all are kept; the quotient below is then 1 up to rounding.
        let keep = (logs[j - 1] + e[left - 1][j - 1] - e[left][j]).exp();
        if rng.random::<f64>() < keep {
            kept.push(j - 1);
            left -= 1;
        }
    }
    kept
}

/// $\log(e^a + e^b)$.
fn log_sum(a: f64, b: f64) -> f64 {
    let (high, low) = if a > b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

/// Draws from the projection onto the kept eigenvectors: each point in proportion to its residual row norm, then Gram–Schmidt, which is
/// randomly pivoted Cholesky on the projector.
fn project(eigen: &SymmetricEigen, kept: &[usize], rng: &mut ChaCha8Rng) -> Vec<usize> {
    let n = eigen.vectors.rows();
    let rows: Vec<Vec<f64>> = (0..n).map(|i| kept.iter().map(|&j| eigen.vectors[(i, j)]).collect()).collect();
    let mut residual: Vec<f64> = rows.iter().map(|row| norm_squared(row)).collect();
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(kept.len());
    let mut chosen = Vec::with_capacity(kept.len());
    for _ in kept {
        let Some(&i) = sampling::with_replacement(&residual, 1, rng).first() else { break };
        // The new direction: row i without its part along the basis, twice for orthogonality to rounding.
        let mut direction = rows[i].clone();
        for _ in 0..2 {
            for b in &basis {
                let along = sigmabar_linalg::dot(&direction, b);
                direction.iter_mut().zip(b).for_each(|(v, b)| *v -= along * b);
            }
        }
        let length = norm_squared(&direction).sqrt();
        residual[i] = 0.0;
        chosen.push(i);
        if length > 0.0 {
            direction.iter_mut().for_each(|v| *v /= length);
            for (d, row) in residual.iter_mut().zip(&rows) {
                *d = (*d - sigmabar_linalg::dot(row, &direction).powi(2)).max(0.0);
            }
            basis.push(direction);
        }
    }
    chosen
}
