//! Fit and predict as ratios to the machine's own limit, in one run. `cargo bench -p sigmabar --bench regression -- 1000000` for a million rows.

use sigmabar::{Collected, FeatureMap, Kernel, Observations, Points, Posterior, Prior};
use sigmabar_linalg::{GramAccumulator, Lower};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

const DIMENSION: usize = 8;
const INDUCING: usize = 1000;
const QUERIES: usize = 100_000;
const BLOCK: usize = 1024;

fn main() {
    let rows = std::env::args().filter_map(|a| a.parse().ok()).next().unwrap_or(100_000);
    let repeats = if rows > 200_000 { 1 } else { 3 };
    println!("threads {}, m = {INDUCING}, d = {DIMENSION}, squared exponential", sigmabar::linalg::threads());
    let kernel = Kernel::squared_exponential(0.5, 1.0).expect("valid");
    let x = uniform(rows, 1);
    let y: Vec<f64> = x.view().rows().map(|p| (6.0 * p[0]).sin() + p[1] * p[2]).collect();
    let inducing = uniform(INDUCING, 2);
    let features = Arc::new(FeatureMap::new(kernel, inducing).expect("fits"));

    let solve = best_of(repeats, || time_solves(features.lower(), rows));
    let gram = best_of(repeats, || time_gram(rows));
    println!("triangular solve of {rows} × {INDUCING}: {solve:.3} s; Gram lower triangle: {gram:.3} s");

    let observations = Observations::new(x, &y, Collected::DeclaredFixed, Prior::ZERO).expect("valid");
    let before = peak_memory();
    let mut posterior = None;
    let fit = best_of(repeats, || {
        let start = Instant::now();
        posterior = Some(Posterior::fit(Arc::clone(&features), 0.1, observations.clone()).expect("fits"));
        start.elapsed().as_secs_f64()
    });
    let posterior = posterior.expect("fitted above");
    println!(
        "fit: {fit:.3} s = {:.2} × (solve + Gram)   [limit 1.3]   method {:?}",
        fit / (solve + gram),
        posterior.information().facts().method
    );

    println!("memory beyond the data while fitting: {:.0} MB   [limit 150]", peak_memory() - before);

    let queries = uniform(QUERIES, 3);
    let products = 2.0 * best_of(3, || time_solves(features.lower(), QUERIES));
    let predict = best_of(3, || {
        let start = Instant::now();
        black_box(posterior.predict(queries.view()).expect("predicts"));
        start.elapsed().as_secs_f64()
    });
    println!("predict mean and variance at {QUERIES}: {predict:.3} s = {:.2} × two triangular solves   [limit 1.3]", predict / products);
    let kernel_blocks = best_of(3, || time_kernel(&features, &queries));
    let mean = best_of(3, || {
        let start = Instant::now();
        black_box(posterior.mean(queries.view()).expect("predicts"));
        start.elapsed().as_secs_f64()
    });
    println!("predict mean at {QUERIES}: {mean:.3} s = {:.2} × kernel blocks ({kernel_blocks:.3} s)   [limit 1.5]", mean / kernel_blocks);
}

/// The peak of the process's memory so far, in megabytes (0 where the system does not tell).
fn peak_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|v| v.trim().trim_end_matches(" kB").trim().parse::<f64>().ok()).map_or(0.0, |kb| kb / 1024.0)
}

fn best_of(times: usize, mut f: impl FnMut() -> f64) -> f64 {
    (0..times).map(|_| f()).fold(f64::INFINITY, f64::min)
}

fn time_solves(lower: &Lower, rows: usize) -> f64 {
    let fresh: Vec<f64> = (0..BLOCK * lower.len()).map(|i| 0.5 + (i % 7) as f64).collect();
    let mut block = fresh.clone();
    let solve = |_| {
        block.copy_from_slice(&fresh);
        let start = Instant::now();
        lower.solve_rows(&mut block).expect("self-check");
        start.elapsed().as_secs_f64()
    };
    (0..rows.div_ceil(BLOCK)).map(solve).sum()
}

fn time_gram(rows: usize) -> f64 {
    let block = vec![0.5; BLOCK * INDUCING];
    let start = Instant::now();
    let mut gram = GramAccumulator::new(INDUCING);
    for _ in 0..rows.div_ceil(BLOCK) {
        gram.add_rows(&block);
    }
    black_box(gram.finish().expect("self-check"));
    start.elapsed().as_secs_f64()
}

fn time_kernel(features: &FeatureMap, queries: &Points) -> f64 {
    let mut out = vec![0.0; BLOCK * features.len()];
    let start = Instant::now();
    for first in (0..queries.len()).step_by(BLOCK) {
        let block = queries.view().range(first, (first + BLOCK).min(queries.len()));
        features.prepared().par_rows_into(block, &mut out[..block.len() * features.len()]);
        black_box(&out);
    }
    start.elapsed().as_secs_f64()
}

fn uniform(n: usize, seed: u64) -> Points {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    Points::new(std::iter::repeat_with(next).take(n * DIMENSION).collect(), DIMENSION).expect("finite")
}
