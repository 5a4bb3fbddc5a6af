//! Plate maps of a study whose trials were laid into wells.

use super::error::Result;
use super::parameter::setting_words;
use super::study_model::StudyModel;
use crate::plot::{Measured, Plate, Well, plate_size, well_place};
use sigmabar::Points;
use sigmabar_study::{Space, TrialRow, TrialStatus};

/// What a candidate is called, before its setting.
fn called(space: &Space, values: &[sigmabar_study::Value]) -> String {
    space.label(values).map_or_else(String::new, |label| format!("{label}: "))
}

/// One plate for each layout: a batch begins a new one, and so does a well that is in use already.
pub(super) fn plates(space: &Space, trials: &[TrialRow], model: Option<&StudyModel<'_>>, response: &str) -> Result<Vec<Plate>> {
    let mut plates: Vec<(usize, Vec<Well>)> = Vec::new();
    let names: Vec<String> = space.parameters().iter().map(|p| p.name.clone()).collect();
    for row in trials {
        let places: Vec<(usize, usize)> = row.well.iter().flat_map(|wells| wells.split(';')).filter_map(well_place).collect();
        let Some(&(r, c)) = places.first() else { continue };
        let is_new =
            plates.last().is_none_or(|(batch, wells)| *batch != row.batch || wells.iter().any(|well| (well.row, well.column) == (r, c)));
        if is_new {
            plates.push((row.batch, Vec::new()));
        }
        let says = match model.zip(space.point(&row.values).ok()) {
            Some((model, point)) => model.predict(Points::from_rows(&[point])?.view())?.first().copied(),
            None => None,
        };
        let well = Well {
            row: r,
            column: c,
            setting: called(space, &row.values)
                + &setting_words(&names.iter().cloned().zip(row.values.iter().cloned()).collect::<Vec<_>>()),
            measured: match (row.value, row.state) {
                (Some(value), _) => Measured::Value(value),
                (None, TrialStatus::Failed) => Measured::Failed,
                _ => Measured::Missing,
            },
            predicted: says.map(|(mean, _)| mean),
            std_dev: says.map(|(_, deviation)| deviation),
            surprise: row
                .value
                .zip(says)
                .zip(model)
                .map(|((value, (mean, deviation)), model)| (value - mean) / deviation.hypot(model.noise_at(mean))),
        };
        if let Some((_, wells)) = plates.last_mut() {
            // The mean of replicates is shown in each of their wells.
            wells.extend(places.iter().map(|&(row, column)| Well { row, column, ..well.clone() }));
        }
    }
    let finish = |(i, (batch, wells)): (usize, (usize, Vec<Well>))| Plate {
        title: format!("Plate {} (batch {})", i + 1, batch + 1),
        name: format!("plate-{}", i + 1),
        size: plate_size(wells.iter().map(|well| (well.row, well.column))),
        response: response.to_owned(),
        wells,
    };
    Ok(plates.into_iter().enumerate().map(finish).collect())
}
