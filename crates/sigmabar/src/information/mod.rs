//! Where we looked: everything about the posterior that needs no response — variance, its parts, weights, information gain.

mod absorb;
mod path;
mod query;
mod rounding;
mod update;

pub use absorb::{FitFacts, GramMethod};
pub use path::{RidgePath, RidgeTerms};
pub use query::VarianceParts;

pub(crate) use absorb::{Absorbed, absorb};
use absorb::{WHITEN_AFTER_SHARE, factor};
pub(crate) use rounding::{PartsRounding, Sizes};

use crate::error::{Result, positive};
use crate::features::FeatureMap;
use crate::origin::{Origin, Sourced};
use crate::points::{Collected, Locations};
use sigmabar_linalg::{Lower, Matrix};
use std::sync::Arc;

/// The information $B = I + \tau^{-2} G$, $G = \sum_i c_i\,\psi(x_i)\psi(x_i)^\top$, that measuring at the locations gives about the features.
///
/// It has never seen a response. Design works on this type alone, so that "the points do not depend on the noise" is a fact of the types.
#[derive(Clone, Debug)]
pub struct Information {
    features: Arc<FeatureMap>,
    locations: Arc<Locations>,
    ridge: f64,
    ridge_origin: Origin,
    /// $G$, both triangles.
    gram: Matrix,
    /// $L_B$ with $B = L_B L_B^\top$.
    lower: Lower,
    /// $\operatorname{tr} K = \sum_i c_i k(x_i,x_i)$.
    prior_trace: f64,
    /// $\operatorname{tr} D = \sum_i c_i s_1^2(x_i)$, as computed.
    residual_trace: f64,
    facts: FitFacts,
    /// Rank-one updates of $L_B$ since it was factored.
    updates: usize,
}

impl Information {
    /// Streams over the locations once. Cost O(n(md + m²) + m³), memory O(m²).
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] for a ridge that is not positive, [`crate::Error::Width`] for locations of another width, a failed self-check.
    pub fn new(features: Arc<FeatureMap>, ridge: impl Into<Sourced<f64>>, locations: Arc<Locations>) -> Result<Self> {
        let ridge = ridge.into();
        let absorbed = absorb(&features, ridge.value, &locations, None)?;
        Self::assemble(features, ridge, locations, absorbed)
    }

    pub(crate) fn assemble(features: Arc<FeatureMap>, ridge: Sourced<f64>, locations: Arc<Locations>, absorbed: Absorbed) -> Result<Self> {
        positive("ridge", ridge.value)?;
        let Absorbed { gram, lower, prior_trace, residual_trace, facts, updates, .. } = absorbed;
        Ok(Self {
            features,
            locations,
            ridge: ridge.value,
            ridge_origin: ridge.origin,
            gram,
            lower,
            prior_trace,
            residual_trace,
            facts,
            updates,
        })
    }

    /// The features.
    #[must_use]
    pub fn features(&self) -> &Arc<FeatureMap> {
        &self.features
    }

    /// Where was measured.
    #[must_use]
    pub fn locations(&self) -> &Arc<Locations> {
        &self.locations
    }

    /// The ridge $\tau$: the standard deviation of the noise in the model.
    #[must_use]
    pub fn ridge(&self) -> f64 {
        self.ridge
    }

    /// Where the ridge came from.
    #[must_use]
    pub fn ridge_origin(&self) -> Origin {
        self.ridge_origin
    }

    /// What is now said about how the points were chosen.
    pub(crate) fn declare(&mut self, collected: Collected) {
        Arc::make_mut(&mut self.locations).declare(collected);
    }

    /// $G = \sum_i c_i\,\psi(x_i)\psi(x_i)^\top$.
    #[must_use]
    pub fn gram(&self) -> &Matrix {
        &self.gram
    }

    /// The factor $L_B$ of $B = I + G/\tau^2$.
    #[must_use]
    pub fn lower(&self) -> &Lower {
        &self.lower
    }

    /// Number of observations $n$, repetitions counted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.locations.len()
    }

    /// Never true.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// $\operatorname{tr} K = \sum_i c_i k(x_i,x_i)$.
    #[must_use]
    pub fn prior_trace(&self) -> f64 {
        self.prior_trace
    }

    /// $\operatorname{tr} D = \sum_i c_i s_1^2(x_i)$ as computed, without the rounding that a certificate adds.
    #[must_use]
    pub fn residual_trace(&self) -> f64 {
        self.residual_trace
    }

    /// $\operatorname{tr}D$ enlarged by a bound on its rounding that costs no pass: one residual's bound per observation, what the sums lose, and on the method that
    /// whitens after the product the change of $\operatorname{tr}G$, at most $\sqrt m$ times the Frobenius bound.
    pub(crate) fn certified_residual_trace(&self) -> f64 {
        let m = self.features.len() as f64;
        let largest = self.features.kernel().max_diagonal(self.locations.points());
        let per_point = self.len() as f64 * self.features.residual_rounding(largest);
        let sums = (self.facts.summation_length + m) * f64::EPSILON * self.prior_trace + m.sqrt() * self.facts.whitening_bound;
        self.residual_trace + per_point + sums
    }

    /// Rank-one updates of $L_B$ since it was factored.
    pub(crate) fn updates(&self) -> usize {
        self.updates
    }

    /// How the fit was computed.
    #[must_use]
    pub fn facts(&self) -> &FitFacts {
        &self.facts
    }

    /// The information gain of the sparse model, $I_\kappa = \tfrac12\log\det(I + \kappa_{XX}/\tau^2) = \sum_i \log (L_B)_{ii}$. Cost O(m).
    #[must_use]
    pub fn gain(&self) -> f64 {
        0.5 * self.lower.log_det()
    }

    /// A bound on $\lVert B\rVert_2$: the largest absolute row sum.
    #[must_use]
    pub fn norm_bound(&self) -> f64 {
        let m = self.gram.rows();
        let largest = (0..m).map(|i| self.gram.row(i).iter().map(|v| v.abs()).sum::<f64>()).fold(0.0, f64::max);
        1.0 + largest / (self.ridge * self.ridge)
    }
}
