//! Intervals of the exact posterior (algorithm notes 7.1): nothing is missed, so $\lambda = 0$.

use super::answer::ALARM_SHARE;
use super::claim::{Claim, Coverage, Method, Side};
use super::energy::{self, NormCheck};
use super::intervals::{Ends, Intervals, clip};
use super::prediction::PredictionIntervals;
use super::premises::Premises;
use super::record::{About, Bounds, Certificate, Claimed, Contradiction, Spent, Theorem, resolve};
use crate::error::{Error, Result};
use crate::noise::Noise;
use crate::origin::{Origin, Sourced};
use crate::points::PointsRef;
use crate::posterior::{ExactPosterior, at_least_zero};
use crate::residual::{ResidualNorm, ResidualNormKind};
use sigmabar_linalg::{Matrix, norm_squared};

/// The claim worked out for the exact posterior.
struct ExactClaim {
    method: Method,
    norm_bound: f64,
    noise: Noise,
    factor: f64,
    tail: f64,
}

impl ExactPosterior {
    /// Intervals for $f(x)$: [`Method::Direct`] (and [`Method::Tight`]) is
    /// $C\sqrt{\sigma^2-\tau^2\lVert V\rVert^2} + Rz\lVert V\rVert$ — the root is the exact worst case $\sqrt{k-2V^\top k_X+V^\top KV}$ — and
    /// [`Method::DropIn`] or [`Method::Paper`] is $(C+(R/\tau)z)\sigma$. Adaptive points take the energy band at $s=\tau$. Cost O(q(ud + u²)).
    ///
    /// Plainer than [`crate::Posterior::interval`], and mostly wider than that with $Z = X$: no other ridges and no $\mathrm{cv}_\delta$ at a point (algorithm notes 14.3), no simulated quantile
    /// over a list (14.4), no ellipsoid for a uniform claim (14.1), no other $s$ in the energy band (7.3).
    ///
    /// # Errors
    /// [`Error::Missing`] without norm bound or noise; [`Error::Premise`] for the W-matrix, the dictionary and continuous claims, which belong to the
    /// sparse posterior; points of another width.
    pub fn interval(&self, x: PointsRef<'_>, claim: &Claim) -> Result<Intervals> {
        let worked = self.worked(claim, x.len())?;
        let ends = self.ends(x, claim.side_claimed(), &worked, 0.0)?;
        Ok(Intervals::assemble(ends, vec![worked.method; x.len()], self.certificate_of(claim, &worked, x.len())))
    }

    /// As [`ExactPosterior::interval`], the data checked against the premises first ($\delta/20$, out of $\delta$), and no end beyond what the norm bound alone says: ends that
    /// do not meet $\pm C\sqrt{k(x,x)}$ contradict the premises too, which is a miss where these are true.
    ///
    /// # Errors
    /// As [`ExactPosterior::interval`].
    pub fn checked_interval(&self, x: PointsRef<'_>, claim: &Claim) -> Result<Intervals> {
        let (left, contradiction) = self.after_alarm(claim)?;
        let worked = self.worked(&left, x.len())?;
        let mut ends = self.ends(x, claim.side_claimed(), &worked, 0.0)?;
        let (prior, diagonal) = (self.observations().prior(), self.kernel().value.diagonal(x));
        let possible = clip(prior, worked.norm_bound, &diagonal, ends.lower.iter_mut().zip(&mut ends.upper));
        let mut certificate = self.certificate_of(&left, &worked, x.len()).after_check(claim.delta(), contradiction);
        if !possible {
            certificate.contradiction.get_or_insert(Contradiction::of_norm(None, worked.norm_bound));
        }
        Ok(Intervals::assemble(ends, vec![worked.method; x.len()], certificate))
    }

    /// As [`ExactPosterior::prediction_interval`], the data checked against the premises first.
    ///
    /// # Errors
    /// As [`ExactPosterior::prediction_interval`].
    pub fn checked_prediction(&self, x: PointsRef<'_>, claim: &Claim) -> Result<PredictionIntervals> {
        let (left, contradiction) = self.after_alarm(claim)?;
        Ok(self.prediction_interval(x, &left)?.after_check(claim.delta(), contradiction))
    }

