//! Gradients of the exact evidence and of the ELBO against central differences.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sigmabar::evidence::EvidenceGradient;
use sigmabar::posterior::ExactPosterior;
use sigmabar::{Collected, FeatureMap, Kernel, Observations, Points, Posterior, Prior};
use std::sync::Arc;

struct Case {
    kernel: Kernel,
    ridge: f64,
    x: Points,
    y: Vec<f64>,
    z: Points,
    mean: f64,
}

fn points(rng: &mut ChaCha8Rng, rows: usize, dim: usize) -> Points {
    Points::new((0..rows * dim).map(|_| rng.random::<f64>()).collect(), dim).unwrap()
}

/// `n` rows, the last fifth of them repeated, so that counts are 1 and 2.
fn case(kernel: Kernel, ridge: f64, n: usize, m: usize, seed: u64) -> Case {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut x = points(&mut rng, n, 3);
    for i in 0..n / 5 {
        let repeated = x.row(n - 1 - i).to_vec();
        x.push(&repeated).unwrap();
    }
    let y = (0..x.len()).map(|i| (5.0 * x.row(i)[0]).sin() + x.row(i)[1] + 0.1 * rng.random::<f64>()).collect();
    let z = points(&mut rng, m, 3);
    Case { kernel, ridge, x, y, z, mean: 0.3 }
}

impl Case {
    fn observations(&self, mean: f64) -> Observations {
        Observations::new(self.x.clone(), &self.y, Collected::DeclaredFixed, Prior::declared(mean, 1.7).unwrap()).unwrap()
    }

    fn sparse(&self, theta: &[f64], mean: f64) -> Posterior {
        let (tau, theta) = theta.split_last().unwrap();
        let kernel = self.kernel.with_log_parameters(theta).unwrap();
        let features = FeatureMap::new(kernel, self.z.clone()).unwrap();
        Posterior::fit(Arc::new(features), tau.exp(), self.observations(mean)).unwrap()
    }

    fn exact(&self, theta: &[f64], mean: f64) -> ExactPosterior {
        let (tau, theta) = theta.split_last().unwrap();
        ExactPosterior::new(self.kernel.with_log_parameters(theta).unwrap(), tau.exp(), self.observations(mean)).unwrap()
    }

    fn start(&self) -> Vec<f64> {
        let mut theta = self.kernel.log_parameters();
        theta.push(self.ridge.ln());
        theta
    }

    fn check(&self, gradient: &EvidenceGradient, value: impl Fn(&[f64], f64) -> f64) {
        self.check_with(1e-5, 1e-6, gradient, value);
    }

    /// Every derivative against the central difference over `step`, allowing `tolerance` times the largest number around.
    fn check_with(&self, step: f64, tolerance: f64, gradient: &EvidenceGradient, value: impl Fn(&[f64], f64) -> f64) {
        let start = self.start();
        let mut found = gradient.kernel.clone();
        found.push(gradient.ridge);
        let scale = found.iter().fold(gradient.value.abs(), |a, g| a.max(g.abs())).max(1.0);
        assert!((gradient.value - value(&start, self.mean)).abs() <= 1e-12 * scale);
        for (p, g) in found.iter().enumerate() {
            let moved = |by: f64| {
                let mut theta = start.clone();
                theta[p] += by;
                value(&theta, self.mean)
            };
            let slope = (moved(step) - moved(-step)) / (2.0 * step);
            assert!(
                (slope - g).abs() <= tolerance * scale,
                "parameter {p}: {g} against {slope} for {:?}, ridge {}",
                self.kernel,
                self.ridge
            );
        }
        let slope = (value(&start, self.mean + step) - value(&start, self.mean - step)) / (2.0 * step);
        assert!((slope - gradient.mean).abs() <= tolerance * scale.max(slope.abs()), "mean: {} against {slope}", gradient.mean);
    }
}

fn kernels() -> Vec<Kernel> {
    let se = |l: [f64; 3]| Kernel::squared_exponential(l, 1.3).unwrap();
    vec![
        Kernel::squared_exponential(0.4, 0.8).unwrap(),
        se([0.3, 0.6, 1.1]),
        Kernel::matern(0.5, [0.5, 0.7, 0.9], 1.1).unwrap(),
        Kernel::matern(1.5, [0.3, 0.6, 1.1], 0.7).unwrap(),
        Kernel::matern(2.5, 0.5, 1.4).unwrap(),
        Kernel::matern(1.1, [0.4, 0.6, 1.1], 0.9).unwrap(),
        Kernel::rational_quadratic(1.3, [0.3, 0.6, 1.1], 0.9).unwrap(),
        Kernel::periodic(1.3, 0.9, 1.2).unwrap(),
        Kernel::linear(0.5, [0.8, 1.0, 1.3], 0.6).unwrap(),
        se([0.3, 0.6, 1.1]) + Kernel::linear(0.5, 1.0, 0.4).unwrap(),
        Kernel::matern(2.5, [0.5, 0.6], 0.9).unwrap().columns(vec![0, 2]).unwrap()
            * Kernel::squared_exponential(0.7, 1.0).unwrap().columns(vec![1]).unwrap(),
        Kernel::matern(1.5, 0.6, 0.9).unwrap() * (Kernel::linear(1.0, 1.0, 0.5).unwrap() + se([0.9, 0.9, 0.9])),
    ]
}

