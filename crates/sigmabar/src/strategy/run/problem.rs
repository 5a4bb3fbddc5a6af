//! What is to be optimised, and what is assumed about it.

use super::stored_problem::StoredProblem;
use crate::certificate::{Claim, Lengthscales, Premises};
use crate::domain::Domain;
use crate::error::{Error, Result, at_least_one, positive, probability};
use crate::kernel::Kernel;
use crate::noise::Noise;
use crate::origin::{Origin, Sourced};
use crate::points::Prior;
use serde::{Deserialize, Serialize};

/// The steps between responses as a share of the noise that is still no worse than the noise itself, and in units where there is none.
const DIGITS: f64 = 0.05;
const DIGITS_WITHOUT_NOISE: f64 = 1e-9;

/// Whether large or small values are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// Large values are better.
    #[default]
    Maximize,
    /// Small values are better.
    Minimize,
}

/// What it says about the value of an evaluation that it failed, or was not there when its batch was closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Failures {
    /// Nobody said: after a lost point claims are estimates.
    #[default]
    Undeclared,
    /// Nothing: a dropped plate, a machine that went down. Claims stand.
    Unrelated,
    /// Something: a time-out of a duration, a mesh that breaks where the drag is large. After a lost point claims are estimates.
    Informative,
}

impl Failures {
    /// Who vouches that losing this many points, or correcting their values later, had nothing to do with their noise.
    #[must_use]
    pub fn origin(self, lost: usize) -> Origin {
        match self {
            _ if lost == 0 => Origin::Guaranteed,
            Self::Unrelated => Origin::Declared,
            Self::Undeclared | Self::Informative => Origin::Unmet,
        }
    }
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
    kernel: Option<Sourced<Kernel>>,
    ridge: Option<Sourced<f64>>,
    norm_bound: Option<Sourced<f64>>,
    noise: Option<Sourced<Noise>>,
    prior: Prior,
    wanted_gap: Option<f64>,
    wanted_candidate_gap: Option<f64>,
    failures: Failures,
    unknown_level: Option<u32>,
    lengthscales: Option<Lengthscales>,
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
            wanted_candidate_gap: None,
            failures: Failures::Undeclared,
            unknown_level: None,
            lengthscales: None,
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
    pub fn with_kernel(self, kernel: impl Into<Sourced<Kernel>>) -> Result<Self> {
        let kernel = kernel.into();
        kernel.value.check_dim(self.domain.dim())?;
        Ok(Self { kernel: Some(kernel), ..self })
    }

    /// The ridge $\tau$; without it [`Noise::usual_ridge`] is taken.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless finite and positive.
    pub fn with_ridge(self, ridge: impl Into<Sourced<f64>>) -> Result<Self> {
        let ridge = ridge.into();
        positive("ridge", ridge.value)?;
        Ok(Self { ridge: Some(ridge), ..self })
    }

    /// A bound on the norm of the function minus its prior mean, in the prior's unit.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless finite and positive.
    pub fn with_norm_bound(self, bound: impl Into<Sourced<f64>>) -> Result<Self> {
        let bound = bound.into();
        positive("norm bound", bound.value)?;
        Ok(Self { norm_bound: Some(bound), ..self })
    }

    /// Declares the length-scales to be at least those of `shortest`, and at most those of the kernel given before: for some of these the norm bound holds. The run
    /// goes by `shortest` and the bound that follows there ([`Kernel::norm_growth`], algorithm notes 13.2).
    ///
    /// # Errors
    /// [`Error::Missing`] before kernel and norm bound are given; [`Error::Premise`] for kernels that differ in more than shorter length-scales.
    pub fn with_lengthscales_at_least(self, shortest: Kernel) -> Result<Self> {
        let missing = |what, remedy| Error::Missing { what, purpose: "length-scales that are at least these", remedy };
        let longest = self.kernel.clone().ok_or(missing("a kernel", "give the one with the longest with Problem::with_kernel first"))?;
        let bound = self.norm_bound.ok_or(missing("a norm bound", "declare one with Problem::with_norm_bound first"))?;
        let lengthscales = Lengthscales::new(&shortest, longest.value, bound.value, self.domain.dim())?;
        let kernel = Some(Sourced::new(shortest, longest.origin));
        let norm_bound = Some(Sourced::new(lengthscales.bound, bound.origin));
        Ok(Self { kernel, norm_bound, lengthscales: Some(lengthscales), ..self })
    }

