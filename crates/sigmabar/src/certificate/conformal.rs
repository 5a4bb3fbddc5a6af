//! Intervals for a new response that need no premise but exchangeable rows (algorithm notes 16.1, 16.2).

use super::intervals::Ends;
use super::premises::{Calibrated, Premises};
use super::record::{About, Bounds, Certificate, Claimed, Frequency, Spent, Theorem, Unseen};
use super::{PredictionIntervals, Side};
use crate::error::{Error, Result, probability, same_length};
use crate::origin::{Origin, Sourced};
use crate::points::{Doubts, Observations, PointsRef, row_hash};
use crate::posterior::Posterior;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// How far a model was off on rows that it has not learnt from: scores $\lvert y-\mu(x)\rvert/\sqrt{\sigma^2(x)+\tau^2}$. A few numbers for each row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The column whose values group the rows.
    column: Option<usize>,
    groups: Vec<Group>,
    /// Rows that the model had learnt from all the same.
    learnt: usize,
    /// Whether a model that keeps sums only was calibrated: it cannot tell which rows it learnt from.
    is_blind: bool,
    /// Every row that came, with its call: those that come later are judged with them.
    rows: Vec<Row>,
}

/// What is kept of a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Row {
    /// The call of [`Calibration::add`] that brought it.
    call: usize,
    /// What stands in the column of the groups; 0 where rows are not grouped.
    value: f64,
    score: f64,
    /// The bits of its response.
    response: u64,
    hash: u64,
    is_learnt: bool,
}

/// The rows of one group that count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Group {
    /// What stands in the column; 0 where rows are not grouped.
    value: f64,
    /// In increasing order.
    scores: Vec<f64>,
}

impl Calibration {
    /// Scores of rows that the posterior, with its kernel, ridge and prior, has not learnt from: handing them over is saying so. Cost O(q(md + m²)).
    ///
    /// # Errors
    /// As [`Calibration::add`].
    pub fn new(posterior: &Posterior, x: PointsRef<'_>, y: &[f64]) -> Result<Self> {
        let mut calibration = Self::default();
        calibration.add(posterior, x, y)?;
        Ok(calibration)
    }

    /// No rows yet; they will be grouped by the values of a column, and every group is calibrated by itself (Mondrian).
    #[must_use]
    pub fn by_column(column: usize) -> Self {
        Self { column: Some(column), ..Self::default() }
    }

    /// More rows. Where chance makes no two responses equal, rows that are equal in every number are one measurement written down twice: they count once, and not at all where
    /// the model has learnt from one of them. All rows so far are judged together. Cost as [`Calibration::new`], beyond it that of sorting all scores.
    ///
    /// # Errors
    /// Points of another width, another number of responses, a response that is not finite, a column that is not there.
    pub fn add(&mut self, posterior: &Posterior, x: PointsRef<'_>, y: &[f64]) -> Result<()> {
        same_length("responses", x.len(), y.len())?;
        if let Some(row) = y.iter().position(|v| !v.is_finite()) {
            return Err(Error::NotFinite { what: "responses", row, column: 0, value: y[row] });
        }
        if let Some(column) = self.column.filter(|column| *column >= x.dim()) {
            return Err(Error::Parameter {
                name: "column of the groups",
                value: column as f64,
                requirement: "one of the columns, counted from 0",
            });
        }
        let (mean, spread) = spreads(posterior, x)?;
        self.is_blind |= !posterior.information().has_rows();
        let learnt = posterior.observations().map(Observations::single_hashes).unwrap_or_default();
        let call = self.rows.last().map_or(0, |row| row.call + 1);
        for (i, y) in y.iter().enumerate() {
            let (hash, score) = (row_hash(x.row(i), *y), (y - mean[i]).abs() / spread[i]);
            let (response, is_learnt) = ((y + 0.0).to_bits(), learnt.contains(&hash));
            self.rows.push(Row { call, value: self.value_at(x, i), score, response, hash, is_learnt });
        }
        self.group();
        Ok(())
    }

