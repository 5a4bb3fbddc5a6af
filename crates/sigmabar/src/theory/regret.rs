//! Regret of batched elimination, before a single measurement.

use super::cover::log_paper_cells;
use super::regression::log_size;
use super::{Bound, Cover, DesignedData, MeanNorm, Multiplier, Statement, Theorems, batch_lengths};
use crate::domain::BoxDomain;
use crate::error::{Error, Result, not_negative, same_length};
use crate::kernel::Kernel;
use serde::{Deserialize, Serialize};
use std::f64::consts::LN_2;

/// What a regret bound is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RegretRequest<'a> {
    /// $N$.
    pub budget: usize,
    /// $\gamma_N$, or an upper bound on it: only the paper's expression uses it.
    pub max_gain: f64,
    /// The multiplier of the algorithm's own confidence bounds.
    pub multiplier: Multiplier,
    /// The designs of the batches of [`batch_lengths`], in order; the last batch may be left out, since nothing is eliminated after it.
    pub batches: &'a [RegretBatch],
}

/// One batch: its design and, on a box, its cover.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegretBatch {
    /// The design.
    pub design: DesignedData,
    /// The cover of the box that its confidence bounds use; nothing on a finite domain.
    pub cover: Option<(Cover, MeanNorm)>,
}

impl Theorems {
    /// Regret of batched elimination by $\bar\mu\pm\beta\bar\sigma$ on a finite domain, with probability at least $1-\delta$:
    /// $$R(N) \le 2C\sqrt{k_{\max}}\,N_1 + \sum_{i\ge2}N_i\min\{2C\sqrt{k_{\max}},\ 4\beta\,\bar\sigma_{i-1}\},\qquad \beta = \beta(\delta/(4B|\mathcal X|)),$$
    /// $\bar\sigma_{i-1}$ from [`Theorems::design_variance`] of the batch before (algorithm notes 6.5). With [`Multiplier::Direct`] and $r = 0$ that is the strategy `bpe` under sub-Gaussian
    /// noise, with [`Multiplier::Paper`] and $r = 1$ S-BPE by the paper's rules; its certified rules, the default, share $\delta$ otherwise and judge with 1.5 times the norm bound.
    ///
    /// # Errors
    /// [`Error::Length`] when the batches are not those of [`batch_lengths`], [`Error::Parameter`] as [`Theorems::design_variance`].
    pub fn regret_finite(&self, request: &RegretRequest<'_>, domain_size: usize) -> Result<Bound> {
        let log_size = log_size(domain_size)?;
        let lengths = request.lengths()?;
        let beta = self.multiplier(request.multiplier, (4.0 * lengths.len() as f64 / self.setting.delta).ln() + log_size);
        let corrected =
            self.sum_over_batches(request, &lengths, |batch| Ok(beta * self.design_variance(&batch.design)?.corrected.sqrt()))?;
        let paper = self.paper_regret_finite(request, log_size);
        Ok(Bound { corrected, paper, statement: Statement::RegretFinite })
    }

    /// Regret of batched elimination on a box, with probability at least $1-\delta$: as [`Theorems::regret_finite`] with $\beta(\delta/(4B\Gamma))\,(\bar\sigma+h) + (C+\lVert\bar\mu\rVert)h$ in
    /// place of $\beta\bar\sigma$. With the mean's norm bounded beforehand ([`MeanNorm::Before`]) the confidence events keep half their share of $\delta$.
    ///
    /// # Errors
    /// As [`Theorems::regret_finite`]; [`Error::Missing`] for a batch without a cover.
    pub fn regret_continuous(&self, request: &RegretRequest<'_>, (domain, kernel): (&BoxDomain, &Kernel)) -> Result<Bound> {
        let lengths = request.lengths()?;
        let log_batches = (lengths.len() as f64).ln();
        let corrected = self.sum_over_batches(request, &lengths, |batch| {
            let (cover, norm) = batch.cover.ok_or(Error::Missing {
                what: "a cover of the box for every batch but the last",
                purpose: "a regret bound on a box",
                remedy: "take one from Cover::new",
            })?;
            // δ/(4BΓ): a factor 2 for the two sides is inside, the other 2 stands for the events about λ, spent or not.
            let spared = LN_2 - batch.design.log_share();
            self.width_on_cover(&batch.design, &cover, norm, request.multiplier, log_batches + spared)
        })?;
        let paper = self.paper_regret_continuous(request, domain, kernel);
        Ok(Bound { corrected, paper, statement: Statement::RegretContinuous })
    }

