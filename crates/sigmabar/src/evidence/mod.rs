//! How well a kernel and a ridge explain the responses: evidence, its bounds, their gradients, and learning by them.

mod additive;
mod all_rows;
mod bounds;
mod elbo;
mod exact;
mod gradient;
mod inducing_method;
mod learning;
mod quasi_newton;
mod search;

pub use all_rows::{Climbed, Slope, SlopeLeaf, SlopeSums, climb_all_rows};
pub(crate) use bounds::{Space, Variable};
pub use gradient::EvidenceGradient;
pub(crate) use gradient::{add_gradient, inverse};
pub use inducing_method::InducingMethod;
pub use learning::{Learning, Learnt, fit_hyperparameters};
pub(crate) use quasi_newton::{Effort, maximise};
