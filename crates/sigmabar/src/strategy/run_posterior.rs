//! Everything a run has measured as one posterior, for reports and pictures.

use super::policy::Policy;
use super::run::problem::Problem;
use super::run::recommendation::weight;
use super::{Scale, Strategy};
use crate::error::Result;
use crate::features::FeatureMap;
use crate::inducing::{InducingRule, Stop};
use crate::kernel::Kernel;
use crate::noise::Noise;
use crate::origin::Sourced;
use crate::points::{Collected, Observations, Points, PointsRef, Prior};
use crate::posterior::Posterior;
use std::sync::Arc;

/// Up to this many distinct points all of them are inducing points, so that the posterior is the exact one.
const EXACT: usize = 1000;

/// The posterior of everything measured (see [`Strategy::posterior`]), asked in natural coordinates and answering in the data's scale.
///
/// It uses the data of all batches, which decided where later ones were taken: a picture of what is known, not a certificate. Means told with a
/// standard error weigh accordingly.
#[derive(Clone, Debug)]
pub struct RunPosterior<'a> {
    problem: &'a Problem,
    scale: Option<Scale>,
    posterior: Posterior,
    /// The noise of one evaluation, on the scale of the model.
    noise: f64,
}

/// What the model goes by.
struct Basis<'a> {
    kernel: &'a Sourced<Kernel>,
    ridge: f64,
    scale: Option<Scale>,
    noise: f64,
}

impl<'a> Basis<'a> {
    fn of(run: &'a Strategy) -> Option<Self> {
        if let Policy::Auto(auto) = &run.policy
            && let Some(assumed) = auto.assumed().last()
        {
            return Some(Self { kernel: &assumed.kernel, ridge: assumed.ridge, scale: Some(assumed.scale), noise: assumed.ridge });
        }
        let (kernel, ridge) = (run.problem.kernel()?, run.problem.ridge()?);
        Some(Self { kernel, ridge, scale: None, noise: run.problem.noise().map_or(ridge, Noise::std_dev_bound) })
    }
}

impl<'a> RunPosterior<'a> {
    pub(super) fn new(run: &'a Strategy) -> Result<Option<Self>> {
        let problem = &run.problem;
        let Some(Basis { kernel, ridge, scale, noise }) = Basis::of(run) else { return Ok(None) };
        let (mut rows, mut values, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for m in run.ledger.all_measured() {
            let value = problem.to_model(m.value);
            rows.extend_from_slice(m.point);
            values.push(scale.map_or(value, |s| s.to_model(value)));
            weights.push(match (scale, m.standard_error) {
                (Some(scale), Some(error)) if m.replicates.is_none() => {
                    (ridge / (error / problem.prior().unit() * scale.slope(value))).powi(2)
                }
                _ => weight(problem, &m),
            });
        }
        if rows.is_empty() {
            return Ok(None);
        }
        let points = Points::new(rows, problem.domain().dim())?;
        let observations = Observations::weighted(points, &values, &weights, Collected::Adaptive, Prior::ZERO)?;
        let locations = observations.locations();
        let inducing = if locations.distinct() <= EXACT {
            locations.points().to_points()
        } else {
            let greedy = InducingRule::Greedy(Stop::at_size(EXACT));
            greedy.select(&kernel.value, ridge, locations, problem.seed())?.into_points()
        };
        let features = Arc::new(FeatureMap::new(kernel.clone(), inducing)?);
        Ok(Some(Self { problem, scale, posterior: Posterior::fit(features, ridge, observations)?, noise }))
    }

    /// The posterior itself: encoded points, and the model's scale, where larger is better.
    #[must_use]
    pub fn posterior(&self) -> &Posterior {
        &self.posterior
    }

    /// The kernel, with where it came from.
    #[must_use]
    pub fn kernel(&self) -> &Sourced<Kernel> {
        self.posterior.information().features().sourced_kernel()
    }

    /// The natural values of the inducing points.
    ///
    /// # Errors
    /// None for a run that is sound.
    pub fn inducing(&self) -> Result<Points> {
        self.problem.domain().decode(self.posterior.information().features().inducing())
    }

    /// The median of the function's value at natural points.
    ///
    /// # Errors
    /// [`crate::Error::Outside`] naming the row and column of a value that the domain does not take.
    pub fn mean(&self, natural: PointsRef<'_>) -> Result<Vec<f64>> {
        Ok(self.band(natural, 0.0)?.into_iter().map(|(low, _)| low).collect())
    }

    /// $\mu\pm z\sigma$ for the function's value at natural points, each end taken to the data's scale.
    ///
    /// # Errors
    /// As [`RunPosterior::mean`].
    pub fn band(&self, natural: PointsRef<'_>, z: f64) -> Result<Vec<(f64, f64)>> {
        self.ends(natural, z, 0.0)
    }

    /// The same for one more evaluation: $\mu\pm z\sqrt{\sigma^2+\text{noise}^2}$.
    ///
    /// # Errors
    /// As [`RunPosterior::mean`].
    pub fn prediction_band(&self, natural: PointsRef<'_>, z: f64) -> Result<Vec<(f64, f64)>> {
        self.ends(natural, z, self.noise)
    }

    /// Half the distance between $\mu\pm\sigma$ in the data's scale: the standard deviation, where values are not warped.
    ///
    /// # Errors
    /// As [`RunPosterior::mean`].
    pub fn std_dev(&self, natural: PointsRef<'_>) -> Result<Vec<f64>> {
        Ok(self.band(natural, 1.0)?.into_iter().map(|(low, high)| 0.5 * (high - low)).collect())
    }

    fn ends(&self, natural: PointsRef<'_>, z: f64, noise: f64) -> Result<Vec<(f64, f64)>> {
        let encoded = self.problem.domain().encode(natural)?;
        let (mean, deviation) = self.posterior.predict(encoded.view())?;
        let end = |value: f64| self.problem.to_data(self.scale.map_or(value, |s| s.to_problem(value)));
        let both = |(mean, deviation): (&f64, &f64)| {
            let reach = z * deviation.hypot(noise);
            let (a, b) = (end(mean - reach), end(mean + reach));
            (a.min(b), a.max(b))
        };
        Ok(mean.iter().zip(&deviation).map(both).collect())
    }
}
