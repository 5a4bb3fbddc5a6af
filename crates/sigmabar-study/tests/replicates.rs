//! Replicates in studies: an unknown noise level, means told with their numbers, and rows that are there twice.

use sigmabar::{Collected, Label, Origin};
use sigmabar_study::{
    AskRequest, Asked, AskedTrial, FilledSheet, ImportedRow, Mistyped, Study, StudySpec, TrialResult, Value, Wells, mean_of, scatter,
};
use std::path::Path;

fn spec(more: &str) -> StudySpec {
    let text = format!(
        "budget = 24\nbatches = [24]\nnorm_bound = 2.0\nstrategy = \"s-bpe\"\nnoise = {{ about = 0.1 }}\n{more}\n[kernel]\nname = \"matern\"\nlengthscale = 0.4\n\n[parameters.x]\ntype = \"int\"\nlow = 0\nhigh = 30\n"
    );
    StudySpec::from_toml(&text, Path::new(".")).unwrap()
}

fn study(place: &tempfile::TempDir, more: &str) -> Study {
    Study::create(&place.path().join("s.db"), "s", &spec(more)).unwrap()
}

fn batch(study: &Study) -> Vec<AskedTrial> {
    match study.ask(&AskRequest::new("w", 100)).unwrap() {
        Asked::Trials(trials) => trials,
        other => panic!("{other:?}"),
    }
}

fn at(trial: &AskedTrial) -> f64 {
    trial.values[0].1.as_number().unwrap()
}

/// Something that looks like noise of level 0.1.
fn noise(i: u64) -> f64 {
    let u = |k: u64| (0.618_033_99 * (i + 1) as f64 * (i + k) as f64).fract().max(1e-9);
    0.1 * (-2.0 * u(3).ln()).sqrt() * (std::f64::consts::TAU * u(7)).cos()
}

#[test]
fn a_level_that_nobody_knows_is_bounded_by_the_replicates_of_the_first_batch() {
    let place = tempfile::tempdir().unwrap();
    let study = study(&place, "");
    let trials = batch(&study);
    let repeats = study.strategy().unwrap().repeats().unwrap();
    assert_eq!((repeats.count, repeats.of), (12, 24));
    for trial in &trials {
        study
            .tell(
                trial.id,
                TrialResult::Value { value: (at(trial) / 10.0).sin() + noise(trial.id), standard_error: None, replicates: None },
            )
            .unwrap();
    }
    let advice = study.recommend().unwrap().unwrap();
    assert_eq!(advice.label(), Label::Certified);
    assert_eq!(advice.certificate.premises.level.unwrap().freedom, 12);
}

/// A mistyped repeat contradicts no premise where replicates bound the level: it is named before it is written down, and only once.
#[test]
fn of_two_repeats_that_are_far_apart_one_is_named() {
    let place = tempfile::tempdir().unwrap();
    let study = study(&place, "");
    let trials = batch(&study);
    let value = |value: f64| TrialResult::Value { value, standard_error: None, replicates: None };
    let right = |trial: &AskedTrial| (at(trial) / 10.0).sin() + noise(trial.id);
    let mut sheet: Vec<(u64, TrialResult)> = trials.iter().map(|trial| (trial.id, value(right(trial)))).collect();
    assert!(study.mistyped(&sheet).unwrap().is_empty());
    let repeated = trials.iter().position(|a| trials.iter().any(|b| a.id != b.id && at(a) == at(b))).unwrap();
    // Within what the premises allow, and far from the other.
    sheet[repeated].1 = value(if right(&trials[repeated]) > 0.0 { -2.2 } else { 2.2 });
    let [Mistyped::Repeats { low, high, usual }] = &study.mistyped(&sheet).unwrap()[..] else { panic!("two repeats are far apart") };
    assert!([low.id, high.id].contains(&trials[repeated].id) && low.values[0].same(&high.values[0]) && *usual < 0.5);
    // What was measured is told, and nobody is asked about it again; no premise is contradicted.
    for (id, result) in &sheet {
        study.tell(*id, result.clone()).unwrap();
    }
    assert!(study.mistyped(&sheet).unwrap().is_empty());
    assert_eq!(study.recommend().unwrap().unwrap().certificate.contradiction, None);
}

