//! Learning: known truths are found again, bad data are survived, the same seed gives the same kernel.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use sigmabar::evidence::{InducingMethod, Learning, Learnt, fit_hyperparameters};
use sigmabar::inducing::InducingRule;
use sigmabar::posterior::{ExactPosterior, sample_gaussian};
use sigmabar::{Collected, Error, Kernel, Observations, Origin, Points, Prior};

fn uniform(rng: &mut ChaCha8Rng, rows: usize, dim: usize) -> Points {
    Points::new((0..rows * dim).map(|_| rng.random::<f64>()).collect(), dim).unwrap()
}

fn observe(x: Points, y: &[f64]) -> Observations {
    Observations::new(x, y, Collected::DeclaredFixed, Prior::learnt(y).unwrap()).unwrap()
}

/// A draw of the prior with this kernel at `x`, and noise.
fn draw(kernel: &Kernel, x: &Points, noise: f64, seed: u64) -> Vec<f64> {
    let f = sample_gaussian(&vec![0.0; x.len()], &kernel.gram(x.view()).unwrap(), 1, seed).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(seed + 1);
    f.as_slice()
        .iter()
        .map(|v| {
            let e: f64 = StandardNormal.sample(&mut rng);
            v + noise * e
        })
        .collect()
}

fn smooth(x: &Points, noise: f64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    x.view().rows().map(|r| (6.0 * r[0]).sin() + noise * rng.random_range(-1.0..1.0)).collect()
}

#[test]
fn the_parameters_that_made_the_data_are_found_again() {
    let truth = Kernel::matern(2.5, [0.3, 0.9], 1.0).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let x = uniform(&mut rng, 400, 2);
    let y = draw(&truth, &x, 0.1, 5);
    let observations = Observations::new(x, &y, Collected::DeclaredFixed, Prior::ZERO).unwrap();
    let mut learning = Learning::new(vec![Kernel::matern(2.5, [1.0, 1.0], 1.0).unwrap()]);
    learning.regularised = false;
    let learnt = fit_hyperparameters(&observations, &learning).unwrap();
    let found = learnt.kernel().value.parameters();
    assert!((found[0].value / 0.3).ln().abs() < 0.35, "{found:?}");
    assert!((found[1].value / 0.9).ln().abs() < 0.5, "{found:?}");
    assert!((learnt.ridge() / 0.1).ln().abs() < 0.15, "ridge {}", learnt.ridge());
    assert_eq!(learnt.kernel().origin, Origin::LearntHere);
    // No worse than the truth itself, by its own measure.
    let best = ExactPosterior::new(&truth, 0.1, observations.clone()).unwrap().log_evidence();
    assert!(learnt.upper_bound >= best && learnt.elbo >= best - 0.02 * 400.0, "ELBO {} against {best}", learnt.elbo);
    let missed = learnt.posterior().information().residual_trace() / (2.0 * 400.0 * learnt.ridge().powi(2));
    assert!(missed <= 0.002 && !learnt.capped && learnt.inducing().len() < 400, "{missed} with {}", learnt.inducing().len());
}

#[test]
fn an_exact_stage_on_everything_ends_where_the_slope_is_zero() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let x = uniform(&mut rng, 120, 2);
    let y = smooth(&x, 0.3);
    let mut learning = Learning::new(vec![Kernel::squared_exponential([1.0, 1.0], 1.0).unwrap()]);
    learning.regularised = false;
    (learning.tolerance, learning.exact_steps) = (1e-7, 200);
    let observations = observe(x, &y);
    let learnt = fit_hyperparameters(&observations, &learning).unwrap();
    let exact = ExactPosterior::new(learnt.kernel().clone(), learnt.ridge(), observations).unwrap();
    let gradient = exact.log_evidence_gradient().unwrap();
    let kernel = &learnt.kernel().value;
    // Column 1 does not matter: its length may end on its bound, where the slope need not vanish.
    let at_bound = kernel.parameters()[1].value > 100.0;
    for (p, g) in gradient.kernel.iter().enumerate().filter(|(p, _)| !(at_bound && *p == 1)) {
        assert!(g.abs() < 0.1, "slope {g} in parameter {p} of {kernel:?}");
    }
    assert!(gradient.ridge.abs() < 0.1);
    assert!(kernel.parameters()[1].value > 5.0 * kernel.parameters()[0].value, "{kernel:?}");
}

