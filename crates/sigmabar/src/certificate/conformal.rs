//! Intervals for a new response that need no premise but exchangeable rows (algorithm notes 16.1, 16.2).

use super::intervals::Ends;
use super::premises::{Calibrated, Premises};
use super::record::{About, Bounds, Certificate, Claimed, Frequency, Spent, Theorem, Unseen};
use super::{PredictionIntervals, Side};
use crate::error::{Error, Result, probability, same_length};
use crate::number::{MANY_DIGITS, last_digit};
use crate::origin::{Origin, Sourced};
use crate::points::{Doubts, Observations, PointsRef, Seen, row_hash};
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
    /// Rows that the model had learnt from, where these are most of them and no others could count.
    learnt: usize,
    /// Rows that equal another in every number or were learnt, and were not made equal by chance.
    copies: usize,
    /// Whether a model that keeps sums only was calibrated: it cannot tell which rows it learnt from.
    is_blind: bool,
    /// Whether the kernel, the ridge or the inducing points were learnt on rows among these.
    is_taught: bool,
    /// Whether somebody declares that equal rows are measurements of their own.
    are_distinct: bool,
    /// Whether a setting that the model learnt from gave several responses.
    differ: bool,
    /// Every row that came: those that come later are judged with them.
    rows: Vec<Row>,
}

/// What is kept of a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Row {
    /// What stands in the column of the groups; 0 where rows are not grouped.
    value: f64,
    score: f64,
    /// The bits of its response.
    response: u64,
    /// Of its point.
    place: u64,
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

/// Whether chance makes rows equal (algorithm notes 16.1).
#[derive(Clone, Copy)]
struct Chance {
    /// Some setting gave two responses. Where none did, nothing says that any was measured again.
    differ: bool,
    /// Responses of many digits came at two points.
    are_coarse: bool,
}

impl Chance {
    /// By all rows of a table.
    fn of<'a>(calibrations: impl IntoIterator<Item = &'a Calibration> + Clone) -> Self {
        let rows = || calibrations.clone().into_iter().flat_map(|calibration| &calibration.rows);
        let count = |of: fn(&Row) -> u64| rows().map(of).collect::<HashSet<_>>().len();
        let differ = calibrations.clone().into_iter().any(|c| c.differ) || count(|row| row.place) < count(|row| row.hash);
        let mut places = HashMap::new();
        Self { differ, are_coarse: rows().any(|row| *places.entry(row.response).or_insert(row.place) != row.place && !row.is_coarse()) }
    }

    fn makes(self, row: &Row) -> bool {
        self.differ && (self.are_coarse || row.is_coarse())
    }
}

impl Row {
    /// Whether its response has so few digits that another may have them all.
    fn is_coarse(&self) -> bool {
        last_digit(f64::from_bits(self.response)).0 < MANY_DIGITS
    }
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

    /// More rows. Those that are equal in every number are one measurement written down again, unless chance makes rows equal: they count once, and not at all where the model has learnt
    /// from one of them. All rows so far are judged together. Cost as [`Calibration::new`], beyond it that of sorting all scores.
    ///
    /// # Errors
    /// Points of another width, another number of responses, a response that is not finite, a column that is not there.
    pub fn add(&mut self, posterior: &Posterior, x: PointsRef<'_>, y: &[f64]) -> Result<()> {
        same_length("responses", x.len(), y.len())?;
        if let Some(row) = y.iter().position(|v| !v.is_finite()) {
            return Err(Error::NotFinite { what: "responses", row, column: 0, value: y[row] });
        }
        self.check_column(x)?;
        let (mean, spread) = spreads(posterior, x)?;
        let observations = posterior.observations().ok().filter(|rows| !rows.hashes().is_empty());
        let learnt: HashSet<u64> = observations.iter().flat_map(|rows| rows.hashes()).copied().collect();
        let places = observations.map(Observations::places).unwrap_or_default();
        self.is_blind |= !posterior.information().has_rows();
        self.are_distinct |= posterior.responses().doubts().are_distinct;
        self.differ |= learnt.len() > places.len();
        for (i, y) in y.iter().enumerate() {
            let (place, hash) = (row_hash(x.row(i), 0.0), row_hash(x.row(i), *y));
            let (score, response, is_learnt) = ((y - mean[i]).abs() / spread[i], (y + 0.0).to_bits(), learnt.contains(&hash));
            self.differ |= !is_learnt && places.contains(&place);
            self.rows.push(Row { value: self.value_at(x, i), score, response, place, hash, is_learnt });
        }
        let chance = Chance::of([&*self]);
        self.group(chance);
        Ok(())
    }

