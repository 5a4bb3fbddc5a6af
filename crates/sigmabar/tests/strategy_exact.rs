//! Strategies with the exact posterior against literal versions of themselves: every step refits densely from scratch.

#![allow(clippy::unwrap_used)]

use crate::strategy_plain;

use sigmabar::strategy::{
    Bpe, BpeSchedule, BpeWidth, ExpectedImprovement, GpUcb, LargestVariance, MetaIndex, MiniMeta, ProbabilityOfImprovement, SampleScale,
    Sequential, Survivors, ThompsonSampling, UcbWidth,
};
use sigmabar::{Ask, BoxDomain, Domain, Kernel, Noise, Outcome, Policy, Problem, Strategy};
use statrs::distribution::{Continuous, ContinuousCDF, Normal};
use std::f64::consts::PI;
use strategy_plain::{Bench, Dense, argmax, choices, dense, normals, stream};

const BUDGET: usize = 28;
const DELTA: f64 = 0.05;

fn benches() -> Vec<Bench> {
    (0..4).map(|seed| Bench::new(35, 0.25, if seed % 2 == 0 { 0.1 } else { 0.3 }, seed)).collect()
}

/// Steps one at a time: the score of every candidate from the dense posterior, the number of the step from 1 and the data.
fn literal(bench: &Bench, budget: usize, mut score: impl FnMut(&Dense, usize, &[(usize, f64)]) -> Vec<f64>) -> Vec<usize> {
    let gram = bench.gram();
    let mut data: Vec<(usize, f64)> = Vec::new();
    for step in 1..=budget {
        let posterior = dense(&gram, bench.noise, &data);
        let choice = argmax(&score(&posterior, step, &data));
        data.push((choice, bench.value(choice, step as u64 - 1)));
    }
    data.into_iter().map(|d| d.0).collect()
}

fn ucb(p: &Dense, b: f64) -> Vec<f64> {
    p.mean.iter().zip(&p.variance).map(|(m, v)| m + b * v.sqrt()).collect()
}

#[test]
fn gp_ucb_with_every_width() {
    for bench in benches() {
        let (c, r, n) = (bench.norm, bench.noise, bench.points.len() as f64);
        let run = |width| choices(&bench.run(Policy::GpUcb(GpUcb::new(width)), BUDGET));
        let log_det = literal(&bench, BUDGET, |p, _, _| ucb(p, c + r / bench.noise * (p.log_det + 2.0 * (1.0 / DELTA).ln()).sqrt()));
        assert_eq!(run(UcbWidth::LogDet), log_det);
        let srinivas = literal(&bench, BUDGET, |p, t, _| {
            let t = t as f64;
            ucb(p, (2.0 * (n * t * t * PI * PI / (6.0 * DELTA)).ln()).sqrt())
        });
        assert_eq!(run(UcbWidth::Srinivas), srinivas);
        let log_time = literal(&bench, BUDGET, |p, t, _| ucb(p, c + r * (2.0 * ((t as f64).ln() + 1.0 + (1.0 / DELTA).ln())).sqrt()));
        assert_eq!(run(UcbWidth::LogTime), log_time);
        assert_eq!(run(UcbWidth::Constant(2.0)), literal(&bench, BUDGET, |p, _, _| ucb(p, 2.0)));
        assert_ne!(log_det, log_time, "the widths must matter for this test to mean anything");
    }
}

#[test]
fn gp_ucb_in_batches_shrinks_the_variance_only() {
    for bench in benches() {
        let gram = bench.gram();
        let policy = GpUcb::new(UcbWidth::Constant(2.0)).with_sequential(Sequential::default().with_batch_len(5));
        let got = choices(&bench.run(Policy::GpUcb(policy), 23));
        let mut data: Vec<(usize, f64)> = Vec::new();
        while data.len() < 23 {
            let mean = dense(&gram, bench.noise, &data).mean;
            let mut imagined = data.clone();
            let mut batch = Vec::new();
            for _ in 0..5.min(23 - data.len()) {
                let variance = dense(&gram, bench.noise, &imagined).variance;
                let choice = argmax(&ucb(&Dense { mean: mean.clone(), variance, log_det: 0.0 }, 2.0));
                imagined.push((choice, 0.0));
                batch.push(choice);
            }
            for choice in batch {
                data.push((choice, bench.value(choice, data.len() as u64)));
            }
        }
        assert_eq!(got, data.into_iter().map(|d| d.0).collect::<Vec<_>>());
    }
}

