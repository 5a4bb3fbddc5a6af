//! What δ is spent on: quantiles, sides, lists, every point at once, boxes and the energy of the noise.
#![allow(clippy::unwrap_used, clippy::cloned_ref_to_slice_refs, clippy::unnecessary_cast)]

use crate::coverage_support;

use coverage_support::literal::{C, R, TAU, assert_ends, claim, instance, intervals, norm, oracles, queries, responses, true_lambda};
use coverage_support::oracle::{Sparse, close, sparse};
use coverage_support::{jacobi, points, residual_matrix};
use sigmabar::certificate::{Coverage, Method, ResidualNormMethod, Side, Widths};
use sigmabar::{BoxDomain, Noise, Posterior, Prior};
use std::sync::Arc;

#[test]
fn quantiles_are_those_of_the_tables() {
    let normal = Noise::gaussian(1.0).unwrap();
    for (delta, z) in
        [(0.3_f64, 0.524_400_512_708_040_7), (0.05, 1.644_853_626_951_472_2), (0.01, 2.326_347_874_040_841), (1e-9, 5.997_807_015_008_182)]
    {
        close(normal.tail_factor(-delta.ln()), z, 1e-10, "normal quantile");
    }
    assert_eq!(normal.tail_factor(-0.7_f64.ln()), 0.0);
    close(normal.norm_factor(10, 20.0_f64.ln()), 18.307_038_053_275_15_f64.sqrt(), 1e-5, "chi-squared, 10");
    close(normal.norm_factor(1, 100.0_f64.ln()), 6.634_896_601_021_214_f64.sqrt(), 1e-5, "chi-squared, 1");
    let bounded = Noise::bounded(0.5).unwrap();
    close(bounded.energy(16, 3.0), 2.0, 1e-12, "bounded noise has bounded energy");
    let t = 3.0_f64;
    close(Noise::sub_gaussian(0.5).unwrap().energy(16, t), 0.5 * (16.0 + 2.0 * (16.0 * t).sqrt() + 2.0 * t).sqrt(), 1e-12, "energy");
    let own = Noise::per_observation(vec![0.5, 1.0]).unwrap();
    close(own.energy(2, t), (1.25 + 2.0 * (t * (0.0625 + 1.0)).sqrt() + 2.0 * t).sqrt(), 1e-12, "energy with own levels");
}

#[test]
fn sides_lists_and_delta() {
    let instance = instance();
    let y = responses(instance.x.len());
    let base = claim(0.1).noise(Noise::gaussian(R).unwrap()).method(Method::Direct);
    let both = intervals(&instance, &y, &base.clone().with_delta(0.2).unwrap());
    let upper = intervals(&instance, &y, &base.clone().side(Side::Upper));
    let lower = intervals(&instance, &y, &base.clone().side(Side::Lower));
    for q in 0..3 {
        assert_eq!(upper.lower()[q], f64::NEG_INFINITY);
        assert_eq!(lower.upper()[q], f64::INFINITY);
        close(upper.upper()[q], both.upper()[q], 1e-12, "one side at 0.1 is both at 0.2");
        close(lower.lower()[q], both.lower()[q], 1e-12, "one side at 0.1 is both at 0.2");
    }
    let list = intervals(&instance, &y, &base.clone().with_delta(0.3).unwrap().coverage(Coverage::Points));
    let point = intervals(&instance, &y, &base.with_delta(0.1).unwrap());
    for q in 0..3 {
        close(list.upper()[q], point.upper()[q], 1e-12, "three points share delta");
    }
    close(list.certificate().spent[0].delta / list.certificate().spent[0].events.unwrap(), 0.05, 1e-12, "delta of one side at one point");
}

