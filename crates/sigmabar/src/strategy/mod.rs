//! Where to measure next: strategies with one ask/tell interface, deterministic from their seed.

mod ada_bkb;
mod bbkb;
mod bkb;
mod bpe;
mod cache;
mod candidate_set;
mod decoupled;
mod ek_ucb;
mod improvement;
mod largest_variance;
mod ledger;
mod mini_meta;
mod model;
mod problem;
mod random;
mod recommendation;
mod resampling;
mod rips;
mod saved;
mod sequential;
mod sup_kernel;
mod thompson;
mod threds;
mod ucb;
mod width;

pub use ada_bkb::AdaBkb;
pub use bbkb::{BatchRule, Bbkb, BbkbWidth};
pub use bkb::{Bkb, BkbWidth};
pub use bpe::{Bpe, BpeSchedule, BpeWidth};
pub use decoupled::DecoupledThompson;
pub use ek_ucb::EkUcb;
pub use improvement::{ExpectedImprovement, ProbabilityOfImprovement};
pub use largest_variance::LargestVariance;
pub use ledger::{Ask, Ledger, Outcome, Trial, TrialState};
pub use mini_meta::{MetaIndex, MiniMeta};
pub use problem::{Direction, Problem};
pub use random::{Random, Sobol};
pub use recommendation::{BatchReport, Recommendation};
pub use rips::Rips;
pub use sequential::Sequential;
pub use sup_kernel::{SupKernelUcb, SupWidth};
pub use thompson::{SampleScale, ThompsonSampling};
pub use threds::GpThreds;
pub use ucb::GpUcb;
pub use width::UcbWidth;

use crate::error::{Error, Result};
use ledger::Proposal;
use serde::{Deserialize, Serialize};

/// How the next points are chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Policy {
    /// Budgeted kernel bandit on cells of a box.
    AdaBkb(AdaBkb),
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
    /// Robust inverse-propensity scores.
    Rips(Rips),
    /// Along a scrambled Sobol sequence.
    Sobol(Sobol),
    /// Optimism in levels.
    SupKernelUcb(SupKernelUcb),
    /// Thompson sampling with the exact posterior.
    ThompsonSampling(ThompsonSampling),
}

/// A run: a problem, a policy and the book of what was asked and told.
///
/// Batches are planned when everything of the batch before is answered or closed, from the answers in the order of their ids: the run is a function of the seed
/// and the values alone, whatever the number of workers, the order of telling and the number of threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Strategy {
    problem: Problem,
    policy: Policy,
    ledger: Ledger,
    finished: bool,
}

impl Strategy {
    /// A fresh run.
    ///
    /// # Errors
    /// What the policy cannot do with the problem: a premise it misses, a domain it does not know.
    pub fn new(problem: Problem, policy: Policy) -> Result<Self> {
        policy.check(&problem)?;
        Ok(Self { problem, policy, ledger: Ledger::default(), finished: false })
    }

    /// The problem.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The policy with its state.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The book of the run.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// At most `at_most` evaluations to make now. Plans the next batch when the last one is complete.
    ///
    /// # Errors
    /// What planning runs into; the run can be asked again.
    pub fn ask(&mut self, at_most: usize) -> Result<Ask> {
        let trials = self.ledger.hand_out(at_most);
        if !trials.is_empty() {
            return Ok(Ask::Trials(trials));
        }
        if self.ledger.is_waiting() {
            return Ok(Ask::Wait);
        }
        if self.ledger.is_open() {
            self.close()?;
        }
        if self.finished {
            return Ok(Ask::Finished);
        }
        let proposals = self.policy.plan(&self.problem, &self.ledger)?;
        if proposals.is_empty() {
            self.finished = true;
            return Ok(Ask::Finished);
        }
        self.ledger.open(proposals);
        let trials = self.ledger.hand_out(at_most);
        Ok(if trials.is_empty() { Ask::Wait } else { Ask::Trials(trials) })
    }

    /// The context of the next evaluation, for a contextual policy ([`EkUcb`]): every ask that plans needs a new one.
    ///
    /// # Errors
    /// [`crate::Error::Premise`] for a policy without contexts, [`crate::Error::Length`] for another number of columns than the context has,
    /// [`crate::Error::NotFinite`].
    pub fn set_context(&mut self, context: &[f64]) -> Result<()> {
        match &mut self.policy {
            Policy::EkUcb(policy) => policy.set_context(&self.problem, context),
            _ => Err(Error::Premise { what: "a context", reason: "the policy chooses without one; use a contextual policy" }),
        }
    }

    /// Writes the result of a trial down. When it was the last one missing, the batch is closed.
    ///
    /// # Errors
    /// [`crate::Error::UnknownTrial`], [`crate::Error::NotAsked`], [`crate::Error::AlreadyTold`], [`crate::Error::NotFinite`]: nothing is changed then.
    pub fn tell(&mut self, id: u64, outcome: Outcome) -> Result<()> {
        self.ledger.tell(id, outcome)?;
        if self.ledger.is_open() && !self.ledger.is_waiting() {
            self.close()?;
        }
        Ok(())
    }

