//! The energy band: valid for every $x$ at once and for points chosen by looking at responses (algorithm notes 7.3).

use super::claim::{Claim, Coverage, Method};
use super::intervals::{Ends, Intervals};
use super::record::{About, Bounds, Certificate, Claimed, Contradiction, Spent, Theorem};
use super::widths::charged;
use crate::error::Result;
use crate::information::{RidgePath, RidgeTerms};
use crate::points::{Collected, PointsRef};
use crate::posterior::{Posterior, at_least_zero};
use crate::residual::ResidualNorm;

/// Ridges tried: a geometric grid of this many around the natural one, and the model's own.
const GRID: usize = 41;
/// The grid spans this factor below and above.
const SPAN: f64 = 1e3;

/// What the data say about a norm bound, at miss probability $\delta$ (algorithm notes 7.3 and 7.4).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct NormCheck {
    /// $c_0$: with probability $1-\delta$ the norm of $f$ minus its prior mean is at least this, in the model's scale.
    pub least_norm: f64,
    /// Whether the claimed norm bound is below that: the data contradict it or the noise model. `None` without a claimed bound.
    pub contradicted: Option<bool>,
}

impl NormCheck {
    pub(super) fn new(least_norm: f64, norm_bound: Option<f64>) -> Self {
        Self { least_norm, contradicted: norm_bound.map(|bound| refutes(least_norm, bound)) }
    }
}

/// Whether a least norm refutes a bound. A number that could not be computed does: what cannot be checked is not certified.
pub(super) fn refutes(least_norm: f64, norm_bound: f64) -> bool {
    norm_bound.partial_cmp(&least_norm).is_none_or(|order| order.is_lt())
}

/// Whether a square of a radius leaves room for a function: one that could not be computed does not.
pub(super) fn is_possible(square: f64) -> bool {
    square >= 0.0
}

fn number_or_infinity(value: f64) -> f64 {
    if value.is_nan() { f64::INFINITY } else { value }
}

/// $t = \ln(1/\delta)$ where $n$ was fixed with the points. Where nobody vouches for that, $t = \ln(n(n+1)/\delta)$: since $\sum_n 1/(n(n+1)) = 1$ the event then
/// holds for every $n$ at once, and it does not matter when somebody stops looking (algorithm notes 12, P4).
pub(super) fn tail(rows: usize, collected: Collected, delta: f64) -> f64 {
    let n = rows.max(1) as f64;
    if collected.is_fixed() { -delta.ln() } else { (n * (n + 1.0) / delta).ln() }
}

/// Everything about one ridge $s$ that does not depend on the query.
struct Ridge {
    s: f64,
    /// $y^\top(\kappa+s^2I)^{-1}y$, less its rounding bound.
    quadratic: f64,
    /// $\lVert(G+s^2)^{-1}h\rVert$.
    norm: f64,
}

/// The eigen form of the posterior with what bounds the noise.
struct Energy<'a> {
    posterior: &'a Posterior,
    path: RidgePath<'a>,
    rotated: Vec<f64>,
    residual_norm: ResidualNorm,
    /// $\Gamma \ge \lVert E\rVert$.
    gamma: f64,
    /// Bounds the error of $G$.
    gram_rounding: f64,
    /// Bounds the error of $h$.
    projected_rounding: f64,
}

impl<'a> Energy<'a> {
    fn new(posterior: &'a Posterior, claim: &Claim) -> Result<Self> {
        let information = posterior.information();
        let noise = claim.required_noise(Some(information.len()))?;
        let residual_norm = information.residual_norm(claim.residual_norm_method())?;
        let tail = tail(information.len(), information.collected(), charged(claim.delta(), residual_norm)?);
        let gamma = noise.energy(information.len(), tail);
        let (path, rotated) = posterior.ridge_path()?;
        let eigen = 8.0 * (4 * information.features().len() + 8) as f64 * f64::EPSILON;
        let gram_rounding = information.ridge().powi(2) * (information.gram_rounding() + eigen * information.norm_bound());
        let projected_rounding = posterior.projected_rounding();
        Ok(Self { posterior, path, rotated, residual_norm, gamma, gram_rounding, projected_rounding })
    }

