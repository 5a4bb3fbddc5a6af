//! The rows are the truth: the strategy is made from them, whatever became of its bytes, and looking at a study changes nothing.

use crate::support;

use sigmabar::Collected;
use sigmabar_study::{AskRequest, Asked, AskedTrial, BatchRow, ImportedRow, Study, StudySpec, Survivors, TrialResult, TrialStatus, Value};
use std::path::{Path, PathBuf};
use support::{Essence, TO_FORMAT_2, ask, certified, essence, forget, plain, spec, truth, work};

/// One study file for each way of planning: a list, cells of a box, declared candidates, learning, and batch after batch by an index.
fn specs() -> Vec<StudySpec> {
    let line = |rest: &str| spec(&format!("{rest}\n[parameters.x]\ntype = \"float\"\nlow = -1\nhigh = 4\n"));
    let premises = "norm_bound = 2\nnoise = { gaussian = 0.1 }\nkernel = { name = \"matern\", lengthscale = 0.3 }\n";
    vec![
        certified(),
        line(&format!("budget = 24\nbatches = 3\n{premises}")),
        line(&format!("budget = 24\nstrategy = {{ name = \"s-bpe\", candidates = 64 }}\nbatches = 3\n{premises}")),
        line("budget = 18\nbatches = 3"),
        line(&format!("budget = 12\nstrategy = {{ name = \"gp-ucb\", batch_len = 2, width = 2.0, candidates = 64 }}\n{premises}")),
        line(&format!("budget = 12\nstrategy = {{ name = \"bkb\", batch_len = 3, candidates = 64 }}\n{premises}")),
        line(&format!("budget = 12\nstrategy = {{ name = \"gp-ts\", batch_len = 4, candidates = 64 }}\n{premises}")),
        plain(9),
    ]
}

/// What a study answers.
#[derive(Debug, PartialEq)]
struct Answers {
    trials: Vec<(Essence, TrialStatus)>,
    advice: String,
    batches: Vec<(usize, String, Option<Survivors>)>,
    is_finished: bool,
}

fn answers(study: &Study) -> Answers {
    let rows = study.trials().unwrap();
    let batch = |row: BatchRow| (row.batch, format!("{:?}", row.report), row.survivors);
    Answers {
        trials: essence(&rows).into_iter().zip(rows.iter().map(|row| row.state)).collect(),
        advice: format!("{:?}", study.recommend().unwrap()),
        batches: study.batches().unwrap().into_iter().map(batch).collect(),
        is_finished: study.status().unwrap().is_finished,
    }
}

/// A life with everything in it: results from before, failures, a batch closed too early, results that come late. `between` happens between any two steps.
fn live(file: &Path, spec: &StudySpec, mut between: impl FnMut(Study) -> Study) -> Vec<Answers> {
    let mut study = Study::create(file, "a", spec).unwrap();
    let x = |x: f64| if spec.space().candidates().is_some() { Value::Int(x as i64) } else { Value::Float(x) };
    let old = |at: f64, y: f64| ImportedRow::new(vec![x(at)], TrialResult::Value { value: y, standard_error: None, replicates: None });
    study.import_as(&[old(0.0, 0.25), old(1.0, 0.5)], Collected::DeclaredFixed).unwrap();
    study.import(&[old(1.0, 0.75)]).unwrap();
    let (mut seen, mut late, mut batch): (Vec<Answers>, Vec<AskedTrial>, u64) = (Vec::new(), Vec::new(), 0);
    loop {
        study = between(study);
        let trials = match study.ask(&AskRequest::new("w", usize::MAX)).unwrap() {
            Asked::Trials(trials) => trials,
            Asked::Finished => break,
            Asked::Wait => panic!("nobody else works here"),
        };
        for trial in late.drain(..) {
            study.tell(trial.id, truth(&trial)).unwrap();
        }
        if batch == 1 {
            study.import(&[old(1.0, -1.0)]).unwrap();
        }
        let last = trials.len() - 1;
        for (i, trial) in trials.into_iter().enumerate() {
            match (batch, i) {
                // The first batch is closed without its last trial, whose result comes when the next is out.
                (0, i) if i == last && i > 0 => late.push(trial),
                (_, i) if i % 4 == 3 => study.tell(trial.id, TrialResult::Failed { reason: "no light".into() }).map(drop).unwrap(),
                (_, i) if i % 4 == 1 => {
                    let TrialResult::Value { value, .. } = truth(&trial) else { panic!() };
                    study.tell(trial.id, TrialResult::Value { value, standard_error: Some(0.125), replicates: None }).map(drop).unwrap();
                }
                _ => study.tell(trial.id, truth(&trial)).map(drop).unwrap(),
            }
            study = between(study);
            if i % 5 == 0 {
                seen.push(answers(&study));
            }
        }
        if !late.is_empty() {
            study.close_batch().unwrap();
        }
        study = between(study);
        seen.push(answers(&study));
        batch += 1;
    }
    seen.push(answers(&study));
    seen
}