    /// What the check leaves of a claim, and what it found.
    fn after_alarm(&self, claim: &Claim) -> Result<(Claim, Option<Contradiction>)> {
        let norm_bound = claim.required_norm_bound()?;
        let least_norm = self.norm_check(&claim.clone().with_delta(ALARM_SHARE * claim.delta())?)?.least_norm;
        let contradiction = energy::refutes(least_norm, norm_bound).then_some(Contradiction::of_norm(Some(least_norm), norm_bound));
        Ok((claim.clone().with_delta((1.0 - ALARM_SHARE) * claim.delta())?, contradiction))
    }

    /// The least norm that fits the data, $\sqrt{y^\top(K+\tau^2I)^{-1}y-\Gamma^2/\tau^2}$ (algorithm notes 7.3), as [`crate::Posterior::norm_check`].
    ///
    /// # Errors
    /// [`Error::Missing`] without a noise model.
    pub fn norm_check(&self, claim: &Claim) -> Result<NormCheck> {
        let locations = self.observations().locations();
        let noise = claim.required_noise(Some(locations.len()))?;
        let gamma = noise.energy(locations.len(), energy::tail(locations.len(), locations.collected(), claim.delta()));
        let least_norm = at_least_zero(self.certified_quadratic() - (gamma / self.ridge()).powi(2)).sqrt();
        Ok(NormCheck::new(least_norm, claim.known_norm_bound()))
    }

    /// Ends that also hold one more noise term of this level, independent of the observations', and what they rest on.
    pub(super) fn ends_with_noise(&self, x: PointsRef<'_>, claim: &Claim, level: f64) -> Result<(Ends, Certificate)> {
        let worked = self.worked(claim, x.len())?;
        Ok((self.ends(x, claim.side_claimed(), &worked, level)?, self.certificate_of(claim, &worked, x.len())))
    }

    fn ends(&self, x: PointsRef<'_>, side: Side, worked: &ExactClaim, new_level: f64) -> Result<Ends> {
        let variance = self.certified_variance(x)?;
        let weights = self.weights_by_point(x)?;
        let rounding = self.mean_rounding(x, &weights)?;
        let half = |q: usize| self.half_width(worked, variance[q], weights.row(q), new_level) + rounding[q];
        let halves: Vec<f64> = (0..x.len()).map(half).collect();
        let prior = self.observations().prior();
        let centres: Vec<f64> = self.mean(x)?.into_iter().map(|m| prior.to_model(m)).collect();
        Ok(Ends::new(prior, side, &centres, &halves))
    }

    fn worked(&self, claim: &Claim, queries: usize) -> Result<ExactClaim> {
        let locations = self.observations().locations();
        let method = match resolve(claim.method_claimed(), locations.collected()) {
            Method::Tight => Method::Direct,
            Method::WMatrix | Method::Dictionary => {
                return Err(Error::Premise {
                    what: "this method for the exact posterior",
                    reason: "nothing is missed there: the direct width is the exact worst case",
                });
            }
            other => other,
        };
        let (norm_bound, noise) = (claim.required_norm_bound()?, claim.required_noise(Some(locations.len()))?);
        let sides = if claim.side_claimed() == Side::Both { 2.0 } else { 1.0 };
        let whole = -claim.delta().ln();
        let (tail, factor) = match (method, claim.coverage_claimed()) {
            (Method::Energy, _) => {
                let tail = energy::tail(locations.len(), locations.collected(), claim.delta());
                (tail, noise.energy(locations.len(), tail))
            }
            (_, Coverage::Point) => at((sides / claim.delta()).ln(), &noise),
            (_, Coverage::Points) => at((sides * queries as f64 / claim.delta()).ln(), &noise),
            (_, Coverage::Uniform) => (whole, noise.norm_factor(locations.distinct(), whole)),
            (_, Coverage::Continuous(_)) => {
                return Err(Error::Premise {
                    what: "a continuous claim for the exact posterior",
                    reason: "ask for uniform coverage, which needs no box, or use the sparse posterior",
                });
            }
        };
        Ok(ExactClaim { method, norm_bound, noise, factor, tail })
    }

