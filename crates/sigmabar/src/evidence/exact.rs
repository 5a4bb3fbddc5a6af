//! The gradient of the exact log evidence.

use super::EvidenceGradient;
use super::gradient::{add_gradient, inverse};
use crate::error::Result;
use crate::posterior::ExactPosterior;
use sigmabar_linalg::Matrix;

impl ExactPosterior {
    /// The exact log evidence and its gradient, in the data's scale. With $A = K_u + \tau^2\operatorname{diag}(1/c)$ and $\alpha = A^{-1}\bar y$,
    ///
    /// $$\frac{\partial}{\partial K_u} = \tfrac12\left(\alpha\alpha^\top - A^{-1}\right),\qquad
    /// \frac{\partial}{\partial\log\tau} = -(n-u) + \frac{w}{\tau^2} - \tau^2\sum_i\frac{(A^{-1})_{ii} - \alpha_i^2}{c_i},$$
    ///
    /// $w$ being the scatter of repeated responses around their means. Cost O(u²d + u³) for u distinct points, memory O(u²).
    ///
    /// # Errors
    /// A failed self-check.
    pub fn log_evidence_gradient(&self) -> Result<EvidenceGradient> {
        let locations = self.observations().locations();
        let (n, u) = (locations.len() as f64, locations.distinct());
        let tau2 = self.ridge().powi(2);
        let alpha = self.coefficients();
        let inverse = inverse(self.lower())?;
        let noise: f64 = (0..u).map(|i| (inverse[(i, i)] - alpha[i] * alpha[i]) / locations.count(i)).sum();
        let ridge = -(n - u as f64) + self.observations().scatter() / tau2 - tau2 * noise;
        let adjoint = Matrix::from_fn(u, u, |i, j| 0.5 * (alpha[i] * alpha[j] - inverse[(i, j)]));
        let prepared = self.kernel().value.prepare(locations.points())?;
        let mut kernel = vec![0.0; prepared.parameter_count()];
        add_gradient(&prepared, locations.points(), adjoint.as_slice(), &mut kernel);
        let mean = alpha.iter().sum::<f64>() / self.observations().prior().unit();
        Ok(EvidenceGradient { value: self.log_evidence(), kernel, ridge, mean })
    }
}
