//! Joint draws from a Gaussian whose covariance may be singular.

use crate::error::{Result, same_length};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use sigmabar_linalg::{Matrix, PivotedCholesky, product_transposed};

/// Directions of smaller variance than this share of the largest carry no visible randomness and are left out.
const SAMPLE_TOLERANCE: f64 = 1e-14;

/// `size` draws of $N(\text{mean}, \text{covariance})$, one per row, through a rank-revealing Cholesky factor: a singular covariance is fine. Cost O(q³ + size·q²).
///
/// # Errors
/// [`crate::Error::Length`] when mean and covariance differ in size.
pub fn sample_gaussian(mean: &[f64], covariance: &Matrix, size: usize, seed: u64) -> Result<Matrix> {
    sample_coarsely(mean, covariance, SAMPLE_TOLERANCE, size, seed)
}

/// The same without directions of smaller variance than `tolerance` times the largest. Cost O(q²r + size·qr) for $r$ directions.
pub(crate) fn sample_coarsely(mean: &[f64], covariance: &Matrix, tolerance: f64, size: usize, seed: u64) -> Result<Matrix> {
    let q = mean.len();
    same_length("covariance", q, covariance.rows())?;
    let largest = covariance.diagonal().into_iter().fold(0.0, f64::max);
    let pivoted = PivotedCholesky::new(covariance, tolerance * largest, q)?;
    let rank = pivoted.pivots.len();
    if rank == 0 {
        return Ok(Matrix::from_fn(size, q, |_, j| mean[j]));
    }
    // Rows of the factor: L_p for pivots, K_jp L_p⁻ᵀ for the rest; both are K_jp whitened by L_p.
    let mut factor = Matrix::from_fn(q, rank, |j, p| covariance[(j, pivoted.pivots[p])]);
    pivoted.lower.solve_rows(factor.as_mut_slice())?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let normal = Matrix::from_fn(size, rank, |_, _| StandardNormal.sample(&mut rng));
    let mut draws = product_transposed(&normal, &factor)?;
    for i in 0..size {
        draws.row_mut(i).iter_mut().zip(mean).for_each(|(d, m)| *d += m);
    }
    Ok(draws)
}