/// A long list costs no more than every point there is: the smaller of √(2 ln(2q/δ)) and √(ρ+2√(ρt)+2t), known before any response.
#[test]
fn a_long_list_takes_the_event_for_every_point() {
    let instance = instance();
    let widths = Widths::new(Arc::clone(&instance.information), &claim(0.1).coverage(Coverage::Points).method(Method::Direct)).unwrap();
    let t = 10.0_f64.ln();
    let every = (5.0 + 2.0 * (5.0 * t).sqrt() + 2.0 * t).sqrt();
    for queries in [1_usize, 10, 100, 10_000, 1_000_000] {
        let union = (2.0 * (20.0 * queries as f64).ln()).sqrt();
        close(widths.noise_factor(queries), union.min(every), 1e-10, "factor of a list");
    }
    let mut long = queries();
    long.extend((0..20_000).map(|i| vec![f64::from(i) / 20_000.0, 0.5]));
    let y = responses(instance.x.len());
    let posterior = Posterior::condition(Arc::clone(&instance.information), &y, Prior::ZERO).unwrap();
    let view = points(&long);
    let found = posterior.interval_with(&widths, view.view()).unwrap();
    assert_eq!((found.certificate().spent[0].delta, found.certificate().spent[0].events), (0.1, Some(1.0)), "one event");
    close(found.certificate().bounds.noise_factor.unwrap(), every, 1e-10, "its factor");
    // A new response has noise that this event knows nothing of.
    let prediction = posterior.prediction_interval(view.view(), widths.claim()).unwrap();
    let union = (2.0 * (20.0 * long.len() as f64).ln()).sqrt();
    close(prediction.certificate().bounds.noise_factor.unwrap(), union, 1e-10, "factor of a new response");
    // The paper's method stays the paper's.
    let paper = Widths::new(Arc::clone(&instance.information), &claim(0.1).coverage(Coverage::Points).method(Method::Paper)).unwrap();
    close(paper.noise_factor(1_000_000), (2.0 * 2e7_f64.ln()).sqrt(), 1e-10, "the paper's union bound");
}

#[test]
fn a_randomised_lambda_is_charged_to_delta() {
    let instance = instance();
    let y = responses(instance.x.len());
    let method = ResidualNormMethod::Randomised { steps: 18, failure: 0.04, seed: 1 };
    let found = intervals(&instance, &y, &claim(0.1).method(Method::Direct).residual_norm(method));
    assert_eq!(found.certificate().spent[1].delta, 0.04);
    close(found.certificate().bounds.noise_factor.unwrap(), (2.0 * (2.0 / 0.06_f64).ln()).sqrt(), 1e-10, "what is left of delta");
    let posterior = Posterior::condition(Arc::clone(&instance.information), &y, Prior::ZERO).unwrap();
    let none = posterior.interval(points(&queries()).view(), &claim(0.04).residual_norm(method));
    assert!(matches!(none, Err(sigmabar::Error::Premise { .. })));
}

#[test]
fn uniform_factors() {
    let instance = instance();
    let gram: Vec<Vec<f64>> = (0..5).map(|i| (0..5).map(|j| instance.information.gram()[(i, j)]).collect()).collect();
    let shrunk: Vec<f64> = jacobi(&gram).iter().map(|g| g / (g + TAU * TAU)).collect();
    let (d1, d2) = (shrunk.iter().sum::<f64>(), shrunk.iter().map(|h| h * h).sum::<f64>());
    let largest = shrunk.iter().copied().fold(0.0, f64::max);
    for delta in [0.3, 0.1, 0.01_f64] {
        let t = (1.0 / delta).ln();
        let range = (5.0 + 2.0 * (5.0 * t).sqrt() + 2.0 * t).sqrt();
        let shrink = (d1 + 2.0 * (d2 * t).sqrt() + 2.0 * largest * t).sqrt();
        let expected = if d2.sqrt() * range <= d1.sqrt() * shrink { range } else { shrink };
        let widths =
            Widths::new(Arc::clone(&instance.information), &claim(delta).coverage(Coverage::Uniform).method(Method::Direct)).unwrap();
        close(widths.noise_factor(3), expected, 1e-8, "uniform factor");
        let half = widths.half_widths(points(&queries()).view()).unwrap();
        for (q, o) in oracles(&instance, &responses(instance.x.len())).iter().enumerate() {
            let coefficient = if expected == range { norm(&o.weights) } else { (o.fit + o.noise).sqrt() / TAU };
            close(half[q].noise, R * coefficient * expected, 1e-7, "uniform noise term");
        }
    }
}