fn reopened(study: &Study) -> Study {
    Study::open(study.file(), Some(study.name())).unwrap()
}

#[test]
fn bytes_that_are_deleted_spoilt_or_of_another_version_change_no_answer() {
    for (number, spec) in specs().into_iter().enumerate() {
        let directory = tempfile::tempdir().unwrap();
        let kept = live(&directory.path().join("kept.db"), &spec, |study| reopened(&study));
        let at_hand = live(&directory.path().join("held.db"), &spec, |study| study);
        assert!(kept.len() > 3 && kept.last().unwrap().is_finished);
        assert_eq!(at_hand, kept);
        let mut throw = number as u64;
        let forgotten = live(&directory.path().join("forgotten.db"), &spec, |study| {
            throw = throw.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            forget(study.file(), throw >> 33);
            reopened(&study)
        });
        assert_eq!(forgotten, kept, "study file {number}");
    }
}

#[test]
fn bytes_that_disagree_with_the_rows_are_not_believed() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("study.db");
    let study = Study::create(&file, "a", &certified()).unwrap();
    for trial in ask(&study, "w", usize::MAX) {
        study.tell(trial.id, truth(&trial)).unwrap();
    }
    ask(&study, "w", 1);
    let before = answers(&reopened(&study));
    drop(study);
    let bytes = |connection: &rusqlite::Connection| -> Vec<u8> {
        connection.query_row("SELECT bytes FROM sb_strategies", [], |row| row.get(0)).unwrap()
    };
    let connection = rusqlite::Connection::open(&file).unwrap();
    let kept = bytes(&connection);
    // A row is mended by hand: the answer follows the row, whether the bytes are there or not.
    connection.execute("UPDATE sb_trials SET value = value + 5 WHERE id = 3", []).unwrap();
    let mended = answers(&Study::open(&file, None).unwrap());
    assert_ne!(mended.advice, before.advice);
    forget(&file, 0);
    assert_eq!(answers(&Study::open(&file, None).unwrap()), mended);
    // Whole and well, but of another study: not believed either.
    let other = directory.path().join("other.db");
    let stranger = Study::create(&other, "b", &certified()).unwrap();
    ask(&stranger, "w", 1);
    let before = answers(&reopened(&stranger));
    rusqlite::Connection::open(&other).unwrap().execute("UPDATE sb_strategies SET bytes = ?1", [kept]).unwrap();
    assert_eq!(answers(&reopened(&stranger)), before);
}

#[test]
fn rows_that_do_not_fit_together_are_refused() {
    for (spoil, words) in [
        ("DELETE FROM sb_trials WHERE id = 2", "a trial is missing"),
        ("DELETE FROM sb_trials WHERE batch = 0", "a batch of trials is missing"),
        ("UPDATE sb_trials SET settings = '[1, 2]' WHERE id = 1", "another number of values"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("study.db");
        let study = Study::create(&file, "a", &certified()).unwrap();
        for trial in ask(&study, "w", usize::MAX) {
            study.tell(trial.id, truth(&trial)).unwrap();
        }
        ask(&study, "w", 1);
        drop(study);
        rusqlite::Connection::open(&file).unwrap().execute(spoil, []).unwrap();
        let refused = Study::open(&file, None).unwrap().strategy().unwrap_err().to_string();
        assert!(refused.contains(words), "{spoil}: {refused}");
    }
}

#[test]
fn a_batch_that_another_version_had_planned_stands_as_it_was_measured() {
    let directory = tempfile::tempdir().unwrap();
    for (number, spec) in specs().into_iter().enumerate().filter(|(_, spec)| spec.space().candidates().is_none()) {
        let file = directory.path().join(format!("study{number}.db"));
        let study = Study::create(&file, "a", &spec).unwrap();
        for trial in ask(&study, "w", usize::MAX) {
            study.tell(trial.id, truth(&trial)).unwrap();
        }
        drop(study);
        let connection = rusqlite::Connection::open(&file).unwrap();
        connection.execute("UPDATE sb_trials SET settings = '[0.' || (id + 11) || ']'", []).unwrap();
        let study = Study::open(&file, None).unwrap();
        let strategy = study.strategy().unwrap();
        let decoded = study.spec().space().values(&strategy.ledger().trials()[0].point);
        assert!((decoded[0].as_number().unwrap() - 0.11).abs() < 1e-12, "{decoded:?}");
        work(&study, usize::MAX, |_| {});
        assert!(study.status().unwrap().is_finished && study.recommend().unwrap().is_some(), "study file {number}");
    }
}

/// A file without a log beside it.
fn settled(file: &Path) -> Vec<u8> {
    let connection = rusqlite::Connection::open(file).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(connection);
    std::fs::read(file).unwrap()
}

fn look(study: &Study) {
    answers(study);
    let seen = (study.events_after(0), study.imported(), study.strategy(), study.is_paused());
    assert!(seen.0.is_ok() && seen.1.is_ok() && seen.2.is_ok() && seen.3.is_ok());
}

#[test]
fn looking_writes_nothing_wherever_the_study_stands() {
    for spec in specs() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("study.db");
        let watch = |file: &PathBuf| {
            let other = rusqlite::Connection::open(file).unwrap();
            let version = || other.query_row("PRAGMA data_version", [], |row| row.get::<_, i64>(0)).unwrap();
            let before = version();
            look(&Study::open(file, None).unwrap());
            assert_eq!(version(), before);
            drop(other);
            let bytes = settled(file);
            look(&Study::open(file, None).unwrap());
            assert_eq!(settled(file), bytes, "not a byte of the file is another");
        };
        let study = Study::create(&file, "a", &spec).unwrap();
        watch(&file);
        // Handed out, half answered, answered and not yet planned on, with the bytes and without.
        let trials = ask(&study, "w", usize::MAX);
        watch(&file);
        for (i, trial) in trials.iter().enumerate() {
            if i == trials.len() / 2 {
                watch(&file);
            }
            study.tell(trial.id, truth(trial)).unwrap();
        }
        watch(&file);
        forget(&file, 0);
        watch(&file);
        let planned = study.trials().unwrap().len();
        assert_eq!(planned, trials.len(), "nothing was planned by looking");
    }
}

