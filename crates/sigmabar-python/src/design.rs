//! Max-variance design.

use crate::arrays::{Rows, from_indices, from_points};
use crate::certificate::certificate_json;
use crate::claim::PyClaim;
use crate::error::raise;
use crate::kernel::PyKernel;
use crate::origin::{Number, collected};
use crate::work;
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use sigmabar::design::{CellSearch, Design, DictionarySize, MaxVariance};
use sigmabar::points::Locations;
use sigmabar::points::Seen;
use sigmabar::{Collected, FeatureMap};
use std::sync::Arc;

/// Norm bounds with their errors, and a certificate.
type ErrorCurve = (Vec<(f64, f64)>, String);

/// A design, with what it guarantees.
#[pyclass(frozen, name = "Design", module = "sigmabar._core")]
pub struct PyDesign {
    inner: Design,
}

#[pymethods]
impl PyDesign {
    fn indices<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        from_indices(py, self.inner.indices())
    }

    fn points<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        from_points(py, self.inner.points())
    }

    fn inducing<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        // All of them: under another kernel other ones depend on the rest.
        from_points(py, self.inner.information().features().given())
    }

    fn max_std(&self) -> f64 {
        self.inner.max_std()
    }

    fn bound(&self) -> f64 {
        self.inner.variance_bound().sqrt()
    }

    /// Norm bounds, each with the uniform error under it, and a certificate, for each factor by which all length-scales are multiplied.
    fn error_map(&self, py: Python<'_>, claim: &PyClaim, factors: Vec<f64>) -> PyResult<Vec<ErrorCurve>> {
        let (design, claim) = (self.inner.clone(), claim.about(&Seen::default()).map_err(raise)?);
        let rows = work::run(py, move || design.error_map(&claim, &factors))?;
        rows.into_iter().map(|row| Ok((row.curve, certificate_json(&row.certificate)?))).collect()
    }

    /// The uniform error that the design guarantees, the smaller of what was known before it and after, and its certificate.
    fn uniform_error(&self, claim: &PyClaim, wanted: Option<f64>) -> PyResult<(f64, String)> {
        let claim = claim.about(&Seen::default()).map_err(raise)?;
        let error = wanted.map_or_else(|| self.inner.uniform_error(&claim), |wanted| self.inner.uniform_error_wanted(&claim, wanted));
        let error = error.map_err(raise)?;
        Ok((error.before.min(error.after), certificate_json(&error.certificate)?))
    }
}

/// What a design may be told.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct DesignOptions {
    inducing: Option<Rows>,
    max_inducing: Option<usize>,
    share: Option<f64>,
    measured: Option<Rows>,
    collected: Option<String>,
    running: Option<Rows>,
}

impl DesignOptions {
    /// How the points already measured came about.
    fn collected(&self) -> PyResult<Collected> {
        collected(self.collected.as_deref())
    }

    fn method(
        self,
        kernel: sigmabar::Sourced<sigmabar::Kernel>,
        tau: sigmabar::Sourced<f64>,
        collected: Collected,
    ) -> sigmabar::Result<MaxVariance> {
        let method = match self.inducing {
            Some(points) => MaxVariance::new(Arc::new(FeatureMap::new(kernel, points.to_points()?)?), tau)?,
            None => {
                let usual = DictionarySize::default();
                let growth = DictionarySize::at_most(self.max_inducing.unwrap_or(usual.max_size));
                MaxVariance::growing(kernel, tau, growth.with_share(self.share.unwrap_or(usual.share)))?
            }
        };
        let method = match self.measured {
            Some(points) => method.after(Arc::new(Locations::new(points.to_points()?, collected))),
            None => method,
        };
        Ok(match self.running {
            Some(points) => method.with_running(points.to_points()?),
            None => method,
        })
    }
}

/// Chooses `count` of the candidates.
#[pyfunction]
pub fn max_variance_design(
    py: Python<'_>,
    kernel: &PyKernel,
    tau: Number,
    candidates: Rows,
    count: usize,
    options: DesignOptions,
) -> PyResult<PyDesign> {
    let (kernel, collected) = (kernel.inner.clone(), options.collected()?);
    let inner = work::run(py, move || options.method(kernel, tau.value, collected)?.choose(candidates.view()?, count))?;
    Ok(PyDesign { inner })
}

/// Chooses `count` points of a box, each within `1 + slack` of the largest standard deviation.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called from the Python face only")]
pub fn max_variance_design_in_box(
    py: Python<'_>,
    kernel: &PyKernel,
    tau: Number,
    low: Rows,
    high: Rows,
    count: usize,
    slack: f64,
    options: DesignOptions,
) -> PyResult<PyDesign> {
    let (kernel, collected) = (kernel.inner.clone(), options.collected()?);
    let search = CellSearch::within(slack);
    let inner =
        work::run(py, move || options.method(kernel, tau.value, collected)?.choose_in_boxes(low.view()?, high.view()?, search, count))?;
    Ok(PyDesign { inner })
}
