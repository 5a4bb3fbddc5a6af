//! Strategies with sparse posteriors against literal versions of themselves: every step refits densely from scratch, with the same random numbers.

#![allow(clippy::unwrap_used)]

use crate::strategy_plain;

use rand::RngExt;
use rand_distr::{ChiSquared, Distribution, StandardNormal};
use sigmabar::strategy::{BatchRule, Bbkb, BbkbWidth, Bkb, BkbWidth, DecoupledThompson, EkUcb};
use sigmabar::{Ask, BoxDomain, Domain, Kernel, Noise, Outcome, Points, Policy, Problem, Strategy};
use strategy_plain::{Bench, Sparse, argmax, choices, cholesky, normals, solve, sparse, stream};

const DELTA: f64 = 0.05;

fn benches() -> Vec<Bench> {
    (0..4).map(|seed| Bench::new(30, 0.25, if seed % 2 == 0 { 0.1 } else { 0.3 }, seed)).collect()
}

fn posterior(gram: &[Vec<f64>], tau: f64, z: &[usize], data: &[(usize, f64)]) -> Sparse {
    if z.is_empty() {
        let n = gram.len();
        return Sparse { mean: vec![0.0; n], variance: (0..n).map(|i| gram[i][i]).collect(), covariance: gram.to_vec() };
    }
    sparse(gram, tau, z, data)
}

fn initial(bench: &Bench) -> Vec<usize> {
    rand::seq::index::sample(&mut stream(bench.seed, 0), bench.points.len(), 2).into_vec()
}

/// Every pulled arm, in the order of the arms, with probability min(1, q c v).
fn resample(bench: &Bench, before: &Sparse, data: &[(usize, f64)], batches: usize, q: f64) -> Vec<usize> {
    let mut rng = stream(bench.seed, batches);
    let mut kept = Vec::new();
    for a in 0..bench.points.len() {
        let count = data.iter().filter(|d| d.0 == a).count() as f64;
        if count > 0.0 && rng.random::<f64>() < q * count * before.variance[a] / bench.noise.powi(2) {
            kept.push(a);
        }
    }
    if kept.is_empty() { vec![data.last().unwrap().0] } else { kept }
}

fn effective(bench: &Bench, p: &Sparse, data: &[(usize, f64)]) -> f64 {
    data.iter().map(|d| p.variance[d.0] / bench.noise.powi(2)).sum()
}

fn index(p: &Sparse, variance: &[f64], b: f64) -> Vec<f64> {
    p.mean.iter().zip(variance).map(|(m, v)| m + b * v.sqrt()).collect()
}

fn literal_bkb(
    bench: &Bench,
    budget: usize,
    q: impl Fn(usize) -> f64,
    factor: impl Fn(&Sparse, &[(usize, f64)], usize) -> f64,
) -> (Vec<usize>, Vec<usize>) {
    let gram = bench.gram();
    let mut data: Vec<(usize, f64)> = Vec::new();
    let before = posterior(&gram, bench.noise, &[], &[]);
    for a in initial(bench) {
        data.push((a, bench.value(a, data.len() as u64)));
    }
    let mut z = resample(bench, &before, &data, 1, q(2));
    let mut batches = 1;
    while data.len() < budget {
        let p = posterior(&gram, bench.noise, &z, &data);
        let choice = argmax(&index(&p, &p.variance, factor(&p, &data, data.len() + 1)));
        data.push((choice, bench.value(choice, data.len() as u64)));
        batches += 1;
        z = resample(bench, &p, &data, batches, q(data.len()));
    }
    (data.into_iter().map(|d| d.0).collect(), z)
}

