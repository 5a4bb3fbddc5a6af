//! What several tests need.
#![allow(dead_code)]

use sigmabar_study::{AskRequest, Asked, AskedTrial, Study, StudySpec, TrialResult, TrialRow, Value};
use std::path::Path;

/// Takes a file back to format 2, with bytes in it that this version does not read.
pub const TO_FORMAT_2: &str = "
    ALTER TABLE sb_imports DROP COLUMN is_corrected;
    ALTER TABLE sb_studies DROP COLUMN identity;
    ALTER TABLE sb_trials DROP COLUMN plate;
    ALTER TABLE sb_trials DROP COLUMN told_key;
    ALTER TABLE sb_trials DROP COLUMN replicates;
    ALTER TABLE sb_imports DROP COLUMN replicates;
    ALTER TABLE sb_studies DROP COLUMN paused;
    ALTER TABLE sb_studies DROP COLUMN despite_contradiction;
    ALTER TABLE sb_imports ADD COLUMN is_fixed INTEGER NOT NULL DEFAULT 0;
    UPDATE sb_imports SET is_fixed = collected = 'fixed';
    ALTER TABLE sb_imports DROP COLUMN collected;
    INSERT OR REPLACE INTO sb_strategies (study, bytes) SELECT study, CAST('SIGMARUN and more' AS BLOB) FROM sb_studies;
    PRAGMA user_version = 2;
";

/// A study file.
pub fn spec(text: &str) -> StudySpec {
    StudySpec::from_toml(text, Path::new(".")).unwrap_or_else(|error| panic!("{error}"))
}

/// Certified S-BPE on a short list of candidates, three batches.
pub fn certified() -> StudySpec {
    let rows: Vec<String> = (0..40).map(|i| format!("[{i}]")).collect();
    spec(&format!(
        r#"
        budget = 48
        batches = 3
        norm_bound = 2
        noise = {{ gaussian = 0.1 }}
        kernel = {{ name = "matern", nu = 2.5, lengthscale = 0.3 }}
        candidates = {{ columns = ["x"], rows = [{}] }}
        "#,
        rows.join(", ")
    ))
}

/// Random points, all in one batch: planning costs nothing.
pub fn plain(budget: usize) -> StudySpec {
    spec(&format!("budget = {budget}\nstrategy = \"random\"\n[parameters.x]\ntype = \"float\"\nlow = -1\nhigh = 1\n"))
}

/// A value that depends on the setting and the trial's seed alone.
pub fn truth(trial: &AskedTrial) -> TrialResult {
    let x: f64 = trial.values.iter().filter_map(|(_, value)| value.as_number()).sum();
    let noise = trial.seed as f64 / f64::from(u32::MAX) - 0.5;
    TrialResult::Value { value: (x / 10.0).sin() + 0.1 * noise, standard_error: None, replicates: None }
}

/// Asks for everything there is for one worker.
pub fn ask(study: &Study, worker: &str, at_most: usize) -> Vec<AskedTrial> {
    match study.ask(&AskRequest::new(worker, at_most)).unwrap() {
        Asked::Trials(trials) => trials,
        other => panic!("{other:?}"),
    }
}

/// Works until the study is over, telling each portion in the order that `order` puts it into.
pub fn work(study: &Study, portion: usize, order: impl Fn(&mut Vec<AskedTrial>)) {
    loop {
        match study.ask(&AskRequest::new("worker", portion)).unwrap() {
            Asked::Finished => return,
            Asked::Wait => panic!("nobody else works here"),
            Asked::Trials(mut trials) => {
                order(&mut trials);
                for trial in trials {
                    study.tell(trial.id, truth(&trial)).unwrap();
                }
            }
        }
    }
}

/// What makes two runs the same.
#[derive(Debug, PartialEq)]
pub struct Essence {
    id: u64,
    batch: usize,
    values: Vec<Value>,
    seed: u64,
    value: Option<f64>,
}

/// Settings, seeds and values in order.
pub fn essence(rows: &[TrialRow]) -> Vec<Essence> {
    rows.iter().map(|row| Essence { id: row.id, batch: row.batch, values: row.values.clone(), seed: row.seed, value: row.value }).collect()
}

/// Deletes or spoils the strategies that a file keeps beside its rows, or leaves them, by the throw of a die.
pub fn forget(file: &Path, throw: u64) {
    let connection = rusqlite::Connection::open(file).unwrap();
    connection.busy_timeout(std::time::Duration::from_secs(60)).unwrap();
    let other_version = sigmabar::sealed::seal(sigmabar::sealed::Kind::Strategy, "sigmabar-study 0.0.0", b"?");
    let done = match throw % 5 {
        0 => connection.execute("DELETE FROM sb_strategies", []),
        1 => connection.execute("UPDATE sb_strategies SET bytes = zeroblob(200)", []),
        2 => connection.execute("UPDATE sb_strategies SET bytes = ?1", [other_version]),
        3 => connection.execute("UPDATE sb_strategies SET bytes = substr(bytes, 1, length(bytes) - 1)", []),
        _ => Ok(0),
    };
    done.unwrap();
}
