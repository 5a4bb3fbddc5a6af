//! Max-variance design on boxes.

use super::cells::{CellQueue, CellSearch, Cells, Found, deviation};
use super::guarantee::{Design, Stage};
use super::max_variance::MaxVariance;
use super::sweep::Sweep;
use crate::error::{Result, positive};
use crate::features::FeatureMap;
use crate::points::{Collected, Locations, Points, PointsRef};
use std::sync::Arc;

/// Cells of the cover among whose centres a growing dictionary finds its inducing points.
const COVER: usize = 4096;

impl MaxVariance {
    /// Chooses `count` points of a union of boxes `low[i] ≤ x ≤ high[i]` (one row each; a single box, or the surviving cells of a tree), each with at
    /// least $1/(1+\eta)$ of the largest $\bar\sigma$ over the union: cells are cut where $\bar\sigma(c)+\varrho$ is largest until $\varrho\le\eta\bar\sigma(c)$
    /// (algorithm notes 9.5). A growing dictionary finds its points among the centres of a cover of 4096 cells.
    ///
    /// Cost O(md + m²) for each cell, the number of cells being that of balls of radius $\eta\bar\sigma$ in $d_k$: meant for up to three dimensions.
    /// Memory $8m$ bytes for each cell, never more cells than [`MaxVariance::with_memory`] allows.
    ///
    /// # Errors
    /// As [`MaxVariance::choose`]; [`crate::Error::Length`] or [`crate::Error::Parameter`] for corners that do not fit or are out of order, or a slack that is not positive;
    /// [`crate::Error::Premise`] for a kernel without a metric bound over cells.
    pub fn choose_in_boxes(&self, low: PointsRef<'_>, high: PointsRef<'_>, search: CellSearch, count: usize) -> Result<Design> {
        self.check(low, count)?;
        positive("slack", search.slack)?;
        let mut run = BoxRun::new(self, low, high, search, count)?;
        let mut points = Vec::with_capacity(count * low.dim());
        let mut variances = Vec::with_capacity(count);
        while variances.len() < count {
            let found = run.largest()?;
            if run.grown(found.cell, &points)? {
                continue;
            }
            points.extend_from_slice(run.cells.centre(found.cell));
            variances.push(run.sweep.value(found.cell).max(0.0));
            run.pick(found)?;
        }
        let max_std = run.largest()?.upper;
        let points = Points::new(points, low.dim())?;
        let distinct = Locations::new(points.clone(), Collected::Designed);
        let indices = (0..count).map(|row| distinct.distinct_of(row)).collect();
        let (stage, features) = run.finish();
        let information = self.information(features, Some(points.view()))?.expect("a design has at least one point");
        Ok(Design { indices, points, variances, max_std, domain: None, stage, information })
    }
}

struct BoxRun<'a> {
    design: &'a MaxVariance,
    search: CellSearch,
    cover: Option<Points>,
    features: Arc<FeatureMap>,
    cells: Cells,
    sweep: Sweep<'a>,
    queue: CellQueue,
    stage: Stage,
    exhausted: bool,
}

impl<'a> BoxRun<'a> {
    fn new(design: &'a MaxVariance, low: PointsRef<'_>, high: PointsRef<'_>, search: CellSearch, count: usize) -> Result<Self> {
        let cells = Cells::new(design.kernel(), low, high)?;
        let cover = if design.growth().is_some() { Some(cells.cover(design.kernel(), COVER)?) } else { None };
        let features = design.features(cover.as_ref().map_or(low, Points::view), count, usize::MAX)?;
        let limit = design.memory() / (size_of::<f64>() * features.len()).max(1);
        let search = CellSearch { max_cells: search.max_cells.min(limit).max(cells.len()), ..search };
        Self::start(design, search, cover, features, cells, None)
    }

    fn start(
        design: &'a MaxVariance,
        search: CellSearch,
        cover: Option<Points>,
        features: Arc<FeatureMap>,
        cells: Cells,
        chosen: Option<PointsRef<'_>>,
    ) -> Result<Self> {
        let gram = design.gram(&features, chosen)?;
        let mut sweep = Sweep::empty(Arc::clone(&features), design.ridge(), gram)?;
        sweep.push(cells.centres()?.view())?;
        let queue = CellQueue::new(&cells, &sweep);
        let stage = Stage { picks: 0, max_residual: 0.0, gain: 0.0, slack: 0.0 };
        Ok(Self { design, search, cover, features, cells, sweep, queue, stage, exhausted: false })
    }

    fn largest(&mut self) -> Result<Found> {
        if self.sweep.is_due() {
            self.sweep.synchronise()?;
            self.queue = CellQueue::new(&self.cells, &self.sweep);
        }
        self.queue.largest(self.features.kernel(), &mut self.cells, &mut self.sweep, &self.search)
    }

    /// Adds inducing points if they are called for; whether it did.
    fn grown(&mut self, cell: usize, chosen: &[f64]) -> Result<bool> {
        let (Some(growth), Some(cover)) = (self.design.growth(), &self.cover) else { return Ok(false) };
        if self.exhausted || !growth.is_called_for(&self.features, self.sweep.residual(cell), self.sweep.value(cell)) {
            return Ok(false);
        }
        let larger = growth.enlarge(&self.features, cover.clone(), self.cells.centre(cell))?;
        let exhausted = larger.len() <= self.features.len();
        let chosen = if chosen.is_empty() { None } else { Some(PointsRef::new(chosen, cover.dim())?) };
        let started = Self::start(self.design, self.search, self.cover.clone(), larger, self.cells.clone(), chosen)?;
        *self = Self { exhausted, ..started };
        Ok(true)
    }

    fn pick(&mut self, found: Found) -> Result<()> {
        // Where exact measurements have left no variance that doubles can show, any point is as good as another, and the bound before the fact is lost.
        let sigma = deviation(&self.sweep, found.cell);
        self.stage.picks += 1;
        self.stage.slack = self.stage.slack.max(found.upper / sigma - 1.0);
        self.stage.max_residual = self.stage.max_residual.max(self.sweep.residual(found.cell));
        self.sweep.pick(found.cell)
    }

    fn finish(self) -> (Stage, Arc<FeatureMap>) {
        let largest = self.features.kernel().max_variance().unwrap_or(0.0).max(self.stage.max_residual);
        let max_residual = self.stage.max_residual + self.features.residual_rounding(largest);
        (Stage { max_residual, gain: self.sweep.gain(), ..self.stage }, self.features)
    }
}
