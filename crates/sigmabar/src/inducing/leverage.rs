//! Exact ridge leverage scores.

use super::stop::positive_size;
use super::weighted::Weighted;
use super::{Inducing, sampling};
use crate::error::Result;
use rand_chacha::ChaCha8Rng;
use sigmabar_linalg::{Lower, norm_squared};

/// Right-hand sides solved at a time.
const SOLVE_ROWS: usize = 1024;

/// The ridge leverage scores $\ell_i = [\tilde K(\tilde K+\tau^2I)^{-1}]_{ii} = c_i\,\sigma_n^2(x_i)/\tau^2$ of the distinct locations,
/// $\tilde K = C^{1/2}KC^{1/2}$ (algorithm notes 2.1). They lie in $[0,1)$ and sum to the effective dimension. Cost O(n³), memory O(n²).
fn scores(weighted: &Weighted<'_>, ridge: f64) -> Result<Vec<f64>> {
    let n = weighted.len();
    let rho = ridge * ridge;
    let all: Vec<usize> = (0..n).collect();
    let gram = weighted.block(&all, &all)?;
    let mut a = gram.clone();
    (0..n).for_each(|i| a[(i, i)] += rho);
    let lower = Lower::cholesky(&a)?;
    let mut out = Vec::with_capacity(n);
    for part in all.chunks(SOLVE_ROWS) {
        // Two forms of one number: 1 − τ²‖L⁻¹e_i‖² loses digits where ℓ is small, (k_ii − ‖L⁻¹k_i‖²)/τ² where k_ii ≫ τ².
        let small = |i: usize| weighted.diagonal[i] < rho;
        let mut rows = vec![0.0; part.len() * n];
        for (row, &i) in rows.chunks_exact_mut(n).zip(part) {
            if small(i) {
                row.copy_from_slice(gram.row(i));
            } else {
                row[i] = 1.0;
            }
        }
        lower.solve_rows(&mut rows)?;
        for (row, &i) in rows.chunks_exact(n).zip(part) {
            let square = norm_squared(row);
            let score = if small(i) { (weighted.diagonal[i] - square) / rho } else { 1.0 - rho * square };
            out.push(score.clamp(0.0, 1.0));
        }
    }
    Ok(out)
}

pub(super) fn select(size: usize, weighted: &Weighted<'_>, ridge: f64, rng: &mut ChaCha8Rng) -> Result<Inducing> {
    positive_size(size)?;
    let scores = scores(weighted, ridge)?;
    let chosen = sampling::filled_subset(&scores, &weighted.eligible(), size, rng);
    Ok(Inducing::chosen(weighted.locations, chosen)?.with_scores(scores))
}
