//! Certified bounds on $\lambda = \lambda_{\max}(C^{1/2}DC^{1/2})$, $D = K_{XX}-\kappa_{XX}$ (algorithm notes 8.4).

use super::extension::extended;
use super::lanczos::{ResidualOperator, largest_ritz_value};
use crate::error::{Error, Result, probability};
use crate::features::ResidualRounding;
use crate::information::{GramMethod, Information};
use crate::points::KeptLocations;
use crate::residual::{ResidualNorm, ResidualNormKind};
use serde::{Deserialize, Serialize};
use sigmabar_linalg::{Matrix, product_transposed, symmetric_eigenvalues};

/// The dense matrix is formed up to this many distinct points.
pub const DENSE_LIMIT: usize = 5000;

/// Up to this many distinct points [`ResidualNormMethod::Best`] takes the dense eigenvalue.
const DENSE_BY_DEFAULT: usize = 1000;

/// Below this share of $\tau^2$ a residual norm no longer shows in a width.
pub(super) const NEGLIGIBLE_SHARE: f64 = 0.1;

/// Pivots that [`ResidualNormMethod::Best`] looks ahead.
const LOOK_AHEAD: usize = 64;

/// How $\lambda$ is to be bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ResidualNormMethod {
    /// The trace if that is at most $0.1\tau^2$, else the smaller of it and the dense eigenvalue (up to 1000 distinct points) or 64 pivots of look-ahead.
    #[default]
    Best,
    /// $\operatorname{tr}(C^{1/2}DC^{1/2})$: one pass over the data for its rounding.
    Trace,
    /// More pivots: $\lambda_{\max}(F^\top F)+\operatorname{tr}(D-FF^\top)$. One more fit with `pivots` features more.
    LookAhead {
        /// How many pivots to add.
        pivots: usize,
    },
    /// The eigenvalue of the dense matrix, up to 5000 distinct points.
    Dense,
    /// Lanczos from a random start, enlarged by the bound of Kuczyński and Woźniakowski: any size, at a probability of failure that is charged to $\delta$.
    /// The seed must be fixed beforehand: trying seeds until the bound is small voids it.
    Randomised {
        /// Lanczos steps: each costs a product with the whole kernel matrix.
        steps: usize,
        /// The probability that the bound is too small.
        failure: f64,
        /// The seed of the start vector.
        seed: u64,
    },
}

impl Information {
    /// A bound on $\lambda = \lambda_{\max}(C^{1/2}DC^{1/2})$ that includes its rounding (algorithm notes 8.4): the trace adds $\sum_i c_i\rho_i$ with $\rho_i$ the
    /// rounding bound of the residual at $x_i$, every other kind a bound on the *norm* of the error of $C^{1/2}DC^{1/2}$, which is smaller.
    ///
    /// Cost: trace O(nm²) for its rounding, look-ahead one fit with more features, dense O(u²m + u³), randomised O(steps·n²d).
    ///
    /// # Errors
    /// [`Error::Premise`] for a dense matrix of more than 5000 distinct points; [`Error::Parameter`] where too few Lanczos steps are given for the
    /// wished probability; failed self-checks.
    pub fn residual_norm(&self, method: ResidualNormMethod) -> Result<ResidualNorm> {
        match method {
            ResidualNormMethod::Best => self.known().norm.or(|| self.find_best()),
            ResidualNormMethod::Trace => self.trace_norm(),
            ResidualNormMethod::LookAhead { pivots } => self.look_ahead_norm(pivots),
            ResidualNormMethod::Dense => self.dense_norm(),
            ResidualNormMethod::Randomised { steps, failure, seed } => self.randomised_norm(steps, failure, seed),
        }
    }

    /// The largest Ritz value of `steps` Lanczos steps, less its rounding bound: a *lower* bound on $\lambda$, never a certificate. Cost O(steps·n²d).
    ///
    /// # Errors
    /// A failed decomposition.
    pub fn residual_norm_lower(&self, steps: usize, seed: u64) -> Result<f64> {
        let value = largest_ritz_value(&ResidualOperator::new(self)?, steps, seed)?;
        Ok((value - self.residual_rounding()?.norm).max(0.0))
    }

    fn find_best(&self) -> Result<ResidualNorm> {
        let trace = self.trace_norm()?;
        if trace.value <= NEGLIGIBLE_SHARE * self.ridge() * self.ridge() {
            return Ok(trace);
        }
        if !self.has_rows() && self.ahead().is_none() {
            return Ok(trace);
        }
        let other = if self.has_rows() && self.distinct() <= DENSE_BY_DEFAULT {
            self.dense_norm()?
        } else {
            self.look_ahead_norm(LOOK_AHEAD.min(self.features().len()))?
        };
        Ok(if other.value < trace.value { other } else { trace })
    }

    /// `Σ c_i (s1²(x_i) + ρ_i)`, plus what the sums themselves lose.
    pub(crate) fn trace_norm(&self) -> Result<ResidualNorm> {
        Ok(self.trace_norm_with(self.residual_rounding()?))
    }

