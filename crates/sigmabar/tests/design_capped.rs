//! Designs whose inducing points may not be as many as they should: measurements spread all the same, and the bound holds.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sigmabar::design::{Design, DictionarySize, MaxVariance};
use sigmabar::{FeatureMap, Kernel, Points};
use std::collections::HashMap;
use std::sync::Arc;

fn uniform(count: usize, dim: usize, seed: u64) -> Points {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    Points::new((0..count * dim).map(|_| rng.random::<f64>()).collect(), dim).unwrap()
}

fn most_repeated(design: &Design) -> usize {
    let mut counts: HashMap<usize, usize> = HashMap::new();
    design.indices().iter().for_each(|&i| *counts.entry(i).or_default() += 1);
    counts.into_values().max().unwrap()
}

fn check(design: &Design, candidates: &Points, what: &str) {
    let variance = design.information().variance(candidates.view()).unwrap();
    let largest = variance.iter().copied().fold(0.0, f64::max);
    assert!((largest.sqrt() - design.max_std()).abs() < 1e-8, "{what}: the reported maximum");
    assert!(largest <= design.variance_bound() * (1.0 + 1e-9), "{what}: {largest} above {}", design.variance_bound());
}

#[test]
fn capped_dictionaries_do_not_measure_one_point_for_ever() {
    for (seed, dim) in [(1, 4), (2, 6), (3, 8)] {
        let candidates = uniform(2000, dim, seed);
        let kernel = Kernel::matern(2.5, 0.4, 1.0).unwrap();
        let inducing = candidates.view().range(0, 40).to_points();
        let features = Arc::new(FeatureMap::new(kernel.clone(), inducing).unwrap());
        let plain = MaxVariance::new(Arc::clone(&features), 0.1).unwrap().choose(candidates.view(), 300).unwrap();
        let given = MaxVariance::new(features, 0.1).unwrap().spreading().choose(candidates.view(), 300).unwrap();
        let growing = MaxVariance::growing(kernel, 0.1, DictionarySize::at_most(40)).unwrap().choose(candidates.view(), 300).unwrap();
        assert!(
            most_repeated(&plain) > 100,
            "ranked by all of the variance it stays where nothing can be learnt: {}",
            most_repeated(&plain)
        );
        for (design, what) in [(&plain, "plain"), (&given, "given"), (&growing, "growing")] {
            check(design, &candidates, what);
        }
        for (design, what) in [(&given, "given"), (&growing, "growing")] {
            assert!(most_repeated(design) <= 30, "{what}, d = {dim}: one of {} for 40 inducing points", most_repeated(design));
            assert!(design.information().gain() > plain.information().gain(), "{what} learns more");
        }
    }
}

#[test]
fn the_choice_is_that_of_looking_at_every_candidate() {
    let candidates = uniform(150, 3, 9);
    let (kernel, tau) = (Kernel::squared_exponential(0.15, 1.0).unwrap(), 0.2);
    let features = Arc::new(FeatureMap::new(kernel, candidates.view().range(0, 10).to_points()).unwrap());
    let design = MaxVariance::new(Arc::clone(&features), tau).unwrap().spreading().choose(candidates.view(), 60).unwrap();
    let residual = features.residual(candidates.view()).unwrap();
    let mut reducible = false;
    for j in 0..60 {
        let variance = if j == 0 {
            features.kernel().diagonal(candidates.view())
        } else {
            let chosen = Arc::new(sigmabar::points::Locations::new(design.points().range(0, j).to_points(), sigmabar::Collected::Designed));
            sigmabar::Information::new(Arc::clone(&features), tau, chosen).unwrap().variance(candidates.view()).unwrap()
        };
        let best = |score: &dyn Fn(usize) -> f64| (1..150).fold(0, |best, i| if score(i) > score(best) { i } else { best });
        let top = best(&|i| variance[i]);
        reducible |= residual[top] > 0.5 * variance[top];
        let score = |i: usize| if reducible { variance[i] - residual[i] } else { variance[i] };
        let (ours, literal) = (score(design.indices()[j]), score(best(&score)));
        assert!((ours - literal).abs() <= 1e-9, "pick {j}: {ours} against {literal}");
    }
    assert!(reducible, "the test must reach the part of the variance that cannot be lowered");
}
