//! The premises of every theorem here, complete (algorithm notes 12): each with its value and where it came from.

use super::claim::{Claim, Coverage};
use super::range::{Towards, short};
use super::repeated::Repeated;
use crate::error::{Error, Result};
use crate::information::Information;
use crate::kernel::Kernel;
use crate::noise::{LevelBound, Noise};
use crate::number::Number;
use crate::origin::{Origin, Sourced};
use crate::points::{Collected, Doubts, Prior};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Everything a claim rests on that cannot be computed. Levels and bounds are in the model's scale, where the prior's unit is 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Premises {
    /// The kernel $k$; none where nothing was modelled.
    pub kernel: Sourced<Option<Kernel>>,
    /// The prior mean and the unit.
    pub prior: Sourced<Prior>,
    /// $C \ge \lVert f-\text{mean}\rVert_k$; none where nobody gave one.
    pub norm_bound: Sourced<Option<f64>>,
    /// That the length-scales are only known to be at least the kernel's, where that is so: the norm bound is then the one that follows.
    #[serde(default)]
    pub lengthscales: Option<Sourced<Lengthscales>>,
    /// The noise: independent, mean zero, and of this law and level.
    pub noise: Sourced<Option<Noise>>,
    /// By how much replicates bound the level of the noise, where nobody knows it.
    #[serde(default)]
    pub level: Option<LevelBound>,
    /// How many observations are means, whose numbers of replicates are then a premise too.
    pub means: Sourced<usize>,
    /// How the measured points were chosen: not by looking at the noise of what is used, or by a theorem that allows it.
    pub points: Sourced<Collected>,
    /// $n$: the number of observations was fixed in advance, or the theorem holds for every $n$ at once.
    pub observations: Sourced<usize>,
    /// How many observations equal another in every number: none is a measurement that was written down twice.
    #[serde(default = "none_of_them")]
    pub copies: Sourced<usize>,
    /// Those that repeat a setting: each was measured anew, with noise of its own. None where none does, and where there is no noise.
    #[serde(default)]
    pub repeats: Option<Sourced<Repeated>>,
    /// How many planned observations were lost: losing them had nothing to do with the noise.
    pub losses: Sourced<usize>,
    /// How many results were corrected after their batch was analysed: correcting them had nothing to do with the noise.
    #[serde(default = "none_of_them")]
    pub corrections: Sourced<usize>,
    /// How many results were corrected before anything was made of them, for reasons that have nothing to do with the noise. None where no result was.
    #[serde(default)]
    pub corrected_in_time: Option<Sourced<usize>>,
    /// How many settings were used otherwise than planned, for reasons that have nothing to do with the noise, and entered as they were used. None where no setting was.
    #[serde(default)]
    pub used_otherwise: Option<Sourced<usize>>,
    /// That the function stayed the same where what evaluates it was exchanged after results were told. None where it was not.
    #[serde(default)]
    pub objective: Option<Sourced<Amended>>,
    /// How many results equal one that premises were learnt from, in setting and every digit: they were measured anew. 0 where nobody names those results, and that none of them is here
    /// is somebody's word; none where they are named and none of them is.
    #[serde(default)]
    pub taught: Option<Sourced<usize>>,
    /// $m$: the inducing points in use were not chosen by looking at responses.
    pub inducing: Sourced<usize>,
    /// $\tau$; none where nothing was modelled.
    pub ridge: Sourced<Option<f64>>,
    /// The points, list or domain that the claim is about were fixed before the noise, or the claim holds for all at once.
    pub queries: Origin,
    /// The theorem's constants bound what they should in this case.
    pub constants: Origin,
    /// The rows that an interval was calibrated on: the model has not learnt from them. None where nothing was calibrated.
    pub calibration: Option<Sourced<Calibrated>>,
    /// How many evaluations a pilot had after which everything above was fixed: none of them is in the claim. None where there was no pilot.
    #[serde(default)]
    pub pilot: Option<Sourced<usize>>,
}

