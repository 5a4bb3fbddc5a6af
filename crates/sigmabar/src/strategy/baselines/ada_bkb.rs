//! Ada-BKB: BKB on the cells of a box that refine themselves (Rando et al. 2021; algorithm notes 9.8).

use super::bkb::BkbWidth;
use super::candidate_set::{Measurement, kernel, norm_bound, random_numbers, ridge};
use super::model::{CandidateModel, Dictionary};
use super::resampling::redrawn;
use crate::domain::{CellTree, Domain};
use crate::error::{Error, Result, positive};
use crate::points::Points;
use crate::strategy::run::ledger::{Ledger, Outcome, Proposal, TrialState};
use crate::strategy::run::problem::Problem;
use crate::strategy::run::recommendation::weight;
use crate::strategy::run::survivors::Survivors;
use serde::{Deserialize, Serialize};
use sigmabar_linalg::argmax;

/// `ada-bkb`: cells of a box with centre $c$ at level $h$, $V_h = C\sup_{x\in\text{cell}}d_k(c,x)$, and index
/// $I = \min(\mathrm{ucb}(c), \mathrm{ucb}(\text{parent}) + V_{h-1}) + V_h$ under BKB's sparse posterior. The leaf with the largest index is split where
/// $\beta\sigma(c)\le V_h$ and $h$ is below its limit, else evaluated at its centre. After each value the dictionary is drawn anew as in [`crate::strategy::Bkb`] and leaves with
/// $I$ below the best $\mu-\beta\sigma$ seen are dropped, the last one excepted.
///
/// Cells are halved across the side that is widest relative to the box; $h\le20$ and at most 4096 cells unless told otherwise. Boxes only, kernels
/// with a bound over cells only. A cell whose evaluation failed is split. The first evaluation is the centre of the box. One evaluation at a time, O(cells·m²) each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdaBkb {
    width: BkbWidth,
    oversampling: Option<f64>,
    max_level: u32,
    capacity: usize,
    tree: Option<CellTree>,
    /// The cell of each trial.
    pulled: Vec<usize>,
    dictionary: Vec<usize>,
    best_lower: f64,
    /// How large the dictionary was after each closed batch.
    sizes: Vec<usize>,
}

impl Default for AdaBkb {
    fn default() -> Self {
        Self {
            width: BkbWidth::default(),
            oversampling: None,
            max_level: 20,
            capacity: 4096,
            tree: None,
            pulled: Vec::new(),
            dictionary: Vec::new(),
            best_lower: f64::NEG_INFINITY,
            sizes: Vec::new(),
        }
    }
}

impl AdaBkb {
    /// With this width.
    #[must_use]
    pub fn new(width: BkbWidth) -> Self {
        Self { width, ..Self::default() }
    }

    /// The factor $q$ of the inclusion probabilities, instead of the width's own.
    #[must_use]
    pub fn with_oversampling(self, q: f64) -> Self {
        Self { oversampling: Some(q), ..self }
    }

    /// The deepest level and the largest number of cells.
    #[must_use]
    pub fn with_limits(self, max_level: u32, cells: usize) -> Self {
        Self { max_level, capacity: cells, ..self }
    }

    /// The cells, once the run has begun.
    #[must_use]
    pub fn cells(&self) -> Option<&CellTree> {
        self.tree.as_ref()
    }

    pub(crate) fn survivors(&self) -> Option<Survivors> {
        self.tree.as_ref().map(|tree| Survivors::of_tree(tree, tree.leaves()))
    }

    pub(crate) fn inducing(&self, batch: usize) -> Option<usize> {
        self.sizes.get(batch).copied()
    }

    pub(crate) fn check(&self, problem: &Problem) -> Result<()> {
        ridge(problem)?;
        norm_bound(problem)?;
        self.width.check(problem)?;
        self.oversampling.map_or(Ok(0.0), |q| positive("oversampling", q))?;
        let tree = self.root(problem)?;
        if tree.radius(0, kernel(problem)?).is_none() {
            return Err(Error::Premise { what: "Ada-BKB", reason: "the kernel has no bound over the cells of a box" });
        }
        Ok(())
    }

    fn root(&self, problem: &Problem) -> Result<CellTree> {
        let Domain::Box(domain) = problem.domain() else {
            return Err(Error::Premise { what: "Ada-BKB", reason: "it cuts a box into cells, and the domain is no box" });
        };
        let sides: Vec<f64> = domain.low().iter().zip(domain.high()).map(|(low, high)| high - low).collect();
        CellTree::new(domain, sides, self.capacity)
    }