/// Where nothing was said of the noise, the other wells show how far apart two of one setting are; and few of them show nothing.
#[test]
fn wells_show_by_themselves_how_far_apart_they_are() {
    let place = tempfile::tempdir().unwrap();
    let text = "budget = 12\nreplicates = 2\nstrategy = \"sobol\"\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n";
    let study = Study::create(&place.path().join("s.db"), "s", &StudySpec::from_toml(text, Path::new(".")).unwrap()).unwrap();
    let trials = batch(&study);
    let filled = |count: usize, slip: f64| {
        let wells: Wells = (0..count)
            .map(|i| {
                let value = if i == 0 { 40.0 } else { 40.0 + 59.0 * (0.1 * i as f64).sin() };
                let other = value + if i == 0 { slip } else { 2.0 + noise(i as u64) };
                (trials[i].id, vec![("A1".to_owned(), Some(value)), ("B1".to_owned(), Some(other))])
            })
            .collect();
        let level = scatter(wells.values());
        let results = wells.iter().map(|(id, wells)| (*id, mean_of(wells, level).unwrap())).collect();
        FilledSheet { results, wells, ..FilledSheet::default() }
    };
    study.refuse_mistyped_sheet(&filled(12, 12.0)).unwrap();
    study.refuse_mistyped_sheet(&filled(5, 30.0)).unwrap();
    let said = study.refuse_mistyped_sheet(&filled(12, 30.0)).unwrap_err().to_string();
    assert!(
        said.starts_with("trial 0 (well A1) came to 40, trial 0 (well B1) came to 70 at the same setting, where repeats are usually "),
        "{said}"
    );
    // Whoever is sure tells it, and is asked no more.
    study.tell_sheet(&filled(12, 30.0)).unwrap();
    study.refuse_mistyped_sheet(&filled(12, 30.0)).unwrap();
    assert_eq!(study.wells().unwrap(), filled(12, 30.0).wells);
}

/// What no function within the premises gives, and without premises what lies alone far from all others; but not two that lie there.
#[test]
fn a_result_beyond_the_premises_or_alone_is_named() {
    let place = tempfile::tempdir().unwrap();
    let value = |value: f64| TrialResult::Value { value, standard_error: None, replicates: None };
    let study = study(&place, "");
    let trials = batch(&study);
    let told = |of: fn(u64) -> f64| -> Vec<(u64, TrialResult)> { trials.iter().map(|trial| (trial.id, value(of(trial.id)))).collect() };
    assert!(study.mistyped(&[(trials[0].id, value(2.5))]).unwrap().is_empty());
    // A whole plate in another unit: each of them is beyond what was declared, and nothing told before says that what was declared is wrong.
    assert_eq!(study.mistyped(&told(|_| 82.5)).unwrap().len(), 24);
    let mut sheet = told(|id| 0.8 + 1e-3 * id as f64);
    sheet[1].1 = value(82.5);
    let found = study.mistyped(&sheet).unwrap();
    let [Mistyped::Premises { row, allowed: (low, high) }] = &found[..] else { panic!("{found:?}") };
    assert_eq!((row.id, row.value), (trials[1].id, Some(82.5)));
    assert!((*low + 2.8).abs() < 1e-9 && (*high - 2.8).abs() < 1e-9, "{low} to {high}");

    let text = "budget = 12\nstrategy = \"sobol\"\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n";
    let spec = StudySpec::from_toml(text, Path::new(".")).unwrap();
    let study = Study::create(&place.path().join("other.db"), "other", &spec).unwrap();
    let trials = batch(&study);
    let mut sheet: Vec<(u64, TrialResult)> = trials.iter().map(|trial| (trial.id, value(80.0 + trial.id as f64))).collect();
    assert!(study.mistyped(&sheet).unwrap().is_empty());
    sheet[7].1 = value(870.0);
    let found = study.mistyped(&sheet).unwrap();
    let [Mistyped::Alone { row, others }] = &found[..] else { panic!("{found:?}") };
    assert_eq!((row.id, *others), (7, (80.0, 91.0)));
    sheet[9].1 = value(890.0);
    assert!(study.mistyped(&sheet).unwrap().is_empty(), "where two lie there, such results come");
}

