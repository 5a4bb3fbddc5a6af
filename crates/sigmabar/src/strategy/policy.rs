//! The closed set of policies, and what each does at the joints of a run.

use super::run::ledger::{Ledger, Proposal};
use super::run::problem::Problem;
use super::run::recommendation::{BatchReport, Recommendation};
use super::run::survivors::Survivors;
use super::{
    AdaBkb, Auto, Bbkb, Bkb, Bpe, DecoupledThompson, EkUcb, ExpectedImprovement, GpThreds, GpUcb, LargestVariance, MiniMeta,
    ProbabilityOfImprovement, Random, Rips, Sbpe, Sobol, SupKernelUcb, ThompsonSampling,
};
use crate::certificate::Contradiction;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// How the next points are chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Policy {
    /// Budgeted kernel bandit on cells of a box.
    AdaBkb(AdaBkb),
    /// Without kernel, norm or noise: a few batches, everything refitted after each.
    Auto(Auto),
    /// Batched budgeted kernel bandit.
    Bbkb(Bbkb),
    /// Budgeted kernel bandit.
    Bkb(Bkb),
    /// Batched pure exploration, exact.
    Bpe(Bpe),
    /// Sparse Thompson sampling by decoupled draws.
    DecoupledThompson(DecoupledThompson),
    /// Contextual optimism.
    EkUcb(EkUcb),
    /// Expected improvement.
    ExpectedImprovement(ExpectedImprovement),
    /// Thresholds on cells of a box.
    GpThreds(GpThreds),
    /// Optimism with the exact posterior.
    GpUcb(GpUcb),
    /// Max-variance design.
    LargestVariance(LargestVariance),
    /// Few distinct candidates, repeated.
    MiniMeta(MiniMeta),
    /// Probability of improvement.
    ProbabilityOfImprovement(ProbabilityOfImprovement),
    /// Uniformly at random.
    Random(Random),
    /// Batched pure exploration with sparse models.
    Sbpe(Box<Sbpe>),
    /// Robust inverse-propensity scores.
    Rips(Rips),
    /// Along a scrambled Sobol sequence.
    Sobol(Sobol),
    /// Optimism in levels.
    SupKernelUcb(SupKernelUcb),
    /// Thompson sampling with the exact posterior.
    ThompsonSampling(ThompsonSampling),
}

