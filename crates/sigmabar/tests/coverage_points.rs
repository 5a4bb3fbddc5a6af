//! Miss rates over thousands of draws, against the function that attains the bound. Each test also shows that 0.8 of the width would fail.
#![allow(clippy::unwrap_used, clippy::cloned_ref_to_slice_refs, clippy::unnecessary_cast)]

use crate::coverage_support;

use coverage_support::oracle::{Draws, worst_case};
use coverage_support::{Instance, LAWS, Law, points};
use sigmabar::certificate::{Coverage, Method, Side, Widths};
use sigmabar::linalg::Matrix;
use sigmabar::posterior::ExactPosterior;
use sigmabar::{BoxDomain, Claim, Collected, Expansion, Intervals, Noise, Observations, Posterior, Prior};
use std::sync::Arc;

const DRAWS: usize = 2000;
const LEVELS: [f64; 3] = [0.3, 0.1, 0.01];

/// The function of norm `norm` that hides most from the weights at `query`: `k(x,·) − Σ V_i k(x_i,·)`, scaled.
fn adversary(instance: &Instance, query: &[f64], norm: f64) -> Expansion {
    let weights = instance.information.weights(points(&[query.to_vec()]).view()).unwrap();
    let mut centres = vec![query.to_vec()];
    centres.extend(instance.x.iter().cloned());
    let mut coefficients = vec![1.0];
    coefficients.extend(weights.row(0).iter().map(|v| -v));
    Expansion::new(instance.kernel.clone(), points(&centres), coefficients).unwrap().with_norm(norm).unwrap()
}

/// How often `f` leaves the intervals at one of the queries (`together`), or at the first, when every width is multiplied by `shrink`.
struct Experiment<'a> {
    instance: &'a Instance,
    f: &'a Expansion,
    queries: Vec<Vec<f64>>,
    law: Law,
    scale: f64,
    together: bool,
}

impl Experiment<'_> {
    fn miss_rate(&self, intervals: impl Fn(&Posterior) -> Intervals, shrinks: &[f64], draws: usize, seed: u64) -> Vec<f64> {
        let mut random = Draws::new(seed);
        let at_x = self.f.values(points(&self.instance.x).view()).unwrap();
        let at_q = self.f.values(points(&self.queries).view()).unwrap();
        let mut misses = vec![0.0; shrinks.len()];
        for _ in 0..draws {
            let y: Vec<f64> = at_x.iter().map(|v| v + self.law.sample(&mut random, self.scale)).collect();
            let posterior = Posterior::condition(Arc::clone(&self.instance.information), &y, Prior::ZERO).unwrap();
            let found = intervals(&posterior);
            let count = if self.together { at_q.len() } else { 1 };
            for (miss, shrink) in misses.iter_mut().zip(shrinks) {
                let outside = |i: usize| {
                    let mean = found.mean()[i];
                    at_q[i] < mean - shrink * (mean - found.lower()[i]) || at_q[i] > mean + shrink * (found.upper()[i] - mean)
                };
                *miss += f64::from(u8::from((0..count).any(outside)));
            }
        }
        misses.iter().map(|m| m / draws as f64).collect()
    }
}

fn margin(delta: f64, draws: usize) -> f64 {
    4.5 * (delta * (1.0 - delta) / draws as f64).sqrt()
}

#[track_caller]
fn assert_covers_and_can_fail(rates: &[f64], delta: f64, what: &str) {
    assert!(rates[0] <= delta + margin(delta, DRAWS), "{what}: misses {} of the time at delta {delta}", rates[0]);
    assert!(rates[1] > delta + margin(delta, DRAWS), "{what}: 0.8 of the width still covers ({}), so the test proves nothing", rates[1]);
}

/// Measured and inducing points coincide: nothing is missed and the bound is attained.
fn sharp_instance() -> Instance {
    let x: Vec<Vec<f64>> = [0.0, 0.1, 0.2, 0.35, 0.5, 0.5, 0.7, 0.8, 0.9, 0.9].iter().map(|&v| vec![v]).collect();
    Instance::new(1, x.clone(), x, 0.3, Collected::DeclaredFixed)
}

