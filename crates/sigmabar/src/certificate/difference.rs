//! Differences of the function at two points: again a linear functional, with its own three parts.

use super::claim::{Coverage, Method};
use super::widths::{HalfWidth, Widths, direct_bias};
use crate::error::{Error, Result};
use crate::information::{Information, Sizes, VarianceParts};
use crate::points::PointsRef;
use sigmabar_linalg::norm_squared;

impl Information {
    /// The parts that belong to $f(x')-f(x)$ for a fixed $x$ (`from`) and each $x'$ (`to`), enlarged by their rounding like
    /// [`Information::certified_parts`] (algorithm notes 5.3): $s_1^2 = d_k(x',x)^2-\lVert\psi(x')-\psi(x)\rVert^2$,
    /// $s_2 = \lVert e(x')-e(x)\rVert$ with $e = B^{-1}\psi$, and $\tau^2\lVert V(x')-V(x)\rVert^2$. A point differs from itself by nothing at all. Cost O(q(md + m²)).
    ///
    /// # Errors
    /// Points of another width; [`crate::Error::NegativeVariance`]; failed self-checks.
    pub fn difference_parts(&self, from: &[f64], to: PointsRef<'_>) -> Result<Vec<VarianceParts>> {
        let features = self.features();
        let origin = PointsRef::new(from, from.len())?;
        let base = features.features(origin)?;
        let k_from = features.kernel().value(from, from);
        let rounding_from = features.residual_rounding_of(origin, base.as_slice())?[0];
        let rounding = self.parts_rounding();
        let mut out = Vec::with_capacity(to.len());
        self.stream(to, |start, block, psi| {
            let bounds = features.residual_rounding_of(block, psi)?;
            let (mut residuals, mut sizes) = (Vec::with_capacity(block.len()), Vec::with_capacity(block.len()));
            for (i, row) in psi.chunks_exact_mut(features.len()).enumerate() {
                row.iter_mut().zip(base.as_slice()).for_each(|(a, b)| *a -= b);
                let k_to = features.kernel().value(block.row(i), block.row(i));
                // Two residuals and their cross term.
                let bound = (bounds[i].sqrt() + rounding_from.sqrt()).powi(2);
                let allowed = bound.max(4.0 * features.residual_rounding(k_from.max(k_to)));
                let value = features.kernel().metric(block.row(i), from).powi(2) - norm_squared(row);
                if value < -allowed || value.is_nan() {
                    return Err(Error::NegativeVariance { query: start + i, value, allowed });
                }
                residuals.push(value.max(0.0));
                sizes.push((bound, k_from.sqrt() + k_to.sqrt()));
            }
            let parts = self.parts_with(residuals, psi)?;
            out.extend(parts.into_iter().zip(sizes).enumerate().map(|(i, (parts, (bound, prior)))| match block.row(i) == from {
                true => VarianceParts { projection: 0.0, fit: 0.0, noise: 0.0 },
                false => rounding.enlarge(parts, Sizes::of(&parts, prior), bound),
            }));
            Ok(())
        })?;
        Ok(out)
    }
}

impl Widths {
    /// Half-widths of the differences $f(x')-f(x)$ for a fixed $x$ (`from`) and each $x'$ (`to`): the direct width of that linear functional
    /// (algorithm notes 5.3), each at the claim's level for one side at a point ([`Coverage::Points`]: shared among the list). Cost O(q(md + m²)).
    ///
    /// # Errors
    /// [`Error::Premise`] for uniform or continuous claims; points of another width; failed self-checks.
    pub fn difference_half_widths(&self, from: &[f64], to: PointsRef<'_>) -> Result<Vec<HalfWidth>> {
        if !matches!(self.claim.coverage_claimed(), Coverage::Point | Coverage::Points) {
            return Err(Error::Premise {
                what: "a uniform claim about differences",
                reason: "it is made at points: ask for coverage at a point or a list",
            });
        }
        let factor = self.noise.tail_factor(self.tail(to.len()));
        let (lambda, ridge) = (self.residual_norm.value, self.information.ridge());
        let parts = self.information.difference_parts(from, to)?;
        Ok(parts
            .iter()
            .map(|p| {
                let norm = self.weights_norm(p);
                let bias = self.norm_bound * direct_bias(p.projection.sqrt(), lambda.sqrt() * norm, p.fit);
                let coefficient = self.noise.level() * norm;
                HalfWidth { bias, noise: factor * coefficient, slack: 0.0, method: Method::Direct, ridge, coefficient }
            })
            .collect())
    }
}
