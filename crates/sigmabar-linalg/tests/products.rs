//! Products and Gram matrices against plain loops.

#![allow(clippy::unwrap_used)]

use crate::common;

use common::{LARGE, Random, SIZES, any_threads, close, naive_product};
use sigmabar_linalg::{
    GramAccumulator, Matrix, add_gram, add_product_rows, add_transposed_matvec, add_transposed_product, dot, matvec, matvec_rows,
    norm_squared, product, product_transposed, transposed_product,
};

fn shapes() -> Vec<(usize, usize, usize)> {
    let mut random = Random::new(1);
    let mut pick = |s: &[usize]| s[((random.next() + 1.0) / 2.0 * s.len() as f64) as usize];
    let mut shapes: Vec<_> = (0..30).map(|_| (pick(&SIZES), pick(&SIZES), pick(&SIZES))).collect();
    shapes.extend(LARGE.map(|n| (n, n, n)));
    shapes.extend([(1025, 3, 512), (2, 1024, 513), (511, 1, 1)]);
    shapes
}

#[test]
fn products_equal_loops() {
    for (q, m, p) in shapes() {
        let mut random = Random::new((q * m + p) as u64);
        // both kinds for the small sizes, in turn for the large ones
        let kinds: &[bool] = if q.max(p) < 511 { &[false, true] } else { &[q % 2 == 1] };
        for &zero in kinds {
            let mut make = |r, c| if zero { random.block_zero(r, c) } else { random.matrix(r, c) };
            let (a, b) = (make(q, m), make(m, p));
            let want = naive_product(&a, &b);
            let (at, bt) = (a.transposed(), b.transposed());
            close(&any_threads(|| product(&a, &b).unwrap().into_vec()), want.as_slice(), 1e-13);
            close(&any_threads(|| product_transposed(&a, &bt).unwrap().into_vec()), want.as_slice(), 1e-13);
            close(&any_threads(|| transposed_product(&at, &b).unwrap().into_vec()), want.as_slice(), 1e-13);
            let start = make(q, p);
            let sum: Vec<f64> = start.as_slice().iter().zip(want.as_slice()).map(|(s, w)| s - 0.5 * w).collect();
            let got = any_threads(|| {
                let mut out = start.as_slice().to_vec();
                add_product_rows(&mut out, p, -0.5, a.as_slice(), m, &b).unwrap();
                out
            });
            close(&got, &sum, 1e-13);
            let got = any_threads(|| {
                let mut out = start.clone();
                add_transposed_product(&mut out, -0.5, at.as_slice(), b.as_slice()).unwrap();
                out.into_vec()
            });
            close(&got, &sum, 1e-13);
        }
    }
}

#[test]
fn gram_equals_loops_and_leaves_the_upper_triangle() {
    for (b, _, m) in shapes() {
        let mut random = Random::new((b + 7 * m) as u64);
        let kinds: &[bool] = if b.max(m) < 511 { &[false, true] } else { &[b % 2 == 0] };
        for &zero in kinds {
            let rows = if zero { random.block_zero(b, m) } else { random.matrix(b, m) };
            let full = naive_product(&rows.transposed(), &rows);
            let want = Matrix::from_fn(m, m, |i, j| if j <= i { full[(i, j)] + 1.0 } else { 7.0 });
            let start = Matrix::from_fn(m, m, |i, j| if j <= i { 1.0 } else { 7.0 });
            let got = any_threads(|| {
                let mut g = start.clone();
                add_gram(&mut g, rows.as_slice()).unwrap();
                g.into_vec()
            });
            close(&got, want.as_slice(), 1e-13);
            for i in 0..m {
                assert!(got[i * m + i + 1..(i + 1) * m].iter().all(|x| *x == 7.0));
            }
            let got = any_threads(|| {
                let mut g = GramAccumulator::new(m);
                for block in rows.as_slice().chunks(100 * m) {
                    g.add_rows(block);
                }
                let mut g = g.finish().unwrap();
                g.mirror_lower();
                g.into_vec()
            });
            close(&got, full.as_slice(), 1e-13);
        }
    }
}

#[test]
fn size_4096_on_sampled_entries() {
    let n = 4096;
    let mut random = Random::new(4096);
    let (a, b) = (random.matrix(n, 96), random.block_zero(96, n));
    let c = product(&a, &b).unwrap();
    let mut g = Matrix::zeros(n, n);
    add_gram(&mut g, b.as_slice()).unwrap();
    let bt = b.transposed();
    for _ in 0..20_000 {
        let mut pick = || ((random.next() + 1.0) / 2.0 * n as f64) as usize;
        let (i, j) = (pick(), pick());
        let (hi, lo) = (i.max(j), i.min(j));
        let loops = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        assert!((c[(i, j)] - loops(a.row(i), bt.row(j))).abs() < 1e-12);
        assert!((g[(hi, lo)] - loops(bt.row(hi), bt.row(lo))).abs() < 1e-12);
    }
}

#[test]
fn vectors_equal_loops() {
    for (b, _, m) in shapes() {
        let mut random = Random::new((b * 3 + m) as u64);
        let a = random.matrix(b, m);
        let x = random.matrix(m, 1);
        let w = random.matrix(b, 1);
        let want = naive_product(&a, &x);
        close(&any_threads(|| matvec(&a, x.as_slice())), want.as_slice(), 1e-13);
        let mut got = vec![9.0; b];
        matvec_rows(a.as_slice(), x.as_slice(), &mut got);
        assert_eq!(got, matvec(&a, x.as_slice()));
        let want = naive_product(&a.transposed(), &w);
        let got = any_threads(|| {
            let mut out = vec![0.0; m];
            add_transposed_matvec(a.as_slice(), w.as_slice(), &mut out);
            out
        });
        close(&got, want.as_slice(), 1e-13);
        let y = random.matrix(m, 1);
        let want: f64 = x.as_slice().iter().zip(y.as_slice()).map(|(x, y)| x * y).sum();
        assert!((dot(x.as_slice(), y.as_slice()) - want).abs() < 1e-13 * m as f64);
        assert!((norm_squared(y.as_slice()) - y.as_slice().iter().map(|y| y * y).sum::<f64>()).abs() < 1e-13 * m as f64);
    }
}

#[test]
fn tiny_and_huge_numbers_raise_no_false_alarm() {
    for scale in [1e-200, 1e-160, 1e-120, 1e60, 1e70] {
        let mut random = Random::new(5);
        // some columns are of another magnitude altogether
        let rows = Matrix::from_fn(200, 100, |_, j| random.next() * if j % 3 == 0 { scale } else { 1.0 });
        let mut g = Matrix::zeros(100, 100);
        add_gram(&mut g, rows.as_slice()).unwrap();
        let mut g = GramAccumulator::new(100);
        g.add_rows(rows.as_slice());
        g.finish().unwrap();
        product_transposed(&rows, &rows).unwrap();
        transposed_product(&rows, &rows).unwrap();
    }
}

#[test]
fn not_a_number_is_an_error() {
    let mut random = Random::new(6);
    for bad in [f64::NAN, f64::INFINITY] {
        let mut rows = random.matrix(64, 64);
        rows[(17, 40)] = bad;
        let good = random.matrix(64, 64);
        assert!(product(&good, &rows).is_err());
        assert!(product_transposed(&rows, &good).is_err());
        assert!(add_gram(&mut good.clone(), rows.as_slice()).is_err());
        let mut g = GramAccumulator::new(64);
        g.add_rows(rows.as_slice());
        assert!(g.finish().is_err());
    }
}
