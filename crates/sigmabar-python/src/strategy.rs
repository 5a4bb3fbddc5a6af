//! Runs: ask, tell, recommend.

use crate::arrays::{Rows, from_indices, from_points};
use crate::claim::label_name;
use crate::domain::PyDomain;
use crate::error::{raise, unknown};
use crate::handed::{Handed, natural};
use crate::kernel::PyKernel;
use crate::noise::PyNoise;
use crate::policy::policy;
use crate::posterior::collected;
use crate::work;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use sigmabar::{
    BatchReport, Cell, Direction, Outcome, Points, Prior, Problem, Recommendation, StillPossible, Strategy, Survivors, Trial, TrialState,
};
use std::sync::mpsc::SendError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Vector<'py> = Bound<'py, PyArray1<f64>>;
type Grid<'py> = Bound<'py, PyArray2<f64>>;
/// Ids, batch, candidates (−1 where there is none) and points in the user's values.
type Asked<'py> = (Vec<u64>, usize, Bound<'py, PyArray1<i64>>, Grid<'py>);
/// Point, candidate, lower, upper, gap, label and reasons.
type Advice<'py> = (Grid<'py>, Option<usize>, f64, f64, f64, &'static str, Vec<String>);
/// Planned, measured, survivors, gap, its label and inducing points of a batch.
type Report = (usize, usize, Option<Left>, Option<f64>, Option<&'static str>, Option<usize>);
/// So many candidates, or this share of the domain.
#[derive(IntoPyObject)]
enum Left {
    Candidates(usize),
    Share(f64),
}

impl From<StillPossible> for Left {
    fn from(left: StillPossible) -> Self {
        match left {
            StillPossible::Candidates(count) => Self::Candidates(count),
            other => Self::Share(other.number()),
        }
    }
}

/// Numbers of candidates, corners of cells, or points.
type Possible<'py> = (Option<Bound<'py, PyArray1<i64>>>, Option<(Grid<'py>, Grid<'py>)>, Option<Grid<'py>>);
/// Id, batch, candidate, state, value and standard error of a trial.
type TrialParts = (u64, usize, Option<usize>, &'static str, Option<f64>, Option<f64>);

/// A run.
#[pyclass(frozen, name = "Strategy", module = "sigmabar._core")]
pub struct PyStrategy {
    /// Only locked on working threads: whoever waits for it holds no lock of the interpreter.
    inner: Arc<Mutex<Handed>>,
    facts: Facts,
}

/// What never changes in a run, and so needs no waiting for.
struct Facts {
    name: &'static str,
    budget: usize,
    is_maximised: bool,
    columns: usize,
}

impl From<Handed> for PyStrategy {
    fn from(run: Handed) -> Self {
        let (policy, problem) = (run.strategy.policy(), run.strategy.problem());
        let facts = Facts {
            name: policy.name(),
            budget: problem.budget(),
            is_maximised: problem.direction() == Direction::Maximize,
            columns: problem.domain().dim(),
        };
        Self { inner: Arc::new(Mutex::new(run)), facts }
    }
}

impl From<Strategy> for PyStrategy {
    fn from(strategy: Strategy) -> Self {
        Handed::from(strategy).into()
    }
}

/// What is assumed about the problem.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ProblemOptions<'py> {
    kernel: Option<PyRef<'py, PyKernel>>,
    tau: Option<f64>,
    norm_bound: Option<f64>,
    noise: Option<PyRef<'py, PyNoise>>,
    budget: usize,
    delta: f64,
    seed: u64,
    direction: String,
    mean: f64,
    unit: f64,
    stop_at_gap: Option<f64>,
    informative_failures: bool,
}

impl ProblemOptions<'_> {
    fn problem(&self, domain: &PyDomain) -> PyResult<Problem> {
        let direction = match self.direction.as_str() {
            "maximize" => Direction::Maximize,
            "minimize" => Direction::Minimize,
            other => return Err(unknown("direction", other, &["maximize", "minimize"])),
        };
        self.assumptions(Problem::new(domain.inner.clone(), self.budget).map_err(raise)?.with_direction(direction)).map_err(raise)
    }

    fn assumptions(&self, problem: Problem) -> sigmabar::Result<Problem> {
        let mut problem = problem.with_delta(self.delta)?.with_seed(self.seed).with_prior(Prior::declared(self.mean, self.unit)?);
        if let Some(kernel) = &self.kernel {
            problem = problem.with_kernel(kernel.inner.clone())?;
        }
        if let Some(tau) = self.tau {
            problem = problem.with_ridge(tau)?;
        }
        if let Some(bound) = self.norm_bound {
            problem = problem.with_norm_bound(bound)?;
        }
        if let Some(noise) = &self.noise {
            problem = problem.with_noise(noise.inner.clone())?;
        }
        if let Some(gap) = self.stop_at_gap {
            problem = problem.with_wanted_gap(gap)?;
        }
        Ok(if self.informative_failures { problem.with_informative_failures() } else { problem })
    }
}

