//! More inducing points where they are missing, found by the sums of the plan before.

use super::{Accumulator, Plan};
use crate::error::{Result, SumsError};
use crate::features::FeatureMap;
use crate::origin::{Origin, Sourced};
use crate::points::Points;

/// A row becomes an inducing point where those before it left at least this share of its residual.
const STILL_MISSED: f64 = 0.1;

/// A plan with more inducing points.
#[derive(Clone, Debug)]
pub struct Extended {
    /// The plan.
    pub plan: Plan,
    /// Inducing points more.
    pub added: usize,
    /// What is left of the mean of $s_1^2$, from above: the rows kept by the sums are known to miss less.
    pub mean_residual: f64,
}

impl Plan {
    /// The same plan with the rows that its sums found to be explained worst as further inducing points, each as far as those before it left something there; with at
    /// most `most` of them all. Cost O(m³).
    ///
    /// # Errors
    /// [`SumsError::Other`] for sums of another plan, [`SumsError::Explained`] where no row is left to add.
    pub fn extended(&self, sums: &Accumulator, most: usize) -> Result<Extended> {
        self.identity().same_sums(&sums.identity)?;
        let mut features = FeatureMap::clone(self.features());
        let (before, worst) = (features.len(), sums.worst());
        let mut inducing = self.inducing().to_points();
        for row in &worst {
            if features.len() >= most {
                break;
            }
            let left = features.residual(Points::new(row.point.clone(), inducing.dim())?.view())?[0];
            if left > STILL_MISSED * row.residual && features.append(&row.point)? {
                inducing.push(&row.point)?;
            }
        }
        let added = features.len() - before;
        if added == 0 {
            return Err(SumsError::Explained { inducing: before, most }.into());
        }
        let left = features.residual(Points::from_rows(&worst.iter().map(|row| &row.point).collect::<Vec<_>>())?.view())?;
        let gone: f64 = worst.iter().zip(left).map(|(row, left)| row.residual - left).sum();
        let mean_residual = (sums.residual_trace() - gone).max(0.0) / sums.rows().max(1) as f64;
        // Residuals look at locations alone: no response chose a point, but some are rows of the claim, and no other data.
        let origin = match self.features().sourced_given().origin {
            Origin::LearntElsewhere => Origin::Guaranteed,
            origin => origin,
        };
        Ok(Extended { plan: self.clone().with_inducing(Sourced::new(inducing, origin))?, added, mean_residual })
    }
}