/// Fewer inducing points than data, and a query where the certified bias is close to what can be attained.
fn sparse_instance() -> (Instance, Vec<f64>) {
    let mut draws = Draws::new(3);
    let x: Vec<Vec<f64>> = (0..14).map(|_| vec![0.6 * draws.uniform()]).collect();
    let z: Vec<Vec<f64>> = (0..5).map(|i| vec![0.15 * f64::from(i)]).collect();
    let instance = Instance::new(1, x, z, 0.3, Collected::DeclaredFixed);
    (instance, vec![0.9])
}

#[test]
fn one_sided_misses_equal_their_level_when_the_bound_is_attained() {
    let instance = sharp_instance();
    let query = vec![0.42];
    let draws = 20_000;
    for (side, sign) in [(Side::Upper, 1.0), (Side::Lower, -1.0)] {
        let f = adversary(&instance, &query, 2.0);
        let f =
            Expansion::new(instance.kernel.clone(), f.centres().to_points(), f.coefficients().iter().map(|a| sign * a).collect()).unwrap();
        for delta in LEVELS {
            let claim = Claim::new(delta).unwrap().norm_bound(2.0).unwrap().noise(Noise::gaussian(0.2).unwrap()).side(side);
            let widths = Widths::new(Arc::clone(&instance.information), &claim).unwrap();
            let experiment =
                Experiment { instance: &instance, f: &f, queries: vec![query.clone()], law: Law::Gaussian, scale: 0.2, together: false };
            let view = points(&experiment.queries);
            let rates = experiment.miss_rate(|p| p.interval_with(&widths, view.view()).unwrap(), &[1.0, 0.8], draws, 17);
            assert!((rates[0] - delta).abs() <= margin(delta, draws), "{side:?}: {} is not {delta}", rates[0]);
            assert!(rates[1] > delta + margin(delta, draws), "{side:?}: {}", rates[1]);
        }
    }
}

#[test]
fn at_a_point_for_every_law_of_the_noise() {
    let (sparse, far) = sparse_instance();
    for (instance, query, norm) in [(sharp_instance(), vec![0.42], 60.0), (sparse, far, 60.0)] {
        for law in LAWS {
            for delta in LEVELS {
                let claim = Claim::new(delta).unwrap().norm_bound(norm).unwrap().noise(law.noise(0.05));
                let widths = Widths::new(Arc::clone(&instance.information), &claim).unwrap();
                let view = points(std::slice::from_ref(&query));
                let served = instance.served(&query, &claim);
                let f = adversary(&served, &query, norm);
                let weights = served.information.weights(view.view()).unwrap();
                let exact = worst_case(instance.covariance, &instance.x, weights.row(0), &query);
                let half = widths.half_widths(view.view()).unwrap()[0];
                assert!(half.bias < 1.1 * norm * exact, "the instance must be sharp: {} against {}", half.bias, norm * exact);
                let experiment = Experiment { instance: &instance, f: &f, queries: vec![query.clone()], law, scale: 0.05, together: false };
                let rates = experiment.miss_rate(|p| p.interval_with(&widths, view.view()).unwrap(), &[1.0, 0.8], DRAWS, 23);
                assert_covers_and_can_fail(&rates, delta, &format!("{law:?}"));
            }
        }
    }
}