fn incumbent(p: &Dense, data: &[(usize, f64)]) -> f64 {
    data.iter().map(|d| p.mean[d.0]).fold(None, |a: Option<f64>, m| Some(a.map_or(m, |a| a.max(m)))).unwrap_or(0.0)
}

#[test]
fn improvement_policies() {
    let normal = Normal::standard();
    for bench in benches() {
        for margin in [0.0, 0.05] {
            let ei = literal(&bench, BUDGET, |p, _, data| {
                let top = incumbent(p, data) + margin;
                let one = |m: f64, s: f64| (m - top) * normal.cdf((m - top) / s) + s * normal.pdf((m - top) / s);
                p.mean.iter().zip(&p.variance).map(|(m, v)| one(*m, v.sqrt())).collect()
            });
            let policy = Policy::ExpectedImprovement(ExpectedImprovement::default().with_margin(margin));
            assert_eq!(choices(&bench.run(policy, BUDGET)), ei);
            let pi = literal(&bench, BUDGET, |p, _, data| {
                let top = incumbent(p, data) + margin;
                p.mean.iter().zip(&p.variance).map(|(m, v)| (m - top) / v.sqrt()).collect()
            });
            let policy = Policy::ProbabilityOfImprovement(ProbabilityOfImprovement::default().with_margin(margin));
            assert_eq!(choices(&bench.run(policy, BUDGET)), pi);
        }
    }
}

/// The prior factor by plain pivoting, the draw corrected row by row of the expanded data.
fn plain_draw(gram: &[Vec<f64>], tau: f64, data: &[(usize, f64)], seed: u64, step: usize) -> Vec<f64> {
    let n = gram.len();
    let mut factor: Vec<Vec<f64>> = Vec::new();
    let mut left: Vec<f64> = (0..n).map(|i| gram[i][i]).collect();
    let mut used = vec![false; n];
    loop {
        let free: Vec<f64> = (0..n).map(|i| if used[i] { f64::NEG_INFINITY } else { left[i] }).collect();
        let p = argmax(&free);
        if free[p] <= 1e-12 {
            break;
        }
        let root = left[p].sqrt();
        let column: Vec<f64> = (0..n)
            .map(|i| if used[i] { 0.0 } else { (gram[i][p] - factor.iter().map(|f: &Vec<f64>| f[i] * f[p]).sum::<f64>()) / root })
            .collect();
        (0..n).for_each(|i| left[i] -= column[i] * column[i]);
        used[p] = true;
        factor.push(column);
    }
    let mut rng = stream(seed, step);
    let xi = normals(&mut rng, factor.len());
    let g: Vec<f64> = (0..n).map(|i| factor.iter().zip(&xi).map(|(f, x)| f[i] * x).sum()).collect();
    // Distinct points in order of first measurement: average, count, one noise number.
    let mut distinct: Vec<(usize, f64, f64)> = Vec::new();
    for &(a, y) in data {
        match distinct.iter_mut().find(|d| d.0 == a) {
            Some(d) => {
                d.1 += y;
                d.2 += 1.0;
            }
            None => distinct.push((a, y, 1.0)),
        }
    }
    if distinct.is_empty() {
        return g;
    }
    let zeta = normals(&mut rng, distinct.len());
    let mut a: Vec<Vec<f64>> = distinct.iter().map(|i| distinct.iter().map(|j| gram[i.0][j.0]).collect()).collect();
    (0..distinct.len()).for_each(|i| a[i][i] += tau * tau / distinct[i].2);
    let rhs: Vec<f64> = distinct.iter().zip(&zeta).map(|(d, z)| d.1 / d.2 - g[d.0] - tau * z / d.2.sqrt()).collect();
    let (w, _) = strategy_plain::solve(&a, &rhs);
    (0..n).map(|x| g[x] + distinct.iter().zip(&w).map(|(d, w)| gram[x][d.0] * w).sum::<f64>()).collect()
}

