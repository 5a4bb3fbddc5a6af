//! GP-ThreDS: thresholds for the maximum, searched cell by cell (Salgia et al. 2021; algorithm notes 5.5).

use super::cache::Cache;
use super::candidate_set::{kernel, noise_level, norm_bound, ridge};
use super::model::{CandidateModel, Dictionary};
use super::width::log_time;
use crate::domain::{BoxDomain, Domain};
use crate::error::{Error, Result, at_least_one, not_negative};
use crate::points::Points;
use crate::strategy::run::ledger::{Ledger, Proposal, TrialState};
use crate::strategy::run::problem::Problem;
use crate::strategy::run::recommendation::weight;
use crate::strategy::run::survivors::{Cell, Survivors};
use serde::{Deserialize, Serialize};
use sigmabar_linalg::argmax;

/// Levels of the tree of cells in the published code: $\log_2(5\cdot10^5)$.
const TREE_LEVELS: usize = 19;

/// `gp-threds`: epochs $e = 1, 2, \dots$ with active cells of the box and an interval $\lbrack a,b\rbrack$ for the maximum. In each active cell a local GP-UCB on a grid, with data
/// of its own, searches its $2^d$ parts against the threshold $t=(a+b)/2$: the cell is done when no unfinished part has $\mu+\beta\sigma\ge t-c_12^{1-e}$; a part is
/// kept when some $\mu-\beta\sigma>t$ in it, or (the one with the largest index) after a given number of evaluations. After all cells: nothing kept,
/// $\lbrack a,b\rbrack$ moves down by half its length; else $a=t-c_22^{-e}(b_0-a_0)$ and the kept parts are active.
///
/// $\beta_t = C + R\sqrt{2(\log t+1+\log(1/\delta))}$ in local evaluations; the published runs have $\delta=1/1000$, $c_1=0.2$, $c_2=0.4$, 50 evaluations
/// and grids of $20^2$, which are the defaults (at most about 500 grid points in higher dimension). Every cell is evaluated at least once before it is
/// given up or a part of it kept. Boxes only. One evaluation at a time, O(400·u) each with u local points. The released runs stop by wall clock and count
/// zero regret from then on; this runs to its budget.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GpThreds {
    interval: (f64, f64),
    slack: (f64, f64),
    cap: usize,
    per_side: Option<usize>,
    state: Option<State>,
    #[serde(skip)]
    local: Cache<Local>,
}

/// Where the search stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct State {
    epoch: usize,
    lower: f64,
    upper: f64,
    active: Vec<Cell>,
    /// Which active cell is being searched.
    node: usize,
    /// Its parts that are kept already.
    finished: Vec<bool>,
    kept: Vec<Cell>,
    /// Trial with which the search of this cell began.
    first_trial: usize,
    /// Evaluations since the search began or a part was kept.
    steps: usize,
}

/// The posterior on the grid of the cell being searched.
#[derive(Clone, Debug)]
struct Local {
    model: CandidateModel,
    /// Which part each grid point belongs to.
    part: Vec<usize>,
    /// Grid points whose evaluation failed.
    barred: Vec<bool>,
    absorbed: usize,
}

impl GpThreds {
    /// The maximum is believed to lie in this interval, in the data's scale (for minimisation: the minimum).
    ///
    /// # Errors
    /// [`Error::Interval`] unless both ends are finite and the first is less than the second.
    pub fn new(low: f64, high: f64) -> Result<Self> {
        if !(low.is_finite() && high.is_finite() && low < high) {
            return Err(Error::Interval { column: 0, low, high });
        }
        Ok(Self { interval: (low, high), slack: (0.2, 0.4), cap: 50, per_side: None, state: None, local: Cache::default() })
    }

    /// The constants $c_1$ and $c_2$.
    #[must_use]
    pub fn with_slack(self, c1: f64, c2: f64) -> Self {
        Self { slack: (c1, c2), ..self }
    }

