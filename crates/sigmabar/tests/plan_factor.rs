//! Plans that go by more than the declared norm bound: what is claimed is claimed under the bound, and stands for larger ones.

use crate::sbpe_support;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use sbpe_support::{DELTA, Drawn, Known, finish};
use sigmabar::strategy::{Sbpe, Schedule};
use sigmabar::{Kernel, Label, Policy, Strategy};

fn run(known: &Known, factor: f64, seed: u64) -> Strategy {
    let policy = Sbpe::default().with_schedule(Schedule::Lengths(vec![20, 40])).with_plan_factor(factor).unwrap();
    let mut run = Strategy::new(known.problem(60, Drawn::Gaussian, seed), Policy::Sbpe(Box::new(policy))).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    finish(&mut run, |i| known.values[i] + Drawn::Gaussian.draw(known.level, &mut rng));
    run
}

fn known(i: u64) -> Known {
    Known::random(Kernel::matern(2.5, 0.25, 1.0).unwrap(), 1, 40, 1.0, 0.1, 300 + i)
}

#[test]
fn claims_hold_under_the_declared_bound_and_stand_farther() {
    let runs: Vec<(bool, f64, f64, f64)> = (0..80_u64)
        .into_par_iter()
        .map(|i| {
            let known = known(i);
            let end = |run: &Strategy| run.recommend_with_range().unwrap().unwrap();
            let (plain, wide) = (end(&run(&known, 1.0, i)), end(&run(&known, 2.0, i)));
            assert_eq!((wide.label(), wide.certificate.premises.norm_bound.value), (Label::Certified, Some(1.0)));
            let stands = |r: &sigmabar::Recommendation| r.certificate.range.unwrap().norm_breakdown.unwrap();
            (known.best() - known.values[wide.candidate.unwrap()] > wide.gap, wide.gap / plain.gap, stands(&plain), stands(&wide))
        })
        .collect();
    let mean = |of: fn(&(bool, f64, f64, f64)) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
    println!("gap {:.3} of that of factor 1; stands up to {:.2} and {:.2}", mean(|r| r.1), mean(|r| r.2), mean(|r| r.3));
    assert!(runs.iter().filter(|r| r.0).count() as f64 <= DELTA * runs.len() as f64);
    assert!(mean(|r| r.3) > mean(|r| r.2) && mean(|r| r.1) < 1.5);
}

#[test]
fn the_gap_is_that_of_a_replay_under_the_declared_bound() {
    for i in 0..6 {
        let run = run(&known(i), 1.5, i);
        let (claimed, replayed) = (run.recommend().unwrap().unwrap().gap, run.gap_under(1.0, 1.0).unwrap().unwrap());
        assert!((claimed - replayed).abs() <= 1e-12 * claimed, "{claimed} {replayed}");
        assert!(claimed <= run.gap_under(1.5, 1.0).unwrap().unwrap());
        assert_eq!(run.batches().unwrap().last().unwrap().gap, Some(claimed));
        assert_eq!(Strategy::from_bytes(&run.to_bytes()).unwrap(), run);
    }
    assert!(Sbpe::default().with_plan_factor(0.9).is_err() && Sbpe::default().with_plan_factor(f64::NAN).is_err());
}
