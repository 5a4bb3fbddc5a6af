//! The largest value of a smooth function on a box, by many starts and a compass.

use sigmabar::{BoxDomain, Domain, Result};

/// Sobol points at which the search begins.
const STARTS: usize = 4096;
/// How many of the best starts are followed.
const FOLLOWED: usize = 24;
/// The compass stops at steps this small, as a share of the side.
const SMALLEST_STEP: f64 = 1e-9;

/// The best place found and its value, from Sobol points and the given starts: a lower bound of the largest value.
///
/// Cost O(4096) evaluations and a few hundred d for each start followed.
pub(crate) fn largest(domain: &BoxDomain, starts: &[Vec<f64>], value: impl Fn(&[f64]) -> f64) -> Result<(Vec<f64>, f64)> {
    let sobol = Domain::Box(domain.clone()).candidates(STARTS, 0)?;
    let sobol = sobol.range(0, sobol.len())?;
    let inside = starts.iter().filter(|x| domain.contains(x)).cloned();
    let mut begun: Vec<(Vec<f64>, f64)> =
        sobol.view().rows().map(<[f64]>::to_vec).chain(inside).map(|x| (value(&x), x)).map(|(v, x)| (x, v)).collect();
    begun.sort_by(|a, b| b.1.total_cmp(&a.1));
    begun.truncate(FOLLOWED);
    let ended = begun.into_iter().map(|(x, v)| climb(domain, x, v, &value));
    Ok(ended.max_by(|a, b| a.1.total_cmp(&b.1)).expect("a box has Sobol points"))
}

/// Steps along single columns while they gain, halved when none does.
fn climb(domain: &BoxDomain, mut x: Vec<f64>, mut best: f64, value: &impl Fn(&[f64]) -> f64) -> (Vec<f64>, f64) {
    let mut step = 0.05;
    while step > SMALLEST_STEP {
        let mut gained = false;
        for column in 0..x.len() {
            let (low, high) = (domain.low()[column], domain.high()[column]);
            for sign in [1.0, -1.0] {
                let old = x[column];
                x[column] = (old + sign * step * (high - low)).clamp(low, high);
                let new = value(&x);
                if new > best {
                    best = new;
                    gained = true;
                } else {
                    x[column] = old;
                }
            }
        }
        if !gained {
            step *= 0.5;
        }
    }
    (x, best)
}
