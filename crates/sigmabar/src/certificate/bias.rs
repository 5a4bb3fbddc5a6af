//! The two computed tightenings of the bias: the residual form itself, and more inducing points than predict.

use super::extension::extended;
use super::residual_norm::ResidualNormMethod;
use crate::error::{Error, Result};
use crate::information::{Information, VarianceParts};
use crate::points::PointsRef;
use sigmabar_linalg::{
    Matrix, add_transposed_product, dot, matvec, matvec_rows, norm_squared, product, product_transposed, symmetric_eigenvalues,
};
use std::sync::Arc;

/// The residual form costs O(n²m): refused above this many distinct points.
pub(crate) const FORM_LIMIT: usize = 30_000;

/// Rows of the residual matrix formed at a time.
const FORM_ROWS: usize = 512;

/// $W = \Psi^\top D\Psi$ with counts, so that $V^\top DV = e^\top We/\tau^4$ (algorithm notes 8.5.1).
#[derive(Clone, Debug)]
pub(crate) struct ResidualForm {
    matrix: Matrix,
    /// Bounds the error of $W$ from its own summation.
    summation: f64,
    /// Bounds the error of $D$.
    rounding: f64,
    ridge: f64,
}

impl ResidualForm {
    /// Cost O(n²(m + d)) for n distinct points, memory O(nm).
    pub(crate) fn new(information: &Information) -> Result<Self> {
        let locations = information.locations()?;
        let (x, n, m) = (locations.points(), locations.distinct(), information.features().len());
        if n > FORM_LIMIT {
            return Err(Error::Premise {
                what: "the W-matrix width",
                reason: "there are more than 30000 distinct points: the direct width or the certification dictionary cost less",
            });
        }
        let psi = information.features().features(x)?;
        let weighted = Matrix::from_fn(n, m, |i, j| locations.count(i) * psi[(i, j)]);
        let against_all = information.features().kernel().prepare(x)?;
        let mut matrix = Matrix::zeros(m, m);
        let mut size = 0.0;
        for start in (0..n).step_by(FORM_ROWS) {
            let block = x.range(start, (start + FORM_ROWS).min(n));
            let mut residual = vec![0.0; block.len() * n];
            against_all.par_rows_into(block, &mut residual);
            let own = Matrix::from_vec(psi.as_slice()[start * m..(start + block.len()) * m].to_vec(), block.len(), m);
            let explained = product_transposed(&own, &psi)?;
            residual.iter_mut().zip(explained.as_slice()).for_each(|(d, e)| *d -= e);
            size += weighted_square(&residual, n, |i| locations.count(i), start);
            // W += (CΨ)_blockᵀ · D_block · CΨ
            let image = product(&Matrix::from_vec(residual, block.len(), n), &weighted)?;
            add_transposed_product(&mut matrix, 1.0, &weighted.as_slice()[start * m..(start + block.len()) * m], image.as_slice())?;
        }
        let trace: f64 = information.gram().diagonal().iter().sum();
        let summation = (2 * n + 2 * m) as f64 * f64::EPSILON * trace * size.sqrt();
        Ok(Self { matrix, summation, rounding: information.residual_rounding()?.norm, ridge: information.ridge() })
    }

    /// The same for weights of another ridge.
    pub(super) fn at_ridge(&self, ridge: f64) -> Self {
        Self { ridge, ..self.clone() }
    }

    /// An upper bound on the largest $V^\top DV$ over unit combinations of the weights $\Psi v$ whose $v$ are the rows of `kept`, made so that the $\Psi v$
    /// are orthonormal but for rounding. Cost O(m³).
    pub(crate) fn largest(&self, kept: &Matrix) -> Result<f64> {
        if kept.rows() == 0 {
            return Ok(0.0);
        }
        let on_kept = product_transposed(&product(kept, &self.matrix)?, kept)?;
        let sizes = (0..kept.rows()).map(|i| norm_squared(kept.row(i))).fold(0.0, f64::max);
        let computed = symmetric_eigenvalues(&on_kept)?.into_iter().fold(0.0, f64::max);
        let products = 8.0 * (2 * kept.cols() + 8) as f64 * f64::EPSILON * on_kept.diagonal().iter().map(|v| v.abs()).sum::<f64>();
        Ok((computed + products + 2.0 * self.summation * sizes + 2.0 * self.rounding).max(0.0))
    }

    /// An upper bound on $V^\top DV$ from $e = B^{-1}\psi(x)$ and $\lVert V\rVert$.
    pub(crate) fn value(&self, e: &[f64], weights_norm: f64) -> f64 {
        let tau4 = self.ridge.powi(4);
        let computed = dot(&matvec(&self.matrix, e), e) + self.summation * norm_squared(e);
        computed.max(0.0) / tau4 + self.rounding * weights_norm * weights_norm
    }
}

/// `‖C^{1/2}DC^{1/2}‖_F²` of a block of rows.
fn weighted_square(rows: &[f64], n: usize, count: impl Fn(usize) -> f64, start: usize) -> f64 {
    rows.chunks_exact(n)
        .enumerate()
        .map(|(i, row)| count(start + i) * row.iter().enumerate().map(|(j, d)| count(j) * d * d).sum::<f64>())
        .sum()
}

