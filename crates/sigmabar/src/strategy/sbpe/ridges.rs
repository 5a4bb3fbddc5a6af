//! A ridge for each pair (algorithm notes 14.3): a batch is estimated under several ridges, and each pair takes the one whose bound is narrowest.
//!
//! The choice looks at the points, the norm bound and the noise level only, all known before the noise of the batch: the weights of every pair stay as fixed
//! as under one ridge, and nothing of $\delta$ is spent.

use super::elimination::Evidence;
use super::pairs::{BLOCK, Centre, Challengers, Common, Difference, PairBlock, Under, Width};
use crate::error::Result;
use crate::noise::Noise;
use crate::points::{Points, PointsRef};
use crate::posterior::Posterior;
use std::iter;
use std::sync::Arc;

/// Ridges beside the batch's own, relative to it.
const FACTORS: [f64; 3] = [0.35, 0.7, 1.4];

/// The batch under ridges beside its own. Levels that came with the responses are not looked at to choose one: that would look at the noise. A
/// level bounded by replicates of normal noise may be looked at: scatter within groups is independent of their means, which is all that weights see.
pub(super) fn others(evidence: &Evidence) -> Result<Vec<Posterior>> {
    if evidence.noise.level() == 0.0 {
        return Ok(Vec::new());
    }
    let (posterior, information) = (&evidence.posterior, evidence.posterior.information());
    let fit =
        |factor: &f64| Posterior::fit(Arc::clone(information.features()), factor * information.ridge(), posterior.observations()?.clone());
    FACTORS.iter().map(fit).collect()
}

/// Challengers under one ridge beside the batch's own.
pub(super) struct Beside<'a> {
    posterior: &'a Posterior,
    challengers: Challengers<'a>,
    own: Vec<Centre>,
}

impl<'a> Beside<'a> {
    pub fn new(posterior: &'a Posterior, under: Under<'a, '_>, points: &Points, noise: &Noise, width: &Width) -> Result<Self> {
        let width = Width { ridge: posterior.information().ridge(), ..width.clone() };
        let own = centres(posterior, points.view())?;
        Ok(Self { challengers: Challengers::new(posterior, under, points.clone(), noise, width)?, posterior, own })
    }

    /// A block of points against the challengers.
    pub fn block(&self, points: PointsRef<'_>, common: &Common) -> Result<PairBlock<'_>> {
        self.challengers.block(points, common, &centres(self.posterior, points)?, &self.own)
    }

    pub fn challengers(&self) -> &Challengers<'a> {
        &self.challengers
    }
}

fn centres(posterior: &Posterior, points: PointsRef<'_>) -> Result<Vec<Centre>> {
    let means = posterior.rounded_means(points)?;
    Ok(means.into_iter().map(|(mean, slack)| Centre { mean, slack, radius: 0.0 }).collect())
}

impl Challengers<'_> {
    /// As [`Challengers::for_each_survivor`], with $e$ under every ridge, and each pair under the ridge that promises most for noise `factor` times its term.
    pub fn for_each_survivor_at_best(
        &self,
        beside: &[Beside<'_>],
        factor: f64,
        survivors: PointsRef<'_>,
        centres: &[Centre],
        own: &[Centre],
        mut f: impl FnMut(usize, &[&[f64]], &[Difference]) -> Result<()>,
    ) -> Result<()> {
        let mut best = vec![Difference::default(); self.len()];
        for start in (0..survivors.len()).step_by(BLOCK) {
            let end = survivors.len().min(start + BLOCK);
            let points = survivors.range(start, end);
            let common = self.common(points)?;
            let others: Vec<PairBlock<'_>> = beside.iter().map(|b| b.block(points, &common)).collect::<Result<_>>()?;
            self.block(points, &common, &centres[start..end], own)?.for_each_row(|i, solved, differences| {
                best.copy_from_slice(differences);
                for (ridge, other) in others.iter().enumerate() {
                    for (j, best) in best.iter_mut().enumerate() {
                        let other = other.difference(i, j, 0);
                        if other.planned(factor) < best.planned(factor) {
                            *best = Difference { ridge: ridge + 1, ..other };
                        }
                    }
                }
                let solved: Vec<&[f64]> = iter::once(solved).chain(others.iter().map(|block| block.solved(i))).collect();
                f(start + i, &solved, &best)
            })?;
        }
        Ok(())
    }
}
