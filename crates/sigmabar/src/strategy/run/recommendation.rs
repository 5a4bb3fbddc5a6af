//! What to do if the run ended now.

use super::ledger::{Ledger, Measured};
use super::problem::Problem;
use crate::certificate::{About, Bounds, Certificate, Claimed, Label, Premises, Theorem};
use crate::error::Result;
use crate::noise::Noise;
use crate::points::{Collected, Locations, Observations, Points, Prior};
use crate::posterior::ExactPosterior;
use serde::{Deserialize, Serialize};

/// The recommended setting with what is known about it, in the data's scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recommendation {
    /// The setting, in the coordinates of the domain's model.
    pub point: Vec<f64>,
    /// Its candidate, on a finite domain.
    pub candidate: Option<usize>,
    /// Lower end of the interval for its true value.
    pub lower: f64,
    /// Upper end of the interval for its true value.
    pub upper: f64,
    /// How far from the best setting of the declared domain it can still be; infinite where nothing is known about the rest of the domain.
    pub gap: f64,
    /// How far it can be from the best of the generated candidates that stand for a box or a space; none where the domain itself is searched.
    pub candidate_gap: Option<f64>,
    /// What interval and gap rest on, and with it what they may be called.
    pub certificate: Certificate,
}

impl Recommendation {
    /// What interval and gap may be called.
    #[must_use]
    pub fn label(&self) -> Label {
        self.certificate.label()
    }
}

/// How much is still possible.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum StillPossible {
    /// So many of the candidates.
    Candidates(usize),
    /// This share of the domain.
    Share(f64),
}

impl StillPossible {
    /// The count or the share, for tables whose readers know which.
    #[must_use]
    pub fn number(self) -> f64 {
        match self {
            Self::Candidates(count) => count as f64,
            Self::Share(share) => share,
        }
    }
}

/// A closed batch in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchReport {
    /// Evaluations planned.
    pub planned: usize,
    /// Evaluations that arrived in time with a value.
    pub measured: usize,
    /// Candidates or share of the domain still possible afterwards, where the policy rules settings out.
    pub survivors: Option<StillPossible>,
    /// The optimality gap afterwards, in the data's scale.
    pub gap: Option<f64>,
    /// The gap among the generated candidates, where these stand for the domain.
    pub candidate_gap: Option<f64>,
    /// What the gap rests on, where there is one.
    pub certificate: Option<Certificate>,
    /// Inducing points in use, where the policy has any.
    pub inducing: Option<usize>,
}

impl BatchReport {
    /// What the book alone says.
    pub(crate) fn plain(ledger: &Ledger, batch: usize) -> Self {
        let (planned, measured) = (ledger.batch(batch).len(), ledger.measured(batch).count());
        Self { planned, measured, survivors: None, gap: None, candidate_gap: None, certificate: None, inducing: None }
    }
}

/// Everything measured, before the run and in it, in model coordinates: points and values where larger is better.
pub(crate) fn measurements(problem: &Problem, ledger: &Ledger) -> (Vec<Vec<f64>>, Vec<f64>) {
    ledger.all_measured().map(|m| (m.point.to_vec(), problem.to_model(m.value))).unzip()
}

