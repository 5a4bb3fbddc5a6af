//! A running sum as it is saved: one triangle of its matrix, its probe, its counts.

use crate::Matrix;
use serde::{Deserialize, Serialize};

/// Which triangle carries the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Triangle {
    Lower,
    Upper,
}

/// What is written.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Packed {
    triangle: Triangle,
    side: usize,
    entries: Vec<f64>,
    probe: Vec<f64>,
    counts: [usize; 2],
}

impl Triangle {
    fn columns(self, row: usize, side: usize) -> std::ops::Range<usize> {
        match self {
            Self::Lower => 0..row + 1,
            Self::Upper => row..side,
        }
    }
}

impl Packed {
    pub(crate) fn new(triangle: Triangle, matrix: &Matrix, probe: Vec<f64>, counts: [usize; 2]) -> Self {
        let side = matrix.rows();
        let mut entries = Vec::with_capacity(side * (side + 1) / 2);
        for i in 0..side {
            entries.extend_from_slice(&matrix.row(i)[triangle.columns(i, side)]);
        }
        Self { triangle, side, entries, probe, counts }
    }

    /// The matrix, its probe and its counts, if they fit together.
    pub(crate) fn open(self, triangle: Triangle) -> Result<(Matrix, Vec<f64>, [usize; 2]), &'static str> {
        let entries = self.side.checked_add(1).and_then(|more| more.checked_mul(self.side)).map(|twice| twice / 2);
        if self.triangle != triangle || entries != Some(self.entries.len()) || self.probe.len() != self.side {
            return Err("a sum whose parts do not fit together");
        }
        let mut matrix = Matrix::zeros(self.side, self.side);
        let mut left = self.entries.as_slice();
        for i in 0..self.side {
            let columns = triangle.columns(i, self.side);
            let (row, rest) = left.split_at(columns.len());
            matrix.row_mut(i)[columns].copy_from_slice(row);
            left = rest;
        }
        Ok((matrix, self.probe, self.counts))
    }
}
