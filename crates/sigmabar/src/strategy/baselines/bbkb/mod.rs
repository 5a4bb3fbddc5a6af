//! BBKB: BKB in batches, with the dictionary frozen inside each (Calandriello et al. 2020; algorithm notes 3.2).

mod frozen;

use super::candidate_set::{noise_level, norm_bound};
use super::resampling::Resampling;
use super::sequential::{ModelRun, Sequential};
use crate::error::{Error, Result, not_negative, positive};
use crate::strategy::run::ledger::{Ledger, Proposal};
use crate::strategy::run::problem::Problem;
use frozen::FrozenBatch;
use serde::{Deserialize, Serialize};

/// When a batch of [`Bbkb`] ends; $v_{fb}$ is $\bar\sigma^2/\tau^2$ at its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum BatchRule {
    /// When $1 + \sum_sv_{fb}(x_s) > \tilde C$.
    #[default]
    Global,
    /// When besides $\max_a\bigl(1 + \sum_s\mathrm{cov}_{fb}(x_a,x_s)^2/v_{fb}(x_a)\bigr) > \tilde C$, with the whole posterior covariance divided by
    /// $\tau^2$ (their Lemma 3): larger batches.
    Local,
}

/// The factor of $\bar\sigma$ in the index of [`Bbkb`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum BbkbWidth {
    /// As in the authors' code: $\beta = \tau C + R\sqrt{\tilde C\sum_s\log(1+v_{fb}(x_s)) + \log(1/\delta)}$, $q=1$.
    #[default]
    Code,
    /// As in the paper (recalled): $\beta = 2R\sqrt{\sum_s\log(1+3v_{fb}(x_s)) + \log(1/\delta)} + (1+\sqrt2)\tau C$, $q = 8\log(4N/\delta)$.
    Paper,
    /// The same factor of $\bar\sigma$ at every step, $q=1$.
    Constant(f64),
}

/// `bbkb`: batches chosen by $\bar\mu + \beta\sqrt v$ where mean and dictionary are those at the beginning of the batch and only the variance shrinks with each choice;
/// the batch ends before variances could be off by more than the factor $\tilde C$.
///
/// Starts with two arms at random. $\tilde C=2$ unless told otherwise (1.1 to 2 are sensible, 1 gives batches of one). An arm is looked at again only when its
/// last known index, an upper bound, is the largest: O(m) for each choice the arm has missed. The sum in the width is over the run's own evaluations, not over results from before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bbkb {
    growth: f64,
    rule: BatchRule,
    width: BbkbWidth,
    oversampling: Option<f64>,
    sequential: Sequential,
    resampling: Resampling,
    /// $\sum_s\log(1+v_{fb}(x_s))$, with $3v$ for the paper's width.
    log_sum: f64,
}

impl Default for Bbkb {
    fn default() -> Self {
        Self {
            growth: 2.0,
            rule: BatchRule::default(),
            width: BbkbWidth::default(),
            oversampling: None,
            sequential: Sequential::default(),
            resampling: Resampling::default(),
            log_sum: 0.0,
        }
    }
}

impl Bbkb {
    /// With this rule for the end of a batch and this $\tilde C$.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless $\tilde C$ is finite and at least 1.
    pub fn new(rule: BatchRule, growth: f64) -> Result<Self> {
        if !(growth.is_finite() && growth >= 1.0) {
            return Err(Error::Parameter { name: "variance growth", value: growth, requirement: "finite and at least 1" });
        }
        Ok(Self { rule, growth, ..Self::default() })
    }

    /// With this width.
    #[must_use]
    pub fn with_width(self, width: BbkbWidth) -> Self {
        Self { width, ..self }
    }

    /// The factor $q$ of the inclusion probabilities, instead of the width's own.
    #[must_use]
    pub fn with_oversampling(self, q: f64) -> Self {
        Self { oversampling: Some(q), ..self }
    }

