//! Everything a run has measured as one posterior, for reports and pictures.

use super::auto::first_look;
use super::policy::Policy;
use super::run::ledger::Ledger;
use super::run::problem::Problem;
use super::run::recommendation::{Recommendation, model_certificate, weight};
use super::{Assumed, Mishaps, Scale, Strategy};
use crate::certificate::{About, Certificate, Claim, Claimed, Side};
use crate::error::Result;
use crate::features::FeatureMap;
use crate::inducing::{InducingRule, Stop};
use crate::kernel::Kernel;
use crate::noise::Noise;
use crate::origin::{Origin, Sourced};
use crate::points::{Collected, Observations, Points, PointsRef, Prior};
use crate::posterior::Posterior;
use sigmabar_linalg::argmax;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Up to this many distinct points all of them are inducing points, so that the posterior is the exact one.
const EXACT: usize = 1000;

/// The posterior of everything measured (see [`Strategy::posterior`]), asked in natural coordinates and answering in the data's scale.
///
/// It uses the data of all batches, which decided where later ones were taken: a picture of what is known, not a certificate. Means told with a
/// standard error weigh accordingly.
#[derive(Clone, Debug)]
pub struct RunPosterior<'a> {
    problem: &'a Problem,
    fitted: Fitted,
    /// What was given, where that is enough for a theorem about everything measured at once.
    claim: Option<Claim>,
}

/// A model of everything measured.
#[derive(Clone, Debug)]
struct Fitted {
    scale: Option<Scale>,
    posterior: Arc<Posterior>,
    /// The noise of one evaluation, on the scale of the model.
    noise: f64,
    /// What the model says about the run by itself.
    certificate: Certificate,
}

/// What a run has found out about everything measured so far, for all who ask before the next result comes: it takes long. Two runs differ by none of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Known(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    learnt: Option<Option<Assumed>>,
    fitted: Option<Option<Fitted>>,
}

impl Known {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn forget(&self) {
        self.kept().fitted = None;
    }

    /// What was learnt, or is learnt now. Two who ask at once learn the same.
    fn learnt(&self, problem: &Problem, ledger: &Ledger) -> Result<Option<Assumed>> {
        if let Some(known) = &self.kept().learnt {
            return Ok(known.clone());
        }
        let learnt = first_look(problem, ledger)?;
        self.kept().learnt = Some(learnt.clone());
        Ok(learnt)
    }

    fn fitted(&self, fit: impl FnOnce() -> Result<Option<Fitted>>) -> Result<Option<Fitted>> {
        if let Some(known) = &self.kept().fitted {
            return Ok(known.clone());
        }
        let fitted = fit()?;
        self.kept().fitted = Some(fitted.clone());
        Ok(fitted)
    }
}

impl PartialEq for Known {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// What the model goes by.
struct Basis {
    kernel: Sourced<Kernel>,
    ridge: f64,
    scale: Option<Scale>,
    noise: f64,
    /// What was learnt for it, and is no premise that anybody gave.
    learnt: Option<Assumed>,
}

impl Basis {
    /// What was given; else what was learnt from everything measured.
    fn of(run: &Strategy) -> Result<Option<Self>> {
        let problem = &run.problem;
        let (Some(kernel), Some(ridge)) = (problem.kernel(), problem.ridge()) else {
            return Ok(run.known.learnt(problem, &run.ledger)?.map(Self::learnt));
        };
        let noise = problem.noise().map_or(ridge, Noise::std_dev_bound);
        Ok(Some(Self { kernel: kernel.clone(), ridge, scale: None, noise, learnt: None }))
    }

