//! Test functions: their best values against plain formulas and local search, their noise against its moments.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sigmabar::domain::ListDomain;
use sigmabar::simulated::{Classic, SimulatedNoise};
use sigmabar::strategy::Direction;
use sigmabar::{BoxDomain, Domain, Error, Expansion, Kernel, Noise, Points};
use sigmabar_experiment::{Benchmark, TestFunction};

const ALL: [Classic; 12] = [
    Classic::Branin,
    Classic::RosenbrockPlane,
    Classic::Hartmann3,
    Classic::Hartmann6,
    Classic::Rosenbrock { dim: 2, half_width: 2.048, divisor: 1.0 },
    Classic::Rosenbrock { dim: 4, half_width: 2.0, divisor: 1000.0 },
    Classic::Ackley { dim: 1, half_width: 32.768, shift: 0.0 },
    Classic::Ackley { dim: 5, half_width: 5.0, shift: 0.7 },
    Classic::Levy { dim: 1 },
    Classic::Levy { dim: 3 },
    Classic::StyblinskiTang { dim: 1 },
    Classic::StyblinskiTang { dim: 4 },
];

fn sides(classic: Classic) -> (Vec<f64>, Vec<f64>) {
    let domain = classic.domain().unwrap();
    (domain.low().to_vec(), domain.high().to_vec())
}

/// Random steps that only go up, shrinking: its own code, not the library's search.
fn walk_up(classic: Classic, start: &[f64], rng: &mut ChaCha8Rng) -> (Vec<f64>, f64) {
    let (low, high) = sides(classic);
    let mut x = start.to_vec();
    let mut best = classic.value(&x);
    let mut step = 0.1;
    for _ in 0..40 {
        for _ in 0..100 {
            let y: Vec<f64> = (0..x.len())
                .map(|j| (x[j] + step * (high[j] - low[j]) * (2.0 * rng.random::<f64>() - 1.0)).clamp(low[j], high[j]))
                .collect();
            let value = classic.value(&y);
            if value > best {
                (x, best) = (y, value);
            }
        }
        step *= 0.65;
    }
    (x, best)
}

#[test]
fn known_best_values_are_taken_at_the_known_places_and_nowhere_exceeded() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for classic in ALL {
        let name = classic.name();
        let maximum = classic.maximum();
        let scale = 1.0 + maximum.abs();
        for place in classic.maximisers() {
            assert!(classic.domain().unwrap().contains(&place), "{name}");
            assert!((classic.value(&place) - maximum).abs() < 1e-13 * scale, "{name}: {} against {maximum}", classic.value(&place));
            let (_, near) = walk_up(classic, &place, &mut rng);
            assert!(near <= maximum + 1e-13 * scale, "{name}: {near} near the maximiser, above {maximum}");
        }
        let (low, high) = sides(classic);
        let mut found = f64::NEG_INFINITY;
        for _ in 0..30 {
            let start: Vec<f64> = low.iter().zip(&high).map(|(&l, &h)| rng.random_range(l..h)).collect();
            let (_, top) = walk_up(classic, &start, &mut rng);
            assert!(top <= maximum + 1e-13 * scale, "{name}: {top} found, above {maximum}");
            found = found.max(top);
        }
        assert!(found > maximum - 0.05 * scale, "{name}: searching reached only {found} of {maximum}");
    }
}

#[test]
fn branin_has_all_its_three_maximisers() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut reached = [false; 3];
    for _ in 0..200 {
        let (x, top) = walk_up(Classic::Branin, &[rng.random(), rng.random()], &mut rng);
        if top > Classic::Branin.maximum() - 1e-9 {
            let near = |p: &Vec<f64>| p.iter().zip(&x).all(|(a, b)| (a - b).abs() < 1e-3);
            let which = Classic::Branin.maximisers().iter().position(near);
            reached[which.unwrap_or_else(|| panic!("{x:?} is a fourth one"))] = true;
        }
    }
    assert_eq!(reached, [true; 3]);
    assert!((Classic::Branin.maximum() - 1.0474).abs() < 5e-5, "algorithm notes 10.3");
}