    /// Says on which rows the kernel, the ridge and the inducing points were learnt: a model that was chosen by rows among these is calibrated by none.
    pub fn note_learnt_on(&mut self, rows: &Seen) {
        self.is_taught |= self.rows.iter().any(|row| !row.is_learnt && rows.hashes().binary_search(&row.hash).is_ok());
    }

    /// Puts the scores of the rows that count into their groups.
    fn group(&mut self, chance: Chance) {
        let mut seen = HashSet::new();
        let is_copy = |row: &Row| !chance.makes(row) && (row.is_learnt || !seen.insert(row.hash));
        let are_copies: Vec<bool> = self.rows.iter().map(is_copy).collect();
        let learnt = self.rows.iter().zip(&are_copies).filter(|(row, is_copy)| **is_copy && row.is_learnt).count();
        self.copies = are_copies.iter().filter(|is_copy| **is_copy).count();
        self.learnt = if 2 * learnt > self.rows.len() && !self.are_distinct { learnt } else { 0 };
        let do_all_count = self.are_distinct || self.learnt > 0;
        let mut groups = Vec::<Group>::new();
        for (row, _) in self.rows.iter().zip(are_copies).filter(|(_, is_copy)| do_all_count || !is_copy) {
            match groups.iter_mut().find(|group| group.value == row.value) {
                Some(group) => group.scores.push(row.score),
                None => groups.push(Group { value: row.value, scores: vec![row.score] }),
            }
        }
        groups.iter_mut().for_each(|group| group.scores.sort_unstable_by(f64::total_cmp));
        self.groups = groups;
    }

    /// The fewest rows that give an interval with ends: $(n+1)(1-\delta)\le n$.
    #[must_use]
    pub fn rows_needed(delta: f64) -> usize {
        let first = (1.0 / delta - 2.0).max(1.0);
        let found = (first < 1e15).then(|| (first as usize..).find(|n| rank(*n, delta) <= *n));
        found.flatten().unwrap_or(usize::MAX)
    }

    /// How many rows of a table to keep from the model: a tenth, but about 100 where a quarter are so many, and at most `most`; as many as make the level exactly $1-\delta$. None where
    /// these would be too few.
    #[must_use]
    pub fn rows_to_keep(rows: usize, delta: f64, most: usize) -> usize {
        let needed = Self::rows_needed(delta);
        let (few, most) = (FEW.max(needed.saturating_mul(2)), most.max(needed.saturating_mul(2)));
        let wanted = (rows / 10).max(few.min(rows / 4)).min(most);
        if wanted < needed { 0 } else { (wanted + 1) / (needed + 1) * (needed + 1) - 1 }
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

    fn check_column(&self, x: PointsRef<'_>) -> Result<()> {
        let Some(column) = self.column.filter(|column| *column >= x.dim()) else { return Ok(()) };
        Err(Error::Parameter { name: "column of the groups", value: column as f64, requirement: "one of the columns, counted from 0" })
    }

    fn value_at(&self, x: PointsRef<'_>, row: usize) -> f64 {
        self.column.map_or(0.0, |column| x.row(row)[column] + 0.0)
    }

    fn scores_of(&self, value: f64) -> &[f64] {
        self.groups.iter().find(|group| group.value == value).map_or(&[], |group| &group.scores)
    }
}

/// Fewer rows than this, kept from the model, make intervals wide, if a quarter of all rows are more.
const FEW: usize = 100;

/// How a table calibrates intervals for new responses, where nobody says how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// So many rows are kept from the model.
    Kept(usize),
    /// All rows learn and all calibrate, in [`Way::PARTS`] parts of one size, each with a model that has not learnt from it; what is left over only learns.
    Parts,
    /// There are too few rows.
    Nothing,
}

impl Way {
    /// The parts.
    pub const PARTS: usize = 5;
    /// Of fewer rows none is kept from the model.
    pub const FEWEST_TO_KEEP_SOME: usize = 80;
    /// Of more rows than this everything is not learnt six times.
    const MOST_IN_PARTS: usize = 1000;

