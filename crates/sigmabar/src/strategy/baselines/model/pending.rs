//! Variances as they will be when chosen but unanswered evaluations have arrived.

use super::{CandidateModel, Dictionary};
use crate::error::Result;

/// Variances of all candidates given evaluations whose values are not known yet ("hallucinated" at the mean: means do not move).
///
/// With column $c = \mathrm{cov}(\cdot, x_i) - \sum_l q_l q_l(x_i)$ and $q = c/\sqrt{\tau^2 + c_i}$, $\sigma^2 \mathrel{-}= q^2$.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    columns: Vec<Vec<f64>>,
    variances: Vec<f64>,
}

impl Pending {
    pub fn new(model: &CandidateModel) -> Self {
        Self { columns: Vec::new(), variances: model.variances() }
    }

    pub fn variances(&self) -> &[f64] {
        &self.variances
    }

    /// Counts an evaluation at a candidate. Cost O(A(m + p) + m²) with p pending ones.
    pub fn add(&mut self, model: &CandidateModel, candidate: usize) -> Result<()> {
        let mut column = match model.kind {
            Dictionary::Measured => model.covariance_column(candidate)?,
            Dictionary::Chosen => model.fitted_column(candidate)?,
        };
        for earlier in &self.columns {
            let at = earlier[candidate];
            column.iter_mut().zip(earlier).for_each(|(c, q)| *c -= q * at);
        }
        let root = (model.noise + column[candidate].max(0.0)).sqrt();
        column.iter_mut().for_each(|c| *c /= root);
        self.variances.iter_mut().zip(&column).for_each(|(v, q)| *v = (*v - q * q).max(0.0));
        self.columns.push(column);
        Ok(())
    }
}
