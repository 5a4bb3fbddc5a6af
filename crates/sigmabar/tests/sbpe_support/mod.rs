//! Problems with a known maximiser, noise of three kinds, and a loop that answers what a strategy asks.
#![allow(dead_code)]

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use sigmabar::domain::ListDomain;
use sigmabar::strategy::Sbpe;
use sigmabar::{Ask, Domain, Expansion, Kernel, Noise, Outcome, Points, Policy, Problem, Strategy};

pub const DELTA: f64 = 0.05;

/// How the noise is really drawn; all are sub-Gaussian with the level.
#[derive(Clone, Copy, Debug)]
pub enum Drawn {
    Gaussian,
    Rademacher,
    Uniform,
}

impl Drawn {
    pub const ALL: [Self; 3] = [Self::Gaussian, Self::Rademacher, Self::Uniform];

    pub fn declared(self, level: f64) -> Noise {
        match self {
            Self::Gaussian => Noise::gaussian(level).unwrap(),
            Self::Rademacher => Noise::sub_gaussian(level).unwrap(),
            Self::Uniform => Noise::bounded(level).unwrap(),
        }
    }

    pub fn draw(self, level: f64, rng: &mut ChaCha8Rng) -> f64 {
        level
            * match self {
                Self::Gaussian => StandardNormal.sample(rng),
                Self::Rademacher => {
                    if rng.random::<bool>() {
                        1.0
                    } else {
                        -1.0
                    }
                }
                Self::Uniform => rng.random_range(-1.0..1.0),
            }
    }
}

/// A list of candidates with the true values.
#[derive(Clone)]
pub struct Known {
    pub kernel: Kernel,
    pub points: Points,
    pub values: Vec<f64>,
    pub norm: f64,
    pub level: f64,
}

impl Known {
    /// A random expansion of norm exactly `norm`.
    pub fn random(kernel: Kernel, dim: usize, count: usize, norm: f64, level: f64, seed: u64) -> Self {
        let points = uniform(count, dim, seed);
        let function = Expansion::random(kernel.clone(), uniform(12, dim, seed + 7777), norm, seed).unwrap();
        Self { values: function.values(points.view()).unwrap(), kernel, points, norm, level }
    }

    pub fn best(&self) -> f64 {
        self.values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    pub fn problem(&self, budget: usize, drawn: Drawn, seed: u64) -> Problem {
        Problem::new(Domain::List(ListDomain::new(self.points.clone()).unwrap()), budget)
            .unwrap()
            .with_kernel(self.kernel.clone())
            .unwrap()
            .with_norm_bound(self.norm)
            .unwrap()
            .with_noise(drawn.declared(self.level))
            .unwrap()
            .with_delta(DELTA)
            .unwrap()
            .with_seed(seed)
    }
}

pub fn uniform(count: usize, dim: usize, seed: u64) -> Points {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Points::new((0..count * dim).map(|_| rng.random::<f64>()).collect(), dim).unwrap()
}

/// Planned with the norm bound that is claimed: printed formulas know of one.
pub fn sbpe(policy: Sbpe) -> Policy {
    planned(policy, 1.0)
}

/// What plans go by unless somebody says otherwise.
pub const PLAN_FACTOR: f64 = 1.5;

/// Planned with so many times the norm bound.
pub fn planned(policy: Sbpe, factor: f64) -> Policy {
    Policy::Sbpe(Box::new(policy.with_plan_factor(factor).unwrap()))
}

/// Answers everything until the run is over.
pub fn finish(strategy: &mut Strategy, mut answer: impl FnMut(usize) -> f64) {
    while let Ask::Trials(trials) = strategy.ask(usize::MAX).unwrap() {
        for trial in trials {
            strategy.tell(trial.id, Outcome::Value(answer(trial.candidate.unwrap()))).unwrap();
        }
    }
}

/// What went wrong in a run, if anything.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Verdict {
    pub lost: bool,
    pub exceeded: bool,
    pub outside: bool,
    pub survivors: usize,
    pub gap: f64,
}

/// Runs to the end, looking after every batch whether the maximiser is still there and the gap holds.
pub fn attack(known: &Known, problem: Problem, policy: Sbpe, drawn: Drawn, seed: u64) -> Verdict {
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0xabcd);
    let mut strategy = Strategy::new(problem, sbpe(policy)).unwrap();
    let best = known.best();
    let mut verdict = Verdict::default();
    while let Ask::Trials(trials) = strategy.ask(usize::MAX).unwrap() {
        for trial in trials {
            let value = known.values[trial.candidate.unwrap()] + drawn.draw(known.level, &mut rng);
            strategy.tell(trial.id, Outcome::Value(value)).unwrap();
        }
        let survivors = strategy.survivors().unwrap().unwrap();
        let survivors = survivors.candidates().unwrap();
        verdict.survivors = survivors.len();
        verdict.lost |= survivors.iter().all(|&i| known.values[i] < best);
        let advice = strategy.recommend().unwrap().unwrap();
        let truth = known.values[advice.candidate.unwrap()];
        verdict.gap = advice.gap;
        verdict.exceeded |= best - truth > advice.gap;
        verdict.outside |= truth < advice.lower || truth > advice.upper;
    }
    verdict
}

/// Gaussian elimination with row pivoting: plain loops.
pub fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap();
        a.swap(k, pivot);
        b.swap(k, pivot);
        for i in k + 1..n {
            let factor = a[i][k] / a[k][k];
            for j in k..n {
                a[i][j] -= factor * a[k][j];
            }
            b[i] -= factor * b[k];
        }
    }
    let mut x = vec![0.0; n];
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|j| a[i][j] * x[j]).sum();
        x[i] = (b[i] - known) / a[i][i];
    }
    x
}

/// The weights $(K+\tau^2I)^{-1}k_X(x)$ of the exact mean.
pub fn exact_weights(kernel: &Kernel, ridge: f64, measured: &[Vec<f64>], x: &[f64]) -> Vec<f64> {
    let n = measured.len();
    let a = (0..n)
        .map(|i| (0..n).map(|j| kernel.value(&measured[i], &measured[j]) + if i == j { ridge * ridge } else { 0.0 }).collect())
        .collect();
    solve(a, measured.iter().map(|p| kernel.value(p, x)).collect())
}
