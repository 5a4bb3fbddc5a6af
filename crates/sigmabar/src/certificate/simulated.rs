//! Simulated quantiles of normal noise: the largest of many correlated functionals is smaller than the union bound thinks (algorithm notes 5.3 and 14.4).

use crate::error::Result;
use crate::information::Information;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use sigmabar_linalg::{Matrix, product_transposed};
use statrs::distribution::{Binomial, DiscreteCDF};

/// Draws per unit of inverse miss probability.
const DRAWS: f64 = 200.0;
/// The share of a miss probability that the scatter of the draws may spend.
const SCATTER: f64 = 0.01;

/// Draws of $\Psi^\top E/\tau^2$, $E\sim N(0,R^2I)$: a functional with $e = B^{-1}\psi$ makes $V^\top E = e^\top\Psi^\top E/\tau^2$ of each.
#[derive(Clone, Debug)]
pub(crate) struct NormalDraws {
    /// One draw a row.
    pub draws: Matrix,
    /// Which of the sorted values is taken, from 0.
    rank: usize,
}

impl NormalDraws {
    /// How many draws a miss probability needs.
    pub fn count(alpha: f64) -> f64 {
        (DRAWS / alpha).ceil()
    }

    /// $S = \lceil200/\alpha\rceil$ draws. The covariance is $G$ enlarged by its rounding: on symmetric convex sets that can only cost (Anderson).
    /// Cost O(m³ + Sm²).
    pub fn new(information: &Information, std_dev: f64, alpha: f64, seed: u64) -> Result<Self> {
        let count = Self::count(alpha) as usize;
        let rank = count - 1 - exceeded_at_most(count, alpha);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let m = information.features().len();
        let normal = Matrix::from_fn(count, m, |_, _| StandardNormal.sample(&mut rng));
        // G = UΓUᵀ, so U√Γ ξ has covariance G.
        let path = information.ridge_path()?;
        let rounding = path.rounding();
        let (values, vectors) = path.into_parts();
        let scale = std_dev / (information.ridge() * information.ridge());
        let root = Matrix::from_fn(m, m, |i, j| scale * vectors[(i, j)] * (values[j] + rounding).sqrt());
        Ok(Self { draws: product_transposed(&normal, &root)?, rank })
    }

    /// One of a statistic's values over the draws, so high that but for a share of $\alpha$ in the draws themselves the real noise exceeds it with
    /// probability at most the rest of $\alpha$, *these* draws given: they are made once, and averaged over nothing.
    pub fn quantile(&self, values: &mut [f64]) -> f64 {
        *values.select_nth_unstable_by(self.rank, f64::total_cmp).1
    }
}

/// How many of the draws may exceed a quantile: the most $e$ with $P(\mathrm{Bin}(S,0.99\alpha)\le e)\le0.01\alpha$. A value that the noise exceeds more often than
/// $0.99\alpha$ is exceeded by so few draws with no more than that probability.
fn exceeded_at_most(count: usize, alpha: f64) -> usize {
    let Ok(binomial) = Binomial::new((1.0 - SCATTER) * alpha, count as u64) else { return 0 };
    let (mut low, mut high) = (0, count as u64);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if binomial.cdf(middle) <= SCATTER * alpha { low = middle } else { high = middle }
    }
    low as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_enough_draws_exceed_and_no_fewer_than_needed() {
        for alpha in [0.3, 0.05, 0.01, 1e-3] {
            let count = NormalDraws::count(alpha) as usize;
            let allowed = exceeded_at_most(count, alpha);
            let law = Binomial::new(0.99 * alpha, count as u64).expect("a law");
            assert!(law.cdf(allowed as u64) <= 0.01 * alpha && law.cdf(allowed as u64 + 1) > 0.01 * alpha);
            let share = allowed as f64 / (alpha * count as f64);
            assert!((0.65..0.95).contains(&share), "{alpha}: {share} of what is allowed is used");
        }
    }
}
