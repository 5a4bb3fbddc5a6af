//! Small changes without a new pass: one more observation, one more inducing point.

use super::{Absorbed, GramMethod, Information, Known, WHITEN_AFTER_SHARE, absorb, factor};
use crate::error::Result;
use crate::features::BLOCK_ROWS;
use crate::points::PointsRef;
use sigmabar_linalg::{GramAccumulator, Matrix, add_transposed_matvec, dot, matvec_rows, norm_squared};
use std::sync::Arc;

/// So many rank-one updates, then $B$ is factored anew: rounding does not pile up (algorithm notes 0.2).
const UPDATES_BETWEEN_FACTORS: usize = 200;

impl Information {
    /// One more observation at `x`: $G \mathrel{+}= \psi\psi^\top$ and a rank-one update of $L_B$, factored anew every 200 updates. Returns $\psi(x)$.
    /// Cost O(nd + md + m²).
    ///
    /// # Errors
    /// A point of another width or with a value that is not finite.
    pub fn update(&mut self, x: &[f64]) -> Result<Vec<f64>> {
        let point = PointsRef::new(x, x.len())?;
        self.features.check_width(point)?;
        self.forget();
        let psi = self.features.features(point)?.into_vec();
        let residual = self.features.residual_of(point, &psi, 0)?[0];
        self.locations.push(x, residual + norm_squared(&psi))?;
        for (i, &a) in psi.iter().enumerate() {
            for (g, &b) in self.gram.row_mut(i).iter_mut().zip(&psi) {
                *g += a * b;
            }
        }
        let scaled: Vec<f64> = psi.iter().map(|v| v / self.ridge).collect();
        self.updates += 1;
        // A factor found orthogonally is sharper than one of G itself: there the updates, backward stable, are the better way.
        if self.updates >= UPDATES_BETWEEN_FACTORS && self.facts.method != GramMethod::Orthogonal {
            self.lower = factor(&self.gram, self.ridge)?;
            self.updates = 0;
        } else {
            self.lower.update(&scaled);
        }
        self.residual_trace += residual;
        self.prior_trace += residual + norm_squared(&psi);
        self.facts.summation_length += 1.0;
        Ok(psi)
    }

    /// More observations at once: $G \mathrel{+}= \sum\psi\psi^\top$ by blocks, and one new factor of $B$. Gives $\sum_iy_i\psi(x_i)$, and how many of the points the
    /// inducing points explain less than half of. Cost O(b(md + m²) + m³ + (n + b) log(n + b)) for b points.
    ///
    /// # Errors
    /// Points of another width, or a failed self-check.
    pub(crate) fn update_block(&mut self, x: PointsRef<'_>, responses: &[f64]) -> Result<(Vec<f64>, usize)> {
        let features = Arc::clone(&self.features);
        features.check_width(x)?;
        self.forget();
        let m = features.len();
        let (mut gram, mut projected, mut unexplained) = (GramAccumulator::new(m), vec![0.0; m], 0);
        let (mut blocks, mut largest) = (0, self.largest_variance());
        // A factor found orthogonally is sharper than one of G itself, and is kept: updates of it are backward stable.
        let (is_orthogonal, ridge) = (self.facts.method == GramMethod::Orthogonal, self.ridge);
        let mut scaled = Vec::new();
        let (mut prior_trace, mut residual_trace) = (0.0, 0.0);
        features.for_each_block(x, |start, block, psi| {
            for (s1, row) in features.residual_of(block, psi, start)?.iter().zip(psi.chunks_exact(m)) {
                let k_xx = s1 + norm_squared(row);
                (prior_trace, residual_trace, largest) = (prior_trace + k_xx, residual_trace + s1, largest.max(k_xx));
                unexplained += usize::from(*s1 > 0.5 * k_xx);
                if is_orthogonal {
                    scaled.push(row.iter().map(|v| v / ridge).collect::<Vec<f64>>());
                }
            }
            add_transposed_matvec(psi, &responses[start..start + block.len()], &mut projected);
            gram.add_rows(psi);
            blocks += 1;
            Ok(())
        })?;
        let mut added = gram.finish()?;
        added.mirror_lower();
        let mut gram = self.gram.clone();
        gram.as_mut_slice().iter_mut().zip(added.as_slice()).for_each(|(g, a)| *g += a);
        if is_orthogonal {
            scaled.iter().for_each(|row| self.lower.update(row));
            self.updates += scaled.len();
        } else {
            self.lower = factor(&gram, self.ridge)?;
            self.updates = 0;
        }
        self.gram = gram;
        self.locations.extend(x, largest)?;
        self.prior_trace += prior_trace;
        self.residual_trace += residual_trace;
        self.facts.summation_length = self.facts.summation_length.max((BLOCK_ROWS.min(x.len()) + blocks) as f64) + 1.0;
        Ok((projected, unexplained))
    }

