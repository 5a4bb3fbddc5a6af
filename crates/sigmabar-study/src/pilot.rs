//! Premises from results of before: what these suggest, and what they exclude (algorithm notes 13.4).

mod drawn;
mod kernel;

pub use drawn::{Drawn, shown_choices};
pub use kernel::choice_length;

use crate::{Error, ImportedRow, Parameter, ParameterKind, Result, StudySpec, Taught, TrialResult, Value as Setting};
use kernel::Scales;
use serde_json::{Map, Value, json};
use sigmabar::certificate::{ALARM_SHARE, Towards, short};
use sigmabar::noise::Replicates;
use sigmabar::{Claim, Collected, FeatureMap, Kernel, Noise, Observations, Points, Posterior, Prior, Problem, Sourced};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

/// Fewer results teach nothing about four numbers and a kernel.
const FEWEST: usize = 8;
/// The norm that is suggested, over that of what fits best.
const SAFETY: f64 = 1.5;
/// Up to this many results all of them are inducing points; of more, as many spread over the table: what they exclude is then a little less.
const MOST_INDUCING: usize = 1000;
/// Of a longer table so many results teach, and each of them is named in the study file: one that taught and is not named could be told again, and nobody would notice.
const MOST_NAMED: usize = 1000;
/// Values that come in more steps than this over their span are not called rounded: nothing would hide in a step.
const STEPS: f64 = 1e6;

/// Results of before, as a study sees them.
#[derive(Clone, Debug)]
pub struct Pilot {
    /// Of the study.
    spec: StudySpec,
    settings: Vec<Vec<Setting>>,
    points: Vec<Vec<f64>>,
    values: Vec<f64>,
}

/// What results suggest: premises for other data than themselves.
#[derive(Clone, Debug, PartialEq)]
pub struct Learnt {
    /// From so many: of a long table not from all.
    pub results: usize,
    /// Their mean and their standard deviation.
    pub prior: Prior,
    /// One and a half times the norm of what fits them best, or the least that fits them where that is larger.
    pub norm_bound: f64,
    /// $c_0$: under the kernel, and under noise of this level, which may be a guess, they exclude every smaller norm.
    pub least_norm: f64,
    /// What they say about the noise.
    pub level: Level,
    /// By the names of the parameters, in shares of their ranges.
    pub lengthscales: Vec<(String, f64)>,
    /// How much values under two choices of a parameter correlate: 1 where one says everything about the other.
    pub alike: Vec<(String, f64)>,
    /// What they say nothing about: parameters that never changed, and choices that were never measured.
    pub untaught: Vec<String>,
    /// The kernel's variance, in squared units.
    pub variance: f64,
    /// These results themselves, so that one that is told again is noticed.
    pub rows: Taught,
}

/// What results say about the noise, in units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Level {
    /// A guess that plans; replicates will bound it.
    About(f64),
    /// A guess that plans, where repeats that the study itself asked for were equal to the last digit. There may be none: an instrument that reads in steps shows the same, and only
    /// a person can say it.
    Equal(f64),
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
    /// Under the kernel and the noise, or the guess of it, they exclude norms below this.
    pub least_norm: f64,
    /// What fits them best has this norm.
    pub norm: f64,
    /// What would be suggested.
    pub suggested: f64,
}