/// Inducing points $Z'\supset Z$ that certify what $Z$ predicts (algorithm notes 8.5.2):
/// $b'^2 = \lVert\psi'(x)-\Psi'^\top V\rVert^2 + (s_1'+\sqrt{\lambda'}\lVert V\rVert)^2$.
#[derive(Clone, Debug)]
pub(crate) struct Dictionary {
    information: Arc<Information>,
    /// $F^\top\Psi$: the new features against the old, with counts (p × m).
    cross: Matrix,
    /// Bounds the rounding of $F^\top\Psi e$ relative to $\lVert e\rVert$.
    products: f64,
    /// The new features' share of what the weights of the certificate are beside $\Psi e/\tau^2$, likewise.
    drift: f64,
    ridge: f64,
    /// What the larger map loses inside its span, per $\sqrt{k(x,x)}$, and $\sqrt{\operatorname{tr}K}$.
    inside: (f64, f64),
    lambda: f64,
}

impl Dictionary {
    /// `None` where the inducing points leave nothing to add. Cost: one fit with `pivots` features more, and its residual norm.
    pub(crate) fn new(information: &Information, pivots: usize) -> Result<Option<Self>> {
        let Some(more) = extended(information, pivots)? else { return Ok(None) };
        let (m, all) = (information.features().len(), more.features().len());
        let cross = cross_products(information, &more)?;
        let facts = *more.facts();
        let gram = more.gram().diagonal();
        let size = (gram[..m].iter().sum::<f64>() * gram[m..].iter().sum::<f64>()).sqrt();
        let products = (facts.summation_length + 2.0 * all as f64) * f64::EPSILON * size + facts.whitening_bound;
        let inside = (more.features().inside_rounding(), more.prior_trace().sqrt());
        // The old features keep their own rounding beside that of the larger map.
        let lambda = more.residual_norm(ResidualNormMethod::Best)?.value + information.residual_rounding()?.norm;
        let found = Self { information: more, cross, products, drift: 0.0, ridge: 0.0, inside, lambda };
        Ok(Some(found.at_ridge(information)))
    }

    /// The same for weights of the ridge of `own`, the information through the old features.
    pub(super) fn at_ridge(&self, own: &Information) -> Self {
        let new = self.information.gram().diagonal()[self.cross.cols()..].iter().sum::<f64>();
        let drift = own.parts_rounding().drift(1.0) * own.ridge() * new.sqrt();
        Self { drift, ridge: own.ridge(), ..self.clone() }
    }

    /// $\sqrt{\lambda'}/\tau$, for the Lipschitz constant.
    pub(crate) fn ratio_root(&self) -> f64 {
        self.lambda.sqrt() / self.ridge
    }

    /// The bounds for a block of points whose $e = B^{-1}\psi$ are known; `parts` are the certified ones, `own_rounding` the old map's.
    pub(crate) fn bounds(&self, block: PointsRef<'_>, solved: &[f64], parts: &[VarianceParts], own_rounding: &[f64]) -> Result<Vec<f64>> {
        let features = self.information.features();
        let (m, tau2) = (self.cross.cols(), self.ridge * self.ridge);
        let psi = features.features(block)?;
        let residual = features.residual_of(block, psi.as_slice(), 0)?;
        let rounding = features.residual_rounding_of(block, psi.as_slice())?;
        let diagonal = features.kernel().diagonal(block);
        let slack = 1.0 + 4.0 * (psi.cols() + 8) as f64 * f64::EPSILON;
        let mut out = Vec::with_capacity(block.len());
        let mut image = vec![0.0; self.cross.rows()];
        for (i, e) in solved.chunks_exact(m).enumerate() {
            matvec_rows(self.cross.as_slice(), e, &mut image);
            let gap: f64 = psi.row(i)[m..].iter().zip(&image).map(|(a, v)| (a - v / tau2).powi(2)).sum();
            let gap = gap.sqrt() + (self.products + self.drift) * norm_squared(e).sqrt() / tau2;
            let s1 = (residual[i] + rounding[i] + own_rounding[i]).sqrt();
            let norm = (parts[i].noise.max(0.0) / tau2).sqrt();
            let outside = s1 + self.lambda.sqrt() * norm;
            let inside = (parts[i].fit + gap * gap).sqrt() + self.inside.0 * (diagonal[i].sqrt() + self.inside.1 * norm);
            // Each of the m' squares is off by a few units in the last place.
            out.push((slack * (inside * inside + outside * outside)).sqrt());
        }
        Ok(out)
    }
}

/// `FᵀΨ` with counts: the new features against the *old* map's own values, because those are what the weights are made of; the larger map's differ from
/// them in the last digits, which a small ridge would blow up.
pub(super) fn cross_products(information: &Information, more: &Information) -> Result<Matrix> {
    let (m, all) = (information.features().len(), more.features().len());
    if let Some(ahead) = information.ahead() {
        return Ok(ahead.cross.clone());
    }
    let locations = information.locations()?;
    let mut cross = Matrix::zeros(all - m, m);
    more.features().for_each_block(locations.points(), |start, block, larger| {
        let psi = information.features().features(block)?;
        let rows = larger.chunks_exact(all).enumerate();
        let phi: Vec<f64> = rows.flat_map(|(i, row)| row[m..].iter().map(move |v| v * locations.count(start + i))).collect();
        Ok(add_transposed_product(&mut cross, 1.0, &phi, psi.as_slice())?)
    })?;
    Ok(cross)
}
