//! Triangular factors against plain loops.

#![allow(clippy::unwrap_used)]

use crate::common;

use common::{LARGE, Random, SIZES, any_threads, close, largest, naive_product};
use sigmabar_linalg::{LinalgError, Lower, Matrix, PivotedCholesky};

fn sizes() -> impl Iterator<Item = usize> {
    SIZES.into_iter().chain(LARGE)
}

/// `L` by the textbook recurrence.
fn naive_cholesky(a: &Matrix) -> Matrix {
    let n = a.rows();
    let mut l = Matrix::zeros(n, n);
    for i in 0..n {
        for j in 0..=i {
            let s: f64 = l.row(i)[..j].iter().zip(&l.row(j)[..j]).map(|(x, y)| x * y).sum();
            l[(i, j)] = if i == j { (a[(i, i)] - s).sqrt() } else { (a[(i, j)] - s) / l[(j, j)] };
        }
    }
    l
}

/// A well-conditioned triangle.
fn triangle(n: usize) -> Lower {
    let mut random = Random::new(n as u64);
    Lower::from_matrix(Matrix::from_fn(n, n, |i, j| if i == j { 1.0 + random.next().abs() } else { random.next() / n as f64 }))
}

#[test]
fn cholesky_equals_loops() {
    for n in sizes() {
        let mut a = Random::new(n as u64).positive(n, n as f64 / 10.0);
        let want = naive_cholesky(&a);
        for i in 0..n {
            a.row_mut(i)[i + 1..].fill(f64::NAN); // never read
        }
        let got = any_threads(|| Lower::cholesky(&a).unwrap().to_matrix().into_vec());
        close(&got, want.as_slice(), 1e-11);
        let l = Lower::cholesky(&a).unwrap();
        let log_det: f64 = want.diagonal().iter().map(|d| 2.0 * d.ln()).sum();
        assert!((l.log_det() - log_det).abs() < 1e-10 * n as f64);
        assert_eq!((l.len(), l.is_empty(), l.diagonal()), (n, false, l.to_matrix().diagonal()));
        assert_eq!(l.get(n - 1, 0), l.to_matrix()[(n - 1, 0)]);
    }
}

#[test]
fn cholesky_of_a_block_diagonal_matrix() {
    for n in [65, 300, 1024] {
        let mut random = Random::new(n as u64);
        let a = random.positive(n, 5.0);
        let a = Matrix::from_fn(n, n, |i, j| if i / 70 == j / 70 { a[(i, j)] } else { 0.0 });
        close(&any_threads(|| Lower::cholesky(&a).unwrap().to_matrix().into_vec()), naive_cholesky(&a).as_slice(), 1e-10);
    }
}

#[test]
fn cholesky_names_the_bad_pivot() {
    for n in [3, 64, 300, 700] {
        for k in [0, n / 2, n - 1] {
            let mut a = Random::new(n as u64).positive(n, n as f64);
            a[(k, k)] = -1.0;
            let Err(LinalgError::NotPositiveDefinite { index, value }) = Lower::cholesky(&a) else { panic!("accepted") };
            assert_eq!(index, k);
            assert!(value < 0.0);
            a[(k, k)] = f64::NAN;
            assert!(matches!(Lower::cholesky(&a), Err(LinalgError::NotPositiveDefinite { index, .. }) if index == k));
        }
        let mut a = Random::new(n as u64).positive(n, n as f64);
        a[(n - 1, 0)] = f64::NAN;
        assert!(Lower::cholesky(&a).is_err());
    }
    assert_eq!(Lower::cholesky(&Matrix::zeros(0, 0)).unwrap().len(), 0);
}

