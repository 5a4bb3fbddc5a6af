//! The sparse posterior.

use crate::arrays::{Rows, from_matrix, from_points, vector};
use crate::certificate::certificate_json;
use crate::claim::{PyClaim, PyEnds, ends, residual_method};
use crate::error::raise;
use crate::inducing::kind_name;
use crate::inducing::{InducingParts, inducing_on};
use crate::kernel::PyKernel;
use crate::origin::{Number, collected, origin_name};
use crate::work;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sigmabar::certificate::{Answers, Ends};
use sigmabar::gain::Bracket;
use sigmabar::information::VarianceParts;
use sigmabar::points::Seen;
use sigmabar::{Certificate, Claim, Collected, FeatureMap, Observations, Points, Posterior, Prior};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

type Vector<'py> = Bound<'py, PyArray1<f64>>;
type Grid<'py> = Bound<'py, PyArray2<f64>>;

/// The prior: declared, or learnt from the responses where no mean is given.
pub fn prior(mean: Option<Number>, unit: &Number, (y, weights): (&[f64], Option<&[f64]>), rows: &Seen) -> PyResult<Prior> {
    let learnt = || weights.map_or_else(|| Prior::learnt(y), |weights| Prior::learnt_from_means(y, weights));
    let Some(mean) = mean else { return learnt().map_err(raise) };
    let (mean, unit) = (mean.on(rows), unit.on(rows));
    Ok(Prior::declared(mean.value, unit.value).map_err(raise)?.with_origin(mean.origin.max(unit.origin)))
}

/// Rows with their responses, each worth one or as many as its weight says.
pub fn observed(x: Points, y: &[f64], weights: Option<&[f64]>, how: Collected, prior: Prior) -> sigmabar::Result<Observations> {
    match weights {
        Some(weights) => Observations::weighted(x, y, weights, how, prior),
        None => Observations::new(x, y, how, prior),
    }
}

/// A norm bound and the ends of intervals under it; none where the data contradict it.
type CurveRow = (f64, Option<Vec<(f64, f64)>>);
/// Norm bounds or levels, none where there is no conclusion.
type Stands = Vec<Option<f64>>;
/// A curve, its slopes and its certificate.
type Curve = (Vec<CurveRow>, Option<Vec<(f64, f64)>>, String);

/// Mean, standard deviation and everything else that the sparse model knows.
#[pyclass(frozen, name = "Posterior", module = "sigmabar._core")]
pub struct PyPosterior {
    /// Replaced as a whole by an update, so that work under way keeps the model it began with.
    inner: Arc<RwLock<Arc<Model>>>,
    /// Held from reading the model to replacing it: updates come one after the other, and none is lost.
    updating: Arc<Mutex<()>>,
}

/// The model with the rows it was made of, those its kernel was learnt on, and the claim that was asked for last.
struct Model {
    posterior: Posterior,
    rows: Seen,
    learnt_on: Seen,
    prepared: Mutex<Option<Arc<Prepared>>>,
}

