//! Plates as they lie on the bench, made again from the trials that were laid into their wells.

use super::{Layout, Plate};
use crate::plot::{plate_size, well_place};
use sigmabar_study::{AskedTrial, Page, Result, Study, TrialRow, TrialStatus, Well};
use std::collections::BTreeMap;

/// The usual plates.
const USUAL: [usize; 7] = [6, 12, 24, 48, 96, 384, 1536];

/// A plate.
#[derive(Debug)]
pub struct LaidPlate {
    /// From 1.
    pub number: usize,
    /// The batch of its trials, from 0.
    pub batch: usize,
    /// Rows and columns.
    pub size: (usize, usize),
    /// What is in the wells that are not empty by chance: by row and column, from 0.
    pub wells: BTreeMap<(usize, usize), Content>,
    rows: Vec<TrialRow>,
}

/// What is in a well.
#[derive(Clone, Debug)]
pub enum Content {
    /// A trial, with what this well came to where that is known of each of its wells.
    Trial(Box<TrialRow>),
    /// A control, and what it came to.
    Control(Option<f64>),
    /// It stays empty.
    Blocked,
}

/// All plates of a study.
pub fn laid(study: &Study) -> Result<Vec<LaidPlate>> {
    let rows: Vec<TrialRow> = study.trials()?.into_iter().filter(|row| places(row).next().is_some()).collect();
    let controls = if rows.is_empty() { Vec::new() } else { study.controls()? };
    let wells = study.wells()?;
    let lay = |(number, rows): (usize, Vec<TrialRow>)| {
        let mut plate = LaidPlate { number, batch: rows[0].batch, size: (1, 1), wells: BTreeMap::new(), rows };
        for row in &plate.rows {
            plate.wells.extend(each(row, wells.get(&row.id)).map(|(place, row)| (place, Content::Trial(Box::new(row)))));
        }
        let (size, control_wells) = plate.with_layout(study, |layout| (Some(layout.size()), layout.controls())).unwrap_or_default();
        let told = controls.iter().filter(|control| control.is_beside(plate.first()));
        let told: BTreeMap<&str, f64> = told.map(|control| (control.well.as_str(), control.value)).collect();
        let beside = control_wells.iter().map(String::as_str).chain(told.keys().copied());
        let beside = beside.filter_map(|well| Some((well_place(well)?, Content::Control(told.get(well).copied()))));
        plate.wells.extend(beside.collect::<Vec<_>>());
        for place in study.spec().blocked_wells().iter().filter_map(|well| well_place(well)) {
            plate.wells.entry(place).or_insert(Content::Blocked);
        }
        plate.size = size.unwrap_or_else(|| plate_size(plate.wells.keys().copied()));
        plate
    };
    Ok(grouped(rows).into_iter().map(lay).collect())
}

/// How many trials a worker still has to tell that lie on a plate: whoever asks for a plate again is given these, and nothing is added to it.
pub fn pending(study: &Study, worker: &str) -> Result<Option<usize>> {
    let rows = study.trials_of(&Page { worker: Some(worker.to_owned()), ..Page::default() })?;
    let count = rows.iter().filter(|row| row.state.is_open() && row.well.is_some()).count();
    Ok((count > 0).then_some(count))
}

/// The plate on which all these trials lie already: what is on the bench stays where it is.
pub fn laid_before(study: &Study, trials: &[AskedTrial]) -> Result<Option<LaidPlate>> {
    let Some(first) = trials.first() else { return Ok(None) };
    let row = study.trials_of(&Page { after: first.id.checked_sub(1), at_most: Some(1), ..Page::default() })?;
    if row.first().is_none_or(|row| row.well.is_none()) {
        return Ok(None);
    }
    Ok(laid(study)?.into_iter().find(|plate| trials.iter().all(|trial| plate.holds(trial.id))))
}

fn places(row: &TrialRow) -> impl Iterator<Item = (usize, usize)> {
    row.well.iter().flat_map(|wells| wells.split(';')).filter_map(well_place)
}

