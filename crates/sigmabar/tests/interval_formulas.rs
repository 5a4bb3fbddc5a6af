//! Each width against its printed formula, in plain loops and higher precision.
#![allow(clippy::unwrap_used, clippy::cloned_ref_to_slice_refs, clippy::unnecessary_cast)]

mod coverage_support;

use coverage_support::oracle::{Draws, Sparse, close, exact, sparse, worst_case};
use coverage_support::{Instance, jacobi, points, residual_matrix};
use sigmabar::{
    Claim, Collected, Coverage, ExactPosterior, Intervals, Method, Noise, Observations, Posterior, Prior, Region, ResidualNormMethod, Side,
    Widths,
};
use std::sync::Arc;

const C: f64 = 2.5;
const R: f64 = 0.3;
const TAU: f64 = 0.4;

/// 18 rows with repetitions, 5 inducing points, well conditioned.
fn instance() -> Instance {
    let mut draws = Draws::new(101);
    let mut x = draws.points(15, 2);
    x.push(x[3].clone());
    x.push(x[3].clone());
    x.push(x[7].clone());
    let z = vec![vec![0.1, 0.2], vec![0.8, 0.3], vec![0.5, 0.5], vec![0.2, 0.9], vec![0.9, 0.8]];
    Instance::new(1, x, z, TAU, Collected::DeclaredFixed)
}

fn responses(n: usize) -> Vec<f64> {
    let mut draws = Draws::new(102);
    (0..n).map(|_| draws.normal()).collect()
}

const QUERIES: [[f64; 2]; 3] = [[0.33, 0.44], [0.95, 0.05], [1.4, 0.5]];

fn queries() -> Vec<Vec<f64>> {
    QUERIES.iter().map(|q| q.to_vec()).collect()
}

fn oracles(instance: &Instance, y: &[f64]) -> Vec<Sparse> {
    queries().iter().map(|q| sparse(instance.covariance, TAU, &instance.x, y, &instance.z, q)).collect()
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|a| a * a).sum::<f64>().sqrt()
}

fn true_lambda(instance: &Instance) -> f64 {
    *jacobi(&residual_matrix(instance.covariance, &instance.x, &instance.z)).last().unwrap()
}

fn claim(delta: f64) -> Claim {
    let claim = Claim::new(delta).unwrap().norm_bound(C).unwrap().noise(Noise::sub_gaussian(R).unwrap());
    claim.residual_norm(ResidualNormMethod::Dense)
}

fn intervals(instance: &Instance, y: &[f64], claim: &Claim) -> Intervals {
    let posterior = Posterior::condition(Arc::clone(&instance.information), y, Prior::ZERO).unwrap();
    posterior.interval(points(&queries()).view(), claim).unwrap()
}

/// Both ends against `mean ± half`.
#[track_caller]
fn assert_ends(found: &Intervals, oracles: &[Sparse], half: impl Fn(usize, &Sparse) -> f64, what: &str) {
    for (q, o) in oracles.iter().enumerate() {
        close(found.mean()[q], o.mean, 1e-8, what);
        close(found.upper()[q], o.mean + half(q, o), 1e-7, what);
        close(found.lower()[q], o.mean - half(q, o), 1e-7, what);
    }
}

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
    close(drop_in.certificate().beta.unwrap(), beta, 1e-8, "beta");
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
    assert_eq!(tight.certificate().considered, [Method::WMatrix, Method::Dictionary, Method::Direct]);
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
    close(list.certificate().delta_each, 0.05, 1e-12, "delta of one side at one point");
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
    close(found.certificate().delta_each, 0.1, 1e-12, "one event");
    close(found.certificate().noise_factor, every, 1e-10, "its factor");
    // A new response has noise that this event knows nothing of.
    let prediction = posterior.prediction_interval(view.view(), widths.claim()).unwrap();
    let union = (2.0 * (20.0 * long.len() as f64).ln()).sqrt();
    close(prediction.certificate().noise_factor, union, 1e-10, "factor of a new response");
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
    assert_eq!(found.certificate().residual_failure, 0.04);
    close(found.certificate().noise_factor, (2.0 * (2.0 / 0.06_f64).ln()).sqrt(), 1e-10, "what is left of delta");
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
    let region = Region::new(vec![0.0, 0.0], vec![1.5, 1.0]).unwrap();
    let posterior = Posterior::condition(Arc::clone(&instance.information), &y, Prior::ZERO).unwrap();
    let delta = 0.1_f64;
    for method in [Method::Direct, Method::DropIn] {
        let claim = claim(delta).coverage(Coverage::Continuous(region.clone())).method(method);
        let found = posterior.interval(points(&queries()).view(), &claim).unwrap();
        let (h, log_count) = found.certificate().cover.unwrap();
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
    assert_eq!(found.certificate().new_noise, Some(Noise::bounded(0.7).unwrap()));
    let text = found.certificate().to_string();
    assert!(text.contains("lower ≤ a new response ≤ upper") && text.contains("of a new response noise within ±0.7"), "{text}");
    // Another kind of noise: half of delta each.
    let other = posterior.prediction_interval(view.view(), &claim.clone().new_noise(Noise::light_tailed(0.1, 2.0).unwrap())).unwrap();
    let half = posterior.interval(view.view(), &claim.clone().with_delta(0.05).unwrap()).unwrap();
    let log = 40.0_f64.ln();
    close(other.response_upper()[0], half.upper()[0] + (2.0 * f64::max(0.1, 2.0 * log / 4.0) * log).sqrt(), 1e-10, "split");
    assert!(posterior.prediction_interval(view.view(), &claim.clone().coverage(Coverage::Uniform)).is_err());
    let own = claim.noise(Noise::per_observation(vec![R; instance.x.len()]).unwrap());
    assert!(matches!(posterior.prediction_interval(view.view(), &own), Err(sigmabar::Error::Missing { .. })));
}

