//! Half-widths before any response is seen: the stage between information and intervals.

use super::bias::{Dictionary, ResidualForm};
use super::claim::{Claim, Coverage, Method, Side};
use super::continuous::PaperCover;
use super::ellipsoid::{self, Directions};
use super::record::resolve;
use super::simulated::NormalDraws;
use super::uniform::{NoiseEvent, range_factor};
use crate::error::{Error, Result};
use crate::information::{Information, PartsRounding, Sizes, VarianceParts};
use crate::noise::{Noise, folded_quantile};
use crate::points::PointsRef;
use crate::residual::{ResidualNorm, ResidualNormKind};
use crate::theory::{Cover, Multiplier};
use sigmabar_linalg::{GramAccumulator, Matrix, dot, matvec, matvec_rows, norm_squared, product_transposed};
use std::sync::Arc;

/// The default method forms $V^\top DV$ up to this many distinct points.
const FORM_BY_DEFAULT: usize = 5000;
/// ... and beyond this many only where $\lambda$ exceeds the share of $\tau^2$ below which the bound it sharpens is sharp already.
const FORM_ALWAYS: usize = 1000;
const FORM_ABOVE: f64 = 0.01;
/// The default method certifies with more inducing points where $\lambda$ exceeds this share of $\tau^2$.
const DICTIONARY_ABOVE: f64 = 0.1;
/// Lists of normal noise are simulated with up to this many draws; the seed is fixed, so that the same claim has the same widths.
const MAX_DRAWS: f64 = 20_000.0;
const SEED: u64 = 0x5eed_1157;

/// Everything about the intervals of a claim that needs no response: half-widths at any point, chosen before the data are seen.
///
/// Built once from [`Information`], used for any number of queries and responses.
#[derive(Clone, Debug)]
pub struct Widths {
    pub(crate) information: Arc<Information>,
    pub(crate) claim: Claim,
    pub(crate) noise: Noise,
    pub(crate) norm_bound: f64,
    pub(crate) residual_norm: ResidualNorm,
    pub(crate) considered: Vec<Method>,
    pub(crate) event: NoiseEvent,
    pub(crate) cover: Option<Cover>,
    /// For the default method of a uniform claim: the event on which the responses cut the band out (algorithm notes 14.1).
    pub(crate) directions: Option<Directions>,
    /// Whether the paper's own constants bound what they should here.
    pub(crate) paper_is_sound: bool,
    /// For a list: the factor of the one event that covers every point, which is smaller than the union bound's for long lists.
    pub(super) every_point: Option<f64>,
    /// For a list of normal noise: draws that stand for it (algorithm notes 14.4).
    pub(super) draws: Option<NormalDraws>,
    pub(super) delta_left: f64,
    pub(super) level_form: Option<Matrix>,
    pub(super) residual_form: Option<ResidualForm>,
    pub(crate) dictionary: Option<Dictionary>,
    /// The same claim by the weights of other ridges, which may serve a point better.
    pub(super) beside: Option<Box<[Self; 2]>>,
}

/// A half-width in the model's scale and what it consists of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HalfWidth {
    /// $C\cdot b$: what a function of norm $C$ can hide.
    pub bias: f64,
    /// The noise term.
    pub noise: f64,
    /// What moving to the nearest point of a cover costs, and rounding of the mean.
    pub slack: f64,
    /// The bound that was narrowest here.
    pub method: Method,
    /// The ridge whose weights were the best here.
    pub ridge: f64,
    /// The noise term before its factor.
    pub(crate) coefficient: f64,
}

impl HalfWidth {
    /// The half-width.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.bias + self.noise + self.slack
    }
}

/// Half-widths at a list of points, with the mean there if coefficients were given.
pub(crate) struct Evaluated {
    pub means: Vec<f64>,
    pub widths: Vec<HalfWidth>,
    pub parts: Vec<VarianceParts>,
}

