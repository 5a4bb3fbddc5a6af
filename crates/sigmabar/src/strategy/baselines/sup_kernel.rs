//! SupKernelUCB: optimism in levels with separate data, so that each level's noise is independent of its points (Valko et al. 2013; algorithm notes 5.7).

use super::cache::Cache;
use super::candidate_set::{CandidateSet, noise_level, norm_bound};
use super::model::{CandidateModel, Dictionary};
use super::sequential::{Sequential, bar};
use crate::error::{Result, positive};
use crate::strategy::run::ledger::{Ledger, Proposal};
use crate::strategy::run::problem::Problem;
use serde::{Deserialize, Serialize};
use sigmabar_linalg::argmax;

/// The factor $\beta$ of the widths $w_a = \beta\,\sigma(a)$.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum SupWidth {
    /// $\beta = \sqrt{2\log(2N|X|/\delta)}$, as in public code, for functions of norm 1.
    #[default]
    Unit,
    /// $\beta = C + \frac R\tau\sqrt{2\log(2N|X|/\delta)}$, the interval of algorithm notes 7.1. Needs norm bound and noise.
    Interval,
    /// The same for every problem.
    Constant(f64),
}

/// `supkernelucb`: at each step through levels $s=1,2,\dots$ with candidates $A_1$ = all: (1) if some width exceeds $2^{-s}$, the widest candidate is evaluated for level
/// $s$; (2) else, if all widths are at most $1/\sqrt N$, the candidate with the largest $\mu+w$ is evaluated and its value used by no level; (3) else
/// $A_{s+1} = \{\mu+w\ge\max(\mu+w)-2^{1-s}\}$.
///
/// Every level has its own exact posterior, ridge $\tau$ for mean and variance alike (a public version uses $10^{-6}$ for the mean). Where the description
/// says "any", the widest is taken. One evaluation at a time. Widths are compared with $2^{-s}$ in the model's scale: declare a prior whose unit is
/// the range of the values. Cost O(A·levels + Au) for an evaluation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SupKernelUcb {
    width: SupWidth,
    sequential: Sequential,
    /// For each trial the level that uses its value, from 0.
    levels: Vec<Option<u32>>,
    #[serde(skip)]
    run: Cache<SupRun>,
}

/// The posteriors of the levels, as far as batches are closed.
#[derive(Clone, Debug)]
struct SupRun {
    set: CandidateSet,
    models: Vec<CandidateModel>,
    barred: Vec<bool>,
    absorbed: usize,
}

impl SupKernelUcb {
    /// With this width.
    #[must_use]
    pub fn new(width: SupWidth) -> Self {
        Self { width, ..Self::default() }
    }

    /// Among this many candidates on boxes.
    #[must_use]
    pub fn with_sequential(self, sequential: Sequential) -> Self {
        Self { sequential, ..self }
    }

    pub(crate) fn check(&self, problem: &Problem) -> Result<()> {
        self.sequential.check(problem)?;
        match self.width {
            SupWidth::Unit => Ok(()),
            SupWidth::Interval => norm_bound(problem).and(noise_level(problem)).map(drop),
            SupWidth::Constant(factor) => positive("width factor", factor).map(drop),
        }
    }

    fn factor(&self, problem: &Problem, run: &SupRun) -> Result<f64> {
        let root = (2.0 * (2.0 * problem.budget() as f64 * run.set.len() as f64 / problem.delta()).ln()).sqrt();
        Ok(match self.width {
            SupWidth::Unit => root,
            SupWidth::Interval => norm_bound(problem)? + noise_level(problem)? / run.models[0].ridge() * root,
            SupWidth::Constant(factor) => factor,
        })
    }

    pub(crate) fn plan(&mut self, problem: &Problem, ledger: &Ledger) -> Result<Vec<Proposal>> {
        if ledger.trials().len() >= problem.budget() {
            return Ok(Vec::new());
        }
        let run = self.synced(problem, ledger)?;
        let factor = self.factor(problem, &run)?;
        let (choice, level) = run.choose(factor, problem.budget());
        let proposal = run.set.proposal(choice);
        self.levels.truncate(ledger.trials().len());
        self.levels.push(level);
        self.run.put(run);
        Ok(vec![proposal])
    }

    fn synced(&mut self, problem: &Problem, ledger: &Ledger) -> Result<SupRun> {
        let mut run = match self.run.take() {
            Some(run) => run,
            None => {
                let set = CandidateSet::new(problem, ledger, self.sequential.box_candidates())?;
                let levels = (problem.budget() as f64).log2().ceil().max(1.0) as usize;
                let model = set.model(problem, Dictionary::Measured)?;
                SupRun { barred: vec![false; set.len()], models: vec![model; levels], set, absorbed: 0 }
            }
        };
        for batch in run.absorbed..ledger.closed() {
            let level = self.levels[ledger.batch(batch).start];
            for m in run.set.measurements(problem, ledger, batch) {
                if let Some(level) = level {
                    run.models[level as usize].observe(m.candidate, m.value, m.weight)?;
                }
            }
            bar(&mut run.barred, &run.set, ledger, batch);
        }
        run.absorbed = ledger.closed();
        Ok(run)
    }
}

impl SupRun {
    /// The candidate to evaluate and the level that will use its value.
    fn choose(&self, factor: f64, budget: usize) -> (usize, Option<u32>) {
        let mut left: Vec<usize> = (0..self.set.len()).filter(|&a| !self.barred[a]).collect();
        if left.is_empty() {
            left = (0..self.set.len()).collect();
        }
        let smallest = 1.0 / (budget as f64).sqrt();
        for (level, model) in self.models.iter().enumerate() {
            let width = |a: usize| factor * model.variance(a).sqrt();
            let upper = |a: usize| model.mean()[a] + width(a);
            let step = 0.5_f64.powi(level as i32 + 1);
            let widest = argmax(left.iter().map(|&a| (a, width(a)))).unwrap_or(0);
            if width(widest) > step {
                return (widest, Some(level as u32));
            }
            let top = argmax(left.iter().map(|&a| (a, upper(a)))).unwrap_or(0);
            if width(widest) <= smallest {
                return (top, None);
            }
            let threshold = upper(top) - 2.0 * step;
            left.retain(|&a| upper(a) >= threshold);
        }
        // The last level has 2^{-S} ≤ 1/N ≤ 1/√N, so that one of the first two cases happened.
        (left[0], None)
    }
}
