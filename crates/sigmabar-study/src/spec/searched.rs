//! From the tables of a study file to the space that is searched.

use super::Fault;
use super::file::StudyFile;
use super::parameters::{ParameterTable, ParameterType};
use crate::Value;
use crate::error::SpecProblem;
use crate::expression::parse_expression;
use crate::objective;
use crate::space::{CandidateTable, Parameter, ParameterKind, Space, titled};
use crate::union::PlainOr;
use sigmabar::domain::{Constraint, Relation};
use std::path::Path;

/// Columns that plates, lists of trials and exports have besides the parameters: a parameter of the same name could not be told from them when results come back.
const RESERVED: [&str; 16] = [
    "well",
    "trial",
    "id",
    "batch",
    "state",
    "value",
    "result",
    "std",
    "replicates",
    "worker",
    "reason",
    "note",
    "told_at",
    "seed",
    "corrected",
    "collected",
];

/// A float with steps has at most this many levels.
const MAX_LEVELS: f64 = 1e6;

/// The space; candidates in a file are read into the study.
pub(super) fn space(file: &mut StudyFile, directory: &Path) -> Result<Space, Fault> {
    match (&file.candidates, file.parameters.is_empty()) {
        (None, true) => {
            let remedy = "describe what is searched: a table [parameters.NAME] for each parameter, or candidates = \"file.csv\"";
            Err(Fault::new(&["parameters"], SpecProblem::Missing { what: "parameters", remedy }))
        }
        (Some(_), false) => {
            let remedy = "the columns of the candidates are the parameters: keep one of the two";
            Err(Fault::new(&["candidates"], SpecProblem::Conflict { other: "parameters", remedy }))
        }
        (Some(candidates), true) => {
            if !file.constraints.is_empty() {
                let remedy = "leave out the candidates that break them";
                return Err(Fault::new(&["constraints"], SpecProblem::Conflict { other: "candidates", remedy }));
            }
            let table = match candidates {
                PlainOr::Plain(name) => CandidateTable::read(&directory.join(name))
                    .map_err(|error| Fault::new(&["candidates"], SpecProblem::Candidates(Box::new(error))))?,
                PlainOr::Table(table) => table.clone(),
            };
            check_table(&table)?;
            file.candidates = Some(PlainOr::Table(table.clone()));
            Space::list(table).map_err(Fault::core(&["candidates"]))
        }
        (None, false) => product(file),
    }
}

/// Whether the objective names only what exists.
pub(super) fn check_objective(file: &StudyFile, space: &Space) -> Result<(), Fault> {
    let Some(table) = &file.objective else { return Ok(()) };
    objective::check(table, space).map_err(|(key, problem)| Fault::new(&["objective", key], problem))
}

/// Whether a command can tell the parameters apart.
pub(super) fn check_variables(file: &StudyFile, space: &Space) -> Result<(), Fault> {
    let Some(table) = &file.objective else { return Ok(()) };
    objective::check_variables(table, space).map_err(|(key, problem)| Fault::new(&["objective", key], problem))
}

fn check_table(table: &CandidateTable) -> Result<(), Fault> {
    let wrong = |found: String, requirement| Err(Fault::new(&["candidates"], SpecProblem::Requirement { found, requirement }));
    if let Some(row) = table.rows.iter().position(|row| row.len() != table.columns.len()) {
        return wrong(format!("row {} with {} values", row + 1, table.rows[row].len()), "one value for each column");
    }
    if table.columns.is_empty() || table.rows.is_empty() {
        return wrong("an empty table".into(), "at least one column and one row");
    }
    table.columns.iter().enumerate().try_for_each(|(i, name)| check_name(name, &table.columns[..i], &["candidates"]))
}

fn product(file: &StudyFile) -> Result<Space, Fault> {
    let names: Vec<String> = file.parameters.0.iter().map(|(name, _)| name.clone()).collect();
    let mut parameters = Vec::with_capacity(names.len());
    for (i, (name, table)) in file.parameters.0.iter().enumerate() {
        check_name(name, &names[..i], &["parameters", name])?;
        parameters.push(Parameter {
            name: name.clone(),
            kind: kind(name, table)?,
            digits: digits(name, table)?,
            unit: unit(name, table, &names)?,
        });
    }
    let constraints = file.constraints.iter().enumerate().map(|(i, text)| constraint(i, text, &names)).collect::<Result<Vec<_>, _>>()?;
    Space::product(parameters, constraints).map_err(|error| {
        let requirement = |found, requirement| SpecProblem::Requirement { found, requirement };
        let problem = match &error {
            sigmabar::Error::Interval { low, high, .. } => {
                requirement(format!("a range that goes from {low} to {high}"), "low below high, both finite")
            }
            sigmabar::Error::Column { value, requirement: wanted, .. } => requirement(value.to_string(), *wanted),
            sigmabar::Error::Constraint { column, requirement: wanted, .. } if *column < names.len() => {
                requirement(format!("\"{}\"", names[*column]), *wanted)
            }
            _ => SpecProblem::Core(error.clone()),
        };
        let path = match &error {
            sigmabar::Error::Column { column, .. } | sigmabar::Error::Interval { column, .. } => {
                vec!["parameters".into(), names[*column].clone()]
            }
            sigmabar::Error::Constraint { constraint, .. } | sigmabar::Error::Infeasible { constraint, .. } => {
                vec!["constraints".into(), constraint.to_string()]
            }
            sigmabar::Error::SharedColumn { second, .. } => vec!["constraints".into(), second.to_string()],
            _ => vec!["constraints".into()],
        };
        Fault { path, problem }
    })
}

