//! The choice of points: again and again where the variance is largest.

use super::dictionary_size::{DictionarySize, is_dominated};
use super::exact::ExactSweep;
use super::guarantee::{Design, Stage};
use super::queue::Queue;
use super::sweep::Sweep;
use crate::error::{Error, Result, at_least_one, positive};
use crate::features::FeatureMap;
use crate::information::Information;
use crate::kernel::Kernel;
use crate::origin::{Origin, Sourced};
use crate::points::{Collected, Locations, Points, PointsRef};
use sigmabar_linalg::{Matrix, parallel};
use std::sync::Arc;

/// Bytes that the features of the candidates may take unless told otherwise.
const MEMORY: usize = 768 << 20;
/// Candidates by which the size of a dictionary is judged beforehand, or eight for each inducing point.
const LOOKED_AT: usize = 1024;

/// Where the features come from.
#[derive(Clone, Debug)]
enum Dictionary {
    Fixed(Arc<FeatureMap>),
    Growing(Sourced<Kernel>, DictionarySize),
}

/// Max-variance design (algorithm notes 0.2, 0.5 and 9.5; the paper's Section 4.1 with inducing points that stay): each point is the candidate
/// with the largest $\bar\sigma$, given those before it. No response is seen, so that the points cannot depend on the noise.
///
/// Where the inducing points cannot be more (given ones if asked for by [`MaxVariance::spreading`], growing ones at their limit) and what they miss dominates
/// the largest variance, measuring there changes next to nothing and the same candidate would be chosen for ever. From then on candidates of a list are ranked by
/// the part of the variance that measuring can lower.
#[derive(Clone, Debug)]
pub struct MaxVariance {
    dictionary: Dictionary,
    ridge: Sourced<f64>,
    measured: Option<Arc<Locations>>,
    running: Option<Points>,
    memory: usize,
    spreading: bool,
}

impl MaxVariance {
    /// With given inducing points.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a ridge that is not positive.
    pub fn new(features: Arc<FeatureMap>, ridge: impl Into<Sourced<f64>>) -> Result<Self> {
        Self::with(Dictionary::Fixed(features), ridge.into())
    }

    /// With inducing points chosen among the candidates, for the number of measurements at first, and more of them whenever what they miss
    /// dominates the largest variance. Where a list calls for a quarter as many as there will be measurements, the measured points themselves are the inducing
    /// points, and the design is that of the exact model.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a ridge or growth out of range.
    pub fn growing(kernel: impl Into<Sourced<Kernel>>, ridge: impl Into<Sourced<f64>>, growth: DictionarySize) -> Result<Self> {
        growth.validate()?;
        Self::with(Dictionary::Growing(kernel.into(), growth), ridge.into())
    }

    fn with(dictionary: Dictionary, ridge: Sourced<f64>) -> Result<Self> {
        positive("ridge", ridge.value)?;
        Ok(Self { dictionary, ridge, measured: None, running: None, memory: MEMORY, spreading: false })
    }

    /// With given inducing points: ranks by what measuring can lower once what they miss dominates the largest variance. Growing ones do so at their limit.
    #[must_use]
    pub fn spreading(self) -> Self {
        Self { spreading: true, ..self }
    }

    /// Counts what was measured already.
    #[must_use]
    pub fn after(self, measured: Arc<Locations>) -> Self {
        Self { measured: Some(measured), ..self }
    }

    /// Counts measurements that are still running, as if they had arrived.
    #[must_use]
    pub fn with_running(self, running: Points) -> Self {
        Self { running: Some(running), ..self }
    }

    /// Bytes that the features of the candidates may take (768 MiB unless told otherwise); beyond that they are computed when needed.
    #[must_use]
    pub fn with_memory(self, bytes: usize) -> Self {
        Self { memory: bytes, ..self }
    }

    /// The ridge.
    #[must_use]
    pub fn ridge(&self) -> f64 {
        self.ridge.value
    }