impl Widths {
    /// Prepares a claim: bounds $\lambda$, decides which bounds compete, and precomputes their matrices.
    ///
    /// Cost: that of the residual norm; with [`Method::Tight`] where $\lambda$ is not negligible also O(n²m) up to 5000 distinct points, and one fit with the certification dictionary's features more.
    ///
    /// # Errors
    /// [`Error::Missing`] without norm bound or noise; [`Error::Premise`] for the energy band (it needs responses: [`crate::Posterior::interval`]), for a
    /// combination no theorem covers, or where a randomised $\lambda$ leaves nothing of $\delta$; errors of [`Information::residual_norm`].
    pub fn new(information: Arc<Information>, claim: &Claim) -> Result<Self> {
        let (norm_bound, noise) = (claim.required_norm_bound()?, claim.required_noise(Some(information.len()))?);
        let method = resolve(claim.method_claimed(), information.collected());
        if method == Method::Energy {
            return Err(Error::Premise {
                what: "an energy band before the responses are seen",
                reason: "its width depends on them: ask the posterior for the interval",
            });
        }
        if method == Method::Paper && *claim.coverage_claimed() == Coverage::Uniform {
            return Err(Error::Premise {
                what: "uniform coverage by the paper's method",
                reason: "the paper covers a point, a finite list or a box: ask for one of these or for another method",
            });
        }
        let residual_norm = information.residual_norm(claim.residual_norm_method())?;
        let mut widths = Self {
            delta_left: charged(claim.delta(), residual_norm)?,
            claim: claim.clone(),
            norm_bound,
            residual_norm,
            considered: Vec::new(),
            event: NoiseEvent::PerPoint,
            cover: None,
            directions: None,
            paper_is_sound: true,
            every_point: None,
            draws: None,
            level_form: level_form(&information, &noise)?,
            residual_form: None,
            dictionary: None,
            beside: None,
            noise,
            information,
        };
        widths.prepare_bounds(method)?;
        widths.prepare_coverage(method)?;
        widths.prepare_ridges();
        Ok(widths)
    }

    fn prepare_bounds(&mut self, method: Method) -> Result<()> {
        let share = self.ratio();
        let (tight, distinct) = (method == Method::Tight, self.information.distinct());
        let (rows, ahead) = (self.information.has_rows(), self.information.ahead().is_some());
        if method == Method::WMatrix || (tight && rows && (distinct <= FORM_ALWAYS || (distinct <= FORM_BY_DEFAULT && share > FORM_ABOVE)))
        {
            self.residual_form = Some(ResidualForm::new(&self.information)?);
            self.considered.push(Method::WMatrix);
        }
        if method == Method::Dictionary || (tight && (rows || ahead) && share > DICTIONARY_ABOVE) {
            self.dictionary = Dictionary::new(&self.information, self.claim.dictionary_claimed())?;
            self.considered.push(Method::Dictionary);
        }
        if tight {
            self.considered.push(Method::Direct);
        } else if !self.considered.contains(&method) {
            self.considered.push(method);
        }
        Ok(())
    }

