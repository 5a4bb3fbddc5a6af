//! What we saw: locations with the sums of their responses, and the constant prior mean declared before the data.

use super::locations::usable_weights;
use super::{Collected, Locations, Points};
use crate::error::{Error, Result, positive, same_length};
use crate::origin::Origin;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A constant prior mean and a unit, declared before the data: the model is $f = \text{mean} + \text{unit}\cdot g$ with $g$ in the kernel's space.
///
/// Kernel variance, ridge, noise level and norm bound speak of $g = (f-\text{mean})/\text{unit}$; means and intervals come back in the data's own scale.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prior {
    mean: f64,
    unit: f64,
    origin: Origin,
}

impl Prior {
    /// Mean 0, unit 1.
    pub const ZERO: Self = Self { mean: 0.0, unit: 1.0, origin: Origin::Declared };

    /// A mean and a unit declared before any response was seen.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a mean that is not finite or a unit that is not positive.
    pub fn declared(mean: f64, unit: f64) -> Result<Self> {
        if !mean.is_finite() {
            return Err(Error::Parameter { name: "prior mean", value: mean, requirement: "finite" });
        }
        Ok(Self { mean, unit: positive("unit", unit)?, origin: Origin::Declared })
    }

    /// Mean and standard deviation of the responses (unit 1 where they do not vary): intervals become estimates.
    ///
    /// # Errors
    /// [`Error::Empty`] without responses, [`Error::NotFinite`] or [`Error::TooLarge`] naming the row.
    pub fn learnt(y: &[f64]) -> Result<Self> {
        Self::learnt_from_means(y, &vec![1.0; y.len()])
    }

    /// The same of responses that are worth $w_i$ each ([`Observations::weighted`]).
    ///
    /// # Errors
    /// As [`Prior::learnt`]; [`Error::Length`] when there is not one weight per response.
    pub fn learnt_from_means(y: &[f64], weights: &[f64]) -> Result<Self> {
        same_length("weights", y.len(), weights.len())?;
        usable_weights(weights)?;
        usable_responses(y, Self::ZERO, 0)?;
        if y.is_empty() {
            return Err(Error::Empty { what: "responses" });
        }
        let total: f64 = weights.iter().sum();
        let mean = y.iter().zip(weights).map(|(v, w)| w * v).sum::<f64>() / total;
        let deviation = (y.iter().zip(weights).map(|(v, w)| w * (v - mean).powi(2)).sum::<f64>() / total).sqrt();
        Ok(Self { mean, unit: if deviation > 0.0 { deviation } else { 1.0 }, origin: Origin::LearntHere })
    }

    /// The same mean and unit from elsewhere.
    #[must_use]
    pub fn with_origin(self, origin: Origin) -> Self {
        Self { origin, ..self }
    }

    /// Whether both are what they must be: asked of what comes from a file.
    pub(crate) fn is_consistent(&self) -> bool {
        self.mean.is_finite() && self.unit.is_finite() && self.unit > 0.0
    }

    /// The constant prior mean.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The unit.
    #[must_use]
    pub fn unit(&self) -> f64 {
        self.unit
    }

    /// Where mean and unit came from.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// $(y - \text{mean})/\text{unit}$.
    #[must_use]
    pub fn to_model(&self, y: f64) -> f64 {
        (y - self.mean) / self.unit
    }

    /// $\text{mean} + \text{unit}\cdot g$.
    #[must_use]
    pub fn to_data(&self, g: f64) -> f64 {
        self.mean + self.unit * g
    }
}

/// The largest response, in the data's unit and in the model's: sums of squares of larger ones, divided by small ridges, would leave the range of numbers.
pub const LARGEST_RESPONSE: f64 = 1e100;

/// Responses, of the rows from `first` on, that can be squared and summed.
pub(crate) fn usable_responses(y: &[f64], prior: Prior, first: usize) -> Result<()> {
    for (row, &value) in (first..).zip(y) {
        if !value.is_finite() {
            return Err(Error::NotFinite { what: "responses", row, column: 0, value });
        }
        let largest = value.abs().max(prior.to_model(value).abs());
        if largest > LARGEST_RESPONSE {
            return Err(Error::TooLarge { row, value: largest });
        }
    }
    Ok(())
}

