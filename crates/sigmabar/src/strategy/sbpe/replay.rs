//! A run judged again under other premises, from the same data (algorithm notes 13.1).
//!
//! The weights, the challengers and the lists are those of the run: they depend on points and on earlier noise only, so that the proof of the elimination goes
//! through for every premise. Only the norm bound and the size of the noise are turned, and every bound grows with both: what survives under one setting survives
//! under every later one of an ascending chain. So one pass over the places serves a whole chain, and each place needs only the first setting it survives.

use super::Sbpe;
use super::cells::{Cells, FINE};
use super::elimination::{Batch, Evidence};
use super::pairs::{BLOCK, Centre, Challengers, PairBlock, Setting, Under, Width};
use super::premises::{Arrived, Premises};
use super::ridges::{self, Beside, Pairs};
use super::shares::{Budget, SHARES};
use super::state::{Kept, Listed, State};
use crate::certificate::{Ellipsoid, HalfWidth};
use crate::design::DictionarySize;
use crate::domain::{CellTree, Domain};
use crate::error::Result;
use crate::kernel::Kernel;
use crate::origin::Sourced;
use crate::points::{Collected, Locations, Points};
use crate::posterior::Posterior;
use crate::strategy::run::ledger::Ledger;
use crate::strategy::run::problem::Problem;
use crate::theory::half_width_slope;
use rayon::prelude::*;
use sigmabar_linalg::parallel;

/// Slices of each batch's ellipsoid, in steps of its grid from the one that is best under the run's own premises: a larger norm wants smaller ridges, more noise
/// larger ones.
const STEPS: [isize; 7] = [-5, -3, -1, 0, 1, 3, 5];
/// Cells of a box that a replay holds: so many times what is left of the run's own, and so many at least and at most.
const CELLS: (usize, usize, usize) = (16, 1024, 50_000);
/// Places that one thread takes at least, one after the other: the challenger that ruled out the last one probably rules out the next one too.
const ROWS: usize = 32;

/// The batches of a run, ready to be judged under any setting of norm and noise.
pub(super) struct Replay<'a> {
    batches: Vec<Seen<'a>>,
    places: Places<'a>,
    /// The recommended point, which is what is judged.
    recommended: Vec<f64>,
}

/// One batch with its evidence.
struct Seen<'a> {
    batch: Batch<'a>,
    evidence: Evidence,
    /// The same under the ridges beside its own, on lists.
    others: Vec<Posterior>,
    challengers: Points,
    ranks: Vec<usize>,
    list: Points,
}

/// Where the best setting can be: all candidates, or cells of a box.
#[derive(Clone)]
enum Places<'a> {
    Candidates(Points),
    Cells(Box<CellTree>, &'a Kernel),
}

