//! The exponential function in vectors.

use pulp::{Arch, Simd, WithSimd, bytemuck::cast};
use std::f64::consts::{LN_2, LOG2_E};

/// $2^{-r}$ on $[-\frac12,\frac12]$: the polynomial of degree 11 with the smallest largest relative error, its constant then set from
/// $1-3\cdot10^{-18}$ to 1; the error is below $3.5\cdot10^{-17}$.
#[allow(clippy::excessive_precision)]
pub(super) const COEFFICIENTS: [f64; 12] = [
    1.0,
    -LN_2,
    0.24022650695910155,
    -0.055504108664819925,
    0.009618129107588335,
    -0.0013333558146789923,
    0.00015403530462514432,
    -1.5252733489988525e-05,
    1.32154330896764e-06,
    -1.0178198021671931e-07,
    7.074105613508143e-09,
    -4.435282706957277e-10,
];

/// Added to a number below $2^{19}$, this leaves the integer part in the upper half of the bits, rounded to the nearest once the lower half is
/// cleared: $1.5\cdot2^{20}+\frac12$.
const ROUNDING: f64 = 1_572_864.5;

/// The same without the half.
const INTEGER: f64 = 1_572_864.0;

/// $v\,2^{-s}$ for $s\ge0$, in vectors: exactly $v$ at 0, and 0 from $s=1022.5$ on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decay {
    /// $v$ times the polynomial's coefficients: the factor costs nothing.
    coefficients: [f64; 12],
}

impl Decay {
    /// For a factor $v$.
    pub(super) fn new(factor: f64) -> Self {
        Self { coefficients: COEFFICIENTS.map(|c| factor * c) }
    }

    /// $v\,2^{-s}$ for several vectors.
    #[inline(always)]
    pub(super) fn apply<S: Simd, const N: usize>(self, simd: S, mut s: [S::f64s; N]) -> [S::f64s; N] {
        // A loop and not `map`: a closure would not inherit the instruction set.
        for s in &mut s {
            *s = self.one(simd, *s);
        }
        s
    }

    #[inline(always)]
    fn one<S: Simd>(self, simd: S, s: S::f64s) -> S::f64s {
        // s = n + r with |r| ≤ ½; n stands in the low bits of the upper half.
        let s = simd.min_f64s(s, simd.splat_f64s(1023.0));
        let upper = simd.transmute_f64s_u64s(simd.splat_u64s(0xffff_ffff_0000_0000));
        let biased = simd.and_f64s(simd.add_f64s(s, simd.splat_f64s(ROUNDING)), upper);
        let r = simd.sub_f64s(s, simd.sub_f64s(biased, simd.splat_f64s(INTEGER)));
        // 2^{−n} has the exponent bits 1023 − n: for n = 1023 it is 0.
        let shifted = exponent(simd, biased);
        let power = simd.transmute_f64s_u64s(simd.sub_u64s(simd.transmute_u64s_f64s(simd.splat_f64s(1.0)), shifted));
        // Even and odd powers apart: half the latency of one chain for one multiplication more.
        let square = simd.mul_f64s(r, r);
        let mut even = simd.splat_f64s(self.coefficients[10]);
        let mut odd = simd.splat_f64s(self.coefficients[11]);
        for k in (0..5).rev() {
            even = simd.mul_add_e_f64s(even, square, simd.splat_f64s(self.coefficients[2 * k]));
            odd = simd.mul_add_e_f64s(odd, square, simd.splat_f64s(self.coefficients[2 * k + 1]));
        }
        simd.mul_f64s(simd.mul_add_e_f64s(odd, r, even), power)
    }
}

/// Replaces every $x$ by $e^x$, within 2 units in the last place; results below the normal numbers lose digits gradually, as they must. Cost O(n).
pub(crate) fn exp_in_place(values: &mut [f64]) {
    Arch::new().dispatch(InPlace(values));
}

struct InPlace<'a>(&'a mut [f64]);

impl WithSimd for InPlace<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (head, tail) = S::as_mut_simd_f64s(self.0);
        for x in head {
            *x = exp(simd, *x);
        }
        if !tail.is_empty() {
            let x = exp(simd, simd.partial_load_f64s(tail));
            simd.partial_store_f64s(tail, x);
        }
    }
}

