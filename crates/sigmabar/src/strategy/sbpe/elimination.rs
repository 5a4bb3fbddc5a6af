//! What a batch proves: intervals, pairwise elimination and the certified gap (algorithm notes 5.3).

use super::Sbpe;
use super::candidates::SetOfCandidates;
use super::confined::Confinement;
use super::level;
use super::pairs::{Centre, Challengers, Setting, Under, Width};
use super::premises::{Arrived, Premises};
use super::quantile::Simulation;
use super::ridges::{self, Beside};
use super::shares::{Budget, Counted, SHARES};
use super::state::State;
use crate::certificate::{Claim, Directions, EllipsoidPremises, Method, Widths};
use crate::error::Result;
use crate::features::FeatureMap;
use crate::inducing::PartialCholesky;
use crate::noise::{LevelBound, Noise};
use crate::points::{Collected, Locations, Observations, Points, PointsRef, Prior};
use crate::posterior::Posterior;
use crate::strategy::run::ledger::Ledger;
use crate::strategy::run::problem::Problem;
use sigmabar_linalg::argmax;
use std::iter;
use std::sync::Arc;

/// Challengers of each kind: the best by the lower bound before the batch, and the first of its design.
pub(super) const CHALLENGERS: usize = 32;

/// One batch under the eyes of the certificate.
pub(super) struct Batch<'a> {
    pub settings: &'a Sbpe,
    pub problem: &'a Problem,
    pub ledger: &'a Ledger,
    pub premises: Premises<'a>,
    /// Its number among all batches, from 0.
    pub index: usize,
    /// Which batches claims are made of.
    pub counted: Counted,
    /// What the run's claims may spend.
    pub budget: Budget,
}

/// What a batch has shown.
pub(super) struct Evidence {
    pub posterior: Posterior,
    pub noise: Noise,
    /// The noise of one evaluation, as it is known without looking at which results are equal and what came with them: by it ridges are chosen.
    pub one: Noise,
    pub widths: Widths,
    pub confinement: Confinement,
    /// $c_0$: what the alarm says the norm must be at least.
    pub least_norm: f64,
}

/// Challengers by their positions among the survivors, best first, and their ranks.
pub(super) struct Chosen {
    pub positions: Vec<usize>,
    pub ranks: Vec<usize>,
}

/// The challengers of a list, and which of the survivors they are.
struct Field<'a> {
    challengers: Challengers<'a>,
    beside: Vec<Beside<'a>>,
    positions: Vec<usize>,
}

/// Centres and interval ends at a list of points.
pub(super) struct Singles {
    pub centres: Vec<Centre>,
    pub upper: Vec<f64>,
    pub lower: Vec<f64>,
}

