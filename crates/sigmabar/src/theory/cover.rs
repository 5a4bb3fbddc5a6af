//! Covers of a box in the kernel metric: only their size, inside a logarithm.

use super::variance::not_negative;
use crate::error::{Error, Result, positive, same_length};
use crate::kernel::Kernel;
use serde::{Deserialize, Serialize};

/// A box whose kernel metric obeys $d_k(x,x') \le \sqrt{k_{\max}}\,L_0\,\rho$, $\rho^2 = \sum_i((x_i-x_i')/\ell_i)^2$ (algorithm notes 9.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricBox {
    widths: Vec<f64>,
    lengthscales: Vec<f64>,
    max_variance: f64,
    lipschitz: f64,
}

/// A cover of a box by grid cells of radius $h$ in the kernel metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoxCover {
    /// $h$: no point of the box is farther than this from the nearest cell centre, in the kernel metric.
    pub radius: f64,
    /// $\log\Gamma(h)$: the number of cells is often beyond any integer type.
    pub log_cells: f64,
}

impl MetricBox {
    /// The box with these side lengths, for an elliptical kernel with one length-scale per column.
    ///
    /// # Errors
    /// [`Error::Length`] when there is not one length-scale per side; [`Error::Parameter`] for a side that is negative or anything else that is not positive.
    pub fn new(widths: Vec<f64>, lengthscales: Vec<f64>, max_variance: f64, lipschitz: f64) -> Result<Self> {
        if widths.is_empty() {
            return Err(Error::NoColumns { what: "the box" });
        }
        same_length("length-scales of the box", widths.len(), lengthscales.len())?;
        widths.iter().try_for_each(|&w| not_negative("width of the box", w).map(drop))?;
        lengthscales.iter().try_for_each(|&l| positive("length-scale", l).map(drop))?;
        positive("max_variance", max_variance)?;
        positive("lipschitz", lipschitz)?;
        Ok(Self { widths, lengthscales, max_variance, lipschitz })
    }

    /// The box for a squared-exponential, rational quadratic or Matérn ($\nu>1$) kernel.
    ///
    /// # Errors
    /// [`Error::Premise`] for a kernel whose metric is not Lipschitz or whose length-scales are not its own; as [`MetricBox::new`].
    pub fn for_kernel(kernel: &Kernel, widths: Vec<f64>) -> Result<Self> {
        kernel.check_dim(widths.len())?;
        let lengthscale = match kernel {
            Kernel::SquaredExponential(k) => Some(k.lengthscale()),
            Kernel::RationalQuadratic(k) => Some(k.lengthscale()),
            Kernel::Matern(k) => Some(k.lengthscale()),
            _ => None,
        };
        let (Some(lengthscale), Some(lipschitz), Some(variance)) = (lengthscale, kernel.metric_lipschitz(), kernel.max_variance()) else {
            return Err(Error::Premise {
                what: "a cover of the box in this kernel's metric",
                reason: "it needs a squared-exponential, rational quadratic or Matérn (ν > 1) kernel; give the constants yourself for another",
            });
        };
        let lengthscales = (0..widths.len()).map(|i| lengthscale.get(i)).collect();
        Self::new(widths, lengthscales, variance, lipschitz)
    }

    /// Number of columns.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.widths.len()
    }

    /// The cover of radius $h$: $\Gamma(h) = \prod_i\left\lceil\frac{w_i\sqrt{d\,k_{\max}}\,L_0}{2\ell_ih}\right\rceil$ cells, ceilings kept (algorithm notes 6.5). Cost O(d).
    ///
    /// # Errors
    /// [`Error::Parameter`] for a radius that is not positive.
    pub fn cover(&self, radius: f64) -> Result<BoxCover> {
        positive("radius of the cover", radius)?;
        let reach = (self.dim() as f64 * self.max_variance).sqrt() * self.lipschitz;
        let cells = self.widths.iter().zip(&self.lengthscales).map(|(w, l)| (w * reach / (2.0 * l * radius)).ceil().max(1.0));
        Ok(BoxCover { radius, log_cells: cells.map(f64::ln).sum() })
    }

    /// $\log\Gamma_n$ as the paper has it: $\Gamma_n = c\,(C')^dn^d$ with $c = \left(\tfrac12\sqrt{d\,k_{\max}}L_0\right)^d\prod_iw_i/\ell_i$ (algorithm notes 9.2), no ceilings.
    pub(super) fn log_paper_cells(&self, norm: f64, n: f64) -> f64 {
        let reach = 0.5 * (self.dim() as f64 * self.max_variance).sqrt() * self.lipschitz;
        self.widths.iter().zip(&self.lengthscales).map(|(w, l)| (reach * w / l * norm * n).ln()).sum()
    }
}
