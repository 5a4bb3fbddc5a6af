//! Functions of known norm: finite kernel expansions, for tests, examples and adversaries.

use crate::error::{Error, Result, same_length};
use crate::kernel::Kernel;
use crate::points::{Points, PointsRef};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use sigmabar_linalg::{dot, matvec};

/// The function $f = \sum_j \alpha_j k(\cdot, c_j)$, whose norm $\lVert f\rVert_k = \sqrt{\alpha^\top K_{cc}\alpha}$ is known exactly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expansion {
    kernel: Kernel,
    centres: Points,
    coefficients: Vec<f64>,
}

impl Expansion {
    /// The expansion with these centres and coefficients.
    ///
    /// # Errors
    /// [`Error::Length`] when there is not one coefficient per centre, [`Error::NotFinite`] for a coefficient, or a kernel of another width.
    pub fn new(kernel: Kernel, centres: Points, coefficients: Vec<f64>) -> Result<Self> {
        same_length("coefficients", centres.len(), coefficients.len())?;
        if let Some(row) = coefficients.iter().position(|a| !a.is_finite()) {
            return Err(Error::NotFinite { what: "coefficients", row, column: 0, value: coefficients[row] });
        }
        kernel.check_dim(centres.dim())?;
        Ok(Self { kernel, centres, coefficients })
    }

    /// Coefficients uniform on $[-1,1]$ at the given centres, rescaled to the wished norm. The same seed gives the same function.
    ///
    /// # Errors
    /// As [`Expansion::new`] and [`Expansion::with_norm`].
    pub fn random(kernel: Kernel, centres: Points, norm: f64, seed: u64) -> Result<Self> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let coefficients = (0..centres.len()).map(|_| rng.random_range(-1.0..1.0)).collect();
        Self::new(kernel, centres, coefficients)?.with_norm(norm)
    }

    /// The same function scaled to the wished norm. Cost O(m²d).
    ///
    /// # Errors
    /// [`Error::Parameter`] for a norm that is negative or not finite, or when the function is zero.
    pub fn with_norm(mut self, norm: f64) -> Result<Self> {
        let current = self.norm()?;
        let factor = norm / current;
        if !(norm.is_finite() && norm >= 0.0 && factor.is_finite()) {
            return Err(Error::Parameter {
                name: "norm",
                value: norm,
                requirement: "finite and not negative, for a function that is not zero",
            });
        }
        self.coefficients.iter_mut().for_each(|a| *a *= factor);
        Ok(self)
    }

    /// $\lVert f\rVert_k = \sqrt{\alpha^\top K_{cc}\alpha}$. Cost O(m²d).
    ///
    /// # Errors
    /// None in practice: the kernel was checked against the centres.
    pub fn norm(&self) -> Result<f64> {
        let gram = self.kernel.gram(self.centres.view())?;
        Ok(dot(&matvec(&gram, &self.coefficients), &self.coefficients).max(0.0).sqrt())
    }

    /// $f(x)$. Cost O(md).
    #[must_use]
    pub fn value(&self, x: &[f64]) -> f64 {
        self.centres.view().rows().zip(&self.coefficients).map(|(c, a)| a * self.kernel.value(x, c)).sum()
    }

    /// $f$ at many points. Cost O(nmd).
    ///
    /// # Errors
    /// Points of another width than the centres.
    pub fn values(&self, x: PointsRef<'_>) -> Result<Vec<f64>> {
        if x.dim() != self.centres.dim() {
            return Err(Error::Width { what: "points", row: 0, expected: self.centres.dim(), found: x.dim() });
        }
        Ok(x.rows().map(|row| self.value(row)).collect())
    }

    /// The kernel.
    #[must_use]
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The centres $c_j$.
    #[must_use]
    pub fn centres(&self) -> PointsRef<'_> {
        self.centres.view()
    }

    /// The coefficients $\alpha_j$.
    #[must_use]
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }
}
