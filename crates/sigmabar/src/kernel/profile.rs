//! Functions of the squared distance, in vectors.

use super::exp::Decay;
use pulp::Simd;
use std::f64::consts::LN_2;

/// A function of the squared distance $t$ and its slope, for several vectors at once.
pub(super) trait Profile: Copy {
    /// $k(t)$: what only the slope needs is left out when both are compiled into their caller.
    #[inline(always)]
    fn value<S: Simd, const N: usize>(self, simd: S, t: [S::f64s; N]) -> [S::f64s; N] {
        self.value_and_slope(simd, t).0
    }

    /// $k(t)$ and $-2\,\partial k/\partial\rho^2$.
    fn value_and_slope<S: Simd, const N: usize>(self, simd: S, t: [S::f64s; N]) -> ([S::f64s; N], [S::f64s; N]);
}

/// The distance itself: for shapes that are finished entry by entry, and for the benchmark.
#[derive(Clone, Copy)]
pub(super) struct Distance;

/// $v\,2^{-t}$.
#[derive(Clone, Copy)]
pub(super) struct SquaredExponential(pub(super) Decay);

/// $v\,2^{-\sqrt t}$.
#[derive(Clone, Copy)]
pub(super) struct Matern12(pub(super) Decay);

/// $v\,(1+r)2^{-\sqrt t}$ with $r=\sqrt t\ln2$.
#[derive(Clone, Copy)]
pub(super) struct Matern32(pub(super) Decay);

/// $v\,(1+r+r^2/3)2^{-\sqrt t}$ with $r=\sqrt t\ln2$.
#[derive(Clone, Copy)]
pub(super) struct Matern52(pub(super) Decay);

impl Profile for Distance {
    #[inline(always)]
    fn value_and_slope<S: Simd, const N: usize>(self, _: S, t: [S::f64s; N]) -> ([S::f64s; N], [S::f64s; N]) {
        (t, t)
    }
}

impl Profile for SquaredExponential {
    #[inline(always)]
    fn value_and_slope<S: Simd, const N: usize>(self, simd: S, t: [S::f64s; N]) -> ([S::f64s; N], [S::f64s; N]) {
        let value = self.0.apply(simd, t);
        (value, value)
    }
}

impl Profile for Matern12 {
    #[inline(always)]
    fn value_and_slope<S: Simd, const N: usize>(self, simd: S, t: [S::f64s; N]) -> ([S::f64s; N], [S::f64s; N]) {
        let root = roots(simd, t);
        let value = self.0.apply(simd, root);
        let mut slope = value;
        for k in 0..N {
            // e^{−r}/r; at r = 0 it meets a difference that is 0, so any finite number will do.
            let r = simd.max_f64s(simd.mul_f64s(root[k], simd.splat_f64s(LN_2)), simd.splat_f64s(1e-100));
            slope[k] = simd.div_f64s(value[k], r);
        }
        (value, slope)
    }
}

impl Profile for Matern32 {
    #[inline(always)]
    fn value_and_slope<S: Simd, const N: usize>(self, simd: S, t: [S::f64s; N]) -> ([S::f64s; N], [S::f64s; N]) {
        let root = roots(simd, t);
        let mut value = self.0.apply(simd, root);
        let mut slope = value;
        for k in 0..N {
            slope[k] = simd.mul_f64s(value[k], simd.splat_f64s(3.0));
            value[k] = simd.mul_f64s(value[k], linear(simd, root[k]));
        }
        (value, slope)
    }
}

impl Profile for Matern52 {
    #[inline(always)]
    fn value_and_slope<S: Simd, const N: usize>(self, simd: S, t: [S::f64s; N]) -> ([S::f64s; N], [S::f64s; N]) {
        let root = roots(simd, t);
        let mut value = self.0.apply(simd, root);
        let mut slope = value;
        for k in 0..N {
            let factor = simd.mul_f64s(linear(simd, root[k]), simd.splat_f64s(5.0 / 3.0));
            slope[k] = simd.mul_f64s(value[k], factor);
            value[k] = simd.mul_f64s(value[k], quadratic(simd, root[k]));
        }
        (value, slope)
    }
}

/// $1+r$, with $r$ held below a bound that only matters where the decay is 0: an infinite distance must not give $\infty\cdot0$.
#[inline(always)]
fn linear<S: Simd>(simd: S, root: S::f64s) -> S::f64s {
    let root = simd.min_f64s(root, simd.splat_f64s(1e100));
    simd.mul_add_e_f64s(root, simd.splat_f64s(LN_2), simd.splat_f64s(1.0))
}

/// $1+r(1+r/3)$, bounded likewise.
#[inline(always)]
fn quadratic<S: Simd>(simd: S, root: S::f64s) -> S::f64s {
    let root = simd.min_f64s(root, simd.splat_f64s(1e100));
    let inner = simd.mul_add_e_f64s(root, simd.splat_f64s(LN_2 * LN_2 / 3.0), simd.splat_f64s(LN_2));
    simd.mul_add_e_f64s(root, inner, simd.splat_f64s(1.0))
}

/// $\sqrt t$; a loop and not `map`, since a closure would not inherit the instruction set.
#[inline(always)]
fn roots<S: Simd, const N: usize>(simd: S, mut t: [S::f64s; N]) -> [S::f64s; N] {
    for t in &mut t {
        *t = simd.sqrt_f64s(*t);
    }
    t
}
