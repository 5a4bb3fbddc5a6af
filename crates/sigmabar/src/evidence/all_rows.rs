//! Learning on rows that are elsewhere: the gradient of their ELBO as sums over chunks, and the climb by it.

use super::gradient::{Adjoint, Block, Passed};
use super::search::Search;
use super::{EvidenceGradient, Learning};
use crate::accumulator::{Arrived, Fate, Identity, Plan, SumsError};
use crate::error::{Error, Result, SavedError, same_length};
use crate::features::BLOCK_ROWS;
use crate::kernel::Kernel;
use crate::points::{Observations, PointsRef};
use crate::posterior::Posterior;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::collections::BTreeMap;

/// What turns rows into the gradient of the ELBO: made of the model of all of them, it goes over them once more.
#[derive(Clone, Debug)]
pub struct Slope {
    posterior: Posterior,
    adjoint: Adjoint,
}

/// The share of one chunk in the gradient, while its rows come in.
#[derive(Clone, Debug)]
pub struct SlopeLeaf<'a> {
    slope: &'a Slope,
    plan: &'a Plan,
    arrived: Arrived<'a>,
    passed: Passed,
    x: Vec<f64>,
    y: Vec<f64>,
}

/// The shares of some chunks: a few numbers for each, added in the order of the chunks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SlopeSums {
    identity: Identity,
    chunks: BTreeMap<u64, Passed>,
}

impl Slope {
    /// For the model that the sums of a plan make. Cost O(m³).
    ///
    /// # Errors
    /// A failed self-check.
    pub fn new(posterior: &Posterior) -> Result<Self> {
        Ok(Self { adjoint: Adjoint::new(posterior)?, posterior: posterior.clone() })
    }

    /// Begins a chunk of the plan that the model was summed by.
    ///
    /// # Errors
    /// [`SumsError::NoChunk`] where the plan has no such chunk.
    pub fn leaf<'a>(&'a self, plan: &'a Plan, chunk: u64) -> Result<SlopeLeaf<'a>> {
        let (arrived, passed) = (Arrived::new(plan, chunk)?, self.adjoint.nothing());
        Ok(SlopeLeaf { slope: self, plan, arrived, passed, x: Vec::new(), y: Vec::new() })
    }

    /// The ELBO of all rows and its gradient with the inducing points fixed.
    ///
    /// # Errors
    /// [`SumsError::Missing`] naming the first chunk that is not there; [`SumsError::Other`] for those of another plan.
    pub fn finish(&self, plan: &Plan, sums: &SlopeSums) -> Result<EvidenceGradient> {
        plan.identity().same_sums(&sums.identity)?;
        let missing: Vec<u64> = (0..plan.chunks().len() as u64).filter(|chunk| !sums.chunks.contains_key(chunk)).collect();
        if let Some(&chunk) = missing.first() {
            return Err(SumsError::Missing { chunk, count: missing.len() as u64 }.into());
        }
        let mut total = self.adjoint.nothing();
        for part in sums.chunks.values() {
            same_length("the derivatives of a chunk", total.kernel.len(), part.kernel.len())?;
            total.kernel.iter_mut().zip(&part.kernel).for_each(|(sum, value)| *sum += value);
            total.residual += part.residual;
        }
        self.posterior.gradient_of(&self.adjoint, total)
    }
}

impl SlopeLeaf<'_> {
    /// Adds rows as [`crate::accumulator::Leaf::add`] does. Cost O(m² + md) a row.
    ///
    /// # Errors
    /// As there.
    pub fn add(&mut self, x: &[f64], y: &[f64]) -> Result<()> {
        let (dim, prior) = (self.plan.inducing().dim(), self.slope.posterior.prior());
        same_length("the points of a batch", y.len() * dim, x.len())?;
        for (point, response) in x.chunks_exact(dim).zip(y) {
            if let Fate::Counts(_) = self.arrived.next(point, *response)? {
                self.x.extend_from_slice(point);
                self.y.push((response - prior.mean()) / prior.unit());
            }
            if self.y.len() == BLOCK_ROWS {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if !self.y.is_empty() {
            let points = PointsRef::new(&self.x, self.plan.inducing().dim())?;
            self.slope.adjoint.add(&Block { points, counts: None, sums: &self.y }, &mut self.passed)?;
            self.x.clear();
            self.y.clear();
        }
        Ok(())
    }

    /// The share of the chunk.
    ///
    /// # Errors
    /// [`SumsError::Rows`] and [`SumsError::Changed`] where the chunk had other rows than the plan says; failed self-checks.
    pub fn finish(mut self) -> Result<SlopeSums> {
        self.flush()?;
        Ok(SlopeSums { chunks: BTreeMap::from([(self.arrived.finish()?, self.passed)]), ..SlopeSums::empty(self.plan) })
    }
}

impl SlopeSums {
    /// Those of no chunk.
    #[must_use]
    pub fn empty(plan: &Plan) -> Self {
        Self { identity: plan.identity(), chunks: BTreeMap::new() }
    }

    /// Adds those of other chunks.
    ///
    /// # Errors
    /// [`SumsError::Twice`] where a chunk is in both, [`SumsError::Other`] for those of another plan: this is then unchanged.
    pub fn merge(&mut self, other: Self) -> Result<()> {
        self.identity.same_sums(&other.identity)?;
        if let Some(&chunk) = other.chunks.keys().find(|chunk| self.chunks.contains_key(chunk)) {
            return Err(SumsError::Twice { chunk }.into());
        }
        self.chunks.extend(other.chunks);
        Ok(())
    }

    /// The sums as bytes, for whoever merges.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("plain numbers and lists always serialise")
    }

    /// What [`SlopeSums::to_bytes`] gave.
    ///
    /// # Errors
    /// [`SavedError`] for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        postcard::from_bytes(bytes).map_err(|_| Error::Saved(SavedError::Content { what: "derivatives of chunks" }))
    }
}

/// What the climb over all rows found.
#[derive(Clone, Debug)]
pub struct Climbed {
    /// The kernel.
    pub kernel: Kernel,
    /// The ridge $\tau$, in the model's scale.
    pub ridge: f64,
    /// Nats per row that the (penalised) ELBO gained over that of the start.
    pub gained: f64,
    /// How often value and gradient were computed, each by two passes.
    pub evaluations: usize,
}

/// Climbs the (penalised) ELBO of `rows` observations that are elsewhere, the inducing points fixed, from a kernel and a ridge that a sample of them taught: by up to
/// [`Learning::steps`] quasi-Newton steps, within the bounds that the sample gives. `at` computes the ELBO with its gradient, by two passes over all rows. What is
/// found is never worse than the start.
///
/// # Errors
/// Those of `at` at the start; later ones make the climb turn back.
pub fn climb_all_rows(
    (kernel, ridge): (&Kernel, f64),
    sample: &Observations,
    rows: u64,
    learning: &Learning,
    at: impl Fn(&Kernel, f64) -> Result<EvidenceGradient>,
) -> Result<Climbed> {
    let learning = Learning { mean: false, ..learning.clone() };
    let search = Search::new(kernel, sample, &learning);
    let start: Vec<f64> = kernel.log_parameters().into_iter().chain([ridge.ln()]).collect();
    let first = Cell::new(None);
    let ascent = search.climb_elsewhere(rows as f64, &start, |value| first.set(first.get().or(Some(value))), at)?;
    let (kernel, ridge) = search.kernel_and_ridge(&ascent.point)?;
    Ok(Climbed { kernel, ridge, gained: ascent.value - first.get().unwrap_or(ascent.value), evaluations: ascent.evaluations })
}
