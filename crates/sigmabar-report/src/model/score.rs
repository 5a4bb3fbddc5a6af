//! How a model does on rows it has not seen.

use super::Model;
use serde::{Deserialize, Deserializer, Serialize};
use sigmabar::certificate::Answer;
use sigmabar::{PointsRef, Result};

/// Rows kept for pictures.
const KEPT: usize = 2000;

/// One row the model had not seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldOut {
    /// The point.
    pub x: Vec<f64>,
    /// The response measured there.
    #[serde(deserialize_with = "number_or_nan")]
    pub response: f64,
    /// The mean predicted.
    #[serde(deserialize_with = "number_or_nan")]
    pub mean: f64,
    /// The standard deviation of the function there.
    #[serde(deserialize_with = "number_or_nan")]
    pub std: f64,
}

/// How a model does on rows it has not seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// Rows held out.
    pub rows: usize,
    /// Root of the mean squared error.
    #[serde(deserialize_with = "number_or_nan")]
    pub rmse: f64,
    /// The standard deviation of the held-out responses: the error of predicting their mean.
    #[serde(deserialize_with = "number_or_nan")]
    pub spread: f64,
    /// Mean negative log predictive density, for a normal response around the mean.
    #[serde(deserialize_with = "number_or_nan")]
    pub nlpd: f64,
    /// The share of new responses that the prediction interval should contain.
    pub nominal: f64,
    /// The share it did contain.
    #[serde(deserialize_with = "number_or_nan")]
    pub coverage: f64,
}

/// JSON has no other word than null for what is not a finite number.
fn number_or_nan<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

/// Scores as sums: rows may come in any number of parts.
#[derive(Clone, Debug, Default)]
pub struct ScoreSums {
    noise: f64,
    rows: usize,
    squares: f64,
    nlpd: f64,
    covered: f64,
    /// Mean of the responses and the sum of squares around it.
    spread: (f64, f64),
}

impl ScoreSums {
    /// For responses with noise of this standard deviation around the function.
    #[must_use]
    pub fn new(noise: f64) -> Self {
        Self { noise, ..Self::default() }
    }

    /// Adds rows with what the model answered.
    pub fn add(&mut self, answer: &Answer, y: &[f64]) {
        for (i, response) in y.iter().enumerate() {
            // Without noise and at a measured point there is no spread at all; a score that is not a number could not be saved.
            let variance = (answer.std_dev[i].powi(2) + self.noise * self.noise).max(f64::MIN_POSITIVE);
            let error = (response - answer.mean[i]).powi(2);
            self.rows += 1;
            self.squares += error;
            self.nlpd += 0.5 * ((std::f64::consts::TAU * variance).ln() + error / variance);
            let (low, high) = answer.response[i];
            self.covered += f64::from(u8::from((low..=high).contains(response)));
            let (mean, squares) = &mut self.spread;
            let off = response - *mean;
            *mean += off / self.rows as f64;
            *squares += off * (response - *mean);
        }
    }

    /// The scores of all rows that were added, for intervals that miss with probability `delta`.
    #[must_use]
    pub fn finish(&self, delta: f64) -> Scores {
        let n = self.rows as f64;
        Scores {
            rows: self.rows,
            rmse: (self.squares / n).sqrt(),
            spread: (self.spread.1 / n).sqrt(),
            nlpd: self.nlpd / n,
            nominal: 1.0 - delta,
            coverage: self.covered / n,
        }
    }
}

impl Model {
    /// Scores the model on held-out rows, and keeps some of them. What it answered comes with the scores.
    ///
    /// # Errors
    /// Those of [`Model::answers`].
    pub fn score(&mut self, x: PointsRef<'_>, y: &[f64], delta: f64) -> Result<(Scores, Answer)> {
        let answer = self.answers(delta)?.at(x)?;
        let mut sums = ScoreSums::new(self.noise_level());
        sums.add(&answer, y);
        let step = y.len().div_ceil(KEPT);
        let row = |i: usize| HeldOut { x: x.row(i).to_vec(), response: y[i], mean: answer.mean[i], std: answer.std_dev[i] };
        self.about.held_out = (0..y.len()).step_by(step).map(row).collect();
        let scores = sums.finish(delta);
        self.about.scores = Some(scores.clone());
        Ok((scores, answer))
    }
}
