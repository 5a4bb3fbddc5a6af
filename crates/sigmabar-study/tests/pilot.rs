//! A pilot as the first batch of a study: premises fixed after it, and no way to move them later.

use crate::support;

use sigmabar::certificate::Label;
use sigmabar::{Collected, Origin, Policy};
use sigmabar_study::{AskRequest, Asked, AskedTrial, Error, ImportedRow, Pilot, RunOptions, Study, StudySpec, TrialResult, Value};
use std::path::Path;
use support::{ask, spec, truth};

const PREMISES: &str = "norm_bound = 2\nnoise = { gaussian = 0.1 }\nkernel = { name = \"matern\", nu = 2.5, lengthscale = 0.3 }\n";

/// The list of [`support::certified`] with a pilot of 12, and whatever else is said.
fn file(said: &str) -> String {
    let rows: Vec<String> = (0..40).map(|i| format!("[{i}]")).collect();
    format!("budget = 60\nbatches = 3\npilot = 12\n{said}candidates = {{ columns = [\"x\"], rows = [{}] }}\n", rows.join(", "))
}

fn begun(said: &str) -> (tempfile::TempDir, Study) {
    let directory = tempfile::tempdir().unwrap();
    let study = Study::create(&directory.path().join("study.db"), "study", &spec(&file(said))).unwrap();
    (directory, study)
}

fn tell(study: &Study, trials: &[AskedTrial]) {
    trials.iter().for_each(|trial| {
        study.tell(trial.id, truth(trial)).unwrap();
    });
}

fn batch(study: &Study) -> Vec<AskedTrial> {
    let trials = ask(study, "worker", usize::MAX);
    tell(study, &trials);
    trials
}

fn finish(study: &Study) {
    while let Asked::Trials(trials) = study.ask(&AskRequest::new("worker", usize::MAX)).unwrap() {
        tell(study, &trials);
    }
}

fn refused(text: &str) -> String {
    StudySpec::from_toml(text, Path::new(".")).unwrap_err().to_string()
}

/// Simulated noise comes from the seeds of trials: a study whose premises were learnt from another of the same seed must not see that one's noise again.
#[test]
fn noise_that_taught_the_premises_does_not_come_again() {
    let results = |learnt: &str| {
        let text = format!(
            "budget = 30\nbatches = 2\nseed = 5\nnorm_bound = 2\nnoise = 0.1\n{learnt}kernel = {{ name = \"matern\", nu = 2.5, lengthscale = 0.3 }}\n\
             [parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n[parameters.y]\ntype = \"float\"\nlow = 0\nhigh = 1\n\
             [objective]\nbuiltin = \"hills\"\nnoise = 0.1\n"
        );
        let directory = tempfile::tempdir().unwrap();
        let study = Study::create(&directory.path().join("study.db"), "study", &spec(&text)).unwrap();
        study.run(&RunOptions::default(), &mut |_| {}, &sigmabar::linalg::Interrupt::default()).unwrap();
        study
            .trials()
            .unwrap()
            .into_iter()
            .map(|row| (row.batch, format!("{:?}", row.values), row.seed, row.value.unwrap()))
            .collect::<Vec<_>>()
    };
    let (old, again) = (results(""), results(""));
    assert_eq!(old, again, "one seed, one run");
    for learnt in ["learnt_from = \"old.db\"\n", "learnt_from = \"older.db\"\n"] {
        let new = results(learnt);
        let same: Vec<_> = old.iter().zip(&new).filter(|(a, b)| a.0 == 0 && a.1 == b.1).collect();
        assert!(same.len() > 5, "the first batch is where it was");
        assert!(same.iter().all(|(a, b)| a.2 != b.2 && a.3 != b.3), "{same:?}");
    }
    assert_ne!(results("learnt_from = \"old.db\"\n"), results("learnt_from = \"older.db\"\n"));
}

