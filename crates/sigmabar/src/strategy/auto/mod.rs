//! Optimisation for users who know neither kernel, norm nor noise: S-BPE's shape without its premises (algorithm notes 5.9).

mod fit;
mod model;
mod pick;
mod pool;
mod scale;

pub use scale::Scale;

use super::ledger::{Ledger, Proposal};
use super::problem::Problem;
use super::random::Sobol;
use super::recommendation::{self, BatchReport, Recommendation};
use crate::certificate::{Label, Reason};
use crate::error::Result;
use crate::kernel::Kernel;
use crate::points::Points;
use crate::theory::even_batch_lengths;
use fit::{Fit, Fitting};
use model::Data;
use pick::Draws;
use pool::{Pool, Sieve};
use serde::{Deserialize, Serialize};

/// Few equal batches, all data, everything refitted after each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Auto {
    batches: usize,
    fits: Vec<Fit>,
}

impl Default for Auto {
    fn default() -> Self {
        Self { batches: 5, fits: Vec::new() }
    }
}

fn knob(name: &str, default: &[f64]) -> Vec<f64> {
    std::env::var(name).map_or(default.to_vec(), |s| s.split(',').map(|v| v.parse().unwrap()).collect())
}

impl Auto {
    /// This many batches of equal length.
    pub fn new(batches: usize) -> Result<Self> {
        Ok(Self { batches, fits: Vec::new() })
    }

    pub(super) fn check(&self, problem: &Problem) -> Result<()> {
        even_batch_lengths(problem.budget(), self.batches.min(problem.budget()))?;
        problem.domain().candidates(1, problem.seed()).map(drop)
    }

    fn template(problem: &Problem) -> Result<(Kernel, bool)> {
        match problem.kernel() {
            Some(kernel) => Ok((kernel.kernel.clone(), true)),
            None => Ok((problem.domain().default_kernel(vec![0.3; problem.domain().dim()], 1.0)?, false)),
        }
    }

    fn data(problem: &Problem, ledger: &Ledger) -> Result<Option<Data>> {
        let (rows, raw) = recommendation::measurements(problem, ledger);
        if rows.is_empty() {
            return Ok(None);
        }
        let errors = (0..ledger.batches()).flat_map(|b| ledger.measured(b)).map(|(_, _, e)| e.map(|e| e / problem.prior().unit())).collect();
        Ok(Some(Data { points: Points::from_rows(&rows)?, raw, errors }))
    }

    pub(super) fn learn(&mut self, problem: &Problem, ledger: &Ledger) -> Result<bool> {
        let Some(data) = Self::data(problem, ledger)? else { return Ok(ledger.trials().len() >= problem.budget()) };
        let (template, given) = Self::template(problem)?;
        let ridge = problem.ridge();
        let seed = problem.seed().wrapping_add(1000 * self.fits.len() as u64);
        let plain = if given || ridge.is_some() { Scale::IDENTITY } else { Scale::standard(&data.raw) };
        let fitting = Fitting::new(problem.domain(), &template, given, ridge, seed)?;
        let mut best = fitting.best(&data, plain, self.fits.last().filter(|f| !f.scale.is_warped()))?;
        if !given && ridge.is_none() && knob("AUTO_WARP", &[1.0])[0] > 0.0 {
            if let Some(scale) = Scale::warped(&data.raw) {
                let warped = fitting.best(&data, scale, self.fits.last().filter(|f| f.scale.is_warped()))?;
                if warped.value > best.value {
                    best = warped;
                }
            }
        }
        if std::env::var("AUTO_SAY").is_ok() {
            eprintln!("batch {} warped {} ridge {:.4} value {:.2} kernel {:?}", ledger.closed(), best.scale.is_warped(), best.ridge, best.value, best.kernel.log_parameters().iter().map(|t| (t.exp() * 100.0).round() / 100.0).collect::<Vec<_>>());
        }
        self.fits.push(best);
        Ok(ledger.trials().len() >= problem.budget())
    }

