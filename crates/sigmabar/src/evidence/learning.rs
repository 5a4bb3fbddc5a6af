//! Learning kernel and ridge from the responses: cheap exact stages on a subsample, the ELBO of more rows where it is tight, then one large fit of everything.

use super::additive::with_single_columns;
use super::inducing_method::{InducingMethod, sample};
use super::quasi_newton::Ascent;
use super::search::{Found, Search};
use crate::error::{Error, Result, at_least_one, positive};
use crate::kernel::Kernel;
use crate::origin::Sourced;
use crate::points::{Observations, PointsRef, Prior};
use crate::posterior::Posterior;

/// Distinct points of the stage that screens all starts.
const SCREENING_POINTS: usize = 300;
/// Distinct points of the stage that chooses the template.
const TEMPLATE_POINTS: usize = 600;
/// Steps each template is given there.
const TEMPLATE_STEPS: usize = 25;

/// Nats of the evidence that inducing points may miss, whatever the number of rows.
const MISSED_IN_ALL: f64 = 10.0;

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
    /// At most this many inducing points: fewer where the evidence is known well enough by then, or where so many would take more than [`Learning::work`].
    /// Default 4000.
    pub inducing: usize,
    /// At most about so many multiplications for the pass over everything, $nm^2$: on two cores $3\cdot10^{11}$, the default, are some ten seconds.
    pub work: f64,
    /// Whether a sum over the single columns may be added to the kernel that wins, where the evidence gains by it. Default false.
    pub additive: bool,
    /// How inducing points are chosen. Default randomly pivoted.
    pub method: InducingMethod,
    /// Inducing points are added until what they miss costs the ELBO at most so many nats per observation, and ten in all: $\operatorname{tr}D\le2n\,\text{gap}\,\tau^2$.
    /// Over responses that the model draws, the evidence is then at most twice as much above it. Default 0.002.
    pub gap: f64,
    /// Rows that the model will be fitted to, where those learnt on are a sample of them: the more there are, the less inducing points may miss. Default 0.
    pub stand_for: usize,
    /// Starts for each template. Default 4; with none, its own parameters are climbed from as they are, by all rows of the exact stage.
    pub starts: usize,
    /// Seed of the starts, the subsample and the inducing points.
    pub seed: u64,
    /// Whether log-normal priors are added: length-scales near $0.4\sqrt d$ ranges or longer, weak ones on the rest. Default true.
    pub regularised: bool,
    /// Whether the constant prior mean is learnt too. Default false.
    pub mean: bool,
    /// Distinct points of the exact stage; with no more than these, everything is learnt from the exact evidence. Default 1500.
    pub exact_points: usize,
    /// Quasi-Newton steps of the exact stage. Default 60.
    pub exact_steps: usize,
    /// Rows whose ELBO is climbed after that, a sample of them where there are more. Default 20 000.
    pub rows: usize,
    /// How often inducing points are chosen anew there. Default 2.
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
            inducing: 4000,
            work: 3e11,
            additive: false,
            method: InducingMethod::RandomlyPivoted,
            gap: 0.002,
            stand_for: 0,
            starts: 4,
            seed: 0,
            regularised: true,
            mean: false,
            exact_points: 1500,
            exact_steps: 60,
            rows: 20_000,
            rounds: 2,
            steps: 10,
            tolerance: 1e-4,
        }
    }

    /// The most inducing points for so many rows.
    #[must_use]
    pub fn most_inducing(&self, rows: usize) -> usize {
        let affordable = (self.work / rows.max(1) as f64).sqrt();
        self.inducing.min(affordable as usize).clamp(1, rows.max(1))
    }

    /// What inducing points may miss of the evidence of so many rows, in nats per row. What noise leaves unknown of the function falls as more are measured; a share
    /// of it that is missed by all of them alike would stay, and be most of the error in the end.
    pub(super) fn allowed_gap(&self, rows: usize) -> f64 {
        self.gap.min(MISSED_IN_ALL / self.stand_for.max(rows) as f64)
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
        positive("work", self.work)?;
        let (low, high) = self.ridge_limits;
        if !(high.is_finite() && high >= low) {
            return Err(Error::Parameter { name: "upper ridge limit", value: high, requirement: "finite and not below the lower one" });
        }
        for (name, value) in [
            ("number of inducing points", self.inducing),
            ("number of points of the exact stage", self.exact_points),
            ("number of rows", self.rows),
        ] {
            at_least_one(name, value)?;
        }
        Ok(())
    }
}

