//! The dense linear algebra under sigmabar: blocked, self-checked, and the only crate that knows the back-end (faer).
//!
//! It is a crate of its own so that the back-end's generic code is compiled once, optimised in every profile, and can be
//! swapped without touching the mathematics. All matrices are row-major; the *rows* of a block are points.

mod error;
mod matrix;

pub use error::{LinalgError, Operation};
pub use matrix::Matrix;
