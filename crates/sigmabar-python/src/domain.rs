//! Where one may measure.

use crate::arrays::{Rows, from_points};
use crate::error::{raise, unknown};
use numpy::PyArray2;
use pyo3::prelude::*;
use sigmabar::domain::{Column, Constraint, ListDomain, Relation, SpaceDomain};
use sigmabar::{BoxDomain, Domain};

/// A list of candidates, a box, or a product of columns.
#[pyclass(frozen, name = "Domain", module = "sigmabar._core")]
pub struct PyDomain {
    pub inner: Domain,
}

/// Kind, low, high, logarithmic, step, levels and number of choices of a column; each kind reads its own.
type ColumnParts = (String, f64, f64, bool, Option<u64>, Vec<f64>, usize);
/// Terms (column, coefficient), relation and bound of a constraint.
type ConstraintParts = (Vec<(usize, f64)>, String, f64);

#[pymethods]
impl PyDomain {
    #[staticmethod]
    fn list_of(candidates: Rows, labels: Option<Vec<String>>, costs: Option<Vec<f64>>) -> PyResult<Self> {
        let mut list = ListDomain::new(candidates.to_points().map_err(raise)?).map_err(raise)?;
        if let Some(labels) = labels {
            list = list.with_labels(labels).map_err(raise)?;
        }
        if let Some(costs) = costs {
            list = list.with_costs(costs).map_err(raise)?;
        }
        Ok(Self { inner: Domain::List(list) })
    }

    #[staticmethod]
    fn box_of(low: Vec<f64>, high: Vec<f64>) -> PyResult<Self> {
        Ok(Self { inner: Domain::Box(BoxDomain::new(low, high).map_err(raise)?) })
    }

    #[staticmethod]
    fn space(columns: Vec<ColumnParts>, constraints: Vec<ConstraintParts>) -> PyResult<Self> {
        let columns = columns.into_iter().map(column).collect::<PyResult<Vec<_>>>()?;
        let constraints = constraints.into_iter().map(constraint).collect::<PyResult<Vec<_>>>()?;
        Ok(Self { inner: Domain::Space(SpaceDomain::new(columns, constraints).map_err(raise)?) })
    }

    fn columns(&self) -> usize {
        self.inner.dim()
    }

    /// Number of points, where it is finite.
    fn size(&self) -> Option<u128> {
        self.inner.size()
    }

    /// What the kernel sees of the user's values.
    fn encode<'py>(&self, py: Python<'py>, natural: Rows) -> PyResult<Bound<'py, PyArray2<f64>>> {
        from_points(py, self.inner.encode(natural.view().map_err(raise)?).map_err(raise)?.view())
    }

    /// The user's values of what the kernel sees.
    fn decode<'py>(&self, py: Python<'py>, encoded: Rows) -> PyResult<Bound<'py, PyArray2<f64>>> {
        from_points(py, self.inner.decode(encoded.view().map_err(raise)?).map_err(raise)?.view())
    }

    /// A declared set of candidates, in the user's values.
    fn candidates<'py>(&self, py: Python<'py>, count: usize, seed: u64) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let candidates = self.inner.candidates(count, seed).map_err(raise)?;
        from_points(py, candidates.natural(0, candidates.len()).map_err(raise)?.view())
    }
}

fn column((kind, low, high, log, step, levels, choices): ColumnParts) -> PyResult<Column> {
    Ok(match kind.as_str() {
        "float" => Column::Float { low, high, log },
        "int" if log => Column::log_integer(low as i64, high as i64),
        "int" => Column::Integer { low: low as i64, high: high as i64, step },
        "ordinal" => Column::Ordinal { levels },
        "categorical" => Column::Categorical { choices },
        other => return Err(unknown("kind of column", other, &["float", "int", "ordinal", "categorical"])),
    })
}

fn constraint((terms, relation, bound): ConstraintParts) -> PyResult<Constraint> {
    Ok(match relation.as_str() {
        "==" => Constraint::equal(terms, bound),
        "<=" => Constraint::at_most(terms, bound),
        ">=" => Constraint::at_least(terms, bound),
        "<" => match terms.as_slice() {
            // x < y is written x − y < 0.
            &[(smaller, one), (larger, minus)] if one == 1.0 && minus == -1.0 && bound == 0.0 => Constraint::less(smaller, larger),
            _ => return Err(raise(format!("a strict constraint ({:?}) compares two columns: {{x: 1, y: -1}} < 0", Relation::Below))),
        },
        other => return Err(unknown("relation", other, &["==", "<=", ">=", "<"])),
    })
}
