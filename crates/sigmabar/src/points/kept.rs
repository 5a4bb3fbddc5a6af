//! What is left of the rows after a fit: all of them, or sums over them.

use super::{Collected, Doubts, Locations, Observations, PointsRef, Prior, Sketch, row_hash, usable_responses};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Where was measured: every row, or how many there were.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum KeptLocations {
    Rows(Arc<Locations>),
    Sums(SummedLocations),
}

/// What sums over rows leave of where was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SummedLocations {
    /// Number of observations.
    pub rows: usize,
    /// What their weights add up to.
    pub total: f64,
    /// The largest $k(x_i,x_i)$.
    pub largest: f64,
    /// $\sum\log w$ over the rows.
    pub log_weights: f64,
    pub collected: Collected,
}

/// What was seen there: every response, or sums over them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum KeptResponses {
    Rows(Observations),
    Sums(SummedResponses),
}

/// What sums over rows leave of the responses, in the model's scale.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SummedResponses {
    pub prior: Prior,
    /// $\sum((y-\text{mean})/\text{unit})^2$.
    pub sum_squares: f64,
    /// The sum of what `sum_squares` was put together from, which bounds what it may have lost: at least `sum_squares`.
    pub terms: f64,
    /// A bound on $\sum|y-\text{mean}|/\text{unit}$ and on the sums that $h$ was put together from.
    pub absolute: f64,
    pub doubts: Doubts,
    /// By which rows that come again are known.
    pub sketch: Arc<Sketch>,
}

/// Asked of a model that has its sums only.
const NO_ROWS: Error = Error::Missing {
    what: "every measured row",
    purpose: "this",
    remedy: "the model keeps sums over its rows only: fit one that keeps them, or ask for what sums can tell (trace or look-ahead \
             bound, direct or dictionary width)",
};

impl KeptLocations {
    pub fn rows(&self) -> Result<&Arc<Locations>> {
        match self {
            Self::Rows(locations) => Ok(locations),
            Self::Sums(_) => Err(NO_ROWS),
        }
    }

    /// Number of observations, repetitions counted.
    pub fn len(&self) -> usize {
        match self {
            Self::Rows(locations) => locations.len(),
            Self::Sums(sums) => sums.rows,
        }
    }

    /// At most this many distinct points.
    pub fn distinct(&self) -> usize {
        match self {
            Self::Rows(locations) => locations.distinct(),
            Self::Sums(sums) => sums.rows,
        }
    }

    /// What all counts or weights add up to.
    pub fn total(&self) -> f64 {
        match self {
            Self::Rows(locations) => locations.total(),
            Self::Sums(sums) => sums.total,
        }
    }

    /// $\sum\log w$ over the rows: what weights add to twice the log evidence. 0 without weights.
    pub fn log_weights(&self) -> f64 {
        match self {
            Self::Rows(locations) => locations.log_weights(),
            Self::Sums(sums) => sums.log_weights,
        }
    }

    pub fn collected(&self) -> Collected {
        match self {
            Self::Rows(locations) => locations.collected(),
            Self::Sums(sums) => sums.collected,
        }
    }

    pub fn declare(&mut self, collected: Collected) {
        match self {
            Self::Rows(locations) => Arc::make_mut(locations).declare(collected),
            Self::Sums(sums) => sums.collected = collected,
        }
    }

    /// One more observation at `x`, where the prior variance is `k_xx`.
    pub fn push(&mut self, x: &[f64], k_xx: f64) -> Result<()> {
        match self {
            Self::Rows(locations) => Arc::make_mut(locations).push(x).map(drop),
            Self::Sums(sums) => {
                sums.rows += 1;
                sums.total += 1.0;
                sums.largest = sums.largest.max(k_xx);
                Ok(())
            }
        }
    }

    /// More observations, the largest prior variance then being `largest`.
    pub fn extend(&mut self, x: PointsRef<'_>, largest: f64) -> Result<()> {
        match self {
            Self::Rows(locations) => *locations = Arc::new(locations.extended(x)?),
            Self::Sums(sums) => {
                sums.rows += x.len();
                sums.total += x.len() as f64;
                sums.largest = largest;
            }
        }
        Ok(())
    }

