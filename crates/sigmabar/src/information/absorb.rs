//! The streamed pass over the data: one block of features at a time, three roads to the same $G$.

use crate::accumulator::ORTHOGONAL_ABOVE;
use crate::error::{Result, positive};
use crate::features::{BLOCK_ROWS, FeatureMap};
use crate::points::Locations;
use serde::{Deserialize, Serialize};
use sigmabar_linalg::{GramAccumulator, Lower, Matrix, TallQr, add_transposed_matvec, norm_squared};

/// Whitening after the product may change $G$ by at most this share of $\tau^2$.
pub(super) const WHITEN_AFTER_SHARE: f64 = 1e-8;

/// How $G$ was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum GramMethod {
    /// Features first, then their Gram matrix: a triangular solve and a product over all rows.
    WhitenFirst,
    /// One product of kernel values, whitened afterwards: taken only where a computed rounding bound shows that $G$ changes by less than $10^{-8}\tau^2$.
    WhitenAfter,
    /// Orthogonal factorisation of the features, for $n k_{\max}/\tau^2 > 10^{10}$.
    Orthogonal,
}

/// What is worth knowing about how the fit was computed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FitFacts {
    /// The method taken.
    pub method: GramMethod,
    /// For [`GramMethod::WhitenAfter`]: the bound on the change of $G$; otherwise 0.
    pub whitening_bound: f64,
    /// The longest chain of additions behind an entry of $G$: rounding in $G$ is at most this many units in the last place.
    pub summation_length: f64,
    /// For [`GramMethod::Orthogonal`]: how many rows were stacked, one upon the other, until the factor was there.
    pub reflected_rows: f64,
}

/// Everything one pass over the data yields.
pub(crate) struct Absorbed {
    pub gram: Matrix,
    pub lower: Lower,
    pub prior_trace: f64,
    pub residual_trace: f64,
    /// $h = \sum_i s_i\psi(x_i)$, if sums were given.
    pub projected: Option<Vec<f64>>,
    /// $L_B^{-1}h/\tau^2$ from the orthogonal factorisation behind `lower`, if there was one.
    pub whitened: Option<Vec<f64>>,
    pub facts: FitFacts,
    /// Rank-one updates of the factor since it was made.
    pub updates: usize,
}

/// Streams over the locations, accumulating $G = \sum c_i\psi_i\psi_i^\top$, $\operatorname{tr} D$ and, with `sums`, $h = \sum s_i\psi_i$.
pub(crate) fn absorb(features: &FeatureMap, ridge: f64, locations: &Locations, sums: Option<&[f64]>) -> Result<Absorbed> {
    positive("ridge", ridge)?;
    let x = locations.points();
    features.check_width(x)?;
    let pass = Pass { features, ridge, locations, sums };
    let largest = features.kernel().max_diagonal(x);
    if asks_for_reflections(locations.total(), largest, ridge) {
        return pass.orthogonal();
    }
    // To whiten on both sides afterwards takes as long as to whiten that many rows at first.
    if x.len() > 2 * features.len() && pass.expected_whitening_bound() <= WHITEN_AFTER_SHARE * ridge * ridge {
        let absorbed = pass.whiten_after()?;
        if absorbed.facts.whitening_bound <= WHITEN_AFTER_SHARE * ridge * ridge {
            return Ok(absorbed);
        }
    }
    pass.whiten_first()
}

/// Whether squaring the features would lose too many digits under this ridge.
pub(super) fn asks_for_reflections(total: f64, largest: f64, ridge: f64) -> bool {
    total * largest / (ridge * ridge) > ORTHOGONAL_ABOVE
}

struct Pass<'a> {
    features: &'a FeatureMap,
    ridge: f64,
    locations: &'a Locations,
    sums: Option<&'a [f64]>,
}