    fn prepare_coverage(&mut self, method: Method) -> Result<()> {
        if let Coverage::Continuous(domain) = self.claim.coverage_claimed() {
            domain.check_width(self.information.features().given().dim())?;
        }
        if method == Method::Ellipsoid || (method == Method::Tight && *self.claim.coverage_claimed() == Coverage::Uniform) {
            let (norm_bound, lambda) = (self.norm_bound, self.residual_norm.value);
            let (noise, form, tail) = (&self.noise, self.residual_form.as_ref(), -self.delta_left.ln());
            let premises = ellipsoid::Premises { norm_bound, noise, planned: noise, lambda, form, tail };
            // At the measured points the mean square of ψ along a direction is γ/n.
            self.directions = Some(Directions::new(&self.information, &premises, |gamma| gamma)?);
        }
        match self.claim.coverage_claimed() {
            Coverage::Points if method != Method::Paper => {
                self.every_point = Some(range_factor(&self.information, &self.noise, -self.delta_left.ln()));
                if method == Method::Tight
                    && NormalDraws::count(self.delta_left) <= MAX_DRAWS
                    && let Noise::Gaussian { std_dev } = self.noise
                {
                    self.draws = Some(NormalDraws::new(&self.information, std_dev, self.delta_left, SEED)?);
                }
            }
            Coverage::Point | Coverage::Points => {}
            Coverage::Uniform => self.event = NoiseEvent::uniform(&self.information, &self.noise, -self.delta_left.ln())?,
            Coverage::Continuous(domain) if method == Method::Paper => {
                let PaperCover { cover, is_sound } = self.paper_cover(domain)?;
                (self.cover, self.paper_is_sound) = (Some(cover), is_sound);
            }
            Coverage::Continuous(domain) => self.cover = Some(self.best_cover(domain)?),
        }
        Ok(())
    }

    /// The claim.
    #[must_use]
    pub fn claim(&self) -> &Claim {
        &self.claim
    }

    /// The information the widths are about.
    #[must_use]
    pub fn information(&self) -> &Arc<Information> {
        &self.information
    }

    /// The bound on $\lambda$.
    #[must_use]
    pub fn residual_norm(&self) -> ResidualNorm {
        self.residual_norm
    }

    /// The bounds that compete at each point.
    #[must_use]
    pub fn considered(&self) -> &[Method] {
        &self.considered
    }

    /// $r = \lambda/\tau^2$.
    pub(crate) fn ratio(&self) -> f64 {
        self.residual_norm.value / (self.information.ridge() * self.information.ridge())
    }

    /// $\ln(1/\delta)$ of one side at one point, before points share it.
    pub(crate) fn side_tail(&self) -> f64 {
        let sides = if self.claim.side_claimed() == Side::Both { 2.0 } else { 1.0 };
        (sides / self.delta_left).ln()
    }

    /// $\ln(1/\delta)$ of what one side at one of `queries` points (or one cell of the cover) may spend.
    pub(crate) fn tail(&self, queries: usize) -> f64 {
        match self.claim.coverage_claimed() {
            Coverage::Point => self.side_tail(),
            Coverage::Points => self.side_tail() + (queries as f64).ln(),
            Coverage::Uniform => -self.delta_left.ln(),
            Coverage::Continuous(_) => {
                let cells = self.cover.map_or(0.0, |c| c.log_cells);
                // The paper spends half of each side's δ on the norm of the mean.
                let half = if self.considered == [Method::Paper] { 2.0_f64.ln() } else { 0.0 };
                self.side_tail() + cells + half
            }
        }
    }

    /// The factor on the noise term when the claim is made at `queries` points: for a list the smaller of the union bound's and that of the one event
    /// for every point, both known before any response.
    #[must_use]
    pub fn noise_factor(&self, queries: usize) -> f64 {
        match self.event {
            NoiseEvent::PerPoint => self.every_point.unwrap_or(f64::INFINITY).min(self.union_factor(queries)),
            NoiseEvent::Range { factor } | NoiseEvent::Shrunk { factor } => factor,
        }
    }

    /// The tail factor of one event per point and side.
    pub(crate) fn union_factor(&self, queries: usize) -> f64 {
        self.noise.tail_factor(self.tail(queries))
    }

    /// $\beta$ where the half-width is $\beta\bar\sigma$: $C(2+\sqrt r)+(R/\tau)z$ for the paper's, $C\sqrt{1+r}+(R/\tau)z$ for the drop-in form.
    #[must_use]
    pub fn beta(&self, queries: usize) -> Option<f64> {
        let multiplier = match self.considered.as_slice() {
            [Method::Paper] => Multiplier::Paper,
            [Method::DropIn] => Multiplier::Direct,
            _ => return None,
        };
        Some(self.norm_bound * multiplier.bias(self.ratio()) + self.noise.level() / self.information.ridge() * self.noise_factor(queries))
    }

