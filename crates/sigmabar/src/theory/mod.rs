//! The theorems as numbers: each bound as corrected, and the paper's own expression beside it.
//!
//! The paper is Vakili, Scarlett, Shiu and Bernacchia, *Improved Convergence Rates for Sparse Approximation Methods in Kernel-Based Learning* (ICML 2022). The
//! corrections E1–E16 are proved in algorithm notes 0.4, which names the test of each.

mod batches;
mod cover;
mod hills;
mod measurements;
mod ratio;
mod regression;
mod regret;
mod setting;
mod slope;
mod variance;

pub use batches::{batch_lengths, batch_lengths_for, even_batch_lengths};
pub use cover::Cover;
pub use hills::norm_of_hills;
pub use measurements::{MeasurementCount, measurements_for_variance};
pub use ratio::ratio_bound;
pub use regression::MeanNorm;
pub use regret::{RegretBatch, RegretRequest};
pub use setting::{Bound, Multiplier, Setting, Statement, Theorems};
pub use variance::{DesignedData, InducingPlan, variance_sum_bound};

pub(crate) use slope::half_width_slope;