impl<'a> Replay<'a> {
    /// Of a run that recommends `recommended`; under another kernel the inducing points are pivots among the measured ones.
    pub fn new(
        (settings, problem, ledger): (&'a Sbpe, &'a Problem, &'a Ledger),
        state: &State,
        kernel: &'a Sourced<Kernel>,
        recommended: &[f64],
    ) -> Result<Self> {
        let declared = settings.planning(problem)?;
        let is_other = kernel.value != declared.kernel.value;
        let counted = settings.counted(problem)?;
        let growth = DictionarySize { share: settings.share, max_size: settings.max_inducing };
        let candidates = if state.cells.is_some() { None } else { Some(settings.candidates(problem)?) };
        let mut batches = Vec::with_capacity(state.kept.len());
        for Kept { index, inducing, challengers, ranks, list } in &state.kept {
            let premises = Premises { kernel, ..declared };
            let budget = Budget::of_batch(settings.spendable(problem), *index, counted);
            let batch = Batch { settings, problem, ledger, premises, index: *index, counted, budget };
            let arrived = Arrived::with_fixed_results(problem, ledger, *index);
            let inducing = if is_other {
                let measured = Locations::new(Points::new(arrived.points.clone(), inducing.dim())?, Collected::Designed);
                growth.start(kernel, batch.premises.ridge, measured.points().to_points(), arrived.values.len())?.inducing().to_points()
            } else {
                inducing.clone()
            };
            let list = match (list, &candidates) {
                (Listed::Candidates(chosen), Some(candidates)) => candidates.select(chosen)?,
                (Listed::Points(points), _) => points.clone(),
                (Listed::Candidates(_), None) => continue,
            };
            let evidence = batch.gather(inducing, arrived)?;
            let others = if candidates.is_some() { ridges::others(&evidence)? } else { Vec::new() };
            batches.push(Seen { batch, evidence, others, challengers: challengers.clone(), ranks: ranks.clone(), list });
        }
        let places = match (candidates, problem.domain()) {
            (None, Domain::Box(domain)) => {
                let own = state.cells.as_ref().map_or(0, |cells| cells.tree.len());
                let cells = Cells::new(domain, &kernel.value, (CELLS.0 * own).clamp(CELLS.1, CELLS.2).min(settings.cells))?;
                Places::Cells(Box::new(cells.tree), &kernel.value)
            }
            (candidates, _) => Places::Candidates(candidates.map_or_else(|| settings.candidates(problem), Ok)?.points().to_points()),
        };
        Ok(Self { batches, places, recommended: recommended.to_vec() })
    }

    /// Whether the places are cells of a box.
    pub fn has_cells(&self) -> bool {
        matches!(self.places, Places::Cells(..))
    }

    /// How far the recommended point is from the farthest place, in the kernel metric; none where no bound is known.
    pub fn farthest(&self, kernel: &Kernel) -> Option<f64> {
        match &self.places {
            Places::Candidates(points) => Some(kernel.farthest(&self.recommended, points.view())),
            Places::Cells(tree, _) => {
                let sides = self.recommended.iter().zip(tree.low(0).iter().zip(tree.high(0)));
                kernel.metric_over_cell(&sides.map(|(x, (low, high))| (x - low).max(high - x)).collect::<Vec<_>>())
            }
        }
    }

    /// $c_0$: no norm below it fits the data.
    pub fn least_norm(&self) -> f64 {
        self.batches.iter().map(|seen| seen.evidence.least_norm).fold(0.0, f64::max)
    }

    /// How far the recommended point can be from the best place under each setting of an ascending chain, in the model's scale; none where the data contradict it.
    pub fn gaps(&self, chain: &[Setting]) -> Result<Vec<Option<f64>>> {
        let mut course = Course::new(self.places.clone(), chain);
        for seen in &self.batches {
            course.judge(seen, &self.recommended)?;
        }
        Ok((0..chain.len()).map(|s| (s >= course.possible && course.gaps[s].is_finite()).then(|| course.gaps[s].max(0.0))).collect())
    }
}

/// What is known after some batches, under every setting of the chain.
struct Course<'a, 'c> {
    chain: &'c [Setting],
    places: Places<'a>,
    /// $u$ at each place, one row each.
    upper: Vec<f64>,
    /// The first setting under which each place survives.
    first: Vec<usize>,
    /// $\max l$.
    floor: Vec<f64>,
    /// $l$ at the recommended point.
    lower: Vec<f64>,
    gaps: Vec<f64>,
    /// The first setting that the data do not contradict.
    possible: usize,
}

/// What judges places in one batch.
struct Judge<'s> {
    seen: &'s Seen<'s>,
    challengers: Challengers<'s>,
    own: Vec<Centre>,
    beside: Vec<Beside<'s>>,
    /// $z$ at $x^*$ and for pairs.
    above: f64,
    tail: f64,
    /// $z$ for pairs by which ridges are chosen.
    planned: f64,
    /// How fast the bounds at a point and of pairs grow with the distance, for each setting.
    slopes: Vec<(f64, f64)>,
    /// The recommended point among the challengers.
    recommended: Option<usize>,
}

/// A place with what its own bound says.
struct Looked {
    place: usize,
    centre: Centre,
    half: HalfWidth,
}

impl<'a, 'c> Course<'a, 'c> {
    fn new(places: Places<'a>, chain: &'c [Setting]) -> Self {
        let (count, settings) = (places.len(), chain.len());
        Self {
            upper: vec![f64::INFINITY; count * settings],
            first: vec![0; count],
            floor: vec![f64::NEG_INFINITY; settings],
            lower: vec![f64::NEG_INFINITY; settings],
            gaps: vec![f64::INFINITY; settings],
            possible: 0,
            places,
            chain,
        }
    }

