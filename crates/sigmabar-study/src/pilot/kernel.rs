//! Length-scales that results teach, for numbers and for choices.

use super::{Pilot, digits};
use crate::space::{ParameterKind, Space};
use crate::{Error, Result, Value};
use sigmabar::evidence::{Learning, Learnt as Found, fit_hyperparameters};
use sigmabar::{Kernel, Observations, Points, Prior};
use std::f64::consts::TAU;

/// Where length-scales of numbers start, in shares of the range, and those of choices.
const STARTS: (f64, f64) = (0.3, 1.0);
/// Length-scales between two words of a list.
const WORDS: (f64, f64) = (0.05, 1e3);

/// How much more evidence, in nats, a function must have than noise alone: with less, what is learnt of its norm is mostly chance, and too small.
const TELLING: f64 = 2.0;

/// What was learnt.
pub(super) struct Scales {
    /// One for each parameter, as a study file has them.
    pub lengths: Vec<f64>,
    pub variance: f64,
    pub ridge: f64,
}

impl Pilot {
    /// Matérn-5/2 on numbers times Hamming on choices, as studies have it. A list has a column for each word instead, whose length-scales are one: there the one at which two words
    /// correlate as much.
    pub(super) fn scales(&self, prior: Prior, seed: u64) -> Result<Scales> {
        let space = self.spec.space();
        let (choices, numbers): (Vec<usize>, Vec<usize>) = (0..space.parameters().len()).partition(|&i| space.parameters()[i].is_choice());
        let mut learning = Learning::new(vec![template(&numbers, &choices)?]);
        learning.seed = seed;
        let coordinates: Vec<Vec<f64>> =
            self.settings.iter().zip(&self.points).map(|(values, point)| coordinates(space, values, point)).collect();
        let observations = self.observations_at(Points::from_rows(&coordinates)?, prior)?;
        let found: Found = fit_hyperparameters(&observations, &learning)?;
        if found.posterior().elbo() < noise_alone(&observations) + TELLING {
            let what = format!("{} results that differ hardly more than noise alone makes them", self.len());
            let remedy = "they do not say how far and how fast the function changes: measure at more settings or again at these, or answer the questions";
            return Err(Error::NotLearnt { what, remedy: remedy.to_owned() });
        }
        let kernel = &found.kernel().value;
        let learnt =
            kernel.parameters().into_iter().filter(|parameter| parameter.name.contains("lengthscale")).map(|parameter| parameter.value);
        let mut lengths = vec![STARTS.0; space.parameters().len()];
        for (&parameter, length) in numbers.iter().chain(&choices).zip(learnt) {
            let is_word = space.candidates().is_some() && space.parameters()[parameter].is_choice();
            lengths[parameter] = digits(if is_word { between_words(length)? } else { length });
        }
        let variance = digits(kernel.value(&coordinates[0], &coordinates[0]));
        Ok(Scales { lengths, variance, ridge: digits(found.ridge()) })
    }
}

/// The largest log-density of the observations under normal noise around their prior mean, in the data's scale.
fn noise_alone(observations: &Observations) -> f64 {
    let (n, unit) = (observations.len() as f64, observations.prior().unit());
    -0.5 * n * ((TAU * unit * unit * observations.sum_squares() / n).ln() + 1.0)
}

fn template(numbers: &[usize], choices: &[usize]) -> Result<Kernel> {
    let smooth = || Kernel::matern(2.5, vec![STARTS.0; numbers.len()], 1.0);
    let kinds = || Kernel::hamming(vec![STARTS.1; choices.len()], 1.0);
    Ok(match (numbers, choices) {
        (_, []) => smooth()?,
        ([], _) => kinds()?,
        _ => smooth()?.columns(numbers.to_vec())? * kinds()?.columns(choices.to_vec())?,
    })
}

/// One coordinate for each parameter: a number as the strategy sees it, a choice by its place among the choices.
fn coordinates(space: &Space, values: &[Value], point: &[f64]) -> Vec<f64> {
    let place = |(i, value): (usize, &Value)| match &space.parameters()[i].kind {
        ParameterKind::Categorical { choices } => choices.iter().position(|choice| choice.same(value)).unwrap_or(0) as f64,
        _ => point[space.columns_of(i).start],
    };
    values.iter().enumerate().map(place).collect()
}

/// The length-scale of a parameter with choices, in a list or in a product, at which values under two of them correlate so much, from 0 to 1.
///
/// # Errors
/// None that numbers between 0 and 1 could make.
pub fn choice_length(is_list: bool, alike: f64) -> Result<f64> {
    let hamming = -1.0 / alike.ln();
    if is_list { between_words(hamming) } else { Ok(hamming) }
}

/// The length-scale at which two words, at distance 1, correlate as two choices do under a Hamming kernel of this one.
fn between_words(hamming: f64) -> Result<f64> {
    let wanted = (-1.0 / hamming).exp();
    let (mut low, mut high) = WORDS;
    for _ in 0..60 {
        let middle = (low * high).sqrt();
        let correlation = Kernel::matern(2.5, middle, 1.0)?.value(&[0.0], &[1.0]);
        if correlation < wanted { low = middle } else { high = middle }
    }
    Ok((low * high).sqrt())
}
