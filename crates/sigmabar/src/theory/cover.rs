//! Covers of a box in the kernel metric: only their size, inside a logarithm.

use crate::domain::BoxDomain;
use crate::error::{Error, Result, positive};
use crate::kernel::Kernel;
use serde::{Deserialize, Serialize};

/// A cover of a box by cells of radius $h$ in the kernel metric, fixed before the noise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cover {
    /// $h$: no point of the box is farther than this from the nearest cell centre, in the kernel metric.
    pub radius: f64,
    /// $\log\Gamma(h)$: the number of cells is often beyond any integer type.
    pub log_cells: f64,
}

impl Cover {
    /// The smaller of two covers of radius $h$: $\Gamma(h) = \prod_i\lceil w_i\sqrt{d\,k_{\max}}L_0/(2\ell_ih)\rceil$ cells, ceilings kept (algorithm notes
    /// 6.5, where the kernel has such constants), and $N^d$ equal cells with $N$ the smallest that keeps the exact metric within $h$. Cost O(d log N).
    ///
    /// # Errors
    /// [`Error::Parameter`] for a radius that is not positive; [`Error::Premise`] for a kernel of which neither is known.
    pub fn new(domain: &BoxDomain, kernel: &Kernel, radius: f64) -> Result<Self> {
        positive("radius of the cover", radius)?;
        kernel.check_dim(domain.dim())?;
        let by_constants = log_cells(domain, kernel, radius, f64::ceil);
        let by_metric = log_equal_cells(domain, kernel, radius);
        let log_cells = by_constants.into_iter().chain(by_metric).reduce(f64::min).ok_or(Error::Premise {
            what: "a cover of the box",
            reason: "no bound on the kernel metric over cells of the box is known for this kernel: take a list of points",
        })?;
        Ok(Self { radius, log_cells })
    }

    /// The paper's: $f(x)-f([x]) \le 1/n$ for functions of this norm, by the constants alone, ceilings kept. `None` for a kernel without them.
    pub(crate) fn paper(domain: &BoxDomain, kernel: &Kernel, norm: f64, n: f64) -> Option<Self> {
        let radius = 1.0 / (n * norm);
        Some(Self { radius, log_cells: log_cells(domain, kernel, radius, f64::ceil)? })
    }
}

/// $\log\Gamma_n$ as the paper prints it, $\Gamma_n = c\,(C')^dn^d$ with $c = \left(\tfrac12\sqrt{d\,k_{\max}}L_0\right)^d\prod_iw_i/\ell_i$ (algorithm notes 9.2): no
/// ceilings. Infinite for a kernel that does not satisfy the paper's assumption, because there the paper says nothing.
pub(super) fn log_paper_cells(domain: &BoxDomain, kernel: &Kernel, norm: f64, n: f64) -> f64 {
    log_cells(domain, kernel, 1.0 / (n * norm), |cells| cells).unwrap_or(f64::INFINITY)
}

/// $\sum_i\log(w_i\sqrt{d\,k_{\max}}L_0/(2\ell_ih))$, each number of cells rounded as asked and at least 1.
fn log_cells(domain: &BoxDomain, kernel: &Kernel, radius: f64, rounded: fn(f64) -> f64) -> Option<f64> {
    let lengthscale = kernel.lengthscale()?;
    let reach = (domain.dim() as f64 * kernel.max_variance()?).sqrt() * kernel.metric_lipschitz()?;
    let cells = |(i, w): (usize, &f64)| rounded(w * reach / (2.0 * lengthscale.get(i) * radius)).max(1.0);
    Some(domain.sides().iter().enumerate().map(|side| cells(side).ln()).sum())
}

fn log_equal_cells(domain: &BoxDomain, kernel: &Kernel, radius: f64) -> Option<f64> {
    let sides = domain.sides();
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
        let middle = ((low + high) / 2.0_f64).floor();
        if within(middle)? { high = middle } else { low = middle }
    }
    // A side without length is one cell wide however fine the others are.
    Some(sides.iter().filter(|w| **w > 0.0).count() as f64 * high.ln())
}
