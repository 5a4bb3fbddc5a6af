//! The study file: read, checked, and turned into the core's problem and policy.

mod amended;
mod assumptions;
mod file;
mod json;
mod parameters;
mod policy;
mod schedule;
mod searched;
mod strategy;
mod taught;

pub use searched::wrong_name;
pub use taught::Taught;
pub(crate) use taught::looked_up;

use crate::Value;
use crate::error::{Error, Result, SpecError, SpecProblem, TextPosition, Top};
use crate::objective::ObjectiveTable;
use crate::space::Space;
use file::StudyFile;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use sigmabar::strategy::Failures;
use sigmabar::{Kernel, Policy, Problem, Strategy};
use std::borrow::Cow;
use std::io;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// A study file, parsed and checked.
///
/// ```
/// use sigmabar_study::StudySpec;
/// use std::path::Path;
///
/// let spec = StudySpec::from_toml("budget = 40\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n", Path::new(".")).unwrap();
/// assert_eq!((spec.policy().name(), spec.problem().budget()), ("auto", 40));
///
/// let error = StudySpec::from_toml("budget = 40\n[parameters.x]\ntype = \"float\"\nlow = 0\nhi = 1\n", Path::new(".")).unwrap_err();
/// assert!(error.to_string().contains("line 5") && error.to_string().contains("did you mean \"high\""));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "StudyFile", try_from = "StudyFile")]
pub struct StudySpec {
    file: StudyFile,
    space: Space,
    problem: Problem,
    policy: Policy,
    learnt_rows: Taught,
}

/// Between so many settings kernels of two studies are compared.
const PROBED: usize = 256;

/// What is wrong, and with which key.
struct Fault {
    path: Vec<String>,
    problem: SpecProblem,
}

impl Fault {
    fn new(path: &[&str], problem: SpecProblem) -> Self {
        Self { path: path.iter().map(|&key| key.to_owned()).collect(), problem }
    }

    fn core(path: &[&str]) -> impl Fn(sigmabar::Error) -> Self + use<> {
        let path: Vec<String> = path.iter().map(|&key| key.to_owned()).collect();
        move |error| Self { path: path.clone(), problem: SpecProblem::Core(error) }
    }
}