    pub(super) fn plan(&mut self, problem: &Problem, ledger: &Ledger) -> Result<Vec<Proposal>> {
        let lengths = even_batch_lengths(problem.budget(), self.batches.min(problem.budget()))?;
        let batch = ledger.batches();
        let Some(&count) = lengths.get(batch) else { return Ok(Vec::new()) };
        let data = Self::data(problem, ledger)?;
        let (Some(fit), Some(data)) = (self.fits.last(), data) else {
            let mut proposals = Sobol::default().plan(problem, ledger)?;
            proposals.truncate(count);
            return Ok(proposals);
        };
        let last = lengths.len() - 1;
        // β runs 1.5, 1, 0.7, 0.5 over batches 2 to 5.
        let betas = knob("AUTO_BETAS", &[1.5, 1.0, 0.7, 0.5]);
        let shares = knob("AUTO_SHARES", &[0.0, 0.0, 0.0, 1.0]);
        let position = if last <= 1 { 3.0 } else { 3.0 * (batch - 1) as f64 / (last - 1) as f64 };
        let between = |v: &[f64]| { let i = (position as usize).min(2); v[i] + (position - i as f64) * (v[i + 1] - v[i]) };
        let beta = between(&betas);
        let exploiting = (between(&shares) * count as f64).round() as usize;
        let seed = problem.seed().wrapping_mul(31).wrapping_add(7 + batch as u64);
        let model = fit.model(&data)?;
        let pool = Sieve { domain: problem.domain(), model: &model, measured: &data.points, beta, seed }.pool()?;
        let picks = if std::env::var("AUTO_UCB").is_ok() {
            let first = pick::sequential(&model, &pool, Vec::new(), exploiting, |mean, deviation| mean + beta * deviation)?;
            pick::sequential(&model, &pool, first, count, |_, d| d)?
        } else {
            let covered = if exploiting > 0 { Draws::new(&model, &pool, None, seed)?.cover(exploiting, None) } else { Vec::new() };
            pick::sequential(&model, &pool, covered, count, |_, deviation| deviation)?
        };
        Ok(picks.into_iter().map(|i| Self::proposal(&pool, i)).collect())
    }

    fn proposal(pool: &Pool, i: usize) -> Proposal {
        match &pool.indices {
            Some(indices) => Proposal::candidate(indices[i], pool.points.row(i)),
            None => Proposal::anywhere(pool.points.row(i).to_vec()),
        }
    }

    pub(super) fn recommend(&self, problem: &Problem, ledger: &Ledger) -> Result<Option<Recommendation>> {
        let (Some(fit), Some(data)) = (self.fits.last(), Self::data(problem, ledger)?) else {
            return recommendation::by_posterior(problem, ledger);
        };
        let model = fit.model(&data)?;
        let measured = model.outlook(data.points.view())?;
        let score = |m: f64, v: f64| m - 0.5 * v.sqrt();
        let best = (0..measured.mean.len()).max_by(|&a, &b| score(measured.mean[a], measured.variance[a]).total_cmp(&score(measured.mean[b], measured.variance[b])).then(b.cmp(&a))).unwrap_or(0);
        let mut point = data.points.row(best).to_vec();
        let (mut mean, mut variance) = (measured.mean[best], measured.variance[best]);
        let mut candidate = (0..ledger.batches()).flat_map(|b| ledger.measured(b)).map(|(t, _, _)| t.candidate).nth(best).flatten();
        let anywhere = knob("AUTO_ANYWHERE", &[0.0])[0];
        if anywhere > 0.0 {
            let pool = Sieve { domain: problem.domain(), model: &model, measured: &data.points, beta: 0.3, seed: 99 }.pool()?;
            let score = |i: usize| pool.outlook.mean[i] - anywhere * pool.outlook.variance[i].sqrt();
            let top = (0..pool.points.len()).max_by(|&a, &b| score(a).total_cmp(&score(b)).then(b.cmp(&a))).unwrap_or(0);
            if score(top) > mean - anywhere * variance.sqrt() {
                point = pool.points.row(top).to_vec();
                (mean, variance) = (pool.outlook.mean[top], pool.outlook.variance[top]);
                candidate = pool.indices.as_ref().map(|i| i[top]);
            }
        }
        let ends = [-2.0, 2.0].map(|z| problem.to_data(fit.scale.to_problem(mean + z * variance.sqrt())));
        Ok(Some(Recommendation {
            point,
            candidate,
            lower: ends[0].min(ends[1]),
            upper: ends[0].max(ends[1]),
            gap: f64::INFINITY,
            label: Label::Calibrated,
            reasons: vec![Reason::KernelLearntHere],
        }))
    }
}
