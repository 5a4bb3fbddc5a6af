//! Plate maps of a study whose trials were laid into wells.

use super::error::Result;
use super::parameter::called_words;
use super::study_model::StudyModel;
use crate::plate::{Content, LaidPlate, laid};
use crate::plot::{Measured, Plate, Well};
use sigmabar::Points;
use sigmabar_study::{Space, Study, TrialRow, TrialStatus};

/// Every plate of the study, with its controls.
pub(super) fn plates(study: &Study, model: Option<&StudyModel<'_>>, response: &str) -> Result<Vec<Plate>> {
    let space = study.spec().space();
    let drawn = |plate: LaidPlate| -> Result<Plate> {
        let mut wells = Vec::new();
        for (&place, content) in &plate.wells {
            match content {
                Content::Trial(row) => wells.push(of_trial(place, row, space, model)?),
                Content::Control(value) => wells.push(of_control(place, *value)),
                Content::Blocked => {}
            }
        }
        let is_mean = |content: &Content| matches!(content, Content::Trial(row) if row.replicates.is_some());
        let is_blocked = |content: &Content| matches!(content, Content::Blocked);
        Ok(Plate {
            title: format!("Plate {} (batch {})", plate.number, plate.batch + 1),
            name: format!("plate-{}", plate.number),
            size: plate.size,
            response: response.to_owned(),
            wells,
            has_means: plate.wells.values().any(is_mean),
            blocked: plate.wells.iter().filter(|(_, content)| is_blocked(content)).map(|(place, _)| *place).collect(),
        })
    };
    laid(study)?.into_iter().map(drawn).collect()
}

fn of_trial((row, column): (usize, usize), trial: &TrialRow, space: &Space, model: Option<&StudyModel<'_>>) -> Result<Well> {
    let says = match model.zip(space.point(&trial.values).ok()) {
        Some((model, point)) => model.predict(Points::from_rows(&[point])?.view())?.first().copied(),
        None => None,
    };
    let surprise =
        |((value, (mean, deviation)), model): ((f64, (f64, f64)), &StudyModel<'_>)| (value - mean) / deviation.hypot(model.noise_at(mean));
    Ok(Well {
        row,
        column,
        setting: called_words(space, &trial.values)
            + &trial.replicates.map_or_else(String::new, |count| format!(", mean of {count} replicates")),
        trial: Some(trial.id),
        is_control: false,
        measured: match (trial.value, trial.state) {
            (Some(value), _) => Measured::Value(value),
            (None, TrialStatus::Failed) => Measured::Failed,
            _ => Measured::Missing,
        },
        predicted: says.map(|(mean, _)| mean),
        std_dev: says.map(|(_, deviation)| deviation),
        surprise: trial.value.zip(says).zip(model).map(surprise),
    })
}

fn of_control((row, column): (usize, usize), value: Option<f64>) -> Well {
    let measured = value.map_or(Measured::Missing, Measured::Value);
    let setting = "control".to_owned();
    Well { row, column, setting, trial: None, is_control: true, measured, predicted: None, std_dev: None, surprise: None }
}
