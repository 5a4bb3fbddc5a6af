//! Leverage scores from the density of the locations alone.

use super::stop::positive_size;
use super::weighted::Weighted;
use super::{Inducing, sampling};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Lengthscale};
use crate::points::Locations;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use sigmabar_linalg::parallel;
use statrs::function::gamma::ln_gamma;
use std::f64::consts::PI;

/// Locations that the density estimate sums over.
const DENSITY_SAMPLE: usize = 2000;
/// Nodes of the table of scores against the logarithm of the density.
const TABLE: usize = 64;
/// Nodes of the radial integral, geometric in the radius.
const RADII: usize = 600;

/// Leverage scores of a stationary kernel as if the locations near each point went on for ever with the same density
/// (algorithm notes 2.3): $\ell_i \approx c_i\int ds\,/\,(n p(x_i) + \tau^2/m(s))$, where $m$ is the spectral density and $p$ a Gaussian density
/// estimate over at most 2000 locations. Cost O(n). No guarantee: certify what is chosen with them.
fn scores(weighted: &Weighted<'_>, ridge: f64, rng: &mut ChaCha8Rng) -> Result<Vec<f64>> {
    let dim = weighted.locations.points().dim();
    let Some(scale) = volume(weighted.kernel, dim) else {
        return Err(Error::Premise {
            what: "choosing by density-based leverage scores",
            reason: "it needs a squared-exponential or Matérn kernel over all columns; use randomly pivoted Cholesky instead",
        });
    };
    // Mass per unit volume of the coordinates in which the spectral density is meant.
    let mass: Vec<f64> = masses(weighted.locations, rng).into_iter().map(|m| m * scale).collect();
    let logs: Vec<f64> = mass.iter().map(|m| m.max(f64::MIN_POSITIVE).ln()).collect();
    let low = logs.iter().copied().fold(f64::INFINITY, f64::min);
    let high = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let width = (high - low) / (TABLE - 1) as f64;
    let table: Vec<f64> = (0..TABLE).map(|i| integral(weighted.kernel, dim, ridge * ridge, (low + width * i as f64).exp()).ln()).collect();
    let score = |log: f64| {
        let position = if width > 0.0 { ((log - low) / width).clamp(0.0, (TABLE - 1) as f64) } else { 0.0 };
        let i = (position as usize).min(TABLE - 2);
        let t = position - i as f64;
        (table[i] * (1.0 - t) + table[i + 1] * t).exp()
    };
    Ok(logs.iter().enumerate().map(|(i, &log)| (weighted.locations.count(i) * score(log)).clamp(0.0, 1.0)).collect())
}

/// The volume that one unit of the spectral density's coordinates has in the points' coordinates: $\prod\ell_i$ for one length-scale per column.
fn volume(kernel: &Kernel, dim: usize) -> Option<f64> {
    match kernel {
        Kernel::SquaredExponential(_) | Kernel::Matern(_) => kernel.lengthscale().map(|lengthscale| match lengthscale {
            Lengthscale::Shared(_) => 1.0,
            Lengthscale::PerColumn(lengths) => lengths.iter().product(),
        }),
        Kernel::Columns { columns, kernel } => {
            let mut sorted = columns.clone();
            sorted.sort_unstable();
            // A repeated or missing column leaves a direction along which the kernel is constant.
            sorted.iter().copied().eq(0..dim).then(|| volume(kernel, dim)).flatten()
        }
        _ => None,
    }
}

/// $n\,p(x_i) = \sum_j c_j\prod_a h_a^{-1}\varphi((x_{ia}-x_{ja})/h_a)$, the sum over a sample scaled up to all.
fn masses(locations: &Locations, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let points = locations.points();
    let (n, dim) = (points.len(), points.dim());
    let sample = sampling::subset(n, DENSITY_SAMPLE, rng);
    let sampled: f64 = sample.iter().map(|&j| locations.count(j)).sum();
    let widths = bandwidths(locations, &sample);
    let norm: f64 = widths.iter().map(|h| (2.0 * PI).sqrt() * h).product();
    let factor = locations.total() / sampled / norm;
    let one = |i| {
        let x = points.row(i);
        let term = |&j: &usize| {
            let z = points.row(j);
            let squared: f64 = (0..dim).map(|a| ((x[a] - z[a]) / widths[a]).powi(2)).sum();
            locations.count(j) * (-0.5 * squared).exp()
        };
        factor * sample.iter().map(term).sum::<f64>()
    };
    parallel(|watch| (0..n).into_par_iter().inspect(|_| watch.check()).map(one).collect())
}

/// Silverman's rule per column, with the smaller of standard deviation and quartile range: $0.9\,\min(s, \mathrm{IQR}/1.34)\,n^{-1/(d+4)}$.
fn bandwidths(locations: &Locations, sample: &[usize]) -> Vec<f64> {
    let points = locations.points();
    let shrink = 0.9 * (sample.len() as f64).powf(-1.0 / (points.dim() as f64 + 4.0));
    let width = |a: usize| {
        let mut column: Vec<f64> = sample.iter().map(|&j| points.row(j)[a]).collect();
        column.sort_by(f64::total_cmp);
        let n = column.len();
        let mean = column.iter().sum::<f64>() / n as f64;
        let deviation = (column.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n as f64).sqrt();
        let quartiles = (column[(3 * n / 4).min(n - 1)] - column[n / 4]) / 1.34;
        let spread = if quartiles > 0.0 { deviation.min(quartiles) } else { deviation };
        // A constant column has no density: any width gives the same score to all.
        if spread > 0.0 { shrink * spread } else { 1.0 }
    };
    (0..points.dim()).map(width).collect()
}

/// $S_{d-1}\int_0^\infty r^{d-1}dr/(\text{mass}+\tau^2/m(r))$ by the trapezoidal rule in $\log r$.
fn integral(kernel: &Kernel, dim: usize, rho: f64, mass: f64) -> f64 {
    let density = |r: f64| kernel.spectral_density(dim, r).unwrap_or(0.0);
    let relative = |r: f64| density(r) * (mass / rho).max(1.0 / density(0.0));
    // Where the integrand has fallen by twelve orders of magnitude below its plateau.
    let mut last = 1e-6;
    while relative(last) > 1e-12 && last < 1e12 {
        last *= 2.0;
    }
    let first = last * 1e-9;
    let step = (last / first).ln() / (RADII - 1) as f64;
    let terms = (0..RADII).map(|i| {
        let r = first * (step * i as f64).exp();
        let m = density(r);
        if m > 0.0 { r.powi(dim as i32) / (mass + rho / m) } else { 0.0 }
    });
    let half = 0.5 * dim as f64;
    let sphere = (std::f64::consts::LN_2 + half * PI.ln() - ln_gamma(half)).exp();
    sphere * step * terms.sum::<f64>()
}

pub(super) fn select(size: usize, weighted: &Weighted<'_>, ridge: f64, rng: &mut ChaCha8Rng) -> Result<Inducing> {
    positive_size(size)?;
    let scores = scores(weighted, ridge, rng)?;
    let chosen = sampling::filled_subset(&scores, &weighted.eligible(), size, rng);
    Ok(Inducing::chosen(weighted.locations, chosen)?.with_scores(scores))
}