    /// Puts the scores of the rows that count into their groups.
    fn group(&mut self) {
        let learnt = self.rows.iter().filter(|row| row.is_learnt).count();
        let are_single = 2 * learnt <= self.rows.len() && are_single(&self.rows);
        let (mut seen, mut groups) = (HashSet::new(), Vec::<Group>::new());
        for row in &self.rows {
            if are_single && (row.is_learnt || !seen.insert(row.hash)) {
                continue;
            }
            match groups.iter_mut().find(|group| group.value == row.value) {
                Some(group) => group.scores.push(row.score),
                None => groups.push(Group { value: row.value, scores: vec![row.score] }),
            }
        }
        groups.iter_mut().for_each(|group| group.scores.sort_unstable_by(f64::total_cmp));
        (self.groups, self.learnt) = (groups, if are_single { 0 } else { learnt });
    }

    /// The fewest rows that give an interval with ends: $(n+1)(1-\delta)\le n$.
    #[must_use]
    pub fn rows_needed(delta: f64) -> usize {
        (1..).find(|n| rank(*n, delta) <= *n).unwrap_or(usize::MAX)
    }

    /// The column whose values group the rows, where they are grouped.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        self.column
    }

    /// Number of rows in the group of this value.
    #[must_use]
    pub fn rows_of(&self, value: f64) -> usize {
        self.scores_of(value).len()
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.groups.iter().map(|group| group.scores.len()).sum()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The scores, group after group.
    pub fn scores(&self) -> impl Iterator<Item = f64> {
        self.groups.iter().flat_map(|group| &group.scores).copied()
    }

    fn value_at(&self, x: PointsRef<'_>, row: usize) -> f64 {
        self.column.map_or(0.0, |column| x.row(row)[column] + 0.0)
    }

    fn scores_of(&self, value: f64) -> &[f64] {
        self.groups.iter().find(|group| group.value == value).map_or(&[], |group| &group.scores)
    }
}

/// The end of an interval, not a rounding error short of the response that defines it: where responses are equal, many are. The mean is a sum, whose terms are so large together.
pub(super) fn outwards(mean: f64, reach: f64, terms: f64) -> f64 {
    mean + reach + 16.0 * f64::EPSILON * (mean.abs() + reach + terms)
}

/// By how much more than its last digits the mean of a point may differ from itself in another block: $m\sqrt{k(x,x)}\,\lVert\bar\mu\rVert$, in the data's scale.
fn terms(posterior: &Posterior, x: PointsRef<'_>) -> Vec<f64> {
    let features = posterior.information().features();
    let all = (features.len() + 8) as f64 * posterior.norm() * posterior.prior().unit();
    features.kernel().diagonal(x).into_iter().map(|k_xx| all * k_xx.sqrt()).collect()
}

/// $k = \lceil(n+1)(1-\delta)\rceil$: the new score is as likely to be the last of $n+1$ as any other.
pub(super) fn rank(rows: usize, delta: f64) -> usize {
    let exact = (rows + 1) as f64 * (1.0 - delta);
    (exact * (1.0 - 4.0 * f64::EPSILON)).ceil() as usize
}

/// Mean and deviation of a new response, in the data's scale.
fn spreads(posterior: &Posterior, x: PointsRef<'_>) -> Result<(Vec<f64>, Vec<f64>)> {
    let (mean, mut spread) = posterior.predict(x)?;
    let noise = posterior.information().ridge() * posterior.prior().unit();
    spread.iter_mut().for_each(|s| *s = s.hypot(noise));
    Ok((mean, spread))
}

/// Whether equal rows are one measurement written down twice: no response came at two points, and none more than twice in one call. Elsewhere, as with counts, grades and readings of zero,
/// chance makes rows equal, and they all count.
fn are_single(rows: &[Row]) -> bool {
    let mut seen: HashMap<u64, (&Row, usize)> = HashMap::with_capacity(rows.len());
    rows.iter().all(|row| {
        let (last, times) = seen.entry(row.response).or_insert((row, 0));
        *times = if last.call == row.call { *times + 1 } else { 1 };
        let is_one = last.hash == row.hash && *times <= 2;
        *last = row;
        is_one
    })
}

/// A model, or several each of which has not learnt from a part of the rows, with what they got wrong there.
#[derive(Clone, Debug)]
pub struct Conformal<'a> {
    folds: Vec<(Cow<'a, Posterior>, Cow<'a, Calibration>)>,
}

impl Posterior {
    /// The same model for predictions alone, such as those behind calibrated intervals: neither rows nor what claims about the function need is kept.
    #[must_use]
    pub fn for_predictions(&self) -> Self {
        self.summed(None)
    }
}

