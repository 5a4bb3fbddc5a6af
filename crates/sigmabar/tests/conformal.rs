//! Calibrated intervals against plain loops, their level over many splits, and the attacks that their rules close (algorithm notes 16).

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal, StudentT};
use sigmabar::certificate::{Calibration, Conformal, PredictionIntervals};
use sigmabar::points::Seen;
use sigmabar::posterior::ExactPosterior;
use sigmabar::{Claim, Collected, FeatureMap, Kernel, Label, Observations, Origin, Points, Posterior, Prior, Sourced};
use std::sync::Arc;

const SPLITS: u64 = 200;

#[derive(Clone, Copy, Debug, PartialEq)]
enum World {
    Normal,
    HeavyTailed,
    Heteroscedastic,
}

/// Rows of two columns: a place, and a group whose second half is five times as noisy in the heteroscedastic world.
fn rows(world: World, count: usize, rng: &mut ChaCha8Rng) -> (Points, Vec<f64>) {
    let tails = StudentT::new(2.5).unwrap();
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let (place, group) = (rng.random::<f64>(), f64::from(u8::from(rng.random::<f64>() < 0.3)));
        let normal: f64 = StandardNormal.sample(rng);
        let noise = match world {
            World::Normal => 0.2 * normal,
            World::HeavyTailed => 0.1 * tails.sample(rng),
            World::Heteroscedastic => (0.1 + 0.4 * group + 0.2 * place) * normal,
        };
        x.extend([place, group]);
        y.push((6.0 * place).sin() + noise);
    }
    (Points::new(x, 2).unwrap(), y)
}

fn kernel() -> Kernel {
    Kernel::squared_exponential(vec![0.3, 3.0], 1.0).unwrap()
}

fn fitted(x: &Points, y: &[f64], collected: Collected, ridge: f64) -> Posterior {
    let inducing: Vec<f64> = (0..24).flat_map(|i| [f64::from(i / 2) / 11.0, f64::from(i % 2)]).collect();
    let features = FeatureMap::new(kernel(), Points::new(inducing, 2).unwrap()).unwrap();
    Posterior::fit(Arc::new(features), ridge, Observations::new(x.clone(), y, collected, Prior::ZERO).unwrap()).unwrap()
}

fn part(x: &Points, y: &[f64], keep: impl Fn(usize) -> bool) -> (Points, Vec<f64>) {
    let chosen: Vec<usize> = (0..x.len()).filter(|&i| keep(i)).collect();
    (x.view().select(&chosen).unwrap(), chosen.iter().map(|&i| y[i]).collect())
}

/// Models without each fifth of the rows, calibrated on it.
fn in_fifths(x: &Points, y: &[f64]) -> Conformal<'static> {
    let folds = (0..5).map(|fold| {
        let ((kept, kept_y), (out, out_y)) = (part(x, y, |i| i % 5 != fold), part(x, y, |i| i % 5 == fold));
        let posterior = fitted(&kept, &kept_y, Collected::Exchangeable, 0.2);
        let calibration = Calibration::new(&posterior, out.view(), &out_y).unwrap();
        (posterior, calibration)
    });
    Conformal::cross(folds.collect()).unwrap()
}

fn held(found: &PredictionIntervals, y: &[f64]) -> Vec<bool> {
    y.iter().enumerate().map(|(i, y)| (found.response_lower()[i]..=found.response_upper()[i]).contains(y)).collect()
}

fn share(held: &[bool]) -> f64 {
    held.iter().filter(|held| **held).count() as f64 / held.len() as f64
}

fn width(found: &PredictionIntervals) -> f64 {
    let widths = found.response_upper().iter().zip(found.response_lower()).map(|(u, l)| u - l);
    widths.sum::<f64>() / found.prediction().len() as f64
}

/// 70 rows at δ = .05: the level is 68/71 = .9577, and the share over 200 splits may miss it by three standard errors.
#[test]
fn split_calibration_keeps_its_level_whatever_the_noise() {
    for world in [World::Normal, World::HeavyTailed, World::Heteroscedastic] {
        let (mut all, mut widths, mut normal) = (Vec::new(), 0.0, 0.0);
        for seed in 0..SPLITS {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let (x, y) = rows(world, 130, &mut rng);
            let (new, responses) = rows(world, 50, &mut rng);
            let posterior = fitted(&x, &y, Collected::Undeclared, 0.2);
            let (cal_x, cal_y) = rows(world, 70, &mut rng);
            let calibration = Calibration::new(&posterior, cal_x.view(), &cal_y).unwrap();
            let found = Conformal::split(&posterior, &calibration).interval(new.view(), 0.05).unwrap();
            assert_eq!(found.certificate().bounds.level, Some(68.0 / 71.0));
            all.extend(held(&found, &responses));
            widths += width(&found);
            let spread = posterior.std_dev(new.view()).unwrap().iter().map(|s| 2.0 * 1.959_964 * s.hypot(0.2)).sum::<f64>();
            normal += spread / new.len() as f64;
        }
        let coverage = share(&all);
        println!("{world:?}: coverage {coverage:.4}, mean width {:.3} times the normal interval's", widths / normal);
        assert!((0.95..=0.965).contains(&coverage), "{world:?}: {coverage}");
        if world == World::Normal {
            assert!(widths <= 1.1 * normal, "{widths} against {normal}");
        }
    }
}

