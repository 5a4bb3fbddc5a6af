//! A design on candidates that makes the largest regularised leverage small.

use crate::error::Result;
use crate::kernel::Kernel;
use crate::points::Points;
use crate::strategy::baselines::model::{CandidateModel, Dictionary};
use sigmabar_linalg::argmax;

/// Steps of the method.
const STEPS: usize = 100;

/// Weights $\pi$ on candidates with $\lVert\varphi(x)\rVert^2_{(A_\pi+\gamma I)^{-1}} = \sigma_\pi^2(x)/\gamma$: the posterior variance of algorithm notes 0.2 with weights $\pi$
/// in place of counts and $\gamma$ in place of $\tau^2$ (algorithm notes 6.3).
#[derive(Clone, Debug)]
pub(super) struct ExperimentalDesign {
    weights: Vec<f64>,
    model: CandidateModel,
    gamma: f64,
}

impl ExperimentalDesign {
    /// Frank–Wolfe: $\pi\leftarrow(1-\eta)\pi+\eta e_i$ at the candidate of largest variance, $\eta=1/(k+1)$ in step $k$.
    pub fn new(kernel: &Kernel, gamma: f64, points: Points) -> Result<Self> {
        let count = points.len();
        // All candidates are offered to the dictionary once; those in the span of others add nothing.
        let mut span = CandidateModel::new(kernel, gamma.sqrt(), points, Dictionary::Chosen)?;
        while let Some(next) = argmax(span.residual().iter().copied().enumerate()) {
            if !span.append(next)? {
                break;
            }
        }
        let mut weights = vec![0.0; count];
        for step in 0..STEPS {
            let model = weighted(&span, &weights)?;
            let Some(worst) = argmax(model.variances().into_iter().enumerate()) else { break };
            let share = 1.0 / (step as f64 + 1.0);
            weights.iter_mut().for_each(|w| *w *= 1.0 - share);
            weights[worst] += share;
        }
        let model = weighted(&span, &weights)?;
        Ok(Self { weights, model, gamma })
    }

    /// $f_\pi$.
    pub fn worst(&self) -> f64 {
        self.model.variances().into_iter().fold(0.0, f64::max) / self.gamma
    }

    /// $\lVert\varphi(x)\rVert^2_{(A_\pi+\gamma I)^{-1}}$.
    pub fn at(&self, candidate: usize) -> f64 {
        self.model.variance(candidate) / self.gamma
    }

    /// $\varphi(x)^\top(A_\pi+\gamma I)^{-1}\varphi(x')$ for every $x'$.
    pub fn scores(&self, candidate: usize) -> Result<Vec<f64>> {
        let mut column = self.model.covariance_column(candidate)?;
        column.iter_mut().for_each(|c| *c /= self.gamma);
        Ok(column)
    }

    /// The candidate at a quantile of $\pi$.
    pub fn pick(&self, quantile: f64) -> usize {
        let mut sum = 0.0;
        let mut last = 0;
        for (candidate, weight) in self.weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
            sum += weight;
            last = candidate;
            if quantile < sum {
                return candidate;
            }
        }
        last
    }
}

fn weighted(span: &CandidateModel, weights: &[f64]) -> Result<CandidateModel> {
    let mut model = span.clone();
    for (candidate, &weight) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
        model.count(candidate, 0.0, weight);
    }
    model.refresh()?;
    Ok(model)
}
