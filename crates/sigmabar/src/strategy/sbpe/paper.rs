//! The paper's S-BPE to the letter (algorithm notes 5.3, "fidelity mode"), its corrections E8 and E14 applied.

use super::candidates::SetOfCandidates;
use super::premises::{Arrived, Premises};
use super::state::State;
use crate::certificate::Noise;
use crate::design::{ExactSweep, Queue};
use crate::error::Result;
use crate::features::FeatureMap;
use crate::inducing::InducingRule;
use crate::information::Information;
use crate::points::{Collected, Locations, Observations, Points, PointsRef, Prior};
use crate::posterior::{ExactPosterior, Posterior};
use crate::strategy::run::ledger::Ledger;
use crate::strategy::run::problem::Problem;
use crate::theory::batch_lengths;
use std::f64::consts::PI;
use std::sync::Arc;

/// The theory sampler keeps everything up to $192\ln(1/\delta_j)$ points (algorithm notes 1.1).
const KEEP_ALL: f64 = 192.0;

/// One batch by the paper's rules.
pub(super) struct Paper<'a> {
    pub premises: &'a Premises<'a>,
    pub problem: &'a Problem,
    /// Its number, from 0.
    pub batch: usize,
    /// $B$.
    pub batches: f64,
}

/// Means and deviations at the survivors, and the norm of the mean.
pub(super) struct Fit {
    pub means: Vec<f64>,
    pub deviations: Vec<f64>,
    pub norm: f64,
}

impl<'a> Paper<'a> {
    pub fn new(premises: &'a Premises<'a>, problem: &'a Problem, batch: usize, batches: usize) -> Self {
        Self { premises, problem, batch, batches: batches as f64 }
    }

    /// $\delta_j = 3\delta/(\pi^2Bj^2)$, kept below the sampler's limit of 1/32.
    fn sampling_delta(&self, j: usize) -> f64 {
        (3.0 * self.problem.delta() / (PI * PI * self.batches * (j * j) as f64)).min(1.0 / 33.0)
    }

    /// Whether the sampler would keep all of `j` points, so that the sparse model is the exact one.
    pub fn keeps_all(&self, j: usize) -> bool {
        j as f64 <= KEEP_ALL * (1.0 / self.sampling_delta(j)).ln()
    }

    /// `count` times the survivor with the largest variance, the inducing points drawn anew each time; among equals the first.
    ///
    /// Cost O(An²) in all while every point is kept, O(n(m² + A(md + m²))) for each point beyond.
    pub fn design(&self, survivors: PointsRef<'_>, count: usize) -> Result<Vec<usize>> {
        let mut chosen = Vec::with_capacity(count);
        let mut exact = ExactSweep::new(&self.premises.kernel.value, self.premises.ridge, survivors, count);
        let mut queue = Queue::new(&exact, survivors.len());
        while chosen.len() < count {
            let j = chosen.len();
            let next =
                if j == 0 || self.keeps_all(j) { queue.largest(&mut exact)? } else { largest(&self.sparse_variance(survivors, &chosen)?) };
            chosen.push(next);
            if self.keeps_all(j + 1) {
                exact.pick(next)?;
            }
        }
        Ok(chosen)
    }

    /// $\bar\sigma^2$ at the survivors with inducing points drawn for the points so far.
    fn sparse_variance(&self, survivors: PointsRef<'_>, chosen: &[usize]) -> Result<Vec<f64>> {
        let locations = Arc::new(Locations::new(survivors.select(chosen)?, Collected::Designed));
        let features = self.sampled(&locations)?;
        Information::new(features, self.premises.ridge, locations)?.variance(survivors)
    }

    fn sampled(&self, locations: &Locations) -> Result<Arc<FeatureMap>> {
        let j = locations.len();
        let rule = InducingRule::RecursiveLeverageTheory { delta: self.sampling_delta(j) };
        let seed = self.problem.seed().wrapping_add(((self.batch as u64) << 32) + j as u64);
        let inducing = rule.select(&self.premises.kernel.value, self.premises.ridge, locations, seed)?;
        Ok(Arc::new(FeatureMap::new(self.premises.kernel.clone(), inducing.into_points())?))
    }