/// Every row learns and calibrates; the proved level is lower, the share is what was asked for.
#[test]
fn cross_calibration_and_leaving_out_keep_their_levels() {
    let (mut crossed, mut jackknifed) = (Vec::new(), Vec::new());
    for seed in 0..SPLITS {
        let mut rng = ChaCha8Rng::seed_from_u64(1000 + seed);
        let (x, y) = rows(World::HeavyTailed, 100, &mut rng);
        let (new, responses) = rows(World::HeavyTailed, 20, &mut rng);
        let folds = (0..5)
            .map(|fold| {
                let (kept, kept_y) = part(&x, &y, |i| i % 5 != fold);
                let (out, out_y) = part(&x, &y, |i| i % 5 == fold);
                let posterior = fitted(&kept, &kept_y, Collected::Undeclared, 0.2);
                let calibration = Calibration::new(&posterior, out.view(), &out_y).unwrap();
                (posterior, calibration)
            })
            .collect();
        let found = Conformal::cross(folds).unwrap().interval(new.view(), 0.05).unwrap();
        let certificate = found.certificate();
        assert_eq!((certificate.bounds.level, certificate.label()), (Some(1.0 - 2.0 * 9.0 / 105.0), Label::Conformal));
        assert!((certificate.delta - 18.0 / 105.0).abs() < 1e-12);
        crossed.extend(held(&found, &responses));
        let exact = ExactPosterior::new(kernel(), 0.2, Observations::new(x, &y, Collected::Undeclared, Prior::ZERO).unwrap()).unwrap();
        let found = exact.left_out_interval(new.view(), 0.05).unwrap();
        assert_eq!((found.certificate().bounds.level, found.certificate().label()), (Some(1.0 - 9.0 / 101.0), Label::Conformal));
        jackknifed.extend(held(&found, &responses));
    }
    for (name, share) in [("five folds", share(&crossed)), ("each left out", share(&jackknifed))] {
        println!("{name}: coverage {share:.4}");
        assert!((0.945..=0.97).contains(&share), "{share}");
    }
}

/// The rule of the rank taken out: the k-th of n scores with k = ⌈n(1−δ)⌉ instead of ⌈(n+1)(1−δ)⌉.
#[test]
fn attack_a_quantile_that_forgets_the_new_row() {
    let (mut by_rule, mut forgetful) = (Vec::new(), Vec::new());
    for seed in 0..600 {
        let mut rng = ChaCha8Rng::seed_from_u64(5000 + seed);
        let (x, y) = rows(World::HeavyTailed, 60, &mut rng);
        let posterior = fitted(&x, &y, Collected::Undeclared, 0.2);
        let ((cal_x, cal_y), (new, responses)) = (rows(World::HeavyTailed, 10, &mut rng), rows(World::HeavyTailed, 20, &mut rng));
        let calibration = Calibration::new(&posterior, cal_x.view(), &cal_y).unwrap();
        by_rule.extend(held(&Conformal::split(&posterior, &calibration).interval(new.view(), 0.2).unwrap(), &responses));
        let mut scores: Vec<f64> = calibration.scores().collect();
        scores.sort_by(f64::total_cmp);
        let (mean, deviation) = posterior.predict(new.view()).unwrap();
        forgetful.extend((0..20).map(|i| (responses[i] - mean[i]).abs() <= scores[7] * deviation[i].hypot(0.2)));
    }
    assert!(share(&by_rule) >= 0.8 - 0.01 && share(&forgetful) < 0.76, "{} {}", share(&by_rule), share(&forgetful));
}

/// The other rule taken out: rows that the model has learnt from calibrate it.
#[test]
fn attack_calibration_on_rows_that_were_learnt() {
    let (mut by_rule, mut learnt) = (Vec::new(), Vec::new());
    for seed in 0..60 {
        let mut rng = ChaCha8Rng::seed_from_u64(9000 + seed);
        let (x, y) = rows(World::Normal, 60, &mut rng);
        // A ridge far below the noise, and a model that follows it.
        let posterior = fitted(&x, &y, Collected::Exchangeable, 0.01);
        let (new, responses) = rows(World::Normal, 50, &mut rng);
        let wrong = Calibration::new(&posterior, x.view(), &y).unwrap();
        let found = Conformal::split(&posterior, &wrong).interval(new.view(), 0.1).unwrap();
        assert_eq!(found.certificate().label(), Label::Estimated, "the rows are noticed");
        assert!(found.certificate().weak_premises().iter().any(|weak| weak.contains("calibration")));
        learnt.extend(held(&found, &responses));
        let (cal_x, cal_y) = rows(World::Normal, 60, &mut rng);
        let right = Calibration::new(&posterior, cal_x.view(), &cal_y).unwrap();
        let found = Conformal::split(&posterior, &right).interval(new.view(), 0.1).unwrap();
        assert_eq!((found.certificate().label(), found.certificate().weak_premises()), (Label::Conformal, vec![]));
        by_rule.extend(held(&found, &responses));
    }
    assert!(share(&by_rule) > 0.89 && share(&learnt) < 0.87, "{} {}", share(&by_rule), share(&learnt));
}

/// Without groups the noisy group is covered too seldom; by group each keeps the level.
#[test]
fn groups_are_calibrated_by_themselves() {
    let (mut together, mut apart) = (Vec::new(), Vec::new());
    for seed in 0..SPLITS {
        let mut rng = ChaCha8Rng::seed_from_u64(300 + seed);
        let (x, y) = rows(World::Heteroscedastic, 100, &mut rng);
        let posterior = fitted(&x, &y, Collected::Undeclared, 0.2);
        let ((cal_x, cal_y), (new, responses)) = (rows(World::Heteroscedastic, 120, &mut rng), rows(World::Heteroscedastic, 50, &mut rng));
        let (noisy, noisy_y) = part(&new, &responses, |i| new.row(i)[1] == 1.0);
        let plain = Calibration::new(&posterior, cal_x.view(), &cal_y).unwrap();
        together.extend(held(&Conformal::split(&posterior, &plain).interval(noisy.view(), 0.1).unwrap(), &noisy_y));
        let mut grouped = Calibration::by_column(1);
        // In two pieces: rows may come as a stream.
        let (first, last) = (cal_x.view().range(0, 50), cal_x.view().range(50, 120));
        grouped.add(&posterior, first, &cal_y[..50]).unwrap();
        grouped.add(&posterior, last, &cal_y[50..]).unwrap();
        let found = Conformal::split(&posterior, &grouped).interval(noisy.view(), 0.1).unwrap();
        assert_eq!(found.certificate().premises.calibration.unwrap().value.groups, 2);
        apart.extend(held(&found, &noisy_y));
        let nowhere = Points::new(vec![0.5, 7.0], 2).unwrap();
        let unknown = Conformal::split(&posterior, &grouped).interval(nowhere.view(), 0.1).unwrap();
        assert_eq!((unknown.response_lower()[0], unknown.response_upper()[0]), (f64::NEG_INFINITY, f64::INFINITY));
    }
    assert!(share(&together) < 0.85 && (0.89..=0.935).contains(&share(&apart)), "{} {}", share(&together), share(&apart));
}