    /// Takes one batch in.
    fn judge(&mut self, seen: &Seen<'_>, recommended: &[f64]) -> Result<()> {
        let directions = &seen.evidence.confinement.directions;
        let ridges = seen.evidence.confinement.ellipsoid.ridges_around_best(&STEPS);
        let premises = self.chain.iter().map(|s| (s.norm_bound, s.scale));
        let ellipsoids = directions.ellipsoids(&seen.evidence.posterior, premises, &ridges);
        self.contradict(seen, &ellipsoids);
        self.raise(seen, recommended)?;
        let judge = Judge::new(seen, &ellipsoids, self.chain, recommended)?;
        let mut pairwise = vec![f64::NEG_INFINITY; self.chain.len()];
        let mut ceiling = pairwise.clone();
        // Places of the smallest settings first: where cells run out, it is under premises far from the declared ones.
        let mut frontier = self.survivors();
        while let Some(first) = frontier.iter().map(|&place| self.first[place]).min() {
            let (now, later) = frontier.into_iter().partition(|&place| self.first[place] == first);
            frontier = later;
            let looked = self.look(&judge, &now)?;
            frontier.extend(self.compare(&judge, &looked, &mut pairwise, &mut ceiling)?);
        }
        self.compact();
        // A setting that nothing survives is contradicted, and so is every one before it.
        let empty = (0..self.chain.len()).rev().find(|&s| ceiling[s] == f64::NEG_INFINITY);
        self.possible = self.possible.max(empty.map_or(0, |s| s + 1));
        for s in self.possible..self.chain.len() {
            let pairs = if judge.recommended.is_some() { pairwise[s].max(0.0) } else { f64::INFINITY };
            self.gaps[s] = self.gaps[s].min(pairs).min(ceiling[s] - self.lower[s]);
        }
        Ok(())
    }

    /// Settings that the alarm or the ellipsoid refute.
    fn contradict(&mut self, seen: &Seen<'_>, ellipsoids: &[Ellipsoid]) {
        let refuted = |s: usize| {
            let Setting { norm_bound, scale } = self.chain[s];
            (scale <= 1.0 && norm_bound < seen.evidence.least_norm) || ellipsoids[s].is_contradicted()
        };
        let last = (0..self.chain.len()).rev().find(|&s| refuted(s));
        self.possible = self.possible.max(last.map_or(0, |s| s + 1));
    }

    /// Lower bounds over the batch's list.
    fn raise(&mut self, seen: &Seen<'_>, recommended: &[f64]) -> Result<()> {
        let below = seen.evidence.noise.tail_factor(seen.batch.budget.tail(SHARES.below, seen.list.len()));
        let (means, halves) = seen.evidence.posterior.centred_widths(&seen.evidence.widths, seen.list.view())?;
        for ((point, mean), half) in seen.list.view().rows().zip(means).zip(&halves) {
            for (s, setting) in self.chain.iter().enumerate() {
                let lower = mean - seen.half_width(half, *setting, below);
                self.floor[s] = self.floor[s].max(lower);
                if point == recommended {
                    self.lower[s] = self.lower[s].max(lower);
                }
            }
        }
        Ok(())
    }

    /// Places that survive under some setting.
    fn survivors(&self) -> Vec<usize> {
        let mut left: Vec<usize> = match &self.places {
            Places::Candidates(points) => (0..points.len()).collect(),
            Places::Cells(tree, _) => tree.leaves().collect(),
        };
        left.retain(|&place| self.first[place] < self.chain.len());
        left
    }

    /// Forgets the cells that survive under no setting.
    fn compact(&mut self) {
        let Places::Cells(tree, _) = &mut self.places else { return };
        let settings = self.chain.len();
        let dead: Vec<usize> = tree.leaves().filter(|&cell| self.first[cell] == settings).collect();
        dead.into_iter().for_each(|cell| {
            tree.discard(cell);
        });
        let renumbered = tree.compact();
        let (mut upper, mut first) = (vec![f64::INFINITY; tree.len() * settings], vec![settings; tree.len()]);
        for (old, new) in renumbered.into_iter().enumerate() {
            if let Some(new) = new {
                upper[new * settings..][..settings].copy_from_slice(&self.upper[old * settings..][..settings]);
                first[new] = self.first[old];
            }
        }
        (self.upper, self.first) = (upper, first);
    }

