//! What a batch proves on a box: cells of a tree are discarded whole (algorithm notes 9.3–9.6).

use super::elimination::{Batch, CHALLENGERS, Evidence};
use super::pairs::{Centre, Challengers};
use super::premises::Premises;
use super::state::State;
use crate::design::{CellSearch, DictionarySize, MaxVariance};
use crate::domain::{BoxDomain, CellTree};
use crate::error::Result;
use crate::kernel::{Kernel, Lengthscale};
use crate::points::{Collected, Locations, Points, PointsRef};
use crate::theory::half_width_slope;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A cell is fine enough when what its size adds to a bound is at most this share of the bound's own half-width.
pub(super) const FINE: f64 = 0.25;

/// The surviving part of a box, and the points whose lower bounds are known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Cells {
    pub tree: CellTree,
    /// For each cell an upper bound on $u$ over it: the smallest of all batches and of the cells that contain it.
    upper: Vec<f64>,
    /// The points with the largest lower bounds, best first.
    anchors: Vec<Anchor>,
}

/// A point and the lower bound of its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Anchor {
    point: Vec<f64>,
    lower: f64,
}

/// Challengers with their ranks, and a list of which they are the first.
pub(super) struct Fixed {
    pub points: Points,
    pub ranks: Vec<usize>,
    pub list: Points,
}

/// The numbers that turn a bound at the centre of a cell into one over the cell (algorithm notes 8.7).
struct Slopes {
    above: f64,
    pairs: f64,
}

/// Everything that judges cells in one batch.
struct Judge<'a> {
    batch: &'a Batch<'a>,
    evidence: &'a Evidence,
    challengers: Challengers<'a>,
    own: Vec<Centre>,
    slopes: Slopes,
    /// $z$ at $x^*$ and for pairs.
    above: f64,
    tail: f64,
    floor: f64,
}

impl Cells {
    pub fn new(domain: &BoxDomain, kernel: &Kernel, capacity: usize) -> Result<Self> {
        // Without a length-scale of its own, sides are measured by the box's; one without length is never cut.
        let sides = || domain.sides().into_iter().map(|side| if side > 0.0 { side } else { 1.0 }).collect();
        let lengthscale = kernel.lengthscale().cloned().unwrap_or_else(|| Lengthscale::PerColumn(sides()));
        Ok(Self { tree: CellTree::new(domain, lengthscale, capacity)?, upper: vec![f64::INFINITY], anchors: Vec::new() })
    }

    /// The box in $2^h$ equal cells.
    pub fn halved(domain: &BoxDomain, kernel: &Kernel, halvings: u32) -> Result<Self> {
        let mut cells = Self::new(domain, kernel, 2 << halvings)?;
        for _ in 0..halvings {
            let leaves: Vec<usize> = cells.tree.leaves().collect();
            for cell in leaves {
                cells.tree.split(cell);
            }
        }
        cells.upper = vec![f64::INFINITY; cells.tree.len()];
        Ok(cells)
    }

    /// The centres of the surviving cells.
    pub fn centres(&self) -> Result<Points> {
        self.tree.centres(&self.tree.leaves().collect::<Vec<_>>())
    }

    /// Points of largest variance over the surviving cells, within a factor 1.1, and the inducing points behind them.
    pub fn design(
        &self,
        premises: &Premises<'_>,
        growth: DictionarySize,
        known: Option<Arc<Locations>>,
        count: usize,
    ) -> Result<(Points, Points)> {
        let whole = self.whole_cells();
        let corners = |corner: fn(&CellTree, usize) -> &[f64]| {
            Points::new(whole.iter().flat_map(|&cell| corner(&self.tree, cell)).copied().collect(), self.tree.dim())
        };
        let (low, high) = (corners(CellTree::low)?, corners(CellTree::high)?);
        let mut design = MaxVariance::growing(premises.kernel.clone(), premises.ridge, growth)?;
        if let Some(known) = known {
            design = design.after(known);
        }
        let design = design.choose_in_boxes(low.view(), high.view(), CellSearch::default(), count)?;
        Ok((design.points().to_points(), design.information().features().inducing().to_points()))
    }

