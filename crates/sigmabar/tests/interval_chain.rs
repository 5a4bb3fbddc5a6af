//! The chain exact ≤ b_W ≤ b ≤ √(1+r)σ̄ ≤ (2+√r)σ̄ and "never wider than the paper", against worst cases in higher precision.

mod coverage_support;

use coverage_support::oracle::{Draws, worst_case};
use coverage_support::{Instance, points};
use sigmabar::{Claim, HalfWidth, Method, Noise, Widths};
use std::sync::Arc;

const METHODS: [Method; 6] = [Method::Tight, Method::Dictionary, Method::WMatrix, Method::Direct, Method::DropIn, Method::Paper];

/// Half-widths of the six methods at each query for C = 1 and noise so small that only the bias is left, and for real noise.
fn half_widths(instance: &Instance, queries: &[Vec<f64>], level: f64) -> Vec<Vec<HalfWidth>> {
    let claim = Claim::new(0.1).unwrap().norm_bound(1.0).unwrap().noise(Noise::sub_gaussian(level).unwrap());
    METHODS
        .iter()
        .map(|&method| {
            let widths = Widths::new(Arc::clone(&instance.information), &claim.clone().method(method)).unwrap();
            widths.half_widths(points(queries).view()).unwrap()
        })
        .collect()
}

fn check(instance: &Instance, queries: &[Vec<f64>], what: &str) -> usize {
    let level = 0.3;
    let halves = half_widths(instance, queries, level);
    let weights = instance.information.weights(points(queries).view()).unwrap();
    let slightly = 1.0 + 1e-12;
    for (q, query) in queries.iter().enumerate() {
        let exact = worst_case(instance.covariance, &instance.x, weights.row(q), query);
        let [tight, dictionary, form, direct, drop_in, paper] = [0, 1, 2, 3, 4, 5].map(|i| halves[i][q]);
        for (bound, name) in [(tight, "tight"), (dictionary, "dictionary"), (form, "form"), (direct, "direct")] {
            assert!(exact <= bound.bias, "{what}: exact {exact:e} above {name} {:e}, tau {:e}", bound.bias, instance.tau);
        }
        assert!(form.bias <= direct.bias * slightly, "{what}: b_W {:e} above b {:e}", form.bias, direct.bias);
        assert!(tight.bias <= form.bias * slightly, "{what}");
        assert!(direct.bias <= drop_in.bias * slightly, "{what}: b {:e} above the drop-in {:e}", direct.bias, drop_in.bias);
        assert!(drop_in.bias <= paper.bias * slightly, "{what}");
        // The whole width, noise included, at the same convention.
        assert!(direct.total() <= paper.total() * slightly, "{what}: direct {:e}, paper {:e}", direct.total(), paper.total());
        assert!(tight.total() <= direct.total() * slightly, "{what}");
        // The noise term covers the weights that are really used.
        let norm = weights.row(q).iter().map(|v| v * v).sum::<f64>().sqrt();
        let needed = level * norm * (2.0 * 20.0_f64.ln()).sqrt();
        assert!(
            direct.noise >= needed * (1.0 - 1e-12),
            "{what}: noise term {:e} below {needed:e}, tau {:e}, rounding {:e}, norm bound {:e}, condition {:e}, parts {:?}, certified {:?}",
            direct.noise,
            instance.tau,
            instance.information.rounding(),
            instance.information.norm_bound(),
            instance.information.features().condition(),
            instance.information.variance_parts(points(&[query.clone()]).view()).unwrap(),
            instance.information.certified_parts(points(&[query.clone()]).view()).unwrap()
        );
    }
    queries.len()
}

#[test]
fn every_bound_is_above_the_exact_worst_case_and_below_the_papers() {
    let mut draws = Draws::new(71);
    let mut queries_done = 0;
    let mut instances = 0;
    while queries_done < 10_000 {
        let largest = match instances % 40 {
            0 => 300,
            1..5 => 80,
            _ => 25,
        };
        let instance = Instance::random(&mut draws, largest);
        let d = instance.x[0].len();
        let mut queries = draws.points(9, d);
        queries.push(instance.x[0].clone());
        queries.push(instance.z[0].clone());
        queries.push(instance.z[0].iter().map(|v| v + 1e-6).collect());
        queries_done += check(&instance, &queries, &format!("instance {instances}"));
        instances += 1;
    }
    assert!(instances >= 800);
}
