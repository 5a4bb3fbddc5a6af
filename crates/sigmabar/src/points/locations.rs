//! Where we looked: distinct points with repetition counts, and how they were chosen.

use super::{Points, PointsRef, row_hash};
use crate::error::{Error, Result, same_length};
use crate::origin::Origin;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How the measured points were chosen. The theorems of this crate speak of points that do not depend on the noise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Collected {
    /// Chosen by this library without seeing any response.
    Designed,
    /// The user declares that no point was chosen by looking at a response. The certificate repeats the declaration.
    DeclaredFixed,
    /// The user declares that rows are exchangeable: drawn alike, points and responses together, in an order that means nothing, and what is asked about too.
    Exchangeable,
    /// Points may have been chosen by looking at earlier responses: only adaptive-safe bands apply.
    Adaptive,
    /// Nobody said: treated like [`Collected::Adaptive`].
    #[default]
    Undeclared,
}

impl Collected {
    /// What a user can declare; that the program saw to it ([`Collected::Designed`]) only the program can say.
    pub const DECLARABLE: [Self; 4] = [Self::DeclaredFixed, Self::Adaptive, Self::Exchangeable, Self::Undeclared];

    /// The word for it, in commands, in Python and in studies.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Designed => "designed",
            Self::DeclaredFixed => "fixed",
            Self::Exchangeable => "exchangeable",
            Self::Adaptive => "adaptive",
            Self::Undeclared => "undeclared",
        }
    }

    /// Whether somebody vouches that no point was chosen by looking at a response.
    #[must_use]
    pub fn is_fixed(self) -> bool {
        matches!(self, Self::Designed | Self::DeclaredFixed)
    }

    /// What may be said of both together.
    pub(crate) fn weaker(self, other: Self) -> Self {
        match (self, other) {
            (Self::Adaptive, _) | (_, Self::Adaptive) => Self::Adaptive,
            _ if self == other => self,
            _ if self.is_fixed() && other.is_fixed() => Self::DeclaredFixed,
            _ => Self::Undeclared,
        }
    }

    /// Who vouches for it.
    pub(crate) fn origin(self) -> Origin {
        match self {
            Self::Designed => Origin::Guaranteed,
            Self::DeclaredFixed => Origin::Declared,
            Self::Exchangeable | Self::Adaptive | Self::Undeclared => Origin::Unmet,
        }
    }

    /// Who vouches that rows are exchangeable. What was planned here, or chosen by looking, is known not to be.
    pub(crate) fn exchangeable(self) -> Origin {
        match self {
            Self::Exchangeable => Origin::Declared,
            Self::DeclaredFixed | Self::Undeclared => Origin::Assumed,
            Self::Designed | Self::Adaptive => Origin::Unmet,
        }
    }
}

/// Reads a declaration. Who says "designed" declares that the points were fixed: the word of a user is no guarantee of the program.
impl FromStr for Collected {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self> {
        if word == Self::Designed.name() {
            return Ok(Self::DeclaredFixed);
        }
        Self::DECLARABLE.into_iter().find(|known| known.name() == word).ok_or_else(|| Error::UnknownWord {
            what: "collected",
            found: word.to_owned(),
            known: Self::DECLARABLE.map(Self::name).join(", "),
        })
    }
}

impl fmt::Display for Collected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Designed => "points were designed without seeing a response",
            Self::DeclaredFixed => "no point was chosen by looking at a response",
            Self::Exchangeable => "rows are exchangeable: those fitted, those that calibrate and those asked about were drawn alike",
            Self::Adaptive => "points may have been chosen by looking at responses",
            Self::Undeclared => "nobody said how the points were chosen",
        })
    }
}

/// The measured points: distinct, with counts. Repeated rows cost nothing beyond their first copy.
///
/// With counts $c_i$ every sum over observations is a weighted sum over distinct points
/// (algorithm notes 0.2 and 3.4), and every $\lambda$ certificate uses $C^{1/2} D C^{1/2}$.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Locations {
    points: Points,
    /// Repetition count of each distinct point; empty when every count is 1.
    counts: Vec<f64>,
    /// The distinct point of each original row; empty when every row is distinct.
    group: Vec<u32>,
    /// Whether counts are weights, which say how many measurements a row is the mean of.
    is_weighted: bool,
    /// $\sum\log w$ over the rows; 0 without weights.
    log_weights: f64,
    collected: Collected,
}

impl Locations {
    /// Merges repeated rows (bitwise equal, with −0 equal to 0) into counts, keeping the order of first appearance. Cost O(nd + n log n).
    #[must_use]
    pub fn new(points: Points, collected: Collected) -> Self {
        let group = group_equal_rows(points.view());
        if group.is_empty() {
            return Self { points, counts: Vec::new(), group, is_weighted: false, log_weights: 0.0, collected };
        }
        let distinct = 1 + *group.iter().max().unwrap_or(&0) as usize;
        let mut counts = vec![0.0; distinct];
        let mut data = Vec::with_capacity(distinct * points.dim());
        for (row, &g) in group.iter().enumerate() {
            if counts[g as usize] == 0.0 {
                data.extend_from_slice(points.row(row));
            }
            counts[g as usize] += 1.0;
        }
        Self { points: Points::from_valid(data, points.dim()), counts, group, is_weighted: false, log_weights: 0.0, collected }
    }

