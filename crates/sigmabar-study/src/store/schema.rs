//! The tables of a study file, and how older ones become new.

use crate::StoreError;
use rusqlite::{Connection, OpenFlags, Transaction};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// "SBAR": told to everybody who looks at the file's header.
pub(super) const APPLICATION_ID: i32 = 0x5342_4152;

/// One step for each format: step i turns format i into format i + 1.
const STEPS: [&str; 5] = [CREATE, NOTES, ROWS, NAMES, MARKS];

/// The format this version writes.
pub(super) const FORMAT: i32 = STEPS.len() as i32;

const CREATE: &str = "
CREATE TABLE sb_studies (
    study          INTEGER PRIMARY KEY,
    name           TEXT NOT NULL UNIQUE,
    spec           TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    plan           INTEGER NOT NULL DEFAULT 0,
    finished       INTEGER NOT NULL DEFAULT 0,
    planner        TEXT,
    planning_until INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE sb_strategies (
    study INTEGER PRIMARY KEY REFERENCES sb_studies,
    bytes BLOB NOT NULL
) STRICT;
CREATE TABLE sb_batches (
    study     INTEGER NOT NULL REFERENCES sb_studies,
    batch     INTEGER NOT NULL,
    opened_at INTEGER NOT NULL,
    closed_at INTEGER,
    survivors TEXT,
    PRIMARY KEY (study, batch)
) STRICT, WITHOUT ROWID;
CREATE TABLE sb_trials (
    study        INTEGER NOT NULL REFERENCES sb_studies,
    id           INTEGER NOT NULL,
    batch        INTEGER NOT NULL,
    settings     TEXT NOT NULL,
    seed         INTEGER NOT NULL,
    state        TEXT NOT NULL CHECK (state IN ('queued', 'leased', 'done', 'failed', 'missing', 'late')),
    worker       TEXT,
    leased_until INTEGER,
    attempts     INTEGER NOT NULL DEFAULT 0,
    value        REAL,
    std_error    REAL,
    reason       TEXT,
    planned_at   INTEGER NOT NULL,
    asked_at     INTEGER,
    told_at      INTEGER,
    well         TEXT,
    PRIMARY KEY (study, id)
) STRICT, WITHOUT ROWID;
-- The planner believes the primary key to be narrow enough and would walk over all finished trials: queries by state name this index.
CREATE INDEX sb_trials_by_state ON sb_trials (study, state, id);
CREATE TABLE sb_imports (
    study       INTEGER NOT NULL REFERENCES sb_studies,
    number      INTEGER NOT NULL,
    settings    TEXT NOT NULL,
    value       REAL,
    std_error   REAL,
    reason      TEXT,
    is_fixed    INTEGER NOT NULL,
    in_time     INTEGER NOT NULL DEFAULT 0,
    imported_at INTEGER NOT NULL,
    PRIMARY KEY (study, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE sb_events (
    event  INTEGER PRIMARY KEY,
    study  INTEGER NOT NULL REFERENCES sb_studies,
    at     INTEGER NOT NULL,
    kind   TEXT NOT NULL,
    trial  INTEGER,
    worker TEXT,
    detail TEXT
) STRICT;
";

/// What people remark about a trial.
const NOTES: &str = "ALTER TABLE sb_trials ADD COLUMN note TEXT;";

/// The rows are the truth: what is in `sb_strategies` is made from them and may be deleted at any time. Results say under which key they were told, imports how
/// they were collected, both of how many replicates they are the mean; a study may be paused, and may go on although the data contradict its premises.
const ROWS: &str = "
DELETE FROM sb_strategies;
ALTER TABLE sb_trials ADD COLUMN told_key TEXT;
ALTER TABLE sb_trials ADD COLUMN replicates INTEGER;
ALTER TABLE sb_imports ADD COLUMN replicates INTEGER;
ALTER TABLE sb_studies ADD COLUMN paused INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sb_studies ADD COLUMN despite_contradiction INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sb_imports ADD COLUMN collected TEXT NOT NULL DEFAULT 'adaptive';
UPDATE sb_imports SET collected = 'fixed' WHERE is_fixed;
ALTER TABLE sb_imports DROP COLUMN is_fixed;
";

/// A study has a random name of its own, so that a result on its way is never told to another study that has its other names; a plate has a number, so that
/// what was laid out together stays together.
const NAMES: &str = "
ALTER TABLE sb_studies ADD COLUMN identity TEXT;
UPDATE sb_studies SET identity = lower(hex(randomblob(16)));
ALTER TABLE sb_trials ADD COLUMN plate INTEGER;
";

/// Results from before the study that were corrected after they were analysed stay marked: 0 is no mark, and others are counted from 1 in the order of [`crate::Mark`].
const MARKS: &str = "ALTER TABLE sb_imports ADD COLUMN is_corrected INTEGER NOT NULL DEFAULT 0;";

/// Brings a database to the format of this version; a copy of an older one is written first.
pub(super) fn migrate(connection: &mut Connection, file: &Path) -> Result<(), StoreError> {
    if format(connection)? == FORMAT {
        return Ok(());
    }
    // While this is held nobody changes the file: what is copied is what is brought up.
    let held = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).map_err(super::problem)?;
    // Another process may have done it meanwhile.
    let found = version(&held).map_err(super::problem)?;
    if (1..FORMAT).contains(&found) {
        back_up(file, found)?;
    }
    step_up(held, found).map_err(super::problem)
}

fn step_up(held: Transaction<'_>, found: i32) -> rusqlite::Result<()> {
    for step in STEPS.iter().skip(usize::try_from(found).unwrap_or(0)) {
        held.execute_batch(step)?;
    }
    held.execute_batch(&format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {FORMAT};"))?;
    held.commit()
}

fn version(connection: &Connection) -> rusqlite::Result<i32> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// The format of a database, which must be ours and not newer than we know; 0 for an empty one.
pub(super) fn format(connection: &Connection) -> Result<i32, StoreError> {
    // One look at all three: another process may be making the file at this moment.
    let snapshot = connection.unchecked_transaction().map_err(super::problem)?;
    let number = |query: &str| snapshot.query_row(query, [], |row| row.get::<_, i32>(0)).map_err(super::problem);
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
    let (application, version) = (number("PRAGMA application_id")?, number("PRAGMA user_version")?);
    snapshot.commit().map_err(super::problem)?;
    if application != APPLICATION_ID && (application != 0 || version != 0 || tables != 0) {
        return Err(StoreError::Foreign { found: application });
    }
    if version > FORMAT {
        return Err(StoreError::Newer { found: version, supported: FORMAT });
    }
    Ok(version)
}

/// Copies a file of an older format, which is held by the caller, to a name of its own: no earlier copy is replaced, and a half one never has the name.
fn back_up(file: &Path, found: i32) -> Result<(), StoreError> {
    let beside = |ending: String| {
        let mut name = file.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    let numbered = (2..).map(|number| beside(format!(".format{found}.{number}.bak")));
    let free = std::iter::once(beside(format!(".format{found}.bak"))).chain(numbered).find(|path| !path.exists());
    let path = free.unwrap_or_else(|| beside(format!(".format{found}.bak")));
    let part = beside(format!(".format{found}.part"));
    let refused = |detail: String| StoreError::Backup { path: path.clone(), detail };
    let copied = copy(file, &part).map_err(|error| refused(error.to_string()))?;
    if copied != found {
        return Err(refused(format!("the copy has format {copied} instead of {found}")));
    }
    std::fs::rename(&part, &path).map_err(|error| refused(error.to_string()))
}

/// Copies a database through a connection of its own, as the one that holds it may not be read from; the format of the copy.
fn copy(file: &Path, to: &Path) -> rusqlite::Result<i32> {
    let from = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    let mut copy = Connection::open(to)?;
    rusqlite::backup::Backup::new(&from, &mut copy)?.run_to_completion(256, Duration::ZERO, None)?;
    version(&copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of format 1 with one trial.
    fn old(file: &Path) -> Connection {
        let connection = Connection::open(file).unwrap();
        connection.busy_timeout(Duration::from_secs(10)).unwrap();
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
        connection.execute_batch(&format!("{CREATE} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = 1;")).unwrap();
        connection.execute("INSERT INTO sb_studies (name, spec, created_at) VALUES ('a', '{}', 0)", []).unwrap();
        let trial =
            "INSERT INTO sb_trials (study, id, batch, settings, seed, state, value, planned_at) VALUES (1, 0, 0, '[]', 0, 'done', 2.5, 0)";
        connection.execute(trial, []).unwrap();
        connection
    }

    #[test]
    fn an_older_file_is_copied_before_it_is_changed() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("study.db");
        let mut connection = old(&file);
        migrate(&mut connection, &file).unwrap();
        assert_eq!(format(&connection).unwrap(), FORMAT);
        let look = "SELECT value, note FROM sb_trials";
        let kept: (f64, Option<String>) = connection.query_row(look, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert_eq!(kept, (2.5, None));
        let copy = Connection::open(directory.path().join("study.db.format1.bak")).unwrap();
        assert_eq!(format(&copy).unwrap(), 1);
        assert_eq!(copy.query_row("SELECT count(*) FROM sb_trials", [], |row| row.get::<_, i64>(0)).unwrap(), 1);
        let nowhere = directory.path().join("nowhere").join("study.db");
        assert!(matches!(back_up(&nowhere, 1), Err(StoreError::Backup { .. })));
        assert!(matches!(back_up(&file, 1), Err(StoreError::Backup { .. })), "the file is no longer of format 1");
    }

    #[test]
    fn of_many_who_bring_a_file_up_one_copies_it_and_no_copy_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("study.db");
        std::fs::write(directory.path().join("study.db.format1.bak"), "an earlier copy").unwrap();
        drop(old(&file));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let mut connection = Connection::open(&file).unwrap();
                    connection.busy_timeout(Duration::from_secs(10)).unwrap();
                    migrate(&mut connection, &file).unwrap();
                });
            }
        });
        let mut names: Vec<_> = directory.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["study.db", "study.db.format1.2.bak", "study.db.format1.bak"]);
        assert_eq!(std::fs::read_to_string(directory.path().join("study.db.format1.bak")).unwrap(), "an earlier copy");
        let copy = Connection::open(directory.path().join("study.db.format1.2.bak")).unwrap();
        assert_eq!((format(&copy).unwrap(), format(&Connection::open(&file).unwrap()).unwrap()), (1, FORMAT));
    }
}
