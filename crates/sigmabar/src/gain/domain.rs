//! Bounds on the largest information gain $\gamma_N$ that any $N$ measurements on a finite domain can have.

use super::greedy::TIE;
use crate::error::{Result, at_least_one, positive};
use crate::gain::Bracket;
use crate::kernel::Kernel;
use crate::points::PointsRef;
use serde::{Deserialize, Serialize};
use sigmabar_linalg::{Matrix, PivotedCholesky, RANK_TOLERANCE, norm_squared};

/// The greedy design is carried out in full while steps × candidates × features stay below this.
const GREEDY_WORK: f64 = 4e9;

/// How an upper bound on $\gamma_N$ was obtained (algorithm notes 6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum GainBoundKind {
    /// (a) $I_{\text{greedy}}/(1-1/e)$: the gain is monotone and submodular.
    Greedy,
    /// (b) The first-order gap of the best fractional design.
    Dual,
    /// (c) $\tfrac12D\log(1+k_{\max}N/(\tau^2D)) + \frac{N}{2\tau^2}\max_xs_1^2(x)$, minimised over the first $D$ pivots.
    RankTail {
        /// The number of pivots taken.
        rank: usize,
    },
}

/// An upper bound on $\gamma_N$ with its kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GainBound {
    /// The bound, its rounding included.
    pub value: f64,
    /// How it was obtained.
    pub kind: GainBoundKind,
}

/// The largest information gain of $N$ measurements on a finite domain, from both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct MaxGain {
    /// $N$.
    pub evaluations: usize,
    /// The gain of the greedy design, or of the fractional one rounded to whole counts where that would cost too much; minus its rounding, so never above $\gamma_N$.
    pub lower: f64,
    /// How often that design measures each candidate.
    pub counts: Vec<f64>,
    /// Every upper bound computed.
    pub bounds: Vec<GainBound>,
}

impl MaxGain {
    /// The smallest upper bound.
    #[must_use]
    pub fn upper(&self) -> GainBound {
        self.bounds.iter().copied().reduce(|a, b| if b.value < a.value { b } else { a }).expect("the rank/tail bound is always there")
    }

    /// Lower and smallest upper bound.
    #[must_use]
    pub fn bracket(&self) -> Bracket {
        Bracket { lower: self.lower, upper: self.upper().value }
    }
}

/// A finite list of candidates, factored once: $K = FF^\top + $ a tail, by pivoted Cholesky.
#[derive(Clone, Debug)]
pub struct GainDomain {
    pub(super) ridge: f64,
    /// $F$: one row per candidate.
    pub(super) features: Matrix,
    /// $\max_x k(x,x)$ over the candidates.
    largest: f64,
    /// $\max_x s_1^2(x)$ after 0, 1, … pivots.
    tails: Vec<f64>,
    /// $\max_x\lVert L^{-\top}\psi(x)\rVert_1$: how much rounding in the kernel matrix can grow in the tail.
    interpolation: f64,
}