/// Measured values at [`Locations`]: for each distinct point the sum of its responses, centred and scaled by the prior.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observations {
    locations: Arc<Locations>,
    /// $s_i$: the sum of `(y − mean)/unit` over the observations of distinct point $i$.
    sums: Vec<f64>,
    /// $\sum ((y-\text{mean})/\text{unit})^2$ over all observations, kept for the evidence.
    sum_squares: f64,
    prior: Prior,
    doubts: Doubts,
    /// Hashes of all rows, by which one that comes again is known; none for a sample of the points.
    hashes: Vec<u64>,
}

/// What speaks against rows being independent measurements, every one of those that were made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Doubts {
    /// Rows that equal another in every number.
    pub copies: usize,
    /// Whether somebody declares that these are measurements of their own.
    pub are_distinct: bool,
    /// Whether not all rows were compared with each other, but watched for what came often: that there is no copy is then the word of whoever declared the noise.
    pub are_watched: bool,
    /// Rows that were left out because they had no response.
    pub lost: usize,
    /// Rows whose weight is not 1: each is said to be the mean of so many measurements.
    pub means: usize,
}

impl Observations {
    /// Pairs each row of `x` with its response. Cost O(nd + n log n).
    ///
    /// # Errors
    /// [`Error::Length`] when there is not one response per row, [`Error::NotFinite`] or [`Error::TooLarge`] naming the row.
    pub fn new(x: Points, y: &[f64], collected: Collected, prior: Prior) -> Result<Self> {
        same_length("responses", x.len(), y.len())?;
        Self::at(Arc::new(Locations::new(x, collected)), y, prior)
    }

    /// Responses at locations that are already known, one per original row.
    ///
    /// # Errors
    /// As [`Observations::new`].
    pub fn at(locations: Arc<Locations>, y: &[f64], prior: Prior) -> Result<Self> {
        if locations.is_weighted() {
            return Err(Error::Missing {
                what: "the weight of each row",
                purpose: "other responses at weighted points",
                remedy: "fit them with their weights",
            });
        }
        usable_responses(y, prior, 0)?;
        let centred: Vec<f64> = y.iter().map(|&v| prior.to_model(v)).collect();
        let sums = locations.sum_by_point("responses", &centred)?;
        let sum_squares = centred.iter().map(|v| v * v).sum();
        let hashes = hashes(&locations, 0, y);
        Ok(Self { doubts: doubts(&locations, &hashes), hashes, locations, sums, sum_squares, prior })
    }

    /// Responses that are worth $w_i$ ones of variance $\tau^2$ each: the weights stand in the place of the repetition counts, so that means and variances are
    /// those of noise variances $\tau^2/w_i$, and so is the evidence. What is said of "n" counts rows.
    ///
    /// # Errors
    /// As [`Observations::new`]; [`Error::Parameter`] for a weight that is not positive and finite.
    pub fn weighted(x: Points, y: &[f64], weights: &[f64], collected: Collected, prior: Prior) -> Result<Self> {
        same_length("responses", x.len(), y.len())?;
        usable_responses(y, prior, 0)?;
        let locations = Locations::weighted(x, weights, collected)?;
        let centred: Vec<f64> = y.iter().map(|&v| prior.to_model(v)).collect();
        let weighed: Vec<f64> = centred.iter().zip(weights).map(|(y, w)| w * y).collect();
        let sums = locations.sum_by_point("responses", &weighed)?;
        let sum_squares = centred.iter().zip(&weighed).map(|(y, wy)| wy * y).sum();
        let means = weights.iter().filter(|w| **w != 1.0).count();
        let hashes = hashes(&locations, 0, y);
        let doubts = Doubts { means, ..doubts(&locations, &hashes) };
        Ok(Self { doubts, hashes, locations: Arc::new(locations), sums, sum_squares, prior })
    }

    /// Declares that rows which equal another in every number are measurements of their own, as a coarse instrument makes them. Certificates name it as a premise, with
    /// their number.
    #[must_use]
    pub fn with_distinct_rows(self) -> Self {
        Self { doubts: Doubts { are_distinct: true, ..self.doubts }, ..self }
    }

    /// Says that so many rows were left out because they had no response: it may have been their value that kept them away.
    #[must_use]
    pub fn with_lost(self, lost: usize) -> Self {
        Self { doubts: Doubts { lost, ..self.doubts }, ..self }
    }

    /// Hashes of its rows ([`row_hash`]).
    pub(crate) fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    pub(crate) fn doubts(&self) -> Doubts {
        self.doubts
    }

    /// How many rows equal another in every number, the response included, without having been asked for or declared to be measurements of their own: noise with a
    /// density never does that, so a claim that counts them rests on one measurement written down twice.
    #[must_use]
    pub fn copies(&self) -> usize {
        if self.doubts.are_distinct { 0 } else { self.doubts.copies }
    }

