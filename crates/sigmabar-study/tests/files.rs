//! Files that are damaged, foreign, newer, cut, read-only or on a full disk: a clear error, and nothing lost.

use crate::support;

use sigmabar_study::{AskRequest, Asked, Error, StoreError, Study, TrialResult};
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{TO_FORMAT_2, ask, certified, plain, truth, work};

fn problem(file: &Path) -> StoreError {
    match Study::open(file, None) {
        Err(Error::Store { problem, file: named }) => {
            assert_eq!(named, file);
            problem
        }
        other => panic!("{other:?}"),
    }
}

/// A finished study in one file, without a log beside it.
fn finished(directory: &Path) -> PathBuf {
    let file = directory.join("study.db");
    let study = Study::create(&file, "a", &certified()).unwrap();
    work(&study, 48, |_| {});
    drop(study);
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    file
}

#[test]
fn files_that_are_no_studies_are_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("study.db");
    assert!(matches!(problem(&file), StoreError::Absent));
    std::fs::write(&file, "x,y\n1,2\n".repeat(100)).unwrap();
    assert!(matches!(problem(&file), StoreError::NotADatabase));
    std::fs::write(&file, "short").unwrap();
    assert!(matches!(problem(&file), StoreError::NotADatabase));
    std::fs::remove_file(&file).unwrap();
    rusqlite::Connection::open(&file).unwrap().execute_batch("CREATE TABLE t (a); PRAGMA application_id = 7;").unwrap();
    assert!(matches!(problem(&file), StoreError::Foreign { found: 7 }));
    assert!(matches!(Study::create(&file, "a", &plain(3)), Err(Error::Store { problem: StoreError::Foreign { .. }, .. })));
    let tables: i64 =
        rusqlite::Connection::open(&file).unwrap().query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
    assert_eq!(tables, 1, "a foreign file is not touched");
}

#[test]
fn a_newer_format_is_refused_with_its_number() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("study.db");
    Study::create(&file, "a", &plain(3)).unwrap();
    rusqlite::Connection::open(&file).unwrap().execute_batch("PRAGMA user_version = 99;").unwrap();
    assert!(matches!(problem(&file), StoreError::Newer { found: 99, supported: 5 }));
}

#[test]
fn a_cut_or_damaged_file_is_never_taken_for_whole() {
    let directory = tempfile::tempdir().unwrap();
    let file = finished(directory.path());
    let whole = std::fs::read(&file).unwrap();
    for length in [whole.len() / 2, whole.len() - 4096, 5000, 100] {
        std::fs::write(&file, &whole[..length]).unwrap();
        assert!(matches!(problem(&file), StoreError::Damaged { .. } | StoreError::NotADatabase), "cut to {length} bytes");
    }
    // Every page in turn is overwritten: whatever can still be read is right, and nothing panics.
    for page in 0..whole.len() / 4096 {
        let mut damaged = whole.clone();
        damaged[page * 4096..(page + 1) * 4096].fill(0xa5);
        std::fs::write(&file, &damaged).unwrap();
        if let Ok(study) = Study::open(&file, None) {
            let _ = (study.trials(), study.batches(), study.status(), study.recommend());
        }
    }
    std::fs::write(&file, &whole).unwrap();
    assert!(Study::open(&file, None).unwrap().recommend().unwrap().is_some());
}

#[test]
fn a_setting_of_the_wrong_length_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = finished(directory.path());
    rusqlite::Connection::open(&file).unwrap().execute("UPDATE sb_trials SET settings = '[]' WHERE id = 1", []).unwrap();
    let error = Study::open(&file, None).unwrap().trials().unwrap_err();
    assert!(matches!(error, Error::Store { problem: StoreError::Inconsistent { .. }, .. }), "{error}");
}

/// A small file system of its own; `None`, with the reason, where that is not allowed.
struct Mounted(PathBuf);

