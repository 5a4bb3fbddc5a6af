//! One study in one file: create, open, ask, tell.

mod amending;
mod asking;
mod copies;
mod correcting;
mod feed;
mod many;
mod mistyped;
mod nearest;
mod planning;
mod record;
mod shown;
mod telling;
mod views;
mod wells;
mod worker;
mod workers;

pub use feed::Feed;
pub use many::KeyedResult;
pub use mistyped::Mistyped;
pub use nearest::Nearest;
pub use shown::{Advice, BatchRow, BestObserved, Cell, Status, Survivors};
pub use wells::{FilledSheet, Well, Wells, is_as_told, mean_of, scatter};
pub(crate) use worker::WorkerName;
pub use workers::WorkerRow;

use crate::store::{Store, now};
use crate::{Error, Result, StoreError, StudySpec};
use rusqlite::{OptionalExtension, params};
use sigmabar::Strategy;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One study in one SQLite file. Cheap to open; any number of processes and threads may have it open at once.
///
/// The rows of the file are the truth: what was declared, planned, told and closed. When nothing of the plan is left unanswered (or the batch is closed),
/// whoever asks first plans: it makes the strategy from the rows, asks it for the whole next batch, and writes the trials in one transaction. Asking and
/// telling otherwise touch rows only, so the run is a function of the seed and the values, whatever the order and the number of processes. Looking at a
/// study neither plans nor writes. The strategy's bytes are kept beside the rows to spare making it again; they may be deleted at any time.
#[derive(Debug)]
pub struct Study {
    store: Mutex<Store>,
    file: PathBuf,
    /// The study's key in the file.
    key: i64,
    name: String,
    identity: String,
    spec: Arc<StudySpec>,
    /// How often the study file had been amended when this was opened.
    amendments: i64,
    /// The strategy after the plan of a number, kept so that it need not be made again.
    cached: Mutex<Option<(i64, Strategy)>>,
    /// What the bytes in the file know, and after which plan.
    on_file: Mutex<Option<(i64, (usize, bool))>>,
}

impl Study {
    /// Writes a new study into a file, which is made if it does not exist.
    ///
    /// # Errors
    /// [`Error::StudyExists`], or [`Error::Store`] saying what is wrong with the file.
    pub fn create(file: &Path, name: &str, spec: &StudySpec) -> Result<Self> {
        Strategy::new(spec.problem().clone(), spec.policy().clone())?;
        let text = serde_json::to_string(spec).map_err(|_| inconsistent(file, "the study file cannot be written as JSON"))?;
        let mut store = Store::create(file)?;
        let (key, identity) = store.write(|transaction| {
            let exists = transaction.query_row("SELECT 1 FROM sb_studies WHERE name = ?1", [name], |_| Ok(())).optional()?;
            if exists.is_some() {
                return Err(Error::StudyExists { file: file.to_owned(), name: name.to_owned() }.into());
            }
            let insert = "INSERT INTO sb_studies (name, spec, created_at, identity) VALUES (?1, ?2, ?3, lower(hex(randomblob(16)))) \
                          RETURNING study, identity";
            Ok(transaction.query_row(insert, params![name, text, now()], |row| Ok((row.get(0)?, row.get(1)?)))?)
        })?;
        Ok(Self {
            store: Mutex::new(store),
            file: file.to_owned(),
            key,
            name: name.to_owned(),
            identity,
            spec: Arc::new(spec.clone()),
            amendments: 0,
            cached: Mutex::new(None),
            on_file: Mutex::new(None),
        })
    }

    /// Writes a new study into a file, or opens the one that is there: of many processes that begin it at once one creates it and all have it. Whether it was
    /// created here.
    ///
    /// # Errors
    /// As [`Study::create`] and [`Study::open`].
    pub fn create_or_open(file: &Path, name: &str, spec: &StudySpec) -> Result<(Self, bool)> {
        match Self::create(file, name, spec) {
            Err(Error::StudyExists { .. }) => Ok((Self::open(file, Some(name))?, false)),
            created => Ok((created?, true)),
        }
    }

    /// Opens a study; without a name, the only one of the file.
    ///
    /// # Errors
    /// [`Error::NoSuchStudy`], [`Error::WhichStudy`], or [`Error::Store`] saying what is wrong with the file.
    pub fn open(file: &Path, name: Option<&str>) -> Result<Self> {
        let store = Store::open(file)?;
        let mut names = names(&store)?;
        let name = match name {
            Some(name) if names.iter().any(|known| known == name) => name.to_owned(),
            Some(name) => return Err(Error::NoSuchStudy { file: file.to_owned(), name: name.to_owned(), names }),
            None if names.len() == 1 => names.remove(0),
            None => return Err(Error::WhichStudy { file: file.to_owned(), names }),
        };
        let look = "SELECT study, identity, spec, (SELECT count(*) FROM sb_events e WHERE e.study = s.study AND kind = 'amended') \
                    FROM sb_studies s WHERE name = ?1";
        let (key, identity, text, amendments): (i64, String, String, i64) =
            store.read(|c| c.query_row(look, [&name], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))))?;
        let spec =
            serde_json::from_str(&text).map_err(|error| inconsistent(file, format!("the study file in it cannot be read: {error}")))?;
        let (store, spec, cached) = (Mutex::new(store), Arc::new(spec), Mutex::new(None));
        Ok(Self { store, file: file.to_owned(), key, name, identity, spec, amendments, cached, on_file: Mutex::new(None) })
    }

    /// The names of the studies of a file.
    ///
    /// # Errors
    /// [`Error::Store`] saying what is wrong with the file.
    pub fn names(file: &Path) -> Result<Vec<String>> {
        names(&Store::open(file)?)
    }

    /// The study's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its random name, which no other study has: a copy of its file keeps it.
    #[must_use]
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// What was declared.
    #[must_use]
    pub fn spec(&self) -> &StudySpec {
        &self.spec
    }

    /// The file that keeps it.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The same study with a connection of its own.
    pub fn reopen(&self) -> Result<Self> {
        Ok(Self {
            store: Mutex::new(self.opened_again()?),
            file: self.file.clone(),
            key: self.key,
            name: self.name.clone(),
            identity: self.identity.clone(),
            spec: Arc::clone(&self.spec),
            amendments: self.amendments,
            cached: Mutex::new(None),
            on_file: Mutex::new(None),
        })
    }

    /// Another connection to the file, which must be the one that this study was opened in.
    fn opened_again(&self) -> Result<Store> {
        self.store().check_place()?;
        Store::open(&self.file)
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        // A panic elsewhere leaves no half-done transaction: SQLite rolled it back.
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn inconsistent(&self, what: &'static str) -> Error {
        inconsistent(&self.file, what)
    }
}

fn names(store: &Store) -> Result<Vec<String>> {
    store.read(|c| c.prepare("SELECT name FROM sb_studies ORDER BY study")?.query_map([], |row| row.get(0))?.collect())
}

fn inconsistent(file: &Path, what: impl Into<Cow<'static, str>>) -> Error {
    Error::Store { file: file.to_owned(), problem: StoreError::Inconsistent { what: what.into() } }
}
