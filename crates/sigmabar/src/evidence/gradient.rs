//! The gradient of the ELBO by one more streamed pass, after the fit.

use crate::error::Result;
use crate::features::{BLOCK_ROWS, FeatureMap};
use crate::kernel::{Kernel, PreparedKernel};
use crate::points::PointsRef;
use crate::posterior::Posterior;
use serde::{Deserialize, Serialize};
use sigmabar_linalg::{Lower, Matrix, add_gram, add_product_rows, dot, in_tasks, matvec_rows, norm_squared};
use std::sync::Arc;

/// Rows whose derivatives one task sums: fixed, so that the sums are the same for every number of threads.
const CHUNK: usize = 64;

/// Kernel values are multiplied by the inverse of $K_{ZZ}$ directly only while $\mathrm{cond}(L)^2$ stays below this: ten digits of the gradient are then safe.
const DIRECT_BELOW: f64 = 1e6;

/// An evidence, or its lower bound, with its derivatives, all in the data's scale.
#[derive(Clone, Debug, PartialEq)]
pub struct EvidenceGradient {
    /// The log evidence or the ELBO.
    pub value: f64,
    /// The derivatives in the logarithms of the kernel's parameters, in the order of [`Kernel::parameters`].
    pub kernel: Vec<f64>,
    /// The derivative in $\log\tau$.
    pub ridge: f64,
    /// The derivative in the constant prior mean.
    pub mean: f64,
}

impl Posterior {
    /// The ELBO and its gradient with the inducing points fixed, by one pass after the fit.
    ///
    /// With $S = I - B^{-1}$, $w = L^{-\top}\beta$ and $\mu_i = \psi(x_i)^\top\beta$ the adjoints are
    ///
    /// $$\frac{\partial}{\partial k_Z(x_i)} = \tau^{-2}\left[c_i L^{-\top}S\,\psi(x_i) + (s_i - c_i\mu_i)\,w\right],\qquad
    /// \frac{\partial}{\partial k(x_i,x_i)} = -\frac{c_i}{2\tau^2},$$
    /// $$\frac{\partial}{\partial K_{ZZ}} = \tfrac12 L^{-\top}\left[S - \tau^{-2}G - \beta\beta^\top\right]L^{-1},$$
    /// $$\frac{\partial}{\partial\log\tau} = -(n - m + \operatorname{tr}B^{-1}) + \tau^{-2}\left(\textstyle\sum y^2 - h^\top\beta + \operatorname{tr}D\right) - \lVert\beta\rVert^2 .$$
    ///
    /// Inducing points that were left out as dependent take no part. Cost O(n(md + m²) + m³), memory O(m²).
    ///
    /// # Errors
    /// A failed self-check.
    pub fn elbo_gradient(&self) -> Result<EvidenceGradient> {
        let (locations, sums) = (self.information().locations()?, self.observations()?.sums());
        let adjoint = Adjoint::new(self)?;
        let mut passed = adjoint.nothing();
        let x = locations.points();
        for start in (0..x.len()).step_by(BLOCK_ROWS) {
            let end = (start + BLOCK_ROWS).min(x.len());
            let counts = locations.counts().map(|counts| &counts[start..end]);
            adjoint.add(&Block { points: x.range(start, end), counts, sums: &sums[start..end] }, &mut passed)?;
        }
        self.gradient_of(&adjoint, passed)
    }

    /// The gradient, from what a pass over all rows has summed.
    pub(super) fn gradient_of(&self, adjoint: &Adjoint, passed: Passed) -> Result<EvidenceGradient> {
        let (features, mut kernel) = (self.information().features(), passed.kernel);
        add_gradient(features.prepared(), features.inducing(), adjoint.inducing.as_slice(), &mut kernel);
        let mean = passed.residual / adjoint.tau2 / self.prior().unit();
        Ok(EvidenceGradient { value: self.elbo(), kernel, ridge: self.ridge_slope(adjoint.inverse_trace), mean })
    }