#[test]
fn solves_and_products_equal_loops() {
    for n in sizes() {
        let l = triangle(n);
        let full = l.to_matrix();
        for b in [1, 2, 3, 33, 200] {
            let x = Random::new((n + b) as u64).matrix(b, n);
            let plain = naive_product(&x, &full.transposed());
            let transposed = naive_product(&x, &full);
            let run = |start: &Matrix, f: &(dyn Fn(&mut [f64]) + Sync)| {
                any_threads(|| {
                    let mut rows = start.as_slice().to_vec();
                    f(&mut rows);
                    rows
                })
            };
            close(&run(&plain, &|r| l.solve_rows(r).unwrap()), x.as_slice(), 1e-12);
            close(&run(&transposed, &|r| l.solve_transposed_rows(r).unwrap()), x.as_slice(), 1e-12);
        }
    }
}

#[test]
fn solves_are_backward_stable_for_an_ill_conditioned_factor() {
    // a smooth kernel on a line: condition number of A about 1e14
    let n = 600;
    let a = Matrix::from_fn(n, n, |i, j| {
        let d = (i as f64 - j as f64) / 60.0;
        (-d * d).exp() + if i == j { 1e-12 } else { 0.0 }
    });
    let l = Lower::cholesky(&a).unwrap();
    let b = 130;
    let x = Matrix::from_fn(b, n, |r, j| (-((r as f64 * 4.3 - j as f64) / 60.0).powi(2)).exp());
    let mut y = x.clone();
    l.solve_rows(y.as_mut_slice()).unwrap();
    // |L y − x| ≤ c·ε·|L||y|, entry by entry: the bound of substitution
    let absolute = |m: &Matrix| Matrix::from_fn(m.rows(), m.cols(), |i, j| m[(i, j)].abs());
    let full = l.to_matrix();
    let back = naive_product(&y, &full.transposed());
    let size = naive_product(&absolute(&y), &absolute(&full).transposed());
    for i in 0..b {
        for j in 0..n {
            assert!((back[(i, j)] - x[(i, j)]).abs() <= 20.0 * f64::EPSILON * size[(i, j)] + 1e-18, "row {i} column {j}");
        }
    }
}

#[test]
fn update_and_append_equal_factorising_again() {
    for n in [1, 2, 7, 8, 9, 64, 203] {
        let mut random = Random::new(n as u64);
        let mut a = random.positive(n, 3.0);
        let mut l = Lower::cholesky(&a).unwrap();
        for _ in 0..3 {
            let v: Vec<f64> = (0..n).map(|_| 4.0 * random.next()).collect();
            l.update(&v);
            for i in 0..n {
                for j in 0..n {
                    a[(i, j)] += v[i] * v[j];
                }
            }
        }
        close(l.to_matrix().as_slice(), Lower::cholesky(&a).unwrap().to_matrix().as_slice(), 1e-12);
        let mut grown = Lower::cholesky(&Matrix::zeros(0, 0)).unwrap();
        let want = l.to_matrix();
        for i in 0..n {
            grown.append(&want.row(i)[..i], want[(i, i)]);
        }
        assert_eq!(grown, l);
    }
}

#[test]
fn condition_estimate_is_close_from_below() {
    for n in [1, 2, 5, 40, 100] {
        for seed in 0..20 {
            let mut random = Random::new(seed * 1000 + n as u64);
            let power = 1 + seed as i32 % 9;
            let l = Lower::from_matrix(Matrix::from_fn(n, n, |i, j| {
                if i == j { 0.05 + random.next().abs().powi(power) } else { random.next() / (n as f64).sqrt() }
            }));
            let columns = |m: &Matrix| (0..n).map(|j| (0..n).map(|i| m[(i, j)].abs()).sum::<f64>()).fold(0.0, f64::max);
            let mut inverse = Matrix::identity(n);
            l.solve_rows(inverse.as_mut_slice()).unwrap(); // row k is L⁻¹ e_k
            let truth = columns(&inverse.transposed());
            let estimate = l.inverse_norm_estimate();
            assert!(estimate <= truth * (1.0 + 1e-10) && estimate >= truth / 3.0, "{estimate} for {truth}");
            let truth = truth * columns(&l.to_matrix());
            let estimate = l.condition_estimate();
            assert!(estimate <= truth * (1.0 + 1e-10) && estimate >= truth / 3.0, "{estimate} for {truth}");
        }
    }
    assert_eq!(Lower::from_matrix(Matrix::zeros(3, 3)).inverse_norm_estimate(), f64::INFINITY);
}