/// The printed formulas by plain loops: every row left out by a fit without it.
#[test]
fn ends_are_those_of_plain_loops() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let (x, y) = rows(World::HeavyTailed, 25, &mut rng);
    let (new, _) = rows(World::Normal, 4, &mut rng);
    let exact = |x: &Points, y: &[f64]| {
        ExactPosterior::new(kernel(), 0.2, Observations::new(x.clone(), y, Collected::Undeclared, Prior::ZERO).unwrap()).unwrap()
    };
    let found = exact(&x, &y).left_out_interval(new.view(), 0.1).unwrap();
    let sparse = fitted(&x, &y, Collected::Undeclared, 0.2);
    let scores = sparse.left_out_scores(100).unwrap();
    let mut ends: Vec<(Vec<f64>, Vec<f64>)> = vec![(Vec::new(), Vec::new()); new.len()];
    for i in 0..x.len() {
        let (kept, kept_y) = part(&x, &y, |j| j != i);
        let (one, _) = part(&x, &y, |j| j == i);
        let without = fitted(&kept, &kept_y, Collected::Undeclared, 0.2);
        let (mean, deviation) = without.predict(one.view()).unwrap();
        assert!((scores[i] - (y[i] - mean[0]).abs() / deviation[0].hypot(0.2)).abs() < 1e-8);
        let without = exact(&kept, &kept_y);
        let spread = |p: &Points| without.std_dev(p.view()).unwrap().iter().map(|s| s.hypot(0.2)).collect::<Vec<f64>>();
        let score = (y[i] - without.mean(one.view()).unwrap()[0]).abs() / spread(&one)[0];
        for (query, (mean, spread)) in without.mean(new.view()).unwrap().iter().zip(spread(&new)).enumerate() {
            ends[query].0.push(mean - score * spread);
            ends[query].1.push(mean + score * spread);
        }
    }
    // k = ⌈26 · .9⌉ = 24 of 25: the second smallest below, the second largest above.
    for (query, (mut low, mut high)) in ends.into_iter().enumerate() {
        low.sort_by(f64::total_cmp);
        high.sort_by(f64::total_cmp);
        assert!((found.response_lower()[query] - low[1]).abs() < 1e-8 && (found.response_upper()[query] - high[23]).abs() < 1e-8);
    }
}

#[test]
fn what_was_learnt_chosen_or_too_little_is_said() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let ((x, y), (cal_x, cal_y)) = (rows(World::Normal, 60, &mut rng), rows(World::Normal, 30, &mut rng));
    let label = |collected| {
        let posterior = fitted(&x, &y, collected, 0.2);
        let calibration = Calibration::new(&posterior, cal_x.view(), &cal_y).unwrap();
        Conformal::split(&posterior, &calibration).interval(x.view(), 0.05).unwrap().certificate().clone()
    };
    assert_eq!(label(Collected::Undeclared).label(), Label::Conformal);
    assert_eq!(label(Collected::Undeclared).weak_premises(), vec!["assumed: points, calibration"]);
    assert_eq!(label(Collected::Adaptive).label(), Label::Estimated);
    assert_eq!(label(Collected::Designed).label(), Label::Estimated);
    let text = label(Collected::Exchangeable).to_string();
    assert!(
        text.starts_with("conformal: lower ≤ a new response ≤ upper at each point asked for by itself") && text.contains("exchangeable"),
        "{text}"
    );
    let written = serde_json::to_string(&label(Collected::Undeclared)).unwrap();
    assert_eq!(serde_json::from_str::<sigmabar::Certificate>(&written).unwrap(), label(Collected::Undeclared));
    assert!(serde_json::from_str::<sigmabar::Certificate>(&written.replace("\"conformal\",\"claim\"", "\"certified\",\"claim\"")).is_err());

    // A kernel learnt from these rows makes leaving them out an estimate; too few rows make an interval without ends.
    let observations = Observations::new(x.clone(), &y, Collected::Exchangeable, Prior::ZERO).unwrap();
    let left_out = |kernel: Sourced<Kernel>, lost| {
        let exact = ExactPosterior::new(kernel, 0.2, observations.clone().with_lost(lost)).unwrap();
        exact.left_out_interval(cal_x.view(), 0.1).unwrap().certificate().label()
    };
    assert_eq!(left_out(Sourced::new(kernel(), Origin::LearntHere), 0), Label::Estimated);
    // Rows that lost their response are not drawn as those that kept it.
    assert_eq!(left_out(Sourced::new(kernel(), Origin::Declared), 0), Label::Conformal);
    assert_eq!(left_out(Sourced::new(kernel(), Origin::Declared), 3), Label::Estimated);
    let posterior = fitted(&x, &y, Collected::Undeclared, 0.2);
    assert_eq!((Calibration::rows_needed(0.05), Calibration::rows_needed(0.1)), (19, 9));
    let few = Calibration::new(&posterior, cal_x.view().range(0, 18), &cal_y[..18]).unwrap();
    assert_eq!(Conformal::split(&posterior, &few).interval(x.view(), 0.05).unwrap().response_upper()[0], f64::INFINITY);

    // Answers: the response is conformal where rows suffice; the function is the model's word, with how often it held.
    let claim = Claim::new(0.05).unwrap();
    let plain = posterior.answers(&claim).unwrap().at(x.view()).unwrap();
    let measured = plain.certificate.bounds.measured.unwrap();
    assert!(plain.label() == Label::Estimated && measured.of == 60 && measured.held >= 50, "{measured:?}");
    let many = Calibration::new(&posterior, cal_x.view(), &cal_y).unwrap();
    let answer = posterior.answers(&claim).unwrap().calibrated(Conformal::split(&posterior, &many)).unwrap().at(x.view()).unwrap();
    assert_eq!((answer.label(), answer.response_certificate.label()), (Label::Estimated, Label::Conformal));
    assert_eq!(answer.certificate.bounds.measured.unwrap().of, 30);
    assert!(Calibration::new(&posterior, cal_x.view(), &[f64::NAN; 30]).is_err());
}

