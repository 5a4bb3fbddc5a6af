//! What is to be summed, said before anybody sums: kernel, inducing points, the chunks of the data.

use super::digest::Digest;
use super::sample::Picked;
use crate::error::{Error, Result, SavedError, SumsError, positive, same_length};
use crate::features::{FeatureMap, MoreFeatures, pivots};
use crate::kernel::Kernel;
use crate::origin::Sourced;
use crate::points::{Collected, Locations, Points, PointsRef, Prior, Sketch};
use crate::sealed::{self, Kind};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Above this value of $n k_{\max}/\tau^2$ squaring the features would cost too many digits: they are factored orthogonally instead.
pub(crate) const ORTHOGONAL_ABOVE: f64 = 1e10;
/// Rows of largest residual that are kept.
const WORST: usize = 64;

/// How the features are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Road {
    /// Their Gram matrix.
    Gram,
    /// Their triangular factor, for $n k_{\max}/\tau^2 > 10^{10}$.
    Orthogonal,
}

impl Road {
    fn of(features: &FeatureMap, ridge: f64, chunks: &[Option<u64>]) -> Self {
        let (rows, k_max) = (chunks.iter().flatten().sum::<u64>(), features.kernel().max_diagonal(features.inducing()));
        if rows as f64 * k_max / (ridge * ridge) > ORTHOGONAL_ABOVE { Self::Orthogonal } else { Self::Gram }
    }
}

/// What is to be summed and over which chunks: everything two workers must agree on before their sums may be added.
///
/// Prior mean and unit, ridge, how the points were collected and whether equal rows are distinct are carried along: sums leave them open, and another plan that differs
/// in nothing else makes another model of them. But sums that were made under different ones are not added: nobody could say what the whole rests on.
#[derive(Clone, Debug)]
pub struct Plan {
    features: Arc<FeatureMap>,
    /// Inducing points more that only claims use.
    ahead: Option<Arc<MoreFeatures>>,
    summed: Summed,
    identity: Identity,
    /// The ridge $\tau$ of the model.
    pub ridge: Sourced<f64>,
    /// Prior mean and unit; mean and deviation of the responses where there is none.
    pub prior: Option<Prior>,
    /// How the points were chosen.
    pub collected: Collected,
    /// Whether rows that equal another in every number are declared to be measurements of their own.
    pub distinct_rows: bool,
    /// Hashes of rows ([`crate::points::row_hash`]) from which kernel, ridge, prior or inducing points were learnt, the smallest of them: where the sums hold such a
    /// row, nothing was learnt from other data.
    pub learnt_on: Vec<u64>,
}

/// What the sums depend on beside kernel and inducing points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Summed {
    /// Taken off the responses before they are summed, so that their squares cancel little afterwards.
    pub centre: f64,
    pub road: Road,
    pub worst: usize,
    /// Rows of each chunk, where they are known.
    pub chunks: Vec<Option<u64>>,
    /// What the rows of each chunk were when the plan was made; empty where nobody looked.
    pub digests: Vec<Digest>,
    /// What the data are called.
    pub data: String,
    pub left_out: Vec<Picked>,
    pub drop_missing: bool,
}

/// Hashes of what must agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub kernel: [u8; 32],
    pub inducing: [u8; 32],
    pub summed: [u8; 32],
    /// What a claim rests on beside: ridge, prior, how the points were chosen, whether equal rows are distinct, where kernel and inducing points came from.
    pub premises: [u8; 32],
}

#[derive(Serialize, Deserialize)]
struct Stored {
    kernel: Sourced<Kernel>,
    inducing: Sourced<Points>,
    ahead: Option<Points>,
    summed: Summed,
    ridge: Sourced<f64>,
    prior: Option<Prior>,
    collected: Collected,
    distinct_rows: bool,
    learnt_on: Vec<u64>,
}

const TORN: Error = Error::Saved(SavedError::Content { what: "a plan" });