    /// Evaluations after which a part is kept without proof.
    #[must_use]
    pub fn with_cap(self, cap: usize) -> Self {
        Self { cap, ..self }
    }

    /// Grid points along each side of a cell, rounded up to an even number.
    #[must_use]
    pub fn with_grid(self, per_side: usize) -> Self {
        Self { per_side: Some(per_side), ..self }
    }

    /// The active cells: those of this epoch.
    pub(crate) fn survivors(&self) -> Option<Survivors> {
        self.state.as_ref().map(|state| Survivors::Cells(state.active.clone()))
    }

    pub(crate) fn check(&self, problem: &Problem) -> Result<()> {
        kernel(problem)?;
        ridge(problem)?;
        norm_bound(problem).and(noise_level(problem))?;
        for (name, value) in [("c1", self.slack.0), ("c2", self.slack.1)] {
            not_negative(name, value)?;
        }
        for (name, value) in [("evaluations for a part", self.cap), ("grid points of a side", self.per_side.unwrap_or(2))] {
            at_least_one(name, value)?;
        }
        let domain = boxed(problem)?;
        if domain.dim() > 9 {
            return Err(Error::Parameter {
                name: "columns",
                value: domain.dim() as f64,
                requirement: "at most 9, since a cell has 2^d parts",
            });
        }
        Ok(())
    }

    pub(crate) fn plan(&mut self, problem: &Problem, ledger: &Ledger) -> Result<Vec<Proposal>> {
        if ledger.trials().len() >= problem.budget() {
            return Ok(Vec::new());
        }
        let mut state = self.state.take().map_or_else(|| self.start(problem), Ok)?;
        let point = self.search(&mut state, problem, ledger);
        self.state = Some(state);
        Ok(vec![Proposal::anywhere(point?)])
    }

    fn start(&self, problem: &Problem) -> Result<State> {
        let domain = boxed(problem)?;
        let (a, b) = (problem.to_model(self.interval.0), problem.to_model(self.interval.1));
        let root = Cell { low: domain.low().to_vec(), high: domain.high().to_vec() };
        Ok(State {
            epoch: 1,
            lower: a.min(b),
            upper: a.max(b),
            finished: vec![false; 1 << domain.dim()],
            active: vec![root],
            node: 0,
            kept: Vec::new(),
            first_trial: 0,
            steps: 0,
        })
    }

    /// Moves on until a point has to be evaluated.
    fn search(&mut self, state: &mut State, problem: &Problem, ledger: &Ledger) -> Result<Vec<f64>> {
        let width = (problem.to_model(self.interval.0) - problem.to_model(self.interval.1)).abs();
        let (c1, cap) = (self.slack.0, self.cap);
        loop {
            let local = self.synced(state, problem, ledger)?;
            let seen = ledger.trials().len() - state.first_trial;
            let beta = log_time(norm_bound(problem)?, noise_level(problem)?, problem.delta(), seen + 1);
            let value = |g: usize, sign: f64| local.model.mean()[g] + sign * beta * local.model.variance(g).sqrt();
            let open = || (0..local.model.len()).filter(|&g| !state.finished[local.part[g]]);
            let best = |sign: f64| argmax(open().map(|g| (g, value(g, sign))));
            let (Some(top), Some(safe)) = (best(1.0), best(-1.0)) else {
                self.next_cell(state, width, ledger);
                continue;
            };
            let threshold = 0.5 * (state.lower + state.upper);
            if seen > 0 && value(top, 1.0) < threshold - c1 * 0.5_f64.powi(state.epoch as i32 - 1) {
                self.next_cell(state, width, ledger);
                continue;
            }
            let proven = state.steps > 0 && value(safe, -1.0) > threshold;
            if proven || state.steps >= cap {
                let part = local.part[if proven { safe } else { top }];
                state.keep(part);
                continue;
            }
            let choice = argmax(open().filter(|&g| !local.barred[g]).map(|g| (g, value(g, 1.0)))).unwrap_or(top);
            state.steps += 1;
            return Ok(local.model.point(choice).to_vec());
        }
    }