/// What was learnt, and the posterior with it.
#[derive(Clone, Debug)]
pub struct Learnt {
    pub(super) posterior: Posterior,
    /// The ELBO, in the data's scale.
    pub elbo: f64,
    /// An upper bound on the log evidence.
    pub upper_bound: f64,
    /// Which of the templates won.
    pub template: usize,
    /// How often value and gradient were computed, on subsamples and on everything.
    pub evaluations: usize,
    /// How often inducing points were chosen for a new kernel while the ELBO was climbed; 0 where the exact stages said all, or the ELBO was too far from the
    /// evidence to learn from.
    pub rounds: usize,
    /// Whether more inducing points would have brought the evidence's bracket within what was asked for, and only their price forbade it.
    pub capped: bool,
}

impl Learnt {
    /// The kernel, marked as learnt on these responses: intervals are estimates.
    #[must_use]
    pub fn kernel(&self) -> &Sourced<Kernel> {
        self.posterior.information().features().sourced_kernel()
    }

    /// The ridge $\tau$, in the model's scale.
    #[must_use]
    pub fn ridge(&self) -> f64 {
        self.posterior.information().ridge()
    }

    /// The prior mean and unit.
    #[must_use]
    pub fn prior(&self) -> Prior {
        self.posterior.prior()
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
///    template is chosen, with single columns added if the evidence asks for them; columns that seem not to matter to it are looked at once more, and it climbs the exact
///    evidence of [`Learning::exact_points`].
/// 2. With more points than that the ELBO of up to [`Learning::rows`] rows with some hundred inducing points is climbed, unless what these miss costs so much that
///    the ELBO would lead astray: then the exact evidence of fewer points is the better teacher. Inducing points are chosen anew for the new kernel until a
///    round gains less than [`Learning::tolerance`].
/// 3. One fit of everything, with as many inducing points as [`Learning::gap`] asks for and [`Learning::work`] allows.
///
/// Cost: a few dozen times O(e³) for the exact stage, [`Learning::rounds`] × [`Learning::steps`] passes of some hundred inducing points over those rows, and one of O(nm²).
///
/// # Errors
/// [`Error::Empty`] without templates, kernels of another width, settings out of range, a failed self-check.
pub fn fit_hyperparameters(observations: &Observations, learning: &Learning) -> Result<Learnt> {
    learning.validate(observations.locations().points().dim())?;
    let means = observations.without_equal_repeats();
    let all = means.as_ref().unwrap_or(observations);
    let mut found = exact_stage(all, learning)?;
    let distinct = all.locations().distinct();
    let rounds = if distinct > learning.exact_points || learning.most_inducing(distinct) < distinct {
        let kernel = found.kernel.clone();
        let some = if distinct > learning.rows { all.at_points(&sample(distinct, learning.rows, learning.seed))? } else { all.clone() };
        Search::new(&kernel, &some, learning).climb_elbo(&mut found)?
    } else {
        0
    };
    let kernel = found.kernel.clone();
    Search::new(&kernel, observations, learning).fit(&found, rounds)
}

/// Step 1: starts on few points, templates on more, the winner on as many as the exact stage may use.
fn exact_stage(observations: &Observations, learning: &Learning) -> Result<Found> {
    let distinct = observations.locations().distinct();
    let subset = |size: usize| match size.min(learning.exact_points) {
        size if size < distinct => observations.at_points(&sample(distinct, size, learning.seed)),
        _ => Ok(observations.clone()),
    };
    if learning.starts == 0 {
        return warm(&subset(learning.exact_points)?, observations, learning);
    }
    let (few, more) = (subset(SCREENING_POINTS)?, subset(TEMPLATE_POINTS)?);
    let mut best: Result<(f64, Found)> = Err(Error::Empty { what: "the list of kernels to learn" });
    let mut evaluations = 0;
    for (template, kernel) in learning.templates.iter().enumerate() {
        let search = Search::new(kernel, observations, learning);
        let climbed = search.climb_starts(&few, &more, TEMPLATE_STEPS).and_then(|Ascent { point: theta, value, evaluations }| {
            let mut found = (value, Found { template, kernel: kernel.clone(), theta, evaluations });
            if learning.additive {
                add_single_columns(&mut found, (&few, &more), observations, learning)?;
            }
            Ok(found)
        });
        evaluations += climbed.as_ref().map_or(0, |(_, found)| found.evaluations);
        best = match (best, climbed) {
            (Ok(best), Ok(new)) if new.0 <= best.0 => Ok(best),
            (Ok(best), Err(_)) => Ok(best),
            (_, new) => new,
        };
    }
    let (_, found) = best?;
    let search = Search::new(&found.kernel, observations, learning);
    let (start, woken) = search.woken(&more, found.theta, TEMPLATE_STEPS)?;
    let ascent = search.climb_exact(&subset(learning.exact_points)?, &start, learning.exact_steps)?;
    Ok(Found { theta: ascent.point, evaluations: evaluations + woken + ascent.evaluations, ..found })
}

/// What is known already, for rows that it was not learnt from.
fn warm(exact: &Observations, all: &Observations, learning: &Learning) -> Result<Found> {
    let climb = |(template, kernel): (usize, &Kernel)| {
        let start: Vec<f64> =
            kernel.log_parameters().into_iter().chain([learning.ridge.ln()]).chain(learning.mean.then_some(0.0)).collect();
        let Ascent { point: theta, value, evaluations } =
            Search::new(kernel, all, learning).climb_exact(exact, &start, learning.exact_steps)?;
        Ok((value, Found { template, kernel: kernel.clone(), theta, evaluations }))
    };
    let found = learning.templates.iter().enumerate().map(climb).collect::<Result<Vec<_>>>()?;
    let best = found.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    best.map(|(_, found)| found).ok_or(Error::Empty { what: "the list of kernels to learn" })
}

/// Adds a sum over the single columns where that gains a nat for each parameter more.
fn add_single_columns(
    (value, found): &mut (f64, Found),
    (few, more): (&Observations, &Observations),
    all: &Observations,
    learning: &Learning,
) -> Result<()> {
    let (own, rest) = found.theta.split_at(found.kernel.log_parameters().len());
    let Some(kernel) = with_single_columns(&found.kernel.with_log_parameters(own)?, all.locations().points()) else { return Ok(()) };
    let start: Vec<f64> = kernel.log_parameters().into_iter().chain(rest.iter().copied()).collect();
    let search = Search::new(&kernel, all, learning);
    // From what the kernel of all columns has found, and from nothing: each has its own hills.
    let afresh = search.climb_starts(few, more, TEMPLATE_STEPS);
    let Ok(warm) = search.climb_exact(more, &start, TEMPLATE_STEPS) else { return Ok(()) };
    let ascent = afresh.ok().filter(|afresh| afresh.value > warm.value).unwrap_or(warm);
    found.evaluations += ascent.evaluations;
    let extra = (start.len() - found.theta.len()) as f64;
    if ascent.value > *value + extra / more.len() as f64 {
        *value = ascent.value - extra / more.len() as f64;
        (found.kernel, found.theta) = (kernel, ascent.point);
    }
    Ok(())
}
