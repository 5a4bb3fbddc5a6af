//! Simulated quantiles inside pairs: one threshold for each survivor, because the maximiser is one fixed point.

use super::pairs::Difference;
use crate::certificate::NormalDraws;
use crate::error::Result;
use crate::information::Information;
use sigmabar_linalg::{Matrix, matvec_rows, product_transposed};

/// Draws of normal noise, and what the challengers make of them.
pub(super) struct Simulation {
    normal: NormalDraws,
    /// $e'^\top\Psi^\top E/\tau^2$: challengers in rows, draws in columns.
    own: Matrix,
}

impl Simulation {
    /// Cost O(m³ + S(m² + Mm)).
    pub fn new(information: &Information, std_dev: f64, solved: &Matrix, alpha: f64, seed: u64) -> Result<Self> {
        let normal = NormalDraws::new(information, std_dev, alpha, seed)?;
        Ok(Self { own: product_transposed(solved, &normal.draws)?, normal })
    }

    /// The factor for one survivor: with probability $1-\alpha$ no $\Delta V^\top E$ exceeds it times its own noise term. Cost O(S(m + M)).
    pub fn factor(&self, solved: &[f64], differences: &[Difference]) -> f64 {
        let mut here = vec![0.0; self.normal.draws.rows()];
        matvec_rows(self.normal.draws.as_slice(), solved, &mut here);
        let mut largest = vec![0.0_f64; here.len()];
        // Without noise in a difference (a point and itself; exact measurements) there is nothing to exceed.
        for (j, difference) in differences.iter().enumerate().filter(|(_, d)| d.noise > 0.0) {
            let scale = 1.0 / difference.noise;
            for ((value, other), own) in largest.iter_mut().zip(self.own.row(j)).zip(&here) {
                *value = value.max((other - own) * scale);
            }
        }
        self.normal.quantile(&mut largest)
    }
}