    /// `2C√kmax N₁ + Σ_{i≥2} N_i min{2C√kmax, 4w_{i−1}}`
    fn sum_over_batches(&self, request: &RegretRequest<'_>, lengths: &[usize], width: impl Fn(&RegretBatch) -> Result<f64>) -> Result<f64> {
        let worst = self.worst_regret();
        let mut total = worst * lengths[0] as f64;
        for (length, before) in lengths[1..].iter().zip(request.batches) {
            total += *length as f64 * worst.min(4.0 * width(before)?);
        }
        Ok(total)
    }

    /// Appendix H: `(4(2+√r)C + (4R/τ)√(2 log(4|X|ℒ/δ))) (√N+1) ℒ √(2(1+r)²γ_N/log(1+1/τ²))`, `ℒ = log log N + 2`.
    fn paper_regret_finite(&self, request: &RegretRequest<'_>, log_size: f64) -> f64 {
        let rounds = paper_rounds(request.budget);
        let beta = self.multiplier(Multiplier::Paper, (4.0 * rounds / self.setting.delta).ln() + log_size);
        4.0 * beta * ((request.budget as f64).sqrt() + 1.0) * rounds * self.paper_root(request)
    }

    /// Appendix H: `4β (√N+1) ℒ (√(2(1+r)²γ_N/log(1+1/τ²)) + 2) + 8√N ℒ`, `β` with `log(8Γ_Nℒ/δ)`.
    fn paper_regret_continuous(&self, request: &RegretRequest<'_>, domain: &BoxDomain, kernel: &Kernel) -> f64 {
        let (n, delta) = (request.budget as f64, self.setting.delta);
        let rounds = paper_rounds(request.budget);
        let log_cells = log_paper_cells(domain, kernel, self.paper_mean_norm(request.budget, 0.5 * delta), n);
        let beta = self.multiplier(Multiplier::Paper, (8.0 * rounds / delta).ln() + log_cells);
        4.0 * beta * (n.sqrt() + 1.0) * rounds * (self.paper_root(request) + 2.0) + 8.0 * n.sqrt() * rounds
    }

    fn paper_root(&self, request: &RegretRequest<'_>) -> f64 {
        let s = &self.setting;
        (2.0 * (1.0 + s.residual_ratio).powi(2) * request.max_gain / (1.0 / (s.ridge * s.ridge)).ln_1p()).sqrt()
    }
}

/// The paper's `log log N + 2` with natural logarithms (its base is wrong, correction E8); `log log` counts as 0 below N = 3, where it is negative.
fn paper_rounds(budget: usize) -> f64 {
    (budget as f64).ln().max(1.0).ln() + 2.0
}

impl RegretRequest<'_> {
    /// The batch lengths, after checking that the designs belong to them.
    fn lengths(&self) -> Result<Vec<usize>> {
        not_negative("max_gain", self.max_gain)?;
        let lengths = batch_lengths(self.budget)?;
        let given = self.batches.len();
        if given != lengths.len() && given + 1 != lengths.len() {
            return Err(Error::Length { what: "batches of the regret bound", expected: lengths.len(), found: given });
        }
        for (batch, &length) in self.batches.iter().zip(&lengths) {
            same_length("a batch of the regret bound", length, batch.design.evaluations)?;
            batch.design.check()?;
        }
        Ok(lengths)
    }
}
