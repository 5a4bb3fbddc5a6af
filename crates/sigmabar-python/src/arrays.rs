//! Arrays in and out: rows of a C-ordered float64 array are read where they lie.

use crate::error::raise;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use sigmabar::linalg::Matrix;
use sigmabar::{Points, PointsRef};

/// The rows of a NumPy array, borrowed for as long as the work lasts.
///
/// The face of the package converts what it is given first, so that only C-ordered two-dimensional float64 arrays come here.
pub struct Rows {
    /// Keeps the memory alive on the working thread.
    _owner: Py<PyArray2<f64>>,
    data: *const f64,
    len: usize,
    dim: usize,
}

// SAFETY: the memory belongs to the array that `_owner` keeps alive, and it is only read. As everywhere in the NumPy world, whoever writes into an array while
// another thread computes with it gets numbers of either kind, checked for being finite before use.
unsafe impl Send for Rows {}

impl Rows {
    /// The rows as points.
    pub fn view(&self) -> sigmabar::Result<PointsRef<'_>> {
        PointsRef::new(self.values(), self.dim)
    }

    /// All values, row after row, whatever they are.
    pub fn values(&self) -> &[f64] {
        // SAFETY: `data` points to `len` contiguous numbers of an array kept alive by `_owner`.
        unsafe { std::slice::from_raw_parts(self.data, self.len) }
    }

    /// How many rows there are.
    pub fn count(&self) -> usize {
        self.len.checked_div(self.dim).unwrap_or(0)
    }

    /// A copy of the rows.
    pub fn to_points(&self) -> sigmabar::Result<Points> {
        self.view().map(PointsRef::to_points)
    }
}

impl<'py> FromPyObject<'_, 'py> for Rows {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let array = object.cast::<PyArray2<f64>>().map_err(|_| raise("points must be a two-dimensional float64 array"))?;
        if !array.is_c_contiguous() {
            return Err(raise("points must be a C-ordered array"));
        }
        if !array.data().is_aligned() {
            return Err(raise("points must be an aligned array"));
        }
        let dim = array.shape()[1];
        Ok(Self { _owner: array.to_owned().unbind(), data: array.data(), len: array.len(), dim })
    }
}

/// A vector of numbers, copied; a column of a table and a reversed view are vectors too.
pub fn vector(array: &Bound<'_, PyArray1<f64>>) -> PyResult<Vec<f64>> {
    match array.to_vec() {
        Ok(values) => Ok(values),
        Err(_) => array.call_method0("copy")?.cast_into::<PyArray1<f64>>()?.to_vec().map_err(raise),
    }
}

/// A matrix as a two-dimensional array.
pub fn from_matrix(py: Python<'_>, matrix: Matrix) -> PyResult<Bound<'_, PyArray2<f64>>> {
    let shape = [matrix.rows(), matrix.cols()];
    matrix.into_vec().into_pyarray(py).reshape(shape)
}

/// Points as a two-dimensional array.
pub fn from_points<'py>(py: Python<'py>, points: PointsRef<'_>) -> PyResult<Bound<'py, PyArray2<f64>>> {
    points.as_slice().to_vec().into_pyarray(py).reshape([points.len(), points.dim()])
}

/// Positions as an integer array.
pub fn from_indices<'py>(py: Python<'py>, indices: &[usize]) -> Bound<'py, PyArray1<i64>> {
    indices.iter().map(|&i| i as i64).collect::<Vec<i64>>().into_pyarray(py)
}
