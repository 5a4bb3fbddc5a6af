//! How far rounding can move the features' share of the kernel, point by point.
//!
//! Write $u=(m+q)\varepsilon$ with $q\varepsilon\sqrt{k(x,x)k(z,z)}$ a bound on the error of one kernel value. The factor satisfies
//! $\hat L\hat L^\top = K_{ZZ}+E$ with $|E_{ij}|\le u\sqrt{k_{ii}k_{jj}}$, so $\lVert E\rVert\le\mu=u\operatorname{tr}K_{ZZ}$; the features satisfy
//! $\hat L\psi = k_Z+r$ with $\lVert r\rVert\le u\sqrt{\operatorname{tr}K_{ZZ}\,k(x,x)}$.
//! ($\varepsilon$ is twice the unit of rounding: that factor of 2 pays for terms of second order.)
//!
//! Let $M=(\hat L\hat L^\top+\mu I)^{-1}$ and $\varphi = M^{1/2}k_Z$. Because $\hat L\hat L^\top+\mu I\succeq K_{ZZ}$, both $\kappa_s=\varphi^\top\varphi$ and
//! $k-\kappa_s$ are positive semi-definite, which is all a certificate needs. And $\varphi = O\psi-M^{1/2}r$ with $O=M^{1/2}\hat L$, a contraction:
//!
//! - inside the span, $\lVert\sum v\varphi\rVert \le \lVert\sum v\psi\rVert + \lVert M^{1/2}\sum vr\rVert$, and $\lVert M^{1/2}r\rVert\le\min(\mu^{-1/2},\lVert\hat L^{-1}\rVert)\lVert r\rVert$,
//!   at most $\sqrt{k(x,x)}$ times $\min(\sqrt u,u\sqrt{\operatorname{tr}K_{ZZ}}\lVert\hat L^{-1}\rVert_F)$;
//! - outside, $k-\lVert\varphi\rVert^2 \le k-\lVert\psi\rVert^2+\mu\lVert w\rVert^2+2\lVert w\rVert\lVert r\rVert$ with the interpolation weights $w=\hat L^{-\top}\psi$, because
//!   $I-O^\top O=\mu(\hat L^\top\hat L+\mu I)^{-1}\preceq\mu\hat L^{-1}\hat L^{-\top}$: at most $\rho=u(\sqrt{\operatorname{tr}K_{ZZ}}\lVert w\rVert+2\sqrt{k(x,x)})^2$,
//!   the subtraction included;
//! - over all locations at once, with rows $w_i$ and counts in $W$: the error of $C^{1/2}DC^{1/2}$ is at most
//!   $u(\sqrt{\operatorname{tr}K_{ZZ}}\lVert C^{1/2}W\rVert_2+2\sqrt{\operatorname{tr}K})^2$ in norm, by the same lines, and $\sum c_i\rho_i$ in trace.
//!
//! So the error depends on the size of $w$, which is moderate wherever the inducing points surround $x$, and not on the condition number.

use super::FeatureMap;
use crate::error::Result;
use crate::points::{Locations, PointsRef};
use sigmabar_linalg::{GramAccumulator, Matrix, norm_squared, product};

/// What rounding adds to $C^{1/2}DC^{1/2}$.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResidualRounding {
    /// $\sum_ic_i\rho_i$: a bound on the change of its trace.
    pub trace: f64,
    /// A bound on the change of its norm, never more than `trace`.
    pub norm: f64,
}

impl FeatureMap {
    /// $u=(m+q)\varepsilon$: relative to $\sqrt{k(x,x)k(z,z)}$, what one entry of a factorisation loses.
    pub(crate) fn unit_rounding(&self) -> f64 {
        (self.len() as f64 + self.kernel().rounding_units(self.given.value.dim())) * f64::EPSILON
    }

    /// What the features lose inside their span, per $\sqrt{k(x,x)}$. Cost O(m³) once, then O(m).
    pub(crate) fn inside_rounding(&self) -> f64 {
        let unit = self.unit_rounding();
        unit.sqrt().min(unit * self.inducing_trace().sqrt() * self.inverse_norm())
    }

    /// $\lVert L^{-1}\rVert_F$. Cost O(m³) once.
    pub(crate) fn inverse_norm(&self) -> f64 {
        *self.inverse_norm.get_or_init(|| {
            let mut inverse = Matrix::identity(self.len()).into_vec();
            self.lower().solve_rows(&mut inverse).map_or(f64::INFINITY, |()| norm_squared(&inverse).sqrt())
        })
    }

