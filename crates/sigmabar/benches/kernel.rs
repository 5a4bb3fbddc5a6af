//! How fast kernel blocks are, and what share of that the exponential takes.
//!
//! `cargo bench -p sigmabar --bench kernel`

use sigmabar::kernel::PreparedKernel;
use sigmabar::{Kernel, Points};
use std::hint::black_box;
use std::time::Instant;

/// 128 × 256 entries: 256 KiB of output and 16 KiB of points, within the second-level cache.
const ROWS: usize = 128;
const COLUMNS: usize = 256;
const DIM: usize = 8;

fn points(count: usize, seed: u64) -> Points {
    let mut state = seed;
    let values = (0..count * DIM).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    });
    Points::new(values.collect(), DIM).expect("valid points")
}

/// Best of many runs, in entries per nanosecond.
fn rate(mut run: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..400 {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed().as_secs_f64());
    }
    (ROWS * COLUMNS) as f64 / best * 1e-9
}

fn main() {
    let x = points(ROWS, 1);
    let z = points(COLUMNS, 2);
    let lengths: Vec<f64> = (0..DIM).map(|i| 0.4 + 0.1 * i as f64).collect();
    let kernels = [
        ("squared exponential", Kernel::squared_exponential(lengths.clone(), 1.3)),
        ("Matérn 1/2", Kernel::matern(0.5, lengths.clone(), 1.3)),
        ("Matérn 3/2", Kernel::matern(1.5, lengths.clone(), 1.3)),
        ("Matérn 5/2", Kernel::matern(2.5, lengths.clone(), 1.3)),
        ("Matérn 1.7", Kernel::matern(1.7, lengths.clone(), 1.3)),
        ("rational quadratic", Kernel::rational_quadratic(1.5, lengths.clone(), 1.3)),
        ("periodic", Kernel::periodic(1.5, lengths.clone(), 1.3)),
        ("Hamming", Kernel::hamming(lengths.clone(), 1.3)),
        ("linear", Kernel::linear(0.5, lengths, 1.3)),
    ];
    println!("{ROWS} × {COLUMNS}, d = {DIM}, one thread; entries per nanosecond");
    println!("{:>20} {:>9} {:>9} {:>7} {:>9} {:>7}", "", "values", "distance", "ratio", "gradient", "cost");
    let mut out = vec![0.0; ROWS * COLUMNS];
    for (name, kernel) in kernels {
        let prepared: PreparedKernel = kernel.expect("valid kernel").prepare(z.view()).expect("fitting points");
        let values = rate(|| prepared.rows_into(black_box(x.view()), black_box(&mut out)));
        let distances = if prepared.distances_into(x.view(), &mut out) {
            rate(|| assert!(prepared.distances_into(black_box(x.view()), black_box(&mut out))))
        } else {
            f64::NAN
        };
        let weights = vec![1.0; ROWS * COLUMNS];
        let mut grad = vec![0.0; prepared.parameter_count()];
        let gradient = rate(|| prepared.gradient_rows(black_box(x.view()), black_box(&weights), black_box(&mut grad)));
        println!("{name:>20} {values:9.3} {distances:9.3} {:6.1}% {gradient:9.3} {:6.2}×", 100.0 * values / distances, values / gradient);
    }
}
