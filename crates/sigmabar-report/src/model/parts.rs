//! Models that each learnt without a part of the rows, with what they got wrong there: where rows are too few to keep some from the model, all of them learn and calibrate.

use super::learn::{self, Declared};
use super::plan::Plan;
use super::training::Rows;
use crate::data::ColumnInfo;
use base64::prelude::{BASE64_STANDARD, Engine};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sigmabar::certificate::{Calibration, Way};
use sigmabar::{Points, Posterior, Prior, Result};

/// What the rows outside a part taught, and how far it is off within.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Part {
    /// The model, for predictions alone.
    #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
    pub posterior: Posterior,
    /// How far it is off on the rows of the part.
    pub calibration: Calibration,
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        self.calibration == other.calibration && self.posterior.to_bytes() == other.posterior.to_bytes()
    }
}

fn as_text<S: Serializer>(posterior: &Posterior, out: S) -> std::result::Result<S::Ok, S::Error> {
    out.serialize_str(&BASE64_STANDARD.encode(posterior.to_bytes()))
}

fn from_text<'de, D: Deserializer<'de>>(text: D) -> std::result::Result<Posterior, D::Error> {
    let bytes = BASE64_STANDARD.decode(String::deserialize(text)?).map_err(D::Error::custom)?;
    Posterior::from_bytes(&bytes).map_err(D::Error::custom)
}

/// Everything learnt anew without each part of the rows; `lost` rows more had no response. By the values of a column if one is given.
///
/// # Errors
/// Those of the core, as for the model of all rows.
pub fn learnt_in_parts(
    rows: &Rows,
    lost: usize,
    declared: &Declared,
    columns: &[ColumnInfo],
    (plan, by, seed): (&Plan, Option<usize>, u64),
) -> Result<Vec<Part>> {
    let of_part = |part| {
        let (out, kept) = rows.part(part, Way::PARTS, seed);
        let prior = declared.prior.map_or_else(|| Prior::learnt(&kept.y), Ok)?;
        let learnt = learn::learn(&kept, prior, declared, columns, plan, seed)?;
        let posterior = learn::fit(kept, lost, prior, learnt, columns.len(), declared)?;
        let mut calibration = by.map_or_else(Calibration::default, Calibration::by_column);
        calibration.add(&posterior, Points::new(out.x, columns.len())?.view(), &out.y)?;
        Ok(Part { posterior: posterior.for_predictions(), calibration })
    };
    (0..Way::PARTS).map(of_part).collect()
}