    /// Whether everything fits together: asked of what comes from a file.
    pub fn is_consistent(&self) -> bool {
        match self {
            Self::Rows(locations) => locations.is_consistent(),
            Self::Sums(sums) => {
                sums.rows > 0
                    && sums.largest.is_finite()
                    && sums.largest >= 0.0
                    && sums.log_weights.is_finite()
                    && sums.total.is_finite()
                    && sums.total > 0.0
            }
        }
    }
}

impl KeptResponses {
    pub fn rows(&self) -> Result<&Observations> {
        match self {
            Self::Rows(observations) => Ok(observations),
            Self::Sums(_) => Err(NO_ROWS),
        }
    }

    pub fn prior(&self) -> Prior {
        match self {
            Self::Rows(observations) => observations.prior(),
            Self::Sums(sums) => sums.prior,
        }
    }

    /// What speaks against the rows.
    pub fn doubts(&self) -> Doubts {
        match self {
            Self::Rows(observations) => observations.doubts(),
            Self::Sums(sums) => sums.doubts,
        }
    }

    /// A bound on $\sum|y-\text{mean}|/\text{unit}$.
    pub fn absolute(&self) -> f64 {
        match self {
            Self::Rows(o) => o.sums().iter().map(|s| s.abs()).sum(),
            Self::Sums(sums) => sums.absolute,
        }
    }

    /// What is left when the rows go. Cost O(n log n).
    pub fn sums(&self) -> SummedResponses {
        match self {
            Self::Rows(o) => SummedResponses {
                prior: o.prior(),
                sum_squares: o.sum_squares(),
                terms: o.sum_squares(),
                absolute: self.absolute(),
                doubts: Doubts { are_watched: o.hashes().len() < o.len(), ..o.doubts() },
                sketch: Arc::new(Sketch::of(o.hashes())),
            },
            Self::Sums(sums) => sums.clone(),
        }
    }

    /// One more response.
    pub fn push(&mut self, x: &[f64], y: f64) -> Result<()> {
        match self {
            Self::Rows(observations) => observations.push(x, y).map(drop),
            Self::Sums(sums) => {
                usable_responses(&[y], sums.prior, 0)?;
                sums.add(&[row_hash(x, y)], &[y]);
                Ok(())
            }
        }
    }

    /// More responses, at locations that know them already.
    pub fn extend(&mut self, x: PointsRef<'_>, locations: &KeptLocations, y: &[f64]) -> Result<()> {
        match self {
            Self::Rows(observations) => *observations = observations.extended(Arc::clone(locations.rows()?), y)?,
            Self::Sums(sums) => sums.add(&x.rows().zip(y).map(|(row, y)| row_hash(row, *y)).collect::<Vec<_>>(), y),
        }
        Ok(())
    }

    /// Whether everything fits together: asked of what comes from a file.
    pub fn is_consistent(&self) -> bool {
        match self {
            Self::Rows(observations) => observations.is_consistent(),
            Self::Sums(sums) => {
                let size = [sums.sum_squares, sums.terms, sums.absolute].iter().all(|v| v.is_finite() && *v >= 0.0);
                size && sums.prior.is_consistent() && sums.sketch.is_consistent()
            }
        }
    }
}

impl SummedResponses {
    /// More rows. What was declared about those before says nothing about copies that these bring.
    fn add(&mut self, hashes: &[u64], y: &[f64]) {
        let before = self.sketch.copies();
        Arc::make_mut(&mut self.sketch).add(hashes);
        let more = self.sketch.copies().saturating_sub(before);
        self.doubts.copies += more;
        self.doubts.are_distinct &= more == 0;
        self.doubts.are_watched |= !self.sketch.is_whole();
        for y in y.iter().map(|y| self.prior.to_model(*y)) {
            self.sum_squares += y * y;
            self.terms += y * y;
            self.absolute += y.abs();
        }
    }
}
