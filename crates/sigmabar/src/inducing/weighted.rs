//! The matrix every sampling rule means, $\tilde K = C^{1/2}KC^{1/2}$, entry by entry and block by block.

use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::points::Locations;
use sigmabar_linalg::{Lower, Matrix, norm_squared};

/// Rows streamed at a time.
const STREAM_ROWS: usize = 1024;

/// $\tilde K = C^{1/2}KC^{1/2}$ over the distinct locations.
pub(super) struct Weighted<'a> {
    pub kernel: &'a Kernel,
    pub locations: &'a Locations,
    /// $\tilde K_{ii} = c_i k(x_i,x_i)$.
    pub diagonal: Vec<f64>,
    /// $\sqrt{c_i}$.
    root: Vec<f64>,
}

/// A weighted sample: indices, and the probability with which each was included.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    pub indices: Vec<usize>,
    pub probabilities: Vec<f64>,
}

impl Sample {
    /// Indices that are there for certain.
    pub fn certain(indices: Vec<usize>) -> Self {
        Self { probabilities: vec![1.0; indices.len()], indices }
    }
}

impl<'a> Weighted<'a> {
    pub fn new(kernel: &'a Kernel, locations: &'a Locations) -> Result<Self> {
        kernel.check_dim(locations.points().dim())?;
        let variances = kernel.diagonal(locations.points());
        let largest = variances.iter().copied().fold(0.0, f64::max);
        let sound = variances.iter().all(|v| v.is_finite());
        if !(sound && largest > 0.0) {
            let value = if sound { largest } else { f64::INFINITY };
            return Err(Error::Parameter { name: "variance at the locations", value, requirement: "finite, and positive somewhere" });
        }
        let diagonal = variances.iter().enumerate().map(|(i, v)| v * locations.count(i)).collect();
        let root = (0..locations.distinct()).map(|i| locations.count(i).sqrt()).collect();
        Ok(Self { kernel, locations, diagonal, root })
    }

    /// Number of distinct locations.
    pub fn len(&self) -> usize {
        self.diagonal.len()
    }

    /// The locations with positive variance: the others can explain nothing.
    pub fn eligible(&self) -> Vec<usize> {
        (0..self.len()).filter(|&i| self.diagonal[i] > 0.0).collect()
    }

    /// The block $\tilde K_{RS}$.
    pub fn block(&self, rows: &[usize], columns: &[usize]) -> Result<Matrix> {
        let points = self.locations.points();
        let mut block = self.kernel.block(points.select(rows)?.view(), points.select(columns)?.view())?;
        for (i, &row) in rows.iter().enumerate() {
            let root = self.root[row];
            block.row_mut(i).iter_mut().zip(columns).for_each(|(v, &column)| *v *= root * self.root[column]);
        }
        Ok(block)
    }

    /// For each target $i$ the residual $\tilde k_{ii} - \tilde k_S(x_i)^\top(\tilde K_{SS} + \rho\,\mathrm{diag}(p))^{-1}\tilde k_S(x_i)$,
    /// between 0 and $\tilde k_{ii}$. Cost O(s³ + s²) per sample and target.
    pub fn ridge_residual(&self, sample: &Sample, rho: f64, targets: &[usize]) -> Result<Vec<f64>> {
        if sample.indices.is_empty() {
            return Ok(targets.iter().map(|&i| self.diagonal[i]).collect());
        }
        let mut a = self.block(&sample.indices, &sample.indices)?;
        for (i, p) in sample.probabilities.iter().enumerate() {
            a[(i, i)] += rho * p;
        }
        let lower = factor(a, rho)?;
        let s = sample.indices.len();
        let mut out = Vec::with_capacity(targets.len());
        for part in targets.chunks(STREAM_ROWS) {
            let mut rows = self.block(part, &sample.indices)?;
            lower.solve_rows(rows.as_mut_slice())?;
            let squares = rows.as_slice().chunks_exact(s).map(norm_squared);
            out.extend(part.iter().zip(squares).map(|(&i, square)| (self.diagonal[i] - square).clamp(0.0, self.diagonal[i])));
        }
        Ok(out)
    }
}

/// The factor of $A$, with a little more on the diagonal when rounding makes it indefinite: scores computed with it are those of a slightly
/// larger ridge.
fn factor(mut a: Matrix, rho: f64) -> Result<Lower> {
    let trace: f64 = a.diagonal().iter().sum();
    let mut extra = f64::EPSILON * trace.max(rho);
    loop {
        match Lower::cholesky(&a) {
            Ok(lower) => return Ok(lower),
            Err(error) if extra > trace => return Err(error.into()),
            Err(_) => {
                (0..a.rows()).for_each(|i| a[(i, i)] += extra);
                extra *= 10.0;
            }
        }
    }
}
