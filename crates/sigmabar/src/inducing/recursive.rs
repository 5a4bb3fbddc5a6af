//! Recursive ridge leverage scores: as in the theorem, and with a fixed size.

use super::stop::positive_size;
use super::weighted::{Sample, Weighted};
use super::{Inducing, sampling};
use crate::error::{Error, Result};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use sigmabar_linalg::{Matrix, symmetric_eigenvalues};

/// Up to $192\log(1/\delta)$ points the theorem keeps all.
const BASE_CASE: f64 = 192.0;
/// Oversampling of the theorem: $p_i = \min(1, 16\,\tilde\ell_i\log(\sum\tilde\ell/\delta))$.
const OVERSAMPLING: f64 = 16.0;

fn check_delta(delta: f64) -> Result<()> {
    if delta > 0.0 && delta < 1.0 / 32.0 {
        Ok(())
    } else {
        Err(Error::Parameter { name: "delta of the recursive leverage scores", value: delta, requirement: "above 0 and below 1/32" })
    }
}

/// Each on its own with probability one half.
fn halved(indices: &[usize], rng: &mut ChaCha8Rng) -> Vec<usize> {
    indices.iter().copied().filter(|_| rng.random::<f64>() < 0.5).collect()
}

/// Over-estimates $\tilde\ell_i \ge \ell_i$ (with probability $1-\delta$) of the ridge leverage scores by recursive sampling
/// (algorithm notes 1.1): $\tilde\ell_i = \frac{3}{2\tau^2}\bigl(\tilde k_{ii} - \tilde k_S^\top(\tilde K_{SS}+\tau^2\mathrm{diag}\,p)^{-1}\tilde k_S\bigr)$
/// with a sample $S$ of half the points. Not capped at 1. Cost O(ns²).
fn theory_scores(weighted: &Weighted<'_>, rho: f64, sample: &Sample, targets: &[usize]) -> Result<Vec<f64>> {
    let residual = weighted.ridge_residual(sample, rho, targets)?;
    Ok(residual.into_iter().map(|r| 1.5 * r / rho).collect())
}

/// The probabilities of the theorem from its scores.
fn theory_probabilities(scores: &[f64], delta: f64) -> Vec<f64> {
    let total: f64 = scores.iter().sum();
    // A total so small that the logarithm is not positive says that nothing needs to be chosen.
    let factor = OVERSAMPLING * (total / delta).ln().max(0.0);
    scores.iter().map(|l| (factor * l).min(1.0)).collect()
}

/// The recursion of the theorem on a list of points.
fn theory_sample(weighted: &Weighted<'_>, rho: f64, indices: Vec<usize>, delta: f64, rng: &mut ChaCha8Rng) -> Result<Sample> {
    // Lists of the levels, each half of the one before, down to the base case of its own δ.
    let mut levels = vec![(indices, delta)];
    while let Some((list, delta)) = levels.last().filter(|(list, delta)| list.len() as f64 > BASE_CASE * (1.0 / delta).ln()) {
        let next = (halved(list, rng), delta / 3.0);
        levels.push(next);
    }
    let (base, _) = levels.pop().expect("the list of levels starts with one");
    let mut sample = Sample::certain(base);
    for (list, delta) in levels.into_iter().rev() {
        let scores = theory_scores(weighted, rho, &sample, &list)?;
        let probabilities = theory_probabilities(&scores, delta);
        let kept = sampling::independent(&probabilities, rng);
        sample =
            Sample { indices: kept.iter().map(|&i| list[i]).collect(), probabilities: kept.iter().map(|&i| probabilities[i]).collect() };
    }
    Ok(sample)
}

