//! Files that a command writes: whole or not at all, over what is there only where the user says so, and never over a study, a model or a sheet that somebody may have filled in.

use crate::Outcome;
use crate::failure::{Ending, Failure};
use crate::interrupt::on_signals;
use crate::plate::RESULT;
use crate::sheet::{Sheet, write_csv};
use sigmabar::sealed::is_sealed;
use std::collections::hash_map::RandomState;
use std::ffi::OsString;
use std::fs::{self, File};
use std::hash::BuildHasher;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The first bytes of every SQLite file.
const SQLITE: &[u8] = b"SQLite format 3\0";
/// The first bytes of every .xlsx file.
const SPREADSHEET: &[u8] = b"PK\x03\x04";
/// Names end so in formats that are not written.
const OTHER_FORMATS: [&str; 10] = ["xlsx", "xls", "xlsm", "ods", "parquet", "pq", "npy", "json", "jsonl", "gz"];
/// So much of a file shows what it is: the names of its columns.
const BEGINNING: u64 = 4096;
/// What SQLite keeps beside a database.
const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// What a file may replace.
#[derive(Clone, Copy)]
pub(crate) enum Over {
    /// Nothing that is there: it may be all there is of something.
    Nothing,
    /// Nothing either: the next free name will do.
    NextFree,
    /// Pages, which are made again and again under the same name.
    Pages,
    Anything,
}

impl Over {
    /// Nothing, unless the user says `--force`.
    pub(crate) fn by(force: bool) -> Self {
        if force { Self::Anything } else { Self::Nothing }
    }

