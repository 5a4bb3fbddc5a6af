//! What a run remembers between batches: who is left, the ends of their intervals, and the best claim so far.

use super::cells::{Cells, Fixed};
use super::elimination::{Batch, Chosen};
use crate::certificate::{Contradiction, Range, Repeated};
use crate::error::Result;
use crate::noise::LevelBound;
use crate::points::Points;
use crate::residual::ResidualNorm;
use crate::strategy::run::recommendation::BatchReport;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};

/// The memory of a run. Values are in the model's scale, where larger is better.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    /// Candidates still possible, ascending.
    pub survivors: Vec<usize>,
    /// $u$ of each survivor: the smallest of all batches.
    pub upper: Vec<f64>,
    /// $l$ of each survivor: the largest of all batches.
    pub lower: Vec<f64>,
    /// The surviving cells, on a box; the lists above are empty then.
    pub cells: Option<Cells>,
    /// The inducing points of the batch that is out.
    pub inducing: Option<Points>,
    /// The setting with the smallest certified gap so far.
    pub best: Option<Best>,
    /// The gap of that setting under the declared norm bound, where batches are planned with a larger one.
    pub claimed: Option<f64>,
    /// $\max_x l(x)$ over everything looked at so far: the maximum is at least this.
    pub floor: f64,
    /// $\max_x u(x)$ over the survivors: the maximum is at most this.
    pub ceiling: f64,
    /// What each batch was judged with that was fixed before its noise: enough to judge it again under other premises.
    pub kept: Vec<Kept>,
    /// What came of the batches so far, as far as claims rest on it.
    pub facts: Facts,
    /// One report per closed batch.
    pub reports: Vec<BatchReport>,
    /// The range that was found for these batches.
    pub range: Found,
}

/// A range that took long to find, for all who ask before the next batch; two runs differ by none of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Option<Range>", into = "Option<Range>")]
pub(super) struct Found(Arc<OnceLock<Range>>);

impl Found {
    /// What was found for this claim and the gap that is followed from it, or what is found now.
    pub fn or_find(&self, (claimed, gap): (f64, f64), find: impl FnOnce() -> Result<Range>) -> Result<Range> {
        if let Some(range) = self.0.get().filter(|range| (range.claimed, range.gap) == (Some(claimed), Some(gap))) {
            return Ok(*range);
        }
        let range = find()?;
        let _ = self.0.set(range);
        Ok(range)
    }

    pub fn is_known(&self) -> bool {
        self.0.get().is_some()
    }
}

impl From<Option<Range>> for Found {
    fn from(found: Option<Range>) -> Self {
        Self(Arc::new(found.map_or_else(OnceLock::new, OnceLock::from)))
    }
}

impl From<Found> for Option<Range> {
    fn from(found: Found) -> Self {
        found.0.get().copied()
    }
}

impl PartialEq for Found {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// What claims rest on that only the run can tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Facts {
    /// Observations that claims used.
    pub observations: usize,
    /// Of these, means whose numbers of replicates were told.
    pub means: usize,
    /// Of these, results from before the run whose points were declared to be fixed.
    pub attached: usize,
    /// Of these, those that equal another in every number.
    pub copies: usize,
    /// Those that repeat a setting.
    pub repeats: Repeated,
    /// Planned observations that were lost.
    pub lost: usize,
    /// Inducing points of the last batch.
    pub inducing: usize,
    /// The largest bound on $\lambda$ of all batches, each certified after its inducing points were known.
    pub residual_norm: Option<ResidualNorm>,
    /// The largest factor $z_u$ on the noise term at a point of all batches.
    pub noise_factor: Option<f64>,
    /// The largest relative rounding that widths allow for of all batches.
    pub rounding: Option<f64>,
    /// How much higher than at the nearest candidate the function can be anywhere; 0 where the domain itself is searched, none where that is not known.
    pub between: Option<f64>,
    /// How many candidates stand for the domain; none where cells search all of it.
    pub candidates: usize,
    /// $c_0$: with the alarm's share of $\delta$, the norm is at least this.
    pub least_norm: f64,
    /// The bound on the level of the noise, where nobody knows it.
    pub level: Option<LevelBound>,
    /// That the data contradict the premises.
    pub contradiction: Option<Contradiction>,
}

impl Facts {
    /// Remembers a certified $\lambda$ if it is the largest so far.
    pub fn record(&mut self, residual_norm: ResidualNorm) {
        let largest = self.residual_norm.filter(|earlier| earlier.value >= residual_norm.value);
        self.residual_norm = largest.or(Some(residual_norm));
    }