/// What evaluates settings was exchanged while a study ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amended {
    /// The keys of the study file that say what it is.
    pub keys: Vec<String>,
    /// So many results had been told by then, the last time.
    pub results: usize,
}

/// The rows that an interval was calibrated on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calibrated {
    /// How many.
    pub rows: usize,
    /// In how many parts, each unknown to a model of its own; 1 for a single model.
    pub folds: usize,
    /// In how many groups, each calibrated by itself; 1 where there are none.
    pub groups: usize,
}

/// Length-scales that are known to be at least those of a kernel and at most those of another: for some of them the norm is bounded (algorithm notes 13.2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lengthscales {
    /// The kernel with the longest.
    pub longest: Kernel,
    /// The bound under one of them.
    pub norm_bound: f64,
    /// The bound that follows under the shortest, $C\prod_j\sqrt{\ell_j/\ell_j'}$.
    pub bound: f64,
}

impl Lengthscales {
    /// From `shortest` to `longest`, over so many columns.
    pub(crate) fn new(shortest: &Kernel, longest: Kernel, norm_bound: f64, dim: usize) -> Result<Self> {
        let growth = longest.norm_growth(shortest, dim).ok_or(Error::Premise {
            what: "length-scales that are at least these",
            reason: "both kernels must be squared exponential, or Matérn of one smoothness, of the same variance, and no length-scale of the shortest longer",
        })?;
        Ok(Self { longest, norm_bound, bound: growth * norm_bound })
    }
}

/// One premise in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Premise {
    /// Its name: the field of [`Premises`].
    pub name: &'static str,
    /// What is assumed.
    pub statement: String,
    /// Where it came from.
    pub origin: Origin,
}

/// As it is in nearly every run; certificates of earlier versions do not mention it.
fn none_of_them() -> Sourced<usize> {
    Sourced::new(0, Origin::Guaranteed)
}

impl Premises {
    /// Nothing is known: what a guess without a model rests on.
    pub(crate) fn nothing(prior: Prior, observations: usize) -> Self {
        let unmet = Origin::Unmet;
        Self {
            kernel: Sourced::new(None, unmet),
            prior: Sourced::new(prior, prior.origin()),
            norm_bound: Sourced::new(None, unmet),
            lengthscales: None,
            noise: Sourced::new(None, unmet),
            level: None,
            means: Sourced::new(0, Origin::Guaranteed),
            points: Sourced::new(Collected::Undeclared, unmet),
            observations: Sourced::new(observations, unmet),
            copies: none_of_them(),
            repeats: None,
            losses: Sourced::new(0, Origin::Guaranteed),
            corrections: none_of_them(),
            corrected_in_time: None,
            used_otherwise: None,
            objective: None,
            taught: None,
            inducing: Sourced::new(0, Origin::Guaranteed),
            ridge: Sourced::new(None, unmet),
            queries: unmet,
            constants: Origin::Guaranteed,
            calibration: None,
            pilot: None,
        }
    }

    /// What an interval by calibration rests on: rows are alike, and the model has not learnt from those that calibrate it. Nothing else is needed.
    pub(super) fn exchangeable(
        kernel: &Kernel,
        ridge: f64,
        (prior, collected, rows): (Prior, Collected, usize),
        calibration: Sourced<Calibrated>,
    ) -> Self {
        let free = Origin::Guaranteed;
        Self {
            kernel: Sourced::new(Some(kernel.clone()), free),
            prior: Sourced::new(prior, free),
            norm_bound: Sourced::new(None, free),
            noise: Sourced::new(None, free),
            points: Sourced::new(Collected::Exchangeable, collected.exchangeable()),
            observations: Sourced::new(rows, free),
            ridge: Sourced::new(Some(ridge), free),
            queries: free,
            calibration: Some(calibration),
            ..Self::nothing(prior, rows)
        }
    }

