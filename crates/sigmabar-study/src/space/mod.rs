//! Named parameters on one side, points of the core's domain on the other.

mod candidates;
mod digits;
mod parameter;

pub use candidates::CandidateTable;
pub(crate) use parameter::titled;
pub use parameter::{Parameter, ParameterKind};

use crate::{Error, Result, Value};
use sigmabar::domain::{Constraint, ListDomain, SpaceDomain};
use sigmabar::{BoxDomain, Domain, Points};
use std::f64::consts::FRAC_1_SQRT_2;
use std::ops::Range;

/// Named parameters and the domain that a strategy searches.
///
/// The strategy sees every numeric parameter from 0 to 1 (its logarithm where the scale is logarithmic, its rank where it is ordinal), so that
/// length-scales are shares of a parameter's range whatever its unit; lists are scaled by their smallest and largest values, and a column of words becomes
/// one 0-or-1/√2 column for each word, which puts two different words at distance 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Space {
    parameters: Vec<Parameter>,
    /// What the strategy searches.
    domain: Domain,
    shape: Shape,
}

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    /// Product of columns: this domain turns the user's numbers into the strategy's and back.
    Columns(Domain),
    /// A list: the rows as the user wrote them.
    List(CandidateTable),
}

impl Space {
    /// A product of parameters with constraints. Without constraints and with continuous parameters only it is a box, which can be cut into cells.
    ///
    /// # Errors
    /// What the core finds wrong with a column or a constraint.
    pub(crate) fn product(parameters: Vec<Parameter>, constraints: Vec<Constraint>) -> sigmabar::Result<Self> {
        let is_box = constraints.is_empty() && parameters.iter().all(|p| matches!(p.kind, ParameterKind::Float { .. }));
        let natural = Domain::Space(SpaceDomain::new(parameters.iter().map(|p| p.kind.column()).collect(), constraints)?);
        let domain = if is_box { Domain::Box(BoxDomain::unit(parameters.len())?) } else { natural.clone() };
        Ok(Self { parameters, domain, shape: Shape::Columns(natural) })
    }

    /// A finite list of settings.
    ///
    /// # Errors
    /// What the core finds wrong with the list: a repeated row, costs or labels that do not fit.
    pub(crate) fn list(table: CandidateTable) -> sigmabar::Result<Self> {
        let parameters: Vec<Parameter> = table
            .columns
            .iter()
            .enumerate()
            .map(|(column, name)| Parameter { name: name.clone(), kind: kind_of_column(&table.rows, column), digits: None, unit: None })
            .collect();
        let rows: Vec<Vec<f64>> = table.rows.iter().map(|row| encode_row(&parameters, row)).collect();
        let mut list = ListDomain::new(Points::from_rows(&rows)?)?;
        if let Some(labels) = &table.labels {
            list = list.with_labels(labels.clone())?;
        }
        if let Some(costs) = &table.costs {
            list = list.with_costs(costs.clone())?;
        }
        Ok(Self { parameters, domain: Domain::List(list), shape: Shape::List(table) })
    }

