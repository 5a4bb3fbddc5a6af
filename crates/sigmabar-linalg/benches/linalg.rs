//! Our tiled routines beside the back-end's own parallel ones, block by block in turn so that noise hits both.
//!
//! `cargo bench -p sigmabar-linalg [-- name …]` with names among solve, gram, product, cholesky, qr, eigen, update.
#![allow(missing_docs)]

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::{matmul, triangular};
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Accum, Mat, MatMut, MatRef, Par, Spec};
use sigmabar_linalg::*;
use std::time::Instant;

const TOTAL: usize = 100_000;

fn random(n: usize) -> Vec<f64> {
    let mut s = 0x1234_5678_9abc_def1_u64;
    (0..n)
        .map(|_| {
            s ^= s << 13;
            s ^= s >> 7;
            s ^= s << 17;
            (s >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        })
        .collect()
}

fn time(f: impl FnOnce()) -> f64 {
    let start = Instant::now();
    f();
    start.elapsed().as_secs_f64()
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Prints the medians of alternating runs, scaled to `times` runs.
fn report(name: &str, runs: usize, times: f64, flops: f64, mut ours: impl FnMut() -> f64, mut theirs: impl FnMut() -> f64) {
    ours();
    theirs();
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        a.push(ours());
        b.push(theirs());
    }
    let (a, b) = (median(&mut a), median(&mut b));
    println!(
        "{name:<34} {:9.2} ms {:7.1} GFLOP/s   faer rayon(2) {:9.2} ms {:7.1} GFLOP/s   ratio {:.3}",
        a * times * 1e3,
        flops / a / 1e9,
        b * times * 1e3,
        flops / b / 1e9,
        a / b
    );
}

fn positive(m: usize) -> Matrix {
    let rows = random(2 * m * m);
    let mut g = GramAccumulator::new(m);
    g.add_rows(&rows);
    let mut g = g.finish().expect("a sound product");
    g.mirror_lower();
    g
}

fn main() {
    let names: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let wanted = |name: &str| names.is_empty() || names.iter().any(|n| n == name);
    let two = Par::rayon(2);
    let m = 1000;
    let fm = m as f64;
    if wanted("solve") {
        let l = Lower::cholesky(&positive(m)).expect("a positive definite matrix");
        let row_major = l.to_matrix();
        let column_major = Mat::from_fn(m, m, |i, j| l.get(i, j));
        for b in [512, 1024, 2048] {
            let source = random(b * m);
            let (mut x, mut y) = (source.clone(), source.clone());
            let blocks = TOTAL as f64 / b as f64;
            let flops = b as f64 * fm * fm;
            let runs = 40 * 1024 / b;
            let mut ours = || {
                x.copy_from_slice(&source);
                time(|| l.solve_rows(&mut x).expect("a sound solve"))
            };
            let mut faer_solve = |l: MatRef<'_, f64>| {
                y.copy_from_slice(&source);
                time(|| solve_lower_triangular_in_place(l, MatMut::from_column_major_slice_mut(&mut y, m, b), two))
            };
            report(&format!("solve {b} rows, column-major L"), runs, blocks, flops, &mut ours, || faer_solve(column_major.as_ref()));
            report(&format!("solve {b} rows, row-major L"), runs, blocks, flops, &mut ours, || {
                faer_solve(MatRef::from_row_major_slice(row_major.as_slice(), m, m))
            });
            let ours = || {
                x.copy_from_slice(&source);
                time(|| l.solve_transposed_rows(&mut x).expect("a sound solve"))
            };
            let theirs = || {
                y.copy_from_slice(&source);
                let u = column_major.as_ref().transpose();
                time(|| solve_upper_triangular_in_place(u, MatMut::from_column_major_slice_mut(&mut y, m, b), two))
            };
            report(&format!("solve transposed {b} rows"), runs, blocks, flops, ours, theirs);
        }
    }
    if wanted("gram") {
        for b in [256, 512, 1024, 2048] {
            let rows = random(b * m);
            let mut sum = GramAccumulator::new(m);
            let mut single = Matrix::zeros(m, m);
            let mut g = Mat::<f64>::zeros(m, m);
            let blocks = TOTAL as f64 / b as f64;
            let flops = b as f64 * fm * fm;
            let runs = 40 * 1024 / b;
            let mut faer_gram = || {
                use triangular::BlockStructure::{Rectangular, TriangularLower};
                let a = MatRef::from_column_major_slice(&rows, m, b);
                time(|| {
                    triangular::matmul(g.as_mut(), TriangularLower, Accum::Add, a, Rectangular, a.transpose(), Rectangular, 1.0, two);
                })
            };
            report(&format!("gram stream, {b} rows"), runs, blocks, flops, || time(|| sum.add_rows(&rows)), &mut faer_gram);
            let ours = || time(|| add_gram(&mut single, &rows).expect("a sound product"));
            report(&format!("gram checked per call, {b} rows"), runs, blocks, flops, ours, &mut faer_gram);
        }
    }
    if wanted("product") {
        for n in [500, 1000, 2000] {
            let (a, b) = (Matrix::from_vec(random(n * n), n, n), Matrix::from_vec(random(n * n), n, n));
            let mut c = Mat::<f64>::zeros(n, n);
            let (fa, fb) = (Mat::from_fn(n, n, |i, j| a[(i, j)]), Mat::from_fn(n, n, |i, j| b[(i, j)]));
            let theirs = || time(|| matmul(c.as_mut(), Accum::Replace, fa.as_ref(), fb.as_ref(), 1.0, two));
            let ours = || time(|| drop(product(&a, &b).expect("a sound product")));
            report(&format!("product {n}³"), 16_000 / n, 1.0, 2.0 * (n as f64).powi(3), ours, theirs);
        }
    }
    if wanted("cholesky") {
        for n in [250, 500, 1000, 2000] {
            let a = positive(n);
            let source = Mat::from_fn(n, n, |i, j| a[(i, j)]);
            let mut l = source.clone();
            let mut memory = MemBuffer::new(cholesky_in_place_scratch::<f64>(n, two, Spec::default()));
            let theirs = || {
                l.copy_from(&source);
                time(|| {
                    let stack = MemStack::new(&mut memory);
                    cholesky_in_place(l.as_mut(), Default::default(), two, stack, Spec::default()).expect("a positive definite matrix");
                })
            };
            let ours = || time(|| drop(Lower::cholesky(&a).expect("a positive definite matrix")));
            report(&format!("cholesky {n}"), 30_000 / n, 1.0, (n as f64).powi(3) / 3.0, ours, theirs);
        }
    }
    if wanted("qr") {
        let b = 1024;
        let rows = random(b * m);
        let mut qr = TallQr::new(m);
        let stacked = Mat::from_fn(b + m, m, |i, j| rows[(i * m + j) % rows.len()]);
        let theirs = || time(|| drop(stacked.qr()));
        faer::set_global_parallelism(two);
        let ours = || time(|| qr.add_rows(&rows).expect("a sound factor"));
        report("qr 1024 rows under R", 10, TOTAL as f64 / b as f64, 2.0 * b as f64 * fm * fm, ours, theirs);
    }
    if wanted("eigen") {
        let a = positive(m);
        let source = Mat::from_fn(m, m, |i, j| a[(i, j)]);
        faer::set_global_parallelism(two);
        let theirs = || time(|| drop(source.self_adjoint_eigen(faer::Side::Lower).expect("convergence")));
        report("eigen 1000", 3, 1.0, 9.0 * fm.powi(3), || time(|| drop(symmetric_eigen(&a).expect("convergence"))), theirs);
        let theirs = || time(|| drop(source.self_adjoint_eigenvalues(faer::Side::Lower).expect("convergence")));
        let ours = || time(|| drop(symmetric_eigenvalues(&a).expect("convergence")));
        report("eigenvalues 1000", 3, 1.0, 4.0 / 3.0 * fm.powi(3), ours, theirs);
    }
    if wanted("update") {
        let a = positive(m);
        let mut l = Lower::cholesky(&a).expect("a positive definite matrix");
        let v = random(m);
        let mut times: Vec<f64> = (0..20).map(|_| time(|| l.update(&v))).collect();
        println!("update {m}: {:.3} ms", median(&mut times) * 1e3);
        let mut times: Vec<f64> = (0..20).map(|_| time(|| assert!(l.condition_estimate() > 0.0))).collect();
        println!("condition estimate {m}: {:.3} ms", median(&mut times) * 1e3);
        let mut times: Vec<f64> = (0..3).map(|_| time(|| drop(PivotedCholesky::new(&a, 0.0, m).expect("finite")))).collect();
        println!("pivoted Cholesky {m}: {:.3} ms", median(&mut times) * 1e3);
    }
}