    /// The upper bounds of places, and with them the first setting under which their own intervals let them survive.
    fn look(&mut self, judge: &Judge<'_>, places: &[usize]) -> Result<Vec<Looked>> {
        let points = self.places.centres(places)?;
        let evidence = &judge.seen.evidence;
        let (means, halves) = evidence.posterior.centred_widths(&evidence.widths, points.view())?;
        let mut looked = Vec::with_capacity(places.len());
        for ((&place, mean), half) in places.iter().zip(means).zip(halves) {
            let radius = self.places.radius(place);
            let row = &mut self.upper[place * self.chain.len()..][..self.chain.len()];
            for ((upper, setting), slope) in row.iter_mut().zip(self.chain).zip(&judge.slopes) {
                *upper = upper.min(mean + judge.seen.half_width(&half, *setting, judge.above) + slope.0 * radius);
            }
            let beaten = row.iter().zip(&self.floor).take_while(|(upper, floor)| upper < floor).count();
            self.first[place] = self.first[place].max(beaten).max(self.possible);
            if self.first[place] < self.chain.len() {
                looked.push(Looked { place, centre: Centre { mean, slack: half.slack, radius }, half });
            }
        }
        Ok(looked)
    }

    /// The first setting under which no challenger beats a place; the halves of cells that are too coarse come back.
    fn compare(&mut self, judge: &Judge<'_>, looked: &[Looked], pairwise: &mut [f64], ceiling: &mut [f64]) -> Result<Vec<usize>> {
        if looked.is_empty() {
            return Ok(Vec::new());
        }
        let (mut halves, settings) = (Vec::new(), self.chain.len());
        for block in looked.chunks(BLOCK) {
            let against = Against::new(judge, &self.places, block)?;
            let firsts = against.firsts(&self.first, settings);
            let mut left = Vec::new();
            for (i, (Looked { place, half, .. }, &first)) in block.iter().zip(&firsts).enumerate() {
                self.first[*place] = first;
                if first == settings {
                    continue;
                }
                let is_coarse = against.reach(i, first) > FINE * judge.seen.half_width(half, self.chain[first], judge.above);
                match if is_coarse { self.split(*place) } else { None } {
                    Some(split) => halves.extend(split),
                    None => left.push((i, first)),
                }
            }
            for &(i, first) in &left {
                let row = &self.upper[block[i].place * settings..][..settings];
                (first..settings).for_each(|s| ceiling[s] = ceiling[s].max(row[s]));
            }
            for (s, difference) in against.recommended(&left, settings) {
                pairwise[s] = pairwise[s].max(difference);
            }
        }
        Ok(halves)
    }

    fn split(&mut self, place: usize) -> Option<[usize; 2]> {
        let Places::Cells(tree, _) = &mut self.places else { return None };
        let halves = tree.split(place)?;
        let row = self.upper[place * self.chain.len()..][..self.chain.len()].to_vec();
        for _ in halves {
            self.upper.extend_from_slice(&row);
            self.first.push(self.first[place]);
        }
        Some(halves)
    }
}

/// A block of places against every challenger.
struct Against<'b> {
    judge: &'b Judge<'b>,
    block: &'b [Looked],
    ridges: Vec<PairBlock<'b>>,
}

impl<'b> Against<'b> {
    fn new(judge: &'b Judge<'b>, places: &Places<'_>, block: &'b [Looked]) -> Result<Self> {
        let points = places.centres(&block.iter().map(|l| l.place).collect::<Vec<_>>())?;
        let centres: Vec<Centre> = block.iter().map(|l| l.centre).collect();
        let common = judge.challengers.common(points.view())?;
        let mut ridges = vec![judge.challengers.block(points.view(), &common, &centres, &judge.own)?];
        for other in &judge.beside {
            ridges.push(other.block(points.view(), &common)?);
        }
        Ok(Self { judge, block, ridges })
    }