    /// The largest cells of which everything survives: together the survivors, in far fewer boxes than leaves.
    pub fn whole_cells(&self) -> Vec<usize> {
        let mut whole: Vec<bool> = (0..self.tree.len()).map(|cell| self.tree.is_surviving_leaf(cell)).collect();
        for cell in (0..self.tree.len()).rev() {
            // Halves come after their parent.
            if let Some([a, b]) = self.tree.halves(cell) {
                whole[cell] = whole[a] && whole[b];
            }
        }
        (0..self.tree.len()).filter(|&cell| whole[cell] && self.tree.parent(cell).is_none_or(|parent| !whole[parent])).collect()
    }

    /// Splits and discards cells by what the batch shows. Cost O(md + m² + Mm) for each cell looked at.
    pub fn learn(&mut self, batch: &Batch<'_>, evidence: &Evidence, state: &mut State) -> Result<()> {
        let Fixed { points, ranks, list } = self.fixed(batch)?;
        let lower = self.raise_anchors(batch, evidence, &list)?;
        state.floor = self.anchors.first().map_or(state.floor, |a| a.lower.max(state.floor));
        let mut judge = Judge::new(batch, evidence, points.clone(), &ranks, state.floor)?;
        let mut tree = self.clone();
        let gaps = tree.refine(&mut judge)?;
        if tree.tree.leaves().next().is_none() {
            // No function within the premises does this.
            state.contradict(None, batch.claimed_norm());
            return Ok(());
        }
        *self = tree;
        self.compact();
        let ceiling = self.tree.leaves().map(|cell| self.upper[cell]).fold(f64::NEG_INFINITY, f64::max);
        state.ceiling = state.ceiling.min(ceiling);
        if let Some(j) = (0..gaps.len()).min_by(|&a, &b| gaps[a].total_cmp(&gaps[b]).then(a.cmp(&b))) {
            state.offer(None, points.row(j), gaps[j].max(0.0), lower[j]);
        }
        if let Some(Anchor { point, lower }) = self.anchors.first() {
            state.offer(None, point, (state.ceiling - lower).max(0.0), *lower);
        }
        Ok(())
    }

    /// What is fixed before the noise of a batch: the challengers, which are the anchors and the first of the design, and the list whose lower bounds are taken.
    pub fn fixed(&self, batch: &Batch<'_>) -> Result<Fixed> {
        let trials = &batch.ledger.trials()[batch.ledger.batch(batch.index)];
        let planned = Points::new(trials.iter().flat_map(|t| &t.point).copied().collect(), self.tree.dim())?;
        let designed = Locations::new(planned, Collected::Designed);
        let first = designed.points().range(0, designed.distinct().min(CHALLENGERS));
        let anchored: Vec<f64> = self.anchors.iter().flat_map(|a| &a.point).copied().collect();
        let points = joined(&anchored, first)?;
        let known = points.len() - first.len();
        let ranks = (0..points.len()).map(|i| i.min(known)).collect();
        Ok(Fixed { points, ranks, list: joined(&anchored, designed.points())? })
    }

    /// Lower bounds at a list fixed before the noise, with their share of $\delta$ over the list; the best become the anchors. The bounds of the first points of the list,
    /// which are the challengers, come back.
    fn raise_anchors(&mut self, batch: &Batch<'_>, evidence: &Evidence, list: &Points) -> Result<Vec<f64>> {
        let singles = batch.singles(evidence, list)?;
        let known = self.anchors.len();
        let lower: Vec<f64> =
            (0..list.len()).map(|i| if i < known { singles.lower[i].max(self.anchors[i].lower) } else { singles.lower[i] }).collect();
        let mut anchors: Vec<Anchor> = Vec::with_capacity(list.len());
        for (point, &lower) in list.view().rows().zip(&lower) {
            match anchors.iter_mut().take(known).find(|a| a.point == point) {
                Some(anchor) => anchor.lower = anchor.lower.max(lower),
                None => anchors.push(Anchor { point: point.to_vec(), lower }),
            }
        }
        anchors.sort_by(|a, b| b.lower.total_cmp(&a.lower));
        anchors.truncate(CHALLENGERS);
        self.anchors = anchors;
        Ok(lower)
    }

    /// Level after level: discard, halve, or keep. The pairwise gap of each challenger over what is kept.
    fn refine(&mut self, judge: &mut Judge<'_>) -> Result<Vec<f64>> {
        let mut gaps = vec![f64::NEG_INFINITY; judge.own.len()];
        let mut frontier: Vec<usize> = self.tree.leaves().collect();
        while !frontier.is_empty() {
            let possible = self.bound(judge, &frontier)?;
            frontier = self.compare(judge, &possible, &mut gaps)?;
        }
        Ok(gaps)
    }