#[test]
fn the_rougher_kernel_wins_on_rough_data_and_the_smoother_on_smooth() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let x = uniform(&mut rng, 300, 1);
    let learning = Learning::new(vec![Kernel::matern(0.5, 0.3, 1.0).unwrap(), Kernel::squared_exponential(0.3, 1.0).unwrap()]);
    let rough = draw(&Kernel::matern(0.5, 0.3, 1.0).unwrap(), &x, 0.02, 7);
    assert_eq!(fit_hyperparameters(&observe(x.clone(), &rough), &learning).unwrap().template, 0);
    let smooth = draw(&Kernel::squared_exponential(0.2, 1.0).unwrap(), &x, 0.02, 7);
    assert_eq!(fit_hyperparameters(&observe(x, &smooth), &learning).unwrap().template, 1);
}

#[test]
fn rounds_on_everything_improve_on_the_subsample_and_stay_inside_the_sandwich() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let x = uniform(&mut rng, 1500, 3);
    let y = smooth(&x, 0.2);
    let observations = observe(x, &y);
    for method in [InducingMethod::RandomlyPivoted, InducingMethod::Greedy, InducingMethod::KMeans, InducingMethod::Uniform] {
        let mut learning = Learning::new(vec![Kernel::matern(1.5, [1.0, 1.0, 1.0], 1.0).unwrap()]);
        (learning.exact_points, learning.inducing, learning.method) = (150, 60, method);
        let learnt = fit_hyperparameters(&observations, &learning).unwrap();
        learning.steps = 0;
        let before = fit_hyperparameters(&observations, &learning).unwrap();
        assert!(learnt.elbo > before.elbo, "{} against {}", learnt.elbo, before.elbo);
        let exact = ExactPosterior::new(learnt.kernel().clone(), learnt.ridge(), observations.clone()).unwrap().log_evidence();
        assert!(learnt.elbo <= exact && exact <= learnt.upper_bound);
        assert!(learnt.inducing().len() <= 60);
    }
}

#[test]
fn a_simple_function_needs_few_inducing_points() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let x = uniform(&mut rng, 1200, 1);
    let y = smooth(&x, 0.2);
    let mut learning = Learning::new(vec![Kernel::squared_exponential(0.5, 1.0).unwrap()]);
    (learning.exact_points, learning.inducing) = (200, 400);
    let learnt = fit_hyperparameters(&observe(x, &y), &learning).unwrap();
    assert!(learnt.inducing().len() <= 64, "{} inducing points", learnt.inducing().len());
}

#[test]
fn a_mean_is_learnt_when_asked() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let x = uniform(&mut rng, 200, 1);
    let y: Vec<f64> = smooth(&x, 0.1).iter().map(|v| v * 0.1 + 7.0).collect();
    let observations = Observations::new(x, &y, Collected::DeclaredFixed, Prior::declared(5.0, 1.0).unwrap()).unwrap();
    let mut learning = Learning::new(vec![Kernel::squared_exponential(0.2, 1.0).unwrap()]);
    let without = fit_hyperparameters(&observations, &learning).unwrap();
    learning.mean = true;
    let with = fit_hyperparameters(&observations, &learning).unwrap();
    assert!(with.elbo > without.elbo + 1.0);
    let prior = with.posterior().prior();
    assert!((prior.mean() - 7.0).abs() < 0.2 && prior.origin() == Origin::LearntHere, "{prior:?}");
}

#[test]
fn the_same_seed_gives_the_same_kernel_on_any_number_of_threads() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let x = uniform(&mut rng, 700, 2);
    let y = smooth(&x, 0.2);
    let observations = observe(x, &y);
    let mut learning = Learning::new(vec![Kernel::matern(1.5, [1.0, 1.0], 1.0).unwrap()]);
    (learning.exact_points, learning.inducing, learning.starts) = (150, 80, 5);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let learnt = pool.install(|| fit_hyperparameters(&observations, &learning).unwrap());
        (learnt.kernel().clone(), learnt.ridge(), learnt.elbo, learnt.evaluations)
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn one_to_five_rows_and_constant_responses_are_survived() {
    for n in 1..=5 {
        let mut rng = ChaCha8Rng::seed_from_u64(n as u64);
        let x = uniform(&mut rng, n, 2);
        for constant in [false, true] {
            let y: Vec<f64> = (0..n).map(|i| if constant { 3.0 } else { i as f64 }).collect();
            for regularised in [false, true] {
                let mut learning = Learning::new(vec![Kernel::matern(1.5, [1.0, 1.0], 1.0).unwrap()]);
                learning.regularised = regularised;
                let learnt = fit_hyperparameters(&observe(x.clone(), &y), &learning).unwrap();
                let (mean, deviation) = learnt.posterior().predict(x.view()).unwrap();
                assert!(mean.iter().chain(&deviation).all(|v| v.is_finite()));
                if constant {
                    assert!(mean.iter().all(|m| (m - 3.0).abs() < 1e-6), "{mean:?}");
                }
            }
        }
    }
}

