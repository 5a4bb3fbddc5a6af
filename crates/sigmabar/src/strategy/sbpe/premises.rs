//! What a certificate rests on, taken from the problem or found missing.

use crate::certificate::Reason;
use crate::error::{Error, Result};
use crate::features::{Source, SourcedKernel};
use crate::noise::Noise;
use crate::points::{Collected, Locations, Points};
use crate::strategy::run::ledger::Ledger;
use crate::strategy::run::problem::Problem;
use std::sync::Arc;

const PURPOSE: &str = "certified elimination";

/// Kernel, norm bound, noise and ridge: all of them declared.
pub(super) struct Premises<'a> {
    pub kernel: &'a SourcedKernel,
    pub norm_bound: f64,
    pub noise: &'a Noise,
    pub ridge: f64,
}

impl<'a> Premises<'a> {
    pub fn new(problem: &'a Problem) -> Result<Self> {
        let missing = |what, remedy| Error::Missing { what, purpose: PURPOSE, remedy };
        let kernel =
            problem.kernel().ok_or(missing("a kernel", "give one with Problem::with_kernel, or use the auto mode, which learns it"))?;
        let norm_bound = problem
            .norm_bound()
            .ok_or(missing("a norm bound", "declare one with Problem::with_norm_bound, or use the auto mode, which estimates it"))?;
        let noise = problem
            .noise()
            .ok_or(missing("a noise model", "declare one with Problem::with_noise, or use the auto mode, which estimates it"))?;
        let ridge = problem.ridge().ok_or(missing("a ridge", "give one with Problem::with_ridge"))?;
        Ok(Self { kernel, norm_bound, noise, ridge })
    }

    /// The noise of a batch whose observations came with these standard errors (in the model's scale): levels per observation where there are any.
    ///
    /// A mean of replicates of light-tailed noise is at least as light-tailed as one of them, so its standard error is not needed.
    pub fn noise_of(&self, errors: &[Option<f64>]) -> Result<Noise> {
        if errors.iter().all(Option::is_none) || matches!(self.noise, Noise::LightTailed { .. }) {
            return Ok(self.noise.clone());
        }
        Noise::per_observation(errors.iter().map(|e| e.unwrap_or(self.noise.level())).collect())
    }

    /// What keeps claims from being simply certified before any batch is looked at.
    pub fn reasons(&self, problem: &Problem) -> Vec<Reason> {
        let mut reasons = Vec::new();
        match self.kernel.source {
            Source::Declared => {}
            Source::LearntBefore => reasons.push(Reason::KernelLearntBefore),
            Source::LearntHere => reasons.push(Reason::KernelLearntHere),
        }
        reasons.extend(problem.prior().is_learnt().then_some(Reason::PriorLearnt));
        reasons
    }
}

/// What arrived of a batch, in the order of the ids and in the model's scale.
pub(super) struct Arrived {
    pub points: Vec<f64>,
    pub values: Vec<f64>,
    pub errors: Vec<Option<f64>>,
}

impl Arrived {
    pub fn new(problem: &Problem, ledger: &Ledger, batch: usize) -> Self {
        let mut arrived = Self { points: Vec::new(), values: Vec::new(), errors: Vec::new() };
        for (trial, value, error) in ledger.measured(batch) {
            arrived.push(problem, &trial.point, value, error);
        }
        arrived
    }

    /// With the first batch come the results from before the run whose points were fixed: the batch is designed knowing where they lie and nothing else, so
    /// that all its points together are as independent of the noise as the theorem wants them. A batch of which nothing arrived stays empty.
    pub fn with_fixed_results(problem: &Problem, ledger: &Ledger, batch: usize) -> Self {
        let mut arrived = Self::new(problem, ledger, batch);
        if batch == 0 && !arrived.is_empty() {
            for m in ledger.fixed_before() {
                arrived.push(problem, m.point, m.value, m.standard_error);
            }
        }
        arrived
    }

    fn push(&mut self, problem: &Problem, point: &[f64], value: f64, error: Option<f64>) {
        self.points.extend_from_slice(point);
        self.values.push(problem.to_model(value));
        self.errors.push(error.map(|e| e / problem.prior().unit()));
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// Where the results from before the run lie that count with the first batch; `None` for later batches, and without any.
pub(super) fn fixed_locations(ledger: &Ledger, dim: usize) -> Result<Option<Arc<Locations>>> {
    let known: Vec<f64> = ledger.fixed_before().flat_map(|m| m.point).copied().collect();
    if known.is_empty() || ledger.closed() > 0 {
        return Ok(None);
    }
    Ok(Some(Arc::new(Locations::new(Points::new(known, dim)?, Collected::Designed))))
}

/// Whether a batch lost points, as a reason: harmless if losing them had nothing to do with the noise, which is what it says.
pub(super) fn loss(problem: &Problem, ledger: &Ledger, batch: usize) -> Option<Reason> {
    let reason = if problem.informative_failures() { Reason::InformativeLoss } else { Reason::LostPoints };
    (ledger.lost(batch) > 0).then_some(reason)
}
