//! Questions about single points: variance, its three parts, covariance, weights.

use super::{GramMethod, Information, Sizes};
use crate::error::Result;
use crate::points::PointsRef;
use serde::{Deserialize, Serialize};
use sigmabar_linalg::{Matrix, dot, matvec_rows, norm_squared, product, product_transposed};

/// The three non-negative parts of the sparse variance $\bar\sigma^2(x) = s_1^2 + s_2^2 + \tau^2\lVert V\rVert^2$.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct VarianceParts {
    /// $s_1^2 = k(x,x) - \lVert\psi(x)\rVert^2$: what the inducing points cannot express.
    pub projection: f64,
    /// $s_2^2 = \lVert B^{-1}\psi(x)\rVert^2$: the noise-free prediction error inside the span.
    pub fit: f64,
    /// $\tau^2\lVert V_n(x)\rVert^2$: noise carried over from the observations.
    pub noise: f64,
}

impl VarianceParts {
    /// $\bar\sigma^2$, the sum of the three parts.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.projection + self.fit + self.noise
    }
}

impl Information {
    /// $\bar\sigma^2(x) = s_1^2(x) + \lVert L_B^{-1}\psi(x)\rVert^2$ at each point; between 0 and $k(x,x)$. Cost O(q(md + m²)).
    ///
    /// # Errors
    /// Points of another width, a failed self-check, [`crate::Error::NegativeVariance`].
    pub fn variance(&self, x: PointsRef<'_>) -> Result<Vec<f64>> {
        let mut out = Vec::with_capacity(x.len());
        self.stream(x, |start, block, psi| {
            let (residual, whitened) = self.residual_and_whitened(start, block, psi)?;
            out.extend(residual.iter().zip(&whitened).map(|(s1, c)| s1 + c));
            Ok(())
        })?;
        Ok(out)
    }

    /// The three parts of the variance at each point. Cost O(q(md + 1.5m²)).
    ///
    /// # Errors
    /// As [`Information::variance`].
    pub fn variance_parts(&self, x: PointsRef<'_>) -> Result<Vec<VarianceParts>> {
        let mut out = Vec::with_capacity(x.len());
        self.stream(x, |start, block, psi| {
            out.extend(self.parts_of(start, block, psi)?);
            Ok(())
        })?;
        Ok(out)
    }

    /// As [`Information::variance_parts`], each part enlarged by a bound on its rounding error: what every certificate uses.
    ///
    /// $s_1^2$ grows by $u(\sqrt{\operatorname{tr}K_{ZZ}}\lVert w\rVert+2\sqrt{k(x,x)})^2$ with the interpolation weights $w=L^{-\top}\psi(x)$ and $u\approx m\varepsilon$; what
    /// $s_2$ and $\tau\lVert V\rVert$ gain is relative to $\sqrt{s_2^2+\tau^2\lVert V\rVert^2}$, so that less noise never widens an interval (docs/numerics.md). Cost O(q(md + 2m²)).
    ///
    /// # Errors
    /// As [`Information::variance`].
    pub fn certified_parts(&self, x: PointsRef<'_>) -> Result<Vec<VarianceParts>> {
        let rounding = self.parts_rounding();
        let mut out = Vec::with_capacity(x.len());
        self.stream(x, |start, block, psi| {
            let residual = self.features().residual_rounding_of(block, psi)?;
            let diagonal = self.features().kernel().diagonal(block);
            let plain = self.parts_of(start, block, psi)?;
            out.extend(plain.into_iter().zip(diagonal).zip(residual).map(|((parts, k_xx), r)| {
                let sizes = Sizes::of(&parts, k_xx.sqrt());
                rounding.enlarge(parts, sizes, r)
            }));
            Ok(())
        })?;
        Ok(out)
    }

    /// The posterior covariance $k(x,x') - \psi(x)^\top\psi(x') + \psi(x)^\top B^{-1}\psi(x')$; its diagonal is [`Information::variance`]. Cost O(q²(d+m) + qm²).
    ///
    /// # Errors
    /// As [`Information::variance`].
    pub fn covariance(&self, x: PointsRef<'_>) -> Result<Matrix> {
        let psi = self.features().features(x)?;
        let mut whitened = psi.clone();
        self.lower().solve_rows(whitened.as_mut_slice())?;
        let explained = product_transposed(&psi, &psi)?;
        let remaining = product_transposed(&whitened, &whitened)?;
        let variance = self.variance(x)?;
        let mut covariance = self.features().kernel().gram(x)?;
        for ((c, e), r) in covariance.as_mut_slice().iter_mut().zip(explained.as_slice()).zip(remaining.as_slice()) {
            *c += r - e;
        }
        for (i, v) in variance.into_iter().enumerate() {
            covariance[(i, i)] = v;
        }
        Ok(covariance)
    }