    /// Half-widths at each point, in the model's scale. For [`Coverage::Points`] the list is the one over which the claim holds at once; for
    /// [`Coverage::Continuous`] the part that needs the mean, $\lVert\hat\beta\rVert h$, is added by [`crate::Posterior::interval`].
    ///
    /// Cost O(q(md + m²)), with a dictionary of m' features O(q(m'd + m'²)); three times that at single points of normal noise, where three ridges compete.
    ///
    /// # Errors
    /// Points of another width or outside the box; failed self-checks.
    pub fn half_widths(&self, x: PointsRef<'_>) -> Result<Vec<HalfWidth>> {
        self.best_of_ridges(|widths| Ok(widths.evaluate(x, None)?.widths), HalfWidth::total)
    }

    /// At each point the narrowest of what the ridges that compete say; which one is known before the responses if the widths are.
    pub(crate) fn best_of_ridges<T>(&self, at: impl Fn(&Self) -> Result<Vec<T>>, width: impl Fn(&T) -> f64) -> Result<Vec<T>> {
        let mut best = at(self)?;
        for beside in self.beside.iter().flat_map(|beside| beside.iter()) {
            let others = at(beside)?;
            best.iter_mut().zip(others).filter(|(best, other)| width(other) < width(best)).for_each(|(best, other)| *best = other);
        }
        Ok(best)
    }

    pub(crate) fn evaluate(&self, x: PointsRef<'_>, coefficients: Option<&[f64]>) -> Result<Evaluated> {
        if let Coverage::Continuous(domain) = self.claim.coverage_claimed() {
            domain.check_inside(x)?;
        }
        let factor = match &self.draws {
            Some(draws) if self.is_simulated(x.len()) => self.simulated_factor(draws, x)?,
            _ => self.noise_factor(x.len()),
        };
        let lipschitz = self.lipschitz_with(factor);
        let rounding = self.information.parts_rounding();
        let mut out = Evaluated { means: vec![0.0; x.len()], widths: Vec::with_capacity(x.len()), parts: Vec::with_capacity(x.len()) };
        self.information.stream(x, |start, block, psi| {
            if let Some(beta) = coefficients {
                matvec_rows(psi, beta, &mut out.means[start..start + block.len()]);
            }
            let residual = self.information.features().residual_rounding_of(block, psi)?;
            let plain = self.information.parts_of(start, block, psi)?;
            let diagonal = self.information.features().kernel().diagonal(block);
            let enlarge = |i: usize| rounding.enlarge(plain[i], Sizes::of(&plain[i], diagonal[i].sqrt()), residual[i]);
            let parts: Vec<VarianceParts> = (0..block.len()).map(enlarge).collect();
            let scaled = self.scaled_weights(&rounding, &parts, psi);
            let dictionary = self.dictionary.as_ref().map(|d| d.bounds(block, psi, &parts, &residual)).transpose()?;
            for (i, part) in parts.iter().enumerate() {
                let e = &psi[i * self.information.features().len()..][..self.information.features().len()];
                let drift = rounding.drift(part.fit.sqrt()) / self.information.ridge();
                let mut best = self.narrowest(part, (e, drift), scaled[i], dictionary.as_ref().map(|d| d[i]), factor);
                best.slack = self.cover_slack(best.method, lipschitz);
                out.widths.push(best);
            }
            out.parts.extend(parts);
            Ok(())
        })?;
        Ok(out)
    }

    /// Whether the factor for a list of this many points is simulated.
    pub(crate) fn is_simulated(&self, queries: usize) -> bool {
        self.draws.is_some() && queries > 1
    }