    fn next_cell(&mut self, state: &mut State, width: f64, ledger: &Ledger) {
        self.local.take();
        state.node += 1;
        if state.node == state.active.len() {
            state.end_epoch(self.slack.1, width);
        }
        state.finished.fill(false);
        state.first_trial = ledger.trials().len();
        state.steps = 0;
    }

    /// The local posterior with everything measured in this cell since its search began.
    fn synced<'a>(&'a mut self, state: &State, problem: &Problem, ledger: &Ledger) -> Result<&'a Local> {
        let mut local = self.local.take().map_or_else(|| self.local(&state.active[state.node], state.first_trial, problem), Ok)?;
        while local.absorbed < ledger.trials().len() {
            let trial = &ledger.trials()[local.absorbed];
            let (grid, _) = local.model.nearest(&trial.point);
            if let TrialState::Told(outcome) = ledger.states()[local.absorbed] {
                match outcome.measured(trial.candidate, &trial.point) {
                    Some(m) => local.model.observe(grid, problem.to_model(m.value), weight(problem, &m))?,
                    None => local.barred[grid] = true,
                }
            }
            local.absorbed += 1;
        }
        Ok(self.local.put(local))
    }

    fn local(&self, cell: &Cell, first_trial: usize, problem: &Problem) -> Result<Local> {
        let dim = cell.low.len();
        let default = if dim <= 2 { 20 } else { (512f64.powf(1.0 / dim as f64).floor() as usize).max(2) };
        let half = self.per_side.unwrap_or(default).div_ceil(2);
        let side = 2 * half;
        let count = side.pow(dim as u32);
        let mut data = Vec::with_capacity(count * dim);
        let mut part = Vec::with_capacity(count);
        for index in 0..count {
            let (mut rest, mut owner) = (index, 0);
            for column in 0..dim {
                let i = rest % side;
                rest /= side;
                owner |= usize::from(i >= half) << column;
                data.push(cell.low[column] + (i as f64 + 0.5) / side as f64 * (cell.high[column] - cell.low[column]));
            }
            part.push(owner);
        }
        let model = CandidateModel::new(kernel(problem)?, ridge(problem)?, Points::new(data, dim)?, Dictionary::Measured)?;
        Ok(Local { model, part, barred: vec![false; count], absorbed: first_trial })
    }
}

fn boxed(problem: &Problem) -> Result<&BoxDomain> {
    match problem.domain() {
        Domain::Box(domain) => Ok(domain),
        _ => Err(Error::Premise { what: "GP-ThreDS", reason: "it cuts a box into cells, and the domain is no box" }),
    }
}

impl State {
    /// Keeps a part of the cell being searched; at the bottom of the tree the cell itself.
    fn keep(&mut self, part: usize) {
        self.finished[part] = true;
        self.steps = 0;
        let cell = &self.active[self.node];
        let dim = cell.low.len();
        let mut kept = cell.clone();
        if self.epoch * dim <= TREE_LEVELS {
            for column in 0..dim {
                let middle = 0.5 * (cell.low[column] + cell.high[column]);
                if part >> column & 1 == 1 { kept.low[column] = middle } else { kept.high[column] = middle }
            }
        }
        if !self.kept.contains(&kept) {
            self.kept.push(kept);
        }
    }

    fn end_epoch(&mut self, c2: f64, first_width: f64) {
        self.node = 0;
        if self.kept.is_empty() {
            let shift = 0.5 * (self.upper - self.lower);
            self.lower -= shift;
            self.upper -= shift;
            return;
        }
        let threshold = 0.5 * (self.lower + self.upper);
        self.lower = threshold - c2 * 0.5_f64.powi(self.epoch as i32) * first_width;
        self.active = std::mem::take(&mut self.kept);
        self.epoch += 1;
    }
}
