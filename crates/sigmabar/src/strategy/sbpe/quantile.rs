//! Simulated quantiles of normal noise: the largest of many correlated differences is smaller than the union bound thinks.

use super::pairs::Difference;
use crate::error::Result;
use crate::information::Information;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use sigmabar_linalg::{Matrix, matvec_rows, product_transposed, symmetric_eigen};

/// Draws per unit of inverse miss probability.
const DRAWS: f64 = 20.0;

/// Draws of $\Psi^\top E/\tau^2$, $E\sim N(0,R^2I)$, and what the challengers make of them.
pub(super) struct Simulation {
    /// One draw a row.
    draws: Matrix,
    /// $e'^\top\Psi^\top E/\tau^2$: challengers in rows, draws in columns.
    own: Matrix,
    /// Which of the sorted values is taken, from 0.
    rank: usize,
}

impl Simulation {
    /// $S = \lceil20/\alpha\rceil$ draws; the $\lceil(1-\alpha)(S+1)\rceil$-th value is exactly valid by exchangeability with the real noise (algorithm
    /// notes 5.3). Cost O(m³ + S(m² + Mm)).
    pub fn new(information: &Information, std_dev: f64, solved: &Matrix, alpha: f64, seed: u64) -> Result<Self> {
        let count = (DRAWS / alpha).ceil() as usize;
        let rank = (((1.0 - alpha) * (count + 1) as f64).ceil() as usize).min(count) - 1;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let m = information.features().len();
        let normal = Matrix::from_fn(count, m, |_, _| StandardNormal.sample(&mut rng));
        // G = UΓUᵀ, so U√Γ ξ has covariance G.
        let eigen = symmetric_eigen(information.gram())?;
        let scale = std_dev / (information.ridge() * information.ridge());
        let root = Matrix::from_fn(m, m, |i, j| scale * eigen.vectors[(i, j)] * eigen.values[j].max(0.0).sqrt());
        let draws = product_transposed(&normal, &root)?;
        let own = product_transposed(solved, &draws)?;
        Ok(Self { draws, own, rank })
    }

    /// The factor for one survivor: with probability $1-\alpha$ no $\Delta V^\top E$ exceeds it times its own noise term. Cost O(S(m + M)).
    pub fn factor(&self, solved: &[f64], differences: &[Difference]) -> f64 {
        let count = self.draws.rows();
        let mut here = vec![0.0; count];
        matvec_rows(self.draws.as_slice(), solved, &mut here);
        let mut largest = vec![0.0_f64; count];
        // Without noise in a difference (a point and itself; exact measurements) there is nothing to exceed.
        for (j, difference) in differences.iter().enumerate().filter(|(_, d)| d.noise > 0.0) {
            let scale = 1.0 / difference.noise;
            for ((value, other), own) in largest.iter_mut().zip(self.own.row(j)).zip(&here) {
                *value = value.max((other - own) * scale);
            }
        }
        let (_, value, _) = largest.select_nth_unstable_by(self.rank, f64::total_cmp);
        *value
    }
}