#[test]
fn thompson_sampling_draws_from_the_posterior() {
    for bench in benches() {
        let gram = bench.gram();
        let got = choices(&bench.run(Policy::ThompsonSampling(ThompsonSampling::default()), BUDGET));
        let want = literal(&bench, BUDGET, |_, t, data| plain_draw(&gram, bench.noise, data, bench.seed, t - 1));
        assert_eq!(got, want);
        let got = choices(&bench.run(Policy::ThompsonSampling(ThompsonSampling::new(SampleScale::Theory)), BUDGET));
        let want = literal(&bench, BUDGET, |p, t, data| {
            let v = bench.norm + (p.log_det + 2.0 * (2.0 / DELTA).ln()).sqrt();
            let draw = plain_draw(&gram, bench.noise, data, bench.seed, t - 1);
            draw.iter().zip(&p.mean).map(|(f, m)| m + v * (f - m)).collect()
        });
        assert_eq!(got, want);
    }
}

/// Mean and covariance of many literal draws are those of the posterior: the formula itself is right, not only repeated.
#[test]
fn the_literal_draw_has_the_posterior_law() {
    let bench = Bench::new(6, 0.4, 0.2, 9);
    let gram = bench.gram();
    let data = [(0, 0.5), (3, -0.2), (0, 0.7)];
    let posterior = dense(&gram, bench.noise, &data);
    let draws: Vec<Vec<f64>> = (0..20_000).map(|s| plain_draw(&gram, bench.noise, &data, 5, s)).collect();
    for x in 0..6 {
        let mean = draws.iter().map(|d| d[x]).sum::<f64>() / 2e4;
        let variance = draws.iter().map(|d| (d[x] - mean).powi(2)).sum::<f64>() / 2e4;
        assert!((mean - posterior.mean[x]).abs() < 5.0 * (posterior.variance[x] / 2e4).sqrt(), "{x}");
        assert!((variance / posterior.variance[x] - 1.0).abs() < 0.05, "{x}");
    }
}

#[test]
fn bpe_reset_and_keep() {
    for bench in benches() {
        let gram = bench.gram();
        for (width, keeps) in
            [(BpeWidth::Theory, false), (BpeWidth::Constant(2.0), false), (BpeWidth::Constant(2.0), true), (BpeWidth::LogBatch, true)]
        {
            let budget = 60;
            let policy = Bpe::new(BpeSchedule::Recursion, width);
            let run = bench.run(Policy::Bpe(if keeps { policy.keeping_data() } else { policy }), budget);
            let lengths = [8, 22, 30];
            let mut survivors: Vec<usize> = (0..gram.len()).collect();
            let mut data: Vec<(usize, f64)> = Vec::new();
            for (i, &len) in lengths.iter().enumerate() {
                let start = data.len();
                let mut seen: Vec<(usize, f64)> = if keeps { data.clone() } else { Vec::new() };
                for _ in 0..len {
                    let variance = dense(&gram, bench.noise, &seen).variance;
                    let pick = survivors[argmax(&survivors.iter().map(|&a| variance[a]).collect::<Vec<_>>())];
                    seen.push((pick, 0.0));
                }
                let picks: Vec<usize> = seen[seen.len() - len..].iter().map(|d| d.0).collect();
                for pick in picks {
                    data.push((pick, bench.value(pick, data.len() as u64)));
                }
                if i + 1 == lengths.len() {
                    break;
                }
                let p = dense(&gram, bench.noise, if keeps { &data } else { &data[start..] });
                let b = match width {
                    BpeWidth::Theory => bench.norm + (2.0 * (4.0 * 3.0 * gram.len() as f64 / DELTA).ln()).sqrt(),
                    BpeWidth::Constant(beta) => beta.sqrt(),
                    _ => (3.0 * (2.0 * (i + 1) as f64).ln()).sqrt(),
                };
                let low = survivors.iter().map(|&a| p.mean[a] - b * p.variance[a].sqrt()).fold(f64::NEG_INFINITY, f64::max);
                survivors.retain(|&a| p.mean[a] + b * p.variance[a].sqrt() >= low);
            }
            assert_eq!(choices(&run), data.iter().map(|d| d.0).collect::<Vec<_>>(), "{width:?} {keeps}");
            assert_eq!(run.survivors().unwrap(), Some(Survivors::Candidates(survivors)));
        }
    }
}

