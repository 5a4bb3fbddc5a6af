//! Points that satisfy an equality by construction: by spreading what is left over a simplex, or by solving for one column.

use super::constraint::{Constraint, Relation};
use super::sobol::SobolSequence;
use super::{Column, space};
use crate::error::{Error, Result};

/// Points tried to see which way of meeting an equality wastes fewer.
const PILOT: u32 = 1024;

/// How one equality $\sum_ia_ix_i=b$ is met.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Equality {
    terms: Vec<(usize, f64)>,
    bound: f64,
    /// What rounding may leave over.
    tolerance: f64,
    method: Method,
}

#[derive(Clone, Debug, PartialEq)]
enum Method {
    /// No column is continuous: what does not satisfy it is left out.
    Filter,
    /// The other columns are free, and this position among the terms follows from them.
    Solve(usize),
    /// These positions share what the others leave, uniformly: those of all linear float columns.
    Simplex(Vec<usize>),
}

impl Equality {
    /// A plan for every equality among the constraints.
    ///
    /// # Errors
    /// [`Error::SharedColumn`] when two equalities name the same float column.
    pub(super) fn plan_all(columns: &[Column], constraints: &[Constraint]) -> Result<Vec<Self>> {
        let mut owner: Vec<Option<usize>> = vec![None; columns.len()];
        let mut plans = Vec::new();
        for (number, constraint) in constraints.iter().enumerate().filter(|(_, constraint)| constraint.relation() == Relation::Equal) {
            for &(column, _) in constraint.terms().iter().filter(|(column, _)| columns[*column].is_float()) {
                if let Some(first) = owner[column].replace(number) {
                    return Err(Error::SharedColumn { column, first, second: number });
                }
            }
            plans.push(Self::plan(columns, constraint)?);
        }
        Ok(plans)
    }

    fn plan(columns: &[Column], constraint: &Constraint) -> Result<Self> {
        let terms = constraint.terms().to_vec();
        let with = |method| Self { terms: terms.clone(), bound: constraint.bound(), tolerance: constraint.tolerance(columns), method };
        let linear: Vec<usize> =
            (0..terms.len()).filter(|&position| matches!(columns[terms[position].0], Column::Float { log: false, .. })).collect();
        let reach = |position: usize| {
            let (low, high) = columns[terms[position].0].range();
            terms[position].1.abs() * (high - low)
        };
        let floats = (0..terms.len()).filter(|&position| columns[terms[position].0].is_float());
        // The column that can take up most; the first of equals.
        let widest = floats.reduce(|best, position| if reach(position) > reach(best) { position } else { best });
        let Some(widest) = widest else { return Ok(with(Method::Filter)) };
        let solve = with(Method::Solve(widest));
        if linear.len() < 2 {
            return Ok(solve);
        }
        let simplex = with(Method::Simplex(linear));
        Ok(if solve.pilot(columns)? > simplex.pilot(columns)? { solve } else { simplex })
    }

    /// How many of the first points of a sequence can be made to satisfy the equality.
    fn pilot(&self, columns: &[Column]) -> Result<usize> {
        let sequence = SobolSequence::new(columns.len(), 0)?;
        let (mut unit, mut natural) = (vec![0.0; columns.len()], vec![0.0; columns.len()]);
        let accepted = (0..PILOT).filter(|&index| {
            sequence.point_into(index, &mut unit);
            space::spread_natural(columns, &unit, &mut natural);
            self.apply(columns, &unit, &mut natural)
        });
        Ok(accepted.count())
    }

    /// The columns whose values [`Equality::apply`] writes.
    pub(super) fn written(&self) -> impl Iterator<Item = usize> {
        let positions: &[usize] = match &self.method {
            Method::Filter => &[],
            Method::Solve(position) => std::slice::from_ref(position),
            Method::Simplex(positions) => positions,
        };
        positions.iter().map(|&position| self.terms[position].0)
    }

    /// Moves the natural values onto the equality; false where the columns' bounds do not allow it.
    pub(super) fn apply(&self, columns: &[Column], unit: &[f64], natural: &mut [f64]) -> bool {
        match &self.method {
            Method::Filter => true,
            Method::Solve(position) => self.solve(*position, columns, natural),
            Method::Simplex(positions) => self.spread(positions, columns, unit, natural),
        }
    }

    /// $b-\sum_{i\notin S}a_ix_i$
    fn left_by_others(&self, own: &[usize], natural: &[f64]) -> f64 {
        let others = self.terms.iter().enumerate().filter(|(position, _)| !own.contains(position));
        others.fold(self.bound, |left, (_, &(column, coefficient))| left - coefficient * natural[column])
    }

    fn solve(&self, position: usize, columns: &[Column], natural: &mut [f64]) -> bool {
        let (column, coefficient) = self.terms[position];
        let value = self.left_by_others(&[position], natural) / coefficient;
        let (low, high) = columns[column].range();
        // A value beyond a bound by no more than rounding is that bound.
        let slack = self.tolerance / coefficient.abs();
        natural[column] = value.clamp(low, high);
        (natural[column] - value).abs() <= slack
    }

    /// Uniform on $\{y\ge0,\ \sum y_i=s\}$ where $y_i$ is the distance of $a_ix_i$ from its smallest value, or from its largest if that
    /// leaves less to share; points beyond the other end of a column are refused.
    fn spread(&self, positions: &[usize], columns: &[Column], unit: &[f64], natural: &mut [f64]) -> bool {
        let target = self.left_by_others(positions, natural);
        let ends = |position: usize| {
            let (column, coefficient) = self.terms[position];
            let (low, high) = columns[column].range();
            (coefficient * low, coefficient * high)
        };
        let least: f64 = positions.iter().map(|&position| ends(position).0.min(ends(position).1)).sum();
        let most: f64 = positions.iter().map(|&position| ends(position).0.max(ends(position).1)).sum();
        let from_top = most - target < target - least;
        let shared = if from_top { most - target } else { target - least };
        if shared < -self.tolerance {
            return false;
        }
        let mut left = shared.max(0.0);
        let sign = if from_top { -1.0 } else { 1.0 };
        for (done, &position) in positions.iter().enumerate() {
            let (column, coefficient) = self.terms[position];
            let (first, last) = ends(position);
            let start = if from_top { first.max(last) } else { first.min(last) };
            // The first of k+1 spacings has P(y > t s) = (1 − t)^k.
            let others = positions.len() - done - 1;
            let y = if others == 0 { left } else { left * (1.0 - (1.0 - unit[column]).powf(1.0 / others as f64)) };
            if y > (last - first).abs() {
                return false;
            }
            left -= y;
            natural[column] = (start + sign * y) / coefficient;
        }
        self.correct(positions, columns, natural)
    }

    /// Takes what rounding left over out of the column farthest from its bounds.
    fn correct(&self, positions: &[usize], columns: &[Column], natural: &mut [f64]) -> bool {
        let room = |column: usize, value: f64| {
            let (low, high) = columns[column].range();
            (value - low).min(high - value)
        };
        for &position in positions {
            let column = self.terms[position].0;
            let (low, high) = columns[column].range();
            natural[column] = natural[column].clamp(low, high);
        }
        let widest = positions.iter().copied().reduce(|best, position| {
            let (a, b) = (self.terms[best].0, self.terms[position].0);
            if room(b, natural[b]) > room(a, natural[a]) { position } else { best }
        });
        widest.is_some_and(|position| self.solve(position, columns, natural))
    }
}