    fn lambda_root(&self) -> f64 {
        self.residual_norm.value.sqrt()
    }

    /// What a query says under one ridge, whatever the norm bound is.
    fn at(&self, terms: &RidgeTerms, q: usize, k_xx: f64, ridge: &Ridge) -> Result<AtRidge> {
        let unit = 8.0 * self.posterior.information().features().len() as f64 * f64::EPSILON * k_xx.sqrt();
        let parts = self.path.variance_parts(terms, q, ridge.s)?;
        let eta = self.gram_rounding / (ridge.s * ridge.s);
        let sums = self.projected_rounding * parts.fit.sqrt() / (ridge.s * ridge.s);
        Ok(AtRidge {
            centre: self.path.mean(terms, &self.rotated, q, ridge.s)?,
            deviation: ((parts.fit + parts.noise) * (1.0 + eta)).sqrt() + unit,
            outside: parts.projection,
            rounding: (eta * parts.fit.sqrt() + unit) * ridge.norm + sums,
        })
    }

    /// The grid of ridges: around $s = (\Gamma+\sqrt\lambda C)/C$, plus $\tau$. All are valid at once, so looking at the responses to choose is allowed.
    fn ridges(&self, norm_bound: f64) -> Result<Vec<Ridge>> {
        let middle = (self.gamma + self.lambda_root() * norm_bound) / norm_bound;
        let step = |i: usize| SPAN.powf(2.0 * i as f64 / (GRID - 1) as f64 - 1.0);
        let own = self.posterior.information().ridge();
        (0..GRID).map(|i| middle * step(i)).chain([own]).map(|s| self.ridge(s)).collect()
    }

    fn ridge(&self, s: f64) -> Result<Ridge> {
        let information = self.posterior.information();
        let (sum_squares, terms) = (self.posterior.sum_squares(), self.posterior.squares_terms());
        let shrunk = self.rotated.iter().zip(self.path.eigenvalues()).map(|(h, g)| h / (g + s * s));
        let norm_squared: f64 = shrunk.map(|v| v * v).sum();
        let length = information.facts().summation_length + 2.0 * information.features().len() as f64 + 8.0;
        // hᵀ(G+s²)⁻¹h moves by ‖(G+s²)⁻¹h‖²·‖ΔG‖ and by 2‖(G+s²)⁻¹h‖·‖Δh‖.
        let moved = norm_squared.sqrt() * (self.gram_rounding * norm_squared.sqrt() + 2.0 * self.projected_rounding);
        let rounding = (4.0 * length * f64::EPSILON * terms + moved) / (s * s);
        let quadratic = at_least_zero(self.path.quadratic(sum_squares, &self.rotated, s)? - rounding);
        Ok(Ridge { s, quadratic, norm: norm_squared.sqrt() })
    }

    /// `C² + (Γ+√λC)²/s² − yᵀ(κ+s²I)⁻¹y`, with noise so many times as large as was claimed.
    fn radicand(&self, ridge: &Ridge, norm_bound: f64, scale: f64) -> f64 {
        let misfit = (scale * self.gamma + self.lambda_root() * norm_bound) / ridge.s;
        norm_bound * norm_bound + misfit * misfit - ridge.quadratic
    }

    /// The smallest `C` with a non-negative radicand: `(1+λ/s²)C² + 2Γ√λ/s²·C + Γ²/s² − q = 0`.
    fn least_norm(&self, ridge: &Ridge) -> f64 {
        let s2 = ridge.s * ridge.s;
        let (a, b) = (1.0 + self.residual_norm.value / s2, self.gamma * self.lambda_root() / s2);
        let c = self.gamma * self.gamma / s2 - ridge.quadratic;
        if c >= 0.0 { 0.0 } else { number_or_infinity(-c / (b + (b * b - a * c).sqrt())) }
    }

    /// $c_0$ over a grid of ridges centred on a guess of the norm; any ridge is valid, so a second round around the first answer can only help.
    fn least_norm_around(&self, guess: f64) -> Result<f64> {
        let largest = |guess: f64, least: f64| -> Result<f64> {
            Ok(self.ridges(guess)?.iter().map(|ridge| self.least_norm(ridge)).fold(least, f64::max))
        };
        let first = largest(guess, 0.0)?;
        // Around what left the range of numbers there is no grid.
        if first > 0.0 && first.is_finite() { largest(first, first) } else { Ok(first) }
    }