/// `s1² = d_k² − ‖Δψ‖²`, `s2 = ‖Δe‖`, `‖ΔV‖`: the bound on a difference is above its exact worst case and has the printed parts.
#[test]
fn differences() {
    let instance = instance();
    let zeros = vec![0.0; instance.x.len()];
    let from = vec![0.6, 0.4];
    let a = sparse(instance.covariance, TAU, &instance.x, &zeros, &instance.z, &from);
    let widths = Widths::new(Arc::clone(&instance.information), &claim(0.1).method(Method::Direct)).unwrap();
    let found = widths.difference_half_widths(&from, points(&queries()).view()).unwrap();
    let parts = instance.information.difference_parts(&from, points(&queries()).view()).unwrap();
    let lambda = true_lambda(&instance);
    for (q, query) in queries().iter().enumerate() {
        let b = sparse(instance.covariance, TAU, &instance.x, &zeros, &instance.z, query);
        let k = instance.covariance;
        let dv: Vec<f64> = b.weights.iter().zip(&a.weights).map(|(b, a)| b - a).collect();
        close(parts[q].noise, TAU * TAU * norm(&dv).powi(2), 1e-9, "noise part");
        // κ of the pair through the residual matrix of the two points themselves.
        let d = residual_matrix(k, &[query.clone(), from.clone()], &instance.z);
        close(parts[q].projection, d[0][0] + d[1][1] - 2.0 * d[0][1], 1e-9, "projection part");
        let z = (2.0 * 20.0_f64.ln()).sqrt();
        let bias = ((parts[q].projection.sqrt() + lambda.sqrt() * norm(&dv)).powi(2) + parts[q].fit).sqrt();
        close(found[q].total(), C * bias + R * norm(&dv) * z, 1e-7, "difference");
        let n = instance.x.len();
        let mut exact = k(query, query) + k(&from, &from) - 2.0 * k(query, &from);
        for i in 0..n {
            exact -= 2.0 * dv[i] * (k(query, &instance.x[i]) - k(&from, &instance.x[i]));
            exact += (0..n).map(|j| dv[i] * dv[j] * k(&instance.x[i], &instance.x[j])).sum::<f64>();
        }
        assert!(found[q].bias >= C * exact.sqrt(), "{} {}", found[q].bias, C * exact.sqrt());
        // What κ explains of the exact worst case is s2²; the rest is the same form in k − κ.
        let mut all = vec![query.clone(), from.clone()];
        all.extend(instance.x.iter().cloned());
        let d = residual_matrix(k, &all, &instance.z);
        let u: Vec<f64> = [1.0, -1.0].into_iter().chain(dv.iter().map(|v| -v)).collect();
        let outside: f64 = (0..u.len()).map(|i| (0..u.len()).map(|j| u[i] * u[j] * d[i][j]).sum::<f64>()).sum();
        close(parts[q].fit, exact - outside, 1e-9, "fit part");
    }
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

#[test]
fn the_recommended_ridge_is_within_root_two_of_the_best() {
    let noise = Noise::gaussian(R).unwrap();
    let ridge = Claim::new(0.1).unwrap().norm_bound(C).unwrap().noise(noise.clone()).recommended_ridge().unwrap();
    close(ridge, R * 1.644_853_626_951_472_2 / C, 1e-10, "ridge");
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
    let none = Claim::new(0.1).unwrap().noise(noise).recommended_ridge();
    assert!(matches!(none, Err(sigmabar::Error::Missing { .. })));
}