#[test]
fn the_exact_gradient_is_the_slope() {
    for (seed, kernel) in kernels().into_iter().enumerate() {
        for ridge in [0.05, 0.7] {
            let case = case(kernel.clone(), ridge, 30, 1, seed as u64);
            let gradient = case.exact(&case.start(), case.mean).log_evidence_gradient().unwrap();
            case.check(&gradient, |theta, mean| case.exact(theta, mean).log_evidence());
        }
    }
}

#[test]
fn the_elbo_gradient_is_the_slope() {
    for (seed, kernel) in kernels().into_iter().enumerate() {
        for ridge in [0.05, 0.7] {
            for m in [1, 12] {
                let case = case(kernel.clone(), ridge, 40, m, seed as u64);
                let gradient = case.sparse(&case.start(), case.mean).elbo_gradient().unwrap();
                case.check(&gradient, |theta, mean| case.sparse(theta, mean).elbo());
            }
        }
    }
}

#[test]
fn a_small_ridge_and_several_blocks_keep_the_gradient() {
    let kernel = Kernel::matern(1.5, [0.4, 0.6, 1.1], 1.0).unwrap();
    for (ridge, n) in [(1e-2, 60), (1e-3, 60), (0.2, 2500)] {
        let case = case(kernel.clone(), ridge, n, 20, 7);
        let gradient = case.sparse(&case.start(), case.mean).elbo_gradient().unwrap();
        case.check(&gradient, |theta, mean| case.sparse(theta, mean).elbo());
    }
}

#[test]
fn an_ill_conditioned_factor_keeps_the_gradient() {
    // cond(L)² is far above the limit of the short cut, and no point is dropped.
    let mut case = case(Kernel::squared_exponential([0.9, 1.0, 1.1], 1.0).unwrap(), 0.1, 60, 14, 3);
    for i in 0..5 {
        let mut near = case.z.row(i).to_vec();
        near[0] += 2e-2;
        case.z.push(&near).unwrap();
    }
    let posterior = case.sparse(&case.start(), case.mean);
    assert_eq!(posterior.information().features().len(), 19);
    assert!(posterior.information().features().condition().powi(2) > 1e8);
    // The value itself carries ε·cond(L)², so the step must be longer.
    case.check_with(1e-3, 1e-5, &posterior.elbo_gradient().unwrap(), |theta, mean| case.sparse(theta, mean).elbo());
}

#[test]
fn repeated_inducing_points_take_no_part() {
    let mut case = case(Kernel::matern(2.5, [0.4, 0.6, 1.1], 1.0).unwrap(), 0.1, 40, 10, 5);
    let plain = case.sparse(&case.start(), case.mean).elbo_gradient().unwrap();
    let repeated = case.z.row(3).to_vec();
    case.z.push(&repeated).unwrap();
    let repeated = case.sparse(&case.start(), case.mean).elbo_gradient().unwrap();
    assert!((plain.value - repeated.value).abs() < 1e-9 * plain.value.abs());
    for (a, b) in plain.kernel.iter().zip(&repeated.kernel) {
        assert!((a - b).abs() < 1e-8 * (1.0 + a.abs()), "{a} against {b}");
    }
}

#[test]
fn every_point_inducing_gives_the_exact_gradient() {
    for (seed, kernel) in kernels().into_iter().enumerate() {
        if matches!(kernel, Kernel::Linear(_)) {
            continue; // rank 4: the dropped points leave the directional derivatives as they are, but not the adjoints of the length-scales
        }
        let mut case = case(kernel, 0.3, 25, 1, 90 + seed as u64);
        case.z = case.observations(case.mean).locations().points().to_points();
        let sparse = case.sparse(&case.start(), case.mean).elbo_gradient().unwrap();
        let exact = case.exact(&case.start(), case.mean).log_evidence_gradient().unwrap();
        let scale = exact.kernel.iter().fold(exact.value.abs(), |a, g| a.max(g.abs()));
        assert!((sparse.value - exact.value).abs() <= 1e-8 * scale);
        assert!((sparse.ridge - exact.ridge).abs() <= 1e-7 * scale);
        assert!((sparse.mean - exact.mean).abs() <= 1e-7 * scale.max(exact.mean.abs()));
        for (a, b) in sparse.kernel.iter().zip(&exact.kernel) {
            assert!((a - b).abs() <= 1e-7 * scale, "{a} against {b} for {:?}", case.kernel);
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let case = case(Kernel::matern(1.5, [0.4, 0.6, 1.1], 1.0).unwrap(), 0.1, 1500, 70, 5);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| case.sparse(&case.start(), case.mean).elbo_gradient().unwrap())
    };
    assert_eq!(with(1), with(2));
    assert_eq!(with(2), with(5));
}