#[test]
fn every_method_that_can_be_sharp_covers_and_can_fail() {
    let (sparse, far) = sparse_instance();
    for (instance, query, methods) in [
        (sharp_instance(), vec![0.42], vec![Method::Direct, Method::WMatrix, Method::Dictionary]),
        (sparse, far, vec![Method::Direct, Method::WMatrix, Method::Dictionary, Method::DropIn]),
    ] {
        let f = adversary(&instance, &query, 20.0);
        for method in methods {
            let delta = 0.1;
            let claim = Claim::new(delta).unwrap().norm_bound(20.0).unwrap().noise(Noise::gaussian(0.02).unwrap()).method(method);
            let view = points(std::slice::from_ref(&query));
            let experiment =
                Experiment { instance: &instance, f: &f, queries: vec![query.clone()], law: Law::Gaussian, scale: 0.02, together: false };
            let rates = experiment.miss_rate(|p| p.interval(view.view(), &claim).unwrap(), &[1.0, 0.8], DRAWS, 29);
            assert_covers_and_can_fail(&rates, delta, &format!("{method:?}"));
        }
    }
}

#[test]
fn over_a_list_and_uniformly_and_over_a_box() {
    let instance = sharp_instance();
    let mut queries = vec![vec![0.42]];
    queries.extend((0..60).map(|i| vec![f64::from(i) / 60.0]));
    let norm = 60.0;
    let f = adversary(&instance, &queries[0], norm);
    let whole = BoxDomain::with_flat_sides(vec![0.0], vec![1.0]).unwrap();
    let view = points(&queries);
    for law in LAWS {
        for delta in LEVELS {
            for coverage in [Coverage::Points, Coverage::Uniform, Coverage::Continuous(whole.clone())] {
                let claim = Claim::new(delta).unwrap().norm_bound(norm).unwrap().noise(law.noise(0.02)).coverage(coverage.clone());
                let widths = Widths::new(Arc::clone(&instance.information), &claim).unwrap();
                let experiment = Experiment { instance: &instance, f: &f, queries: queries.clone(), law, scale: 0.02, together: true };
                // The ellipsoid pays for directions that this function does not use.
                let shrink = if coverage == Coverage::Uniform { 0.6 } else { 0.8 };
                let rates = experiment.miss_rate(|p| p.interval_with(&widths, view.view()).unwrap(), &[1.0, shrink], DRAWS, 31);
                assert_covers_and_can_fail(&rates, delta, &format!("{law:?} {coverage:?}"));
            }
        }
    }
}

/// One feature: every weight vector points the same way, so the event for all points is the event at one, and normal noise misses exactly as often as it may.
#[test]
fn noise_alone_misses_exactly_delta_at_a_point_over_a_list_and_everywhere() {
    let instance = Instance::new(0, vec![vec![0.5]; 6], vec![vec![0.5]], 0.2, Collected::DeclaredFixed);
    let queries = vec![vec![0.5], vec![0.6], vec![0.35]];
    let view = points(&queries);
    let f = Expansion::new(instance.kernel.clone(), points(&[vec![0.5]]), vec![1e-9]).unwrap();
    let experiment = Experiment { instance: &instance, f: &f, queries, law: Law::Gaussian, scale: 0.5, together: true };
    let draws = 20_000;
    for delta in LEVELS {
        for coverage in [Coverage::Point, Coverage::Points, Coverage::Uniform] {
            let claim =
                Claim::new(delta).unwrap().norm_bound(1e-9).unwrap().noise(Noise::gaussian(0.5).unwrap()).coverage(coverage.clone());
            // The default method of a uniform claim is the ellipsoid, which knows that nothing strays beyond the norm bound: tests/interval_ellipsoid.rs.
            let widths = Widths::new(Arc::clone(&instance.information), &claim.method(Method::Direct)).unwrap();
            let rates = experiment.miss_rate(|p| p.interval_with(&widths, view.view()).unwrap(), &[1.0, 0.8], draws, 47);
            assert!((rates[0] - delta).abs() <= margin(delta, draws), "{coverage:?}: {} is not {delta}", rates[0]);
            assert!(rates[1] > delta + margin(delta, draws), "{coverage:?}: {}", rates[1]);
        }
    }
}

