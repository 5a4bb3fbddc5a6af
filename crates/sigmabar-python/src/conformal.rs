//! Intervals by calibration.

use crate::arrays::{Rows, vector};
use crate::claim::{PyEnds, ends};
use crate::error::raise;
use crate::posterior::PyPosterior;
use crate::work;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sigmabar::certificate::{Calibration, Conformal};
use sigmabar::{Claim, Posterior};
use std::sync::Arc;

/// Models with what they got wrong on rows that they have not learnt from.
#[pyclass(frozen, name = "Conformal", module = "sigmabar._core")]
pub struct PyConformal {
    folds: Arc<Vec<(Posterior, Calibration)>>,
}

impl PyConformal {
    fn with(&self) -> sigmabar::Result<Conformal<'static>> {
        match self.folds.as_slice() {
            [(posterior, calibration)] => Ok(Conformal::split(posterior, calibration).into_owned()),
            several => Conformal::cross(several.to_vec()),
        }
    }
}

#[pymethods]
impl PyConformal {
    /// Each model with the rows it has not learnt from, grouped by a column if one is named.
    #[staticmethod]
    fn of(
        py: Python<'_>,
        models: Vec<PyRef<'_, PyPosterior>>,
        x: Vec<Rows>,
        y: Vec<Bound<'_, PyArray1<f64>>>,
        column: Option<usize>,
    ) -> PyResult<Self> {
        let responses = y.iter().map(vector).collect::<PyResult<Vec<_>>>()?;
        let models: Vec<Posterior> = models.iter().map(|model| model.posterior()).collect();
        let folds = work::run(py, move || {
            models
                .into_iter()
                .zip(x)
                .zip(responses)
                .map(|((posterior, x), y)| {
                    let mut calibration = column.map_or_else(Calibration::default, Calibration::by_column);
                    calibration.add(&posterior, x.view()?, &y)?;
                    Ok((posterior.for_predictions(), calibration))
                })
                .collect::<sigmabar::Result<Vec<_>>>()
        })?;
        Ok(Self { folds: Arc::new(folds) })
    }

    /// One model with a calibration that was written beside it.
    #[staticmethod]
    fn saved(model: &PyPosterior, calibration: &str) -> PyResult<Self> {
        let calibration = serde_json::from_str(calibration).map_err(raise)?;
        Ok(Self { folds: Arc::new(vec![(model.posterior().for_predictions(), calibration)]) })
    }

    /// Whether there are rows enough for intervals with ends.
    fn suffices(&self, delta: f64) -> PyResult<bool> {
        Ok(self.with().map_err(raise)?.suffices(delta))
    }

    fn interval<'py>(&self, py: Python<'py>, x: Rows, delta: f64) -> PyResult<PyEnds<'py>> {
        let conformal = self.with().map_err(raise)?;
        let found = work::run(py, move || conformal.interval(x.view()?, delta))?;
        ends(py, found.ends(), found.certificate())
    }

    /// The model's own interval for the function, widened by what its rows show: an estimate.
    fn function<'py>(&self, py: Python<'py>, model: &PyPosterior, x: Rows, delta: f64) -> PyResult<PyEnds<'py>> {
        let (conformal, posterior) = (self.with().map_err(raise)?, model.posterior());
        let (found, certificate) =
            work::run(py, move || posterior.answers(&Claim::new(delta)?)?.calibrated(conformal)?.function(x.view()?))?;
        ends(py, found, &certificate)
    }

    /// Models and calibrations as bytes and JSON.
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Vec<(Bound<'py, PyBytes>, String)>> {
        self.folds
            .iter()
            .map(|(posterior, calibration)| {
                Ok((PyBytes::new(py, &posterior.to_bytes()), serde_json::to_string(calibration).map_err(raise)?))
            })
            .collect()
    }

    #[staticmethod]
    fn from_parts(parts: Vec<(Vec<u8>, String)>) -> PyResult<Self> {
        let fold = |(model, calibration): (Vec<u8>, String)| {
            Ok((Posterior::from_bytes(&model).map_err(raise)?, serde_json::from_str(&calibration).map_err(raise)?))
        };
        Ok(Self { folds: Arc::new(parts.into_iter().map(fold).collect::<PyResult<_>>()?) })
    }
}

/// The fewest rows that give an interval with ends.
#[pyfunction]
pub fn calibration_rows_needed(delta: f64) -> usize {
    Calibration::rows_needed(delta)
}
