//! Expected improvement and probability of improvement under noise (algorithm notes 5.1).

use super::cache::Cache;
use super::model::CandidateModel;
use super::sequential::{ModelRun, Sequential};
use crate::error::{Result, not_negative};
use crate::strategy::auto::one_by_one::{self, Index};
use crate::strategy::run::ledger::{Ledger, Proposal};
use crate::strategy::run::problem::Problem;
use serde::{Deserialize, Serialize};
use statrs::distribution::{Continuous, ContinuousCDF, Normal};

/// What has to be improved upon: $\mu^+$.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Incumbent {
    /// The largest posterior mean over the candidates measured so far: never the luckiest draw.
    #[default]
    Measured,
    /// The largest posterior mean over all candidates as it was before the last batch of answers, and at least the prior mean: the rule of the published runs of
    /// algorithm notes 10.3. An answer that disappoints leaves the threshold above every mean, and the search goes where the deviation is large; that keeps
    /// probability of improvement from staying on one hill.
    LastStep,
}

/// `ei`: the candidate with the largest $(\mu-\mu^+-\xi)\Phi(z) + \sigma\varphi(z)$, $z = (\mu-\mu^+-\xi)/\sigma$ (Mockus et al. 1978), with the [`Incumbent`]
/// $\mu^+$. $\xi = 0$ unless told otherwise. Without a kernel, one is learnt anew for every choice, and the index is climbed from its best candidates.
pub type ExpectedImprovement = Improvement;

/// `pi`: the candidate with the largest $\Phi(z)$, $z = (\mu-\mu^+-\xi)/\sigma$ (Kushner 1964), with the incumbent of [`ExpectedImprovement`].
/// $\xi = 0$ unless told otherwise; without a margin and with the default incumbent it is nearly greedy and can stay on a lower hill for long (on Branin in the
/// setting of algorithm notes 10.3 it did, with sixteen times the cumulative regret of GP-UCB): a margin, or [`Incumbent::LastStep`], makes it look further.
pub type ProbabilityOfImprovement = Improvement;

/// What both go by: the policy says which of the two it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Improvement {
    margin: f64,
    incumbent: Incumbent,
    sequential: Sequential,
    #[serde(skip)]
    run: Cache<ModelRun>,
}

impl Improvement {
    /// An improvement counts from this much on, in the model's scale.
    #[must_use]
    pub fn with_margin(self, margin: f64) -> Self {
        Self { margin, ..self }
    }

    /// What has to be improved upon.
    #[must_use]
    pub fn with_incumbent(self, incumbent: Incumbent) -> Self {
        Self { incumbent, ..self }
    }

    /// Asked in this way.
    #[must_use]
    pub fn with_sequential(self, sequential: Sequential) -> Self {
        Self { sequential, ..self }
    }

    pub(crate) fn check(&self, problem: &Problem) -> Result<()> {
        not_negative("margin", self.margin)?;
        self.sequential.check_or_learn(problem)
    }

    pub(crate) fn plan_expected(&mut self, problem: &Problem, ledger: &Ledger) -> Result<Vec<Proposal>> {
        self.plan(problem, ledger, Index::Improvement(self.margin), expected_improvement)
    }

    pub(crate) fn plan_probable(&mut self, problem: &Problem, ledger: &Ledger) -> Result<Vec<Proposal>> {
        self.plan(problem, ledger, Index::Probability(self.margin), |model, variances, threshold| {
            // Φ is increasing: comparing z instead keeps far tails apart that Φ would round to 0 or 1.
            let z = |(mean, variance): (&f64, &f64)| (mean - threshold) / variance.sqrt().max(f64::MIN_POSITIVE);
            model.mean().iter().zip(variances).map(z).collect()
        })
    }

    /// By an index where the kernel is learnt, and by scores over a threshold where it is given.
    fn plan(&mut self, problem: &Problem, ledger: &Ledger, learnt: Index, scores: Scores) -> Result<Vec<Proposal>> {
        let count = self.sequential.next_len(problem, ledger);
        if problem.kernel().is_none() {
            return one_by_one::plan(problem, ledger, count, self.sequential.box_candidates(), learnt);
        }
        let run = ModelRun::synced(&mut self.run, self.sequential, problem, ledger)?;
        let threshold = self.incumbent.of(run) + self.margin;
        run.plan(count, 1, |model, variances, _| Ok(scores(model, variances, threshold)))
    }
}

/// Of every candidate, from the model, the variances and the threshold.
type Scores = fn(&CandidateModel, &[f64], f64) -> Vec<f64>;

impl Incumbent {
    /// $\mu^+$; the prior mean before there is a measured candidate.
    pub(crate) fn of(self, run: &ModelRun) -> f64 {
        match self {
            Self::Measured => run.model.measured().iter().map(|&a| run.model.mean()[a]).reduce(f64::max).unwrap_or(0.0),
            Self::LastStep => run.best_before,
        }
    }
}

/// Expected improvement of every candidate over a threshold.
pub(crate) fn expected_improvement(model: &CandidateModel, variances: &[f64], threshold: f64) -> Vec<f64> {
    let normal = Normal::standard();
    let improvement = |(mean, variance): (&f64, &f64)| {
        let (gain, deviation) = (mean - threshold, variance.sqrt());
        if deviation == 0.0 {
            return gain.max(0.0);
        }
        let z = gain / deviation;
        gain * normal.cdf(z) + deviation * normal.pdf(z)
    };
    model.mean().iter().zip(variances).map(improvement).collect()
}
