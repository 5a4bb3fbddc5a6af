//! The noise term: at a point, or for every point at once without a grid (algorithm notes 8.6).

use super::claim::Method;
use super::ellipsoid::Directions;
use super::intervals::{Ends, Intervals};
use super::record::{Contradiction, Theorem};
use super::widths::Widths;
use crate::error::Result;
use crate::information::{Information, VarianceParts};
use crate::noise::Noise;
use crate::points::PointsRef;
use crate::posterior::Posterior;
use sigmabar_linalg::{Matrix, product};

/// Which event controls the noise term $|V(x)^\top E|$.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum NoiseEvent {
    /// One tail event per point and side; the factor depends on how many points share $\delta$.
    PerPoint,
    /// $|V(x)^\top E| \le \text{factor}\cdot R\lVert V(x)\rVert$ for all $x$: the norm of the noise in the range of $\Psi$.
    Range {
        /// The norm factor.
        factor: f64,
    },
    /// $|V(x)^\top E| \le \text{factor}\cdot R\,\sigma_\kappa(x)/\tau$ for all $x$: the norm of the noise after shrinkage.
    Shrunk {
        /// The norm factor.
        factor: f64,
    },
}

impl NoiseEvent {
    /// The event for all $x$ at once whose width is smaller on average over the measured points — a comparison that needs no response.
    ///
    /// Over the locations $\operatorname{mean}\lVert V\rVert^2 = \operatorname{tr}H^2/n$ and $\operatorname{mean}\sigma_\kappa^2/\tau^2 = \operatorname{tr}H/n$ with
    /// $H = \Gamma(\Gamma+\tau^2)^{-1}$. Cost O(m³).
    pub(crate) fn uniform(information: &Information, noise: &Noise, tail: f64) -> Result<Self> {
        let spectrum = Spectrum::new(information)?;
        let (rank, range) = (rank(information), range_factor(information, noise, tail));
        let shrunk = spectrum.norm_factor(noise, rank, tail);
        let range_wins = spectrum.square.sqrt() * range <= spectrum.trace.sqrt() * shrunk;
        Ok(if range_wins { Self::Range { factor: range } } else { Self::Shrunk { factor: shrunk } })
    }

    /// The coefficient norm this event multiplies, given $\lVert V\rVert$ already scaled by the noise levels.
    pub(crate) fn coefficient(self, parts: &VarianceParts, scaled_weights: f64, level: f64, ridge: f64) -> f64 {
        match self {
            Self::PerPoint | Self::Range { .. } => scaled_weights,
            Self::Shrunk { .. } => level * (parts.fit + parts.noise).sqrt() / ridge,
        }
    }
}

/// The largest dimension the range of $\Psi$ can have.
fn rank(information: &Information) -> usize {
    information.features().len().min(information.distinct())
}

/// The factor of [`NoiseEvent::Range`].
pub(crate) fn range_factor(information: &Information, noise: &Noise, tail: f64) -> f64 {
    noise.norm_factor(rank(information), tail)
}

/// $\operatorname{tr}H$, $\operatorname{tr}H^2$ and $\lVert H\rVert$ for $H = \Gamma(\Gamma+\tau^2)^{-1}$.
pub(crate) struct Spectrum {
    pub trace: f64,
    pub square: f64,
    pub largest: f64,
}

impl Spectrum {
    pub(crate) fn new(information: &Information) -> Result<Self> {
        let tau2 = information.ridge() * information.ridge();
        let path = information.ridge_path()?;
        let shrink = |gamma: f64| gamma / (gamma + tau2);
        // Rounding moves an eigenvalue of B by η at most, and h ≤ 1 by no more than that.
        let eta = information.gram_rounding().min(1.0);
        let values = path.eigenvalues().iter().map(|&g| (shrink(g) + eta).min(1.0));
        let (mut trace, mut square, mut largest) = (0.0, 0.0, 0.0_f64);
        for h in values {
            trace += h;
            square += h * h;
            largest = largest.max(h);
        }
        Ok(Self { trace, square, largest })
    }

    /// $\sqrt{d_1+2\sqrt{d_2t}+2\lVert H\rVert t}$; for light tails a union over the eigenvectors.
    fn norm_factor(&self, noise: &Noise, rank: usize, tail: f64) -> f64 {
        match noise {
            Noise::LightTailed { .. } => self.trace.sqrt() * noise.tail_factor(tail + (2.0 * rank as f64).ln()),
            _ => (self.trace + 2.0 * (self.square * tail).sqrt() + 2.0 * self.largest * tail).sqrt(),
        }
    }
}

impl Posterior {
    /// The band that the ellipsoid cuts out at each point (algorithm notes 14.1): its two ends may come from different ridges, and the centre lies halfway.
    ///
    /// The half-widths of the claim before the responses rest on an event of their own; this band never uses them, so that it spends $\delta$ once.
    pub(crate) fn ellipsoid_interval(&self, directions: &Directions, widths: &Widths, x: PointsRef<'_>) -> Result<Intervals> {
        self.check_widths(widths)?;
        let ellipsoid = directions.ellipsoid(self)?;
        let features = self.information().features();
        let m = features.len();
        let (mut centres, mut halves) = (Vec::with_capacity(x.len()), Vec::with_capacity(x.len()));
        self.information().stream(x, |start, block, psi| {
            let rounding = features.residual_rounding_of(block, psi)?;
            let residual = features.residual_of(block, psi, start)?;
            let rotated = product(&Matrix::from_vec(psi.to_vec(), block.len(), m), directions.vectors())?;
            let diagonal = features.kernel().diagonal(block);
            for i in 0..block.len() {
                let edge = widths.norm_bound * diagonal[i].sqrt();
                let (lower, upper) = ellipsoid.bounds(rotated.row(i), (residual[i] + rounding[i]).sqrt());
                let (lower, upper) = (lower.max(-edge), upper.min(edge));
                centres.push(0.5 * (lower + upper));
                halves.push((0.5 * (upper - lower)).max(0.0) + 4.0 * f64::EPSILON * (lower.abs() + upper.abs()));
            }
            Ok(())
        })?;
        let mut certificate = self.certificate_of(widths, x.len());
        certificate.contradiction = ellipsoid.is_contradicted().then_some(Contradiction::of_norm(None, widths.norm_bound));
        certificate.theorem = Theorem::Width(Method::Ellipsoid);
        certificate.bounds.noise_factor = Some(directions.radius());
        let ends = Ends::new(self.prior(), widths.claim.side_claimed(), &centres, &halves);
        Ok(Intervals::assemble(ends, vec![Method::Ellipsoid; x.len()], certificate))
    }
}
