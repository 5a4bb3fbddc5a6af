//! The one dense matrix type of the project.

use serde::{Deserialize, Serialize};

/// A dense row-major matrix of `f64`. Throughout the project the *rows* of a block are points.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "RawMatrix")]
pub struct Matrix {
    data: Vec<f64>,
    rows: usize,
    cols: usize,
}

/// What is read back from a file, before it is checked.
#[derive(Deserialize)]
struct RawMatrix {
    data: Vec<f64>,
    rows: usize,
    cols: usize,
}

impl TryFrom<RawMatrix> for Matrix {
    type Error = &'static str;
    fn try_from(raw: RawMatrix) -> Result<Self, Self::Error> {
        let RawMatrix { data, rows, cols } = raw;
        if rows.checked_mul(cols) == Some(data.len()) {
            Ok(Self { data, rows, cols })
        } else {
            Err("a matrix of other than rows × cols entries")
        }
    }
}

impl Matrix {
    /// The matrix of zeros.
    #[must_use]
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self { data: vec![0.0; rows * cols], rows, cols }
    }

    /// The identity matrix.
    #[must_use]
    pub fn identity(n: usize) -> Self {
        Self::from_fn(n, n, |i, j| if i == j { 1.0 } else { 0.0 })
    }

    /// The matrix with entries `f(i, j)`.
    #[must_use]
    pub fn from_fn(rows: usize, cols: usize, mut f: impl FnMut(usize, usize) -> f64) -> Self {
        let mut data = Vec::with_capacity(rows * cols);
        for i in 0..rows {
            for j in 0..cols {
                data.push(f(i, j));
            }
        }
        Self { data, rows, cols }
    }

    /// Takes row-major entries as they are.
    ///
    /// # Panics
    /// If `data.len() != rows * cols`: a mistake of the caller, never of data.
    #[must_use]
    pub fn from_vec(data: Vec<f64>, rows: usize, cols: usize) -> Self {
        assert_eq!(data.len(), rows * cols, "a {rows} × {cols} matrix needs {} entries", rows * cols);
        Self { data, rows, cols }
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Row `i`.
    #[must_use]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// Row `i`, to be changed.
    pub fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// All entries, row after row.
    #[must_use]
    pub fn as_slice(&self) -> &[f64] {
        &self.data
    }

    /// All entries, row after row, to be changed.
    pub fn as_mut_slice(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// Gives the entries away, row after row.
    #[must_use]
    pub fn into_vec(self) -> Vec<f64> {
        self.data
    }

    /// The transposed matrix, as a copy.
    #[must_use]
    pub fn transposed(&self) -> Self {
        Self::from_fn(self.cols, self.rows, |i, j| self[(j, i)])
    }

    /// The main diagonal.
    #[must_use]
    pub fn diagonal(&self) -> Vec<f64> {
        (0..self.rows.min(self.cols)).map(|i| self[(i, i)]).collect()
    }

    /// Copies the lower triangle onto the upper one.
    ///
    /// # Panics
    /// If the matrix is not square.
    pub fn mirror_lower(&mut self) {
        assert_eq!(self.rows, self.cols, "only a square matrix has a mirror image");
        for i in 0..self.rows {
            for j in 0..i {
                self.data[j * self.cols + i] = self.data[i * self.cols + j];
            }
        }
    }
}

impl std::ops::Index<(usize, usize)> for Matrix {
    type Output = f64;
    fn index(&self, (i, j): (usize, usize)) -> &f64 {
        &self.data[i * self.cols + j]
    }
}

impl std::ops::IndexMut<(usize, usize)> for Matrix {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut f64 {
        &mut self.data[i * self.cols + j]
    }
}