impl Policy {
    /// The name by which the literature, the command line and result files call it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::AdaBkb(_) => "ada-bkb",
            Self::Auto(_) => "auto",
            Self::Bbkb(_) => "bbkb",
            Self::Bkb(_) => "bkb",
            Self::Bpe(_) => "bpe",
            Self::DecoupledThompson(_) => "s-gp-ts",
            Self::EkUcb(_) => "ek-ucb",
            Self::ExpectedImprovement(_) => "ei",
            Self::GpThreds(_) => "gp-threds",
            Self::GpUcb(_) => "gp-ucb",
            Self::LargestVariance(_) => "max-variance",
            Self::MiniMeta(_) => "mini-meta",
            Self::ProbabilityOfImprovement(_) => "pi",
            Self::Random(_) => "random",
            Self::Rips(_) => "rips",
            Self::Sbpe(_) => "s-bpe",
            Self::Sobol(_) => "sobol",
            Self::SupKernelUcb(_) => "supkernelucb",
            Self::ThompsonSampling(_) => "gp-ts",
        }
    }

    pub(super) fn check(&self, problem: &Problem) -> Result<()> {
        if problem.wanted_candidate_gap().is_some() && !matches!(self, Self::Sbpe(_)) {
            let reason = "only s-bpe says how far from the best of its candidates one can still be; auto takes a wanted gap";
            return Err(Error::Premise { what: "a wanted candidate gap with this strategy", reason });
        }
        match self {
            Self::AdaBkb(p) => p.check(problem),
            Self::Auto(p) => p.check(problem),
            Self::Bbkb(p) => p.check(problem),
            Self::Bkb(p) => p.check(problem),
            Self::Bpe(p) => p.check(problem),
            Self::DecoupledThompson(p) => p.check(problem),
            Self::EkUcb(p) => p.check(problem),
            Self::ExpectedImprovement(p) => p.check(problem),
            Self::GpThreds(p) => p.check(problem),
            Self::GpUcb(p) => p.check(problem),
            Self::LargestVariance(p) => p.check(problem),
            Self::MiniMeta(p) => p.check(problem),
            Self::ProbabilityOfImprovement(p) => p.check(problem),
            Self::Random(_) | Self::Sobol(_) => problem.domain().candidates(1, problem.seed()).map(drop),
            Self::Sbpe(p) => p.check(problem),
            Self::Rips(p) => p.check(problem),
            Self::SupKernelUcb(p) => p.check(problem),
            Self::ThompsonSampling(p) => p.check(problem),
        }
    }

    /// The next batch; empty when the run is over.
    pub(super) fn plan(&mut self, problem: &Problem, ledger: &Ledger) -> Result<Vec<Proposal>> {
        match self {
            Self::AdaBkb(p) => p.plan(problem, ledger),
            Self::Auto(p) => p.plan(problem, ledger),
            Self::Bbkb(p) => p.plan(problem, ledger),
            Self::Bkb(p) => p.plan(problem, ledger),
            Self::Bpe(p) => p.plan(problem, ledger),
            Self::DecoupledThompson(p) => p.plan(problem, ledger),
            Self::EkUcb(p) => p.plan(problem, ledger),
            Self::ExpectedImprovement(p) => p.plan_expected(problem, ledger),
            Self::GpThreds(p) => p.plan(problem, ledger),
            Self::GpUcb(p) => p.plan(problem, ledger),
            Self::LargestVariance(p) => p.plan(problem, ledger),
            Self::MiniMeta(p) => p.plan(problem, ledger),
            Self::ProbabilityOfImprovement(p) => p.plan_probable(problem, ledger),
            Self::Random(p) => p.plan(problem, ledger),
            Self::Sbpe(p) => p.plan(problem, ledger),
            Self::Rips(p) => p.plan(problem, ledger),
            Self::Sobol(p) => p.plan(problem, ledger),
            Self::SupKernelUcb(p) => p.plan(problem, ledger),
            Self::ThompsonSampling(p) => p.plan(problem, ledger),
        }
    }

    /// Digests the batch that was just closed; whether the run is over.
    pub(super) fn learn(&mut self, problem: &Problem, ledger: &Ledger) -> Result<bool> {
        match self {
            Self::AdaBkb(p) => p.learn(problem, ledger)?,
            Self::Auto(p) => return p.learn(problem, ledger),
            Self::Bbkb(p) => p.learn(problem, ledger)?,
            Self::Bkb(p) => p.learn(problem, ledger)?,
            Self::Bpe(p) => return p.learn(problem, ledger),
            Self::EkUcb(p) => p.learn(problem, ledger)?,
            Self::Rips(p) => p.learn(problem, ledger)?,
            Self::Sbpe(p) => return p.learn(problem, ledger),
            _ => {}
        }
        Ok(ledger.trials().len() >= problem.budget())
    }

    /// What the policy itself claims; `None` where it claims nothing, or nothing yet.
    pub(super) fn claimed(&self, problem: &Problem, ledger: &Ledger) -> Result<Option<Recommendation>> {
        match self {
            Self::Auto(p) => p.recommend(problem, ledger),
            Self::Sbpe(p) => p.recommend(problem),
            _ => Ok(None),
        }
    }

    /// That the data contradict the premises the user gave, if they do.
    pub(super) fn contradiction(&self) -> Option<Contradiction> {
        match self {
            Self::Auto(p) => p.contradiction(),
            Self::Sbpe(p) => p.contradiction(),
            _ => None,
        }
    }

    pub(super) fn reports(&self, problem: &Problem, ledger: &Ledger) -> Result<Vec<BatchReport>> {
        match self {
            Self::Auto(p) => Ok(p.reports(problem, ledger)),
            Self::Sbpe(p) => Ok(p.reports(ledger)),
            _ => {
                let report = |batch| BatchReport { inducing: self.inducing(batch), ..BatchReport::plain(ledger, batch) };
                Ok((0..ledger.closed()).map(report).collect())
            }
        }
    }

    /// Inducing points that a sparse model had when a batch was closed.
    fn inducing(&self, batch: usize) -> Option<usize> {
        match self {
            Self::AdaBkb(p) => p.inducing(batch),
            Self::Bbkb(p) => p.inducing(batch),
            Self::Bkb(p) => p.inducing(batch),
            Self::DecoupledThompson(p) => p.inducing(),
            Self::EkUcb(p) => p.inducing(batch),
            Self::LargestVariance(p) => p.inducing(),
            _ => None,
        }
    }

    pub(super) fn survivors(&self, problem: &Problem, ledger: &Ledger) -> Result<Option<Survivors>> {
        match self {
            Self::AdaBkb(p) => Ok(p.survivors()),
            Self::Auto(p) => p.survivors(problem, ledger),
            Self::Bpe(p) => p.survivors(problem, ledger),
            Self::GpThreds(p) => Ok(p.survivors()),
            Self::Rips(p) => p.survivors(problem, ledger),
            Self::Sbpe(p) => p.survivors(problem),
            _ => Ok(None),
        }
    }
}
