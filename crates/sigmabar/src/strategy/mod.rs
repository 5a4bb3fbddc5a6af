//! Where to measure next: strategies with one ask/tell interface, deterministic from their seed.

mod auto;
mod ledger;
mod problem;
mod random;
mod recommendation;
mod saved;

pub use auto::{Assumed, Auto, Quantity, Scale};
pub use ledger::{Ask, Ledger, Outcome, Trial, TrialState};
pub use problem::{Direction, Problem};
pub use random::{Random, Sobol};
pub use recommendation::{BatchReport, Recommendation};

use crate::error::Result;
use ledger::Proposal;
use serde::{Deserialize, Serialize};

/// How the next points are chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Policy {
    /// Without kernel, norm or noise: a few batches, everything refitted after each.
    Auto(Auto),
    /// Uniformly at random.
    Random(Random),
    /// Along a scrambled Sobol sequence.
    Sobol(Sobol),
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
    fn check(&self, problem: &Problem) -> Result<()> {
        match self {
            Self::Auto(p) => p.check(problem),
            Self::Random(_) | Self::Sobol(_) => problem.domain().candidates(1, problem.seed()).map(drop),
        }
    }

    /// The next batch; empty when the run is over.
    fn plan(&mut self, problem: &Problem, ledger: &Ledger) -> Result<Vec<Proposal>> {
        match self {
            Self::Auto(p) => p.plan(problem, ledger),
            Self::Random(p) => p.plan(problem, ledger),
            Self::Sobol(p) => p.plan(problem, ledger),
        }
    }

    /// Digests the batch that was just closed; whether the run is over.
    fn learn(&mut self, problem: &Problem, ledger: &Ledger) -> Result<bool> {
        match self {
            Self::Auto(p) => p.learn(problem, ledger),
            Self::Random(_) | Self::Sobol(_) => Ok(ledger.trials().len() >= problem.budget()),
        }
    }

    fn recommend(&self, problem: &Problem, ledger: &Ledger) -> Result<Option<Recommendation>> {
        match self {
            Self::Auto(p) => p.recommend(problem, ledger),
            Self::Random(_) | Self::Sobol(_) => recommendation::by_posterior(problem, ledger),
        }
    }

    fn reports(&self, _problem: &Problem, ledger: &Ledger) -> Result<Vec<BatchReport>> {
        match self {
            Self::Auto(p) => Ok(p.reports(ledger)),
            Self::Random(_) | Self::Sobol(_) => Ok((0..ledger.closed()).map(|batch| BatchReport::plain(ledger, batch)).collect()),
        }
    }

    fn survivors(&self) -> Option<Vec<usize>> {
        match self {
            Self::Auto(p) => p.survivors(),
            Self::Random(_) | Self::Sobol(_) => None,
        }
    }
}