/// `|f−μ̄|(x) ≤ C·b + R‖V‖z(δ/2Γ) + (Lip + C + ‖β̂‖)h`; β-widths as printed; the count is that of a real cover.
#[test]
fn continuous_claims() {
    let instance = instance();
    let y = responses(instance.x.len());
    let oracles = oracles(&instance, &y);
    let lambda = true_lambda(&instance);
    let r = lambda / (TAU * TAU);
    let region = BoxDomain::with_flat_sides(vec![0.0, 0.0], vec![1.5, 1.0]).unwrap();
    let posterior = Posterior::condition(Arc::clone(&instance.information), &y, Prior::ZERO).unwrap();
    let delta = 0.1_f64;
    for method in [Method::Direct, Method::DropIn] {
        let claim = claim(delta).coverage(Coverage::Continuous(region.clone())).method(method);
        let found = posterior.interval(points(&queries()).view(), &claim).unwrap();
        let (h, log_count) = (found.certificate().bounds.cover_radius.unwrap(), found.certificate().bounds.log_cells.unwrap());
        let factor = (2.0 * ((2.0 / delta).ln() + log_count)).sqrt();
        // Matérn-5/2, length-scale 0.4, variance 2: L₀ = √(5/3).
        let printed: f64 =
            [1.5, 1.0].iter().map(|w: &f64| (w * (2.0 * 2.0_f64).sqrt() * (5.0 / 3.0_f64).sqrt() / (2.0 * 0.4 * h)).ceil().ln()).sum();
        assert!(log_count <= printed + 1e-12, "{log_count} {printed}");
        let cells = (log_count / 2.0).exp().round();
        let covered = instance.kernel.metric_over_cell(&[0.75 / cells, 0.5 / cells]).unwrap() <= h;
        assert!(covered || (log_count - printed).abs() < 1e-12, "the cells must cover");
        let slack = |lip: f64| (lip + C + posterior.norm()) * h;
        match method {
            Method::Direct => {
                let a: f64 = 0.5 * r.sqrt();
                let lip = C * (a + (a * a + 4.0).sqrt()) / 2.0 + R * factor / (2.0 * TAU);
                let half = |_: usize, o: &Sparse| {
                    let v = norm(&o.weights);
                    C * ((o.projection.sqrt() + lambda.sqrt() * v).powi(2) + o.fit).sqrt() + R * v * factor + slack(lip)
                };
                assert_ends(&found, &oracles, half, "continuous, direct");
            }
            _ => {
                let beta = C * (1.0 + r).sqrt() + R / TAU * factor;
                assert_ends(&found, &oracles, |_, o| beta * o.variance.sqrt() + slack(beta), "continuous, drop-in");
            }
        }
    }
    // The paper's own: 2/n + β(δ/(2Γ_n))(σ̄ + 2/√n), one side at δ/2.
    let found = posterior
        .interval(points(&queries()).view(), &claim(delta).coverage(Coverage::Continuous(region.clone())).method(Method::Paper))
        .unwrap();
    let n = instance.x.len() as f64;
    let side = delta / 2.0;
    let c_mean = C * (1.0 + n.sqrt() * 2.0 / TAU) + n.sqrt() * R / TAU * (2.0 * (2.0 * n / (side / 2.0)).ln()).sqrt();
    let gamma: f64 =
        [1.5, 1.0].iter().map(|w| (w * (2.0 * 2.0_f64).sqrt() * (5.0 / 3.0_f64).sqrt() / (2.0 * 0.4) * c_mean * n).ceil()).product();
    let beta = (2.0 + r.sqrt()) * C + R / TAU * (2.0 * (2.0 * gamma / side).ln()).sqrt();
    assert_ends(&found, &oracles, |_, o| 2.0 / n + beta * (o.variance.sqrt() + 2.0 / n.sqrt()), "the paper's corollary");
    let outside = posterior.interval(points(&[vec![2.0, 0.5]]).view(), &claim(delta).coverage(Coverage::Continuous(region)));
    assert!(matches!(outside, Err(sigmabar::Error::Outside { .. })));
}

