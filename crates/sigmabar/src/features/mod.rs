//! From kernel and inducing points to features: what the sparse model can see, and what it misses.

mod more;
mod rounding;

pub(crate) use more::{MoreFeatures, pivots};
pub(crate) use rounding::ResidualRounding;

use crate::error::{Error, Result};
use crate::kernel::{Digits, Kernel, PreparedKernel};
use crate::origin::{Origin, Sourced};
use crate::points::{Points, PointsRef};
use sigmabar_linalg::{Lower, Matrix, PivotedCholesky, RANK_TOLERANCE, norm_squared};
use std::sync::OnceLock;

/// Rows handled at a time wherever features are streamed: a block of 1000 features stays in the second-level cache's reach.
pub(crate) const BLOCK_ROWS: usize = 1024;

/// The whitened Nyström features $\psi(x) = L^{-1} k_Z(x)$ with $K_{ZZ} = LL^\top$ (algorithm notes 0.2).
///
/// They split the kernel into a part the model sees, $\kappa(x,x') = \psi(x)^\top\psi(x')$, and a part it misses, $k-\kappa$; both are
/// positive semi-definite, which is all that the certified interval needs. No jitter is added: inducing points that are numerically
/// a combination of the others are left out instead, so repeated and nearly singular inducing points are harmless.
#[derive(Clone, Debug)]
pub struct FeatureMap {
    kernel: Sourced<Kernel>,
    given: Sourced<Points>,
    kept: Vec<usize>,
    inducing: Points,
    lower: Lower,
    prepared: PreparedKernel,
    digits: Digits,
    /// $\lVert L^{-1}\rVert_F$, once a certificate has asked for it.
    inverse_norm: OnceLock<f64>,
    condition: f64,
    largest_diagonal: f64,
}

impl FeatureMap {
    /// Factors $K_{ZZ}$. Cost O(m²d + m³).
    ///
    /// # Errors
    /// A kernel that does not fit the points' width; [`Error::Parameter`] when every inducing point has zero variance; [`Error::Digits`] for a column whose points
    /// are too far from 0 to be told apart.
    pub fn new(kernel: impl Into<Sourced<Kernel>>, inducing: impl Into<Sourced<Points>>) -> Result<Self> {
        let (kernel, inducing) = (kernel.into(), inducing.into());
        let points = inducing.value.view();
        let gram = kernel.value.gram(points)?;
        let largest = kernel.value.max_diagonal(points);
        if !(largest.is_finite() && largest > 0.0) {
            return Err(Error::Parameter { name: "variance at the inducing points", value: largest, requirement: "finite and positive" });
        }
        let tolerance = RANK_TOLERANCE * largest;
        let (kept, lower) = match Lower::cholesky(&gram) {
            // The plain factor is taken only when pivoting would drop nothing.
            Ok(lower) if lower.diagonal().iter().all(|d| d * d > tolerance) => ((0..points.len()).collect(), lower),
            _ => {
                let pivoted = PivotedCholesky::new(&gram, tolerance, points.len())?;
                (pivoted.pivots, pivoted.lower)
            }
        };
        Self::assemble(kernel, inducing, kept, lower)
    }

    pub(crate) fn assemble(kernel: Sourced<Kernel>, given: Sourced<Points>, kept: Vec<usize>, lower: Lower) -> Result<Self> {
        let digits = Digits::new(&kernel.value, given.value.view())?;
        let inducing = given.value.view().select(&kept)?;
        let prepared = kernel.value.prepare(inducing.view())?;
        let condition = lower.condition_estimate();
        let largest_diagonal = kernel.value.max_diagonal(inducing.view());
        Ok(Self { kernel, given, kept, inducing, lower, prepared, digits, inverse_norm: OnceLock::new(), condition, largest_diagonal })
    }

    /// The kernel.
    #[must_use]
    pub fn kernel(&self) -> &Kernel {
        &self.kernel.value
    }

