//! Sums, products and kernels on some columns; what makes a composition valid.

use super::Kernel;
use crate::error::{Error, Result};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::ops::{Add, Mul};

impl Kernel {
    /// The kernel that sees only these columns of a point, in this order. Cost O(1).
    ///
    /// # Errors
    /// [`Error::Empty`] if no column is named; [`Error::Length`] if the kernel's length-scales do not fit their number.
    pub fn columns(self, columns: Vec<usize>) -> Result<Self> {
        Self::Columns { columns, kernel: Box::new(self) }.validated()
    }

    /// Checks every parameter and every composition; what the constructors and deserialisation call. Cost: the number of parameters.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a parameter out of range, [`Error::Empty`] for an empty sum, product or choice of columns,
    /// [`Error::Length`] for length-scales that do not fit the number of chosen columns.
    pub fn validate(&self) -> Result<()> {
        match self {
            Self::SquaredExponential(kernel) => kernel.validate(),
            Self::Matern(kernel) => kernel.validate(),
            Self::RationalQuadratic(kernel) => kernel.validate(),
            Self::Periodic(kernel) => kernel.validate(),
            Self::Linear(kernel) => kernel.validate(),
            Self::Hamming(kernel) => kernel.validate(),
            Self::Sum(terms) if terms.is_empty() => Err(Error::Empty { what: "the sum of kernels" }),
            Self::Product(factors) if factors.is_empty() => Err(Error::Empty { what: "the product of kernels" }),
            Self::Sum(parts) | Self::Product(parts) => parts.iter().try_for_each(Self::validate),
            Self::Columns { columns, .. } if columns.is_empty() => Err(Error::Empty { what: "the choice of columns" }),
            Self::Columns { columns, kernel } => {
                kernel.validate()?;
                kernel.check_dim(columns.len())
            }
        }
    }

    /// Checks that the kernel can be used on points with `dim` columns. Cost: the number of parameters.
    ///
    /// # Errors
    /// [`Error::Length`] naming the length-scales (or periods) whose number is not `dim`; [`Error::Parameter`] for a chosen column that
    /// does not exist; [`Error::Empty`] for an empty composition.
    pub fn check_dim(&self, dim: usize) -> Result<()> {
        match self {
            Self::SquaredExponential(kernel) => kernel.lengthscale.check_dim("lengthscale", dim),
            Self::Matern(kernel) => kernel.lengthscale.check_dim("lengthscale", dim),
            Self::RationalQuadratic(kernel) => kernel.lengthscale.check_dim("lengthscale", dim),
            Self::Periodic(kernel) => {
                kernel.period.check_dim("period", dim)?;
                kernel.lengthscale.check_dim("lengthscale", dim)
            }
            Self::Linear(kernel) => kernel.lengthscale.check_dim("lengthscale", dim),
            Self::Hamming(kernel) => kernel.lengthscale.check_dim("lengthscale", dim),
            Self::Sum(parts) | Self::Product(parts) if parts.is_empty() => Err(Error::Empty { what: "the composition of kernels" }),
            Self::Sum(parts) | Self::Product(parts) => parts.iter().try_for_each(|part| part.check_dim(dim)),
            Self::Columns { columns, kernel } => {
                if let Some(&column) = columns.iter().find(|&&column| column >= dim) {
                    let requirement = "less than the number of columns of the points";
                    return Err(Error::Parameter { name: "column", value: column as f64, requirement });
                }
                kernel.check_dim(columns.len())
            }
        }
    }
}

impl Add for Kernel {
    type Output = Self;

    /// $k_1+k_2$; sums within sums are flattened.
    fn add(self, other: Self) -> Self {
        let mut terms = match self {
            Self::Sum(terms) => terms,
            kernel => vec![kernel],
        };
        match other {
            Self::Sum(more) => terms.extend(more),
            kernel => terms.push(kernel),
        }
        Self::Sum(terms)
    }
}

impl Mul for Kernel {
    type Output = Self;

    /// $k_1k_2$; products within products are flattened.
    fn mul(self, other: Self) -> Self {
        let mut factors = match self {
            Self::Product(factors) => factors,
            kernel => vec![kernel],
        };
        match other {
            Self::Product(more) => factors.extend(more),
            kernel => factors.push(kernel),
        }
        Self::Product(factors)
    }
}

impl Serialize for Kernel {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Kernel {
    /// Reads and validates.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let kernel = Self::deserialize(deserializer)?;
        kernel.validate().map_err(de::Error::custom)?;
        Ok(kernel)
    }
}

/// The chosen entries of a point.
pub(super) fn gathered(point: &[f64], columns: &[usize]) -> Vec<f64> {
    columns.iter().map(|&column| point[column]).collect()
}
