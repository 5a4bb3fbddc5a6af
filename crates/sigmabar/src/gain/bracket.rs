//! What the sparse model knows about the exact model's gain, dimension and evidence: two-sided bounds that include their rounding.

use crate::error::Result;
use crate::information::Information;
use crate::posterior::Posterior;
use serde::{Deserialize, Serialize};
use sigmabar_linalg::{Matrix, norm_squared};

/// A number known from both sides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bracket {
    /// Never above the number.
    pub lower: f64,
    /// Never below it.
    pub upper: f64,
}

impl Bracket {
    /// Whether a value lies between the two bounds.
    #[must_use]
    pub fn contains(&self, value: f64) -> bool {
        self.lower <= value && value <= self.upper
    }
}

impl Information {
    /// The effective dimension $\tilde d = \operatorname{tr} K(K+\tau^2I)^{-1}$ of the data under the *exact* kernel, from the sparse model:
    /// $\tilde d_\kappa \le \tilde d \le \tilde d_\kappa + \operatorname{tr}D/\tau^2$ with $\tilde d_\kappa = \operatorname{tr} G(G+\tau^2I)^{-1} = m - \operatorname{tr}B^{-1}$
    /// (algorithm notes 6.4), both sides moved outwards by their rounding bounds. Cost O(m³).
    ///
    /// # Errors
    /// A failed self-check.
    pub fn effective_dimension(&self) -> Result<Bracket> {
        let m = self.features().len();
        // tr B⁻¹ = ‖L_B⁻¹‖_F²
        let mut inverse = Matrix::identity(m);
        self.lower().solve_rows(inverse.as_mut_slice())?;
        let dimension = m as f64 - norm_squared(inverse.as_slice());
        // B' = B + ΔB with ‖ΔB‖ ≤ η and ‖B⁻¹‖ ≤ 1: |tr B'⁻¹ − tr B⁻¹| ≤ mη/(1−η), never more than m.
        let eta = self.rounding();
        let rounding = if eta < 0.5 { m as f64 * (eta / (1.0 - eta) + 4.0 * m as f64 * f64::EPSILON) } else { m as f64 };
        let tau2 = self.ridge() * self.ridge();
        let most = (self.len() as f64).min(self.prior_trace() / tau2 * (1.0 + 1e-12));
        let upper = dimension + rounding + self.certified_residual_trace() / tau2;
        Ok(Bracket { lower: (dimension - rounding).max(0.0), upper: upper.min(most).max(0.0) })
    }

    /// The information gain $I = \tfrac12\log\det(I+K/\tau^2)$ of the data under the *exact* kernel, from the sparse model:
    /// $I_\kappa \le I \le I_\kappa + \operatorname{tr}D/(2\tau^2)$, both sides moved outwards by their rounding bounds. Cost O(m²).
    ///
    /// The upper side holds because $\log\det$ is concave: its slope at $\kappa$ in the direction $D$ is $\operatorname{tr}(\kappa+\tau^2I)^{-1}D \le \operatorname{tr}D/\tau^2$.
    #[must_use]
    pub fn gain_bracket(&self) -> Bracket {
        let m = self.features().len() as f64;
        let (gain, eta) = (self.gain(), self.rounding());
        // ½|log det B' − log det B| ≤ ½mη/(1−η)
        let rounding = if eta < 0.5 { 0.5 * m * eta / (1.0 - eta) + 4.0 * m * f64::EPSILON * (1.0 + gain) } else { f64::INFINITY };
        let tau2 = self.ridge() * self.ridge();
        // Hadamard and the arithmetic mean: I ≤ (n/2) log(1 + tr K/(nτ²)).
        let n = self.len() as f64;
        let most = 0.5 * n * (self.prior_trace() / (n * tau2)).ln_1p() * (1.0 + 1e-12);
        let upper = gain + rounding + self.certified_residual_trace() / (2.0 * tau2);
        Bracket { lower: (gain - rounding).max(0.0), upper: upper.min(most) }
    }
}

impl Posterior {
    /// The log evidence of the *exact* model from both sides: the ELBO below, [`Posterior::log_evidence_upper_bound`] above (algorithm notes 0.3), both moved
    /// outwards by their rounding bounds. Cost O(m³).
    ///
    /// # Errors
    /// As [`Posterior::log_evidence_upper_bound`].
    pub fn log_evidence_bracket(&self) -> Result<Bracket> {
        let (information, rounding) = (self.information(), self.evidence_rounding());
        let trace = information.certified_residual_trace() - information.residual_trace();
        let lower = self.elbo() - 0.5 * trace.max(0.0) / information.ridge().powi(2);
        Ok(Bracket { lower: lower - rounding, upper: self.log_evidence_upper_bound(None)? + rounding })
    }

    /// What rounding can do to either bound: to ½log|B|, to n log 2πu²τ², and to (Σy² − hᵀ(tI+G)⁻¹h)/t for any t ≥ τ². There ‖ΔB‖ ≤ η changes the second
    /// term by at most η/(1−η) of itself, which is at most Σy², and sums of n terms are off by nε of theirs.
    fn evidence_rounding(&self) -> f64 {
        let information = self.information();
        let (n, m, eta) = (information.len() as f64, information.features().len() as f64, information.rounding());
        if eta >= 0.5 {
            return f64::INFINITY;
        }
        let tau2 = information.ridge().powi(2);
        let gamma = (n + 8.0 * m + 32.0) * f64::EPSILON;
        let squares = self.squares_terms();
        // h is a sum of n products, each at most |y|√k: what is lost of it meets ‖B^(−1/2)h‖/τ ≤ √Σy².
        let projected = 2.0 * gamma * squares * (information.prior_trace() / tau2).sqrt();
        let quadratic = (squares * (gamma + eta / (1.0 - eta)) + projected) / tau2;
        let scale = (std::f64::consts::TAU * tau2).ln().abs() + 2.0 * self.prior().unit().ln().abs();
        let normaliser = gamma * (n * (1.0 + scale) + information.gain());
        0.5 * (m * eta / (1.0 - eta) + quadratic) + normaliser
    }
}