    /// Closes the open batch with what has arrived: the rest is missing, and a result that comes later is kept but certifies nothing.
    /// Valid if missing does not depend on the noise; where it does ([`Problem::informative_failures`]) the label says "calibrated".
    ///
    /// # Errors
    /// What evaluating the batch runs into.
    pub fn close_batch(&mut self) -> Result<()> {
        if self.ledger.is_open() { self.close() } else { Ok(()) }
    }

    fn close(&mut self) -> Result<()> {
        self.ledger.close();
        self.finished = self.policy.learn(&self.problem, &self.ledger)?;
        Ok(())
    }

    /// The best setting by what is known now, never the luckiest draw; `None` before anything was measured.
    ///
    /// # Errors
    /// What fitting the model runs into.
    pub fn recommend(&self) -> Result<Option<Recommendation>> {
        self.policy.recommend(&self.problem, &self.ledger)
    }

    /// One report per closed batch.
    ///
    /// # Errors
    /// What fitting the model runs into.
    pub fn batches(&self) -> Result<Vec<BatchReport>> {
        self.policy.reports(&self.problem, &self.ledger)
    }

    /// Candidates still possible, on a finite domain and for a policy that rules candidates out.
    #[must_use]
    pub fn survivors(&self) -> Option<Vec<usize>> {
        self.policy.survivors()
    }
}

impl Policy {
    /// The name by which the literature, the command line and result files call it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::AdaBkb(_) => "ada-bkb",
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
            Self::Sobol(_) => "sobol",
            Self::SupKernelUcb(_) => "supkernelucb",
            Self::ThompsonSampling(_) => "gp-ts",
        }
    }

    fn check(&self, problem: &Problem) -> Result<()> {
        match self {
            Self::AdaBkb(p) => p.check(problem),
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
            Self::Rips(p) => p.check(problem),
            Self::SupKernelUcb(p) => p.check(problem),
            Self::ThompsonSampling(p) => p.check(problem),
        }
    }

    /// The next batch; empty when the run is over.
    fn plan(&mut self, problem: &Problem, ledger: &Ledger) -> Result<Vec<Proposal>> {
        match self {
            Self::AdaBkb(p) => p.plan(problem, ledger),
            Self::Bbkb(p) => p.plan(problem, ledger),
            Self::Bkb(p) => p.plan(problem, ledger),
            Self::Bpe(p) => p.plan(problem, ledger),
            Self::DecoupledThompson(p) => p.plan(problem, ledger),
            Self::EkUcb(p) => p.plan(problem, ledger),
            Self::ExpectedImprovement(p) => p.plan(problem, ledger),
            Self::GpThreds(p) => p.plan(problem, ledger),
            Self::GpUcb(p) => p.plan(problem, ledger),
            Self::LargestVariance(p) => p.plan(problem, ledger),
            Self::MiniMeta(p) => p.plan(problem, ledger),
            Self::ProbabilityOfImprovement(p) => p.plan(problem, ledger),
            Self::Random(p) => p.plan(problem, ledger),
            Self::Rips(p) => p.plan(problem, ledger),
            Self::Sobol(p) => p.plan(problem, ledger),
            Self::SupKernelUcb(p) => p.plan(problem, ledger),
            Self::ThompsonSampling(p) => p.plan(problem, ledger),
        }
    }

    /// Digests the batch that was just closed; whether the run is over.
    fn learn(&mut self, problem: &Problem, ledger: &Ledger) -> Result<bool> {
        match self {
            Self::AdaBkb(p) => p.learn(problem, ledger)?,
            Self::Bbkb(p) => p.learn(problem, ledger)?,
            Self::Bkb(p) => p.learn(problem, ledger)?,
            Self::Bpe(p) => return p.learn(problem, ledger),
            Self::EkUcb(p) => p.learn(problem, ledger)?,
            Self::Rips(p) => p.learn(problem, ledger)?,
            _ => {}
        }
        Ok(ledger.trials().len() >= problem.budget())
    }

    fn recommend(&self, problem: &Problem, ledger: &Ledger) -> Result<Option<Recommendation>> {
        recommendation::by_posterior(problem, ledger)
    }

    fn reports(&self, _problem: &Problem, ledger: &Ledger) -> Result<Vec<BatchReport>> {
        Ok((0..ledger.closed()).map(|batch| BatchReport::plain(ledger, batch)).collect())
    }

    fn survivors(&self) -> Option<Vec<usize>> {
        match self {
            Self::Bpe(p) => p.survivors(),
            Self::Rips(p) => p.survivors(),
            _ => None,
        }
    }
}