    /// The quantile of the largest $|V^\top E|/(R\lVert V\rVert)$ over the list (algorithm notes 14.4), both signs or the claimed side's. Which events are used is
    /// decided by the claim, never by comparing the simulated factor with others. Cost O(q(md + m² + Sm)).
    fn simulated_factor(&self, draws: &NormalDraws, x: PointsRef<'_>) -> Result<f64> {
        let (m, enlarge) = (self.information.features().len(), self.information.parts_rounding());
        let side = self.claim.side_claimed();
        let mut largest = vec![0.0_f64; draws.draws.rows()];
        self.information.stream(x, |start, block, psi| {
            let rounding = self.information.features().residual_rounding_of(block, psi)?;
            let plain = self.information.parts_of(start, block, psi)?;
            let diagonal = self.information.features().kernel().diagonal(block);
            let noise = product_transposed(&Matrix::from_vec(psi.to_vec(), block.len(), m), &draws.draws)?;
            for i in 0..block.len() {
                let scale = self.noise.level()
                    * self.weights_norm(&enlarge.enlarge(plain[i], Sizes::of(&plain[i], diagonal[i].sqrt()), rounding[i]));
                let sign = if side == Side::Upper { -1.0 } else { 1.0 };
                for (value, v) in largest.iter_mut().zip(noise.row(i)) {
                    let v = if side == Side::Both { v.abs() } else { sign * v };
                    *value = value.max(v / scale.max(f64::MIN_POSITIVE));
                }
            }
            Ok(())
        })?;
        Ok(draws.quantile(&mut largest))
    }

    /// Whether the noise term is the rest of $R\lVert V\rVert\,\mathrm{cv}_\delta$: two ends, one point, normal noise, the default method (algorithm notes 14.3).
    pub(super) fn is_folded(&self) -> bool {
        let normal = matches!(self.noise, Noise::Gaussian { .. }) && self.delta_left < 0.5;
        let one_point = *self.claim.coverage_claimed() == Coverage::Point && self.claim.side_claimed() == Side::Both;
        normal && one_point && self.claim.method_claimed() == Method::Tight
    }

    pub(crate) fn weights_norm(&self, parts: &VarianceParts) -> f64 {
        parts.noise.max(0.0).sqrt() / self.information.ridge()
    }

    /// `√(Σ R_i²V_i²)`: the level times `‖V‖`, or through the second m × m matrix `eᵀ(ΨᵀR²Ψ)e/τ⁴` and how far `V` is from `Ψe/τ²`.
    fn scaled_weights(&self, rounding: &PartsRounding, parts: &[VarianceParts], solved: &[f64]) -> Vec<f64> {
        let (level, tau) = (self.noise.level(), self.information.ridge());
        let Some(form) = &self.level_form else { return parts.iter().map(|p| level * self.weights_norm(p)).collect() };
        let m = self.information.features().len();
        let facts = self.information.facts();
        let summation = (facts.summation_length + m as f64) * f64::EPSILON * form.diagonal().iter().sum::<f64>();
        solved
            .chunks_exact(m)
            .zip(parts)
            .map(|(e, part)| {
                let computed = (dot(&matvec(form, e), e).max(0.0) + summation * norm_squared(e)) / tau.powi(4);
                let drift = rounding.drift(part.fit.sqrt()) / tau;
                (computed.sqrt() + level * drift).min(level * self.weights_norm(part))
            })
            .collect()
    }