/// Greedy elimination by plain loops: the pivots and what is left of the diagonal.
fn naive_pivots(a: &Matrix, tolerance: f64, max_rank: usize) -> (Vec<usize>, Vec<f64>) {
    let n = a.rows();
    let mut s = a.clone();
    let mut pivots = Vec::new();
    while pivots.len() < max_rank.min(n) {
        let free = (0..n).filter(|i| !pivots.contains(i));
        let p = free.fold(usize::MAX, |p, i| if p == usize::MAX || s[(i, i)] > s[(p, p)] { i } else { p });
        if s[(p, p)] <= tolerance {
            break;
        }
        let row = s.row(p).to_vec();
        for i in 0..n {
            for j in 0..n {
                s[(i, j)] -= row[i] * row[j] / row[p];
            }
        }
        pivots.push(p);
    }
    let left = (0..n).map(|i| if pivots.contains(&i) { 0.0 } else { s[(i, i)].max(0.0) }).collect();
    (pivots, left)
}

#[test]
fn pivoted_cholesky_equals_loops() {
    for (n, rank) in [(1, 1), (5, 3), (64, 64), (130, 100), (300, 150)] {
        let mut random = Random::new(n as u64);
        let f = random.matrix(n, rank);
        let a = naive_product(&f, &f.transposed());
        for max_rank in [rank / 2, n] {
            let (pivots, left) = naive_pivots(&a, 1e-9, max_rank);
            let p = PivotedCholesky::new(&a, 1e-9, max_rank).unwrap();
            assert_eq!(p.pivots, pivots);
            assert_eq!(p.pivots.len(), rank.min(max_rank));
            assert!((p.residual_trace - left.iter().sum::<f64>()).abs() < 1e-9 * (1.0 + p.residual_trace));
            assert!((p.residual_max - largest(&left)).abs() < 1e-9 * (1.0 + p.residual_max));
            let chosen = Matrix::from_fn(pivots.len(), pivots.len(), |i, j| a[(pivots[i], pivots[j])]);
            let l = p.lower.to_matrix();
            close(naive_product(&l, &l.transposed()).as_slice(), chosen.as_slice(), 1e-12);
        }
        let bits = any_threads(|| PivotedCholesky::new(&a, 1e-9, n).unwrap().lower.to_matrix().into_vec());
        assert_eq!(bits.len(), rank * rank);
    }
}

#[test]
fn pivoted_cholesky_of_degenerate_matrices() {
    let zero = PivotedCholesky::new(&Matrix::zeros(40, 40), 0.0, 40).unwrap();
    assert_eq!((zero.pivots.len(), zero.residual_trace, zero.residual_max), (0, 0.0, 0.0));
    let ones = PivotedCholesky::new(&Matrix::from_fn(9, 9, |_, _| 4.0), 1e-12, 9).unwrap();
    assert_eq!((ones.pivots, ones.lower.diagonal()), (vec![0], vec![2.0]));
    // equal rows: the first of each kind, in order
    let twins = Matrix::from_fn(8, 8, |i, j| if i % 4 == j % 4 { 1.0 } else { 0.0 });
    assert_eq!(PivotedCholesky::new(&twins, 1e-12, 8).unwrap().pivots, vec![0, 1, 2, 3]);
    // a negative diagonal is never a pivot
    let mut a = Matrix::identity(4);
    a[(1, 1)] = -1e-9;
    let p = PivotedCholesky::new(&a, 0.0, 4).unwrap();
    assert_eq!((p.pivots, p.residual_trace), (vec![0, 2, 3], 0.0));
    a[(3, 0)] = f64::NAN;
    assert!(PivotedCholesky::new(&a, 0.0, 4).is_err());
}
