//! Bottom-up leverage score sampling.

use super::weighted::{Sample, Weighted};
use super::{Inducing, sampling};
use crate::error::{Result, positive};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// How often an empty draw is repeated with twice the oversampling before one point is taken by force.
const RETRIES: usize = 8;

/// A path of ridges from $\operatorname{tr}\tilde K$ down to $\tau^2$; at each the candidates are thinned to leverage scores at that ridge
/// (algorithm notes 2.2).
pub(super) fn select(oversampling: f64, weighted: &Weighted<'_>, ridge: f64, rng: &mut ChaCha8Rng) -> Result<Inducing> {
    positive("oversampling", oversampling)?;
    let target = ridge * ridge;
    let start: f64 = weighted.diagonal.iter().sum();
    let probabilities: Vec<f64> = weighted.diagonal.iter().map(|k| (oversampling * k / start).min(1.0)).collect();
    let mut sample = drawn(sampling::independent(&probabilities, rng), &probabilities);
    if sample.indices.is_empty() {
        let one = sampling::with_replacement(&weighted.diagonal, 1, rng);
        sample = drawn(one, &probabilities);
    }
    for rho in path(start, target, weighted.len()) {
        sample = step(oversampling, weighted, &sample, rho, rng)?;
    }
    Ok(Inducing::chosen(weighted.locations, sample.indices)?.with_inclusion(sample.probabilities))
}

/// $\lceil\ln n\rceil$ ridges, geometric, the last one the target.
fn path(start: f64, target: f64, n: usize) -> Vec<f64> {
    if target >= start {
        return vec![target];
    }
    let steps = (n as f64).ln().ceil().max(1.0) as usize;
    (1..=steps).map(|h| if h == steps { target } else { start * (target / start).powf(h as f64 / steps as f64) }).collect()
}

fn step(oversampling: f64, weighted: &Weighted<'_>, sample: &Sample, rho: f64, rng: &mut ChaCha8Rng) -> Result<Sample> {
    let mut q = oversampling;
    for _ in 0..RETRIES {
        let next = thinned(q, weighted, sample, rho, rng)?;
        if !next.indices.is_empty() {
            return Ok(next);
        }
        q *= 2.0;
    }
    // The data hardly matter at this ridge: one point, in proportion to its variance.
    let one = sampling::with_replacement(&weighted.diagonal, 1, rng);
    let probabilities: Vec<f64> = weighted.diagonal.iter().map(|k| (oversampling * k / (k + rho)).min(1.0)).collect();
    Ok(drawn(one, &probabilities))
}

/// Candidates with probability $u_i = \min(1, q\tilde k_{ii}/(\tilde k_{ii}+\rho))$, kept with probability $\min(q t_i, u_i)/u_i$: a point is then
/// included with probability $p_i = \min(q t_i, u_i)$, and it is this one, not the conditional one, that the next step needs.
fn thinned(q: f64, weighted: &Weighted<'_>, sample: &Sample, rho: f64, rng: &mut ChaCha8Rng) -> Result<Sample> {
    let superset: Vec<f64> = weighted.diagonal.iter().map(|k| (q * k / (k + rho)).min(1.0)).collect();
    let candidates = sampling::independent(&superset, rng);
    let residual = weighted.ridge_residual(sample, rho, &candidates)?;
    let mut next = Sample::default();
    for (&i, r) in candidates.iter().zip(residual) {
        let score = (r / rho).clamp(0.0, 1.0);
        let p = (q * score).min(superset[i]);
        if rng.random::<f64>() * superset[i] < p {
            next.indices.push(i);
            next.probabilities.push(p);
        }
    }
    Ok(next)
}

fn drawn(indices: Vec<usize>, probabilities: &[f64]) -> Sample {
    Sample { probabilities: indices.iter().map(|&i| probabilities[i]).collect(), indices }
}