#[test]
fn constant_columns_and_repeated_rows_are_survived() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let mut rows: Vec<[f64; 3]> = (0..60).map(|_| [rng.random::<f64>(), 0.1, 1e9]).collect();
    rows.extend_from_within(..30);
    let x = Points::from_rows(&rows).unwrap();
    let y = smooth(&x, 0.1);
    let observations = observe(x, &y);
    let mut learning = Learning::new(vec![Kernel::squared_exponential([1.0, 1.0, 1.0], 1.0).unwrap()]);
    let learnt = fit_hyperparameters(&observations, &learning).unwrap();
    let mean = learnt.posterior().mean(observations.locations().points()).unwrap();
    let error = mean.iter().zip(&y).map(|(m, v)| (m - v).powi(2)).sum::<f64>() / 60.0;
    assert!(error < 0.02, "{error}");
    // All rows equal: only a mean and a noise level can be learnt.
    learning.inducing = 7;
    let x = Points::from_rows(&[[0.5, 0.5, 0.5]; 20]).unwrap();
    let y: Vec<f64> = (0..20).map(|i| f64::from(i % 2)).collect();
    let learnt = fit_hyperparameters(&observe(x.clone(), &y), &learning).unwrap();
    assert!((learnt.posterior().mean(x.view()).unwrap()[0] - 0.5).abs() < 1e-6);
    assert!((learnt.ridge() - 1.0).abs() < 0.2, "ridge {}", learnt.ridge());
}

#[test]
fn length_scales_stay_within_reach_of_the_data() {
    let mut rng = ChaCha8Rng::seed_from_u64(10);
    let x = Points::new((0..200).map(|_| 1e6 * rng.random::<f64>()).collect(), 1).unwrap();
    let y: Vec<f64> = (0..200).map(|_| rng.random::<f64>()).collect();
    let mut learning = Learning::new(vec![Kernel::squared_exponential(1e-3, 1.0).unwrap()]);
    learning.regularised = false;
    let learnt = fit_hyperparameters(&observe(x, &y), &learning).unwrap();
    let length = learnt.kernel().value.parameters()[0].value;
    assert!((1e3..1e9).contains(&length), "{length}");
}

#[test]
fn bad_settings_are_named() {
    let x = Points::on_line(vec![0.0, 1.0, 2.0]).unwrap();
    let observations = observe(x, &[0.0, 1.0, 0.5]);
    let good = Learning::new(vec![Kernel::squared_exponential(1.0, 1.0).unwrap()]);
    let refused = |change: fn(&mut Learning)| {
        let mut learning = good.clone();
        change(&mut learning);
        fit_hyperparameters(&observations, &learning).unwrap_err()
    };
    assert!(matches!(refused(|l| l.templates.clear()), Error::Empty { .. }));
    assert!(matches!(refused(|l| l.inducing = 0), Error::Parameter { name: "number of inducing points", .. }));
    assert!(matches!(refused(|l| l.ridge = -1.0), Error::Parameter { name: "ridge", .. }));
    assert!(matches!(refused(|l| l.ridge_limits = (1.0, 0.5)), Error::Parameter { name: "upper ridge limit", .. }));
    assert!(matches!(refused(|l| l.templates = vec![Kernel::squared_exponential([1.0, 1.0], 1.0).unwrap()]), Error::Length { .. }));
    let wide = Points::new(vec![0.0; 4], 2).unwrap();
    let mut learning = good.clone();
    learning.method = InducingMethod::Rule(InducingRule::Given(wide));
    assert!(matches!(fit_hyperparameters(&observations, &learning).unwrap_err(), Error::Width { .. }));
}

