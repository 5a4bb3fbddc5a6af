//! Linear constraints between the columns of a product space.

use super::Column;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// An equality holds to this share of the sizes of its terms.
const EQUALITY_TOLERANCE: f64 = 1e-12;

/// How the two sides of a [`Constraint`] relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Relation {
    /// $a\cdot x=b$, to $10^{-12}(|b|+\sum_i|a_i|\max|x_i|)$ where the maximum is over the column.
    Equal,
    /// $a\cdot x\le b$, as computed.
    AtMost,
    /// $a\cdot x<b$, as computed.
    Below,
}

/// A linear constraint $a\cdot x=b$, $a\cdot x\le b$ or $a\cdot x<b$ on the natural values of some columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Constraint {
    terms: Vec<(usize, f64)>,
    relation: Relation,
    bound: f64,
}

impl Constraint {
    /// $\sum_ia_ix_i=b$, from pairs of column and coefficient.
    #[must_use]
    pub fn equal(terms: impl Into<Vec<(usize, f64)>>, bound: f64) -> Self {
        Self { terms: terms.into(), relation: Relation::Equal, bound }
    }

    /// $\sum_ia_ix_i\le b$.
    #[must_use]
    pub fn at_most(terms: impl Into<Vec<(usize, f64)>>, bound: f64) -> Self {
        Self { terms: terms.into(), relation: Relation::AtMost, bound }
    }

    /// $\sum_ia_ix_i\ge b$.
    #[must_use]
    pub fn at_least(terms: impl Into<Vec<(usize, f64)>>, bound: f64) -> Self {
        let mut terms = terms.into();
        terms.iter_mut().for_each(|(_, coefficient)| *coefficient = -*coefficient);
        Self { terms, relation: Relation::AtMost, bound: -bound }
    }

    /// The value of one column is less than that of another.
    #[must_use]
    pub fn less(smaller: usize, larger: usize) -> Self {
        Self { terms: vec![(smaller, 1.0), (larger, -1.0)], relation: Relation::Below, bound: 0.0 }
    }

    /// These columns add up to `total`.
    #[must_use]
    pub fn sum(columns: &[usize], total: f64) -> Self {
        Self::equal(columns.iter().map(|&column| (column, 1.0)).collect::<Vec<_>>(), total)
    }

    /// Pairs of column and coefficient.
    #[must_use]
    pub fn terms(&self) -> &[(usize, f64)] {
        &self.terms
    }

    /// How the two sides relate.
    #[must_use]
    pub fn relation(&self) -> Relation {
        self.relation
    }

    /// The right-hand side $b$.
    #[must_use]
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// $a\cdot x$, in the order of the terms.
    pub(super) fn value(&self, natural: &[f64]) -> f64 {
        self.terms.iter().map(|&(column, coefficient)| coefficient * natural[column]).sum()
    }

    pub(super) fn holds(&self, natural: &[f64], columns: &[Column]) -> bool {
        let value = self.value(natural);
        match self.relation {
            Relation::Equal => (value - self.bound).abs() <= self.tolerance(columns),
            Relation::AtMost => value <= self.bound,
            Relation::Below => value < self.bound,
        }
    }

    /// $10^{-12}(|b|+\sum_i|a_i|\max|x_i|)$
    pub(super) fn tolerance(&self, columns: &[Column]) -> f64 {
        let sizes = self.terms.iter().map(|&(column, coefficient)| {
            let (low, high) = columns[column].range();
            coefficient.abs() * low.abs().max(high.abs())
        });
        EQUALITY_TOLERANCE * (self.bound.abs() + sizes.sum::<f64>())
    }

    /// The smallest and the largest $a\cdot x$ where column $i$ goes from the first to the second of `ends(i)`.
    fn range(&self, ends: impl Fn(usize) -> (f64, f64)) -> (f64, f64) {
        self.terms.iter().fold((0.0, 0.0), |(least, most), &(column, coefficient)| {
            let (low, high) = ends(column);
            let (a, b) = (coefficient * low, coefficient * high);
            (least + a.min(b), most + a.max(b))
        })
    }

    /// Whether certainly no point with these ends of its columns satisfies the constraint: beyond any rounding of values, ends and sums.
    pub(super) fn excludes(&self, ends: impl Fn(usize) -> (f64, f64), columns: &[Column]) -> bool {
        let ((least, most), slack) = (self.range(ends), 1e3 * self.tolerance(columns));
        least > self.bound + slack || (self.relation == Relation::Equal && most < self.bound - slack)
    }

    /// Checks the terms, and that the smallest and largest values of the columns leave room for the constraint.
    pub(super) fn validate(&self, constraint: usize, columns: &[Column]) -> Result<()> {
        let refused = |column, requirement| Err(Error::Constraint { constraint, column, requirement });
        if self.terms.is_empty() {
            return Err(Error::Empty { what: "the terms of a constraint" });
        }
        for (position, &(column, coefficient)) in self.terms.iter().enumerate() {
            if column >= columns.len() {
                return refused(column, "a column that exists");
            }
            if columns[column].is_categorical() {
                return refused(column, "a numeric column: choices have no order and no sum");
            }
            if !coefficient.is_finite() || coefficient == 0.0 {
                return refused(column, "a finite coefficient other than 0");
            }
            if self.terms[..position].iter().any(|&(earlier, _)| earlier == column) {
                return refused(column, "named once in a constraint");
            }
        }
        let ((least, most), slack) = (self.range(|column| columns[column].range()), self.tolerance(columns));
        let possible = match self.relation {
            Relation::Equal => least <= self.bound + slack && most >= self.bound - slack,
            Relation::AtMost => least <= self.bound,
            Relation::Below => least < self.bound,
        };
        // A NaN or infinite bound fails here too, except an infinite upper one, which says nothing.
        if possible && self.bound.is_finite() { Ok(()) } else { Err(Error::Infeasible { constraint, least, most, bound: self.bound }) }
    }
}