    /// For points with these features: $\rho=u\,(\sqrt{\operatorname{tr}K_{ZZ}}\,\lVert w\rVert+2\sqrt{k(x,x)})^2$, $w=L^{-\top}\psi(x)$. Cost O(qm²).
    ///
    /// Unlike [`FeatureMap::residual_rounding`], which grows with the condition number only once, this also holds for nearly repeated inducing points.
    pub(crate) fn residual_rounding_of(&self, block: PointsRef<'_>, psi: &[f64]) -> Result<Vec<f64>> {
        let mut weights = psi.to_vec();
        self.lower().solve_transposed_rows(&mut weights)?;
        Ok(self.residual_rounding_by(block, &weights))
    }

    fn residual_rounding_by(&self, block: PointsRef<'_>, weights: &[f64]) -> Vec<f64> {
        let size = self.inducing_trace().sqrt();
        let bound = |w: &[f64], k_xx: f64| self.unit_rounding() * (size * norm_squared(w).sqrt() + 2.0 * k_xx.sqrt()).powi(2);
        weights.chunks_exact(self.len()).zip(self.kernel().diagonal(block)).map(|(w, k_xx)| bound(w, k_xx)).collect()
    }

    /// What rounding adds to $C^{1/2}DC^{1/2}$ over the locations; $\lVert C^{1/2}W\rVert^2\le\lVert(W^\top CW)^2\rVert_F^{1/2}$. Cost O(nm² + m³).
    pub(crate) fn residual_rounding_over(&self, locations: &Locations) -> Result<ResidualRounding> {
        let m = self.len();
        let mut gram = GramAccumulator::new(m);
        let (mut trace, mut prior) = (0.0, 0.0);
        self.for_each_block(locations.points(), |start, block, psi| {
            self.lower().solve_transposed_rows(psi)?;
            for (i, (rho, k_xx)) in self.residual_rounding_by(block, psi).iter().zip(self.kernel().diagonal(block)).enumerate() {
                trace += locations.count(start + i) * rho;
                prior += locations.count(start + i) * k_xx;
            }
            for (i, row) in psi.chunks_exact_mut(m).enumerate() {
                let root = locations.count(start + i).sqrt();
                row.iter_mut().for_each(|v| *v *= root);
            }
            gram.add_rows(psi);
            Ok(())
        })?;
        let mut gram = gram.finish()?;
        gram.mirror_lower();
        let square = norm_squared(product(&gram, &gram)?.as_slice()).sqrt();
        let norm = self.unit_rounding() * ((self.inducing_trace() * square.sqrt()).sqrt() + 2.0 * prior.sqrt()).powi(2);
        Ok(ResidualRounding { trace, norm: norm.min(trace) })
    }

    /// The same from $G=\sum_i\psi_i\psi_i^\top$ alone, known up to `error` in norm, and $\operatorname{tr}K$: $W^\top CW=L^{-\top}GL^{-1}$, and by Minkowski's inequality
    /// $\sum_ic_i\rho_i\le u(\sqrt{\operatorname{tr}K_{ZZ}\operatorname{tr}W^\top CW}+2\sqrt{\operatorname{tr}K})^2$. Cost O(m³).
    pub(crate) fn residual_rounding_of_sums(&self, gram: &Matrix, error: f64, prior_trace: f64) -> Result<ResidualRounding> {
        let mut half = gram.clone();
        self.lower().solve_transposed_rows(half.as_mut_slice())?;
        let mut weights = half.transposed();
        self.lower().solve_transposed_rows(weights.as_mut_slice())?;
        let solves = 4.0 * self.len() as f64 * f64::EPSILON * gram.diagonal().iter().sum::<f64>();
        let error = self.inverse_norm().powi(2) * (error + solves);
        let bound = |size: f64| self.unit_rounding() * ((self.inducing_trace() * (size + error)).sqrt() + 2.0 * prior_trace.sqrt()).powi(2);
        let trace = bound(weights.diagonal().iter().sum::<f64>().max(0.0));
        let square = norm_squared(product(&weights, &weights)?.as_slice()).sqrt();
        Ok(ResidualRounding { trace, norm: bound(square.sqrt()).min(trace) })
    }

    /// $\operatorname{tr}K_{ZZ}$ of the inducing points in use.
    fn inducing_trace(&self) -> f64 {
        self.kernel().diagonal(self.inducing()).iter().sum()
    }
}
