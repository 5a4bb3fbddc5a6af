//! Whether a table of results is about the settings that were asked for: a sheet that was sorted by one column tells every result to the wrong trial.

use super::{Content, Reading, laid};
use crate::data::{Cell, TEXT_CELL, TURNED};
use crate::plot::well_place;
use crate::setting::{agrees, used_instead};
use sigmabar_study::{Study, TrialRow, Value};
use std::collections::HashMap;
use std::path::Path;

const WELL: &str = "well";

/// Why results cannot be told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// They do not stand beside their settings.
    #[error("{what}: {remedy}")]
    Sheet {
        /// What is wrong.
        what: String,
        /// What would be right.
        remedy: String,
    },
    /// The study cannot be read.
    #[error(transparent)]
    Study(#[from] sigmabar_study::Error),
}

impl Mismatch {
    fn new(what: String, remedy: &str) -> Self {
        Self::Sheet { what, remedy: remedy.to_owned() }
    }
}

/// Refuses a table whose settings or wells are not those of its trials. Where the study declares that settings may be used otherwise than asked for, those that
/// were, a little, are given back.
///
/// # Errors
/// [`Mismatch`] naming line and column.
pub fn check(study: &Study, path: &Path, reading: &Reading) -> Result<Vec<(u64, Vec<Value>)>, Mismatch> {
    let well = reading.columns.iter().position(|found| found.eq_ignore_ascii_case(WELL));
    let mut parameters = Vec::new();
    for (i, parameter) in study.spec().space().parameters().iter().enumerate() {
        match reading.columns.iter().position(|found| parameter.is_headed(found)) {
            Some(place) => parameters.push((place, i, parameter)),
            None if well.is_some() => {
                let what = format!("{}: the column \"{}\" of the plate is gone", path.display(), parameter.name);
                return Err(Mismatch::new(what, "it shows that results stand beside their settings; put it back"));
            }
            None => {}
        }
    }
    let trials: HashMap<u64, TrialRow> = study.trials()?.into_iter().map(|trial| (trial.id, trial)).collect();
    let mut all_used = Vec::new();
    for (id, line, cells) in &reading.rows {
        let Some(trial) = trials.get(id) else { continue };
        let is_blank = |cell: &Cell| reading.missing.contains(id) && *cell == Cell::Missing;
        let differs = |place: usize, asked: &dyn std::fmt::Display| {
            let (file, name) = (path.display(), &reading.columns[place]);
            let what = format!("{file}, line {line}, column \"{name}\": {} stands there, and trial {id} has {asked}", shown(&cells[place]));
            let is_text = || matches!(&cells[place], Cell::Text(text) if text.parse::<f64>().is_ok());
            let is_number = |place: usize| parameters.iter().any(|(at, _, parameter)| *at == place && !parameter.is_choice());
            let remedy = match &cells[place] {
                Cell::Moment(_) => TURNED,
                _ if is_number(place) && is_text() && reading.is_spreadsheet => TEXT_CELL,
                _ => "put every result beside its own setting",
            };
            Mismatch::new(what, &format!("{remedy}; nothing of this file was written down"))
        };
        let mut used = trial.values.clone();
        for &(place, i, parameter) in &parameters {
            let asked = &trial.values[i];
            if agrees(&cells[place], parameter, asked) || is_blank(&cells[place]) {
                continue;
            }
            match used_instead(&cells[place], parameter, asked).filter(|_| study.spec().takes_used_values()) {
                Some(value) => used[i] = value,
                None => return Err(differs(place, asked)),
            }
        }
        if used != trial.values {
            all_used.push((*id, used));
        }
        if let (Some(place), Some(laid)) = (well, &trial.well)
            && !is_blank(&cells[place])
            && !laid.split(';').any(|laid| plain(&shown(&cells[place])) == plain(laid))
        {
            return Err(differs(place, laid));
        }
    }
    check_controls(study, path, reading)?;
    Ok(all_used)
}

/// Refuses controls in wells that hold none, and beside trials of several plates: their wells do not say on which they are.
fn check_controls(study: &Study, path: &Path, reading: &Reading) -> Result<(), Mismatch> {
    if reading.controls.is_empty() {
        return Ok(());
    }
    let mut plates = laid(study)?;
    plates.retain(|plate| reading.rows.iter().any(|(id, ..)| plate.holds(*id)));
    let file = path.display();
    let plate = match &plates[..] {
        [] => return Ok(()),
        [plate] => plate,
        [first, second, ..] => {
            let what = format!("{file} has controls beside trials of plates {} and {}", first.number, second.number);
            return Err(Mismatch::new(what, "tell each plate from a file of its own; nothing of this file was written down"));
        }
    };
    let is_laid = plate.with_layout(study, |_| ()).is_some();
    for (well, _) in &reading.controls {
        let holds = match well_place(well).map(|place| plate.wells.get(&place)) {
            Some(Some(Content::Control(_))) => continue,
            Some(None) if !is_laid => continue,
            Some(Some(Content::Trial(trial))) => format!("trial {}", trial.id),
            _ => "no control".to_owned(),
        };
        let what = format!("{file}: a control stands beside well \"{well}\", which holds {holds} on plate {}", plate.number);
        return Err(Mismatch::new(what, "put every result beside its own well; nothing of this file was written down"));
    }
    Ok(())
}

/// A well without the zeros that some machines put before its number: A01 is A1.
pub(super) fn plain(well: &str) -> String {
    let (row, number) = well.split_at(well.find(|c: char| c.is_ascii_digit()).unwrap_or(well.len()));
    format!("{}{}", row.trim().to_uppercase(), number.trim_start_matches('0'))
}

fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Missing => "nothing".to_owned(),
        other => other.to_string(),
    }
}