    /// `−(n − m + tr B⁻¹) + (Σy² − hᵀβ + tr D)/τ² − ‖β‖²`.
    fn ridge_slope(&self, inverse_trace: f64) -> f64 {
        let information = self.information();
        let tau2 = information.ridge().powi(2);
        let (n, m) = (information.len() as f64, information.features().len() as f64);
        let unexplained = self.sum_squares() - dot(self.projected(), self.coefficients());
        -(n - m + inverse_trace) + (unexplained + information.residual_trace()) / tau2 - norm_squared(self.coefficients())
    }
}

/// One block of measured points, with how often each was measured and the sums of its responses, in the model's scale.
pub(super) struct Block<'a> {
    pub points: PointsRef<'a>,
    /// Once where nothing is said.
    pub counts: Option<&'a [f64]>,
    pub sums: &'a [f64],
}

/// What a pass sums: the share of the measured points in the kernel's derivatives, and $\sum s_i-c_i\mu_i$.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Passed {
    pub kernel: Vec<f64>,
    pub residual: f64,
}

/// What turns kernel values into their adjoints.
#[derive(Clone, Debug)]
pub(super) struct Adjoint {
    features: Arc<FeatureMap>,
    tau2: f64,
    /// $\beta$ where the rows are features, $w = L^{-\top}\beta$ where they are kernel values.
    mean_weights: Vec<f64>,
    /// $w$.
    kernel_weights: Vec<f64>,
    /// $\tau^{-2}SL^{-1}$ for features, $\tau^{-2}L^{-\top}SL^{-1}$ for kernel values.
    right: Matrix,
    /// Whether rows are multiplied as kernel values, without whitening them first.
    direct: bool,
    /// The adjoint of $K_{ZZ}$.
    inducing: Matrix,
    inverse_trace: f64,
}

impl Adjoint {
    pub fn new(posterior: &Posterior) -> Result<Self> {
        let information = posterior.information();
        let (lower, tau2) = (information.features().lower(), information.ridge().powi(2));
        let beta = posterior.coefficients();
        let mut kernel_weights = beta.to_vec();
        lower.solve_transposed_rows(&mut kernel_weights)?;
        // S = I − B⁻¹  (m × m)
        let mut shrinkage = inverse(information.lower())?;
        let inverse_trace = shrinkage.diagonal().iter().sum();
        shrinkage.as_mut_slice().iter_mut().for_each(|v| *v = -*v);
        (0..beta.len()).for_each(|i| shrinkage[(i, i)] += 1.0);
        // ½ L⁻ᵀ[S − G/τ² − ββᵀ]L⁻¹
        let gram = information.gram();
        let inner = Matrix::from_fn(beta.len(), beta.len(), |i, j| 0.5 * (shrinkage[(i, j)] - gram[(i, j)] / tau2 - beta[i] * beta[j]));
        let inducing = unwhiten(lower, unwhiten(lower, inner)?.transposed())?;
        let direct = information.features().condition().powi(2) < DIRECT_BELOW;
        shrinkage.as_mut_slice().iter_mut().for_each(|v| *v /= tau2);
        let mut right = unwhiten(lower, shrinkage)?;
        if direct {
            right = unwhiten(lower, right.transposed())?;
        }
        let mean_weights = if direct { kernel_weights.clone() } else { beta.to_vec() };
        let features = Arc::clone(information.features());
        Ok(Self { features, tau2, mean_weights, kernel_weights, right, direct, inducing, inverse_trace })
    }

    pub fn nothing(&self) -> Passed {
        Passed { kernel: vec![0.0; self.features.prepared().parameter_count()], residual: 0.0 }
    }