/// `√(C² + (Γ+√λC)²/s² − yᵀ(κ+s²I)⁻¹y)·σ_κ,s + C·s1`, the best of the grid, by elimination in double-double for each ridge.
#[test]
fn the_energy_band_and_the_least_norm() {
    use coverage_support::oracle::double::{Double, dot, solve};
    let instance = instance();
    let n = instance.x.len();
    let y: Vec<f64> = responses(n).iter().map(|v| 0.3 * v).collect();
    let lambda = true_lambda(&instance);
    let t = (1.0 / 0.1_f64).ln();
    let gamma = R * (n as f64 + 2.0 * (n as f64 * t).sqrt() + 2.0 * t).sqrt();
    let found = intervals(&instance, &y, &claim(0.1).method(Method::Energy));
    let middle = (gamma + lambda.sqrt() * C) / C;
    let ridges: Vec<f64> = (0..41).map(|i| middle * 1e3_f64.powf(2.0 * f64::from(i) / 40.0 - 1.0)).chain([TAU]).collect();
    let d = residual_matrix(instance.covariance, &instance.x, &instance.z);
    let quadratic = |s: f64| {
        let a: Vec<Vec<Double>> = (0..n)
            .map(|i| {
                let entry = |j: usize| Double::from((instance.covariance)(&instance.x[i], &instance.x[j])) - Double::from(d[i][j]);
                (0..n).map(|j| if i == j { entry(j) + Double::from(s * s) } else { entry(j) }).collect()
            })
            .collect();
        let y: Vec<Double> = y.iter().map(|&v| Double::from(v)).collect();
        dot(&solve(&a, &y), &y).value()
    };
    for (q, query) in queries().iter().enumerate() {
        let best = ridges
            .iter()
            .map(|&s| {
                let o = sparse(instance.covariance, s, &instance.x, &y, &instance.z, query);
                let root = (C * C + ((gamma + lambda.sqrt() * C) / s).powi(2) - quadratic(s)).sqrt();
                (root * (o.fit + o.noise).sqrt() + C * o.projection.sqrt(), o.mean)
            })
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap();
        close(found.upper()[q], best.1 + best.0, 1e-6, "energy band, upper");
        close(found.lower()[q], best.1 - best.0, 1e-6, "energy band, lower");
    }
    // Loud data: at the reported norm the best radicand of the grid around it is zero.
    let loud: Vec<f64> = y.iter().map(|v| 40.0 * v).collect();
    let posterior = Posterior::condition(Arc::clone(&instance.information), &loud, Prior::ZERO).unwrap();
    let check = posterior.norm_check(&claim(0.1)).unwrap();
    assert_eq!(check.contradicted, Some(check.least_norm > C));
    let c0 = check.least_norm;
    assert!(c0 > C, "loud data contradict C: {c0}");
    let least = (0..400)
        .map(|i| (gamma / c0 + lambda.sqrt()) * 10.0_f64.powf(f64::from(i) / 100.0 - 2.0))
        .map(|s| c0 * c0 + ((gamma + lambda.sqrt() * c0) / s).powi(2) - 1600.0 * quadratic(s))
        .fold(f64::INFINITY, f64::min);
    assert!(least.abs() < 0.02 * c0 * c0, "radicand {least} at {c0}");
}