impl GainDomain {
    /// Factors the candidates' kernel matrix to numerical rank. Cost O(A²(d + D)).
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] for a ridge that is not positive or a kernel that is zero on every candidate; a kernel of another width; a failed self-check.
    pub fn new(kernel: &Kernel, ridge: f64, candidates: PointsRef<'_>) -> Result<Self> {
        Self::with_rank(kernel, ridge, candidates, candidates.len())
    }

    /// As [`GainDomain::new`] with at most `max_rank` features: every bound adds $\frac{N}{2\tau^2}\max_xs_1^2(x)$ for what they miss.
    ///
    /// # Errors
    /// As [`GainDomain::new`]; [`crate::Error::Parameter`] for a rank of 0.
    pub fn with_rank(kernel: &Kernel, ridge: f64, candidates: PointsRef<'_>, max_rank: usize) -> Result<Self> {
        positive("ridge", ridge)?;
        at_least_one("max_rank", max_rank)?;
        let gram = kernel.gram(candidates)?;
        let largest = positive("largest variance on the candidates", kernel.max_diagonal(candidates))?;
        let pivoted = PivotedCholesky::new(&gram, RANK_TOLERANCE * largest, max_rank)?;
        let rank = pivoted.pivots.len();
        let mut features = Matrix::from_fn(gram.rows(), rank, |x, j| gram[(x, pivoted.pivots[j])]);
        pivoted.lower.solve_rows(features.as_mut_slice())?;
        // The t-th pivot is the largest remaining diagonal entry, so its square is max s1² after t pivots.
        let mut tails: Vec<f64> = pivoted.lower.diagonal().iter().map(|l| l * l).collect();
        let rest = (0..gram.rows()).map(|x| gram[(x, x)] - norm_squared(features.row(x))).fold(0.0, f64::max);
        tails.push(rest.max(pivoted.residual_max));
        let mut weights = features.clone();
        pivoted.lower.solve_transposed_rows(weights.as_mut_slice())?;
        let interpolation = (0..gram.rows()).map(|x| weights.row(x).iter().map(|v| v.abs()).sum::<f64>()).fold(0.0, f64::max);
        Ok(Self { ridge, features, largest, tails, interpolation })
    }

    /// Number of candidates.
    #[must_use]
    pub fn len(&self) -> usize {
        self.features.rows()
    }

    /// Never true.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Number of features: the numerical rank of the candidates' kernel matrix.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.features.cols()
    }

    /// Lower and upper bounds on $\gamma_N = \max_{x_1,\dots,x_N}\tfrac12\log\det(I+K/\tau^2)$, repeats allowed: the greedy design and the bounds (a), (b), (c) of
    /// algorithm notes 6.2. Cost O(NAD) for the greedy design, while that is below 4·10⁹, and O(AD²) for each of at most 60 steps of (b), at most 10¹¹ operations
    /// beyond the first 4 steps: with thousands of features [`GainDomain::with_rank`] is much faster and a little less sharp.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] for 0 evaluations, a failed self-check.
    pub fn max_gain(&self, evaluations: usize) -> Result<MaxGain> {
        let tail = self.rank_tail(evaluations)?;
        let affordable = (GREEDY_WORK / (self.len() * self.rank()) as f64) as usize;
        let greedy = evaluations <= affordable;
        // Beyond that a few greedy steps only start the fractional design.
        let mut counts = self.greedy_counts(if greedy { evaluations } else { affordable.clamp(1, 4 * self.rank()) })?;
        let dual = self.dual(evaluations, &counts)?;
        if !greedy {
            counts = whole_counts(&dual.weights, evaluations);
        }
        let gain = self.counted(&counts)?.gain;
        let missed = self.missed(evaluations) + self.rounding(evaluations);
        let mut bounds = Vec::with_capacity(3);
        if greedy {
            // Each step gains at least the share 1 − TIE of the best one.
            bounds.push(GainBound { value: gain / (1.0 - (TIE - 1.0).exp()) + missed, kind: GainBoundKind::Greedy });
        }
        bounds.push(GainBound { value: dual.bound + missed, kind: GainBoundKind::Dual });
        bounds.push(tail);
        Ok(MaxGain { evaluations, lower: (gain - self.rounding(evaluations)).max(0.0), counts, bounds })
    }

    /// Bound (c) alone, which needs no design: $\min_D\ \tfrac12D\log(1+k_{\max}N/(\tau^2D)) + \frac{N}{2\tau^2}\max_xs_1^2(x)$, and $\tfrac N2\log(1+k_{\max}/\tau^2)$ where
    /// that is smaller. Cost O(D).
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] for 0 evaluations.
    pub fn rank_tail(&self, evaluations: usize) -> Result<GainBound> {
        at_least_one("evaluations", evaluations)?;
        let (n, tau2) = (evaluations as f64, self.ridge * self.ridge);
        let head = |rank: f64| 0.5 * rank * (self.largest * n / (tau2 * rank)).ln_1p();
        // With N or more features nothing is missed: Hadamard's inequality on the N × N matrix itself.
        let all = (head(n), evaluations);
        let ranked = (1..self.tails.len().min(evaluations))
            .map(|d| (head(d as f64) + 0.5 * n / tau2 * self.tails[d] + self.rounding(evaluations), d));
        let (value, rank) = ranked.fold(all, |best, next| if next.0 < best.0 { next } else { best });
        Ok(GainBound { value: value * (1.0 + 1e-13), kind: GainBoundKind::RankTail { rank } })
    }

    /// $\frac{N}{2\tau^2}\max_xs_1^2(x)$: what no design can gain outside the features.
    fn missed(&self, evaluations: usize) -> f64 {
        0.5 * evaluations as f64 / (self.ridge * self.ridge) * self.tails[self.rank()]
    }

    /// A bound on the rounding in every gain: an entry of $K - FF^\top$ is off by at most $e = 4(D+2)\varepsilon k_{\max}$. The tail of a point can hide
    /// $e(1+\lVert w\rVert_1)^2$, the features' own matrix at $N$ points $e\sqrt N$ per point, and the factor of $B$ adds $(A+D)\varepsilon\lVert B\rVert$ per feature.
    fn rounding(&self, evaluations: usize) -> f64 {
        let (n, tau2) = (evaluations as f64, self.ridge * self.ridge);
        let rank = self.rank() as f64;
        let entry = 4.0 * (rank + 2.0) * f64::EPSILON * self.largest;
        let kernel = 0.5 * n / tau2 * entry * ((1.0 + self.interpolation).powi(2) + n.sqrt());
        let factor = rank.min(n) * (self.len() as f64 + rank) * f64::EPSILON * (1.0 + n * self.largest / tau2);
        kernel + factor
    }
}

/// Whole counts that sum to `total`: each weight's share rounded down, the rest to the largest fractions.
fn whole_counts(weights: &[f64], total: usize) -> Vec<f64> {
    let shares: Vec<f64> = weights.iter().map(|w| w * total as f64).collect();
    let mut counts: Vec<f64> = shares.iter().map(|s| s.floor()).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|&a, &b| (shares[b] - counts[b]).total_cmp(&(shares[a] - counts[a])).then(a.cmp(&b)));
    let missing = (total as f64 - counts.iter().sum::<f64>()).max(0.0) as usize;
    order.iter().cycle().take(missing).for_each(|&x| counts[x] += 1.0);
    counts
}
