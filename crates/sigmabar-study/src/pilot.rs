//! Premises from results of before: what these suggest, and what they exclude (algorithm notes 13.4).

use crate::{Error, ImportedRow, ParameterKind, Result, StudySpec, TrialResult};
use serde_json::{Map, Value, json};
use sigmabar::evidence::{Learning, fit_hyperparameters};
use sigmabar::noise::Replicates;
use sigmabar::{Claim, Collected, FeatureMap, Kernel, Noise, Observations, Points, Posterior, Prior, Problem};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

/// Fewer results teach nothing about four numbers and a kernel.
const FEWEST: usize = 8;
/// The norm that is suggested, over that of what fits best.
const SAFETY: f64 = 1.5;
/// The share of $\delta$ at which norms are excluded: the alarm's of a claim at 5 %.
const ALARM: f64 = 0.0025;
/// Values that come in more steps than this over their span are not called rounded: nothing would hide in a step.
const STEPS: f64 = 1e6;

/// Results of before, as a study sees them.
#[derive(Clone, Debug)]
pub struct Pilot {
    names: Vec<String>,
    points: Vec<Vec<f64>>,
    values: Vec<f64>,
}

/// What results suggest: premises for other data than themselves.
#[derive(Clone, Debug, PartialEq)]
pub struct Learnt {
    /// From so many.
    pub results: usize,
    /// Their mean and their standard deviation.
    pub prior: Prior,
    /// One and a half times the norm of what fits them best, or the least that fits them where that is larger.
    pub norm_bound: f64,
    /// $c_0$: under the kernel and the noise they exclude every smaller norm.
    pub least_norm: f64,
    /// What they say about the noise.
    pub level: Level,
    /// By the names of the parameters, in shares of their ranges.
    pub lengthscales: Vec<(String, f64)>,
    /// The kernel's variance, in squared units.
    pub variance: f64,
}

/// What results say about the noise, in units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Level {
    /// A guess that plans; replicates will bound it.
    About(f64),
    /// Repeats that the study itself asked for were equal to the last digit: there is none.
    Exact,
    /// A guess that plans, where repeats were equal and all values are multiples of a step: the noise hides below it.
    Hidden {
        /// The guess.
        level: f64,
        /// The step, in the data's scale.
        step: f64,
    },
}

/// What results say about premises that somebody has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// They exclude norms below this.
    pub least_norm: f64,
    /// What fits them best has this norm.
    pub norm: f64,
    /// What would be suggested.
    pub suggested: f64,
}

impl Pilot {
    /// The results among rows, of a study with parameters that are numbers; `called` is where they come from, for errors.
    ///
    /// # Errors
    /// [`Error::NotLearnt`] for a parameter that is a choice and for too few results; [`Error::Setting`] and its like for a row that is not of the study.
    pub fn new(spec: &StudySpec, rows: &[ImportedRow], called: &str) -> Result<Self> {
        let parameters = spec.space().parameters();
        if let Some(choice) = parameters.iter().find(|p| matches!(p.kind, ParameterKind::Categorical { .. })) {
            return Err(Error::NotLearnt {
                what: format!("the parameter {} is a choice, and its premises are not learnt from results", choice.name),
                remedy: "answer the questions instead: sigmabar premises --questions".into(),
            });
        }
        let mut pilot = Self { names: parameters.iter().map(|p| p.name.clone()).collect(), points: Vec::new(), values: Vec::new() };
        for row in rows {
            if let TrialResult::Value { value, .. } = row.result {
                pilot.points.push(spec.space().point(&row.values)?);
                pilot.values.push(value);
            }
        }
        if pilot.len() < FEWEST {
            let remedy = format!("premises are learnt from {FEWEST} at least");
            return Err(Error::NotLearnt { what: format!("{called} has {} results", pilot.len()), remedy });
        }
        Ok(pilot)
    }

    /// How many results there are.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "there are eight at least")]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    fn observations(&self, prior: Prior) -> Result<Observations> {
        Ok(Observations::new(Points::from_rows(&self.points)?, &self.values, Collected::Undeclared, prior)?)
    }

    /// Premises for measurements to come. Rows of a table that are equal in every number may be one that was written down twice; those of a pilot of the study's own are not.
    ///
    /// # Errors
    /// What learning a kernel runs into, as where all results are equal.
    pub fn learn(&self, is_own: bool, seed: u64) -> Result<Learnt> {
        let prior = Prior::learnt(&self.values)?;
        let mut learning = Learning::new(vec![Kernel::matern(2.5, vec![0.3; self.names.len()], 1.0)?]);
        learning.seed = seed;
        let learnt = fit_hyperparameters(&self.observations(prior)?, &learning)?;
        let (kernel, posterior) = (&learnt.kernel().value, learnt.posterior());
        let level = self.level(is_own, learnt.ridge())?;
        let least_norm = posterior.norm_check(&Claim::new(ALARM)?.noise(level.noise()?))?.least_norm;
        let length = |i: usize| kernel.lengthscale().map_or(0.3, |l| l.get(i));
        Ok(Learnt {
            results: self.len(),
            prior,
            norm_bound: SAFETY * posterior.norm().max(least_norm),
            least_norm,
            level,
            lengthscales: self.names.iter().enumerate().map(|(i, name)| (name.clone(), length(i))).collect(),
            variance: kernel.value(&self.points[0], &self.points[0]),
        })
    }

    /// Repeats that are all equal bound no level, and never will: what they show is said.
    fn level(&self, is_own: bool, guess: f64) -> Result<Level> {
        let repeats = Replicates::of(Points::from_rows(&self.points)?, &self.values)?;
        let all_equal = repeats.identical() > 0 && repeats.freedom() == 0;
        Ok(match rounding_step(&self.values).filter(|_| all_equal) {
            Some(step) => Level::Hidden { level: guess, step },
            None if all_equal && is_own => Level::Exact,
            None => Level::About(guess),
        })
    }

    /// What the results say about the premises of a problem; none where these have a kernel and no noise.
    ///
    /// # Errors
    /// What fitting runs into.
    pub fn judge(&self, problem: &Problem) -> Result<Option<Verdict>> {
        let (Some(kernel), Some(noise), Some(ridge)) = (problem.kernel(), problem.noise(), problem.ridge()) else { return Ok(None) };
        let observations = self.observations(problem.prior())?;
        let features = FeatureMap::new(kernel.clone(), observations.locations().points().to_points())?;
        let posterior = Posterior::fit(Arc::new(features), ridge, observations)?;
        let least_norm = posterior.norm_check(&Claim::new(problem.delta() / 20.0)?.noise(noise.clone()))?.least_norm;
        let norm = posterior.norm();
        Ok(Some(Verdict { least_norm, norm, suggested: SAFETY * norm.max(least_norm) }))
    }
}