#[test]
fn a_copy_that_nobody_can_write_shows_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("study.db");
    let study = Study::create(&file, "a", &certified()).unwrap();
    for trial in ask(&study, "w", usize::MAX) {
        study.tell(trial.id, truth(&trial)).unwrap();
    }
    let shown = answers(&study);
    drop(study);
    settled(&file);
    let fixed = directory.path().join("fixed");
    std::fs::create_dir(&fixed).unwrap();
    let mounted = std::process::Command::new("mount").args(["-t", "tmpfs", "-o", "size=8m", "tmpfs"]).arg(&fixed).status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("skipped, because mounting is not allowed here");
        return;
    }
    let copy = fixed.join("study.db");
    std::fs::copy(&file, &copy).unwrap();
    let remount = std::process::Command::new("mount").args(["-o", "remount,ro"]).arg(&fixed).status().unwrap();
    let seen = Study::open(&copy, None).map(|study| answers(&study));
    std::process::Command::new("umount").arg(&fixed).status().unwrap();
    assert!(remount.success());
    assert_eq!(seen.unwrap(), shown);
}

#[test]
fn a_file_of_format_2_is_brought_up_and_goes_on_from_its_rows() {
    for spec in specs() {
        let directory = tempfile::tempdir().unwrap();
        let (file, whole) = (directory.path().join("study.db"), directory.path().join("whole.db"));
        let mut steps = 0;
        let brought_up = live(&file, &spec, |study| {
            steps += 1;
            if steps % 7 == 3 {
                rusqlite::Connection::open(study.file()).unwrap().execute_batch(TO_FORMAT_2).unwrap();
            }
            reopened(&study)
        });
        assert_eq!(brought_up, live(&whole, &spec, |study| study));
        let copy = rusqlite::Connection::open(directory.path().join("study.db.format2.bak")).unwrap();
        assert_eq!(copy.query_row("PRAGMA user_version", [], |row| row.get::<_, i32>(0)).unwrap(), 2);
    }
}

#[test]
fn that_a_study_goes_on_despite_a_contradiction_is_a_row_too() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("study.db");
    let study = Study::create(&file, "a", &certified()).unwrap();
    for trial in ask(&study, "w", usize::MAX) {
        let value = if trial.id % 2 == 0 { 500.0 } else { -500.0 };
        study.tell(trial.id, TrialResult::Value { value, standard_error: None, replicates: None }).unwrap();
    }
    for throw in [4, 0] {
        forget(&file, throw);
        let study = Study::open(&file, None).unwrap();
        assert!(study.status().unwrap().contradiction.is_some());
        assert!(matches!(study.ask(&AskRequest::new("w", 1)), Err(sigmabar_study::Error::Contradicted(_))));
    }
    study.go_on_despite_contradiction().unwrap();
    let first = ask(&study, "worker", 1)[0].id;
    for throw in [4, 0, 1] {
        forget(&file, throw);
        assert_eq!(ask(&Study::open(&file, None).unwrap(), "worker", 1)[0].id, first);
    }
    work(&study, usize::MAX, |_| {});
    assert_eq!(study.recommend().unwrap().unwrap().label(), sigmabar::Label::Estimated);
}
