//! Kernels: what is assumed about the function, as a closed set of small structs and their sums and products.
//!
//! | | $k(x,z)$ |
//! |---|---|
//! | [`SquaredExponential`] | $v\,e^{-\rho^2/2}$ |
//! | [`Matern`] | $v\,\frac{2^{1-\nu}}{\Gamma(\nu)}r^\nu K_\nu(r)$, $r=\sqrt{2\nu}\rho$ |
//! | [`RationalQuadratic`] | $v\,(1+\rho^2/(2\alpha))^{-\alpha}$ |
//! | [`Periodic`] | $v\exp(-2\sum_i\sin^2(\pi(x_i-z_i)/p_i)/\ell_i^2)$ |
//! | [`Linear`] | $v\,(b+\sum_ix_iz_i/\ell_i^2)$ |
//! | [`Hamming`] | $v\exp(-\sum_i[x_i\ne z_i]/\ell_i)$ |
//!
//! with $\rho^2=\sum_i((x_i-z_i)/\ell_i)^2$ throughout.

mod bessel;
mod compose;
mod coordinates;
mod digits;
mod evaluate;
mod exp;
mod gradient;
mod hamming;
mod lengthscale;
mod linear;
mod matern;
mod metric;
mod parameters;
mod periodic;
mod prepared;
mod profile;
mod radial;
mod rational_quadratic;
mod spectral;
mod squared_exponential;
mod tile;
mod words;

pub(crate) use digits::Digits;
pub(crate) use exp::exp_in_place;
pub use hamming::Hamming;
pub use lengthscale::Lengthscale;
pub use linear::Linear;
pub use matern::Matern;
pub use parameters::Parameter;
pub use periodic::Periodic;
pub use prepared::PreparedKernel;
pub use rational_quadratic::RationalQuadratic;
pub use squared_exponential::SquaredExponential;

use crate::error::Result;
use serde::{Deserialize, Serialize};

/// A positive semi-definite kernel.
///
/// Kernels are made by the constructors below, added with `+` and multiplied with `*`. Reading one back from storage validates it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
#[non_exhaustive]
pub enum Kernel {
    /// See [`Kernel::squared_exponential`].
    SquaredExponential(SquaredExponential),
    /// See [`Kernel::matern`].
    Matern(Matern),
    /// See [`Kernel::rational_quadratic`].
    RationalQuadratic(RationalQuadratic),
    /// See [`Kernel::periodic`].
    Periodic(Periodic),
    /// See [`Kernel::linear`].
    Linear(Linear),
    /// See [`Kernel::hamming`].
    Hamming(Hamming),
    /// The sum of kernels: $\sum_pk_p$.
    Sum(Vec<Kernel>),
    /// The product of kernels: $\prod_pk_p$.
    Product(Vec<Kernel>),
    /// A kernel that sees only some columns. See [`Kernel::columns`].
    Columns {
        /// The columns seen, in this order, counted from 0.
        columns: Vec<usize>,
        /// The kernel on them.
        kernel: Box<Kernel>,
    },
}

impl Kernel {
    /// $k(x,z)=v\,e^{-\rho^2/2}$.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] unless every length-scale and the variance are finite and positive.
    pub fn squared_exponential(lengthscale: impl Into<Lengthscale>, variance: f64) -> Result<Self> {
        Self::SquaredExponential(SquaredExponential { lengthscale: lengthscale.into(), variance }).validated()
    }

    /// $k(x,z)=v\,\frac{2^{1-\nu}}{\Gamma(\nu)}r^\nu K_\nu(r)$ with $r=\sqrt{2\nu}\rho$. The smoothness $\nu$ is a choice, not a parameter to learn.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] unless $\nu$, every length-scale and the variance are finite and positive.
    pub fn matern(nu: f64, lengthscale: impl Into<Lengthscale>, variance: f64) -> Result<Self> {
        Self::Matern(Matern { nu, lengthscale: lengthscale.into(), variance }).validated()
    }

    /// $k(x,z)=v\,(1+\rho^2/(2\alpha))^{-\alpha}$.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] unless $\alpha$, every length-scale and the variance are finite and positive.
    pub fn rational_quadratic(alpha: f64, lengthscale: impl Into<Lengthscale>, variance: f64) -> Result<Self> {
        Self::RationalQuadratic(RationalQuadratic { alpha, lengthscale: lengthscale.into(), variance }).validated()
    }

    /// $k(x,z)=v\exp\bigl(-2\sum_i\sin^2(\pi(x_i-z_i)/p_i)/\ell_i^2\bigr)$.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] unless every period, every length-scale and the variance are finite and positive.
    pub fn periodic(period: impl Into<Lengthscale>, lengthscale: impl Into<Lengthscale>, variance: f64) -> Result<Self> {
        Self::Periodic(Periodic { period: period.into(), lengthscale: lengthscale.into(), variance }).validated()
    }

    /// $k(x,z)=v\,(b+\sum_ix_iz_i/\ell_i^2)$, where the offset $b$ is the variance of the constant in units of $v$.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] unless every length-scale and the variance are finite and positive and $b\ge0$ is finite.
    pub fn linear(offset: f64, lengthscale: impl Into<Lengthscale>, variance: f64) -> Result<Self> {
        Self::Linear(Linear { offset, lengthscale: lengthscale.into(), variance }).validated()
    }

    /// $k(x,z)=v\exp\bigl(-\sum_i[x_i\ne z_i]/\ell_i\bigr)$, for columns that hold categories.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] unless every length-scale and the variance are finite and positive.
    pub fn hamming(lengthscale: impl Into<Lengthscale>, variance: f64) -> Result<Self> {
        Self::Hamming(Hamming { lengthscale: lengthscale.into(), variance }).validated()
    }

    fn validated(self) -> Result<Self> {
        self.validate()?;
        Ok(self)
    }
}