/// A function of each column by itself, and one that is not: the evidence tells them apart, and the sum over columns predicts better where it is true.
#[test]
fn single_columns_are_added_where_the_evidence_asks_for_them() {
    let mut rng = ChaCha8Rng::seed_from_u64(21);
    let (x, new) = (uniform(&mut rng, 150, 4), uniform(&mut rng, 200, 4));
    let apart = |row: &[f64]| (7.0 * row[0]).sin() + (9.0 * row[1]).cos() + 3.0 * (row[2] - 0.5).powi(2) + (5.0 * row[3]).sin();
    let together = |row: &[f64]| (8.0 * (row[0] * row[1] - row[2] * row[3])).sin();
    let error = |f: &dyn Fn(&[f64]) -> f64, additive: bool| {
        let mut noise = ChaCha8Rng::seed_from_u64(22);
        let y: Vec<f64> = x.view().rows().map(|row| f(row) + 0.05 * noise.random_range(-1.0..1.0)).collect();
        let mut learning = Learning::new(vec![Kernel::matern(2.5, [1.0; 4], 1.0).unwrap()]);
        learning.additive = additive;
        let learnt = fit_hyperparameters(&observe(x.clone(), &y), &learning).unwrap();
        let mean = learnt.posterior().mean(new.view()).unwrap();
        let square = new.view().rows().zip(mean).map(|(row, mean)| (f(row) - mean).powi(2)).sum::<f64>();
        (square.sqrt(), matches!(learnt.kernel().value, Kernel::Sum(_)))
    };
    let ((plain, _), (summed, is_sum)) = (error(&apart, false), error(&apart, true));
    assert!(is_sum && summed < 0.5 * plain, "{summed} against {plain}");
    let ((plain, _), (tried, _)) = (error(&together, false), error(&together, true));
    assert!(tried < 1.1 * plain, "{tried} against {plain}");
}

/// Price, not need, bounds the number of inducing points of a rough function; it is said.
#[test]
fn work_bounds_the_inducing_points_and_it_is_said() {
    let mut rng = ChaCha8Rng::seed_from_u64(23);
    let x = uniform(&mut rng, 900, 2);
    let y = draw(&Kernel::matern(1.5, 0.1, 1.0).unwrap(), &x, 0.05, 24);
    let mut learning = Learning::new(vec![Kernel::matern(1.5, 0.3, 1.0).unwrap()]);
    (learning.exact_points, learning.starts) = (200, 2);
    let free = fit_hyperparameters(&observe(x.clone(), &y), &learning).unwrap();
    learning.work = 900.0 * 50.0 * 50.0;
    let bound = fit_hyperparameters(&observe(x, &y), &learning).unwrap();
    assert!(!free.capped && free.inducing().len() > 300, "{}", free.inducing().len());
    assert!(bound.capped && bound.inducing().len() == 50 && bound.gap() > free.gap());
    assert_eq!((bound.rounds, learning.most_inducing(1_000_000)), (0, 1));
}

/// From every long length-scale a season looks like noise: on a trend, and in one column of two, it is found all the same.
#[test]
fn a_function_that_turns_many_times_is_found_across_the_valley() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for (dim, turns) in [(1, 25.0), (2, 8.0)] {
        let x = uniform(&mut rng, 400, dim);
        let f = |row: &[f64]| 10.0 * row[0] + (std::f64::consts::TAU * turns * row[dim - 1]).sin();
        let y: Vec<f64> = x.view().rows().map(|row| f(row) + rng.random_range(-0.3..0.3)).collect();
        let learning = Learning::new(vec![Kernel::matern(2.5, vec![0.3; dim], 1.0).unwrap()]);
        let learnt = fit_hyperparameters(&observe(x.clone(), &y), &learning).unwrap();
        let mean = learnt.posterior().predict(x.view()).unwrap().0;
        let error = mean.iter().zip(x.view().rows()).map(|(m, row)| (m - f(row)).powi(2)).sum::<f64>() / 400.0;
        assert!(error.sqrt() < 0.25, "{dim} columns: off by {} with {:?}", error.sqrt(), learnt.kernel().value);
    }
}