impl Plan {
    /// Sums over chunks of so many rows (`None` where it is not known), by the Gram matrix unless $n k_{\max}/\tau^2$ asks for the orthogonal factor. Cost O(m³).
    ///
    /// # Errors
    /// Those of [`FeatureMap::new`]; [`Error::Empty`] without chunks; [`Error::Parameter`] for a ridge that is not positive.
    pub fn new(
        kernel: impl Into<Sourced<Kernel>>,
        inducing: impl Into<Sourced<Points>>,
        ridge: impl Into<Sourced<f64>>,
        chunks: Vec<Option<u64>>,
    ) -> Result<Self> {
        let ridge = ridge.into();
        positive("ridge", ridge.value)?;
        let features = FeatureMap::new(kernel, inducing)?;
        let summed = Summed {
            centre: 0.0,
            road: Road::of(&features, ridge.value, &chunks),
            worst: WORST,
            chunks,
            digests: Vec::new(),
            data: String::new(),
            left_out: Vec::new(),
            drop_missing: false,
        };
        Self::assemble(features, summed, ridge, None, Collected::Undeclared)
    }

    fn assemble(features: FeatureMap, summed: Summed, ridge: Sourced<f64>, prior: Option<Prior>, collected: Collected) -> Result<Self> {
        if summed.chunks.is_empty() {
            return Err(Error::Empty { what: "the list of chunks" });
        }
        let identity = Identity::of(&features, None, &summed);
        Ok(Self {
            features: Arc::new(features),
            ahead: None,
            summed,
            identity,
            ridge,
            prior,
            collected,
            distinct_rows: false,
            learnt_on: Vec::new(),
        })
    }

    fn changed(self, change: impl FnOnce(&mut Summed)) -> Self {
        let mut summed = self.summed;
        change(&mut summed);
        let identity = Identity::of(&self.features, self.ahead.as_deref(), &summed);
        Self { summed, identity, ..self }
    }

    /// The name of the data: sums over other data are refused.
    #[must_use]
    pub fn data(self, name: &str) -> Self {
        self.changed(|summed| name.clone_into(&mut summed.data))
    }

    /// What the rows of each chunk were: a chunk that has others when it is summed, or has them in another order, is refused.
    ///
    /// # Errors
    /// [`Error::Length`] unless there is one for each chunk.
    pub fn digests(self, digests: Vec<Digest>) -> Result<Self> {
        same_length("digests of chunks", self.chunks().len(), digests.len())?;
        Ok(self.changed(|summed| summed.digests = digests))
    }

    /// Whether these are the rows of a chunk that were planned, as far as the plan knows them.
    ///
    /// # Errors
    /// [`SumsError::Rows`] for another number, [`SumsError::Changed`] for other rows.
    pub fn check_rows(&self, chunk: u64, rows: u64, digest: Digest) -> Result<()> {
        let place = chunk as usize;
        if let Some(expected) = self.chunks().get(place).copied().flatten().filter(|expected| *expected != rows) {
            return Err(SumsError::Rows { chunk, expected, found: rows }.into());
        }
        match self.summed.digests.get(place) {
            Some(planned) if *planned != digest => Err(SumsError::Changed { chunk }.into()),
            _ => Ok(()),
        }
    }

    /// Taken off the responses before they are summed: close to their mean it keeps the digits of their squares.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless it is finite.
    pub fn centre(self, centre: f64) -> Result<Self> {
        if !centre.is_finite() {
            return Err(Error::Parameter { name: "centre", value: centre, requirement: "finite" });
        }
        Ok(self.changed(|summed| summed.centre = centre))
    }

    /// Another road than the one chosen.
    #[must_use]
    pub fn road(self, road: Road) -> Self {
        self.changed(|summed| summed.road = road)
    }

    /// How many rows of largest residual are kept, as next inducing points.
    #[must_use]
    pub fn worst(self, rows: usize) -> Self {
        self.changed(|summed| summed.worst = rows)
    }

    /// Leaves rows out of the sums: those that were learnt on, or that scores are to be taken on.
    #[must_use]
    pub fn leave_out(self, rows: Picked) -> Self {
        self.changed(|summed| summed.left_out.push(rows))
    }

    /// Passes over rows with a missing value (a NaN) and counts them, instead of refusing them.
    #[must_use]
    pub fn drop_missing(self, drop: bool) -> Self {
        self.changed(|summed| summed.drop_missing = drop)
    }