    /// The same with a weight for each row in the place of its count of 1.
    pub(crate) fn weighted(points: Points, weights: &[f64], collected: Collected) -> Result<Self> {
        same_length("weights", points.len(), weights.len())?;
        usable_weights(weights)?;
        let plain = Self::new(points, collected);
        let counts = plain.sum_by_point("weights", weights)?;
        Ok(plain.with_weights(counts, weights.iter().map(|w| w.ln()).sum()))
    }

    /// Each distinct point as one row that is the mean of its repetitions.
    pub(super) fn as_means(&self) -> Self {
        let counts: Vec<f64> = (0..self.distinct()).map(|i| self.count(i)).collect();
        let log_weights = counts.iter().map(|c| c.ln()).sum();
        Self { group: Vec::new(), ..self.clone() }.with_weights(counts, log_weights)
    }

    /// With these weights of the distinct points in the place of their counts.
    fn with_weights(self, counts: Vec<f64>, log_weights: f64) -> Self {
        let group = if self.group.is_empty() { (0..self.distinct() as u32).collect() } else { self.group };
        Self { counts, group, is_weighted: true, log_weights, ..self }
    }

    /// The distinct points.
    #[must_use]
    pub fn points(&self) -> PointsRef<'_> {
        self.points.view()
    }

    /// Number of distinct points.
    #[must_use]
    pub fn distinct(&self) -> usize {
        self.points.len()
    }

    /// Number of observations $n$, repetitions counted.
    #[must_use]
    pub fn len(&self) -> usize {
        if self.group.is_empty() { self.points.len() } else { self.group.len() }
    }

    /// Never true.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// How many observations distinct point `i` has.
    #[must_use]
    pub fn count(&self, i: usize) -> f64 {
        if self.counts.is_empty() { 1.0 } else { self.counts[i] }
    }

    /// Counts of all distinct points, or `None` when every count is 1.
    #[must_use]
    pub fn counts(&self) -> Option<&[f64]> {
        (!self.counts.is_empty()).then_some(self.counts.as_slice())
    }

    pub(crate) fn is_weighted(&self) -> bool {
        self.is_weighted
    }

    /// What all counts or weights add up to.
    pub(crate) fn total(&self) -> f64 {
        if self.counts.is_empty() { self.len() as f64 } else { self.counts.iter().sum() }
    }

    /// $\sum\log w$ over the rows: what weights add to twice the log evidence. 0 without weights.
    pub(crate) fn log_weights(&self) -> f64 {
        self.log_weights
    }

    /// The distinct point that original row `row` belongs to.
    #[must_use]
    pub fn distinct_of(&self, row: usize) -> usize {
        if self.group.is_empty() { row } else { self.group[row] as usize }
    }

    /// How the points were chosen.
    #[must_use]
    pub fn collected(&self) -> Collected {
        self.collected
    }

    /// What is now said about how the points were chosen.
    pub(crate) fn declare(&mut self, collected: Collected) {
        self.collected = collected;
    }

    /// Sums per distinct point of one value per original row.
    ///
    /// # Errors
    /// [`crate::Error::Length`] when there is not one value per row.
    pub fn sum_by_point(&self, what: &'static str, values: &[f64]) -> Result<Vec<f64>> {
        same_length(what, self.len(), values.len())?;
        if self.group.is_empty() {
            return Ok(values.to_vec());
        }
        let mut sums = vec![0.0; self.distinct()];
        for (&g, v) in self.group.iter().zip(values) {
            sums[g as usize] += v;
        }
        Ok(sums)
    }

    /// Some of the distinct points, with their counts.
    ///
    /// # Errors
    /// [`crate::Error::Empty`] without points.
    pub(crate) fn at_points(&self, distinct: &[usize]) -> Result<Self> {
        let points = self.points().select(distinct)?;
        let counts: Vec<f64> = distinct.iter().map(|&i| self.count(i)).collect();
        if counts.iter().all(|&c| c == 1.0) {
            return Ok(Self {
                points,
                counts: Vec::new(),
                group: Vec::new(),
                is_weighted: false,
                log_weights: 0.0,
                collected: self.collected,
            });
        }
        if self.is_weighted {
            let log_weights = counts.iter().map(|c| c.ln()).sum();
            return Ok(Self::new(points, self.collected).with_weights(counts, log_weights));
        }
        let group = counts.iter().enumerate().flat_map(|(i, &c)| std::iter::repeat_n(i as u32, c as usize)).collect();
        Ok(Self { points, counts, group, is_weighted: false, log_weights: 0.0, collected: self.collected })
    }

    /// Whether counts and groups fit together: asked of what comes from a file.
    pub(crate) fn is_consistent(&self) -> bool {
        let u = self.distinct();
        if !(self.log_weights.is_finite() && (self.is_weighted || self.log_weights == 0.0)) {
            return false;
        }
        match (self.counts.is_empty(), self.group.is_empty()) {
            (true, true) => true,
            (false, false) => {
                let mut counts = vec![0.0; u];
                let known = self.group.iter().all(|&g| (g as usize) < u);
                self.group.iter().filter(|&&g| (g as usize) < u).for_each(|&g| counts[g as usize] += 1.0);
                let weighed = self.counts.len() == u && self.counts.iter().all(|&c| c.is_finite() && c > 0.0);
                known && counts.iter().all(|&c| c > 0.0) && if self.is_weighted { weighed } else { counts == self.counts }
            }
            _ => false,
        }
    }

    /// The same with more observations. The distinct points of before keep their places. Cost O((n + b)d + (n + b) log(n + b)).
    ///
    /// # Errors
    /// [`crate::Error::Width`] for points of another width.
    pub(crate) fn extended(&self, x: PointsRef<'_>) -> Result<Self> {
        let dim = self.points.dim();
        if x.dim() != dim {
            return Err(Error::Width { what: "points", row: 0, expected: dim, found: x.dim() });
        }
        let rows = (0..self.len()).flat_map(|row| self.points.row(self.distinct_of(row)));
        let all: Vec<f64> = rows.chain(x.as_slice()).copied().collect();
        let all = Self::new(Points::from_valid(all, dim), self.collected);
        if !self.is_weighted {
            return Ok(all);
        }
        let mut weights: Vec<f64> = (0..all.distinct()).map(|i| if i < self.distinct() { self.count(i) } else { 0.0 }).collect();
        (self.len()..all.len()).for_each(|row| weights[all.distinct_of(row)] += 1.0);
        Ok(all.with_weights(weights, self.log_weights))
    }

    /// Adds one more observation at `x`; the index of its distinct point and whether that point is new. Cost O(nd).
    ///
    /// # Errors
    /// [`crate::Error::Width`] or [`crate::Error::NotFinite`].
    pub(crate) fn push(&mut self, x: &[f64]) -> Result<(usize, bool)> {
        let rows = self.len();
        let known = (0..self.distinct()).find(|&i| self.points.row(i) == x);
        let index = known.unwrap_or(self.distinct());
        if known.is_none() {
            self.points.push(x)?;
        }
        if self.group.is_empty() && known.is_some() {
            self.group = (0..rows as u32).collect();
            self.counts = vec![1.0; self.distinct()];
        }
        if !self.group.is_empty() {
            self.group.push(index as u32);
            match known {
                Some(i) => self.counts[i] += 1.0,
                None => self.counts.push(1.0),
            }
        }
        Ok((index, known.is_none()))
    }
}

