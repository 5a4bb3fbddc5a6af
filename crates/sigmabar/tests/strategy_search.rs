//! Strategies that search in levels, phases and cells, against literal versions of themselves.

#![allow(clippy::unwrap_used)]

use crate::strategy_plain;

use rand::RngExt;
use sigmabar::strategy::{AdaBkb, BkbWidth, GpThreds, Rips, SupKernelUcb, SupWidth, Survivors};
use sigmabar::{Ask, BoxDomain, Domain, Kernel, Noise, Outcome, Policy, Problem, Strategy};
use strategy_plain::{Bench, argmax, choices, cholesky, dense, noise, solve_factored, sparse, stream};

const DELTA: f64 = 0.05;

fn benches() -> Vec<Bench> {
    (0..4).map(|seed| Bench::new(25, 0.3, if seed % 2 == 0 { 0.05 } else { 0.2 }, seed)).collect()
}

#[test]
fn sup_kernel_ucb() {
    let mut cases = [0, 0, 0];
    for bench in benches() {
        let gram = bench.gram();
        let n = gram.len();
        for width in [SupWidth::Unit, SupWidth::Interval, SupWidth::Constant(0.3)] {
            let budget = 90;
            let run = bench.run(Policy::SupKernelUcb(SupKernelUcb::new(width)), budget);
            let root = (2.0 * (2.0 * budget as f64 * n as f64 / DELTA).ln()).sqrt();
            let beta = match width {
                SupWidth::Unit => root,
                SupWidth::Constant(b) => b,
                _ => bench.norm + root,
            };
            let mut data: Vec<Vec<(usize, f64)>> = vec![Vec::new(); 7];
            let mut all = Vec::new();
            for step in 0..budget as u64 {
                let mut arms: Vec<usize> = (0..n).collect();
                let mut s = 1;
                let (choice, store) = loop {
                    let p = dense(&gram, bench.noise, &data[s - 1]);
                    let w: Vec<f64> = arms.iter().map(|&a| beta * p.variance[a].sqrt()).collect();
                    let u: Vec<f64> = arms.iter().zip(&w).map(|(&a, w)| p.mean[a] + w).collect();
                    let widest = argmax(&w);
                    if w[widest] > 0.5f64.powi(s as i32) {
                        cases[0] += 1;
                        break (arms[widest], true);
                    }
                    if w[widest] <= 1.0 / (budget as f64).sqrt() {
                        cases[1] += 1;
                        break (arms[argmax(&u)], false);
                    }
                    let top = u[argmax(&u)];
                    arms = arms.iter().zip(&u).filter(|(_, u)| **u >= top - 2.0 * 0.5f64.powi(s as i32)).map(|(&a, _)| a).collect();
                    s += 1;
                    cases[2] += 1;
                };
                if store {
                    data[s - 1].push((choice, bench.value(choice, step)));
                }
                all.push(choice);
            }
            assert_eq!(choices(&run), all, "{width:?}");
        }
    }
    assert!(cases.iter().all(|&c| c > 0), "every case must occur for this test to mean anything: {cases:?}");
}

/// Posterior variances and covariances with weights π as counts and γ as ridge.
fn weighted(gram: &[Vec<f64>], gamma: f64, pi: &[f64]) -> Vec<Vec<f64>> {
    let support: Vec<usize> = (0..pi.len()).filter(|&i| pi[i] > 0.0).collect();
    let mut a: Vec<Vec<f64>> = support.iter().map(|&i| support.iter().map(|&j| gram[i][j]).collect()).collect();
    support.iter().enumerate().for_each(|(s, &i)| a[s][s] += gamma / pi[i]);
    let factor = cholesky(&a);
    let row = |x: usize| support.iter().map(|&i| gram[x][i]).collect::<Vec<f64>>();
    (0..gram.len())
        .map(|x| {
            let s = solve_factored(&factor, &row(x));
            (0..gram.len()).map(|y| gram[x][y] - row(y).iter().zip(&s).map(|(k, s)| k * s).sum::<f64>()).collect()
        })
        .collect()
}

