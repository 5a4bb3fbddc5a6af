//! Max-variance design as ratios in one run. `cargo bench --bench design`, or with the names of the parts wanted: `short sweep batch million long`.

use sigmabar::design::{Design, DictionarySize, MaxVariance};
use sigmabar::inducing::{InducingRule, Stop};
use sigmabar::points::Locations;
use sigmabar::{Collected, FeatureMap, Information, Kernel, Points};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

type Part = (&'static str, fn());

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let parts: [Part; 5] =
        [("short", against_plain_exact), ("batch", batch), ("sweep", against_plain_sweep), ("long", long_designs), ("million", million)];
    println!("threads {}", sigmabar::linalg::threads());
    for (name, part) in parts {
        if wanted.is_empty() || wanted.iter().any(|w| w == name) {
            part();
        }
    }
}

/// 500 of 10 000 candidates in four dimensions against the sweep that updates everything at every step.
fn against_plain_sweep() {
    let (candidates, ridge, count) = (uniform(10_000, 4, 1), 0.1, 500);
    let kernel = Kernel::matern(2.5, 1.0, 1.0).expect("valid");
    let locations = Locations::new(candidates.clone(), Collected::Designed);
    let rule = InducingRule::Greedy(Stop::at_size(500));
    let inducing = rule.select(&kernel, ridge, &locations, 0).expect("selects").into_points();
    let features = Arc::new(FeatureMap::new(kernel, inducing).expect("fits"));
    let design = MaxVariance::new(Arc::clone(&features), ridge).expect("valid");
    let (mut plain, mut lazy, mut single) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    for _ in 0..3 {
        let start = Instant::now();
        let expected = one.install(|| plain_sweep(&features, &candidates, ridge, count));
        plain = plain.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let chosen = one.install(|| design.choose(candidates.view(), count).expect("chooses"));
        single = single.min(start.elapsed().as_secs_f64());
        assert_eq!(chosen.indices(), expected, "the lazy design is the plain one");
        let start = Instant::now();
        let chosen = design.choose(candidates.view(), count).expect("chooses");
        lazy = lazy.min(start.elapsed().as_secs_f64());
        assert_eq!(chosen.indices(), expected);
    }
    println!("500 of 10 000, d = 4, m = {}: plain sweep {plain:.3} s, lazy {lazy:.3} s, lazy on one thread {single:.3} s", features.len());
    println!("  plain / lazy = {:.1}   [at least 5];   on one thread {:.1}", plain / lazy, plain / single);
}

/// Algorithm notes 0.2: W = F B⁻¹, var −= q²/s, W −= q W_iᵀ/s.
fn plain_sweep(features: &FeatureMap, candidates: &Points, ridge: f64, count: usize) -> Vec<usize> {
    let f = features.features(candidates.view()).expect("fits");
    let m = features.len();
    let mut w = f.clone();
    let mut variance = features.kernel().diagonal(candidates.view());
    let mut q = vec![0.0; candidates.len()];
    let mut picks = Vec::with_capacity(count);
    for _ in 0..count {
        let best = (1..variance.len()).fold(0, |best, i| if variance[i] > variance[best] { i } else { best });
        picks.push(best);
        let (f_best, w_best) = (f.row(best).to_vec(), w.row(best).to_vec());
        let s = ridge * ridge + sigmabar_linalg::dot(&f_best, &w_best);
        sigmabar_linalg::matvec_rows(w.as_slice(), &f_best, &mut q);
        for ((row, q), v) in w.as_mut_slice().chunks_exact_mut(m).zip(&q).zip(&mut variance) {
            *v -= q * q / s;
            let share = q / s;
            row.iter_mut().zip(&w_best).for_each(|(a, b)| *a -= share * b);
        }
    }
    picks
}

/// 500 of 10 000 candidates with inducing points of its own choosing, against the exact model updated everywhere at every step, as in `bench/peers/numpy_peer.py`.
fn against_plain_exact() {
    let (candidates, ridge, count) = (uniform(10_000, 4, 1), 0.1, 500);
    let kernel = Kernel::matern(2.5, 0.5, 1.0).expect("valid");
    let design = MaxVariance::growing(kernel.clone(), ridge, DictionarySize::default()).expect("valid");
    let (mut plain, mut lazy) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..3 {
        let start = Instant::now();
        let expected = plain_exact(&kernel, &candidates, ridge, count);
        plain = plain.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let chosen = design.choose(candidates.view(), count).expect("chooses");
        lazy = lazy.min(start.elapsed().as_secs_f64());
        assert_eq!(chosen.indices(), expected.0, "the lazy design is the plain one");
        assert!((chosen.max_std() - expected.1).abs() < 1e-9, "{} and {}", chosen.max_std(), expected.1);
    }
    println!("500 of 10 000, d = 4, exact model: plain {plain:.3} s, lazy {lazy:.3} s, plain / lazy = {:.1}   [at least 3]", plain / lazy);
}