    /// What was found out about the information before it changed.
    fn forget(&mut self) {
        (self.ahead, self.known) = (None, Known::default());
    }

    /// One more inducing point: one row more in $L$, $G$ and $L_B$. Cost O(n m d) kernel work and O(m²); where a computed rounding bound says that this
    /// short cut would change $G$ by more than $10^{-8}\tau^2$, one new pass of O(n m²).
    ///
    /// Returns $\sum_i s_i\phi(x_i)$ for the new feature $\phi$ and the given sums (one per distinct location), or `None` when the point is already in the span.
    ///
    /// # Errors
    /// A point of another width or with a value that is not finite.
    pub fn append_inducing(&mut self, z: &[f64], sums: Option<&[f64]>) -> Result<Option<f64>> {
        self.locations.rows()?;
        self.forget();
        let features_before = Arc::clone(&self.features);
        if !Arc::make_mut(&mut self.features).append(z)? {
            return Ok(None);
        }
        let column = new_feature(self, &features_before, z, sums)?;
        let bound = self.facts.whitening_bound + self.append_rounding(column.trace);
        if bound > WHITEN_AFTER_SHARE * self.ridge * self.ridge {
            return self.absorb_again(sums).map(Some);
        }
        self.facts.whitening_bound = bound;
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
            self.lower = factor(&self.gram, self.ridge)?;
            self.updates = 0;
        }
        self.residual_trace = (self.residual_trace - column.square).max(0.0);
        Ok(Some(column.projected))
    }

    /// `γ‖L⁻¹‖_F²·tr(K_ZX K_XZ)` as in the fit that whitens after the product, with `‖L⁻¹‖_F² ≤ m‖L⁻¹‖₁²`.
    fn append_rounding(&self, trace_of_product: f64) -> f64 {
        let m = self.features.len() as f64;
        let gamma = (self.facts.summation_length + 4.0 * m) * f64::EPSILON;
        gamma * m * self.features.lower().inverse_norm_estimate().powi(2) * trace_of_product
    }

    /// A new pass with the features at hand; the last entry of `Σ s ψ`.
    fn absorb_again(&mut self, sums: Option<&[f64]>) -> Result<f64> {
        let Absorbed { gram, lower, prior_trace, residual_trace, projected, facts, updates, .. } =
            absorb(&self.features, self.ridge, self.locations.rows()?, sums)?;
        (self.gram, self.lower, self.facts, self.updates) = (gram, lower, facts, updates);
        (self.prior_trace, self.residual_trace) = (prior_trace, residual_trace);
        Ok(projected.and_then(|h| h.last().copied()).unwrap_or(0.0))
    }
}

/// What the new feature adds: `Σ c φ ψ`, `Σ c φ²`, `Σ s φ`; and `Σ c ‖k_Z‖²`, the new point included.
struct NewFeature {
    cross: Vec<f64>,
    square: f64,
    projected: f64,
    trace: f64,
}

/// `φ(x) = (k(z,x) − k_Z(x)·w)/pivot` with `w = L⁻ᵀψ(z)`: kernel values only, no solve per location.
fn new_feature(information: &Information, before: &crate::features::FeatureMap, z: &[f64], sums: Option<&[f64]>) -> Result<NewFeature> {
    let m = before.len();
    let lower = information.features.lower();
    let psi: Vec<f64> = (0..m).map(|j| lower.get(m, j)).collect();
    let pivot = lower.get(m, m);
    let mut w = psi.clone();
    before.lower().solve_transposed_rows(&mut w)?;
    let mut out = NewFeature { cross: vec![0.0; m], square: 0.0, projected: 0.0, trace: 0.0 };
    let locations = information.locations.rows()?;
    before.for_each_kernel_block(locations.points(), |start, block, rows| {
        let mut phi = vec![0.0; block.len()];
        matvec_rows(rows, &w, &mut phi);
        for (i, (value, row)) in phi.iter_mut().zip(rows.chunks_exact(m)).enumerate() {
            let own = before.kernel().value(block.row(i), z);
            out.trace += locations.count(start + i) * (norm_squared(row) + own * own);
            *value = (own - *value) / pivot;
        }
        if let Some(sums) = sums {
            out.projected += dot(&phi, &sums[start..start + block.len()]);
        }
        for (i, value) in phi.iter_mut().enumerate() {
            let weighted = *value * locations.count(start + i);
            out.square += weighted * *value;
            *value = weighted;
        }
        add_transposed_matvec(rows, &phi, &mut out.cross);
    });
    before.lower().solve_rows(&mut out.cross)?;
    Ok(out)
}