/// Names become environment variables, placeholders and column heads.
fn check_name(name: &str, earlier: &[String], path: &[&str]) -> Result<(), Fault> {
    if let Some(reason) = wrong_name(name) {
        return Err(Fault::new(path, SpecProblem::Name { found: name.to_owned(), reason }));
    }
    if earlier.iter().any(|other| other == name) {
        let requirement = "a name of its own for every parameter";
        return Err(Fault::new(path, SpecProblem::Requirement { found: format!("\"{name}\""), requirement }));
    }
    Ok(())
}

/// Why a parameter cannot be called so, if it cannot.
#[must_use]
pub fn wrong_name(name: &str) -> Option<&'static str> {
    let is_plain = !name.is_empty() && !name.contains(|c: char| c.is_control() || matches!(c, '{' | '}' | '=' | '`' | '"'));
    if !is_plain {
        return Some("a name has no braces, quotes, equals signs or control characters");
    }
    let is_reserved = RESERVED.iter().any(|taken| name.trim().eq_ignore_ascii_case(taken));
    is_reserved.then_some("plates and exports have a column of that name; choose another name")
}

fn kind(name: &str, table: &ParameterTable) -> Result<ParameterKind, Fault> {
    let at = |key: &str, problem| Fault::new(&["parameters", name, key], problem);
    let not_here = |key: &str, is_given: bool, requirement| {
        if is_given { Err(at(key, SpecProblem::Requirement { found: key.to_owned(), requirement })) } else { Ok(()) }
    };
    let end = |key: &'static str, value: Option<f64>| {
        value.ok_or_else(|| {
            Fault::new(&["parameters", name], SpecProblem::Missing { what: key, remedy: "float and int parameters go from low to high" })
        })
    };
    let ranged = matches!(table.kind, ParameterType::Float | ParameterType::Int);
    not_here("choices", ranged && table.choices.is_some(), "low and high (choices are for categorical and ordinal parameters)")?;
    not_here("low", !ranged && table.low.is_some(), "choices (low and high are for float and int parameters)")?;
    not_here("high", !ranged && table.high.is_some(), "choices (low and high are for float and int parameters)")?;
    not_here("step", !ranged && table.step.is_some(), "choices (steps are for float and int parameters)")?;
    let is_log = table.log == Some(true);
    not_here("log", is_log && !ranged, "a float or int parameter")?;
    not_here("log", is_log && table.step.is_some(), "either log or step (or an ordinal parameter with choices = [1, 2, 4, 8])")?;
    match table.kind {
        ParameterType::Float => {
            let (low, high) = (end("low", table.low)?, end("high", table.high)?);
            match table.step {
                None => Ok(ParameterKind::Float { low, high, log: is_log }),
                Some(step) => stepped(low, high, step).ok_or_else(|| {
                    at(
                        "step",
                        SpecProblem::Requirement {
                            found: step.to_string(),
                            requirement: "positive, with at most a million steps from low to high",
                        },
                    )
                }),
            }
        }
        ParameterType::Int => {
            let whole = |key: &'static str, value: f64| {
                if value.fract() == 0.0 && value.abs() <= (1_u64 << 50) as f64 {
                    Ok(value as i64)
                } else {
                    Err(at(key, SpecProblem::Requirement { found: value.to_string(), requirement: "a whole number of at most 2^50" }))
                }
            };
            let step = whole("step", table.step.unwrap_or(1.0))?;
            let step = u64::try_from(step)
                .map_err(|_| at("step", SpecProblem::Requirement { found: step.to_string(), requirement: "at least 1" }))?;
            let (low, high) = (whole("low", end("low", table.low)?)?, whole("high", end("high", table.high)?)?);
            Ok(ParameterKind::Int { low, high, step, log: is_log })
        }
        ParameterType::Ordinal | ParameterType::Categorical => listed(name, table),
    }
}

