//! Sparse kernel regression whose intervals are theorems.
//!
//! Data flows one way through types, each knowing strictly more than the one before it:
//!
//! | type | knows | says |
//! |---|---|---|
//! | [`Kernel`], [`inducing::InducingRule`] | what we assume | covariance, metric, norm of an [`Expansion`] |
//! | [`FeatureMap`] | the features $\psi$ | what the inducing points see and miss |
//! | [`Information`] | where we looked | variance, weights, gain, a bound on $\lambda$ ([`residual::ResidualNorm`]) |
//! | [`Posterior`] | what we saw | mean, samples, evidence |
//! | [`Claim`], [`certificate::Widths`] | norm bound, noise, $\delta$ | half-widths, before any response is seen |
//! | [`Intervals`], [`Certificate`] | all of it | $P(\text{lower}\le f\le\text{upper})\ge1-\delta$, and under which assumptions |
//!
//! The types that every user meets stand at the root; what belongs to one stage or to a strategy is in the module of its name.
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

pub mod accumulator;
pub mod certificate;
pub mod design;
pub mod domain;
mod error;
pub mod evidence;
mod expansion;
mod features;
pub mod gain;
pub mod inducing;
pub mod information;
pub mod kernel;
pub mod noise;
pub mod number;
mod origin;
pub mod points;
pub mod posterior;
pub mod residual;
pub mod sealed;
pub mod simulated;
pub mod strategy;
pub mod theory;
#[cfg(test)]
mod work;

/// What the linear algebra below shares with its users: a matrix, its errors, interrupts, the number of threads, the machine's instructions.
pub mod linalg {
    pub use sigmabar_linalg::{Interrupt, Interrupted, LinalgError, Matrix, Operation, chosen_threads, instructions, set_threads, threads};
}

pub use certificate::{Certificate, Claim, Intervals, Label};
pub use domain::{BoxDomain, Domain};
pub use error::{Error, Result};
pub use expansion::Expansion;
pub use features::FeatureMap;
pub use information::Information;
pub use kernel::Kernel;
pub use noise::Noise;
pub use number::Number;
pub use origin::{Origin, Sourced};
pub use points::{Collected, Observations, Points, PointsRef, Prior};
pub use posterior::Posterior;
pub use strategy::{Ask, Outcome, Policy, Problem, Recommendation, Strategy, catalogue};
