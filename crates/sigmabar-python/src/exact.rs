//! The exact posterior, for few points and as the oracle.

use crate::arrays::{Rows, from_matrix, vector};
use crate::claim::{PyClaim, PyEnds, ends};
use crate::error::raise;
use crate::kernel::PyKernel;
use crate::origin::{Number, collected};
use crate::posterior::prior;
use crate::work;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use sigmabar::Observations;
use sigmabar::gain::DataGain;
use sigmabar::points::Seen;
use sigmabar::posterior::ExactPosterior;
use std::sync::Arc;

/// The Gaussian-process posterior.
#[pyclass(frozen, name = "ExactPosterior", module = "sigmabar._core")]
pub struct PyExactPosterior {
    inner: Arc<ExactPosterior>,
    /// The rows it was made of.
    rows: Seen,
}

impl PyExactPosterior {
    fn with<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&ExactPosterior) -> sigmabar::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let posterior = Arc::clone(&self.inner);
        work::run(py, move || work(&posterior))
    }
}

#[pymethods]
impl PyExactPosterior {
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "called from the Python face only")]
    fn fit(
        py: Python<'_>,
        kernel: &PyKernel,
        tau: Number,
        x: Rows,
        y: &Bound<'_, PyArray1<f64>>,
        how: (Option<String>, bool),
        mean: Option<Number>,
        unit: Number,
    ) -> PyResult<Self> {
        let distinct_rows = how.1;
        let (y, how) = (vector(y)?, collected(how.0.as_deref())?);
        let rows = Seen::of(x.view().map_err(raise)?, &y);
        let prior = prior(mean, &unit, (&y, None), &rows)?;
        let (kernel, tau) = (kernel.on(&rows), tau.on(&rows));
        let inner = work::run(py, move || {
            let observations = Observations::new(x.to_points()?, &y, how, prior)?;
            ExactPosterior::new(kernel, tau, if distinct_rows { observations.with_distinct_rows() } else { observations })
        })?;
        Ok(Self { inner: Arc::new(inner), rows })
    }

    fn mean<'py>(&self, py: Python<'py>, x: Rows) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(self.with(py, move |p| p.mean(x.view()?))?.into_pyarray(py))
    }

    fn std<'py>(&self, py: Python<'py>, x: Rows) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(self.with(py, move |p| p.std_dev(x.view()?))?.into_pyarray(py))
    }

    fn covariance<'py>(&self, py: Python<'py>, x: Rows) -> PyResult<Bound<'py, PyArray2<f64>>> {
        from_matrix(py, self.with(py, move |p| p.covariance(x.view()?))?)
    }

    fn weights<'py>(&self, py: Python<'py>, x: Rows) -> PyResult<Bound<'py, PyArray2<f64>>> {
        from_matrix(py, self.with(py, move |p| p.weights(x.view()?))?)
    }

    fn sample<'py>(&self, py: Python<'py>, x: Rows, size: usize, seed: u64) -> PyResult<Bound<'py, PyArray2<f64>>> {
        from_matrix(py, self.with(py, move |p| p.sample(x.view()?, size, seed))?)
    }

    fn interval<'py>(&self, py: Python<'py>, x: Rows, claim: &PyClaim) -> PyResult<PyEnds<'py>> {
        let claim = claim.about(&self.rows).map_err(raise)?;
        let intervals = self.with(py, move |p| p.checked_interval(x.view()?, &claim))?;
        ends(py, intervals.ends(), intervals.certificate())
    }

    fn prediction_interval<'py>(&self, py: Python<'py>, x: Rows, claim: &PyClaim) -> PyResult<PyEnds<'py>> {
        let claim = claim.about(&self.rows).map_err(raise)?;
        let intervals = self.with(py, move |p| p.checked_prediction(x.view()?, &claim))?;
        ends(py, intervals.ends(), intervals.certificate())
    }

    /// By leaving every row out in turn.
    fn left_out_interval<'py>(&self, py: Python<'py>, x: Rows, delta: f64) -> PyResult<PyEnds<'py>> {
        let intervals = self.with(py, move |p| p.left_out_interval(x.view()?, delta))?;
        ends(py, intervals.ends(), intervals.certificate())
    }

    fn log_evidence(&self) -> f64 {
        self.inner.log_evidence()
    }

    fn information_gain(&self) -> f64 {
        self.inner.gain()
    }

    fn effective_dimension(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |p| Ok(DataGain::new(&p.kernel().value, p.ridge(), p.observations().locations())?.effective_dimension))
    }

    /// The norm of the mean, in the model's scale.
    fn norm(&self) -> f64 {
        self.inner.norm()
    }
}

/// For each row a number in [0, 1) by what stands in it, not by where it stands.
#[pyfunction]
pub fn row_fractions(x: Rows, y: &Bound<'_, PyArray1<f64>>, seed: u64) -> PyResult<Vec<f64>> {
    Ok(sigmabar::points::row_fractions(x.view().map_err(raise)?.rows().zip(vector(y)?), seed))
}

/// The hashes of rows with their responses, of which a number was learnt.
#[pyfunction]
pub fn seen_hashes(x: Rows, y: &Bound<'_, PyArray1<f64>>) -> PyResult<Vec<u64>> {
    Ok(Seen::of(x.view().map_err(raise)?, &vector(y)?).hashes().to_vec())
}
