//! Posterior-variance resampling, as budgeted kernel bandits do it.

use super::weighted::Weighted;
use super::{Inducing, sampling};
use crate::error::{Error, Result, positive};
use crate::kernel::Kernel;
use crate::points::{Locations, PointsRef};
use rand_chacha::ChaCha8Rng;
use sigmabar_linalg::{GramAccumulator, Lower, PivotedCholesky, RANK_TOLERANCE, norm_squared};

/// Rows streamed at a time.
const STREAM_ROWS: usize = 1024;
/// So many locations are their own dictionary.
const BASE: usize = 32;
/// How often an empty draw is repeated with twice the oversampling.
const RETRIES: usize = 8;

/// For each distinct location the probability $\min(1, q\,c_i\,v_i)$, $v_i = \bar\sigma^2(x_i)/\tau^2$, with which budgeted kernel bandits
/// include it in the next dictionary; $\bar\sigma$ is the sparse posterior standard deviation with the dictionary at hand
/// (algorithm notes 3.1). Cost O(n(md + m²)), memory O(m²).
///
/// # Errors
/// [`Error::Parameter`] for a ridge or oversampling that is not positive, [`Error::Width`] for a dictionary of another width.
pub fn posterior_variance_probabilities(
    kernel: &Kernel,
    ridge: f64,
    locations: &Locations,
    dictionary: PointsRef<'_>,
    oversampling: f64,
) -> Result<Vec<f64>> {
    positive("ridge", ridge)?;
    positive("oversampling", oversampling)?;
    let x = locations.points();
    if dictionary.dim() != x.dim() {
        return Err(Error::Width { what: "dictionary", row: 0, expected: x.dim(), found: dictionary.dim() });
    }
    let counts: Vec<f64> = (0..x.len()).map(|i| locations.count(i)).collect();
    let variances = scaled_variances(kernel, ridge, (x, &counts), dictionary)?;
    Ok(variances.iter().zip(&counts).map(|(v, c)| (oversampling * c * v).min(1.0)).collect())
}

/// $v = \bar\sigma^2/\tau^2 = (s_1^2 + \lVert L_B^{-1}\psi\rVert^2)/\tau^2$ at weighted points.
fn scaled_variances(kernel: &Kernel, ridge: f64, (x, counts): (PointsRef<'_>, &[f64]), dictionary: PointsRef<'_>) -> Result<Vec<f64>> {
    let rho = ridge * ridge;
    let prior = kernel.diagonal(x);
    let gram = kernel.gram(dictionary)?;
    let pivoted = PivotedCholesky::new(&gram, RANK_TOLERANCE * kernel.max_diagonal(dictionary), dictionary.len())?;
    if pivoted.pivots.is_empty() {
        return Ok(prior.iter().map(|k| k / rho).collect());
    }
    let z = dictionary.select(&pivoted.pivots)?;
    let prepared = kernel.prepare(z.view())?;
    let m = z.len();
    let features = |start: usize| -> Result<Vec<f64>> {
        let block = x.range(start, (start + STREAM_ROWS).min(x.len()));
        let mut rows = vec![0.0; block.len() * m];
        prepared.par_rows_into(block, &mut rows);
        pivoted.lower.solve_rows(&mut rows)?;
        Ok(rows)
    };
    let mut sum = GramAccumulator::new(m);
    for start in (0..x.len()).step_by(STREAM_ROWS) {
        let mut rows = features(start)?;
        rows.chunks_exact_mut(m).zip(&counts[start..]).for_each(|(row, c)| row.iter_mut().for_each(|v| *v *= c.sqrt()));
        sum.add_rows(&rows);
    }
    // B = I + G/τ²
    let mut b = sum.finish()?;
    b.as_mut_slice().iter_mut().for_each(|v| *v /= rho);
    (0..m).for_each(|i| b[(i, i)] += 1.0);
    let lower_b = Lower::cholesky(&b)?;
    let mut out = Vec::with_capacity(x.len());
    for start in (0..x.len()).step_by(STREAM_ROWS) {
        let mut rows = features(start)?;
        let missed: Vec<f64> = rows.chunks_exact(m).zip(&prior[start..]).map(|(psi, k)| (k - norm_squared(psi)).max(0.0)).collect();
        lower_b.solve_rows(&mut rows)?;
        out.extend(rows.chunks_exact(m).zip(missed).map(|(c, s)| (s + norm_squared(c)) / rho));
    }
    Ok(out)
}

/// Halves the locations down to a few, takes these as the first dictionary, and resamples on twice as many again and again: each dictionary
/// is drawn with the variances of the one before it.
pub(super) fn select(oversampling: f64, weighted: &Weighted<'_>, ridge: f64, rng: &mut ChaCha8Rng) -> Result<Inducing> {
    positive("oversampling", oversampling)?;
    let eligible = weighted.eligible();
    let order: Vec<usize> = sampling::subset(eligible.len(), eligible.len(), rng).into_iter().map(|i| eligible[i]).collect();
    let mut sizes = vec![order.len()];
    while sizes[sizes.len() - 1] > BASE {
        sizes.push(sizes[sizes.len() - 1].div_ceil(2));
    }
    let base = sizes[sizes.len() - 1];
    let mut chosen = order[..base].to_vec();
    let mut inclusion = vec![1.0; base];
    for &n in sizes.iter().rev() {
        let list = &order[..n];
        let points = weighted.locations.points().select(list)?;
        let counts: Vec<f64> = list.iter().map(|&i| weighted.locations.count(i)).collect();
        let dictionary = weighted.locations.points().select(&chosen)?;
        let variances = scaled_variances(weighted.kernel, ridge, (points.view(), &counts), dictionary.view())?;
        let weights: Vec<f64> = variances.iter().zip(&counts).map(|(v, c)| c * v).collect();
        (chosen, inclusion) = resampled(oversampling, &weights, list, rng);
    }
    Ok(Inducing::chosen(weighted.locations, chosen)?.with_inclusion(inclusion))
}

fn resampled(oversampling: f64, weights: &[f64], list: &[usize], rng: &mut ChaCha8Rng) -> (Vec<usize>, Vec<f64>) {
    let mut q = oversampling;
    for _ in 0..RETRIES {
        let probabilities: Vec<f64> = weights.iter().map(|w| (q * w).min(1.0)).collect();
        let kept = sampling::independent(&probabilities, rng);
        if !kept.is_empty() {
            return kept.into_iter().map(|i| (list[i], probabilities[i])).unzip();
        }
        q *= 2.0;
    }
    // The data hardly matter at this ridge: one point, the least certain.
    let largest = (0..weights.len()).max_by(|&a, &b| weights[a].total_cmp(&weights[b])).unwrap_or(0);
    (vec![list[largest]], vec![(oversampling * weights[largest]).min(1.0)])
}
