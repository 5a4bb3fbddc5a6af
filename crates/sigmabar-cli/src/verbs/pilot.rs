//! Premises from results of before a study: what they suggest, and what they exclude (algorithm notes 13.4).

use super::import::Columns;
use crate::Outcome;
use crate::console::Console;
use crate::data::Reader;
use crate::failure::Failure;
use crate::which_study::WhichStudy;
use sigmabar::evidence::{Learning, fit_hyperparameters};
use sigmabar::{Claim, Collected, Kernel, Noise, Observations, Points, Posterior, Prior, Problem};
use sigmabar_study::{ImportedRow, ParameterKind, Study, StudySpec, TrialResult, Value};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Fewer results teach nothing about four numbers and a kernel.
const FEWEST: usize = 8;
/// The norm that is suggested, over that of what fits best.
const SAFETY: f64 = 1.5;

/// Results of before, as the study sees them.
pub(crate) struct Pilot {
    /// The table or study that they come from; none for the pilot of the study itself.
    from: Option<PathBuf>,
    names: Vec<String>,
    points: Vec<Vec<f64>>,
    values: Vec<f64>,
}

impl Pilot {
    /// From a table, or from an earlier study with the same parameters.
    pub(crate) fn read(spec: &StudySpec, from: &Path, console: &Console) -> Outcome<Self> {
        let rows = if from.extension().is_some_and(|end| end == "db" || end == "toml") {
            earlier(spec, from)?
        } else {
            let mut reader = Reader::open(from)?;
            let (rows, ..) = Columns::new(spec.space(), &[])?.read(&mut reader)?;
            console.say_decimal_commas(from, reader.has_decimal_commas());
            rows
        };
        Self::new(spec, &rows, Some(from))
    }

    /// What a study has measured so far: its own pilot.
    pub(crate) fn of(study: &Study) -> Outcome<Self> {
        Self::new(study.spec(), &told(study, |values| values.to_vec())?, None)
    }

    fn new(spec: &StudySpec, rows: &[ImportedRow], from: Option<&Path>) -> Outcome<Self> {
        let parameters = spec.space().parameters();
        if let Some(choice) = parameters.iter().find(|p| matches!(p.kind, ParameterKind::Categorical { .. })) {
            return Err(Failure::refused(
                format!("the parameter {} is a choice, and its premises are not learnt from results", choice.name),
                "answer the questions instead: sigmabar premises --questions",
            ));
        }
        let names = parameters.iter().map(|p| p.name.clone()).collect();
        let mut pilot = Self { from: from.map(Path::to_owned), names, points: Vec::new(), values: Vec::new() };
        for row in rows {
            if let TrialResult::Value { value, .. } = row.result {
                pilot.points.push(spec.space().point(&row.values)?);
                pilot.values.push(value);
            }
        }
        if pilot.len() < FEWEST {
            let what = format!("{} has {} results", from.map_or("the pilot".to_owned(), |from| from.display().to_string()), pilot.len());
            return Err(Failure::refused(what, format!("premises are learnt from {FEWEST} at least")));
        }
        Ok(pilot)
    }

