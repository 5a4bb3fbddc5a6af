//! One chunk being summed, in whatever batches its rows arrive.

use super::Accumulator;
use super::digest::Digest;
use super::node::Node;
use super::plan::Plan;
use super::sample::RowPlace;
use crate::error::{Result, SumsError, same_length};
use crate::features::BLOCK_ROWS;
use crate::points::{LARGEST_RESPONSE, PointsRef, row_hash};
use std::collections::BTreeMap;

/// The rows of one chunk as they arrive: where each stands, whether it counts, and in the end whether they were those that were planned.
#[derive(Clone, Debug)]
pub(crate) struct Arrived<'a> {
    plan: &'a Plan,
    place: RowPlace,
    digest: Digest,
}

/// What becomes of a row.
pub(crate) enum Fate {
    /// It is summed.
    Counts(RowPlace),
    /// A value is missing; whether it is the response.
    Missing(bool),
    /// It was learnt on, or is kept for scores.
    LeftOut,
}

impl<'a> Arrived<'a> {
    pub fn new(plan: &'a Plan, chunk: u64) -> Result<Self> {
        let chunks = plan.chunks().len() as u64;
        if chunk >= chunks {
            return Err(SumsError::NoChunk { chunk, chunks }.into());
        }
        Ok(Self { plan, place: RowPlace { chunk, row: 0 }, digest: Digest::default() })
    }

    /// The next row.
    pub fn next(&mut self, point: &[f64], response: f64) -> Result<Fate> {
        let (place, summed) = (self.place, self.plan.summed());
        self.place.row += 1;
        self.digest.add(point, response);
        let values = || point.iter().copied().chain([response]);
        if let Some((column, value)) = values().enumerate().find(|(_, value)| !value.is_finite()) {
            let is_missing = values().any(f64::is_nan);
            return if is_missing && summed.drop_missing {
                Ok(Fate::Missing(response.is_nan()))
            } else {
                Err(SumsError::NotFinite { chunk: place.chunk, row: place.row, column, value }.into())
            };
        }
        if (response - summed.centre).abs() > LARGEST_RESPONSE {
            return Err(SumsError::TooLarge { chunk: place.chunk, row: place.row, value: response }.into());
        }
        Ok(if summed.left_out.iter().any(|picked| picked.contains(place)) { Fate::LeftOut } else { Fate::Counts(place) })
    }

    /// The chunk, whose rows were those that the plan knows.
    pub fn finish(self) -> Result<u64> {
        let RowPlace { chunk, row: rows } = self.place;
        self.plan.check_rows(chunk, rows, self.digest)?;
        Ok(chunk)
    }
}

/// The sums of one chunk while its rows come in. The batches they come in leave no trace: blocks of a fixed size are made of them.
#[derive(Clone, Debug)]
pub struct Leaf<'a> {
    plan: &'a Plan,
    arrived: Arrived<'a>,
    node: Node,
    x: Vec<f64>,
    y: Vec<f64>,
    places: Vec<RowPlace>,
    hashes: Vec<u64>,
}

impl Plan {
    /// Begins a chunk.
    ///
    /// # Errors
    /// [`SumsError::NoChunk`] where the plan has no such chunk.
    pub fn leaf(&self, chunk: u64) -> Result<Leaf<'_>> {
        let (arrived, node) = (Arrived::new(self, chunk)?, Node::empty(self));
        Ok(Leaf { plan: self, arrived, node, x: Vec::new(), y: Vec::new(), places: Vec::new(), hashes: Vec::new() })
    }
}

impl Leaf<'_> {
    /// Adds rows, in the order of the chunk: points one after the other, and one response for each. NaN stands for a missing value. Cost O(m² + md) a row.
    ///
    /// # Errors
    /// [`crate::Error::Length`] where points and responses do not match; [`SumsError::NotFinite`] and [`SumsError::TooLarge`] naming the row of the chunk; failed
    /// self-checks.
    pub fn add(&mut self, x: &[f64], y: &[f64]) -> Result<()> {
        let dim = self.plan.inducing().dim();
        same_length("the points of a batch", y.len() * dim, x.len())?;
        for (point, response) in x.chunks_exact(dim).zip(y) {
            match self.arrived.next(point, *response)? {
                Fate::Missing(is_response) => {
                    self.node.missing += 1;
                    self.node.lost += u64::from(is_response);
                }
                Fate::LeftOut => self.node.left_out += 1,
                Fate::Counts(place) => {
                    self.hashes.push(row_hash(point, *response));
                    self.x.extend_from_slice(point);
                    self.y.push(response - self.plan.summed().centre);
                    self.places.push(place);
                }
            }
            if self.y.len() == BLOCK_ROWS {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if self.y.is_empty() {
            return Ok(());
        }
        let x = PointsRef::new(&self.x, self.plan.inducing().dim())?;
        self.node.add_block(self.plan, x, &self.y, &self.places)?;
        self.x.clear();
        self.y.clear();
        self.places.clear();
        self.node.sketch.add(&self.hashes);
        self.hashes.clear();
        Ok(())
    }

    /// The sums of the chunk.
    ///
    /// # Errors
    /// [`SumsError::Rows`] and [`SumsError::Changed`] where the chunk had other rows than the plan says; failed self-checks.
    pub fn finish(mut self) -> Result<Accumulator> {
        self.flush()?;
        let chunk = self.arrived.finish()?;
        Ok(Accumulator::of(self.plan, BTreeMap::from([(chunk, (0, self.node))])))
    }
}