/// Where somebody was sure of results beyond the premises, these are wrong, and nobody is asked about each that follows.
#[test]
fn what_was_told_beyond_the_premises_excuses_what_follows() {
    let place = tempfile::tempdir().unwrap();
    let study = study(&place, "");
    let trials = batch(&study);
    let value = |value: f64| TrialResult::Value { value, standard_error: None, replicates: None };
    for trial in &trials[..12] {
        study.tell(trial.id, value(82.5 + trial.id as f64)).unwrap();
    }
    let rest: Vec<(u64, TrialResult)> = trials[12..].iter().map(|trial| (trial.id, value(82.5 + trial.id as f64))).collect();
    assert!(study.mistyped(&rest).unwrap().is_empty());
}

/// Without premises a plate is compared with those before it: another unit is asked about, up and down, and the ordinary progress of a search is not.
#[test]
fn a_plate_in_another_unit_is_asked_about_and_progress_is_not() {
    let place = tempfile::tempdir().unwrap();
    let found = |name: &str, direction: &str, later: &dyn Fn(usize) -> f64| {
        let text = format!(
            "budget = 24\ndirection = \"{direction}\"\nstrategy = \"sobol\"\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n"
        );
        let spec = StudySpec::from_toml(&text, Path::new(".")).unwrap();
        let study = Study::create(&place.path().join(format!("{name}.db")), name, &spec).unwrap();
        let value = |value: f64| TrialResult::Value { value, standard_error: None, replicates: None };
        let trials = batch(&study);
        for (i, trial) in trials[..12].iter().enumerate() {
            study.tell(trial.id, value(5.0 + 0.9 * i as f64)).unwrap();
        }
        let sheet: Vec<(u64, TrialResult)> = trials[12..].iter().enumerate().map(|(i, trial)| (trial.id, value(later(i)))).collect();
        study.mistyped(&sheet).unwrap()
    };
    let thousand = found("up", "maximize", &|i| 1000.0 * (9.0 + 0.5 * i as f64));
    let [Mistyped::Together { count: 12, before, .. }] = &thousand[..] else { panic!("{thousand:?}") };
    assert_eq!(*before, (5.0, 14.9));
    assert!(thousand[0].to_string().ends_with("and all before lie between 5 and 14.9: another unit?"), "{}", thousand[0]);
    assert_eq!(found("down", "maximize", &|i| 1e-3 * (9.0 + 0.5 * i as f64)).len(), 1);
    assert_eq!(found("worse", "minimize", &|i| 1000.0 * (9.0 + 0.5 * i as f64)).len(), 1);
    // One well was read otherwise.
    assert_eq!(found("slip", "maximize", &|i| if i == 3 { 9.1 } else { 1000.0 * (9.0 + 0.5 * i as f64) }).len(), 1);
    // All of them better than everything before, and alike to the last digit; a loss that falls by orders; a plate of bad ones.
    assert!(found("better", "maximize", &|_| 60.0).is_empty());
    assert!(found("falls", "minimize", &|i| 1e-4 * (1.0 + i as f64)).is_empty());
    assert!(found("bad", "maximize", &|i| 1.0 + 0.3 * i as f64).is_empty());
    // Nothing came of any of them.
    assert!(found("floor", "maximize", &|_| 0.0).is_empty());
}

