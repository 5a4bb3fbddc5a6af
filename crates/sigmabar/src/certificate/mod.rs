//! What we may claim: certified bounds on what the features miss, half-widths before the responses, intervals with their certificate after.

mod answer;
mod bias;
mod breakdown;
mod claim;
mod conformal;
mod continuous;
mod difference;
mod ellipsoid;
mod energy;
mod exact;
mod extension;
mod intervals;
mod label;
mod lanczos;
mod left_out;
mod lipschitz;
mod prediction;
mod premises;
mod range;
mod reasons;
mod record;
mod repeated;
mod residual_norm;
mod simulated;
mod uniform;
mod widths;

pub use answer::{Answer, Answers};
pub use breakdown::{Breakdown, IntervalCurve, IntervalsAt};
pub use claim::{Claim, Coverage, Method, Side};
pub use conformal::{Calibration, Conformal};
pub use energy::NormCheck;
pub use intervals::Intervals;
pub use label::Label;
pub use prediction::PredictionIntervals;
pub use premises::{Amended, Calibrated, Lengthscales, Premise, Premises};
pub use range::Range;
pub use record::{About, Bounds, Certificate, Claimed, Contradiction, Frequency, Spent, Theorem, Unseen};
pub use repeated::Repeated;
pub use residual_norm::ResidualNormMethod;
pub use widths::{HalfWidth, Widths};

pub(crate) use ellipsoid::{Directions, Ellipsoid, Premises as EllipsoidPremises, Slice};
pub(crate) use energy::EnergyBand;
pub(crate) use range::norm_bounds_around;
pub(crate) use simulated::NormalDraws;
pub(crate) use widths::{direct_bias, level_form};
