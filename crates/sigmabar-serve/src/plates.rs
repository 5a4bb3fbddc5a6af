//! Plates as they lie on the bench, made again from the trials that were laid into their wells.

use sigmabar_report::plate::{Layout, Plate};
use sigmabar_report::plot::{plate_size, well_place};
use sigmabar_study::{AskedTrial, Result, Study, TrialRow};
use std::collections::BTreeMap;

/// The usual plates.
const USUAL: [usize; 7] = [6, 12, 24, 48, 96, 384, 1536];

/// A plate.
#[derive(Debug)]
pub(crate) struct LaidPlate {
    /// From 1.
    pub number: usize,
    pub batch: usize,
    /// Rows and columns.
    pub size: (usize, usize),
    pub wells: BTreeMap<(usize, usize), Well>,
    rows: Vec<TrialRow>,
}

/// What is in a well.
#[derive(Clone, Debug)]
pub(crate) enum Well {
    Trial(TrialRow),
    /// A control, and what it came to.
    Control(Option<f64>),
    /// It stays empty.
    Blocked,
}

/// All plates of a study.
pub(crate) fn plates(study: &Study) -> Result<Vec<LaidPlate>> {
    let rows: Vec<TrialRow> = study.trials()?.into_iter().filter(|row| row.well.is_some()).collect();
    let controls = if rows.is_empty() { Vec::new() } else { study.controls()? };
    let lay = |(i, rows): (usize, Vec<TrialRow>)| {
        let mut plate = LaidPlate { number: i + 1, batch: rows[0].batch, size: (1, 1), wells: BTreeMap::new(), rows };
        for row in &plate.rows {
            let places = row.well.iter().flat_map(|wells| wells.split(';')).filter_map(well_place);
            plate.wells.extend(places.map(|place| (place, Well::Trial(row.clone()))));
        }
        let (size, control_wells) = plate.with_layout(study, |layout| (Some(layout.size()), layout.controls())).unwrap_or_default();
        let told = controls.iter().filter(|control| control.batch == plate.batch);
        let told: BTreeMap<&str, f64> = told.map(|control| (control.well.as_str(), control.value)).collect();
        let places = control_wells.iter().map(String::as_str).chain(told.keys().copied());
        plate.wells.extend(places.filter_map(|well| Some((well_place(well)?, Well::Control(told.get(well).copied())))).collect::<Vec<_>>());
        for place in study.spec().blocked_wells().iter().filter_map(|well| well_place(well)) {
            plate.wells.entry(place).or_insert(Well::Blocked);
        }
        plate.size = size.unwrap_or_else(|| plate_size(plate.wells.keys().copied()));
        plate
    };
    Ok(grouped(rows).into_iter().enumerate().map(lay).collect())
}

/// A batch begins a new plate, and so does a well that is in use already.
fn grouped(rows: Vec<TrialRow>) -> Vec<Vec<TrialRow>> {
    let mut plates: Vec<Vec<TrialRow>> = Vec::new();
    for row in rows {
        let is_new = plates.last().is_none_or(|plate| plate.iter().any(|other| other.batch != row.batch || other.well == row.well));
        if is_new {
            plates.push(Vec::new());
        }
        if let Some(plate) = plates.last_mut() {
            plate.push(row);
        }
    }
    plates
}

impl LaidPlate {
    /// The layout that put the trials where they are, which alone knows where the controls are; none where they were laid out otherwise.
    pub fn with_layout<T>(&self, study: &Study, look: impl FnOnce(&Layout<'_>) -> T) -> Option<T> {
        let spec = study.spec();
        let names = || spec.space().parameters().iter().map(|parameter| parameter.name.clone());
        let asked = |row: &TrialRow| AskedTrial {
            id: row.id,
            batch: row.batch,
            values: names().zip(row.values.iter().cloned()).collect(),
            seed: row.seed,
            leased_until: row.leased_until.unwrap_or_default(),
        };
        let trials: Vec<AskedTrial> = self.rows.iter().map(asked).collect();
        let seed = spec.problem().seed() ^ trials.first()?.id;
        let is_so = |layout: &Layout<'_>| {
            let places: BTreeMap<u64, String> = layout.places().into_iter().collect();
            self.rows.iter().all(|row| places.get(&row.id) == row.well.as_ref())
        };
        let sizes = spec.plate().map_or_else(|| USUAL.to_vec(), |wells| vec![wells]);
        let layouts = sizes.into_iter().filter_map(|wells| Layout::new(Plate::with_wells(wells)?, &trials, spec, seed).ok());
        layouts.into_iter().find(is_so).map(|layout| look(&layout))
    }
}