    /// The noise of an evaluation, in the prior's unit.
    ///
    /// # Errors
    /// [`Error::Premise`] for levels per observation: a run does not know its observations yet; tell means with standard errors instead.
    pub fn with_noise(self, noise: impl Into<Sourced<Noise>>) -> Result<Self> {
        let noise = noise.into();
        if matches!(noise.value, Noise::PerObservation { .. }) {
            return Err(Error::Premise {
                what: "a run with noise levels per observation",
                reason: "the observations are not known yet: give one level, and tell means with their standard errors",
            });
        }
        Ok(Self { noise: Some(noise), unknown_level: None, ..self })
    }

    /// Normal noise of one level that nobody knows: `about` serves for planning only, and no claim rests on it. Certified elimination bounds the level by replicates
    /// (algorithm notes 13.3), which it plans itself unless every evaluation is the mean of `each` $\ge2$, told with its standard error and their number.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless `about` is finite and positive and `each` at least 1.
    pub fn with_unknown_level(self, about: f64, each: u32) -> Result<Self> {
        at_least_one("replicates", each as usize)?;
        let noise = Noise::gaussian(positive("the noise level to plan with", about)?)?;
        Ok(Self { noise: Some(Sourced::new(noise, Origin::Estimated)), unknown_level: Some(each), ..self })
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

    /// Stop as soon as the gap among the candidates that stand for a box or a space is at most this, in the data's scale.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless finite and positive.
    pub fn with_wanted_candidate_gap(self, gap: f64) -> Result<Self> {
        Ok(Self { wanted_candidate_gap: Some(positive("wanted candidate gap", gap)?), ..self })
    }

    /// The same problem with nothing assumed about the function and its noise.
    #[must_use]
    pub fn without_premises(self) -> Self {
        let (kernel, ridge, norm_bound, noise, unknown_level, lengthscales) = (None, None, None, None, None, None);
        Self { kernel, ridge, norm_bound, noise, prior: Prior::ZERO, unknown_level, lengthscales, ..self }
    }

    /// The same problem for data that do not exist yet: whatever was learnt, was learnt from others.
    pub(crate) fn for_new_data(self) -> Self {
        fn other<T>(sourced: Option<Sourced<T>>) -> Option<Sourced<T>> {
            sourced.map(|s| Sourced::new(s.value, elsewhere(s.origin)))
        }
        fn elsewhere(origin: Origin) -> Origin {
            if origin == Origin::LearntHere { Origin::LearntElsewhere } else { origin }
        }
        let prior = self.prior.with_origin(elsewhere(self.prior.origin()));
        Self {
            kernel: other(self.kernel),
            ridge: other(self.ridge),
            norm_bound: other(self.norm_bound),
            noise: other(self.noise),
            prior,
            ..self
        }
    }

    /// Declares what a failed or late evaluation says about its value.
    #[must_use]
    pub fn with_failures(self, failures: Failures) -> Self {
        Self { failures, ..self }
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
    pub fn kernel(&self) -> Option<&Sourced<Kernel>> {
        self.kernel.as_ref()
    }

    /// The norm bound, if given.
    #[must_use]
    pub fn norm_bound(&self) -> Option<f64> {
        self.norm_bound.map(|bound| bound.value)
    }

    /// The norm bound with where it comes from.
    #[must_use]
    pub fn sourced_norm_bound(&self) -> Option<Sourced<f64>> {
        self.norm_bound
    }

    /// The noise with where it comes from.
    #[must_use]
    pub fn sourced_noise(&self) -> Option<&Sourced<Noise>> {
        self.noise.as_ref()
    }

    /// That the length-scales are only known to be at least the kernel's, if that was declared.
    #[must_use]
    pub fn lengthscales(&self) -> Option<&Lengthscales> {
        self.lengthscales.as_ref()
    }

    /// Refuses a prior mean beside which a response has fewer digits than its noise: what rounding adds to it is neither independent nor of mean zero.
    ///
    /// # Errors
    /// [`Error::Premise`].
    pub(crate) fn check_digits(&self) -> Result<()> {
        let level = self.noise.as_ref().map_or(0.0, |noise| noise.value.std_dev_bound());
        let mean = self.prior.mean().abs();
        if (mean.next_up() - mean) / self.prior.unit() > (DIGITS * level).max(DIGITS_WITHOUT_NOISE) {
            let reason = "responses of that size are rounded by more than a twentieth of their noise before anybody sees them: subtract the prior mean from every response, and declare a prior mean of 0";
            return Err(Error::Premise { what: "a prior mean so large", reason });
        }
        Ok(())
    }

    /// The noise, if given.
    #[must_use]
    pub fn noise(&self) -> Option<&Noise> {
        self.noise.as_ref().map(|noise| &noise.value)
    }

    /// What was given as a claim, each number with where it comes from; none where there is no norm bound or no noise, or where nobody knows its level: nothing may rest on
    /// the guess that plans.
    ///
    /// # Errors
    /// None for a problem that is sound.
    pub fn claim(&self) -> Result<Option<Claim>> {
        let (Some(bound), Some(noise), None) = (self.norm_bound, &self.noise, self.unknown_level) else { return Ok(None) };
        Ok(Some(Claim::new(self.delta)?.norm_bound(bound)?.noise(noise.clone())))
    }

    /// Whether any premise was learnt from other data: these must not be among those that a claim is about.
    pub(crate) fn is_learnt_elsewhere(&self) -> bool {
        let origins = [
            self.kernel.as_ref().map(|k| k.origin),
            self.norm_bound.map(|b| b.origin),
            self.noise.as_ref().map(|n| n.origin),
            Some(self.prior.origin()),
        ];
        origins.contains(&Some(Origin::LearntElsewhere))
    }

    /// How many replicates every evaluation is the mean of, if the level of the noise is unknown.
    #[must_use]
    pub fn unknown_level(&self) -> Option<u32> {
        self.unknown_level
    }

    /// The ridge: as given, else [`Noise::usual_ridge`] for the whole budget.
    #[must_use]
    pub fn ridge(&self) -> Option<f64> {
        self.sourced_ridge().value
    }

    fn sourced_ridge(&self) -> Sourced<Option<f64>> {
        match (&self.ridge, &self.noise) {
            (Some(ridge), _) => Sourced::new(Some(ridge.value), ridge.origin),
            (None, Some(noise)) => {
                let largest = self.kernel.as_ref().and_then(|kernel| kernel.value.max_variance()).unwrap_or(1.0);
                // A guess that plans is fixed before the data, whatever it is worth as a level.
                let origin = if self.unknown_level.is_some() { Origin::Declared } else { noise.origin };
                Sourced::new(Some(noise.value.usual_ridge(largest, self.budget)), origin)
            }
            (None, None) => Sourced::new(None, Origin::Unmet),
        }
    }

    /// What the problem alone says about the premises of a claim; how the points were chosen and what came of them is the run's to add.
    pub(crate) fn premises(&self, observations: usize) -> Premises {
        fn given<T: Clone>(value: Option<&Sourced<T>>) -> Sourced<Option<T>> {
            value.map_or(Sourced::new(None, Origin::Unmet), |v| Sourced::new(Some(v.value.clone()), v.origin))
        }
        Premises {
            kernel: given(self.kernel.as_ref()),
            norm_bound: given(self.norm_bound.as_ref()),
            noise: given(self.noise.as_ref()),
            ridge: self.sourced_ridge(),
            lengthscales: self.lengthscales.clone().map(|l| Sourced::new(l, self.kernel.as_ref().map_or(Origin::Unmet, |k| k.origin))),
            ..Premises::nothing(self.prior, observations)
        }
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

    /// The gap among generated candidates at which to stop early.
    #[must_use]
    pub fn wanted_candidate_gap(&self) -> Option<f64> {
        self.wanted_candidate_gap
    }

    /// Whether a gap is as small as was wanted; that among candidates is the gap itself where the domain is searched.
    #[must_use]
    pub fn is_reached(&self, gap: Option<f64>, candidate_gap: Option<f64>) -> bool {
        let reached = |gap: Option<f64>, wanted: Option<f64>| gap.zip(wanted).is_some_and(|(gap, wanted)| gap <= wanted);
        reached(gap, self.wanted_gap) || reached(candidate_gap.or(gap), self.wanted_candidate_gap)
    }

    /// Whether kernel, norm bound and noise are all given: a theorem needs each of them.
    #[must_use]
    pub fn has_premises(&self) -> bool {
        self.kernel().is_some() && self.norm_bound().is_some() && self.noise().is_some()
    }

    /// What a lost point says about its value.
    #[must_use]
    pub fn failures(&self) -> Failures {
        self.failures
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
