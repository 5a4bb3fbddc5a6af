//! Exact information gain, effective dimension and leverage scores of measured locations.

use crate::error::{Result, positive};
use crate::gain::Bracket;
use crate::kernel::Kernel;
use crate::points::Locations;
use sigmabar_linalg::{Lower, Matrix, norm_squared};

/// What data at these locations tell about the exact model, computed on distinct points with counts (algorithm notes 2.1 and 6.4).
#[derive(Clone, Debug, PartialEq)]
pub struct DataGain {
    /// $I = \tfrac12\log\det(I + K/\tau^2)$ over all observations, repetitions included.
    pub gain: f64,
    /// $\tilde d = \operatorname{tr}K(K+\tau^2I)^{-1} = \sum_i c_i\ell_i$.
    pub effective_dimension: f64,
    /// The ridge leverage score $0 \le \ell_i = \sigma^2(x_i)/\tau^2 \le 1$ of *one* observation at each distinct point.
    pub leverage: Vec<f64>,
    /// A bound on $\lVert K\rVert/\tau^2$ over all observations: the largest absolute row sum.
    pub norm_ratio: f64,
}

impl DataGain {
    /// Factors $M = I + C^{1/2}K_uC^{1/2}/\tau^2$ once. Cost O(u²d + u³) for u distinct points.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] for a ridge that is not positive, a kernel of another width, a failed self-check.
    pub fn new(kernel: &Kernel, ridge: f64, locations: &Locations) -> Result<Self> {
        let tau2 = positive("ridge", ridge)?.powi(2);
        let mut m = kernel.gram(locations.points())?;
        let u = m.rows();
        let root: Vec<f64> = (0..u).map(|i| locations.count(i).sqrt()).collect();
        for i in 0..u {
            for j in 0..u {
                m[(i, j)] *= root[i] * root[j] / tau2;
            }
        }
        let norm_ratio = (0..u).map(|i| m.row(i).iter().map(|v| v.abs()).sum::<f64>()).fold(0.0, f64::max);
        let scaled_diagonal = m.diagonal();
        for i in 0..u {
            m[(i, i)] += 1.0;
        }
        let lower = Lower::cholesky(&m)?;
        // c_i ℓ_i = [K̃M⁻¹]_ii = 1 − [M⁻¹]_ii, and never above the prior's own share K̃_ii.
        let mut inverse = Matrix::identity(u);
        lower.solve_rows(inverse.as_mut_slice())?;
        let leverage: Vec<f64> =
            (0..u).map(|i| (1.0 - norm_squared(inverse.row(i))).clamp(0.0, scaled_diagonal[i].max(0.0)) / locations.count(i)).collect();
        let effective_dimension = leverage.iter().enumerate().map(|(i, l)| l * locations.count(i)).sum();
        Ok(Self { gain: 0.5 * lower.log_det(), effective_dimension, leverage, norm_ratio })
    }

    /// Twice the gain lies between $\tilde d$ and $\tilde d\,(1+\log(1+\lVert K\rVert/\tau^2))$ (correction E5, algorithm notes 6.4): the bracket of $2I$ that follows
    /// from the dimension alone.
    ///
    /// With $t$ an eigenvalue of $K/\tau^2$: $t/(1+t) \le \log(1+t) \le \frac{t}{1+t}\,(1+\log(1+t))$.
    #[must_use]
    pub fn twice_gain_from_dimension(&self) -> Bracket {
        Bracket { lower: self.effective_dimension, upper: self.effective_dimension * (1.0 + self.norm_ratio.ln_1p()) }
    }
}