impl Batch<'_> {
    /// The posterior of what arrived, with widths; `None` where nothing arrived or the data contradict the premises, of which the state is told.
    pub fn evidence(&self, state: &mut State) -> Result<Option<Evidence>> {
        let arrived = Arrived::with_fixed_results(self.problem, self.ledger, self.index);
        arrived.count(self.problem, self.ledger, self.index, &mut state.facts);
        let Some(inducing) = state.inducing.take() else { return Ok(None) };
        if arrived.is_empty() {
            return Ok(None);
        }
        if let Some(repeats) = self.equal_repeats()? {
            state.contradict_by_repeats(repeats, self.claimed_norm());
            return Ok(None);
        }
        let level = self.level()?;
        if self.problem.unknown_level().is_some() && level.is_none() {
            // Nothing can be said yet; the next batch repeats more.
            return Ok(None);
        }
        state.facts.level = level;
        let inducing = if state.cells.is_none() { self.fewest(inducing)? } else { inducing };
        state.keep_for_replay(self, &inducing)?;
        if state.facts.contradiction.is_some() {
            return Ok(None);
        }
        let evidence = self.gather(inducing, arrived)?;
        state.facts.least_norm = state.facts.least_norm.max(evidence.least_norm);
        if evidence.least_norm > self.claimed_norm() {
            state.contradict(Some(evidence.least_norm), self.claimed_norm());
            return Ok(None);
        }
        if evidence.confinement.ellipsoid.is_contradicted() {
            state.contradict(None, self.claimed_norm());
            return Ok(None);
        }
        state.facts.inducing = evidence.posterior.information().features().len();
        state.facts.record(evidence.widths.residual_norm());
        Ok(Some(evidence))
    }

    /// The inducing points of the plan, or the planned points themselves where these are fewer: the plan's stand for the whole list, and what is claimed needs no more than what is measured, of which the planned
    /// points lose nothing ($\lambda = 0$). Both are known before the noise.
    fn fewest(&self, inducing: Points) -> Result<Points> {
        let planned = self.ledger.trials()[self.ledger.batch(self.index)].iter().map(|trial| trial.point.as_slice());
        let before = self.ledger.fixed_before().map(|measured| measured.point).filter(|_| self.index == 0);
        let planned: Vec<&[f64]> = planned.chain(before).collect();
        let planned = Locations::new(Points::from_rows(&planned)?, Collected::Designed);
        if planned.distinct() >= inducing.len() {
            return Ok(inducing);
        }
        let mut factor = PartialCholesky::new(&self.premises.kernel.value, &planned)?;
        factor.add_greedy(planned.distinct())?;
        factor.pivots()
    }

    /// That the replicates of this batch, from which an unknown noise level is to be found, are all equal.
    fn equal_repeats(&self) -> Result<Option<usize>> {
        if self.problem.unknown_level().is_none() {
            return Ok(None);
        }
        level::equal_repeats(self.problem, self.ledger, self.index)
    }

    /// The bound on an unknown noise level by this batch and those before it.
    fn level(&self) -> Result<Option<LevelBound>> {
        if self.problem.unknown_level().is_none() {
            return Ok(None);
        }
        level::bound(self.problem, self.ledger, self.index, self.counted)
    }

    /// What is claimed about the norm: plans may go by more.
    pub fn claimed_norm(&self) -> f64 {
        self.problem.norm_bound().unwrap_or(self.premises.norm_bound)
    }

    /// What arrived, seen through these inducing points.
    pub fn gather(&self, inducing: Points, arrived: Arrived) -> Result<Evidence> {
        let bounded = self.level()?.map(|bound| Noise::gaussian(bound.level)).transpose()?;
        let one = bounded.unwrap_or_else(|| self.premises.noise.clone());
        let noise = arrived.noise(&one)?;
        let posterior = self.posterior(inducing, arrived)?;
        let least_norm = self.least_norm(&posterior, &noise)?;
        let widths = Widths::new(Arc::clone(posterior.information()), &self.claim(&noise)?)?;
        let confinement = self.confinement(&posterior, &noise, &widths)?;
        Ok(Evidence { posterior, noise, one, widths, confinement, least_norm })
    }

    /// The ellipsoid of this batch (algorithm notes 14.2), for functionals like $e = B^{-1}\psi$.
    fn confinement(&self, posterior: &Posterior, noise: &Noise, widths: &Widths) -> Result<Confinement> {
        let (norm_bound, lambda) = (self.premises.norm_bound, widths.residual_norm().value);
        let premises = EllipsoidPremises {
            norm_bound,
            noise,
            planned: self.premises.noise,
            lambda,
            form: None,
            tail: self.budget.tail(SHARES.ellipsoid, 1),
        };
        let tau2 = self.ridge().powi(2);
        let profile = |gamma: f64| gamma * (tau2 / (gamma + tau2)).powi(2);
        let directions = Directions::new(posterior.information(), &premises, profile)?;
        Ok(Confinement { ellipsoid: directions.ellipsoid(posterior)?, directions })
    }

    /// Eliminates among listed candidates. Cost O(u(md + m²) + A(md + m² + Mm)) for u distinct measured points, A survivors and M challengers.
    pub fn learn(&self, candidates: &SetOfCandidates, evidence: &Evidence, state: &mut State) -> Result<()> {
        let Chosen { positions, ranks } = self.challengers(state);
        let survivors = candidates.select(&state.survivors)?;
        let singles = self.singles(evidence, &survivors)?;
        state.intersect(&singles.upper, &singles.lower);
        let points = survivors.view().select(&positions)?;
        let posteriors = ridges::others(evidence)?;
        let (Confinement { directions, ellipsoid }, width) = (&evidence.confinement, self.width(evidence, &ranks));
        let under = Under { confinement: (directions, std::slice::from_ref(ellipsoid)), settings: &[self.declared()] };
        let beside: Vec<Beside<'_>> =
            posteriors.iter().map(|p| Beside::new(p, under, &points, &evidence.noise, &width)).collect::<Result<_>>()?;
        let field = Field { challengers: self.against(evidence, points, &ranks)?, beside, positions };
        self.eliminate(&field, evidence, &singles, &survivors, state)
    }

    /// Challengers of these ranks under the declared premises.
    pub fn against<'e>(&self, evidence: &'e Evidence, points: Points, ranks: &[usize]) -> Result<Challengers<'e>> {
        let Confinement { directions, ellipsoid } = &evidence.confinement;
        let under = Under { confinement: (directions, std::slice::from_ref(ellipsoid)), settings: &[self.declared()] };
        Challengers::new(&evidence.posterior, under, points, &evidence.noise, self.width(evidence, ranks))
    }

    /// What the batch is judged with.
    fn declared(&self) -> Setting {
        Setting { norm_bound: self.premises.norm_bound, scale: 1.0 }
    }

    /// What turns parts into widths in this batch, for challengers of these ranks.
    pub fn width(&self, evidence: &Evidence, ranks: &[usize]) -> Width {
        Width {
            level: evidence.noise.level(),
            planned: evidence.one.level(),
            lambda_root: evidence.widths.residual_norm().value.sqrt(),
            ridge: self.ridge(),
            emphasis: self.emphasis(&evidence.noise, ranks),
        }
    }

    /// The ridge of the estimates, $\tau = Rz/C$ (algorithm notes 7.5), or the design's where that is larger: known before the batch.
    fn ridge(&self) -> f64 {
        let z = self.pair_tail(self.premises.noise, 2 * CHALLENGERS);
        self.premises.ridge.max(self.premises.noise.level() * z / self.premises.norm_bound)
    }

    /// Challengers that promise more have more of $\delta$: the one of rank $r$ has a share proportional to $1/(1+r)$. The factor of each, relative to that of
    /// equal shares.
    fn emphasis(&self, noise: &Noise, ranks: &[usize]) -> Vec<f64> {
        let weight = |rank: usize| 1.0 / (1 + rank) as f64;
        let total: f64 = ranks.iter().map(|&rank| weight(rank)).sum();
        let equal = self.pair_tail(noise, ranks.len());
        let factor = |rank: usize| noise.tail_factor(self.budget.tail(self.pair_share() * weight(rank) / total, 1));
        // Normal noise at a δ of one half and more has no tail.
        ranks.iter().map(|&rank| if equal > 0.0 { factor(rank) / equal } else { 1.0 }).collect()
    }

    fn posterior(&self, inducing: Points, arrived: Arrived) -> Result<Posterior> {
        let dim = inducing.dim();
        let features = FeatureMap::new(self.premises.kernel.clone(), inducing)?;
        let points = Points::new(arrived.points, dim)?;
        let observations = Observations::new(points, &arrived.values, Collected::Designed, Prior::ZERO)?;
        Posterior::fit(Arc::new(features), self.ridge(), observations)
    }

    fn claim(&self, noise: &Noise) -> Result<Claim> {
        Ok(Claim::new(self.problem.delta())?.norm_bound(self.premises.norm_bound)?.noise(noise.clone()).method(Method::Direct))
    }

    /// The alarm (algorithm notes 7.3): the least norm that fits the data, at its share of $\delta$ after each batch.
    fn least_norm(&self, posterior: &Posterior, noise: &Noise) -> Result<f64> {
        let claim = self.claim(noise)?.with_delta(self.budget.each(SHARES.alarm, 1))?;
        Ok(posterior.norm_check(&claim)?.least_norm)
    }

    /// $z_u$ for one point, $x^*$.
    pub fn above(&self, noise: &Noise) -> f64 {
        noise.tail_factor(self.budget.tail(SHARES.above, 1))
    }

    /// $z$ for pairs of $x^*$ and each of $M$ challengers.
    pub fn pair_tail(&self, noise: &Noise, challengers: usize) -> f64 {
        noise.tail_factor(self.budget.tail(self.pair_share(), challengers))
    }

    /// Thresholds that draws stand for fail with so much of the share, and the draws with the rest of it; both kinds are judged by one noise.
    fn pair_share(&self) -> f64 {
        if self.settings.simulated { 0.99 * SHARES.pairs } else { SHARES.pairs }
    }

    /// The challengers, fixed before the noise of this batch: the best by the lower bound of earlier batches, and the first distinct points of its design.
    pub fn challengers(&self, state: &State) -> Chosen {
        let mut best: Vec<usize> = (0..state.survivors.len()).filter(|&i| state.lower[i].is_finite()).collect();
        best.sort_by(|&a, &b| state.lower[b].total_cmp(&state.lower[a]).then(a.cmp(&b)));
        best.truncate(CHALLENGERS);
        let known = best.len();
        let trials = &self.ledger.trials()[self.ledger.batch(self.index)];
        let mut designed = 0;
        for position in trials.iter().filter_map(|t| state.survivors.binary_search(&t.candidate?).ok()) {
            if designed == CHALLENGERS {
                break;
            }
            if !best[known..].contains(&position) {
                designed += 1;
                if !best[..known].contains(&position) {
                    best.push(position);
                }
            }
        }
        if best.is_empty() {
            // A batch that another version planned may hold none of today's candidates.
            best.extend(0..state.survivors.len().min(CHALLENGERS));
        }
        // Among the designed ones nothing is known: they share the last rank.
        let ranks = (0..best.len()).map(|i| i.min(known)).collect();
        Chosen { positions: best, ranks }
    }

    /// $u = \bar\mu + C\,b + R\lVert V\rVert z_u$ for one point, $x^*$; $l = \bar\mu - C\,b - R\lVert V\rVert z_l$ over the list.
    pub fn singles(&self, evidence: &Evidence, list: &Points) -> Result<Singles> {
        let above = self.above(&evidence.noise);
        let below = evidence.noise.tail_factor(self.budget.tail(SHARES.below, list.len()));
        let (means, halves) = evidence.posterior.centred_widths(&evidence.widths, list.view())?;
        let mut singles = Singles { centres: Vec::new(), upper: Vec::new(), lower: Vec::new() };
        for (&mean, half) in means.iter().zip(&halves) {
            singles.centres.push(Centre { mean, slack: half.slack, radius: 0.0 });
            singles.upper.push(mean + half.bias + above * half.coefficient + half.slack);
            singles.lower.push(mean - half.bias - below * half.coefficient - half.slack);
        }
        Ok(singles)
    }

    /// Rules out every survivor that some challenger certainly beats or whose interval lies below another's, and takes the smaller of the two gaps.
    fn eliminate(&self, field: &Field<'_>, evidence: &Evidence, singles: &Singles, survivors: &Points, state: &mut State) -> Result<()> {
        let Field { challengers, beside, positions } = field;
        let possible: Vec<usize> = (0..survivors.len()).filter(|&i| state.upper[i] >= state.floor).collect();
        if possible.is_empty() {
            // No function within the premises does this.
            state.contradict(None, self.claimed_norm());
            return Ok(());
        }
        let left = survivors.view().select(&possible)?;
        let centres: Vec<Centre> = possible.iter().map(|&i| singles.centres[i]).collect();
        let own: Vec<Centre> = positions.iter().map(|&j| singles.centres[j]).collect();
        let tail = self.pair_tail(&evidence.noise, challengers.len());
        let simulation = self.simulation(field, evidence)?;
        let mut kept = Vec::with_capacity(possible.len());
        let mut gaps = vec![f64::NEG_INFINITY; challengers.len()];
        let planned = self.pair_tail(&evidence.one, challengers.len());
        challengers.for_each_survivor_at_best(beside, planned, left.view(), &centres, &own, |i, solved, differences| {
            let factor = simulation.as_ref().map_or(tail, |s| s.factor(solved, differences));
            if differences.iter().all(|d| d.upper(factor) >= 0.0) {
                kept.push(possible[i]);
                gaps.iter_mut().zip(differences).for_each(|(gap, d)| *gap = gap.max(d.upper(factor)));
            }
            Ok(())
        })?;
        self.conclude(state, &kept, survivors.view(), positions, &gaps);
        Ok(())
    }

    fn simulation(&self, field: &Field<'_>, evidence: &Evidence) -> Result<Option<Simulation>> {
        let Noise::Gaussian { std_dev } = evidence.noise else { return Ok(None) };
        if !self.settings.simulated {
            return Ok(None);
        }
        let seed = self.problem.seed() ^ (0x5eed_0000 + self.index as u64);
        let solved: Vec<_> =
            iter::once(&field.challengers).chain(field.beside.iter().map(Beside::challengers)).map(Challengers::solved).collect();
        let alpha = self.budget.each(SHARES.pairs, 1);
        Simulation::new(evidence.posterior.information(), std_dev, &solved, alpha, seed).map(Some)
    }

    /// The recommendation is the challenger with the smallest pairwise gap, or the largest lower bound where $\max u-\max l$ is smaller still.
    fn conclude(&self, state: &mut State, kept: &[usize], points: PointsRef<'_>, positions: &[usize], gaps: &[f64]) {
        if kept.is_empty() {
            state.contradict(None, self.claimed_norm());
            return;
        }
        let (candidates, lower) = (state.survivors.clone(), state.lower.clone());
        state.keep(kept);
        let pair = (0..gaps.len()).min_by(|&a, &b| gaps[a].total_cmp(&gaps[b]).then(a.cmp(&b)));
        if let Some(j) = pair {
            let i = positions[j];
            state.offer(Some(candidates[i]), points.row(i), gaps[j].max(0.0), lower[i]);
        }
        if let Some(i) = argmax(lower.iter().copied().enumerate()) {
            state.offer(Some(candidates[i]), points.row(i), (state.ceiling - lower[i]).max(0.0), lower[i]);
        }
    }
}