/// Values by hand, from the usual forms that are minimised.
#[test]
fn values_at_points_worked_out_by_hand() {
    use std::f64::consts::{E, PI};
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12 * (1.0 + b.abs()), "{a} {b}");
    // Usual Branin at (u, v) = (0, 0): 36 + 10(1 − 1/8π) + 10; here without the last 10, negated and scaled.
    close(Classic::Branin.value(&[1.0 / 3.0, 0.0]), -(36.0 + 10.0 - 10.0 / (8.0 * PI) - 44.81) / 51.95);
    // z = 0.8: 10 − 100(0.8 − 0.64)² − 0.04
    close(Classic::RosenbrockPlane.value(&[0.0, 0.0]), 10.0 - 2.56 - 0.04);
    close(Classic::Rosenbrock { dim: 3, half_width: 3.0, divisor: 10.0 }.value(&[0.0, 1.0, 2.0]), -(101.0 + 100.0) / 10.0);
    close(Classic::Ackley { dim: 2, half_width: 5.0, shift: 0.5 }.value(&[1.5, 0.5]), 20.0 * (-0.2 * 0.5_f64.sqrt()).exp() + E - 20.0 - E);
    // w = 0 in both columns: sin²0 + 1·(1 + 10 sin²1) + 1·(1 + 0)
    close(Classic::Levy { dim: 2 }.value(&[-3.0, -3.0]), -(1.0 + 10.0 * 1_f64.sin().powi(2) + 1.0));
    close(Classic::StyblinskiTang { dim: 2 }.value(&[1.0, 2.0]), -0.5 * (1.0 - 16.0 + 5.0 + 16.0 - 64.0 + 10.0));
    assert!((Classic::Hartmann3.maximum() - 3.86278).abs() < 5e-6 && (Classic::Hartmann6.maximum() - 3.32237).abs() < 5e-6);
}

#[test]
fn impossible_functions_are_refused() {
    let refused = [
        Classic::Rosenbrock { dim: 1, half_width: 2.0, divisor: 1.0 },
        Classic::Rosenbrock { dim: 3, half_width: 0.5, divisor: 1.0 },
        Classic::Rosenbrock { dim: 3, half_width: 2.0, divisor: 0.0 },
        Classic::Ackley { dim: 2, half_width: 1.0, shift: 2.0 },
        Classic::Ackley { dim: 2, half_width: f64::NAN, shift: 0.0 },
    ];
    for classic in refused {
        assert!(matches!(TestFunction::classic(classic), Err(Error::Parameter { .. })), "{classic:?}");
    }
    assert!(matches!(TestFunction::classic(Classic::Levy { dim: 0 }), Err(Error::NoColumns { .. })));
}

#[test]
fn an_expansion_on_a_box_knows_its_largest_value() {
    for seed in 0..5 {
        for kernel in [Kernel::squared_exponential(0.2, 1.0).unwrap(), Kernel::matern(2.5, 0.3, 1.0).unwrap()] {
            let noise = SimulatedNoise::Gaussian { std_dev: 0.1 };
            let benchmark = Benchmark::known_norm(kernel, 2, 2.0, noise, 50, seed).unwrap();
            let function = benchmark.function();
            let expansion = function.as_expansion().unwrap();
            assert!((expansion.norm().unwrap() - 2.0).abs() < 1e-9);
            assert_eq!(benchmark.problem().norm_bound(), Some(2.0));
            let grid = function.domain().grid(301).unwrap();
            let values = function.values(grid.range(0, grid.len()).unwrap().view()).unwrap();
            let largest = values.into_iter().fold(f64::NEG_INFINITY, f64::max);
            assert!(largest <= function.best() + 1e-12, "seed {seed}: {largest} on the grid, above {}", function.best());
            assert!(function.best() - largest < 1e-2);
            assert!((expansion.value(&function.optima()[0]) - function.best()).abs() < 1e-14);
        }
    }
}

#[test]
fn a_grid_has_its_own_best_value() {
    let function = TestFunction::classic(Classic::Branin).unwrap().on_grid(11).unwrap();
    let mut best = f64::NEG_INFINITY;
    for i in 0..11 {
        for j in 0..11 {
            best = best.max(Classic::Branin.value(&[f64::from(i) / 10.0, f64::from(j) / 10.0]));
        }
    }
    assert!((function.best() - best).abs() < 1e-14 && function.best() < Classic::Branin.maximum());
    assert_eq!(function.domain().size(), Some(121));
    assert_eq!(function.values(Points::from_rows(&[&function.optima()[0]]).unwrap().view()).unwrap(), [function.best()]);
}