#[test]
fn bkb_with_code_and_paper_constants() {
    for bench in benches() {
        let budget = 40;
        let tail = (1.0 / DELTA).ln();
        let run = bench.run(Policy::Bkb(Bkb::default()), budget);
        let code = |p: &Sparse, data: &[(usize, f64)], t: usize| bench.norm + ((t as f64).ln() * effective(&bench, p, data) + tail).sqrt();
        let (want, dictionary) = literal_bkb(&bench, budget, |_| 1.0, code);
        assert_eq!(choices(&run), want);
        let Policy::Bkb(policy) = run.policy() else { unreachable!() };
        assert_eq!(policy.dictionary(), dictionary);
        let distinct = want.iter().collect::<std::collections::HashSet<_>>().len();
        assert!(dictionary.len() < distinct, "the dictionary must be sparse for this test to mean anything");

        let epsilon = 0.5;
        let alpha = 3.0;
        let run = bench.run(Policy::Bkb(Bkb::new(BkbWidth::Paper { epsilon }).with_oversampling(2.0)), budget);
        let paper = |p: &Sparse, data: &[(usize, f64)], t: usize| {
            2.0 * (alpha * (t as f64).ln() * effective(&bench, p, data) + tail).sqrt() + (1.0 + 1.0 / 0.5f64.sqrt()) * bench.norm
        };
        assert_eq!(choices(&run), literal_bkb(&bench, budget, |_| 2.0, paper).0);
        // The paper's own q keeps every pulled arm here.
        let run = bench.run(Policy::Bkb(Bkb::new(BkbWidth::Paper { epsilon })), budget);
        let q = |t: usize| 6.0 * alpha * (4.0 * t as f64 / DELTA).ln() / 0.25;
        assert_eq!(choices(&run), literal_bkb(&bench, budget, q, paper).0);
    }
}

fn literal_bbkb(bench: &Bench, budget: usize, rule: BatchRule, growth: f64, width: BbkbWidth) -> (Vec<usize>, Vec<usize>) {
    let gram = bench.gram();
    let tau2 = bench.noise.powi(2);
    let (multiple, q) = if width == BbkbWidth::Paper { (3.0, 8.0 * (4.0 * budget as f64 / DELTA).ln()) } else { (1.0, 1.0) };
    let mut frozen = posterior(&gram, bench.noise, &[], &[]);
    let mut batch = initial(bench);
    let mut lengths = Vec::new();
    let mut data: Vec<(usize, f64)> = Vec::new();
    let mut log_sum = 0.0;
    loop {
        for &a in &batch {
            log_sum += (1.0 + multiple * frozen.variance[a] / tau2).ln();
            data.push((a, bench.value(a, data.len() as u64)));
        }
        lengths.push(batch.len());
        if data.len() == budget {
            return (data.into_iter().map(|d| d.0).collect(), lengths);
        }
        let z = resample(bench, &frozen, &data, lengths.len(), q);
        frozen = posterior(&gram, bench.noise, &z, &data);
        let tail = (1.0 / DELTA).ln();
        let b = match width {
            BbkbWidth::Constant(b) => b,
            BbkbWidth::Paper => 2.0 * (log_sum + tail).sqrt() + (1.0 + 2f64.sqrt()) * bench.norm,
            _ => bench.norm + (growth * log_sum + tail).sqrt(),
        };
        batch = Vec::new();
        let mut imagined = data.clone();
        while data.len() + batch.len() < budget {
            let variance = posterior(&gram, bench.noise, &z, &imagined).variance;
            let choice = argmax(&index(&frozen, &variance, b));
            batch.push(choice);
            imagined.push((choice, 0.0));
            let global = 1.0 + batch.iter().map(|&a| frozen.variance[a] / tau2).sum::<f64>();
            let local = (0..gram.len())
                .map(|a| 1.0 + batch.iter().map(|&s| (frozen.covariance[a][s] / tau2).powi(2)).sum::<f64>() / (frozen.variance[a] / tau2))
                .fold(0.0, f64::max);
            if global > growth && (rule == BatchRule::Global || local > growth) {
                break;
            }
        }
    }
}

fn lengths(strategy: &Strategy) -> Vec<usize> {
    (0..strategy.ledger().batches()).map(|b| strategy.ledger().batch(b).len()).collect()
}

