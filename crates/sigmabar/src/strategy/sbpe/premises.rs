//! What a certificate rests on, taken from the problem or found missing.

use super::state::Facts;
use crate::certificate::{Bounds, Certificate, Premises as Assumed, Range, Spent, Theorem};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::noise::Noise;
use crate::origin::{Origin, Sourced};
use crate::points::{Collected, Doubts, Locations, Points};
use crate::strategy::run::ledger::{Ledger, Measured, copies};
use crate::strategy::run::problem::Problem;
use crate::strategy::run::recommendation::model_certificate;
use crate::strategy::run::repeated::{Settings, repeats_of_batch};
use std::sync::Arc;

const PURPOSE: &str = "certified elimination";

/// Kernel, norm bound, noise and ridge: all of them declared.
#[derive(Clone, Copy)]
pub(super) struct Premises<'a> {
    pub kernel: &'a Sourced<Kernel>,
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
}

/// What arrived of a batch, in the order of the ids and in the model's scale.
pub(in crate::strategy) struct Arrived {
    pub points: Vec<f64>,
    pub values: Vec<f64>,
    /// The values as they were told: in another scale they have other digits.
    told: Settings,
    /// The standard error and the number of replicates that came with each.
    pub repeats: Vec<(Option<f64>, u32)>,
}

impl Arrived {
    /// The noise of a batch: a mean of $r$ replicates, as was told, has level $R/\sqrt r$, and none has less than a standard error that came with it, which is an
    /// estimate and can only raise the level (algorithm notes 12, P1).
    ///
    /// A mean of replicates of light-tailed noise is at least as light-tailed as one of them.
    ///
    /// Results that are equal in every digit may be one that an objective keeps and hands out again, each of its processes its own ([`Settings::alike`]). So the $c$ of
    /// them count as one: each has level $R\sqrt c$. Were they one, the noise has the proxy $R^2AA^\top$ of covariance, $A$ saying which result is which measurement, and a block of ones is at most $c$ times the
    /// unit matrix, so that $AA^\top\preceq\operatorname{diag}(c_i)$: every bound on linear and quadratic forms holds. Were they measured anew, or exact, the weights are the same
    /// and the widths only larger. So looking at the values to find them spoils nothing, whatever the law; leaving all but one out would choose by the noise where readings are coarse.
    pub fn noise(&self, one: &Noise) -> Result<Noise> {
        let (level, equal) = (one.level(), self.told.alike());
        let mean = |&(error, replicates): &(Option<f64>, u32)| error.unwrap_or(0.0).max(level / f64::from(replicates).sqrt());
        let levels: Vec<f64> = self.repeats.iter().map(mean).zip(&equal).map(|(level, count)| level * (*count as f64).sqrt()).collect();
        if matches!(one, Noise::LightTailed { .. }) {
            let most = equal.iter().max().map_or(1.0, |&count| count as f64);
            return one.in_unit(most.sqrt().recip());
        }
        if levels.iter().all(|&l| l == level) {
            return Ok(one.clone());
        }
        Noise::per_observation(levels)
    }

    pub fn new(problem: &Problem, ledger: &Ledger, batch: usize) -> Self {
        Self::of(problem, ledger.measured(batch))
    }

    /// These results.
    pub fn of<'m>(problem: &Problem, measured: impl Iterator<Item = Measured<'m>>) -> Self {
        let mut arrived = Self { points: Vec::new(), values: Vec::new(), told: Settings::new(), repeats: Vec::new() };
        measured.for_each(|m| arrived.push(problem, &m));
        arrived
    }

    /// How many of them are means whose numbers of replicates were told.
    pub fn means(&self) -> usize {
        self.repeats.iter().filter(|(_, replicates)| *replicates > 1).count()
    }

    /// With the first batch, unless it is a pilot, come the results from before the run whose points were fixed: the batch is designed knowing where they lie and nothing else, so
    /// that all its points together are as independent of the noise as the theorem wants them. A batch of which nothing arrived stays empty.
    pub fn with_fixed_results(problem: &Problem, ledger: &Ledger, batch: usize) -> Self {
        let mut arrived = Self::new(problem, ledger, batch);
        if batch == 0 && !arrived.is_empty() {
            ledger.fixed_before().for_each(|m| arrived.push(problem, &m));
        }
        arrived
    }

    fn push(&mut self, problem: &Problem, measured: &Measured<'_>) {
        self.points.extend_from_slice(measured.point);
        self.values.push(problem.to_model(measured.value));
        self.told.push(problem, measured);
        self.repeats.push((measured.standard_error.map(|e| e / problem.prior().unit()), measured.replicates.unwrap_or(1)));
    }

    /// Adds what claims rest on here to the facts of the run.
    pub(super) fn count(&self, problem: &Problem, ledger: &Ledger, batch: usize, facts: &mut Facts) {
        facts.observations += self.values.len();
        facts.means += self.means();
        facts.lost += ledger.lost(batch);
        // After a pilot the first batch that counts is the second: what was there before the premises is in no claim.
        if batch == 0 {
            facts.attached = ledger.fixed_before().count();
            facts.copies = copies(ledger.fixed_before());
            facts.lost += ledger.lost_of_fixed();
        }
        facts.repeats = facts.repeats.and(repeats_of_batch(problem, ledger, batch));
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

impl Facts {
    /// The certificate of everything a run has claimed so far.
    pub fn certificate(&self, problem: &Problem, theorem: Theorem, spent: Vec<Spent>) -> Certificate {
        let collected = if self.attached > 0 { Collected::DeclaredFixed } else { Collected::Designed };
        let premises = Assumed {
            means: Sourced::new(self.means, if self.means > 0 { Origin::Declared } else { Origin::Guaranteed }),
            points: Sourced::new(collected, collected.origin()),
            observations: Sourced::new(self.observations, collected.origin()),
            // That a table has every setting that was measured is the word of who calls them fixed.
            losses: Sourced::new(self.lost, problem.failures().origin(self.lost).max(collected.origin())),
            inducing: Sourced::new(self.inducing, Origin::Guaranteed),
            queries: Origin::Guaranteed,
            constants: Origin::Guaranteed,
            ..problem.premises(self.observations)
        };
        let premises = match self.level {
            Some(bound) => premises.with_level(bound),
            None => premises,
        };
        let premises = premises.with_doubts(Doubts { copies: self.copies, ..Doubts::default() }).with_repeats(self.repeats);
        let Self { residual_norm, noise_factor, rounding, .. } = *self;
        let candidates = (self.between != Some(0.0)).then_some(self.candidates);
        let cover_radius = candidates.and(self.between).zip(problem.norm_bound()).map(|(between, bound)| between / bound);
        let bounds = Bounds { residual_norm, noise_factor, cover_radius, candidates, rounding, ..Bounds::default() };
        let contradiction = self.contradiction;
        let range = Some(Range { least_norm: self.least_norm, ..Range::default() });
        Certificate { theorem, spent, bounds, contradiction, range, ..model_certificate(problem, premises) }
    }
}
