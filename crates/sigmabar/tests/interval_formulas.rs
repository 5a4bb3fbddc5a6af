//! Each width against its printed formula, in plain loops and higher precision.
#![allow(clippy::unwrap_used, clippy::cloned_ref_to_slice_refs, clippy::unnecessary_cast)]

use crate::coverage_support;

use coverage_support::literal::{
    C, QUERIES, R, TAU, assert_ends, claim, instance, intervals, norm, oracles, queries, responses, true_lambda,
};
use coverage_support::oracle::{Draws, Sparse, close, exact, worst_case};
use coverage_support::{Instance, points, residual_matrix};
use sigmabar::certificate::{Claimed, Coverage, Method, Widths};
use sigmabar::posterior::ExactPosterior;
use sigmabar::{Claim, Collected, Noise, Observations, Posterior, Prior};
use std::sync::Arc;

#[test]
fn direct_drop_in_and_paper_widths() {
    let instance = instance();
    let y = responses(instance.x.len());
    let oracles = oracles(&instance, &y);
    let lambda = true_lambda(&instance);
    let (delta, r) = (0.1, lambda / (TAU * TAU));
    let z = (2.0 * (2.0_f64 / delta).ln()).sqrt();
    let direct = intervals(&instance, &y, &claim(delta).method(Method::Direct));
    assert_ends(
        &direct,
        &oracles,
        |_, o| {
            let v = norm(&o.weights);
            C * ((o.projection.sqrt() + lambda.sqrt() * v).powi(2) + o.fit).sqrt() + R * v * z
        },
        "direct",
    );
    let drop_in = intervals(&instance, &y, &claim(delta).method(Method::DropIn));
    let beta = C * (1.0 + r).sqrt() + R / TAU * z;
    assert_ends(&drop_in, &oracles, |_, o| beta * o.variance.sqrt(), "drop-in");
    close(drop_in.certificate().bounds.beta.unwrap(), beta, 1e-8, "beta");
    let paper = intervals(&instance, &y, &claim(delta).method(Method::Paper));
    let beta = (2.0 + r.sqrt()) * C + R / TAU * z;
    assert_ends(&paper, &oracles, |_, o| beta * o.variance.sqrt(), "paper");
    let (xi, h) = (0.2, 1.5);
    let light = claim(delta).noise(Noise::light_tailed(xi, h).unwrap()).method(Method::Paper);
    let log = (2.0_f64 / delta).ln();
    let beta = (2.0 + r.sqrt()) * C + (2.0 * f64::max(xi, 2.0 * log / (h * h)) * log).sqrt() / TAU;
    assert_ends(&intervals(&instance, &y, &light), &oracles, |_, o| beta * o.variance.sqrt(), "light-tailed paper");
}

#[test]
fn the_residual_form_and_the_dictionary() {
    let instance = instance();
    let y = responses(instance.x.len());
    let oracles = oracles(&instance, &y);
    let d = residual_matrix(instance.covariance, &instance.x, &instance.z);
    let z = (2.0 * 20.0_f64.ln()).sqrt();
    let form = intervals(&instance, &y, &claim(0.1).method(Method::WMatrix));
    assert_ends(
        &form,
        &oracles,
        |_, o| {
            let n = o.weights.len();
            let vdv: f64 = (0..n).map(|i| (0..n).map(|j| o.weights[i] * d[i][j] * o.weights[j]).sum::<f64>()).sum();
            C * ((o.projection.sqrt() + vdv.sqrt()).powi(2) + o.fit).sqrt() + R * norm(&o.weights) * z
        },
        "W-matrix",
    );
    // With more pivots than points nothing is missed at the data, and the dictionary's bias is the exact worst case.
    let dictionary = intervals(&instance, &y, &claim(0.1).method(Method::Dictionary));
    let exact = |q: usize, o: &Sparse| C * worst_case(instance.covariance, &instance.x, &o.weights, &QUERIES[q]) + R * norm(&o.weights) * z;
    let tight = intervals(&instance, &y, &claim(0.1));
    for (q, o) in oracles.iter().enumerate() {
        // λ' is pure rounding here, and its root is added: hence only four digits.
        close(dictionary.upper()[q] - o.mean, exact(q, o), 1e-4, "dictionary");
        close(tight.upper()[q] - o.mean, exact(q, o), 1e-4, "tight");
        assert!(dictionary.upper()[q] - o.mean >= exact(q, o));
    }
    assert!(tight.methods().iter().all(|m| *m == Method::Dictionary));
}