/// A model that learnt its parameters from a few rows is surer of itself than they allow: Student's .975 quantile with 8 − 4 degrees of freedom, from a table.
#[test]
fn few_rows_widen_what_a_learnt_model_says_of_itself() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let (x, y) = rows(World::Normal, 8, &mut rng);
    let factor = |origin: Origin| {
        let kernel = Sourced::new(Kernel::matern(2.5, [0.5, 0.5], 1.0).unwrap(), origin);
        let features = Arc::new(FeatureMap::new(kernel, Sourced::new(x.clone(), Origin::Guaranteed)).unwrap());
        let observations = Observations::new(x.clone(), &y, Collected::Undeclared, Prior::ZERO).unwrap();
        let posterior = Posterior::fit(features, 1.0, observations).unwrap();
        posterior.answers(&Claim::new(0.05).unwrap()).unwrap().at(x.view()).unwrap().certificate.bounds.beta.unwrap()
    };
    assert!((factor(Origin::LearntHere) - 2.776_445).abs() < 1e-5, "{}", factor(Origin::LearntHere));
    assert!((factor(Origin::Declared) - 1.959_964).abs() < 1e-5, "{}", factor(Origin::Declared));
}

fn read(json: &serde_json::Value) -> Result<sigmabar::Certificate, String> {
    serde_json::from_value(json.clone()).map_err(|error| error.to_string())
}

/// What calibration cannot prove is refused by the name of the field; a theorem about functions has its premises.
#[test]
fn attack_a_calibrated_certificate_that_was_altered() {
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    let ((x, y), (cal_x, cal_y)) = (rows(World::Normal, 60, &mut rng), rows(World::Normal, 70, &mut rng));
    let posterior = fitted(&x, &y, Collected::Exchangeable, 0.2);
    let calibration = Calibration::new(&posterior, cal_x.view(), &cal_y).unwrap();
    let written = Conformal::split(&posterior, &calibration).interval(x.view(), 0.05).unwrap().certificate().clone();
    let json = serde_json::to_value(&written).unwrap();
    assert_eq!(read(&json).unwrap(), written);
    for (path, value, field) in [
        ("bounds.level", serde_json::json!(0.9999), "bounds.level"),
        ("bounds.level", serde_json::json!(1.7), "bounds.level"),
        ("bounds.level", serde_json::Value::Null, "bounds.level"),
        ("premises.calibration.value.rows", serde_json::json!(0), "premises.calibration.rows"),
        ("premises.calibration.value.rows", serde_json::json!(7000), "bounds.level"),
        ("premises.calibration", serde_json::Value::Null, "premises.calibration"),
        ("about", serde_json::json!("everywhere"), "about"),
        ("claim", serde_json::json!("optimum"), "claim"),
        ("claim", serde_json::json!({ "function": { "side": "both" } }), "claim"),
    ] {
        let mut altered = json.clone();
        *altered.pointer_mut(&format!("/{}", path.replace('.', "/"))).unwrap() = value.clone();
        let said = read(&altered).unwrap_err();
        assert!(said.contains(field), "{path} = {value}: {said}");
    }
    // Rows that were declared exchangeable leave no premise weak: another theorem would be certified by its label alone.
    let mut altered = json;
    altered["theorem"] = serde_json::json!({ "width": "tight" });
    altered["label"] = "certified".into();
    let said = read(&altered).unwrap_err();
    assert!(said.contains("premises.norm_bound"), "{said}");
}

/// Too few rows make an interval without ends, at the delta that was asked for, and a certificate that can be read again; so does a delta at which nothing is proved.
#[test]
fn every_calibrated_certificate_can_be_read_again() {
    let mut rng = ChaCha8Rng::seed_from_u64(13);
    for (count, delta, missed) in [(5, 0.05, 0.0), (10, 0.5, 9.0 / 11.0), (10, 0.2, 3.0 / 11.0), (1, 0.6, 0.5), (10, 0.6, 1.0)] {
        let (x, y) = rows(World::Normal, count, &mut rng);
        let exact = ExactPosterior::new(kernel(), 0.2, Observations::new(x, &y, Collected::Exchangeable, Prior::ZERO).unwrap()).unwrap();
        let (new, _) = rows(World::Normal, 1, &mut rng);
        let found = exact.left_out_interval(new.view(), delta).unwrap();
        let certificate = found.certificate();
        let expected = (if missed == 0.0 { delta } else { missed }, Some(1.0 - missed));
        assert_eq!((certificate.delta, certificate.bounds.level), expected, "{count} rows");
        assert_eq!(found.response_upper()[0].is_infinite(), missed == 0.0);
        assert_eq!(&read(&serde_json::to_value(certificate).unwrap()).unwrap(), certificate);
    }
    for (count, delta) in [(10, 0.05), (10, 0.5), (40, 0.2), (40, 0.05)] {
        let (x, y) = rows(World::Normal, count, &mut rng);
        let found = in_fifths(&x, &y).interval(x.view(), delta).unwrap();
        let certificate = found.certificate();
        assert_eq!(&read(&serde_json::to_value(certificate).unwrap()).unwrap(), certificate, "{count} rows at {delta}");
        assert_eq!(found.response_upper()[0].is_infinite(), certificate.bounds.level == Some(1.0));
    }
}