    /// Centre and half-width at query `q`, for the ridge whose band is narrowest there.
    fn narrowest(
        &self,
        terms: &RidgeTerms,
        q: usize,
        (k_xx, rounding): (f64, f64),
        ridges: &[(Ridge, f64)],
        norm_bound: f64,
    ) -> Result<(f64, f64)> {
        let mut best = (0.0, f64::INFINITY);
        for (ridge, root) in ridges {
            let at = self.at(terms, q, k_xx, ridge)?;
            let half = at.half_width(*root, norm_bound, rounding);
            if half < best.1 {
                best = (at.centre, half);
            }
        }
        Ok(best)
    }
}

/// What a query says under one ridge.
struct AtRidge {
    centre: f64,
    deviation: f64,
    /// What the inducing points miss of the variance there.
    outside: f64,
    /// Of the centre.
    rounding: f64,
}

impl AtRidge {
    fn half_width(&self, root: f64, norm_bound: f64, outside_rounding: f64) -> f64 {
        root * self.deviation + norm_bound * (self.outside + outside_rounding).sqrt() + self.rounding
    }
}

/// The band at a list of queries under any norm bound, and noise so many times as large as was claimed (algorithm notes 13.2): what depends on neither is computed once.
/// On one event, that of the noise's energy, it holds under all of them at once, and whatever chose the points.
pub(crate) struct EnergyBand<'a> {
    energy: Energy<'a>,
    ridges: Vec<Ridge>,
    /// One for each ridge, query after query.
    at: Vec<AtRidge>,
    diagonal: Vec<f64>,
    rounding: Vec<f64>,
}

impl<'a> EnergyBand<'a> {
    /// The ridges are those that serve the claim's norm bound: they span six powers of ten.
    pub fn new(posterior: &'a Posterior, queries: PointsRef<'_>, claim: &Claim) -> Result<Self> {
        let energy = Energy::new(posterior, claim)?;
        let ridges = energy.ridges(claim.required_norm_bound()?)?;
        let (terms, features) = (energy.path.terms(queries)?, posterior.information().features());
        let diagonal = features.kernel().diagonal(queries);
        let rounding = features.residual_rounding_of(queries, features.features(queries)?.as_slice())?;
        let mut at = Vec::with_capacity(queries.len() * ridges.len());
        for (q, &k_xx) in diagonal.iter().enumerate() {
            for ridge in &ridges {
                at.push(energy.at(&terms, q, k_xx, ridge)?);
            }
        }
        Ok(Self { energy, ridges, at, diagonal, rounding })
    }

    /// Lower and upper end at each query; none where the data contradict the premises.
    pub fn ends(&self, norm_bound: f64, scale: f64) -> Option<Vec<(f64, f64)>> {
        let radicands: Vec<f64> = self.ridges.iter().map(|ridge| self.energy.radicand(ridge, norm_bound, scale)).collect();
        if radicands.iter().any(|r| *r < 0.0) {
            return None;
        }
        let roots: Vec<f64> = radicands.into_iter().map(f64::sqrt).collect();
        let end = |(at, (k_xx, rounding)): (&[AtRidge], (&f64, &f64))| {
            // Neither end says less than |f| ≤ C√k does.
            let reach = norm_bound * k_xx.sqrt();
            let both = at.iter().zip(&roots).map(|(at, root)| (at.centre, at.half_width(*root, norm_bound, *rounding)));
            both.fold((-reach, reach), |(low, high), (centre, half)| (low.max(centre - half), high.min(centre + half)))
        };
        let ends: Vec<(f64, f64)> = self.at.chunks(self.ridges.len()).zip(self.diagonal.iter().zip(&self.rounding)).map(end).collect();
        ends.iter().all(|(low, high)| low <= high).then_some(ends)
    }

    /// $\lambda$ and the noise energy.
    pub fn bounds(&self) -> Bounds {
        self.energy.bounds()
    }
}

