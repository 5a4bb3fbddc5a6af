//! What an observation, and a new dictionary point, change.

use super::{CandidateModel, Dictionary, REFRESH_EVERY};
use crate::error::Result;
use sigmabar_linalg::{RANK_TOLERANCE, add_transposed_matvec, norm_squared};

impl CandidateModel {
    /// Counts observations at a candidate that are worth `weight` ones of variance $\tau^2$, with average `value`. Cost O(Am + m²).
    pub fn observe(&mut self, candidate: usize, value: f64, weight: f64) -> Result<()> {
        if self.kind == Dictionary::Measured && self.weights[candidate] == 0.0 {
            self.append(candidate)?;
        }
        self.count(candidate, value, weight);
        let psi = self.features_of(candidate);
        if !psi.is_empty() {
            self.condition(candidate, value, weight, &psi)?;
        }
        self.updates += 1;
        if self.updates == REFRESH_EVERY {
            self.refresh()?;
        }
        Ok(())
    }

    /// Writes an observation down without touching the posterior: to be followed by [`CandidateModel::redraw`].
    pub fn count(&mut self, candidate: usize, value: f64, weight: f64) {
        if self.weights[candidate] == 0.0 {
            self.measured.push(candidate);
        }
        self.weights[candidate] += weight;
        self.sums[candidate] += weight * value;
    }

    fn condition(&mut self, candidate: usize, value: f64, weight: f64, psi: &[f64]) -> Result<()> {
        // c = Ψ B⁻¹ψ_i,  s = τ²/w + c_i:  μ += c(y − μ_i)/s,  σ² −= c²/s
        let column = self.fitted_column(candidate)?;
        let scale = 1.0 / (self.noise / weight + column[candidate]);
        let innovation = (value - self.mean[candidate]) * scale;
        for ((mean, fit), c) in self.mean.iter_mut().zip(&mut self.fit).zip(&column) {
            *mean += c * innovation;
            *fit = (*fit - c * c * scale).max(0.0);
        }
        // B += wψψᵀ/τ²,  h += wyψ
        let root = (weight / self.noise).sqrt();
        self.lower.update(&psi.iter().map(|p| p * root).collect::<Vec<_>>());
        self.projected.iter_mut().zip(psi).for_each(|(h, p)| *h += weight * value * p);
        Ok(())
    }

    /// Puts a candidate into the dictionary; whether it was new to the span. Cost O(A(d + m)), and O(Am²) more where earlier observations see the new
    /// feature.
    pub fn append(&mut self, candidate: usize) -> Result<bool> {
        let Some(column) = self.next_feature(candidate) else { return Ok(false) };
        // The new feature is zero on the old span: only measured points outside it see it.
        let m = self.dictionary.len();
        let mut row = vec![0.0; m];
        let (mut corner, mut projected) = (0.0, 0.0);
        for &a in self.measured.iter().filter(|&&a| column[a] != 0.0) {
            let c = self.weights[a] * column[a];
            (0..m).for_each(|l| row[l] += c * self.features[l * column.len() + a]);
            corner += c * column[a];
            projected += self.sums[a] * column[a];
        }
        self.keep_feature(candidate, &column);
        self.projected.push(projected);
        if corner == 0.0 {
            self.lower.append(&row, 1.0);
            self.fit.iter_mut().zip(&column).for_each(|(f, c)| *f += c * c);
            return Ok(true);
        }
        // B = [B b; bᵀ 1 + g]:  L_B gains the row L_B⁻¹b and the diagonal √(1 + g − ‖L_B⁻¹b‖²)
        row.iter_mut().for_each(|b| *b /= self.noise);
        if m > 0 {
            self.lower.solve_rows(&mut row)?;
        }
        let pivot = (1.0 + corner / self.noise - norm_squared(&row)).max(1.0);
        self.lower.append(&row, pivot.sqrt());
        self.predict()?;
        Ok(true)
    }

    /// Feature $m+1$ of every candidate, $(k(x_a,x_i) - \psi_a^\top\psi_i)/\sqrt{s_1^2(x_i)}$; `None` if the candidate is in the span already.
    pub(crate) fn next_feature(&self, candidate: usize) -> Option<Vec<f64>> {
        let mut column = self.kernel_column(candidate);
        let negative: Vec<f64> = self.features_of(candidate).iter().map(|p| -p).collect();
        add_transposed_matvec(&self.features, &negative, &mut column);
        if column[candidate] <= RANK_TOLERANCE * self.largest_prior {
            return None;
        }
        let root = column[candidate].sqrt();
        column.iter_mut().for_each(|c| *c /= root);
        self.dictionary.iter().for_each(|&z| column[z] = 0.0);
        Some(column)
    }

    /// Takes a feature in: the residual shrinks by its square.
    pub(crate) fn keep_feature(&mut self, candidate: usize, column: &[f64]) {
        for (residual, c) in self.residual.iter_mut().zip(column) {
            *residual = (*residual - c * c).max(0.0);
        }
        self.residual[candidate] = 0.0;
        self.features.extend_from_slice(column);
        self.dictionary.push(candidate);
    }
}