/// $e^x=2^{-s}$ with $s=-x\log_2e$ in two parts; the power of two in two factors, so that no step leaves the range before the result does.
#[inline(always)]
fn exp<S: Simd>(simd: S, x: S::f64s) -> S::f64s {
    // log₂e − LOG2_E
    let low = simd.splat_f64s(2.035_527_374_093_103_3e-17);
    let high = simd.splat_f64s(LOG2_E);
    let bound = simd.splat_f64s(800.0);
    let x = simd.max_f64s(simd.min_f64s(x, bound), simd.neg_f64s(bound));
    let upper = simd.transmute_f64s_u64s(simd.splat_u64s(0xffff_ffff_0000_0000));
    let biased = simd.and_f64s(simd.mul_add_f64s(x, high, simd.splat_f64s(ROUNDING)), upper);
    let n = simd.sub_f64s(biased, simd.splat_f64s(INTEGER));
    let remainder = simd.mul_add_f64s(x, low, simd.mul_add_f64s(x, high, simd.neg_f64s(n)));
    let r = simd.neg_f64s(remainder);
    let mut value = simd.splat_f64s(COEFFICIENTS[11]);
    for c in COEFFICIENTS[..11].iter().rev() {
        value = simd.mul_add_e_f64s(value, r, simd.splat_f64s(*c));
    }
    // n = h + (n − h) with h = round(n/2).
    let half = simd.and_f64s(simd.mul_add_e_f64s(n, simd.splat_f64s(0.5), simd.splat_f64s(ROUNDING)), upper);
    let rest = simd.sub_f64s(n, simd.sub_f64s(half, simd.splat_f64s(INTEGER)));
    let rest = simd.add_f64s(rest, simd.splat_f64s(INTEGER));
    simd.mul_f64s(simd.mul_f64s(value, power(simd, half)), power(simd, rest))
}

/// $2^n$ from $n+1.5\cdot2^{20}$, for $|n|\le1000$.
#[inline(always)]
fn power<S: Simd>(simd: S, biased: S::f64s) -> S::f64s {
    let shifted = exponent(simd, biased);
    simd.transmute_f64s_u64s(simd.add_u64s(shifted, simd.transmute_u64s_f64s(simd.splat_f64s(1.0))))
}