    /// Among this many candidates on boxes; the batch length is the rule's.
    #[must_use]
    pub fn with_sequential(self, sequential: Sequential) -> Self {
        Self { sequential, ..self }
    }

    /// The arms that carry the features.
    #[must_use]
    pub fn dictionary(&self) -> &[usize] {
        self.resampling.dictionary()
    }

    pub(crate) fn inducing(&self, batch: usize) -> Option<usize> {
        self.resampling.size_after(batch)
    }

    pub(crate) fn check(&self, problem: &Problem) -> Result<()> {
        self.sequential.check(problem)?;
        self.oversampling.map_or(Ok(0.0), |q| positive("oversampling", q))?;
        match self.width {
            BbkbWidth::Code | BbkbWidth::Paper => norm_bound(problem).and(noise_level(problem)).map(drop),
            BbkbWidth::Constant(factor) => not_negative("width factor", factor).map(drop),
        }
    }

    /// $\beta/\tau$.
    fn factor(&self, problem: &Problem, tau: f64) -> Result<f64> {
        let tail = (1.0 / problem.delta()).ln();
        Ok(match self.width {
            BbkbWidth::Constant(factor) => factor,
            BbkbWidth::Code => norm_bound(problem)? + noise_level(problem)? / tau * (self.growth * self.log_sum + tail).sqrt(),
            BbkbWidth::Paper => {
                2.0 * noise_level(problem)? / tau * (self.log_sum + tail).sqrt() + (1.0 + std::f64::consts::SQRT_2) * norm_bound(problem)?
            }
        })
    }

    pub(crate) fn plan(&mut self, problem: &Problem, ledger: &Ledger) -> Result<Vec<Proposal>> {
        if ledger.batches() == 0 {
            return self.resampling.initial_arms(problem, ledger, self.sequential);
        }
        let left = problem.budget().saturating_sub(ledger.trials().len());
        let b = self.factor(problem, crate::strategy::baselines::candidate_set::ridge(problem)?)?;
        let (rule, growth) = (self.rule, self.growth);
        let run = self.resampling.synced(self.sequential, problem, ledger, ledger.closed())?;
        choose_batch(run, b, rule, growth, left)
    }

    pub(crate) fn learn(&mut self, problem: &Problem, ledger: &Ledger) -> Result<()> {
        let multiple = if self.width == BbkbWidth::Paper { 3.0 } else { 1.0 };
        let q = self.oversampling.unwrap_or(match self.width {
            BbkbWidth::Paper => 8.0 * (4.0 * problem.budget() as f64 / problem.delta()).ln(),
            BbkbWidth::Code | BbkbWidth::Constant(_) => 1.0,
        });
        let batch = ledger.closed() - 1;
        let run = self.resampling.synced(self.sequential, problem, ledger, batch)?;
        let noise = run.model.ridge().powi(2);
        let evaluations = run.set.evaluations(problem, ledger, batch);
        let added: f64 = evaluations.iter().map(|m| (multiple * m.weight * run.model.variance(m.candidate) / noise).ln_1p()).sum();
        self.resampling.learn(self.sequential, problem, ledger, q)?;
        self.log_sum += added;
        Ok(())
    }
}

/// Chooses until the rule says stop or nothing is left of the budget. The choice that makes the rule fire belongs to the batch.
fn choose_batch(run: &ModelRun, factor: f64, rule: BatchRule, growth: f64, left: usize) -> Result<Vec<Proposal>> {
    let mut batch = FrozenBatch::new(&run.model, factor);
    let mut proposals = Vec::new();
    while proposals.len() < left {
        let Some(choice) = batch.next(&run.barred) else { break };
        proposals.push(run.set.proposal(choice));
        batch.choose(choice)?;
        if batch.global_growth() > growth && (rule == BatchRule::Global || batch.local_growth()? > growth) {
            break;
        }
    }
    Ok(proposals)
}
