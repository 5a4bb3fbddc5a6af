//! Kernels.

use crate::arrays::{Rows, from_matrix};
use crate::error::{raise, unknown};
use crate::origin::{origin_name, origin_of};
use crate::work;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use sigmabar::kernel::Lengthscale;
use sigmabar::linalg::Matrix;
use sigmabar::points::Seen;
use sigmabar::{Kernel, Origin, Sourced};

/// A kernel and where its parameters come from.
#[pyclass(frozen, name = "Kernel", module = "sigmabar._core")]
pub struct PyKernel {
    pub inner: Sourced<Kernel>,
    /// The rows it was learnt on.
    pub seen: Seen,
}

impl From<Sourced<Kernel>> for PyKernel {
    fn from(inner: Sourced<Kernel>) -> Self {
        Self { inner, seen: Seen::default() }
    }
}

/// One number for all columns, or one for each.
fn lengthscale(values: Vec<f64>, shared: bool) -> Lengthscale {
    match values.first() {
        Some(&value) if shared => Lengthscale::Shared(value),
        _ => Lengthscale::PerColumn(values),
    }
}

#[pymethods]
impl PyKernel {
    /// A kernel by its kind; `shape` is nu, alpha or the offset, `period` only of a periodic one. A list of length-scales is one for each column unless `shared`.
    #[staticmethod]
    fn of(kind: &str, lengthscales: Vec<f64>, shared: bool, variance: f64, shape: f64, period: Vec<f64>) -> PyResult<Self> {
        let scale = lengthscale(lengthscales, shared);
        let kernel = match kind {
            "squared-exponential" => Kernel::squared_exponential(scale, variance),
            "matern" => Kernel::matern(shape, scale, variance),
            "rational-quadratic" => Kernel::rational_quadratic(shape, scale, variance),
            "periodic" => {
                let single = period.len() == 1;
                Kernel::periodic(lengthscale(period, single), scale, variance)
            }
            "linear" => Kernel::linear(shape, scale, variance),
            "hamming" => Kernel::hamming(scale, variance),
            other => {
                let known = ["squared-exponential", "matern", "rational-quadratic", "periodic", "linear", "hamming"];
                return Err(unknown("kernel", other, &known));
            }
        };
        Ok(Sourced::<Kernel>::from(kernel.map_err(raise)?).into())
    }

    /// The same kernel on some columns.
    fn columns(&self, columns: Vec<usize>) -> PyResult<Self> {
        let kernel = self.inner.value.clone().columns(columns).map_err(raise)?;
        Ok(Self { inner: Sourced::new(kernel, self.inner.origin), seen: self.seen.clone() })
    }

    /// The same kernel for responses that come after those it was learnt on.
    fn for_new_data(&self) -> Self {
        let origin = self.inner.origin.min(Origin::LearntElsewhere);
        Self { inner: Sourced::new(self.inner.value.clone(), origin), seen: self.seen.clone() }
    }

    /// The same kernel with parameters that came from there, learnt on these rows.
    fn sourced(&self, source: &str, seen: Vec<u64>) -> PyResult<Self> {
        let origin = self.inner.origin.max(origin_of(source)?);
        Ok(Self { inner: Sourced::new(self.inner.value.clone(), origin), seen: self.seen.with(&seen.into()) })
    }

    fn add(&self, other: &Self) -> Self {
        let kernel = self.inner.value.clone() + other.inner.value.clone();
        self.with(kernel, other)
    }

    fn multiply(&self, other: &Self) -> Self {
        let kernel = self.inner.value.clone() * other.inner.value.clone();
        self.with(kernel, other)
    }

    fn block<'py>(&self, py: Python<'py>, x: Rows, z: Rows) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let kernel = self.inner.value.clone();
        let block: Matrix = work::run(py, move || kernel.block(x.view()?, z.view()?))?;
        from_matrix(py, block)
    }

    fn diagonal<'py>(&self, py: Python<'py>, x: Rows) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let view = x.view().map_err(raise)?;
        self.inner.value.check_dim(view.dim()).map_err(raise)?;
        Ok(self.inner.value.diagonal(view).into_pyarray(py))
    }

    fn metric<'py>(&self, py: Python<'py>, x: Rows, z: Rows) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let kernel = self.inner.value.clone();
        let block: Matrix = work::run(py, move || kernel.metric_block(x.view()?, z.view()?))?;
        from_matrix(py, block)
    }

    /// Names and values of the parameters, in the library's order.
    fn parameters(&self) -> Vec<(String, f64)> {
        self.inner.value.parameters().into_iter().map(|p| (p.name, p.value)).collect()
    }

    /// Where the parameters come from, in one word.
    fn source(&self) -> &'static str {
        origin_name(self.inner.origin)
    }

    /// The kernel with where it came from, and the rows it was learnt on.
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&(&self.inner, self.seen.hashes())).map_err(raise)
    }

    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        let (inner, seen): (Sourced<Kernel>, Vec<u64>) = serde_json::from_str(text).map_err(raise)?;
        Ok(Self { inner, seen: seen.into() })
    }
}

impl PyKernel {
    /// Something learnt makes the whole learnt.
    fn with(&self, kernel: Kernel, other: &Self) -> Self {
        let origin = self.inner.origin.max(other.inner.origin);
        Self { inner: Sourced::new(kernel, origin), seen: self.seen.with(&other.seen) }
    }

    /// The kernel for a claim about these rows.
    pub fn on(&self, rows: &Seen) -> Sourced<Kernel> {
        Sourced::new(self.inner.value.clone(), self.seen.origin_on(self.inner.origin, rows))
    }
}
