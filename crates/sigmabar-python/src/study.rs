//! Studies: the same files as the command's.

use crate::certificate::certificate_json;
use crate::error::{contradicted, raise};
use crate::origin::collected;
use crate::strategy::PyStrategy;
use crate::work;
use pyo3::prelude::*;
use serde_json::{Map, Value as Json};
use sigmabar_study::{
    AskRequest, Asked, AskedTrial, Corrected, Error, ImportedRow, NO_RESULT, Pilot, Study, StudySpec, TrialResult, TrialRow, Value,
};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Settings as JSON; lower end, upper end, gap and gap among candidates; the certificate as JSON.
type Recommended = (String, (f64, f64, f64, Option<f64>), String);

/// One study of a file.
#[pyclass(frozen, name = "Study", module = "sigmabar._core")]
pub struct PyStudy {
    /// Only locked on working threads: whoever waits for it holds no lock of the interpreter.
    inner: Arc<Mutex<Opened>>,
    facts: Facts,
}

/// A study and the process that opened it.
struct Opened {
    study: Study,
    process: u32,
}

impl Opened {
    /// The study, opened anew in a process that was forked from the one that opened it: a connection to SQLite must not be shared, nor even closed, by both.
    fn here(&mut self) -> sigmabar_study::Result<&Study> {
        let process = std::process::id();
        if self.process != process {
            let fresh = Study::open(self.study.file(), Some(self.study.name()))?;
            std::mem::forget(std::mem::replace(&mut self.study, fresh));
            self.process = process;
        }
        Ok(&self.study)
    }
}

/// What never changes in a study, and so needs no waiting for.
struct Facts {
    name: String,
    file: PathBuf,
    parameters: Vec<String>,
}

/// A value and its standard error, or why there is none, and how many replicates it is the mean of.
type ResultParts = (Option<f64>, Option<f64>, Option<String>, Option<u32>);

impl From<Study> for PyStudy {
    fn from(study: Study) -> Self {
        let facts =
            Facts { name: study.name().to_owned(), file: study.file().to_owned(), parameters: study.spec().space().names().collect() };
        Self { inner: Arc::new(Mutex::new(Opened { study, process: std::process::id() })), facts }
    }
}

impl PyStudy {
    fn with<T, E>(&self, py: Python<'_>, work: impl FnOnce(&Study) -> Result<T, E> + Send + 'static) -> PyResult<T>
    where
        T: Send + 'static,
        E: Display + Send + 'static,
    {
        let inner = Arc::clone(&self.inner);
        work::run(py, move || {
            let mut opened = inner.lock().unwrap_or_else(PoisonError::into_inner);
            opened.here().map_err(|error| error.to_string()).and_then(|study| work(study).map_err(|error| error.to_string()))
        })
    }
}

/// A study file as text; `format` is "toml" or "json", and files named in it lie relative to `directory`.
fn parse(text: &str, format: &str, directory: &Path) -> sigmabar_study::Result<StudySpec> {
    if format == "json" { StudySpec::from_json(text, directory) } else { StudySpec::from_toml(text, directory) }
}

#[pymethods]
impl PyStudy {
    #[staticmethod]
    fn create(
        py: Python<'_>,
        file: PathBuf,
        name: String,
        text: String,
        format: String,
        directory: PathBuf,
        exist_ok: bool,
    ) -> PyResult<Self> {
        let study = work::run(py, move || {
            let spec = parse(&text, &format, &directory)?;
            if !exist_ok {
                return Study::create(&file, &name, &spec);
            }
            let (study, is_own) = Study::create_or_open(&file, &name, &spec)?;
            let is_same = is_own || study.spec().declares_the_same(&spec);
            if is_same { Ok(study) } else { Err(Error::StudyExists { file, name }) }
        });
        study.map(Self::from)
    }

