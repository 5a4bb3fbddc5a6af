//! Files that a command writes: whole or not at all, over what is there only where the user says so, and never over a study, a model or a sheet that somebody may have filled in.

use crate::Outcome;
use crate::failure::Failure;
use crate::plate::RESULT;
use sigmabar::sealed::is_sealed;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// The first bytes of every SQLite file.
const SQLITE: &[u8] = b"SQLite format 3\0";
/// The first bytes of every .xlsx file.
const SPREADSHEET: &[u8] = b"PK\x03\x04";
/// So much of a file shows what it is: the names of its columns.
const BEGINNING: u64 = 4096;
/// What SQLite keeps beside a database.
const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// What a file may replace.
#[derive(Clone, Copy)]
pub(crate) enum Over {
    /// Nothing that is there: it may be all there is of something.
    Nothing,
    /// Pages, which are made again and again under the same name.
    Pages,
    Anything,
}

impl Over {
    /// Nothing, unless the user says `--force`.
    pub(crate) fn by(force: bool) -> Self {
        if force { Self::Anything } else { Self::Nothing }
    }

    /// An empty file is nothing, and a pipe or a device is written to.
    fn check(self, path: &Path) -> Outcome<()> {
        match (self, first_bytes(path).filter(|bytes| !bytes.is_empty())) {
            (Self::Nothing, Some(_)) => Err(Failure::Exists { path: path.to_owned() }),
            (Self::Pages, Some(bytes)) if !bytes.starts_with(b"<") => Err(lost(path, "is no page")),
            _ => Ok(()),
        }
    }
}

fn lost(path: &Path, what: &str) -> Failure {
    Failure::usage(format!("{} {what} and would be lost", path.display()), "choose another name for what is written")
}

/// Refuses a target that is a database, a model, or one of the files that the command reads.
pub(crate) fn check(path: &Path, inputs: &[&Path]) -> Outcome<()> {
    let is_input = inputs.iter().any(|input| is_same(path, input));
    let what = if is_input {
        "is what this command reads"
    } else if is_database(path) {
        "is a database"
    } else if first_bytes(path).is_some_and(|bytes| is_sealed(&bytes)) {
        "is a model"
    } else {
        return Ok(());
    };
    Err(lost(path, what))
}

/// Refuses a target that holds what people typed: a sheet of `ask`, as text or in a spreadsheet.
fn check_sheet(path: &Path) -> Outcome<()> {
    let bytes = first_bytes(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let header = text.trim_start_matches('\u{feff}').lines().next().unwrap_or_default().to_lowercase();
    let names: Vec<&str> = header.split([',', ';', '\t']).map(|name| name.trim_matches(['"', ' '])).collect();
    let what = if bytes.starts_with(SPREADSHEET) {
        "is a spreadsheet"
    } else if names.contains(&"trial") && names.contains(&RESULT) {
        "is a sheet of results"
    } else {
        return Ok(());
    };
    Err(lost(path, what))
}

/// Refuses a target of a model that is there and is something else: what a model replaces is an older model, even by force.
pub(crate) fn check_model(path: &Path) -> Outcome<()> {
    if first_bytes(path).is_some_and(|bytes| bytes.is_empty() || is_sealed(&bytes)) {
        return Ok(());
    }
    let what = format!("{} is there and is no sigmabar model: it would be lost", path.display());
    Err(Failure::usage(what, "choose another name, such as model.sbm for a model, 1.sba for sums"))
}

/// Refuses, before the work, a target that is there already: what the command reads and what is no sigmabar file even by force.
pub(crate) fn check_target(path: &Path, inputs: &[&Path], force: bool) -> Outcome<()> {
    if !path.exists() {
        return check_writable(path, inputs, Over::Nothing);
    }
    if inputs.iter().any(|input| is_same(path, input)) {
        return check(path, inputs);
    }
    check_model(path)?;
    if force { Ok(()) } else { Err(Failure::Exists { path: path.to_owned() }) }
}

/// Refuses, before the work, a target that could not be written after it.
pub(crate) fn check_writable(path: &Path, inputs: &[&Path], over: Over) -> Outcome<()> {
    check(path, inputs)?;
    check_sheet(path)?;
    over.check(path)?;
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let tried = match fs::metadata(&target) {
        Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(found) if found.permissions().readonly() => Err(io::ErrorKind::PermissionDenied.into()),
        Ok(found) if !found.is_file() => Ok(()),
        _ => {
            let part = beside(&target, &format!(".{}.part", std::process::id()));
            File::create(&part).and_then(|_| fs::remove_file(&part))
        }
    };
    tried.map_err(Failure::file(path, "write"))
}

/// Writes a file beside its final name first, so that a full disk or a crash leaves what was there before.
pub(crate) fn write(
    path: &Path,
    inputs: &[&Path],
    over: Over,
    fill: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> Outcome<()> {
    check(path, inputs)?;
    check_sheet(path)?;
    over.check(path)?;
    replace(path, fill)
}

/// The same whatever is there.
pub(crate) fn replace(path: &Path, fill: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> Outcome<()> {
    // A link is followed; pipes and devices are written as they are.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let before = fs::metadata(&target).ok();
    let written = match &before {
        Some(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Some(found) if !found.is_file() => File::options().write(true).open(&target).and_then(|file| filled(file, fill).map(drop)),
        Some(found) if found.permissions().readonly() => Err(io::ErrorKind::PermissionDenied.into()),
        _ => write_beside(&target, before.map(|found| found.permissions()), fill),
    };
    written.map_err(Failure::file(path, "write"))
}

fn write_beside(
    target: &Path,
    permissions: Option<fs::Permissions>,
    fill: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> io::Result<()> {
    let part = beside(target, &format!(".{}.part", std::process::id()));
    let written = File::create(&part)
        .and_then(|file| filled(file, fill))
        .and_then(|file| permissions.map_or(Ok(()), |permissions| file.set_permissions(permissions)).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&part, target));
    if written.is_err() {
        drop(fs::remove_file(&part));
    }
    written
}

fn filled(file: File, fill: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> io::Result<File> {
    let mut out = BufWriter::new(file);
    fill(&mut out)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)
}

fn is_same(a: &Path, b: &Path) -> bool {
    a == b || matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}

fn is_database(path: &Path) -> bool {
    let has_mark = |path: &Path| first_bytes(path).is_some_and(|bytes| bytes.starts_with(SQLITE));
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let owner = COMPANIONS.iter().find_map(|suffix| name.strip_suffix(suffix));
    has_mark(path) || owner.is_some_and(|owner| has_mark(&path.with_file_name(owner)))
}

/// The beginning of a file, where it is one: a pipe is not read from.
fn first_bytes(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let is_file = fs::metadata(path).is_ok_and(|found| found.is_file());
    is_file.then(|| File::open(path).ok()?.take(BEGINNING).read_to_end(&mut bytes).ok())??;
    Some(bytes)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path.file_name().unwrap_or_default());
    name.push(suffix);
    path.with_file_name(name)
}
