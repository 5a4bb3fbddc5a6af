//! The search space of one template, and the climbs through it.

use super::bounds::Space;
use super::quasi_newton::{Ascent, Effort, maximise};
use super::{EvidenceGradient, Learning, Learnt};
use crate::error::{Error, Result};
use crate::features::FeatureMap;
use crate::kernel::Kernel;
use crate::origin::{Origin, Sourced};
use crate::points::{Observations, Points};
use crate::posterior::{ExactPosterior, Posterior};
use sigmabar_linalg::in_tasks;
use std::sync::Arc;

/// Steps each start is given while starts are screened.
const SCREENING_STEPS: usize = 15;
/// Nats by which a place beyond a valley must be better as it stands: smaller gains on a few points are luck.
const CROSSED: f64 = 5.0;
/// Inducing points while the ELBO is climbed.
const CLIMBING_INDUCING: usize = 500;
/// The ELBO is climbed where what the inducing points miss costs it no more nats per observation than this.
const WORTH_CLIMBING: f64 = 0.25;
/// The prior mean stays within this many units of its start.
const MEAN_LIMIT: f64 = 10.0;

/// Where a stage left off.
pub(super) struct Found {
    pub template: usize,
    /// The template, or what became of its structure; $\theta$ holds its parameters.
    pub kernel: Kernel,
    pub theta: Vec<f64>,
    pub evaluations: usize,
}

/// The search space of one template: $\theta$ holds its log-parameters, $\log\tau$ and, if it is learnt, the mean's shift in units.
pub(super) struct Search<'a> {
    template: &'a Kernel,
    observations: &'a Observations,
    learning: &'a Learning,
    space: Space,
}

impl<'a> Search<'a> {
    pub(super) fn new(template: &'a Kernel, observations: &'a Observations, learning: &'a Learning) -> Self {
        let space = Space::new(template, observations, learning.ridge_limits);
        // Some rows of many cannot tell a long length-scale from one that all of them would see, and few rows of many columns cannot tell at all.
        let points = observations.locations().points();
        let is_told = observations.len() <= learning.exact_points && points.len() >= 2 * points.dim();
        let space = if is_told { space } else { space.even() };
        Self { template, observations, learning, space }
    }

    fn bounds(&self) -> Vec<(f64, f64)> {
        let mut bounds = self.space.bounds();
        bounds.extend(self.learning.mean.then_some((-MEAN_LIMIT, MEAN_LIMIT)));
        bounds
    }

    fn effort(&self, steps: usize) -> Effort {
        Effort { steps, tolerance: self.learning.tolerance * 0.1 }
    }

    /// The best of all starts after a few steps on a few points, and what lies beyond a valley of the evidence from there, if anything does: both climb on with more points.
    pub(super) fn climb_starts(&self, few: &Observations, more: &Observations, steps: usize) -> Result<Ascent> {
        let mut own = self.template.log_parameters();
        own.push(self.learning.ridge.ln());
        let mut best: Result<Ascent> = Err(Error::Empty { what: "the list of starts" });
        let mut evaluations = 0;
        for mut start in self.space.starts(own, self.learning.starts, self.learning.seed) {
            start.extend(self.learning.mean.then_some(0.0));
            let ascent = self.climb_exact(few, &start, SCREENING_STEPS);
            evaluations += ascent.as_ref().map_or(1, |a| a.evaluations);
            best = better(best, ascent);
        }
        let best = best?;
        let places = self.space.short(&best.point);
        let mut climbed = self.climb_exact(more, &best.point, steps);
        if let Some(shorter) = self.shorter(few, &places, best.value) {
            evaluations += shorter.evaluations;
            climbed = better(climbed, self.climb_exact(more, &shorter.point, steps));
        }
        climbed.map(|ascent| Ascent { evaluations: evaluations + places.len() + ascent.evaluations, ..ascent })
    }

