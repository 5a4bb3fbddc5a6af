//! Sparse kernel regression whose intervals are theorems.

mod error;
mod points;

pub use error::{Error, ModelError, Result};
pub use points::{Collected, Locations, Observations, Points, PointsRef, Prior};
pub use sigmabar_linalg::{LinalgError, Matrix, Operation};