    /// Where the responses were measured.
    #[must_use]
    pub fn locations(&self) -> &Arc<Locations> {
        &self.locations
    }

    /// $s_i$: summed centred responses per distinct point.
    #[must_use]
    pub fn sums(&self) -> &[f64] {
        &self.sums
    }

    /// $\sum ((y-\text{mean})/\text{unit})^2$ over all observations.
    #[must_use]
    pub fn sum_squares(&self) -> f64 {
        self.sum_squares
    }

    /// The prior mean and unit, and where they came from.
    #[must_use]
    pub fn prior(&self) -> Prior {
        self.prior
    }

    /// $\sum y^2 - \sum_i s_i^2/c_i$: the scatter of repeated responses around the mean of their point, in the model's scale. Cost O(u).
    #[must_use]
    pub fn scatter(&self) -> f64 {
        if self.locations.counts().is_none() {
            return 0.0;
        }
        let between: f64 = self.sums.iter().enumerate().map(|(i, s)| s * s / self.locations.count(i)).sum();
        (self.sum_squares - between).max(0.0)
    }

    /// The same responses around another constant mean, which counts as learnt from them. Cost O(u).
    pub(crate) fn with_learnt_mean(&self, mean: f64) -> Self {
        let shift = (mean - self.prior.mean) / self.prior.unit;
        let total: f64 = self.sums.iter().sum();
        let sums = self.sums.iter().enumerate().map(|(i, s)| s - shift * self.locations.count(i)).collect();
        let sum_squares = (self.sum_squares - shift * (2.0 * total - self.locations.total() * shift)).max(0.0);
        let prior = Prior { mean, unit: self.prior.unit, origin: Origin::LearntHere };
        Self { locations: Arc::clone(&self.locations), sums, sum_squares, prior, doubts: self.doubts, hashes: self.hashes.clone() }
    }

    /// Hashes of the points, without responses. Cost O(nd).
    pub(crate) fn places(&self) -> HashSet<u64> {
        self.locations.points().rows().map(|point| row_hash(point, 0.0)).collect()
    }

    /// Each point as one mean, where it was measured again and every time gave the same in every digit: repetitions that never differ say nothing about the noise. Either there is none, and the
    /// function's smoothness shows that too, or they are copies of rows. None where some differ, or nothing was repeated. Cost O(n).
    pub(crate) fn without_equal_repeats(&self) -> Option<Self> {
        let locations = &self.locations;
        let never_differ = || self.hashes.iter().collect::<HashSet<_>>().len() == locations.distinct();
        let repeated = locations.len() > locations.distinct() && self.hashes.len() == locations.len();
        (repeated && never_differ()).then(|| Self { locations: Arc::new(locations.as_means()), hashes: Vec::new(), ..self.clone() })
    }

    /// The observations at some of the distinct points. Only the total scatter of repeated responses is known: each point gets its share by its count.
    ///
    /// # Errors
    /// [`Error::Empty`] without points.
    pub(crate) fn at_points(&self, distinct: &[usize]) -> Result<Self> {
        let locations = self.locations.at_points(distinct)?;
        let sums: Vec<f64> = distinct.iter().map(|&i| self.sums[i]).collect();
        let between: f64 = sums.iter().enumerate().map(|(i, s)| s * s / locations.count(i)).sum();
        let repeats = (self.len() - self.locations.distinct()) as f64;
        let kept = (locations.len() - locations.distinct()) as f64;
        let scatter = if repeats > 0.0 { self.scatter() * kept / repeats } else { 0.0 };
        Ok(Self {
            locations: Arc::new(locations),
            sums,
            sum_squares: between + scatter,
            prior: self.prior,
            doubts: self.doubts,
            hashes: Vec::new(),
        })
    }

    /// The same with more responses, at locations that were extended by their points. Cost O(n + b).
    pub(crate) fn extended(&self, locations: Arc<Locations>, y: &[f64]) -> Result<Self> {
        same_length("responses", locations.len() - self.len(), y.len())?;
        usable_responses(y, self.prior, self.len())?;
        let (mut sums, mut sum_squares) = (self.sums.clone(), self.sum_squares);
        sums.resize(locations.distinct(), 0.0);
        for (i, response) in y.iter().map(|y| self.prior.to_model(*y)).enumerate() {
            sums[locations.distinct_of(self.len() + i)] += response;
            sum_squares += response * response;
        }
        let (new, known) = (hashes(&locations, self.len(), y), self.hashes.iter().collect::<HashSet<_>>());
        let again = new.iter().filter(|hash| known.contains(hash)).count();
        let more = again.max(copies(new.clone()));
        // What was declared about the rows before says nothing about these.
        let are_distinct = self.doubts.are_distinct && more == 0;
        let doubts = Doubts { copies: self.doubts.copies + more, are_distinct, ..self.doubts };
        let hashes = self.hashes.iter().copied().chain(new).collect();
        Ok(Self { doubts, hashes, locations, sums, sum_squares, prior: self.prior })
    }

