//! Results on their way: each is on the disk before it is sent, and until the server has it.

use crate::wire::ResultBody;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A directory with one file for each result that the server does not have for sure. It stays when it is empty: others may be about to write there.
#[derive(Clone, Debug)]
pub(crate) struct Outbox {
    directory: PathBuf,
}

/// A result with where it goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Letter {
    /// For whoever looks into the outbox: a server may have moved since, and its studies may be called otherwise.
    pub server: String,
    pub study: String,
    /// The study's random name: another one with the other names is not meant. Letters without one are sent nowhere.
    #[serde(default)]
    pub identity: String,
    pub id: u64,
    pub key: String,
    pub result: ResultBody,
}

impl Outbox {
    pub fn in_directory(directory: &Path) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        Ok(Self { directory: directory.to_owned() })
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Keeps a letter; where.
    pub fn keep(&self, letter: &Letter) -> io::Result<PathBuf> {
        let path = self.directory.join(format!("{}.json", letter.key));
        let part = path.with_extension("part");
        let write = || {
            fs::create_dir_all(&self.directory)?;
            let mut file = File::create(&part)?;
            file.write_all(&serde_json::to_vec(letter).map_err(io::Error::other)?)?;
            file.sync_all()?;
            fs::rename(&part, &path)
        };
        write().inspect_err(|_| drop(fs::remove_file(&part)))?;
        Ok(path)
    }

    /// The letters of earlier runs for the study of this identity, wherever its server was then, and for others that were called like it. What cannot be read is left where it is.
    pub fn letters(&self, study: &str, identity: &str) -> Vec<(PathBuf, Letter)> {
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten().map(|entry| entry.path());
        let read = |path: PathBuf| {
            let letter: Letter = serde_json::from_slice(&fs::read(&path).ok()?).ok()?;
            (letter.identity == identity || letter.study == study).then_some((path, letter))
        };
        let mut letters: Vec<_> = entries.filter(|path| path.extension().is_some_and(|end| end == "json")).filter_map(read).collect();
        letters.sort_by(|(a, _), (b, _)| a.cmp(b));
        letters
    }

    /// The server will not take it: it is kept under another ending, and not sent again. Where.
    pub fn set_aside(path: &Path) -> PathBuf {
        let aside = path.with_extension("refused");
        if fs::rename(path, &aside).is_ok() { aside } else { path.to_owned() }
    }

    /// The server has it.
    pub fn forget(path: &Path) {
        // One that stays is told again, which changes nothing.
        drop(fs::remove_file(path));
    }
}
