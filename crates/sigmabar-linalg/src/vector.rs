//! Products with one vector: the memory-bound part, vectorised by run-time dispatch.
//!
//! Every sum is taken in an order fixed by the sizes alone, so results do not depend on the number of threads.

use crate::Matrix;
use crate::workers::parallel;
use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

/// Rows handled by one task; also the length after which partial sums are folded.
pub(crate) const ROW_CHUNK: usize = 128;
/// Below this many entries a pass over memory is not worth a second thread.
pub(crate) const PARALLEL_ENTRIES: usize = 1 << 17;

/// The vector instructions that numbers are made with here. Between machines that differ in them sums agree to rounding, not to the bit.
#[must_use]
pub fn instructions() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            "x86-64, AVX-512"
        } else if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
            "x86-64, AVX2"
        } else {
            "x86-64, SSE2"
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::env::consts::ARCH
}

/// The number with the largest score; the first of equals, `None` of none. A NaN is never the largest unless it comes first.
pub fn argmax(scores: impl IntoIterator<Item = (usize, f64)>) -> Option<usize> {
    let best = scores.into_iter().reduce(|best, next| if next.1 > best.1 { next } else { best });
    best.map(|(number, _)| number)
}

/// The inner product `Σ aᵢ bᵢ`. Cost `2n`; error at most about `(n/16 + 5)·ε·Σ|aᵢbᵢ|`.
///
/// # Panics
/// If the lengths differ.
#[must_use]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len(), "an inner product needs two vectors of one length");
    Arch::new().dispatch(Dot { a, b })
}

/// The squared Euclidean norm `Σ aᵢ²`. Cost `2n`.
#[must_use]
pub fn norm_squared(a: &[f64]) -> f64 {
    dot(a, a)
}

/// The product `A x`. Cost `2·rows·cols`; parallel over rows when large.
///
/// # Panics
/// If `x.len() != a.cols()`.
#[must_use]
pub fn matvec(a: &Matrix, x: &[f64]) -> Vec<f64> {
    assert_eq!(x.len(), a.cols(), "a matrix with {} columns multiplies a vector of that length", a.cols());
    let mut out = vec![0.0; a.rows()];
    matvec_rows(a.as_slice(), x, &mut out);
    out
}

/// The inner product of every row with `x`: `outᵢ = rowᵢ · x`. Cost `2·rows.len()`; parallel over rows when large.
///
/// # Panics
/// If `rows.len() != out.len() · x.len()`.
pub fn matvec_rows(rows: &[f64], x: &[f64], out: &mut [f64]) {
    let m = x.len();
    assert_eq!(rows.len(), out.len() * m, "{} rows of length {m} do not fit {} entries", out.len(), rows.len());
    if m == 0 {
        out.fill(0.0);
        return;
    }
    let one = |rows: &[f64], out: &mut [f64]| Arch::new().dispatch(RowDots { rows, x, out });
    if rows.len() < PARALLEL_ENTRIES {
        one(rows, out);
    } else {
        parallel(|_| rows.par_chunks(ROW_CHUNK * m).zip(out.par_chunks_mut(ROW_CHUNK)).for_each(|(r, o)| one(r, o)));
    }
}

/// The weighted sum of rows `out += Σᵢ wᵢ rowᵢ`. Cost `2·rows.len()`; parallel over fixed chunks of rows when large.
///
/// # Panics
/// If `rows.len() != w.len() · out.len()`.
pub fn add_transposed_matvec(rows: &[f64], w: &[f64], out: &mut [f64]) {
    let m = out.len();
    assert_eq!(rows.len(), w.len() * m, "{} rows of length {m} do not fit {} entries", w.len(), rows.len());
    if m == 0 {
        return;
    }
    if rows.len() < PARALLEL_ENTRIES {
        Arch::new().dispatch(RowSum { rows, stride: m, w, out });
        return;
    }
    let part = |(rows, w): (&[f64], &[f64])| {
        let mut sum = vec![0.0; m];
        Arch::new().dispatch(RowSum { rows, stride: m, w, out: &mut sum });
        sum
    };
    let partial: Vec<Vec<f64>> = parallel(|_| rows.par_chunks(ROW_CHUNK * m).zip(w.par_chunks(ROW_CHUNK)).map(part).collect());
    for p in &partial {
        add_scaled(out, 1.0, p);
    }
}

/// `out += a·x`.
pub(crate) fn add_scaled(out: &mut [f64], a: f64, x: &[f64]) {
    Arch::new().dispatch(RowSum { rows: x, stride: x.len(), w: &[a], out });
}

/// `outⱼ += Σᵢ rowᵢⱼ²`: the squared column norms, one pass in row order.
pub(crate) fn add_column_squares(rows: &[f64], out: &mut [f64]) {
    let m = out.len();
    if m == 0 {
        return;
    }
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for row in rows.chunks_exact(m) {
                for (o, x) in out.iter_mut().zip(row) {
                    *o += x * x;
                }
            }
        },
    );
}

/// `A x` for the symmetric matrix whose lower triangle is given, and the squared norms of its rows *as stored*, that is of
/// `(A_i0 … A_ii)`. One pass over the triangle.
pub(crate) fn symmetric_matvec(a: &Matrix, x: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let m = a.rows();
    let mut y = vec![0.0; m];
    let mut squares = vec![0.0; m];
    let part = |first: usize, squares: &mut [f64]| {
        let last = first + squares.len();
        let mut y = vec![0.0; last];
        for i in first..last {
            let row = &a.row(i)[..=i];
            squares[i - first] = norm_squared(row);
            y[i] += dot(row, &x[..=i]);
            add_scaled(&mut y[..i], x[i], &row[..i]);
        }
        y
    };
    let parts: Vec<Vec<f64>> = if m * m < 2 * PARALLEL_ENTRIES {
        squares.chunks_mut(ROW_CHUNK).enumerate().map(|(c, s)| part(c * ROW_CHUNK, s)).collect()
    } else {
        parallel(|_| squares.par_chunks_mut(ROW_CHUNK).enumerate().map(|(c, s)| part(c * ROW_CHUNK, s)).collect())
    };
    for p in &parts {
        add_scaled(&mut y[..p.len()], 1.0, p);
    }
    (y, squares)
}