    fn learnt(assumed: Assumed) -> Self {
        let (kernel, ridge) = (assumed.kernel.clone(), assumed.ridge);
        Self { kernel, ridge, scale: Some(assumed.scale), noise: ridge, learnt: Some(assumed) }
    }
}

impl Fitted {
    fn new(problem: &Problem, ledger: &Ledger, basis: &Basis) -> Result<Option<Self>> {
        let Basis { kernel, ridge, scale, noise, .. } = basis;
        let (ridge, scale, noise) = (*ridge, *scale, *noise);
        let (mut rows, mut values, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for m in ledger.all_measured() {
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
            Sourced::new(locations.points().to_points(), Origin::Guaranteed)
        } else {
            let greedy = InducingRule::Greedy(Stop::at_size(EXACT));
            greedy.select(&kernel.value, ridge, locations, problem.seed())?.into_points()
        };
        let features = Arc::new(FeatureMap::new(kernel.clone(), inducing)?);
        let premises = match &basis.learnt {
            Some(assumed) => assumed.premises(problem, values.len()),
            None => problem.premises(values.len()),
        };
        let certificate = model_certificate(problem, premises);
        let posterior = Arc::new(Posterior::fit(features, ridge, observations)?);
        Ok(Some(Self { scale, posterior, noise, certificate }))
    }

    fn to_data(&self, problem: &Problem, value: f64) -> f64 {
        problem.to_data(self.scale.map_or(value, |s| s.to_problem(value)))
    }
}

impl<'a> RunPosterior<'a> {
    pub(super) fn new(run: &'a Strategy) -> Result<Option<Self>> {
        let Some(fitted) = Self::fitted(run)? else { return Ok(None) };
        let claim = if fitted.scale.is_none() && Self::is_whole(run) { run.problem.claim()? } else { None };
        Ok(Some(Self { problem: &run.problem, fitted, claim }))
    }

    /// The model of a run under what was given, what `auto` went by, or what is learnt.
    fn fitted(run: &Strategy) -> Result<Option<Fitted>> {
        run.known.fitted(|| {
            let assumed = match &run.policy {
                Policy::Auto(auto) => auto.assumed().last().cloned().map(Basis::learnt),
                _ => None,
            };
            let basis = assumed.map_or_else(|| Basis::of(run), |basis| Ok(Some(basis)))?;
            basis.map_or(Ok(None), |basis| Fitted::new(&run.problem, &run.ledger, &basis))
        })
    }

    /// Whether everything measured may stand in one claim: nothing counts more than the rest, nothing was lost, corrected or is still open that may have been
    /// chosen by its noise, and nothing is there from which the premises may have been learnt.
    fn is_whole(run: &Strategy) -> bool {
        let &Mishaps { corrected, doubted_before, taught, unnamed, distinct_rows, .. } = run.mishaps();
        let ledger = &run.ledger;
        let settled = ledger.settled();
        let lost = ledger.lost_before() + ledger.lost_until(settled) + corrected + doubted_before + run.mishaps().lost();
        let has_pilot = matches!(&run.policy, Policy::Sbpe(sbpe) if sbpe.pilot().is_some());
        let may_have_taught = has_pilot
            || ((taught > 0 || unnamed) && !distinct_rows)
            || (run.problem.is_learnt_elsewhere() && ledger.measured_before().next().is_some());
        let all = || ledger.all_measured();
        let is_settled = ledger.measured_before().chain(ledger.measured_until(settled)).count() == all().count();
        is_settled && !may_have_taught && all().all(|m| m.standard_error.is_none()) && run.problem.failures().origin(lost) != Origin::Unmet
    }

    /// The measured point with the largest $\mu-\sigma/2$: shrinks lucky single draws. Kernel and noise are those of the problem, else learnt from what was
    /// measured, which [`Strategy::recommend`] needs before a policy has learnt anything. The interval is $\mu\pm2\sigma$, a heuristic.
    pub(super) fn best_measured(run: &Strategy) -> Result<Option<Recommendation>> {
        let (Some(fitted), ledger) = (Self::fitted(run)?, &run.ledger) else { return Ok(None) };
        let points: Vec<&[f64]> = ledger.all_measured().map(|m| m.point).collect();
        let (mean, deviation) = fitted.posterior.predict(Points::from_rows(&points)?.view())?;
        let best = argmax((0..points.len()).map(|i| (i, mean[i] - 0.5 * deviation[i]))).unwrap_or(0);
        let end = |z: f64| fitted.to_data(&run.problem, mean[best] + z * deviation[best]);
        let (a, b) = (end(-2.0), end(2.0));
        Ok(Some(Recommendation {
            point: points[best].to_vec(),
            candidate: ledger.all_measured().nth(best).and_then(|m| m.candidate),
            lower: a.min(b),
            upper: a.max(b),
            gap: f64::INFINITY,
            candidate_gap: None,
            certificate: fitted.certificate,
        }))
    }

