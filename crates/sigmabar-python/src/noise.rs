//! Noise models.

use crate::error::{raise, unknown};
use crate::origin::origin_of;
use pyo3::prelude::*;
use sigmabar::points::Seen;
use sigmabar::{Noise, Origin, Sourced};

/// What is assumed about the noise.
#[pyclass(frozen, eq, name = "Noise", module = "sigmabar._core")]
#[derive(Clone, PartialEq)]
pub struct PyNoise {
    pub inner: Noise,
    origin: Origin,
    /// How many replicates every result is the mean of, where nobody knows the level.
    pub unknown: Option<u32>,
    /// The rows that its numbers were learnt on.
    pub seen: Seen,
}

impl PyNoise {
    /// The noise for a claim about these rows.
    pub fn on(&self, rows: &Seen) -> Sourced<Noise> {
        Sourced::new(self.inner.clone(), self.seen.origin_on(self.origin, rows))
    }
}

#[pymethods]
impl PyNoise {
    /// A noise model by its kind and its one or two numbers; for "per-observation" one level for each observation. `source` and `seen` say where the
    /// numbers came from.
    #[staticmethod]
    fn of(kind: &str, values: Vec<f64>, source: &str, seen: Vec<u64>) -> PyResult<Self> {
        let mut origin = origin_of(source)?;
        let mut unknown_level = None;
        let known = ["sub-gaussian", "unknown-level", "gaussian", "light-tailed", "bounded", "per-observation"];
        let inner = match (kind, values.as_slice()) {
            ("sub-gaussian", &[level]) => Noise::sub_gaussian(level),
            ("gaussian", &[std_dev]) => Noise::gaussian(std_dev),
            ("unknown-level", &[about, each]) => {
                // A guess, wherever it is not bounded by replicates.
                (origin, unknown_level) = (Origin::Estimated, Some(each as u32));
                Noise::gaussian(about)
            }
            ("light-tailed", &[xi0, h0]) => Noise::light_tailed(xi0, h0),
            ("bounded", &[half_width]) => Noise::bounded(half_width),
            ("per-observation", _) => Noise::per_observation(values),
            (other, _) => return Err(unknown("noise", other, &known)),
        };
        inner.map(|inner| Self { inner, origin, unknown: unknown_level, seen: seen.into() }).map_err(raise)
    }

    /// The sub-Gaussian level.
    fn level(&self) -> f64 {
        self.inner.level()
    }

    /// As it stands in model files.
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.inner).map_err(raise)
    }

    fn __str__(&self) -> String {
        self.inner.to_string()
    }
}
