//! How fast half-widths can change (algorithm notes 8.7): what a search over regions needs.

use super::claim::Method;
use super::uniform::NoiseEvent;
use super::widths::Widths;
use crate::theory::{Multiplier, half_width_slope};

impl Widths {
    /// By how much the half-width changes at most per unit of kernel metric $d_k$ (algorithm notes 8.7):
    /// $C\,(a+\sqrt{a^2+4})/2 + Rz/(2\tau)$ with $a=\sqrt r/2$; for $\beta\bar\sigma$ widths $\beta$; the certification dictionary has its own, larger constant.
    ///
    /// `queries` is the number of points over which the claim is made.
    #[must_use]
    pub fn lipschitz(&self, queries: usize) -> f64 {
        let factor = self.noise_factor(queries);
        let beside = self.beside.iter().flat_map(|beside| beside.iter());
        beside.map(|widths| widths.lipschitz_with(factor)).fold(self.lipschitz_with(factor), f64::max)
    }

    pub(crate) fn lipschitz_with(&self, factor: f64) -> f64 {
        let tau = self.information.ridge();
        let noise = self.noise.level() * factor / tau;
        let a = 0.5 * self.ratio().sqrt();
        self.considered
            .iter()
            .map(|method| match method {
                Method::Paper => self.norm_bound * Multiplier::Paper.bias(self.ratio()) + noise,
                Method::DropIn => self.norm_bound * Multiplier::Direct.bias(self.ratio()) + noise,
                Method::Dictionary => {
                    let outer = self.dictionary.as_ref().map_or(a, |d| 0.5 * d.ratio_root());
                    self.norm_bound * spectral_norm(1.0 + a, outer) + 0.5 * self.noise_growth() * noise
                }
                _ => half_width_slope(self.norm_bound, self.ratio(), self.noise_growth() * noise),
            })
            .fold(0.0, f64::max)
    }

    /// $\tau\lVert V\rVert$ is ½-Lipschitz in $d_k$; $\sigma_\kappa$, which may stand in its place, changes twice as fast.
    fn noise_growth(&self) -> f64 {
        if matches!(self.event, NoiseEvent::Shrunk { .. }) { 2.0 } else { 1.0 }
    }
}

/// The spectral norm of `[[p, 0], [q, 1]]`.
fn spectral_norm(p: f64, q: f64) -> f64 {
    let trace = p * p + q * q + 1.0;
    (0.5 * (trace + (trace * trace - 4.0 * p * p).max(0.0).sqrt())).sqrt()
}
