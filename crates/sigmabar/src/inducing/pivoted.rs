//! Selection by pivots: grow a partial factor until its [`Stop`] says enough.

use super::certify::streamed_trace;
use super::partial::PartialCholesky;
use super::pivots::proposals_for;
use super::{Inducing, Stop, sampling};
use crate::error::Result;
use crate::kernel::Kernel;
use crate::points::Locations;
use crate::residual::ResidualNorm;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// How the next pivot is found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pivot {
    Greedy,
    Random,
}

pub(super) fn select(pivot: Pivot, stop: &Stop, kernel: &Kernel, ridge: f64, locations: &Locations, seed: u64) -> Result<Inducing> {
    stop.validate()?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let counts = locations.counts().map_or_else(|| vec![1.0; locations.distinct()], <[f64]>::to_vec);
    let Some(limit) = stop.subsample.filter(|&limit| limit < locations.distinct()) else {
        let mut growth = DictionarySize { factor: PartialCholesky::over(kernel, locations.points(), &counts)?, pivot, stop, ridge, rng };
        let norm = growth.run()?;
        let indices = growth.factor.indices().iter().flatten().copied().collect();
        return Inducing::chosen(locations, indices).map(|chosen| chosen.with_residual_norm(norm));
    };
    let mut sample = sampling::subset(locations.distinct(), limit, &mut rng);
    sample.sort_unstable();
    let points = locations.points().select(&sample)?;
    let sample_counts: Vec<f64> = sample.iter().map(|&i| counts[i]).collect();
    let factor = PartialCholesky::over(kernel, points.view(), &sample_counts)?;
    let mut growth = DictionarySize { factor, pivot, stop, ridge, rng };
    growth.run()?;
    let factor = growth.factor;
    let norm = streamed_trace(kernel, &factor.pivots()?, &factor.lower(), locations.points(), &counts)?;
    let indices = factor.indices().iter().flatten().map(|&i| sample[i]).collect();
    Inducing::chosen(locations, indices).map(|chosen| chosen.with_residual_norm(norm))
}

struct DictionarySize<'a> {
    factor: PartialCholesky<'a>,
    pivot: Pivot,
    stop: &'a Stop,
    ridge: f64,
    rng: ChaCha8Rng,
}

impl DictionarySize<'_> {
    /// Adds pivots until a rule is met, and cuts the factor back to the inducing points; their certificate.
    fn run(&mut self) -> Result<ResidualNorm> {
        let size = self.stop.size.min(self.factor.points.len());
        let last = size + self.stop.look_ahead.min(size);
        self.factor.reserve(last);
        let goal = self.stop.trace.map(|fraction| fraction * self.factor.residual_trace());
        loop {
            let t = self.factor.len();
            let finished = t >= last || !self.grow(last - t)?;
            if let Some(rank) = goal.and_then(|goal| self.first_at_trace(goal, size)) {
                return self.end(rank, None);
            }
            if let Some(theta) = self.stop.residual {
                let back = self.stop.look_ahead.max(self.factor.len() - t);
                let first = self.factor.len().saturating_sub(back).max(1);
                if let Some((rank, norm)) = self.factor.smallest_rank(first, size, theta * self.ridge * self.ridge)? {
                    return self.end(rank, Some(norm));
                }
            }
            if finished {
                return self.end(size.min(self.factor.len()), None);
            }
        }
    }

    /// Some more pivots, at most `limit`; whether there were any.
    fn grow(&mut self, limit: usize) -> Result<bool> {
        let t = self.factor.len();
        // Without an early stop nothing is looked at on the way.
        let step = if self.stop.residual.is_some() || self.stop.trace.is_some() { (t / 8).max(8).min(limit) } else { limit };
        match self.pivot {
            Pivot::Greedy => Ok(self.factor.add_greedy(step)? > 0),
            Pivot::Random => {
                let proposals = proposals_for(self.stop.size);
                Ok(self.factor.add_random_block(limit, proposals, &mut self.rng)?.is_some())
            }
        }
    }

    /// The smallest size, up to `size`, at which the trace was at most `goal`.
    fn first_at_trace(&self, goal: f64, size: usize) -> Option<usize> {
        let mut trace = self.factor.residual_trace();
        let mut found = None;
        for rank in (1..=self.factor.len()).rev() {
            if trace > goal {
                break;
            }
            if rank <= size {
                found = Some(rank);
            }
            trace += self.factor.explained[rank - 1];
        }
        found
    }

    fn end(&mut self, rank: usize, norm: Option<ResidualNorm>) -> Result<ResidualNorm> {
        let norm = norm.map_or_else(|| self.factor.residual_norm(rank), Ok)?;
        self.factor.truncate(rank);
        Ok(norm)
    }
}
