//! Sums over rows: plans, leaves and what is merged of them.

use crate::arrays::{Rows, vector};
use crate::error::raise;
use crate::inducing::{InducingParts, inducing_on};
use crate::kernel::PyKernel;
use crate::origin::{Number, collected};
use crate::posterior::PyPosterior;
use crate::work;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sigmabar::accumulator::{Accumulator, Digest, Picked, Plan, Road, RowPlace, SumsError};
use sigmabar::evidence::{EvidenceGradient, Learning, Slope, SlopeSums, climb_all_rows};
use sigmabar::points::Seen;
use sigmabar::{Kernel, Observations, Origin, Posterior, Prior, Sourced};
use sigmabar_cli::rows;
use std::cell::RefCell;
use std::sync::Arc;

/// Inducing points that claims look ahead with.
const AHEAD: usize = 64;

/// Rows known by their hashes: seed, and the last hash with its chunk and row.
type PickedParts = (u64, u64, u64, u64);

/// What is to be summed.
#[pyclass(frozen, name = "Plan", module = "sigmabar._core")]
pub struct PyPlan {
    plan: Arc<Plan>,
    /// What the command remarks in its plan files: where the rows are.
    remark: String,
    learnt_on: Seen,
}

/// Sums of some chunks.
#[pyclass(frozen, name = "Accumulator", module = "sigmabar._core")]
pub struct PyAccumulator {
    sums: Arc<Accumulator>,
}

