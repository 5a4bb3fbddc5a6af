//! More inducing points than predict: behind the look-ahead bound on $\lambda$ and the certification dictionary.

use super::bias::cross_products;
use super::residual_norm::NEGLIGIBLE_SHARE as NEGLIGIBLE;
use crate::error::Result;
use crate::features::FeatureMap;
use crate::information::{Ahead, Information};
use crate::posterior::Posterior;
use sigmabar_linalg::{Matrix, PivotedCholesky, product_transposed};
use std::sync::Arc;

/// Pivots are chosen greedily among at most this many candidates; up to here, among all distinct points.
const CANDIDATES: usize = 1024;

/// The same information seen through up to `pivots` inducing points more: continues the pivoted Cholesky factorisation of
/// $C^{1/2}DC^{1/2}$, greedy in residual times count. `None` where nothing is left beyond rounding.
///
/// Whatever the pivots, every bound drawn from the result is valid; on more than 1024 distinct points the candidates are
/// spread in proportion to what is missing. Cost: one fit with the larger feature map.
/// Where the rows are gone, what was kept of them for this.
pub(crate) fn extended(information: &Information, pivots: usize) -> Result<Option<Information>> {
    if let Some(ahead) = information.ahead() {
        return Ok((pivots > 0).then(|| ahead.information.clone()));
    }
    let chosen = pivots_of(information, pivots)?;
    let mut features = FeatureMap::clone(information.features());
    let before = features.len();
    let locations = information.locations()?;
    let x = locations.points();
    for i in chosen {
        features.append(x.row(i))?;
    }
    if features.len() == before {
        return Ok(None);
    }
    Information::new(Arc::new(features), information.ridge(), Arc::clone(locations)).map(Some)
}

impl Posterior {
    /// The same model without its rows: it predicts as before, and claims by the trace and the direct width. Where $\lambda$ is not negligible, up to `ahead` inducing
    /// points more are kept in their place, for the look-ahead bound and the certification dictionary. Cost O(m³), with them O(nm²).
    ///
    /// # Errors
    /// A failed self-check.
    pub fn without_rows(&self, ahead: usize) -> Result<Self> {
        let (information, summed) = (self.information(), self.summed(None));
        if !information.has_rows() {
            return Ok(self.clone());
        }
        let share = || Ok::<_, crate::Error>(summed.information().trace_norm()?.value / information.ridge().powi(2));
        let more = if ahead > 0 && share()? > NEGLIGIBLE { extended(information, ahead)? } else { None };
        let ahead = match more {
            Some(more) => Some(Ahead { cross: cross_products(information, &more)?, information: more.summed() }),
            None => return Ok(summed),
        };
        Ok(self.summed(ahead))
    }
}

/// Indices of distinct points, in the order of greedy choice.
fn pivots_of(information: &Information, pivots: usize) -> Result<Vec<usize>> {
    let (features, locations) = (information.features(), information.locations()?);
    let missing: Vec<f64> = features.residual(locations.points())?.iter().enumerate().map(|(i, s1)| s1 * locations.count(i)).collect();
    let candidates = spread(&missing, CANDIDATES.max(4 * pivots));
    if candidates.is_empty() || pivots == 0 {
        return Ok(Vec::new());
    }
    let points = locations.points().select(&candidates)?;
    let psi = features.features(points.view())?;
    let explained = product_transposed(&psi, &psi)?;
    let gram = features.kernel().gram(points.view())?;
    let roots: Vec<f64> = candidates.iter().map(|&i| locations.count(i).sqrt()).collect();
    let u = candidates.len();
    let matrix = Matrix::from_fn(u, u, |i, j| roots[i] * roots[j] * (gram[(i, j)] - explained[(i, j)]));
    let diagonal = features.kernel().diagonal(points.view());
    let tolerance = diagonal.iter().zip(&roots).map(|(&k, r)| r * r * features.residual_rounding(k)).fold(0.0, f64::max);
    let factor = PivotedCholesky::new(&matrix, tolerance, pivots)?;
    Ok(factor.pivots.into_iter().map(|i| candidates[i]).collect())
}

/// At most `size` indices, spread systematically in proportion to the weights; all with positive weight if they are few enough.
fn spread(weights: &[f64], size: usize) -> Vec<usize> {
    let positive: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0.0).collect();
    if positive.len() <= size {
        return positive;
    }
    let step = positive.iter().map(|&i| weights[i]).sum::<f64>() / size as f64;
    let (mut reached, mut next) = (0.0, 0.5 * step);
    let mut out = Vec::with_capacity(size);
    for i in positive {
        reached += weights[i];
        if reached >= next {
            out.push(i);
            next = ((reached / step - 0.5).floor() + 1.5) * step;
        }
    }
    out
}