    /// Upper bounds over cells from $u$ at their centres; those below the floor are discarded, the others come back with mean, radius and half-width.
    fn bound(&mut self, judge: &Judge<'_>, cells: &[usize]) -> Result<Vec<Looked>> {
        let kernel = &judge.batch.premises.kernel.value;
        let centres = self.tree.centres(cells)?;
        let (means, halves) = judge.evidence.posterior.centred_widths(&judge.evidence.widths, centres.view())?;
        let mut possible = Vec::with_capacity(cells.len());
        for ((&cell, &mean), half) in cells.iter().zip(&means).zip(&halves) {
            let radius = self.tree.radius(cell, kernel).unwrap_or(f64::INFINITY);
            let width = half.bias + judge.above * half.coefficient + half.slack;
            self.upper[cell] = self.upper[cell].min(mean + width + judge.slopes.above * radius);
            if self.upper[cell] < judge.floor {
                self.tree.discard(cell);
            } else {
                possible.push(Looked { cell, radius, width, centre: Centre { mean, slack: half.slack, radius } });
            }
        }
        Ok(possible)
    }

    /// Discards the cells that some challenger beats everywhere, halves those that are coarse, and gives the halves.
    fn compare(&mut self, judge: &Judge<'_>, possible: &[Looked], gaps: &mut [f64]) -> Result<Vec<usize>> {
        if possible.is_empty() {
            return Ok(Vec::new());
        }
        let centres = self.tree.centres(&possible.iter().map(|l| l.cell).collect::<Vec<_>>())?;
        let at: Vec<Centre> = possible.iter().map(|l| l.centre).collect();
        let mut halves = Vec::new();
        judge.challengers.for_each_survivor(centres.view(), &at, &judge.own, |i, _, differences| {
            let Looked { cell, radius, width, .. } = possible[i];
            let reach = judge.slopes.pairs * radius;
            if differences.iter().any(|d| d.upper(judge.tail) + reach < 0.0) {
                self.tree.discard(cell);
                return Ok(());
            }
            if reach > FINE * width
                && let Some(split) = self.tree.split(cell)
            {
                self.upper.extend([self.upper[cell]; 2]);
                halves.extend(split);
                return Ok(());
            }
            gaps.iter_mut().zip(differences).for_each(|(gap, d)| *gap = gap.max(d.upper(judge.tail) + reach));
            Ok(())
        })?;
        Ok(halves)
    }

    #[cfg(test)]
    pub fn upper_of(&self, cell: usize) -> f64 {
        self.upper[cell]
    }

    fn compact(&mut self) {
        let renumbered = self.tree.compact();
        let mut upper = vec![f64::INFINITY; self.tree.len()];
        for (old, new) in renumbered.into_iter().enumerate() {
            if let Some(new) = new {
                upper[new] = self.upper[old];
            }
        }
        self.upper = upper;
    }
}

/// A cell that its own bound could not discard.
#[derive(Clone, Copy)]
struct Looked {
    cell: usize,
    radius: f64,
    width: f64,
    centre: Centre,
}

impl<'a> Judge<'a> {
    fn new(batch: &'a Batch<'a>, evidence: &'a Evidence, points: Points, ranks: &[usize], floor: f64) -> Result<Self> {
        let own = batch.singles(evidence, &points)?.centres;
        let (above, tail) = (batch.above(&evidence.noise), batch.pair_tail(&evidence.noise, points.len()));
        let width = batch.width(evidence, ranks);
        let largest = width.emphasis.iter().copied().fold(1.0, f64::max);
        // The half-width's slope, and ‖β‖ for the mean (algorithm notes 8.7).
        let ratio = (width.lambda_root / width.ridge).powi(2);
        let slope = |z: f64| {
            let half_width = half_width_slope(batch.premises.norm_bound, ratio, width.level * z / width.ridge);
            (evidence.posterior.norm() + half_width) * (1.0 + 1e-9)
        };
        let slopes = Slopes { above: slope(above), pairs: slope(largest * tail) };
        let challengers = batch.against(evidence, points, ranks)?;
        Ok(Self { slopes, batch, evidence, challengers, own, above, tail, floor })
    }
}

/// Rows of both, the first ones first.
fn joined(first: &[f64], second: PointsRef<'_>) -> Result<Points> {
    Points::new([first, second.as_slice()].concat(), second.dim())
}
