//! What is to be optimised, and what is assumed about it.

use super::stored_problem::StoredProblem;
use crate::certificate::Noise;
use crate::domain::Domain;
use crate::error::{Error, Result, positive, probability};
use crate::features::SourcedKernel;
use crate::points::Prior;
use serde::{Deserialize, Serialize};

/// Whether large or small values are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// Large values are better.
    #[default]
    Maximize,
    /// Small values are better.
    Minimize,
}

/// The problem of a run. What is not given (kernel, norm bound, noise) is either not needed by the policy, estimated and said to be so, or asked for in an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "StoredProblem")]
pub struct Problem {
    domain: Domain,
    budget: usize,
    delta: f64,
    seed: u64,
    direction: Direction,
    kernel: Option<SourcedKernel>,
    ridge: Option<f64>,
    norm_bound: Option<f64>,
    noise: Option<Noise>,
    prior: Prior,
    wanted_gap: Option<f64>,
    informative_failures: bool,
}

impl Problem {
    /// Maximise over a domain with a budget of evaluations; $\delta = 0.05$, seed 0, nothing else assumed.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a budget of 0.
    pub fn new(domain: Domain, budget: usize) -> Result<Self> {
        if budget == 0 {
            return Err(Error::Parameter { name: "budget", value: 0.0, requirement: "at least 1 evaluation" });
        }
        Ok(Self {
            domain,
            budget,
            delta: 0.05,
            seed: 0,
            direction: Direction::Maximize,
            kernel: None,
            ridge: None,
            norm_bound: None,
            noise: None,
            prior: Prior::ZERO,
            wanted_gap: None,
            informative_failures: false,
        })
    }

    /// Another number of evaluations: of a problem, never of a run that has begun.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a budget of 0.
    pub fn with_budget(self, budget: usize) -> Result<Self> {
        if budget == 0 {
            return Err(Error::Parameter { name: "budget", value: 0.0, requirement: "at least 1 evaluation" });
        }
        Ok(Self { budget, ..self })
    }

    /// The total miss probability of every claim of the run.
    ///
    /// # Errors
    /// [`Error::Parameter`] outside (0, 1).
    pub fn with_delta(self, delta: f64) -> Result<Self> {
        Ok(Self { delta: probability("delta", delta)?, ..self })
    }

    /// The seed of everything random.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Whether large or small values are wanted.
    #[must_use]
    pub fn with_direction(self, direction: Direction) -> Self {
        Self { direction, ..self }
    }

    /// The kernel, with where it came from.
    ///
    /// # Errors
    /// A kernel that does not fit the domain's columns.
    pub fn with_kernel(self, kernel: impl Into<SourcedKernel>) -> Result<Self> {
        let kernel = kernel.into();
        kernel.kernel.check_dim(self.domain.dim())?;
        Ok(Self { kernel: Some(kernel), ..self })
    }

    /// The ridge $\tau$; without it [`Noise::usual_ridge`] is taken.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless finite and positive.
    pub fn with_ridge(self, ridge: f64) -> Result<Self> {
        Ok(Self { ridge: Some(positive("ridge", ridge)?), ..self })
    }

    /// A bound on the norm of the function minus its prior mean, in the prior's unit.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless finite and positive.
    pub fn with_norm_bound(self, bound: f64) -> Result<Self> {
        Ok(Self { norm_bound: Some(positive("norm bound", bound)?), ..self })
    }

    /// The noise of an evaluation, in the prior's unit.
    ///
    /// # Errors
    /// [`Error::Premise`] for levels per observation: a run does not know its observations yet; tell means with standard errors instead.
    pub fn with_noise(self, noise: Noise) -> Result<Self> {
        if matches!(noise, Noise::PerObservation { .. }) {
            return Err(Error::Premise {
                what: "a run with noise levels per observation",
                reason: "the observations are not known yet: give one level, and tell means with their standard errors",
            });
        }
        Ok(Self { noise: Some(noise), ..self })
    }

    /// The prior mean and unit, declared before the data.
    #[must_use]
    pub fn with_prior(self, prior: Prior) -> Self {
        Self { prior, ..self }
    }

    /// Stop as soon as the optimality gap is at most this, in the data's scale.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless finite and positive.
    pub fn with_wanted_gap(self, gap: f64) -> Result<Self> {
        Ok(Self { wanted_gap: Some(positive("wanted gap", gap)?), ..self })
    }

    /// Declares that whether an evaluation fails or is late says something about its value (a time-out, a duration): claims after lost points are "calibrated".
    #[must_use]
    pub fn with_informative_failures(self) -> Self {
        Self { informative_failures: true, ..self }
    }

    /// Where evaluations are possible.
    #[must_use]
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The number of evaluations.
    #[must_use]
    pub fn budget(&self) -> usize {
        self.budget
    }

    /// The total miss probability.
    #[must_use]
    pub fn delta(&self) -> f64 {
        self.delta
    }

    /// The seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether large or small values are wanted.
    #[must_use]
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// The kernel, if given.
    #[must_use]
    pub fn kernel(&self) -> Option<&SourcedKernel> {
        self.kernel.as_ref()
    }

    /// The norm bound, if given.
    #[must_use]
    pub fn norm_bound(&self) -> Option<f64> {
        self.norm_bound
    }

    /// The noise, if given.
    #[must_use]
    pub fn noise(&self) -> Option<&Noise> {
        self.noise.as_ref()
    }

    /// The ridge: as given, else [`Noise::usual_ridge`] for the whole budget.
    #[must_use]
    pub fn ridge(&self) -> Option<f64> {
        let largest = self.kernel.as_ref().and_then(|kernel| kernel.kernel.max_variance()).unwrap_or(1.0);
        self.ridge.or_else(|| self.noise.as_ref().map(|noise| noise.usual_ridge(largest, self.budget)))
    }

    /// The prior mean and unit.
    #[must_use]
    pub fn prior(&self) -> Prior {
        self.prior
    }

    /// The gap at which to stop early.
    #[must_use]
    pub fn wanted_gap(&self) -> Option<f64> {
        self.wanted_gap
    }

    /// Whether a lost point says something about its value.
    #[must_use]
    pub fn informative_failures(&self) -> bool {
        self.informative_failures
    }

    /// A value in the model's scale, where larger is better.
    #[must_use]
    pub fn to_model(&self, value: f64) -> f64 {
        self.sign() * self.prior.to_model(value)
    }

    /// A value in the model's scale back in the data's scale.
    #[must_use]
    pub fn to_data(&self, value: f64) -> f64 {
        self.prior.to_data(self.sign() * value)
    }

    fn sign(&self) -> f64 {
        match self.direction {
            Direction::Maximize => 1.0,
            Direction::Minimize => -1.0,
        }
    }
}