#[test]
fn tables_average_repeated_rows_and_know_both_directions() {
    let points = || Points::from_rows(&[[0.0, 1.0], [2.0, 3.0], [0.0, 1.0], [4.0, 5.0]]).unwrap();
    let values = [1.0, 2.5, 3.0, 2.25];
    let function = |direction| TestFunction::table("lab", points(), &values, direction).unwrap();
    let (up, down) = (function(Direction::Maximize), function(Direction::Minimize));
    assert_eq!((up.best(), down.best()), (2.5, 2.0));
    assert_eq!((up.optima(), down.optima()), (&[vec![2.0, 3.0]][..], &[vec![0.0, 1.0]][..]));
    assert_eq!((up.regret(2.25), down.regret(2.25)), (0.25, 0.25));
    assert_eq!(up.values(points().view()).unwrap(), [2.0, 2.5, 2.0, 2.25]);
    assert!(matches!(up.values(Points::from_rows(&[[9.0, 9.0]]).unwrap().view()), Err(Error::Outside { row: 0, .. })));
    assert!(matches!(TestFunction::table("lab", points(), &values[..3], Direction::Maximize), Err(Error::Length { .. })));
    let damaged = [1.0, f64::NAN, 3.0, 2.0];
    assert!(matches!(TestFunction::table("lab", points(), &damaged, Direction::Maximize), Err(Error::NotFinite { row: 1, .. })));
}

#[test]
fn the_setting_of_bpe_is_as_published() {
    let benchmark = Benchmark::bpe(4).unwrap();
    let Domain::List(list) = benchmark.function().domain() else { panic!("a list") };
    assert_eq!((list.len(), benchmark.problem().budget()), (2500, 1000));
    let (low, high) = list.points().rows().flatten().fold((f64::MAX, f64::MIN), |(l, h), &v| (l.min(v), h.max(v)));
    assert_eq!((low, high), (-5.0, 5.0));
    let near = list.points().rows().skip(1).map(|x| (x[0] + 5.0).abs() + (x[1] + 5.0).abs()).fold(f64::MAX, f64::min);
    assert!((near - 10.0 / 49.0).abs() < 1e-12);
    assert_eq!(benchmark.noise(), SimulatedNoise::Gaussian { std_dev: 0.02 });
    assert_eq!((benchmark.problem().noise(), benchmark.problem().ridge()), (Some(&Noise::gaussian(0.02).unwrap()), Some(0.02)));
    // Values at the 25 grid points are a draw of the prior, nearly independent at this length-scale: unit variance over many draws.
    let mut squares = Vec::new();
    for seed in 0..60 {
        let expansion = Benchmark::bpe(seed).unwrap().function().as_expansion().unwrap().clone();
        assert_eq!(expansion.centres().len(), 25);
        squares.extend(expansion.values(expansion.centres()).unwrap().iter().map(|v| v * v));
    }
    let mean = squares.iter().sum::<f64>() / 1500.0;
    // Standard error √(2/1500) = 0.037.
    assert!((mean - 1.0).abs() < 0.15, "{mean}");
    // The norm told is the norm: yᵀK⁻¹y is a χ² of 25.
    let bound = benchmark.problem().norm_bound().unwrap();
    assert!((bound - benchmark.function().as_expansion().unwrap().norm().unwrap()).abs() < 1e-12 && (2.0..9.0).contains(&bound));
    assert_ne!(benchmark, Benchmark::bpe(5).unwrap());
}

#[test]
fn the_settings_of_gp_threds_and_automatic_mode_are_as_published() {
    for (benchmark, best) in [(Benchmark::gp_threds_branin().unwrap(), 1.0474), (Benchmark::gp_threds_rosenbrock().unwrap(), 10.0)] {
        assert!((benchmark.function().best() - best).abs() < 5e-5);
        assert_eq!((benchmark.problem().budget(), benchmark.problem().ridge()), (1000, Some(0.1)));
        assert_eq!(benchmark.problem().kernel().unwrap().value, Kernel::squared_exponential(0.2, 1.0).unwrap());
    }
    let automatic = Benchmark::automatic().unwrap();
    let names: Vec<&str> = automatic.iter().map(|b| b.function().name()).collect();
    assert_eq!(names, ["hartmann-6", "branin", "hartmann-3", "rosenbrock-4", "ackley-5"]);
    assert!(automatic.iter().all(|b| b.problem().budget() == 200 && b.problem().kernel().is_none() && b.problem().noise().is_none()));
    assert_eq!(automatic[4].function().optima(), [vec![0.7; 5]]);
}