impl Pass<'_> {
    fn whiten_first(&self) -> Result<Absorbed> {
        let mut gram = GramAccumulator::new(self.features.len());
        let sums = self.stream_features(|rows| {
            gram.add_rows(rows);
            Ok(())
        })?;
        let mut gram = gram.finish()?;
        gram.mirror_lower();
        let lower = factor(&gram, self.ridge)?;
        Ok(self.absorbed(gram, lower, sums, GramMethod::WhitenFirst, 0.0))
    }

    /// $B$ is the Gram matrix of the rows $[I; \Psi/\tau]$, so its factor comes from reflecting these without squaring them. The responses are one more column:
    /// what becomes of them has then the very rounding that the factor has, and not another one beside it.
    fn orthogonal(&self) -> Result<Absorbed> {
        let (m, wide) = (self.features.len(), self.features.len() + usize::from(self.sums.is_some()));
        let mut qr = TallQr::new(wide);
        qr.add_rows(Matrix::from_fn(m, wide, |i, j| f64::from(u8::from(i == j))).as_slice())?;
        let mut done = 0;
        let sums = self.stream_features(|rows| {
            let mut scaled = Vec::with_capacity(rows.len() / m * wide);
            for row in rows.chunks_exact(m) {
                scaled.extend(row.iter().map(|v| v / self.ridge));
                scaled.extend(self.sums.map(|s| s[done] / (self.ridge * self.locations.count(done).sqrt())));
                done += 1;
            }
            Ok(qr.add_rows(&scaled)?)
        })?;
        let all = qr.gram_factor();
        let (gram, lower) = of_root(Matrix::from_fn(m, m, |i, j| all[(i, j)]), self.ridge)?;
        let whitened = self.sums.map(|_| (0..m).map(|i| all[(i, m)]).collect());
        let absorbed = self.absorbed(gram, lower, sums, GramMethod::Orthogonal, 0.0);
        Ok(Absorbed { whitened, ..absorbed })
    }

    fn whiten_after(&self) -> Result<Absorbed> {
        let m = self.features.len();
        let mut gram = GramAccumulator::new(m);
        let mut sums = Sums::new(m, self.sums.is_some());
        self.features.for_each_kernel_block(self.locations.points(), |start, block, rows| {
            if let (Some(h), Some(s)) = (&mut sums.projected, self.sums) {
                add_transposed_matvec(rows, &s[start..start + block.len()], h);
            }
            for (i, k_xx) in self.features.kernel().diagonal(block).into_iter().enumerate() {
                sums.prior_trace += self.locations.count(start + i) * k_xx;
            }
            self.scale_by_counts(start, rows);
            gram.add_rows(rows);
        });
        let mut product = gram.finish()?;
        product.mirror_lower();
        let bound = self.whitening_bound(product.diagonal().iter().sum());
        let gram = whiten_both_sides(self.features.lower(), product)?;
        if let Some(h) = &mut sums.projected {
            self.features.lower().solve_rows(h)?;
        }
        let explained: f64 = gram.diagonal().iter().sum();
        sums.residual_trace = (sums.prior_trace - explained).max(0.0);
        let lower = factor(&gram, self.ridge)?;
        Ok(self.absorbed(gram, lower, sums, GramMethod::WhitenAfter, bound))
    }

    /// Streams the weighted features into `take`, gathering the sums on the way.
    fn stream_features(&self, mut take: impl FnMut(&[f64]) -> Result<()>) -> Result<Sums> {
        let mut sums = Sums::new(self.features.len(), self.sums.is_some());
        self.features.for_each_block(self.locations.points(), |start, block, psi| {
            let residual = self.features.residual_of(block, psi, start)?;
            for (i, (s1, row)) in residual.iter().zip(psi.chunks_exact(self.features.len())).enumerate() {
                let count = self.locations.count(start + i);
                sums.residual_trace += count * s1;
                sums.prior_trace += count * (s1 + norm_squared(row));
            }
            if let (Some(h), Some(s)) = (&mut sums.projected, self.sums) {
                add_transposed_matvec(psi, &s[start..start + block.len()], h);
            }
            self.scale_by_counts(start, psi);
            take(psi)
        })?;
        Ok(sums)
    }

    /// Multiplies each row by the root of its repetition count.
    fn scale_by_counts(&self, start: usize, rows: &mut [f64]) {
        let Some(counts) = self.locations.counts() else { return };
        for (row, count) in rows.chunks_exact_mut(self.features.len()).zip(&counts[start..]) {
            let root = count.sqrt();
            row.iter_mut().for_each(|v| *v *= root);
        }
    }

    fn summation_length(&self) -> f64 {
        let n = self.locations.distinct();
        (BLOCK_ROWS.min(n) + n.div_ceil(BLOCK_ROWS)) as f64
    }

    /// `‖L⁻¹ΔA L⁻ᵀ‖ ≤ ‖L⁻¹‖_F²·‖ΔA‖_F` and `|ΔA_ij| ≤ γ√(A_ii A_jj)`, so `‖ΔA‖_F ≤ γ tr A`; whitening itself adds the `4m`.
    fn whitening_bound(&self, trace_of_product: f64) -> f64 {
        let gamma = (self.summation_length() + 4.0 * self.features.len() as f64) * f64::EPSILON;
        gamma * self.features.inverse_norm().powi(2) * trace_of_product
    }

    /// The same bound with the product's trace extrapolated from the first block: decides whether the method is worth trying.
    fn expected_whitening_bound(&self) -> f64 {
        let x = self.locations.points();
        let sample = x.range(0, x.len().min(256));
        let mut rows = vec![0.0; sample.len() * self.features.len()];
        self.features.prepared().par_rows_into(sample, &mut rows);
        let per_row = norm_squared(&rows) / sample.len() as f64;
        let optimistic = (self.summation_length() + 4.0 * self.features.len() as f64)
            * f64::EPSILON
            * per_row
            * self.locations.total()
            * self.features.lower().inverse_norm_estimate().powi(2)
            / self.features.len() as f64;
        if optimistic > WHITEN_AFTER_SHARE * self.ridge * self.ridge {
            return optimistic;
        }
        self.whitening_bound(per_row * self.locations.total())
    }

    fn absorbed(&self, gram: Matrix, lower: Lower, sums: Sums, method: GramMethod, whitening_bound: f64) -> Absorbed {
        let Sums { prior_trace, residual_trace, projected } = sums;
        let facts = FitFacts {
            method,
            whitening_bound,
            summation_length: self.summation_length(),
            reflected_rows: self.locations.distinct() as f64,
        };
        Absorbed { gram, lower, prior_trace, residual_trace, projected, whitened: None, facts, updates: 0 }
    }
}

