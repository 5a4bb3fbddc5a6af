//! Intervals by calibration.

use crate::arrays::{Rows, vector};
use crate::claim::{PyEnds, ends};
use crate::error::raise;
use crate::posterior::PyPosterior;
use crate::work;
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sigmabar::certificate::{Answers, Calibration, Certificate, Conformal, Ends, Way};
use sigmabar::points::Seen;
use sigmabar::{Claim, PointsRef, Posterior};
use std::sync::Arc;

/// Models with what they got wrong on rows that they have not learnt from.
#[pyclass(frozen, name = "Conformal", module = "sigmabar._core")]
pub struct PyConformal {
    inner: Arc<Conformal<'static>>,
}

impl PyConformal {
    fn new(folds: Vec<(Posterior, Calibration)>) -> sigmabar::Result<Self> {
        Ok(Self { inner: Arc::new(Conformal::cross(folds)?) })
    }

    /// What a model says where these calibrate it.
    fn of_model<'py>(
        &self,
        py: Python<'py>,
        (model, x, delta): (&PyPosterior, Rows, f64),
        ask: impl FnOnce(&Answers<'_>, PointsRef<'_>) -> sigmabar::Result<(Ends, Certificate)> + Send + 'static,
    ) -> PyResult<PyEnds<'py>> {
        let (conformal, posterior) = (Arc::clone(&self.inner), model.posterior());
        let (found, certificate) = work::run(py, move || {
            let answers = posterior.answers(&Claim::new(delta)?)?.calibrated(conformal.borrowed())?;
            ask(&answers, x.view()?)
        })?;
        ends(py, found, &certificate)
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
        let models: Vec<(Posterior, Seen)> = models.iter().map(|model| (model.posterior(), model.learnt_on())).collect();
        let folds = work::run(py, move || {
            models
                .into_iter()
                .zip(x)
                .zip(responses)
                .map(|(((posterior, learnt_on), x), y)| {
                    let mut calibration = column.map_or_else(Calibration::default, Calibration::by_column);
                    calibration.add(&posterior, x.view()?, &y)?;
                    calibration.note_learnt_on(&learnt_on);
                    Ok((posterior.for_predictions(), calibration))
                })
                .collect::<sigmabar::Result<Vec<_>>>()
        })?;
        Self::new(folds).map_err(raise)
    }

    /// One model with a calibration that was written beside it.
    #[staticmethod]
    fn saved(model: &PyPosterior, calibration: &str) -> PyResult<Self> {
        let calibration = serde_json::from_str(calibration).map_err(raise)?;
        Self::new(vec![(model.posterior().for_predictions(), calibration)]).map_err(raise)
    }

    /// How many models: more than one where all rows learn and calibrate, in parts.
    #[getter]
    fn models(&self) -> usize {
        self.inner.folds().len()
    }

    /// The model's own interval for the function, widened by what its rows show: an estimate.
    fn function<'py>(&self, py: Python<'py>, model: &PyPosterior, x: Rows, delta: f64) -> PyResult<PyEnds<'py>> {
        self.of_model(py, (model, x, delta), |answers, x| answers.function(x))
    }

    /// The interval for a new response; where rows are too few, the model's own, widened in the same way.
    fn response<'py>(&self, py: Python<'py>, model: &PyPosterior, x: Rows, delta: f64) -> PyResult<PyEnds<'py>> {
        if !self.inner.suffices(delta) {
            return self.of_model(py, (model, x, delta), |answers, x| answers.response(x));
        }
        let conformal = Arc::clone(&self.inner);
        let found = work::run(py, move || conformal.interval(x.view()?, delta))?;
        ends(py, found.ends(), found.certificate())
    }

    /// Models as bytes, each with its calibration as JSON.
    fn folds<'py>(&self, py: Python<'py>) -> PyResult<Vec<(Bound<'py, PyBytes>, String)>> {
        let fold = |(posterior, calibration): (&Posterior, &Calibration)| {
            Ok((PyBytes::new(py, &posterior.to_bytes()), serde_json::to_string(calibration).map_err(raise)?))
        };
        self.inner.folds().map(fold).collect()
    }

    #[staticmethod]
    fn from_folds(folds: Vec<(Vec<u8>, String)>) -> PyResult<Self> {
        let fold = |(model, calibration): (Vec<u8>, String)| {
            Ok((Posterior::from_bytes(&model).map_err(raise)?, serde_json::from_str(&calibration).map_err(raise)?))
        };
        Self::new(folds.into_iter().map(fold).collect::<PyResult<_>>()?).map_err(raise)
    }
}

/// Of so many rows how many are kept from the model, and whether all learn and calibrate in so many parts: 0 where not.
#[pyfunction]
pub fn calibration_way(rows: usize, delta: f64, how: &str, most: usize) -> (usize, usize) {
    let way = match how {
        "split" => Way::Kept(Calibration::rows_to_keep(rows, delta, most)),
        "cross" if rows >= 2 * Way::PARTS => Way::Parts,
        "auto" => Way::of(rows, delta, most),
        _ => Way::Nothing,
    };
    match way {
        Way::Kept(kept) => (kept, 0),
        Way::Parts => (0, Way::PARTS),
        Way::Nothing => (0, 0),
    }
}