    /// What a claim about these observations rests on; inducing points and ridge are the caller's.
    pub(super) fn of(
        claim: &Claim,
        kernel: &Sourced<Kernel>,
        (prior, collected, rows): (Prior, Collected, usize),
        adaptive_safe: bool,
    ) -> Self {
        let chosen = if adaptive_safe { Origin::Guaranteed } else { collected.origin() };
        let asked = match claim.coverage_claimed() {
            Coverage::Point | Coverage::Points if !adaptive_safe => Origin::Declared,
            _ => Origin::Guaranteed,
        };
        Self {
            kernel: Sourced::new(Some(kernel.value.clone()), kernel.origin),
            norm_bound: Sourced::new(claim.known_norm_bound(), claim.norm_origin()),
            lengthscales: claim.lengthscales_of(&kernel.value),
            noise: Sourced::new(claim.required_noise(None).ok(), claim.noise_origin()),
            points: Sourced::new(collected, chosen),
            observations: Sourced::new(rows, chosen),
            queries: asked,
            ..Self::nothing(prior, rows)
        }
    }

    /// What a claim about a design rests on, before any response: that the points are measured as planned is the program's own doing.
    pub(crate) fn of_design(claim: &Claim, information: &Information) -> Self {
        let (kernel, collected) = (information.features().sourced_kernel(), information.collected());
        Self {
            kernel: Sourced::new(Some(kernel.value.clone()), kernel.origin),
            norm_bound: Sourced::new(claim.known_norm_bound(), claim.norm_origin()),
            noise: Sourced::new(claim.required_noise(None).ok(), claim.noise_origin()),
            points: Sourced::new(collected, collected.origin()),
            observations: Sourced::new(information.len(), collected.origin()),
            inducing: Sourced::new(information.features().len(), information.features().sourced_given().origin),
            ridge: Sourced::new(Some(information.ridge()), information.ridge_origin()),
            queries: Origin::Guaranteed,
            ..Self::nothing(Prior::ZERO, information.len())
        }
    }

    /// With rows that may be one measurement written down twice, unless somebody declares that they are not; where noise is declared to be none, that adds nothing.
    /// Rows without a response may have lost it because of its value: nobody vouches for them. Whoever gives weights says that rows are means.
    pub(crate) fn with_doubts(self, Doubts { copies, are_distinct, are_watched, lost, means }: Doubts) -> Self {
        let is_exact = self.noise.value.as_ref().is_some_and(|noise| noise.level() == 0.0);
        let origin = match copies {
            _ if is_exact => Origin::Guaranteed,
            0 if are_watched => Origin::Declared,
            0 => Origin::Guaranteed,
            _ if are_distinct => Origin::Declared,
            _ => Origin::Unmet,
        };
        let losses = if lost == 0 { self.losses } else { Sourced::new(self.losses.value + lost, Origin::Unmet) };
        let means = if means == 0 { self.means } else { Sourced::new(means, Origin::Declared) };
        Self { copies: Sourced::new(copies, origin), losses, means, ..self }
    }

    /// With observations of a run that repeat a setting. That an objective measures anew, and does not hand out what it measured before, is the word of whoever declared
    /// independent noise. Those that are equal beyond chance count as one, whatever the truth.
    pub(crate) fn with_repeats(self, repeated: Repeated) -> Self {
        let is_exact = self.noise.value.as_ref().is_some_and(|noise| noise.level() == 0.0);
        if (repeated.count == 0 && repeated.equal == 0) || is_exact {
            return self;
        }
        let (declared, copies) = (Origin::Declared, self.copies);
        let origin = if repeated.equal > 0 { copies.origin.max(declared) } else { copies.origin };
        Self { repeats: Some(Sourced::new(repeated, declared)), copies: Sourced::new(copies.value + repeated.equal, origin), ..self }
    }

    /// Normal noise of one unknown level: its law is what was declared, and the bound on its level is paid for.
    pub(crate) fn with_level(self, bound: LevelBound) -> Self {
        let noise = Sourced::new(Some(Noise::Gaussian { std_dev: bound.level }), Origin::Declared);
        Self { noise, level: Some(bound), ..self }
    }

