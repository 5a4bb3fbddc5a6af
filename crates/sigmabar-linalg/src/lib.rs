//! The dense linear algebra under sigmabar: blocked, self-checked, and the only crate that knows the back-end (faer).
//!
//! It is a crate of its own so that the back-end's generic code is compiled once, optimised in every profile, and can be
//! swapped without touching the mathematics. All matrices are row-major; the *rows* of a block are points.
//!
//! Two rules hold everywhere. Work is cut into tiles whose size depends on the problem only, each done by one sequential call,
//! so results are bitwise the same for any number of threads. Every large result is probed with one random vector before it
//! is returned (see [`LinalgError::SelfCheck`]).

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod check;
mod cholesky;
mod condition;
mod cross;
mod eigen;
mod error;
mod gram;
mod interrupt;
mod lower;
mod matrix;
mod memory;
mod packed;
mod pivoted;
mod product;
mod qr;
mod rank_one;
#[cfg(test)]
mod selfcheck;
mod tile;
mod triangular;
mod vector;
mod workers;

pub use cross::CrossAccumulator;
pub use eigen::{SymmetricEigen, symmetric_eigen, symmetric_eigenvalues};
pub use error::{LinalgError, Operation};
pub use gram::{GramAccumulator, add_gram};
pub use interrupt::{Interrupt, Interrupted, Watch, caught, check as check_interrupt};
pub use lower::Lower;
pub use matrix::Matrix;
pub use memory::zeros;
pub use pivoted::{PivotedCholesky, RANK_TOLERANCE};
pub use product::{add_product_rows, add_transposed_product, product, product_transposed, transposed_product};
pub use qr::TallQr;
pub use vector::{add_transposed_matvec, argmax, dot, instructions, matvec, matvec_rows, norm_squared};
pub use workers::{chosen_threads, in_tasks, parallel, set_threads, threads};
