//! Learning kernel and ridge from the responses: cheap exact stages on a subsample, then the ELBO on everything.

use super::EvidenceGradient;
use super::bounds::Space;
use super::choice::{Choice, sample};
use super::quasi_newton::{Ascent, Effort, maximise};
use crate::error::{Error, Result, positive};
use crate::features::{FeatureMap, Source, SourcedKernel};
use crate::kernel::Kernel;
use crate::points::{Observations, Points, PointsRef};
use crate::posterior::{ExactPosterior, Posterior};
use crate::residual::{ResidualNorm, ResidualNormKind};
use std::sync::Arc;

/// Distinct points of the stage that screens all starts.
const SCREENING_POINTS: usize = 300;
/// Steps each start is given there.
const SCREENING_STEPS: usize = 15;
/// Distinct points of the stage that chooses the template.
const TEMPLATE_POINTS: usize = 600;
/// Steps each template is given there.
const TEMPLATE_STEPS: usize = 25;
/// The prior mean stays within this many units of its start.
const MEAN_LIMIT: f64 = 10.0;

/// What to learn and how hard to try. Make one with [`Learning::new`] and change what should differ.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Learning {
    /// Kernels to choose among by evidence; their parameters are one of the starts.
    pub templates: Vec<Kernel>,
    /// A start for the ridge $\tau$, in the model's scale. Default 0.1.
    pub ridge: f64,
    /// The ridge stays within these multiples of the root mean square of the centred responses. Default $10^{-3}$ to 3.
    pub ridge_limits: (f64, f64),
    /// At most this many inducing points. Default 500.
    pub inducing: usize,
    /// How inducing points are chosen. Default randomly pivoted.
    pub choice: Choice,
    /// Inducing points are added while the evidence's upper bound − ELBO exceeds this much per observation. Default 0.01.
    pub gap: f64,
    /// Starts for each template. Default 4.
    pub starts: usize,
    /// Seed of the starts, the subsample and the inducing points.
    pub seed: u64,
    /// Whether log-normal priors are added: length-scales near $0.4\sqrt d$ ranges, weak ones on the rest. Default true.
    pub regularised: bool,
    /// Whether the constant prior mean is learnt too. Default false.
    pub mean: bool,
    /// Distinct points of the exact stage; with no more than these, everything is learnt from the exact evidence. Default 1500.
    pub exact_points: usize,
    /// Quasi-Newton steps of the exact stage. Default 40.
    pub exact_steps: usize,
    /// How often inducing points are chosen anew. Default 3.
    pub rounds: usize,
    /// Quasi-Newton steps with the inducing points of one round. Default 10.
    pub steps: usize,
    /// Stop when a round gains less than this per observation. Default $10^{-4}$.
    pub tolerance: f64,
}

impl Learning {
    /// Learning among these kernels with the defaults.
    #[must_use]
    pub fn new(templates: Vec<Kernel>) -> Self {
        Self {
            templates,
            ridge: 0.1,
            ridge_limits: (1e-3, 3.0),
            inducing: 500,
            choice: Choice::RandomlyPivoted,
            gap: 0.01,
            starts: 4,
            seed: 0,
            regularised: true,
            mean: false,
            exact_points: 1500,
            exact_steps: 40,
            rounds: 3,
            steps: 10,
            tolerance: 1e-4,
        }
    }

    fn validate(&self, dim: usize) -> Result<()> {
        if self.templates.is_empty() {
            return Err(Error::Empty { what: "the list of kernels to learn" });
        }
        self.templates.iter().try_for_each(|kernel| kernel.check_dim(dim))?;
        positive("ridge", self.ridge)?;
        positive("lower ridge limit", self.ridge_limits.0)?;
        positive("gap per observation", self.gap)?;
        positive("tolerance", self.tolerance)?;
        let (low, high) = self.ridge_limits;
        if !(high.is_finite() && high >= low) {
            return Err(Error::Parameter { name: "upper ridge limit", value: high, requirement: "finite and not below the lower one" });
        }
        for (name, value) in [
            ("number of inducing points", self.inducing),
            ("number of starts", self.starts),
            ("number of points of the exact stage", self.exact_points),
            ("number of rounds", self.rounds),
        ] {
            if value == 0 {
                return Err(Error::Parameter { name, value: 0.0, requirement: "at least 1" });
            }
        }
        Ok(())
    }
}

/// What was learnt, and the posterior with it.
#[derive(Clone, Debug)]
pub struct Learnt {
    posterior: Posterior,
    /// The ELBO, in the data's scale.
    pub elbo: f64,
    /// An upper bound on the log evidence.
    pub upper_bound: f64,
    /// Which of the templates won.
    pub template: usize,
    /// How often value and gradient were computed, on subsamples and on everything.
    pub evaluations: usize,
    /// How often inducing points were chosen for a new kernel.
    pub rounds: usize,
}

impl Learnt {
    /// The kernel, marked as learnt on these responses: intervals are calibrated, not certified.
    #[must_use]
    pub fn kernel(&self) -> &SourcedKernel {
        self.posterior.information().features().sourced_kernel()
    }

    /// The ridge $\tau$, in the model's scale.
    #[must_use]
    pub fn ridge(&self) -> f64 {
        self.posterior.information().ridge()
    }

