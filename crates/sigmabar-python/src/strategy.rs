//! Runs: ask, tell, recommend.

use crate::arrays::{Rows, from_indices, from_points};
use crate::certificate::certificate_json;
use crate::domain::PyDomain;
use crate::error::{contradicted, raise, unknown};
use crate::handed::{Found, Handed, natural};
use crate::kernel::PyKernel;
use crate::noise::PyNoise;
use crate::origin::{Number, collected, failures};
use crate::policy::policy;
use crate::work;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use sigmabar::points::Seen;
use sigmabar::strategy::{BatchReport, Cell, Direction, StillPossible, Survivors, Trial, TrialState};
use sigmabar::{Collected, Outcome, Points, PointsRef, Prior, Problem, Recommendation, Strategy};
use std::sync::mpsc::SendError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Vector<'py> = Bound<'py, PyArray1<f64>>;
type Grid<'py> = Bound<'py, PyArray2<f64>>;
/// Ids, batch, candidates (−1 where there is none) and points in the user's values.
type Asked<'py> = (Vec<u64>, usize, Bound<'py, PyArray1<i64>>, Grid<'py>);
/// Point, candidate, lower, upper, gap, gap among candidates, and the certificate as JSON.
type Advice<'py> = (Grid<'py>, Option<usize>, f64, f64, f64, Option<f64>, String);
/// Planned, measured, survivors, gap, gap among candidates, certificate as JSON and inducing points of a batch.
type Report = (usize, usize, Option<Left>, Option<f64>, Option<f64>, Option<String>, Option<usize>);
/// A value, its standard error, and how many replicates it is the mean of.
type ResultParts = (Option<f64>, Option<f64>, Option<u32>);
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
    /// The rows that the premises were learnt on.
    seen: Seen,
}

impl From<Handed> for PyStrategy {
    fn from(run: Handed) -> Self {
        let (policy, problem) = (run.strategy.policy(), run.strategy.problem());
        let facts = Facts {
            name: policy.name(),
            budget: problem.budget(),
            is_maximised: problem.direction() == Direction::Maximize,
            columns: problem.domain().dim(),
            seen: Seen::default(),
        };
        Self { inner: Arc::new(Mutex::new(run)), facts }
    }
}

impl From<Strategy> for PyStrategy {
    fn from(strategy: Strategy) -> Self {
        Handed::from(strategy).into()
    }
}

/// What is assumed about the function and its noise.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct PremiseOptions<'py> {
    kernel: Option<PyRef<'py, PyKernel>>,
    shortest: Option<PyRef<'py, PyKernel>>,
    tau: Option<Number>,
    norm_bound: Option<Number>,
    noise: Option<PyRef<'py, PyNoise>>,
    mean: Number,
    unit: Number,
}

/// The rest of the problem.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ProblemOptions {
    budget: usize,
    delta: f64,
    seed: u64,
    direction: String,
    stop_at_gap: Option<f64>,
    stop_at_candidate_gap: Option<f64>,
    failures: Option<String>,
}

impl ProblemOptions {
    fn problem(&self, domain: &PyDomain) -> PyResult<Problem> {
        let direction = match self.direction.as_str() {
            "maximize" => Direction::Maximize,
            "minimize" => Direction::Minimize,
            other => return Err(unknown("direction", other, &["maximize", "minimize"])),
        };
        let problem = Problem::new(domain.inner.clone(), self.budget).map_err(raise)?.with_direction(direction);
        self.stopping(problem.with_failures(failures(self.failures.as_deref())?)).map_err(raise)
    }

    fn stopping(&self, problem: Problem) -> sigmabar::Result<Problem> {
        let mut problem = problem.with_delta(self.delta)?.with_seed(self.seed);
        if let Some(gap) = self.stop_at_gap {
            problem = problem.with_wanted_gap(gap)?;
        }
        Ok(match self.stop_at_candidate_gap {
            Some(gap) => problem.with_wanted_candidate_gap(gap)?,
            None => problem,
        })
    }
}