    /// Remembers what the widths of a batch were made with, if it is the largest so far.
    pub fn judge(&mut self, noise_factor: f64, rounding: f64) {
        self.noise_factor = Some(self.noise_factor.map_or(noise_factor, |z| z.max(noise_factor)));
        self.rounding = Some(self.rounding.map_or(rounding, |r| r.max(rounding)));
    }
}

/// What a batch was judged with, all of it fixed before its noise (algorithm notes 13.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Kept {
    /// The batch.
    pub index: usize,
    pub inducing: Points,
    pub challengers: Points,
    pub ranks: Vec<usize>,
    /// Where lower bounds were taken: candidates, or points of a box.
    pub list: Listed,
}

/// Points whose lower bounds are taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Listed {
    Candidates(Vec<usize>),
    Points(Points),
}

/// A setting and how far from the maximum it can be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Best {
    pub candidate: Option<usize>,
    pub point: Vec<f64>,
    pub gap: f64,
    pub lower: f64,
}

impl State {
    pub fn new(candidates: usize, between: Option<f64>) -> Self {
        Self {
            survivors: (0..candidates).collect(),
            upper: vec![f64::INFINITY; candidates],
            lower: vec![f64::NEG_INFINITY; candidates],
            cells: None,
            inducing: None,
            best: None,
            claimed: None,
            floor: f64::NEG_INFINITY,
            ceiling: f64::INFINITY,
            kept: Vec::new(),
            facts: Facts { between, candidates, ..Facts::default() },
            reports: Vec::new(),
            range: Found::default(),
        }
    }

    /// The setting that is claimed. Once the data contradict the premises it is none, also where an earlier batch claimed one: that claim rests on the same premises, and would
    /// stand unmoved whatever is measured later.
    pub fn claim(&self) -> Option<&Best> {
        self.best.as_ref().filter(|_| self.facts.contradiction.is_none())
    }

    /// Nothing is ruled out or claimed any more: no function within the premises gives these data.
    pub fn contradict(&mut self, least_norm: Option<f64>, norm_bound: f64) {
        self.facts.contradiction.get_or_insert(Contradiction::of_norm(least_norm, norm_bound));
    }

    /// The same where so many repeated measurements are all equal: noise that nobody knows the level of is not of the kind that was declared.
    pub fn contradict_by_repeats(&mut self, repeats: usize, norm_bound: f64) {
        self.facts.contradiction.get_or_insert(Contradiction { least_norm: None, norm_bound, equal_repeats: Some(repeats) });
    }

    /// Writes down what the batch is judged with.
    pub fn keep_for_replay(&mut self, batch: &Batch<'_>, inducing: &Points) -> Result<()> {
        let (challengers, ranks, list) = match &self.cells {
            Some(cells) => {
                let Fixed { points, ranks, list } = cells.fixed(batch)?;
                (points, ranks, Listed::Points(list))
            }
            None => {
                let Chosen { positions, ranks } = batch.challengers(self);
                let chosen: Vec<usize> = positions.iter().map(|&i| self.survivors[i]).collect();
                let candidates = batch.settings.candidates(batch.problem)?;
                (candidates.select(&chosen)?, ranks, Listed::Candidates(self.survivors.clone()))
            }
        };
        self.range = Found::default();
        self.kept.push(Kept { index: batch.index, inducing: inducing.clone(), challengers, ranks, list });
        Ok(())
    }

    /// Intersects the intervals with those of another batch: all events are paid for already.
    pub fn intersect(&mut self, upper: &[f64], lower: &[f64]) {
        self.upper.iter_mut().zip(upper).for_each(|(u, v)| *u = u.min(*v));
        self.lower.iter_mut().zip(lower).for_each(|(l, v)| *l = l.max(*v));
        self.floor = self.lower.iter().copied().fold(self.floor, f64::max);
    }

    /// Keeps some of the survivors (by position).
    pub fn keep(&mut self, positions: &[usize]) {
        self.survivors = positions.iter().map(|&i| self.survivors[i]).collect();
        self.upper = positions.iter().map(|&i| self.upper[i]).collect();
        self.lower = positions.iter().map(|&i| self.lower[i]).collect();
        self.ceiling = self.upper.iter().copied().fold(f64::NEG_INFINITY, f64::max).min(self.ceiling);
    }

    /// Takes a claim if its gap is smaller than that of the best so far; both hold on the same event.
    pub fn offer(&mut self, candidate: Option<usize>, point: &[f64], gap: f64, lower: f64) {
        if self.best.as_ref().is_none_or(|best| gap < best.gap) {
            self.best = Some(Best { candidate, point: point.to_vec(), gap, lower });
        }
    }
}