#[test]
fn mini_meta_repeats_as_often_as_the_rule_says() {
    for bench in benches() {
        let gram = bench.gram();
        for index in [MetaIndex::Ucb(UcbWidth::LogDet), MetaIndex::ExpectedImprovement] {
            let budget = 60;
            let run = bench.run(Policy::MiniMeta(MiniMeta::new(index, 1.5).unwrap()), budget);
            let normal = Normal::standard();
            let mut data: Vec<(usize, f64)> = Vec::new();
            let mut batches = 0;
            while data.len() < budget {
                let p = dense(&gram, bench.noise, &data);
                let scores = match index {
                    MetaIndex::Ucb(_) => ucb(&p, 1.5 * (bench.norm + (p.log_det + 2.0 * (1.0 / DELTA).ln()).sqrt())),
                    _ => {
                        let top = incumbent(&p, &data);
                        let one = |m: f64, s: f64| (m - top) * normal.cdf((m - top) / s) + s * normal.pdf((m - top) / s);
                        p.mean.iter().zip(&p.variance).map(|(m, v)| one(*m, v.sqrt())).collect()
                    }
                };
                let choice = argmax(&scores);
                let copies = ((1.5f64 * 1.5 - 1.0) / (p.variance[choice] / bench.noise.powi(2))).floor().max(1.0) as usize;
                for _ in 0..copies.min(budget - data.len()) {
                    data.push((choice, bench.value(choice, data.len() as u64)));
                }
                batches += 1;
            }
            assert_eq!(choices(&run), data.iter().map(|d| d.0).collect::<Vec<_>>(), "{index:?}");
            assert_eq!(run.ledger().batches(), batches);
            assert!(batches < budget, "repeats must happen for this test to mean anything");
        }
    }
}

#[test]
fn largest_variance_is_as_good_as_the_exact_greedy_design_and_blind() {
    for bench in benches() {
        let gram = bench.gram();
        let run = bench.run(Policy::LargestVariance(LargestVariance::default()), BUDGET);
        assert_eq!(run.ledger().batches(), 1);
        let greedy = literal(&bench, BUDGET, |p, _, _| p.variance.clone());
        let spread = |picks: &[usize]| {
            let data: Vec<(usize, f64)> = picks.iter().map(|&a| (a, 0.0)).collect();
            dense(&gram, bench.noise, &data).variance.into_iter().fold(0.0, f64::max)
        };
        assert!(spread(&choices(&run)) <= 1.1 * spread(&greedy));
    }
}

#[test]
fn the_box_formula_of_gp_ucb_is_the_printed_one() {
    // With one evaluation made, the index is μ + bσ at every candidate: the second choice reveals b only through the argmax, so compare whole runs with the
    // constant width that the formula gives at each step being the same.
    let (a, b, d, r, delta) = (1.0, 2.0, 2.0, 2.0f64, 0.05f64);
    let factor = |t: f64| {
        let first = 2.0 * (t * t * 2.0 * PI.powi(2) / (3.0 * delta)).ln();
        (first + 2.0 * d * (t * t * d * b * r * (4.0 * d * a / delta).ln().sqrt()).ln()).sqrt()
    };
    let four = Sequential::default().with_box_candidates(64);
    let run = |width: UcbWidth| {
        let domain = Domain::Box(BoxDomain::new(vec![0.0, -1.0], vec![1.0, 1.0]).unwrap());
        let problem =
            Problem::new(domain, 2).unwrap().with_seed(1).with_kernel(Kernel::squared_exponential([0.3, 0.5], 1.0).unwrap()).unwrap();
        let problem = problem.with_noise(Noise::gaussian(0.1).unwrap()).unwrap();
        let mut strategy = Strategy::new(problem, Policy::GpUcb(GpUcb::new(width).with_sequential(four))).unwrap();
        while let Ask::Trials(trials) = strategy.ask(1).unwrap() {
            strategy.tell(trials[0].id, Outcome::Value((5.0 * trials[0].point[0]).sin())).unwrap();
        }
        strategy
    };
    assert_eq!(run(UcbWidth::SrinivasBox { a, b }).ledger(), run(UcbWidth::Constant(factor(2.0))).ledger());
}
