//! What to do if the run ended now.

use super::ledger::{Ledger, Measured};
use super::problem::Problem;
use crate::certificate::{About, Bounds, Certificate, Claimed, Label, Premises, Theorem};
use crate::noise::Noise;
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
        range: None,
    }
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