    /// Replaces the result of a trial, or withdraws it where there is no other; when that came.
    fn correct(&self, py: Python<'_>, id: u64, parts: Option<ResultParts>, why: String) -> PyResult<&'static str> {
        let corrected = self.with(py, move |study| match parts {
            Some(parts) => study.replace(id, &result(parts), &why),
            None => study.withdraw(id, &why),
        })?;
        Ok(match corrected {
            Corrected::InTime => "in time",
            Corrected::AfterAnalysis => "after analysis",
            Corrected::Late => "late",
        })
    }

    /// Puts failures back into the queue.
    fn retry_failed(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        self.with(py, Study::retry_failed)
    }

    /// Goes on by an edited study file; the keys that were changed.
    fn amend(&self, py: Python<'_>, text: String, format: String, directory: PathBuf) -> PyResult<Vec<String>> {
        let inner = Arc::clone(&self.inner);
        work::run(py, move || {
            let mut opened = inner.lock().unwrap_or_else(PoisonError::into_inner);
            opened.here()?;
            opened.study.amend(&parse(&text, &format, &directory)?)
        })
    }

    #[staticmethod]
    fn open(py: Python<'_>, file: PathBuf, name: Option<String>) -> PyResult<Self> {
        work::run(py, move || Study::open(&file, name.as_deref())).map(Self::from)
    }

    #[staticmethod]
    fn names(file: PathBuf) -> PyResult<Vec<String>> {
        Study::names(&file).map_err(raise)
    }

    fn name(&self) -> &str {
        &self.facts.name
    }

    fn file(&self) -> &Path {
        &self.facts.file
    }

    /// The study file, which may have been amended.
    fn toml(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |study| Ok::<_, Error>(study.spec().to_toml()))
    }

    /// Trials as JSON objects, an empty list while all are leased, `None` at the end.
    fn ask(&self, py: Python<'_>, worker: String, at_most: usize, lease: f64, shown: bool) -> PyResult<Option<Vec<String>>> {
        let lease = Duration::try_from_secs_f64(lease).map_err(raise)?;
        let request = AskRequest { is_shown: shown, ..AskRequest::new(worker, at_most).with_lease(lease) };
        let asked = self.with(py, move |study| match study.ask(&request) {
            Err(Error::Contradicted(contradiction)) => Ok(Err(contradiction)),
            other => other.map(Ok),
        })?;
        Ok(match asked.map_err(|contradiction| contradicted(&contradiction, "study.go_on_despite_contradiction()"))? {
            Asked::Trials(trials) => Some(trials.into_iter().map(trial_json).collect()),
            Asked::Wait => Some(Vec::new()),
            Asked::Finished => None,
        })
    }

    /// For each result whether it counted, or came after its batch was closed.
    fn tell(&self, py: Python<'_>, results: Vec<(u64, ResultParts)>, sure: bool) -> PyResult<Vec<bool>> {
        let results: Vec<(u64, TrialResult)> = results.into_iter().map(|(id, parts)| (id, result(parts))).collect();
        let told = self.with(py, move |study| {
            if !sure {
                study.refuse_mistyped(&results).map_err(|error| match error {
                    Error::Mistyped { .. } => format!("{error}: sure=True says that it was measured"),
                    _ => error.to_string(),
                })?;
            }
            study.tell_all(&results).map_err(said)
        })?;
        Ok(told.into_iter().map(|told| !told.is_late()).collect())
    }