    /// The weights $V_n(x) = \tau^{-2}\,\Psi B^{-1}\psi(x)$ that make the mean linear in the responses: one row per query, one column per original
    /// observation. Cost O((n + q)(md + m²) + nqm).
    ///
    /// # Errors
    /// As [`Information::variance`].
    pub fn weights(&self, x: PointsRef<'_>) -> Result<Matrix> {
        let by_point = self.weights_by_point(x)?;
        let locations = self.locations()?;
        Ok(Matrix::from_fn(x.len(), locations.len(), |q, row| by_point[(q, locations.distinct_of(row))]))
    }

    /// The weight of *one* observation at each distinct location; repeated observations share it.
    pub(crate) fn weights_by_point(&self, x: PointsRef<'_>) -> Result<Matrix> {
        let locations = self.locations()?;
        let mut solved = self.features().features(x)?;
        self.lower().solve_rows(solved.as_mut_slice())?;
        self.lower().solve_transposed_rows(solved.as_mut_slice())?;
        let scale = 1.0 / (self.ridge() * self.ridge());
        solved.as_mut_slice().iter_mut().for_each(|v| *v *= scale);
        let mut weights = Matrix::zeros(x.len(), locations.distinct());
        self.features().for_each_block(locations.points(), |start, block, psi| {
            let mut column = vec![0.0; block.len()];
            for q in 0..solved.rows() {
                matvec_rows(psi, solved.row(q), &mut column);
                weights.row_mut(q)[start..start + block.len()].copy_from_slice(&column);
            }
            Ok(())
        })?;
        Ok(weights)
    }

    pub(crate) fn stream(&self, x: PointsRef<'_>, f: impl FnMut(usize, PointsRef<'_>, &mut [f64]) -> Result<()>) -> Result<()> {
        self.features().check_width(x)?;
        self.features().for_each_block(x, f)
    }

    /// `s1²` and `‖c‖²` with `c = L_B⁻¹ψ`; the block's features are overwritten by `c`.
    pub(crate) fn residual_and_whitened(&self, start: usize, block: PointsRef<'_>, psi: &mut [f64]) -> Result<(Vec<f64>, Vec<f64>)> {
        let residual = self.features().residual_of(block, psi, start)?;
        self.lower().solve_rows(psi)?;
        let whitened = psi.chunks_exact(self.features().len()).map(norm_squared).collect();
        Ok((residual, whitened))
    }

    /// The parts for a block; its features are overwritten by `e = B⁻¹ψ`.
    pub(crate) fn parts_of(&self, start: usize, block: PointsRef<'_>, psi: &mut [f64]) -> Result<Vec<VarianceParts>> {
        let residual = self.features().residual_of(block, psi, start)?;
        self.parts_with(residual, psi)
    }

    /// The parts with these residuals; `psi` (of points, or of differences of two) is overwritten by `e = B⁻¹ψ`.
    pub(crate) fn parts_with(&self, residual: Vec<f64>, psi: &mut [f64]) -> Result<Vec<VarianceParts>> {
        let m = self.features().len();
        self.lower().solve_rows(psi)?;
        let whitened: Vec<f64> = psi.chunks_exact(m).map(norm_squared).collect();
        self.lower().solve_transposed_rows(psi)?;
        let fit: Vec<f64> = psi.chunks_exact(m).map(norm_squared).collect();
        let mut noise: Vec<f64> = whitened.iter().zip(&fit).map(|(c, e)| (c - e).max(0.0)).collect();
        // τ²‖V‖² = ‖c‖² − ‖e‖² is exact enough once the data weigh in; while B ≈ I it cancels, and eᵀGe/τ² is formed instead. Where the factor is sharper
        // than G it is the other way round.
        let cancelling: Vec<usize> = match self.facts().method {
            GramMethod::Orthogonal => Vec::new(),
            _ => (0..fit.len()).filter(|&i| whitened[i] <= 1.5 * fit[i]).collect(),
        };
        if !cancelling.is_empty() {
            let solved =
                Matrix::from_vec(cancelling.iter().flat_map(|&i| &psi[i * m..(i + 1) * m]).copied().collect(), cancelling.len(), m);
            let images = product(&solved, self.gram())?;
            for (row, &i) in cancelling.iter().enumerate() {
                noise[i] = dot(images.row(row), solved.row(row)).max(0.0) / (self.ridge() * self.ridge());
            }
        }
        Ok(residual.iter().zip(fit).zip(noise).map(|((&projection, fit), noise)| VarianceParts { projection, fit, noise }).collect())
    }
}
