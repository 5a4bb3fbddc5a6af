//! Eigendecompositions and orthogonal factors.

#![allow(clippy::unwrap_used)]

use crate::common;

use common::{Random, any_threads, close, naive_product};
use sigmabar_linalg::{Matrix, TallQr, symmetric_eigen, symmetric_eigenvalues};

#[test]
fn eigen_rebuilds_the_matrix() {
    for n in [0, 1, 2, 3, 31, 32, 33, 64, 130, 257] {
        let mut a = Random::new(n as u64).matrix(n, n);
        a.mirror_lower();
        let e = symmetric_eigen(&a).unwrap();
        assert!(e.values.is_sorted());
        let scaled = Matrix::from_fn(n, n, |i, j| e.vectors[(i, j)] * e.values[j]);
        close(naive_product(&scaled, &e.vectors.transposed()).as_slice(), a.as_slice(), 1e-12);
        close(naive_product(&e.vectors.transposed(), &e.vectors).as_slice(), Matrix::identity(n).as_slice(), 1e-12);
        for i in 0..n {
            a.row_mut(i)[i + 1..].fill(f64::NAN); // never read
        }
        let values = any_threads(|| symmetric_eigenvalues(&a).unwrap());
        assert!(values.is_sorted());
        close(&values, &e.values, 1e-12);
        any_threads(|| symmetric_eigen(&a).unwrap().vectors.into_vec());
    }
}

#[test]
fn eigen_of_zero_identity_and_not_a_number() {
    for n in [5, 40] {
        assert!(symmetric_eigenvalues(&Matrix::zeros(n, n)).unwrap().iter().all(|v| *v == 0.0));
        assert!(symmetric_eigen(&Matrix::identity(n)).unwrap().values.iter().all(|v| (v - 1.0).abs() < 1e-14));
        let mut a = Matrix::identity(n);
        a[(n - 1, 1)] = f64::NAN;
        assert!(symmetric_eigen(&a).is_err() && symmetric_eigenvalues(&a).is_err());
    }
}

fn factor(rows: &Matrix, block: usize) -> Matrix {
    let mut qr = TallQr::new(rows.cols());
    for b in rows.as_slice().chunks(block * rows.cols()) {
        qr.add_rows(b).unwrap();
    }
    qr.gram_factor()
}

#[test]
fn tall_qr_equals_the_gram_matrix() {
    for (n, m, block) in [(1, 1, 1), (5, 3, 2), (3, 5, 3), (100, 31, 7), (300, 64, 300), (500, 65, 33), (1500, 200, 1500)] {
        for zero in [false, true] {
            let mut random = Random::new((n + m) as u64);
            let rows = if zero { random.block_zero(n, m) } else { random.matrix(n, m) };
            let r = Matrix::from_vec(any_threads(|| factor(&rows, block).into_vec()), m, m);
            for i in 0..m {
                assert!(r[(i, i)] >= 0.0 && r.row(i)[..i].iter().all(|x| *x == 0.0));
            }
            let want = naive_product(&rows.transposed(), &rows);
            close(naive_product(&r.transposed(), &r).as_slice(), want.as_slice(), 1e-13);
        }
    }
}

#[test]
fn tall_qr_keeps_small_singular_values() {
    // columns graded from 1 to 1e-12 and then mixed by a rotation: the smallest singular value of R must survive
    let (n, m) = (600, 48);
    let mut random = Random::new(3);
    let mut orthogonal = random.matrix(m, m);
    orthogonal.mirror_lower();
    let mix = symmetric_eigen(&orthogonal).unwrap().vectors;
    let mut left = TallQr::new(m);
    let start = random.matrix(n, m);
    left.add_rows(start.as_slice()).unwrap();
    // Q = A R⁻¹ by substitution, so that the singular values of Q·D·Vᵀ are D up to rounding
    let r = left.gram_factor();
    let q = Matrix::from_vec(
        {
            let mut q = start.clone();
            let l = sigmabar_linalg::Lower::from_matrix(r.transposed());
            l.solve_rows(q.as_mut_slice()).unwrap();
            q.into_vec()
        },
        n,
        m,
    );
    let d = |j: usize| 10f64.powf(-12.0 * j as f64 / (m - 1) as f64);
    let graded = Matrix::from_fn(n, m, |i, j| q[(i, j)] * d(j));
    let a = naive_product(&graded, &mix.transposed());
    let r = factor(&a, 100);
    // R V e_j has norm d_j: known to ε·‖R‖, where the Gram matrix would know it to √ε
    for j in 0..m {
        let v = Matrix::from_fn(m, 1, |i, _| mix[(i, j)]);
        let got = naive_product(&r, &v).as_slice().iter().map(|x| x * x).sum::<f64>().sqrt();
        assert!((got - d(j)).abs() < 5e-15, "{got} for {}", d(j));
    }
}

#[test]
fn tall_qr_refuses_not_a_number() {
    let mut rows = Random::new(9).matrix(100, 40);
    rows[(50, 20)] = f64::NAN;
    assert!(TallQr::new(40).add_rows(rows.as_slice()).is_err());
}
