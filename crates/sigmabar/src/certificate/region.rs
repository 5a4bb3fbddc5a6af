//! A box, and how many cells of a given kernel-metric radius cover it.

use crate::domain::BoxDomain;
use crate::error::{Error, Result, same_length};
use crate::kernel::{Kernel, Lengthscale};
use crate::points::PointsRef;
use serde::{Deserialize, Serialize};

/// A box $\prod_i[\text{lower}_i, \text{upper}_i]$, declared before the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Region {
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl From<&BoxDomain> for Region {
    fn from(domain: &BoxDomain) -> Self {
        Self { lower: domain.low().to_vec(), upper: domain.high().to_vec() }
    }
}

impl Region {
    /// The box between two corners.
    ///
    /// # Errors
    /// [`Error::Length`] for corners of different width, [`Error::NoColumns`], [`Error::NotFinite`], [`Error::Column`] where a side is negative.
    pub fn new(lower: Vec<f64>, upper: Vec<f64>) -> Result<Self> {
        same_length("upper corner", lower.len(), upper.len())?;
        if lower.is_empty() {
            return Err(Error::NoColumns { what: "box" });
        }
        for (row, corner) in [&lower, &upper].into_iter().enumerate() {
            if let Some(column) = corner.iter().position(|v| !v.is_finite()) {
                return Err(Error::NotFinite { what: "corners of the box", row, column, value: corner[column] });
            }
        }
        if let Some(column) = (0..lower.len()).find(|&i| upper[i] < lower[i]) {
            return Err(Error::Column { column, value: upper[column] - lower[column], requirement: "a side that is not negative" });
        }
        Ok(Self { lower, upper })
    }

    /// The lower corner.
    #[must_use]
    pub fn lower(&self) -> &[f64] {
        &self.lower
    }

    /// The upper corner.
    #[must_use]
    pub fn upper(&self) -> &[f64] {
        &self.upper
    }

    /// The lengths of the sides.
    #[must_use]
    pub fn sides(&self) -> Vec<f64> {
        self.lower.iter().zip(&self.upper).map(|(a, b)| b - a).collect()
    }

    /// Refuses a box of another width than the points.
    pub(crate) fn check_width(&self, dim: usize) -> Result<()> {
        if dim == self.lower.len() { Ok(()) } else { Err(Error::Width { what: "box", row: 0, expected: dim, found: self.lower.len() }) }
    }

    /// Refuses points outside: nothing is claimed there.
    pub(crate) fn check_inside(&self, x: PointsRef<'_>) -> Result<()> {
        self.check_width(x.dim())?;
        for (row, point) in x.rows().enumerate() {
            if let Some(column) = (0..point.len()).find(|&c| point[c] < self.lower[c] || point[c] > self.upper[c]) {
                return Err(Error::Outside { row, column, value: point[column] });
            }
        }
        Ok(())
    }

    /// $\ln\Gamma(h)$: the logarithm of the number of cells of kernel-metric radius at most $h$ that cover the box, the smaller of two covers:
    /// $\Gamma(h)=\prod_i\lceil w_i\sqrt{d\,k_{\max}}L_0/(2\ell_ih)\rceil$ (algorithm notes 6.5, where the kernel has such constants), and
    /// $N^d$ equal cells with $N$ the smallest that keeps the exact metric within $h$. `None` where neither is known.
    #[must_use]
    pub fn log_cover(&self, kernel: &Kernel, radius: f64) -> Option<f64> {
        let by_constants = scales(kernel, self.lower.len()).map(|scale| self.log_cells(&scale, radius));
        let by_metric = self.log_equal_cells(kernel, radius);
        match (by_constants, by_metric) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// `Σ_i ln⌈w_i·scale_i/(2·radius)⌉` with `scale_i = √(d·kmax)·L₀/ℓ_i`.
    pub(crate) fn log_cells(&self, scale: &[f64], radius: f64) -> f64 {
        self.sides().iter().zip(scale).map(|(w, s)| (w * s / (2.0 * radius)).ceil().max(1.0).ln()).sum()
    }

    fn log_equal_cells(&self, kernel: &Kernel, radius: f64) -> Option<f64> {
        let sides = self.sides();
        let within = |cells: f64| {
            let halves: Vec<f64> = sides.iter().map(|w| w / (2.0 * cells)).collect();
            kernel.metric_over_cell(&halves).map(|d| d <= radius)
        };
        let (mut low, mut high) = (0.0, 1.0);
        while !within(high)? {
            (low, high) = (high, 2.0 * high);
            if high > 1e15 {
                return None;
            }
        }
        while high - low > 1.0 {
            let middle = ((low + high) / 2.0).floor();
            if within(middle)? { high = middle } else { low = middle }
        }
        Some(sides.len() as f64 * high.ln())
    }
}

/// $\sqrt{d\,k_{\max}}\,L_0/\ell_i$ for kernels that have these constants on all columns (algorithm notes 9.1, 9.2).
pub(crate) fn scales(kernel: &Kernel, dim: usize) -> Option<Vec<f64>> {
    let lengthscale: &Lengthscale = match kernel {
        Kernel::SquaredExponential(part) => part.lengthscale(),
        Kernel::Matern(part) => part.lengthscale(),
        Kernel::RationalQuadratic(part) => part.lengthscale(),
        _ => return None,
    };
    let factor = (dim as f64 * kernel.max_variance()?).sqrt() * kernel.metric_lipschitz()?;
    Some((0..dim).map(|i| factor / lengthscale.get(i)).collect())
}
