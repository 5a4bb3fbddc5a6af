//! How many evaluations in which batches: from a budget, batch lengths or plates.

use super::Fault;
use super::file::StudyFile;
use crate::error::SpecProblem;
use crate::union::OneOrMany;
use crate::{Plate, well_place};
use std::collections::BTreeSet;

/// The budget, and what was said about the batches after the pilot.
pub(super) struct Plan {
    pub budget: usize,
    pub batches: Option<Batches>,
}

/// What was said about batches.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Batches {
    /// Their number.
    Count(usize),
    /// Their lengths.
    Lengths(Vec<usize>),
}

impl Batches {
    pub fn count(&self) -> usize {
        match self {
            Self::Count(count) => *count,
            Self::Lengths(lengths) => lengths.len(),
        }
    }
}

impl Plan {
    pub fn of(file: &StudyFile) -> Result<Self, Fault> {
        if let Some(amended) = &file.amended_batches {
            let batches = match amended {
                OneOrMany::One(count) => Batches::Count(*count),
                OneOrMany::Many(lengths) => Batches::Lengths(lengths.clone()),
            };
            let budget = match (&batches, file.budget, file.plates.zip(file.plate)) {
                (Batches::Lengths(lengths), ..) => lengths.iter().sum::<usize>() + file.pilot.unwrap_or(0),
                (_, Some(budget), _) => budget,
                (_, None, Some((plates, wells))) => plates * settings_on(file, wells)? + file.pilot.unwrap_or(0),
                (_, None, None) => 0,
            };
            return Ok(Self { budget, batches: Some(batches) });
        }
        check_plate(file)?;
        let pilot = pilot(file)?;
        let batches = match (&file.batches, file.plates, file.plate) {
            (Some(_), Some(_), _) => {
                return Err(Fault::new(
                    &["plates"],
                    SpecProblem::Conflict { other: "batches", remedy: "every plate is one batch: keep one of the two" },
                ));
            }
            (_, Some(_), None) => {
                return Err(Fault::new(
                    &["plates"],
                    SpecProblem::Missing { what: "plate", remedy: "say how many wells a plate has: plate = 96" },
                ));
            }
            (_, Some(plates), Some(wells)) => {
                positive("plates", plates)?;
                Some(Batches::Lengths(vec![settings_on(file, positive("plate", wells)?)?; plates]))
            }
            (Some(OneOrMany::One(count)), None, _) => Some(Batches::Count(positive("batches", *count)?)),
            (Some(OneOrMany::Many(lengths)), None, _) => {
                lengths.iter().try_for_each(|&length| positive("batches", length).map(drop))?;
                Some(Batches::Lengths(lengths.clone()))
            }
            (None, None, _) => None,
        };
        let total = match &batches {
            Some(Batches::Lengths(lengths)) => lengths.iter().try_fold(pilot, |sum, &length| sum.checked_add(length)),
            _ => None,
        };
        let budget = match (file.budget, total) {
            (Some(budget), Some(total)) if budget != total => {
                let requirement = "the sum of the batch lengths and of the pilot's (or no budget: it follows from them)";
                return Err(Fault::new(&["budget"], SpecProblem::Requirement { found: budget.to_string(), requirement }));
            }
            (Some(budget), _) => positive("budget", budget)?,
            (None, Some(total)) => total,
            (None, None) => {
                let remedy = "say how many evaluations may be made: budget = 100, or batches = [50, 50], or plates = 2 with plate = 96";
                return Err(Fault::new(&["budget"], SpecProblem::Missing { what: "budget", remedy }));
            }
        };
        Ok(Self { budget, batches })
    }
}

/// Evaluations of the pilot: no more than fit on a plate, where there is one.
fn pilot(file: &StudyFile) -> Result<usize, Fault> {
    let Some(pilot) = file.pilot else { return Ok(0) };
    let room = file.plate.map(|wells| settings_on(file, wells)).transpose()?;
    match room.filter(|room| pilot > *room) {
        Some(_) => {
            let requirement = "as many settings as fit on a plate at most, beside controls and replicates";
            Err(Fault::new(&["pilot"], SpecProblem::Requirement { found: pilot.to_string(), requirement }))
        }
        None => positive("pilot", pilot),
    }
}

/// That there are such plates, with the wells that stay empty: found out before a study begins and not when its first plate is laid out.
fn check_plate(file: &StudyFile) -> Result<(), Fault> {
    let wrong = |key, found, requirement| Err(Fault::new(&[key], SpecProblem::Requirement { found, requirement }));
    let Some(wells) = file.plate else { return Ok(()) };
    let Some(plate) = Plate::with_wells(wells) else { return wrong("plate", wells.to_string(), Plate::SIZES) };
    match file.blocked.iter().find(|well| plate.place(well).is_none()) {
        Some(well) => wrong("blocked", format!("\"{well}\""), "wells of this plate, such as [\"A1\", \"B2\"]"),
        None => Ok(()),
    }
}

/// How many settings fit on a plate of so many wells, beside controls and blocked wells, each as often as it is replicated.
pub(super) fn settings_on(file: &StudyFile, wells: usize) -> Result<usize, Fault> {
    let replicates = positive("replicates", file.replicates.unwrap_or(1))?;
    let taken = file.controls.unwrap_or(0) + file.blocked.iter().map(|well| well_place(well.trim())).collect::<BTreeSet<_>>().len();
    match wells.checked_sub(taken).map(|free| free / replicates) {
        Some(settings) if settings > 0 => Ok(settings),
        _ => {
            let found = format!("{taken} wells for controls and blocked ones, and {replicates} for each setting");
            Err(Fault::new(&["plate"], SpecProblem::Requirement { found, requirement: "a plate with room for at least one setting" }))
        }
    }
}

fn positive(key: &str, value: usize) -> Result<usize, Fault> {
    if value > 0 { Ok(value) } else { Err(Fault::new(&[key], SpecProblem::Requirement { found: "0".into(), requirement: "at least 1" })) }
}
