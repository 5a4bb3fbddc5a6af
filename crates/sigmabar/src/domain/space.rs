//! A product of columns of any kind, with linear constraints between them.

use super::column::Column;
use super::constraint::Constraint;
use super::equality::Equality;
use super::search;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// A product space: columns of any kind, and linear constraints on their natural values.
///
/// The kernel sees encoded points: numeric columns from 0 to 1, categorical ones as the index of their choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "StoredSpace", try_from = "StoredSpace")]
pub struct SpaceDomain {
    columns: Vec<Column>,
    constraints: Vec<Constraint>,
    equalities: Vec<Equality>,
}

/// What a space is made from; the rest follows.
#[derive(Serialize, Deserialize)]
struct StoredSpace {
    columns: Vec<Column>,
    constraints: Vec<Constraint>,
}

impl From<SpaceDomain> for StoredSpace {
    fn from(space: SpaceDomain) -> Self {
        Self { columns: space.columns, constraints: space.constraints }
    }
}

impl TryFrom<StoredSpace> for SpaceDomain {
    type Error = Error;
    fn try_from(stored: StoredSpace) -> Result<Self> {
        Self::new(stored.columns, stored.constraints)
    }
}

impl SpaceDomain {
    /// Checks every column and every constraint, and that some point satisfies all constraints.
    ///
    /// The search for that point is exhaustive for discrete spaces of up to $2^{20}$ points and stops after $2^{20}$ points of a Sobol
    /// sequence elsewhere. Cost O(d) without constraints.
    ///
    /// # Errors
    /// [`Error::NoColumns`]; [`Error::Interval`] or [`Error::Column`] naming the column; [`Error::Constraint`] or [`Error::SharedColumn`] for
    /// a constraint that cannot be used, [`Error::Infeasible`] for one that no point satisfies, [`Error::NoFeasiblePoint`] when the search
    /// found none that satisfies all.
    pub fn new(columns: Vec<Column>, constraints: Vec<Constraint>) -> Result<Self> {
        if columns.is_empty() {
            return Err(Error::NoColumns { what: "the space" });
        }
        columns.iter().enumerate().try_for_each(|(number, column)| column.validate(number))?;
        constraints.iter().enumerate().try_for_each(|(number, constraint)| constraint.validate(number, &columns))?;
        let equalities = Equality::plan_all(&columns, &constraints)?;
        let space = Self { columns, constraints, equalities };
        if !space.constraints.is_empty() {
            search::find_feasible(&space)?;
        }
        Ok(space)
    }

    /// The columns.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The constraints.
    #[must_use]
    pub fn constraints(&self) -> &[Constraint] {
        &self.constraints
    }

    /// Number of columns.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.columns.len()
    }

    /// Number of points before constraints, `None` if a column is continuous; `u128::MAX` stands for that many or more. Cost O(d).
    #[must_use]
    pub fn size(&self) -> Option<u128> {
        self.columns.iter().try_fold(1_u128, |size, column| Some(size.saturating_mul(u128::from(column.levels()?))))
    }

    /// Whether a natural point belongs to the space: every value taken by its column, every constraint satisfied. Cost O(d) per constraint.
    #[must_use]
    pub fn contains(&self, natural: &[f64]) -> bool {
        natural.len() == self.dim()
            && self.columns.iter().zip(natural).all(|(column, &value)| column.encode(value).is_some())
            && self.satisfies(natural)
    }

    /// Whether the constraints hold.
    pub(super) fn satisfies(&self, natural: &[f64]) -> bool {
        self.constraints.iter().all(|constraint| constraint.holds(natural, &self.columns))
    }

    /// Encodes one natural point; the first column that does not take its value otherwise.
    pub(super) fn encode_into(&self, natural: &[f64], encoded: &mut [f64]) -> std::result::Result<(), usize> {
        for (number, column) in self.columns.iter().enumerate() {
            encoded[number] = column.encode(natural[number]).ok_or(number)?;
        }
        Ok(())
    }

    pub(super) fn decode_into(&self, encoded: &[f64], natural: &mut [f64]) {
        for ((value, column), &code) in natural.iter_mut().zip(&self.columns).zip(encoded) {
            *value = column.decode(code);
        }
    }

    /// The encoded point at which a point of the open unit cube falls; false if the constraints refuse it. The constraints are checked on
    /// the natural values that the encoded ones decode to, so what is kept satisfies them however it is reached.
    pub(super) fn place(&self, unit: &[f64], natural: &mut [f64], encoded: &mut [f64]) -> bool {
        for ((code, column), &u) in encoded.iter_mut().zip(&self.columns).zip(unit) {
            *code = column.spread(u);
        }
        if self.constraints.is_empty() {
            return true;
        }
        self.decode_into(encoded, natural);
        for equality in &self.equalities {
            if !equality.apply(&self.columns, unit, natural) {
                return false;
            }
            for number in equality.written() {
                let Some(code) = self.columns[number].encode(natural[number]) else { return false };
                encoded[number] = code;
                natural[number] = self.columns[number].decode(code);
            }
        }
        self.satisfies(natural)
    }

    /// Whether two points of a sequence can fall on one point of the space: without a continuous column, or with equalities, which may
    /// use up every continuous column or leave a single corner.
    pub(super) fn may_repeat(&self) -> bool {
        !self.equalities.is_empty() || !self.columns.iter().any(Column::is_float)
    }
}

/// The natural values at which a point of the open unit cube falls, before constraints.
pub(super) fn spread_natural(columns: &[Column], unit: &[f64], natural: &mut [f64]) {
    for ((value, column), &u) in natural.iter_mut().zip(columns).zip(unit) {
        *value = column.decode(column.spread(u));
    }
}
