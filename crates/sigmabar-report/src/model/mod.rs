//! A fitted model with everything needed to use it: column names, what was declared, how it did on rows it had not seen.

mod file;
mod intervals;
pub mod learn;
pub mod parts;
pub mod plan;
mod score;
pub mod training;

pub use intervals::{MEND, words};
pub use score::{HeldOut, ScoreSums, Scores};

use crate::data::ColumnInfo;
use parts::Part;
use serde::{Deserialize, Serialize};
use sigmabar::certificate::Calibration;
use sigmabar::{Noise, Posterior};

/// What the model is about, as far as anybody said: JSON in the model file, which Python reads and writes too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// The column that is predicted.
    pub target: String,
    /// The columns it is predicted from, in the order of the points.
    pub features: Vec<ColumnInfo>,
    /// The bound on the function's norm, if one was declared.
    pub norm_bound: Option<f64>,
    /// The noise, if it was declared.
    pub noise: Option<Noise>,
    /// How far it was off on rows kept for that: what intervals for a new response are calibrated by.
    pub calibration: Option<Calibration>,
    /// Or, where rows were too few to keep some, the models without each part of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// How the model did on rows it had not seen.
    pub scores: Option<Scores>,
    /// Some of those rows, for pictures.
    pub held_out: Vec<HeldOut>,
    /// The file it was fitted to.
    pub data: String,
}

impl Default for About {
    fn default() -> Self {
        Self {
            target: "y".to_owned(),
            features: Vec::new(),
            norm_bound: None,
            noise: None,
            calibration: None,
            parts: Vec::new(),
            scores: None,
            held_out: Vec::new(),
            data: "a saved model".to_owned(),
        }
    }
}

/// A fitted model.
#[derive(Clone, Debug)]
pub struct Model {
    /// What it is about.
    pub about: About,
    /// What was learnt.
    pub posterior: Posterior,
}

impl Model {
    /// The standard deviation of a new response around the function, in the data's scale: as declared, else as the ridge.
    #[must_use]
    pub fn noise_level(&self) -> f64 {
        let level = self.about.noise.as_ref().map_or(self.posterior.information().ridge(), Noise::std_dev_bound);
        level * self.posterior.prior().unit()
    }
}