#[test]
fn each_noise_model_has_its_own_factor() {
    let instance = instance();
    let y = responses(instance.x.len());
    let oracles = oracles(&instance, &y);
    let lambda = true_lambda(&instance);
    let bias = |o: &Sparse| C * ((o.projection.sqrt() + lambda.sqrt() * norm(&o.weights)).powi(2) + o.fit).sqrt();
    let check = |noise: Noise, term: &dyn Fn(&Sparse) -> f64, what: &str| {
        let found = intervals(&instance, &y, &claim(0.1).noise(noise).method(Method::Direct));
        assert_ends(&found, &oracles, |_, o| bias(o) + term(o), what);
    };
    let chernoff = (2.0 * 20.0_f64.ln()).sqrt();
    check(Noise::gaussian(R).unwrap(), &|o| R * norm(&o.weights) * 1.644_853_626_951_472_2, "normal");
    check(Noise::bounded(R).unwrap(), &|o| R * norm(&o.weights) * chernoff, "bounded");
    check(Noise::light_tailed(0.09, 30.0).unwrap(), &|o| R * norm(&o.weights) * chernoff, "light tails, large h0");
    let log = 20.0_f64.ln();
    check(
        Noise::light_tailed(0.09, 0.5).unwrap(),
        &|o| norm(&o.weights) * (2.0 * (2.0 * log / 0.25) * log).sqrt(),
        "light tails, small h0",
    );
    let levels: Vec<f64> = (0..instance.x.len()).map(|i| 0.05 + 0.02 * i as f64).collect();
    let own = |o: &Sparse| chernoff * o.weights.iter().zip(&levels).map(|(v, r)| (v * r).powi(2)).sum::<f64>().sqrt();
    check(Noise::per_observation(levels.clone()).unwrap(), &own, "own levels");
}

#[test]
fn the_exact_posterior_has_both_forms() {
    let instance = instance();
    let y = responses(instance.x.len());
    let observations = Observations::new(points(&instance.x), &y, Collected::DeclaredFixed, Prior::ZERO).unwrap();
    let posterior = ExactPosterior::new(&instance.kernel, TAU, observations).unwrap();
    let z = (2.0 * 20.0_f64.ln()).sqrt();
    let direct = posterior.interval(points(&queries()).view(), &claim(0.1)).unwrap();
    let beta = posterior.interval(points(&queries()).view(), &claim(0.1).method(Method::DropIn)).unwrap();
    for (q, query) in queries().iter().enumerate() {
        let o = exact(instance.covariance, TAU, &instance.x, &y, query);
        let worst = worst_case(instance.covariance, &instance.x, &o.weights, query);
        close(direct.upper()[q], o.mean + C * worst + R * norm(&o.weights) * z, 1e-7, "direct");
        close(direct.lower()[q], o.mean - C * worst - R * norm(&o.weights) * z, 1e-7, "direct");
        close(beta.upper()[q], o.mean + (C + R / TAU * z) * o.variance.sqrt(), 1e-7, "beta");
    }
    assert!(posterior.interval(points(&queries()).view(), &claim(0.1).method(Method::WMatrix)).is_err());
    let energy = posterior.interval(points(&queries()).view(), &claim(0.1).method(Method::Energy)).unwrap();
    assert!(energy.upper().iter().zip(energy.lower()).all(|(u, l)| u > l));
}