    fn pairs(&self, i: usize) -> Pairs<'_> {
        Pairs::new(&self.ridges, i, self.judge.seen.batch.premises.norm_bound, self.judge.planned)
    }

    /// What the bound on a pair grows by inside the cell.
    fn reach(&self, i: usize, setting: usize) -> f64 {
        self.judge.slopes[setting].1 * self.block[i].centre.radius
    }

    /// The first setting under which each place survives; `known` are those so far.
    fn firsts(&self, known: &[usize], settings: usize) -> Vec<usize> {
        let first = |favourite: &mut usize, i: usize| {
            self.pairs(i).first_unbeaten(known[self.block[i].place]..settings, favourite, self.judge.tail, |s| self.reach(i, s))
        };
        parallel(|watch| {
            let rows = (0..self.block.len()).into_par_iter().with_min_len(ROWS).inspect(|_| watch.check());
            rows.map_init(|| self.judge.recommended.unwrap_or(0), first).collect()
        })
    }

    /// How far the recommended point can be below the places that are left, each from its first setting on.
    fn recommended(&self, left: &[(usize, usize)], settings: usize) -> Vec<(usize, f64)> {
        let Some(recommended) = self.judge.recommended else { return Vec::new() };
        let below = |&(i, first): &(usize, usize)| {
            let pairs = self.pairs(i);
            (first..settings).map(move |s| (s, pairs.difference(recommended, s).upper(self.judge.tail) + self.reach(i, s)))
        };
        parallel(|watch| left.par_iter().with_min_len(ROWS).inspect(|_| watch.check()).flat_map_iter(below).collect())
    }
}

impl Seen<'_> {
    /// $C\,b + zR\lVert V\rVert$ under a setting, with its rounding.
    fn half_width(&self, half: &HalfWidth, setting: Setting, z: f64) -> f64 {
        let bias = half.bias / self.batch.premises.norm_bound;
        setting.norm_bound * bias + z * setting.scale * half.coefficient + half.slack
    }
}

impl<'s> Judge<'s> {
    fn new(seen: &'s Seen<'s>, ellipsoids: &'s [Ellipsoid], chain: &[Setting], recommended: &[f64]) -> Result<Self> {
        let Seen { batch, evidence, challengers, ranks, .. } = seen;
        let own = batch.singles(evidence, challengers)?.centres;
        let (above, tail) = (batch.above(&evidence.noise), batch.pair_tail(&evidence.noise, challengers.len()));
        let planned = batch.pair_tail(&evidence.one, challengers.len());
        let width: Width = batch.width(evidence, ranks);
        let largest = width.emphasis.iter().copied().fold(1.0, f64::max);
        let ratio = (width.lambda_root / width.ridge).powi(2);
        let slope = |setting: &Setting, z: f64| {
            let half_width = half_width_slope(setting.norm_bound, ratio, setting.scale * width.level * z / width.ridge);
            (evidence.posterior.norm() + half_width) * (1.0 + 1e-9)
        };
        let slopes = chain.iter().map(|s| (slope(s, above), slope(s, largest * tail))).collect();
        let under = Under { confinement: (&evidence.confinement.directions, ellipsoids), settings: chain };
        let recommended = challengers.view().rows().position(|row| row == recommended);
        let beside = |posterior| Beside::new(posterior, under, challengers, &evidence.noise, &width);
        let beside = seen.others.iter().map(beside).collect::<Result<_>>()?;
        let challengers = Challengers::new(&evidence.posterior, under, challengers.clone(), &evidence.noise, width)?;
        Ok(Self { seen, challengers, own, beside, above, tail, planned, slopes, recommended })
    }
}

impl Places<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Candidates(points) => points.len(),
            Self::Cells(tree, _) => tree.len(),
        }
    }

    fn centres(&self, places: &[usize]) -> Result<Points> {
        match self {
            Self::Candidates(points) => points.view().select(places),
            Self::Cells(tree, _) => tree.centres(places),
        }
    }

    fn radius(&self, place: usize) -> f64 {
        match self {
            Self::Candidates(_) => 0.0,
            Self::Cells(tree, kernel) => tree.radius(place, kernel).unwrap_or(f64::INFINITY),
        }
    }
}
