//! The theorems as numbers.

use crate::arrays::Rows;
use crate::error::raise;
use crate::kernel::PyKernel;
use crate::noise::PyNoise;
use crate::work;
use pyo3::prelude::*;
use sigmabar::Collected;
use sigmabar::gain::{DataGain, GainBoundKind, GainDomain};
use sigmabar::noise::Replicates;
use sigmabar::points::Locations;
use sigmabar::theory::{
    Bound as TheoryBound, DesignedData, InducingPlan, Multiplier, RegretBatch, RegretRequest, Setting, Theorems, batch_lengths,
    batch_lengths_for, even_batch_lengths, measurements_for_variance,
};

/// What the bounds rest on.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct SettingParts {
    norm_bound: f64,
    noise: Py<PyNoise>,
    tau: f64,
    delta: f64,
    residual_ratio: f64,
    max_variance: f64,
}

impl SettingParts {
    fn theorems(&self) -> PyResult<Theorems> {
        Theorems::new(Setting {
            norm_bound: self.norm_bound,
            noise: self.noise.get().inner.clone(),
            ridge: self.tau,
            delta: self.delta,
            residual_ratio: self.residual_ratio,
            max_variance: self.max_variance,
        })
        .map_err(raise)
    }

    /// The exact model, or inducing points drawn anew at each step.
    fn design(&self, evaluations: usize, max_gain: f64) -> DesignedData {
        DesignedData { evaluations, max_gain, inducing: self.plan(max_gain) }
    }

    fn plan(&self, gain: f64) -> InducingPlan {
        if self.residual_ratio == 0.0 { InducingPlan::Fixed { max_residual: 0.0, gain } } else { InducingPlan::Redrawn }
    }
}

fn both(bound: TheoryBound) -> (f64, f64, String) {
    (bound.corrected, bound.paper, bound.statement.to_string())
}

/// Lower bound on the largest information gain of `evaluations` measurements among the candidates, and the upper bounds by their kinds.
#[pyfunction]
pub fn gain_bounds(
    py: Python<'_>,
    kernel: &PyKernel,
    tau: f64,
    candidates: Rows,
    evaluations: usize,
) -> PyResult<(f64, Vec<(&'static str, f64)>)> {
    let kernel = kernel.inner.value.clone();
    let gain = work::run(py, move || GainDomain::new(&kernel, tau, candidates.view()?)?.max_gain(evaluations))?;
    let kind = |kind| match kind {
        GainBoundKind::Greedy => "greedy",
        GainBoundKind::Dual => "dual",
        _ => "rank-tail",
    };
    Ok((gain.lower, gain.bounds.iter().map(|bound| (kind(bound.kind), bound.value)).collect()))
}

/// Effective dimension and information gain of measured points under the exact kernel.
#[pyfunction]
pub fn data_gain(py: Python<'_>, kernel: &PyKernel, tau: f64, x: Rows) -> PyResult<(f64, f64)> {
    let kernel = kernel.inner.value.clone();
    let gain = work::run(py, move || DataGain::new(&kernel, tau, &Locations::new(x.to_points()?, Collected::DeclaredFixed)))?;
    Ok((gain.effective_dimension, gain.gain))
}

/// The corrected bound, the paper's expression and where it stands.
#[pyfunction]
pub fn regression_bound(setting: SettingParts, evaluations: usize, max_gain: f64, domain_size: usize) -> PyResult<(f64, f64, String)> {
    let design = setting.design(evaluations, max_gain);
    setting.theorems()?.regression_finite(&design, domain_size).map(both).map_err(raise)
}

/// The same for the regret of batched elimination with these batch lengths; `max_gain` stands for the gain of every batch.
#[pyfunction]
pub fn regret_bound(
    setting: SettingParts,
    budget: usize,
    max_gain: f64,
    lengths: Vec<usize>,
    domain_size: usize,
) -> PyResult<(f64, f64, String)> {
    let batches: Vec<RegretBatch> = lengths.iter().map(|&n| RegretBatch { design: setting.design(n, max_gain), cover: None }).collect();
    let request = RegretRequest { budget, max_gain, multiplier: Multiplier::Direct, batches: &batches };
    setting.theorems()?.regret_finite(&request, domain_size).map(both).map_err(raise)
}

/// How many measurements make the uniform error at most `error`, and the bound at that number.
#[pyfunction]
pub fn samples_for_error(
    py: Python<'_>,
    setting: SettingParts,
    kernel: &PyKernel,
    candidates: Rows,
    error: f64,
    limit: usize,
) -> PyResult<Option<(usize, f64)>> {
    let (theorems, plan, tau) = (setting.theorems()?, setting.plan(0.0), setting.tau);
    let kernel = kernel.inner.value.clone();
    work::run(py, move || {
        let points = candidates.view()?;
        let domain = GainDomain::new(&kernel, tau, points)?;
        theorems.measurements_for(error, points.len(), plan, limit, |n| Ok(domain.rank_tail(n)?.value))
    })
    .map(|count| count.map(|c| (c.measurements, c.bound)))
}

/// How many measurements make every standard deviation at most `std`, and the bound at that number.
#[pyfunction]
pub fn samples_for_std(
    py: Python<'_>,
    kernel: &PyKernel,
    tau: f64,
    candidates: Rows,
    std: f64,
    limit: usize,
) -> PyResult<Option<(usize, f64)>> {
    let kernel = kernel.inner.value.clone();
    work::run(py, move || {
        let domain = GainDomain::new(&kernel, tau, candidates.view()?)?;
        measurements_for_variance(std, tau, limit, |n| Ok(domain.rank_tail(n)?.value))
    })
    .map(|count| count.map(|c| (c.measurements, c.bound)))
}

/// Batch lengths by the recursion, or for a number of batches.
#[pyfunction]
pub fn batch_sizes(budget: usize, batches: Option<usize>, even: bool, gain_exponent: f64) -> PyResult<Vec<usize>> {
    if even && batches.is_none() {
        return Err(raise("even=True needs the number of batches: give it as batches"));
    }
    if gain_exponent != 0.0 && (even || batches.is_none()) {
        return Err(raise("gain_exponent shapes the lengths of a given number of batches that are not even: leave it out otherwise"));
    }
    match batches {
        None => batch_lengths(budget),
        Some(count) if even => even_batch_lengths(budget, count),
        Some(count) => batch_lengths_for(budget, count, gain_exponent),
    }
    .map_err(raise)
}

/// A norm bound from hills and valleys.
#[pyfunction]
pub fn norm_of_hills(height: f64, hills: usize) -> PyResult<f64> {
    sigmabar::theory::norm_of_hills(height, hills).map_err(raise)
}

/// The pooled standard deviation of replicates, the bound on the level, and the degrees of freedom; none without replicates.
#[pyfunction]
pub fn replicates(x: Rows, y: Vec<f64>, delta: f64) -> PyResult<Option<(f64, f64, usize)>> {
    let found = x.to_points().and_then(|points| Replicates::of(points, &y)).map_err(raise)?;
    let bound = found.level_bound(delta).map_err(raise)?;
    Ok(found.std_dev().zip(bound).map(|(pooled, bound)| (pooled, bound, found.freedom())))
}