#[test]
fn bbkb_global_and_local() {
    let mut longer = 0;
    for bench in benches() {
        let budget = 60;
        let mut batches = Vec::new();
        for rule in [BatchRule::Global, BatchRule::Local] {
            for width in [BbkbWidth::Code, BbkbWidth::Paper, BbkbWidth::Constant(2.0)] {
                let run = bench.run(Policy::Bbkb(Bbkb::new(rule, 1.5).unwrap().with_width(width)), budget);
                let want = literal_bbkb(&bench, budget, rule, 1.5, width);
                assert_eq!((choices(&run), lengths(&run)), want, "{rule:?} {width:?}");
            }
            let faithful = Bbkb::new(rule, 2.0).unwrap().with_oversampling(50.0);
            batches.push(lengths(&bench.run(Policy::Bbkb(faithful), 200)));
        }
        let (early, late): (usize, usize) =
            (batches[0][1..4].iter().sum(), batches[0][batches[0].len() - 4..batches[0].len() - 1].iter().sum());
        assert!(late > early, "batches grow with time: {:?}", batches[0]);
        longer += usize::from(batches[1].len() < batches[0].len());
    }
    assert!(longer >= 3, "the local rule makes larger batches");
}

#[test]
fn bbkb_with_no_growth_allowed_is_bkb() {
    for bench in benches() {
        let bbkb = bench.run(Policy::Bbkb(Bbkb::new(BatchRule::Global, 1.0).unwrap().with_width(BbkbWidth::Constant(2.0))), 40);
        let bkb = bench.run(Policy::Bkb(Bkb::new(BkbWidth::Constant(2.0))), 40);
        assert_eq!(choices(&bbkb), choices(&bkb));
        assert!(lengths(&bbkb)[1..].iter().all(|&len| len == 1));
    }
}

