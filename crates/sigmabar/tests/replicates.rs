//! The noise level from replicates: the bound under attack, the printed formula, the table of the notes.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use sigmabar::Points;
use sigmabar::noise::{NOISE_SHARE, Replicates};

/// Groups of two or three at points of a wild function: what the function is does not matter.
fn drawn(freedom: usize, level: f64, seed: u64) -> Replicates {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut points, mut values) = (Vec::new(), Vec::new());
    let mut left = freedom;
    for group in 0.. {
        let size = if left >= 2 && group % 2 == 1 { 3 } else { 2 };
        if left == 0 {
            break;
        }
        left -= size - 1;
        for _ in 0..size {
            points.push(f64::from(group));
            let noise: f64 = StandardNormal.sample(&mut rng);
            values.push(1e3 * f64::from(group).sin() + level * noise);
        }
    }
    // Single measurements say nothing.
    points.push(-1.0);
    values.push(7.0);
    Replicates::of(Points::on_line(points).unwrap(), &values).unwrap()
}

#[test]
fn the_bound_misses_in_at_most_a_delta_share_and_the_scatter_alone_does_not() {
    let delta = 0.05;
    for freedom in [5, 12, 50] {
        let draws: Vec<Replicates> = (0..2000).map(|seed| drawn(freedom, 0.3, 10_000 * freedom as u64 + seed)).collect();
        assert!(draws.iter().all(|r| r.freedom() == freedom));
        let missed = |bound: &dyn Fn(&Replicates) -> f64| draws.iter().filter(|r| bound(r) < 0.3).count() as f64 / 2000.0;
        let by_bound = missed(&|r| r.level_bound(delta).unwrap().unwrap());
        let by_scatter = missed(&|r| r.std_dev().unwrap());
        println!("ν = {freedom}: missed {by_bound}, the scatter itself {by_scatter}");
        // Three standard deviations of a share of 2000 draws.
        assert!(by_bound <= delta + 3.0 * (delta * (1.0 - delta) / 2000.0_f64).sqrt() && by_bound > 0.5 * delta);
        assert!(by_scatter > 0.3);
        let spent = missed(&|r| r.noise(delta).unwrap().level());
        assert!(spent <= NOISE_SHARE * delta + 0.005, "{spent}");
    }
}

#[test]
fn the_bound_is_the_printed_one() {
    // At δ_R = .005 (algorithm notes 13.3).
    for (freedom, factor) in [(12, 1.98), (30, 1.48), (100, 1.22), (300, 1.12)] {
        let replicates = drawn(freedom, 1.0, 3);
        let ratio = replicates.level_bound(0.005).unwrap().unwrap() / replicates.std_dev().unwrap();
        assert!((ratio - factor).abs() < 0.006, "ν = {freedom}: {ratio}");
        assert!((freedom as isize - Replicates::needed(ratio, 0.005).unwrap() as isize).abs() <= 1);
    }
}

#[test]
fn told_means_are_pooled_with_the_rest() {
    let values = [1.0, 1.4, 0.9, 5.0, 5.2];
    let all = Replicates::of(Points::on_line(vec![0.0, 0.0, 0.0, 1.0, 1.0]).unwrap(), &values).unwrap();
    let first = Replicates::of(Points::on_line(vec![1.0, 1.0]).unwrap(), &values[3..]).unwrap();
    let mean = values[..3].iter().sum::<f64>() / 3.0;
    let deviation = (values[..3].iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 2.0).sqrt();
    let pooled = first.with_mean(deviation / 3.0_f64.sqrt(), 3).unwrap();
    assert_eq!(all.freedom(), 3);
    assert_eq!(pooled.freedom(), 3);
    assert!((all.std_dev().unwrap() - pooled.std_dev().unwrap()).abs() < 1e-12);
}

#[test]
fn degenerate_input_is_refused_by_name_or_says_nothing() {
    let single = Replicates::of(Points::on_line(vec![0.0, 1.0]).unwrap(), &[1.0, 2.0]).unwrap();
    assert_eq!(single.level_bound(0.05).unwrap(), None);
    assert!(single.noise(0.05).unwrap_err().to_string().contains("replicates"));
    assert!(single.with_mean(0.1, 1).is_err() && single.with_mean(0.0, 3).is_err() && single.level_bound(1.0).is_err());
    assert!(Replicates::needed(1.0, 0.05).is_err());
    assert!(Replicates::of(Points::on_line(vec![0.0]).unwrap(), &[f64::NAN]).is_err());
}

#[test]
fn rows_written_down_twice_are_no_replicates() {
    let (x, y) = (vec![0.0, 0.0, 0.0, 1.0, 1.0, 2.0], vec![1.0, 1.4, 0.9, 5.0, 5.2, 3.0]);
    let once = Replicates::of(Points::on_line(x.clone()).unwrap(), &y).unwrap();
    let twice = Replicates::of(Points::on_line([x.clone(), x].concat()).unwrap(), &[y.clone(), y].concat()).unwrap();
    assert_eq!((once.freedom(), once.identical()), (3, 0));
    assert_eq!((twice.freedom(), twice.identical()), (3, 6));
    assert!(twice.level_bound(0.05).unwrap() >= once.level_bound(0.05).unwrap());
    // Every row of a table without replicates, doubled: still nothing is known.
    let doubled = Replicates::of(Points::on_line(vec![0.0, 1.0, 0.0, 1.0]).unwrap(), &[2.0, 3.0, 2.0, 3.0]).unwrap();
    assert_eq!((doubled.freedom(), doubled.level_bound(0.05).unwrap()), (0, None));
    // Ties of a coarse instrument: never a smaller bound than all rows give, here with values in the middle that do not tie.
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for group in 0..100 {
        for v in [-1.0, -1.0, 1.0, 1.0, 0.0, 0.1, -0.1] {
            x.push(f64::from(group));
            y.push(v);
        }
    }
    let tied = Replicates::of(Points::on_line(x).unwrap(), &y).unwrap();
    assert!(tied.identical() == 200 && tied.std_dev().unwrap() >= (4.02_f64 / 6.0).sqrt() - 1e-12);
}
