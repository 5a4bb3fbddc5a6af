//! RIPS: robust inverse-propensity scores on an optimal design (Camilleri et al. 2021; algorithm notes 5.6).

mod catoni;
mod frank_wolfe;

use super::cache::Cache;
use super::candidate_set::{CandidateSet, kernel, noise_level, norm_bound, random_numbers, ridge};
use super::sequential::Sequential;
use crate::error::{Result, positive};
use crate::strategy::run::ledger::{Ledger, Proposal};
use crate::strategy::run::problem::Problem;
use crate::strategy::run::survivors::Survivors;
use catoni::catoni_mean;
use frank_wolfe::ExperimentalDesign;
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// `rips` (recalled): phases $\ell=1,2,\dots$ with $\varepsilon_\ell=2^{-\ell}$ and survivors $S$. A design $\pi$ on $S$ makes
/// $f_\pi=\max_{x\in S}\lVert\varphi(x)\rVert^2_{(A_\pi+\gamma I)^{-1}}$ small (Frank–Wolfe in kernel form); $n_\ell=2vf_\pi\varepsilon_\ell^{-2}\log(2\ell^2|S|^2/\delta)$ points are drawn
/// from it independently in one batch; each $x\in S$ is estimated by the Catoni mean $W_x$ of $\varphi(x)^\top(A_\pi+\gamma I)^{-1}\varphi(x_t)\,y_t$ and ruled out if
/// $\max W-W_x>2\varepsilon_\ell$.
///
/// $\gamma = R^2/(C^2N)$. The recalled sample size is for values with second moment 1; $v=C^2k_{\max}+R^2$ bounds theirs here. Sample sizes times a factor
/// below 1 ([`Rips::with_effort`]) are a heuristic that ends phases sooner. A batch cut short by the budget rules nothing out. On boxes among a declared Sobol
/// set. Cost O(Ar²) for each of 100 Frank–Wolfe steps (r the numerical rank) and O(An) for the estimates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rips {
    effort: f64,
    sequential: Sequential,
    survivors: Vec<usize>,
    /// Whether the open batch has all the points its phase asks for.
    is_full: bool,
    #[serde(skip)]
    design: Cache<(CandidateSet, ExperimentalDesign)>,
}

impl Default for Rips {
    fn default() -> Self {
        Self { effort: 1.0, sequential: Sequential::default(), survivors: Vec::new(), is_full: false, design: Cache::default() }
    }
}

impl Rips {
    /// Sample sizes times this factor.
    #[must_use]
    pub fn with_effort(self, effort: f64) -> Self {
        Self { effort, ..self }
    }

    /// Among this many candidates on boxes.
    #[must_use]
    pub fn with_sequential(self, sequential: Sequential) -> Self {
        Self { sequential, ..self }
    }

    pub(crate) fn check(&self, problem: &Problem) -> Result<()> {
        positive("effort", self.effort)?;
        self.sequential.check(problem)?;
        norm_bound(problem).and(noise_level(problem)).map(drop)
    }

    pub(crate) fn survivors(&self, problem: &Problem, ledger: &Ledger) -> Result<Option<Survivors>> {
        if self.survivors.is_empty() {
            return Ok(None);
        }
        let set = CandidateSet::new(problem, ledger, self.sequential.box_candidates())?;
        Survivors::among(problem, set.points().view(), &self.survivors).map(Some)
    }

    /// The candidates and the design on the survivors: the same whether it was kept or is made again.
    fn design(&mut self, problem: &Problem, ledger: &Ledger) -> Result<(CandidateSet, ExperimentalDesign)> {
        if let Some(design) = self.design.take() {
            return Ok(design);
        }
        let set = CandidateSet::new(problem, ledger, self.sequential.box_candidates())?;
        if self.survivors.is_empty() {
            self.survivors = (0..set.len()).collect();
        }
        let gamma = (noise_level(problem)? / norm_bound(problem)?).powi(2) / problem.budget() as f64;
        let design = ExperimentalDesign::new(kernel(problem)?, gamma, set.points().view().select(&self.survivors)?)?;
        Ok((set, design))
    }

    /// $\log(2\ell^2|S|^2/\delta)$ in phase $\ell$.
    fn tail(&self, problem: &Problem, phase: usize) -> f64 {
        (2.0 * (phase * phase) as f64 * (self.survivors.len() as f64).powi(2) / problem.delta()).ln()
    }

    /// $v = C^2k_{\max} + R^2$.
    fn second_moment(problem: &Problem, set: &CandidateSet) -> Result<f64> {
        Ok(norm_bound(problem)?.powi(2) * kernel(problem)?.max_diagonal(set.points().view()) + noise_level(problem)?.powi(2))
    }

    pub(crate) fn plan(&mut self, problem: &Problem, ledger: &Ledger) -> Result<Vec<Proposal>> {
        let left = problem.budget().saturating_sub(ledger.trials().len());
        if left == 0 {
            return Ok(Vec::new());
        }
        ridge(problem)?;
        let (set, design) = self.design(problem, ledger)?;
        let phase = ledger.batches() + 1;
        let epsilon = 0.5_f64.powi(phase as i32);
        let wanted =
            2.0 * self.effort * Self::second_moment(problem, &set)? * design.worst() / (epsilon * epsilon) * self.tail(problem, phase);
        self.is_full = wanted <= left as f64;
        let count = wanted.ceil().max(1.0).min(left as f64) as usize;
        let mut rng = random_numbers(problem, ledger.batches());
        let draws = (0..count).map(|_| set.proposal(self.survivors[design.pick(rng.random::<f64>())])).collect();
        self.design.put((set, design));
        Ok(draws)
    }

    pub(crate) fn learn(&mut self, problem: &Problem, ledger: &Ledger) -> Result<()> {
        if !self.is_full {
            return Ok(());
        }
        let (set, design) = self.design(problem, ledger)?;
        let phase = ledger.closed();
        let evaluations = set.evaluations(problem, ledger, phase - 1);
        if evaluations.is_empty() {
            return Ok(());
        }
        let place: std::collections::HashMap<usize, usize> = self.survivors.iter().enumerate().map(|(i, &a)| (a, i)).collect();
        let moment = Self::second_moment(problem, &set)?;
        let tail = self.tail(problem, phase);
        let mut estimates = Vec::with_capacity(self.survivors.len());
        for x in 0..self.survivors.len() {
            let column = design.scores(x)?;
            let samples: Vec<f64> = evaluations.iter().map(|m| column[place[&m.candidate]] * m.value).collect();
            estimates.push(catoni_mean(&samples, moment * design.at(x), tail));
        }
        let best = estimates.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let epsilon = 0.5_f64.powi(phase as i32);
        let mut estimates = estimates.into_iter();
        self.survivors.retain(|_| estimates.next().is_none_or(|w| best - w <= 2.0 * epsilon));
        Ok(())
    }
}
