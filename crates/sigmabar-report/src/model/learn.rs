//! From rows to a posterior: the kernel declared or learnt on a sample, inducing points, one pass over everything.

use super::plan::{EXACT_POINTS, LEARNING_ROWS, Plan};
use super::training::Rows;
use crate::data::ColumnInfo;
use crate::kernels::Family;
use sigmabar::evidence::{Learning, fit_hyperparameters};
use sigmabar::inducing::{InducingRule, Stop};
use sigmabar::points::Locations;
use sigmabar::{Collected, FeatureMap, Kernel, Observations, Origin, Points, Posterior, Prior, Result, Sourced};
use std::sync::Arc;

/// What was said about the function before any response was seen.
#[derive(Clone, Debug)]
pub struct Declared {
    /// The family of the kernel; the best of some where none is named.
    pub family: Option<Family>,
    /// One length-scale, or one for each column.
    pub lengthscale: Option<Vec<f64>>,
    /// The variance of the kernel.
    pub variance: f64,
    /// The ridge.
    pub ridge: Option<f64>,
    /// Prior mean and unit; learnt where they are missing.
    pub prior: Option<Prior>,
    /// How the points were chosen: nobody but the user can know, and the certificate repeats it.
    pub collected: Collected,
    /// Whether rows that equal another in every number are measurements of their own, which nobody but the user can know either.
    pub distinct_rows: bool,
}

impl Declared {
    /// Whether something of kernel and ridge is left to be learnt.
    #[must_use]
    pub fn learns(&self) -> bool {
        self.lengthscale.is_none() || self.ridge.is_none()
    }
}

/// The kernel and all else that is needed before the pass over everything.
pub struct Learnt {
    /// The kernel, and where it came from.
    pub kernel: Sourced<Kernel>,
    /// The ridge, and where it came from.
    pub ridge: Sourced<f64>,
    /// The inducing points: as many as the evidence asked for, where the kernel was learnt.
    pub inducing: Sourced<Points>,
    /// To how many nats per row the evidence is known, where more inducing points would have told more.
    pub wide: Option<f64>,
    /// The posterior, where learning has seen every row.
    pub posterior: Option<Posterior>,
}

/// Kernel, ridge and inducing points: as declared, or learnt on a sample of the rows.
pub fn learn(rows: &Rows, prior: Prior, declared: &Declared, columns: &[ColumnInfo], plan: &Plan, seed: u64) -> Result<Learnt> {
    let dim = columns.len();
    if let (Some(lengths), Some(ridge)) = (&declared.lengthscale, declared.ridge) {
        let kernel = declared.family.unwrap_or(Family::Matern(2.5)).kernel(lengths, declared.variance, columns)?;
        let locations = Locations::new(Points::new(rows.points(plan.pool(), seed), dim)?, declared.collected);
        // Blocks of random pivots are many times faster than one greedy pivot after the other, and know locations alone, as a claim wants it.
        let rule = InducingRule::RandomlyPivoted(Stop::at_residual(0.1, plan.inducing));
        let inducing = rule.select(&kernel, ridge, &locations, seed)?.into_points();
        return Ok(Learnt { kernel: kernel.into(), ridge: ridge.into(), inducing, wide: None, posterior: None });
    }
    let sample = rows.sample(LEARNING_ROWS, seed);
    let everything = sample.len() == rows.len();
    let observations = Observations::new(Points::new(sample.x, dim)?, &sample.y, declared.collected, prior)?;
    let mut learning = Learning::new(templates(declared, &observations, columns)?);
    learning.inducing = plan.inducing;
    learning.stand_for = plan.fitted;
    learning.additive = declared.family.is_none();
    learning.exact_points = EXACT_POINTS;
    learning.seed = seed;
    if let Some(ridge) = declared.ridge {
        learning.ridge = ridge;
    }
    let learnt = fit_hyperparameters(&observations, &learning)?;
    Ok(Learnt {
        kernel: learnt.kernel().clone(),
        ridge: Sourced::new(learnt.ridge(), Origin::LearntHere),
        inducing: Sourced::new(learnt.inducing().to_points(), Origin::LearntHere),
        wide: learnt.capped.then(|| learnt.gap() / observations.len() as f64),
        posterior: everything.then(|| learnt.into_posterior()),
    })
}

/// Starts for learning: the spread of each column times the root of their number.
fn templates(declared: &Declared, observations: &Observations, columns: &[ColumnInfo]) -> Result<Vec<Kernel>> {
    let x = observations.locations().points();
    let (n, root) = (x.len() as f64, (columns.len() as f64).sqrt());
    let lengths: Vec<f64> = (0..columns.len())
        .map(|c| {
            let mean = x.rows().map(|row| row[c] / n).sum::<f64>();
            let spread = (x.rows().map(|row| (row[c] - mean).powi(2) / n).sum::<f64>()).sqrt();
            if columns[c].categories.is_none() && spread > 1e-12 * mean.abs() && spread > 0.0 { root * spread } else { 1.0 }
        })
        .collect();
    let families = declared.family.map_or_else(|| Family::DEFAULTS.to_vec(), |family| vec![family]);
    families.into_iter().map(|family| family.kernel(&lengths, 1.0, columns)).collect()
}

/// One pass over all rows; so many beside them had no response.
pub fn fit(rows: Rows, lost: usize, prior: Prior, learnt: Learnt, columns: usize, declared: &Declared) -> Result<Posterior> {
    // The learnt model knows its rows, and neither those that were lost nor what was declared about copies.
    if let Some(posterior) = learnt.posterior.filter(|_| lost == 0 && !declared.distinct_rows) {
        return Ok(posterior);
    }
    let features = Arc::new(FeatureMap::new(learnt.kernel, learnt.inducing)?);
    let observations = Observations::new(Points::new(rows.x, columns)?, &rows.y, declared.collected, prior)?.with_lost(lost);
    let observations = if declared.distinct_rows { observations.with_distinct_rows() } else { observations };
    Posterior::fit(features, learnt.ridge, observations)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inducing(rows: usize, slope: f64, seed: u64) -> Points {
        let x: Vec<f64> = (0..rows).map(|i| i as f64 / rows as f64).collect();
        let y = x.iter().map(|x| slope * x).collect();
        let declared = Declared {
            family: None,
            lengthscale: Some(vec![0.1]),
            variance: 1.0,
            ridge: Some(0.1),
            prior: None,
            collected: Collected::DeclaredFixed,
            distinct_rows: false,
        };
        let plan = Plan::new(rows, 0, 1, false, Some(8), None).unwrap();
        learn(&Rows { x, y }, Prior::ZERO, &declared, &[ColumnInfo::named("x")], &plan, seed).unwrap().inducing.value
    }

    /// Also where they are chosen from some of the rows: a claim is about a function whose noise chose nothing.
    #[test]
    fn inducing_points_of_a_declared_kernel_know_no_response() {
        assert_eq!(inducing(12_000, 1.0, 3), inducing(12_000, -2.0, 3));
    }

    #[test]
    fn inducing_points_of_a_declared_kernel_are_random_pivots() {
        assert_ne!(inducing(200, 1.0, 1), inducing(200, 1.0, 2));
    }
}