impl PyStrategy {
    fn lock(inner: &Mutex<Handed>) -> MutexGuard<'_, Handed> {
        inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Works on the run, one call at a time.
    fn with<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Strategy) -> sigmabar::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let inner = Arc::clone(&self.inner);
        work::run(py, move || work(&mut Self::lock(&inner).strategy))
    }
}

#[pymethods]
impl PyStrategy {
    #[new]
    fn new(py: Python<'_>, name: &str, domain: &PyDomain, problem: ProblemOptions<'_>, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let (policy, problem) = (policy(name, problem.budget, options)?, problem.problem(domain)?);
        work::run(py, move || Strategy::new(problem, policy)).map(Self::from)
    }

    /// Trials, an empty list while everything is handed out, or `None` at the end.
    fn ask<'py>(&self, py: Python<'py>, at_most: Option<usize>) -> PyResult<Option<Asked<'py>>> {
        let inner = Arc::clone(&self.inner);
        let found = work::answering(py, move |answer| {
            // Locked until the answer is with the caller: nobody sees trials as handed out that may yet come back.
            let mut run = Self::lock(&inner);
            let found = run.ask(at_most.unwrap_or(usize::MAX));
            if let Err(SendError(Ok(Some((trials, _))))) = answer.send(found) {
                run.keep(&trials);
            }
        })?;
        let Some((trials, points)) = found else { return Ok(None) };
        let points = match points {
            Some(points) => from_points(py, points.view())?,
            None => PyArray2::zeros(py, [0, self.facts.columns], false),
        };
        let candidates: Vec<i64> = trials.iter().map(|t| t.candidate.map_or(-1, |c| c as i64)).collect();
        let batch = trials.first().map_or(0, |t| t.batch);
        Ok(Some((trials.iter().map(|t| t.id).collect(), batch, PyArray1::from_vec(py, candidates), points)))
    }

    /// Results: a value, a value with its standard error, or `None` for a failure. All or none.
    fn tell(&self, py: Python<'_>, results: Vec<(u64, Option<f64>, Option<f64>)>) -> PyResult<()> {
        let results = results.into_iter().map(|(id, value, error)| (id, outcome(value, error))).collect();
        let inner = Arc::clone(&self.inner);
        work::run(py, move || Self::lock(&inner).tell(results))
    }

    fn close_batch(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, Strategy::close_batch)
    }

    fn set_context(&self, py: Python<'_>, context: Vec<f64>) -> PyResult<()> {
        self.with(py, move |run| run.set_context(&context))
    }

    fn recommend<'py>(&self, py: Python<'py>) -> PyResult<Option<Advice<'py>>> {
        let advice = self.with(py, |run| {
            let Some(advice) = run.recommend()? else { return Ok(None) };
            let encoded = Points::from_rows(&[&advice.point])?;
            Ok(Some((run.problem().domain().decode(encoded.view())?, advice)))
        })?;
        let Some((point, Recommendation { candidate, lower, upper, gap, label, reasons, .. })) = advice else { return Ok(None) };
        let reasons = reasons.iter().map(ToString::to_string).collect();
        Ok(Some((from_points(py, point.view())?, candidate, lower, upper, gap, label_name(label), reasons)))
    }

    /// What is not ruled out: numbers of candidates, lower and upper corners of cells, or points that stand for the domain.
    fn survivors<'py>(&self, py: Python<'py>) -> PyResult<Option<Possible<'py>>> {
        let survivors = self.with(py, |run| {
            Ok(match run.survivors()? {
                Some(Survivors::Cells(cells)) => {
                    let corner = |of: fn(&Cell) -> &[f64]| Points::from_rows(&cells.iter().map(of).collect::<Vec<_>>());
                    Some((None, Some((corner(|cell| &cell.low)?, corner(|cell| &cell.high)?)), None))
                }
                Some(Survivors::Candidates(indices)) => Some((Some(indices), None, None)),
                Some(Survivors::Points(points)) => Some((None, None, Some(points))),
                _ => None,
            })
        })?;
        let Some((indices, corners, points)) = survivors else { return Ok(None) };
        let corners = corners.map(|(low, high)| PyResult::Ok((from_points(py, low.view())?, from_points(py, high.view())?)));
        let points = points.map(|points| from_points(py, points.view()));
        Ok(Some((indices.map(|indices| from_indices(py, &indices)), corners.transpose()?, points.transpose()?)))
    }

    /// A result measured before the run, at a point in the user's values; `adaptive` if it may have been chosen by looking at responses.
    fn attach(&self, py: Python<'_>, points: Rows, results: Vec<(Option<f64>, Option<f64>)>, how: &str) -> PyResult<()> {
        let how = collected(how)?;
        self.with(py, move |run| {
            // All or none: the points are checked on a copy first.
            let mut copy = run.clone();
            for (point, &(value, error)) in points.view()?.rows().zip(&results) {
                copy.attach(point, outcome(value, error), how)?;
            }
            *run = copy;
            Ok(())
        })
    }

    /// Mean and standard deviation of everything measured so far, at points in the user's values.
    fn posterior<'py>(&self, py: Python<'py>, x: Rows) -> PyResult<Option<(Vector<'py>, Vector<'py>)>> {
        let answer = self.with(py, move |run| match run.posterior()? {
            Some(posterior) => Ok(Some((posterior.mean(x.view()?)?, posterior.std_dev(x.view()?)?))),
            None => Ok(None),
        })?;
        Ok(answer.map(|(mean, deviation)| (mean.into_pyarray(py), deviation.into_pyarray(py))))
    }

    fn batches(&self, py: Python<'_>) -> PyResult<Vec<Report>> {
        let reports = self.with(py, |run| run.batches())?;
        Ok(reports
            .into_iter()
            .map(|r: BatchReport| (r.planned, r.measured, r.survivors.map(Left::from), r.gap, r.label.map(label_name), r.inducing))
            .collect())
    }

    /// All trials with their states.
    fn trials<'py>(&self, py: Python<'py>) -> PyResult<(Vec<TrialParts>, Option<Grid<'py>>)> {
        let (rows, points) = self.with(py, |run| {
            let ledger = run.ledger();
            let rows = ledger.trials().iter().zip(ledger.states()).map(|(trial, state)| parts(trial, *state)).collect::<Vec<_>>();
            let points = if rows.is_empty() { None } else { Some(natural(run, ledger.trials())?) };
            Ok((rows, points))
        })?;
        Ok((rows, points.map(|points| from_points(py, points.view())).transpose()?))
    }

    /// Name, budget, whether large values are wanted.
    fn facts(&self) -> (&'static str, usize, bool) {
        (self.facts.name, self.facts.budget, self.facts.is_maximised)
    }

    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let inner = Arc::clone(&self.inner);
        let bytes = work::run(py, move || Ok::<_, sigmabar::Error>(Self::lock(&inner).to_bytes()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[staticmethod]
    fn load(py: Python<'_>, bytes: Vec<u8>) -> PyResult<Self> {
        work::run(py, move || Handed::from_bytes(&bytes)).map(Self::from)
    }
}

fn outcome(value: Option<f64>, standard_error: Option<f64>) -> Outcome {
    match (value, standard_error) {
        (None, _) => Outcome::Failed,
        (Some(value), None) => Outcome::Value(value),
        (Some(mean), Some(standard_error)) => Outcome::Mean { mean, standard_error },
    }
}

fn parts(trial: &Trial, state: TrialState) -> TrialParts {
    let (name, outcome) = match state {
        TrialState::Queued => ("queued", None),
        TrialState::Asked => ("asked", None),
        TrialState::Told(outcome) => ("told", Some(outcome)),
        TrialState::Late(outcome) => ("late", Some(outcome)),
        _ => ("missing", None),
    };
    let (name, value, error) = match outcome {
        Some(Outcome::Value(value)) => (name, Some(value), None),
        Some(Outcome::Mean { mean, standard_error }) => (name, Some(mean), Some(standard_error)),
        Some(_) => ("failed", None, None),
        None => (name, None, None),
    };
    (trial.id, trial.batch, trial.candidate, name, value, error)
}
