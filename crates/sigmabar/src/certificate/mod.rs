//! What we may claim: certified bounds on what the features miss, half-widths before the responses, intervals with their certificate after.

mod bias;
mod claim;
mod continuous;
mod difference;
mod ellipsoid;
mod energy;
mod exact;
mod extension;
mod intervals;
mod label;
mod lanczos;
mod lipschitz;
mod noise;
mod prediction;
mod record;
mod region;
mod residual_norm;
mod simulated;
mod uniform;
mod widths;

pub use claim::{Claim, Coverage, Method, Side};
pub use energy::NormCheck;
pub use intervals::Intervals;
pub use label::{Assumption, Label, Reason};
pub use noise::Noise;
pub use prediction::PredictionIntervals;
pub use record::Certificate;
pub use region::Region;
pub use residual_norm::ResidualNormMethod;
pub use widths::{HalfWidth, Widths};

pub(crate) use ellipsoid::{Directions, Ellipsoid, Premises as EllipsoidPremises};
pub(crate) use simulated::NormalDraws;
pub(crate) use widths::{direct_bias, level_form};