/// Rows that stand in the table three times, as a join makes them, never differ: taken for replicates they would say that there is no noise at all, and the model would go through every response.
/// Of nine columns one matters by itself and two together; all but the first are said not to matter, and from there no slope leads to the two.
#[test]
fn columns_that_seemed_not_to_matter_are_looked_at_again() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let x = uniform(&mut rng, 200, 9);
    let f = |r: &[f64]| (6.0 * r[0]).sin() + 0.5 * (3.0 * r[7] - 1.5).sin() * (3.0 * r[8] - 1.5).sin();
    let y: Vec<f64> = x.view().rows().map(|r| f(r) + 0.02 * rng.random_range(-1.0..1.0)).collect();
    let mut lengths = [280.0; 9];
    lengths[0] = 0.5;
    let mut learning = Learning::new(vec![Kernel::matern(2.5, lengths, 1.0).unwrap()]);
    let observations = observe(x, &y);
    let mut learnt = |starts: usize| {
        learning.starts = starts;
        fit_hyperparameters(&observations, &learning).unwrap()
    };
    let (asleep, awake) = (learnt(0), learnt(1));
    let last = |learnt: &Learnt| learnt.kernel().value.parameters()[8].value;
    assert!(last(&asleep) > 10.0 && last(&awake) < 5.0, "{} and {}", last(&asleep), last(&awake));
    assert!(awake.elbo > asleep.elbo + 200.0 && awake.ridge() < 0.3 * asleep.ridge(), "{} and {}", awake.elbo, asleep.elbo);
}

/// What was learnt from some rows is learnt on from with more, and what it was learnt from is left where it is.
#[test]
fn without_starts_what_is_known_is_climbed_from() {
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    let x = uniform(&mut rng, 300, 2);
    let y = smooth(&x, 0.1);
    let some = observe(x.view().select(&(0..200).collect::<Vec<_>>()).unwrap(), &y[..200]);
    let all = observe(x, &y);
    let template = Kernel::matern(2.5, [1.0, 1.0], 1.0).unwrap();
    let first = fit_hyperparameters(&some, &Learning::new(vec![template.clone()])).unwrap();
    let (mut on, mut again) = (Learning::new(vec![first.kernel().value.clone()]), Learning::new(vec![first.kernel().value.clone()]));
    (on.starts, on.ridge) = (0, first.ridge());
    (again.starts, again.ridge, again.exact_steps) = (0, first.ridge(), 0);
    let (learnt, kept) = (fit_hyperparameters(&all, &on).unwrap(), fit_hyperparameters(&some, &again).unwrap());
    let anew = fit_hyperparameters(&all, &Learning::new(vec![template])).unwrap();
    assert!((learnt.elbo - anew.elbo).abs() < 0.5, "{} and {}", learnt.elbo, anew.elbo);
    assert!(2 * learnt.evaluations < anew.evaluations, "{} and {}", learnt.evaluations, anew.evaluations);
    assert_eq!(kept.kernel().value.parameters().len(), first.kernel().value.parameters().len());
    for (kept, first) in kept.kernel().value.parameters().iter().zip(first.kernel().value.parameters()) {
        assert!((kept.value / first.value - 1.0).abs() < 1e-12);
    }
}

#[test]
fn repeats_that_never_differ_say_nothing_about_the_noise() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let x = uniform(&mut rng, 120, 1);
    let y = smooth(&x, 0.3);
    let templates = vec![Kernel::matern(2.5, 1.0, 1.0).unwrap()];
    let rows: Vec<usize> = (0..360).map(|i| i % 120).collect();
    let tripled: Vec<f64> = rows.iter().map(|&i| y[i]).collect();
    let once = fit_hyperparameters(&observe(x.clone(), &y), &Learning::new(templates.clone())).unwrap();
    let thrice = fit_hyperparameters(&observe(x.view().select(&rows).unwrap(), &tripled), &Learning::new(templates.clone())).unwrap();
    let weighted = Observations::weighted(x.clone(), &y, &[3.0; 120], Collected::DeclaredFixed, Prior::learnt(&y).unwrap()).unwrap();
    let weighted = fit_hyperparameters(&weighted, &Learning::new(templates.clone())).unwrap();
    assert!((thrice.ridge() / weighted.ridge() - 1.0).abs() < 1e-6, "{} and {}", thrice.ridge(), weighted.ridge());
    // Three times the precision of what is one measurement: the noise of one is that of a third of it.
    assert!((thrice.ridge() / once.ridge() / 3.0_f64.sqrt()).ln().abs() < 0.1, "{} and {}", thrice.ridge(), once.ridge());
    // One that differs says what they are.
    let mut differing = tripled;
    differing[0] += 0.2;
    let replicates = fit_hyperparameters(&observe(x.view().select(&rows).unwrap(), &differing), &Learning::new(templates)).unwrap();
    assert!(replicates.ridge() < 0.3 * thrice.ridge(), "{} and {}", replicates.ridge(), thrice.ridge());
}
