//! One ELBO value and gradient against one fit of the same size: n = 100 000, d = 8, m = 500, eight length-scales.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sigmabar::{Collected, FeatureMap, Kernel, Observations, Points, Posterior, Prior};
use std::sync::Arc;
use std::time::Instant;

const ROWS: usize = 100_000;
const DIM: usize = 8;
const INDUCING: usize = 500;
const REPEATS: usize = 3;

fn main() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let data: Vec<f64> = (0..ROWS * DIM).map(|_| rng.random::<f64>()).collect();
    let x = Points::new(data, DIM).expect("finite");
    let y: Vec<f64> = x.view().rows().map(|r| (4.0 * r[0]).sin() + r[1] * r[2] + 0.1 * rng.random::<f64>()).collect();
    let z = x.view().range(0, INDUCING).to_points();
    let observations = Observations::new(x, &y, Collected::DeclaredFixed, Prior::ZERO).expect("valid");
    let lengths = vec![0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5];
    let kernels = [
        ("squared exponential", Kernel::squared_exponential(lengths.clone(), 1.0)),
        ("Matérn 3/2", Kernel::matern(1.5, lengths.clone(), 1.0)),
        ("Matérn 5/2", Kernel::matern(2.5, lengths, 1.0)),
    ];
    for (name, kernel) in kernels {
        let kernel = kernel.expect("positive parameters");
        let fit = || {
            let features = FeatureMap::new(kernel.clone(), z.clone()).expect("valid");
            Posterior::fit(Arc::new(features), 0.2, observations.clone()).expect("fits")
        };
        let fit_time = best(|| drop(fit()));
        let both_time = best(|| drop(fit().elbo_gradient().expect("differentiable")));
        let method = fit().information().facts().method;
        println!(
            "{name}: fit {fit_time:.3} s ({method:?}), ELBO and gradient {both_time:.3} s, ratio {:.2} (at most 4)",
            both_time / fit_time
        );
    }
}

/// The shortest of a few runs, in seconds.
fn best(mut run: impl FnMut()) -> f64 {
    (0..REPEATS)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}