impl<'a> Conformal<'a> {
    /// One model, calibrated on rows that it has not learnt from: the level is exact.
    #[must_use]
    pub fn split(posterior: &'a Posterior, calibration: &'a Calibration) -> Self {
        Self { folds: vec![(Cow::Borrowed(posterior), Cow::Borrowed(calibration))] }
    }

    /// Several models, each calibrated on the part of the rows that it has not learnt from (CV+): all rows are used for both, for a level of about $1-2\delta$.
    ///
    /// # Errors
    /// [`Error::Empty`] without models; [`Error::Premise`] where parts are grouped differently.
    pub fn cross(folds: Vec<(Posterior, Calibration)>) -> Result<Conformal<'static>> {
        let Some((_, first)) = folds.first() else { return Err(Error::Empty { what: "the list of models" }) };
        if folds.iter().any(|(_, calibration)| calibration.column != first.column) {
            return Err(Error::Premise { what: "calibration by parts", reason: "the parts are grouped by different columns" });
        }
        Ok(Conformal { folds: folds.into_iter().map(|(p, c)| (Cow::Owned(p), Cow::Owned(c))).collect() })
    }

    /// Rows that calibrate.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.folds.iter().map(|(_, calibration)| calibration.len()).sum()
    }

    /// Whether there are rows enough for intervals with ends; with groups, in some group.
    #[must_use]
    pub fn suffices(&self, delta: f64) -> bool {
        self.values().into_iter().any(|value| self.count(value) >= rank(self.count(value), delta))
    }

    /// The same with copies, to be kept.
    #[must_use]
    pub fn into_owned(self) -> Conformal<'static> {
        Conformal { folds: self.folds.into_iter().map(|(p, c)| (Cow::Owned(p.into_owned()), Cow::Owned(c.into_owned()))).collect() }
    }

    /// Intervals that contain a new response, exchangeable with the rows, with the probability that the certificate prints: for one model and no groups
    /// $k/(n+1)$ with $k = \lceil(n+1)(1-\delta)\rceil$. Infinite where there are fewer rows than [`Calibration::rows_needed`].
    /// Cost O(q(md + m²)) for each model, and O(qn) for more than one.
    ///
    /// # Errors
    /// A probability out of range, points of another width.
    pub fn interval(&self, x: PointsRef<'_>, delta: f64) -> Result<PredictionIntervals> {
        probability("delta", delta)?;
        let predicted =
            self.folds.iter().map(|(posterior, _)| Ok((spreads(posterior, x)?, terms(posterior, x)))).collect::<Result<Vec<_>>>()?;
        let share = 1.0 / self.folds.len() as f64;
        let mut ends = Ends { mean: Vec::new(), lower: Vec::new(), upper: Vec::new() };
        for row in 0..x.len() {
            let at: Vec<[f64; 3]> = predicted.iter().map(|((mean, spread), terms)| [mean[row], spread[row], terms[row]]).collect();
            let (low, high) = self.ends(&at, self.folds[0].1.value_at(x, row), delta);
            ends.mean.push(at.iter().map(|[mean, ..]| share * mean).sum());
            ends.lower.push(low);
            ends.upper.push(high);
        }
        Ok(PredictionIntervals::from_parts(ends, self.certificate(delta)))
    }

    /// The $k$-th smallest of $\mu_j(x)+s_iu_j(x)$ above, the $k$-th largest of $\mu_j(x)-s_iu_j(x)$ below, $j$ the model that has not learnt from row $i$.
    fn ends(&self, at: &[[f64; 3]], value: f64, delta: f64) -> (f64, f64) {
        let k = rank(self.count(value), delta);
        let end = |sign: f64| {
            let parts = self.folds.iter().zip(at).map(|((_, calibration), at)| (calibration.scores_of(value), at));
            let of = |[mean, spread, terms]: [f64; 3], score: f64| outwards(sign * mean, score * spread, terms);
            let mut reach: Vec<f64> = match self.folds.as_slice() {
                // One model: the order of the scores is that of the ends.
                [_] => parts.flat_map(|(scores, at)| scores.get(k - 1).map(|s| of(*at, *s))).collect(),
                _ => parts.flat_map(|(scores, at)| scores.iter().map(move |s| of(*at, *s))).collect(),
            };
            let place = if self.folds.len() == 1 { 0 } else { k - 1 };
            if place >= reach.len() {
                return f64::INFINITY;
            }
            let (_, end, _) = reach.select_nth_unstable_by(place, f64::total_cmp);
            *end
        };
        (-end(-1.0), end(1.0))
    }

    fn count(&self, value: f64) -> usize {
        self.folds.iter().map(|(_, calibration)| calibration.scores_of(value).len()).sum()
    }

    /// The groups that have rows.
    fn values(&self) -> Vec<f64> {
        let mut values: Vec<f64> = self.folds.iter().flat_map(|(_, calibration)| calibration.groups.iter().map(|g| g.value)).collect();
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
        values
    }

    /// What is proved for the group with the least: $k/(n+1)$ for one model; $1-2(n-k+K)/(n+K)$ for $K$ (algorithm notes 16.2).
    fn level(&self, delta: f64) -> f64 {
        let models = self.folds.len();
        let of_group = |value: f64| {
            let n = self.count(value);
            let k = rank(n, delta);
            match models {
                _ if k > n => 1.0,
                1 => k as f64 / (n + 1) as f64,
                _ => (1.0 - 2.0 * (n - k + models) as f64 / (n + models) as f64).max(0.0),
            }
        };
        self.values().into_iter().map(of_group).fold(1.0, f64::min)
    }

    fn certificate(&self, delta: f64) -> Certificate {
        let (first, learnt) = (&self.folds[0].0, self.folds.iter().map(|(_, c)| c.learnt).sum::<usize>());
        let rows = self.rows();
        let seen = 2 * learnt > rows || self.folds.iter().any(|(model, calibration)| calibration.is_blind && model.has_many_copies());
        // Nobody but who declares how rows came says that nothing else, such as a choice of columns, has looked at those that calibrate.
        let vouched = if seen { Origin::Unmet } else { first.information().collected().exchangeable() };
        let calibrated = Calibrated { rows, folds: self.folds.len(), groups: self.values().len().max(1) };
        let (level, features) = (self.level(delta), first.information().features());
        let ridge = first.information().ridge();
        let observed = (first.prior(), first.information().collected(), first.information().len());
        let mut premises = Premises::exchangeable(features.kernel(), ridge, observed, Sourced::new(calibrated, vouched));
        premises.inducing.value = features.len();
        let lost = self.folds.iter().map(|(model, _)| model.responses().doubts().lost).max().unwrap_or(0);
        let premises = premises.with_doubts(Doubts { lost, ..Doubts::default() });
        // Without ends nothing is missed: what was asked for is kept, and more.
        let is_kept = self.folds.len() == 1 || level == 1.0;
        Certificate::conformal(premises, if is_kept { delta } else { 1.0 - level }, level)
    }

    /// How often $\lvert y-\mu\rvert\le z\,u$ held, and the factor that would have been right.
    pub(super) fn measured(&self, z: f64, delta: f64) -> (Frequency, f64) {
        let scores: Vec<f64> = self.folds.iter().flat_map(|(_, calibration)| calibration.scores()).collect();
        frequency(scores, z, delta, Unseen::HeldOut)
    }
}

/// How many scores are at most `z`, and the score that the $k$-th of them is; the largest where there are too few.
pub(super) fn frequency(mut scores: Vec<f64>, z: f64, delta: f64, on: Unseen) -> (Frequency, f64) {
    scores.sort_unstable_by(f64::total_cmp);
    let right = scores.get(rank(scores.len(), delta).min(scores.len()).saturating_sub(1)).copied().unwrap_or(z);
    (Frequency { held: scores.iter().filter(|s| **s <= z).count(), of: scores.len(), on }, right)
}

impl Certificate {
    /// Of an interval for one new response by calibration.
    pub(super) fn conformal(premises: Premises, delta: f64, level: f64) -> Self {
        Self {
            claim: Claimed::Response { side: Side::Both, noise: None },
            about: About::Point,
            delta,
            spent: vec![Spent::new("the new row", delta, None)],
            theorem: Theorem::Conformal,
            premises,
            bounds: Bounds { level: Some(level), ..Bounds::default() },
            contradiction: None,
            range: None,
        }
    }
}