    /// The narrowest of the bounds in play at one point; all bound the same deterministic quantity and share one noise event. `drift` bounds `‖V − Ψe/τ²‖`.
    fn narrowest(&self, parts: &VarianceParts, (e, drift): (&[f64], f64), scaled: f64, dictionary: Option<f64>, factor: f64) -> HalfWidth {
        let (tau, level, lambda) = (self.information.ridge(), self.noise.level(), self.residual_norm.value);
        let (s1, norm, deviation) = (parts.projection.sqrt(), self.weights_norm(parts), parts.total().sqrt());
        let direct = direct_bias(s1, lambda.sqrt() * norm, parts.fit);
        let best = self
            .considered
            .iter()
            .map(|&method| {
                let bias = match method {
                    Method::Paper => Multiplier::Paper.bias(self.ratio()) * deviation,
                    Method::DropIn => Multiplier::Direct.bias(self.ratio()) * deviation,
                    Method::WMatrix => {
                        let form = self.residual_form.as_ref().map_or(f64::INFINITY, |w| w.value(e, norm).sqrt() + lambda.sqrt() * drift);
                        direct_bias(s1, form.min(lambda.sqrt() * norm), parts.fit)
                    }
                    Method::Dictionary => dictionary.unwrap_or(direct),
                    _ => direct,
                };
                (method, bias)
            })
            .min_by(|a, b| a.1.total_cmp(&b.1));
        let (method, bias) = best.unwrap_or((Method::Direct, direct));
        let coefficient = match method {
            Method::Paper | Method::DropIn => level * deviation / tau,
            _ => self.event.coefficient(parts, scaled, level, tau),
        };
        let bias = self.norm_bound * bias;
        let noise = self.noise_term(bias, coefficient, factor);
        HalfWidth { bias, noise, slack: 0.0, method, ridge: tau, coefficient }
    }

    /// What noise of this scale adds to a bias: the factor times it, or less where both ends are claimed at one point: the bias has one sign, so that they miss less often than twice
    /// one of them.
    pub(super) fn noise_term(&self, bias: f64, scale: f64, factor: f64) -> f64 {
        let union = factor * scale;
        if self.is_folded() && scale > 0.0 { union.min(scale * folded_quantile(bias / scale, self.delta_left) - bias) } else { union }
    }

    /// What the certificate calls `delta_each`.
    pub(crate) fn delta_each(&self, queries: usize) -> f64 {
        let one_event = self.every_point.is_some_and(|factor| factor < self.union_factor(queries));
        if one_event { self.delta_left } else { (-self.tail(queries)).exp() }
    }
}

/// `√((s1 + residual)² + s2²)` where `residual` bounds `√(VᵀDV)` (algorithm notes 8.1).
pub(crate) fn direct_bias(s1: f64, residual: f64, fit: f64) -> f64 {
    ((s1 + residual).powi(2) + fit).sqrt()
}

/// What is left of `delta` after a randomised bound on `λ` has taken its share.
pub(crate) fn charged(delta: f64, residual_norm: ResidualNorm) -> Result<f64> {
    match residual_norm.kind {
        ResidualNormKind::Randomised { failure } if failure >= delta => Err(Error::Premise {
            what: "this claim",
            reason: "the randomised bound on lambda may fail as often as the whole claim: give it a smaller failure probability",
        }),
        ResidualNormKind::Randomised { failure } => Ok(delta - failure),
        _ => Ok(delta),
    }
}

/// `ΨᵀR²Ψ = Σ_i (Σ_{rows at i} R²) ψ_iψ_iᵀ` where each observation has its own level.
pub(crate) fn level_form(information: &Information, noise: &Noise) -> Result<Option<Matrix>> {
    let Noise::PerObservation { levels } = noise else { return Ok(None) };
    let squares: Vec<f64> = levels.iter().map(|r| r * r).collect();
    let locations = information.locations()?;
    let weights = locations.sum_by_point("noise levels", &squares)?;
    let m = information.features().len();
    let mut gram = GramAccumulator::new(m);
    information.features().for_each_block(locations.points(), |start, _, psi| {
        for (row, weight) in psi.chunks_exact_mut(m).zip(&weights[start..]) {
            let root = weight.sqrt();
            row.iter_mut().for_each(|v| *v *= root);
        }
        gram.add_rows(psi);
        Ok(())
    })?;
    let mut gram = gram.finish()?;
    gram.mirror_lower();
    Ok(Some(gram))
}
