//! How a budget is cut into batches.

use crate::error::{Error, Result, at_least_one};

/// The batch lengths of batched elimination: $N_i = \lceil\sqrt{N\,N_{i-1}}\rceil$, $N_0=1$, the last one cut so that they sum to $N$ (algorithm notes 5.2, exact
/// integer arithmetic). Their number is $B$ (correction E8: computed, not read off a formula). Cost O(log log N).
///
/// # Errors
/// [`Error::Parameter`] for a budget of 0.
pub fn batch_lengths(budget: usize) -> Result<Vec<usize>> {
    check(budget, 1)?;
    let (mut left, mut length, mut lengths) = (budget, 1, Vec::new());
    while left > 0 {
        length = ceil_sqrt(budget as u128 * length as u128);
        lengths.push(length.min(left));
        left -= length.min(left);
    }
    Ok(lengths)
}

/// Exactly `batches` batches of growing length, for a gain that grows like $N^c$: lengths proportional to $\lceil N^{(1-\eta^i)/(1-\eta^B)}\rceil$, $\eta = (1-c)/2$, rescaled to
/// sum to $N$, none empty (algorithm notes 5.2).
///
/// # Errors
/// [`Error::Parameter`] for no batches, a budget below their number, or an exponent outside [0, 1).
pub fn batch_lengths_for(budget: usize, batches: usize, gain_exponent: f64) -> Result<Vec<usize>> {
    check(budget, batches)?;
    if !(0.0..1.0).contains(&gain_exponent) {
        return Err(Error::Parameter { name: "gain_exponent", value: gain_exponent, requirement: "at least 0 and below 1" });
    }
    let eta = 0.5 * (1.0 - gain_exponent);
    let exponent = |i: usize| (1.0 - eta.powi(i as i32)) / (1.0 - eta.powi(batches as i32));
    let wished: Vec<f64> = (1..=batches).map(|i| (budget as f64).powf(exponent(i)).ceil()).collect();
    Ok(rescaled(&wished, budget))
}

/// Exactly `batches` batches whose lengths differ by at most 1, the longer ones first.
///
/// # Errors
/// [`Error::Parameter`] for no batches or a budget below their number.
pub fn even_batch_lengths(budget: usize, batches: usize) -> Result<Vec<usize>> {
    check(budget, batches)?;
    Ok((0..batches).map(|i| budget / batches + usize::from(i < budget % batches)).collect())
}

fn check(budget: usize, batches: usize) -> Result<()> {
    at_least_one("batches", batches)?;
    if budget < batches {
        return Err(Error::Parameter { name: "budget", value: budget as f64, requirement: "at least 1 for every batch" });
    }
    Ok(())
}

/// The smallest integer whose square is at least `value`.
fn ceil_sqrt(value: u128) -> usize {
    let root = value.isqrt();
    (root + u128::from(root * root < value)) as usize
}

/// Lengths in proportion to `wished`, at least 1 each, summing to `budget`: one for every batch, the rest shared, what rounding leaves to the last.
fn rescaled(wished: &[f64], budget: usize) -> Vec<usize> {
    let spare = budget - wished.len();
    let total: f64 = wished.iter().sum();
    // Share of batch i beyond its first: floor(spare·w_i/Σw), at most what is left.
    let mut left = spare;
    let mut lengths: Vec<usize> = wished
        .iter()
        .map(|w| {
            let share = ((spare as f64 * w / total).floor() as usize).min(left);
            left -= share;
            1 + share
        })
        .collect();
    if let Some(last) = lengths.last_mut() {
        *last += left;
    }
    lengths
}
