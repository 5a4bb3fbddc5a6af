//! Inducing points for a design: greedy pivots among the candidates, as many as the number of measurements calls for.

use crate::error::{Result, at_least_one, positive};
use crate::features::FeatureMap;
use crate::inducing::PartialCholesky;
use crate::kernel::Kernel;
use crate::origin::{Origin, Sourced};
use crate::points::{Collected, Locations, Points, PointsRef};
use sigmabar_linalg::{Matrix, product_transposed, symmetric_eigenvalues};
use std::sync::Arc;

/// Pivots added between two looks at the rule.
const SMALLEST_STEP: usize = 16;
/// The dictionary grows when at the candidate to be measured the projection error is more than this share of the variance: measuring there
/// would change too little.
const DOMINANCE: f64 = 0.5;

/// How many inducing points a growing dictionary takes (algorithm notes 5.3).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct DictionarySize {
    /// $\theta$ in $\frac nA\hat\lambda(D) \le \theta\tau^2$ with $n$ measurements on $A$ candidates: a target, not a claim. 0.1 by default.
    pub share: f64,
    /// At most this many. 2000 by default.
    pub max_size: usize,
}

impl Default for DictionarySize {
    fn default() -> Self {
        Self { share: 0.1, max_size: 2000 }
    }
}

impl DictionarySize {
    /// At most `max_size` inducing points.
    #[must_use]
    pub fn at_most(max_size: usize) -> Self {
        Self { max_size, ..Self::default() }
    }

    /// With another target $\theta$.
    #[must_use]
    pub fn with_share(self, share: f64) -> Self {
        Self { share, ..self }
    }

    pub(super) fn validate(&self) -> Result<()> {
        positive("share", self.share)?;
        at_least_one("max_size", self.max_size).map(drop)
    }

    /// Whether to add inducing points before measuring where the variance is `value` and the projection error `residual`.
    pub(super) fn is_called_for(&self, features: &FeatureMap, residual: f64, value: f64) -> bool {
        features.len() < self.max_size && is_dominated(features, residual, value)
    }

    /// Candidates to look for inducing points among: all, or as many at equal steps as have room for their factor in `memory` bytes.
    pub(crate) fn sample(&self, candidates: PointsRef<'_>, memory: usize) -> Result<Points> {
        let room = (memory / (size_of::<f64>() * self.max_size)).max(2 * self.max_size);
        let step = candidates.len().div_ceil(room);
        if step == 1 {
            return Ok(candidates.to_points());
        }
        candidates.select(&(0..candidates.len()).step_by(step).collect::<Vec<_>>())
    }

    /// Greedy pivots until the rule holds for `count` measurements spread over the sample.
    pub(crate) fn start(&self, kernel: &Sourced<Kernel>, ridge: f64, sample: Points, count: usize) -> Result<FeatureMap> {
        let locations = Locations::new(sample, Collected::Designed);
        let mut factor = PartialCholesky::new(&kernel.value, &locations)?;
        let target = self.share * ridge * ridge * locations.distinct() as f64 / count as f64;
        loop {
            let before = factor.len();
            // The pivots of a step are the look-ahead by which those before are judged; once they suffice it is not kept.
            let step = SMALLEST_STEP.max(before / 8).min(self.max_size.saturating_sub(before));
            let added = factor.add_greedy(step)?;
            if before > 0 && added > 0 && explained_norm(&factor, before)? <= target {
                factor.truncate(before);
                break;
            }
            if added < step || factor.len() >= self.max_size {
                break;
            }
        }
        FeatureMap::new(kernel.clone(), Sourced::new(factor.pivots()?, Origin::Guaranteed))
    }

    /// A quarter more greedy pivots from the sample and the point `wanted`, where they are missed.
    pub(super) fn enlarge(&self, features: &FeatureMap, mut sample: Points, wanted: &[f64]) -> Result<Arc<FeatureMap>> {
        sample.push(wanted)?;
        let locations = Locations::new(sample, Collected::Designed);
        let mut factor = PartialCholesky::with_points(features.kernel(), &locations, features.inducing())?;
        let step = SMALLEST_STEP.max(features.len() / 4).min(self.max_size - features.len());
        factor.add_greedy(step)?;
        let inducing = Sourced::new(factor.pivots()?, features.sourced_given().origin);
        Ok(Arc::new(FeatureMap::new(features.sourced_kernel().clone(), inducing)?))
    }
}

/// Whether what the inducing points miss at a candidate, `residual`, is so much of its variance `value` that measuring there would change too little.
pub(super) fn is_dominated(features: &FeatureMap, residual: f64, value: f64) -> bool {
    residual > DOMINANCE * value && residual > 4.0 * features.residual_rounding(value)
}

/// $\hat\lambda = \lambda_{\max}(F_p^\top F_p) \le \lambda_{\max}(D)$ for the dictionary without the pivots from `first` on. Greedy pivots follow the
/// largest residuals, so that it comes close.
fn explained_norm(factor: &PartialCholesky<'_>, first: usize) -> Result<f64> {
    let entries: Vec<f64> = (first..factor.len()).flat_map(|j| factor.row(j)).collect();
    let count = factor.len() - first;
    let columns = entries.len() / count.max(1);
    let rows = Matrix::from_vec(entries, count, columns);
    Ok(symmetric_eigenvalues(&product_transposed(&rows, &rows)?)?.last().copied().unwrap_or(0.0))
}