    /// Lets the study go on although its premises are refuted.
    fn go_on_despite_contradiction(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, Study::go_on_despite_contradiction)
    }

    fn close_batch(&self, py: Python<'_>, even_unseen: bool) -> PyResult<()> {
        self.with(py, if even_unseen { Study::close_batch_unseen } else { Study::close_batch })
    }

    /// A result that may come after that of another worker: the one that was told first stands.
    fn settle(&self, py: Python<'_>, id: u64, parts: ResultParts) -> PyResult<()> {
        self.with(py, move |study| match study.tell(id, result(parts)) {
            Ok(_) | Err(Error::AlreadyTold { .. }) => Ok(()),
            Err(error) => Err(error),
        })
    }

    /// Keeps a trial with its worker for so many seconds more; false if the worker does not have it any more.
    fn renew(&self, py: Python<'_>, id: u64, worker: String, lease: f64) -> PyResult<bool> {
        let lease = Duration::try_from_secs_f64(lease).map_err(raise)?;
        self.with(py, move |study| study.renew(id, &worker, lease))
    }

    /// Puts a trial back into the queue, if it is still this worker's; whether its evaluation never began.
    fn give_back(&self, py: Python<'_>, id: u64, worker: String, unseen: bool) -> PyResult<()> {
        self.with(py, move |study| if unseen { study.release_unseen(id, &worker) } else { study.release(id, &worker) })
    }

    fn reap(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        self.with(py, Study::reap)
    }

    /// Old results: settings as JSON lists in the order of the parameters.
    fn import_rows(&self, py: Python<'_>, rows: Vec<(String, ResultParts)>, how: Option<&str>) -> PyResult<usize> {
        let rows = rows.into_iter().map(imported).collect::<PyResult<Vec<_>>>()?;
        let how = collected(how)?;
        self.with(py, move |study| study.import_as(&rows, how))
    }

    /// Names of the parameters.
    fn parameters(&self) -> Vec<String> {
        self.facts.parameters.clone()
    }

    fn trials(&self, py: Python<'_>) -> PyResult<String> {
        let rows = self.with(py, |study| {
            let called = |row: &TrialRow| study.spec().space().label(&row.values);
            study.trials().map(|rows| rows.into_iter().map(|row| (called(&row), row)).collect::<Vec<_>>())
        })?;
        let row = |(called, row)| {
            let mut row = serde_json::to_value::<TrialRow>(row)?;
            row["called"] = Json::from(called);
            Ok(row)
        };
        let rows: Vec<Json> = rows.into_iter().map(row).collect::<serde_json::Result<_>>().map_err(raise)?;
        serde_json::to_string(&rows).map_err(raise)
    }

    fn batches(&self, py: Python<'_>) -> PyResult<String> {
        let rows = self.with(py, Study::batches)?;
        serde_json::to_string(&rows).map_err(raise)
    }

    fn status(&self, py: Python<'_>) -> PyResult<String> {
        let status = self.with(py, Study::status)?;
        let mut shown = serde_json::to_value(&status).map_err(raise)?;
        // In words, as a server and a certificate say it.
        shown["contradiction"] = Json::from(status.contradiction.map(|contradiction| contradiction.to_string()));
        Ok(shown.to_string())
    }

    /// The advice as JSON, with its gap and certificate apart: JSON has no infinity.
    fn recommend(&self, py: Python<'_>) -> PyResult<Option<Recommended>> {
        let Some(advice) = self.with(py, Study::recommend)? else { return Ok(None) };
        let mut values = Map::new();
        values.insert("values".into(), setting_json(&advice.values));
        values.insert("called".into(), Json::from(advice.called.clone()));
        if let Some(best) = &advice.best_observed {
            let best = [("id", Json::from(best.id)), ("values", setting_json(&best.values)), ("value", Json::from(best.value))];
            values.insert("best_observed".into(), best.into_iter().map(|(key, value)| (key.to_owned(), value)).collect());
        }
        let numbers = (advice.lower, advice.upper, advice.gap, advice.candidate_gap);
        Ok(Some((Json::from(values).to_string(), numbers, certificate_json(&advice.certificate)?)))
    }

    /// The claim about the setting as it can be made, as a function of its premises.
    fn standing(&self, py: Python<'_>) -> PyResult<Option<String>> {
        Ok(self.with(py, Study::standing)?.map(|standing| serde_json::json!(standing).to_string()))
    }

    /// How the data contradict the premises, if they do.
    fn contradiction(&self, py: Python<'_>) -> PyResult<Option<String>> {
        Ok(self.with(py, Study::strategy)?.contradiction().map(|contradiction| contradiction.to_string()))
    }

    /// The same under other length-scales.
    fn premise_map(&self, py: Python<'_>, factors: Vec<f64>) -> PyResult<String> {
        Ok(serde_json::json!(self.with(py, move |study| study.premise_map(&factors))?).to_string())
    }

    /// The run with everything told so far.
    fn strategy(&self, py: Python<'_>) -> PyResult<PyStrategy> {
        self.with(py, Study::strategy).map(PyStrategy::from)
    }
}

