//! Values, blocks and diagonals.

use super::{Kernel, compose::gathered};
use crate::error::{Result, same_length};
use crate::points::PointsRef;
use sigmabar_linalg::Matrix;

impl Kernel {
    /// $k(x,z)$ for one pair, exactly symmetric. Cost O(d) per part. A block agrees to a few units in the last place;
    /// for many pairs use [`Kernel::prepare`].
    ///
    /// Meant for points that passed [`Kernel::check_dim`].
    ///
    /// # Panics
    /// If a length-scale or a chosen column is missing for the points' columns: a mistake of the caller, which `check_dim` finds.
    #[must_use]
    pub fn value(&self, x: &[f64], z: &[f64]) -> f64 {
        match self {
            Self::SquaredExponential(kernel) => kernel.at(kernel.lengthscale.squared_distance(x, z)),
            Self::Matern(kernel) => kernel.at(kernel.lengthscale.squared_distance(x, z)),
            Self::RationalQuadratic(kernel) => kernel.at(kernel.lengthscale.squared_distance(x, z)),
            Self::Periodic(kernel) => kernel.at(kernel.squared_distance(x, z)),
            Self::Linear(kernel) => kernel.value(x, z),
            Self::Hamming(kernel) => kernel.at(kernel.disagreement(x, z)),
            Self::Sum(terms) => terms.iter().map(|term| term.value(x, z)).sum(),
            Self::Product(factors) => factors.iter().map(|factor| factor.value(x, z)).product(),
            Self::Columns { columns, kernel } => kernel.value(&gathered(x, columns), &gathered(z, columns)),
        }
    }

    /// The $n\times m$ block with entries $k(x_i,z_j)$. Parallel over rows, the same for every number of threads. Cost O(nmd).
    ///
    /// # Errors
    /// As [`Kernel::check_dim`]; [`crate::Error::Length`] if the two lists have different numbers of columns.
    pub fn block(&self, x: PointsRef<'_>, z: PointsRef<'_>) -> Result<Matrix> {
        same_length("the columns of the second points", x.dim(), z.dim())?;
        let prepared = self.prepare(z)?;
        let mut out = Matrix::zeros(x.len(), z.len());
        prepared.par_rows_into(x, out.as_mut_slice());
        Ok(out)
    }

    /// The Gram matrix $K_{ij}=k(x_i,x_j)$, symmetric to the last bit. Cost O(n²d).
    ///
    /// # Errors
    /// As [`Kernel::check_dim`].
    pub fn gram(&self, x: PointsRef<'_>) -> Result<Matrix> {
        self.block(x, x)
    }

    /// $k(x_i,x_i)$ for all points, equal to the last bit to the diagonal of [`Kernel::gram`]. Cost O(n), with a linear part O(nd).
    ///
    /// Meant for points that passed [`Kernel::check_dim`].
    #[must_use]
    pub fn diagonal(&self, x: PointsRef<'_>) -> Vec<f64> {
        x.rows().map(|point| self.variance_at(point)).collect()
    }

    /// $k(x,x)$.
    pub(super) fn variance_at(&self, x: &[f64]) -> f64 {
        match self {
            Self::SquaredExponential(kernel) => kernel.variance,
            Self::Matern(kernel) => kernel.variance,
            Self::RationalQuadratic(kernel) => kernel.variance,
            Self::Periodic(kernel) => kernel.variance,
            Self::Linear(kernel) => kernel.value(x, x),
            Self::Hamming(kernel) => kernel.variance,
            Self::Sum(terms) => terms.iter().map(|term| term.variance_at(x)).sum(),
            Self::Product(factors) => factors.iter().map(|factor| factor.variance_at(x)).product(),
            Self::Columns { columns, kernel } => kernel.variance_at(&gathered(x, columns)),
        }
    }

    /// $k_{\max}=\sup_xk(x,x)$; `None` if a linear part makes it unbounded. Cost: the number of parts.
    #[must_use]
    pub fn max_variance(&self) -> Option<f64> {
        match self {
            Self::SquaredExponential(kernel) => Some(kernel.variance),
            Self::Matern(kernel) => Some(kernel.variance),
            Self::RationalQuadratic(kernel) => Some(kernel.variance),
            Self::Periodic(kernel) => Some(kernel.variance),
            Self::Linear(_) => None,
            Self::Hamming(kernel) => Some(kernel.variance),
            Self::Sum(terms) => terms.iter().map(Self::max_variance).sum(),
            Self::Product(factors) => factors.iter().map(Self::max_variance).product(),
            Self::Columns { kernel, .. } => kernel.max_variance(),
        }
    }

    /// $\max_ik(x_i,x_i)$ over the given points, 0 for none. Cost as [`Kernel::diagonal`].
    #[must_use]
    pub fn max_diagonal(&self, x: PointsRef<'_>) -> f64 {
        x.rows().map(|point| self.variance_at(point)).fold(0.0, f64::max)
    }

    /// Whether $k(x,z)$ depends on $x-z$ alone, or, for categories, on which columns agree: then $k(x,x)$ is the same everywhere.
    #[must_use]
    pub fn is_stationary(&self) -> bool {
        match self {
            Self::Linear(_) => false,
            Self::Sum(parts) | Self::Product(parts) => parts.iter().all(Self::is_stationary),
            Self::Columns { kernel, .. } => kernel.is_stationary(),
            _ => true,
        }
    }

    /// The smoothness $\nu$ of a Matérn kernel; of a sum or product, that of its roughest part. `None` means that no part is Matérn:
    /// the functions have derivatives of every order (or live on categories).
    #[must_use]
    pub fn smoothness(&self) -> Option<f64> {
        match self {
            Self::Matern(kernel) => Some(kernel.nu),
            Self::Sum(parts) | Self::Product(parts) => parts.iter().filter_map(Self::smoothness).reduce(f64::min),
            Self::Columns { kernel, .. } => kernel.smoothness(),
            _ => None,
        }
    }
}
