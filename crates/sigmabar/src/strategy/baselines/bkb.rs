//! BKB: GP-UCB on a budget (Calandriello et al. 2019; algorithm notes 3.1).

use super::candidate_set::{noise_level, norm_bound};
use super::model::CandidateModel;
use super::resampling::Resampling;
use super::sequential::Sequential;
use crate::error::{Result, not_negative, positive, probability};
use crate::strategy::run::ledger::{Ledger, Proposal};
use crate::strategy::run::problem::Problem;
use serde::{Deserialize, Serialize};

/// The factor of $\bar\sigma$ in the index of [`Bkb`]; $v = \bar\sigma^2/\tau^2$.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum BkbWidth {
    /// As in the authors' code: $\mu + \beta_t\sqrt v$ with $\beta_t = \tau C + R\sqrt{\log t\sum_ac_av_a + \log(1/\delta)}$, $q=1$.
    #[default]
    Code,
    /// As in the paper (recalled): $\beta_t = 2R\sqrt{\alpha\log(k_{\max}t)\sum_sv(x_s) + \log(1/\delta)} + (1+1/\sqrt{1-\varepsilon})\tau C$ with
    /// $\alpha=(1+\varepsilon)/(1-\varepsilon)$ and $q = 6\alpha\log(4t/\delta)/\varepsilon^2$.
    Paper {
        /// $\varepsilon$, between 0 and 1.
        epsilon: f64,
    },
    /// The same factor of $\bar\sigma$ at every step, $q=1$.
    Constant(f64),
}

/// `bkb`: the arm with the largest $\bar\mu + \beta_t\sqrt v$ under a sparse posterior, whose dictionary is drawn anew after every value from the pulled arms
/// by their posterior variance.
///
/// Starts with two arms at random. The authors' code uses $\delta=0.5$, $C=1$, $R=\tau$; here they are the problem's. Cost O(Am²) when the drawn
/// dictionary changes, O(Am) when it does not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bkb {
    width: BkbWidth,
    oversampling: Option<f64>,
    sequential: Sequential,
    resampling: Resampling,
}

impl Bkb {
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

    /// Asked in this way.
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
        self.width.check(problem)
    }

    pub(crate) fn plan(&mut self, problem: &Problem, ledger: &Ledger) -> Result<Vec<Proposal>> {
        if ledger.batches() == 0 {
            return self.resampling.initial_arms(problem, ledger, self.sequential);
        }
        let (width, count) = (self.width, self.sequential.next_len(problem, ledger));
        let run = self.resampling.synced(self.sequential, problem, ledger, ledger.closed())?;
        run.plan(count, ledger.trials().len() + 1, |model, variances, step| {
            let b = width.factor(problem, model, step)?;
            Ok(model.mean().iter().zip(variances).map(|(mean, v)| mean + b * v.sqrt()).collect())
        })
    }

    pub(crate) fn learn(&mut self, problem: &Problem, ledger: &Ledger) -> Result<()> {
        let q = self.oversampling.unwrap_or_else(|| self.width.oversampling(problem, ledger.trials().len()));
        self.resampling.learn(self.sequential, problem, ledger, q)
    }
}

impl BkbWidth {
    pub(crate) fn check(self, problem: &Problem) -> Result<()> {
        match self {
            Self::Constant(factor) => not_negative("width factor", factor).map(drop),
            Self::Code => norm_bound(problem).and(noise_level(problem)).map(drop),
            Self::Paper { epsilon } => {
                probability("epsilon", epsilon)?;
                norm_bound(problem).and(noise_level(problem)).map(drop)
            }
        }
    }

    pub(crate) fn oversampling(self, problem: &Problem, step: usize) -> f64 {
        match self {
            Self::Code | Self::Constant(_) => 1.0,
            Self::Paper { epsilon } => {
                let alpha = (1.0 + epsilon) / (1.0 - epsilon);
                6.0 * alpha * (4.0 * step as f64 / problem.delta()).ln() / (epsilon * epsilon)
            }
        }
    }

    /// $\beta_t/\tau$ for evaluation $t$.
    pub(crate) fn factor(self, problem: &Problem, model: &CandidateModel, step: usize) -> Result<f64> {
        let (t, tau, tail) = (step as f64, model.ridge(), (1.0 / problem.delta()).ln());
        Ok(match self {
            Self::Constant(factor) => factor,
            Self::Code => norm_bound(problem)? + noise_level(problem)? / tau * (t.ln() * model.effective_dimension() + tail).sqrt(),
            Self::Paper { epsilon } => {
                let alpha = (1.0 + epsilon) / (1.0 - epsilon);
                let spread = alpha * (model.largest_prior() * t).ln().max(0.0) * model.effective_dimension() + tail;
                2.0 * noise_level(problem)? / tau * spread.sqrt() + (1.0 + 1.0 / (1.0 - epsilon).sqrt()) * norm_bound(problem)?
            }
        })
    }
}
