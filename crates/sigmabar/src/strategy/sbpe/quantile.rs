//! Simulated quantiles inside pairs: one threshold for each survivor, because the maximiser is one fixed point.

use super::pairs::Difference;
use crate::certificate::NormalDraws;
use crate::error::Result;
use crate::information::Information;
use sigmabar_linalg::{Matrix, matvec_rows, product_transposed};

/// Draws of normal noise, and what the challengers make of them under each ridge.
pub(super) struct Simulation {
    normal: NormalDraws,
    at: Vec<AtRidge>,
}

/// The draws under one ridge.
struct AtRidge {
    /// $e'^\top\Psi^\top E/\tau^2$: challengers in rows, draws in columns.
    own: Matrix,
    /// The squared ridge of the draws over this one's.
    scale: f64,
}

impl Simulation {
    /// `solved` is $e$ of the challengers under each ridge, the batch's own first. Cost O(m³ + S(m² + Mm)).
    pub fn new(information: &Information, std_dev: f64, solved: &[(f64, &Matrix)], alpha: f64, seed: u64) -> Result<Self> {
        let normal = NormalDraws::new(information, std_dev, alpha, seed)?;
        let at = solved.iter().map(|&(ridge, solved)| {
            let scale = (information.ridge() / ridge).powi(2);
            let own = product_transposed(solved, &normal.draws)?;
            Ok(AtRidge { own: Matrix::from_fn(own.rows(), own.cols(), |i, j| scale * own[(i, j)]), scale })
        });
        Ok(Self { at: at.collect::<Result<_>>()?, normal })
    }

    /// The factor for one survivor, whose $e$ under each ridge is `solved`: with probability $1-\alpha$ no $\Delta V^\top E$ exceeds it times its own noise term.
    /// Cost O(S(m + M)).
    pub fn factor(&self, solved: &[&[f64]], differences: &[Difference]) -> f64 {
        let here: Vec<Vec<f64>> = self.at.iter().zip(solved).map(|(at, solved)| self.noise_of(at, solved)).collect();
        let mut largest = vec![0.0_f64; self.normal.draws.rows()];
        // Without noise in a difference (a point and itself; exact measurements) there is nothing to exceed.
        for (j, difference) in differences.iter().enumerate().filter(|(_, d)| d.noise > 0.0) {
            let scale = 1.0 / difference.noise;
            let (others, own) = (self.at[difference.ridge].own.row(j), &here[difference.ridge]);
            for ((value, other), own) in largest.iter_mut().zip(others).zip(own) {
                *value = value.max((other - own) * scale);
            }
        }
        self.normal.quantile(&mut largest)
    }

    fn noise_of(&self, at: &AtRidge, solved: &[f64]) -> Vec<f64> {
        let mut here = vec![0.0; self.normal.draws.rows()];
        matvec_rows(self.normal.draws.as_slice(), solved, &mut here);
        here.iter_mut().for_each(|v| *v *= at.scale);
        here
    }
}
