//! A pivoted Cholesky factor of the kernel matrix over many points, grown pivot by pivot or block by block.

use super::chunk::{Block, CHUNK, Chunk};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::points::{Locations, Points, PointsRef};
use rayon::prelude::*;
use sigmabar_linalg::{Lower, Matrix, RANK_TOLERANCE, dot, norm_squared, parallel, product_transposed};

/// Points absorbed at once when a list is given.
const LIST_BLOCK: usize = 128;

/// A partial Cholesky factor $K_{XX} = FF^\top + D$ over the locations, with pivots from among them or from elsewhere
/// (algorithm notes 4.4).
///
/// $F$ is kept as $m$ rows of length $n$ (in shares of 256 points): memory $8nm$ bytes, 800 MB for 100 000 points and 1000 pivots.
/// With repetition counts $c$ the matrix meant is $C^{1/2}KC^{1/2}$: pivots are weighed by $c_i d_i$, and traces and certificates are
/// those of $C^{1/2}DC^{1/2}$. Row $j$ of $F$ depends on the pivots up to $j$ alone, so any leading part is a factor too, and the rows
/// after it are its look-ahead.
#[derive(Clone, Debug)]
pub struct PartialCholesky<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) points: PointsRef<'a>,
    pub(super) chunks: Vec<Chunk>,
    /// Coordinates of the pivots.
    pivots: Vec<f64>,
    /// The location of each pivot, `None` for one from elsewhere.
    indices: Vec<Option<usize>>,
    /// Row $j$ of the factor of $K_{ZZ}$: $j+1$ entries.
    lower: Vec<Vec<f64>>,
    /// $\sum_i c_i f_j(i)^2$ per row.
    pub(super) explained: Vec<f64>,
    /// Weighted residuals that a second look found to be rounding: no longer pivots, still part of the trace.
    aside: f64,
    /// The largest variance among locations and pivots.
    pub(super) largest: f64,
}

impl<'a> PartialCholesky<'a> {
    /// No pivot yet: $D = K$. Cost O(nd).
    ///
    /// # Errors
    /// A kernel that does not fit the points' width; [`Error::Parameter`] when no location has positive variance.
    pub fn new(kernel: &'a Kernel, locations: &'a Locations) -> Result<Self> {
        let counts = locations.counts().map_or_else(|| vec![1.0; locations.distinct()], <[f64]>::to_vec);
        Self::over(kernel, locations.points(), &counts)
    }

    /// The factor for inducing points that are already known, whether they are among the locations or not; one that is numerically a
    /// combination of those before it is left out. Cost O(n(md + m²)).
    ///
    /// # Errors
    /// As [`PartialCholesky::new`]; [`Error::Width`] for inducing points of another width.
    pub fn with_points(kernel: &'a Kernel, locations: &'a Locations, inducing: PointsRef<'_>) -> Result<Self> {
        if inducing.dim() != locations.points().dim() {
            return Err(Error::Width { what: "inducing points", row: 0, expected: locations.points().dim(), found: inducing.dim() });
        }
        let mut factor = Self::new(kernel, locations)?;
        factor.largest = factor.largest.max(kernel.max_diagonal(inducing));
        factor.reserve(inducing.len());
        for start in (0..inducing.len()).step_by(LIST_BLOCK) {
            let block = inducing.range(start, (start + LIST_BLOCK).min(inducing.len()));
            let features = factor.features(block)?;
            let variances = kernel.diagonal(block);
            let tolerance = RANK_TOLERANCE * factor.largest;
            factor
                .absorb(block, &vec![None; block.len()], &features, |j, rest| rest > tolerance && rest > RANK_TOLERANCE * variances[j])?;
        }
        Ok(factor)
    }

