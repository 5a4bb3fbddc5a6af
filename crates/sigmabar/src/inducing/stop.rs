//! When to stop adding pivots.

use crate::error::{Result, at_least_one, positive};
use serde::{Deserialize, Serialize};

/// How many pivots a look-ahead certificate takes unless told otherwise.
const LOOK_AHEAD: usize = 64;

/// When a pivoted selection ends: at a size, and earlier once enough is explained (algorithm notes 4.4 and 8.4).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Stop {
    /// At most this many inducing points.
    pub size: usize,
    /// Stop at the first size where $\operatorname{tr} D \le$ this fraction of $\operatorname{tr} K$, both weighted by the counts.
    pub trace: Option<f64>,
    /// $\theta$: stop as soon as a *certified* $\lambda \le \theta\tau^2$.
    pub residual: Option<f64>,
    /// Pivots added beyond the last inducing point to sharpen the certificate; 0 leaves the trace.
    pub look_ahead: usize,
    /// Choose on a uniform subsample of this many distinct points, and certify on all: for lists so long that their $n \times m$
    /// factor does not fit in memory.
    pub subsample: Option<usize>,
}

impl Stop {
    /// Exactly `size` points (fewer when the kernel has lower rank), certified by the trace.
    #[must_use]
    pub fn at_size(size: usize) -> Self {
        Self { size, trace: None, residual: None, look_ahead: 0, subsample: None }
    }

    /// As few points as reach $\operatorname{tr} D \le$ `fraction` $\cdot \operatorname{tr} K$, at most `size`.
    #[must_use]
    pub fn at_trace(fraction: f64, size: usize) -> Self {
        Self { trace: Some(fraction), ..Self::at_size(size) }
    }

    /// As few points as reach a certified $\lambda \le \theta\tau^2$, at most `size`, looking up to 64 pivots ahead.
    #[must_use]
    pub fn at_residual(theta: f64, size: usize) -> Self {
        Self { residual: Some(theta), look_ahead: LOOK_AHEAD, ..Self::at_size(size) }
    }

    /// The same with another number of look-ahead pivots.
    #[must_use]
    pub fn with_look_ahead(self, pivots: usize) -> Self {
        Self { look_ahead: pivots, ..self }
    }

    /// The same, choosing on a uniform subsample of `points` distinct points and certifying on all.
    #[must_use]
    pub fn with_subsample(self, points: usize) -> Self {
        Self { subsample: Some(points), ..self }
    }

    pub(crate) fn validate(&self) -> Result<()> {
        positive_size(self.size)?;
        if let Some(fraction) = self.trace {
            positive("trace fraction to stop at", fraction)?;
        }
        if let Some(theta) = self.residual {
            positive("residual to stop at", theta)?;
        }
        at_least_one("subsample", self.subsample.unwrap_or(1)).map(drop)
    }
}

/// Checks that at least one inducing point is asked for.
pub(crate) fn positive_size(size: usize) -> Result<()> {
    at_least_one("number of inducing points", size).map(drop)
}
