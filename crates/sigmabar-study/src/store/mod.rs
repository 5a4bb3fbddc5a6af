//! The SQLite file: how it is opened, locked and kept whole.

mod columns;
mod opening;
mod schema;

pub(crate) use columns::{CollectedWord, MarkNumber};

use crate::{Error, Result, StoreError};
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long others may hold the file.
const PATIENCE: Duration = Duration::from_secs(60);

/// An open study file.
#[derive(Debug)]
pub(crate) struct Store {
    connection: Connection,
    file: PathBuf,
    durability: Durability,
    /// The file that was opened, which another may replace; none where nobody can write.
    place: Option<opening::Place>,
}

/// What a finished transaction survives. All survive the end of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Also a power failure: the log is on the disk. Costs one wait for the disk.
    Power,
    /// A power failure may take it back, in whole: right for leases, whose workers the failure ends as well.
    Process,
}

/// Milliseconds since 1970.
#[must_use]
pub fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

impl Store {
    /// Opens a file, or makes a new one.
    pub fn create(file: &Path) -> Result<Self> {
        Self::prepare(file, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Opens a file that exists.
    pub fn open(file: &Path) -> Result<Self> {
        if !file.exists() {
            return Err(Error::Store { file: file.to_owned(), problem: StoreError::Absent });
        }
        Self::prepare(file, OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    fn prepare(file: &Path, flags: OpenFlags) -> Result<Self> {
        let opened = Self::connect(file, flags).or_else(|problem| match opening::explain(file, problem) {
            // What cannot be written can still be looked at.
            StoreError::ReadOnly if opening::is_complete(file) => Self::look(file),
            problem => Err(problem),
        });
        opened.map_err(|problem| Error::Store { file: file.to_owned(), problem })
    }

    /// Opens a file that nobody can write, for reading.
    fn look(file: &Path) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(opening::fixed_uri(file), flags).map_err(problem)?;
        match schema::format(&connection)? {
            schema::FORMAT => {}
            0 => return Err(StoreError::ReadOnly),
            found => return Err(StoreError::OlderReadOnly { found, needed: schema::FORMAT }),
        }
        Ok(Self { connection, file: file.to_owned(), durability: Durability::Power, place: None })
    }

    fn connect(file: &Path, flags: OpenFlags) -> Result<Self, StoreError> {
        opening::refuse_network(file)?;
        let mut connection = Connection::open_with_flags(file, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(problem)?;
        connection.busy_handler(Some(wait_a_little)).map_err(problem)?;
        let found = schema::format(&connection)?;
        if found == 0 || journal_mode(&connection)? != "wal" {
            connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).map_err(problem)?;
        }
        connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;").map_err(problem)?;
        schema::migrate(&mut connection, file)?;
        let place = opening::Place::of(file);
        Ok(Self { connection, file: file.to_owned(), durability: Durability::Power, place })
    }

    /// Another file in the place of this one is not read and not written: what is told to a file that nobody finds any more is lost.
    pub fn check_place(&self) -> Result<()> {
        match &self.place {
            Some(place) if !place.is_kept() => Err(Error::Store { file: self.file.clone(), problem: StoreError::Replaced }),
            _ => Ok(()),
        }
    }

    /// For reading: everything that the work looks at is of one moment, and SQLite itself refuses to write.
    pub fn read<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        self.check_place()?;
        let glance = Glance(&self.connection);
        let looked = glance.0.execute_batch("PRAGMA query_only = ON; BEGIN").and_then(|()| work(glance.0));
        looked.map_err(|error| self.refused(error))
    }

    /// One short transaction that is on the disk when this returns: all of it or nothing. The lock is taken at once, so that nothing read in it can be
    /// overtaken.
    pub fn write<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> Result<T, Failure>) -> Result<T> {
        self.write_with(Durability::Power, work)
    }

    /// One short transaction: all of it or nothing. It is not acknowledged where another file has taken the place of this one meanwhile.
    pub fn write_with<T>(&mut self, durability: Durability, work: impl FnOnce(&Transaction<'_>) -> Result<T, Failure>) -> Result<T> {
        self.check_place()?;
        let refused = |failure: Failure| match failure {
            Failure::Sqlite(error) => Error::Store { file: self.file.clone(), problem: problem(error) },
            Failure::Refused(error) => *error,
        };
        if self.durability != durability {
            let level = if durability == Durability::Power { "PRAGMA synchronous = FULL" } else { "PRAGMA synchronous = NORMAL" };
            self.connection.execute_batch(level).map_err(|error| refused(error.into()))?;
            self.durability = durability;
        }
        let begun = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = begun.map_err(|error| refused(error.into()))?;
        let result = work(&transaction).map_err(&refused)?;
        transaction.commit().map_err(|error| refused(error.into()))?;
        self.check_place()?;
        Ok(result)
    }

    /// A number that changes with every commit of another connection.
    pub fn data_version(&self) -> Result<i64> {
        self.connection
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut look| look.query_row([], |row| row.get(0)))
            .map_err(|e| self.refused(e))
    }

    fn refused(&self, error: rusqlite::Error) -> Error {
        Error::Store { file: self.file.clone(), problem: problem(error) }
    }
}

/// A connection that is being read from; it may be written again when this is dropped, whatever happened.
struct Glance<'a>(&'a Connection);

impl Drop for Glance<'_> {
    fn drop(&mut self) {
        // There is nothing to commit, and an end that fails was reached already.
        let _ = self.0.execute_batch("ROLLBACK");
        let _ = self.0.execute_batch("PRAGMA query_only = OFF");
    }
}

/// Why a transaction was given up.
#[derive(Debug)]
pub(crate) enum Failure {
    /// SQLite refused.
    Sqlite(rusqlite::Error),
    /// We refused.
    Refused(Box<Error>),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(Box::new(error))
    }
}

/// Sleeps of uneven length that grow to eight milliseconds; SQLite's own grow to a tenth of a second and let the lock lie idle among many processes.
fn wait_a_little(tries: i32) -> bool {
    let tries = u64::from(tries.unsigned_abs());
    let spread = u64::from(std::process::id()).wrapping_mul(0x9e37_79b9).wrapping_add(tries) % 5;
    std::thread::sleep(Duration::from_micros(500 * (1 + tries.min(11)) + 500 * spread));
    // The sleeps average seven milliseconds once they have grown.
    u128::from(tries) * 7 < PATIENCE.as_millis()
}

fn journal_mode(connection: &Connection) -> Result<String, StoreError> {
    connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)).map_err(problem)
}

/// What SQLite's words mean here.
fn problem(error: rusqlite::Error) -> StoreError {
    let Some(code) = error.sqlite_error_code() else { return StoreError::Sqlite(error) };
    let detail = error.to_string();
    match code {
        ErrorCode::NotADatabase => StoreError::NotADatabase,
        ErrorCode::DatabaseCorrupt => StoreError::Damaged { detail },
        ErrorCode::DiskFull => StoreError::Full,
        ErrorCode::ReadOnly => StoreError::ReadOnly,
        ErrorCode::CannotOpen => StoreError::CannotOpen { detail },
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Busy { seconds: PATIENCE.as_secs() },
        _ => StoreError::Sqlite(error),
    }
}
