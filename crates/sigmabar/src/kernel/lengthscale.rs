//! Length-scales: one for all columns, or one for each.

use super::Kernel;
use crate::error::{Result, positive, same_length};
use serde::{Deserialize, Serialize};

/// How far one has to go, column by column, before a function has room to change: $\ell$ or $\ell_1,\dots,\ell_d$.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Lengthscale {
    /// The same length for every column.
    Shared(f64),
    /// One length for each column, in order.
    PerColumn(Vec<f64>),
}

impl Lengthscale {
    /// The length of one column. Cost O(1).
    ///
    /// # Panics
    /// If `column` is out of range of [`Lengthscale::PerColumn`].
    #[must_use]
    pub fn get(&self, column: usize) -> f64 {
        match self {
            Self::Shared(length) => *length,
            Self::PerColumn(lengths) => lengths[column],
        }
    }

    /// All stored lengths: one if shared, else one for each column. Cost O(1).
    #[must_use]
    pub fn values(&self) -> &[f64] {
        match self {
            Self::Shared(length) => std::slice::from_ref(length),
            Self::PerColumn(lengths) => lengths,
        }
    }

    /// The lengths of the first `dim` columns.
    pub(super) fn expanded(&self, dim: usize) -> Vec<f64> {
        match self {
            Self::Shared(length) => vec![*length; dim],
            Self::PerColumn(lengths) => lengths.clone(),
        }
    }

    /// Position, among the parameters of this scale, of the one that rules `column`.
    pub(super) fn slot(&self, column: usize) -> usize {
        match self {
            Self::Shared(_) => 0,
            Self::PerColumn(_) => column,
        }
    }

    pub(super) fn validate(&self, name: &'static str) -> Result<()> {
        match self {
            Self::PerColumn(lengths) if lengths.is_empty() => Err(crate::Error::Empty { what: name }),
            _ => self.values().iter().try_for_each(|&length| positive(name, length).map(|_| ())),
        }
    }

    pub(super) fn check_dim(&self, what: &'static str, dim: usize) -> Result<()> {
        match self {
            Self::Shared(_) => Ok(()),
            Self::PerColumn(lengths) => same_length(what, dim, lengths.len()),
        }
    }

    /// $\rho^2=\sum_i((x_i-z_i)/\ell_i)^2$: differences first, so that nearby points keep all their digits.
    pub(super) fn squared_distance(&self, x: &[f64], z: &[f64]) -> f64 {
        x.iter().zip(z).enumerate().map(|(i, (a, b))| ((a - b) / self.get(i)).powi(2)).sum()
    }

    /// $\sum_i(h_i/\ell_i)^2$.
    pub(super) fn squared_norm(&self, h: &[f64]) -> f64 {
        h.iter().enumerate().map(|(i, a)| (a / self.get(i)).powi(2)).sum()
    }
}

impl Kernel {
    /// The length-scale of a kernel of the scaled distance $\rho$: squared-exponential, Matérn, rational quadratic. `None` for every other: the lengths of
    /// periodic, linear and Hamming kernels are no distances between points, and sums, products and columns have one for each part. Cost O(1).
    #[must_use]
    pub fn lengthscale(&self) -> Option<&Lengthscale> {
        match self {
            Self::SquaredExponential(kernel) => Some(&kernel.lengthscale),
            Self::Matern(kernel) => Some(&kernel.lengthscale),
            Self::RationalQuadratic(kernel) => Some(&kernel.lengthscale),
            _ => None,
        }
    }
}

impl Kernel {
    /// The same kernel with every length-scale multiplied by a factor.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] unless the factor and the length-scales times it are finite and positive.
    pub fn stretched(&self, factor: f64) -> Result<Self> {
        positive("length-scale factor", factor)?;
        let stretch = |parameter: &super::Parameter| {
            let name = parameter.name.rsplit('.').next().unwrap_or_default();
            if name.starts_with("lengthscale") { parameter.value.ln() + factor.ln() } else { parameter.value.ln() }
        };
        if factor == 1.0 {
            return Ok(self.clone());
        }
        self.with_log_parameters(&self.parameters().iter().map(stretch).collect::<Vec<_>>())
    }

    /// By how much the norm of a function grows at most when it is measured with shorter length-scales, $\prod_j\sqrt{\ell_j/\ell_j'}$ over `dim` columns
    /// (algorithm notes 13.2): whoever knows a norm for length-scales that are *at least* these knows one for these. Only between squared-exponential kernels, and
    /// between Matérn kernels of one smoothness, of the same variance; `None` for all others and where a length-scale of `shorter` is longer.
    #[must_use]
    pub fn norm_growth(&self, shorter: &Self, dim: usize) -> Option<f64> {
        let (long, short) = match (self, shorter) {
            (Self::SquaredExponential(a), Self::SquaredExponential(b)) if a.variance == b.variance => (&a.lengthscale, &b.lengthscale),
            (Self::Matern(a), Self::Matern(b)) if a.variance == b.variance && a.nu == b.nu => (&a.lengthscale, &b.lengthscale),
            _ => return None,
        };
        let mut growth = 1.0;
        for column in 0..dim {
            let ratio = long.get(column) / short.get(column);
            if ratio < 1.0 {
                return None;
            }
            growth *= ratio.sqrt();
        }
        Some(growth)
    }
}

impl From<f64> for Lengthscale {
    fn from(length: f64) -> Self {
        Self::Shared(length)
    }
}

impl From<Vec<f64>> for Lengthscale {
    fn from(lengths: Vec<f64>) -> Self {
        Self::PerColumn(lengths)
    }
}

impl From<&[f64]> for Lengthscale {
    fn from(lengths: &[f64]) -> Self {
        Self::PerColumn(lengths.to_vec())
    }
}

impl<const N: usize> From<[f64; N]> for Lengthscale {
    fn from(lengths: [f64; N]) -> Self {
        Self::PerColumn(lengths.to_vec())
    }
}