/// A trial in each of its wells, with what that well came to where the wells are known: one of which nothing was told is missing then.
fn each<'a>(row: &'a TrialRow, known: Option<&'a Vec<Well>>) -> impl Iterator<Item = ((usize, usize), TrialRow)> + 'a {
    let own: BTreeMap<_, TrialRow> =
        row.clone().in_wells(known).into_iter().filter_map(|own| Some((well_place(own.well.as_deref()?)?, own))).collect();
    let is_known = known.is_some() && !row.state.is_open() && !own.is_empty();
    let missing = || TrialRow { value: None, standard_error: None, replicates: None, state: TrialStatus::Missing, ..row.clone() };
    places(row).map(move |place| {
        let in_well = if is_known { own.get(&place).cloned().unwrap_or_else(missing) } else { row.clone() };
        (place, TrialRow { well: row.well.clone(), ..in_well })
    })
}

/// What was laid out together, with the number of its plate. Trials of a file from before plates were counted come first: there a batch begins a new plate, and so
/// does a well that is in use already.
fn grouped(rows: Vec<TrialRow>) -> Vec<(usize, Vec<TrialRow>)> {
    let mut uncounted: Vec<Vec<TrialRow>> = Vec::new();
    let mut counted: BTreeMap<u64, Vec<TrialRow>> = BTreeMap::new();
    for row in rows {
        if let Some(plate) = row.plate {
            counted.entry(plate).or_default().push(row);
            continue;
        }
        let meets = |other: &TrialRow| other.batch != row.batch || places(other).any(|place| places(&row).any(|own| own == place));
        match uncounted.last_mut().filter(|plate| !plate.iter().any(meets)) {
            Some(plate) => plate.push(row),
            None => uncounted.push(vec![row]),
        }
    }
    let before = uncounted.len();
    let counted = counted.into_iter().map(|(number, rows)| (before + number as usize, rows));
    uncounted.into_iter().enumerate().map(|(i, rows)| (i + 1, rows)).chain(counted).collect()
}

impl LaidPlate {
    /// Whether a trial lies on it.
    #[must_use]
    pub fn holds(&self, id: u64) -> bool {
        self.rows.iter().any(|row| row.id == id)
    }

    /// Its trials in the order of their numbers.
    #[must_use]
    pub fn trials(&self) -> &[TrialRow] {
        &self.rows
    }

    /// Its first trial.
    #[must_use]
    pub fn first(&self) -> &TrialRow {
        &self.rows[0]
    }

    /// The layout that put the trials where they are, which alone knows where the controls are; none where they were laid out otherwise.
    pub fn with_layout<T>(&self, study: &Study, look: impl FnOnce(&Layout<'_>) -> T) -> Option<T> {
        self.with_layout_on(None, study, look)
    }

    /// The same, on this plate where it may be: a few settings lie alike on plates of several sizes.
    pub fn with_layout_on<T>(&self, plate: Option<Plate>, study: &Study, look: impl FnOnce(&Layout<'_>) -> T) -> Option<T> {
        let spec = study.spec();
        let names = || spec.space().names();
        let asked = |row: &TrialRow| AskedTrial {
            id: row.id,
            batch: row.batch,
            values: names().zip(row.values.iter().cloned()).collect(),
            seed: row.seed,
            leased_until: row.leased_until.unwrap_or_default(),
        };
        let trials: Vec<AskedTrial> = self.rows.iter().map(asked).collect();
        let seed = Layout::seed(spec, &trials);
        let is_so = |layout: &Layout<'_>| {
            let places: BTreeMap<u64, String> = layout.places().into_iter().collect();
            self.rows.iter().all(|row| places.get(&row.id) == row.well.as_ref())
        };
        let sizes = spec.plate().map_or_else(|| USUAL.to_vec(), |wells| vec![wells]);
        let plates = plate.filter(|_| spec.plate().is_none()).into_iter().chain(sizes.into_iter().filter_map(Plate::with_wells));
        let layouts = plates.filter_map(|plate| Layout::new(plate, &trials, spec, seed).ok());
        layouts.into_iter().find(is_so).map(|layout| look(&layout))
    }
}
