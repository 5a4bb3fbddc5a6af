//! The inverse question: how many measurements are enough?

use super::{DesignedData, InducingPlan, Theorems};
use crate::error::{Result, positive};

/// The answer, with the bound it rests on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasurementCount {
    /// $n$: enough by the bound. It is the smallest such $n$ where the bound falls with $n$, as it does for $\gamma_n$ itself ($\gamma_n/n$ does not grow).
    pub measurements: usize,
    /// The bound at $n$.
    pub bound: f64,
}

/// The smallest $n \le$ `limit` with $2\gamma_n/n \le \log(1+\varepsilon^2/\tau^2)$: enough for $\bar\sigma \le \varepsilon$ everywhere after a max-variance design with $\lambda=0$ (algorithm notes
/// 0.5), or `None` when none is. `max_gain(n)` gives $\gamma_n$ or an upper bound, for example [`crate::gain::GainDomain::rank_tail`] (instant) or
/// [`crate::gain::GainDomain::max_gain`] (sharper). The bound returned is the one on $\bar\sigma$. Calls it O(log n) times.
///
/// # Errors
/// [`crate::Error::Parameter`] for a value that is not positive, and whatever `max_gain` refuses.
pub fn measurements_for_variance(
    std_dev: f64,
    ridge: f64,
    limit: usize,
    mut max_gain: impl FnMut(usize) -> Result<f64>,
) -> Result<Option<MeasurementCount>> {
    positive("std_dev", std_dev)?;
    let tau2 = positive("ridge", ridge)?.powi(2);
    smallest(std_dev, limit, |n| Ok((tau2 * (2.0 * max_gain(n)? / n as f64).exp_m1()).sqrt()))
}

impl Theorems {
    /// The smallest $n \le$ `limit` for which [`Theorems::regression_finite`] is at most `error`, or `None` when none is (algorithm notes 6.5). With
    /// [`InducingPlan::Fixed`] the plan's residual is kept and its gain replaced by `max_gain(n)`. Calls `max_gain` O(log n) times.
    ///
    /// # Errors
    /// As [`Theorems::regression_finite`], and whatever `max_gain` refuses.
    pub fn measurements_for(
        &self,
        error: f64,
        domain_size: usize,
        plan: InducingPlan,
        limit: usize,
        mut max_gain: impl FnMut(usize) -> Result<f64>,
    ) -> Result<Option<MeasurementCount>> {
        positive("error", error)?;
        smallest(error, limit, |n| {
            let gain = max_gain(n)?;
            let inducing = match plan {
                InducingPlan::Fixed { max_residual, .. } => InducingPlan::Fixed { max_residual, gain },
                InducingPlan::Redrawn => plan,
            };
            let design = DesignedData { evaluations: n, max_gain: gain, inducing };
            Ok(self.regression_finite(&design, domain_size)?.corrected)
        })
    }
}

/// The smallest `n ≤ limit` with `bound(n) ≤ target`, for a bound that falls: doubling, then bisection. What is returned has been checked itself.
fn smallest(target: f64, limit: usize, mut bound: impl FnMut(usize) -> Result<f64>) -> Result<Option<MeasurementCount>> {
    let (mut too_few, mut n) = (0, 1);
    let mut enough = loop {
        if n > limit {
            return Ok(None);
        }
        let value = bound(n)?;
        if value <= target {
            break MeasurementCount { measurements: n, bound: value };
        }
        too_few = n;
        n = if n == limit { limit + 1 } else { n.saturating_mul(2).min(limit) };
    };
    while enough.measurements - too_few > 1 {
        let middle = too_few + (enough.measurements - too_few) / 2;
        let value = bound(middle)?;
        if value <= target {
            enough = MeasurementCount { measurements: middle, bound: value };
        } else {
            too_few = middle;
        }
    }
    Ok(Some(enough))
}
