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
use std::ops::Range;
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

/// One survivor against every challenger, each pair under the ridge that the run chose for it.
pub(super) struct Pairs<'b> {
    ridges: &'b [PairBlock<'b>],
    row: usize,
    chosen: Vec<usize>,
}

impl<'b> Pairs<'b> {
    /// The choice is the run's, by its norm bound: known before the noise, and the same for every setting.
    pub fn new(ridges: &'b [PairBlock<'b>], row: usize, norm_bound: f64, tail: f64) -> Self {
        let best = |j: usize| {
            let planned = |r: usize| ridges[r].planned(row, j, norm_bound, tail);
            (1..ridges.len()).fold(0, |best, r| if planned(r) < planned(best) { r } else { best })
        };
        Self { ridges, row, chosen: (0..ridges[0].challengers()).map(best).collect() }
    }

    pub fn difference(&self, j: usize, setting: usize) -> Difference {
        self.ridges[self.chosen[j]].difference(self.row, j, setting)
    }

    /// The first setting of a range under which no challenger beats the survivor with all that is within `reach` of it; its end where all do. Bounds grow along the
    /// chain, so halving finds it.
    pub fn first_unbeaten(&self, settings: Range<usize>, favourite: &mut usize, factor: f64, reach: impl Fn(usize) -> f64) -> usize {
        let mut is_beaten = |s: usize| {
            let mut order = iter::once(*favourite).chain((0..self.chosen.len()).filter(|j| j != favourite));
            let by = order.find(|&j| self.beats(j, s, factor, reach(s)));
            *favourite = by.unwrap_or(*favourite);
            by.is_some()
        };
        if !is_beaten(settings.start) {
            return settings.start;
        }
        let (mut beaten, mut unbeaten) = (settings.start, settings.end);
        while unbeaten - beaten > 1 {
            let middle = usize::midpoint(beaten, unbeaten);
            if is_beaten(middle) {
                beaten = middle;
            } else {
                unbeaten = middle;
            }
        }
        unbeaten
    }

    fn beats(&self, j: usize, setting: usize, factor: f64, reach: f64) -> bool {
        self.ridges[self.chosen[j]].might_beat((self.row, j), setting, factor, reach)
            && self.difference(j, setting).upper(factor) + reach < 0.0
    }
}
