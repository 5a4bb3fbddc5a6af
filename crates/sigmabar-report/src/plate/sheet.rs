//! A plate to be filled in.

use super::{CONTROL, NOTE, Plate, RESULT, STANDARD_ERROR};
use crate::sheet::Sheet;
use serde_json::{Value, json};
use sigmabar_study::{AskedTrial, Parameter, StudySpec, TrialRow};

/// Where everything goes on a plate.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout<'a> {
    plate: Plate,
    /// Every well in use, in the order of the wells: its place, and its trial unless it holds a control.
    wells: Vec<(usize, Option<&'a AskedTrial>)>,
}

/// Whether the candidates of a study have names.
fn has_labels(spec: &StudySpec) -> bool {
    spec.space().candidates().is_some_and(|table| table.labels.is_some())
}

/// What a candidate is called.
fn label(spec: &StudySpec, trial: &AskedTrial) -> Option<String> {
    let values: Vec<_> = trial.values.iter().map(|(_, value)| value.clone()).collect();
    spec.space().label(&values)
}

impl<'a> Layout<'a> {
    /// Lays trials out in random order, each as often as the study replicates, with its controls among them and its blocked wells empty.
    ///
    /// # Errors
    /// The blocked well that the plate does not have.
    pub fn new(plate: Plate, trials: &'a [AskedTrial], spec: &StudySpec, seed: u64) -> Result<Self, String> {
        let place = |name: &String| plate.place(name).ok_or_else(|| name.clone());
        let blocked = spec.blocked_wells().iter().map(place).collect::<Result<Vec<usize>, String>>()?;
        let controls = std::iter::repeat_n(None, spec.controls());
        let each = trials.iter().flat_map(|trial| std::iter::repeat_n(Some(trial), spec.replicates()));
        let laid: Vec<Option<&AskedTrial>> = each.chain(controls).collect();
        let mut wells: Vec<_> = plate.shuffled_free(laid.len(), &blocked, seed).into_iter().zip(laid).collect();
        wells.sort_by_key(|(well, _)| *well);
        Ok(Self { plate, wells })
    }

    /// What the order of trials on a plate follows from: the same for the same trials.
    #[must_use]
    pub fn seed(spec: &StudySpec, trials: &[AskedTrial]) -> u64 {
        spec.problem().seed() ^ trials.first().map_or(0, |trial| trial.id)
    }

    /// The wells of each trial, separated by semicolons.
    #[must_use]
    pub fn places(&self) -> Vec<(u64, String)> {
        let mut places: Vec<(u64, String)> = Vec::new();
        for (well, trial) in &self.wells {
            let Some(trial) = trial else { continue };
            let name = self.plate.name(*well);
            match places.iter_mut().find(|(id, _)| *id == trial.id) {
                Some((_, wells)) => *wells += &format!(";{name}"),
                None => places.push((trial.id, name)),
            }
        }
        places
    }

    /// Rows and columns of the plate.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        self.plate.size()
    }

    /// The wells that hold controls.
    #[must_use]
    pub fn controls(&self) -> Vec<String> {
        self.wells.iter().filter(|(_, trial)| trial.is_none()).map(|(well, _)| self.plate.name(*well)).collect()
    }

    /// One row for each well in use: well, trial (or the word control), what a candidate is called, setting, and empty cells for what was measured.
    #[must_use]
    pub fn sheet(&self, spec: &StudySpec) -> Sheet {
        let names: Vec<String> = spec.space().parameters().iter().map(Parameter::title).collect();
        let has_labels = has_labels(spec);
        let heading = has_labels.then(|| "label".to_owned());
        let mut sheet = Sheet::new(["well".to_owned(), "trial".to_owned()].into_iter().chain(heading).chain(names.clone()));
        sheet.columns.extend([RESULT, STANDARD_ERROR, NOTE].map(str::to_owned));
        for (well, trial) in &self.wells {
            let mut row = vec![json!(self.plate.name(*well)), trial.map_or(json!(CONTROL), |trial| json!(trial.id))];
            if has_labels {
                row.push(json!(trial.and_then(|trial| label(spec, trial))));
            }
            match trial {
                Some(trial) => row.extend(trial.values.iter().map(|(_, value)| json!(value))),
                None => row.extend(names.iter().map(|_| Value::Null)),
            }
            row.extend([Value::Null, Value::Null, Value::Null]);
            sheet.rows.push(row);
        }
        sheet
    }

    /// The sheet with what was told of its trials so far. Wells of replicates stay empty: only their mean was told.
    #[must_use]
    pub fn sheet_so_far(&self, spec: &StudySpec, told: &[TrialRow]) -> Sheet {
        let mut sheet = self.sheet(spec);
        let from = sheet.columns.len() - 3;
        for ((_, trial), row) in self.wells.iter().zip(&mut sheet.rows) {
            let Some(known) = trial.and_then(|trial| told.iter().find(|known| known.id == trial.id)) else { continue };
            if spec.replicates() > 1 {
                continue;
            }
            row[from] = match (known.value, &known.reason) {
                (Some(value), _) => json!(value),
                // A note beside it is the reason too.
                (None, Some(reason)) if !known.state.is_open() && known.note.as_ref() == Some(reason) => json!("failed"),
                (None, Some(reason)) if !known.state.is_open() => json!(format!("failed: {reason}")),
                _ => Value::Null,
            };
            row[from + 1] = json!(known.standard_error);
            row[from + 2] = json!(known.note);
        }
        sheet
    }

    /// The pipetting map: for the trials and for each parameter the plate as it lies on the bench, rows by letters and columns by numbers.
    #[must_use]
    pub fn map(&self, spec: &StudySpec) -> Sheet {
        let (rows, columns) = self.plate.size();
        let mut sheet = Sheet::new(["what".to_owned(), "row".to_owned()].into_iter().chain((1..=columns).map(|column| column.to_string())));
        let trial = |trial: &AskedTrial| json!(trial.id);
        let mut layer = |what: &str, of: &dyn Fn(&AskedTrial) -> Value, control: Value| {
            for row in 0..rows {
                let mut line = vec![json!(what), json!(self.plate.name(row * columns).trim_end_matches(char::is_numeric))];
                line.extend((0..columns).map(|column| {
                    let well = self.wells.iter().find(|(well, _)| *well == row * columns + column);
                    well.map_or(Value::Null, |(_, trial)| trial.map_or(control.clone(), of))
                }));
                sheet.rows.push(line);
            }
        };
        layer("trial", &trial, json!(CONTROL));
        if has_labels(spec) {
            layer("label", &|trial| json!(label(spec, trial)), Value::Null);
        }
        for (p, parameter) in spec.space().parameters().iter().enumerate() {
            layer(&parameter.title(), &|trial| json!(trial.values[p].1), Value::Null);
        }
        sheet
    }
}
