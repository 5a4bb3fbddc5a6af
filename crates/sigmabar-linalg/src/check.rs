//! Probes with one random vector (Freivalds), after which a wrong result is an error and not a number.
//!
//! A result `C` that should equal `M` is multiplied by a vector `v` of random signs and compared with `M v` computed another
//! way. If `C − M = E`, each entry of `E v` is a signed sum, so by Hoeffding's inequality it exceeds `8·‖E_i‖₂` with
//! probability below `3·10⁻¹⁴`; the entries of `E` are bounded by rounding analysis as `γ·‖row‖·‖column‖`. Hence the rule
//! used everywhere here: entry `i` may differ by `8·terms·ε·size_i`, where `size_i` is a product of norms of the operands and
//! `terms` the length of the sums. Conversely an error of that size in one entry is always seen. The signs come from a fixed
//! seed: the same input always gives the same verdict. Norms are taken by squaring, so numbers beyond `10¹⁵⁰` are refused.

use crate::{LinalgError, Operation};

/// Dimensions below this are not checked: the probe would cost as much as the work.
pub(crate) const SMALLEST: usize = 32;

/// A vector of `n` random signs, the same for every call.
pub(crate) fn signs(n: usize) -> Vec<f64> {
    signs_from(0, n)
}

/// Entries `first .. first + n` of the fixed stream of signs.
pub(crate) fn signs_from(first: usize, n: usize) -> Vec<f64> {
    (first..first + n)
        .map(|i| {
            // splitmix64 of the index of the word; one bit per sign
            let mut z = ((i / 64) as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^= z >> 31;
            if (z >> (i % 64)) & 1 == 1 { 1.0 } else { -1.0 }
        })
        .collect()
}

/// A norm from its square, with a floor so that squares lost to underflow raise no false alarm.
pub(crate) fn norm(square: f64) -> f64 {
    (square + 1e-290).sqrt()
}

/// The relative discrepancy rounding can explain for sums of `terms` terms.
pub(crate) fn allowance(terms: usize) -> f64 {
    8.0 * (terms + 8) as f64 * f64::EPSILON
}

/// Compares two vectors entry by entry: `|gotᵢ − wantᵢ| ≤ allowed · size(i)`.
///
/// # Errors
/// [`LinalgError::SelfCheck`] with the worst entry; a NaN or infinity anywhere is a failure.
pub(crate) fn compare(
    operation: Operation,
    got: &[f64],
    want: &[f64],
    allowed: f64,
    size: impl Fn(usize) -> f64,
) -> Result<(), LinalgError> {
    debug_assert_eq!(got.len(), want.len());
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        let s = size(i);
        let discrepancy = (g - w).abs() / s;
        // written so that NaN fails
        if !(discrepancy <= allowed && s.is_finite()) {
            return Err(LinalgError::SelfCheck { operation, discrepancy, allowed });
        }
    }
    Ok(())
}

/// In tests, spoils a result just before its probe, so that the probes can be seen to fail. Nothing otherwise.
#[inline]
pub(crate) fn spoil(result: &mut [f64]) {
    #[cfg(test)]
    tests::SPOIL.with(|s| {
        if let Some((at, by)) = s.get() {
            let k = (at * (result.len() as f64 - 1.0)) as usize;
            result[k] += by;
        }
    });
    #[cfg(not(test))]
    let _ = result;
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        /// Relative position in the result and the number to add.
        pub(crate) static SPOIL: Cell<Option<(f64, f64)>> = const { Cell::new(None) };
    }

    /// Runs `f` with every checked result spoilt at relative position `at` by `by`.
    pub(crate) fn spoilt<T>(at: f64, by: f64, f: impl FnOnce() -> T) -> T {
        SPOIL.set(Some((at, by)));
        let t = f();
        SPOIL.set(None);
        t
    }

    #[test]
    fn signs_are_balanced_and_repeatable() {
        let s = signs(10_000);
        assert!(s.iter().all(|x| x.abs() == 1.0));
        assert!(s.iter().sum::<f64>().abs() < 400.0);
        assert_eq!(s[77..99], signs_from(77, 22)[..]);
    }

    #[test]
    fn nan_and_infinity_fail() {
        for bad in [f64::NAN, f64::INFINITY] {
            assert!(compare(Operation::Product, &[1.0, bad], &[1.0, 1.0], 1.0, |_| 1.0).is_err());
            assert!(compare(Operation::Product, &[1.0], &[1.0], 1.0, |_| bad).is_err());
        }
        assert!(compare(Operation::Product, &[1.0], &[1.0], 0.0, |_| 1.0).is_ok());
    }
}
