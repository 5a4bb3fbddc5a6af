//! Plain loops for the strategies' tests: a problem of known norm, a driver, and dense posteriors computed from scratch.
#![allow(dead_code, clippy::unwrap_used)]

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use sigmabar::domain::ListDomain;
use sigmabar::{Ask, Domain, Kernel, Noise, Outcome, Points, Policy, Problem, Strategy};

/// A function $\sum_j\alpha_jk(\cdot,c_j)$ of known norm on a list of random points of the unit square.
pub struct Bench {
    pub kernel: Kernel,
    pub points: Vec<Vec<f64>>,
    pub truth: Vec<f64>,
    pub norm: f64,
    pub noise: f64,
    pub seed: u64,
}

impl Bench {
    pub fn new(count: usize, lengthscale: f64, noise: f64, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(1000 + seed);
        let kernel = Kernel::matern(2.5, lengthscale, 1.0).unwrap();
        let mut point = || vec![rng.random::<f64>(), rng.random::<f64>()];
        let points: Vec<Vec<f64>> = (0..count).map(|_| point()).collect();
        let centres: Vec<Vec<f64>> = (0..12).map(|_| point()).collect();
        let alpha: Vec<f64> = (0..12).map(|_| 2.0 * rng.random::<f64>() - 1.0).collect();
        let mut squared = 0.0;
        for i in 0..12 {
            for j in 0..12 {
                squared += alpha[i] * alpha[j] * kernel.value(&centres[i], &centres[j]);
            }
        }
        let norm = squared.sqrt();
        let scale = 2.0 / norm;
        let truth = points.iter().map(|x| scale * (0..12).map(|j| alpha[j] * kernel.value(x, &centres[j])).sum::<f64>()).collect();
        Self { kernel, points, truth, norm: 2.0, noise, seed }
    }

    pub fn domain(&self) -> Domain {
        Domain::List(ListDomain::new(Points::from_rows(&self.points).unwrap()).unwrap())
    }

    pub fn problem(&self, budget: usize) -> Problem {
        Problem::new(self.domain(), budget)
            .unwrap()
            .with_seed(self.seed)
            .with_kernel(&self.kernel)
            .unwrap()
            .with_noise(Noise::gaussian(self.noise).unwrap())
            .unwrap()
            .with_norm_bound(self.norm)
            .unwrap()
    }

    /// The value told for a trial: the noise belongs to the trial, not to the order of telling.
    pub fn value(&self, candidate: usize, id: u64) -> f64 {
        self.truth[candidate] + self.noise * noise(self.seed, id)
    }

    pub fn best(&self) -> f64 {
        self.truth.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// Runs a policy to its end, one worker; the candidates evaluated.
    pub fn run(&self, policy: Policy, budget: usize) -> Strategy {
        let mut strategy = Strategy::new(self.problem(budget), policy).unwrap();
        self.finish(&mut strategy);
        strategy
    }

    pub fn finish(&self, strategy: &mut Strategy) {
        loop {
            match strategy.ask(1).unwrap() {
                Ask::Trials(trials) => {
                    for t in trials {
                        strategy.tell(t.id, Outcome::Value(self.value(t.candidate.unwrap(), t.id))).unwrap();
                    }
                }
                Ask::Finished => return,
                other => panic!("a lone worker never waits: {other:?}"),
            }
        }
    }

    pub fn gram(&self) -> Vec<Vec<f64>> {
        self.points.iter().map(|x| self.points.iter().map(|z| self.kernel.value(x, z)).collect()).collect()
    }

    pub fn cumulative_regret(&self, choices: &[usize]) -> f64 {
        choices.iter().map(|&a| self.best() - self.truth[a]).sum()
    }
}

pub fn noise(seed: u64, id: u64) -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(seed.wrapping_mul(7919).wrapping_add(id));
    StandardNormal.sample(&mut rng)
}

/// The candidates of all trials in order.
pub fn choices(strategy: &Strategy) -> Vec<usize> {
    strategy.ledger().trials().iter().map(|t| t.candidate.unwrap()).collect()
}

/// The random numbers of a step, as documented: the problem's seed, one stream a step.
pub fn stream(seed: u64, step: usize) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(step as u64 + 1);
    rng
}

pub fn normals(rng: &mut ChaCha8Rng, count: usize) -> Vec<f64> {
    (0..count).map(|_| StandardNormal.sample(rng)).collect()
}

/// Solves a symmetric positive definite system by plain Cholesky; the log-determinant too.
pub fn solve(a: &[Vec<f64>], b: &[f64]) -> (Vec<f64>, f64) {
    let l = cholesky(a);
    (solve_factored(&l, b), 2.0 * (0..b.len()).map(|i| l[i][i].ln()).sum::<f64>())
}