    /// $u, l = \bar\mu\pm\beta\bar\sigma$ from this batch alone; survivors with $u \ge \max l$ stay, unless this was a last batch cut short.
    pub fn learn(&self, lengths: &[usize], ledger: &Ledger, candidates: &SetOfCandidates, state: &mut State) -> Result<()> {
        let arrived = Arrived::new(self.problem, ledger, self.batch);
        arrived.count(ledger, self.batch, &mut state.facts);
        // The sampling theorem bounds λ with some probability only, and nobody looked.
        state.facts.unchecked |= !self.keeps_all(arrived.values.len());
        if arrived.is_empty() {
            return Ok(());
        }
        let survivors = candidates.select(&state.survivors)?;
        let noise = self.premises.noise_of(&arrived)?;
        let fit = self.fit(arrived, survivors.view())?;
        // β = 3C + (R/τ)√(2 ln(4B|X|/δ)): the a-priori λ = τ².
        let tail = (4.0 * self.batches * candidates.len() as f64 / self.problem.delta()).ln();
        let beta = 3.0 * self.premises.norm_bound + self.noise_width(&noise, tail);
        state.upper = fit.means.iter().zip(&fit.deviations).map(|(m, s)| m + beta * s).collect();
        state.lower = fit.means.iter().zip(&fit.deviations).map(|(m, s)| m - beta * s).collect();
        let floor = state.lower.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let best = (0..survivors.len()).max_by(|&a, &b| state.lower[a].total_cmp(&state.lower[b]).then(b.cmp(&a))).unwrap_or(0);
        let (candidate, lower) = (state.survivors[best], state.lower[best]);
        let ceiling = state.upper.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (state.floor, state.ceiling) = (state.floor.max(floor), state.ceiling.min(ceiling));
        if !self.is_cut_short(lengths) {
            let kept: Vec<usize> = (0..survivors.len()).filter(|&i| state.upper[i] >= floor).collect();
            state.keep(&kept);
        }
        state.offer(Some(candidate), survivors.row(best), (ceiling - floor).max(0.0), lower);
        Ok(())
    }

    /// $(R/\tau)\sqrt{2\ln(1/\delta)}$, whose own form for light tails is $\frac1\tau\sqrt{2\max\{\xi_0,2\ln(1/\delta)/h_0^2\}\ln(1/\delta)}$. `tail` is
    /// $\ln(1/\delta)$.
    pub fn noise_width(&self, noise: &Noise, tail: f64) -> f64 {
        let factor = if matches!(noise, Noise::LightTailed { .. }) { noise.tail_factor(tail) } else { (2.0 * tail).sqrt() };
        noise.level() / self.premises.ridge * factor
    }

    /// Whether the recursion would have made this last batch longer.
    pub fn is_cut_short(&self, lengths: &[usize]) -> bool {
        let (last, budget) = (self.batch + 1 == lengths.len(), lengths.iter().sum::<usize>());
        let before = if self.batch == 0 { 1 } else { lengths[self.batch - 1] };
        let wished = ((budget * before) as f64).sqrt();
        last && batch_lengths(budget).is_ok_and(|l| l == lengths) && (lengths[self.batch] as f64) < wished
    }

    pub fn fit(&self, arrived: Arrived, survivors: PointsRef<'_>) -> Result<Fit> {
        let points = Points::new(arrived.points, survivors.dim())?;
        let observations = Observations::new(points, &arrived.values, Collected::Designed, Prior::ZERO)?;
        if self.keeps_all(observations.len()) {
            let posterior = ExactPosterior::new(self.premises.kernel.clone(), self.premises.ridge, observations)?;
            return Ok(Fit { means: posterior.mean(survivors)?, deviations: posterior.std_dev(survivors)?, norm: posterior.norm() });
        }
        let features = self.sampled(observations.locations())?;
        let posterior = Posterior::fit(features, self.premises.ridge, observations)?;
        let (means, deviations) = posterior.predict(survivors)?;
        Ok(Fit { means, deviations, norm: posterior.norm() })
    }
}

/// The position of the largest value, the first among equals.
fn largest(values: &[f64]) -> usize {
    (1..values.len()).fold(0, |best, i| if values[i] > values[best] { i } else { best })
}
