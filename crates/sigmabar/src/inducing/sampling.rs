//! Draws that every rule shares: subsets, weighted subsets, and indices in proportion to a weight.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// `size` of `0..n`, each subset equally likely, in random order (a Fisher–Yates shuffle stopped early). Cost O(n).
pub(crate) fn subset(n: usize, size: usize, rng: &mut ChaCha8Rng) -> Vec<usize> {
    let size = size.min(n);
    let mut all: Vec<usize> = (0..n).collect();
    for i in 0..size {
        let j = rng.random_range(i..n);
        all.swap(i, j);
    }
    all.truncate(size);
    all
}

/// `size` distinct indices, drawn one after the other in proportion to the weights left; fewer if fewer weights are positive.
///
/// The exponential race: the `size` largest of $\log(u_i)/w_i$. Cost O(n log n).
pub(crate) fn weighted_subset(weights: &[f64], size: usize, rng: &mut ChaCha8Rng) -> Vec<usize> {
    let mut race: Vec<(f64, usize)> = Vec::with_capacity(weights.len());
    for (i, &w) in weights.iter().enumerate() {
        // 1 − u lies in (0, 1]: the logarithm is finite.
        let arrival = -(1.0 - rng.random::<f64>()).ln();
        if w > 0.0 {
            race.push((arrival / w, i));
        }
    }
    race.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    race.truncate(size);
    race.into_iter().map(|(_, i)| i).collect()
}

/// As [`weighted_subset`], filled up to `size` with uniform draws among the indices that are `eligible` when too few weights are positive.
pub(crate) fn filled_subset(weights: &[f64], eligible: &[usize], size: usize, rng: &mut ChaCha8Rng) -> Vec<usize> {
    let mut chosen = weighted_subset(weights, size, rng);
    if chosen.len() < size {
        let taken: std::collections::HashSet<usize> = chosen.iter().copied().collect();
        let rest: Vec<usize> = eligible.iter().copied().filter(|i| !taken.contains(i)).collect();
        let missing = size - chosen.len();
        chosen.extend(subset(rest.len(), missing, rng).into_iter().map(|j| rest[j]));
    }
    chosen
}

/// Each index on its own with its probability. Cost O(n).
pub(crate) fn independent(probabilities: &[f64], rng: &mut ChaCha8Rng) -> Vec<usize> {
    (0..probabilities.len()).filter(|&i| rng.random::<f64>() < probabilities[i]).collect()
}

/// `count` indices drawn with replacement in proportion to the weights; nothing if all are zero. Cost O(n + count·log n).
pub(crate) fn with_replacement(weights: &[f64], count: usize, rng: &mut ChaCha8Rng) -> Vec<usize> {
    let mut total = 0.0;
    let cumulative: Vec<f64> = weights
        .iter()
        .map(|&w| {
            total += w.max(0.0);
            total
        })
        .collect();
    if total.is_nan() || total <= 0.0 {
        return Vec::new();
    }
    let draw = |u: f64| {
        let i = cumulative.partition_point(|&c| c <= u * total);
        // u·total can round up to the total itself: then the last index of positive weight is meant.
        if i < weights.len() { i } else { weights.iter().rposition(|&w| w > 0.0).unwrap_or(0) }
    };
    (0..count).map(|_| draw(rng.random::<f64>())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn zero_weights_are_never_drawn() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let weights = [0.0, 1.0, 0.0, 2.0, 0.0];
        for _ in 0..200 {
            assert!(with_replacement(&weights, 5, &mut rng).iter().all(|&i| i == 1 || i == 3));
            let mut both = weighted_subset(&weights, 4, &mut rng);
            both.sort_unstable();
            assert_eq!(both, [1, 3]);
        }
        assert!(with_replacement(&[0.0; 3], 5, &mut rng).is_empty());
    }

    #[test]
    fn a_weighted_subset_has_the_law_of_successive_draws() {
        // P(first two = {0,1}) = w0 w1/(1−w0) + w1 w0/(1−w1) for weights that sum to 1.
        let weights = [0.5, 0.3, 0.2];
        let expected = 0.5 * 0.3 / 0.5 + 0.3 * 0.5 / 0.7;
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let draws = 40_000;
        let hits = (0..draws).filter(|_| !weighted_subset(&weights, 2, &mut rng).contains(&2)).count();
        let (p, se) = (hits as f64 / draws as f64, (expected * (1.0 - expected) / draws as f64).sqrt());
        assert!((p - expected).abs() < 4.5 * se, "{p} against {expected}");
    }
}
