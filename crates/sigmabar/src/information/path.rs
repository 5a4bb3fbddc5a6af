//! Many ridges at once: one eigendecomposition of $G$, then O(m) per ridge and query.

use super::{Information, VarianceParts};
use crate::error::{Result, positive, same_length};
use crate::points::PointsRef;
use sigmabar_linalg::{Matrix, SymmetricEigen, product, symmetric_eigen};

/// $G = U\Gamma U^\top$, from which the posterior for every ridge follows by sums of non-negative terms (algorithm notes 0.2, many-τ form).
#[derive(Clone, Debug)]
pub struct RidgePath<'a> {
    information: &'a Information,
    values: Vec<f64>,
    vectors: Matrix,
}

/// A block of queries rotated into the eigenbasis: $t = U^\top\psi(x)$ and the residual $s_1^2$.
#[derive(Clone, Debug)]
pub struct RidgeTerms {
    rotated: Matrix,
    residual: Vec<f64>,
}

impl Information {
    /// Eigendecomposes $G$. Cost O(m³).
    ///
    /// # Errors
    /// A failed decomposition or self-check.
    pub fn ridge_path(&self) -> Result<RidgePath<'_>> {
        let SymmetricEigen { values, vectors } = symmetric_eigen(self.gram())?;
        // G is a Gram matrix: a negative eigenvalue is rounding.
        let values = values.into_iter().map(|v| v.max(0.0)).collect();
        Ok(RidgePath { information: self, values, vectors })
    }
}

impl RidgePath<'_> {
    /// A bound on $\lVert G-U\Gamma U^\top\rVert$: the rounding of $G$ itself and of its decomposition.
    pub(crate) fn rounding(&self) -> f64 {
        let eigen = 8.0 * (4 * self.values.len() + 8) as f64 * f64::EPSILON;
        self.information.ridge().powi(2) * (self.information.rounding() + eigen * self.information.norm_bound())
    }

    /// $\gamma_j$, ascending, and $U$.
    pub(crate) fn into_parts(self) -> (Vec<f64>, Matrix) {
        (self.values, self.vectors)
    }

    /// The eigenvalues $\gamma_j$ of $G$, ascending.
    #[must_use]
    pub fn eigenvalues(&self) -> &[f64] {
        &self.values
    }

    /// Rotates queries into the eigenbasis. Cost O(q(md + m²)).
    ///
    /// # Errors
    /// As [`Information::variance`].
    pub fn terms(&self, x: PointsRef<'_>) -> Result<RidgeTerms> {
        let psi = self.information.features().features(x)?;
        let residual = self.information.features().residual_of(x, psi.as_slice(), 0)?;
        Ok(RidgeTerms { rotated: product(&psi, &self.vectors)?, residual })
    }

    /// $U^\top h$ for a vector of projected responses.
    ///
    /// # Errors
    /// [`crate::Error::Length`] when `h` does not have one entry per feature.
    pub fn rotate(&self, h: &[f64]) -> Result<Vec<f64>> {
        same_length("projected responses", self.values.len(), h.len())?;
        let mut out = vec![0.0; h.len()];
        for (i, &value) in h.iter().enumerate() {
            for (o, u) in out.iter_mut().zip(self.vectors.row(i)) {
                *o += value * u;
            }
        }
        Ok(out)
    }

    /// The variance parts at query `q` for ridge `tau`:
    /// $s_2^2=\sum t^2/(1+\gamma/\tau^2)^2$, $\tau^2\lVert V\rVert^2=\sum \tau^2\gamma t^2/(\gamma+\tau^2)^2$. Cost O(m).
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] for a ridge that is not positive.
    pub fn variance_parts(&self, terms: &RidgeTerms, q: usize, tau: f64) -> Result<VarianceParts> {
        let tau2 = positive("ridge", tau)?.powi(2);
        let (mut fit, mut noise) = (0.0, 0.0);
        for (t, gamma) in terms.rotated.row(q).iter().zip(&self.values) {
            let shrunk = t * tau2 / (gamma + tau2);
            fit += shrunk * shrunk;
            noise += gamma / tau2 * shrunk * shrunk;
        }
        Ok(VarianceParts { projection: terms.residual[q], fit, noise })
    }

    /// The mean (in the model's scale) at query `q` for ridge `tau`, $\sum t\,(U^\top h)/(\gamma+\tau^2)$. Cost O(m).
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] for a ridge that is not positive.
    pub fn mean(&self, terms: &RidgeTerms, rotated_h: &[f64], q: usize, tau: f64) -> Result<f64> {
        let tau2 = positive("ridge", tau)?.powi(2);
        let row = terms.rotated.row(q);
        Ok(row.iter().zip(rotated_h).zip(&self.values).map(|((t, h), gamma)| t * h / (gamma + tau2)).sum())
    }

    /// $\log\det(I+G/\tau^2)$. Cost O(m).
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] for a ridge that is not positive.
    pub fn log_det(&self, tau: f64) -> Result<f64> {
        let tau2 = positive("ridge", tau)?.powi(2);
        Ok(self.values.iter().map(|gamma| (gamma / tau2).ln_1p()).sum())
    }

    /// $y^\top(\kappa+\tau^2 I)^{-1}y = (\sum y^2 - \sum (U^\top h)^2/(\gamma+\tau^2))/\tau^2$. Cost O(m).
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] for a ridge that is not positive.
    pub fn quadratic(&self, sum_squares: f64, rotated_h: &[f64], tau: f64) -> Result<f64> {
        let tau2 = positive("ridge", tau)?.powi(2);
        let explained: f64 = rotated_h.iter().zip(&self.values).map(|(h, gamma)| h * h / (gamma + tau2)).sum();
        let left = sum_squares - explained;
        // A NaN stays one: `max` would make it 0.
        Ok(if left < 0.0 { 0.0 } else { left / tau2 })
    }
}
