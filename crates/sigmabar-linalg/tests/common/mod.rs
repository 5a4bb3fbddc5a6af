//! Plain loops over the formulas, and matrices to try them on.
#![allow(dead_code)]

use sigmabar_linalg::Matrix;

/// The sizes around which blocked code goes wrong.
pub const SIZES: [usize; 13] = [1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 129, 257];
/// The larger ones, for which the loops take a while.
pub const LARGE: [usize; 6] = [511, 512, 513, 1023, 1024, 1025];

/// A small random stream (xorshift), uniform on [−1, 1).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    pub fn matrix(&mut self, rows: usize, cols: usize) -> Matrix {
        Matrix::from_fn(rows, cols, |_, _| self.next())
    }

    /// A random matrix with whole blocks of zeros.
    pub fn block_zero(&mut self, rows: usize, cols: usize) -> Matrix {
        Matrix::from_fn(rows, cols, |i, j| if (i / 48 + j / 80) % 2 == 0 { self.next() } else { 0.0 })
    }

    /// Symmetric positive definite, with condition number about `1 + n/shift`.
    pub fn positive(&mut self, n: usize, shift: f64) -> Matrix {
        let a = self.matrix(n, n);
        let mut g = naive_product(&a.transposed(), &a);
        for i in 0..n {
            g[(i, i)] += shift;
        }
        g
    }
}

/// `A·B` by three loops.
pub fn naive_product(a: &Matrix, b: &Matrix) -> Matrix {
    let mut c = Matrix::zeros(a.rows(), b.cols());
    for i in 0..a.rows() {
        for k in 0..a.cols() {
            let x = a[(i, k)];
            for (c, b) in c.row_mut(i).iter_mut().zip(b.row(k)) {
                *c += x * b;
            }
        }
    }
    c
}

/// The largest absolute entry.
pub fn largest(a: &[f64]) -> f64 {
    a.iter().fold(0.0, |m, x| if x.abs() > m || x.is_nan() { x.abs() } else { m })
}

/// Asserts that two slices agree within `tolerance` times the largest entry of the second.
#[track_caller]
pub fn close(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    let scale = largest(b).max(1e-300);
    for (i, (x, y)) in a.iter().zip(b).enumerate() {
        assert!((x - y).abs() <= tolerance * scale, "entry {i}: {x} and {y} differ by {:e} of {scale}", (x - y).abs() / scale);
    }
}

/// Runs `f` in pools of 1, 2 and 3 threads, asserts that the answers are the same bits and returns the answer.
#[track_caller]
pub fn any_threads(f: impl Fn() -> Vec<f64> + Sync + Send) -> Vec<f64> {
    let mut answers = [1, 2, 3].map(|n| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().expect("a pool of threads");
        pool.install(&f)
    });
    for other in [1, 2] {
        for (x, y) in answers[0].iter().zip(&answers[other]) {
            assert_eq!(x.to_bits(), y.to_bits(), "{x} with one thread, {y} with {}", other + 1);
        }
    }
    std::mem::take(&mut answers[0])
}
