//! What a batch proves: intervals, pairwise elimination and the certified gap (algorithm notes 5.3).

use super::Sbpe;
use super::candidates::SetOfCandidates;
use super::pairs::{Centre, Challengers, Width};
use super::premises::{Arrived, Premises};
use super::quantile::Simulation;
use super::state::State;
use crate::certificate::{ALARM_SHARE, Claim, Method, Widths};
use crate::error::Result;
use crate::features::FeatureMap;
use crate::noise::Noise;
use crate::points::{Collected, Observations, Points, PointsRef, Prior};
use crate::posterior::Posterior;
use crate::strategy::run::ledger::Ledger;
use crate::strategy::run::problem::Problem;
use sigmabar_linalg::argmax;
use std::sync::Arc;

/// Challengers of each kind: the best by the lower bound before the batch, and the first of its design.
pub(super) const CHALLENGERS: usize = 32;

/// One batch under the eyes of the certificate.
pub(super) struct Batch<'a> {
    pub settings: &'a Sbpe,
    pub problem: &'a Problem,
    pub ledger: &'a Ledger,
    pub premises: Premises<'a>,
    /// Its number, from 0.
    pub index: usize,
    /// $B$.
    pub batches: f64,
}

/// What a batch has shown.
pub(super) struct Evidence {
    pub posterior: Posterior,
    pub noise: Noise,
    pub widths: Widths,
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
        arrived.count(self.ledger, self.index, &mut state.facts);
        let Some(inducing) = state.inducing.take() else { return Ok(None) };
        if arrived.is_empty() || state.facts.contradiction.is_some() {
            return Ok(None);
        }
        let noise = self.premises.noise_of(&arrived)?;
        let posterior = self.posterior(inducing, arrived)?;
        if let Some(least_norm) = self.contradiction(&posterior, &noise)? {
            state.contradict(Some(least_norm), self.premises.norm_bound);
            return Ok(None);
        }
        let widths = Widths::new(Arc::clone(posterior.information()), &self.claim(&noise)?)?;
        state.facts.inducing = posterior.information().features().len();
        state.facts.record(widths.residual_norm());
        Ok(Some(Evidence { posterior, noise, widths }))
    }

    /// Eliminates among listed candidates. Cost O(u(md + m²) + A(md + m² + Mm)) for u distinct measured points, A survivors and M challengers.
    pub fn learn(&self, candidates: &SetOfCandidates, evidence: &Evidence, state: &mut State) -> Result<()> {
        let positions = self.challengers(state);
        let survivors = candidates.select(&state.survivors)?;
        let singles = self.singles(evidence, &survivors)?;
        state.intersect(&singles.upper, &singles.lower);
        let points = survivors.view().select(&positions)?;
        let challengers = Challengers::new(&evidence.posterior, points, &evidence.noise, self.width(evidence))?;
        self.eliminate(&challengers, &evidence.noise, &singles, &positions, &survivors, state)
    }

    /// What turns parts into widths in this batch.
    pub fn width(&self, evidence: &Evidence) -> Width {
        Width {
            norm_bound: self.settings.width_factor * self.premises.norm_bound,
            level: self.settings.width_factor * evidence.noise.level(),
            lambda_root: evidence.widths.residual_norm().value.sqrt(),
        }
    }

    fn posterior(&self, inducing: Points, arrived: Arrived) -> Result<Posterior> {
        let dim = inducing.dim();
        let features = FeatureMap::new(self.premises.kernel.clone(), inducing)?;
        let points = Points::new(arrived.points, dim)?;
        let observations = Observations::new(points, &arrived.values, Collected::Designed, Prior::ZERO)?;
        Posterior::fit(Arc::new(features), self.premises.ridge, observations)
    }

    fn claim(&self, noise: &Noise) -> Result<Claim> {
        Ok(Claim::new(self.problem.delta())?.norm_bound(self.premises.norm_bound)?.noise(noise.clone()).method(Method::Direct))
    }

    /// The alarm (algorithm notes 7.3): $\delta/(20B)$ after each batch, out of $\delta$. The least norm that fits the data, where the declared one does not.
    fn contradiction(&self, posterior: &Posterior, noise: &Noise) -> Result<Option<f64>> {
        let claim = self.claim(noise)?.with_delta(ALARM_SHARE * self.problem.delta() / self.batches)?;
        let check = posterior.norm_check(&claim)?;
        Ok((check.contradicted == Some(true)).then_some(check.least_norm))
    }

    /// What the alarm leaves of δ: the δ of the shares below.
    fn delta(&self) -> f64 {
        (1.0 - ALARM_SHARE) * self.problem.delta()
    }

    /// $z_u$: $\delta/(4B)$ for one point, $x^*$.
    pub fn above(&self, noise: &Noise) -> f64 {
        noise.tail_factor((4.0 * self.batches / self.delta()).ln())
    }

    /// $z$ for pairs: $\delta/(2BM)$ each.
    pub fn pair_tail(&self, noise: &Noise, challengers: usize) -> f64 {
        noise.tail_factor((2.0 * self.batches * challengers as f64 / self.delta()).ln())
    }

    /// Positions among the survivors, fixed before the noise of this batch: the best by the lower bound of earlier batches, and the first distinct points of
    /// its design.
    fn challengers(&self, state: &State) -> Vec<usize> {
        let mut best: Vec<usize> = (0..state.survivors.len()).filter(|&i| state.lower[i].is_finite()).collect();
        best.sort_by(|&a, &b| state.lower[b].total_cmp(&state.lower[a]).then(a.cmp(&b)));
        best.truncate(CHALLENGERS);
        let trials = &self.ledger.trials()[self.ledger.batch(self.index)];
        let designed = trials.iter().filter_map(|t| state.survivors.binary_search(&t.candidate?).ok());
        let mut first: Vec<usize> = Vec::with_capacity(CHALLENGERS);
        for position in designed {
            if first.len() == CHALLENGERS {
                break;
            }
            if !first.contains(&position) {
                first.push(position);
            }
        }
        best.extend(first);
        if best.is_empty() {
            // A batch that another version planned may hold none of today's candidates.
            best.extend(0..state.survivors.len().min(CHALLENGERS));
        }
        best.sort_unstable();
        best.dedup();
        best
    }

    /// $u = \bar\mu + C\,b + R\lVert V\rVert z_u$ with $\delta/4$ for one point, $x^*$; $l = \bar\mu - C\,b - R\lVert V\rVert z_l$ with $\delta/4$ over the list.
    pub fn singles(&self, evidence: &Evidence, list: &Points) -> Result<Singles> {
        let above = self.above(&evidence.noise);
        let below = evidence.noise.tail_factor((4.0 * self.batches * list.len() as f64 / self.delta()).ln());
        let (means, halves) = evidence.posterior.centred_widths(&evidence.widths, list.view())?;
        let factor = self.settings.width_factor;
        let mut singles = Singles { centres: Vec::new(), upper: Vec::new(), lower: Vec::new() };
        for (&mean, half) in means.iter().zip(&halves) {
            singles.centres.push(Centre { mean, slack: half.slack });
            singles.upper.push(mean + factor * (half.bias + above * half.coefficient) + half.slack);
            singles.lower.push(mean - factor * (half.bias + below * half.coefficient) - half.slack);
        }
        Ok(singles)
    }

    /// Rules out every survivor that some challenger certainly beats or whose interval lies below another's, and takes the smaller of the two gaps.
    fn eliminate(
        &self,
        challengers: &Challengers<'_>,
        noise: &Noise,
        singles: &Singles,
        positions: &[usize],
        survivors: &Points,
        state: &mut State,
    ) -> Result<()> {
        let possible: Vec<usize> = (0..survivors.len()).filter(|&i| state.upper[i] >= state.floor).collect();
        if possible.is_empty() {
            // No function within the premises does this.
            state.contradict(None, self.premises.norm_bound);
            return Ok(());
        }
        let left = survivors.view().select(&possible)?;
        let centres: Vec<Centre> = possible.iter().map(|&i| singles.centres[i]).collect();
        let own: Vec<Centre> = positions.iter().map(|&j| singles.centres[j]).collect();
        let half = self.delta() / (2.0 * self.batches);
        let tail = self.pair_tail(noise, challengers.len());
        let simulation = self.simulation(challengers, noise, half)?;
        let mut kept = Vec::with_capacity(possible.len());
        let mut gaps = vec![f64::NEG_INFINITY; challengers.len()];
        challengers.for_each_survivor(left.view(), &centres, &own, |i, solved, differences| {
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

    fn simulation(&self, challengers: &Challengers<'_>, noise: &Noise, alpha: f64) -> Result<Option<Simulation>> {
        let Noise::Gaussian { std_dev } = noise else { return Ok(None) };
        if !self.settings.simulated {
            return Ok(None);
        }
        let seed = self.problem.seed() ^ (0x5eed_0000 + self.index as u64);
        challengers.simulate(self.settings.width_factor * std_dev, alpha, seed).map(Some)
    }

    /// The recommendation is the challenger with the smallest pairwise gap, or the largest lower bound where $\max u-\max l$ is smaller still.
    fn conclude(&self, state: &mut State, kept: &[usize], points: PointsRef<'_>, positions: &[usize], gaps: &[f64]) {
        if kept.is_empty() {
            state.contradict(None, self.premises.norm_bound);
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
