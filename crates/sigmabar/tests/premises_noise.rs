//! The certificate along the noise, and the row of the map that is the curve itself.

use crate::sbpe_support;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use sbpe_support::{DELTA, Drawn, Known, finish, sbpe};
use sigmabar::domain::BoxDomain;
use sigmabar::strategy::{GpUcb, Sbpe, Standing};
use sigmabar::{Ask, Domain, Kernel, Noise, Outcome, Policy, Problem, Strategy};

const LEVEL: f64 = 0.1;

fn kernel() -> Kernel {
    Kernel::matern(2.5, 0.2, 1.0).unwrap()
}

/// A run on a list that declares this noise and gets so many times as much.
fn listed(i: u64, policy: Policy, times: f64) -> (Strategy, Known) {
    let known = Known::random(kernel(), 1 + i as usize % 2, 30, 1.5, LEVEL, 900 + i);
    let mut run = Strategy::new(known.problem(50, Drawn::Gaussian, i).with_ridge(0.6).unwrap(), policy).unwrap();
    run.go_on_despite_contradiction();
    let mut rng = ChaCha8Rng::seed_from_u64(i);
    finish(&mut run, |c| known.values[c] + Drawn::Gaussian.draw(times * LEVEL, &mut rng));
    (run, known)
}

/// A run on a box with few cells.
fn boxed(i: u64) -> Strategy {
    let problem = Problem::new(Domain::Box(BoxDomain::unit(2).unwrap()), 60).unwrap().with_kernel(Kernel::matern(2.5, 0.4, 1.0).unwrap());
    let problem = problem.unwrap().with_norm_bound(2.0).unwrap().with_noise(Noise::gaussian(LEVEL).unwrap()).unwrap().with_seed(i);
    let mut run = Strategy::new(problem, Policy::Sbpe(Box::new(Sbpe::default().with_max_cells(3000).unwrap()))).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(i);
    while let Ask::Trials(trials) = run.ask(usize::MAX).unwrap() {
        for trial in trials {
            let value = 0.8 * (3.0 * trial.point[0]).sin() * (1.0 - trial.point[1]);
            run.tell(trial.id, Outcome::Value(value + Drawn::Gaussian.draw(LEVEL, &mut rng))).unwrap();
        }
    }
    run
}

/// One thing has one number: the map at the declared length-scales is the curve, to the last bit, on lists, on boxes and for runs that look at results.
#[test]
fn the_map_at_the_declared_length_scales_is_the_curve() {
    let lists = (0..6).map(|i| listed(i, sbpe(Sbpe::default()), 1.0).0);
    let others = (0..3).map(|i| listed(i, Policy::GpUcb(GpUcb::default()), 1.0).0);
    let mut seen = 0;
    for run in lists.chain(others).chain((0..4).map(boxed)) {
        let Some(standing) = run.standing().unwrap() else { continue };
        let map = run.premise_map(&[0.7, 1.0, 1.4]).unwrap();
        assert_eq!((map.len(), &map[1]), (3, &standing.row()));
        assert!(map[0].factor == 0.7 && map[0].curve != map[1].curve);
        seen += 1;
        // On a box a chain has other cells than the run itself: what was claimed is in the curve all the same, else the map would say more than the standing.
        assert!(standing.gap_at(standing.norm_bound) <= standing.range.claimed, "{standing:?}");
    }
    assert!(seen >= 10, "{seen}");
}

/// The curve stands up to R† and not behind it, grows, and says at the declared level what is claimed.
fn check_ends(standing: &Standing) -> bool {
    let (curve, range) = (&standing.noise_curve, &standing.range);
    let (gap, end, declared) = (range.gap.unwrap(), range.noise_breakdown.unwrap(), standing.noise_level.unwrap());
    assert_eq!(curve.len(), 20);
    let gaps: Vec<f64> = curve.iter().filter_map(|point| point.gap).collect();
    assert!(gaps.windows(2).all(|two| two[0] <= two[1]), "{gaps:?}");
    for point in curve {
        // R† is found to within a hundredth.
        let Some(found) = point.gap.filter(|_| !(end..1.01 * end).contains(&point.noise_level)) else { continue };
        assert_eq!(found <= gap, point.noise_level <= end, "{point:?} of a range that ends at {end}");
    }
    let at_declared = curve.iter().find(|point| point.noise_level == declared).unwrap();
    assert!(at_declared.gap.is_some() && at_declared.gap <= range.claimed, "{at_declared:?}");
    gaps.len() < 20
}

#[test]
fn the_curve_along_the_noise_ends_at_its_breakdown_point() {
    let mut excluded = 0;
    for i in 0..12 {
        let (run, known) = listed(i, sbpe(Sbpe::default()), 1.0);
        let Some(standing) = run.standing().unwrap() else { continue };
        excluded += usize::from(check_ends(&standing));
        // Each point by itself, with those before it inside.
        let mut largest = 0.0_f64;
        for point in standing.noise_curve.iter().filter(|point| point.noise_level > 1.001 * LEVEL) {
            let scale = point.noise_level / LEVEL;
            largest = largest.max(run.gap_under(known.norm, scale).unwrap().unwrap());
            let expected =
                if scale <= standing.range.noise_breakdown.unwrap() / LEVEL { largest.min(standing.range.gap.unwrap()) } else { largest };
            assert!((point.gap.unwrap() - expected).abs() <= 1e-9 * expected, "{point:?} for {expected}");
        }
    }
    for i in 0..3 {
        check_ends(&boxed(i).standing().unwrap().unwrap());
    }
    println!("{excluded} of 12 runs exclude some noise levels");
}

/// Noise of another level than was declared: the statement at the next level above the true one, and at every larger one, is false in at most a δ share.
#[test]
fn statements_at_the_true_level_are_true() {
    let wrong: Vec<Option<bool>> = (0..440_u64)
        .into_par_iter()
        .map(|i| {
            let times = 0.3 * (5.0_f64 / 0.3).powf((i % 10) as f64 / 9.0);
            let (run, known) = listed(i, sbpe(Sbpe::default()), times);
            let (standing, advice) = (run.standing().unwrap()?, run.recommend().unwrap()?);
            let regret = known.best() - known.values[advice.candidate?];
            let mut above = standing.noise_curve.iter().filter(|point| point.noise_level >= times * LEVEL).peekable();
            above.peek()?;
            Some(above.any(|point| point.gap.is_none_or(|gap| regret > gap)))
        })
        .collect();
    let (said, false_ones) = (wrong.iter().flatten().count(), wrong.iter().flatten().filter(|&&wrong| wrong).count());
    println!("{false_ones} of {said} are false");
    assert!(said >= 250 && false_ones as f64 <= DELTA * said as f64, "{false_ones} of {said}");
}
