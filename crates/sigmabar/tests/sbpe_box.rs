//! Boxes: the maximiser of a continuous function stays in a surviving cell, and the gap holds everywhere.

use crate::sbpe_support;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use sbpe_support::{DELTA, Drawn, sbpe, uniform};
use sigmabar::strategy::Sbpe;
use sigmabar::{Ask, BoxDomain, Domain, Expansion, Kernel, Label, Outcome, Policy, Problem, Strategy};

const LEVEL: f64 = 0.1;

fn function(dim: usize, seed: u64) -> Expansion {
    let kernel = match seed % 2 {
        0 => Kernel::squared_exponential(0.4, 1.0).unwrap(),
        _ => Kernel::matern(2.5, 0.5, 1.0).unwrap(),
    };
    Expansion::random(kernel, uniform(10, dim, seed), 2.0, seed).unwrap()
}

fn problem(f: &Expansion, dim: usize, budget: usize, drawn: Drawn) -> Problem {
    Problem::new(Domain::Box(BoxDomain::unit(dim).unwrap()), budget)
        .unwrap()
        .with_kernel(f.kernel().clone())
        .unwrap()
        .with_norm_bound(2.0)
        .unwrap()
        .with_noise(drawn.declared(LEVEL))
        .unwrap()
        .with_delta(DELTA)
        .unwrap()
}

/// The maximiser: the best of a dense grid, then steps that shrink.
fn maximiser(f: &Expansion, dim: usize) -> Vec<f64> {
    let per_side = [0, 2001, 91, 31][dim];
    let grid = Domain::Box(BoxDomain::unit(dim).unwrap()).grid(per_side).unwrap();
    let points = grid.range(0, grid.len()).unwrap();
    let mut best = points.view().rows().max_by(|a, b| f.value(a).total_cmp(&f.value(b))).unwrap().to_vec();
    let mut step = 1.0 / (per_side - 1) as f64;
    while step > 1e-9 {
        let moves = (0..2 * dim).map(|k| {
            let mut moved = best.clone();
            moved[k / 2] = (moved[k / 2] + if k % 2 == 0 { step } else { -step }).clamp(0.0, 1.0);
            moved
        });
        match moves.max_by(|a, b| f.value(a).total_cmp(&f.value(b))).filter(|m| f.value(m) > f.value(&best)) {
            Some(better) => best = better,
            None => step *= 0.5,
        }
    }
    best
}

fn policy() -> Sbpe {
    Sbpe::default().with_max_cells(1500).unwrap()
}

fn answer(strategy: &mut Strategy, f: &Expansion, drawn: Drawn, rng: &mut ChaCha8Rng) -> bool {
    let Ask::Trials(trials) = strategy.ask(usize::MAX).unwrap() else { return false };
    for trial in trials {
        strategy.tell(trial.id, Outcome::Value(f.value(&trial.point) + drawn.draw(LEVEL, rng))).unwrap();
    }
    true
}

#[test]
fn maximiser_of_a_box_is_kept_and_the_gap_holds() {
    let runs: Vec<(bool, bool, f64)> = (0..150_u64)
        .into_par_iter()
        .map(|seed| {
            let dim = if seed % 18 == 17 { 3 } else { 1 + seed as usize % 2 };
            let drawn = Drawn::ALL[seed as usize / 2 % 3];
            let f = function(dim, seed);
            let star = maximiser(&f, dim);
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut strategy = Strategy::new(problem(&f, dim, 60, drawn), sbpe(policy())).unwrap();
            let (mut bad, mut alarmed) = (false, false);
            let mut share = 1.0;
            while answer(&mut strategy, &f, drawn, &mut rng) {
                let Policy::Sbpe(state) = strategy.policy() else { panic!("another policy") };
                let cells = state.surviving_cells().unwrap();
                let advice = strategy.recommend().unwrap().unwrap();
                // The alarm may be false in a δ share of the runs; it then claims nothing.
                let certified = advice.label() == Label::Certified;
                assert!(certified || (advice.certificate.contradiction.is_some() && advice.gap == f64::INFINITY));
                alarmed |= !certified;
                bad |= !cells.survives(&star) || f.value(&star) - f.value(&advice.point) > advice.gap + 1e-9;
                bad |= !alarmed && (advice.upper < f.value(&star) || advice.lower > f.value(&advice.point));
                share = cells.surviving_share();
            }
            let left = strategy.survivors().unwrap().unwrap();
            let volume = |c: &sigmabar::strategy::Cell| c.low.iter().zip(&c.high).map(|(a, b)| b - a).product::<f64>();
            let volume: f64 = left.cells().unwrap().iter().map(volume).sum();
            assert!((volume - share).abs() < 1e-12, "the cells are what survives: {volume} and {share}");
            (bad, alarmed, share)
        })
        .collect();
    let bad = runs.iter().filter(|r| r.0).count() as f64 / runs.len() as f64;
    let alarmed = runs.iter().filter(|r| r.1).count() as f64 / runs.len() as f64;
    let share = runs.iter().map(|r| r.2).sum::<f64>() / runs.len() as f64;
    println!("bad {bad}, false alarms {alarmed}, mean surviving share {share}");
    assert!(bad <= DELTA && alarmed <= DELTA);
    assert!(share < 0.7, "mean surviving share {share}");
}

#[test]
fn saved_on_a_box_the_future_is_the_same() {
    let f = function(2, 4);
    let start = || Strategy::new(problem(&f, 2, 40, Drawn::Gaussian), sbpe(policy())).unwrap();
    let (mut a, mut b) = (start(), start());
    let (mut first, mut second) = (ChaCha8Rng::seed_from_u64(1), ChaCha8Rng::seed_from_u64(1));
    while answer(&mut a, &f, Drawn::Gaussian, &mut first) {
        assert!(answer(&mut b, &f, Drawn::Gaussian, &mut second));
        b = Strategy::from_bytes(&b.to_bytes()).unwrap();
        assert_eq!(a, b);
    }
}

#[test]
fn paper_rules_hold_on_a_box() {
    for seed in 0..6_u64 {
        let f = function(1, seed);
        let star = maximiser(&f, 1);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut strategy = Strategy::new(problem(&f, 1, 150, Drawn::Uniform), sbpe(Sbpe::new(sigmabar::strategy::Rules::Paper))).unwrap();
        while answer(&mut strategy, &f, Drawn::Uniform, &mut rng) {
            let Policy::Sbpe(state) = strategy.policy() else { panic!("another policy") };
            assert!(state.surviving_cells().unwrap().survives(&star));
            let advice = strategy.recommend().unwrap().unwrap();
            assert!(f.value(&star) - f.value(&advice.point) <= advice.gap);
            assert!(advice.lower <= f.value(&advice.point) && f.value(&star) <= advice.upper);
        }
        let Policy::Sbpe(state) = strategy.policy() else { panic!("another policy") };
        assert!(state.surviving_cells().unwrap().surviving_share() < 1.0, "nothing was ruled out");
    }
}
