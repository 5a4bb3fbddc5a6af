//! Sparse kernel regression whose intervals are theorems.

mod certificate;
mod design;
mod error;
mod evidence;
mod expansion;
mod features;
mod gain;
mod inducing;
mod information;
mod kernel;
mod points;
mod posterior;
mod residual;
mod theory;

pub use certificate::{
    Assumption, Certificate, Claim, Coverage, HalfWidth, Intervals, Label, Method, Noise, NormCheck, PredictionIntervals, Reason, Region,
    ResidualNormMethod, Side, Widths,
};
pub use design::{CellSearch, Design, Growth, MaxVariance, PaperDesign, PaperMaxVariance, UniformError};
pub use error::{Error, ModelError, Result};
pub use evidence::EvidenceGradient;
pub use expansion::Expansion;
pub use features::{FeatureMap, Source, SourcedKernel};
pub use gain::{Bracket, DataGain, GainBound, GainBoundKind, GainDomain, LowerGainKind, MaxGain};
pub use inducing::{
    Inducing, InducingRule, PartialCholesky, Stop, density_leverage_scores, exact_leverage_scores, posterior_variance_probabilities,
    recursive_leverage_scores,
};
pub use information::{FitFacts, Information, RidgePath, RidgeTerms, Road, VarianceParts};
pub use kernel::{
    Hamming, Kernel, Lengthscale, Linear, Matern, Parameter, Periodic, PreparedKernel, RationalQuadratic, SquaredExponential,
};
pub use points::{Collected, Locations, Observations, Points, PointsRef, Prior};
pub use posterior::{ExactPosterior, Posterior, Variational, sample_gaussian};
pub use residual::{ResidualNorm, ResidualNormKind};
pub use sigmabar_linalg::{LinalgError, Matrix, Operation};
pub use theory::{
    Bound, BoxCover, BoxDomain, DesignedData, GainRate, InducingPlan, KernelClass, MeanNorm, MeasurementCount, Multiplier, RegretBatch,
    RegretRequest, Setting, Statement, Theorems, batch_lengths, batch_lengths_for, even_batch_lengths, measurements_for_variance,
    ratio_bound, variance_sum_bound,
};
