//! Features beyond those that predict: what claims look ahead with.

use super::FeatureMap;
use crate::error::Result;
use crate::kernel::PreparedKernel;
use crate::points::{Locations, PointsRef};
use sigmabar_linalg::{Lower, Matrix, PivotedCholesky, add_product_rows, product_transposed};
use std::sync::Arc;

/// Pivots are chosen greedily among at most this many candidates; up to here, among all distinct points.
const CANDIDATES: usize = 1024;

/// The features of further inducing points $P$ beside those of a map: $\varphi(x) = L_{22}^{-1}(k_P(x)-L_{21}\psi(x))$, from the map's own values $\psi(x)$.
#[derive(Clone, Debug)]
pub(crate) struct MoreFeatures {
    all: Arc<FeatureMap>,
    prepared: PreparedKernel,
    /// $L_{21}^\top$  (m × p).
    across: Matrix,
    lower: Lower,
}

impl MoreFeatures {
    /// `None` where no point is new to the span. Cost O(pm² + p²m).
    pub fn new(features: &FeatureMap, points: PointsRef<'_>) -> Result<Option<Self>> {
        let mut all = features.clone();
        for point in points.rows() {
            all.append(point)?;
        }
        let (m, p) = (features.len(), all.len() - features.len());
        if p == 0 {
            return Ok(None);
        }
        let prepared = all.kernel().prepare(all.inducing().range(m, m + p))?;
        let across = Matrix::from_fn(m, p, |i, j| all.lower().get(m + j, i));
        let lower = Lower::from_matrix(Matrix::from_fn(p, p, |i, j| if j <= i { all.lower().get(m + i, m + j) } else { 0.0 }));
        Ok(Some(Self { all: Arc::new(all), prepared, across, lower }))
    }

    /// The larger map.
    pub fn all(&self) -> &Arc<FeatureMap> {
        &self.all
    }

    /// The further inducing points in use, $P$.
    pub fn points(&self) -> PointsRef<'_> {
        self.all.inducing().range(self.across.rows(), self.all.len())
    }

    /// Number of features more, $p$.
    pub fn len(&self) -> usize {
        self.lower.len()
    }

    /// $\varphi$ for a block of points whose $\psi$ are known, row after row. Cost O(n(pd + pm)).
    pub fn features(&self, x: PointsRef<'_>, psi: &[f64]) -> Result<Vec<f64>> {
        let mut rows = vec![0.0; x.len() * self.len()];
        self.prepared.par_rows_into(x, &mut rows);
        add_product_rows(&mut rows, self.len(), -1.0, psi, self.across.rows(), &self.across)?;
        self.lower.solve_rows(&mut rows)?;
        Ok(rows)
    }
}

/// Indices of distinct points that continue the pivoted Cholesky factorisation of $C^{1/2}DC^{1/2}$, greedy in residual times count. On more than 1024 distinct points
/// the candidates are spread in proportion to what is missing. Cost O(nm² + cm²) for c candidates.
pub(crate) fn pivots(features: &FeatureMap, locations: &Locations, most: usize) -> Result<Vec<usize>> {
    let missing: Vec<f64> = features.residual(locations.points())?.iter().enumerate().map(|(i, s1)| s1 * locations.count(i)).collect();
    let candidates = spread(&missing, CANDIDATES.max(4 * most));
    if candidates.is_empty() || most == 0 {
        return Ok(Vec::new());
    }
    let points = locations.points().select(&candidates)?;
    let psi = features.features(points.view())?;
    let explained = product_transposed(&psi, &psi)?;
    let gram = features.kernel().gram(points.view())?;
    let roots: Vec<f64> = candidates.iter().map(|&i| locations.count(i).sqrt()).collect();
    let u = candidates.len();
    let matrix = Matrix::from_fn(u, u, |i, j| roots[i] * roots[j] * (gram[(i, j)] - explained[(i, j)]));
    let diagonal = features.kernel().diagonal(points.view());
    let tolerance = diagonal.iter().zip(&roots).map(|(&k, r)| r * r * features.residual_rounding(k)).fold(0.0, f64::max);
    let factor = PivotedCholesky::new(&matrix, tolerance, most)?;
    Ok(factor.pivots.into_iter().map(|i| candidates[i]).collect())
}

/// At most `size` indices, spread systematically in proportion to the weights; all with positive weight if they are few enough.
fn spread(weights: &[f64], size: usize) -> Vec<usize> {
    let positive: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0.0).collect();
    if positive.len() <= size {
        return positive;
    }
    let step = positive.iter().map(|&i| weights[i]).sum::<f64>() / size as f64;
    let (mut reached, mut next) = (0.0, 0.5 * step);
    let mut out = Vec::with_capacity(size);
    for i in positive {
        reached += weights[i];
        if reached >= next {
            out.push(i);
            next = ((reached / step - 0.5).floor() + 1.5) * step;
        }
    }
    out
}