    /// Sums beside what predicts the products with up to `most` inducing points more, chosen from a sample of the rows: with them the model claims by the look-ahead
    /// bound on $\lambda$ and the certification dictionary, which else need rows. They leave the other sums as they are. Cost O(sm²) for s rows; then 3pm operations a row.
    ///
    /// # Errors
    /// Points of another width; a failed self-check.
    pub fn look_ahead(self, sample: Points, most: usize) -> Result<Self> {
        let locations = Locations::new(sample, Collected::Undeclared);
        let chosen = pivots(&self.features, &locations, most)?;
        if chosen.is_empty() {
            return Ok(self);
        }
        let points = locations.points().select(&chosen)?;
        self.with_ahead(points.view())
    }

    fn with_ahead(mut self, points: PointsRef<'_>) -> Result<Self> {
        self.ahead = MoreFeatures::new(&self.features, points)?.map(Arc::new);
        Ok(self.changed(|_| ()))
    }

    /// The same over other inducing points. Cost O(m³).
    ///
    /// # Errors
    /// Those of [`FeatureMap::new`].
    pub fn with_inducing(self, inducing: impl Into<Sourced<Points>>) -> Result<Self> {
        let features = FeatureMap::new(self.features.sourced_kernel().clone(), inducing)?;
        self.over(features)
    }

    /// The same with another kernel and ridge. Cost O(m³).
    ///
    /// # Errors
    /// Those of [`FeatureMap::new`]; [`Error::Parameter`] for a ridge that is not positive.
    pub fn with_kernel(mut self, kernel: impl Into<Sourced<Kernel>>, ridge: impl Into<Sourced<f64>>) -> Result<Self> {
        self.ridge = ridge.into();
        positive("ridge", self.ridge.value)?;
        let features = FeatureMap::new(kernel, self.features.sourced_given().clone())?;
        self.summed.road = Road::of(&features, self.ridge.value, &self.summed.chunks);
        self.over(features)
    }

    fn over(self, features: FeatureMap) -> Result<Self> {
        let plan = Self::assemble(features, self.summed, self.ridge, self.prior, self.collected)?;
        let plan = Self { distinct_rows: self.distinct_rows, learnt_on: self.learnt_on, ..plan };
        match &self.ahead {
            Some(ahead) => plan.with_ahead(ahead.points()),
            None => Ok(plan),
        }
    }

    /// The plan for sums that hold rows which kernel, ridge, prior or inducing points were learnt from.
    pub(crate) fn on_own_rows(mut self) -> Self {
        self.features = Arc::new(Arc::unwrap_or_clone(self.features).on_own_rows());
        self.ridge.origin = self.ridge.origin.on_own_rows();
        self.prior = self.prior.map(|prior| prior.with_origin(prior.origin().on_own_rows()));
        self
    }

    /// The features.
    #[must_use]
    pub fn features(&self) -> &Arc<FeatureMap> {
        &self.features
    }

