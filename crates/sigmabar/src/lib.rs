//! Sparse kernel regression whose intervals are theorems.

mod error;
mod kernel;
mod points;

pub use error::{Error, ModelError, Result};
pub use kernel::{
    Hamming, Kernel, Lengthscale, Linear, Matern, Parameter, Periodic, PreparedKernel, RationalQuadratic, SquaredExponential,
};
pub use points::{Collected, Locations, Observations, Points, PointsRef, Prior};
pub use sigmabar_linalg::{LinalgError, Matrix, Operation};
