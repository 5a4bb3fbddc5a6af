//! How well a kernel and a ridge explain the responses: evidence, its bounds, their gradients, and learning by them.

mod elbo;
mod exact;
mod gradient;

pub use gradient::EvidenceGradient;