impl Pilot {
    /// The results among rows, of a study; `called` is where they come from, for errors.
    ///
    /// # Errors
    /// [`Error::NotLearnt`] for too few results; [`Error::Setting`] and its like for a row that is not of the study.
    pub fn new(spec: &StudySpec, rows: &[ImportedRow], called: &str) -> Result<Self> {
        let mut pilot = Self { spec: spec.clone(), settings: Vec::new(), points: Vec::new(), values: Vec::new() };
        for row in rows {
            if let TrialResult::Value { value, .. } = row.result {
                pilot.points.push(spec.space().point(&row.values)?);
                pilot.settings.push(row.values.clone());
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

    fn observations_at(&self, points: Points, prior: Prior) -> Result<Observations> {
        Ok(Observations::new(points, &self.values, Collected::Undeclared, prior)?)
    }

    /// Premises for measurements to come, each to the digits that a study file gets, and judged as such. Rows of a table that are equal in every number may be one that was written down twice; those of a pilot of the study's own are not.
    ///
    /// # Errors
    /// What learning a kernel runs into, as where all results are equal.
    pub fn learn(&self, is_own: bool, seed: u64) -> Result<Learnt> {
        let rows = Taught::at_most(MOST_NAMED, &self.settings, &self.values)?;
        if is_own { self.learn_all(is_own, seed, rows) } else { self.named(&rows).learn_all(is_own, seed, rows) }
    }

    /// The results that a study file names. Which of a long table these are is as good as chance.
    fn named(&self, rows: &Taught) -> Self {
        let which: Vec<usize> = (0..self.len()).filter(|&i| rows.holds(&self.settings[i], self.values[i], 0.0)).collect();
        let settings = which.iter().map(|&i| self.settings[i].clone()).collect();
        let points = which.iter().map(|&i| self.points[i].clone()).collect();
        Self { spec: self.spec.clone(), settings, points, values: which.iter().map(|&i| self.values[i]).collect() }
    }

    fn learn_all(&self, is_own: bool, seed: u64, rows: Taught) -> Result<Learnt> {
        let found = Prior::learnt(&self.values)?;
        let prior = Prior::declared(digits(found.mean()), digits(found.unit()))?;
        let Scales { lengths, variance, ridge } = self.scales(prior, seed)?;
        let names = self.spec.space().names();
        let lengthscales: Vec<(String, f64)> = names.zip(lengths).collect();
        let kernel = self.spec.matern(&lengthscales, variance)?;
        let alike = self.alike(&kernel);
        let (level, problem) = (self.level(is_own, ridge)?, self.spec.problem());
        let noise = Noise::gaussian(level.guess())?;
        let ridge = noise.usual_ridge(variance, problem.budget());
        let Verdict { least_norm, suggested, .. } = self.verdict(kernel.into(), (prior, &noise, ridge), problem.delta())?;
        Ok(Learnt {
            results: self.len(),
            prior,
            norm_bound: digits(suggested),
            least_norm,
            level,
            lengthscales,
            alike,
            untaught: self.untaught(),
            variance,
            rows,
        })
    }

    /// By the kernel that the study will have.
    fn alike(&self, kernel: &Kernel) -> Vec<(String, f64)> {
        let space = self.spec.space();
        let changed = |(i, parameter): (usize, &Parameter)| {
            let is_two = matches!(&parameter.kind, ParameterKind::Categorical { choices } if choices.len() > 1);
            let at = |choice: usize| {
                let mut point = self.points[0].clone();
                space.choose(&mut point, i, choice);
                point
            };
            is_two.then(|| (parameter.name.clone(), kernel.value(&at(0), &at(1)) / kernel.value(&at(0), &at(0))))
        };
        space.parameters().iter().enumerate().filter_map(changed).collect()
    }

    /// What the results say nothing about.
    fn untaught(&self) -> Vec<String> {
        let space = self.spec.space();
        let mut found = Vec::new();
        for (i, parameter) in space.parameters().iter().enumerate() {
            let is_seen = |value: &Setting| self.settings.iter().any(|setting| setting[i].same(value));
            if self.settings.iter().all(|setting| setting[i].same(&self.settings[0][i])) {
                found.push(format!("{} was {} in all of them", parameter.name, self.settings[0][i]));
            } else if let ParameterKind::Categorical { choices } = &parameter.kind {
                let missing = choices.iter().filter(|choice| !is_seen(choice));
                found.extend(missing.map(|choice| format!("{} = {choice} is in none of them", parameter.name)));
            }
        }
        found
    }

    /// Repeats that are all equal bound no level, and never will: what they show is said. In a table they may be one row that was written down twice.
    fn level(&self, is_own: bool, guess: f64) -> Result<Level> {
        let repeats = Replicates::of(Points::from_rows(&self.points)?, &self.values)?;
        let all_equal = repeats.identical() > 0 && repeats.freedom() == 0;
        Ok(match rounding_step(&self.values).filter(|_| all_equal) {
            Some(step) => Level::Hidden { level: guess, step },
            None if all_equal && is_own => Level::Equal(guess),
            None => Level::About(guess),
        })
    }

    /// What the results say about the premises of a problem; none where these have a kernel and no noise.
    ///
    /// # Errors
    /// What fitting runs into.
    pub fn judge(&self, problem: &Problem) -> Result<Option<Verdict>> {
        let (Some(kernel), Some(noise), Some(ridge)) = (problem.kernel(), problem.noise(), problem.ridge()) else { return Ok(None) };
        self.verdict(kernel.clone(), (problem.prior(), noise, ridge), problem.delta()).map(Some)
    }

    fn verdict(&self, kernel: Sourced<Kernel>, (prior, noise, ridge): (Prior, &Noise, f64), delta: f64) -> Result<Verdict> {
        let observations = self.observations_at(Points::from_rows(&self.points)?, prior)?;
        let measured = observations.locations().points();
        let spread: Vec<usize> = (0..measured.len()).step_by(measured.len().div_ceil(MOST_INDUCING)).collect();
        let features = FeatureMap::new(kernel, measured.select(&spread)?)?;
        let posterior = Posterior::fit(Arc::new(features), ridge, observations)?;
        let least_norm = posterior.norm_check(&Claim::new(ALARM_SHARE * delta)?.noise(noise.clone()))?.least_norm;
        let norm = posterior.norm();
        Ok(Verdict { least_norm, norm, suggested: SAFETY * norm.max(least_norm) })
    }
}

/// Six digits: as many as a study file gets, so that what is said about premises is said about those that are written.
fn digits(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
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
    /// What plans.
    fn guess(self) -> f64 {
        match self {
            Self::About(level) | Self::Equal(level) | Self::Hidden { level, .. } => level,
        }
    }

    /// As a study file has it.
    #[must_use]
    pub fn key(self) -> Value {
        json!({ "about": self.guess() })
    }

    fn to_toml(self) -> String {
        let remark = match self {
            Self::About(_) => "a guess that plans; replicates bound it (noise = 0 where no repeat can differ)".to_owned(),
            Self::Equal(_) => "a guess; repeats gave the same to the last digit: write noise = 0 if no repeat can ever differ; where an instrument reads in steps, that hides the \
                               noise, and replicates will not bound it"
                .to_owned(),
            Self::Hidden { step, .. } => format!(
                "a guess; repeats are equal and all values multiples of {step}, which hides the noise: write down more digits, so that replicates can bound it (noise = 0 where no repeat can differ)"
            ),
        };
        format!("noise = {{ about = {:?} }}  # {remark}", self.guess())
    }
}

/// What nobody can learn from results, as a line of a study file that waits for somebody's word.
pub const FAILURES: &str = "# failures = \"unrelated\"  # take the first # away if a lost measurement says nothing about its value; else one of them makes the answer an estimate";

impl Learnt {
    /// Lines of a study file; `from` is the table or study that the results come from, none for the pilot of the study itself.
    #[must_use]
    pub fn to_toml(&self, from: Option<&Path>) -> String {
        let Self { results, prior, norm_bound, least_norm, level, variance, .. } = self;
        let mut remarks = String::new();
        for (name, correlation) in &self.alike {
            let _ = writeln!(remarks, "# values under two choices of {name} correlate by {correlation:.2}, by this kernel");
        }
        for what in &self.untaught {
            // A choice may be called by several lines.
            let _ = writeln!(remarks, "# {}: what is assumed there is a guess", what.replace(char::is_control, " "));
        }
        let mut lengths = String::new();
        for (i, (name, length)) in self.lengthscales.iter().enumerate() {
            let _ = write!(lengths, "{}{name:?} = {length:?}", if i > 0 { ", " } else { "" });
        }
        let source = match from {
            Some(from) => {
                let (from, rows) = (from.display().to_string(), self.rows.written());
                format!(
                    "earlier results, which are left out of what this study claims.\nlearnt_from = {from:?}\n\
                     learnt_rows = \"{rows}\"  # their fingerprints: one of them that is told here is noticed"
                )
            }
            None => "results of the pilot, which is left out of what this study claims.".to_owned(),
        };
        format!(
            "# Learnt from {results} {source}\n\
             prior_mean = {:?}  # their mean\n\
             unit = {:?}  # their standard deviation: norm and noise count in these\n\
             norm_bound = {norm_bound:?}  # {SAFETY} times the norm of what fits them best; under this kernel and if noise is no larger than the guess {:?} they exclude norms below {}\n\
             {}\n\
             kernel = {{ name = \"matern\", nu = 2.5, lengthscale = {{ {lengths} }}, variance = {variance:?} }}\n\
             {FAILURES}\n{remarks}",
            prior.mean(),
            prior.unit(),
            level.guess(),
            short(*least_norm, Towards::Below),
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
        let from = from.into_iter().flat_map(|from| [("learnt_from", json!(from)), ("learnt_rows", json!(self.rows.written()))]);
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
