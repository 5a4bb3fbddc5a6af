//! All studies of the server, found by name in a list: no name ever becomes a path.

use crate::desk::Desk;
use crate::heap;
use sigmabar::linalg::Interrupt;
use sigmabar_study::{Error, Feed, Study};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How often the files are looked at: an update is seen within a second.
const LOOK: Duration = Duration::from_millis(100);
/// How often a directory is searched for new files.
const SEARCH: Duration = Duration::from_secs(2);

/// How often memory that was needed to compute is given back.
const GIVE_BACK: Duration = Duration::from_secs(2);

/// Where studies are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The studies of one file.
    File(PathBuf),
    /// The studies of all files of a directory that end with .db.
    Directory(PathBuf),
}

impl Source {
    /// The directory.
    #[must_use]
    pub fn directory(&self) -> PathBuf {
        match self {
            Self::File(file) => file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned(),
            Self::Directory(directory) => directory.clone(),
        }
    }

    /// The files with studies.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        let Self::Directory(directory) = self else { return vec![self.file().to_owned()] };
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "db") && path.is_file()).collect();
        files.sort();
        files
    }

    fn file(&self) -> &Path {
        match self {
            Self::File(path) | Self::Directory(path) => path,
        }
    }
}

/// The studies that are served.
#[derive(Debug)]
pub(crate) struct Desks {
    pub source: Source,
    known: RwLock<BTreeMap<String, Arc<Desk>>>,
    /// Counts desks that came.
    arrivals: watch::Sender<u64>,
    stop: Interrupt,
}

impl Desks {
    /// Opens what is there; a directory may be empty yet.
    pub fn open(source: Source, stop: Interrupt) -> Result<Self, Error> {
        let desks = Self { source, known: RwLock::default(), arrivals: watch::Sender::new(0), stop };
        for file in desks.source.files() {
            let added = desks.add(&file);
            // Of a directory, what is no study is left out; a file that was named must be one.
            if matches!(desks.source, Source::File(_)) {
                added?;
            }
        }
        Ok(desks)
    }

    /// Adds the studies of a file that are not known yet.
    pub fn add(&self, file: &Path) -> Result<(), Error> {
        // A file that was put in the place of an open one is not opened beside it: the log of the other lies beside it.
        let is_replaced = |desk: &Arc<Desk>| desk.reader.file() == file && desk.reader.last_event().is_err();
        if self.all().iter().any(is_replaced) {
            return Ok(());
        }
        for name in Study::names(file)? {
            let is_known = |desk: &Arc<Desk>| desk.reader.file() == file && desk.reader.name() == name;
            if self.all().iter().any(is_known) {
                continue;
            }
            let study = Study::open(file, Some(&name))?;
            let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            let names = std::iter::once(name.clone())
                .chain((1..).map(|i| if i == 1 { format!("{stem}.{name}") } else { format!("{stem}.{name}.{i}") }));
            let Some(slug) = names.into_iter().find(|slug| !known.contains_key(slug)) else { continue };
            known.insert(slug.clone(), Desk::new(slug, study, self.stop.clone())?);
            self.arrivals.send_modify(|count| *count += 1);
        }
        Ok(())
    }

    /// Puts a desk of the study as it is declared now into the place of one whose study file was amended.
    pub fn renew(&self, old: &Arc<Desk>) -> Result<(), Error> {
        let study = Study::open(old.reader.file(), Some(old.reader.name()))?;
        let desk = Desk::new(old.slug.clone(), study, self.stop.clone())?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.get(&old.slug).is_some_and(|place| Arc::ptr_eq(place, old)) {
            known.insert(old.slug.clone(), desk);
            self.arrivals.send_modify(|count| *count += 1);
        }
        old.retire();
        Ok(())
    }

    pub fn arrivals(&self) -> watch::Receiver<u64> {
        self.arrivals.subscribe()
    }

    pub fn find(&self, slug: &str) -> Option<Arc<Desk>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).get(slug).cloned()
    }

    pub fn all(&self) -> Vec<Arc<Desk>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Watches the files until the server stops: one look at each, ten times a second. What nobody needed for so long is forgotten.
    pub fn watch(&self, rest_after: Duration) {
        let mut feeds: Vec<(Arc<Desk>, Option<Feed>)> = Vec::new();
        let (mut searched, mut given_back) = (Instant::now(), Instant::now());
        while !self.stop.is_triggered() {
            if matches!(self.source, Source::Directory(_)) && searched.elapsed() > SEARCH {
                for file in self.source.files() {
                    // A file that is being made is looked at again.
                    drop(self.add(&file));
                }
                searched = Instant::now();
            }
            let all = self.all();
            feeds.retain(|(desk, _)| all.iter().any(|known| Arc::ptr_eq(known, desk)));
            for desk in all {
                if !feeds.iter().any(|(known, _)| Arc::ptr_eq(known, &desk)) {
                    feeds.push((desk, None));
                }
            }
            for (desk, feed) in &mut feeds {
                // Files that cannot be read at this moment are looked at again: the answers to requests say what is wrong.
                let has_changed = match feed {
                    Some(feed) => feed.has_changed().unwrap_or(false),
                    None => {
                        *feed = desk.reader.feed().ok();
                        feed.is_some()
                    }
                };
                if has_changed || desk.has_lapsed() {
                    drop(desk.look());
                }
                if desk.is_amended() {
                    drop(self.renew(desk));
                }
                desk.rest(rest_after);
            }
            if given_back.elapsed() > GIVE_BACK {
                // Each of them is asked: all that was computed is given back at once.
                if self.all().iter().filter(|desk| desk.has_computed()).count() > 0 {
                    heap::give_back();
                }
                given_back = Instant::now();
            }
            std::thread::sleep(LOOK);
        }
        self.all().iter().for_each(|desk| desk.open());
    }
}
