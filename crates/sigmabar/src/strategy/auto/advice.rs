//! What to do if the run ended now, and how far from the best it may be.

use super::assumed::Assumed;
use super::fit::Fit;
use super::model::{Data, Model, Outlook};
use super::pick;
use super::pool::Pool;
use super::scale::Scale;
use super::unexplained::Unexplained;
use crate::certificate::Certificate;
use crate::error::Result;
use crate::strategy::run::problem::Problem;
use crate::strategy::run::recommendation::{Recommendation, model_certificate};
use sigmabar_linalg::argmax;
use statrs::distribution::{ContinuousCDF, Normal};

/// The measured points under the model, and the best of them.
pub(super) struct Advice<'a> {
    problem: &'a Problem,
    data: &'a Data,
    scale: &'a Scale,
    assumed: &'a Assumed,
    model: Model,
    outlook: Outlook,
    best: usize,
}

impl<'a> Advice<'a> {
    /// The best is the measured point with the largest $\hat f-\sigma/2$: never the luckiest draw. $\hat f$ is the posterior mean, moved towards what
    /// was measured as far as [`Unexplained`] says.
    pub fn new(problem: &'a Problem, data: &'a Data, fit: &'a Fit, assumed: &'a Assumed) -> Result<Self> {
        let model = fit.model(data)?;
        let mut outlook = model.outlook(data.points.view())?;
        if problem.noise().is_none() {
            Unexplained::of(data, fit)?.settle(data, fit, &mut outlook)?;
        }
        let score = |i: usize| outlook.mean[i] - 0.5 * outlook.variance[i].sqrt();
        let best = argmax((0..outlook.mean.len()).map(|i| (i, score(i)))).unwrap_or(0);
        Ok(Self { problem, data, scale: &fit.scale, assumed, model, outlook, best })
    }

    /// The best of the measured points.
    pub fn best(&self) -> usize {
        self.best
    }

    /// The $1-\delta$ quantile of $\max_xf(x)-f(\hat x)$ over functions drawn from the posterior, in the data's scale: right if the model is.
    pub fn gap(&self, pool: &Pool, seed: u64) -> Result<f64> {
        let drawn = pick::maxima(&self.model, pool, self.data.points.row(self.best), seed)?;
        let unit = self.problem.prior().unit();
        let loss = |(top, own): (f64, f64)| unit * (self.scale.to_problem(top) - self.scale.to_problem(own)).max(0.0);
        let mut gaps: Vec<f64> = drawn.into_iter().map(loss).collect();
        gaps.sort_by(f64::total_cmp);
        let position = ((1.0 - self.problem.delta()) * gaps.len() as f64).ceil() as usize;
        Ok(gaps[position.clamp(1, gaps.len()) - 1])
    }

    /// The interval is $\mu\pm z_{1-\delta/2}\sigma$ taken back to the data's scale; with a norm bound given, within $\pm C\sqrt{k(x,x)}$.
    pub fn recommendation(&self, candidate: Option<usize>, gap: f64) -> Recommendation {
        let z = Normal::standard().inverse_cdf(1.0 - 0.5 * self.problem.delta());
        let (mean, deviation) = (self.outlook.mean[self.best], self.outlook.variance[self.best].sqrt());
        let reach = self.reach();
        let end = |side: f64| self.problem.to_data(self.scale.to_problem((mean + side * z * deviation).clamp(-reach, reach)));
        let (a, b) = (end(-1.0), end(1.0));
        let premises = self.assumed.premises(self.problem, self.data.raw.len());
        let certificate = Certificate { contradiction: self.assumed.contradiction(), ..model_certificate(self.problem, premises) };
        let point = self.data.points.row(self.best).to_vec();
        Recommendation { point, candidate, lower: a.min(b), upper: a.max(b), gap, candidate_gap: None, certificate }
    }

    /// How large a function of the given norm can be at the best point.
    fn reach(&self) -> f64 {
        let point = self.data.points.view().range(self.best, self.best + 1);
        match self.problem.norm_bound() {
            Some(bound) => bound * self.model.kernel.diagonal(point)[0].sqrt(),
            None => f64::INFINITY,
        }
    }
}
