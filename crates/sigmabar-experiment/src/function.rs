//! A function whose best value is known, on the domain where it is to be found.

use crate::search;
use serde::{Deserialize, Serialize};
use sigmabar::domain::ListDomain;
use sigmabar::simulated::Classic;
use sigmabar::strategy::{Direction, Trial};
use sigmabar::{BoxDomain, Domain, Error, Expansion, Points, PointsRef, Result};

/// What computes the values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Shape {
    Classic(Classic),
    Expansion(Expansion),
    /// Only the values of the list.
    Table,
}

/// A noise-free function with its domain, its best value and where that is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestFunction {
    name: String,
    shape: Shape,
    domain: Domain,
    direction: Direction,
    best: f64,
    optima: Vec<Vec<f64>>,
    /// The values of all candidates, on a list.
    listed: Vec<f64>,
}

impl TestFunction {
    /// A well-known function on its box.
    ///
    /// # Errors
    /// Parameters the function cannot have: see [`Classic::domain`].
    pub fn classic(classic: Classic) -> Result<Self> {
        Ok(Self {
            name: classic.name(),
            domain: Domain::Box(classic.domain()?),
            direction: Direction::Maximize,
            best: classic.maximum(),
            optima: classic.maximisers(),
            listed: Vec::new(),
            shape: Shape::Classic(classic),
        })
    }

    /// A function of known norm on a box. Its largest value is searched for, from 4096 Sobol points and the centres: in more than three columns, or with many
    /// short bumps, the true one may be larger.
    ///
    /// # Errors
    /// [`Error::Length`] for a box of another width than the centres.
    pub fn expansion(name: impl Into<String>, expansion: Expansion, domain: BoxDomain) -> Result<Self> {
        same_length("the columns of the box", expansion.centres().dim(), domain.dim())?;
        let centres: Vec<Vec<f64>> = expansion.centres().rows().map(<[f64]>::to_vec).collect();
        let (place, best) = search::largest(&domain, &centres, |x| expansion.value(x))?;
        Ok(Self {
            name: name.into(),
            shape: Shape::Expansion(expansion),
            domain: Domain::Box(domain),
            direction: Direction::Maximize,
            best,
            optima: vec![place],
            listed: Vec::new(),
        })
    }

    /// A function of known norm on a list of candidates, its best value exact. Cost O(nmd).
    ///
    /// # Errors
    /// Candidates of another width than the centres.
    pub fn expansion_on_list(name: impl Into<String>, expansion: Expansion, list: ListDomain) -> Result<Self> {
        let values = expansion.values(list.points())?;
        Ok(Self::listed(name.into(), Shape::Expansion(expansion), list, Direction::Maximize, values))
    }

    /// A table as objective: looking a row up is an evaluation. Rows that repeat a point are averaged, since the mean of its replicates is what is
    /// known about it.
    ///
    /// # Errors
    /// [`Error::Length`] unless there is one value for each point, [`Error::NotFinite`] for a value that is not a number.
    pub fn table(name: impl Into<String>, points: Points, values: &[f64], direction: Direction) -> Result<Self> {
        same_length("the values of the table", points.len(), values.len())?;
        if let Some(row) = values.iter().position(|value| !value.is_finite()) {
            return Err(Error::NotFinite { what: "the values of the table", row, column: 0, value: values[row] });
        }
        let (list, candidate_of) = ListDomain::distinct(points);
        let mut sums = vec![(0.0, 0.0); list.len()];
        for (&candidate, &value) in candidate_of.iter().zip(values) {
            sums[candidate].0 += value;
            sums[candidate].1 += 1.0;
        }
        let means = sums.into_iter().map(|(sum, count): (f64, f64)| sum / count).collect();
        Ok(Self::listed(name.into(), Shape::Table, list, direction, means))
    }

    /// The same function on the points of a grid with `per_column` values in each column, its best value that of the grid. A list stays as it is.
    ///
    /// # Errors
    /// [`Error::Parameter`] for no or too many points.
    pub fn on_grid(self, per_column: usize) -> Result<Self> {
        let Domain::Box(_) = self.domain else { return Ok(self) };
        let grid = self.domain.grid(per_column)?;
        let list = ListDomain::new(grid.range(0, grid.len())?)?;
        let values = list.points().rows().map(|x| self.formula(x)).collect();
        Ok(Self::listed(self.name, self.shape, list, self.direction, values))
    }

    /// The same function under another name.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    fn listed(name: String, shape: Shape, list: ListDomain, direction: Direction, listed: Vec<f64>) -> Self {
        let better = |a: f64, b: f64| if direction == Direction::Maximize { a.max(b) } else { a.min(b) };
        let best = listed.iter().copied().reduce(better).expect("a list has candidates");
        let optima = list.points().rows().zip(&listed).filter(|(_, value)| **value == best).map(|(x, _)| x.to_vec()).collect();
        Self { name, shape, domain: Domain::List(list), direction, best, optima, listed }
    }

    /// What it is called in tables.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it lives.
    #[must_use]
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// Whether large or small values are wanted.
    #[must_use]
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// The best value on the domain.
    #[must_use]
    pub fn best(&self) -> f64 {
        self.best
    }

    /// The places of the best value: all known ones.
    #[must_use]
    pub fn optima(&self) -> &[Vec<f64>] {
        &self.optima
    }

    /// The function of known norm behind it, if it is one.
    #[must_use]
    pub fn as_expansion(&self) -> Option<&Expansion> {
        match &self.shape {
            Shape::Expansion(expansion) => Some(expansion),
            _ => None,
        }
    }

    /// The value at points of the domain. Cost that of the formula; for tables O(n) each.
    ///
    /// # Errors
    /// [`Error::Length`] or [`Error::Outside`] for points the domain does not have.
    pub fn values(&self, natural: PointsRef<'_>) -> Result<Vec<f64>> {
        let encoded = self.domain.encode(natural)?;
        Ok(encoded.view().rows().map(|x| self.at(None, x)).collect())
    }

    /// The value of a trial.
    pub(crate) fn of_trial(&self, trial: &Trial) -> f64 {
        self.at(trial.candidate, &trial.point)
    }

    /// The value at a point of the domain, or of a candidate.
    pub(crate) fn at(&self, candidate: Option<usize>, point: &[f64]) -> f64 {
        match (&self.domain, candidate) {
            (Domain::List(list), None) => list.position(point).map_or_else(|| self.formula(point), |i| self.listed[i]),
            (Domain::List(_), Some(i)) => self.listed[i],
            _ => self.formula(point),
        }
    }

    fn formula(&self, x: &[f64]) -> f64 {
        match &self.shape {
            Shape::Classic(classic) => classic.value(x),
            Shape::Expansion(expansion) => expansion.value(x),
            // A point that no row has: nothing is known there.
            Shape::Table => f64::NAN,
        }
    }

    /// How much worse than the best a value is.
    #[must_use]
    pub fn regret(&self, value: f64) -> f64 {
        match self.direction {
            Direction::Maximize => self.best - value,
            Direction::Minimize => value - self.best,
        }
    }
}

fn same_length(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Error::Length { what, expected, found }) }
}