    /// Adds the share of a block.
    pub fn add(&self, block: &Block<'_>, passed: &mut Passed) -> Result<()> {
        let (m, b) = (self.mean_weights.len(), block.points.len());
        let mut rows = vec![0.0; b * m];
        let mut weights = rows.clone();
        passed.residual += self.of_block(block, &mut rows, &mut weights)?;
        add_gradient(self.features.prepared(), block.points, &weights, &mut passed.kernel);
        let diagonal: Vec<f64> = (0..b).map(|i| -0.5 * block.count(i) / self.tau2).collect();
        add_diagonal_gradient(self.features.kernel(), block.points, &diagonal, &mut passed.kernel);
        Ok(())
    }

    /// Writes the adjoint of the block's kernel values into `out`; the sum of $s_i - c_i\mu_i$.
    fn of_block(&self, block: &Block<'_>, rows: &mut [f64], out: &mut [f64]) -> Result<f64> {
        let m = self.mean_weights.len();
        self.features.prepared().par_rows_into(block.points, rows);
        if !self.direct {
            self.features.lower().solve_rows(rows)?;
        }
        let mut mean = vec![0.0; block.points.len()];
        matvec_rows(rows, &self.mean_weights, &mut mean);
        let mut total = 0.0;
        for (i, (row, out)) in rows.chunks_exact_mut(m).zip(out.chunks_exact_mut(m)).enumerate() {
            let count = block.count(i);
            let residual = block.sums[i] - count * mean[i];
            total += residual;
            out.iter_mut().zip(&self.kernel_weights).for_each(|(o, w)| *o = residual / self.tau2 * w);
            if count != 1.0 {
                row.iter_mut().for_each(|v| *v *= count);
            }
        }
        add_product_rows(out, m, 1.0, rows, m, &self.right)?;
        Ok(total)
    }
}

impl Block<'_> {
    fn count(&self, i: usize) -> f64 {
        self.counts.map_or(1.0, |counts| counts[i])
    }
}

/// `A⁻¹ = L⁻ᵀL⁻¹`, both triangles.
pub(crate) fn inverse(lower: &Lower) -> Result<Matrix> {
    let mut rows = Matrix::identity(lower.len());
    lower.solve_transposed_rows(rows.as_mut_slice())?;
    let mut inverse = Matrix::zeros(lower.len(), lower.len());
    add_gram(&mut inverse, rows.as_slice())?;
    inverse.mirror_lower();
    Ok(inverse)
}

/// `A L⁻¹`: the rows of `A` as vectors become `L⁻ᵀa`.
fn unwhiten(lower: &Lower, mut a: Matrix) -> Result<Matrix> {
    lower.solve_transposed_rows(a.as_mut_slice())?;
    Ok(a)
}

/// Adds `Σ W_ij ∂k(x_i,z_j)/∂log θ`, in parallel over chunks of rows whose sums are joined in order.
pub(crate) fn add_gradient(prepared: &PreparedKernel, x: PointsRef<'_>, adjoint: &[f64], grad: &mut [f64]) {
    let m = prepared.len();
    let part = |chunk: usize| {
        let rows = chunk * CHUNK..((chunk + 1) * CHUNK).min(x.len());
        let mut part = vec![0.0; prepared.parameter_count()];
        prepared.gradient_rows(x.range(rows.start, rows.end), &adjoint[rows.start * m..rows.end * m], &mut part);
        part
    };
    join(&in_tasks(x.len().div_ceil(CHUNK), part), grad);
}

fn add_diagonal_gradient(kernel: &Kernel, x: PointsRef<'_>, adjoint: &[f64], grad: &mut [f64]) {
    let count = grad.len();
    let part = |chunk: usize| {
        let rows = chunk * CHUNK..((chunk + 1) * CHUNK).min(x.len());
        let mut part = vec![0.0; count];
        kernel.gradient_diagonal(x.range(rows.start, rows.end), &adjoint[rows], &mut part);
        part
    };
    join(&in_tasks(x.len().div_ceil(CHUNK), part), grad);
}

fn join(parts: &[Vec<f64>], grad: &mut [f64]) {
    for part in parts {
        grad.iter_mut().zip(part).for_each(|(g, p)| *g += p);
    }
}