#[pymethods]
impl PyPlan {
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "called from the Python face only")]
    fn of(
        kernel: &PyKernel,
        tau: Number,
        inducing: InducingParts,
        chunks: Vec<Option<u64>>,
        data: &str,
        centre: f64,
        prior: Option<(Number, Number)>,
        how: (Option<String>, bool),
        left_out: Vec<PickedParts>,
        road: Option<&str>,
        worst: usize,
        drop_missing: bool,
        look_ahead: Option<Rows>,
    ) -> PyResult<Self> {
        let learnt_on = kernel.seen.with(&tau.seen).with(&Seen::from(inducing.2.clone()));
        let learnt_on = prior.iter().fold(learnt_on, |all, (mean, unit)| all.with(&mean.seen).with(&unit.seen));
        let plan = Plan::new(kernel.inner.clone(), inducing_on(inducing, &Seen::default())?, tau.value, chunks).map_err(raise)?;
        let mut plan = plan.data(data).centre(centre).map_err(raise)?.worst(worst).drop_missing(drop_missing);
        plan = match road {
            None => plan,
            Some("gram") => plan.road(Road::Gram),
            Some("orthogonal") => plan.road(Road::Orthogonal),
            Some(other) => return Err(crate::error::unknown("road", other, &["gram", "orthogonal"])),
        };
        for (seed, hash, chunk, row) in left_out {
            plan = plan.leave_out(Picked::through(seed, hash, RowPlace { chunk, row }));
        }
        if let Some((mean, unit)) = prior {
            let declared = Prior::declared(mean.value.value, unit.value.value).map_err(raise)?;
            plan.prior = Some(declared.with_origin(mean.value.origin.max(unit.value.origin)));
        }
        plan.collected = collected(how.0.as_deref())?;
        plan.distinct_rows = how.1;
        plan.learnt_on = learnt_on.hashes().to_vec();
        if let Some(sample) = look_ahead {
            plan = plan.look_ahead(sample.to_points().map_err(raise)?, AHEAD).map_err(raise)?;
        }
        Ok(Self { plan: Arc::new(plan), remark: String::new(), learnt_on })
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: Vec<u8>) -> PyResult<Self> {
        let read = move || Plan::from_bytes_with(&bytes).map(|(plan, remark)| (plan, remark.to_owned()));
        let (plan, remark) = work::run(py, read)?;
        Ok(Self { learnt_on: plan.learnt_on.clone().into(), plan: Arc::new(plan), remark })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.plan.to_bytes_with(&self.remark))
    }

    fn remark(&self) -> &str {
        &self.remark
    }

    /// The plan with what the rows of each chunk were at the first pass, by [`digest`]: others are refused.
    fn with_digests(&self, digests: Vec<u64>) -> PyResult<Self> {
        let plan = Plan::clone(&self.plan).digests(digests.into_iter().map(Digest::from).collect()).map_err(raise)?;
        Ok(Self { plan: Arc::new(plan), remark: self.remark.clone(), learnt_on: self.learnt_on.clone() })
    }

    /// Rows of each chunk, where they are known.
    fn chunks(&self) -> Vec<Option<u64>> {
        self.plan.chunks().to_vec()
    }

    /// Inducing points, columns, and the road.
    fn sizes(&self) -> (usize, usize, &'static str) {
        let road = if self.plan.road_taken() == Road::Orthogonal { "orthogonal" } else { "gram" };
        (self.plan.features().len(), self.plan.inducing().dim(), road)
    }

    /// The sums of one chunk whose rows are here.
    fn leaf(&self, py: Python<'_>, chunk: u64, x: Rows, y: &Bound<'_, PyArray1<f64>>) -> PyResult<PyAccumulator> {
        let (plan, y) = (Arc::clone(&self.plan), vector(y)?);
        work::run(py, move || {
            let mut leaf = plan.leaf(chunk)?;
            leaf.add(x.values(), &y)?;
            leaf.finish().map(PyAccumulator::new)
        })
    }

    /// The sums of chunks whose rows are in files, for a plan of the command.
    fn sum(&self, py: Python<'_>, chunks: Vec<u64>) -> PyResult<PyAccumulator> {
        let (plan, remark) = (Arc::clone(&self.plan), self.remark.clone());
        work::run(py, move || rows::sum(&plan, &remark, &chunks).map(PyAccumulator::new))
    }

    /// The sums as a file of the command holds them, this plan included.
    fn file_of<'py>(&self, py: Python<'py>, sums: &PyAccumulator) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &rows::file_of(&self.plan, &self.remark, &sums.sums))
    }

    fn sums_from(&self, py: Python<'_>, bytes: Vec<u8>) -> PyResult<PyAccumulator> {
        let plan = Arc::clone(&self.plan);
        work::run(py, move || Accumulator::from_bytes(&plan, &bytes).map(PyAccumulator::new))
    }

    /// The model of all chunks.
    fn model(&self, py: Python<'_>, sums: &PyAccumulator) -> PyResult<PyPosterior> {
        let (plan, sums) = (Arc::clone(&self.plan), Arc::clone(&sums.sums));
        let posterior = work::run(py, move || Posterior::from_sums(&plan, &sums))?;
        Ok(PyPosterior::new(posterior, Seen::default(), self.learnt_on.clone()))
    }

    /// The sums of no chunk.
    fn empty(&self) -> PyAccumulator {
        PyAccumulator::new(Accumulator::empty(&self.plan))
    }

    /// The plan with the rows that its sums found to be explained worst as further inducing points; none where no row is left to add.
    fn extended(&self, py: Python<'_>, sums: &PyAccumulator, most: Option<usize>) -> PyResult<Option<Self>> {
        let (plan, remark, sums) = (Arc::clone(&self.plan), self.remark.clone(), Arc::clone(&sums.sums));
        let extended = work::run(py, move || match rows::extended(&plan, &remark, &sums, most.unwrap_or(usize::MAX)) {
            Err(sigmabar::Error::Sums(SumsError::Explained { .. })) => Ok(None),
            extended => extended.map(Some),
        })?;
        Ok(extended.map(|(plan, remark)| Self { plan: Arc::new(plan), remark, learnt_on: self.learnt_on.clone() }))
    }

    /// The share of a chunk whose rows are here in the gradient of the evidence, `model` being that of all rows.
    fn slope_leaf<'py>(
        &self,
        py: Python<'py>,
        model: &PyPosterior,
        chunk: u64,
        x: Rows,
        y: &Bound<'py, PyArray1<f64>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (plan, posterior, y) = (Arc::clone(&self.plan), model.posterior(), vector(y)?);
        let share = work::run(py, move || {
            let slope = Slope::new(&posterior)?;
            let mut leaf = slope.leaf(&plan, chunk)?;
            leaf.add(x.values(), &y)?;
            leaf.finish()
        })?;
        Ok(PyBytes::new(py, &share.to_bytes()))
    }

    /// The shares of chunks whose rows are in files.
    fn slopes<'py>(&self, py: Python<'py>, model: &PyPosterior, chunks: Vec<u64>) -> PyResult<Bound<'py, PyBytes>> {
        let (plan, remark, posterior) = (Arc::clone(&self.plan), self.remark.clone(), model.posterior());
        let shares = work::run(py, move || {
            let slope = Slope::new(&posterior).map_err(|problem| problem.to_string())?;
            rows::slopes(&plan, &remark, &slope, &chunks)
        })?;
        Ok(PyBytes::new(py, &shares.to_bytes()))
    }

    /// The evidence's lower bound over all rows, with its derivatives in the kernel's log-parameters and in the logarithm of the ridge.
    fn elbo_gradient(&self, model: &PyPosterior, shares: Vec<Vec<u8>>) -> PyResult<(f64, Vec<f64>, f64)> {
        let mut sums = SlopeSums::empty(&self.plan);
        for share in shares {
            sums.merge(SlopeSums::from_bytes(&share).map_err(raise)?).map_err(raise)?;
        }
        let found = Slope::new(&model.posterior()).and_then(|slope| slope.finish(&self.plan, &sums)).map_err(raise)?;
        Ok((found.value, found.kernel, found.ridge))
    }

    /// The plan with the kernel and ridge to which the evidence of all rows leads; `at` computes it with its derivatives for a plan. A sample bounds the search.
    fn climbed(&self, x: Rows, y: &Bound<'_, PyArray1<f64>>, rows: u64, at: &Bound<'_, PyAny>) -> PyResult<(Self, f64)> {
        let prior = self.plan.prior.unwrap_or(Prior::ZERO);
        let sample = Observations::new(x.to_points().map_err(raise)?, &vector(y)?, self.plan.collected, prior).map_err(raise)?;
        let failed: RefCell<Option<PyErr>> = RefCell::new(None);
        let passes = |kernel: &Kernel, ridge: f64| -> PyResult<EvidenceGradient> {
            let (value, kernel, ridge) = at.call1((self.moved(kernel, ridge)?,))?.extract()?;
            Ok(EvidenceGradient { value, kernel, ridge, mean: 0.0 })
        };
        let evidence = |kernel: &Kernel, ridge: f64| {
            let stopped = || sigmabar::Error::Empty { what: "the rest of the climb" };
            if failed.borrow().is_some() {
                return Err(stopped());
            }
            passes(kernel, ridge).map_err(|problem| {
                // What a pass runs into ends the climb, and is no point to turn back from.
                *failed.borrow_mut() = Some(problem);
                stopped()
            })
        };
        let kernel = self.plan.features().kernel();
        let climbed = climb_all_rows((kernel, self.plan.ridge.value), &sample, rows, &Learning::new(vec![kernel.clone()]), evidence);
        if let Some(problem) = failed.into_inner() {
            return Err(problem);
        }
        let climbed = climbed.map_err(raise)?;
        Ok((self.moved(&climbed.kernel, climbed.ridge)?, climbed.gained))
    }

    /// What the model of a plan of the command is about, as its model file says.
    fn about(&self) -> PyResult<String> {
        rows::about(&self.remark).map_err(raise)
    }
}