    /// Chooses `count` of the candidates, repetitions allowed. Exactly the choice of looking at every candidate every time.
    ///
    /// Cost O(A(md + m²)) for the features, O(m²) for each pick, O(m) for each pick a looked-at candidate has missed;
    /// memory $8Am$ bytes (see [`MaxVariance::with_memory`]) whatever the count. With the exact model at most O(An²) in all and $8An$ bytes.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a count of 0, [`Error::Empty`] without candidates, [`Error::Width`] where candidates, measured and running
    /// points and inducing points do not fit, [`Error::NegativeVariance`] or a failed self-check.
    pub fn choose(&self, candidates: PointsRef<'_>, count: usize) -> Result<Design> {
        self.check(candidates, count)?;
        let distinct = Arc::new(Locations::new(candidates.to_points(), Collected::Designed));
        let features = match self.exact_size(distinct.distinct(), count) {
            Some(size) if self.asks_for(size.div_ceil(4), distinct.points(), count)? => {
                return self.choose_exactly(&distinct, candidates.len(), count);
            }
            _ => self.features(distinct.points(), count, usize::MAX)?,
        };
        let mut run = Run::new(self, &distinct, features)?;
        let mut picks = Vec::with_capacity(count);
        let mut variances = Vec::with_capacity(count);
        while picks.len() < count {
            let best = run.largest()?;
            if run.grown(best, &picks)? || run.turned(best) {
                continue;
            }
            picks.push(best);
            variances.push(run.sweep.value(best).max(0.0));
            run.pick(best)?;
        }
        let max_std = run.max_variance()?.max(0.0).sqrt();
        let (stage, features) = run.finish();
        self.finished(&distinct, candidates.len(), &picks, features, (variances, max_std, stage))
    }

    /// The design of these picks among the distinct points of `rows` candidates, with what was found on the way.
    fn finished(
        &self,
        distinct: &Arc<Locations>,
        rows: usize,
        picks: &[usize],
        features: Arc<FeatureMap>,
        (variances, max_std, stage): (Vec<f64>, f64, Stage),
    ) -> Result<Design> {
        let first = first_rows(distinct, rows);
        let indices = picks.iter().map(|&i| first[i]).collect();
        let points = distinct.points().select(picks)?;
        let information = self.information(features, Some(points.view()))?.expect("a design has at least one point");
        Ok(Design { indices, points, variances, max_std, domain: Some(Arc::clone(distinct)), stage, information })
    }

    /// Whether a dictionary would have so many inducing points, judged by some of the candidates.
    fn asks_for(&self, size: usize, candidates: PointsRef<'_>, count: usize) -> Result<bool> {
        let step = candidates.len().div_ceil(LOOKED_AT.max(8 * size));
        let some = candidates.select(&(0..candidates.len()).step_by(step).collect::<Vec<_>>())?;
        Ok(self.features(some.view(), count, size)?.len() >= size)
    }

    /// All measurements there will be, if as many inducing points are allowed and the exact model of `candidates` points fits into memory.
    fn exact_size(&self, candidates: usize, count: usize) -> Option<usize> {
        let size = self.known() + count;
        let bytes = (candidates + self.known()).saturating_mul(size * size_of::<f64>());
        self.growth().filter(|growth| size <= growth.max_size && bytes <= self.memory).map(|_| size)
    }

    fn known(&self) -> usize {
        self.measured.as_ref().map_or(0, |l| l.len()) + self.running.as_ref().map_or(0, Points::len)
    }

    /// With the measured points themselves as inducing points the sparse model is the exact one; where a dictionary would need a quarter as many, this is the shorter way.
    fn choose_exactly(&self, distinct: &Arc<Locations>, rows: usize, count: usize) -> Result<Design> {
        let candidates = distinct.distinct();
        let dim = distinct.points().dim();
        let points = Points::new([distinct.points().as_slice(), &self.known_rows()].concat(), dim)?;
        let mut sweep = ExactSweep::new(self.kernel(), self.ridge.value, points.view(), self.known() + count);
        (candidates..points.len()).try_for_each(|known| sweep.pick(known))?;
        let before = sweep.gain();
        let mut queue = Queue::new(&sweep, candidates);
        let (mut picks, mut variances) = (Vec::with_capacity(count), Vec::with_capacity(count));
        // Among the threads from the first step to the last: to wake them for each of the many short steps takes longer than the steps.
        let last = parallel(|watch| {
            while picks.len() < count {
                watch.check();
                let best = queue.largest(&mut sweep)?;
                picks.push(best);
                variances.push(sweep.variance(best));
                sweep.pick(best)?;
            }
            queue.largest(&mut sweep)
        })?;
        let exact_std = sweep.variance(last).sqrt();
        let measured: Vec<usize> = (candidates..points.len()).chain(picks.iter().copied()).collect();
        let inducing = Locations::new(points.view().select(&measured)?, Collected::Designed).points().to_points();
        let features = Arc::new(FeatureMap::new(self.sourced_kernel(), Sourced::new(inducing, Origin::Guaranteed))?);
        let chosen = points.view().select(&picks)?;
        // Points that depend on the others are left out of the dictionary: what it then misses at them counts.
        let dropped = features.len() < features.given().len();
        let missed = if dropped { features.residual(chosen.view())?.into_iter().fold(0.0, f64::max) } else { 0.0 };
        let rounding = features.residual_rounding(self.kernel().max_diagonal(distinct.points()));
        let stage = Stage { picks: count, max_residual: missed + rounding, gain: sweep.gain() - before, slack: 0.0 };
        let mut design = self.finished(distinct, rows, &picks, features, (variances, exact_std, stage))?;
        if dropped {
            let variances = design.information.variance(distinct.points())?;
            design.max_std = variances.into_iter().fold(exact_std * exact_std, f64::max).sqrt();
        }
        Ok(design)
    }