    /// The table or study that the results come from; none for the pilot of the study itself.
    pub(crate) fn from(&self) -> Option<&Path> {
        self.from.as_deref()
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    fn observations(&self, prior: Prior) -> Outcome<Observations> {
        Ok(Observations::new(Points::from_rows(&self.points)?, &self.values, Collected::Undeclared, prior)?)
    }

    /// The keys of a study file, learnt from the results.
    pub(crate) fn to_toml(&self, seed: u64) -> Outcome<String> {
        let prior = Prior::learnt(&self.values)?;
        let template = Kernel::matern(2.5, vec![0.3; self.names.len()], 1.0)?;
        let learnt = fit_hyperparameters(&self.observations(prior)?, &learning(template, seed))?;
        let (kernel, norm) = (&learnt.kernel().value, learnt.posterior().norm());
        let least = learnt.posterior().norm_check(&Claim::new(0.0025)?.noise(Noise::gaussian(learnt.ridge())?))?.least_norm;
        let mut lengths = String::new();
        for (i, name) in self.names.iter().enumerate() {
            let length = kernel.lengthscale().map_or(0.3, |l| l.get(i));
            let _ = write!(lengths, "{}{name:?} = {length:.4}", if i > 0 { ", " } else { "" });
        }
        let (variance, bound) = (kernel.value(&self.points[0], &self.points[0]), SAFETY * norm.max(least));
        let source = match &self.from {
            Some(from) => {
                format!("earlier results, which are left out of what this study claims.\nlearnt_from = {:?}", from.display().to_string())
            }
            None => "results of the pilot, which is left out of what this study claims.".to_owned(),
        };
        Ok(format!(
            "# Learnt from {count} {source}\n\
             prior_mean = {:.6}  # their mean\n\
             unit = {:.6}  # their standard deviation: norm and noise count in these\n\
             norm_bound = {bound:.4}  # {SAFETY} times the norm of what fits them best; under this kernel they exclude norms below {least:.3}\n\
             noise = {{ about = {:.6} }}  # a guess that plans; replicates bound it\n\
             kernel = {{ name = \"matern\", nu = 2.5, lengthscale = {{ {lengths} }}, variance = {variance:.6} }}\n",
            prior.mean(),
            prior.unit(),
            learnt.ridge(),
            count = self.len(),
        ))
    }

    /// What the results say about the premises of a problem.
    pub(crate) fn judge(&self, problem: &Problem) -> Outcome<String> {
        let (Some(kernel), Some(noise), Some(ridge)) = (problem.kernel(), problem.noise(), problem.ridge()) else {
            return Err(Failure::usage("the study file has a kernel and no noise", "declare both, or neither"));
        };
        let observations = self.observations(problem.prior())?;
        let features = sigmabar::FeatureMap::new(kernel.clone(), observations.locations().points().to_points())?;
        let posterior = Posterior::fit(std::sync::Arc::new(features), ridge, observations)?;
        let least = posterior.norm_check(&Claim::new(problem.delta() / 20.0)?.noise(noise.clone()))?.least_norm;
        let suggested = SAFETY * posterior.norm().max(least);
        let declared = problem.norm_bound().map_or("none".to_owned(), |bound| format!("{bound}"));
        Ok(format!(
            "under the kernel and the noise of the file these {} results exclude norms below {least:.3}; what fits them best has norm {:.3}; declared: {declared}, suggested: {suggested:.3}",
            self.len(),
            posterior.norm(),
        ))
    }
}

fn learning(template: Kernel, seed: u64) -> Learning {
    let mut learning = Learning::new(vec![template]);
    learning.seed = seed;
    learning
}

/// The results of an earlier study, by the names of its parameters.
fn earlier(spec: &StudySpec, from: &Path) -> Outcome<Vec<ImportedRow>> {
    let study = WhichStudy::find(Some(from), None)?.open()?;
    let theirs = study.spec().space().parameters();
    let mut places = Vec::new();
    for parameter in spec.space().parameters() {
        places.push(theirs.iter().position(|p| p.name == parameter.name).ok_or_else(|| {
            Failure::refused(
                format!("{} has no parameter {}", from.display(), parameter.name),
                "the earlier study needs the parameters of this one",
            )
        })?);
    }
    let ordered = |values: &[Value]| places.iter().map(|&i| values[i].clone()).collect::<Vec<_>>();
    told(&study, ordered)
}

/// Everything that a study knows, from before it and its own, with the values of each row put in order.
fn told(study: &Study, ordered: impl Fn(&[Value]) -> Vec<Value>) -> Outcome<Vec<ImportedRow>> {
    let before = study.imported()?.into_iter().map(|row| ImportedRow { values: ordered(&row.values), result: row.result });
    let told = study.trials()?.into_iter().filter_map(|row| {
        let result = TrialResult::Value { value: row.value?, standard_error: row.standard_error, replicates: row.replicates };
        Some(ImportedRow { values: ordered(&row.values), result })
    });
    Ok(before.chain(told).collect())
}