    fn trace_norm_with(&self, rounding: ResidualRounding) -> ResidualNorm {
        let facts = self.facts();
        let m = self.features().len() as f64;
        // Whitening after the product changes tr G by at most √m times the Frobenius bound.
        let summation = (facts.summation_length + m) * f64::EPSILON * self.prior_trace() + m.sqrt() * facts.whitening_bound;
        ResidualNorm { value: self.residual_trace() + rounding.trace + summation, kind: ResidualNormKind::Trace }
    }

    /// What rounding adds to $C^{1/2}DC^{1/2}$, in trace and in norm. Cost O(nm² + m³).
    pub(crate) fn residual_rounding(&self) -> Result<ResidualRounding> {
        self.known().rounding.or(|| match self.kept() {
            KeptLocations::Rows(locations) => self.features().residual_rounding_over(locations),
            KeptLocations::Sums(_) => {
                self.features().residual_rounding_of_sums(self.gram(), self.gram_rounding() * self.ridge().powi(2), self.prior_trace())
            }
        })
    }

    fn look_ahead_norm(&self, pivots: usize) -> Result<ResidualNorm> {
        let own = self.residual_rounding()?;
        let trace = self.trace_norm_with(own);
        let kind = |pivots| ResidualNormKind::LookAhead { pivots };
        let Some(more) = extended(self, pivots)? else {
            return Ok(ResidualNorm { value: trace.value, kind: kind(0) });
        };
        let (m, taken) = (self.features().len(), more.features().len() - self.features().len());
        // FᵀF is the block of the larger Gram matrix that belongs to the new pivots.
        let block = Matrix::from_fn(taken, taken, |i, j| more.gram()[(m + i, m + j)]);
        let facts = more.facts();
        let squares: f64 = block.diagonal().iter().sum();
        // Reflections lose more than sums do.
        let reflected = if facts.method == GramMethod::Orthogonal { more.gram_rounding() * self.ridge() * self.ridge() } else { 0.0 };
        let rounding = (facts.summation_length + 8.0 * (4 * taken + 8) as f64) * f64::EPSILON * squares + facts.whitening_bound + reflected;
        // K − ΨΨᵀ = FFᵀ + (K − Ψ'Ψ'ᵀ): the first carries the rounding of the features it was whitened by, the second is within that of the larger map of
        // something positive semi-definite, whose trace bounds its norm.
        let rest = more.residual_rounding()?;
        let value = largest(&block)? + rounding + more.trace_norm_with(rest).value + rest.norm + own.norm;
        Ok(ResidualNorm { value: value.min(trace.value), kind: kind(taken) })
    }

    fn dense_norm(&self) -> Result<ResidualNorm> {
        let u = self.distinct();
        if u > DENSE_LIMIT {
            return Err(Error::Premise {
                what: "a dense residual norm",
                reason: "there are more than 5000 distinct points: use look-ahead or the randomised bound",
            });
        }
        let matrix = self.weighted_residual_matrix()?;
        let size = sigmabar_linalg::norm_squared(matrix.as_slice()).sqrt();
        let eigen_rounding = 8.0 * (4 * u + 8) as f64 * f64::EPSILON * size;
        let value = largest(&matrix)? + eigen_rounding + self.residual_rounding()?.norm;
        Ok(ResidualNorm { value, kind: ResidualNormKind::Dense })
    }

    /// `C^{1/2}(K − ΨΨᵀ)C^{1/2}`, dense.
    fn weighted_residual_matrix(&self) -> Result<Matrix> {
        let locations = self.locations()?;
        let psi = self.features().features(locations.points())?;
        let explained = product_transposed(&psi, &psi)?;
        let mut matrix = self.features().kernel().gram(locations.points())?;
        for i in 0..matrix.rows() {
            let root = locations.count(i).sqrt();
            for (j, (entry, e)) in matrix.row_mut(i).iter_mut().zip(explained.row(i)).enumerate() {
                *entry = root * locations.count(j).sqrt() * (*entry - e);
            }
        }
        Ok(matrix)
    }

    fn randomised_norm(&self, steps: usize, failure: f64, seed: u64) -> Result<ResidualNorm> {
        probability("failure probability", failure)?;
        let shortfall = relative_shortfall(self.distinct(), steps, failure)?;
        let value = largest_ritz_value(&ResidualOperator::new(self)?, steps, seed)?.max(0.0);
        let value = (value + self.residual_rounding()?.norm) / (1.0 - shortfall);
        Ok(ResidualNorm { value, kind: ResidualNormKind::Randomised { failure } })
    }
}

/// The `ε` with `1.648·√n·exp(−√ε(2k−1)) = failure`: after `k` steps `P(λ > ξ_k/(1−ε))` is at most `failure`.
fn relative_shortfall(n: usize, steps: usize, failure: f64) -> Result<f64> {
    let root = (1.648 * (n as f64).sqrt() / failure).ln().max(0.0) / (2.0 * steps as f64 - 1.0);
    if steps == 0 || root * root >= 0.95 {
        return Err(Error::Parameter {
            name: "Lanczos steps",
            value: steps as f64,
            requirement: "more than half of ln(1.648 sqrt(n)/failure): otherwise nothing follows from them",
        });
    }
    Ok(root * root)
}

fn largest(matrix: &Matrix) -> Result<f64> {
    Ok(symmetric_eigenvalues(matrix)?.last().copied().unwrap_or(0.0).max(0.0))
}
