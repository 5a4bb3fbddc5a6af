//! Choosing 1000 of 100 000 points by accelerated randomly pivoted Cholesky, beside a sparse fit of that size, in one process.
//!
//! `cargo bench -p sigmabar --bench inducing [-- n m repeats]` prints seconds and the ratio; the aim is at most 1.5. On Linux the processor
//! seconds of all threads stand beside the wall clock: on a busy machine only these say something.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sigmabar::inducing::{InducingRule, Stop};
use sigmabar::points::Locations;
use sigmabar::{Collected, FeatureMap, Kernel, Observations, Points, Posterior, Prior};
use std::sync::Arc;
use std::time::Instant;

/// Processor seconds of this process so far (user and system), from fields 14 and 15 of `/proc/self/stat` in ticks of 10 ms.
fn processor_seconds() -> f64 {
    let Ok(stat) = std::fs::read_to_string("/proc/self/stat") else { return f64::NAN };
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    after_name.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// The least wall-clock and processor seconds seen.
struct Best {
    wall: f64,
    processor: f64,
}

impl Best {
    fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (start, processor) = (Instant::now(), processor_seconds());
        let out = work();
        self.wall = self.wall.min(start.elapsed().as_secs_f64());
        self.processor = self.processor.min(processor_seconds() - processor);
        out
    }
}

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

    let mut selection = Best { wall: f64::INFINITY, processor: f64::INFINITY };
    let mut fit = Best { wall: f64::INFINITY, processor: f64::INFINITY };
    for repeat in 0..sizes.get(2).copied().unwrap_or(3) {
        let rule = InducingRule::RandomlyPivoted(Stop::at_size(m));
        let chosen = selection.time(|| rule.select(&kernel, ridge, &locations, repeat as u64))?;
        let trace = chosen.residual_norm().map_or(f64::NAN, |norm| norm.value);
        let posterior = fit.time(|| {
            let features = Arc::new(FeatureMap::new(&kernel, chosen.into_points())?);
            Posterior::fit(features, ridge, observations.clone())
        })?;
        println!("repeat {repeat}: certified trace {trace:.3e}, {:?}", posterior.information().facts());
    }
    let candidates = Locations::new(locations.points().range(0, n.div_ceil(10)).to_points(), Collected::DeclaredFixed);
    let mut greedy = Best { wall: f64::INFINITY, processor: f64::INFINITY };
    greedy.time(|| InducingRule::Greedy(Stop::at_size(m)).select(&kernel, ridge, &candidates, 0))?;
    println!("greedy, {m} of {}: {:.2} s, {:.2} s of processors", candidates.distinct(), greedy.wall, greedy.processor);
    println!("n = {n}, d = {dim}, m = {m}");
    println!("randomly pivoted Cholesky: {:.2} s, {:.2} s of processors", selection.wall, selection.processor);
    println!("sparse fit:                {:.2} s, {:.2} s of processors", fit.wall, fit.processor);
    println!(
        "ratio:                     {:.2}, {:.2} of processors (aim: at most 1.5)",
        selection.wall / fit.wall,
        selection.processor / fit.processor
    );
    Ok(())
}
