//! Continuous domains: a cover fixed before the noise (algorithm notes 6.5), and the paper's own corollary.

use super::claim::Method;
use super::noise::Noise;
use super::region::{Region, scales};
use super::uniform::Spectrum;
use crate::error::{Error, Result};
use crate::information::Information;

/// A cover of the box by cells of kernel-metric radius `radius`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cover {
    pub radius: f64,
    /// $\ln\Gamma$.
    pub log_count: f64,
    /// Whether the paper's own constants bound what they should here.
    pub sound: bool,
}

const NO_COVER: Error = Error::Premise {
    what: "a continuous claim",
    reason: "no bound on the kernel metric over cells of the box is known for this kernel: ask for a list of points or for uniform coverage",
};

impl Cover {
    /// The radius on a grid that minimises noise width plus slack, both averaged over the measured points and known before any response:
    /// $R z(\delta/\Gamma(h))\sqrt{\operatorname{tr}H^2/n} + (2C+\mathrm{Lip}(h))h$.
    pub(crate) fn best(
        information: &Information,
        region: &Region,
        noise: &Noise,
        norm_bound: f64,
        tail: f64,
        lip: impl Fn(f64) -> f64,
    ) -> Result<Self> {
        let kernel = information.features().kernel();
        let spread = noise.level() * (Spectrum::new(information)?.square / information.len() as f64).sqrt();
        let largest = kernel.metric_over_cell(&region.sides().iter().map(|w| 0.5 * w).collect::<Vec<_>>()).unwrap_or(1.0).max(1e-6);
        let mut best: Option<(f64, Self)> = None;
        for step in 0..60 {
            let radius = largest * 0.5_f64.powf(0.5 * step as f64);
            let Some(log_count) = region.log_cover(kernel, radius) else { continue };
            let factor = noise.tail_factor(tail + log_count);
            let cost = spread * factor + (2.0 * norm_bound + lip(factor)) * radius;
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, Self { radius, log_count, sound: true }));
            }
        }
        best.map(|(_, cover)| cover).ok_or(NO_COVER)
    }

    /// The paper's: $f(x)-f([x]) \le 1/n$ for functions of norm $C^{\bar\mu}(\delta/2)$, $\Gamma_n = c\,(C^{\bar\mu})^dn^d$ with the ceilings kept, and
    /// $C^{\bar\mu}(\delta) = C(1+\sqrt n\,k_{\max}/\tau)+(\sqrt nR/\tau)\sqrt{2\ln(2n/\delta)}$. `tail` is $\ln(1/\delta)$ of one side.
    ///
    /// With these constants the corollary holds where $k_{\max}\ge\frac14$ (its unit slip then only widens) and $C^{\bar\mu}\ge 1/(2\sqrt n)$.
    pub(crate) fn paper(information: &Information, region: &Region, noise: &Noise, norm_bound: f64, tail: f64) -> Result<Self> {
        if matches!(noise, Noise::LightTailed { .. }) {
            return Err(Error::Premise {
                what: "the paper's continuous corollary",
                reason: "it is stated for sub-Gaussian noise: use the default method",
            });
        }
        let kernel = information.features().kernel();
        let (Some(scale), Some(variance)) = (scales(kernel, region.lower().len()), kernel.max_variance()) else {
            return Err(Error::Premise {
                what: "the paper's continuous corollary",
                reason: "it needs a squared-exponential, rational quadratic or Matérn kernel with nu > 1",
            });
        };
        let (n, tau) = (information.len() as f64, information.ridge());
        let log = tail + 2.0_f64.ln() + (2.0 * n).ln();
        let norm = norm_bound * (1.0 + n.sqrt() * variance / tau) + n.sqrt() * noise.level() / tau * (2.0 * log).sqrt();
        let radius = 1.0 / (n * norm);
        let sound = variance >= 0.25 && norm >= 0.5 / n.sqrt();
        Ok(Self { radius, log_count: region.log_cells(&scale, radius), sound })
    }

    /// The slack that moving to the nearest cell centre costs, without the part that needs the mean: $\mathrm{Lip}\cdot h + C h$; the paper's $2/n + 2\beta/\sqrt n$.
    pub(crate) fn slack(&self, method: Method, lipschitz: f64, norm_bound: f64, n: usize) -> f64 {
        if method == Method::Paper {
            return 2.0 / n as f64 + lipschitz * 2.0 / (n as f64).sqrt();
        }
        (lipschitz + norm_bound) * self.radius
    }
}
