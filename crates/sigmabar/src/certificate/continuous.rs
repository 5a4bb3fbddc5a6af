//! Continuous domains: which cover of the box to fix before the noise (algorithm notes 6.5), and the paper's own corollary.

use super::claim::Method;
use super::uniform::Spectrum;
use super::widths::Widths;
use crate::domain::BoxDomain;
use crate::error::{Error, Result};
use crate::theory::{Cover, Setting, Theorems};

/// The paper's cover, and whether its constants bound what they should here.
pub(crate) struct PaperCover {
    pub cover: Cover,
    /// With these constants the corollary holds where $k_{\max}\ge\frac14$ (its unit slip then only widens) and $C^{\bar\mu}\ge 1/(2\sqrt n)$.
    pub is_sound: bool,
}

impl Widths {
    /// The radius on a grid that minimises noise width plus slack, both averaged over the measured points and known before any response:
    /// $R z(\delta/\Gamma(h))\sqrt{\operatorname{tr}H^2/n} + (2C+\mathrm{Lip}(h))h$.
    pub(super) fn best_cover(&self, domain: &BoxDomain) -> Result<Cover> {
        let kernel = self.information.features().kernel();
        let weights = (Spectrum::new(&self.information)?.square / self.information.len() as f64).sqrt();
        let halves: Vec<f64> = domain.sides().iter().map(|w| 0.5 * w).collect();
        let largest = kernel.metric_over_cell(&halves).unwrap_or(1.0).max(1e-6);
        let mut best: Option<(f64, Cover)> = None;
        for step in 0..60 {
            let Ok(cover) = Cover::new(domain, kernel, largest * 0.5_f64.powf(0.5 * f64::from(step))) else { continue };
            let factor = self.noise.tail_factor(self.side_tail() + cover.log_cells);
            let slack = (2.0 * self.norm_bound + self.lipschitz_with(factor)) * cover.radius;
            let cost = self.noise.level() * factor * weights + slack;
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, cover));
            }
        }
        best.map(|(_, cover)| cover).ok_or(Error::Premise {
            what: "a continuous claim",
            reason: "no bound on the kernel metric over cells of the box is known for this kernel: ask for a list of points or for uniform coverage",
        })
    }

    /// The paper's: $f(x)-f([x]) \le 1/n$ for functions of norm $C^{\bar\mu}(\delta/2)$ of Lemma F.1 ([`Theorems::paper_mean_norm`]), ceilings kept.
    pub(super) fn paper_cover(&self, domain: &BoxDomain) -> Result<PaperCover> {
        let refused = |reason| Error::Premise { what: "the paper's continuous corollary", reason };
        if matches!(self.noise, crate::noise::Noise::LightTailed { .. }) {
            return Err(refused("it is stated for sub-Gaussian noise: use the default method"));
        }
        let kernel = self.information.features().kernel();
        let no_constants = || refused("it needs a squared-exponential, rational quadratic or Matérn kernel with nu > 1");
        let max_variance = kernel.max_variance().ok_or_else(no_constants)?;
        let (n, delta) = (self.information.len(), (-self.side_tail()).exp());
        let (norm_bound, noise, ridge) = (self.norm_bound, self.noise.clone(), self.information.ridge());
        let setting = Setting { norm_bound, noise, ridge, delta, residual_ratio: self.ratio(), max_variance };
        let norm = Theorems::new(setting)?.paper_mean_norm(n, 0.5 * delta);
        let cover = Cover::paper(domain, kernel, norm, n as f64).ok_or_else(no_constants)?;
        Ok(PaperCover { cover, is_sound: max_variance >= 0.25 && norm >= 0.5 / (n as f64).sqrt() })
    }

    /// The slack that moving to the nearest cell centre costs, without the part that needs the mean: $\mathrm{Lip}\cdot h + C h$; the paper's $2/n + 2\beta/\sqrt n$.
    pub(super) fn cover_slack(&self, method: Method, lipschitz: f64) -> f64 {
        let n = self.information.len() as f64;
        match &self.cover {
            None => 0.0,
            Some(_) if method == Method::Paper => 2.0 / n + lipschitz * 2.0 / n.sqrt(),
            Some(cover) => (lipschitz + self.norm_bound) * cover.radius,
        }
    }
}