struct Sums {
    prior_trace: f64,
    residual_trace: f64,
    projected: Option<Vec<f64>>,
}

impl Sums {
    fn new(m: usize, with_responses: bool) -> Self {
        Self { prior_trace: 0.0, residual_trace: 0.0, projected: with_responses.then(|| vec![0.0; m]) }
    }
}

/// `G` and `L_B` from the upper triangular root of `B = I + τ⁻²G`.
pub(crate) fn of_root(root: Matrix, ridge: f64) -> Result<(Matrix, Lower)> {
    let mut gram = sigmabar_linalg::transposed_product(&root, &root)?;
    (0..root.rows()).for_each(|i| gram[(i, i)] = (gram[(i, i)] - 1.0).max(0.0));
    gram.as_mut_slice().iter_mut().for_each(|v| *v *= ridge * ridge);
    Ok((gram, Lower::from_matrix(root.transposed())))
}

/// `L_B` of `B = I + τ⁻²G`  (m × m).
pub(crate) fn factor(gram: &Matrix, ridge: f64) -> Result<Lower> {
    let mut b = gram.clone();
    let scale = 1.0 / (ridge * ridge);
    b.as_mut_slice().iter_mut().for_each(|v| *v *= scale);
    for i in 0..b.rows() {
        b[(i, i)] += 1.0;
    }
    Ok(Lower::cholesky(&b)?)
}

/// `L⁻¹ A L⁻ᵀ` for a symmetric `A`.
fn whiten_both_sides(lower: &Lower, a: Matrix) -> Result<Matrix> {
    let (m, mut half) = (a.rows(), a.into_vec());
    lower.solve_rows(&mut half)?; // rows of A become rows of A L⁻ᵀ
    let mut both = Matrix::from_vec(half, m, m).transposed();
    lower.solve_rows(both.as_mut_slice())?;
    for i in 0..m {
        for j in 0..i {
            let mean = 0.5 * (both[(i, j)] + both[(j, i)]);
            both[(i, j)] = mean;
            both[(j, i)] = mean;
        }
    }
    Ok(both)
}