/// Nobody sees of how many wells a bare number is the mean: that it is of all of them is somebody's word.
#[test]
fn a_bare_number_for_a_setting_of_several_wells_is_somebodys_word() {
    for number in [None, Some(3)] {
        let place = tempfile::tempdir().unwrap();
        let study = study(&place, "replicates = 3");
        for trial in &batch(&study) {
            let replicates = number.or((trial.id > 0).then_some(3));
            let value = (at(trial) / 10.0).sin() + 0.05 * noise(trial.id);
            study
                .tell(trial.id, TrialResult::Value { value, standard_error: Some(0.05).filter(|_| replicates.is_some()), replicates })
                .unwrap();
        }
        let advice = study.recommend().unwrap().unwrap();
        let losses = advice.certificate.premises.losses;
        let origin = if number.is_some() { Origin::Guaranteed } else { Origin::Declared };
        assert_eq!((losses.value, losses.origin), (0, origin));
    }
}

#[test]
fn means_are_kept_with_their_numbers_of_replicates_and_pooled() {
    let place = tempfile::tempdir().unwrap();
    let study = study(&place, "replicates = 3");
    let trials = batch(&study);
    assert_eq!(study.strategy().unwrap().repeats(), None);
    let mean = |trial: &AskedTrial, replicates| TrialResult::Value {
        value: (at(trial) / 10.0).sin() + 1e-9 * trial.id as f64,
        standard_error: Some(0.05),
        replicates,
    };
    let refused = |result| study.tell(trials[0].id, result).unwrap_err().to_string();
    assert!(refused(mean(&trials[0], Some(0))).contains("number of replicates"));
    let bare = TrialResult::Value { value: 1.0, standard_error: None, replicates: Some(3) };
    assert!(refused(bare).contains("standard error"));
    for trial in &trials {
        study.tell(trial.id, mean(trial, Some(3))).unwrap();
    }
    assert!(study.trials().unwrap().iter().all(|row| row.replicates == Some(3)));
    let bound = study.recommend().unwrap().unwrap().certificate.premises.level.unwrap();
    assert_eq!(bound.freedom, 48);
    assert!((bound.scatter - 0.05 * 3.0_f64.sqrt()).abs() < 1e-12);
    // The same number again changes nothing; another one is another result.
    assert!(study.tell(trials[0].id, mean(&trials[0], Some(3))).unwrap().is_again());
    assert!(study.tell(trials[0].id, mean(&trials[0], Some(2))).is_err());
}

#[test]
fn a_file_that_is_imported_twice_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let study = study(&place, "");
    let row =
        |x: i64, value: f64| ImportedRow::new(vec![Value::Int(x)], TrialResult::Value { value, standard_error: None, replicates: None });
    let rows: Vec<ImportedRow> = (0..5).map(|i| row(i, 0.5 + noise(i as u64))).collect();
    study.import(&rows).unwrap();
    for collected in [Collected::Undeclared, Collected::DeclaredFixed] {
        let said = study.import_as(&rows, collected).unwrap_err().to_string();
        assert!(said.contains("row 1") && said.contains("written down twice"), "{said}");
    }
    assert_eq!(study.imported().unwrap().len(), 5);
    // Equal rows of one table count as nothing but a coarse instrument, unless a certificate would count them.
    study.import(&[row(9, 1.0), row(9, 1.0)]).unwrap();
    let said = study.import_as(&[row(8, 1.0), row(8, 1.0)], Collected::DeclaredFixed).unwrap_err().to_string();
    assert!(said.contains("row 2"), "{said}");
    study.import_as(&[row(8, 1.0), row(8, 1.5)], Collected::DeclaredFixed).unwrap();
}

#[test]
fn an_unknown_level_is_one_kind_of_noise() {
    let said = |noise: &str| {
        let text = format!("budget = 8\nnoise = {noise}\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n");
        StudySpec::from_toml(&text, Path::new(".")).unwrap_err().to_string()
    };
    assert!(said("{ about = 0.1, gaussian = 0.1 }").contains("exactly one of"));
    assert!(said("{ about = 0 }").contains("to plan with") && said("{ about = 0 }").contains("noise.about"));
}