    /// A value of the model in the data's scale.
    #[must_use]
    pub fn to_data(&self, value: f64) -> f64 {
        self.fitted.to_data(self.problem, value)
    }

    /// The posterior itself: encoded points, and the model's scale, where larger is better.
    #[must_use]
    pub fn posterior(&self) -> &Posterior {
        &self.fitted.posterior
    }

    /// How far the values at two of the run's own points may be apart, $|\Delta\mu|+2\,\mathrm{sd}(\Delta)$ in the data's scale: an estimate.
    ///
    /// # Errors
    /// [`crate::Error::Width`] for points of another domain.
    pub fn apart(&self, from: &[f64], to: &[f64]) -> Result<f64> {
        let both = Points::from_rows(&[from, to])?;
        let (mean, _) = self.fitted.posterior.predict(both.view())?;
        let covariance = self.fitted.posterior.covariance(both.view())?;
        let variance = (covariance[(0, 0)] + covariance[(1, 1)] - 2.0 * covariance[(0, 1)]).max(0.0);
        let far = (mean[0] - mean[1]).abs() + 2.0 * variance.sqrt();
        let here = self.to_data(mean[0]);
        Ok([far, -far].map(|step| (self.to_data(mean[0] + step) - here).abs()).into_iter().fold(0.0, f64::max))
    }

    /// The kernel, with where it came from.
    #[must_use]
    pub fn kernel(&self) -> &Sourced<Kernel> {
        self.fitted.posterior.information().features().sourced_kernel()
    }

    /// The scale on which values are modelled, where they are centred, stretched or warped.
    #[must_use]
    pub fn scale(&self) -> Option<Scale> {
        self.fitted.scale
    }

    /// What its bands rest on: an estimate, about each point by itself.
    #[must_use]
    pub fn certificate(&self) -> Certificate {
        Certificate { claim: Claimed::Function { side: Side::Both }, about: About::Point, ..self.fitted.certificate.clone() }
    }

    /// What was given, where that is enough for a theorem about everything measured at once, on the scale of the model.
    #[must_use]
    pub fn claim(&self) -> Option<&Claim> {
        self.claim.as_ref()
    }

    /// The noise of one evaluation, on the scale of the model.
    #[must_use]
    pub fn noise(&self) -> f64 {
        self.fitted.noise
    }

    /// The natural values of the inducing points.
    ///
    /// # Errors
    /// None for a run that is sound.
    pub fn inducing(&self) -> Result<Points> {
        self.problem.domain().decode(self.fitted.posterior.information().features().inducing())
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
        let encoded = self.problem.domain().encode(natural)?;
        let (mean, deviation) = self.fitted.posterior.predict(encoded.view())?;
        let both = |(mean, deviation): (&f64, &f64)| {
            let (a, b) = (self.to_data(mean - z * deviation), self.to_data(mean + z * deviation));
            (a.min(b), a.max(b))
        };
        Ok(mean.iter().zip(&deviation).map(both).collect())
    }

    /// Half the distance between $\mu\pm\sigma$ in the data's scale: the standard deviation, where values are not warped.
    ///
    /// # Errors
    /// As [`RunPosterior::mean`].
    pub fn std_dev(&self, natural: PointsRef<'_>) -> Result<Vec<f64>> {
        Ok(self.band(natural, 1.0)?.into_iter().map(|(low, high)| 0.5 * (high - low)).collect())
    }
}