#[test]
fn assumptions_may_not_change_what_regret_is_measured_against() {
    let benchmark = Benchmark::gp_threds_branin().unwrap();
    let refused = benchmark.clone().assuming(|p| Ok(p.with_direction(Direction::Minimize)));
    assert!(matches!(refused, Err(Error::Premise { .. })));
    let other = Domain::Box(BoxDomain::unit(3).unwrap());
    assert!(matches!(benchmark.clone().assuming(|_| sigmabar::Problem::new(other, 5)), Err(Error::Premise { .. })));
    assert!(benchmark.with_budget(0).is_err());
    let branin = || TestFunction::classic(Classic::Branin).unwrap();
    assert!(Benchmark::new(branin(), SimulatedNoise::Gaussian { std_dev: -1.0 }, 10).is_err());
    assert!(Benchmark::new(branin(), SimulatedNoise::None, 10).unwrap().assuming_kernel(Kernel::matern(1.5, 0.2, 1.0).unwrap()).is_err());
    let kernel = Kernel::squared_exponential(0.2, 1.0).unwrap();
    let expansion = Expansion::random(kernel, Points::on_line(vec![0.2, 0.7]).unwrap(), 1.0, 0).unwrap();
    assert!(matches!(TestFunction::expansion("f", expansion.clone(), BoxDomain::unit(2).unwrap()), Err(Error::Length { .. })));
    let list = ListDomain::new(Points::from_rows(&[[0.0, 1.0]]).unwrap()).unwrap();
    assert!(matches!(TestFunction::expansion_on_list("f", expansion, list), Err(Error::Width { .. })));
}

#[test]
fn noise_depends_on_seed_and_trial_alone_and_has_its_moments() {
    let all = [
        (SimulatedNoise::Gaussian { std_dev: 0.5 }, 3.0),
        (SimulatedNoise::Rademacher { level: 0.5 }, 1.0),
        (SimulatedNoise::Uniform { half_width: 0.5 }, 1.8),
        (SimulatedNoise::Laplace { scale: 0.5 }, 6.0),
    ];
    let n = 40_000_u64;
    for (noise, kurtosis) in all {
        let values: Vec<f64> = (0..n).map(|trial| noise.draw(9, trial)).collect();
        let mut backward: Vec<f64> = (0..n).rev().map(|trial| noise.draw(9, trial)).collect();
        backward.reverse();
        assert_eq!(values, backward);
        let sd = noise.std_dev();
        let moment = |power: i32| values.iter().map(|v| (v / sd).powi(power)).sum::<f64>() / n as f64;
        assert!(moment(1).abs() < 5.0 / (n as f64).sqrt(), "{noise:?}: mean {}", moment(1));
        assert!((moment(2) - 1.0).abs() < 0.06 && (moment(4) / kurtosis - 1.0).abs() < 0.15, "{noise:?}: {} {}", moment(2), moment(4));
        // Neighbours, in trials and in seeds, are unrelated.
        let other: f64 = (0..n).map(|trial| noise.draw(9, trial) * noise.draw(10, trial)).sum::<f64>() / (n as f64 * sd * sd);
        let next: f64 = values.windows(2).map(|v| v[0] * v[1]).sum::<f64>() / (n as f64 * sd * sd);
        assert!(other.abs() < 0.03 && next.abs() < 0.03, "{noise:?}: {other} {next}");
    }
    assert_eq!(SimulatedNoise::None.draw(1, 2), 0.0);
}

/// $\mathbb E e^{h\varepsilon}\le e^{h^2\xi/2}$, with the expectation in closed form.
#[test]
fn what_is_assumed_about_the_noise_is_true() {
    let a = 0.7_f64;
    let level = |noise: SimulatedNoise| match noise.assumption().unwrap() {
        Some(Noise::SubGaussian { level }) => level,
        other => panic!("{other:?}"),
    };
    let (sign, uniform) = (level(SimulatedNoise::Rademacher { level: a }), level(SimulatedNoise::Uniform { half_width: a }));
    let Some(Noise::LightTailed { xi0, h0 }) = (SimulatedNoise::Laplace { scale: a }).assumption().unwrap() else { panic!("light tails") };
    for i in 1..=4000 {
        let h = f64::from(i) / 200.0;
        assert!((h * a).cosh() <= (h * h * sign * sign / 2.0).exp() * (1.0 + 1e-12));
        assert!((h * a).sinh() / (h * a) <= (h * h * uniform * uniform / 2.0).exp() * (1.0 + 1e-12));
        let h = h0 * f64::from(i) / 4000.0;
        assert!(1.0 / (1.0 - a * a * h * h) <= (h * h * xi0 / 2.0).exp() * (1.0 + 1e-12), "{h}");
    }
    assert!(SimulatedNoise::Laplace { scale: f64::NAN }.assumption().is_err());
    assert_eq!(SimulatedNoise::None.assumption().unwrap(), None);
}
