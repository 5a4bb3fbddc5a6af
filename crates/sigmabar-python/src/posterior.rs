//! The sparse posterior.

use crate::arrays::{Rows, from_matrix, from_points, vector};
use crate::claim::{Ends, PyClaim, ends, residual_method, response_ends};
use crate::error::{raise, unknown};
use crate::inducing::kind_name;
use crate::kernel::PyKernel;
use crate::work;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sigmabar::{Bracket, Collected, FeatureMap, Observations, Posterior, Prior, VarianceParts};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

type Vector<'py> = Bound<'py, PyArray1<f64>>;
type Grid<'py> = Bound<'py, PyArray2<f64>>;

/// How the points came about.
pub fn collected(name: &str) -> PyResult<Collected> {
    match name {
        "fixed" => Ok(Collected::DeclaredFixed),
        "designed" => Ok(Collected::Designed),
        "adaptive" => Ok(Collected::Adaptive),
        other => Err(unknown("collected", other, &["fixed", "designed", "adaptive"])),
    }
}

/// The prior: declared, or learnt from the responses where no mean is given.
pub fn prior(mean: Option<f64>, unit: f64, y: &[f64]) -> PyResult<Prior> {
    match mean {
        Some(mean) => Prior::declared(mean, unit),
        None => Prior::learnt(y),
    }
    .map_err(raise)
}

/// Mean, standard deviation and everything else that the sparse model knows.
#[pyclass(frozen, name = "Posterior", module = "sigmabar._core")]
pub struct PyPosterior {
    /// Replaced as a whole by an update, so that work under way keeps the model it began with.
    inner: Arc<RwLock<Arc<Posterior>>>,
    /// Held from reading the model to replacing it: updates come one after the other, and none is lost.
    updating: Arc<Mutex<()>>,
}

impl From<Posterior> for PyPosterior {
    fn from(posterior: Posterior) -> Self {
        Self { inner: Arc::new(RwLock::new(Arc::new(posterior))), updating: Arc::default() }
    }
}

impl PyPosterior {
    fn get(&self) -> Arc<Posterior> {
        current(&self.inner)
    }

    /// Works on the model as it is now.
    fn with<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Posterior) -> sigmabar::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let posterior = self.get();
        work::run(py, move || work(&posterior))
    }
}

/// The model as it is now; the lock is held no longer than that takes.
fn current(inner: &RwLock<Arc<Posterior>>) -> Arc<Posterior> {
    Arc::clone(&inner.read().unwrap_or_else(PoisonError::into_inner))
}

fn replace(inner: &RwLock<Arc<Posterior>>, by: Arc<Posterior>) {
    *inner.write().unwrap_or_else(PoisonError::into_inner) = by;
}

fn updated(posterior: &Posterior, x: &Rows, values: &[f64]) -> sigmabar::Result<Posterior> {
    let mut updated = posterior.clone();
    for (point, &value) in x.view()?.rows().zip(values) {
        updated.update(point, value)?;
    }
    Ok(updated)
}

#[pymethods]
impl PyPosterior {
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "called from the Python face only")]
    fn fit(
        py: Python<'_>,
        kernel: &PyKernel,
        tau: f64,
        x: Rows,
        y: &Bound<'_, PyArray1<f64>>,
        inducing: Rows,
        how: &str,
        mean: Option<f64>,
        unit: f64,
    ) -> PyResult<Self> {
        let (kernel, y, how) = (kernel.inner.clone(), vector(y)?, collected(how)?);
        let prior = prior(mean, unit, &y)?;
        let fitted = work::run(py, move || {
            let observations = Observations::new(x.to_points()?, &y, how, prior)?;
            Posterior::fit(Arc::new(FeatureMap::new(kernel, inducing.to_points()?)?), tau, observations)
        })?;
        Ok(fitted.into())
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

    /// More observations, one after the other; all or, on an error or an interrupt, none.
    fn update(&self, py: Python<'_>, x: Rows, y: &Bound<'_, PyArray1<f64>>) -> PyResult<()> {
        let values = vector(y)?;
        if values.len() != x.count() {
            return Err(raise(format!("there are {} points and {} responses: give one response for each point", x.count(), values.len())));
        }
        let (inner, updating) = (Arc::clone(&self.inner), Arc::clone(&self.updating));
        work::answering(py, move |answer| {
            let _one_at_a_time = updating.lock().unwrap_or_else(PoisonError::into_inner);
            let before = current(&inner);
            let done = updated(&before, &x, &values).map(|updated| replace(&inner, Arc::new(updated)));
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

    fn interval<'py>(&self, py: Python<'py>, x: Rows, claim: &PyClaim) -> PyResult<Ends<'py>> {
        let claim = claim.inner.clone();
        ends(py, &self.with(py, move |p| p.interval(x.view()?, &claim))?)
    }

    fn prediction_interval<'py>(&self, py: Python<'py>, x: Rows, claim: &PyClaim) -> PyResult<Ends<'py>> {
        let claim = claim.inner.clone();
        response_ends(py, &self.with(py, move |p| p.prediction_interval(x.view()?, &claim))?)
    }

    /// The least norm that the data allow, and whether they contradict the claim.
    fn norm_check(&self, py: Python<'_>, claim: &PyClaim) -> PyResult<(f64, Option<bool>)> {
        let claim = claim.inner.clone();
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
        let Bracket { lower, upper } = self.get().information().gain_bracket();
        (lower, upper)
    }

    fn elbo(&self) -> f64 {
        self.get().elbo()
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
        self.get().norm()
    }

    fn inducing<'py>(&self, py: Python<'py>) -> PyResult<Grid<'py>> {
        from_points(py, self.get().information().features().inducing())
    }

    fn kernel(&self) -> PyKernel {
        self.get().information().features().sourced_kernel().clone().into()
    }

    fn tau(&self) -> f64 {
        self.get().information().ridge()
    }

    /// Mean and unit of the prior, and whether they were learnt.
    fn prior(&self) -> (f64, f64, bool) {
        let prior = self.get().observations().prior();
        (prior.mean(), prior.unit(), prior.is_learnt())
    }

    /// Number of observations.
    fn observations(&self) -> usize {
        self.get().observations().len()
    }

    /// Number of columns.
    fn columns(&self) -> usize {
        self.get().information().features().inducing().dim()
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.with(py, |p| Ok(p.to_bytes()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: Vec<u8>) -> PyResult<Self> {
        work::run(py, move || Posterior::from_bytes(&bytes)).map(Self::from)
    }
}