    fn sourced_kernel(&self) -> Sourced<Kernel> {
        match &self.dictionary {
            Dictionary::Fixed(features) => features.sourced_kernel().clone(),
            Dictionary::Growing(kernel, _) => kernel.clone(),
        }
    }

    pub(super) fn kernel(&self) -> &Kernel {
        match &self.dictionary {
            Dictionary::Fixed(features) => features.kernel(),
            Dictionary::Growing(kernel, _) => &kernel.value,
        }
    }

    pub(super) fn growth(&self) -> Option<&DictionarySize> {
        match &self.dictionary {
            Dictionary::Fixed(_) => None,
            Dictionary::Growing(_, growth) => Some(growth),
        }
    }

    pub(super) fn memory(&self) -> usize {
        self.memory
    }

    pub(super) fn check(&self, candidates: PointsRef<'_>, count: usize) -> Result<()> {
        at_least_one("count", count)?;
        if candidates.is_empty() {
            return Err(Error::Empty { what: "candidates" });
        }
        self.check_width(candidates.dim())
    }

    pub(super) fn check_width(&self, dim: usize) -> Result<()> {
        let fits = |what: &'static str, found: usize| {
            if found == dim { Ok(()) } else { Err(Error::Width { what, row: 0, expected: dim, found }) }
        };
        match &self.dictionary {
            Dictionary::Fixed(features) => fits("inducing points", features.inducing().dim())?,
            Dictionary::Growing(kernel, _) => kernel.value.check_dim(dim)?,
        }
        self.measured.as_ref().map_or(Ok(()), |l| fits("measured points", l.points().dim()))?;
        self.running.as_ref().map_or(Ok(()), |p| fits("running points", p.dim()))
    }

    /// The features to start with, for `count` measurements on these points, at most so many.
    pub(super) fn features(&self, points: PointsRef<'_>, count: usize, at_most: usize) -> Result<Arc<FeatureMap>> {
        match &self.dictionary {
            Dictionary::Fixed(features) => Ok(Arc::clone(features)),
            Dictionary::Growing(kernel, growth) => {
                let start = DictionarySize { max_size: growth.max_size.min(at_most), ..*growth };
                Ok(Arc::new(start.start(kernel, self.ridge.value, growth.sample(points, self.memory)?, self.known() + count)?))
            }
        }
    }

    /// What is measured or running, row by row; possibly nothing.
    fn known_rows(&self) -> Vec<f64> {
        let mut data = Vec::new();
        if let Some(measured) = &self.measured {
            (0..measured.len()).for_each(|row| data.extend_from_slice(measured.points().row(measured.distinct_of(row))));
        }
        data.extend_from_slice(self.running.as_ref().map_or(&[], Points::as_slice));
        data
    }

    /// The information of everything measured, running and chosen; `None` where there is nothing.
    pub(super) fn information(&self, features: Arc<FeatureMap>, chosen: Option<PointsRef<'_>>) -> Result<Option<Information>> {
        let collected = self.measured.as_ref().map_or(Collected::Designed, |measured| measured.collected());
        let mut data = self.known_rows();
        data.extend_from_slice(chosen.map_or(&[], PointsRef::as_slice));
        if data.is_empty() {
            return Ok(None);
        }
        let points = Points::new(data, features.inducing().dim())?;
        let locations = Arc::new(Locations::new(points, collected));
        Information::new(features, self.ridge, locations).map(Some)
    }

    pub(super) fn gram(&self, features: &Arc<FeatureMap>, chosen: Option<PointsRef<'_>>) -> Result<Option<Matrix>> {
        Ok(self.information(Arc::clone(features), chosen)?.map(|information| information.gram().clone()))
    }
}

/// For each distinct candidate the first row it appears in.
fn first_rows(distinct: &Locations, rows: usize) -> Vec<usize> {
    let mut first = vec![usize::MAX; distinct.distinct()];
    for row in (0..rows).rev() {
        first[distinct.distinct_of(row)] = row;
    }
    first
}

/// A choice on its way.
struct Run<'a> {
    design: &'a MaxVariance,
    points: PointsRef<'a>,
    features: Arc<FeatureMap>,
    sweep: Sweep<'a>,
    queue: Queue,
    stage_picks: usize,
    max_residual: f64,
    /// Whether candidates are ranked by what measuring can lower.
    reducible: bool,
    /// No candidate could add to the dictionary when it was last tried.
    exhausted: bool,
}

