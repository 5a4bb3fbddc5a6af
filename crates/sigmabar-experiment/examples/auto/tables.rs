//! Measured tables as problems.

use crate::Answer;
use sigmabar::domain::{Column, ListDomain, SpaceDomain};
use sigmabar::strategy::Direction;
use sigmabar::{Domain, Points};
use std::collections::HashMap;
use std::path::Path;

/// A table as a problem: a domain, and the value of every setting.
pub struct Table {
    pub name: String,
    pub domain: Domain,
    pub direction: Direction,
    values: HashMap<Vec<u64>, f64>,
}

impl Table {
    pub fn value(&self, natural: &[f64]) -> Answer<f64> {
        self.values.get(&key(natural)).copied().ok_or_else(|| format!("{}: no such setting {natural:?}", self.name).into())
    }

    pub fn range(&self) -> (f64, f64) {
        self.values.values().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &v| (low.min(v), high.max(v)))
    }
}

fn key(row: &[f64]) -> Vec<u64> {
    row.iter().map(|v| v.to_bits()).collect()
}

/// Settings measured more than once count with their mean.
fn averaged(rows: &[Vec<f64>]) -> HashMap<Vec<u64>, f64> {
    let mut sums: HashMap<Vec<u64>, (f64, f64)> = HashMap::new();
    for row in rows {
        let entry = sums.entry(key(&row[..row.len() - 1])).or_insert((0.0, 0.0));
        *entry = (entry.0 + row[row.len() - 1], entry.1 + 1.0);
    }
    sums.into_iter().map(|(setting, (sum, count))| (setting, sum / count)).collect()
}

pub fn plain_table(directory: &Path, name: &str) -> Answer<Table> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_path(directory.join(name).join("data.csv"))?;
    let rows = reader.deserialize().collect::<Result<Vec<Vec<f64>>, _>>()?;
    let goal = std::fs::read_to_string(directory.join(name).join("config.json"))?;
    let direction = if goal.contains("\"minimize\"") { Direction::Minimize } else { Direction::Maximize };
    let settings: Vec<&[f64]> = rows.iter().map(|r| &r[..r.len() - 1]).collect();
    let (list, _) = ListDomain::distinct(Points::from_rows(&settings)?);
    Ok(Table { name: name.to_string(), domain: Domain::List(list), direction, values: averaged(&rows) })
}

/// Three categorical factors, concentration and temperature: all combinations were measured.
pub fn reactions(directory: &Path) -> Answer<Table> {
    let mut reader = csv::Reader::from_path(directory.join("direct_arylation/data.csv"))?;
    let mut choices: [Vec<String>; 3] = Default::default();
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record?;
        let mut row = Vec::new();
        for (factor, known) in choices.iter_mut().enumerate() {
            let name = record[factor + 1].to_string();
            let position = known.iter().position(|k| *k == name).unwrap_or(known.len());
            if position == known.len() {
                known.push(name);
            }
            row.push(position as f64);
        }
        for column in 4..7 {
            row.push(record[column].parse()?);
        }
        rows.push(row);
    }
    let levels = |column: usize| {
        let mut values: Vec<f64> = rows.iter().map(|r| r[column]).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        Column::ordinal(values)
    };
    let mut columns: Vec<Column> = choices.iter().map(|c| Column::categorical(c.len())).collect();
    columns.extend([levels(3), levels(4)]);
    let domain = Domain::Space(SpaceDomain::new(columns, Vec::new())?);
    Ok(Table { name: "direct_arylation".to_string(), domain, direction: Direction::Maximize, values: averaged(&rows) })
}