/// Of 60 specimens a third stands in the table twice, and the model, which goes through its rows, has learnt from one of the two. Counted once, and not where it was learnt, the rest keep
/// their level; with a last digit that hides the copies they do not.
#[test]
fn attack_rows_that_stand_in_the_table_twice() {
    let (delta, draws) = (0.2, 300);
    let covered = |hidden: f64| {
        let mut all = Vec::new();
        for seed in 0..draws {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let (x, y) = rows(World::Normal, 60, &mut rng);
            let mut table: Vec<(usize, f64)> =
                (0..60).chain(0..20).map(|i| (i, if hidden > 0.0 { hidden * rng.random::<f64>() } else { 0.0 })).collect();
            table.sort_by_cached_key(|_| rng.random::<u64>());
            let of = |table: &[(usize, f64)]| {
                let chosen: Vec<usize> = table.iter().map(|(i, _)| *i).collect();
                (x.view().select(&chosen).unwrap(), table.iter().map(|(i, digit)| y[*i] + digit).collect::<Vec<f64>>())
            };
            let ((fit_x, fit_y), (cal_x, cal_y)) = (of(&table[..40]), of(&table[40..]));
            let narrow = Kernel::squared_exponential(vec![0.02, 3.0], 1.0).unwrap();
            let features = Arc::new(FeatureMap::new(narrow, fit_x.clone()).unwrap());
            let observations = Observations::new(fit_x, &fit_y, Collected::Undeclared, Prior::ZERO).unwrap();
            let posterior = Posterior::fit(features, 0.05, observations).unwrap();
            let calibration = Calibration::new(&posterior, cal_x.view(), &cal_y).unwrap();
            let (new, responses) = rows(World::Normal, 20, &mut rng);
            let found = Conformal::split(&posterior, &calibration).interval(new.view(), delta).unwrap();
            assert!(found.certificate().bounds.level.unwrap() >= 1.0 - delta);
            all.extend(held(&found, &responses));
        }
        share(&all)
    };
    let (once, twice) = (covered(0.0), covered(1e-9));
    assert!(once > 0.785, "{once}");
    assert!(twice < 0.77, "the attack no longer works: {twice}");
}

/// Responses that a reader could not show are missing because of their value: what is left is not exchangeable with a new row.
#[test]
fn rows_without_a_response_leave_an_estimate() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let ((x, y), (cal_x, cal_y)) = (rows(World::Normal, 60, &mut rng), rows(World::Normal, 60, &mut rng));
    let label = |lost: usize| {
        let features = FeatureMap::new(kernel(), x.clone()).unwrap();
        let observations = Observations::new(x.clone(), &y, Collected::Exchangeable, Prior::ZERO).unwrap().with_lost(lost);
        let posterior = Posterior::fit(Arc::new(features), 0.2, observations).unwrap();
        let calibration = Calibration::new(&posterior, cal_x.view(), &cal_y).unwrap();
        let found = Conformal::split(&posterior, &calibration).interval(cal_x.view(), 0.1).unwrap();
        (found.certificate().label(), found.certificate().premises.losses)
    };
    assert_eq!(label(0), (Label::Conformal, Sourced::new(0, Origin::Guaranteed)));
    assert_eq!(label(7), (Label::Estimated, Sourced::new(7, Origin::Unmet)));
}

/// Readings of zero are equal by chance, and a calibration that counted them once would be one of the others.
#[test]
fn readings_of_zero_all_count() {
    let (delta, mut all) = (0.1, Vec::new());
    for seed in 0..200 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut drawn = |count: usize| {
            let (_, y) = rows(World::Normal, count, &mut rng);
            let x: Vec<f64> = (0..count).flat_map(|_| [f64::from(rng.random_range(0..3_u8)), 0.0]).collect();
            // A quarter of the readings is zero, far from the others.
            let y: Vec<f64> = y.iter().map(|y| if rng.random::<f64>() < 0.25 { 0.0 } else { 3.0 + y }).collect();
            (Points::new(x, 2).unwrap(), y)
        };
        let ((x, y), (cal_x, cal_y), (new, responses)) = (drawn(40), drawn(79), drawn(20));
        let posterior = fitted(&x, &y, Collected::Undeclared, 0.2);
        let calibration = Calibration::new(&posterior, cal_x.view(), &cal_y).unwrap();
        assert_eq!(calibration.len(), 79);
        all.extend(held(&Conformal::split(&posterior, &calibration).interval(new.view(), delta).unwrap(), &responses));
    }
    assert!(share(&all) > 0.89, "{}", share(&all));
}

/// Most responses are equal, and define the end: none of them is a rounding error outside, wherever it is asked about.
#[test]
fn a_response_that_defines_an_end_is_inside() {
    for (seed, value) in (0..40).flat_map(|seed| [0.0, 1.0 / 3.0, 1e6 + 0.1].map(|value| (seed, value))) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (x, noise) = rows(World::Normal, 120, &mut rng);
        let y: Vec<f64> = noise.iter().enumerate().map(|(i, noise)| if i % 12 == 0 { value + 3.0 + noise } else { value }).collect();
        let ((fit_x, fit_y), (cal_x, cal_y)) = (part(&x, &y, |i| i % 2 == 0), part(&x, &y, |i| i % 2 == 1));
        let posterior = fitted(&fit_x, &fit_y, Collected::Undeclared, 0.2);
        let calibration = Calibration::new(&posterior, cal_x.view(), &cal_y).unwrap();
        // One at a time and all at once: blocks may round otherwise.
        let found = Conformal::split(&posterior, &calibration).interval(cal_x.view(), 0.04).unwrap();
        let inside = |found: &PredictionIntervals, y: &[f64]| held(found, y).iter().filter(|held| **held).count();
        let alone: usize = (0..cal_y.len())
            .map(|i| {
                inside(&Conformal::split(&posterior, &calibration).interval(cal_x.view().range(i, i + 1), 0.04).unwrap(), &cal_y[i..=i])
            })
            .sum();
        // ⌈61 · 0.96⌉ = 59 of the 60 scores are at most the one that is taken, and it is one of them.
        assert!(inside(&found, &cal_y) >= 59 && alone >= 59, "seed {seed}, {value}: {} and {alone}", inside(&found, &cal_y));
    }
}

