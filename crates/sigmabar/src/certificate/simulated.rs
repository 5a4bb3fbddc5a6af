//! Simulated quantiles of normal noise: the largest of many correlated functionals is smaller than the union bound thinks (algorithm notes 5.3 and 14.4).

use crate::error::Result;
use crate::information::Information;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use sigmabar_linalg::{Matrix, product_transposed};

/// Draws per unit of inverse miss probability.
const DRAWS: f64 = 20.0;

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

    /// $S = \lceil20/\alpha\rceil$ draws. The covariance is $G$ enlarged by its rounding: on symmetric convex sets that can only cost (Anderson).
    /// Cost O(m³ + Sm²).
    pub fn new(information: &Information, std_dev: f64, alpha: f64, seed: u64) -> Result<Self> {
        let count = Self::count(alpha) as usize;
        let rank = (((1.0 - alpha) * (count + 1) as f64).ceil() as usize).clamp(1, count) - 1;
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

    /// The $\lceil(1-\alpha)(S+1)\rceil$-th of a statistic's values over the draws: exactly valid by exchangeability with the real noise.
    pub fn quantile(&self, values: &mut [f64]) -> f64 {
        *values.select_nth_unstable_by(self.rank, f64::total_cmp).1
    }
}
