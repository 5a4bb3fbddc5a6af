//! Sums over rows that add up to the same bits whoever adds them: what lets a fit span files, processes and machines.
//!
//! The data are cut into chunks, numbered in the data's own order. Each chunk becomes one leaf, and leaves are added only as aligned neighbours of a fixed binary
//! tree over their numbers: an [`Accumulator`] holds the subtrees that are complete, so that neither the order nor the grouping of merges can be seen in the result.
//! It knows which chunks it covers, and refuses to count one twice.

mod digest;
mod extend;
mod leaf;
mod node;
mod plan;
mod sample;

pub use crate::error::SumsError;
pub use digest::Digest;
pub use extend::Extended;
pub use leaf::Leaf;
pub(crate) use leaf::{Arrived, Fate};
pub use node::WorstRow;
pub(crate) use node::{Ahead as SummedAhead, Node, Scalars, Squares};
pub(crate) use plan::{Identity, ORTHOGONAL_ABOVE};
pub use plan::{Plan, Road};
pub use sample::{Picked, RowPlace, RowSample};

use crate::error::{Error, Result, SavedError};
use crate::sealed::{self, Kind};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The sums of some chunks of a [`Plan`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Accumulator {
    identity: Identity,
    chunks: u64,
    worst: usize,
    /// Vector instructions of the machines that summed.
    instructions: BTreeSet<String>,
    /// Complete subtrees by their first chunk: each covers $2^{\text{level}}$ chunks from a multiple of that number.
    nodes: BTreeMap<u64, (u32, Node)>,
}

const TORN: Error = Error::Saved(SavedError::Content { what: "sums" });

impl Accumulator {
    fn of(plan: &Plan, nodes: BTreeMap<u64, (u32, Node)>) -> Self {
        let (chunks, worst) = (plan.chunks().len() as u64, plan.summed().worst);
        let instructions = nodes.iter().map(|_| sigmabar_linalg::instructions().to_owned()).collect();
        Self { identity: plan.identity(), chunks, worst, instructions, nodes }
    }

    /// The sums of no chunk: whoever has nothing to do gives this.
    #[must_use]
    pub fn empty(plan: &Plan) -> Self {
        Self::of(plan, BTreeMap::new())
    }

    /// Adds the sums of other chunks. Cost O(m²) for each pair of neighbours that meet, O(m³) on the orthogonal road.
    ///
    /// # Errors
    /// [`SumsError`] where a chunk is in both, or kernel, inducing points, data or premises differ: this is then unchanged. A failed self-check, after which it has
    /// lost chunks.
    pub fn merge(&mut self, other: Self) -> Result<()> {
        self.identity.same_sums(&other.identity)?;
        self.identity.same_premises(&other.identity)?;
        if let Some(chunk) = self.first_common(&other) {
            return Err(SumsError::Twice { chunk }.into());
        }
        for (first, (level, node)) in other.nodes {
            insert(&mut self.nodes, first, level, node, self.worst)?;
        }
        self.instructions.extend(other.instructions);
        Ok(())
    }

    /// The vector instructions of the machines that summed: with more than one kind the sums agree with those of one machine to rounding, not to the bit.
    #[must_use]
    pub fn instructions(&self) -> Vec<&str> {
        self.instructions.iter().map(String::as_str).collect()
    }

    fn first_common(&self, other: &Self) -> Option<u64> {
        let ranges = |sums: &Self| sums.nodes.iter().map(|(first, (level, _))| (*first, *first + (1 << level))).collect::<Vec<_>>();
        let (ours, theirs) = (ranges(self), ranges(other));
        let common = |a: &(u64, u64), b: &(u64, u64)| (a.0.max(b.0) < a.1.min(b.1)).then_some(a.0.max(b.0));
        ours.iter().flat_map(|a| theirs.iter().filter_map(move |b| common(a, b))).min()
    }

    /// The chunks that are covered, as ranges from one up to but without another, in order.
    #[must_use]
    pub fn covered(&self) -> Vec<(u64, u64)> {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for (first, (level, _)) in &self.nodes {
            let end = first + (1 << level);
            match ranges.last_mut() {
                Some(last) if last.1 == *first => last.1 = end,
                _ => ranges.push((*first, end)),
            }
        }
        ranges
    }

    /// The chunks that are not covered yet, in order.
    #[must_use]
    pub fn uncovered(&self) -> Vec<u64> {
        let covered = self.covered();
        (0..self.chunks).filter(|chunk| !covered.iter().any(|(first, end)| (first..end).contains(&chunk))).collect()
    }

    /// Chunks of the plan.
    #[must_use]
    pub fn chunks(&self) -> u64 {
        self.chunks
    }

    /// Rows summed.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.nodes.values().map(|(_, node)| node.rows).sum()
    }

    /// Rows passed over because a value was missing.
    #[must_use]
    pub fn missing_rows(&self) -> u64 {
        self.nodes.values().map(|(_, node)| node.missing).sum()
    }

    /// Rows left out because the plan said so.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.nodes.values().map(|(_, node)| node.left_out).sum()
    }

    /// The sums over everything: what is left of the tree at its right edge is added from the right.
    ///
    /// # Errors
    /// [`SumsError::Missing`] naming the first chunk that is not there; [`SumsError::Other`] for another plan's sums.
    pub(crate) fn total(&self, plan: &Plan) -> Result<Node> {
        self.identity.same_sums(&plan.identity())?;
        let missing = self.uncovered();
        if let Some(&chunk) = missing.first() {
            return Err(SumsError::Missing { chunk, count: missing.len() as u64 }.into());
        }
        let mut nodes = self.nodes.values().rev();
        let (_, mut total) = nodes.next().cloned().ok_or(TORN)?;
        for (_, node) in nodes {
            let right = std::mem::replace(&mut total, node.clone());
            total.merge(right, self.worst)?;
        }
        if total.rows == 0 {
            return Err(Error::Empty { what: "the data, less what was left out or missing," });
        }
        Ok(total)
    }

    /// The mean of $s_1^2$ over all that is covered.
    #[must_use]
    pub fn mean_residual(&self) -> f64 {
        self.residual_trace() / self.rows().max(1) as f64
    }

    /// The rows of largest residual in all that is covered, largest first: the next inducing points.
    #[must_use]
    pub fn worst(&self) -> Vec<WorstRow> {
        let mut rows: Vec<WorstRow> = self.nodes.values().flat_map(|(_, node)| node.worst.iter().cloned()).collect();
        rows.sort_by(|a, b| b.residual.total_cmp(&a.residual).then(a.place.cmp(&b.place)));
        rows.truncate(self.worst);
        rows
    }

    /// $\operatorname{tr}D$ over all that is covered, as computed.
    #[must_use]
    pub fn residual_trace(&self) -> f64 {
        self.nodes.values().map(|(_, node)| node.scalars.residual_trace).sum()
    }

    /// The sums as bytes, in the envelope of everything saved ([`crate::sealed`]): 4m² bytes for each subtree that has not met its neighbour.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.to_bytes_with("")
    }

    /// The same with a remark for whoever reads it.
    #[must_use]
    pub fn to_bytes_with(&self, remark: &str) -> Vec<u8> {
        sealed::seal(Kind::Sums, remark, &postcard::to_stdvec(self).expect("plain numbers and lists always serialise"))
    }

    /// Reads sums that were summed by this plan.
    ///
    /// # Errors
    /// [`SavedError`] saying why: foreign, of another version, cut short, damaged, or not sums; [`SumsError::Other`] where they are another plan's.
    pub fn from_bytes(plan: &Plan, bytes: &[u8]) -> Result<Self> {
        let opened = sealed::open(Kind::Sums, bytes)?;
        let sums: Self = postcard::from_bytes(opened.content).map_err(|_| TORN)?;
        let expected = plan.identity();
        expected.same_sums(&sums.identity)?;
        expected.same_premises(&sums.identity)?;
        let mut end = 0;
        let sound = sums.chunks == plan.chunks().len() as u64
            && sums.nodes.iter().all(|(&first, (level, node))| {
                let size = 1_u64.checked_shl(*level).unwrap_or(0);
                let aligned = size > 0 && first % size == 0 && first >= end && size <= sums.chunks && first <= sums.chunks - size;
                end = first.saturating_add(size);
                aligned && node.is_consistent(plan)
            });
        if sound { Ok(sums) } else { Err(TORN) }
    }
}

/// Puts a subtree in and adds neighbours up as long as they are complete.
fn insert(nodes: &mut BTreeMap<u64, (u32, Node)>, mut first: u64, mut level: u32, mut node: Node, worst: usize) -> Result<()> {
    loop {
        let sibling = first ^ (1 << level);
        match nodes.get(&sibling) {
            Some((found, _)) if *found == level => {}
            _ => break,
        }
        let Some((_, other)) = nodes.remove(&sibling) else { break };
        let (mut left, right) = if sibling < first { (other, node) } else { (node, other) };
        left.merge(right, worst)?;
        (node, first, level) = (left, first.min(sibling), level + 1);
    }
    nodes.insert(first, (level, node));
    Ok(())
}