impl Mounted {
    fn new(place: &Path, options: &str) -> Option<Self> {
        std::fs::create_dir_all(place).unwrap();
        let done = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(place).output();
        match done {
            Ok(output) if output.status.success() => Some(Self(place.to_owned())),
            Ok(output) => {
                eprintln!("skipped, because mounting is not allowed here: {}", String::from_utf8_lossy(&output.stderr).trim());
                None
            }
            Err(error) => {
                eprintln!("skipped, because there is no mount: {error}");
                None
            }
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_loses_nothing_that_was_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let Some(disk) = Mounted::new(&directory.path().join("small"), "size=600k") else { return };
    let file = disk.0.join("study.db");
    let study = Study::create(&file, "a", &plain(400)).unwrap();
    let trials = ask(&study, "w", 400);
    let mut acknowledged = 0;
    let error = loop {
        let Some(trial) = trials.get(acknowledged) else { panic!("the disk never filled") };
        // A long reason fills the disk sooner.
        match study.tell(trial.id, TrialResult::Failed { reason: "x".repeat(4000) }) {
            Ok(_) => acknowledged += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Store { problem: StoreError::Full, .. }), "{error}");
    drop(study);
    // On a larger disk everything is there, and the study goes on.
    let status = Command::new("mount").args(["-o", "remount,size=20m"]).arg(&disk.0).status().unwrap();
    assert!(status.success());
    let study = Study::open(&file, None).unwrap();
    assert_eq!(study.trials().unwrap().iter().filter(|row| row.reason.is_some()).count(), acknowledged);
    study.tell(trials[acknowledged].id, truth(&trials[acknowledged])).unwrap();
    drop(study);
}

#[test]
fn a_read_only_disk_can_be_looked_at_and_says_so_when_written() {
    let directory = tempfile::tempdir().unwrap();
    let Some(disk) = Mounted::new(&directory.path().join("fixed"), "size=8m") else { return };
    let file = finished(&disk.0);
    let fresh = disk.0.join("other.db");
    assert!(Command::new("mount").args(["-o", "remount,ro"]).arg(&disk.0).status().unwrap().success());
    for refused in [Study::create(&fresh, "a", &plain(3)).unwrap_err(), Study::create(&file, "b", &plain(3)).unwrap_err()] {
        assert!(matches!(refused, Error::Store { problem: StoreError::ReadOnly, .. }), "{refused}");
    }
    let study = Study::open(&file, None).unwrap();
    assert!(study.recommend().unwrap().is_some() && study.status().unwrap().is_finished && study.batches().unwrap().len() == 3);
    assert_eq!(study.ask(&AskRequest::new("w", 1)).unwrap(), Asked::Finished);
    let refused = study.set_wells(&[(0, "A1".into())]).unwrap_err();
    assert!(matches!(refused, Error::Store { problem: StoreError::ReadOnly, .. }), "{refused}");
    drop(study);
}

#[test]
fn an_older_file_on_a_read_only_disk_says_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let Some(disk) = Mounted::new(&directory.path().join("fixed"), "size=8m") else { return };
    let file = finished(&disk.0);
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection.execute_batch(TO_FORMAT_2).unwrap();
    connection.execute_batch("ALTER TABLE sb_trials DROP COLUMN note; PRAGMA user_version = 1;").unwrap();
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(connection);
    assert!(Command::new("mount").args(["-o", "remount,ro"]).arg(&disk.0).status().unwrap().success());
    let refused = problem(&file);
    assert!(matches!(refused, StoreError::OlderReadOnly { found: 1, needed: 5 }), "{refused}");
    assert!(refused.to_string().contains("format 1") && refused.to_string().contains("copy it to where it can be written"));
    let copy = directory.path().join("copy.db");
    std::fs::copy(&file, &copy).unwrap();
    assert_eq!(Study::open(&copy, None).unwrap().trials().unwrap().len(), 48);
}

#[test]
fn a_missing_directory_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let refused = Study::create(&directory.path().join("nowhere").join("study.db"), "a", &plain(3)).unwrap_err().to_string();
    assert!(refused.contains("there is no directory") && refused.contains("nowhere"), "{refused}");
}

#[cfg(unix)]
#[test]
fn a_file_that_was_replaced_is_neither_read_nor_written() {
    let directory = tempfile::tempdir().unwrap();
    let (file, moved) = (directory.path().join("study.db"), directory.path().join("moved.db"));
    let study = Study::create(&file, "a", &plain(3)).unwrap();
    let id = ask(&study, "w", 1)[0].id;
    let mut feed = study.feed().unwrap();
    let result = TrialResult::Value { value: 1.0, standard_error: None, replicates: None };
    let is_replaced = |error: Error| matches!(error, Error::Store { problem: StoreError::Replaced, .. });
    std::fs::rename(&file, &moved).unwrap();
    for is_other_there in [false, true] {
        if is_other_there {
            std::fs::write(&file, "another file").unwrap();
        }
        assert!(is_replaced(study.tell(id, result.clone()).unwrap_err()) && is_replaced(study.trials().unwrap_err()));
        assert!(is_replaced(study.reopen().unwrap_err()) && is_replaced(feed.has_changed().unwrap_err()));
    }
    std::fs::rename(&moved, &file).unwrap();
    study.tell(id, result).unwrap();
    assert_eq!(Study::open(&file, None).unwrap().trials().unwrap()[id as usize].value, Some(1.0));
}

#[test]
fn every_study_has_an_identity_that_it_keeps() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("study.db");
    let first = Study::create(&file, "a", &plain(3)).unwrap();
    let second = Study::create(&file, "b", &plain(3)).unwrap();
    assert!(first.identity().len() == 32 && first.identity() != second.identity());
    assert_eq!(Study::open(&file, Some("a")).unwrap().identity(), first.identity());
    assert_eq!(first.reopen().unwrap().identity(), first.identity());
    drop((first, second));
    rusqlite::Connection::open(&file).unwrap().execute_batch(TO_FORMAT_2).unwrap();
    let names = ["a", "b", "a"].map(|name| Study::open(&file, Some(name)).unwrap().identity().to_owned());
    assert!(names[0] == names[2] && names[0] != names[1] && names[0].len() == 32, "an older file is given some: {names:?}");
}