    /// The best of these places, a little climbed, if it is better than what was found as it stands. From every long length-scale a function that turns many times looks like
    /// noise, and no slope leads to it.
    fn shorter(&self, few: &Observations, places: &[Vec<f64>], found: f64) -> Option<Ascent> {
        let value = |place: usize| self.value(few, &places[place]).ok().filter(|value| value.is_finite()).unwrap_or(f64::NEG_INFINITY);
        let values = in_tasks(places.len(), value);
        let best = (0..places.len()).max_by(|a, b| values[*a].total_cmp(&values[*b]))?;
        let is_better = values[best] > found + CROSSED / few.len() as f64;
        if is_better { self.climb_exact(few, &places[best], SCREENING_STEPS).ok() } else { None }
    }

    /// What was found, or what is climbed to from there once columns that seemed not to matter matter again, if that is better: no slope leads back to them.
    pub(super) fn woken(&self, observations: &Observations, found: Vec<f64>, steps: usize) -> Result<(Vec<f64>, usize)> {
        let Some(start) = self.space.woken(&found) else { return Ok((found, 0)) };
        let value = self.value(observations, &found)?;
        Ok(match self.climb_exact(observations, &start, steps) {
            Ok(ascent) if ascent.value > value => (ascent.point, ascent.evaluations + 1),
            Ok(ascent) => (found, ascent.evaluations + 1),
            Err(_) => (found, 1),
        })
    }

    /// What [`Self::climb_exact`] climbs.
    fn value(&self, observations: &Observations, theta: &[f64]) -> Result<f64> {
        let (kernel, ridge) = self.kernel_and_ridge(theta)?;
        let evidence = ExactPosterior::new(kernel, ridge, self.recentred(observations, theta))?.log_evidence();
        let prior = if self.learning.regularised { self.space.log_prior(theta).0 } else { 0.0 };
        Ok((evidence + prior) / observations.len() as f64)
    }

    pub(super) fn climb_exact(&self, observations: &Observations, start: &[f64], steps: usize) -> Result<Ascent> {
        let objective = |theta: &[f64]| {
            let (kernel, ridge) = self.kernel_and_ridge(theta)?;
            let posterior = ExactPosterior::new(kernel, ridge, self.recentred(observations, theta))?;
            Ok(self.penalised(observations.len() as f64, theta, posterior.log_evidence_gradient()?))
        };
        maximise(objective, start, &self.bounds(), self.effort(steps))
    }

    /// Step 2: how often inducing points were chosen anew.
    pub(super) fn climb_elbo(&self, found: &mut Found) -> Result<usize> {
        let learning = self.learning;
        let mut best = f64::NEG_INFINITY;
        for round in 0..learning.rounds {
            let inducing = self.choose(&found.theta, CLIMBING_INDUCING, learning.gap, round)?;
            if missed(&self.posterior(&found.theta, inducing.clone())?) > WORTH_CLIMBING {
                return Ok(round);
            }
            let ascent = self.climb_sparse(&inducing, &found.theta, learning.steps)?;
            found.evaluations += ascent.evaluations;
            if ascent.value > best {
                found.theta = ascent.point;
            }
            if ascent.value < best + learning.tolerance {
                return Ok(round + 1);
            }
            best = ascent.value;
        }
        Ok(learning.rounds)
    }

    /// Step 3.
    pub(super) fn fit(&self, found: &Found, rounds: usize) -> Result<Learnt> {
        let most = self.learning.most_inducing(self.observations.len());
        let gap = self.learning.allowed_gap(self.observations.len());
        let posterior = self.posterior(&found.theta, self.choose(&found.theta, most, gap, rounds)?)?;
        let (elbo, upper_bound) = (posterior.elbo(), posterior.log_evidence_upper_bound(None)?);
        let capped = missed(&posterior) > 1.5 * self.learning.gap && most < self.observations.locations().distinct();
        Ok(Learnt { posterior, elbo, upper_bound, template: found.template, evaluations: found.evaluations, rounds, capped })
    }

