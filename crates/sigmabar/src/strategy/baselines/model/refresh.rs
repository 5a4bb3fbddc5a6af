//! Computing the posterior afresh: after a new dictionary, and from time to time against rounding.

use super::CandidateModel;
use crate::error::Result;
use sigmabar_linalg::{Lower, Matrix, add_gram, norm_squared};

/// Candidates whose features are turned into rows at a time.
const BLOCK: usize = 256;

impl CandidateModel {
    /// Replaces the dictionary; features of the common beginning stay. Cost O(Am²).
    pub fn redraw(&mut self, dictionary: &[usize]) -> Result<()> {
        let common = self.dictionary.iter().zip(dictionary).take_while(|(a, b)| a == b).count();
        let count = self.len();
        self.dictionary.truncate(common);
        self.features.truncate(common * count);
        self.residual.copy_from_slice(&self.prior);
        for l in 0..common {
            let column = &self.features[l * count..(l + 1) * count];
            for (residual, c) in self.residual.iter_mut().zip(column) {
                *residual = (*residual - c * c).max(0.0);
            }
            self.residual[self.dictionary[l]] = 0.0;
        }
        for &candidate in &dictionary[common..] {
            if let Some(column) = self.next_feature(candidate) {
                self.keep_feature(candidate, &column);
            }
        }
        self.refresh()
    }

    /// $B$, $h$, means and variances from the weights and sums. Cost O(um² + m³ + Am²).
    pub fn refresh(&mut self) -> Result<()> {
        self.updates = 0;
        let m = self.dictionary.len();
        let mut gram = Matrix::zeros(m, m);
        self.projected = vec![0.0; m];
        let mut rows = Vec::with_capacity(self.measured.len() * m);
        for &a in &self.measured {
            let psi = self.features_of(a);
            let root = (self.weights[a] / self.noise).sqrt();
            rows.extend(psi.iter().map(|p| p * root));
            self.projected.iter_mut().zip(&psi).for_each(|(h, p)| *h += self.sums[a] * p);
        }
        if m > 0 && !rows.is_empty() {
            add_gram(&mut gram, &rows)?;
        }
        // B = I + Σ c ψψᵀ/τ²
        (0..m).for_each(|l| gram[(l, l)] += 1.0);
        self.lower = Lower::cholesky(&gram)?;
        self.predict()
    }

    /// All means and variances from $B$ and $h$. Cost O(Am²).
    pub(crate) fn predict(&mut self) -> Result<()> {
        let (m, count) = (self.dictionary.len(), self.len());
        self.mean.fill(0.0);
        self.fit.fill(0.0);
        if m == 0 {
            return Ok(());
        }
        let beta = self.coefficients()?;
        let mut mean = std::mem::take(&mut self.mean);
        self.add_combination(&beta, &mut mean);
        self.mean = mean;
        for start in (0..count).step_by(BLOCK) {
            let end = (start + BLOCK).min(count);
            let mut rows = vec![0.0; (end - start) * m];
            for (a, row) in (start..end).zip(rows.chunks_exact_mut(m)) {
                (0..m).for_each(|l| row[l] = self.features[l * count + a]);
            }
            self.lower.solve_rows(&mut rows)?;
            for (fit, row) in self.fit[start..end].iter_mut().zip(rows.chunks_exact(m)) {
                *fit = norm_squared(row);
            }
        }
        Ok(())
    }
}
