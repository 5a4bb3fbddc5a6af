//! Choosing 1000 of 100 000 points by accelerated randomly pivoted Cholesky, beside a sparse fit of that size, in one process.
//!
//! `cargo bench -p sigmabar --bench inducing [-- n m]` prints seconds and the ratio; the aim is at most 1.5.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sigmabar::{Collected, FeatureMap, InducingRule, Kernel, Locations, Observations, Points, Posterior, Prior, Stop};
use std::sync::Arc;
use std::time::Instant;

const REPEATS: usize = 3;

fn main() -> sigmabar::Result<()> {
    let sizes: Vec<usize> = std::env::args().filter_map(|a| a.parse().ok()).collect();
    let n = sizes.first().copied().unwrap_or(100_000);
    let m = sizes.get(1).copied().unwrap_or(1000);
    let dim = 8;
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let x: Vec<f64> = (0..n * dim).map(|_| rng.random::<f64>()).collect();
    let y: Vec<f64> = x.chunks_exact(dim).map(|row| row.iter().map(|v| (3.0 * v).sin()).sum::<f64>() + rng.random::<f64>()).collect();
    let locations = Arc::new(Locations::new(Points::new(x, dim)?, Collected::DeclaredFixed));
    let observations = Observations::at(Arc::clone(&locations), &y, Prior::ZERO)?;
    let kernel = Kernel::squared_exponential(1.0, 1.0)?;
    let ridge = 0.3;

    let mut select_seconds = f64::INFINITY;
    let mut fit_seconds = f64::INFINITY;
    for repeat in 0..REPEATS {
        let start = Instant::now();
        let rule = InducingRule::RandomlyPivoted(Stop::at_size(m));
        let chosen = rule.select(&kernel, ridge, &locations, repeat as u64)?;
        select_seconds = select_seconds.min(start.elapsed().as_secs_f64());
        let trace = chosen.residual_norm().map_or(f64::NAN, |norm| norm.value);
        let start = Instant::now();
        let features = Arc::new(FeatureMap::new(&kernel, chosen.into_points())?);
        let posterior = Posterior::fit(features, ridge, observations.clone())?;
        fit_seconds = fit_seconds.min(start.elapsed().as_secs_f64());
        println!("repeat {repeat}: trace {trace:.4e}, features {}", posterior.information().features().len());
    }
    println!("n = {n}, d = {dim}, m = {m}");
    println!("randomly pivoted Cholesky: {select_seconds:.2} s");
    println!("sparse fit:                {fit_seconds:.2} s");
    println!("ratio:                     {:.2} (aim: at most 1.5)", select_seconds / fit_seconds);
    Ok(())
}
