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
use crate::residual::{ResidualNorm, ResidualNormKind};
use std::sync::Arc;

/// Steps each start is given while starts are screened.
const SCREENING_STEPS: usize = 15;
/// Inducing points that the first look at the sandwich takes.
const FEWEST_INDUCING: usize = 64;
/// The prior mean stays within this many units of its start.
const MEAN_LIMIT: f64 = 10.0;

/// Where a stage left off.
pub(super) struct Found {
    pub template: usize,
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

    /// The best of all starts after a few steps on a few points.
    pub(super) fn best_start(&self, few: &Observations) -> Result<Ascent> {
        let mut own = self.template.log_parameters();
        own.push(self.learning.ridge.ln());
        let mut best: Result<Ascent> = Err(Error::Empty { what: "the list of starts" });
        let mut evaluations = 0;
        for mut start in self.space.starts(own, self.learning.starts, self.learning.seed) {
            start.extend(self.learning.mean.then_some(0.0));
            let ascent = self.climb_exact(few, &start, SCREENING_STEPS);
            evaluations += ascent.as_ref().map_or(1, |a| a.evaluations);
            best = match (best, ascent) {
                (Ok(best), Ok(new)) if new.value > best.value => Ok(new),
                (Ok(best), _) => Ok(best),
                (Err(_), new) => new,
            };
        }
        best.map(|ascent| Ascent { evaluations, ..ascent })
    }

    pub(super) fn climb_exact(&self, observations: &Observations, start: &[f64], steps: usize) -> Result<Ascent> {
        let objective = |theta: &[f64]| {
            let (kernel, ridge) = self.kernel_and_ridge(theta)?;
            let posterior = ExactPosterior::new(kernel, ridge, self.recentred(observations, theta))?;
            Ok(self.penalised(observations, theta, posterior.log_evidence_gradient()?))
        };
        maximise(objective, start, &self.bounds(), self.effort(steps))
    }

    /// Step 2.
    pub(super) fn climb_elbo(&self, start: Found) -> Result<Learnt> {
        let learning = self.learning;
        let Found { template, mut theta, mut evaluations } = start;
        let mut size = self.grown(&theta, learning.inducing.min(FEWEST_INDUCING))?;
        let mut best: Option<(f64, Posterior)> = None;
        let mut rounds = 0;
        while rounds < learning.rounds {
            let inducing = self.choose(&theta, size, rounds)?;
            rounds += 1;
            // Every point inducing: the exact stage has climbed this very function already.
            let finished = inducing.len() >= self.observations.locations().distinct() && learning.exact_points >= inducing.len();
            let steps = if finished { 0 } else { learning.steps };
            let ascent = self.climb_sparse(&inducing, &theta, steps)?;
            evaluations += ascent.evaluations;
            let gained = best.as_ref().map_or(f64::INFINITY, |(value, _)| ascent.value - value);
            if gained > 0.0 {
                theta.clone_from(&ascent.point);
                best = Some((ascent.value, self.posterior(&theta, inducing)?));
            }
            let larger = self.grown(&theta, size)?;
            if finished || (gained < learning.tolerance && larger == size) {
                break;
            }
            size = larger;
        }
        let (_, posterior) = best.ok_or(Error::Empty { what: "the list of rounds" })?;
        let (elbo, upper_bound) = (posterior.elbo(), posterior.log_evidence_upper_bound(None)?);
        Ok(Learnt { posterior, elbo, upper_bound, template, evaluations, rounds })
    }

    /// Doubles the number of inducing points while the sandwich is too wide. The trace as computed decides: its rounding bound is for claims.
    fn grown(&self, theta: &[f64], mut size: usize) -> Result<usize> {
        let most = self.learning.inducing.min(self.observations.locations().distinct());
        let allowed = self.learning.gap * self.observations.len() as f64;
        while size < most && self.learning.method.takes_a_size() {
            let posterior = self.posterior(theta, self.choose(theta, size, 0)?)?;
            let trace = ResidualNorm { value: posterior.information().residual_trace(), kind: ResidualNormKind::Trace };
            if posterior.divergence_upper_bound(Some(trace))? <= allowed {
                break;
            }
            size = (2 * size).min(most);
        }
        Ok(size.min(most))
    }

    fn choose(&self, theta: &[f64], size: usize, round: usize) -> Result<Points> {
        let (kernel, ridge) = self.kernel_and_ridge(theta)?;
        self.learning.method.points(&kernel, ridge, self.observations.locations(), size, self.learning.seed.wrapping_add(round as u64))
    }

    fn climb_sparse(&self, inducing: &Points, start: &[f64], steps: usize) -> Result<Ascent> {
        let objective = |theta: &[f64]| {
            let posterior = self.posterior(theta, inducing.clone())?;
            Ok(self.penalised(self.observations, theta, posterior.elbo_gradient()?))
        };
        maximise(objective, start, &self.bounds(), self.effort(steps))
    }

    fn posterior(&self, theta: &[f64], inducing: Points) -> Result<Posterior> {
        let (kernel, ridge) = self.kernel_and_ridge(theta)?;
        let features = FeatureMap::new(Sourced::new(kernel, Origin::LearntHere), inducing)?;
        Posterior::fit(Arc::new(features), Sourced::new(ridge, Origin::LearntHere), self.recentred(self.observations, theta))
    }

    fn kernel_and_ridge(&self, theta: &[f64]) -> Result<(Kernel, f64)> {
        let parameters = self.space.kernel.len();
        Ok((self.template.with_log_parameters(&theta[..parameters])?, theta[parameters].exp()))
    }

    fn recentred(&self, observations: &Observations, theta: &[f64]) -> Observations {
        match theta.get(self.space.kernel.len() + 1) {
            Some(shift) => observations.with_learnt_mean(observations.prior().mean() + shift * observations.prior().unit()),
            None => observations.clone(),
        }
    }

    /// Evidence and log-prior per observation, with their slopes in $\theta$.
    fn penalised(&self, observations: &Observations, theta: &[f64], evidence: EvidenceGradient) -> (f64, Vec<f64>) {
        let n = observations.len() as f64;
        let EvidenceGradient { mut value, kernel: mut slope, ridge, mean } = evidence;
        slope.push(ridge);
        if self.learning.regularised {
            let (prior, prior_slope) = self.space.log_prior(theta);
            value += prior;
            slope.iter_mut().zip(prior_slope).for_each(|(s, p)| *s += p);
        }
        slope.extend(self.learning.mean.then_some(mean * observations.prior().unit()));
        slope.iter_mut().for_each(|s| *s /= n);
        (value / n, slope)
    }
}
