//! The variance of many candidates while points are being chosen: exact values on demand, cheap upper bounds otherwise.

use super::basis::Basis;
use super::pairs::{Vectors, for_each_pair};
use super::queue::Stale;
use super::store::Store;
use crate::error::Result;
use crate::features::FeatureMap;
use crate::points::PointsRef;
use rayon::prelude::*;
use sigmabar_linalg::{Matrix, check_interrupt, norm_squared, parallel};
use std::sync::Arc;

/// Candidates refreshed by one task. Fixed, and large enough that a pass over the log serves many.
const TASK: usize = 32;
/// Inner products below this many multiplications are done on one thread.
const PARALLEL_WORK: usize = 1 << 19;

/// The state in which a candidate's variance was last computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Age {
    /// Which factorisation.
    epoch: u32,
    /// How many of the picks after it.
    applied: u32,
}

/// Never computed: the value is the prior variance.
const NEVER: Age = Age { epoch: u32::MAX, applied: 0 };

/// Candidates with their variances $\bar\sigma^2 = s_1^2 + \psi^\top B^{-1}\psi$ under a growing $B$ (algorithm notes 0.2).
///
/// $B^{-1} = M^\top M - \sum_j u_ju_j^\top/s_j$: a factor from the last synchronisation, and one vector $u_j = B_{j-1}^{-1}\psi(x_j)$ with
/// $s_j = \tau^2+\psi(x_j)^\top u_j$ for each pick since. A candidate's value loses $(\psi^\top u_j)^2/s_j$ for each pick, in order, whenever it
/// is looked at: the same subtractions whether done one by one or late, so that lateness changes no bit.
pub(super) struct Sweep<'a> {
    features: Arc<FeatureMap>,
    store: Store<'a>,
    basis: Basis,
    residual: Vec<f64>,
    values: Vec<f64>,
    ages: Vec<Age>,
    /// Candidates are ranked by what measuring can lower, $\psi^\top B^{-1}\psi$, instead of all of $\bar\sigma^2$.
    reducible: bool,
}

impl<'a> Sweep<'a> {
    /// Candidates under the information `gram` ($G$ of what is measured already).
    pub fn new(features: Arc<FeatureMap>, ridge: f64, gram: Option<Matrix>, points: PointsRef<'a>, memory: usize) -> Result<Self> {
        let (store, residual) = Store::new(&features, points, memory)?;
        let fresh = gram.is_none();
        let basis = Basis::new(features.len(), ridge, gram)?;
        // Where features are not kept and something is measured, the pass for the values brings the residuals too.
        let residual = match residual {
            Some(residual) => residual,
            None if fresh => features.residual(points)?,
            None => vec![0.0; points.len()],
        };
        let mut sweep = Self { features, store, basis, residual, values: Vec::new(), ages: Vec::new(), reducible: false };
        sweep.values = sweep.features.kernel().diagonal(points);
        // With nothing measured B = I, and the variance is the prior's.
        let age = if fresh { Age { epoch: 0, applied: 0 } } else { NEVER };
        sweep.ages = vec![age; points.len()];
        if !fresh {
            sweep.refresh_computed()?;
        }
        Ok(sweep)
    }

    /// No candidate yet.
    pub fn empty(features: Arc<FeatureMap>, ridge: f64, gram: Option<Matrix>) -> Result<Self> {
        let basis = Basis::new(features.len(), ridge, gram)?;
        let store = Store::empty(&features);
        Ok(Self { features, store, basis, residual: Vec::new(), values: Vec::new(), ages: Vec::new(), reducible: false })
    }

    /// Adds candidates; the number of the first.
    pub fn push(&mut self, points: PointsRef<'_>) -> Result<usize> {
        let first = self.values.len();
        self.residual.extend(self.store.push(&self.features, points)?);
        self.values.extend(self.features.kernel().diagonal(points));
        self.ages.resize(self.values.len(), NEVER);
        Ok(first)
    }

    /// Puts another candidate in the place of number `slot`.
    pub fn replace(&mut self, slot: usize, point: PointsRef<'_>) -> Result<()> {
        self.residual[slot] = self.store.replace(&self.features, slot, point)?;
        self.values[slot] = self.features.kernel().diagonal(point)[0];
        self.ages[slot] = NEVER;
        Ok(())
    }

    /// Number of candidates.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// $s_1^2$ of a candidate.
    pub fn residual(&self, candidate: usize) -> f64 {
        self.residual[candidate]
    }

    /// $\bar\sigma^2$ of a candidate that is fresh.
    pub fn value(&self, candidate: usize) -> f64 {
        self.values[candidate]
    }

    /// An upper bound of the value of now: $\bar\sigma$ never grows, and rounding between two factorisations is allowed for.
    pub fn upper(&self, candidate: usize) -> f64 {
        let value = self.values[candidate];
        if self.ages[candidate].epoch == self.basis.epoch() { value } else { value * (1.0 + self.basis.rounding()) }
    }

    /// Ranks by the reducible part from now on: both parts fall from pick to pick, so that stale ranks stay upper bounds.
    pub fn rank_by_reducible(&mut self) {
        self.reducible = true;
    }

    fn irreducible(&self, candidate: usize) -> f64 {
        if self.reducible { self.residual[candidate] } else { 0.0 }
    }