/// The measured point with the largest $\mu-\sigma/2$ under the exact posterior: shrinks lucky single draws. Without a kernel, the largest average.
///
/// The interval is $\mu\pm2\sigma$, a heuristic.
pub(crate) fn by_posterior(problem: &Problem, ledger: &Ledger) -> Result<Option<Recommendation>> {
    let (rows, values) = measurements(problem, ledger);
    if rows.is_empty() {
        return Ok(None);
    }
    let points = Points::from_rows(&rows)?;
    let (mean, deviation) = match (problem.kernel(), problem.ridge()) {
        (Some(kernel), Some(ridge)) => {
            let weights: Vec<f64> = ledger.all_measured().map(|m| weight(problem, &m)).collect();
            let observations = Observations::weighted(points.clone(), &values, &weights, Collected::Adaptive, Prior::ZERO)?;
            let posterior = ExactPosterior::new(kernel.clone(), ridge, observations)?;
            (posterior.mean(points.view())?, posterior.std_dev(points.view())?)
        }
        _ => {
            let errors: Vec<Option<f64>> = ledger.all_measured().map(|m| m.standard_error.map(|e| e / problem.prior().unit())).collect();
            averages(&points, &values, &errors)?
        }
    };
    let score = |i: usize| mean[i] - 0.5 * deviation[i];
    let best = (0..rows.len()).max_by(|&a, &b| score(a).total_cmp(&score(b)).then(b.cmp(&a))).unwrap_or(0);
    let (low, high) = (mean[best] - 2.0 * deviation[best], mean[best] + 2.0 * deviation[best]);
    let (a, b) = (problem.to_data(low), problem.to_data(high));
    Ok(Some(Recommendation {
        point: rows[best].clone(),
        candidate: ledger.all_measured().nth(best).and_then(|m| m.candidate),
        lower: a.min(b),
        upper: a.max(b),
        gap: f64::INFINITY,
        candidate_gap: None,
        certificate: model_certificate(problem, problem.premises(rows.len())),
    }))
}

/// The certificate of what a model says about a run by itself.
pub(crate) fn model_certificate(problem: &Problem, premises: Premises) -> Certificate {
    Certificate {
        claim: Claimed::Optimum,
        about: About::of_domain(problem.domain()),
        delta: problem.delta(),
        spent: Vec::new(),
        theorem: Theorem::Model,
        premises,
        bounds: Bounds::default(),
        contradiction: None,
    }
}

/// The average of each measured point, weighed by the noise of its values, and its standard error. Values without a standard error of their own have the
/// pooled scatter of replicates as noise; without replicates the scatter of all values.
fn averages(points: &Points, values: &[f64], errors: &[Option<f64>]) -> Result<(Vec<f64>, Vec<f64>)> {
    let locations = Locations::new(points.clone(), Collected::Adaptive);
    let single: Vec<f64> = errors.iter().map(|e| f64::from(u8::from(e.is_none()))).collect();
    let summed = |terms: Vec<f64>| locations.sum_by_point("values", &terms);
    let (counts, sums) = (summed(single.clone())?, summed(values.iter().zip(&single).map(|(v, s)| v * s).collect())?);
    let residual = |row: usize| {
        let i = locations.distinct_of(row);
        if single[row] > 0.0 { values[row] - sums[i] / counts[i] } else { 0.0 }
    };
    let scatter: f64 = (0..values.len()).map(|row| residual(row).powi(2)).sum();
    let freedom = counts.iter().map(|c| (c - 1.0).max(0.0)).sum::<f64>();
    // Replicates that agree to the last bit have no scatter: they are as good as a number is, and their weights must not run over.
    let rounding = values.iter().fold(1e-100, |most: f64, v| most.max(v.abs() * f64::EPSILON));
    let pooled = if freedom > 0.0 { (scatter / freedom).sqrt() } else { Prior::learnt(values)?.unit() }.max(rounding);
    let precision: Vec<f64> = errors.iter().map(|e| e.unwrap_or(pooled).max(rounding).powi(-2)).collect();
    let (totals, weighed) = (summed(precision.clone())?, summed(values.iter().zip(&precision).map(|(v, p)| v * p).collect())?);
    let at = |row: usize| {
        let i = locations.distinct_of(row);
        (weighed[i] / totals[i], totals[i].sqrt().recip())
    };
    Ok((0..values.len()).map(at).unzip())
}

/// How many observations of the usual noise one is worth: as many as replicates were told, else $(R/\mathrm{se})^2$ for a mean told with its standard error.
pub(crate) fn weight(problem: &Problem, measured: &Measured<'_>) -> f64 {
    if let Some(replicates) = measured.replicates {
        return f64::from(replicates);
    }
    let usual = problem.noise().map(Noise::std_dev_bound).or(problem.ridge());
    match (usual, measured.standard_error) {
        (Some(usual), Some(standard_error)) => (usual * problem.prior().unit() / standard_error).powi(2),
        _ => 1.0,
    }
}