impl PyPlan {
    fn moved(&self, kernel: &Kernel, ridge: f64) -> PyResult<Self> {
        let here = Origin::LearntHere;
        let plan = Plan::clone(&self.plan).with_kernel(Sourced::new(kernel.clone(), here), Sourced::new(ridge, here)).map_err(raise)?;
        Ok(Self { plan: Arc::new(plan), remark: self.remark.clone(), learnt_on: self.learnt_on.clone() })
    }
}

impl PyAccumulator {
    fn new(sums: Accumulator) -> Self {
        Self { sums: Arc::new(sums) }
    }
}

#[pymethods]
impl PyAccumulator {
    fn merged(&self, py: Python<'_>, other: &Self) -> PyResult<Self> {
        let (mine, other) = (Arc::clone(&self.sums), Arc::clone(&other.sums));
        work::run(py, move || {
            let mut sums = Accumulator::clone(&mine);
            sums.merge(Accumulator::clone(&other))?;
            Ok::<_, sigmabar::Error>(Self::new(sums))
        })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.sums.to_bytes())
    }

    /// Rows summed, dropped for a missing value, and left out.
    fn rows(&self) -> (u64, u64, u64) {
        (self.sums.rows(), self.sums.missing_rows(), self.sums.left_out())
    }

    /// Vector instructions of the machines that summed.
    fn instructions(&self) -> Vec<String> {
        self.sums.instructions().into_iter().map(str::to_owned).collect()
    }

    fn covered(&self) -> Vec<(u64, u64)> {
        self.sums.covered()
    }

    fn uncovered(&self) -> Vec<u64> {
        self.sums.uncovered()
    }

    fn residual_trace(&self) -> f64 {
        self.sums.residual_trace()
    }

    /// Points of the rows of largest residual, with it.
    fn worst(&self) -> Vec<(f64, Vec<f64>)> {
        self.sums.worst().into_iter().map(|row| (row.residual, row.point)).collect()
    }
}

/// The hashes of rows `first`, `first + 1`, … of a chunk.
#[pyfunction]
pub fn row_hashes(py: Python<'_>, seed: u64, chunk: u64, first: u64, count: u64) -> Bound<'_, PyArray1<u64>> {
    (first..first + count).map(|row| RowPlace { chunk, row }.hash(seed)).collect::<Vec<u64>>().into_pyarray(py)
}

/// A hash of rows in their order, a missing value included.
#[pyfunction]
pub fn digest(x: Rows, y: &Bound<'_, PyArray1<f64>>) -> PyResult<u64> {
    let (mut digest, y) = (Digest::default(), vector(y)?);
    let dim = x.values().len().checked_div(y.len()).unwrap_or_default().max(1);
    x.values().chunks_exact(dim).zip(&y).for_each(|(point, response)| digest.add(point, *response));
    Ok(digest.value())
}
