//! Where we looked: everything about the posterior that needs no response — variance, its parts, weights, information gain.

mod absorb;
mod ahead;
mod known;
mod path;
mod query;
mod rounding;
mod update;

pub use absorb::{FitFacts, GramMethod};
pub use path::{RidgePath, RidgeTerms};
pub use query::VarianceParts;

use absorb::WHITEN_AFTER_SHARE;
pub(crate) use absorb::{Absorbed, absorb, factor, of_root};
pub(crate) use ahead::Ahead;
use known::Known;
pub(crate) use rounding::{PartsRounding, Sizes};

use crate::error::{Result, positive};
use crate::features::FeatureMap;
use crate::origin::{Origin, Sourced};
use crate::points::{Collected, KeptLocations, Locations, SummedLocations};
use sigmabar_linalg::{Lower, Matrix};
use std::sync::Arc;

/// The information $B = I + \tau^{-2} G$, $G = \sum_i c_i\,\psi(x_i)\psi(x_i)^\top$, that measuring at the locations gives about the features.
///
/// It has never seen a response. Design works on this type alone, so that "the points do not depend on the noise" is a fact of the types.
#[derive(Clone, Debug)]
pub struct Information {
    features: Arc<FeatureMap>,
    locations: KeptLocations,
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
    /// For claims without rows.
    ahead: Option<Arc<Ahead>>,
    known: Known,
}

impl Information {
    /// Streams over the locations once. Cost O(n(md + m²) + m³), memory O(m²).
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] for a ridge that is not positive, [`crate::Error::Width`] for locations of another width, a failed self-check.
    pub fn new(features: Arc<FeatureMap>, ridge: impl Into<Sourced<f64>>, locations: Arc<Locations>) -> Result<Self> {
        let ridge = ridge.into();
        let absorbed = absorb(&features, ridge.value, &locations, None)?;
        Self::assemble(features, ridge, KeptLocations::Rows(locations), absorbed)
    }

    /// The same locations under a kernel whose length-scales are all multiplied by a factor.
    pub(crate) fn stretched(&self, factor: f64) -> Result<Self> {
        Self::new(Arc::new(self.features.stretched(factor)?), self.sourced_ridge(), Arc::clone(self.locations()?))
    }

    pub(crate) fn sourced_ridge(&self) -> Sourced<f64> {
        Sourced::new(self.ridge, self.ridge_origin)
    }

    pub(crate) fn assemble(features: Arc<FeatureMap>, ridge: Sourced<f64>, locations: KeptLocations, absorbed: Absorbed) -> Result<Self> {
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
            ahead: None,
            known: Known::default(),
        })
    }

    /// The features.
    #[must_use]
    pub fn features(&self) -> &Arc<FeatureMap> {
        &self.features
    }

    /// Where was measured.
    ///
    /// # Errors
    /// [`crate::Error::Missing`] where only sums over the rows are left.
    pub fn locations(&self) -> Result<&Arc<Locations>> {
        self.locations.rows()
    }

    pub(crate) fn kept(&self) -> &KeptLocations {
        &self.locations
    }

    /// Whether every measured row is still there, and not only sums over them.
    #[must_use]
    pub fn has_rows(&self) -> bool {
        self.locations.rows().is_ok()
    }

    /// Number of distinct points; of all where only sums over the rows are left.
    #[must_use]
    pub fn distinct(&self) -> usize {
        self.locations.distinct()
    }

    /// How the points were chosen.
    #[must_use]
    pub fn collected(&self) -> Collected {
        self.locations.collected()
    }

    /// The largest prior variance at a measured point.
    pub(crate) fn largest_variance(&self) -> f64 {
        match &self.locations {
            KeptLocations::Rows(locations) => self.features.kernel().max_diagonal(locations.points()),
            KeptLocations::Sums(sums) => sums.largest,
        }
    }

    /// The same measurements through more inducing points, where that was kept in the place of the rows.
    pub(crate) fn ahead(&self) -> Option<&Ahead> {
        self.ahead.as_deref()
    }

    pub(crate) fn known(&self) -> &Known {
        &self.known
    }

    pub(crate) fn with_ahead(self, ahead: Option<Ahead>) -> Self {
        Self { ahead: ahead.map(Arc::new), known: Known::default(), ..self }
    }

    /// The same without the rows.
    pub(crate) fn summed(&self) -> Self {
        let (rows, largest, collected) = (self.len(), self.largest_variance(), self.collected());
        let (total, log_weights) = (self.locations.total(), self.locations.log_weights());
        Self { locations: KeptLocations::Sums(SummedLocations { rows, total, largest, log_weights, collected }), ..self.clone() }
    }

    /// The same measurements under another ridge. None where that ridge asks for reflections instead of a Gram matrix, or these made the factor. Cost O(m³).
    pub(crate) fn at_ridge(&self, ridge: f64) -> Option<Self> {
        let reflected = self.facts.method == GramMethod::Orthogonal
            || absorb::asks_for_reflections(self.locations.total(), self.largest_variance(), ridge);
        if reflected || positive("ridge", ridge).is_err() {
            return None;
        }
        let lower = factor(&self.gram, ridge).ok()?;
        Some(Self { ridge, lower, updates: 0, ..self.clone() })
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
        self.locations.declare(collected);
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

    /// $\operatorname{tr}D$ enlarged by a bound on its rounding that costs no pass: one residual's bound for each, with its weight, what the sums lose, and on the method that
    /// whitens after the product the change of $\operatorname{tr}G$, at most $\sqrt m$ times the Frobenius bound.
    pub(crate) fn certified_residual_trace(&self) -> f64 {
        let m = self.features.len() as f64;
        let largest = self.largest_variance();
        let per_point = self.locations.total() * self.features.residual_rounding(largest);
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