pub fn solve_factored(l: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let n = b.len();
    let mut x = b.to_vec();
    for i in 0..n {
        for j in 0..i {
            x[i] -= l[i][j] * x[j];
        }
        x[i] /= l[i][i];
    }
    for i in (0..n).rev() {
        for j in i + 1..n {
            x[i] -= l[j][i] * x[j];
        }
        x[i] /= l[i][i];
    }
    x
}

pub fn cholesky(a: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let n = a.len();
    let mut l = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let mut sum = a[i][j];
            for k in 0..j {
                sum -= l[i][k] * l[j][k];
            }
            l[i][j] = if i == j { sum.sqrt() } else { sum / l[j][j] };
        }
    }
    l
}

/// The exact posterior at all candidates from one row per observation, repeats as rows of their own.
pub struct Dense {
    pub mean: Vec<f64>,
    pub variance: Vec<f64>,
    /// $\log\det(I + K/\tau^2)$.
    pub log_det: f64,
}

pub fn dense(gram: &[Vec<f64>], tau: f64, data: &[(usize, f64)]) -> Dense {
    let n = data.len();
    let (mut a, y): (Vec<Vec<f64>>, Vec<f64>) =
        (data.iter().map(|&(i, _)| data.iter().map(|&(j, _)| gram[i][j]).collect()).collect(), data.iter().map(|d| d.1).collect());
    (0..n).for_each(|i| a[i][i] += tau * tau);
    let (weights, log) = solve(&a, &y);
    let factor = cholesky(&a);
    let mut out = Dense { mean: vec![], variance: vec![], log_det: log - n as f64 * (tau * tau).ln() };
    for x in 0..gram.len() {
        let k: Vec<f64> = data.iter().map(|&(i, _)| gram[x][i]).collect();
        out.mean.push(k.iter().zip(&weights).map(|(k, w)| k * w).sum());
        let s = solve_factored(&factor, &k);
        out.variance.push((gram[x][x] - k.iter().zip(&s).map(|(k, s)| k * s).sum::<f64>()).max(0.0));
    }
    out
}

/// The sparse posterior with inducing candidates `z`: $\bar\mu = k_Z^\top A^{-1}K_{ZX}y$, $\bar\sigma^2 = k - k_Z^\top K_{ZZ}^{-1}k_Z + \tau^2k_Z^\top A^{-1}k_Z$,
/// $A = \tau^2K_{ZZ} + K_{ZX}K_{XZ}$.
pub struct Sparse {
    pub mean: Vec<f64>,
    pub variance: Vec<f64>,
    pub covariance: Vec<Vec<f64>>,
}

pub fn sparse(gram: &[Vec<f64>], tau: f64, z: &[usize], data: &[(usize, f64)]) -> Sparse {
    let m = z.len();
    let kzz: Vec<Vec<f64>> = z.iter().map(|&i| z.iter().map(|&j| gram[i][j]).collect()).collect();
    let mut a = kzz.iter().map(|row| row.iter().map(|k| tau * tau * k).collect::<Vec<f64>>()).collect::<Vec<_>>();
    let mut h = vec![0.0; m];
    for &(x, y) in data {
        for i in 0..m {
            h[i] += gram[z[i]][x] * y;
            for j in 0..m {
                a[i][j] += gram[z[i]][x] * gram[z[j]][x];
            }
        }
    }
    let count = gram.len();
    let kz: Vec<Vec<f64>> = (0..count).map(|x| z.iter().map(|&i| gram[x][i]).collect()).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let weights = solve(&a, &h).0;
    let (prior_factor, post_factor) = (cholesky(&kzz), cholesky(&a));
    let prior: Vec<Vec<f64>> = kz.iter().map(|k| solve_factored(&prior_factor, k)).collect();
    let post: Vec<Vec<f64>> = kz.iter().map(|k| solve_factored(&post_factor, k)).collect();
    let covariance: Vec<Vec<f64>> =
        (0..count).map(|x| (0..count).map(|y| gram[x][y] - dot(&kz[x], &prior[y]) + tau * tau * dot(&kz[x], &post[y])).collect()).collect();
    Sparse {
        mean: kz.iter().map(|k| dot(k, &weights)).collect(),
        variance: (0..count).map(|x| covariance[x][x].max(0.0)).collect(),
        covariance,
    }
}

/// The largest, the first of equals.
pub fn argmax(scores: &[f64]) -> usize {
    let mut best = 0;
    for (i, s) in scores.iter().enumerate() {
        if *s > scores[best] {
            best = i;
        }
    }
    best
}