/// `L x` and the squared norms of the rows of the lower triangle, in one pass over it.
pub(crate) fn lower_matvec(l: &Matrix, x: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let row = |i: usize| {
        let row = &l.row(i)[..=i];
        (dot(row, &x[..=i]), norm_squared(row))
    };
    let m = l.rows();
    if m * m < 2 * PARALLEL_ENTRIES {
        (0..m).map(row).unzip()
    } else {
        parallel(|_| (0..m).into_par_iter().with_min_len(ROW_CHUNK / 2).map(row).unzip())
    }
}

/// `Lᵀ x`, in one pass over the lower triangle (the upper one must be zero).
pub(crate) fn lower_transposed_matvec(l: &Matrix, x: &[f64]) -> Vec<f64> {
    let m = l.rows();
    let part = |(c, x): (usize, &[f64])| {
        let first = c * ROW_CHUNK;
        let mut y = vec![0.0; first + x.len()];
        for (k, w) in x.chunks(4).enumerate() {
            let i = first + 4 * k;
            let out = &mut y[..i + w.len()];
            Arch::new().dispatch(RowSum { rows: &l.as_slice()[i * m..], stride: m, w, out });
        }
        y
    };
    let parts: Vec<Vec<f64>> = if m * m < 2 * PARALLEL_ENTRIES {
        x.chunks(ROW_CHUNK).enumerate().map(part).collect()
    } else {
        parallel(|_| x.par_chunks(ROW_CHUNK).enumerate().map(part).collect())
    };
    let mut y = vec![0.0; m];
    for p in &parts {
        add_scaled(&mut y[..p.len()], 1.0, p);
    }
    y
}

struct Dot<'a> {
    a: &'a [f64],
    b: &'a [f64],
}

impl WithSimd for Dot<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        dot_simd(simd, self.a, self.b)
    }
}

#[inline(always)]
fn dot_simd<S: Simd>(simd: S, a: &[f64], b: &[f64]) -> f64 {
    let (a, a_tail) = S::as_simd_f64s(a);
    let (b, b_tail) = S::as_simd_f64s(b);
    let mut acc = [simd.splat_f64s(0.0); 4];
    let (a4, a1) = a.as_chunks::<4>();
    let (b4, b1) = b.as_chunks::<4>();
    for (x, y) in a4.iter().zip(b4) {
        for k in 0..4 {
            acc[k] = simd.mul_add_e_f64s(x[k], y[k], acc[k]);
        }
    }
    for (x, y) in a1.iter().zip(b1) {
        acc[0] = simd.mul_add_e_f64s(*x, *y, acc[0]);
    }
    let sum = simd.add_f64s(simd.add_f64s(acc[0], acc[1]), simd.add_f64s(acc[2], acc[3]));
    let mut total = simd.reduce_sum_f64s(sum);
    for (x, y) in a_tail.iter().zip(b_tail) {
        total += x * y;
    }
    total
}

struct RowDots<'a> {
    rows: &'a [f64],
    x: &'a [f64],
    out: &'a mut [f64],
}

impl WithSimd for RowDots<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for (row, out) in self.rows.chunks_exact(self.x.len()).zip(self.out) {
            *out = dot_simd(simd, row, self.x);
        }
    }
}

/// `out += Σ wᵢ rowᵢ`, row `i` starting at `i·stride`.
struct RowSum<'a> {
    rows: &'a [f64],
    stride: usize,
    w: &'a [f64],
    out: &'a mut [f64],
}

impl WithSimd for RowSum<'_> {
    type Output = ();

    /// Four rows per pass over `out`, so that `out` is read and written a quarter as often.
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { rows, stride, w, out } = self;
        let width = out.len();
        let row = |i: usize| S::as_simd_f64s(&rows[i * stride..i * stride + width]);
        let (out, out_tail) = S::as_mut_simd_f64s(out);
        let fours = w.len() / 4 * 4;
        for i in (0..fours).step_by(4) {
            let ((r0, t0), (r1, t1), (r2, t2), (r3, t3)) = (row(i), row(i + 1), row(i + 2), row(i + 3));
            let ws = [w[i], w[i + 1], w[i + 2], w[i + 3]];
            let v = ws.map(|w| simd.splat_f64s(w));
            for ((((o, x0), x1), x2), x3) in out.iter_mut().zip(r0).zip(r1).zip(r2).zip(r3) {
                let low = simd.mul_add_e_f64s(v[1], *x1, simd.mul_add_e_f64s(v[0], *x0, *o));
                *o = simd.mul_add_e_f64s(v[3], *x3, simd.mul_add_e_f64s(v[2], *x2, low));
            }
            for (j, o) in out_tail.iter_mut().enumerate() {
                *o += ws[0] * t0[j] + ws[1] * t1[j] + ws[2] * t2[j] + ws[3] * t3[j];
            }
        }
        for i in fours..w.len() {
            let (r, t) = row(i);
            let v = simd.splat_f64s(w[i]);
            for (o, x) in out.iter_mut().zip(r) {
                *o = simd.mul_add_e_f64s(v, *x, *o);
            }
            for (o, x) in out_tail.iter_mut().zip(t) {
                *o += w[i] * x;
            }
        }
    }
}