    /// An empty file is nothing, one that may not be read is something, and a pipe or a device is written to.
    fn check(self, path: &Path) -> Outcome<()> {
        let is_there = fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0);
        match self {
            Self::Nothing | Self::NextFree if is_there => Err(Failure::Exists { path: path.to_owned() }),
            Self::Pages if is_there && !first_bytes(path).is_some_and(|bytes| bytes.starts_with(b"<")) => Err(lost(path, "is no page")),
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
    // A device is written to, and has nothing to lose.
    if !path.is_file() && !path.is_dir() {
        return check_writable(path, inputs, Over::Nothing);
    }
    if inputs.iter().any(|input| is_same(path, input)) {
        return check(path, inputs);
    }
    check_model(path)?;
    if force { Ok(()) } else { Err(Failure::Exists { path: path.to_owned() }) }
}

/// Refuses a name that promises another format than CSV: no program would open the file.
pub(crate) fn check_csv(path: &Path) -> Outcome<()> {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
    if !OTHER_FORMATS.contains(&&*ending) {
        return Ok(());
    }
    let stem = path.with_extension("");
    let csv = if stem.extension().is_some_and(|inner| inner.eq_ignore_ascii_case("csv")) { stem } else { path.with_extension("csv") };
    let remedy = format!("call it {}, which spreadsheets and programs open", csv.display());
    Err(Failure::usage(format!("{} would hold CSV, under the name of another format", path.display()), remedy))
}

/// Writes a table as CSV.
pub(crate) fn write_table(path: &Path, inputs: &[&Path], over: Over, sheet: &Sheet) -> Outcome<()> {
    check_csv(path)?;
    write(path, inputs, over, |out| write_csv(sheet, out))
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
            let part = part_of(&target);
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
    publish(path, over, fill).map(drop)
}

/// The same after long work, before which the target was checked; where the file is then. A name that was taken meanwhile is not taken from whoever has it, and the work is not lost either.
pub(crate) fn publish(path: &Path, over: Over, fill: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> Outcome<PathBuf> {
    if matches!(over, Over::NextFree) {
        return write_beside(path, None, over, fill).map_err(Failure::file(path, "write"));
    }
    // A link is followed; pipes and devices are written as they are.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let before = fs::metadata(&target).ok();
    let written = match &before {
        Some(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Some(found) if !found.is_file() => {
            File::options().write(true).open(&target).and_then(|file| filled(file, fill)).map(|_| target.clone())
        }
        Some(found) if found.permissions().readonly() => Err(io::ErrorKind::PermissionDenied.into()),
        _ => write_beside(&target, before.map(|found| found.permissions()), over, fill),
    };
    match written.map_err(Failure::file(path, "write"))? {
        kept if kept == target => Ok(path.to_owned()),
        kept => Err(Failure::Taken { path: path.to_owned(), kept }),
    }
}

fn write_beside(
    target: &Path,
    permissions: Option<fs::Permissions>,
    over: Over,
    fill: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> io::Result<PathBuf> {
    let part = part_of(target);
    let written = File::create(&part)
        .and_then(|file| filled(file, fill))
        .and_then(|file| permissions.map_or(Ok(()), |permissions| file.set_permissions(permissions)).and_then(|()| file.sync_all()))
        .and_then(|()| named(&part, target, over));
    if written.is_err() {
        drop(fs::remove_file(&part));
    }
    written
}

/// Gives a finished file its name, or the next free one where that is taken and may not be replaced.
fn named(part: &Path, target: &Path, over: Over) -> io::Result<PathBuf> {
    let is_nothing =
        || matches!(over, Over::Nothing) && target.symlink_metadata().is_ok() && !target.is_dir() && over.check(target).is_ok();
    if matches!(over, Over::Pages | Over::Anything) || is_nothing() {
        return fs::rename(part, target).map(|()| target.to_owned());
    }
    let taken = |tried: &io::Result<()>| matches!(tried, Err(problem) if problem.kind() == io::ErrorKind::AlreadyExists);
    let mut tried = names(target).map(|name| (rename_to_free(part, &name), name)).skip_while(|(tried, _)| taken(tried));
    let (done, name) = tried.next().unwrap_or_else(|| (Err(io::ErrorKind::AlreadyExists.into()), PathBuf::new()));
    done.map(|()| name)
}

/// Renaming replaces what is there; a second name does not, and where there are none, as on memory sticks, an empty file holds the place.
fn rename_to_free(part: &Path, name: &Path) -> io::Result<()> {
    match fs::hard_link(part, name) {
        // It has its name, whatever becomes of the other.
        Ok(()) => {
            drop(fs::remove_file(part));
            Ok(())
        }
        Err(problem) if problem.kind() == io::ErrorKind::AlreadyExists => Err(problem),
        Err(_) => File::create_new(name).and_then(|_| fs::rename(part, name).inspect_err(|_| drop(fs::remove_file(name)))),
    }
}

/// A name, and what it becomes where it is taken: model.sbm, model-2.sbm, …
pub(crate) fn names(path: &Path) -> impl Iterator<Item = PathBuf> {
    let numbered = |n: usize| {
        let mut name = path.file_stem().unwrap_or_default().to_owned();
        name.push(format!("-{n}"));
        let mut numbered = path.with_file_name(name).into_os_string();
        if let Some(end) = path.extension() {
            numbered.push(".");
            numbered.push(end);
        }
        PathBuf::from(numbered)
    };
    std::iter::once(path.to_owned()).chain((2..).map(numbered))
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

/// The name of a file while this process writes it: containers that share a directory may share their numbers too.
fn part_of(path: &Path) -> PathBuf {
    static OWN: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(std::process::id()));
    let mut name = OsString::from(path.file_name().unwrap_or_default());
    name.push(format!(".{:016x}.part", *OWN));
    path.with_file_name(name)
}

/// From now on Ctrl-C ends the command at once, without a part of this file left. Whoever has a handler of signals already keeps it.
pub(crate) fn tidy_when_interrupted(path: &Path) {
    let part = part_of(&fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()));
    on_signals(move || {
        drop(fs::remove_file(&part));
        std::process::exit(Ending::Interrupted.code());
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both were told that the name is free; the first to end has it, and neither is lost.
    #[test]
    fn a_name_that_was_taken_meanwhile_is_left_to_whoever_took_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.b.sbm");
        let ends_second = |over| {
            publish(&path, over, |out| {
                fs::write(&path, "theirs")?;
                out.write_all(b"ours")
            })
        };
        let second = ends_second(Over::Nothing).unwrap_err();
        assert!(matches!(&second, Failure::Taken { kept, .. } if kept.ends_with("a.b-2.sbm")), "{second}");
        assert_eq!(ends_second(Over::NextFree).unwrap(), folder.path().join("a.b-3.sbm"));
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(["a.b.sbm", "a.b-2.sbm", "a.b-3.sbm"].map(read), ["theirs", "ours", "ours"]);
        assert_eq!(ends_second(Over::Anything).unwrap(), path);
        assert_eq!(read("a.b.sbm"), "ours");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "nothing else is left");
    }

    #[test]
    fn what_is_nothing_is_replaced_and_names_count_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none");
        fs::write(&path, "").unwrap();
        assert_eq!(publish(&path, Over::Nothing, |out| out.write_all(b"ours")).unwrap(), path);
        assert_eq!(fs::read_to_string(&path).unwrap(), "ours");
        let few: Vec<PathBuf> = names(Path::new("x/none")).take(3).collect();
        assert_eq!(few, ["x/none", "x/none-2", "x/none-3"].map(PathBuf::from));
    }
}
