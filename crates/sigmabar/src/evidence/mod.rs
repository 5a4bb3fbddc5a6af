//! How well a kernel and a ridge explain the responses: evidence, its bounds, their gradients, and learning by them.

mod bounds;
mod choice;
mod elbo;
mod exact;
mod gradient;
mod learning;
mod quasi_newton;
mod search;

pub use choice::Choice;
pub use gradient::EvidenceGradient;
pub use learning::{Learning, Learnt, fit_hyperparameters};