/// The largest power of ten that all values are multiples of, unless it is too fine to hide anything.
fn rounding_step(values: &[f64]) -> Option<f64> {
    let is_multiple = |value: f64, step: f64| {
        let steps = value / step;
        (steps - steps.round()).abs() <= 8.0 * f64::EPSILON * steps.abs()
    };
    let step = (-9..=9).rev().map(|power| 10_f64.powi(power)).find(|step| values.iter().all(|value| is_multiple(*value, *step)))?;
    let ends = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)));
    (ends.1 - ends.0 <= STEPS * step).then_some(step)
}

impl Level {
    fn noise(self) -> Result<Noise> {
        Ok(match self {
            Self::About(level) | Self::Hidden { level, .. } => Noise::gaussian(level)?,
            Self::Exact => Noise::gaussian(0.0)?,
        })
    }

    /// As a study file has it.
    #[must_use]
    pub fn key(self) -> Value {
        match self {
            Self::About(level) | Self::Hidden { level, .. } => json!({ "about": level }),
            Self::Exact => json!(0.0),
        }
    }

    fn to_toml(self) -> String {
        match self {
            Self::About(level) => format!("noise = {{ about = {level:.6} }}  # a guess that plans; replicates bound it"),
            Self::Exact => {
                "noise = 0  # repeats gave the same to the last digit: there is none; if a repeat can differ, say by how much".to_owned()
            }
            Self::Hidden { level, step } => format!(
                "noise = {{ about = {level:.6} }}  # a guess; repeats are equal and all values multiples of {step}, which hides the noise: write down more digits, so that replicates can bound it"
            ),
        }
    }
}

impl Learnt {
    /// Lines of a study file; `from` is the table or study that the results come from, none for the pilot of the study itself.
    #[must_use]
    pub fn to_toml(&self, from: Option<&Path>) -> String {
        let Self { results, prior, norm_bound, least_norm, level, variance, .. } = self;
        let mut lengths = String::new();
        for (i, (name, length)) in self.lengthscales.iter().enumerate() {
            let _ = write!(lengths, "{}{name:?} = {length:.4}", if i > 0 { ", " } else { "" });
        }
        let source = match from {
            Some(from) => {
                format!("earlier results, which are left out of what this study claims.\nlearnt_from = {:?}", from.display().to_string())
            }
            None => "results of the pilot, which is left out of what this study claims.".to_owned(),
        };
        format!(
            "# Learnt from {results} {source}\n\
             prior_mean = {:.6}  # their mean\n\
             unit = {:.6}  # their standard deviation: norm and noise count in these\n\
             norm_bound = {norm_bound:.4}  # {SAFETY} times the norm of what fits them best; under this kernel they exclude norms below {least_norm:.3}\n\
             {}\n\
             kernel = {{ name = \"matern\", nu = 2.5, lengthscale = {{ {lengths} }}, variance = {variance:.6} }}\n",
            prior.mean(),
            prior.unit(),
            level.to_toml(),
        )
    }

    /// The same as keys of a study file in JSON.
    #[must_use]
    pub fn keys(&self, from: Option<&str>) -> Map<String, Value> {
        let lengths: Map<String, Value> = self.lengthscales.iter().map(|(name, length)| (name.clone(), json!(length))).collect();
        let keys = [
            ("prior_mean", json!(self.prior.mean())),
            ("unit", json!(self.prior.unit())),
            ("norm_bound", json!(self.norm_bound)),
            ("noise", self.level.key()),
            ("kernel", json!({ "name": "matern", "nu": 2.5, "lengthscale": lengths, "variance": self.variance })),
        ];
        let from = from.map(|from| ("learnt_from", json!(from)));
        keys.into_iter().chain(from).map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rounding_step_is_seen() {
        assert_eq!(rounding_step(&[0.3, 1.7, 2.0]), Some(0.1));
        assert_eq!(rounding_step(&[10.0, 250.0, -40.0]), Some(10.0));
        assert_eq!(rounding_step(&[0.123_456_789_012, 1.0]), None);
        assert_eq!(rounding_step(&[1e9 + 0.5, 0.25]), None);
        assert_eq!(rounding_step(&[53.21, 53.2, 48.0]), Some(0.01));
    }
}