/// A weight changes what a row is worth, not that the model has learnt from it.
#[test]
fn attack_rows_that_were_learnt_with_a_weight() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let ((x, y), (new, new_y)) = (rows(World::Normal, 60, &mut rng), rows(World::Normal, 30, &mut rng));
    for weight in [1.0, 0.3, 7.0] {
        let features = Arc::new(FeatureMap::new(kernel(), x.clone()).unwrap());
        let observations =
            Observations::weighted(x.clone(), &y, &[weight; 60], Collected::Exchangeable, Prior::declared(0.1, 1.7).unwrap());
        let posterior = Posterior::fit(features, 0.2, observations.unwrap()).unwrap();
        let mut calibration = Calibration::new(&posterior, new.view(), &new_y).unwrap();
        calibration.add(&posterior, x.view().range(0, 20), &y[..20]).unwrap();
        assert_eq!(calibration.len(), 30, "weight {weight}: 20 rows were learnt");
        let learnt = Calibration::new(&posterior, x.view(), &y).unwrap();
        let label = |calibration| Conformal::split(&posterior, calibration).interval(new.view(), 0.1).unwrap().certificate().label();
        assert_eq!((label(&calibration), label(&learnt)), (Label::Conformal, Label::Estimated), "weight {weight}");
    }
}

/// Which rows are the same is a question to all that have come: in one call or in several, before it was saved and after.
#[test]
fn rows_that_calibrate_again_count_once() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let ((x, y), (cal_x, cal_y)) = (rows(World::Normal, 60, &mut rng), rows(World::Normal, 30, &mut rng));
    let posterior = fitted(&x, &y, Collected::Undeclared, 0.2);
    let once = Calibration::new(&posterior, cal_x.view(), &cal_y).unwrap();
    let mut again = once.clone();
    for _ in 0..3 {
        again = serde_json::from_str(&serde_json::to_string(&again).unwrap()).unwrap();
        again.add(&posterior, cal_x.view(), &cal_y).unwrap();
        assert!(again.scores().eq(once.scores()), "{} rows", again.len());
    }

    // A setting that gives another result shows that settings are measured again, and then chance makes coarse readings equal: those of before count all.
    let (twice, reading) = (Points::from_rows(&[[0.1, 0.2], [0.1, 0.2], [0.3, 0.4]]).unwrap(), [0.5, 0.5, 0.7]);
    let mut coarse = Calibration::new(&posterior, twice.view(), &reading).unwrap();
    assert_eq!(coarse.len(), 2);
    coarse.add(&posterior, Points::from_rows(&[[0.3, 0.4]]).unwrap().view(), &[0.5]).unwrap();
    assert_eq!(coarse.len(), 4);
}

/// Specimens that stand in the table as often as something says that has nothing to do with their response: three times each, or once and several times. Full digits or one decimal,
/// nobody took them for so many measurements.
#[test]
fn attack_rows_that_stand_in_the_table_many_times() {
    // Specimens, the share of them that stands there once, how often the others do, the last digit of a response.
    let draws = [(40, 0.0, 3, 0.0), (40, 0.0, 3, 0.1), (60, 0.7, 3, 0.0), (40, 0.6, 4, 0.1)];
    for (which, (specimens, once, times, step)) in draws.into_iter().enumerate() {
        let (mut within, mut levels, mut by_all) = (Vec::new(), Vec::new(), Vec::new());
        for seed in 0..60 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let (x, mut y) = rows(World::Normal, specimens + 50, &mut rng);
            if step > 0.0 {
                y.iter_mut().for_each(|y| *y = step * (*y / step).round());
            }
            let mut table: Vec<usize> = (0..specimens).flat_map(|i| vec![i; if rng.random::<f64>() < once { 1 } else { times }]).collect();
            table.sort_by_cached_key(|_| rng.random::<u64>());
            let of = |chosen: &[usize]| (x.view().select(chosen).unwrap(), chosen.iter().map(|i| y[*i]).collect::<Vec<f64>>());
            let (new, responses) = of(&(specimens..specimens + 50).collect::<Vec<_>>());
            let narrow = Kernel::squared_exponential(vec![0.01, 3.0], 1.0).unwrap();
            let folds = (0..5).map(|fold| {
                let is_out = |place: usize| place % 5 == fold;
                let side =
                    |out: bool| table.iter().enumerate().filter(|(place, _)| is_out(*place) == out).map(|(_, i)| *i).collect::<Vec<_>>();
                let ((kept, kept_y), (out, out_y)) = (of(&side(false)), of(&side(true)));
                let features = Arc::new(FeatureMap::new(narrow.clone(), kept.clone()).unwrap());
                let posterior =
                    Posterior::fit(features, 0.05, Observations::new(kept, &kept_y, Collected::Undeclared, Prior::ZERO).unwrap()).unwrap();
                let calibration = Calibration::new(&posterior, out.view(), &out_y).unwrap();
                (posterior, calibration)
            });
            let folds: Vec<_> = folds.collect();
            for found in [
                Conformal::split(&folds[0].0, &folds[0].1).interval(new.view(), 0.1).unwrap(),
                Conformal::cross(folds.clone()).unwrap().interval(new.view(), 0.1).unwrap(),
            ] {
                let held = held(&found, &responses);
                by_all.extend(held.clone());
                if found.certificate().label() == Label::Conformal {
                    within.extend(held);
                    levels.push(found.certificate().bounds.level.unwrap());
                }
            }
        }
        let level = levels.iter().sum::<f64>() / levels.len().max(1) as f64;
        println!("{which}: {} of 120 conformal, {:.3} held, {level:.3} proved; of all {:.3}", levels.len(), share(&within), share(&by_all));
        assert!(levels.is_empty() || share(&within) >= level - 0.02, "{which}: {} of {level}", share(&within));
    }
}