pub(super) fn select_theory(delta: f64, weighted: &Weighted<'_>, ridge: f64, rng: &mut ChaCha8Rng) -> Result<Inducing> {
    check_delta(delta)?;
    let rho = ridge * ridge;
    let all: Vec<usize> = (0..weighted.len()).collect();
    if all.len() as f64 <= BASE_CASE * (1.0 / delta).ln() {
        let n = all.len();
        return Ok(Inducing::chosen(weighted.locations, all)?.with_inclusion(vec![1.0; n]));
    }
    let half = halved(&all, rng);
    let sample = theory_sample(weighted, rho, half, delta / 3.0, rng)?;
    let scores = theory_scores(weighted, rho, &sample, &all)?;
    let probabilities = theory_probabilities(&scores, delta);
    let mut chosen = sampling::independent(&probabilities, rng);
    if chosen.is_empty() {
        // Nothing needs explaining at this ridge; a model needs one point, and the most important is as good as any.
        let largest = (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap_or(0);
        chosen.push(largest);
    }
    let inclusion = chosen.iter().map(|&i| probabilities[i]).collect();
    Ok(Inducing::chosen(weighted.locations, chosen)?.with_scores(scores).with_inclusion(inclusion))
}

/// The fixed-size form (algorithm notes 1.2).
pub(super) fn select_sized(size: usize, weighted: &Weighted<'_>, rng: &mut ChaCha8Rng) -> Result<Inducing> {
    positive_size(size)?;
    let eligible = weighted.eligible();
    if eligible.len() <= size {
        return Inducing::chosen(weighted.locations, eligible);
    }
    let oversampling = (size as f64).ln().max(std::f64::consts::LN_2);
    let rank = (size as f64 / (4.0 * oversampling)).ceil() as usize;
    let order: Vec<usize> = sampling::subset(eligible.len(), eligible.len(), rng).into_iter().map(|i| eligible[i]).collect();
    let mut sizes = vec![order.len()];
    while sizes[sizes.len() - 1] > size {
        sizes.push(sizes[sizes.len() - 1].div_ceil(2));
    }
    let base = sizes.pop().unwrap_or(order.len());
    let mut sample = Sample::certain(order[..base].to_vec());
    let mut scores = Vec::new();
    for (level, &n) in sizes.iter().enumerate().rev() {
        let ridge = level_ridge(weighted, &sample, rank)?;
        let residual = weighted.ridge_residual(&sample, ridge, &order[..n])?;
        scores = residual.into_iter().map(|r| (r / ridge).min(1.0)).collect();
        if level > 0 {
            sample = level_sample(&order[..n], &scores, oversampling, size, rng);
        }
    }
    let mut by_location = vec![0.0; weighted.len()];
    order.iter().zip(&scores).for_each(|(&i, &s)| by_location[i] = s);
    let chosen = sampling::filled_subset(&by_location, &eligible, size, rng);
    Ok(Inducing::chosen(weighted.locations, chosen)?.with_scores(by_location))
}

fn level_sample(list: &[usize], scores: &[f64], oversampling: f64, size: usize, rng: &mut ChaCha8Rng) -> Sample {
    let probabilities: Vec<f64> = scores.iter().map(|l| (oversampling * l).min(1.0)).collect();
    let kept = sampling::independent(&probabilities, rng);
    if kept.is_empty() {
        return Sample::certain(sampling::subset(list.len(), size, rng).into_iter().map(|i| list[i]).collect());
    }
    Sample { indices: kept.iter().map(|&i| list[i]).collect(), probabilities: kept.iter().map(|&i| probabilities[i]).collect() }
}

/// $\bigl(\sum_i w_i^2\tilde k_{ii} - \sum_{j\le k}\lambda_j(W\tilde K_{SS}W)\bigr)/k$, $w = p^{-1/2}$: the tail that a rank-$k$ approximation leaves.
fn level_ridge(weighted: &Weighted<'_>, sample: &Sample, rank: usize) -> Result<f64> {
    let scale = sample.indices.iter().map(|&i| weighted.diagonal[i]).fold(0.0, f64::max);
    if rank >= sample.indices.len() {
        return Ok(1e-5 * scale);
    }
    let block = weighted.block(&sample.indices, &sample.indices)?;
    let w: Vec<f64> = sample.probabilities.iter().map(|p| 1.0 / p.sqrt()).collect();
    let s = w.len();
    let values = symmetric_eigenvalues(&Matrix::from_fn(s, s, |i, j| w[i] * w[j] * block[(i, j)]))?;
    let tail: f64 = values[..s - rank].iter().map(|v| v.max(0.0)).sum();
    Ok((tail / rank as f64).max(1e-7 * scale))
}
