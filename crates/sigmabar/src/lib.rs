//! Sparse kernel regression whose intervals are theorems.

mod domain;
mod error;
mod expansion;
mod features;
mod information;
mod kernel;
mod points;
mod posterior;
mod residual;

pub use domain::{
    BoxDomain, CandidateKind, Candidates, CellTree, Column, Constraint, Domain, ListDomain, Relation, SobolSequence, SpaceDomain,
};
pub use error::{Error, ModelError, Result};
pub use expansion::Expansion;
pub use features::{FeatureMap, Source, SourcedKernel};
pub use information::{FitFacts, Information, RidgePath, RidgeTerms, Road, VarianceParts};
pub use kernel::{
    Hamming, Kernel, Lengthscale, Linear, Matern, Parameter, Periodic, PreparedKernel, RationalQuadratic, SquaredExponential,
};
pub use points::{Collected, Locations, Observations, Points, PointsRef, Prior};
pub use posterior::{ExactPosterior, Posterior, Variational, sample_gaussian};
pub use residual::{ResidualNorm, ResidualNormKind};
pub use sigmabar_linalg::{LinalgError, Matrix, Operation};