/// How many digits can be set, where that is said.
fn digits(name: &str, table: &ParameterTable) -> Result<Option<u32>, Fault> {
    let at = |found: String, requirement| Err(Fault::new(&["parameters", name, "digits"], SpecProblem::Requirement { found, requirement }));
    let Some(digits) = table.digits else { return Ok(None) };
    if table.kind != ParameterType::Float {
        return at("digits".into(), "a float parameter");
    }
    if table.step.is_some() {
        return at("digits".into(), "either digits or step");
    }
    let is_log = table.log == Some(true);
    if digits > 12 || (is_log && digits == 0) {
        return at(digits.to_string(), "between 0 and 12 decimals, or between 1 and 12 significant digits on a logarithmic scale");
    }
    let coarse = 0.1_f64.powi(i32::try_from(digits).unwrap_or(12));
    if !is_log && table.low.zip(table.high).is_some_and(|(low, high)| high - low < coarse) {
        return at(digits.to_string(), "enough decimals to tell low from high");
    }
    Ok(Some(digits))
}

/// What numbers are measured in: a short word that can stand in a heading of a table.
fn unit(name: &str, table: &ParameterTable, names: &[String]) -> Result<Option<String>, Fault> {
    let at = |found: String, requirement| Err(Fault::new(&["parameters", name, "unit"], SpecProblem::Requirement { found, requirement }));
    let Some(unit) = &table.unit else { return Ok(None) };
    if table.kind == ParameterType::Categorical {
        return at("unit".into(), "a parameter of numbers (write the unit into the choices)");
    }
    let is_plain = !unit.trim().is_empty() && unit.chars().count() <= 40 && !unit.contains(|c: char| c.is_control() || c == '"');
    if !is_plain {
        return at(format!("{unit:?}"), "1 to 40 characters, such as \"°C\"");
    }
    if names.contains(&titled(name, unit.trim())) {
        return at(format!("\"{unit}\""), "a heading of its own: another parameter is called as this one with its unit");
    }
    Ok(Some(unit.trim().to_owned()))
}

fn listed(name: &str, table: &ParameterTable) -> Result<ParameterKind, Fault> {
    let choices = table.choices.clone().unwrap_or_default();
    let wrong = |found: String, requirement| Fault::new(&["parameters", name, "choices"], SpecProblem::Requirement { found, requirement });
    if choices.is_empty() {
        let remedy = "list what the parameter may be: choices = [\"a\", \"b\"], or numbers in increasing order for an ordinal one";
        return Err(Fault::new(&["parameters", name], SpecProblem::Missing { what: "choices", remedy }));
    }
    if table.kind == ParameterType::Categorical {
        let repeated = choices.iter().enumerate().find(|(i, choice)| choices[..*i].iter().any(|earlier| earlier.same(choice)));
        return match repeated {
            Some((_, choice)) => Err(wrong(format!("{choice} twice"), "every choice once")),
            None => Ok(ParameterKind::Categorical { choices }),
        };
    }
    match choices.iter().find(|choice| choice.as_number().is_none()) {
        Some(word) => Err(wrong(format!("\"{word}\""), "numbers in increasing order (words are for categorical parameters)")),
        None => Ok(ParameterKind::Ordinal { levels: choices }),
    }
}

/// The levels low, low + step, … up to high.
fn stepped(low: f64, high: f64, step: f64) -> Option<ParameterKind> {
    let count = ((high - low) / step + 1e-9).floor();
    if !(step > 0.0 && count.is_finite() && (0.0..=MAX_LEVELS).contains(&count)) {
        return None;
    }
    let level = |i: u64| {
        let value = low + i as f64 * step;
        // 0.1 + 2·0.1 is to be called 0.3: twelve decimals below the step are what the file can mean.
        let scale = 10_f64.powi(12 - step.log10().floor() as i32);
        let rounded = (value * scale).round() / scale;
        Value::Float(if rounded.is_finite() { rounded } else { value })
    };
    Some(ParameterKind::Ordinal { levels: (0..=count as u64).map(level).collect() })
}

fn constraint(index: usize, text: &str, names: &[String]) -> Result<Constraint, Fault> {
    let at = |problem| Fault::new(&["constraints", &index.to_string()], problem);
    let expression = parse_expression(text).map_err(|error| at(SpecProblem::Expression(error)))?;
    let mut terms = Vec::with_capacity(expression.terms.len());
    for (name, coefficient) in &expression.terms {
        let column = names.iter().position(|known| known == name);
        terms.push((column.ok_or_else(|| at(SpecProblem::unknown("parameter", name, names)))?, *coefficient));
    }
    Ok(match (expression.relation, terms.as_slice()) {
        (Relation::Equal, _) => Constraint::equal(terms, expression.bound),
        (Relation::AtMost, _) => Constraint::at_most(terms, expression.bound),
        (Relation::Below, _) => below(terms, expression.bound).map_err(at)?,
    })
}

/// $a\cdot x<b$. The core builds the general strict constraint only from its stored form.
fn below(terms: Vec<(usize, f64)>, bound: f64) -> Result<Constraint, SpecProblem> {
    let stored = serde_json::json!({ "terms": terms, "relation": Relation::Below, "bound": bound });
    serde_json::from_value(stored).map_err(|error| SpecProblem::Syntax { message: error.to_string() })
}