/// Equal rows that chance makes: a few categories with counts, truths or grades, measured again at a setting or not; and settings measured again with other results.
#[test]
fn equal_rows_of_coarse_tables_all_count() {
    let draw = |which: usize, count: usize, rng: &mut ChaCha8Rng| {
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for i in 0..count {
            let normal: f64 = StandardNormal.sample(rng);
            let class = f64::from(rng.random_range(0..4_u8));
            let (place, response) = match which {
                0 => (class, (class + normal).round()),
                1 => (class, f64::from(u8::from(normal > 0.0))),
                // Shares of a batch of seven have all digits, and are coarse all the same.
                2 => (class, (3.0 + class / 2.0 + normal).round().clamp(0.0, 7.0) / 7.0),
                3 => ((0.37 * (i / 4) as f64).sin(), (10.0 * (class + normal)).round() / 10.0),
                _ => ((0.37 * (i / 4) as f64).sin(), normal),
            };
            x.extend([place, 0.0]);
            y.push(response);
        }
        (Points::new(x, 2).unwrap(), y)
    };
    for which in 0..5 {
        for seed in 0..20 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let (x, y) = draw(which, 120, &mut rng);
            let order: Vec<usize> = (0..120).map(|i| (i * 77) % 120).collect();
            let (x, y) = (x.view().select(&order).unwrap(), order.iter().map(|i| y[*i]).collect::<Vec<f64>>());
            let ((kept, kept_y), (out, out_y)) = (part(&x, &y, |i| i % 2 == 0), part(&x, &y, |i| i % 2 == 1));
            let posterior = fitted(&kept, &kept_y, Collected::Undeclared, 0.2);
            let calibration = Calibration::new(&posterior, out.view(), &out_y).unwrap();
            let found = Conformal::split(&posterior, &calibration).interval(out.view(), 0.1).unwrap();
            assert_eq!((calibration.len(), found.certificate().label()), (60, Label::Conformal), "{which}, seed {seed}");
        }
    }
}

/// Nothing is proved where the level is 0, and the word says so.
#[test]
fn a_level_of_zero_is_no_theorem() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let (x, y) = rows(World::Normal, 12, &mut rng);
    let exact = ExactPosterior::new(kernel(), 0.2, Observations::new(x, &y, Collected::Exchangeable, Prior::ZERO).unwrap()).unwrap();
    let (new, _) = rows(World::Normal, 3, &mut rng);
    let found = exact.left_out_interval(new.view(), 0.6).unwrap();
    assert_eq!((found.certificate().bounds.level, found.certificate().label()), (Some(0.0), Label::Estimated));
    assert_eq!(&read(&serde_json::to_value(found.certificate()).unwrap()).unwrap(), found.certificate());
}

/// Ends that cross leave nothing of the interval, and what lies between them is more than that; the mean lies within.
#[test]
fn ends_do_not_cross_and_hold_the_mean() {
    let mut crossed = 0;
    for seed in 0..60 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (x, mut y) = rows(World::HeavyTailed, 15, &mut rng);
        y.iter_mut().for_each(|y| *y *= 1.0 / rng.random::<f64>());
        let (new, _) = rows(World::Normal, 40, &mut rng);
        let folds: Vec<_> = (0..5)
            .map(|fold| {
                let ((kept, kept_y), (out, out_y)) = (part(&x, &y, |i| i % 5 != fold), part(&x, &y, |i| i % 5 == fold));
                let posterior = fitted(&kept, &kept_y, Collected::Undeclared, 0.01);
                let calibration = Calibration::new(&posterior, out.view(), &out_y).unwrap();
                (posterior, calibration)
            })
            .collect();
        let found = Conformal::cross(folds.clone()).unwrap().interval(new.view(), 0.8).unwrap();
        for row in 0..new.len() {
            // k = ⌈16 · 0.2⌉ = 4 of 15.
            let (mut low, mut high) = (Vec::new(), Vec::new());
            for (posterior, calibration) in &folds {
                let (mean, deviation) = posterior.predict(new.view().range(row, row + 1)).unwrap();
                for score in calibration.scores() {
                    low.push(mean[0] - score * deviation[0].hypot(0.01));
                    high.push(mean[0] + score * deviation[0].hypot(0.01));
                }
            }
            low.sort_by(f64::total_cmp);
            high.sort_by(f64::total_cmp);
            let (below, above) = (low[15 - 4], high[3]);
            crossed += usize::from(below > above);
            let (lower, upper) = (found.response_lower()[row], found.response_upper()[row]);
            assert!((lower - below.min(above)).abs() < 1e-8 && (upper - above.max(below)).abs() < 1e-8);
            assert!((lower..=upper).contains(&found.prediction()[row]));
        }
    }
    assert!(crossed > 20, "the ends of {crossed} cross");
}

/// A column that a model file made up is refused where it is used.
#[test]
fn attack_a_calibration_by_a_column_that_is_not_there() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let ((x, y), (cal_x, cal_y)) = (rows(World::Normal, 30, &mut rng), rows(World::Normal, 30, &mut rng));
    let posterior = fitted(&x, &y, Collected::Undeclared, 0.2);
    let mut calibration = Calibration::by_column(1);
    calibration.add(&posterior, cal_x.view(), &cal_y).unwrap();
    let mut written = serde_json::to_value(&calibration).unwrap();
    written["column"] = 7.into();
    let altered: Calibration = serde_json::from_value(written).unwrap();
    let said = Conformal::split(&posterior, &altered).interval(x.view(), 0.1).unwrap_err().to_string();
    assert!(said.contains("column of the groups") && said.contains('7'), "{said}");
}

