//! The dual certificate: the best fractional design bounds every design from above.

use super::domain::GainDomain;
use super::greedy::CountedDesign;
use crate::error::Result;

/// Multiplicative steps at most.
const STEPS: usize = 60;

/// Fewer of them, down to 4, where steps × candidates × features² would exceed this.
const DUAL_WORK: f64 = 1e11;

/// The gap, as a share of the gain, below which more steps are not worth their cost.
const GOOD_GAP: f64 = 1e-3;

/// The share of weight spread evenly at the start: a candidate of weight 0 would keep it for ever.
const SPREAD: f64 = 0.3;

/// What the multiplicative steps found.
pub(super) struct Dual {
    /// The smallest upper bound on $\gamma_N$ within the features.
    pub bound: f64,
    /// Weights of the last design, summing to 1.
    pub weights: Vec<f64>,
}

impl GainDomain {
    /// Algorithm notes 6.2 (b): for weights $\pi$ with counts $N\pi$ the first-order gap of the concave problem gives
    /// $\gamma_N \le I(\pi) + \frac{N}{2\tau^2}\left(\max_x\sigma_\pi^2(x) - \sum_x\pi_x\sigma_\pi^2(x)\right)$.
    /// Steps $\pi \leftarrow \pi\circ\sigma_\pi^2/\sum\pi\sigma_\pi^2$ raise $I(\pi)$; the best bound of all steps is kept. Cost O(AD²) a step.
    pub(super) fn dual(&self, evaluations: usize, start: &[f64]) -> Result<Dual> {
        let (n, tau2) = (evaluations as f64, self.ridge * self.ridge);
        let total: f64 = start.iter().sum();
        let even = SPREAD / start.len() as f64;
        let mut weights: Vec<f64> = start.iter().map(|c| (1.0 - SPREAD) * c / total + even).collect();
        let mut best = f64::INFINITY;
        let step_work = (self.len() * self.rank() * self.rank()) as f64;
        let steps = ((DUAL_WORK / step_work) as usize).clamp(4, STEPS);
        for _ in 0..steps {
            let counts: Vec<f64> = weights.iter().map(|w| n * w).collect();
            let CountedDesign { gain, variance, .. } = self.counted(&counts)?;
            let largest = variance.iter().copied().fold(0.0, f64::max);
            let mean: f64 = weights.iter().zip(&variance).map(|(w, v)| w * v).sum();
            let gap = n / (2.0 * tau2) * (largest - mean).max(0.0);
            best = best.min(gain + gap);
            if mean <= 0.0 || best - gain <= GOOD_GAP * gain {
                break;
            }
            weights.iter_mut().zip(&variance).for_each(|(w, v)| *w *= v / mean);
            let sum: f64 = weights.iter().sum();
            weights.iter_mut().for_each(|w| *w /= sum);
        }
        Ok(Dual { bound: best, weights })
    }
}
