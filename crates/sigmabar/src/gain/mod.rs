//! Information gain and effective dimension as numbers: of data that were taken, and of the best design that could be.

mod bracket;
mod data;
mod domain;
mod dual;
mod greedy;

pub use bracket::Bracket;
pub use data::DataGain;
pub use domain::{GainBound, GainBoundKind, GainDomain, MaxGain};