    /// Number of observations, repetitions counted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.locations.len()
    }

    /// Never true.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Whether everything fits together: asked of what comes from a file.
    pub(crate) fn is_consistent(&self) -> bool {
        self.locations.is_consistent()
            && self.sums.len() == self.locations.distinct()
            && self.sums.iter().all(|v| v.is_finite())
            && self.sum_squares.is_finite()
            && self.prior.is_consistent()
    }

    /// What is now said about how the points were chosen.
    pub(crate) fn declare(&mut self, collected: Collected) {
        Arc::make_mut(&mut self.locations).declare(collected);
    }

    /// One more response. Cost O(nd).
    pub(crate) fn push(&mut self, x: &[f64], y: f64) -> Result<(usize, bool)> {
        usable_responses(&[y], self.prior, self.len())?;
        let (index, new) = Arc::make_mut(&mut self.locations).push(x)?;
        let centred = self.prior.to_model(y);
        if new {
            self.sums.push(centred);
        } else {
            self.sums[index] += centred;
        }
        self.sum_squares += centred * centred;
        let hash = row_hash(x, y);
        if self.hashes.contains(&hash) {
            self.doubts = Doubts { copies: self.doubts.copies + 1, are_distinct: false, ..self.doubts };
        }
        self.hashes.push(hash);
        Ok((index, new))
    }
}

/// Rows that equal another; none where the program chose the points itself, and may have chosen one again. What comes later, it has not chosen.
fn doubts(locations: &Locations, hashes: &[u64]) -> Doubts {
    let copies = if locations.collected() == Collected::Designed { 0 } else { copies(hashes.to_vec()) };
    Doubts { copies, ..Doubts::default() }
}

/// Hashes of the rows from `first` on.
fn hashes(locations: &Locations, first: usize, y: &[f64]) -> Vec<u64> {
    y.iter().enumerate().map(|(i, y)| row_hash(locations.points().row(locations.distinct_of(first + i)), *y)).collect()
}

/// Rows that equal another in every number, by their hashes. Cost O(n log n).
fn copies(mut hashes: Vec<u64>) -> usize {
    hashes.sort_unstable();
    hashes.windows(2).filter(|pair| pair[0] == pair[1]).count()
}

/// A hash of a row and its response: the finaliser of `splitmix64` over the bits of the numbers, with −0 equal to 0. What has seen a row is recognised by it.
#[must_use]
pub fn row_hash(point: &[f64], response: f64) -> u64 {
    point.iter().chain([&response]).fold(INCREMENT, |state, value| mixed((state ^ (value + 0.0).to_bits()).wrapping_add(INCREMENT)))
}

/// For each row a number in [0, 1) that depends on what stands in it, on how often that stood before it, on all rows together, and on the seed, the same on every machine. Not
/// on where it stands: rows may be sorted by what they say, and a choice by their places would be one by their responses. Nor on what stands in it alone: of a population with few
/// distinct rows the same ones would be chosen in every table.
pub fn row_fractions<'a>(rows: impl Iterator<Item = (&'a [f64], f64)>, seed: u64) -> Vec<f64> {
    let hashes: Vec<u64> = rows.map(|(point, response)| row_hash(point, response)).collect();
    let table = hashes.iter().fold(seed.wrapping_mul(0xd134_2543_de82_ef95), |sum, hash| sum.wrapping_add(mixed(hash ^ INCREMENT)));
    let (key, mut times) = (mixed(table), HashMap::<u64, u64>::new());
    let mut fraction = |hash: u64| {
        let before = times.entry(hash).or_default();
        *before += 1;
        let drawn = mixed(mixed(hash ^ before.wrapping_mul(INCREMENT)) ^ key);
        (drawn >> 11) as f64 / (1_u64 << 53) as f64
    };
    hashes.into_iter().map(&mut fraction).collect()
}

const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of `splitmix64`.
pub(crate) fn mixed(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