    /// Bias plus the factor times the noise's scale, to which new noise is added in squares.
    fn half_width(&self, claim: &ExactClaim, variance: f64, weights: &[f64], new_level: f64) -> f64 {
        let locations = self.observations().locations();
        let (level, tau2) = (claim.noise.level(), self.ridge() * self.ridge());
        let square: f64 = weights.iter().enumerate().map(|(i, v)| locations.count(i) * v * v).sum();
        // Never below the direct width in exact arithmetic, and safe from the rounding of the weights.
        let drop_in = claim.norm_bound * variance.sqrt() + claim.factor * (level / self.ridge() * variance.sqrt()).hypot(new_level);
        match claim.method {
            Method::Energy => self.radicand(claim).max(0.0).sqrt() * variance.sqrt(),
            Method::Direct => {
                let stretch = 1.0 + self.weights_rounding();
                let bias = (variance - tau2 * square / (stretch * stretch)).max(0.0).sqrt();
                let direct =
                    claim.norm_bound * bias + claim.factor * (stretch * self.scaled(&claim.noise, weights, square)).hypot(new_level);
                direct.min(drop_in)
            }
            _ => drop_in,
        }
    }

    /// `C² + Γ²/τ² − yᵀ(K+τ²I)⁻¹y`: negative where the data contradict the claim.
    fn radicand(&self, claim: &ExactClaim) -> f64 {
        claim.norm_bound.powi(2) + (claim.factor / self.ridge()).powi(2) - self.certified_quadratic()
    }

    /// `√(Σ R_i²V_i²)`.
    fn scaled(&self, noise: &Noise, weights: &[f64], square: f64) -> f64 {
        let Noise::PerObservation { levels } = noise else { return noise.level() * square.sqrt() };
        let locations = self.observations().locations();
        levels.iter().enumerate().map(|(row, r)| (r * weights[locations.distinct_of(row)]).powi(2)).sum::<f64>().sqrt()
    }

    /// `(A+ΔA)α = ȳ` moves `k_uᵀα` by at most `‖A⁻¹k_u‖·‖ΔA‖·‖α‖`, and the product itself loses `‖k_u‖·‖α‖` units.
    fn mean_rounding(&self, x: PointsRef<'_>, weights: &Matrix) -> Result<Vec<f64>> {
        let locations = self.observations().locations();
        let block = self.kernel().value.block(x, locations.points())?;
        // ‖A‖ ≤ tr A = ‖L_A‖_F².
        let size = norm_squared(self.lower().to_matrix().as_slice());
        let scale = self.unit_rounding() * norm_squared(self.coefficients()).sqrt();
        let solved = |q: usize| weights.row(q).iter().enumerate().map(|(i, v)| (locations.count(i) * v).powi(2)).sum::<f64>().sqrt();
        Ok((0..x.len()).map(|q| scale * (size * solved(q) + norm_squared(block.row(q)).sqrt())).collect())
    }

    fn certificate_of(&self, claim: &Claim, worked: &ExactClaim, queries: usize) -> Certificate {
        let energy = worked.method == Method::Energy;
        let contradicted = energy && !energy::is_possible(self.radicand(worked));
        let beta = matches!(worked.method, Method::DropIn | Method::Paper)
            .then(|| worked.norm_bound + worked.noise.level() / self.ridge() * worked.factor);
        let events = (!energy).then(|| (claim.delta() * worked.tail.exp()).round());
        let locations = self.observations().locations();
        let observed = (self.observations().prior(), locations.collected(), locations.len());
        Certificate {
            claim: Claimed::Function { side: claim.side_claimed() },
            about: About::of(claim, queries),
            delta: claim.delta(),
            spent: vec![Spent::new("the noise", claim.delta(), events)],
            theorem: if energy { Theorem::Energy } else { Theorem::Width(worked.method) },
            premises: Premises {
                inducing: Sourced::new(locations.distinct(), Origin::Guaranteed),
                ridge: Sourced::new(Some(self.ridge()), self.ridge_origin()),
                ..Premises::of(claim, self.kernel(), observed, energy)
            }
            .with_doubts(self.observations().doubts()),
            bounds: Bounds {
                residual_norm: Some(ResidualNorm { value: 0.0, kind: ResidualNormKind::Dense }),
                noise_factor: Some(worked.factor),
                beta,
                rounding: Some(self.weights_rounding()),
                ..Bounds::default()
            },
            contradiction: contradicted.then_some(Contradiction::of_norm(None, worked.norm_bound)),
            range: None,
        }
    }
}

fn at(tail: f64, noise: &Noise) -> (f64, f64) {
    (tail, noise.tail_factor(tail))
}