impl PremiseOptions<'_> {
    /// A problem with these premises and no others.
    fn given(&self, problem: Problem) -> sigmabar::Result<Problem> {
        let mut problem = problem.without_premises().with_prior(self.prior()?);
        if let Some(kernel) = &self.kernel {
            problem = problem.with_kernel(kernel.inner.clone())?;
        }
        if let Some(tau) = &self.tau {
            problem = problem.with_ridge(tau.value)?;
        }
        if let Some(bound) = &self.norm_bound {
            problem = problem.with_norm_bound(bound.value)?;
        }
        if let Some(shortest) = &self.shortest {
            problem = problem.with_lengthscales_at_least(shortest.inner.value.clone())?;
        }
        if let Some(noise) = &self.noise {
            problem = match noise.unknown {
                Some(each) => problem.with_unknown_level(noise.inner.level(), each)?,
                None => problem.with_noise(noise.on(&Seen::default()))?,
            };
        }
        Ok(problem)
    }

    fn prior(&self) -> sigmabar::Result<Prior> {
        let (mean, unit) = (self.mean.value, self.unit.value);
        Ok(Prior::declared(mean.value, unit.value)?.with_origin(mean.origin.max(unit.origin)))
    }

    /// The rows that any of it was learnt on.
    fn seen(&self) -> Seen {
        let numbers = [self.tau.as_ref(), self.norm_bound.as_ref(), Some(&self.mean), Some(&self.unit)];
        let learnt = numbers.into_iter().flatten().map(|number| &number.seen);
        let learnt = learnt.chain(self.kernel.as_ref().map(|k| &k.seen)).chain(self.noise.as_ref().map(|n| &n.seen));
        learnt.fold(Seen::default(), |all, seen| all.with(seen))
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
    fn new(
        py: Python<'_>,
        name: &str,
        domain: &PyDomain,
        problem: ProblemOptions,
        premises: PremiseOptions<'_>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let policy = policy(name, problem.budget, options)?;
        let (seen, problem) = (premises.seen(), premises.given(problem.problem(domain)?).map_err(raise)?);
        let mut run = Self::from(work::run(py, move || Strategy::new(problem, policy))?);
        run.facts.seen = seen;
        Ok(run)
    }

    /// Trials, an empty list while everything is handed out, or `None` at the end.
    fn ask<'py>(&self, py: Python<'py>, at_most: Option<usize>) -> PyResult<Option<Asked<'py>>> {
        let inner = Arc::clone(&self.inner);
        let found = work::answering(py, move |answer| {
            // Locked until the answer is with the caller: nobody sees trials as handed out that may yet come back.
            let mut run = Self::lock(&inner);
            let found = run.ask(at_most.unwrap_or(usize::MAX));
            if let Err(SendError(Ok(Found::Trials(trials, _)))) = answer.send(found) {
                run.keep(&trials);
            }
        })?;
        let (trials, points) = match found {
            Found::Trials(trials, points) => (trials, from_points(py, points.view())?),
            Found::Wait => (Vec::new(), PyArray2::zeros(py, [0, self.facts.columns], false)),
            Found::Over => return Ok(None),
            Found::Contradicted(contradiction) => return Err(contradicted(&contradiction, "strategy.go_on_despite_contradiction()")),
        };
        let candidates: Vec<i64> = trials.iter().map(|t| t.candidate.map_or(-1, |c| c as i64)).collect();
        let batch = trials.first().map_or(0, |t| t.batch);
        Ok(Some((trials.iter().map(|t| t.id).collect(), batch, PyArray1::from_vec(py, candidates), points)))
    }

    /// Results: a value, a value with its standard error and number of replicates, or `None` for a failure. All or none. Returns how the data contradict the
    /// premises, if they do.
    fn tell(&self, py: Python<'_>, results: Vec<(u64, ResultParts)>) -> PyResult<Option<String>> {
        let results = results.into_iter().map(|(id, parts)| (id, outcome(parts))).collect();
        let inner = Arc::clone(&self.inner);
        work::run(py, move || {
            let mut run = Self::lock(&inner);
            run.tell(results)?;
            Ok::<_, sigmabar::Error>(run.strategy.contradiction().map(|c| c.to_string()))
        })
    }

    /// Other premises, until the batch after the pilot is planned.
    fn fix_premises(&self, py: Python<'_>, premises: PremiseOptions<'_>) -> PyResult<()> {
        let problem = self.with(py, |run| Ok(run.problem().clone()))?;
        let problem = premises.given(problem).map_err(raise)?;
        self.with(py, move |run| run.fix_premises(problem))
    }

    /// What the first batch spends on replicates, in words.
    fn repeats(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.with(py, |run| Ok(run.repeats().map(|r| r.to_string())))
    }

    /// How the data contradict the premises, if they do.
    fn contradiction(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.with(py, |run| Ok(run.contradiction().map(|c| c.to_string())))
    }

    /// Lets the run go on although its premises are refuted.
    fn go_on_despite_contradiction(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, |run| {
            run.go_on_despite_contradiction();
            Ok(())
        })
    }

    fn close_batch(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, Strategy::close_batch)
    }

    fn set_context(&self, py: Python<'_>, context: Vec<f64>) -> PyResult<()> {
        self.with(py, move |run| run.set_context(&context))
    }

    fn recommend<'py>(&self, py: Python<'py>) -> PyResult<Option<Advice<'py>>> {
        let advice = self.with(py, |run| {
            let Some(advice) = run.recommend_with_range()? else { return Ok(None) };
            let encoded = Points::from_rows(&[&advice.point])?;
            Ok(Some((run.problem().domain().decode(encoded.view())?, advice)))
        })?;
        let Some((point, Recommendation { candidate, lower, upper, gap, candidate_gap, certificate, .. })) = advice else {
            return Ok(None);
        };
        Ok(Some((from_points(py, point.view())?, candidate, lower, upper, gap, candidate_gap, certificate_json(&certificate)?)))
    }

    /// The claim as a function of the norm bound, as JSON.
    fn standing(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let standing = self.with(py, |run| run.standing())?;
        Ok(standing.map(|standing| serde_json::to_string(&standing).expect("plain numbers and lists always serialise")))
    }

    /// The same with all length-scales multiplied by each factor, as JSON.
    fn premise_map(&self, py: Python<'_>, factors: Vec<f64>) -> PyResult<String> {
        let rows = self.with(py, move |run| run.premise_map(&factors))?;
        Ok(serde_json::to_string(&rows).expect("plain numbers and lists always serialise"))
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

    /// Results measured before the run, at points in the user's values. Those that premises were learnt on cannot also be what a certificate is about: nobody
    /// vouches for them.
    fn attach(&self, py: Python<'_>, points: Rows, results: Vec<ResultParts>, how: Option<&str>) -> PyResult<()> {
        let (how, seen) = (collected(how)?, self.facts.seen.clone());
        self.with(py, move |run| {
            let values: Vec<f64> = results.iter().map(|(value, ..)| value.unwrap_or(f64::NAN)).collect();
            let meets = |x: PointsRef<'_>| seen.meets(&Seen::of(x, &values));
            let encoded = run.problem().domain().encode(points.view()?);
            let is_seen = meets(points.view()?) || encoded.is_ok_and(|x| meets(x.view()));
            let how = if is_seen { Collected::Undeclared } else { how };
            // All or none: the points are checked on a copy first.
            let mut copy = run.clone();
            for (point, &parts) in points.view()?.rows().zip(&results) {
                copy.attach(point, outcome(parts), how)?;
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
        let parts = |r: BatchReport| {
            let certificate = r.certificate.as_ref().map(certificate_json).transpose()?;
            Ok((r.planned, r.measured, r.survivors.map(Left::from), r.gap, r.candidate_gap, certificate, r.inducing))
        };
        reports.into_iter().map(parts).collect()
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

    /// The run as bytes, with what is said of its domain.
    fn save<'py>(&self, py: Python<'py>, domain: String) -> PyResult<Bound<'py, PyBytes>> {
        let inner = Arc::clone(&self.inner);
        let bytes = work::run(py, move || Ok::<_, sigmabar::Error>(Self::lock(&inner).to_bytes(&domain)))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// A run with what was said of its domain.
    #[staticmethod]
    fn load(py: Python<'_>, bytes: Vec<u8>) -> PyResult<(Self, String)> {
        let (run, domain) = work::run(py, move || Handed::from_bytes(&bytes))?;
        Ok((Self::from(run), domain))
    }
}

fn outcome((value, standard_error, replicates): ResultParts) -> Outcome {
    match (value, standard_error) {
        (None, _) => Outcome::Failed,
        (Some(value), None) => Outcome::Value(value),
        (Some(mean), Some(standard_error)) => Outcome::Mean { mean, standard_error, replicates },
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
        Some(Outcome::Mean { mean, standard_error, .. }) => (name, Some(mean), Some(standard_error)),
        Some(_) => ("failed", None, None),
        None => (name, None, None),
    };
    (trial.id, trial.batch, trial.candidate, name, value, error)
}