fn catoni(z: &[f64], v: f64, tail: f64) -> f64 {
    let n = z.len() as f64;
    let a =
        if n > 2.0 * tail { (2.0 * tail / (n * (v + 2.0 * v * tail / (n - 2.0 * tail)))).sqrt() } else { (2.0 * tail / (n * v)).sqrt() };
    let psi = |x: f64| if x >= 0.0 { (1.0 + x + x * x / 2.0).ln() } else { -(1.0 - x + x * x / 2.0).ln() };
    let (mut low, mut high) = (-1e6, 1e6);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if z.iter().map(|z| psi(a * (z - middle))).sum::<f64>() > 0.0 { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

#[test]
fn rips() {
    let mut ruled_out = 0;
    for bench in benches() {
        let (budget, effort) = (3000, 0.02);
        let run = bench.run(Policy::Rips(Rips::default().with_effort(effort)), budget);
        let gram = bench.gram();
        let gamma = (bench.noise / bench.norm).powi(2) / budget as f64;
        let moment = bench.norm.powi(2) + bench.noise.powi(2);
        let mut survivors: Vec<usize> = (0..gram.len()).collect();
        let mut all: Vec<usize> = Vec::new();
        for phase in 1.. {
            let m = survivors.len();
            let local: Vec<Vec<f64>> = survivors.iter().map(|&i| survivors.iter().map(|&j| gram[i][j]).collect()).collect();
            let mut pi = vec![0.0; m];
            for k in 0..100 {
                let c = weighted(&local, gamma, &pi);
                let worst = argmax(&(0..m).map(|i| c[i][i]).collect::<Vec<_>>());
                let share = 1.0 / (k as f64 + 1.0);
                pi.iter_mut().for_each(|p| *p *= 1.0 - share);
                pi[worst] += share;
            }
            let c = weighted(&local, gamma, &pi);
            let f = (0..m).map(|i| c[i][i] / gamma).fold(0.0, f64::max);
            let tail = (2.0 * (phase * phase) as f64 * (m * m) as f64 / DELTA).ln();
            let epsilon = 0.5f64.powi(phase);
            let wanted = 2.0 * effort * moment * f / (epsilon * epsilon) * tail;
            let count = (wanted.ceil() as usize).max(1).min(budget - all.len());
            let mut rng = stream(bench.seed, phase as usize - 1);
            let mut sample = Vec::new();
            for _ in 0..count {
                let u = rng.random::<f64>();
                let mut sum = 0.0;
                let pick = (0..m).filter(|&i| pi[i] > 0.0).find(|&i| {
                    sum += pi[i];
                    u < sum
                });
                let pick = pick.unwrap_or_else(|| (0..m).rfind(|&i| pi[i] > 0.0).unwrap());
                sample.push((pick, bench.value(survivors[pick], all.len() as u64)));
                all.push(survivors[pick]);
            }
            if all.len() == budget {
                break;
            }
            let w: Vec<f64> = (0..m)
                .map(|x| catoni(&sample.iter().map(|&(t, y)| c[x][t] / gamma * y).collect::<Vec<_>>(), moment * c[x][x] / gamma, tail))
                .collect();
            let best = w[argmax(&w)];
            survivors = survivors.iter().zip(&w).filter(|(_, w)| best - **w <= 2.0 * epsilon).map(|(&a, _)| a).collect();
        }
        assert_eq!(choices(&run), all);
        assert_eq!(run.survivors().unwrap(), Some(Survivors::Candidates(survivors.clone())));
        ruled_out += gram.len() - survivors.len();
    }
    assert!(ruled_out > 10, "candidates must be ruled out for this test to mean anything: {ruled_out}");
}

/// A smooth function on the unit square with its maximum 1 inside.
fn hill(x: &[f64]) -> f64 {
    (-((x[0] - 0.3).powi(2) + (x[1] - 0.62).powi(2)) / 0.12).exp() - 0.4 * (-((x[0] - 0.8).powi(2) + (x[1] - 0.2).powi(2)) / 0.05).exp()
}

fn square(budget: usize, seed: u64, tau: f64) -> (Problem, Kernel) {
    // Two length-scales: grids and cells are symmetric, and ties would be decided by rounding.
    let kernel = Kernel::squared_exponential([0.3, 0.37], 1.0).unwrap();
    let problem = Problem::new(Domain::Box(BoxDomain::unit(2).unwrap()), budget)
        .unwrap()
        .with_seed(seed)
        .with_kernel(&kernel)
        .unwrap()
        .with_noise(Noise::gaussian(tau).unwrap())
        .unwrap()
        .with_norm_bound(1.2)
        .unwrap();
    (problem, kernel)
}

fn told(x: &[f64], id: u64, seed: u64, tau: f64) -> f64 {
    hill(x) + tau * noise(seed, id)
}

fn run_on_square(problem: Problem, policy: Policy, seed: u64, tau: f64) -> Strategy {
    let mut strategy = Strategy::new(problem, policy).unwrap();
    loop {
        match strategy.ask(1).unwrap() {
            Ask::Trials(trials) => {
                for t in trials {
                    strategy.tell(t.id, Outcome::Value(told(&t.point, t.id, seed, tau))).unwrap();
                }
            }
            _ => return strategy,
        }
    }
}

fn points(strategy: &Strategy) -> Vec<Vec<f64>> {
    strategy.ledger().trials().iter().map(|t| t.point.clone()).collect()
}

/// GP-ThreDS written down as nested loops that call the function; stops in the middle when the budget is spent.
fn literal_threds(kernel: &Kernel, budget: usize, seed: u64, tau: f64, per_side: usize, cap: usize) -> (Vec<Vec<f64>>, usize) {
    let mut evaluated: Vec<Vec<f64>> = Vec::new();
    let (mut a, mut b) = (0.2, 1.4);
    let width = b - a;
    let mut active = vec![([0.0, 0.0], [1.0, 1.0])];
    let mut epoch = 1;
    loop {
        let t: f64 = (a + b) / 2.0;
        let mut found = Vec::new();
        for (low, high) in &active {
            let grid: Vec<Vec<f64>> = (0..per_side * per_side)
                .map(|g| {
                    let at = |i: usize, c: usize| low[c] + (i as f64 + 0.5) / per_side as f64 * (high[c] - low[c]);
                    vec![at(g % per_side, 0), at(g / per_side, 1)]
                })
                .collect();
            let part: Vec<usize> = (0..grid.len()).map(|g| 2 * (g / per_side * 2 / per_side) + g % per_side * 2 / per_side).collect();
            let gram: Vec<Vec<f64>> = grid.iter().map(|x| grid.iter().map(|y| kernel.value(x, y)).collect()).collect();
            let mut data: Vec<(usize, f64)> = Vec::new();
            let mut open = [true; 4];
            let mut steps = 0;
            while open.iter().any(|&o| o) {
                let p = dense(&gram, tau, &data);
                let beta = 1.2 + tau * (2.0 * (((data.len() + 1) as f64).ln() + 1.0 + (1.0 / DELTA).ln())).sqrt();
                let bound = |sign: f64| -> Vec<f64> {
                    (0..grid.len())
                        .map(|g| if open[part[g]] { p.mean[g] + sign * beta * p.variance[g].sqrt() } else { f64::NEG_INFINITY })
                        .collect()
                };
                let (upper, lower) = (bound(1.0), bound(-1.0));
                let (top, safe) = (argmax(&upper), argmax(&lower));
                if !data.is_empty() && upper[top] < t - 0.2 * 2f64.powi(1 - epoch) {
                    break;
                }
                let kept = if steps > 0 && lower[safe] > t {
                    Some(part[safe])
                } else if steps >= cap {
                    Some(part[top])
                } else {
                    None
                };
                if let Some(kept) = kept {
                    open[kept] = false;
                    steps = 0;
                    let (mut l, mut h) = (*low, *high);
                    for c in 0..2 {
                        let middle = 0.5 * (low[c] + high[c]);
                        if kept >> c & 1 == 1 { l[c] = middle } else { h[c] = middle }
                    }
                    found.push((l, h));
                    continue;
                }
                if evaluated.len() == budget {
                    return (evaluated, epoch as usize);
                }
                steps += 1;
                data.push((top, told(&grid[top], evaluated.len() as u64, seed, tau)));
                evaluated.push(grid[top].clone());
            }
        }
        if found.is_empty() {
            let shift = (b - a) / 2.0;
            a -= shift;
            b -= shift;
        } else {
            a = t - 0.4 * 2f64.powi(-epoch) * width;
            active = found;
            epoch += 1;
        }
    }
}

#[test]
fn gp_threds() {
    let mut epochs = 0;
    for seed in 0..4 {
        let tau = if seed % 2 == 0 { 0.05 } else { 0.2 };
        let (problem, kernel) = square(120, seed, tau);
        let policy = GpThreds::new(0.2, 1.4).unwrap().with_grid(6).with_cap(8);
        let run = run_on_square(problem, Policy::GpThreds(policy), seed, tau);
        let (want, epoch) = literal_threds(&kernel, 120, seed, tau, 6, 8);
        assert_eq!(points(&run), want, "seed {seed}");
        epochs = epochs.max(epoch);
    }
    assert!(epochs >= 3, "the search must get somewhere for this test to mean anything: {epochs}");
}

struct PlainCell {
    low: [f64; 2],
    high: [f64; 2],
    level: u32,
    parent: Option<usize>,
    alive: bool,
}

impl PlainCell {
    fn centre(&self) -> Vec<f64> {
        (0..2).map(|c| 0.5 * (self.low[c] + self.high[c])).collect()
    }
}

fn literal_ada_bkb(kernel: &Kernel, budget: usize, seed: u64, tau: f64, b: f64, q: f64) -> (Vec<Vec<f64>>, usize) {
    let mut cells = vec![PlainCell { low: [0.0; 2], high: [1.0; 2], level: 0, parent: None, alive: true }];
    let mut data: Vec<(usize, f64)> = Vec::new();
    let mut z: Vec<usize> = Vec::new();
    let mut best_lower = f64::NEG_INFINITY;
    while data.len() < budget {
        let choice = loop {
            let centres: Vec<Vec<f64>> = cells.iter().map(PlainCell::centre).collect();
            let gram: Vec<Vec<f64>> = centres.iter().map(|x| centres.iter().map(|y| kernel.value(x, y)).collect()).collect();
            let (mean, variance) = if z.is_empty() {
                (vec![0.0; cells.len()], vec![1.0; cells.len()])
            } else {
                let p = sparse(&gram, tau, &z, &data);
                (p.mean, p.variance)
            };
            let ucb = |i: usize| mean[i] + b * variance[i].sqrt();
            let v = |i: usize| 1.2 * kernel.metric(&cells[i].centre(), &cells[i].high);
            for d in &data {
                best_lower = f64::max(best_lower, mean[d.0] - b * variance[d.0].sqrt());
            }
            let index: Vec<f64> = (0..cells.len())
                .map(|i| match (cells[i].alive, cells[i].parent) {
                    (false, _) => f64::NEG_INFINITY,
                    (true, None) => ucb(i) + v(i),
                    (true, Some(p)) => ucb(i).min(ucb(p) + v(p)) + v(i),
                })
                .collect();
            let top = argmax(&index);
            let split = b * variance[top].sqrt() <= v(top) && cells[top].level < 20;
            for i in 0..cells.len() {
                if i != top && index[i] < best_lower {
                    cells[i].alive = false;
                }
            }
            if !split {
                break top;
            }
            cells[top].alive = false;
            let cell = &cells[top];
            let column = usize::from(cell.high[1] - cell.low[1] > cell.high[0] - cell.low[0]);
            let middle = 0.5 * (cell.low[column] + cell.high[column]);
            let (mut upper_low, mut lower_high) = (cell.low, cell.high);
            lower_high[column] = middle;
            upper_low[column] = middle;
            let (low, high, level) = (cell.low, cell.high, cell.level + 1);
            cells.push(PlainCell { low, high: lower_high, level, parent: Some(top), alive: true });
            cells.push(PlainCell { low: upper_low, high, level, parent: Some(top), alive: true });
        };
        let centres: Vec<Vec<f64>> = cells.iter().map(PlainCell::centre).collect();
        let gram: Vec<Vec<f64>> = centres.iter().map(|x| centres.iter().map(|y| kernel.value(x, y)).collect()).collect();
        let before = if z.is_empty() { vec![1.0; cells.len()] } else { sparse(&gram, tau, &z, &data).variance };
        data.push((choice, told(&centres[choice], data.len() as u64, seed, tau)));
        let mut rng = stream(seed, data.len());
        z = (0..cells.len())
            .filter(|&i| {
                let count = data.iter().filter(|d| d.0 == i).count() as f64;
                count > 0.0 && rng.random::<f64>() < q * count * before[i] / (tau * tau)
            })
            .collect();
        if z.is_empty() {
            z.push(choice);
        }
    }
    let dropped = cells.len();
    (data.iter().map(|d| cells[d.0].centre()).collect(), dropped)
}

#[test]
fn ada_bkb() {
    for seed in 0..4 {
        let tau = if seed % 2 == 0 { 0.1 } else { 0.2 };
        let (problem, kernel) = square(50, seed, tau);
        let policy = AdaBkb::new(BkbWidth::Constant(1.5)).with_oversampling(3.0);
        let run = run_on_square(problem, Policy::AdaBkb(policy), seed, tau);
        let (want, cells) = literal_ada_bkb(&kernel, 50, seed, tau, 1.5, 3.0);
        assert_eq!(points(&run), want, "seed {seed}");
        let Policy::AdaBkb(policy) = run.policy() else { unreachable!() };
        assert_eq!(policy.cells().unwrap().len(), cells);
        assert!(cells > 9, "cells must be split for this test to mean anything");
    }
}