    /// Whatever was said is fixed after a pilot of so many evaluations: nothing was declared before the first response, and none of the pilot's is in the claim
    /// (algorithm notes 13.4).
    pub(crate) fn after_pilot(mut self, evaluations: usize) -> Self {
        let other = Origin::LearntElsewhere;
        let lengthscales = self.lengthscales.iter_mut().map(|l| &mut l.origin);
        let fixed =
            [&mut self.kernel.origin, &mut self.prior.origin, &mut self.norm_bound.origin, &mut self.noise.origin, &mut self.ridge.origin];
        fixed.into_iter().chain(lengthscales).for_each(|origin| *origin = (*origin).max(other));
        Self { pilot: Some(Sourced::new(evaluations, other)), ..self }
    }

    /// With so many results that equal one from which premises were learnt, in setting and every digit: unless somebody declares that rows are distinct, these are the responses
    /// that taught the premises, and nothing was learnt elsewhere. Where nobody names what taught them, the same declaration is what the claim rests on. Where there is no noise, premises
    /// that values taught depend on none.
    pub(crate) fn with_taught(mut self, results: usize, is_unnamed: bool, are_distinct: bool) -> Self {
        let is_exact = self.noise.value.as_ref().is_some_and(|noise| noise.level() == 0.0);
        if (results == 0 && !is_unnamed) || is_exact {
            return self;
        }
        if !are_distinct && results > 0 {
            let lengthscales = self.lengthscales.iter_mut().map(|l| &mut l.origin);
            let (kernel, prior, norm) = (&mut self.kernel.origin, &mut self.prior.origin, &mut self.norm_bound.origin);
            let learnt = [kernel, prior, norm, &mut self.noise.origin, &mut self.ridge.origin];
            learnt.into_iter().chain(lengthscales).for_each(|origin| *origin = origin.on_own_rows());
        }
        Self { taught: Some(Sourced::new(results, if are_distinct { Origin::Declared } else { Origin::Unmet })), ..self }
    }

    /// By how much a norm can be larger under the kernel than under the length-scales that were declared: 1 unless these are only known to be at least the kernel's.
    #[must_use]
    pub fn norm_growth(&self) -> f64 {
        self.lengthscales.as_ref().map_or(1.0, |l| l.value.bound / l.value.norm_bound)
    }

