//! Greedy design on a finite domain: the next point is always where the variance is largest.

use super::domain::GainDomain;
use crate::error::Result;
use sigmabar_linalg::{GramAccumulator, Lower, Matrix, dot, matvec_rows, norm_squared};

/// Steps between two refreshes of the running variance from a factorisation.
const REFRESH_AFTER: usize = 500;

/// Variances that differ by less than this share count as equal; the greedy bound makes up for it.
pub(super) const TIE: f64 = 1e-9;

/// A design as counts per candidate, fractional counts allowed, and the variance it leaves.
pub(super) struct CountedDesign {
    /// $\tfrac12\log\det(I + \tau^{-2}\sum_x c_x\psi_x\psi_x^\top)$.
    pub gain: f64,
    /// $\sigma_c^2(x)$ within the features, at every candidate.
    pub variance: Vec<f64>,
    pub lower: Lower,
}

impl GainDomain {
    /// Factors $B = I + \tau^{-2}\sum_x c_x\psi_x\psi_x^\top$. Cost O(AD²).
    pub(super) fn counted(&self, counts: &[f64]) -> Result<CountedDesign> {
        let (rank, tau2) = (self.rank(), self.ridge * self.ridge);
        let mut gram = GramAccumulator::new(rank);
        let mut rows = Vec::new();
        for (x, &count) in counts.iter().enumerate().filter(|(_, c)| **c > 0.0) {
            let root = (count / tau2).sqrt();
            rows.extend(self.features.row(x).iter().map(|v| v * root));
        }
        gram.add_rows(&rows);
        let mut b = gram.finish()?;
        for i in 0..rank {
            b[(i, i)] += 1.0;
        }
        let lower = Lower::cholesky(&b)?;
        let mut whitened = self.features.clone();
        lower.solve_rows(whitened.as_mut_slice())?;
        let variance = (0..whitened.rows()).map(|x| norm_squared(whitened.row(x))).collect();
        Ok(CountedDesign { gain: 0.5 * lower.log_det(), variance, lower })
    }

    /// The counts of `steps` greedy choices, repeats allowed; the lowest index among ties. Cost O(steps·A·D).
    pub(super) fn greedy_counts(&self, steps: usize) -> Result<Vec<f64>> {
        let mut counts = vec![0.0; self.len()];
        let mut sweep = Sweep::new(self, &counts)?;
        for step in 0..steps {
            if step > 0 && step % REFRESH_AFTER == 0 {
                sweep = Sweep::new(self, &counts)?;
            }
            let chosen = sweep.largest();
            counts[chosen] += 1.0;
            sweep.observe(chosen);
        }
        Ok(counts)
    }
}

/// The running variance of the sweep of algorithm notes 0.2: $W = FB^{-1}$ and $\sigma^2 = \operatorname{diag} FB^{-1}F^\top$.
struct Sweep<'a> {
    domain: &'a GainDomain,
    solved: Matrix,
    variance: Vec<f64>,
    image: Vec<f64>,
}

impl<'a> Sweep<'a> {
    fn new(domain: &'a GainDomain, counts: &[f64]) -> Result<Self> {
        let CountedDesign { variance, lower, .. } = domain.counted(counts)?;
        let mut solved = domain.features.clone();
        lower.solve_rows(solved.as_mut_slice())?;
        lower.solve_transposed_rows(solved.as_mut_slice())?;
        Ok(Self { domain, solved, variance, image: vec![0.0; domain.len()] })
    }

    /// The first candidate within rounding of the largest variance: symmetric domains are full of ties, and their order should not hang on the last digit.
    fn largest(&self) -> usize {
        let largest = self.variance.iter().copied().fold(0.0, f64::max);
        self.variance.iter().position(|v| *v >= largest * (1.0 - TIE)).unwrap_or(0)
    }

    /// After measuring at `i`: `s = τ² + W_i·F_i;  q = W F_i;  σ² −= q²/s;  W −= q W_iᵀ/s`.
    fn observe(&mut self, i: usize) {
        let rank = self.domain.rank();
        let feature = self.domain.features.row(i);
        let direction = self.solved.row(i).to_vec();
        let s = self.domain.ridge * self.domain.ridge + dot(&direction, feature);
        matvec_rows(self.solved.as_slice(), feature, &mut self.image);
        for ((q, variance), row) in self.image.iter().zip(&mut self.variance).zip(self.solved.as_mut_slice().chunks_exact_mut(rank)) {
            *variance = (*variance - q * q / s).max(0.0);
            let share = q / s;
            row.iter_mut().zip(&direction).for_each(|(w, d)| *w -= share * d);
        }
    }
}