/// Parts prove no more than they can at any delta, and nothing but that.
#[test]
fn attack_the_level_of_parts_that_was_raised() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let (x, y) = rows(World::Normal, 20, &mut rng);
    let folds = (0..5).map(|fold| {
        let ((kept, kept_y), (out, out_y)) = (part(&x, &y, |i| i % 5 != fold), part(&x, &y, |i| i % 5 == fold));
        let posterior = fitted(&kept, &kept_y, Collected::Exchangeable, 0.2);
        let calibration = Calibration::new(&posterior, out.view(), &out_y).unwrap();
        (posterior, calibration)
    });
    let found = Conformal::cross(folds.collect()).unwrap().interval(x.view(), 0.1).unwrap();
    let json = serde_json::to_value(found.certificate()).unwrap();
    assert_eq!(&read(&json).unwrap(), found.certificate());
    assert_eq!(found.certificate().premises.observations.value, 20, "all rows, not those of the first model");
    for delta in [1e-3, 1e-6, 0.1, 0.3] {
        let mut altered = json.clone();
        (altered["delta"], altered["bounds"]["level"], altered["spent"][0]["delta"]) = (delta.into(), (1.0 - delta).into(), delta.into());
        let said = read(&altered).map(|certificate| certificate.delta);
        assert!(said.as_ref().is_err_and(|said| said.contains("bounds.level")), "{delta}: {said:?}");
    }
}

/// Of all ways in which rows of different parts may beat each other none makes more of them strange than 2(n − k) + m, by trying them all (algorithm notes 16.2).
#[test]
fn no_more_rows_are_strange_than_the_bound_says() {
    for (parts, size) in [(2, 1), (3, 1), (4, 1), (2, 2), (2, 3), (3, 2)] {
        let all = parts * size;
        let pairs: Vec<(usize, usize)> = (0..all).flat_map(|i| (0..i).map(move |j| (i, j))).filter(|(i, j)| i / size != j / size).collect();
        for k in 1..=all - size {
            let mut most = 0;
            for winners in 0..1_u32 << pairs.len() {
                let mut beaten = vec![0; all];
                pairs.iter().enumerate().for_each(|(bit, (i, j))| beaten[if winners >> bit & 1 == 1 { *i } else { *j }] += 1);
                most = most.max(beaten.iter().filter(|beaten| **beaten >= k).count());
            }
            assert!(most <= 2 * (all - size - k) + size, "{parts} parts of {size}, k = {k}: {most}");
        }
    }
}

/// The printed level against the two bounds, written out; parts of several sizes have the first alone.
#[test]
fn the_level_of_parts_is_the_better_of_two_bounds() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    for (count, delta) in [(20, 0.05), (20, 0.1), (22, 0.1), (50, 0.05), (50, 0.3), (75, 0.05), (12, 0.6)] {
        let (x, y) = rows(World::Normal, count, &mut rng);
        let found = in_fifths(&x, &y).interval(x.view(), delta).unwrap();
        let n = f64::from(u32::try_from(count).unwrap());
        let k = ((n + 1.0) * (1.0 - delta) - 1e-9).ceil();
        let mut missed = 2.0 * (n - k + 5.0) / (n + 5.0);
        if count % 5 == 0 {
            missed = missed.min((2.0 * (n - k) + n / 5.0) / (n + n / 5.0));
        }
        let (level, label) = (found.certificate().bounds.level.unwrap(), found.certificate().label());
        assert!((level - (1.0 - missed).max(0.0)).abs() < 1e-12, "{count} rows at {delta}: {level}");
        assert_eq!(label, if missed < 1.0 { Label::Conformal } else { Label::Estimated });
    }
}

/// A kernel that was learnt on rows that calibrate it has seen them, however it came back.
#[test]
fn attack_a_model_that_was_chosen_by_the_rows_that_calibrate_it() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let ((x, y), (cal_x, cal_y)) = (rows(World::Normal, 60, &mut rng), rows(World::Normal, 700, &mut rng));
    let posterior = fitted(&x, &y, Collected::Exchangeable, 0.2);
    let label = |learnt_on: Seen| {
        let mut calibration = Calibration::new(&posterior, cal_x.view(), &cal_y).unwrap();
        calibration.note_learnt_on(&learnt_on);
        Conformal::split(&posterior, &calibration).interval(x.view(), 0.1).unwrap().certificate().label()
    };
    assert_eq!(label(Seen::default()), Label::Conformal);
    assert_eq!(label(Seen::of(x.view(), &y)), Label::Conformal, "the rows that the model has learnt from");
    assert_eq!(label(Seen::of(cal_x.view(), &cal_y)), Label::Estimated, "more rows than the mark keeps");
    assert_eq!(label(Seen::of(cal_x.view().range(0, 1), &cal_y[..1])), Label::Estimated);
}

/// Records that come again as they are, each at a setting of its own: nobody can tell them from copies, and whoever knows declares it.
#[test]
fn declared_rows_all_count() {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let mut drawn = |count: usize| {
        let (x, y) = rows(World::Normal, count, &mut rng);
        let record: Vec<Option<u8>> = (0..count).map(|_| (rng.random::<f64>() < 0.4).then(|| rng.random_range(0..4_u8))).collect();
        let points = (0..count).flat_map(|i| record[i].map_or([x.row(i)[0], x.row(i)[1]], |record| [2.0 + f64::from(record), 0.0]));
        let values = (0..count).map(|i| record[i].map_or(y[i], |record| 50.0 + f64::from(record))).collect::<Vec<f64>>();
        (Points::new(points.collect(), 2).unwrap(), values)
    };
    let ((x, y), (cal_x, cal_y)) = (drawn(60), drawn(60));
    let count = |are_declared: bool| {
        let observations = Observations::new(x.clone(), &y, Collected::Undeclared, Prior::ZERO).unwrap();
        let observations = if are_declared { observations.with_distinct_rows() } else { observations };
        let posterior = Posterior::fit(Arc::new(FeatureMap::new(kernel(), x.clone()).unwrap()), 0.2, observations).unwrap();
        let calibration = Calibration::new(&posterior, cal_x.view(), &cal_y).unwrap();
        let found = Conformal::split(&posterior, &calibration).interval(cal_x.view(), 0.1).unwrap();
        let premises = &found.certificate().premises;
        assert_eq!(found.certificate().label(), Label::Conformal);
        (calibration.len(), premises.copies.value, premises.copies.origin)
    };
    let (once, copies, origin) = count(false);
    assert!(once < 45 && once + copies == 60 && origin == Origin::Guaranteed, "{once} and {copies}, {origin:?}");
    assert_eq!(count(true), (60, copies, Origin::Declared));
}