    /// Where the kernel came from.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.kernel.origin
    }

    /// The kernel with its source.
    #[must_use]
    pub fn sourced_kernel(&self) -> &Sourced<Kernel> {
        &self.kernel
    }

    /// The same inducing points under a kernel whose length-scales are all multiplied by a factor.
    pub(crate) fn stretched(&self, factor: f64) -> Result<Self> {
        Self::new(Sourced::new(self.kernel().stretched(factor)?, self.kernel.origin), self.given.clone())
    }

    /// The same for a claim about rows among which are some that kernel and inducing points were learnt from.
    pub(crate) fn on_own_rows(mut self) -> Self {
        self.kernel.origin = self.kernel.origin.on_own_rows();
        self.given.origin = self.given.origin.on_own_rows();
        self
    }

    /// All inducing points as they were given.
    #[must_use]
    pub fn given(&self) -> PointsRef<'_> {
        self.given.value.view()
    }

    /// The same with who chose them: handed over plainly, they are declared to have been chosen without looking at a response.
    #[must_use]
    pub fn sourced_given(&self) -> &Sourced<Points> {
        &self.given
    }

    /// The inducing points in use, in the order of the features.
    #[must_use]
    pub fn inducing(&self) -> PointsRef<'_> {
        self.inducing.view()
    }

    /// For each feature, which of the given inducing points it belongs to.
    #[must_use]
    pub fn kept(&self) -> &[usize] {
        &self.kept
    }

    /// Number of features: the numerical rank of $K_{ZZ}$.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lower.len()
    }

    /// Never true.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lower.is_empty()
    }

    /// The factor $L$ of $K_{ZZ}$.
    #[must_use]
    pub fn lower(&self) -> &Lower {
        &self.lower
    }

    /// The kernel against the inducing points in use, ready for blocks.
    #[must_use]
    pub fn prepared(&self) -> &PreparedKernel {
        &self.prepared
    }

    /// An estimate of the 1-norm condition number of $L$.
    #[must_use]
    pub fn condition(&self) -> f64 {
        self.condition
    }

    /// The usual size of the rounding error of the residual at a point of prior variance `k_xx`:
    /// $16\, m\, \varepsilon\, \mathrm{cond}(L)\, k_{\max}$ (algorithm notes 0.2). A threshold, not a certificate: those use a bound by interpolation weights.
    #[must_use]
    pub fn residual_rounding(&self, k_xx: f64) -> f64 {
        16.0 * self.len() as f64 * f64::EPSILON * self.condition.max(1.0) * self.largest_diagonal.max(k_xx)
    }

    /// The features $\psi(x)$, one row per point. Cost O(n(md + m²)).
    ///
    /// # Errors
    /// Points of the wrong width, or a failed self-check.
    pub fn features(&self, x: PointsRef<'_>) -> Result<Matrix> {
        self.check_width(x)?;
        let mut rows = vec![0.0; x.len() * self.len()];
        self.features_into(x, &mut rows)?;
        Ok(Matrix::from_vec(rows, x.len(), self.len()))
    }

    /// The residual variance $s_1^2(x) = k(x,x) - \lVert\psi(x)\rVert^2$: the projection error, 0 at the inducing points. Cost O(n(md + m²)).
    ///
    /// # Errors
    /// As [`FeatureMap::features`]; [`Error::NegativeVariance`] where the difference is below minus its rounding bound.
    pub fn residual(&self, x: PointsRef<'_>) -> Result<Vec<f64>> {
        self.check_width(x)?;
        let mut out = Vec::with_capacity(x.len());
        self.for_each_block(x, |start, block, psi| {
            out.extend(self.residual_of(block, psi, start)?);
            Ok(())
        })?;
        Ok(out)
    }

    /// The projection $\Pi_\kappa f$ onto the span of the features, from the values of $f$ at the given inducing points:
    /// coefficients $a = L^{-1} f_Z$, so $(\Pi f)(x) = \psi(x)^\top a$ and $\lVert\Pi f\rVert_k = \lVert a\rVert$. Cost O(m²).
    ///
    /// # Errors
    /// [`Error::Length`] when there is not one value per given inducing point.
    pub fn project(&self, values: &[f64]) -> Result<Vec<f64>> {
        crate::error::same_length("values at the inducing points", self.given.value.len(), values.len())?;
        let mut a: Vec<f64> = self.kept.iter().map(|&i| values[i]).collect();
        self.lower.solve_rows(&mut a)?;
        Ok(a)
    }

    /// Adds an inducing point: one row more in $L$, O(md + m²). Returns whether the point was new to the span; if not, nothing changes but the list of given points.
    ///
    /// # Errors
    /// A point of the wrong width or with a value that is not finite.
    pub fn append(&mut self, z: &[f64]) -> Result<bool> {
        let point = PointsRef::new(z, z.len())?;
        self.check_width(point)?;
        let psi = self.features(point)?;
        let k_zz = self.kernel().value(z, z);
        let pivot = k_zz - norm_squared(psi.as_slice());
        self.digits.add(point)?;
        self.given.value.push(z)?;
        self.given.origin = self.given.origin.max(Origin::Declared);
        if pivot <= RANK_TOLERANCE * self.largest_diagonal.max(k_zz) {
            return Ok(false);
        }
        self.lower.append(psi.as_slice(), pivot.sqrt());
        self.kept.push(self.given.value.len() - 1);
        self.inducing.push(z)?;
        self.prepared = self.kernel().prepare(self.inducing.view())?;
        self.inverse_norm = OnceLock::new();
        self.condition = self.lower.condition_estimate();
        self.largest_diagonal = self.largest_diagonal.max(k_zz);
        Ok(true)
    }

    /// Points of the right width, whose differences to the inducing points carry digits.
    pub(crate) fn check_width(&self, x: PointsRef<'_>) -> Result<()> {
        if x.dim() != self.given.value.dim() {
            return Err(Error::Width { what: "points", row: 0, expected: self.given.value.dim(), found: x.dim() });
        }
        self.digits.check(x)
    }

    /// Features of a block of points, row-major into `rows`.
    pub(crate) fn features_into(&self, x: PointsRef<'_>, rows: &mut [f64]) -> Result<()> {
        #[cfg(test)]
        crate::work::count(x.len() * self.len() * (x.dim() + self.len() / 2));
        self.prepared.par_rows_into(x, rows);
        self.lower.solve_rows(rows)?;
        Ok(())
    }

    /// Calls `f(first row, points of the block, features of the block)` for block after block, in order.
    pub(crate) fn for_each_block(&self, x: PointsRef<'_>, mut f: impl FnMut(usize, PointsRef<'_>, &mut [f64]) -> Result<()>) -> Result<()> {
        let m = self.len();
        let mut rows = vec![0.0; BLOCK_ROWS.min(x.len()) * m];
        for start in (0..x.len()).step_by(BLOCK_ROWS) {
            let block = x.range(start, (start + BLOCK_ROWS).min(x.len()));
            let rows = &mut rows[..block.len() * m];
            self.features_into(block, rows)?;
            f(start, block, rows)?;
        }
        Ok(())
    }

    /// The same with the kernel's values at the inducing points in the place of the features.
    pub(crate) fn for_each_kernel_block(&self, x: PointsRef<'_>, mut f: impl FnMut(usize, PointsRef<'_>, &mut [f64])) {
        let m = self.len();
        let mut rows = vec![0.0; BLOCK_ROWS.min(x.len()) * m];
        for start in (0..x.len()).step_by(BLOCK_ROWS) {
            let block = x.range(start, (start + BLOCK_ROWS).min(x.len()));
            let rows = &mut rows[..block.len() * m];
            self.prepared.par_rows_into(block, rows);
            f(start, block, rows);
        }
    }

    /// $s_1^2$ for the points of a block whose features are known; `first` numbers the queries in errors.
    pub(crate) fn residual_of(&self, block: PointsRef<'_>, psi: &[f64], first: usize) -> Result<Vec<f64>> {
        let diagonal = self.kernel().diagonal(block);
        let rows = psi.chunks_exact(self.len());
        let difference = |(i, (&k_xx, row))| {
            let value = k_xx - norm_squared(row);
            if value >= -self.residual_rounding(k_xx) {
                return Ok(value.max(0.0));
            }
            // Nearly repeated inducing points make the sharp bound, by interpolation weights, larger than the quick one.
            let allowed = self.residual_rounding_of(block.range(i, i + 1), row)?[0];
            if value >= -allowed { Ok(0.0) } else { Err(Error::NegativeVariance { query: first + i, value, allowed }) }
        };
        diagonal.iter().zip(rows).enumerate().map(difference).collect()
    }
}