#[test]
fn decoupled_thompson_sampling() {
    for bench in benches() {
        let (budget, features, at_most) = (25, 200, 12);
        let gram = bench.gram();
        let n = gram.len();
        let run = bench.run(Policy::DecoupledThompson(DecoupledThompson::new(features, at_most).unwrap()), budget);
        // Inducing points: greedily where the residual is largest.
        let mut z: Vec<usize> = Vec::new();
        while z.len() < at_most {
            let residual: Vec<f64> = (0..n)
                .map(|x| {
                    let kzz: Vec<Vec<f64>> = z.iter().map(|&i| z.iter().map(|&j| gram[i][j]).collect()).collect();
                    let k: Vec<f64> = z.iter().map(|&i| gram[x][i]).collect();
                    gram[x][x] - k.iter().zip(solve(&kzz, &k).0).map(|(k, s)| k * s).sum::<f64>()
                })
                .collect();
            let next = argmax(&residual);
            if residual[next] <= 1e-3 * bench.noise.powi(2) {
                break;
            }
            z.push(next);
        }
        let m = z.len();
        // Features: 2πs is normal over ℓ√(χ²₅/5) for Matérn 5/2.
        let mut rng = stream(bench.seed, 0);
        let frequencies: Vec<Vec<f64>> = (0..features)
            .map(|_| {
                let normal = normals(&mut rng, 2);
                let chi: f64 = ChiSquared::new(5.0).unwrap().sample(&mut rng);
                normal.iter().map(|s| s / 0.25 / (chi / 5.0).sqrt()).collect()
            })
            .collect();
        let phases: Vec<f64> = (0..features).map(|_| rng.random::<f64>() * std::f64::consts::TAU).collect();
        let phi = |x: usize, j: usize| {
            let angle = bench.points[x][0] * frequencies[j][0] + bench.points[x][1] * frequencies[j][1] + phases[j];
            (2.0 / features as f64).sqrt() * angle.cos()
        };
        let kzz: Vec<Vec<f64>> = z.iter().map(|&i| z.iter().map(|&j| gram[i][j]).collect()).collect();
        let l = cholesky(&kzz);
        let forward = |l: &[Vec<f64>], b: &[f64]| {
            let mut x = b.to_vec();
            for i in 0..x.len() {
                for j in 0..i {
                    x[i] -= l[i][j] * x[j];
                }
                x[i] /= l[i][i];
            }
            x
        };
        let psi: Vec<Vec<f64>> = (0..n).map(|x| forward(&l, &z.iter().map(|&i| gram[x][i]).collect::<Vec<_>>())).collect();
        let mut data: Vec<(usize, f64)> = Vec::new();
        for step in 0..budget {
            let mut b = vec![vec![0.0; m]; m];
            let mut h = vec![0.0; m];
            for &(x, y) in &data {
                for i in 0..m {
                    h[i] += psi[x][i] * y / bench.noise.powi(2);
                    for j in 0..m {
                        b[i][j] += psi[x][i] * psi[x][j] / bench.noise.powi(2);
                    }
                }
            }
            (0..m).for_each(|i| b[i][i] += 1.0);
            let mut rng = stream(bench.seed, step + 1);
            let w = normals(&mut rng, features);
            let xi = normals(&mut rng, m);
            let g: Vec<f64> = (0..n).map(|x| (0..features).map(|j| w[j] * phi(x, j)).sum()).collect();
            // u = L(β + L_B⁻ᵀξ): mean LB⁻¹h/τ², covariance LB⁻¹Lᵀ
            let lb = cholesky(&b);
            let mut noise = xi;
            for i in (0..m).rev() {
                for j in i + 1..m {
                    noise[i] -= lb[j][i] * noise[j];
                }
                noise[i] /= lb[i][i];
            }
            let beta = solve(&b, &h).0;
            let u: Vec<f64> = (0..m).map(|i| (0..=i).map(|j| l[i][j] * (beta[j] + noise[j])).sum()).collect();
            let rhs: Vec<f64> = (0..m).map(|i| u[i] - g[z[i]]).collect();
            let weights = solve(&kzz, &rhs).0;
            let draw: Vec<f64> = (0..n).map(|x| g[x] + (0..m).map(|i| gram[x][z[i]] * weights[i]).sum::<f64>()).collect();
            let choice = argmax(&draw);
            data.push((choice, bench.value(choice, step as u64)));
        }
        assert_eq!(choices(&run), data.into_iter().map(|d| d.0).collect::<Vec<_>>());
    }
}

/// Random Fourier features reproduce the kernel they are drawn for.
#[test]
fn fourier_frequencies_have_the_kernels_law() {
    let mut rng = stream(1, 0);
    let kernel = Kernel::matern(2.5, 0.25, 1.0).unwrap();
    for distance in [0.05, 0.2, 0.5] {
        let mean = (0..200_000)
            .map(|_| {
                let normal: f64 = StandardNormal.sample(&mut rng);
                let chi: f64 = ChiSquared::new(5.0).unwrap().sample(&mut rng);
                (normal / 0.25 / (chi / 5.0).sqrt() * distance).cos()
            })
            .sum::<f64>()
            / 2e5;
        assert!((mean - kernel.value(&[0.0], &[distance])).abs() < 0.01);
    }
}

/// The contextual test bed: reward peaks where the action meets the context.
pub fn reward(context: &[f64], action: f64) -> f64 {
    1.0 - (action - 0.5 * (context[0] + context[1])).abs()
}