/// The integer in the low bits of the upper half, moved to where the exponent stands.
#[inline(always)]
fn exponent<S: Simd>(simd: S, biased: S::f64s) -> S::u64s {
    if size_of::<S::u32s>() == size_of::<S::f64s>() {
        cast(simd.wrapping_dyn_shl_u32s(cast(biased), simd.splat_u32s(20)))
    } else {
        // Without vectors a 32-bit number is half as long as a double.
        let bits: u64 = cast(biased);
        cast((bits >> 32) << 52)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// $e^x$ as an unevaluated sum of two doubles, by the Taylor series of $e^{x/2^{k}}-1$ in double-double arithmetic and $k$ squarings.
    fn reference(x: f64) -> (f64, f64, i32) {
        // x = n ln 2 + r, with ln 2 in two parts: the first has 32 bits, so its product with n is exact; together they have 85.
        let n = (x / LN_2).round();
        let r = add(two_sum(x, -n * 0.693_147_180_369_123_8), product(-n, 1.908_214_929_270_587_7e-10));
        // Taylor of degree 12 at r/64, then six squarings of (1 + t) as t ← 2t + t².
        let y = (r.0 / 64.0, r.1 / 64.0);
        let mut t = (0.0, 0.0);
        for k in (1..=14).rev() {
            // t ← y/k (1 + t)
            t = multiply(divide(y, f64::from(k)), add((1.0, 0.0), t));
        }
        for _ in 0..6 {
            t = add((2.0 * t.0, 2.0 * t.1), multiply(t, t));
        }
        let e = add((1.0, 0.0), t);
        (e.0, e.1, n as i32)
    }

    fn two_sum(a: f64, b: f64) -> (f64, f64) {
        let s = a + b;
        let v = s - a;
        (s, (a - (s - v)) + (b - v))
    }
    fn product(a: f64, b: f64) -> (f64, f64) {
        let p = a * b;
        (p, a.mul_add(b, -p))
    }
    fn add(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
        let s = two_sum(a.0, b.0);
        let t = two_sum(a.1, b.1);
        let c = two_sum(s.0, s.1 + t.0);
        two_sum(c.0, c.1 + t.1)
    }
    fn multiply(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
        let p = product(a.0, b.0);
        two_sum(p.0, p.1 + (a.0 * b.1 + a.1 * b.0))
    }
    fn divide(a: (f64, f64), k: f64) -> (f64, f64) {
        let q = a.0 / k;
        let r = q.mul_add(-k, a.0) + a.1;
        two_sum(q, r / k)
    }

    /// Error of `found` for $e^x$, in units in the last place of the exact value.
    fn error(x: f64, found: f64) -> f64 {
        let (high, low, n) = reference(x);
        // Compare after scaling both to near 1; below the normal numbers the unit is that of the smallest.
        let unit = f64::EPSILON * if high >= 1.0 { 1.0 } else { 0.5 };
        let exponent = if high >= 1.0 { n } else { n - 1 };
        let unit = if exponent < -1022 { 2f64.powi(-1074 - n) } else { unit };
        let scaled = (found * 2f64.powi(-n / 2)) * 2f64.powi(-n + n / 2);
        ((scaled - high) - low).abs() / unit
    }

    #[test]
    fn exponentials_are_within_two_units() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut worst = (0.0, 0.0);
        for round in 0..260 {
            let mut x: Vec<f64> = (0..4099)
                .map(|_| match round % 4 {
                    0 => rng.random_range(-745.0..709.7),
                    1 => rng.random_range(-1.0..1.0),
                    2 => rng.random_range(-40.0..0.0),
                    _ => -(rng.random_range(-50.0..0.0f64).exp2()),
                })
                .collect();
            let arguments = x.clone();
            exp_in_place(&mut x);
            for (&a, &e) in arguments.iter().zip(&x) {
                let found = error(a, e);
                if found > worst.0 {
                    worst = (found, a);
                }
            }
        }
        assert!(worst.0 <= 2.0, "{} units at {}", worst.0, worst.1);
    }

    #[test]
    fn exponentials_at_the_edges() {
        let edges = [0.0, -0.0, f64::NEG_INFINITY, -1e308, -746.0, -745.1, 709.78, 710.0, f64::INFINITY, 1e-320];
        let mut plain = edges;
        InPlace(&mut plain).with_simd(pulp::Scalar);
        let mut x = edges;
        exp_in_place(&mut x);
        assert!(plain.iter().zip(&x).all(|(a, b)| a == b || (a / b - 1.0).abs() < 1e-15));
        assert_eq!(&x[..5], &[1.0, 1.0, 0.0, 0.0, 0.0]);
        assert_eq!(x[5], 5e-324);
        assert!(x[6].is_finite() && x[7] == f64::INFINITY && x[8] == f64::INFINITY && x[9] == 1.0);
    }

    struct DecayOf<'a>(Decay, &'a mut [f64]);
    impl WithSimd for DecayOf<'_> {
        type Output = ();
        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            let (head, tail) = S::as_mut_simd_f64s(self.1);
            assert!(tail.is_empty());
            for x in head {
                [*x] = self.0.apply(simd, [*x]);
            }
        }
    }

    #[test]
    fn decays_are_within_two_units() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let mut s: Vec<f64> =
            (0..1 << 18).map(|i| if i % 2 == 0 { rng.random_range(0.0..1020.0) } else { rng.random_range(0.0..3.0) }).collect();
        s[0] = 0.0;
        s[1] = 1e308;
        s[2] = f64::INFINITY;
        let arguments = s.clone();
        Arch::new().dispatch(DecayOf(Decay::new(1.0), &mut s));
        assert_eq!(&s[..3], &[1.0, 0.0, 0.0]);
        for (&a, &found) in arguments.iter().zip(&s).skip(3) {
            // 2^{−a}: the reference for e^{−a ln 2} with the integer part split off exactly.
            let whole = a.round();
            let r = a - whole;
            let t = product(-r, LN_2);
            let (high, low, n) = reference(t.0);
            let exact = high + (low + high * (t.1 - r * 2.319_046_813_846_299_6e-17));
            let scaled = found * 2f64.powi(whole as i32) * 2f64.powi(-n);
            let unit = if exact >= 1.0 { f64::EPSILON } else { 0.5 * f64::EPSILON };
            assert!((scaled - exact).abs() <= 2.0 * unit, "{a}: {scaled} {exact}");
        }
    }
}