#[test]
fn what_a_pilot_can_be_is_said_by_the_file() {
    let plain = spec(&file(""));
    let Policy::Sbpe(policy) = plain.policy() else { panic!("a pilot is for s-bpe") };
    assert_eq!(policy.batch_lengths(60).unwrap()[0], 12);
    assert_eq!((plain.pilot(), plain.problem().budget(), plain.batch_count()), (12, 60, Some(4)));
    let box_of = |said: &str| format!("{said}[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n");
    let lengths = spec(&box_of("pilot = 6\nbatches = [10, 20]\n"));
    assert_eq!((lengths.problem().budget(), lengths.batch_count()), (36, Some(3)));
    let plates = spec(&box_of("pilot = 20\nplate = 24\nplates = 2\ncontrols = 2\n"));
    assert_eq!((plates.problem().budget(), plates.batch_count()), (64, Some(3)));
    for (text, word) in [
        ("budget = 20\npilot = 20\n", "smaller than the budget"),
        ("budget = 20\npilot = 0\n", "at least 1"),
        ("budget = 20\npilot = 5\nstrategy = \"gp-ucb\"\n", "only s-bpe"),
        ("budget = 20\nstrategy = { name = \"s-bpe\", pilot = 5 }\n", "top of the file"),
        ("budget = 20\npilot = 5\nstrategy = { name = \"s-bpe\", rules = \"paper\" }\n", "no pilot"),
        ("pilot = 23\nplate = 24\nplates = 2\ncontrols = 2\n", "fit on a plate"),
        ("budget = 30\npilot = 6\nbatches = [10, 20]\n", "and of the pilot's"),
    ] {
        let error = refused(&box_of(text));
        assert!(error.contains(word), "{text}: {error}");
    }
}

#[test]
fn premises_are_fixed_after_the_pilot_and_then_stay() {
    let (_directory, mut study) = begun("");
    let pilot = batch(&study);
    assert_eq!((pilot.len(), study.status().unwrap().awaits_premises), (12, true));
    let error = study.ask(&AskRequest::new("worker", 1)).unwrap_err();
    assert!(matches!(error, Error::PremisesAwaited { .. }) && error.to_string().contains("sigmabar premises"), "{error}");
    assert_eq!(study.recommend().unwrap().unwrap().label(), Label::Estimated, "the pilot alone proves nothing");
    // Half of the premises are none.
    let half = spec(&file("norm_bound = 2\n"));
    assert_eq!(study.amend(&half).unwrap(), ["norm_bound"]);
    assert!(matches!(study.ask(&AskRequest::new("worker", 1)), Err(Error::PremisesAwaited { .. })));
    // One's mind may be changed as long as nothing was planned by them.
    study.amend(&spec(&file(&PREMISES.replace("bound = 2", "bound = 7")))).unwrap();
    study.amend(&spec(&file(PREMISES))).unwrap();
    assert!(!study.status().unwrap().awaits_premises);
    let second = ask(&study, "worker", usize::MAX);
    for (said, key) in [
        (PREMISES.replace("bound = 2", "bound = 0.5"), "norm_bound"),
        (PREMISES.replace("gaussian = 0.1", "gaussian = 0.01"), "noise"),
        (PREMISES.replace("lengthscale = 0.3", "lengthscale = 0.9"), "kernel"),
        (format!("{PREMISES}prior_mean = 1\n"), "prior_mean"),
        (format!("{PREMISES}unit = 2\n"), "unit"),
        (format!("{PREMISES}tau = 0.2\n"), "tau"),
        (format!("{PREMISES}learnt_from = \"elsewhere\"\n"), "learnt_from"),
    ] {
        match study.amend(&spec(&file(&said))) {
            Err(Error::Unamendable { key: found, reason }) => {
                assert!(found == key && reason.contains("after the pilot"), "{found}: {reason}")
            }
            other => panic!("{key}: {other:?}"),
        }
    }
    // Nor is the pilot made to vanish.
    let without = spec(&file(PREMISES).replace("pilot = 12\n", "").replace("60", "48"));
    assert!(matches!(study.amend(&without), Err(Error::Unamendable { .. })));
    tell(&study, &second);
    finish(&study);
    let advice = study.recommend().unwrap().unwrap();
    let premises = &advice.certificate.premises;
    assert_eq!(advice.label(), Label::Certified, "{:?}", advice.certificate.weak_premises());
    assert_eq!((premises.pilot.unwrap().value, premises.observations.value), (12, 48));
    assert_eq!((premises.kernel.origin, premises.noise.origin), (Origin::LearntElsewhere, Origin::LearntElsewhere));
    // Whoever starts again from the rows comes to the same.
    assert_eq!(Study::open(study.file(), None).unwrap().recommend().unwrap().unwrap(), advice);
    let batches = study.batches().unwrap();
    assert_eq!((batches[0].report.planned, batches[0].report.gap, batches.len()), (12, None, 4));
}

#[test]
fn two_who_have_the_study_open_cannot_move_premises_under_a_batch() {
    let (_directory, mut study) = begun(PREMISES);
    batch(&study);
    let mut other = Study::open(study.file(), None).unwrap();
    ask(&study, "worker", 3);
    assert!(matches!(other.amend(&spec(&file(&PREMISES.replace("bound = 2", "bound = 0.5")))), Err(Error::Unamendable { .. })));
    // And the other way round: who planned by premises that were changed meanwhile writes nothing.
    let (_directory, mut study2) = begun(PREMISES);
    batch(&study2);
    let other = Study::open(study2.file(), None).unwrap();
    study2.amend(&spec(&file(&PREMISES.replace("bound = 2", "bound = 3")))).unwrap();
    assert!(matches!(other.ask(&AskRequest::new("worker", 1)), Err(Error::Amended { .. })));
    assert!(study.amend(&spec(&file(&PREMISES.replace("bound = 2", "bound = 3")))).is_err());
}