    /// $\max_xs_1^2(x)$ over the candidates.
    pub fn max_residual(&self) -> f64 {
        self.residual.iter().copied().fold(0.0, f64::max)
    }

    /// $\max_x\bar\sigma^2(x)$ over all candidates, brought up to date.
    pub fn max_value(&mut self) -> Result<f64> {
        let mut everyone: Vec<usize> = (0..self.len()).collect();
        self.refresh(&mut everyone)?;
        Ok(self.values.iter().copied().fold(0.0, f64::max))
    }

    fn now(&self) -> Age {
        Age { epoch: self.basis.epoch(), applied: self.basis.pending() as u32 }
    }

    /// Whether it is time for [`Sweep::synchronise`].
    pub fn is_due(&self) -> bool {
        self.basis.is_due()
    }

    /// Information gained by the picks so far, $\frac12\sum_j\log(1+\psi_j^\top B_{j-1}^{-1}\psi_j/\tau^2)$.
    pub fn gain(&self) -> f64 {
        self.basis.gain()
    }

    /// Measures once at the candidate. Cost O(m² + pm) with p picks since the last synchronisation.
    pub fn pick(&mut self, candidate: usize) -> Result<()> {
        let value = self.values[candidate];
        let row = self.store.with_rows(&self.features, &[candidate], |rows| rows[0].to_vec())?;
        self.basis.pick(row, value);
        Ok(())
    }

    /// Factors $B$ afresh. Cost O(pm² + m³), and a pass over the candidates where features are not kept.
    pub fn synchronise(&mut self) -> Result<()> {
        self.basis.synchronise()?;
        self.refresh_computed()
    }

    /// All values from blocks, where features are computed anyway.
    fn refresh_computed(&mut self) -> Result<()> {
        let Some(points) = self.store.computed() else { return Ok(()) };
        let lower = self.basis.lower()?;
        let (features, residual, values, m) = (&self.features, &mut self.residual, &mut self.values, self.features.len());
        features.for_each_block(points, |start, block, psi| {
            residual[start..start + block.len()].copy_from_slice(&features.residual_of(block, psi, start)?);
            lower.solve_rows(psi)?;
            for (i, row) in psi.chunks_exact(m).enumerate() {
                values[start + i] = residual[start + i] + norm_squared(row);
            }
            Ok(())
        })?;
        let now = self.now();
        self.ages.fill(now);
        Ok(())
    }

    fn pending_from(&self, candidate: usize) -> usize {
        let age = self.ages[candidate];
        if age.epoch == self.basis.epoch() { age.applied as usize } else { 0 }
    }

    fn refreshed(&self, ids: &[usize]) -> Result<Vec<f64>> {
        let epoch = self.basis.epoch();
        let mut values: Vec<f64> = ids.iter().map(|&i| self.values[i]).collect();
        let applied: Vec<usize> = ids.iter().map(|&i| self.pending_from(i)).collect();
        let missed = ids.iter().take_while(|&&i| self.ages[i].epoch != epoch).count();
        self.store.with_rows(&self.features, ids, |rows| {
            // σ̄² = s1² + ‖Mψ‖²
            values[..missed].iter_mut().zip(ids).for_each(|(v, &i)| *v = self.residual[i]);
            let whitener = Vectors { entries: self.basis.whitener(), width: self.store.width(), triangular: true };
            for_each_pair(&rows[..missed], whitener, 0, |r, _, c| values[r] += c * c);
            // σ̄² −= (ψᵀu_j)²/s_j
            let log = Vectors { entries: self.basis.log(), width: self.store.width(), triangular: false };
            let scales = self.basis.scales();
            let first = applied.iter().copied().min().unwrap_or(0);
            for_each_pair(rows, log, first, |r, j, q| {
                if j >= applied[r] {
                    values[r] -= q * q / scales[j];
                }
            });
        })?;
        Ok(values)
    }
}

impl Stale for Sweep<'_> {
    fn is_fresh(&self, candidate: usize) -> bool {
        self.ages[candidate] == self.now()
    }

    fn upper_rank(&self, candidate: usize) -> f64 {
        self.upper(candidate) - self.irreducible(candidate)
    }

    /// Brings these candidates up to date. Cost 2m for each pick missed, m² for each candidate that missed a synchronisation.
    fn refresh(&mut self, candidates: &mut [usize]) -> Result<()> {
        check_interrupt();
        let now = self.now();
        // Equally late candidates side by side share the passes over the log.
        candidates.sort_unstable_by_key(|&i| (self.ages[i].epoch == now.epoch, self.ages[i].applied, i));
        let pending = self.basis.pending() - candidates.first().map_or(0, |&i| self.pending_from(i));
        let work = candidates.len() * (pending + self.features.len() / 2) * self.store.width();
        let this = &*self;
        let task = |ids: &[usize]| this.refreshed(ids);
        let fresh: Result<Vec<Vec<f64>>> = if work < PARALLEL_WORK {
            candidates.chunks(TASK).map(task).collect()
        } else {
            parallel(|_| candidates.par_chunks(TASK).map(task).collect())
        };
        for (&i, value) in candidates.iter().zip(fresh?.into_iter().flatten()) {
            self.values[i] = value;
            self.ages[i] = now;
        }
        Ok(())
    }
}
