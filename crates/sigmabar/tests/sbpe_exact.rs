//! Exactly and nearly noise-free objectives: gaps fall with the noise and never below the truth (algorithm notes 12, P8 and P9).

use crate::oracle;

use oracle::Draws;
use oracle::double::{Double, dot, solve};
use rayon::prelude::*;
use sigmabar::domain::ListDomain;
use sigmabar::{Ask, BoxDomain, Domain, Expansion, Kernel, Noise, Outcome, Points, Policy, Problem, Recommendation, Strategy};

const DELTA: f64 = 0.1;

/// `√(yᵀK⁻¹y)` on a grid, and a little more: the norm of a function that the kernel knows.
fn norm(kernel: &Kernel, f: impl Fn(f64) -> f64) -> f64 {
    let x: Vec<f64> = (0..=48).map(|i| f64::from(i) / 48.0).collect();
    let table: Vec<Vec<Double>> = x.iter().map(|a| x.iter().map(|b| Double::from(kernel.value(&[*a], &[*b]))).collect()).collect();
    let y: Vec<Double> = x.iter().map(|&v| Double::from(f(v))).collect();
    1.05 * dot(&solve(&table, &y), &y).value().sqrt()
}

const LEVELS: [f64; 7] = [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 0.0];

/// What rounding alone may leave of a gap, with values of order 1 and the smallest ridge that doubles bear.
const FLOOR: f64 = 2e-6;

struct Truth<'a> {
    kernel: &'a Kernel,
    norm: f64,
    domain: Domain,
    f: &'a (dyn Fn(f64) -> f64 + Sync),
    /// The largest value on the domain.
    best: f64,
}

impl Truth<'_> {
    /// A run with noise declared of `level` and drawn of `drawn` times it, checked after every batch.
    fn run(&self, level: f64, drawn: f64) -> Recommendation {
        let problem = Problem::new(self.domain.clone(), 60)
            .and_then(|p| p.with_kernel(self.kernel.clone()))
            .and_then(|p| p.with_norm_bound(self.norm))
            .and_then(|p| p.with_noise(Noise::gaussian(level)?))
            .and_then(|p| p.with_delta(DELTA))
            .unwrap();
        let mut strategy = Strategy::new(problem, Policy::Sbpe(Box::default())).unwrap();
        let mut draws = Draws::new(7);
        while let Ask::Trials(trials) = strategy.ask(usize::MAX).unwrap() {
            for trial in trials {
                strategy.tell(trial.id, Outcome::Value((self.f)(trial.point[0]) + level * drawn * draws.normal())).unwrap();
            }
            let advice = strategy.recommend().unwrap().unwrap();
            assert!(self.best - (self.f)(advice.point[0]) <= advice.gap, "R={level:e}: the gap {:e} is below the truth", advice.gap);
        }
        strategy.recommend().unwrap().unwrap()
    }

    /// Exact values under smaller and smaller declared levels: the gap falls until the ridge is the smallest that doubles bear. What is left then is rounding, and
    /// only how fine the cells happen to be cut moves it: by at most the quarter of a width at which they are no longer cut. The last gap.
    fn falls(&self, levels: &[f64]) -> f64 {
        let mut before = f64::INFINITY;
        for &level in levels {
            let gap = self.run(level, 0.0).gap;
            println!("R={level:.0e}: gap {gap:.3e}");
            let allowed = if level >= 1e-6 { before } else { FLOOR.max(1.25 * before) };
            assert!(gap <= allowed, "R={level:e}: the gap rises from {before:e} to {gap:e}");
            before = before.min(gap);
        }
        before
    }
}

fn unit_box() -> Domain {
    Domain::Box(BoxDomain::unit(1).unwrap())
}

#[test]
fn the_identity_is_certified_to_four_digits() {
    let kernel = Kernel::matern(2.5, 1.0, 1.0).unwrap();
    let truth = Truth { norm: norm(&kernel, |x| x), kernel: &kernel, domain: unit_box(), f: &|x| x, best: 1.0 };
    assert!(truth.falls(&LEVELS) <= 1e-4);
    for level in LEVELS {
        let gap = truth.run(level, 1.0).gap;
        println!("drawn R={level:.0e}: gap {gap:.3e}");
        assert!(level > 1e-6 || gap <= 1e-4, "R={level:e}: {gap:e}");
    }
}

/// Functions of known norm with a maximum anywhere, on a box and among candidates.
#[test]
fn gaps_fall_with_the_noise_and_never_below_the_truth() {
    (0..2_u64).into_par_iter().for_each(|seed| {
        let kernel = match seed {
            0 => Kernel::squared_exponential(0.4, 1.0).unwrap(),
            _ => Kernel::matern(2.5, 0.5, 1.0).unwrap(),
        };
        let mut draws = Draws::new(seed);
        let centres = Points::on_line((0..10).map(|_| draws.uniform()).collect()).unwrap();
        let f = Expansion::random(kernel.clone(), centres, 2.0, seed).unwrap();
        let f = |x: f64| f.value(&[x]);
        let fine = (0..=200_000).map(|i| f(f64::from(i) / 200_000.0)).fold(f64::NEG_INFINITY, f64::max);
        let grid: Vec<f64> = (0..300).map(|i| f64::from(i) / 299.0).collect();
        let listed = grid.iter().map(|&x| f(x)).fold(f64::NEG_INFINITY, f64::max);
        let list = Domain::List(ListDomain::new(Points::on_line(grid).unwrap()).unwrap());
        for (domain, best) in [(unit_box(), fine), (list, listed)] {
            let truth = Truth { kernel: &kernel, norm: 2.0, domain, f: &f, best };
            assert!(truth.falls(&[1e-3, 1e-5, 1e-6, 1e-8, 0.0]) <= 1e-5);
            truth.run(1e-8, 1.0);
        }
    });
}

/// One survivor left: the pair of a point with itself is exactly 0, without its rounding (P9).
#[test]
fn a_point_compared_with_itself_costs_nothing() {
    let kernel = Kernel::squared_exponential(0.3, 1.0).unwrap();
    let domain = Domain::List(ListDomain::new(Points::on_line(vec![0.0, 1.0]).unwrap()).unwrap());
    let truth = Truth { kernel: &kernel, norm: 2.0, domain, f: &|x| 1.0 - 2.0 * x, best: 1.0 };
    assert_eq!(truth.run(1e-3, 0.0).gap, 0.0);
}