/// The points chosen, and the largest standard deviation in the end.
fn plain_exact(kernel: &Kernel, candidates: &Points, ridge: f64, count: usize) -> (Vec<usize>, f64) {
    let n = candidates.len();
    let prepared = kernel.prepare(candidates.view()).expect("fits");
    let mut variance = kernel.diagonal(candidates.view());
    let mut rows: Vec<f64> = Vec::with_capacity(count * n);
    let mut picks = Vec::with_capacity(count);
    for _ in 0..count {
        let best = (1..n).fold(0, |best, i| if variance[i] > variance[best] { i } else { best });
        picks.push(best);
        let mut row = vec![0.0; n];
        prepared.par_rows_into(candidates.view().range(best, best + 1), &mut row);
        let here: Vec<f64> = rows.chunks_exact(n).map(|row| -row[best]).collect();
        sigmabar_linalg::add_transposed_matvec(&rows, &here, &mut row);
        let root = (variance[best] + ridge * ridge).sqrt();
        row.iter_mut().zip(&mut variance).for_each(|(g, v)| {
            *g /= root;
            *v -= *g * *g;
        });
        rows.extend_from_slice(&row);
    }
    (picks, variance.into_iter().fold(0.0, f64::max).sqrt())
}

/// 10 000 points from 100 000 candidates in six dimensions, with the memory the process has ever used.
fn batch() {
    let candidates = uniform(100_000, 6, 2);
    let kernel = Kernel::matern(2.5, 3.0, 1.0).expect("valid");
    let design = MaxVariance::growing(kernel, 0.3, DictionarySize::at_most(600)).expect("valid");
    let start = Instant::now();
    let chosen = design.choose(candidates.view(), 10_000).expect("chooses");
    let seconds = start.elapsed().as_secs_f64();
    println!("10 000 of 100 000, d = 6: {seconds:.1} s, {}", summary(&chosen));
    println!("  peak memory of the process {:.0} MB   [at most 1000]", peak_memory() / 1e6);
}

/// Ten times as many measurements, on 2500 candidates in two dimensions.
fn long_designs() {
    let candidates = uniform(2500, 2, 3);
    let kernel = Kernel::matern(2.5, 0.3, 1.0).expect("valid");
    let design = MaxVariance::growing(kernel, 0.2, DictionarySize::at_most(600)).expect("valid");
    let mut seconds = Vec::new();
    for count in [10_000, 100_000] {
        let start = Instant::now();
        let chosen = design.choose(candidates.view(), count).expect("chooses");
        seconds.push(start.elapsed().as_secs_f64());
        println!("{count} on 2500, d = 2: {:.2} s, {}", seconds[seconds.len() - 1], summary(&chosen));
    }
    println!("  ratio {:.1}   [at most 14]", seconds[1] / seconds[0]);
}

/// A million candidates whose features are not kept: one choice is one sweep.
fn million() {
    let candidates = uniform(1_000_000, 6, 4);
    let kernel = Kernel::matern(2.5, 2.0, 1.0).expect("valid");
    let features = Arc::new(FeatureMap::new(kernel, uniform(500, 6, 5)).expect("fits"));
    let measured = Arc::new(Locations::new(uniform(1000, 6, 6), Collected::DeclaredFixed));
    let information = Information::new(Arc::clone(&features), 0.1, Arc::clone(&measured)).expect("fits");
    let start = Instant::now();
    let variance = black_box(information.variance(candidates.view()).expect("predicts"));
    let predict = start.elapsed().as_secs_f64();
    let design = MaxVariance::new(features, 0.1).expect("valid").after(measured);
    let start = Instant::now();
    let chosen = design.choose(candidates.view(), 1).expect("chooses");
    let sweep = start.elapsed().as_secs_f64();
    let best = (1..variance.len()).fold(0, |best, i| if variance[i] > variance[best] { i } else { best });
    assert_eq!(chosen.indices(), [best]);
    println!(
        "1 of 1 000 000, d = 6, m = 500: {sweep:.2} s = {:.2} × variance at as many points ({predict:.2} s)   [at most 1.5]",
        sweep / predict
    );
}

fn summary(design: &Design) -> String {
    let distinct = design.information().distinct();
    let m = design.information().features().len();
    format!("m = {m}, {distinct} distinct, largest standard deviation {:.4}, bound {:.4}", design.max_std(), design.variance_bound().sqrt())
}

/// The largest resident size so far, in bytes; 0 where the system does not say.
fn peak_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.trim().trim_end_matches(" kB").trim().parse::<f64>().ok()).map_or(0.0, |kilobytes| 1024.0 * kilobytes)
}

fn uniform(n: usize, dim: usize, seed: u64) -> Points {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    Points::new(std::iter::repeat_with(next).take(n * dim).collect(), dim).expect("finite")
}
