//! Sparse kernel regression whose intervals are theorems.
//!
//! Data flows one way through types, each knowing strictly more than the one before it:
//!
//! | type | knows | says |
//! |---|---|---|
//! | [`Kernel`], [`InducingRule`] | what we assume | covariance, metric, norm of an [`Expansion`] |
//! | [`FeatureMap`] | the features $\psi$ | what the inducing points see and miss |
//! | [`Information`] | where we looked | variance, weights, gain, a bound on $\lambda$ ([`ResidualNorm`]) |
//! | [`Posterior`] | what we saw | mean, samples, evidence |
//! | [`Claim`], [`Widths`] | norm bound, noise, $\delta$ | half-widths, before any response is seen |
//! | [`Intervals`], [`Certificate`] | all of it | $P(\text{lower}\le f\le\text{upper})\ge1-\delta$, and under which assumptions |
//!
//! ```
//! use sigmabar::{Claim, Collected, FeatureMap, Kernel, Noise, Observations, Points, Posterior, Prior};
//! use std::sync::Arc;
//!
//! # fn main() -> sigmabar::Result<()> {
//! let x: Vec<f64> = (0..50).map(|i| f64::from(i) / 50.0).collect();
//! let y: Vec<f64> = x.iter().map(|x| (6.0 * x).sin()).collect();
//! let inducing = Points::on_line((0..12).map(|i| f64::from(i) / 11.0).collect())?;
//!
//! let kernel = Kernel::squared_exponential(0.2, 1.0)?;
//! let observations = Observations::new(Points::on_line(x)?, &y, Collected::DeclaredFixed, Prior::ZERO)?;
//! let posterior = Posterior::fit(Arc::new(FeatureMap::new(kernel, inducing)?), 0.1, observations)?;
//!
//! let claim = Claim::new(0.05)?.norm_bound(3.0)?.noise(Noise::gaussian(0.1)?);
//! let interval = posterior.interval(Points::on_line(vec![0.25])?.view(), &claim)?;
//! assert!(interval.lower()[0] < 1.0 && interval.upper()[0] > 0.99);
//! println!("{}", interval.certificate());
//! # Ok(())
//! # }
//! ```

#![cfg_attr(not(test), warn(clippy::unwrap_used))]

mod certificate;
mod design;
mod domain;
mod error;
mod evidence;
mod expansion;
mod features;
mod gain;
mod inducing;
mod information;
mod kernel;
mod noise;
mod origin;
mod points;
mod posterior;
mod residual;
pub mod sealed;
mod simulated;
mod strategy;
mod theory;

pub use certificate::{
    About, Answer, Answers, Bounds, Certificate, Claim, Claimed, Contradiction, Coverage, HalfWidth, Intervals, Label, Method, NormCheck,
    PredictionIntervals, Premise, Premises, Range, ResidualNormMethod, Side, Spent, Theorem, Widths,
};
pub use design::{CellSearch, Design, DictionarySize, MaxVariance, PaperDesign, PaperMaxVariance, UniformError};
pub use domain::{
    BoxDomain, CandidateKind, Candidates, CellTree, Column, Constraint, Domain, ListDomain, Relation, SobolSequence, SpaceDomain,
};
pub use error::{Error, Result, SavedError};
pub use evidence::{EvidenceGradient, InducingMethod, Learning, Learnt, fit_hyperparameters};
pub use expansion::Expansion;
pub use features::FeatureMap;
pub use gain::{Bracket, DataGain, GainBound, GainBoundKind, GainDomain, LowerGainKind, MaxGain};
pub use inducing::{
    Inducing, InducingRule, PartialCholesky, Stop, density_leverage_scores, exact_leverage_scores, posterior_variance_probabilities,
    recursive_leverage_scores,
};
pub use information::{FitFacts, GramMethod, Information, RidgePath, RidgeTerms, VarianceParts};
pub use kernel::{
    Hamming, Kernel, Lengthscale, Linear, Matern, Parameter, Periodic, PreparedKernel, RationalQuadratic, SquaredExponential,
};
pub use noise::Noise;
pub use origin::{Origin, Sourced};
pub use points::{Collected, Locations, Observations, Points, PointsRef, Prior};
pub use posterior::{ExactPosterior, Posterior, Variational, sample_gaussian};
pub use residual::{ResidualNorm, ResidualNormKind};
pub use sigmabar_linalg::{Interrupt, Interrupted, LinalgError, Matrix, Operation, chosen_threads, set_threads, threads};
pub use simulated::{Classic, SimulatedNoise};
pub use strategy::catalogue;
pub use strategy::{
    AdaBkb, Ask, Assumed, Attached, Auto, BatchReport, BatchRule, Bbkb, BbkbWidth, Bkb, BkbWidth, Bpe, BpeSchedule, BpeWidth, Cell,
    DecoupledThompson, Direction, EkUcb, ExpectedImprovement, Failures, GpThreds, GpUcb, Incumbent, LargestVariance, Ledger, Measured,
    MetaIndex, MiniMeta, Outcome, Policy, PremiseRow, ProbabilityOfImprovement, Problem, Quantity, Random, Recommendation, Rips, Rules,
    RunPosterior, SampleScale, Sbpe, Scale, Schedule, Sequential, Sobol, Standing, Standpoint, StillPossible, Strategy, SupKernelUcb,
    SupWidth, Survivors, ThompsonSampling, Trial, TrialState, UcbWidth,
};
pub use theory::{
    Bound, Cover, DesignedData, GainRate, InducingPlan, KernelClass, MeanNorm, MeasurementCount, Multiplier, RegretBatch, RegretRequest,
    Setting, Statement, Theorems, batch_lengths, batch_lengths_for, even_batch_lengths, measurements_for_variance, ratio_bound,
    variance_sum_bound,
};