impl<'a> Run<'a> {
    fn new(design: &'a MaxVariance, distinct: &'a Locations, features: Arc<FeatureMap>) -> Result<Self> {
        let gram = design.gram(&features, None)?;
        Self::start(design, distinct.points(), features, gram)
    }

    fn start(design: &'a MaxVariance, points: PointsRef<'a>, features: Arc<FeatureMap>, gram: Option<Matrix>) -> Result<Self> {
        let sweep = Sweep::new(Arc::clone(&features), design.ridge.value, gram, points, design.memory)?;
        let queue = Queue::new(&sweep, sweep.len());
        Ok(Self { design, points, features, sweep, queue, stage_picks: 0, max_residual: 0.0, reducible: false, exhausted: false })
    }

    fn largest(&mut self) -> Result<usize> {
        if self.sweep.is_due() {
            self.sweep.synchronise()?;
            self.queue = Queue::new(&self.sweep, self.sweep.len());
        }
        self.queue.largest(&mut self.sweep)
    }

    /// Adds inducing points if they are called for; whether it did.
    fn grown(&mut self, best: usize, picks: &[usize]) -> Result<bool> {
        let Some(growth) = self.design.growth() else { return Ok(false) };
        if self.exhausted || !growth.is_called_for(&self.features, self.sweep.residual(best), self.sweep.value(best)) {
            return Ok(false);
        }
        // The old features go before the new ones come: only one copy is ever held.
        self.sweep = Sweep::empty(Arc::clone(&self.features), self.design.ridge.value, None)?;
        let sample = growth.sample(self.points, self.design.memory)?;
        let larger = growth.enlarge(&self.features, sample, self.points.row(best))?;
        let exhausted = larger.len() <= self.features.len();
        let chosen = if picks.is_empty() { None } else { Some(self.points.select(picks)?) };
        let gram = self.design.gram(&larger, chosen.as_ref().map(Points::view))?;
        *self = Self { exhausted, ..Self::start(self.design, self.points, larger, gram)? };
        Ok(true)
    }

    /// Turns to ranking by $\sigma_\kappa^2=\psi^\top B^{-1}\psi$ if that is called for; whether it did.
    ///
    /// The bound of algorithm notes 0.5 stays true with $S=\max_xs_1^2(x)$ over all candidates in the place of $\max_js_1^2(x_j)$. For a pick $j$ by $\bar\sigma$,
    /// $\max_x\bar\sigma_n^2\le\bar\sigma_{j-1}^2(x_j)=s_1^2(x_j)+\sigma_{\kappa,j-1}^2(x_j)$; for one by $\sigma_\kappa$,
    /// $\max_x\bar\sigma_n^2\le S+\max_x\sigma_{\kappa,j-1}^2=S+\sigma_{\kappa,j-1}^2(x_j)$. So $\max_x\bar\sigma_n^2\le S+\min_j\sigma_{\kappa,j-1}^2(x_j)$ over
    /// the picks of both kinds, and $I_\kappa\ge\frac n2\log(1+\min_j\sigma_{\kappa,j-1}^2(x_j)/\tau^2)$ as before.
    fn turned(&mut self, best: usize) -> bool {
        let (design, sweep) = (self.design, &self.sweep);
        let stuck = match design.growth() {
            Some(growth) => self.exhausted || self.features.len() >= growth.max_size,
            None => design.spreading,
        };
        if self.reducible || !stuck || !is_dominated(&self.features, sweep.residual(best), sweep.value(best)) {
            return false;
        }
        self.reducible = true;
        self.max_residual = self.sweep.max_residual();
        self.sweep.rank_by_reducible();
        self.queue = Queue::new(&self.sweep, self.sweep.len());
        true
    }

    /// $\max_x\bar\sigma^2(x)$ now.
    fn max_variance(&mut self) -> Result<f64> {
        if self.reducible {
            return self.sweep.max_value();
        }
        let last = self.largest()?;
        Ok(self.sweep.value(last))
    }

    fn pick(&mut self, candidate: usize) -> Result<()> {
        self.stage_picks += 1;
        self.max_residual = self.max_residual.max(self.sweep.residual(candidate));
        self.sweep.pick(candidate)
    }

    fn finish(self) -> (Stage, Arc<FeatureMap>) {
        let rounding = self.features.residual_rounding(self.features.kernel().max_diagonal(self.points));
        let stage = Stage { picks: self.stage_picks, max_residual: self.max_residual + rounding, gain: self.sweep.gain(), slack: 0.0 };
        (stage, self.features)
    }
}