impl StudySpec {
    /// Reads a study file, TOML or (by its extension) JSON; a file of candidates is looked for beside it.
    ///
    /// # Errors
    /// [`Error::File`], or [`Error::Spec`] naming file, line and key.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read(path).and_then(text_of).map_err(|source| Error::File { path: path.to_owned(), source })?;
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        let spec = if is_json { Self::from_json(&text, directory) } else { Self::from_toml(&text, directory) };
        spec.map_err(|error| match error {
            Error::Spec(mut wrong) => {
                wrong.file = Some(path.to_owned());
                Error::Spec(wrong)
            }
            other => other,
        })
    }

    /// The same from TOML text; `directory` is where a file of candidates is looked for.
    ///
    /// # Errors
    /// [`Error::Spec`] naming line and key.
    pub fn from_toml(text: &str, directory: &Path) -> Result<Self> {
        let file: StudyFile = toml::from_str(text).map_err(|error| {
            let place = error.span().map(|span| TextPosition::at(text, span.start));
            let problem =
                SpecProblem::of_message(error.message(), place.as_ref(), &top("put it at the top of the file, above the first [table]"));
            Box::new(SpecError { file: None, key: String::new(), place, problem })
        })?;
        Self::new(file, directory).map_err(|fault| located(fault, text, toml_offset))
    }

    /// The same from JSON text.
    ///
    /// # Errors
    /// [`Error::Spec`] naming line and key.
    pub fn from_json(text: &str, directory: &Path) -> Result<Self> {
        let file: StudyFile = serde_json::from_str(text).map_err(|error| {
            let place = TextPosition::at(text, json::offset_of_line(text, error.line(), error.column()));
            let message = error.to_string();
            let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(words, _)| words);
            let problem = SpecProblem::of_message(message, Some(&place), &top("put it into the outermost braces of the file"));
            Box::new(SpecError { file: None, key: String::new(), place: Some(place), problem })
        })?;
        Self::new(file, directory).map_err(|fault| located(fault, text, json::offset_of_path))
    }

    /// The study file as TOML, with candidates written out.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(&self.file).unwrap_or_default()
    }

    /// The JSON Schema of study files.
    #[must_use]
    pub fn json_schema() -> serde_json::Value {
        schemars::schema_for!(StudyFile).to_value()
    }

    /// Parameters, and the domain that is searched.
    #[must_use]
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The core's problem.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The core's policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What the study is about.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.file.description.as_deref()
    }

    /// What is measured, as people call it.
    #[must_use]
    pub fn response(&self) -> Option<&str> {
        self.file.response.as_deref()
    }

    /// From which earlier data its premises were learnt, if they were.
    #[must_use]
    pub fn learnt_from(&self) -> Option<&str> {
        self.file.learnt_from.as_deref()
    }

    /// The same where the file does not name the results: one of them that is told again is not noticed.
    #[must_use]
    pub fn learnt_from_unnamed(&self) -> Option<&str> {
        self.learnt_from().filter(|_| self.learnt_rows.is_empty())
    }

    /// The rows of these data, as far as they are known: one of them that is told again is no other data.
    pub(crate) fn learnt_rows(&self) -> &Taught {
        &self.learnt_rows
    }

    /// Whether results that equal one of these rows are declared to be measurements of their own, and where nobody names these rows, that none of them is told again.
    #[must_use]
    pub fn has_distinct_rows(&self) -> bool {
        self.file.distinct_rows == Some(true)
    }

    /// Evaluations of the pilot; 0 without one. They are the first trials, and in no claim.
    #[must_use]
    pub fn pilot(&self) -> usize {
        self.file.pilot.unwrap_or(0)
    }

    /// How many batches there will be, the pilot among them, where that was declared.
    #[must_use]
    pub fn batch_count(&self) -> Option<usize> {
        let batches = schedule::Plan::of(&self.file).ok()?.batches?;
        Some(batches.count() + usize::from(self.file.pilot.is_some()))
    }

    /// Wells of a plate, if the study is laid out on plates.
    #[must_use]
    pub fn plate(&self) -> Option<usize> {
        self.file.plate
    }

    /// Wells of every plate that hold controls.
    #[must_use]
    pub fn controls(&self) -> usize {
        self.file.controls.unwrap_or(0)
    }

    /// Wells in which every setting is measured.
    #[must_use]
    pub fn replicates(&self) -> usize {
        self.file.replicates.unwrap_or(1).max(1)
    }

    /// Wells that stay empty.
    #[must_use]
    pub fn blocked_wells(&self) -> &[String] {
        &self.file.blocked
    }

    /// How many settings fit on a plate of so many wells; none if controls and blocked wells leave no room.
    #[must_use]
    pub fn settings_on(&self, wells: usize) -> usize {
        schedule::settings_on(&self.file, wells).unwrap_or(0)
    }

    /// Whether settings may be told as they were used in truth, and enter as the points measured.
    #[must_use]
    pub fn takes_used_values(&self) -> bool {
        self.file.used_values == Some(true)
    }

    /// Whether `run` can evaluate trials.
    #[must_use]
    pub fn has_objective(&self) -> bool {
        self.file.objective.is_some()
    }

    /// Whether its objective is a program: a worker runs none that it was sent.
    #[must_use]
    pub fn runs_a_program(&self) -> bool {
        self.file.objective.as_ref().is_some_and(|objective| objective.command.is_some() || objective.process.is_some())
    }

    /// The command that evaluates a setting, where there is one.
    #[must_use]
    pub fn command(&self) -> Option<&str> {
        self.file.objective.as_ref()?.command.as_deref()
    }

    /// The same study evaluated by a command for each trial.
    #[must_use]
    pub fn with_command(mut self, command: impl Into<String>) -> Self {
        let objective = self.file.objective.get_or_insert_default();
        (objective.process, objective.builtin, objective.noise) = (None, None, None);
        objective.command = Some(command.into());
        self
    }

    /// Whether both declare the same study. Where its commands run is left out: a study may be moved.
    #[must_use]
    pub fn declares_the_same(&self, other: &Self) -> bool {
        let placeless = |spec: &Self| {
            let mut file = spec.file.clone();
            if let Some(objective) = &mut file.objective {
                objective.directory = None;
            }
            file.amended_batches = None;
            file.amended_ridge = None;
            toml::to_string(&file).unwrap_or_default()
        };
        placeless(self) == placeless(other)
    }

    /// What tells the seeds of this study's trials from those of the one that its premises were learnt from, should both have one seed: simulated noise that came again would have
    /// taught the premises. 0 where nothing was learnt elsewhere.
    pub(crate) fn salt(&self) -> u64 {
        let StudyFile { learnt_from: Some(from), prior_mean, unit, norm_bound, noise, kernel, .. } = &self.file else { return 0 };
        let premises = serde_json::json!([from, prior_mean, unit, norm_bound, noise, kernel]).to_string();
        taught::fingerprint(&premises)
    }

    /// Whether another study assumes the same, as numbers: what was measured in it has changed no premise. Kernels are compared between these settings, as length-scales are shares of ranges.
    pub(crate) fn assumes_the_same(&self, other: &Self, measured: &[(Vec<Value>, f64)]) -> bool {
        let numbers = |StudySpec { problem, .. }: &Self| {
            let (prior, longest) = (problem.prior(), problem.lengthscales().map(|lengths| lengths.norm_bound));
            let scales = [problem.norm_bound(), problem.ridge(), Some(prior.mean()), Some(prior.unit()), longest];
            (scales, problem.noise().cloned(), problem.unknown_level())
        };
        let kernels =
            |spec: &Self| [spec.problem.kernel().map(|k| k.value.clone()), spec.problem.lengthscales().map(|l| l.longest.clone())];
        let points = |setting: &Vec<Value>| Some((self.space.point(setting).ok()?, other.space.point(setting).ok()?));
        let (own, others): (Vec<_>, Vec<_>) = measured.iter().filter_map(|(setting, _)| points(setting)).take(PROBED).unzip();
        let between = |kernel: &Kernel, points: &[Vec<f64>]| -> Vec<f64> {
            let pairs = points.iter().map(|point| (&points[0], point)).chain(points.windows(2).map(|two| (&two[0], &two[1])));
            pairs.map(|(a, b)| kernel.value(a, b)).collect()
        };
        let alike = |pair: (Option<Kernel>, Option<Kernel>)| match pair {
            (Some(one), Some(two)) if own.len() > 1 => {
                between(&one, &own).iter().zip(between(&two, &others)).all(|(a, b)| (a - b).abs() <= 1e-9 * (a.abs() + b.abs()))
            }
            (one, two) => one == two,
        };
        self.space.names().eq(other.space.names())
            && numbers(self) == numbers(other)
            && kernels(self).into_iter().zip(kernels(other)).all(alike)
    }

    /// The kernel that this study would have with Matérn-5/2 of these length-scales, one for each parameter.
    pub(crate) fn matern(&self, lengths: &[(String, f64)], variance: f64) -> Result<Kernel> {
        assumptions::matern(&self.space, lengths, variance).map_err(|fault| located(fault, "", |_, _| None))
    }

    /// The same study with another seed.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.file.seed = Some(seed);
        self.problem = self.problem.with_seed(seed);
        self
    }

    pub(crate) fn objective(&self) -> Option<&ObjectiveTable> {
        self.file.objective.as_ref()
    }

    fn retries(&self) -> u32 {
        self.objective().and_then(|objective| objective.retries).unwrap_or(0)
    }

    /// Whether evaluations are tried again until they succeed while nobody says that they fail for reasons of their own: what succeeds is then selected by its value.
    pub(crate) fn selects_by_retries(&self) -> bool {
        self.retries() > 0 && self.problem.has_premises() && self.problem.failures() != Failures::Unrelated
    }

    /// A study that somebody declares now; [`Self::build`] also reads what older versions let pass.
    fn new(file: StudyFile, directory: &Path) -> std::result::Result<Self, Fault> {
        let spec = Self::build(file, directory)?;
        if spec.selects_by_retries() {
            let requirement = "0, or failures = \"unrelated\" declared: an evaluation that is tried again until it succeeds must fail for reasons that have nothing to do with its value";
            return Err(Fault::new(&["objective", "retries"], SpecProblem::Requirement { found: spec.retries().to_string(), requirement }));
        }
        searched::check_variables(&spec.file, &spec.space)?;
        Ok(spec)
    }

    fn build(mut file: StudyFile, directory: &Path) -> std::result::Result<Self, Fault> {
        policy::adopt_mode(&mut file)?;
        let space = searched::space(&mut file, directory)?;
        let plan = schedule::Plan::of(&file)?;
        let problem = assumptions::problem(&file, &space, plan.budget)?;
        let policy = policy::policy(&file, &problem, &plan)?;
        Strategy::new(problem.clone(), policy.clone()).map_err(Fault::core(&["strategy"]))?;
        searched::check_objective(&file, &space)?;
        let learnt_rows = taught::rows(&file)?;
        Ok(Self { file, space, problem, policy, learnt_rows })
    }
}

