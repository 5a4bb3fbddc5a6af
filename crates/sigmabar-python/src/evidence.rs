//! Learning kernel and ridge.

use crate::arrays::{Rows, vector};
use crate::error::{raise, unknown};
use crate::kernel::PyKernel;
use crate::origin::{Number, collected};
use crate::posterior::{PyPosterior, observed, prior};
use crate::work;
use numpy::PyArray1;
use pyo3::prelude::*;
use sigmabar::evidence::{InducingMethod, Learning, Learnt, fit_hyperparameters as learn};
use sigmabar::points::Seen;

/// How hard to try.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct LearningOptions {
    tau: f64,
    tau_limits: Option<(f64, f64)>,
    max_inducing: usize,
    method: String,
    gap: f64,
    starts: usize,
    seed: u64,
    regularised: bool,
    learn_mean: bool,
    exact_points: usize,
    exact_steps: usize,
    rounds: usize,
    steps: usize,
    additive: bool,
}

impl LearningOptions {
    fn learning(self, templates: Vec<sigmabar::Kernel>) -> PyResult<Learning> {
        let mut learning = Learning::new(templates);
        learning.ridge = self.tau;
        if let Some(limits) = self.tau_limits {
            learning.ridge_limits = limits;
        }
        learning.inducing = self.max_inducing;
        learning.method = match self.method.as_str() {
            "rpcholesky" => InducingMethod::RandomlyPivoted,
            "greedy" => InducingMethod::Greedy,
            "kmeans" => InducingMethod::KMeans,
            "uniform" => InducingMethod::Uniform,
            other => return Err(unknown("method", other, &["rpcholesky", "greedy", "kmeans", "uniform"])),
        };
        learning.gap = self.gap;
        learning.starts = self.starts;
        learning.seed = self.seed;
        learning.regularised = self.regularised;
        learning.mean = self.learn_mean;
        learning.exact_points = self.exact_points;
        learning.exact_steps = self.exact_steps;
        learning.rounds = self.rounds;
        learning.steps = self.steps;
        learning.additive = self.additive;
        Ok(learning)
    }
}

/// The posterior with what was learnt, ELBO, upper bound on the evidence, and which template won.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called from the Python face only")]
pub fn fit_hyperparameters(
    py: Python<'_>,
    kernels: Vec<PyRef<'_, PyKernel>>,
    x: Rows,
    y: &Bound<'_, PyArray1<f64>>,
    how: Option<&str>,
    mean: Option<Number>,
    unit: Number,
    options: LearningOptions,
    weights: Option<&Bound<'_, PyArray1<f64>>>,
) -> PyResult<(PyPosterior, f64, f64, usize, bool)> {
    let weights = weights.map(vector).transpose()?;
    let templates = kernels.iter().map(|k| k.inner.value.clone()).collect();
    let (learning, y, how) = (options.learning(templates)?, vector(y)?, collected(how)?);
    let rows = Seen::of(x.view().map_err(raise)?, &y);
    // What began with a kernel learnt on other rows was taught by these too.
    let learnt_on = kernels.iter().fold(rows.clone(), |all, kernel| all.with(&kernel.seen));
    let prior = prior(mean, &unit, (&y, weights.as_deref()), &rows)?;
    let learnt: Learnt = work::run(py, move || learn(&observed(x.to_points()?, &y, weights.as_deref(), how, prior)?, &learning))?;
    let (elbo, upper, template, capped) = (learnt.elbo, learnt.upper_bound, learnt.template, learnt.capped);
    Ok((PyPosterior::new(learnt.into_posterior(), rows, learnt_on), elbo, upper, template, capped))
}
