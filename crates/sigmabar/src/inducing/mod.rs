//! Choosing inducing points: one enum of rules, one function that applies them, and the partial Cholesky factor underneath
//! (algorithm notes 1, 2, 3.1, 4 and 8.4).
//!
//! No rule sees a response. Every rule takes the locations as distinct points with counts and means the matrix $C^{1/2}KC^{1/2}$, so that
//! repeated rows and counted points are one and the same.

mod bless;
mod certify;
mod chain;
mod chunk;
mod density;
mod determinantal;
mod leverage;
mod means;
mod partial;
mod pivoted;
mod pivots;
mod posterior_variance;
mod recursive;
mod rule;
mod sampling;
mod stop;
mod weighted;

pub use partial::PartialCholesky;
pub use posterior_variance::posterior_variance_probabilities;
pub use rule::InducingRule;
pub use stop::Stop;

use crate::error::Result;
use crate::origin::{Origin, Sourced};
use crate::points::{Locations, Points, PointsRef};
use crate::residual::ResidualNorm;

/// Inducing points as a rule chose them, with what the rule learnt on the way.
#[derive(Clone, Debug, PartialEq)]
pub struct Inducing {
    points: Points,
    indices: Option<Vec<usize>>,
    residual_norm: Option<ResidualNorm>,
    scores: Option<Vec<f64>>,
    inclusion: Option<Vec<f64>>,
}

impl Inducing {
    /// Points from anywhere.
    fn anywhere(points: Points) -> Self {
        Self { points, indices: None, residual_norm: None, scores: None, inclusion: None }
    }

    /// Distinct locations by their indices.
    fn chosen(locations: &Locations, indices: Vec<usize>) -> Result<Self> {
        let points = locations.points().select(&indices)?;
        Ok(Self { indices: Some(indices), ..Self::anywhere(points) })
    }

    fn with_residual_norm(self, norm: ResidualNorm) -> Self {
        Self { residual_norm: Some(norm), ..self }
    }

    fn with_scores(self, scores: Vec<f64>) -> Self {
        Self { scores: Some(scores), ..self }
    }

    fn with_inclusion(self, probabilities: Vec<f64>) -> Self {
        Self { inclusion: Some(probabilities), ..self }
    }

    /// The inducing points.
    #[must_use]
    pub fn points(&self) -> PointsRef<'_> {
        self.points.view()
    }

    /// Gives the inducing points away: no response was looked at.
    #[must_use]
    pub fn into_points(self) -> Sourced<Points> {
        Sourced::new(self.points, Origin::Guaranteed)
    }

    /// Which distinct locations they are, in the order chosen; `None` for points that need not be locations.
    #[must_use]
    pub fn indices(&self) -> Option<&[usize]> {
        self.indices.as_deref()
    }

    /// A certified bound on $\lambda_{\max}(C^{1/2}DC^{1/2})$ over the locations, where the rule has one as a by-product (the pivoted rules).
    /// For the others [`PartialCholesky::with_points`] gives it, and every fit gives the trace.
    #[must_use]
    pub fn residual_norm(&self) -> Option<ResidualNorm> {
        self.residual_norm
    }

    /// The ridge leverage score the rule computed for every distinct location, $\ell_i \approx c_i\sigma^2(x_i)/\tau^2$; recursive sampling
    /// gives over-estimates.
    #[must_use]
    pub fn scores(&self) -> Option<&[f64]> {
        self.scores.as_deref()
    }

    /// The probability with which each chosen point was included, for the rules that include every location on its own.
    #[must_use]
    pub fn inclusion(&self) -> Option<&[f64]> {
        self.inclusion.as_deref()
    }
}