#[test]
fn what_was_measured_before_the_premises_is_in_no_claim() {
    let row = |x: f64, y: f64| ImportedRow {
        values: vec![Value::Float(x)],
        result: TrialResult::Value { value: y, standard_error: None, replicates: None },
    };
    let (_directory, study) = begun("");
    let fixed = study.import_as(&[row(3.0, 0.5)], Collected::DeclaredFixed).unwrap_err();
    assert!(fixed.to_string().contains("pilot"), "{fixed}");
    study.import(&[row(3.0, 0.5)]).unwrap();

    // The pilot may be corrected and tried again as one likes: nothing rests on it. What follows may not.
    let end = |spoil_pilot: bool, spoil_claim: bool| {
        let (directory, mut study) = begun("");
        let trials = ask(&study, "worker", usize::MAX);
        tell(&study, &trials[1..]);
        study.tell(trials[0].id, TrialResult::Failed { reason: "dropped".into() }).unwrap();
        if spoil_pilot {
            study.retry_failed().unwrap();
            tell(&study, &ask(&study, "worker", 1));
        }
        study.amend(&spec(&file(PREMISES))).unwrap();
        let second = batch(&study);
        let other = TrialResult::Value { value: 0.123, standard_error: None, replicates: None };
        if spoil_pilot {
            study.replace(2, &other, "misread").unwrap();
        }
        if spoil_claim {
            study.replace(second[0].id, &other, "misread").unwrap();
        }
        finish(&study);
        let advice = study.recommend().unwrap().unwrap();
        drop(directory);
        advice
    };
    let (plain, spoilt, broken) = (end(false, false), end(true, false), end(false, true));
    assert_eq!(plain.label(), Label::Certified, "{:?}", plain.certificate.weak_premises());
    assert_eq!((spoilt.label(), spoilt.gap, &spoilt.values), (Label::Certified, plain.gap, &plain.values));
    assert_eq!(broken.label(), Label::Estimated);
}

/// A budget that grows after the pilot lengthens the batches that follow, and leaves the pilot what it was.
#[test]
fn a_budget_may_grow_after_the_pilot() {
    let (_directory, mut study) = begun(PREMISES);
    batch(&study);
    study.amend(&spec(&file(PREMISES).replace("budget = 60", "budget = 84"))).unwrap();
    finish(&study);
    let planned: Vec<usize> = study.batches().unwrap().iter().map(|row| row.report.planned).collect();
    assert_eq!((planned[0], planned.len(), planned.iter().sum::<usize>()), (12, 4, 84));
    assert_eq!(study.recommend().unwrap().unwrap().label(), Label::Certified);
}

/// Of a long table a sample teaches, and all of it is named: a row that is told again was either noticed, or has taught nothing.
#[test]
fn every_row_that_teaches_is_named() {
    let text = "budget = 40\n[parameters.x]\ntype = \"float\"\nlow = 0\nhigh = 1\n";
    let row = |i: u32| {
        let x = (0.618_033_988_75 * f64::from(i)).fract();
        let noise = (0.754_877_666 * f64::from(i + 1) * f64::from(i + 7)).fract() - 0.5;
        let result = TrialResult::Value { value: 50.0 + 10.0 * (6.0 * x).sin() + 3.0 * noise, standard_error: None, replicates: None };
        ImportedRow { values: vec![Value::Float(x)], result }
    };
    let table: Vec<ImportedRow> = (0..3000).map(row).collect();
    let learn = |rows: &[ImportedRow]| Pilot::new(&spec(text), rows, "table.csv").unwrap().learn(false, 1).unwrap();
    let learnt = learn(&table);
    let is_named = |row: &&ImportedRow| {
        let TrialResult::Value { value, .. } = row.result else { return false };
        learnt.rows.holds(&row.values, value)
    };
    let named: Vec<ImportedRow> = table.iter().filter(is_named).cloned().collect();
    assert_eq!((named.len(), learnt.results), (1000, 1000), "as many as the file has room for");
    assert_eq!(learn(&named), learnt, "the others teach nothing");
    let written = format!("{}{text}", learnt.to_toml(Some(Path::new("table.csv"))));
    assert!(StudySpec::from_toml(&written, Path::new(".")).is_ok(), "and the file is read back");
    // A short table is named whole.
    assert_eq!(learn(&table[..300]).rows.len(), 300);
}