/// A claim with everything about its answers that does not depend on the points asked for.
type Prepared = (Claim, Answers<'static>);
/// Centres and ends with what they rest on.
type Found = (Ends, Certificate);

impl Model {
    fn new(posterior: Posterior, rows: Seen, learnt_on: Seen) -> Self {
        Self { posterior, rows, learnt_on, prepared: Mutex::default() }
    }

    /// Answers to a claim, prepared once for as long as the same is asked.
    fn answers(&self, claim: Claim) -> sigmabar::Result<Arc<Prepared>> {
        let mut last = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(prepared) = last.as_ref().filter(|prepared| prepared.0 == claim) {
            return Ok(Arc::clone(prepared));
        }
        let answers = self.posterior.answers(&claim)?.into_owned();
        let prepared = Arc::new((claim, answers));
        *last = Some(Arc::clone(&prepared));
        Ok(prepared)
    }

    /// The model with more rows, and how many of them lie where it has too few inducing points.
    fn updated(&self, x: &Rows, values: &[f64], how: Collected) -> sigmabar::Result<(Self, usize)> {
        let mut posterior = self.posterior.clone();
        let unexplained = match values {
            [value] => posterior.update_declared(x.view()?.row(0), *value, how).map(|()| 0)?,
            _ => posterior.update_block(x.view()?, values, how)?,
        };
        Ok((Self::new(posterior, self.rows.with(&Seen::of(x.view()?, values)), self.learnt_on.clone()), unexplained))
    }
}

impl PyPosterior {
    /// A model made of some rows with a kernel that was learnt on the same or others.
    pub fn new(posterior: Posterior, rows: Seen, learnt_on: Seen) -> Self {
        Self { inner: Arc::new(RwLock::new(Arc::new(Model::new(posterior, rows, learnt_on)))), updating: Arc::default() }
    }

    /// The model as it is now.
    pub fn posterior(&self) -> Posterior {
        self.get().posterior.clone()
    }

    /// The rows that its kernel, its ridge or its inducing points were learnt on.
    pub fn learnt_on(&self) -> Seen {
        self.get().learnt_on.clone()
    }

    fn get(&self) -> Arc<Model> {
        current(&self.inner)
    }

    /// Works on the model as it is now.
    fn with<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Posterior) -> sigmabar::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let model = self.get();
        work::run(py, move || work(&model.posterior))
    }

    /// Answers a claim.
    fn answer<'py>(
        &self,
        py: Python<'py>,
        claim: &PyClaim,
        ask: impl FnOnce(&Answers<'static>) -> sigmabar::Result<Found> + Send + 'static,
    ) -> PyResult<PyEnds<'py>> {
        let model = self.get();
        let claim = claim.about(&model.rows).map_err(raise)?;
        let (found, certificate) = work::run(py, move || ask(&model.answers(claim)?.1))?;
        ends(py, found, &certificate)
    }
}

/// The model as it is now; the lock is held no longer than that takes.
fn current(inner: &RwLock<Arc<Model>>) -> Arc<Model> {
    Arc::clone(&inner.read().unwrap_or_else(PoisonError::into_inner))
}

fn replace(inner: &RwLock<Arc<Model>>, by: Arc<Model>) {
    *inner.write().unwrap_or_else(PoisonError::into_inner) = by;
}