    pub(super) fn over(kernel: &'a Kernel, points: PointsRef<'a>, counts: &[f64]) -> Result<Self> {
        let chunks = (0..points.len()).step_by(CHUNK).map(|start| {
            let end = (start + CHUNK).min(points.len());
            Chunk::new(kernel, points.range(start, end), counts[start..end].to_vec())
        });
        let chunks = chunks.collect::<Result<Vec<_>>>()?;
        let largest = chunks.iter().flat_map(|c| &c.residual).copied().fold(0.0, f64::max);
        let sound = chunks.iter().flat_map(|c| &c.residual).all(|d| d.is_finite());
        if !(sound && largest > 0.0) {
            let value = if sound { largest } else { f64::INFINITY };
            return Err(Error::Parameter { name: "variance at the locations", value, requirement: "finite, and positive somewhere" });
        }
        Ok(Self {
            kernel,
            points,
            chunks,
            pivots: Vec::new(),
            indices: Vec::new(),
            lower: Vec::new(),
            explained: Vec::new(),
            aside: 0.0,
            largest,
        })
    }

    /// Number of pivots $m$.
    #[must_use]
    pub fn len(&self) -> usize {
        self.indices.len()
    }

    /// Whether there is no pivot yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.indices.is_empty()
    }

    /// Which location each pivot is, in the order chosen; `None` for a point from elsewhere.
    #[must_use]
    pub fn indices(&self) -> &[Option<usize>] {
        &self.indices
    }

    /// The pivots themselves.
    ///
    /// # Errors
    /// [`Error::Empty`] when there is none yet.
    pub fn pivots(&self) -> Result<Points> {
        if self.is_empty() {
            return Err(Error::Empty { what: "the list of pivots" });
        }
        Points::new(self.pivots.clone(), self.points.dim())
    }

    /// The factor of $K_{ZZ}$, rows in pivot order: $F$ restricted to the pivots. Cost O(m²).
    #[must_use]
    pub fn lower(&self) -> Lower {
        self.leading_lower(self.len())
    }

    pub(super) fn leading_lower(&self, rank: usize) -> Lower {
        Lower::from_matrix(Matrix::from_fn(rank, rank, |i, j| if j <= i { self.lower[i][j] } else { 0.0 }))
    }

    /// Row `j` of $F$: the feature that pivot `j` adds, at every distinct location. Cost O(n).
    #[must_use]
    pub fn row(&self, j: usize) -> Vec<f64> {
        self.chunks.iter().flat_map(|chunk| chunk.row(j)).copied().collect()
    }

    /// The residual diagonal $d_i = s_1^2(x_i)$ at every distinct location, not weighted by counts. Cost O(n).
    #[must_use]
    pub fn residual(&self) -> Vec<f64> {
        self.chunks.iter().flat_map(|chunk| &chunk.residual).copied().collect()
    }

    /// $\operatorname{tr}(C^{1/2}DC^{1/2}) = \sum_i c_i d_i$ as computed, without the rounding that a certificate adds. Cost O(n).
    #[must_use]
    pub fn residual_trace(&self) -> f64 {
        self.aside + self.chunks.iter().map(|chunk| chunk.weighted_residual().sum::<f64>()).sum::<f64>()
    }

    /// The residual trace as it was when there were `rank` pivots.
    pub(super) fn trace_at(&self, rank: usize) -> f64 {
        self.residual_trace() + self.explained[rank..].iter().sum::<f64>()
    }

    /// Makes room for `rank` pivots in all, so that the factor is allocated once.
    pub fn reserve(&mut self, rank: usize) {
        self.chunks.iter_mut().for_each(|chunk| chunk.reserve(rank));
    }

    /// Forgets the pivots after the first `rank`. Cost O(n) for each.
    pub fn truncate(&mut self, rank: usize) {
        if rank >= self.len() {
            return;
        }
        let kept: std::collections::HashSet<usize> = self.indices[..rank].iter().flatten().copied().collect();
        let cut = |(c, chunk): (usize, &mut Chunk)| chunk.truncate(rank, |i| kept.contains(&(c * CHUNK + i)));
        parallel(|_| self.chunks.par_iter_mut().enumerate().for_each(cut));
        self.pivots.truncate(rank * self.points.dim());
        self.indices.truncate(rank);
        self.lower.truncate(rank);
        self.explained.truncate(rank);
    }

    /// The features of locations, one row each: columns of $F$.
    pub(super) fn features_at(&self, indices: &[usize]) -> Matrix {
        let mut rows = Vec::with_capacity(indices.len() * self.len());
        for &i in indices {
            rows.extend(self.chunks[i / CHUNK].column(i % CHUNK));
        }
        Matrix::from_vec(rows, indices.len(), self.len())
    }

    /// The features $L^{-1}k_Z(x)$ of any points, one row each.
    fn features(&self, x: PointsRef<'_>) -> Result<Matrix> {
        if self.is_empty() {
            return Ok(Matrix::zeros(x.len(), 0));
        }
        let mut rows = self.kernel.block(x, PointsRef::new(&self.pivots, self.points.dim())?)?;
        self.lower().solve_rows(rows.as_mut_slice())?;
        Ok(rows)
    }

    /// Goes through candidates in order, takes those for which `accept(candidate, residual given all taken so far)` says so, and updates
    /// every chunk once. Returns how many were taken.
    pub(super) fn absorb(
        &mut self,
        candidates: PointsRef<'_>,
        locations: &[Option<usize>],
        features: &Matrix,
        mut accept: impl FnMut(usize, f64) -> bool,
    ) -> Result<usize> {
        let old = self.len();
        let h = self.residual_block(candidates, features)?;
        let mut taken: Vec<usize> = Vec::new();
        let mut own: Vec<Vec<f64>> = Vec::new();
        for j in 0..candidates.len() {
            // One more row of the factor of H among those taken: l_a = (H_ja − Σ_{s<a} l_s l_as)/l_aa, rest = H_jj − ‖l‖².
            let mut row: Vec<f64> = Vec::with_capacity(taken.len() + 1);
            for (a, other) in taken.iter().zip(&own) {
                let t = row.len();
                row.push((h[(j, *a)] - dot(&row, &other[..t])) / other[t]);
            }
            let rest = h[(j, j)] - norm_squared(&row);
            if accept(j, rest) && rest > 0.0 {
                row.push(rest.sqrt());
                own.push(row);
                taken.push(j);
            }
        }
        if taken.is_empty() {
            return Ok(0);
        }
        let points = candidates.select(&taken)?;
        let b = taken.len();
        let block = Block {
            points: points.view(),
            against_old: Matrix::from_fn(old, b, |t, j| features[(taken[j], t)]),
            own: Matrix::from_fn(b, b, |i, j| if j <= i { own[i][j] } else { 0.0 }),
        };
        self.update(&block)?;
        for (&j, own) in taken.iter().zip(own) {
            self.indices.push(locations[j]);
            self.lower.push(features.row(j).iter().copied().chain(own).collect());
            if let Some(i) = locations[j] {
                self.exhaust(i);
            }
        }
        self.pivots.extend_from_slice(points.as_slice());
        Ok(b)
    }

    /// Location `i` cannot be a pivot because its residual, computed afresh, is rounding: the trace keeps what the diagonal said.
    pub(super) fn set_aside(&mut self, i: usize) {
        let chunk = &self.chunks[i / CHUNK];
        self.aside += chunk.counts()[i % CHUNK] * chunk.residual[i % CHUNK];
        self.exhaust(i);
    }

    /// Location `i` is explained: no rounding may make it a pivot again.
    fn exhaust(&mut self, i: usize) {
        self.chunks[i / CHUNK].residual[i % CHUNK] = 0.0;
    }

    /// $H = K_{QQ} - AA^\top$ for candidates $Q$ with features $A$ (rows).
    fn residual_block(&self, candidates: PointsRef<'_>, features: &Matrix) -> Result<Matrix> {
        let mut h = self.kernel.gram(candidates)?;
        if features.cols() > 0 {
            let product = product_transposed(features, features)?;
            h.as_mut_slice().iter_mut().zip(product.as_slice()).for_each(|(h, p)| *h -= p);
        }
        Ok(h)
    }

    fn update(&mut self, block: &Block<'_>) -> Result<()> {
        // Per-chunk sums are added in the order of the chunks: the same for any number of threads.
        let parts: Result<Vec<_>> = match &mut self.chunks[..] {
            [alone] => alone.absorb(block).map(|part| vec![part]),
            chunks => parallel(|_| chunks.par_iter_mut().with_max_len(1).map(|chunk| chunk.absorb(block)).collect()),
        };
        let mut explained = vec![0.0; block.points.len()];
        for part in parts? {
            explained.iter_mut().zip(part).for_each(|(sum, value)| *sum += value);
        }
        self.explained.extend(explained);
        Ok(())
    }
}