    /// All of them, in a fixed order, in words.
    #[must_use]
    pub fn list(&self) -> Vec<Premise> {
        let premise = |name, origin, statement| Premise { name, statement, origin };
        let kernel = self.kernel.value.as_ref().map_or("no kernel".to_owned(), |k| format!("kernel {k}"));
        let norm = match self.norm_bound.value {
            Some(bound) => format!("the norm of f minus its prior mean is at most {}", Number(bound)),
            None => "no bound on the norm of f".to_owned(),
        };
        let noise = match (&self.noise.value, self.level) {
            (_, Some(LevelBound { level, freedom, .. })) => format!(
                "independent normal noise of mean zero and one unknown level, at most {} by replicates with {freedom} degrees of freedom",
                short(level, Towards::Above)
            ),
            (Some(noise), None) => format!("independent noise of mean zero: {noise}"),
            (None, None) => "no noise model".to_owned(),
        };
        let ridge = self.ridge.value.map_or("no ridge".to_owned(), |tau| format!("ridge {tau}"));
        let prior = self.prior.value;
        let lengthscales = self.lengthscales.as_ref().map(|l| premise("lengthscales", l.origin, l.value.to_string()));
        let calibration = self.calibration.map(|c| premise("calibration", c.origin, c.value.to_string()));
        let pilot = self.pilot.map(|p| {
            let said = format!("all of this fixed after a pilot of {} evaluations, none of which is in the claim", p.value);
            premise("pilot", p.origin, said)
        });
        let corrected = self.corrected_in_time.map(|c| {
            let said = format!(
                "{} results were corrected before they were analysed, for reasons that have nothing to do with their noise",
                c.value
            );
            premise("corrected_in_time", c.origin, said)
        });
        let used = self.used_otherwise.map(|u| {
            let said =
                format!("{} settings were used otherwise than planned, for reasons that have nothing to do with their noise", u.value);
            premise("used_otherwise", u.origin, said)
        });
        let repeats = self.repeats.map(|r| premise("repeats", r.origin, r.value.to_string()));
        let objective = self.objective.as_ref().map(|o| premise("objective", o.origin, o.value.to_string()));
        let taught = self.taught.map(|t| {
            let said = match t.value {
                0 => "no result is one of those that taught the premises, which are not named".to_owned(),
                equal => {
                    format!("{equal} results equal ones that taught the premises in setting and, but for rounding, in value: measured anew")
                }
            };
            premise("taught", t.origin, said)
        });
        let list = vec![
            premise("kernel", self.kernel.origin, kernel),
            premise("prior", self.prior.origin, format!("prior mean {} and unit {}", prior.mean(), prior.unit())),
            premise("norm_bound", self.norm_bound.origin, norm),
            premise("noise", self.noise.origin, noise),
            premise(
                "means",
                self.means.origin,
                match self.means.value {
                    0 => "every observation is a single measurement".to_owned(),
                    count => format!("{count} observations are means of as many replicates as was said"),
                },
            ),
            premise("points", self.points.origin, self.points.value.to_string()),
            premise("observations", self.observations.origin, format!("{} observations, as many as planned", self.observations.value)),
            premise(
                "copies",
                self.copies.origin,
                match self.copies.value {
                    0 if self.copies.origin == Origin::Declared => {
                        "no observation is another one written down twice: part of the noise's declaration, only some rows were compared"
                            .to_owned()
                    }
                    0 => "no observation is another one written down twice".to_owned(),
                    count if self.copies.origin == Origin::Guaranteed => {
                        format!("{count} observations equal another in every number, which changes nothing")
                    }
                    count => format!("{count} observations equal another in every number: measured again, not written down twice"),
                },
            ),
            premise(
                "losses",
                self.losses.origin,
                match self.losses.value {
                    0 if self.losses.origin == Origin::Declared => {
                        "no planned observation was lost: nothing was left out of settings that were shown again, of means told without their number of replicates, or of results from before"
                            .to_owned()
                    }
                    0 => "no planned observation was lost".to_owned(),
                    count => format!("{count} planned observations were lost, for reasons that have nothing to do with their noise"),
                },
            ),
            premise(
                "corrections",
                self.corrections.origin,
                match self.corrections.value {
                    0 => "no result was corrected after it was analysed".to_owned(),
                    count => format!(
                        "{count} results were corrected after their batch was analysed, for reasons that have nothing to do with their noise"
                    ),
                },
            ),
            premise("inducing", self.inducing.origin, format!("{} inducing points, chosen without responses", self.inducing.value)),
            premise("ridge", self.ridge.origin, ridge),
            premise("queries", self.queries, "what is asked about was fixed before the noise".to_owned()),
            premise("constants", self.constants, "the theorem's constants bound this case".to_owned()),
        ];
        list.into_iter()
            .chain(repeats)
            .chain(corrected)
            .chain(used)
            .chain(objective)
            .chain(taught)
            .chain(lengthscales)
            .chain(calibration)
            .chain(pilot)
            .collect()
    }
}

impl fmt::Display for Lengthscales {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { longest, norm_bound, bound } = self;
        write!(
            f,
            "length-scales at least those of the kernel and at most those of {longest}: for some of them the norm is at most {norm_bound}, so that it is at most {bound:.4} under the kernel"
        )
    }
}

impl fmt::Display for Amended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { keys, results } = self;
        let results = if *results == 1 { "1 result".to_owned() } else { format!("{results} results") };
        write!(f, "the function stayed the same: {} amended after {results}, declared to measure the same function", keys.join(" and "))
    }
}

impl fmt::Display for Calibrated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "calibrated on {} rows that the model has not learnt from", self.rows)?;
        if self.folds > 1 {
            write!(f, ", in {} parts with a model for each", self.folds)?;
        }
        if self.groups > 1 { write!(f, ", each of {} groups by itself", self.groups) } else { Ok(()) }
    }
}
