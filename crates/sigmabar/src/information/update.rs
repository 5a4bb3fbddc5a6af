//! Small changes without a new pass: one more observation, one more inducing point.

use super::Information;
use crate::error::Result;
use crate::features::BLOCK_ROWS;
use crate::points::PointsRef;
use sigmabar_linalg::{Lower, Matrix, add_transposed_matvec, dot, matvec_rows, norm_squared};
use std::sync::Arc;

impl Information {
    /// One more observation at `x`: $G \mathrel{+}= \psi\psi^\top$ and a rank-one update of $L_B$. Returns $\psi(x)$. Cost O(nd + md + m²).
    ///
    /// # Errors
    /// A point of another width or with a value that is not finite.
    pub fn update(&mut self, x: &[f64]) -> Result<Vec<f64>> {
        let point = PointsRef::new(x, x.len())?;
        self.features.check_width(point)?;
        let psi = self.features.features(point)?.into_vec();
        let residual = self.features.residual_of(point, &psi, 0)?[0];
        Arc::make_mut(&mut self.locations).push(x)?;
        for (i, &a) in psi.iter().enumerate() {
            for (g, &b) in self.gram.row_mut(i).iter_mut().zip(&psi) {
                *g += a * b;
            }
        }
        let scaled: Vec<f64> = psi.iter().map(|v| v / self.ridge).collect();
        self.lower.update(&scaled);
        self.residual_trace += residual;
        self.prior_trace += residual + norm_squared(&psi);
        self.facts.summation_length += 1.0;
        Ok(psi)
    }

    /// One more inducing point: one row more in $L$, $G$ and $L_B$. Cost O(n m d) kernel work and O(m²).
    ///
    /// Returns $\sum_i s_i\phi(x_i)$ for the new feature $\phi$ and the given sums (one per distinct location), or `None` when the point is already in the span.
    ///
    /// # Errors
    /// A point of another width or with a value that is not finite.
    pub fn append_inducing(&mut self, z: &[f64], sums: Option<&[f64]>) -> Result<Option<f64>> {
        let features_before = Arc::clone(&self.features);
        if !Arc::make_mut(&mut self.features).append(z)? {
            return Ok(None);
        }
        let column = new_feature(self, &features_before, z, sums)?;
        let m = features_before.len();
        let mut gram = Matrix::zeros(m + 1, m + 1);
        for i in 0..m {
            gram.row_mut(i)[..m].copy_from_slice(self.gram.row(i));
            gram[(i, m)] = column.cross[i];
            gram[(m, i)] = column.cross[i];
        }
        gram[(m, m)] = column.square;
        let tau2 = self.ridge * self.ridge;
        let mut row: Vec<f64> = column.cross.iter().map(|v| v / tau2).collect();
        self.lower.solve_rows(&mut row)?;
        let pivot = 1.0 + column.square / tau2 - norm_squared(&row);
        self.gram = gram;
        if pivot > 0.5 {
            self.lower.append(&row, pivot.sqrt());
        } else {
            // The exact pivot is at least 1: rounding has eaten it, so factor anew.
            let mut b = self.gram.clone();
            b.as_mut_slice().iter_mut().for_each(|v| *v /= tau2);
            (0..=m).for_each(|i| b[(i, i)] += 1.0);
            self.lower = Lower::cholesky(&b)?;
        }
        self.residual_trace = (self.residual_trace - column.square).max(0.0);
        Ok(Some(column.projected))
    }
}

/// What the new feature adds: `Σ c φ ψ`, `Σ c φ²`, `Σ s φ`.
struct NewFeature {
    cross: Vec<f64>,
    square: f64,
    projected: f64,
}

/// `φ(x) = (k(z,x) − k_Z(x)·w)/pivot` with `w = L⁻ᵀψ(z)`: kernel values only, no solve per location.
fn new_feature(information: &Information, before: &crate::features::FeatureMap, z: &[f64], sums: Option<&[f64]>) -> Result<NewFeature> {
    let m = before.len();
    let lower = information.features.lower();
    let psi: Vec<f64> = (0..m).map(|j| lower.get(m, j)).collect();
    let pivot = lower.get(m, m);
    let mut w = psi.clone();
    before.lower().solve_transposed_rows(&mut w)?;
    let mut out = NewFeature { cross: vec![0.0; m], square: 0.0, projected: 0.0 };
    let x = information.locations.points();
    let mut rows = vec![0.0; BLOCK_ROWS.min(x.len()) * m];
    for start in (0..x.len()).step_by(BLOCK_ROWS) {
        let block = x.range(start, (start + BLOCK_ROWS).min(x.len()));
        let rows = &mut rows[..block.len() * m];
        before.prepared().par_rows_into(block, rows);
        let mut phi = vec![0.0; block.len()];
        matvec_rows(rows, &w, &mut phi);
        for (i, value) in phi.iter_mut().enumerate() {
            *value = (before.kernel().value(block.row(i), z) - *value) / pivot;
        }
        if let Some(sums) = sums {
            out.projected += dot(&phi, &sums[start..start + block.len()]);
        }
        for (i, value) in phi.iter_mut().enumerate() {
            let weighted = *value * information.locations.count(start + i);
            out.square += weighted * *value;
            *value = weighted;
        }
        add_transposed_matvec(rows, &phi, &mut out.cross);
    }
    before.lower().solve_rows(&mut out.cross)?;
    Ok(out)
}