    /// All inducing points as they were given.
    #[must_use]
    pub fn inducing(&self) -> PointsRef<'_> {
        self.features.given()
    }

    /// How many inducing points more are summed beside, for claims alone.
    #[must_use]
    pub fn ahead_len(&self) -> usize {
        self.ahead.as_ref().map_or(0, |ahead| ahead.len())
    }

    /// About how many bytes the saved sums over one run of neighbouring chunks take: squares, moments and products, the rows that were explained worst, and what tells of copies.
    #[must_use]
    pub fn run_bytes(&self) -> u64 {
        let (m, p) = (self.features.len(), self.ahead_len());
        let worst = self.summed.worst * (8 * self.features.inducing().dim() + 16);
        // A run has one chunk at least.
        let rows = self.chunks().iter().map(|rows| rows.unwrap_or(u64::MAX)).max().unwrap_or(0);
        (8 * (m * (m + 1) / 2 + p * (m + p) + 4 * m) + worst + Sketch::bytes(rows as usize)) as u64
    }

    pub(crate) fn ahead(&self) -> Option<&MoreFeatures> {
        self.ahead.as_deref()
    }

    /// How the features are summed.
    #[must_use]
    pub fn road_taken(&self) -> Road {
        self.summed.road
    }

    /// Rows of each chunk, where they are known.
    #[must_use]
    pub fn chunks(&self) -> &[Option<u64>] {
        &self.summed.chunks
    }

    /// What is left out of the sums.
    #[must_use]
    pub fn left_out(&self) -> &[Picked] {
        &self.summed.left_out
    }

    pub(crate) fn summed(&self) -> &Summed {
        &self.summed
    }

    pub(crate) fn identity(&self) -> Identity {
        let origins = (self.features.sourced_kernel().origin, self.features.sourced_given().origin);
        Identity {
            premises: hashed(&(self.ridge, self.prior, self.collected, self.distinct_rows, &self.learnt_on, origins)),
            ..self.identity
        }
    }

    /// The plan as bytes, in the envelope of everything saved ([`crate::sealed`]), with a remark for whoever reads it.
    #[must_use]
    pub fn to_bytes_with(&self, remark: &str) -> Vec<u8> {
        let stored = Stored {
            kernel: self.features.sourced_kernel().clone(),
            inducing: self.features.sourced_given().clone(),
            ahead: self.ahead.as_ref().map(|ahead| ahead.points().to_points()),
            summed: self.summed.clone(),
            ridge: self.ridge,
            prior: self.prior,
            collected: self.collected,
            distinct_rows: self.distinct_rows,
            learnt_on: self.learnt_on.clone(),
        };
        sealed::seal(Kind::Plan, remark, &postcard::to_stdvec(&stored).expect("plain numbers and lists always serialise"))
    }

    /// Reads a plan and its remark.
    ///
    /// # Errors
    /// [`SavedError`] saying why: foreign, of another version, cut short, damaged, or not a plan.
    pub fn from_bytes_with(bytes: &[u8]) -> Result<(Self, &str)> {
        let opened = sealed::open(Kind::Plan, bytes)?;
        let Stored { kernel, inducing, ahead, summed, ridge, prior, collected, distinct_rows, learnt_on } =
            postcard::from_bytes(opened.content).map_err(|_| TORN)?;
        let sound = ahead.as_ref().is_none_or(|points| points.dim() == inducing.value.dim())
            && kernel.value.validate().is_ok()
            && kernel.value.check_dim(inducing.value.dim()).is_ok()
            && positive("ridge", ridge.value).is_ok()
            && summed.centre.is_finite()
            && [0, summed.chunks.len()].contains(&summed.digests.len())
            && prior.is_none_or(|prior| prior.is_consistent());
        if !sound {
            return Err(TORN);
        }
        let plan =
            Self { distinct_rows, learnt_on, ..Self::assemble(FeatureMap::new(kernel, inducing)?, summed, ridge, prior, collected)? };
        let plan = match ahead {
            Some(points) => plan.with_ahead(points.view())?,
            None => plan,
        };
        Ok((plan, opened.remark))
    }
}

impl Identity {
    fn of(features: &FeatureMap, ahead: Option<&MoreFeatures>, summed: &Summed) -> Self {
        Self {
            kernel: hashed(features.kernel()),
            inducing: hashed(&(features.given().to_points(), ahead.map(|ahead| ahead.points().to_points()))),
            summed: hashed(summed),
            premises: [0; 32],
        }
    }

    /// Refuses sums of something else.
    pub fn same_sums(&self, other: &Self) -> Result<()> {
        same("kernel", self.kernel, other.kernel)?;
        same("inducing points", self.inducing, other.inducing)?;
        same("data, or ways of summing them", self.summed, other.summed)
    }

    /// Refuses sums for a claim that rests on something else.
    pub fn same_premises(&self, other: &Self) -> Result<()> {
        same(
            "ridge or prior, another way of choosing points, another word on equal rows, or another origin of kernel or inducing points",
            self.premises,
            other.premises,
        )
    }
}

fn same(what: &'static str, ours: [u8; 32], theirs: [u8; 32]) -> Result<()> {
    if ours == theirs { Ok(()) } else { Err(SumsError::Other { what }.into()) }
}

fn hashed(value: &impl Serialize) -> [u8; 32] {
    *blake3::hash(&postcard::to_stdvec(value).expect("plain numbers and lists always serialise")).as_bytes()
}