/// Uniform coverage must survive a search over x after the data were seen; a pointwise claim does not.
#[test]
fn uniform_survives_a_search_that_defeats_pointwise_claims() {
    let x: Vec<Vec<f64>> = (0..40).map(|i| vec![f64::from(i) / 40.0]).collect();
    let instance = Instance::new(2, x.clone(), x, 0.2, Collected::DeclaredFixed);
    let queries: Vec<Vec<f64>> = (0..80).map(|i| vec![f64::from(i) / 80.0]).collect();
    let view = points(&queries);
    // A function far inside the ball: only noise can push it out, so the noise term is what is tested.
    let f = Expansion::new(instance.kernel.clone(), points(&[vec![0.3]]), vec![1e-6]).unwrap();
    let delta = 0.1;
    let claim = Claim::new(delta).unwrap().norm_bound(1e-6).unwrap().noise(Noise::gaussian(0.5).unwrap());
    let experiment = Experiment { instance: &instance, f: &f, queries: queries.clone(), law: Law::Gaussian, scale: 0.5, together: true };
    let rate = |claim: &Claim, coverage| {
        let widths = Widths::new(Arc::clone(&instance.information), &claim.clone().coverage(coverage)).unwrap();
        experiment.miss_rate(|p| p.interval_with(&widths, view.view()).unwrap(), &[1.0], 1000, 37)[0]
    };
    // Normal noise, and no bias: the ellipsoid's event and the simulated quantile miss as often as they may.
    assert!(rate(&claim, Coverage::Uniform) <= delta + margin(delta, 1000));
    assert!(rate(&claim, Coverage::Points) <= delta + margin(delta, 1000));
    // So small a norm leaves a claim at one point nothing to learn: by its best ridge it would not look at the data at all.
    let claim = claim.clone().method(Method::Direct);
    assert!(rate(&claim, Coverage::Point) > 2.0 * delta, "a pointwise claim must fail over a list");
}

#[test]
fn own_levels_per_observation_are_sharp_where_they_are_loud() {
    let instance = sharp_instance();
    let query = vec![0.42];
    let levels: Vec<f64> = (0..instance.x.len()).map(|i| if i < 4 { 0.4 } else { 0.02 }).collect();
    let weights: Matrix = instance.information.weights(points(std::slice::from_ref(&query)).view()).unwrap();
    let expected = weights.row(0).iter().zip(&levels).map(|(v, r)| (v * r).powi(2)).sum::<f64>().sqrt() * (2.0 * 20.0_f64.ln()).sqrt();
    let claim = Claim::new(0.1).unwrap().norm_bound(1.0).unwrap().noise(Noise::per_observation(levels.clone()).unwrap());
    let widths = Widths::new(Arc::clone(&instance.information), &claim).unwrap();
    let half = widths.half_widths(points(std::slice::from_ref(&query)).view()).unwrap()[0];
    assert!((half.noise / expected - 1.0).abs() < 1e-8, "{} {expected}", half.noise);
    let norm = 20.0;
    let f = adversary(&instance, &query, norm);
    let claim = claim.norm_bound(norm).unwrap();
    let widths = Widths::new(Arc::clone(&instance.information), &claim).unwrap();
    let at_x = f.values(points(&instance.x).view()).unwrap();
    let truth = f.value(&query);
    let mut random = Draws::new(41);
    let (mut misses, mut narrow) = (0.0, 0.0);
    for _ in 0..DRAWS {
        let y: Vec<f64> = at_x.iter().zip(&levels).map(|(v, r)| v + r * random.normal()).collect();
        let posterior = Posterior::condition(Arc::clone(&instance.information), &y, Prior::ZERO).unwrap();
        let found = posterior.interval_with(&widths, points(std::slice::from_ref(&query)).view()).unwrap();
        let half = 0.5 * (found.upper()[0] - found.lower()[0]);
        misses += f64::from(u8::from((truth - found.mean()[0]).abs() > half));
        narrow += f64::from(u8::from((truth - found.mean()[0]).abs() > 0.8 * half));
    }
    assert_covers_and_can_fail(&[misses / DRAWS as f64, narrow / DRAWS as f64], 0.1, "own levels");
}