#[test]
fn the_exact_posterior_predicts_new_responses() {
    let instance = instance();
    let y = responses(instance.x.len());
    let observations = Observations::new(points(&instance.x), &y, Collected::DeclaredFixed, Prior::declared(0.3, 2.0).unwrap()).unwrap();
    let posterior = ExactPosterior::new(&instance.kernel, TAU, observations).unwrap();
    let (view, z) = (points(&queries()), (2.0 * 20.0_f64.ln()).sqrt());
    let claim = claim(0.1).new_noise(Noise::bounded(0.7).unwrap());
    let direct = posterior.prediction_interval(view.view(), &claim).unwrap();
    let drop_in = posterior.prediction_interval(view.view(), &claim.clone().method(Method::DropIn)).unwrap();
    let scaled: Vec<f64> = y.iter().map(|v| (v - 0.3) / 2.0).collect();
    for (q, query) in queries().iter().enumerate() {
        let o = exact(instance.covariance, TAU, &instance.x, &scaled, query);
        let worst = worst_case(instance.covariance, &instance.x, &o.weights, query);
        let half = C * worst + z * (R * norm(&o.weights)).hypot(0.7);
        close(direct.response_upper()[q], 0.3 + 2.0 * (o.mean + half), 1e-7, "direct");
        close(direct.response_lower()[q], 0.3 + 2.0 * (o.mean - half), 1e-7, "direct");
        let half = C * o.variance.sqrt() + z * (R / TAU * o.variance.sqrt()).hypot(0.7);
        close(drop_in.response_upper()[q], 0.3 + 2.0 * (o.mean + half), 1e-7, "drop-in");
    }
    assert!(matches!(&direct.certificate().claim, Claimed::Response { noise, .. } if *noise == Some(Noise::bounded(0.7).unwrap())));
    // Another kind of noise, and the energy band: half of delta each.
    let half = posterior.interval(view.view(), &claim.clone().with_delta(0.05).unwrap()).unwrap();
    let other = posterior.prediction_interval(view.view(), &claim.clone().new_noise(Noise::light_tailed(0.1, 2.0).unwrap())).unwrap();
    let log = 40.0_f64.ln();
    close(other.response_upper()[0], half.upper()[0] + 2.0 * (2.0 * f64::max(0.1, 2.0 * log / 4.0) * log).sqrt(), 1e-10, "split");
    let band = claim.clone().method(Method::Energy);
    let half = posterior.interval(view.view(), &band.clone().with_delta(0.05).unwrap()).unwrap();
    let energy = posterior.prediction_interval(view.view(), &band).unwrap();
    close(energy.response_upper()[0], half.upper()[0] + 2.0 * 0.7 * (2.0 * log).sqrt(), 1e-10, "energy");
    assert!(posterior.prediction_interval(view.view(), &claim.coverage(Coverage::Uniform)).is_err());
}

