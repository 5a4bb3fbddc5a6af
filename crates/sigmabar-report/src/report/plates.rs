//! Plate maps of a study whose trials were laid into wells.

use super::error::Result;
use super::parameter::setting_words;
use super::study_model::StudyModel;
use crate::plot::{Measured, Plate, Well, plate_size, well_place};
use sigmabar::Points;
use sigmabar_study::{Space, TrialRow, TrialStatus};

/// One plate for each layout: a batch begins a new one, and so does a well that is in use already.
pub(super) fn plates(space: &Space, trials: &[TrialRow], model: Option<&StudyModel<'_>>, response: &str) -> Result<Vec<Plate>> {
    let mut plates: Vec<(usize, Vec<Well>)> = Vec::new();
    let names: Vec<String> = space.parameters().iter().map(|p| p.name.clone()).collect();
    for row in trials {
        let Some((r, c)) = row.well.as_deref().and_then(well_place) else { continue };
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
            setting: setting_words(&names.iter().cloned().zip(row.values.iter().cloned()).collect::<Vec<_>>()),
            measured: match (row.value, row.state) {
                (Some(value), _) => Measured::Value(value),
                (None, TrialStatus::Failed) => Measured::Failed,
                _ => Measured::Missing,
            },
            predicted: says.map(|(mean, _)| mean),
            std_dev: says.map(|(_, deviation)| deviation),
        };
        if let Some((_, wells)) = plates.last_mut() {
            wells.push(well);
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