    /// The posterior at the points of results from before the run and, after them, at the centres of all cells, with the first `batches` batches.
    fn model(&self, tree: &CellTree, problem: &Problem, ledger: &Ledger, batches: usize) -> Result<CandidateModel> {
        let centres = (0..tree.len()).flat_map(|cell| tree.centre(cell));
        let before = ledger.attached().iter().flat_map(|a| a.point.iter().copied());
        let points = Points::new(before.chain(centres).collect(), tree.dim())?;
        let mut model = CandidateModel::new(kernel(problem)?, ridge(problem)?, points, Dictionary::Chosen)?;
        for (candidate, attached) in ledger.attached().iter().enumerate() {
            if let Some(m) = attached.measured() {
                model.count(candidate, problem.to_model(m.value), weight(problem, &m));
            }
        }
        for batch in 0..batches {
            for m in self.measurements(problem, ledger, batch) {
                model.count(m.candidate, m.value, m.weight);
            }
        }
        model.redraw(&self.dictionary)?;
        Ok(model)
    }

    fn measurements<'a>(&'a self, problem: &'a Problem, ledger: &'a Ledger, batch: usize) -> impl Iterator<Item = Measurement> + 'a {
        ledger.measured(batch).filter_map(|m| {
            let candidate = ledger.attached().len() + self.pulled[m.id? as usize];
            Some(Measurement { candidate, value: problem.to_model(m.value), weight: weight(problem, &m) })
        })
    }

    pub(crate) fn plan(&mut self, problem: &Problem, ledger: &Ledger) -> Result<Vec<Proposal>> {
        if ledger.trials().len() >= problem.budget() {
            return Ok(Vec::new());
        }
        let mut tree = self.tree.take().map_or_else(|| self.root(problem), Ok)?;
        let choice = self.refine(&mut tree, problem, ledger);
        let point = choice.as_ref().ok().map(|&cell| tree.centre(cell));
        self.tree = Some(tree);
        self.pulled.truncate(ledger.trials().len());
        self.pulled.push(choice?);
        Ok(point.into_iter().map(Proposal::anywhere).collect())
    }

    /// Drops and splits leaves until one has to be evaluated.
    fn refine(&mut self, tree: &mut CellTree, problem: &Problem, ledger: &Ledger) -> Result<usize> {
        let kernel = kernel(problem)?;
        let norm = norm_bound(problem)?;
        loop {
            let model = self.model(tree, problem, ledger, ledger.closed())?;
            let b = self.width.factor(problem, &model, ledger.trials().len() + 1)?;
            let before = ledger.attached().len();
            let ucb = |cell: usize| model.mean()[before + cell] + b * model.variance(before + cell).sqrt();
            let spread = |cell: usize| norm * tree.radius(cell, kernel).unwrap_or(f64::INFINITY);
            let index = |cell: usize| {
                let by_parent = tree.parent(cell).map_or(f64::INFINITY, |parent| ucb(parent) + spread(parent));
                ucb(cell).min(by_parent) + spread(cell)
            };
            let lower = model.measured().iter().map(|&a| model.mean()[a] - b * model.variance(a).sqrt());
            self.best_lower = lower.fold(self.best_lower, f64::max);
            let leaves: Vec<(usize, f64)> = tree.leaves().map(|cell| (cell, index(cell))).collect();
            let Some(top) = argmax(leaves.iter().copied()) else { return Ok(0) };
            let split = b * model.variance(before + top).sqrt() <= spread(top) && tree.level(top) < self.max_level;
            for (cell, value) in leaves {
                if cell != top && value < self.best_lower {
                    tree.discard(cell);
                }
            }
            if !(split && tree.split(top).is_some()) {
                return Ok(top);
            }
        }
    }

    /// Draws the dictionary anew ([`redrawn`]).
    pub(crate) fn learn(&mut self, problem: &Problem, ledger: &Ledger) -> Result<()> {
        let batch = ledger.closed() - 1;
        let Some(mut tree) = self.tree.take() else { return Ok(()) };
        let model = self.model(&tree, problem, ledger, batch);
        let failed = |&i: &usize| ledger.states()[i] == TrialState::Told(Outcome::Failed);
        for i in ledger.batch(batch).filter(failed) {
            tree.split(self.pulled[i]);
        }
        self.tree = Some(tree);
        let model = model?;
        let new: Vec<Measurement> = self.measurements(problem, ledger, batch).collect();
        let q = self.oversampling.unwrap_or_else(|| self.width.oversampling(problem, ledger.trials().len()));
        let drawn = redrawn(&model, &new, q, &mut random_numbers(problem, ledger.closed()));
        if !drawn.is_empty() {
            self.dictionary = drawn;
        }
        self.sizes.push(self.dictionary.len());
        Ok(())
    }
}