    fn choose(&self, theta: &[f64], size: usize, gap: f64, round: usize) -> Result<Points> {
        let (kernel, ridge) = self.kernel_and_ridge(theta)?;
        let (method, seed) = (&self.learning.method, self.learning.seed.wrapping_add(round as u64));
        let size = size.min(self.learning.most_inducing(self.observations.len()));
        method.points(&kernel, ridge, self.observations.locations(), size, 2.0 * self.observations.len() as f64 * gap * ridge * ridge, seed)
    }

    fn climb_sparse(&self, inducing: &Points, start: &[f64], steps: usize) -> Result<Ascent> {
        let objective = |theta: &[f64]| {
            let posterior = self.posterior(theta, inducing.clone())?;
            Ok(self.penalised(self.observations.len() as f64, theta, posterior.elbo_gradient()?))
        };
        maximise(objective, start, &self.bounds(), self.effort(steps))
    }

    fn posterior(&self, theta: &[f64], inducing: Points) -> Result<Posterior> {
        let (kernel, ridge) = self.kernel_and_ridge(theta)?;
        let features = FeatureMap::new(Sourced::new(kernel, Origin::LearntHere), Sourced::new(inducing, Origin::LearntHere))?;
        Posterior::fit(Arc::new(features), Sourced::new(ridge, Origin::LearntHere), self.recentred(self.observations, theta))
    }

    pub(super) fn kernel_and_ridge(&self, theta: &[f64]) -> Result<(Kernel, f64)> {
        let parameters = self.space.kernel.len();
        Ok((self.template.with_log_parameters(&theta[..parameters])?, theta[parameters].exp()))
    }

    fn recentred(&self, observations: &Observations, theta: &[f64]) -> Observations {
        match theta.get(self.space.kernel.len() + 1) {
            Some(shift) => observations.with_learnt_mean(observations.prior().mean() + shift * observations.prior().unit()),
            None => observations.clone(),
        }
    }

    /// The ELBO of `rows` observations that are elsewhere, `at` a kernel and a ridge; `heard` is told every value.
    pub(super) fn climb_elsewhere(
        &self,
        rows: f64,
        start: &[f64],
        heard: impl Fn(f64),
        at: impl Fn(&Kernel, f64) -> Result<EvidenceGradient>,
    ) -> Result<Ascent> {
        let objective = |theta: &[f64]| {
            let (kernel, ridge) = self.kernel_and_ridge(theta)?;
            let found = self.penalised(rows, theta, at(&kernel, ridge)?);
            heard(found.0);
            Ok(found)
        };
        maximise(objective, start, &self.bounds(), self.effort(self.learning.steps))
    }

    /// Evidence and log-prior of n observations, per observation, with their slopes in $\theta$.
    fn penalised(&self, n: f64, theta: &[f64], evidence: EvidenceGradient) -> (f64, Vec<f64>) {
        let EvidenceGradient { mut value, kernel: mut slope, ridge, mean } = evidence;
        slope.push(ridge);
        if self.learning.regularised {
            let (prior, prior_slope) = self.space.log_prior(theta);
            value += prior;
            slope.iter_mut().zip(prior_slope).for_each(|(s, p)| *s += p);
        }
        slope.extend(self.learning.mean.then_some(mean * self.observations.prior().unit()));
        slope.iter_mut().for_each(|s| *s /= n);
        (value / n, slope)
    }
}

fn better(best: Result<Ascent>, new: Result<Ascent>) -> Result<Ascent> {
    match (best, new) {
        (Ok(best), Ok(new)) if new.value > best.value => Ok(new),
        (Ok(best), _) => Ok(best),
        (Err(_), new) => new,
    }
}

/// What the inducing points cost the ELBO, in nats per observation: $\operatorname{tr}D/(2n\tau^2)$.
fn missed(posterior: &Posterior) -> f64 {
    let information = posterior.information();
    0.5 * information.residual_trace() / (information.len() as f64 * information.ridge().powi(2))
}