/// A study file in JSON, and results of before: settings as JSON lists in the order of the parameters.
fn pilot(text: &str, rows: Vec<(String, f64)>) -> Result<(StudySpec, Pilot), String> {
    let row = |(values, value): (String, f64)| {
        let result = TrialResult::Value { value, standard_error: None, replicates: None };
        serde_json::from_str(&values).map(|values| ImportedRow::new(values, result))
    };
    let rows = rows.into_iter().map(row).collect::<Result<Vec<_>, _>>().map_err(said)?;
    let spec = StudySpec::from_json(text, Path::new(".")).map_err(said)?;
    let pilot = Pilot::new(&spec, &rows, "the table").map_err(said)?;
    Ok((spec, pilot))
}

fn said(error: impl Display) -> String {
    error.to_string()
}

/// Premises that results suggest, as JSON: the keys of a study file, the least norm, and the lines of a study file. `source` is where the results come from, none for a pilot.
#[pyfunction]
pub fn learn_premises(py: Python<'_>, text: String, rows: Vec<(String, f64)>, source: Option<String>, seed: u64) -> PyResult<String> {
    work::run(py, move || {
        let pilot = pilot(&text, rows)?.1;
        let learnt = pilot.learn(false, seed).map_err(said)?;
        let (lines, keys) = (learnt.to_toml(source.as_deref().map(Path::new)), learnt.keys(source.as_deref()));
        let drawn = pilot.functions(&learnt, seed).map_err(said)?;
        let functions = drawn.map(|d| serde_json::json!({ "along": d.along, "choices": d.choices, "values": d.functions }));
        let found = serde_json::json!({
            "keys": keys, "least_norm": learnt.least_norm, "results": learnt.results, "lines": lines, "untaught": learnt.untaught, "functions": functions,
        });
        Ok::<_, String>(found.to_string())
    })
}

/// The length-scale of a parameter with choices, in a list or in a product, at which values under two of them correlate so much.
#[pyfunction]
pub fn choice_length(is_list: bool, alike: f64) -> PyResult<f64> {
    sigmabar_study::choice_length(is_list, alike).map_err(raise)
}

/// What results say about the premises of a study file: the least norm, that of what fits best, and the one that is suggested.
#[pyfunction]
pub fn judge_premises(py: Python<'_>, text: String, rows: Vec<(String, f64)>) -> PyResult<Option<(f64, f64, f64)>> {
    let verdict = work::run(py, move || {
        let (spec, pilot) = pilot(&text, rows)?;
        pilot.judge(spec.problem()).map_err(said)
    })?;
    Ok(verdict.map(|v| (v.least_norm, v.norm, v.suggested)))
}

/// The JSON Schema of study files.
#[pyfunction]
pub fn study_schema() -> String {
    StudySpec::json_schema().to_string()
}

fn result((value, standard_error, reason, replicates): ResultParts) -> TrialResult {
    match value {
        Some(value) => TrialResult::Value { value, standard_error, replicates },
        None => TrialResult::Failed { reason: reason.unwrap_or_else(|| NO_RESULT.to_owned()) },
    }
}

fn imported((values, parts): (String, ResultParts)) -> PyResult<ImportedRow> {
    Ok(ImportedRow::new(serde_json::from_str(&values).map_err(raise)?, result(parts)))
}

fn setting_json(values: &[(String, Value)]) -> Json {
    values.iter().map(|(name, value)| (name.clone(), serde_json::json!(value))).collect::<Map<String, Json>>().into()
}

fn trial_json(trial: AskedTrial) -> String {
    let mut object = Map::new();
    object.insert("id".into(), trial.id.into());
    object.insert("batch".into(), trial.batch.into());
    object.insert("params".into(), setting_json(&trial.values));
    object.insert("seed".into(), trial.seed.into());
    object.insert("leased_until".into(), trial.leased_until.into());
    Json::from(object).to_string()
}
