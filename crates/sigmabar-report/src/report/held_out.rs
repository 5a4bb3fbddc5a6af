//! Checking a run's model on measurements it did not see.

use super::error::Result;
use super::study_model::StudyModel;
use crate::plot::HeldOut;
use sigmabar::strategy::Measured;
use sigmabar::{Collected, Observations, Points, Posterior, Prior};
use std::sync::Arc;

/// The fewest measurements worth holding some out.
pub(super) const FEWEST: usize = 20;
/// Multiplications that the refits may cost in all.
const MOST_WORK: f64 = 2e10;

/// Every tenth measurement predicted by a model that was fitted to the rest, ten times over (fewer where that takes long), under the run's kernel. Means of
/// replicates count as one measurement each, with their own standard error as noise.
pub(super) fn held_out(model: &StudyModel<'_>) -> Result<Vec<HeldOut>> {
    let measured: Vec<Measured<'_>> = model.run().ledger().all_measured().collect();
    if measured.len() < FEWEST {
        return Ok(Vec::new());
    }
    let information = model.posterior().posterior().information();
    let features = Arc::clone(information.features());
    let work = measured.len() as f64 * (features.len() as f64).powi(2);
    let folds = ((MOST_WORK / work) as usize).clamp(1, 10);
    let mut checks = Vec::new();
    for fold in 0..folds {
        let (out, kept): (Vec<usize>, Vec<usize>) = (0..measured.len()).partition(|i| i % 10 == fold);
        let points = |rows: &[usize]| Points::from_rows(&rows.iter().map(|&i| measured[i].point.to_vec()).collect::<Vec<_>>());
        let values: Vec<f64> = kept.iter().map(|&i| model.to_model(measured[i].value)).collect();
        let observations = Observations::new(points(&kept)?, &values, Collected::Adaptive, Prior::ZERO)?;
        let (mean, deviation) = Posterior::fit(Arc::clone(&features), information.ridge(), observations)?.predict(points(&out)?.view())?;
        for (j, &i) in out.iter().enumerate() {
            let Measured { id: trial, value, standard_error: error, .. } = measured[i];
            let function = model.spread(mean[j], deviation[j]);
            let noise = error.unwrap_or_else(|| model.spread(mean[j], model.noise()));
            checks.push(HeldOut { predicted: model.to_data(mean[j]), std_dev: function.hypot(noise), measured: value, trial });
        }
    }
    checks.retain(|check| check.std_dev > 0.0 && check.std_dev.is_finite());
    Ok(checks)
}
