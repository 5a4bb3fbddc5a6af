//! Differences of the function at two points: again a linear functional, with its own three parts.

use super::claim::{Coverage, Method};
use super::widths::{HalfWidth, Widths, direct_bias};
use crate::error::{Error, Result};
use crate::information::{Information, VarianceParts};
use crate::points::PointsRef;
use sigmabar_linalg::{dot, matvec, norm_squared};

impl Information {
    /// The parts that belong to $f(x')-f(x)$ for a fixed $x$ (`from`) and each $x'$ (`to`), enlarged by their rounding like
    /// [`Information::certified_parts`] (algorithm notes 5.3): $s_1^2 = d_k(x',x)^2-\lVert\psi(x')-\psi(x)\rVert^2$,
    /// $s_2 = \lVert e(x')-e(x)\rVert$ with $e = B^{-1}\psi$, and $\tau^2\lVert V(x')-V(x)\rVert^2$. Cost O(q(md + m²)).
    ///
    /// # Errors
    /// Points of another width; [`crate::Error::NegativeVariance`]; failed self-checks.
    pub fn difference_parts(&self, from: &[f64], to: PointsRef<'_>) -> Result<Vec<VarianceParts>> {
        let features = self.features();
        let origin = PointsRef::new(from, from.len())?;
        let base = features.features(origin)?;
        let k_from = features.kernel().value(from, from);
        let rounding_from = features.residual_rounding_of(origin, base.as_slice())?[0];
        let tau2 = self.ridge() * self.ridge();
        let enlarge = self.parts_rounding();
        let mut out = Vec::with_capacity(to.len());
        self.stream(to, |start, block, psi| {
            let m = features.len();
            let rounding = features.residual_rounding_of(block, psi)?;
            for row in psi.chunks_exact_mut(m) {
                row.iter_mut().zip(base.as_slice()).for_each(|(a, b)| *a -= b);
            }
            let seen: Vec<f64> = psi.chunks_exact(m).map(norm_squared).collect();
            self.lower().solve_rows(psi)?;
            self.lower().solve_transposed_rows(psi)?;
            for (i, e) in psi.chunks_exact(m).enumerate() {
                let x = block.row(i);
                let scale = k_from.max(features.kernel().value(x, x));
                // Two residuals and their cross term.
                let residual = (rounding[i].sqrt() + rounding_from.sqrt()).powi(2);
                let allowed = residual.max(4.0 * features.residual_rounding(scale));
                let value = features.kernel().metric(x, from).powi(2) - seen[i];
                if value < -allowed || value.is_nan() {
                    return Err(Error::NegativeVariance { query: start + i, value, allowed });
                }
                let noise = dot(&matvec(self.gram(), e), e).max(0.0) / tau2;
                let plain = VarianceParts { projection: value.max(0.0), fit: norm_squared(e), noise };
                out.push(enlarge.enlarge(plain, scale, residual));
            }
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
        let lambda = self.residual_norm.value;
        let parts = self.information.difference_parts(from, to)?;
        Ok(parts
            .iter()
            .map(|p| {
                let norm = self.weights_norm(p);
                let bias = self.norm_bound * direct_bias(p.projection.sqrt(), lambda.sqrt() * norm, p.fit);
                let coefficient = self.noise.level() * norm;
                HalfWidth { bias, noise: factor * coefficient, slack: 0.0, method: Method::Direct, coefficient }
            })
            .collect())
    }
}