#[test]
fn prediction_intervals_add_the_new_noise() {
    let instance = instance();
    let y = responses(instance.x.len());
    let posterior = Posterior::condition(Arc::clone(&instance.information), &y, Prior::ZERO).unwrap();
    let view = points(&queries());
    let claim = claim(0.1).method(Method::Direct);
    let lambda = true_lambda(&instance);
    let z = (2.0 * 20.0_f64.ln()).sqrt();
    let found = posterior.prediction_interval(view.view(), &claim.clone().new_noise(Noise::bounded(0.7).unwrap())).unwrap();
    for (q, o) in oracles(&instance, &y).iter().enumerate() {
        let v = norm(&o.weights);
        let bias = C * ((o.projection.sqrt() + lambda.sqrt() * v).powi(2) + o.fit).sqrt();
        close(found.response_upper()[q], o.mean + bias + z * (R * R * v * v + 0.49).sqrt(), 1e-7, "prediction");
        close(found.response_lower()[q], o.mean - bias - z * (R * R * v * v + 0.49).sqrt(), 1e-7, "prediction");
    }
    assert!(matches!(&found.certificate().claim, Claimed::Response { noise, .. } if *noise == Some(Noise::bounded(0.7).unwrap())));
    let text = found.certificate().to_string();
    assert!(text.contains("lower ≤ a new response ≤ upper") && text.contains("noise within ±0.7"), "{text}");
    // Another kind of noise: half of delta each.
    let other = posterior.prediction_interval(view.view(), &claim.clone().new_noise(Noise::light_tailed(0.1, 2.0).unwrap())).unwrap();
    let half = posterior.interval(view.view(), &claim.clone().with_delta(0.05).unwrap()).unwrap();
    let log = 40.0_f64.ln();
    close(other.response_upper()[0], half.upper()[0] + (2.0 * f64::max(0.1, 2.0 * log / 4.0) * log).sqrt(), 1e-10, "split");
    assert!(posterior.prediction_interval(view.view(), &claim.clone().coverage(Coverage::Uniform)).is_err());
    let own = claim.noise(Noise::per_observation(vec![R; instance.x.len()]).unwrap());
    assert!(matches!(posterior.prediction_interval(view.view(), &own), Err(sigmabar::Error::Missing { .. })));
}

#[test]
fn half_widths_are_lipschitz_in_the_kernel_metric() {
    let mut draws = Draws::new(111);
    for index in 0..60 {
        let mut instance = Instance::random(&mut draws, 40);
        if instance.tau < 1e-3 {
            instance = Instance::new(index, instance.x, instance.z, 0.05, Collected::DeclaredFixed);
        }
        let d = instance.x[0].len();
        let near = draws.points(1, d).remove(0);
        let queries: Vec<Vec<f64>> =
            (0..40).map(|i| near.iter().map(|v| v + 0.6_f64.powi(i / 2) * (draws.uniform() - 0.5)).collect()).collect();
        for method in [Method::Direct, Method::DropIn, Method::Paper, Method::WMatrix, Method::Dictionary, Method::Tight] {
            for coverage in [Coverage::Point, Coverage::Uniform] {
                if method == Method::Paper && coverage == Coverage::Uniform {
                    continue;
                }
                let widths = Widths::new(Arc::clone(&instance.information), &claim(0.1).method(method).coverage(coverage)).unwrap();
                let half = widths.half_widths(points(&queries).view()).unwrap();
                for i in 0..queries.len() {
                    for j in 0..i {
                        let allowed = widths.lipschitz(queries.len()) * instance.kernel.metric(&queries[i], &queries[j]);
                        let change = (half[i].total() - half[j].total()).abs();
                        assert!(change <= allowed * (1.0 + 1e-6) + 1e-6, "{method:?}: {change} above {allowed}");
                    }
                }
            }
        }
    }
}

/// τ = Rz/C (algorithm notes 7.5).
#[test]
fn the_recommended_ridge_is_within_root_two_of_the_best() {
    let noise = Noise::gaussian(R).unwrap();
    let ridge = R * 1.644_853_626_951_472_2 / C;
    let mut draws = Draws::new(121);
    let x = draws.points(25, 1);
    let width = |tau: f64| {
        let instance = Instance::new(1, x.clone(), x.clone(), tau, Collected::DeclaredFixed);
        let claim = Claim::new(0.1).unwrap().norm_bound(C).unwrap().noise(noise.clone()).method(Method::Direct);
        let widths = Widths::new(Arc::clone(&instance.information), &claim).unwrap();
        widths.half_widths(points(&[vec![0.45]]).view()).unwrap()[0].total()
    };
    let best = (0..60).map(|i| width(0.01 * 1.15_f64.powi(i))).fold(f64::INFINITY, f64::min);
    assert!(width(ridge) <= 2.0_f64.sqrt() * best, "{} against {best}", width(ridge));
}