#[test]
fn contextual_optimism() {
    let budget = 60;
    let actions: Vec<f64> = (0..9).map(|i| f64::from(i) / 8.0 + 0.003 * f64::from(i * i)).collect();
    let kernel = Kernel::squared_exponential(0.4, 1.0).unwrap();
    let tau = 0.1;
    let mut mean_reward = [0.0, 0.0];
    for seed in 0..10u64 {
        let problem = Problem::new(Domain::Box(BoxDomain::new(vec![0.0; 3], vec![1.0, 1.0, 1.3]).unwrap()), budget)
            .unwrap()
            .with_seed(seed)
            .with_kernel(&kernel)
            .unwrap()
            .with_noise(Noise::gaussian(tau).unwrap())
            .unwrap();
        let policy = EkUcb::new(Points::on_line(actions.clone()).unwrap()).with_oversampling(0.8);
        let mut strategy = Strategy::new(problem, Policy::EkUcb(policy)).unwrap();
        let mut states: Vec<(Vec<f64>, f64)> = Vec::new();
        let mut dictionary: Vec<(usize, f64)> = Vec::new();
        for step in 0..budget {
            let mut rng = stream(100 + seed, step);
            let context = [rng.random::<f64>(), rng.random::<f64>()];
            assert!(strategy.ask(1).is_err(), "an ask without a context is refused");
            strategy.set_context(&context).unwrap();
            let Ask::Trials(trials) = strategy.ask(1).unwrap() else { panic!("a trial is due") };
            // The literal choice: all states so far and the nine at hand as one list.
            let mut rows: Vec<Vec<f64>> = states.iter().map(|s| s.0.clone()).collect();
            rows.extend(actions.iter().map(|&a| vec![context[0], context[1], a]));
            let gram: Vec<Vec<f64>> = rows.iter().map(|x| rows.iter().map(|y| kernel.value(x, y)).collect()).collect();
            let data: Vec<(usize, f64)> = states.iter().enumerate().map(|(i, s)| (i, s.1)).collect();
            let z: Vec<usize> = dictionary.iter().map(|d| d.0).collect();
            let p = posterior(&gram, tau, &z, &data);
            let scores: Vec<f64> = (step..step + 9).map(|x| p.mean[x] + 0.1 * p.variance[x].sqrt() / tau).collect();
            let choice = argmax(&scores);
            assert_eq!(trials[0].point, rows[step + choice], "seed {seed}, step {step}");
            let noise: f64 = StandardNormal.sample(&mut rng);
            let y = reward(&context, actions[choice]) + tau * noise;
            strategy.tell(trials[0].id, Outcome::Value(y)).unwrap();
            mean_reward[0] += reward(&context, actions[choice]);
            mean_reward[1] += reward(&context, actions[rng.random_range(0..9)]);
            // KORS with the leverage score of the new row, itself included.
            let state = rows[step + choice].clone();
            let probability = if dictionary.is_empty() {
                1.0
            } else {
                let at = |i: usize| &states[dictionary[i].0].0;
                let a: Vec<Vec<f64>> = (0..z.len())
                    .map(|i| {
                        let scaled = |j: usize| kernel.value(at(i), at(j)) / (dictionary[i].1 * dictionary[j].1).sqrt();
                        (0..z.len()).map(|j| scaled(j) + if i == j { tau * tau } else { 0.0 }).collect()
                    })
                    .collect();
                let b: Vec<f64> = (0..z.len()).map(|i| kernel.value(at(i), &state) / dictionary[i].1.sqrt()).collect();
                let u: f64 = b.iter().zip(solve(&a, &b).0).map(|(b, s)| b * s).sum();
                (0.8 * 1.5 * (1.0 - u) / (1.0 + tau * tau - u)).min(1.0)
            };
            states.push((state, y));
            if stream(seed, step).random::<f64>() < probability {
                dictionary.push((step, probability));
            }
        }
        assert_eq!(strategy.ask(1).unwrap(), Ask::Finished);
        let Policy::EkUcb(policy) = strategy.policy() else { unreachable!() };
        assert_eq!(policy.dictionary_len(), dictionary.len());
        assert!(dictionary.len() < budget, "the dictionary must be sparse for this test to mean anything");
        let restored = Strategy::from_bytes(&strategy.to_bytes()).unwrap();
        assert_eq!(restored, strategy);
        assert!(strategy.set_context(&[0.0]).is_err() && strategy.set_context(&[0.0, f64::NAN]).is_err());
    }
    let [ours, random] = mean_reward.map(|sum| sum / (10.0 * budget as f64));
    assert!(ours > random + 0.1, "{ours} against {random} at random");
}