impl Posterior {
    pub(crate) fn energy_interval(&self, x: PointsRef<'_>, claim: &Claim) -> Result<Intervals> {
        let norm_bound = claim.required_norm_bound()?;
        if let Coverage::Continuous(region) = claim.coverage_claimed() {
            region.check_inside(x)?;
        }
        let energy = Energy::new(self, claim)?;
        let ridges = energy.ridges(norm_bound)?;
        let radicands: Vec<f64> = ridges.iter().map(|ridge| energy.radicand(ridge, norm_bound, 1.0)).collect();
        // A negative radicand contradicts the claim: no function satisfies it, and the certificate says so.
        let contradicted = radicands.iter().any(|r| !is_possible(*r));
        let ridges: Vec<(Ridge, f64)> = ridges.into_iter().zip(radicands).map(|(ridge, r)| (ridge, r.max(0.0).sqrt())).collect();
        let terms = energy.path.terms(x)?;
        let diagonal = self.information().features().kernel().diagonal(x);
        let features = self.information().features();
        let rounding = features.residual_rounding_of(x, features.features(x)?.as_slice())?;
        let (mut centres, mut halves) = (Vec::with_capacity(x.len()), Vec::with_capacity(x.len()));
        for (q, &k_xx) in diagonal.iter().enumerate() {
            let (centre, half) = energy.narrowest(&terms, q, (k_xx, rounding[q]), &ridges, norm_bound)?;
            centres.push(centre);
            halves.push(half);
        }
        let ends = Ends::new(self.prior(), claim.side_claimed(), &centres, &halves);
        let least_norm = if contradicted { Some(energy.least_norm_around(norm_bound)?) } else { None };
        let contradiction = contradicted.then_some(Contradiction::of_norm(least_norm, norm_bound));
        let certificate = energy.certificate(claim, x.len(), contradiction);
        Ok(Intervals::assemble(ends, vec![Method::Energy; x.len()], certificate))
    }

    /// Whether the data contradict the claimed norm bound (or noise), and the norm that $f$ must have at least, with probability $1-\delta$
    /// (algorithm notes 7.3 and 7.4). Valid for adaptively chosen points too. For a check after each of $B$ batches claim $\delta/B$. Cost O(m³).
    ///
    /// # Errors
    /// [`crate::Error::Missing`] without a noise model; errors of [`crate::Information::residual_norm`].
    pub fn norm_check(&self, claim: &Claim) -> Result<NormCheck> {
        let energy = Energy::new(self, claim)?;
        let around = claim.known_norm_bound().unwrap_or_else(|| self.norm().max(f64::MIN_POSITIVE));
        let least_norm = energy.least_norm_around(around)?;
        Ok(NormCheck::new(least_norm, claim.known_norm_bound()))
    }
}

impl Energy<'_> {
    fn certificate(&self, claim: &Claim, queries: usize, contradiction: Option<Contradiction>) -> Certificate {
        let (delta, failure) = (claim.delta(), self.residual_norm.failure());
        let mut spent = vec![Spent::new("the energy of the noise, for every number of observations", delta - failure, None)];
        spent.extend((failure > 0.0).then(|| Spent::new("the random bound on lambda", failure, None)));
        Certificate {
            claim: Claimed::Function { side: claim.side_claimed() },
            about: About::of(claim, queries),
            delta,
            spent,
            theorem: Theorem::Energy,
            premises: self.posterior.premises(claim, true),
            bounds: self.bounds(),
            contradiction,
            range: None,
        }
    }

    fn bounds(&self) -> Bounds {
        Bounds {
            residual_norm: Some(self.residual_norm),
            noise_factor: Some(self.gamma),
            rounding: Some(self.gram_rounding / self.posterior.information().ridge().powi(2)),
            ..Bounds::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_refutes() {
        assert!(refutes(f64::NAN, 5.0) && refutes(5.0, f64::NAN) && refutes(f64::INFINITY, 5.0) && refutes(5.1, 5.0));
        assert!(!refutes(5.0, 5.0) && !refutes(0.0, 5.0));
        assert!(!is_possible(f64::NAN) && !is_possible(-1e-9) && is_possible(0.0));
        assert_eq!((at_least_zero(f64::NAN), at_least_zero(-1.0), at_least_zero(2.0)), (f64::INFINITY, 0.0, 2.0));
    }
}