#[test]
fn a_new_response_lies_in_its_prediction_interval() {
    let instance = sharp_instance();
    let query = points(&[vec![0.42]]);
    for (law, norm) in [(Law::Gaussian, 2.0), (Law::Rademacher, 20.0), (Law::Uniform, 20.0), (Law::Laplace, 60.0)] {
        for delta in LEVELS {
            let claim = Claim::new(delta).unwrap().norm_bound(norm).unwrap().noise(law.noise(0.05));
            let f = adversary(&instance.served(query.row(0), &claim), query.row(0), norm);
            let at_x = f.values(points(&instance.x).view()).unwrap();
            let mut random = Draws::new(43);
            let (mut misses, mut narrow) = (0.0, 0.0);
            for _ in 0..DRAWS {
                let y: Vec<f64> = at_x.iter().map(|v| v + law.sample(&mut random, 0.05)).collect();
                let posterior = Posterior::condition(Arc::clone(&instance.information), &y, Prior::ZERO).unwrap();
                let found = posterior.prediction_interval(query.view(), &claim).unwrap();
                let new = f.value(query.row(0)) + law.sample(&mut random, 0.05);
                let half = 0.5 * (found.response_upper()[0] - found.response_lower()[0]);
                misses += f64::from(u8::from((new - found.prediction()[0]).abs() > half));
                narrow += f64::from(u8::from((new - found.prediction()[0]).abs() > 0.8 * half));
            }
            assert_covers_and_can_fail(&[misses / DRAWS as f64, narrow / DRAWS as f64], delta, &format!("{law:?}"));
        }
    }
}

/// The exact posterior's direct width is attained: for the adversary the one-sided miss rate is δ itself, under its own normal quantile.
#[test]
fn the_exact_posterior_misses_exactly_delta_against_its_adversary() {
    let (scale, norm, tau, draws) = (0.3, 2.0, 0.4, 4000);
    let (kernel, _) = coverage_support::kernel(1);
    let mut random = Draws::new(81);
    let x = random.points(9, 2);
    let query = vec![vec![0.42, 0.61]];
    let fitted = |y: &[f64]| {
        let observations = Observations::new(points(&x), y, Collected::DeclaredFixed, Prior::ZERO).unwrap();
        ExactPosterior::new(&kernel, tau, observations).unwrap()
    };
    let weights = fitted(&vec![0.0; x.len()]).weights(points(&query).view()).unwrap();
    let centres: Vec<Vec<f64>> = query.iter().chain(&x).cloned().collect();
    let coefficients = std::iter::once(1.0).chain(weights.row(0).iter().map(|v| -v)).collect();
    let f = Expansion::new(kernel.clone(), points(&centres), coefficients).unwrap().with_norm(norm).unwrap();
    let (truth, values) = (f.value(&query[0]), f.values(points(&x).view()).unwrap());
    for delta in LEVELS {
        let claim = Claim::new(delta).unwrap().norm_bound(norm).unwrap().noise(Noise::gaussian(scale).unwrap());
        let claim = claim.side(Side::Upper).method(Method::Direct);
        let (mut missed, mut narrow) = (0, 0);
        for _ in 0..draws {
            let y: Vec<f64> = values.iter().map(|v| v + scale * random.normal()).collect();
            let found = fitted(&y).interval(points(&query).view(), &claim).unwrap();
            let (mean, half) = (found.mean()[0], found.upper()[0] - found.mean()[0]);
            missed += usize::from(truth > mean + half);
            narrow += usize::from(truth > mean + 0.8 * half);
        }
        let margin = 4.5 * (delta * (1.0 - delta) / draws as f64).sqrt();
        let rate = |count: usize| count as f64 / draws as f64;
        assert!((rate(missed) - delta).abs() <= margin, "{} at {delta}", rate(missed));
        assert!(rate(narrow) > delta + margin, "0.8 of the width still covers: {} at {delta}", rate(narrow));
    }
}
