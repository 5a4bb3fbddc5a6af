//! Which pivot comes next: the largest residual, or one drawn in proportion to it.

use super::chunk::CHUNK;
use super::partial::PartialCholesky;
use super::sampling;
use crate::error::Result;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sigmabar_linalg::RANK_TOLERANCE;

/// Largest number of proposals drawn at once.
const LARGEST_BLOCK: usize = 160;
const SMALLEST_BLOCK: usize = 8;

/// How many proposals to draw at once when `count` pivots are wanted: any number gives the same law; this one is fast.
pub(super) fn proposals_for(count: usize) -> usize {
    (count / 4).clamp(SMALLEST_BLOCK, LARGEST_BLOCK)
}

impl PartialCholesky<'_> {
    /// Adds up to `count` pivots, each the location with the largest $c_i d_i$ (the first among equals): greedy conditional variance
    /// (algorithm notes 4.4). Returns how many were added: fewer when every residual is at most $10^{-12}$ of the largest variance.
    /// Deterministic. Cost O(n(d + m)) for each.
    ///
    /// # Errors
    /// A failed self-check.
    pub fn add_greedy(&mut self, count: usize) -> Result<usize> {
        let mut added = 0;
        while added < count {
            let Some(i) = self.largest_residual() else { break };
            let tolerance = self.tolerance();
            match self.absorb_locations(&[i], |_, rest| rest > tolerance)? {
                0 => self.set_aside(i),
                _ => added += 1,
            }
        }
        Ok(added)
    }

    /// Adds up to `count` pivots, each drawn with probability $\propto c_i d_i$: randomly pivoted Cholesky (algorithm notes 4.4), in its
    /// accelerated form. Proposals are drawn in blocks from the residual at hand and accepted with probability (residual now)/(residual when
    /// drawn), which gives the very law of one draw at a time, at the cost of block products: O(n(md + m²)). Returns how many were added.
    ///
    /// # Errors
    /// A failed self-check.
    pub fn add_random(&mut self, count: usize, seed: u64) -> Result<usize> {
        self.add_random_blocks(count, proposals_for(count), &mut ChaCha8Rng::seed_from_u64(seed))
    }

    /// As [`PartialCholesky::add_random`], one draw at a time: the definition, kept as the reference for the accelerated form.
    ///
    /// # Errors
    /// A failed self-check.
    pub fn add_random_one_by_one(&mut self, count: usize, seed: u64) -> Result<usize> {
        self.add_random_blocks(count, 1, &mut ChaCha8Rng::seed_from_u64(seed))
    }

    pub(super) fn add_random_blocks(&mut self, count: usize, proposals: usize, rng: &mut ChaCha8Rng) -> Result<usize> {
        let mut added = 0;
        while added < count {
            let Some(more) = self.add_random_block(count - added, proposals, rng)? else { break };
            added += more;
        }
        Ok(added)
    }

    /// One block of proposals, of which at most `limit` are taken; `None` when nothing is left to explain.
    pub(super) fn add_random_block(&mut self, limit: usize, proposals: usize, rng: &mut ChaCha8Rng) -> Result<Option<usize>> {
        let tolerance = self.tolerance();
        let weights: Vec<f64> = self
            .chunks
            .iter()
            .flat_map(|c| c.weighted_residual().zip(&c.residual).map(|(w, &d)| if d > tolerance { w } else { 0.0 }))
            .collect();
        let drawn = sampling::with_replacement(&weights, proposals, rng);
        if drawn.is_empty() {
            return Ok(None);
        }
        let before: Vec<f64> = drawn.iter().map(|&i| self.chunks[i / CHUNK].residual[i % CHUNK]).collect();
        let mut taken = std::collections::HashSet::new();
        let added = self.absorb_locations(&drawn, |j, rest| {
            let u = rng.random::<f64>();
            // The first proposal is as good as a single draw. One drawn twice has residual 0 the second time; rounding must not say otherwise.
            let pass = rest > tolerance && taken.len() < limit && (j == 0 || u * before[j] < rest);
            pass && taken.insert(drawn[j])
        })?;
        if added == 0 {
            self.set_aside(drawn[0]);
        }
        Ok(Some(added))
    }

    fn absorb_locations(&mut self, locations: &[usize], accept: impl FnMut(usize, f64) -> bool) -> Result<usize> {
        let points = self.points.select(locations)?;
        let features = self.features_at(locations);
        let known: Vec<Option<usize>> = locations.iter().map(|&i| Some(i)).collect();
        self.absorb(points.view(), &known, &features, accept)
    }

    /// The location with the largest weighted residual, if any is left to explain.
    fn largest_residual(&self) -> Option<usize> {
        let tolerance = self.tolerance();
        let mut best: Option<(f64, usize)> = None;
        for (c, chunk) in self.chunks.iter().enumerate() {
            for (i, (w, &d)) in chunk.weighted_residual().zip(&chunk.residual).enumerate() {
                if d > tolerance && best.is_none_or(|(largest, _)| w > largest) {
                    best = Some((w, c * CHUNK + i));
                }
            }
        }
        best.map(|(_, i)| i)
    }

    fn tolerance(&self) -> f64 {
        RANK_TOLERANCE * self.largest
    }
}
