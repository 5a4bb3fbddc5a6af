//! How far rounding can move the residual, point by point.
//!
//! The factor satisfies $\hat L\hat L^\top = K_{ZZ}+E$ with $\lVert E\rVert \le \mu = (m+4)\varepsilon\operatorname{tr}K_{ZZ}$. With
//! $\kappa_s = k_Z^\top(K_{ZZ}+E+\mu I)^{-1}k_Z$ both $\kappa_s$ and $k-\kappa_s$ are positive semi-definite, which is all a certificate needs, and
//! $\hat\kappa-\kappa_s \le \mu\lVert w\rVert^2$ with the interpolation weights $w = \hat L^{-\top}\psi$. Solving for $\psi$ adds terms linear in $w$. So the
//! error depends on the size of $w$, which is moderate wherever the inducing points surround $x$, and not on the condition number.

use super::FeatureMap;
use crate::error::Result;
use crate::points::PointsRef;
use sigmabar_linalg::norm_squared;

impl FeatureMap {
    /// For points with these features: $(m+4)\varepsilon\,(\sqrt{\operatorname{tr}K_{ZZ}}\,\lVert w\rVert+2\sqrt{k(x,x)})^2$, $w=L^{-\top}\psi(x)$. Cost O(qm²).
    ///
    /// Unlike [`FeatureMap::residual_rounding`], which grows with the condition number only once, this also holds for nearly repeated inducing points.
    pub(crate) fn residual_rounding_of(&self, block: PointsRef<'_>, psi: &[f64]) -> Result<Vec<f64>> {
        let mut weights = psi.to_vec();
        self.lower().solve_transposed_rows(&mut weights)?;
        let size = self.kernel().diagonal(self.inducing()).iter().sum::<f64>().sqrt();
        let unit = (self.len() + 4) as f64 * f64::EPSILON;
        let diagonal = self.kernel().diagonal(block);
        let bound = |w: &[f64], k_xx: f64| unit * (size * norm_squared(w).sqrt() + 2.0 * k_xx.sqrt()).powi(2);
        Ok(weights.chunks_exact(self.len()).zip(diagonal).map(|(w, k_xx)| bound(w, k_xx)).collect())
    }
}