impl From<StudySpec> for StudyFile {
    fn from(spec: StudySpec) -> Self {
        spec.file
    }
}

impl TryFrom<StudyFile> for StudySpec {
    type Error = Error;
    fn try_from(file: StudyFile) -> Result<Self> {
        Self::build(file, Path::new(".")).map_err(|fault| located(fault, "", |_, _| None))
    }
}

impl JsonSchema for StudySpec {
    fn schema_name() -> Cow<'static, str> {
        "StudySpec".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        StudyFile::json_schema(generator)
    }
}

fn top(remedy: &'static str) -> Top {
    Top { is_key: |key| StudySpec::json_schema()["properties"].get(key).is_some(), remedy }
}

/// Text as editors should save it.
fn text_of(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
        io::Error::new(io::ErrorKind::InvalidData, format!("line {line} is not UTF-8 text: save the file as UTF-8"))
    })
}

fn located(fault: Fault, text: &str, offset: impl Fn(&str, &[String]) -> Option<usize>) -> Error {
    let place = (0..fault.path.len()).rev().find_map(|shorter| offset(text, &fault.path[..=shorter]));
    let place = place.map(|byte| TextPosition::at(text, byte));
    Error::Spec(Box::new(SpecError { file: None, key: fault.path.join("."), place, problem: fault.problem }))
}

/// Where the value of a key stands in a TOML text.
fn toml_offset(text: &str, path: &[String]) -> Option<usize> {
    let table = DeTable::parse(text).ok()?;
    let (first, rest) = path.split_first()?;
    let (key, mut value) = table.get_ref().get_key_value(first.as_str())?;
    let mut start = key.span().start;
    for step in rest {
        match value.get_ref() {
            DeValue::Table(inner) => {
                let (key, next) = inner.get_key_value(step.as_str())?;
                (start, value) = (key.span().start, next);
            }
            DeValue::Array(items) => {
                value = items.get(step.parse::<usize>().ok()?)?;
                start = value.span().start;
            }
            _ => return None,
        }
    }
    Some(start)
}