    /// The way of so many rows, of which at most `most` are kept from the model.
    #[must_use]
    pub fn of(rows: usize, delta: f64, most: usize) -> Self {
        let enough = Calibration::rows_needed(delta).max(2 * Self::PARTS);
        match Calibration::rows_to_keep(rows, delta, most) {
            kept if kept > 0 && rows >= Self::FEWEST_TO_KEEP_SOME => Self::Kept(kept),
            _ if (enough..=Self::MOST_IN_PARTS).contains(&(rows - rows % Self::PARTS)) => Self::Parts,
            _ => Self::Nothing,
        }
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

/// The level that $n$ scores prove at rank $k$, and the probability of a miss that it leaves: $k/(n+1)$ for one model; for $K$ models the better of $2(n-k+K)/(n+K)$ and, for parts of one
/// size $m$, $(2(n-k)+m)/(n+m)$ (algorithm notes 16.2). Without ends nothing is missed.
pub(super) fn proved((rows, k): (usize, usize), models: usize, are_alike: bool) -> (f64, f64) {
    let missed = match models {
        _ if k > rows => 0.0,
        1 => return (k as f64 / (rows + 1) as f64, (rows + 1 - k) as f64 / (rows + 1) as f64),
        _ => {
            let by_parts = (2 * (rows - k + models)) as f64 / (rows + models) as f64;
            let size = rows / models;
            let by_pairs = if are_alike && size * models == rows { (2 * (rows - k) + size) as f64 / (rows + size) as f64 } else { 1.0 };
            by_parts.min(by_pairs).min(1.0)
        }
    };
    (1.0 - missed, missed)
}

/// Mean and deviation of a new response, in the data's scale.
fn spreads(posterior: &Posterior, x: PointsRef<'_>) -> Result<(Vec<f64>, Vec<f64>)> {
    let (mean, mut spread) = posterior.predict(x)?;
    let noise = posterior.information().ridge() * posterior.prior().unit();
    spread.iter_mut().for_each(|s| *s = s.hypot(noise));
    Ok((mean, spread))
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

    /// Several models, each calibrated on the part of the rows that it has not learnt from (CV+): all rows are used for both, for a level between $1-2\delta$ and $1-\delta$ where there are many and
    /// below that where there are few. All are to learn alike: from the rows outside of their part, in the same way.
    ///
    /// # Errors
    /// [`Error::Empty`] without models; [`Error::Premise`] where parts are grouped differently.
    pub fn cross(folds: Vec<(Posterior, Calibration)>) -> Result<Conformal<'static>> {
        let Some((_, first)) = folds.first() else { return Err(Error::Empty { what: "the list of models" }) };
        if folds.iter().any(|(_, calibration)| calibration.column != first.column) {
            return Err(Error::Premise { what: "calibration by parts", reason: "the parts are grouped by different columns" });
        }
        // All parts together show what chance does.
        let chance = Chance::of(folds.iter().map(|(_, calibration)| calibration));
        let judged = |(posterior, mut calibration): (Posterior, Calibration)| {
            calibration.group(chance);
            (Cow::Owned(posterior), Cow::Owned(calibration))
        };
        Ok(Conformal { folds: folds.into_iter().map(judged).collect() })
    }

    /// The models, each with its calibration.
    pub fn folds(&self) -> impl ExactSizeIterator<Item = (&Posterior, &Calibration)> {
        self.folds.iter().map(|(posterior, calibration)| (&**posterior, &**calibration))
    }

    /// The same without copies.
    #[must_use]
    pub fn borrowed(&self) -> Conformal<'_> {
        Conformal { folds: self.folds().map(|(p, c)| (Cow::Borrowed(p), Cow::Borrowed(c))).collect() }
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
    /// A probability out of range, points of another width, a column of groups that they do not have.
    pub fn interval(&self, x: PointsRef<'_>, delta: f64) -> Result<PredictionIntervals> {
        probability("delta", delta)?;
        Ok(PredictionIntervals::from_parts(self.ends(x, |rows| rank(rows, delta))?, self.certificate(delta)))
    }

    /// The ends by all scores: where too few calibrate for a theorem, an interval that is no narrower than these show.
    pub(super) fn widest(&self, x: PointsRef<'_>) -> Result<Ends> {
        self.ends(x, |rows| rows.max(1))
    }

    /// Means and ends, at this rank among so many rows. Ends that cross are taken the other way round: they leave nothing between them, and more than that contains a new response as often. The mean
    /// is that of the models, within the ends.
    fn ends(&self, x: PointsRef<'_>, rank: impl Fn(usize) -> usize) -> Result<Ends> {
        self.folds[0].1.check_column(x)?;
        let predicted =
            self.folds.iter().map(|(posterior, _)| Ok((spreads(posterior, x)?, terms(posterior, x)))).collect::<Result<Vec<_>>>()?;
        let share = 1.0 / self.folds.len() as f64;
        let mut ends = Ends { mean: Vec::new(), lower: Vec::new(), upper: Vec::new() };
        for row in 0..x.len() {
            let at: Vec<[f64; 3]> = predicted.iter().map(|((mean, spread), terms)| [mean[row], spread[row], terms[row]]).collect();
            let value = self.folds[0].1.value_at(x, row);
            let (low, high) = self.ends_at(&at, value, rank(self.count(value)));
            let mean: f64 = at.iter().map(|[mean, ..]| share * mean).sum();
            ends.lower.push(low.min(high));
            ends.upper.push(high.max(low));
            ends.mean.push(mean.max(ends.lower[row]).min(ends.upper[row]));
        }
        Ok(ends)
    }

    /// The $k$-th smallest of $\mu_j(x)+s_iu_j(x)$ above, the $k$-th largest of $\mu_j(x)-s_iu_j(x)$ below, $j$ the model that has not learnt from row $i$.
    fn ends_at(&self, at: &[[f64; 3]], value: f64, k: usize) -> (f64, f64) {
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

    /// What is proved for the group with the least, and the probability of a miss that it leaves. Parts are alike where they have as many rows, all of which count.
    fn level(&self, delta: f64) -> (f64, f64) {
        let (values, size) = (self.values(), self.folds[0].1.rows.len());
        let are_alike = values.len() < 2 && self.folds.iter().all(|(_, c)| c.rows.len() == size && c.len() == size);
        let of_group = |value: &f64| proved((self.count(*value), rank(self.count(*value), delta)), self.folds.len(), are_alike);
        values.iter().map(of_group).fold((1.0, 0.0), |least, level| if level.0 < least.0 { level } else { least })
    }

    fn certificate(&self, delta: f64) -> Certificate {
        let first = &self.folds[0].0;
        let sum = |of: fn(&Calibration) -> usize| self.folds.iter().map(|(_, c)| of(c)).sum::<usize>();
        let (rows, learnt, copies) = (self.rows(), sum(|c| c.learnt), sum(|c| c.copies));
        let is_seen =
            |(model, c): &(Cow<'_, Posterior>, Cow<'_, Calibration>)| c.learnt > 0 || c.is_taught || c.is_blind && model.has_many_copies();
        // Nobody but who declares how rows came says that nothing else, such as a choice of columns, has looked at those that calibrate.
        let vouched = if self.folds.iter().any(is_seen) { Origin::Unmet } else { first.information().collected().exchangeable() };
        let calibrated = Calibrated { rows, folds: self.folds.len(), groups: self.values().len().max(1) };
        let ((level, missed), features) = (self.level(delta), first.information().features());
        let ridge = first.information().ridge();
        let all = first.information().len() + self.folds[0].1.rows.len();
        let observed = (first.prior(), first.information().collected(), all);
        let mut premises = Premises::exchangeable(features.kernel(), ridge, observed, Sourced::new(calibrated, vouched));
        premises.inducing.value = features.len();
        let lost = self.folds.iter().map(|(model, _)| model.responses().doubts().lost).max().unwrap_or(0);
        let are_distinct = self.folds.iter().any(|(_, c)| c.are_distinct);
        let mut premises = premises.with_doubts(Doubts { lost, copies, are_distinct, ..Doubts::default() });
        if learnt == 0 && !are_distinct {
            // They count once, and not where they were learnt.
            premises.copies.origin = Origin::Guaranteed;
        }
        // Without ends nothing is missed: what was asked for is kept, and more.
        let is_kept = self.folds.len() == 1 || level == 1.0;
        Certificate::conformal(premises, if is_kept { delta } else { missed }, level)
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
