//! What survives, seen along one or two columns: for pictures.

use super::CellTree;
use crate::error::{Error, Result};
use sigmabar_linalg::Matrix;
use std::ops::Range;

impl CellTree {
    /// For each of `bins` equal parts of a column, the share of its volume that survives. Cost O(leaves + parts they touch).
    ///
    /// # Errors
    /// [`Error::Parameter`] for a column that does not exist or no bins.
    pub fn surviving_by_column(&self, column: usize, bins: usize) -> Result<Vec<f64>> {
        self.check_picture(column, bins)?;
        let mut shares = vec![0.0; bins];
        for cell in self.leaves() {
            let thickness = self.share(cell) / self.extent(cell, column);
            for bin in self.touched(cell, column, bins) {
                shares[bin] += thickness * self.overlap(cell, column, bin, bins);
            }
        }
        Ok(shares)
    }

    /// The surviving set projected on two columns: entry $(i,j)$ is the share that survives of all points whose first column lies in
    /// part $i$ of `parts.0` and whose second lies in part $j$ of `parts.1`. Cost O(leaves + pixels they touch).
    ///
    /// # Errors
    /// [`Error::Parameter`] for columns that do not exist or are the same, or no parts.
    pub fn projection(&self, columns: (usize, usize), parts: (usize, usize)) -> Result<Matrix> {
        self.check_picture(columns.0, parts.0)?;
        self.check_picture(columns.1, parts.1)?;
        if columns.0 == columns.1 {
            return Err(Error::Parameter { name: "the second column", value: columns.1 as f64, requirement: "another than the first" });
        }
        let mut picture = Matrix::zeros(parts.0, parts.1);
        for cell in self.leaves() {
            let thickness = self.share(cell) / (self.extent(cell, columns.0) * self.extent(cell, columns.1));
            for i in self.touched(cell, columns.0, parts.0) {
                let part = thickness * self.overlap(cell, columns.0, i, parts.0);
                for j in self.touched(cell, columns.1, parts.1) {
                    picture[(i, j)] += part * self.overlap(cell, columns.1, j, parts.1);
                }
            }
        }
        Ok(picture)
    }

    fn check_picture(&self, column: usize, parts: usize) -> Result<()> {
        if column >= self.dim {
            return Err(Error::Parameter { name: "column", value: column as f64, requirement: "less than the number of columns" });
        }
        if parts == 0 {
            return Err(Error::Parameter { name: "the number of parts", value: 0.0, requirement: "at least 1" });
        }
        Ok(())
    }

    /// Where the cell begins and ends in a column, as shares of the whole.
    fn span(&self, cell: usize, column: usize) -> (f64, f64) {
        let (start, width) = (self.low[column], self.high[column] - self.low[column]);
        ((self.low(cell)[column] - start) / width, (self.high(cell)[column] - start) / width)
    }

    fn extent(&self, cell: usize, column: usize) -> f64 {
        let (from, to) = self.span(cell, column);
        to - from
    }

    fn touched(&self, cell: usize, column: usize, parts: usize) -> Range<usize> {
        let (from, to) = self.span(cell, column);
        (from * parts as f64) as usize..((to * parts as f64).ceil() as usize).min(parts)
    }

    /// How much of a part the cell covers.
    fn overlap(&self, cell: usize, column: usize, part: usize, parts: usize) -> f64 {
        let (from, to) = self.span(cell, column);
        (to * parts as f64).min((part + 1) as f64) - (from * parts as f64).max(part as f64)
    }
}