#[pymethods]
impl PyPosterior {
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "called from the Python face only")]
    fn fit(
        py: Python<'_>,
        kernel: &PyKernel,
        tau: Number,
        x: Rows,
        y: &Bound<'_, PyArray1<f64>>,
        inducing: InducingParts,
        how: (Option<String>, bool),
        mean: Option<Number>,
        unit: Number,
        weights: Option<&Bound<'_, PyArray1<f64>>>,
    ) -> PyResult<Self> {
        let weights = weights.map(vector).transpose()?;
        let distinct_rows = how.1;
        let (y, how, learnt_on) = (vector(y)?, collected(how.0.as_deref())?, kernel.seen.with(&tau.seen).with(&unit.seen));
        let learnt_on = learnt_on.with(&Seen::from(inducing.2.clone()));
        let learnt_on = mean.iter().fold(learnt_on, |all, mean| all.with(&mean.seen));
        let rows = Seen::of(x.view().map_err(raise)?, &y);
        let prior = prior(mean, &unit, (&y, weights.as_deref()), &rows)?;
        let (kernel, tau, inducing) = (kernel.on(&rows), tau.on(&rows), inducing_on(inducing, &rows)?);
        let fitted = work::run(py, move || {
            let observations = observed(x.to_points()?, &y, weights.as_deref(), how, prior)?;
            let observations = if distinct_rows { observations.with_distinct_rows() } else { observations };
            Posterior::fit(Arc::new(FeatureMap::new(kernel, inducing)?), tau, observations)
        })?;
        Ok(Self::new(fitted, rows, learnt_on))
    }

    fn mean<'py>(&self, py: Python<'py>, x: Rows) -> PyResult<Vector<'py>> {
        Ok(self.with(py, move |p| p.mean(x.view()?))?.into_pyarray(py))
    }

    fn std<'py>(&self, py: Python<'py>, x: Rows) -> PyResult<Vector<'py>> {
        Ok(self.with(py, move |p| p.std_dev(x.view()?))?.into_pyarray(py))
    }

    /// Mean and standard deviation.
    fn predict<'py>(&self, py: Python<'py>, x: Rows) -> PyResult<(Vector<'py>, Vector<'py>)> {
        let (mean, deviation) = self.with(py, move |p| p.predict(x.view()?))?;
        Ok((mean.into_pyarray(py), deviation.into_pyarray(py)))
    }

    fn covariance<'py>(&self, py: Python<'py>, x: Rows) -> PyResult<Grid<'py>> {
        from_matrix(py, self.with(py, move |p| p.covariance(x.view()?))?)
    }

    /// Projection, fit and noise part of the variance.
    fn variance_parts<'py>(&self, py: Python<'py>, x: Rows) -> PyResult<(Vector<'py>, Vector<'py>, Vector<'py>)> {
        let parts = self.with(py, move |p| p.variance_parts(x.view()?))?;
        let column = |part: fn(&VarianceParts) -> f64| parts.iter().map(part).collect::<Vec<f64>>().into_pyarray(py);
        Ok((column(|p| p.projection), column(|p| p.fit), column(|p| p.noise)))
    }

    /// One row of weights for each query, one column for each observation.
    fn weights<'py>(&self, py: Python<'py>, x: Rows) -> PyResult<Grid<'py>> {
        from_matrix(py, self.with(py, move |p| p.information().weights(x.view()?))?)
    }

    fn sample<'py>(&self, py: Python<'py>, x: Rows, size: usize, seed: u64) -> PyResult<Grid<'py>> {
        from_matrix(py, self.with(py, move |p| p.sample(x.view()?, size, seed))?)
    }

    /// More observations; all or, on an error or an interrupt, none. How many of them lie where there are too few inducing points.
    fn update(&self, py: Python<'_>, x: Rows, y: &Bound<'_, PyArray1<f64>>, how: Option<&str>) -> PyResult<usize> {
        let (values, how) = (vector(y)?, collected(how)?);
        if values.len() != x.count() {
            return Err(raise(format!("there are {} points and {} responses: give one response for each point", x.count(), values.len())));
        }
        let (inner, updating) = (Arc::clone(&self.inner), Arc::clone(&self.updating));
        work::answering(py, move |answer| {
            let _one_at_a_time = updating.lock().unwrap_or_else(PoisonError::into_inner);
            let before = current(&inner);
            let done = before.updated(&x, &values, how).map(|(updated, unexplained)| {
                replace(&inner, Arc::new(updated));
                unexplained
            });
            if answer.send(done).is_err() {
                replace(&inner, before);
            }
        })
    }

    /// Mean and covariance at the inducing points.
    fn variational<'py>(&self, py: Python<'py>) -> PyResult<(Vector<'py>, Grid<'py>)> {
        let variational = self.with(py, Posterior::variational)?;
        Ok((variational.mean.into_pyarray(py), from_matrix(py, variational.covariance)?))
    }

    fn interval<'py>(&self, py: Python<'py>, x: Rows, claim: &PyClaim) -> PyResult<PyEnds<'py>> {
        self.answer(py, claim, move |answers| answers.function(x.view()?))
    }

    fn prediction_interval<'py>(&self, py: Python<'py>, x: Rows, claim: &PyClaim) -> PyResult<PyEnds<'py>> {
        self.answer(py, claim, move |answers| answers.response(x.view()?))
    }

    /// For each query the largest norm bound, and the largest noise level, under which its interval lies on the same side of a threshold.
    fn breakdown(&self, py: Python<'_>, x: Rows, claim: &PyClaim, threshold: f64) -> PyResult<(Stands, Stands, String)> {
        let claim = claim.about(&self.get().rows).map_err(raise)?;
        let found = self.with(py, move |p| p.breakdown(x.view()?, &claim, threshold))?;
        Ok((found.norms, found.levels, certificate_json(&found.certificate)?))
    }

    /// Norm bounds, each with the ends of the intervals under it, none where the data contradict it; and what the half-widths are per norm and per noise. All length-scales are
    /// multiplied by a factor first.
    fn interval_curve(&self, py: Python<'_>, x: Rows, claim: &PyClaim, factor: f64) -> PyResult<Curve> {
        let claim = claim.about(&self.get().rows).map_err(raise)?;
        let curve = self.with(py, move |p| {
            let stretched = if factor == 1.0 { None } else { Some(p.stretched(factor)?) };
            stretched.as_ref().unwrap_or(p).interval_curve(x.view()?, &claim)
        })?;
        let rows = curve.rows.into_iter().map(|at| (at.norm_bound, at.ends)).collect();
        let slopes = curve.slopes.map(|slopes| slopes.into_iter().map(|s| (s.per_norm, s.per_noise)).collect());
        Ok((rows, slopes, certificate_json(&curve.certificate)?))
    }

    /// The least norm that the data allow, and whether they contradict the claim.
    fn norm_check(&self, py: Python<'_>, claim: &PyClaim) -> PyResult<(f64, Option<bool>)> {
        let claim = claim.about(&self.get().rows).map_err(raise)?;
        let check = self.with(py, move |p| p.norm_check(&claim))?;
        Ok((check.least_norm, check.contradicted))
    }

    fn residual_norm(
        &self,
        py: Python<'_>,
        kind: &str,
        pivots: usize,
        steps: usize,
        failure: f64,
        seed: u64,
    ) -> PyResult<(f64, &'static str)> {
        let method = residual_method(kind, pivots, steps, failure, seed)?;
        let norm = self.with(py, move |p| p.information().residual_norm(method))?;
        Ok((norm.value, kind_name(norm.kind)))
    }

    fn effective_dimension(&self, py: Python<'_>) -> PyResult<(f64, f64)> {
        let Bracket { lower, upper } = self.with(py, |p| p.information().effective_dimension())?;
        Ok((lower, upper))
    }

    fn information_gain(&self) -> (f64, f64) {
        let Bracket { lower, upper } = self.get().posterior.information().gain_bracket();
        (lower, upper)
    }

    fn elbo(&self) -> f64 {
        self.get().posterior.elbo()
    }

    /// ELBO with its gradient: value, by the logarithms of the kernel's parameters, of the ridge, and by the mean.
    fn elbo_gradient<'py>(&self, py: Python<'py>) -> PyResult<(f64, Vector<'py>, f64, f64)> {
        let gradient = self.with(py, Posterior::elbo_gradient)?;
        Ok((gradient.value, gradient.kernel.into_pyarray(py), gradient.ridge, gradient.mean))
    }

    fn log_evidence(&self, py: Python<'_>) -> PyResult<(f64, f64)> {
        let Bracket { lower, upper } = self.with(py, Posterior::log_evidence_bracket)?;
        Ok((lower, upper))
    }

    /// The norm of the mean, in the model's scale.
    fn norm(&self) -> f64 {
        self.get().posterior.norm()
    }

    fn inducing<'py>(&self, py: Python<'py>) -> PyResult<Grid<'py>> {
        from_points(py, self.get().posterior.information().features().inducing())
    }

    /// Where they came from.
    fn inducing_source(&self) -> &'static str {
        origin_name(self.get().posterior.information().features().sourced_given().origin)
    }

    fn kernel(&self) -> PyKernel {
        let model = self.get();
        PyKernel { inner: model.posterior.information().features().sourced_kernel().clone(), seen: model.learnt_on.clone() }
    }

    /// The ridge, and where it came from.
    fn tau(&self) -> (f64, &'static str) {
        let model = self.get();
        let information = model.posterior.information();
        (information.ridge(), origin_name(information.ridge_origin()))
    }

    /// Mean and unit of the prior, and where they came from.
    fn prior(&self) -> (f64, f64, &'static str) {
        let prior = self.get().posterior.prior();
        (prior.mean(), prior.unit(), origin_name(prior.origin()))
    }

    /// Hashes of the rows that it was made of, and of those that its premises were learnt on.
    fn seen(&self) -> (Vec<u64>, Vec<u64>) {
        let model = self.get();
        (model.rows.hashes().to_vec(), model.learnt_on.hashes().to_vec())
    }

    /// Number of observations.
    fn observations(&self) -> usize {
        self.get().posterior.information().len()
    }

    /// Number of columns.
    fn columns(&self) -> usize {
        self.get().posterior.information().features().inducing().dim()
    }

    /// The model as bytes, with what is remarked about it.
    fn to_bytes<'py>(&self, py: Python<'py>, remark: String) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.with(py, move |p| Ok(p.to_bytes_with(&remark)))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// A model with what was remarked about it; `seen` is what [`PyPosterior::seen`] said of it, where that is known.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: Vec<u8>, seen: (Vec<u64>, Vec<u64>)) -> PyResult<(Self, String)> {
        let read = move || Posterior::from_bytes_with(&bytes).map(|(posterior, remark)| (posterior, remark.to_owned()));
        let (posterior, remark) = work::run(py, read)?;
        Ok((Self::new(posterior, seen.0.into(), seen.1.into()), remark))
    }
}