    /// The inducing points.
    #[must_use]
    pub fn inducing(&self) -> PointsRef<'_> {
        self.posterior.information().features().inducing()
    }

    /// Upper bound − ELBO: at most how far the sparse posterior is from the exact one with the same kernel.
    #[must_use]
    pub fn gap(&self) -> f64 {
        (self.upper_bound - self.elbo).max(0.0)
    }

    /// The posterior with the learnt kernel, ridge and prior mean.
    #[must_use]
    pub fn posterior(&self) -> &Posterior {
        &self.posterior
    }

    /// The posterior, given away.
    #[must_use]
    pub fn into_posterior(self) -> Posterior {
        self.posterior
    }
}

/// Learns kernel parameters, ridge and, if asked, the constant mean by (penalised) evidence (algorithm notes 0.3).
///
/// 1. Every start of every template climbs the exact evidence of a few hundred points; the best of each template goes on to some more, where the
///    template is chosen, and the winner to the exact evidence of [`Learning::exact_points`].
/// 2. With more points than that, or fewer inducing points than points, inducing points are chosen for the kernel found, doubled while the
///    sandwich of ELBO and upper bound is wider than [`Learning::gap`], and the ELBO of everything is climbed; inducing points are chosen anew
///    for the new kernel until a round gains less than [`Learning::tolerance`].
///
/// Cost: a few dozen times O(e³) for the exact stage, and [`Learning::rounds`] × [`Learning::steps`] passes of O(nm²).
///
/// # Errors
/// [`Error::Empty`] without templates, kernels of another width, settings out of range, a failed self-check.
pub fn fit_hyperparameters(observations: &Observations, learning: &Learning) -> Result<Learnt> {
    learning.validate(observations.locations().points().dim())?;
    let start = exact_stage(observations, learning)?;
    let search = Search::new(&learning.templates[start.template], observations, learning);
    search.climb_elbo(start)
}

/// Where a stage left off.
struct Found {
    template: usize,
    theta: Vec<f64>,
    evaluations: usize,
}

/// Step 1: starts on few points, templates on more, the winner on as many as the exact stage may use.
fn exact_stage(observations: &Observations, learning: &Learning) -> Result<Found> {
    let distinct = observations.locations().distinct();
    let subset = |size: usize| match size.min(learning.exact_points) {
        size if size < distinct => observations.at_points(&sample(distinct, size, learning.seed)),
        _ => Ok(observations.clone()),
    };
    let (few, more) = (subset(SCREENING_POINTS)?, subset(TEMPLATE_POINTS)?);
    let mut best: Result<(f64, Found)> = Err(Error::Empty { what: "the list of kernels to learn" });
    let mut evaluations = 0;
    for (template, kernel) in learning.templates.iter().enumerate() {
        let search = Search::new(kernel, observations, learning);
        let climbed = search.best_start(&few).and_then(|start| {
            evaluations += start.evaluations;
            search.climb_exact(&more, &start.point, TEMPLATE_STEPS)
        });
        evaluations += climbed.as_ref().map_or(0, |ascent| ascent.evaluations);
        best = match (best, climbed) {
            (Ok(best), Ok(new)) if new.value <= best.0 => Ok(best),
            (Ok(best), Err(_)) => Ok(best),
            (_, new) => new.map(|ascent| (ascent.value, Found { template, theta: ascent.point, evaluations: 0 })),
        };
    }
    let Found { template, theta, .. } = best?.1;
    let search = Search::new(&learning.templates[template], observations, learning);
    let ascent = search.climb_exact(&subset(learning.exact_points)?, &theta, learning.exact_steps)?;
    Ok(Found { template, theta: ascent.point, evaluations: evaluations + ascent.evaluations })
}

/// The search space of one template: $\theta$ holds its log-parameters, $\log\tau$ and, if it is learnt, the mean's shift in units.
struct Search<'a> {
    template: &'a Kernel,
    observations: &'a Observations,
    learning: &'a Learning,
    space: Space,
}

impl<'a> Search<'a> {
    fn new(template: &'a Kernel, observations: &'a Observations, learning: &'a Learning) -> Self {
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
    fn best_start(&self, few: &Observations) -> Result<Ascent> {
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

    fn climb_exact(&self, observations: &Observations, start: &[f64], steps: usize) -> Result<Ascent> {
        let objective = |theta: &[f64]| {
            let (kernel, ridge) = self.kernel_and_ridge(theta)?;
            let posterior = ExactPosterior::new(kernel, ridge, self.recentred(observations, theta))?;
            Ok(self.penalised(observations, theta, posterior.log_evidence_gradient()?))
        };
        maximise(objective, start, &self.bounds(), self.effort(steps))
    }

    /// Step 2.
    fn climb_elbo(&self, start: Found) -> Result<Learnt> {
        let learning = self.learning;
        let Found { template, mut theta, mut evaluations } = start;
        let mut size = self.grown(&theta, learning.inducing.min(64))?;
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
        while size < most && self.learning.choice.takes_a_size() {
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
        self.learning.choice.points(&kernel, ridge, self.observations.locations(), size, self.learning.seed.wrapping_add(round as u64))
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
        let features = FeatureMap::new(SourcedKernel { kernel, source: Source::LearntHere }, inducing)?;
        Posterior::fit(Arc::new(features), ridge, self.recentred(self.observations, theta))
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