    /// The parameters, in the order of the study file.
    #[must_use]
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The names of the parameters, in order.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.parameters.iter().map(|parameter| parameter.name.clone())
    }

    /// What the strategy searches.
    #[must_use]
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The list of candidates, if the space is one.
    #[must_use]
    pub fn candidates(&self) -> Option<&CandidateTable> {
        match &self.shape {
            Shape::List(table) => Some(table),
            Shape::Columns(_) => None,
        }
    }

    /// What a setting is called, in a list that has labels.
    #[must_use]
    pub fn label(&self, values: &[Value]) -> Option<String> {
        let table = self.candidates()?;
        let row = table.rows.iter().position(|row| row.len() == values.len() && row.iter().zip(values).all(|(a, b)| a.same(b)))?;
        table.labels.as_ref()?.get(row).cloned()
    }

    /// Whether settings are rounded to the digits that can be set.
    #[must_use]
    pub fn is_rounding(&self) -> bool {
        self.parameters.iter().any(|parameter| parameter.digits.is_some())
    }

    /// The columns of the strategy's points that belong to a parameter.
    #[must_use]
    pub fn columns_of(&self, parameter: usize) -> Range<usize> {
        let width = |p: &Parameter| match (&self.shape, &p.kind) {
            (Shape::List(_), ParameterKind::Categorical { choices }) => choices.len(),
            _ => 1,
        };
        let start = self.parameters[..parameter].iter().map(width).sum();
        start..start + width(&self.parameters[parameter])
    }

    /// Puts a choice of a parameter into a point of the strategy.
    pub(crate) fn choose(&self, point: &mut [f64], parameter: usize, choice: usize) {
        let columns = &mut point[self.columns_of(parameter)];
        match &self.shape {
            Shape::Columns(_) => columns.fill(choice as f64),
            Shape::List(_) => columns.iter_mut().enumerate().for_each(|(i, at)| *at = if i == choice { FRAC_1_SQRT_2 } else { 0.0 }),
        }
    }

    /// The setting at a point of the strategy; in a list, the nearest one.
    #[must_use]
    pub fn values(&self, point: &[f64]) -> Vec<Value> {
        match (&self.shape, &self.domain) {
            (Shape::List(table), Domain::List(list)) => {
                let distance = |row: &[f64]| row.iter().zip(point).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
                let nearest = list.points().rows().enumerate().min_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b)));
                nearest.map_or_else(Vec::new, |(row, _)| table.rows[row].clone())
            }
            (Shape::Columns(natural), _) => match Points::new(point.to_vec(), point.len()).and_then(|points| natural.decode(points.view()))
            {
                Ok(points) => {
                    let natural = points.view().row(0);
                    let exact = || self.parameters.iter().zip(natural).map(|(p, &v)| p.kind.value(v)).collect();
                    // Where no rounded setting near keeps the constraints, this one keeps its digits.
                    if self.is_rounding() { self.rounded(natural).unwrap_or_else(exact) } else { exact() }
                }
                Err(_) => Vec::new(),
            },
            (Shape::List(_), _) => Vec::new(),
        }
    }

    /// The setting at natural coordinates of the strategy's domain, such as its survivors have.
    #[must_use]
    pub fn from_natural(&self, natural: &[f64]) -> Vec<Value> {
        match self.domain {
            Domain::Space(_) => self.parameters.iter().zip(natural).map(|(p, &v)| p.kind.value(v)).collect(),
            _ => self.values(natural),
        }
    }

    /// The natural coordinates of a setting in the strategy's domain, such as [`sigmabar::Strategy::posterior`] takes.
    ///
    /// # Errors
    /// As [`Space::point`].
    pub fn natural(&self, values: &[Value]) -> Result<Vec<f64>> {
        let point = self.point(values)?;
        match self.domain {
            Domain::Space(_) => self.parameters.iter().zip(values).map(|(p, v)| p.natural(v)).collect(),
            _ => Ok(point),
        }
    }

    /// The setting of a planned trial, by its candidate where it has one.
    pub(crate) fn setting(&self, candidate: Option<usize>, point: &[f64]) -> Vec<Value> {
        match (&self.shape, candidate) {
            (Shape::List(table), Some(row)) if row < table.rows.len() => table.rows[row].clone(),
            _ => self.values(point),
        }
    }

    /// The strategy's point of a setting of a product of parameters, whether or not it keeps the constraints; `None` for a value that a parameter does not take,
    /// and for a list.
    #[must_use]
    pub fn encoded(&self, values: &[Value]) -> Option<Vec<f64>> {
        let Shape::Columns(domain) = &self.shape else { return None };
        let natural: Vec<f64> = self.parameters.iter().zip(values).map(|(p, v)| p.natural(v)).collect::<Result<_>>().ok()?;
        let points = Points::new(natural, values.len()).ok()?;
        Some(domain.encode(points.view()).ok()?.row(0).to_vec())
    }

    /// The strategy's point of a setting.
    ///
    /// # Errors
    /// [`Error::Setting`] naming the parameter whose value is not taken, [`Error::SettingLength`], [`Error::NotACandidate`], [`Error::Unconstrained`].
    pub fn point(&self, values: &[Value]) -> Result<Vec<f64>> {
        if values.len() != self.parameters.len() {
            return Err(Error::SettingLength { expected: self.parameters.len(), found: values.len() });
        }
        let natural: Vec<f64> = self.parameters.iter().zip(values).map(|(p, v)| p.natural(v)).collect::<Result<_>>()?;
        match &self.shape {
            Shape::List(table) => {
                let same = |row: &&Vec<Value>| row.iter().zip(values).all(|(a, b)| a.same(b));
                let row = table.rows.iter().find(same).ok_or(Error::NotACandidate { values: values.to_vec() })?;
                Ok(encode_row(&self.parameters, row))
            }
            Shape::Columns(domain) => {
                let points = Points::new(natural.clone(), natural.len())?;
                let encoded = domain.encode(points.view()).map_err(|error| match error {
                    sigmabar::Error::Outside { column, .. } => Error::Setting {
                        parameter: self.parameters[column].name.clone(),
                        found: values[column].clone(),
                        requirement: "a value between its ends, on a step",
                    },
                    other => other.into(),
                })?;
                if domain.contains(&natural) {
                    Ok(encoded.view().row(0).to_vec())
                } else {
                    Err(Error::Unconstrained { values: values.to_vec() })
                }
            }
        }
    }
}

/// A column of a list: numbers with their range, or words with the different ones in order of appearance.
fn kind_of_column(rows: &[Vec<Value>], column: usize) -> ParameterKind {
    let values: Vec<&Value> = rows.iter().map(|row| &row[column]).collect();
    let numbers: Option<Vec<f64>> = values.iter().map(|value| value.as_number()).collect();
    if let Some(numbers) = numbers {
        let (low, high) = numbers.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)));
        return ParameterKind::Column { low, high };
    }
    let mut choices: Vec<Value> = Vec::new();
    for value in values {
        if !choices.iter().any(|choice| choice.same(value)) {
            choices.push(value.clone());
        }
    }
    ParameterKind::Categorical { choices }
}

/// A row of a list as the strategy sees it.
fn encode_row(parameters: &[Parameter], row: &[Value]) -> Vec<f64> {
    let mut encoded = Vec::with_capacity(row.len());
    for (parameter, value) in parameters.iter().zip(row) {
        match &parameter.kind {
            ParameterKind::Categorical { choices } => {
                encoded.extend(choices.iter().map(|choice| if choice.same(value) { FRAC_1_SQRT_2 } else { 0.0 }));
            }
            ParameterKind::Column { low, high } if high > low => encoded.push((value.as_number().unwrap_or(*low) - low) / (high - low)),
            _ => encoded.push(0.0),
        }
    }
    encoded
}
