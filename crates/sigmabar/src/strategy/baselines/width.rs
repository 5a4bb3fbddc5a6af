//! How far above the mean an optimistic policy looks.

use super::candidate_set::{noise_level, norm_bound, ridge};
use super::model::CandidateModel;
use crate::domain::Domain;
use crate::error::{Error, Result, not_negative, positive};
use crate::strategy::run::problem::Problem;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// The factor where the kernel is learnt and nothing is said.
const LEARNT_WIDTH: f64 = 2.0;

/// The factor $b_t$ of the index $\mu_{t-1}(x) + b_t\,\sigma_{t-1}(x)$ (algorithm notes 5.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum UcbWidth {
    /// $b_t = C + \frac R\tau\sqrt{\log\det(I + K_{t-1}/\tau^2) + 2\log(1/\delta)}$: holds for all $t$ and $x$ at once under adaptive choice
    /// (recalled: Abbasi-Yadkori 2013; Whitehouse et al. 2023). Needs the norm bound and the noise.
    #[default]
    LogDet,
    /// $b_t = \sqrt{2\log(|X|t^2\pi^2/(6\delta))}$ (recalled: Srinivas et al. 2010, finite domain, function drawn from the prior); on boxes and
    /// spaces $|X|$ is the size of the declared candidate set.
    Srinivas,
    /// $b_t^2 = 2\log(t^2\,2\pi^2/(3\delta)) + 2d\log\bigl(t^2\,d\,b\,r\sqrt{\log(4da/\delta)}\bigr)$ on a box of longest side $r$, where
    /// $P(\sup|\partial_jf|>L)\le a e^{-(L/b)^2}$ (recalled: Srinivas et al. 2010, Theorem 2).
    SrinivasBox {
        /// $a$.
        a: f64,
        /// $b$.
        b: f64,
    },
    /// $b_t = C + R\sqrt{2(\log t + 1 + \log(1/\delta))}$: the choice of the published GP-ThreDS experiments, there with $\delta = 1/1000$. A heuristic.
    LogTime,
    /// The same factor at every step.
    Constant(f64),
}

impl UcbWidth {
    /// Whether the problem has what the formula needs.
    pub(crate) fn check(self, problem: &Problem) -> Result<()> {
        match self {
            Self::Constant(factor) => not_negative("width factor", factor).map(drop),
            Self::LogDet | Self::LogTime => norm_bound(problem).and(noise_level(problem)).map(drop),
            Self::Srinivas => Ok(()),
            Self::SrinivasBox { a, b } => {
                positive("a", a)?;
                positive("b", b)?;
                longest_side(problem).map(drop)
            }
        }
    }

    /// $b_t$ where the kernel is learnt and there is no theorem: a constant, 2 unless told otherwise, or the published formula for so many candidates.
    pub(crate) fn learnt(self, problem: &Problem, told: usize, candidates: usize) -> Result<f64> {
        let t = (told + 1) as f64;
        match self {
            Self::LogDet => Ok(LEARNT_WIDTH),
            Self::Srinivas => Ok((2.0 * (candidates as f64 * t * t * PI * PI / (6.0 * problem.delta())).ln()).max(0.0).sqrt()),
            Self::Constant(factor) => self.check(problem).map(|()| factor),
            Self::SrinivasBox { .. } | Self::LogTime => super::candidate_set::kernel(problem).map(|_| LEARNT_WIDTH),
        }
    }

    /// $b_t$ for evaluation $t$, counted from 1. Cost O(m).
    pub(crate) fn factor(self, problem: &Problem, model: &CandidateModel, step: usize) -> Result<f64> {
        let t = step as f64;
        let delta = problem.delta();
        Ok(match self {
            Self::LogDet => {
                norm_bound(problem)? + noise_level(problem)? / ridge(problem)? * (model.log_det() + 2.0 * (1.0 / delta).ln()).sqrt()
            }
            Self::Srinivas => (2.0 * (model.len() as f64 * t * t * PI * PI / (6.0 * delta)).ln()).max(0.0).sqrt(),
            Self::SrinivasBox { a, b } => {
                let d = problem.domain().dim() as f64;
                let spread = t * t * d * b * longest_side(problem)? * (4.0 * d * a / delta).ln().max(0.0).sqrt();
                let beta = 2.0 * (t * t * 2.0 * PI * PI / (3.0 * delta)).ln() + 2.0 * d * spread.ln();
                beta.max(0.0).sqrt()
            }
            Self::LogTime => log_time(norm_bound(problem)?, noise_level(problem)?, delta, step),
            Self::Constant(factor) => factor,
        })
    }
}

/// $C + R\sqrt{2(\log t + 1 + \log(1/\delta))}$.
pub(crate) fn log_time(norm: f64, noise: f64, delta: f64, step: usize) -> f64 {
    norm + noise * (2.0 * ((step as f64).ln() + 1.0 + (1.0 / delta).ln())).sqrt()
}

fn longest_side(problem: &Problem) -> Result<f64> {
    match problem.domain() {
        Domain::Box(domain) => Ok(domain.low().iter().zip(domain.high()).map(|(low, high)| high - low).fold(0.0, f64::max)),
        _ => Err(Error::Premise { what: "the box formula of GP-UCB", reason: "the domain is no box; use the finite formula" }),
    }
}
