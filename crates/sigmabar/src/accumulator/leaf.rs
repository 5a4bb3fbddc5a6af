//! One chunk being summed, in whatever batches its rows arrive.

use super::Accumulator;
use super::node::Node;
use super::plan::Plan;
use super::sample::RowPlace;
use super::sketch::Digest;
use crate::error::{Result, SumsError, same_length};
use crate::features::BLOCK_ROWS;
use crate::points::{LARGEST_RESPONSE, PointsRef};
use std::collections::BTreeMap;

/// The sums of one chunk while its rows come in. The batches they come in leave no trace: blocks of a fixed size are made of them.
#[derive(Clone, Debug)]
pub struct Leaf<'a> {
    plan: &'a Plan,
    place: RowPlace,
    digest: Digest,
    node: Node,
    x: Vec<f64>,
    y: Vec<f64>,
    places: Vec<RowPlace>,
}

impl Plan {
    /// Begins a chunk.
    ///
    /// # Errors
    /// [`SumsError::NoChunk`] where the plan has no such chunk.
    pub fn leaf(&self, chunk: u64) -> Result<Leaf<'_>> {
        let chunks = self.chunks().len() as u64;
        if chunk >= chunks {
            return Err(SumsError::NoChunk { chunk, chunks }.into());
        }
        let node = Node::empty(self);
        let (place, digest) = (RowPlace { chunk, row: 0 }, Digest::default());
        Ok(Leaf { plan: self, place, digest, node, x: Vec::new(), y: Vec::new(), places: Vec::new() })
    }
}

impl Leaf<'_> {
    /// Adds rows, in the order of the chunk: points one after the other, and one response for each. NaN stands for a missing value. Cost O(m² + md) a row.
    ///
    /// # Errors
    /// [`crate::Error::Length`] where points and responses do not match; [`SumsError::NotFinite`] and [`SumsError::TooLarge`] naming the row of the chunk; failed
    /// self-checks.
    pub fn add(&mut self, x: &[f64], y: &[f64]) -> Result<()> {
        let (dim, summed) = (self.plan.inducing().dim(), self.plan.summed());
        same_length("the points of a batch", y.len() * dim, x.len())?;
        for (point, response) in x.chunks_exact(dim).zip(y) {
            let place = self.place;
            self.place.row += 1;
            self.digest.add(point, *response);
            let odd = point.iter().chain([response]).position(|v| !v.is_finite());
            let is_missing = point.iter().chain([response]).any(|v| v.is_nan());
            match odd {
                Some(_) if is_missing && summed.drop_missing => {
                    self.node.missing += 1;
                    self.node.lost += u64::from(response.is_nan());
                }
                Some(column) => {
                    let value = if column < dim { point[column] } else { *response };
                    return Err(SumsError::NotFinite { chunk: place.chunk, row: place.row, column, value }.into());
                }
                None if (response - summed.centre).abs() > LARGEST_RESPONSE => {
                    return Err(SumsError::TooLarge { chunk: place.chunk, row: place.row, value: *response }.into());
                }
                None if summed.left_out.iter().any(|picked| picked.contains(place)) => self.node.left_out += 1,
                None => {
                    self.node.sketch.add(point, *response);
                    self.x.extend_from_slice(point);
                    self.y.push(response - summed.centre);
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
        Ok(())
    }

    /// The sums of the chunk.
    ///
    /// # Errors
    /// [`SumsError::Rows`] and [`SumsError::Changed`] where the chunk had other rows than the plan says; failed self-checks.
    pub fn finish(mut self) -> Result<Accumulator> {
        let RowPlace { chunk, row: rows } = self.place;
        self.plan.check_rows(chunk, rows, self.digest)?;
        self.flush()?;
        Ok(Accumulator::of(self.plan, BTreeMap::from([(chunk, (0, self.node))])))
    }
}