pub(super) fn usable_weights(weights: &[f64]) -> Result<()> {
    match weights.iter().find(|w| !(w.is_finite() && **w > 0.0)) {
        Some(&value) => Err(Error::Parameter { name: "weight", value, requirement: "finite and positive" }),
        None => Ok(()),
    }
}

/// For each row the index of its distinct point in order of first appearance, or nothing when all rows are distinct.
fn group_equal_rows(points: PointsRef<'_>) -> Vec<u32> {
    let n = points.len();
    let mut order: Vec<(u64, u32)> = points.rows().enumerate().map(|(i, row)| (row_hash(row, 0.0), i as u32)).collect();
    order.sort_unstable();
    if order.windows(2).all(|w| w[0].0 != w[1].0) {
        return Vec::new();
    }
    // Inside a run of equal hashes, each row points at the first row equal to it.
    let mut leader: Vec<u32> = (0..n as u32).collect();
    let mut start = 0;
    let mut repeated = false;
    for end in 1..=n {
        if end < n && order[end].0 == order[start].0 {
            continue;
        }
        let mut leaders: Vec<u32> = Vec::new();
        for &(_, row) in &order[start..end] {
            match leaders.iter().find(|&&l| points.row(l as usize) == points.row(row as usize)) {
                Some(&l) => {
                    leader[row as usize] = l;
                    repeated = true;
                }
                None => leaders.push(row),
            }
        }
        start = end;
    }
    if !repeated {
        return Vec::new();
    }
    let mut number = vec![0_u32; n];
    let mut next = 0;
    for row in 0..n {
        if leader[row] == row as u32 {
            number[row] = next;
            next += 1;
        }
    }
    leader.iter().map(|&l| number[l as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_says_designed_declares_and_guarantees_nothing() {
        for collected in Collected::DECLARABLE {
            assert_eq!(collected.name().parse::<Collected>().unwrap(), collected);
        }
        let said: Collected = Collected::Designed.name().parse().unwrap();
        assert_eq!((said, said.origin()), (Collected::DeclaredFixed, Origin::Declared));
        let error = "maybe".parse::<Collected>().unwrap_err().to_string();
        assert_eq!(error, "collected \"maybe\" is not known: choose one of fixed, adaptive, exchangeable, undeclared");
    }
}
